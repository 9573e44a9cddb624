/* csv, typed-csv, tsv and bare values. */
#include "../values.h"
#include "row.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void write_escaped(const char *text, size_t size)
{
    tool_text escaped = {0};

    tool_text_escape(&escaped, text, size, true);
    fwrite(escaped.at, 1, escaped.size, stdout);
    tool_text_done(&escaped);
}

/* RFC 4180: quotes where a comma, a quote or the end of a line is inside, or blanks at its ends. */
static bool needs_quotes(const char *text, size_t size)
{
    if (size && (text[0] == ' ' || text[size - 1] == ' '))
        return true;
    for (size_t i = 0; i < size; i++)
        if (text[i] && strchr(",\"\r\n", text[i]))
            return true;
    return false;
}

static void write_csv_cell(const char *text, size_t size)
{
    /* Whoever looks at it does not read it with a program: no controls. */
    if (isatty(STDOUT_FILENO)) {
        write_escaped(text, size);
        return;
    }
    if (!needs_quotes(text, size)) {
        fwrite(text, 1, size, stdout);
        return;
    }
    putchar('"');
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"')
            putchar('"');
        putchar(text[i]);
    }
    putchar('"');
}

/* The keys and the time have no column for their type, as Storage Explorer writes it. */
static bool has_type_column(const char *name)
{
    return strcmp(name, "PartitionKey") != 0 && strcmp(name, "RowKey") != 0 &&
           strcmp(name, "Timestamp") != 0;
}

static void write_csv_header(const tool_rows *rows, bool with_types)
{
    for (size_t i = 0; i < rows->name_count; i++) {
        const char *name = rows->names[i];

        if (i)
            putchar(',');
        write_csv_cell(name, strlen(name));
        if (with_types && has_type_column(name)) {
            tool_text type = {0};

            tool_text_printf(&type, "%s@type", name);
            putchar(',');
            write_csv_cell(type.at, type.size);
            tool_text_done(&type);
        }
    }
    putchar('\n');
}

void tool_write_csv(const tool_rows *rows, bool with_types, bool with_header)
{
    if (with_header && rows->name_count)
        write_csv_header(rows, with_types);
    for (size_t row = 0; row < rows->count; row++) {
        for (size_t i = 0; i < rows->name_count; i++) {
            const tool_cell *cell = tool_rows_cell(rows, row, i);

            if (i)
                putchar(',');
            if (cell)
                write_csv_cell(cell->text, cell->size);
            if (with_types && has_type_column(rows->names[i]))
                printf(",%s", cell ? tool_edm_name(cell->type) : "");
        }
        putchar('\n');
    }
}

static void write_tsv_row(const tool_rows *rows, size_t row)
{
    for (size_t i = 0; i < rows->name_count; i++) {
        const tool_cell *cell = tool_rows_cell(rows, row, i);

        if (i)
            putchar('\t');
        if (cell)
            write_escaped(cell->text, cell->size);
    }
    putchar('\n');
}

void tool_write_tsv(const tool_rows *rows, bool with_header)
{
    for (size_t i = 0; with_header && i < rows->name_count; i++) {
        if (i)
            putchar('\t');
        write_escaped(rows->names[i], strlen(rows->names[i]));
    }
    if (with_header && rows->name_count)
        putchar('\n');
    for (size_t row = 0; row < rows->count; row++)
        write_tsv_row(rows, row);
}

/*
 * One column: its bytes as they are and a newline, no newline after a Binary; a terminal gets no
 * control characters all the same.  Several: like tsv.
 */
void tool_write_values(const tool_rows *rows)
{
    bool is_terminal = isatty(STDOUT_FILENO);

    for (size_t row = 0; row < rows->count; row++) {
        const tool_cell *cell = rows->name_count ? tool_rows_cell(rows, row, 0) : NULL;

        if (rows->name_count > 1) {
            write_tsv_row(rows, row);
            continue;
        }
        if (cell && is_terminal)
            write_escaped(cell->text, cell->size);
        else if (cell)
            fwrite(cell->text, 1, cell->size, stdout);
        if (!cell || cell->type != TAVOLA_BINARY || is_terminal)
            putchar('\n');
    }
}
