/*
 * Entities as rows of CSV: PartitionKey, RowKey, Timestamp if asked for, then the properties by
 * name, each followed by its type if that is wanted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../values.h"
#include "cell.h"
#include "csv_row.h"
#include "writer.h"

enum {
    HELD_MAX = 1000,          /* entities whose names are known before the first row is written */
    HELD_BYTES_MAX = 4 << 20, /* of them */
    COLUMNS_MAX = 10000,
};

struct xfer_sheet {
    bool is_typed, with_timestamps;
    bool are_names_fixed; /* by the caller: others are left out */
    bool has_begun;       /* the first row is written */
    bool has_grown, is_too_wide;
    char **names; /* in order as long as nothing is written; later ones follow */
    size_t count, room;
    size_t *places; /* [i]: the column of the i-th property of the last entity */
    size_t place_count;
    tavola_value *values; /* of one row, by column; NONE: absent */
    tavola_entity **held;
    size_t held_count, held_bytes;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

xfer_sheet *xfer_sheet_open(bool is_typed, const char *const *names, bool with_timestamps)
{
    xfer_sheet *sheet = tool_alloc(sizeof *sheet);

    sheet->is_typed = is_typed;
    sheet->with_timestamps = with_timestamps;
    for (; names && *names; names++) {
        bool is_key = strcmp(*names, "PartitionKey") == 0 || strcmp(*names, "RowKey") == 0 ||
                      strcmp(*names, "Timestamp") == 0;

        if (is_key)
            continue;
        sheet->names = tool_resize(sheet->names, (sheet->count + 1) * sizeof *sheet->names);
        sheet->names[sheet->count++] = tool_copy(*names);
        sheet->room = sheet->count;
    }
    sheet->are_names_fixed = names != NULL;
    if (sheet->count)
        qsort(sheet->names, sheet->count, sizeof *sheet->names, compare_names);
    return sheet;
}

void xfer_sheet_close(xfer_sheet *sheet)
{
    if (sheet == NULL)
        return;

    for (size_t i = 0; i < sheet->count; i++)
        free(sheet->names[i]);
    for (size_t i = 0; i < sheet->held_count; i++)
        tavola_entity_free(sheet->held[i]);
    free(sheet->held);
    free(sheet->names);
    free(sheet->places);
    free(sheet->values);
    free(sheet);
}

bool xfer_sheet_has_grown(const xfer_sheet *sheet)
{
    return sheet->has_grown;
}

bool xfer_sheet_is_too_wide(const xfer_sheet *sheet)
{
    return sheet->is_too_wide;
}

bool xfer_sheet_mark(const xfer_sheet *sheet, xfer_mark *mark)
{
    mark->columns = sheet->names;
    mark->column_count = sheet->count;
    mark->has_grown = sheet->has_grown;
    return sheet->has_begun;
}

/* The columns are in the order of the rows that are there, late ones at the end. */
void xfer_sheet_resume(xfer_sheet *sheet, const xfer_mark *mark)
{
    for (size_t i = 0; i < sheet->count; i++)
        free(sheet->names[i]);
    sheet->count = sheet->room = mark->column_count;
    sheet->names = tool_resize(sheet->names, (sheet->count + 1) * sizeof *sheet->names);
    for (size_t i = 0; i < sheet->count; i++)
        sheet->names[i] = tool_copy(mark->columns[i]);
    sheet->values = tool_alloc((sheet->room + 1) * sizeof *sheet->values);
    sheet->has_begun = true;
    sheet->has_grown = mark->has_grown;
}

/* ---- columns ---- */

static size_t find_name(const xfer_sheet *sheet, const char *name)
{
    for (size_t i = 0; i < sheet->count; i++)
        if (strcmp(sheet->names[i], name) == 0)
            return i;
    return SIZE_MAX;
}

static size_t add_name(xfer_sheet *sheet, const char *name)
{
    if (sheet->count == COLUMNS_MAX) {
        sheet->is_too_wide = true;
        return SIZE_MAX;
    }
    if (sheet->count == sheet->room) {
        sheet->room = sheet->room ? sheet->room * 2 : 64;
        sheet->names = tool_resize(sheet->names, sheet->room * sizeof *sheet->names);
    }
    sheet->names[sheet->count] = tool_copy(name);
    sheet->has_grown |= sheet->has_begun;
    if (sheet->has_begun) {
        sheet->values = tool_resize(sheet->values, sheet->room * sizeof *sheet->values);
        sheet->values[sheet->count] = (tavola_value){0};
    }
    return sheet->count++;
}

/* The column of the i-th property of an entity: mostly that of the entity before it. */
static size_t place_of(xfer_sheet *sheet, size_t i, const char *name)
{
    size_t place;

    if (i < sheet->place_count && sheet->places[i] < sheet->count &&
        strcmp(sheet->names[sheet->places[i]], name) == 0)
        return sheet->places[i];
    place = find_name(sheet, name);
    if (place == SIZE_MAX && !sheet->are_names_fixed)
        place = add_name(sheet, name);
    if (i >= sheet->place_count) {
        sheet->places = tool_resize(sheet->places, (i + 1) * sizeof *sheet->places);
        while (sheet->place_count <= i)
            sheet->places[sheet->place_count++] = SIZE_MAX;
    }
    sheet->places[i] = place;
    return place;
}

/* ---- cells ---- */

static bool needs_quotes(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r')
            return true;
    return false;
}

static void add_text(xfer_out *out, const char *text, size_t size)
{
    if (!needs_quotes(text, size)) {
        xfer_out_add(out, text, size);
        return;
    }

    char *begin = xfer_out_room(out, 2 * size + 2), *to = begin;

    *to++ = '"';
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"')
            *to++ = '"';
        *to++ = text[i];
    }
    *to++ = '"';
    out->size += (size_t)(to - begin);
}

