/*
 * The log: one line of logfmt per event on standard error,
 *
 *     time=2026-01-02T03:04:05.123Z level=info event=start port=10002 data=./data
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

/** False when `name` is none of debug, info, warn, error, off. */
bool tv_log_level_parse(tv_slice name, tv_log_level *ret_level);

/**
 * One line.  `format` gives the fields: "port=%d data=%s".  Quote a value that
 * can hold blanks.  Control characters are replaced, so one call is one line.
 */
void tv_log(tv_log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * A copy of a URL with the values of sig= parameters replaced by "REDACTED", and
 * with quotes percent-encoded, so that it can be put between quotes.
 */
tv_slice tv_log_redact(tv_arena *arena, tv_slice url);

#endif
