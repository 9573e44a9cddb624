/*
 * The part of TOML that tavola-lint.toml is written in: comments, [section], [[section]], and
 * `key = value` with a string, a number, a truth value or a list of strings on one line.  A key may
 * have one dot.  Anything else is refused with its line.
 */
#ifndef TOOL_LINT_TOML_H
#define TOOL_LINT_TOML_H
#include "../text.h"

enum { TOOL_TOML_BYTES_MAX = 1 << 20, TOOL_TOML_ROWS_MAX = 10000, TOOL_TOML_LIST_MAX = 100 };

typedef enum tool_toml_kind {
    TOOL_TOML_SECTION, /* [name]: `key` is the name */
    TOOL_TOML_MANY,    /* [[name]] */
    TOOL_TOML_STRING,
    TOOL_TOML_NUMBER,
    TOOL_TOML_TRUTH,
    TOOL_TOML_LIST,
} tool_toml_kind;

/* One line that says something. */
typedef struct tool_toml_row {
    tool_toml_kind kind;
    unsigned line; /* from 1 */
    char *key;
    char **texts; /* of a STRING one */
    size_t text_count;
    double number;
    bool is_whole; /* a NUMBER without a fraction and an exponent */
    bool truth;
} tool_toml_row;

/* {0} is empty. */
typedef struct tool_toml {
    tool_toml_row *rows;
    size_t count, room;
} tool_toml;

typedef struct tool_toml_error {
    unsigned line;
    char text[240]; /* shows nothing of the file that a terminal would obey */
} tool_toml_error;

/* False, and what is wrong where.  Call tool_toml_done in any case. */
bool tool_toml_parse(tool_toml *toml, const char *text, size_t size, tool_toml_error *reterr);
void tool_toml_done(tool_toml *toml);

#endif
