/*
 * Tables for people.  No line is longer than the terminal is wide: the widest columns are cut
 * first, and when not even a few characters of each fit, the last columns are left out, which is
 * said below the table.  The keys say which entity a line is, so they are cut only when nothing
 * else is left.
 */
#include "../values.h"
#include "row.h"

#include <stdlib.h>
#include <string.h>

#define GAP 2          /* blanks between columns */
#define WIDTH_LEAST 6  /* a column is not cut further than this */
#define WIDTH_MOST 200 /* where there is no terminal: one long value would push all others away */
#define ELLIPSIS "\xe2\x80\xa6"

/* The text with no more columns than `width`, filled up with blanks if asked for. */
static void write_cell(const char *text, size_t size, unsigned width, bool is_right, bool is_last)
{
    unsigned whole = tool_text_width(text, size), used = 0;
    unsigned room = whole > width ? width - 1 : width;
    size_t end = 0;

    while (end < size) {
        size_t bytes;
        unsigned next = tool_char_width(tool_utf8_next(text + end, size - end, &bytes));

        if (used + next > room)
            break;
        used += next;
        end += bytes;
    }
    if (whole <= width && is_right)
        printf("%*s", (int)(width - whole), "");
    fwrite(text, 1, end, stdout);
    if (whole > width) {
        fputs(ELLIPSIS, stdout);
        used++;
    }
    if (!is_last && !(whole <= width && is_right))
        printf("%*s", (int)(width - used), "");
}

/* Everything as it is shown: names in the first row, controls escaped. */
typedef struct grid {
    tool_text *cells;
    bool *is_number;
    unsigned *widths; /* 0: not shown */
    size_t rows, columns;
} grid;

static bool is_empty(const tool_rows *rows, size_t column)
{
    for (size_t row = 0; row < rows->count; row++)
        if (tool_rows_cell(rows, row, column))
            return false;
    return true;
}

static bool is_shown(const tool_rows *rows, size_t column)
{
    if (rows->are_names_fixed)
        return true;
    /* The time takes much room, and who wants it can --select it. */
    return strcmp(rows->names[column], "Timestamp") != 0 && !is_empty(rows, column);
}

static void measure(grid *sheet)
{
    for (size_t column = 0; column < sheet->columns; column++)
        for (size_t row = 0; row < sheet->rows; row++) {
            const tool_text *cell = &sheet->cells[row * sheet->columns + column];
            unsigned width = cell->size ? tool_text_width(cell->at, cell->size) : 0;

            if (width > sheet->widths[column])
                sheet->widths[column] = width;
        }
}

static grid make_sheet(size_t rows, size_t columns)
{
    grid sheet = {.rows = rows, .columns = columns};

    sheet.cells = tool_alloc(rows * columns * sizeof *sheet.cells);
    sheet.is_number = tool_alloc(columns * sizeof *sheet.is_number);
    sheet.widths = tool_alloc(columns * sizeof *sheet.widths);
    return sheet;
}

static void put(grid *sheet, size_t row, size_t column, const char *text, size_t size)
{
    tool_text_escape(&sheet->cells[row * sheet->columns + column], text, size, false);
}

static bool is_number(tavola_type type)
{
    return type == TAVOLA_INT32 || type == TAVOLA_INT64 || type == TAVOLA_DOUBLE;
}

/* One row of the sheet for each row. */
static grid lay_out(const tool_rows *rows)
{
    grid sheet = make_sheet(rows->count + 1, rows->name_count);
    size_t column = 0;

    for (size_t i = 0; i < rows->name_count; i++) {
        if (!is_shown(rows, i))
            continue;
        put(&sheet, 0, column, rows->names[i], strlen(rows->names[i]));
        sheet.is_number[column] = true;
        for (size_t row = 0; row < rows->count; row++) {
            const tool_cell *cell = tool_rows_cell(rows, row, i);
            if (!cell)
                continue;
            put(&sheet, row + 1, column, cell->text, cell->size);
            sheet.is_number[column] &= is_number(cell->type);
        }
        column++;
    }
    /* Columns that are not shown are the last ones of the sheet, without width. */
    return sheet;
}

