/*
 * The part of JSON that the protocol uses: a reader for one flat object, or array, and a
 * writer.  The reader keeps the text of numbers, because `20.0` and
 * `20` are different types to the service, and refuses everything that is not
 * strict JSON: bad UTF-8, lone surrogates, control characters in strings,
 * numbers like 01 or .5, anything after the object.
 */
#ifndef TV_BASE_JSON_H
#define TV_BASE_JSON_H

#include "base/arena.h"
#include "base/buf.h"

typedef enum tv_json_kind {
    TV_JSON_NULL,
    TV_JSON_TRUE,
    TV_JSON_FALSE,
    TV_JSON_NUMBER, /* text: the token */
    TV_JSON_STRING, /* text: unescaped, valid UTF-8; points into the input when nothing was escaped
                     */
    TV_JSON_NESTED, /* an object or array: text is all of it, checked to be strict JSON */
} tv_json_kind;

typedef struct tv_json_member {
    tv_slice name; /* unescaped */
    tv_json_kind kind;
    tv_slice text;
    tv_slice raw; /* the value as it stands, with the quotes and escapes of a string */
} tv_json_member;

typedef struct tv_json_reader {
    const char *at, *end;
    tv_arena *arena;
    bool failed;
    bool started;
    bool is_list;
} tv_json_reader;

/** Deepest nesting of TV_JSON_NESTED values; deeper input fails. */
enum { TV_JSON_DEPTH_MAX = 32 };

/** Read one object out of `text`, which outlives what is read.  Blanks around it are fine. */
void tv_json_reader_init(tv_json_reader *reader, tv_arena *arena, tv_slice text);

/** The same for one array, whose members have no names. */
void tv_json_reader_init_list(tv_json_reader *reader, tv_arena *arena, tv_slice text);

/**
 * The next member.  False after the last one and on a syntax error; then
 * `reader->failed` tells them apart.  Duplicate names are the caller's concern.
 */
bool tv_json_next(tv_json_reader *reader, tv_json_member *ret_member);

/** A text that is one value, of any kind, with blanks around it; without a name. */
bool tv_json_value(tv_arena *arena, tv_slice text, tv_json_member *ret_value);

/**
 * Append a string in quotes, as the service writes it: \" \\ \b \f \n \r \t,
 * other control characters and everything above 0x7F as \uXXXX in lower case
 * (surrogate pairs beyond the BMP).  `text` is valid UTF-8.
 */
void tv_json_add_string(tv_buf *buf, tv_slice text);

/**
 * A member of an object, or with a NULL for its name an item of a list: the comma that it needs,
 * and its name, which needs no escapes.  The value is appended next.  There is no comma where the
 * text so far is empty or ends with a bracket that was opened, a colon, a comma or a line.
 */
void tv_json_name(tv_buf *out, const char *name);

/** The same, and what its value begins with: '{' or '[', or a new line for them to stand on. */
void tv_json_open(tv_buf *out, const char *name, char bracket);

/** Whole members, or items. */
void tv_json_text(tv_buf *out, const char *name, tv_slice text);
void tv_json_number(tv_buf *out, const char *name, uint64_t number);
void tv_json_bool(tv_buf *out, const char *name, bool is_true);
void tv_json_time(tv_buf *out, const char *name, int64_t ticks);

#endif
