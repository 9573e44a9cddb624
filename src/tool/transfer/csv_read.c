/*
 * Entities out of CSV as Storage Explorer writes it.
 *
 * Typed: after (or before) each property P there is a column "P@type", with "Edm.Int32" in the
 * files of 2020 and "Int32" in those of 1.40.  An empty value with an empty type is a property that
 * the entity does not have; with the type String it is an empty string.  Plain: no such columns,
 * the types come from the caller; an empty cell without quotes is no property.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../values.h"
#include "cell.h"
#include "csv_row.h"
#include "reader.h"

typedef enum column_kind {
    IGNORED, /* Timestamp, etag, and the columns of types */
    PARTITION_KEY,
    ROW_KEY,
    PROPERTY,
} column_kind;

typedef struct csv_column {
    column_kind kind;
    char *name;
    int type_column;        /* -1: none */
    tavola_type type;       /* of all cells: plain CSV */
    tavola_type first_type; /* of the first row */
} csv_column;

struct xfer_csv {
    xfer_row row;
    tool_text scratch;
    csv_column *columns;
    size_t column_count;
    size_t partition_key, row_key; /* columns */
    char delimiter;
    bool is_typed, first_row_types;
    bool has_row; /* the first one was read */
    char why[200];
};

/* ---- the first row ---- */

static const char type_suffix[] = "@type";

static size_t bare_size(const char *name)
{
    size_t size = strlen(name), suffix = sizeof type_suffix - 1;

    return size > suffix && strcasecmp(name + size - suffix, type_suffix) == 0 ? size - suffix : 0;
}

static int find_column(const xfer_csv *csv, const char *name, size_t size)
{
    for (size_t i = 0; i < csv->column_count; i++) {
        const char *other = csv->columns[i].name;

        if (strncmp(other, name, size) == 0 && other[size] == '\0')
            return (int)i;
    }
    return -1;
}

static column_kind kind_of(const char *name)
{
    if (strcmp(name, "PartitionKey") == 0)
        return PARTITION_KEY;
    if (strcmp(name, "RowKey") == 0)
        return ROW_KEY;
    if (bare_size(name) || strcmp(name, "Timestamp") == 0 || strcasecmp(name, "etag") == 0 ||
        strcmp(name, "odata.etag") == 0)
        return IGNORED;
    return PROPERTY;
}

static const char *refuse(xfer_csv *csv, const char *format, const char *name)
{
    snprintf(csv->why, sizeof csv->why, format, name);
    return csv->why;
}

static const char *name_columns(xfer_csv *csv)
{
    csv->columns = tool_alloc(csv->row.count * sizeof *csv->columns);
    for (size_t i = 0; i < csv->row.count; i++) {
        const xfer_cell *cell = &csv->row.cells[i];

        if (cell->size == 0)
            return "the first row has a column without a name";
        if (strlen(cell->text) != cell->size)
            return "the first row has a zero byte in it";
        if (find_column(csv, cell->text, cell->size) >= 0)
            return refuse(csv, "the first row has two columns %.60s", cell->text);
        csv->columns[i] = (csv_column){
            .kind = kind_of(cell->text), .name = tool_copy(cell->text), .type_column = -1};
        csv->column_count++;
    }
    for (size_t i = 0; i < csv->column_count; i++) {
        size_t size = bare_size(csv->columns[i].name);
        int of = size ? find_column(csv, csv->columns[i].name, size) : -1;

        if (of >= 0) {
            csv->columns[of].type_column = (int)i;
            csv->is_typed |= csv->columns[of].kind == PROPERTY;
        }
    }
    return NULL;
}

static const char *find_key(const xfer_csv *csv, const char *name, size_t *ret_column)
{
    int found = find_column(csv, name, strlen(name));

    if (found >= 0) {
        *ret_column = (size_t)found;
        return NULL;
    }
    for (size_t i = 0; i < csv->column_count; i++)
        if (strpbrk(csv->columns[i].name, ";\t,"))
            return "the first row has no columns PartitionKey and RowKey; is it another "
                   "--separator (';', tab)?";
    return "the first row has no columns PartitionKey and RowKey";
}