static void add_value(xfer_out *out, const tavola_value *value, bool is_typed)
{
    if (value->type == TAVOLA_STRING) {
        if (value->size == 0 && !is_typed)
            xfer_out_add(out, "\"\"",
                         2); /* the value is there; an empty cell stands for no value */
        else
            add_text(out, value->as.ptr, value->size);
    } else if (value->type == TAVOLA_BINARY) {
        tool_text text = {0};

        tool_text_base64(&text, value->as.ptr, value->size);
        xfer_out_add(out, text.at, text.size);
        tool_text_done(&text);
    } else {
        out->size += tool_value_format(value, xfer_out_room(out, TOOL_VALUE_TEXT_MAX));
    }
}

static void add_row(xfer_sheet *sheet, xfer_out *out, const tavola_entity *entity)
{
    const char *partition_key = tavola_entity_partition_key(entity), *name;
    const char *row_key = tavola_entity_row_key(entity);
    tavola_value value;

    for (size_t i = 0; (name = tavola_entity_name_at(entity, i, &value)) != NULL; i++) {
        size_t place = place_of(sheet, i, name);

        if (place != SIZE_MAX)
            sheet->values[place] = value;
    }
    add_text(out, partition_key, strlen(partition_key));
    xfer_out_add(out, ",", 1);
    add_text(out, row_key, strlen(row_key));
    if (sheet->with_timestamps) {
        value =
            (tavola_value){.type = TAVOLA_DATETIME, .as.ticks = tavola_entity_timestamp(entity)};
        xfer_out_add(out, ",", 1);
        add_value(out, &value, true);
    }
    for (size_t i = 0; i < sheet->count; i++) {
        tavola_value *cell = &sheet->values[i];

        xfer_out_add(out, ",", 1);
        if (cell->type != TAVOLA_NONE)
            add_value(out, cell, sheet->is_typed);
        if (sheet->is_typed) {
            xfer_out_add(out, ",", 1);
            if (cell->type != TAVOLA_NONE) {
                const char *type = tool_edm_name(cell->type);

                xfer_out_add(out, type, strlen(type));
            }
        }
        cell->type = TAVOLA_NONE;
    }
    xfer_out_add(out, "\r\n", 2);
}

/* ---- rows ---- */

static void add_names(const xfer_sheet *sheet, xfer_out *out)
{
    static const char keys[] = "PartitionKey,RowKey", timestamp[] = ",Timestamp", type[] = "@type";

    xfer_out_add(out, keys, sizeof keys - 1);
    if (sheet->with_timestamps)
        xfer_out_add(out, timestamp, sizeof timestamp - 1);
    for (size_t i = 0; i < sheet->count; i++) {
        size_t size = strlen(sheet->names[i]);

        xfer_out_add(out, ",", 1);
        add_text(out, sheet->names[i], size);
        if (sheet->is_typed) {
            xfer_out_add(out, ",", 1);
            add_text(out, sheet->names[i], size);
            xfer_out_add(out, type, sizeof type - 1);
        }
    }
    xfer_out_add(out, "\r\n", 2);
}

