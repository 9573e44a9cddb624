/* Rows: what entities and records are for the formats with columns. */
#ifndef TOOL_ROW_H
#define TOOL_ROW_H
#include "../text.h"
#include "output.h"

typedef struct tool_cell {
    tavola_type type; /* NONE: empty */
    char *text;
    size_t size;
} tool_cell;

typedef struct tool_row {
    tool_cell *cells; /* in the order of the columns */
    size_t count;
} tool_row;

/* Rows with the columns that they have in common, in the order in which they appeared, or that of
 * --select, to which nothing is added. */
typedef struct tool_rows {
    char **names;
    size_t name_count;
    bool are_names_fixed;
    bool are_entities; /* whose properties have no order of their own */
    tool_row *rows;
    size_t count;
    bool is_raw_binary; /* bytes of Binaries as they are instead of base64 */
} tool_rows;

void tool_rows_add_entity(tool_rows *rows, const tavola_entity *entity);
void tool_rows_add_record(tool_rows *rows, const tool_field *fields, size_t count);
/* NULL when the row has nothing there. */
const tool_cell *tool_rows_cell(const tool_rows *rows, size_t row, size_t column);
/* Sort the names of properties behind PartitionKey, RowKey, Timestamp, by their bytes. */
void tool_rows_sort_names(tool_rows *rows);
void tool_rows_clear(tool_rows *rows); /* the rows; names stay */
void tool_rows_done(tool_rows *rows);

/* ---- formats ------------------------------------------------------------------------------- */
void tool_write_table(const tool_rows *rows, bool is_list);
void tool_write_csv(const tool_rows *rows, bool with_types, bool with_header);
void tool_write_tsv(const tool_rows *rows, bool with_header);
void tool_write_values(const tool_rows *rows);
/* A string in quotes.  What a terminal would obey is escaped, too: JSON allows it, and it may be
 * looked at. */
void tool_json_string(tool_text *text, const char *from, size_t size);
void tool_json_record(tool_text *text, const tool_field *fields, size_t count);

#endif