/* One of "Age:int32", or a bare type for all columns. */
static const char *set_type(xfer_csv *csv, const char *item, size_t size)
{
    const char *colon = memchr(item, ':', size);
    size_t name_size = colon ? (size_t)(colon - item) : 0;
    const char *name = colon ? colon + 1 : item;
    tavola_type type = tool_type_find(name, size - (size_t)(name - item));
    int found = colon ? find_column(csv, item, name_size) : -1;

    if (type == TAVOLA_NONE)
        return refuse(csv,
                      "--types: '%.40s' does not end with a type (string, int32, int64, "
                      "double, boolean, datetime, guid, binary)",
                      item);
    if (colon && found < 0)
        return refuse(csv, "--types: there is no column for '%.60s'", item);
    for (size_t i = 0; i < csv->column_count; i++)
        if (!colon || (size_t)found == i)
            csv->columns[i].type = type;
    return NULL;
}

static const char *set_types(xfer_csv *csv, const char *types)
{
    const char *why = NULL;

    for (size_t i = 0; i < csv->column_count; i++)
        csv->columns[i].type = TAVOLA_STRING;
    while (*types && why == NULL) {
        size_t size = strcspn(types, ",");

        why = set_type(csv, types, size);
        types += size + (types[size] == ',');
    }
    return why;
}

static bool has_properties(const xfer_csv *csv)
{
    for (size_t i = 0; i < csv->column_count; i++)
        if (csv->columns[i].kind == PROPERTY)
            return true;
    return false;
}

static const char *read_names(xfer_reader *reader, xfer_csv *csv)
{
    xfer_input *input = &reader->input;
    const char *why;
    size_t size;

    switch (xfer_row_find(input, &size)) {
    case XFER_ROW_WHOLE:
        break;
    case XFER_ROW_NONE:
        return "it is empty: there is no row with the names of the columns";
    case XFER_ROW_CUT:
    case XFER_ROW_TOO_LONG:
        return "the first row has no end";
    }
    xfer_row_split(&csv->row, input->data + input->begin, size, csv->delimiter);
    xfer_input_consume(input, size);
    why = name_columns(csv);
    if (why == NULL)
        why = find_key(csv, "PartitionKey", &csv->partition_key);
    if (why == NULL)
        why = find_key(csv, "RowKey", &csv->row_key);
    return why;
}

const char *xfer_csv_open(xfer_reader *reader, const xfer_reader_options *options)
{
    xfer_csv *csv = reader->csv = tool_alloc(sizeof *csv);
    const char *why;

    csv->delimiter = options->delimiter ? options->delimiter : ',';
    csv->first_row_types = options->first_row_types;
    why = read_names(reader, csv);
    if (why)
        return why;
    if (options->types)
        return csv->is_typed ? "it has columns of types already, --types is for plain CSV"
                             : set_types(csv, options->types);
    if (!csv->is_typed && has_properties(csv))
        return "no column says what types the values have: give --types, like "
               "Age:int32,Due:datetime (all others are Strings), or --types String";
    return NULL;
}

void xfer_csv_close(xfer_csv *csv)
{
    if (csv == NULL)
        return;

    for (size_t i = 0; i < csv->column_count; i++)
        free(csv->columns[i].name);
    free(csv->columns);
    xfer_row_done(&csv->row);
    tool_text_done(&csv->scratch);
    free(csv);
}

/* ---- the other rows ---- */

static xfer_read refuse_type(xfer_reader *reader, const csv_column *column, const xfer_cell *type)
{
    if (type->size)
        return xfer_reader_refuse(reader, "%.60s: '%.30s' is not a type", column->name, type->text);
    return xfer_reader_refuse(reader, "%.60s: the value has no type%s", column->name,
                              reader->csv->first_row_types
                                  ? ", nor has it one in the first row"
                                  : " (--first-row-types takes it from the first row)");
}