static void begin(xfer_sheet *sheet, xfer_out *out)
{
    if (sheet->count)
        qsort(sheet->names, sheet->count, sizeof *sheet->names, compare_names);
    sheet->values = tool_alloc((sheet->room + 1) * sizeof *sheet->values);
    sheet->has_begun = true;
    add_names(sheet, out);
    for (size_t i = 0; i < sheet->held_count; i++) {
        add_row(sheet, out, sheet->held[i]);
        tavola_entity_free(sheet->held[i]);
    }
    sheet->held_count = 0;
}

static void hold(xfer_sheet *sheet, const tavola_entity *entity)
{
    tavola_entity *copy = tavola_entity_copy(entity);
    const char *name;
    tavola_value value;

    if (sheet->held == NULL)
        sheet->held = tool_alloc(HELD_MAX * sizeof(tavola_entity *));
    if (copy == NULL) {
        fputs("tavola: out of memory\n", stderr);
        exit(1);
    }
    sheet->held[sheet->held_count++] = copy;
    sheet->held_bytes += tavola_entity_bytes(entity);
    for (size_t i = 0; (name = tavola_entity_name_at(entity, i, &value)) != NULL; i++)
        place_of(sheet, i, name);
}

void xfer_sheet_add(xfer_sheet *sheet, xfer_out *out, const tavola_entity *entity)
{
    if (sheet->has_begun) {
        add_row(sheet, out, entity);
        return;
    }
    if (!sheet->are_names_fixed) {
        hold(sheet, entity);
        if (sheet->held_count < HELD_MAX && sheet->held_bytes < HELD_BYTES_MAX)
            return;
        begin(sheet, out);
    } else {
        begin(sheet, out);
        add_row(sheet, out, entity);
    }
}

void xfer_sheet_finish(xfer_sheet *sheet, xfer_out *out)
{
    if (!sheet->has_begun)
        begin(sheet, out);
}

/* ---- once more ---- */

/* Where each column of the new file is in the old one. */
static size_t *order_columns(xfer_sheet *sheet)
{
    char **sorted = tool_alloc(sheet->count * sizeof *sorted);
    size_t *from = tool_alloc(sheet->count * sizeof *from);

    memcpy(sorted, sheet->names, sheet->count * sizeof *sorted);
    qsort(sorted, sheet->count, sizeof *sorted, compare_names);
    for (size_t i = 0; i < sheet->count; i++)
        from[i] = find_name(sheet, sorted[i]);
    free(sheet->names);
    sheet->names = sorted;
    sheet->room = sheet->count;
    return from;
}

static void copy_cell(xfer_out *out, const xfer_row *row, size_t i)
{
    if (i >= row->count)
        return; /* its column came later */
    if (row->cells[i].size == 0 && row->cells[i].is_quoted)
        xfer_out_add(out, "\"\"", 2);
    else
        add_text(out, row->cells[i].text, row->cells[i].size);
}

static void copy_row(const xfer_sheet *sheet, xfer_out *out, const xfer_row *row,
                     const size_t *from)
{
    size_t keys = sheet->with_timestamps ? 3 : 2, each = sheet->is_typed ? 2 : 1;

    for (size_t i = 0; i < keys; i++) {
        if (i)
            xfer_out_add(out, ",", 1);
        copy_cell(out, row, i);
    }
    for (size_t i = 0; i < sheet->count; i++) {
        for (size_t k = 0; k < each; k++) {
            xfer_out_add(out, ",", 1);
            copy_cell(out, row, keys + from[i] * each + k);
        }
    }
    xfer_out_add(out, "\r\n", 2);
}

const char *xfer_sheet_rewrite(xfer_sheet *sheet, int fd, xfer_out *out)
{
    xfer_input *input = tool_alloc(sizeof *input);
    size_t *from = order_columns(sheet), size;
    const char *why = NULL;
    xfer_row row = {0};
    bool is_first = true;

    if (lseek(fd, 0, SEEK_SET) != 0)
        why = "the file cannot be read again";
    else
        why = xfer_input_open(input, dup(fd));
    if (why == NULL)
        add_names(sheet, out);
    while (why == NULL && xfer_row_find(input, &size) == XFER_ROW_WHOLE) {
        xfer_row_split(&row, input->data + input->begin, size, ',');
        if (!is_first)
            copy_row(sheet, out, &row, from);
        is_first = false;
        xfer_input_consume(input, size);
        if (out->error)
            why = strerror(out->error);
    }
    if (why == NULL && (input->error || input->begin != input->end))
        why = "the file cannot be read again";
    xfer_row_done(&row);
    xfer_input_close(input);
    free(input);
    free(from);
    return why;
}
