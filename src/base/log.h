/*
 * The log: one line of logfmt per event on standard error, or in a file,
 *
 *     time=2026-01-02T03:04:05.123Z level=info event=start port=10002 data=./data
 *
 * The latest lines are kept in memory too (log_ring.h), for GET /log of the admin port.
 *
 * Only server/, commit/ and the engines' background work log; everything else
 * returns its error.  Nothing that signs a request may be logged: callers pass
 * no Authorization header, no key and no query string (tv_log_redact cuts
 * signatures out of one).
 */
#ifndef TV_BASE_LOG_H
#define TV_BASE_LOG_H

#include "base/arena.h"

typedef enum tv_log_level {
    TV_LOG_DEBUG,
    TV_LOG_INFO,
    TV_LOG_WARN,
    TV_LOG_ERROR,
    TV_LOG_OFF,
} tv_log_level;

/** Lines below `level` are dropped.  Set once at start-up; the default is info. */
void tv_log_set_level(tv_log_level level);
bool tv_log_is_on(tv_log_level level);

/**
 * Log to the end of a file from now on; it is made for its owner alone.  False with errno.  The
 * first time before there are other threads, and then again whenever the file may have been moved.
 */
bool tv_log_open(const char *path);

/** "debug", "info", "warn", "error" or "off". */
const char *tv_log_level_name(tv_log_level level);

/** False when `name` is not one of debug, info, warn, error, off. */
bool tv_log_level_parse(tv_slice name, tv_log_level *ret_level);

/**
 * One line.  `format` gives the fields: "port=%d data=%s".  Quote a value that
 * can hold blanks, as in "data=\"%s\"": quotes and backslashes in it get a backslash.
 * Of the conversions of printf there are %s, %.*s and those of numbers.  What a terminal would
 * obey is replaced, so one call is one line of text.
 */
void tv_log(tv_log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Which of the kept lines are wanted, and what there was besides. */
typedef struct tv_log_query {
    uint64_t after;     /* numbers above this */
    tv_log_level level; /* this one and worse */
    tv_slice text;      /* has this in it, in any case; empty: all */
    size_t lines_max;   /* the latest of them */
    uint64_t first;     /* result: the number of the oldest line that is kept */
    uint64_t last;      /* result: of the latest line, wanted or not */
    bool is_cut;        /* result: more than lines_max would have been wanted */
} tv_log_query;

/**
 * Call `fn` for the lines, oldest first; they are valid UTF-8 without control characters.  Other
 * threads cannot log meanwhile: keep it short, and log nothing.  Any thread.
 */
void tv_log_read(tv_log_query *query,
                 void (*fn)(void *ctx, uint64_t number, tv_log_level level, tv_slice line),
                 void *ctx);

/**
 * A copy of a URL with the values of sig= parameters replaced by "REDACTED", and
 * with quotes percent-encoded, so that it can be put between quotes.
 */
tv_slice tv_log_redact(tv_arena *arena, tv_slice url);

#endif
