/* Rows of CSV. */
#include "csv_row.h"

#include <stdlib.h>
#include <string.h>

static bool has_odd_quotes(const char *data, size_t size)
{
    const char *end = data + size;
    bool is_odd = false;

    while ((data = memchr(data, '"', (size_t)(end - data))) != NULL) {
        is_odd = !is_odd;
        data++;
    }
    return is_odd;
}

/* A line end counts when the quotes before it are even: those within quotes are doubled. */
xfer_row_end xfer_row_find(xfer_input *input, size_t *ret_size)
{
    size_t counted = 0, seen = 0; /* quotes up to here; line ends up to here */
    bool is_quoted = false;

    for (;;) {
        const char *begin = input->data + input->begin;
        size_t there = input->end - input->begin;
        const char *end = memchr(begin + seen, '\n', there - seen);

        if (end == NULL) {
            seen = there;
            if (xfer_input_more(input))
                continue;
            begin = input->data + input->begin; /* the attempt may have moved it */
            *ret_size = there;
            if (!input->is_end)
                return XFER_ROW_TOO_LONG;
            if (there == 0)
                return XFER_ROW_NONE;
            return is_quoted != has_odd_quotes(begin + counted, there - counted) ? XFER_ROW_CUT
                                                                                 : XFER_ROW_WHOLE;
        }
        seen = (size_t)(end - begin) + 1;
        is_quoted ^= has_odd_quotes(begin + counted, seen - counted);
        counted = seen;
        if (!is_quoted) {
            *ret_size = seen;
            return XFER_ROW_WHOLE;
        }
    }
}

static xfer_cell *add_cell(xfer_row *row)
{
    if (row->count == row->room) {
        row->room = row->room ? row->room * 2 : 64;
        row->cells = tool_resize(row->cells, row->room * sizeof *row->cells);
    }
    return &row->cells[row->count++];
}

/* Take the quotes off a cell that begins with one; the place behind it. */
static char *unquote(xfer_cell *cell, char *at, char *end)
{
    char *to = at++;

    cell->text = to;
    cell->is_quoted = true;
    while (at < end) {
        char *quote = memchr(at, '"', (size_t)(end - at));
        size_t plain = (size_t)((quote ? quote : end) - at);

        memmove(to, at, plain);
        to += plain;
        at += plain;
        if (quote == NULL)
            break;
        at++;
        if (at == end || *at != '"')
            break;
        *to++ = *at++;
    }
    cell->size = (size_t)(to - cell->text);
    return at;
}

void xfer_row_split(xfer_row *row, const char *data, size_t size, char delimiter)
{
    if (size && data[size - 1] == '\n')
        size--;
    if (size && data[size - 1] == '\r')
        size--;
    row->count = 0;
    row->text.size = 0;
    tool_text_add(&row->text, data, size);

    char *at = row->text.at, *end = at + size;

    for (;;) {
        xfer_cell *cell = add_cell(row);
        char *next;

        *cell = (xfer_cell){.text = at};
        if (at < end && *at == '"')
            at = unquote(cell, at, end);
        next = at < end ? memchr(at, delimiter, (size_t)(end - at)) : NULL;
        if (next == NULL)
            next = end;
        if (!cell->is_quoted) {
            cell->size = (size_t)(next - at);
        } else {
            /* What follows the quotes is no part of RFC 4180; it is kept, as others do. */
            memmove(cell->text + cell->size, at, (size_t)(next - at));
            cell->size += (size_t)(next - at);
        }
        cell->text[cell->size] = '\0';
        if (next == end)
            return;
        at = next + 1;
    }
}

void xfer_row_done(xfer_row *row)
{
    tool_text_done(&row->text);
    free(row->cells);
    *row = (xfer_row){0};
}
