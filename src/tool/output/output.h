/*
 * What goes to stdout.  A verb opens an output, gives it entities or records one by one and closes
 * it; the format is that of -o, else a table on a terminal and NDJSON elsewhere (bare values for
 * verbs that are plain).
 *
 * json and ndjson, and with --select also csv, tsv and value, are written as they come.  csv,
 * typed-csv and tsv without --select must know the names of all properties first and keep
 * everything until the end; table keeps a thousand rows.
 */
#ifndef TOOL_OUTPUT_H
#define TOOL_OUTPUT_H
#include "../tool.h"

typedef enum tool_format {
    TOOL_TABLE,
    TOOL_JSON,
    TOOL_NDJSON,
    TOOL_CSV,
    TOOL_TYPED_CSV,
    TOOL_TSV,
    TOOL_VALUE
} tool_format;

/* A property of a record: things that are not entities, such as messages. */
typedef struct tool_field {
    const char *name;
    tavola_value value; /* type NONE: it has none */
} tool_field;

/* A String, and none for NULL; a DateTime, and none for 0. */
tavola_value tool_text_value(const char *text);
tavola_value tool_time_value(tavola_ticks ticks);

/* TOOL_USAGE for an unknown format. */
tool_exit tool_output_check(const tool_run *run);
/* -o json, for verbs that then print what a server has answered. */
bool tool_wants_json(const tool_run *run);

typedef struct tool_output tool_output;
/* TOOL_USAGE for an unknown format.  `is_list`: json is an array; else one record is expected, and
 * a table stands upright. */
tool_exit tool_output_open(const tool_run *run, bool is_list, tool_output **ret_output);
tool_format tool_output_format(const tool_output *output);
/* A list that has one record at most: a table of it stands upright, so that nothing is cut. */
void tool_output_is_one(tool_output *output);
/* One record whose table is a line like those of a list. */
void tool_output_is_flat(tool_output *output);
void tool_output_entity(tool_output *output, const tavola_entity *entity);
void tool_output_record(tool_output *output, const tool_field *fields, size_t count);
/* Writes what was kept, and goes on. */
void tool_output_flush(tool_output *output);
/* Writes what was kept, and frees. */
void tool_output_close(tool_output *output);
/* One record, alone. */
tool_exit tool_output_one(const tool_run *run, const tool_field *fields, size_t count);

#endif