/* A single record stands upright: a row of the sheet for each property. */
static grid lay_out_upright(const tool_rows *rows)
{
    static const char *const names[] = {"Property", "Type", "Value"};
    grid sheet = make_sheet(rows->name_count + 1, 3);

    for (size_t i = 0; i < 3; i++)
        put(&sheet, 0, i, names[i], strlen(names[i]));
    for (size_t i = 0; i < rows->name_count; i++) {
        const tool_cell *cell = tool_rows_cell(rows, 0, i);

        put(&sheet, i + 1, 0, rows->names[i], strlen(rows->names[i]));
        if (!cell)
            continue;
        put(&sheet, i + 1, 1, tool_type_name(cell->type), strlen(tool_type_name(cell->type)));
        put(&sheet, i + 1, 2, cell->text, cell->size);
    }
    return sheet;
}

static bool is_key(const grid *sheet, size_t column)
{
    const tool_text *name = &sheet->cells[column];

    return name->size && (strcmp(name->at, "PartitionKey") == 0 || strcmp(name->at, "RowKey") == 0);
}

/* What a line takes, after its last column there is no gap. */
static unsigned sum_of(const grid *sheet)
{
    unsigned sum = 0;

    for (size_t i = 0; i < sheet->columns; i++)
        sum += sheet->widths[i] ? sheet->widths[i] + (sum ? GAP : 0) : 0;
    return sum;
}

/* Make the widest of these columns narrower by one; false when none can be. */
static bool cut_widest(grid *sheet, bool of_keys)
{
    unsigned *widest = NULL;

    for (size_t i = 0; i < sheet->columns; i++)
        if (is_key(sheet, i) == of_keys && sheet->widths[i] > WIDTH_LEAST &&
            (!widest || sheet->widths[i] > *widest))
            widest = &sheet->widths[i];
    if (widest)
        (*widest)--;
    return widest != NULL;
}

/* Leave out the last column that is no key, or the second key; false for the last one of all. */
static bool leave_out(grid *sheet, bool of_keys)
{
    size_t shown = 0, last = sheet->columns;

    for (size_t i = 0; i < sheet->columns; i++) {
        shown += sheet->widths[i] > 0;
        if (sheet->widths[i] && is_key(sheet, i) == of_keys)
            last = i;
    }
    if (shown < 2 || last == sheet->columns)
        return false;
    sheet->widths[last] = 0;
    return true;
}

/* Cut columns and leave some out until the lines fit; returns how many were left out. */
static size_t fit(grid *sheet, unsigned terminal)
{
    unsigned most = terminal ? terminal : WIDTH_MOST;
    size_t left_out = 0;

    for (size_t i = 0; i < sheet->columns; i++)
        if (sheet->widths[i] > most)
            sheet->widths[i] = most;
    while (terminal && sum_of(sheet) > terminal) {
        if (cut_widest(sheet, false))
            continue;
        if (leave_out(sheet, false))
            left_out++;
        else if (!cut_widest(sheet, true)) {
            if (!leave_out(sheet, true))
                break;
            left_out++;
        }
    }
    return left_out;
}

static void write_row(const grid *sheet, size_t row, size_t last)
{
    for (size_t i = 0; i <= last; i++) {
        const tool_text *cell = &sheet->cells[row * sheet->columns + i];

        if (sheet->widths[i] == 0)
            continue;
        write_cell(cell->at ? cell->at : "", cell->size, sheet->widths[i], sheet->is_number[i],
                   i == last);
        if (i < last)
            printf("%*s", GAP, "");
    }
}

static void write_sheet(const grid *sheet)
{
    bool has_colour = tool_has_colour(stdout);
    size_t last = 0;

    for (size_t i = 0; i < sheet->columns; i++)
        if (sheet->widths[i])
            last = i;
    for (size_t row = 0; row < sheet->rows; row++) {
        if (row == 0 && has_colour)
            fputs("\033[1m", stdout);
        write_row(sheet, row, last);
        fputs(row == 0 && has_colour ? "\033[0m\n" : "\n", stdout);
    }
}

static void free_sheet(grid *sheet)
{
    for (size_t i = 0; i < sheet->rows * sheet->columns; i++)
        tool_text_done(&sheet->cells[i]);
    free(sheet->cells);
    free(sheet->is_number);
    free(sheet->widths);
}

void tool_write_table(const tool_rows *rows, bool is_list)
{
    grid sheet;
    size_t left_out;

    if (rows->count == 0 || rows->name_count == 0)
        return;
    sheet = is_list ? lay_out(rows) : lay_out_upright(rows);
    measure(&sheet);
    left_out = fit(&sheet, tool_width());
    write_sheet(&sheet);
    if (left_out) {
        fflush(stdout);
        tool_note("%zu more column%s: make the terminal wider, or --select, or -o json", left_out,
                  left_out == 1 ? "" : "s");
    }
    free_sheet(&sheet);
}
