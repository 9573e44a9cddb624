#include "row.h"
#include "../values.h"

#include <stdlib.h>
#include <string.h>

/* The column of a name; a new one unless the columns are fixed: SIZE_MAX then. */
static size_t find_column(tool_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->name_count; i++)
        if (strcmp(rows->names[i], name) == 0)
            return i;
    if (rows->are_names_fixed)
        return SIZE_MAX;
    if ((rows->name_count & (rows->name_count - 1)) == 0)
        rows->names = tool_resize(rows->names, (rows->name_count * 2 + 1) * sizeof *rows->names);
    rows->names[rows->name_count] = tool_copy(name);
    return rows->name_count++;
}

static tool_row *add_row(tool_rows *rows)
{
    if ((rows->count & (rows->count - 1)) == 0)
        rows->rows = tool_resize(rows->rows, (rows->count * 2 + 1) * sizeof *rows->rows);
    rows->rows[rows->count] = (tool_row){0};
    return &rows->rows[rows->count++];
}

static void add_cell(tool_rows *rows, tool_row *row, const char *name, const tavola_value *value)
{
    size_t column = find_column(rows, name);
    tool_text text = {0};

    if (column == SIZE_MAX || value->type == TAVOLA_NONE)
        return;
    if (column >= row->count) {
        row->cells = tool_resize(row->cells, (column + 1) * sizeof *row->cells);
        memset(row->cells + row->count, 0, (column + 1 - row->count) * sizeof *row->cells);
        row->count = column + 1;
    }
    if (value->type == TAVOLA_BINARY && rows->is_raw_binary)
        tool_text_add(&text, value->as.ptr, value->size);
    else
        tool_value_write(&text, value);
    free(row->cells[column].text);
    row->cells[column] = (tool_cell){value->type, text.at, text.size};
}

static void add_text(tool_rows *rows, tool_row *row, const char *name, const char *text)
{
    tavola_value value = tavola_string(text ? text : "");

    if (text)
        add_cell(rows, row, name, &value);
}

void tool_rows_add_entity(tool_rows *rows, const tavola_entity *entity)
{
    tavola_ticks timestamp = tavola_entity_timestamp(entity);
    tavola_value value = tavola_datetime(timestamp);
    tool_row *row = add_row(rows);

    rows->are_entities = true;
    add_text(rows, row, "PartitionKey", tavola_entity_partition_key(entity));
    add_text(rows, row, "RowKey", tavola_entity_row_key(entity));
    if (timestamp)
        add_cell(rows, row, "Timestamp", &value);
    for (size_t i = 0; i < tavola_entity_count(entity); i++) {
        const char *name = tavola_entity_name_at(entity, i, &value);
        add_cell(rows, row, name, &value);
    }
    if (rows->are_names_fixed)
        add_text(rows, row, "odata.etag", tavola_entity_etag(entity));
}

void tool_rows_add_record(tool_rows *rows, const tool_field *fields, size_t count)
{
    tool_row *row = add_row(rows);

    for (size_t i = 0; i < count; i++)
        add_cell(rows, row, fields[i].name, &fields[i].value);
}

const tool_cell *tool_rows_cell(const tool_rows *rows, size_t row, size_t column)
{
    const tool_row *found = &rows->rows[row];

    return column < found->count && found->cells[column].type ? &found->cells[column] : NULL;
}

static int rank_of(const char *name)
{
    static const char *const first[] = {"PartitionKey", "RowKey", "Timestamp"};

    for (int i = 0; i < 3; i++)
        if (strcmp(first[i], name) == 0)
            return i;
    return 3;
}

typedef struct place {
    const char *name;
    size_t column;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *left = a, *right = b;
    int by_rank = rank_of(left->name) - rank_of(right->name);

    return by_rank ? by_rank : strcmp(left->name, right->name);
}

static void reorder(tool_row *row, const place *places, size_t count)
{
    tool_cell *cells = tool_alloc(count * sizeof *cells);

    for (size_t i = 0; i < count; i++)
        if (places[i].column < row->count)
            cells[i] = row->cells[places[i].column];
    free(row->cells);
    *row = (tool_row){cells, count};
}

void tool_rows_sort_names(tool_rows *rows)
{
    place *places = tool_alloc(rows->name_count * sizeof *places);

    for (size_t i = 0; i < rows->name_count; i++)
        places[i] = (place){rows->names[i], i};
    qsort(places, rows->name_count, sizeof *places, compare_places);
    for (size_t i = 0; i < rows->count; i++)
        reorder(&rows->rows[i], places, rows->name_count);
    for (size_t i = 0; i < rows->name_count; i++)
        rows->names[i] = (char *)(uintptr_t)places[i].name;
    free(places);
}

void tool_rows_clear(tool_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        for (size_t k = 0; k < rows->rows[i].count; k++)
            free(rows->rows[i].cells[k].text);
        free(rows->rows[i].cells);
    }
    free(rows->rows);
    rows->rows = NULL;
    rows->count = 0;
}

void tool_rows_done(tool_rows *rows)
{
    tool_rows_clear(rows);
    for (size_t i = 0; i < rows->name_count; i++)
        free(rows->names[i]);
    free(rows->names);
    *rows = (tool_rows){0};
}
