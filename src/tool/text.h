/*
 * Memory and text of the tool.  A program that runs for one command may end when memory is short:
 * these say so and exit.
 */
#ifndef TOOL_TEXT_H
#define TOOL_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *tool_alloc(size_t size);
void *tool_resize(void *memory, size_t size);
char *tool_copy(const char *text);
char *tool_copy_part(const char *text, size_t size);

/* Bytes that grow; there is a NUL after the last one.  {0} is empty. */
typedef struct tool_text {
    char *at;
    size_t size, room;
} tool_text;
void tool_text_add(tool_text *text, const void *bytes, size_t size);
void tool_text_puts(tool_text *text, const char *more);
void tool_text_printf(tool_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tool_text_done(tool_text *text);
/* Read a whole file, "-" is standard input; false with errno. */
bool tool_text_read_file(tool_text *text, const char *path);
/*
 * Files that the tool makes beside its user's, where others may have made links of the same names:
 * none is followed.  A new file in the place of whatever is there, to read and write; or one that
 * is there.  A descriptor, or -1 with errno.
 */
int tool_new_file(const char *path);
int tool_own_file(const char *path, int flags);
bool tool_text_read_own(tool_text *text, const char *path);

/* The folder for what the tool remembers, made if it is not there, for its owner alone.  False when
 * there is none: no home. */
bool tool_state_folder(tool_text *ret_path);

/* 1284 as "1,284", in the room, which is returned. */
enum { TOOL_GROUPED = 32 };
const char *tool_grouped(char room[TOOL_GROUPED], double number);
void tool_text_grouped(tool_text *text, double number);

/* Six digits, without an exponent: 0.0036, 2.256, 1,234,568. */
void tool_text_amount(tool_text *text, double number);

/* The base64 of bytes, and back: false when it is not strict base64. */
void tool_text_base64(tool_text *text, const void *bytes, size_t size);
bool tool_text_unbase64(tool_text *text, const char *base64, size_t size);

/* The character at `at` (of `size` bytes, at least one) and its bytes; what is not UTF-8 is U+FFFD
 * of one byte. */
uint32_t tool_utf8_next(const char *at, size_t size, size_t *ret_bytes);
/* How many columns of a terminal a character takes: 0, 1 or 2. */
unsigned tool_char_width(uint32_t c);
unsigned tool_text_width(const char *text, size_t size);
/* Whether a text may hold the signature of a SAS: "sig=", or "sig%3d" as one in a URL of another.
 */
bool tool_has_signature(const char *text);
/* The text with such characters as \n, \t, \x1b, \u202e, and \ itself doubled if asked for. */
void tool_text_escape(tool_text *text, const char *from, size_t size, bool with_backslash);
/* The same, but lines stay lines. */
void tool_text_show(tool_text *text, const char *from, size_t size);

#endif
