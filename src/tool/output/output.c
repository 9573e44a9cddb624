#include "output.h"
#include "row.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TABLE_ROWS_MAX 1000 /* rows that share their widths */

static const char *const format_names[] = {
    [TOOL_TABLE] = "table", [TOOL_JSON] = "json",           [TOOL_NDJSON] = "ndjson",
    [TOOL_CSV] = "csv",     [TOOL_TYPED_CSV] = "typed-csv", [TOOL_TSV] = "tsv",
    [TOOL_VALUE] = "value",
};

struct tool_output {
    tool_format format;
    bool is_list, is_upright;
    size_t written;
    tool_rows rows;
};

tavola_value tool_text_value(const char *text)
{
    return text ? tavola_string(text) : (tavola_value){.type = TAVOLA_NONE};
}

tavola_value tool_time_value(tavola_ticks ticks)
{
    return ticks ? tavola_datetime(ticks) : (tavola_value){.type = TAVOLA_NONE};
}

static tool_exit find_format(const tool_run *run, tool_format *ret_format)
{
    const char *name = tool_value_of(run, TOOL_FLAG_OUTPUT);

    if (!name) {
        *ret_format = run->verb->is_plain     ? TOOL_VALUE
                      : isatty(STDOUT_FILENO) ? TOOL_TABLE
                                              : TOOL_NDJSON;
        return TOOL_OK;
    }
    for (size_t i = 0; i < sizeof format_names / sizeof format_names[0]; i++)
        if (strcmp(format_names[i], name) == 0) {
            *ret_format = (tool_format)i;
            return TOOL_OK;
        }
    return tool_refuse("there is no format '%s': -o takes table, json, ndjson, csv, typed-csv, tsv "
                       "or value",
                       name);
}

tool_exit tool_output_check(const tool_run *run)
{
    tool_format format;

    return find_format(run, &format);
}

bool tool_wants_json(const tool_run *run)
{
    const char *name = tool_value_of(run, TOOL_FLAG_OUTPUT);

    return name && strcmp(name, format_names[TOOL_JSON]) == 0;
}

tool_exit tool_output_open(const tool_run *run, bool is_list, tool_output **ret_output)
{
    tool_output output = {.is_list = is_list, .is_upright = !is_list};
    tool_exit exit = find_format(run, &output.format);

    if (exit)
        return exit;
    output.rows.names = tool_names_of(run, TOOL_FLAG_SELECT);
    while (output.rows.names && output.rows.names[output.rows.name_count])
        output.rows.name_count++;
    output.rows.are_names_fixed = output.rows.name_count > 0;
    if (!output.rows.are_names_fixed) {
        tool_names_free(output.rows.names);
        output.rows.names = NULL;
    }
    output.rows.is_raw_binary =
        output.format == TOOL_VALUE && output.rows.name_count == 1 && !isatty(STDOUT_FILENO);
    *ret_output = tool_alloc(sizeof **ret_output);
    **ret_output = output;
    if (output.format == TOOL_JSON && is_list)
        fputs("[", stdout);
    return TOOL_OK;
}

tool_format tool_output_format(const tool_output *output)
{
    return output->format;
}

void tool_output_is_one(tool_output *output)
{
    output->is_upright = true;
}

void tool_output_is_flat(tool_output *output)
{
    output->is_upright = false;
}

static void flush_rows(tool_output *output)
{
    tool_rows *rows = &output->rows;
    bool is_first = output->written == 0;

    if (rows->count == 0 && !(is_first && rows->are_names_fixed))
        return;
    switch (output->format) {
    case TOOL_TABLE:
        tool_write_table(rows, !output->is_upright);
        break;
    case TOOL_CSV:
    case TOOL_TYPED_CSV:
        if (rows->are_entities && !rows->are_names_fixed)
            tool_rows_sort_names(rows);
        tool_write_csv(rows, output->format == TOOL_TYPED_CSV, is_first);
        break;
    case TOOL_TSV:
        if (rows->are_entities && !rows->are_names_fixed)
            tool_rows_sort_names(rows);
        tool_write_tsv(rows, is_first);
        break;
    default:
        tool_write_values(rows);
        break;
    }
    output->written += rows->count;
    tool_rows_clear(rows);
}

/* After a row was added: write it, unless rows to come may change how. */
static void added(tool_output *output)
{
    if (output->format == TOOL_TABLE ? output->rows.count == TABLE_ROWS_MAX
                                     : output->rows.are_names_fixed)
        flush_rows(output);
}

static bool is_json(const tool_output *output)
{
    return output->format == TOOL_JSON || output->format == TOOL_NDJSON;
}

static void write_json(tool_output *output, const char *json)
{
    if (output->format == TOOL_JSON && output->is_list)
        printf("%s\n%s", output->written ? "," : "", json);
    else
        printf("%s\n", json);
    output->written++;
}

void tool_output_entity(tool_output *output, const tavola_entity *entity)
{
    if (is_json(output)) {
        char *json = tavola_entity_json(entity);

        if (json)
            write_json(output, json);
        tavola_free(json);
    } else {
        tool_rows_add_entity(&output->rows, entity);
        added(output);
    }
}

void tool_output_record(tool_output *output, const tool_field *fields, size_t count)
{
    if (is_json(output)) {
        tool_text json = {0};

        tool_json_record(&json, fields, count);
        write_json(output, json.at);
        tool_text_done(&json);
    } else {
        tool_rows_add_record(&output->rows, fields, count);
        added(output);
    }
}

void tool_output_flush(tool_output *output)
{
    if (!is_json(output))
        flush_rows(output);
    fflush(stdout);
}

void tool_output_close(tool_output *output)
{
    if (!output)
        return;
    if (!is_json(output))
        flush_rows(output);
    else if (output->format == TOOL_JSON && output->is_list)
        fputs(output->written ? "\n]\n" : "]\n", stdout);
    tool_rows_done(&output->rows);
    free(output);
}

tool_exit tool_output_one(const tool_run *run, const tool_field *fields, size_t count)
{
    tool_output *output = NULL;
    tool_exit exit = tool_output_open(run, false, &output);

    if (exit)
        return exit;
    tool_output_record(output, fields, count);
    tool_output_close(output);
    return TOOL_OK;
}