/* Set a property from its cell, if it has it. */
static xfer_read set_property(xfer_reader *reader, tavola_entity *entity, csv_column *column,
                              const xfer_cell *cell)
{
    xfer_csv *csv = reader->csv;
    tavola_type type = column->type;
    tavola_value value;

    if (csv->is_typed) {
        static char empty[1];
        static const xfer_cell none = {.text = empty};
        const xfer_cell *name =
            column->type_column >= 0 ? &csv->row.cells[column->type_column] : &none;

        type = name->size ? tool_type_find(name->text, name->size) : TAVOLA_NONE;
        if (!csv->has_row)
            column->first_type = type;
        if (name->size == 0 && cell->size == 0)
            return XFER_READ_ENTITY;
        if (name->size == 0 && csv->first_row_types)
            type = column->first_type;
        if (type == TAVOLA_NONE)
            return refuse_type(reader, column, name);
    } else if (cell->size == 0 && !(cell->is_quoted && type == TAVOLA_STRING)) {
        return XFER_READ_ENTITY;
    }

    if (!xfer_cell_parse(type, cell->text, cell->size, &csv->scratch, &value))
        return xfer_reader_refuse(reader, "%.60s: '%.40s' is not %s", column->name, cell->text,
                                  tool_type_form(type));
    tavola_entity_set(entity, column->name, value);
    return XFER_READ_ENTITY;
}

static xfer_read read_row(xfer_reader *reader, tavola_entity **ret_entity)
{
    xfer_csv *csv = reader->csv;
    const xfer_cell *cells = csv->row.cells;
    const xfer_cell *partition_key = &cells[csv->partition_key], *row_key = &cells[csv->row_key];
    xfer_read read = XFER_READ_ENTITY;

    if (strlen(partition_key->text) != partition_key->size ||
        strlen(row_key->text) != row_key->size)
        return xfer_reader_refuse(reader, "there is a zero byte in a key");

    tavola_entity *entity = tavola_entity_new(partition_key->text, row_key->text);

    for (size_t i = 0; i < csv->column_count && read == XFER_READ_ENTITY; i++)
        if (csv->columns[i].kind == PROPERTY)
            read = set_property(reader, entity, &csv->columns[i], &cells[i]);
    csv->has_row = true;
    if (read == XFER_READ_ENTITY && tavola_entity_error(entity))
        read = xfer_reader_refuse(reader, "%s", tavola_entity_error_text(entity));
    if (read == XFER_READ_ENTITY)
        *ret_entity = entity;
    else
        tavola_entity_free(entity);
    return read;
}

xfer_read xfer_csv_next(xfer_reader *reader, tavola_entity **ret_entity)
{
    xfer_input *input = &reader->input;
    xfer_csv *csv = reader->csv;
    size_t size;

    for (;;) {
        xfer_row_end end = xfer_row_find(input, &size);

        if (end == XFER_ROW_NONE) {
            reader->is_over = true;
            return XFER_READ_END;
        }
        if (end == XFER_ROW_TOO_LONG)
            return xfer_reader_take_rest_of_line(reader, "the row has no end: is a quote missing?");
        if (end == XFER_ROW_CUT)
            return xfer_reader_take_rest_of_line(reader, "the file ends within quotes");
        xfer_reader_take(reader, size);
        xfer_row_split(&csv->row, reader->record, size, csv->delimiter);
        if (csv->row.count > 1 || csv->row.cells[0].size)
            break;
        xfer_reader_end(reader); /* an empty line */
    }
    if (ret_entity == NULL && csv->has_row)
        return XFER_READ_SKIPPED;
    if (csv->row.count != csv->column_count) {
        bool is_cut =
            input->is_end && input->begin + size == input->end && reader->record[size - 1] != '\n';

        return xfer_reader_refuse(reader, "%s%zu cells instead of %zu",
                                  is_cut ? "the file ends within this line: " : "", csv->row.count,
                                  csv->column_count);
    }

    tavola_entity *entity = NULL;
    xfer_read read = read_row(reader, &entity);

    if (ret_entity) {
        *ret_entity = entity;
        return read;
    }
    tavola_entity_free(entity); /* the first row was read for its types */
    return XFER_READ_SKIPPED;
}
