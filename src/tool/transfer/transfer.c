/* The verbs of transfers, and the flags that they share. */
#include "transfer.h"

#include <stdlib.h>
#include <string.h>

#include "../explained.h"
#include "../values.h"
#include "../verbs.h"

unsigned xfer_part_entities(void)
{
    const char *text = getenv("TAVOLA_TEST_PART");
    unsigned long count = text ? strtoul(text, NULL, 10) : 0;

    return count > 0 && count < XFER_PART_ENTITIES ? (unsigned)count : XFER_PART_ENTITIES;
}

tool_exit xfer_reader_flags(const tool_run *run, const char *path, xfer_reader_options *ret_options)
{
    const char *format = tool_value_of(run, TOOL_FLAG_FORMAT);
    const char *separator = tool_value_of(run, TOOL_FLAG_SEPARATOR);

    *ret_options = (xfer_reader_options){
        .format = format ? xfer_format_of_name(format) : xfer_format_of_path(path),
        .types = tool_value_of(run, TOOL_FLAG_TYPES),
        .first_row_types = tool_has(run, TOOL_FLAG_FIRST_ROW_TYPES),
    };
    if (format && ret_options->format == XFER_FORMAT_NONE)
        return tool_refuse("--format is ndjson, json, typed-csv or csv");
    if (separator && (strcmp(separator, "tab") == 0 || strcmp(separator, "\\t") == 0))
        separator = "\t";
    if (separator && (strlen(separator) != 1 || strchr("\"\r\n", separator[0])))
        return tool_refuse("--separator is one character, or tab");
    ret_options->delimiter = separator ? separator[0] : 0;
    return TOOL_OK;
}

tool_exit xfer_query_flags(const tool_run *run, tavola_query **ret_query, char ***ret_select)
{
    tavola_filter *filter = NULL;
    tool_exit exit = tool_filter_of(run, &filter);

    if (exit)
        return exit;
    *ret_query = tavola_query_new(filter);
    *ret_select = tool_has(run, TOOL_FLAG_SELECT) ? tool_names_of(run, TOOL_FLAG_SELECT) : NULL;
    if (*ret_select)
        tavola_query_select(*ret_query, (const char *const *)*ret_select);
    return TOOL_OK;
}

void xfer_where_text(const tool_run *run, tool_text *ret_text)
{
    for (size_t i = 0; i < run->where_count; i++)
        tool_text_printf(ret_text, "%s%s", i ? "\n" : "", run->where[i]);
}

tool_exit xfer_warn(tool_run *run, tavola_table *from, const tavola_query *query)
{
    tavola_err err = tool_has(run, TOOL_FLAG_WHERE) ? tool_warn(run, from, query) : TAVOLA_OK;

    return err ? tool_fail(run, err, NULL) : TOOL_OK;
}

#define LOADING (TOOL_BIT(ON_CONFLICT) | TOOL_BIT(PARALLEL) | TOOL_BIT(CREATE))

const tool_verb tool_transfer_verbs[] = {
    {"import", "TABLE [FILE]", "Write the entities of a file: NDJSON, JSON, CSV", 1, 2,
     LOADING | TOOL_BIT(FORMAT) | TOOL_BIT(TYPES) | TOOL_BIT(SEPARATOR) |
         TOOL_BIT(FIRST_ROW_TYPES) | TOOL_BIT(ERRORS) | TOOL_BIT(SKIP_BAD) | TOOL_BIT(RESUME) |
         TOOL_BIT(FROM_LINE) | TOOL_BIT(DRY_RUN),
     .run = xfer_import,
     .examples = "  tavola import Employees employees.typed.csv --create\n"
                 "  tavola import Employees staff.csv --types Age:int32,Hired:datetime\n"
                 "  tavola import Employees - --on-conflict replace < more.ndjson\n"},
    {"export", "TABLE [FILE] [--where FILTER [VALUE]...]",
     "Write all entities to a file: NDJSON, JSON, CSV", 1, 2,
     TOOL_BIT(WHERE) | TOOL_BIT(SELECT) | TOOL_BIT(TIMESTAMPS) | TOOL_BIT(OVERWRITE) |
         TOOL_BIT(RESUME),
     .run = xfer_export,
     .examples =
         "  tavola export Employees employees.typed.csv --overwrite\n"
         "  tavola export Employees --where \"PartitionKey eq ?\" Sales > sales.ndjson\n"},
    {"copy", "TABLE [-c FROM] [TABLE] [-c TO] [--where FILTER [VALUE]...]",
     "Copy all entities to another table or account", 1, 2,
     LOADING | TOOL_BIT(WHERE) | TOOL_BIT(VERIFY) | TOOL_BIT(RESUME), .run = xfer_copy,
     .is_pair = true,
     .examples = "  tavola copy Employees EmployeesOld --create --verify\n"
                 "  tavola copy -c live Employees -c test EmployeesCopy --create\n"},
    {0},
};
