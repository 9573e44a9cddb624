/*
 * A trace: a line of JSON for each finished request, in a file that other tools judge and replay.
 * docs/lint.md lists the fields.
 *
 *  (1) The first line is {"tavolaTrace":1,...}; a reader refuses any other number.
 *  (2) Nothing waits for the disk: lines go to memory of 8 MiB, and a thread writes them.  What
 * finds no room is not written, and the next line that does has "lost": how many. (3) Values and
 * keys are hashes (HMAC-SHA256, the first 48 bits) under a key of this trace that is never written;
 * only FULL has them.  No trace has signatures, headers or bodies.
 */
#ifndef TV_INSIGHT_WATCH_TRACE_H
#define TV_INSIGHT_WATCH_TRACE_H

#include "base/arena.h"
#include "insight/watch/event.h"

enum { TV_WATCH_TRACE_VERSION = 1, TV_WATCH_TRACE_KEYS_MAX = 100 };

typedef enum tv_watch_trace_values {
    TV_WATCH_TRACE_SHAPE, /* no values; of keys only what class they are of */
    TV_WATCH_TRACE_HASH,
    TV_WATCH_TRACE_FULL,
} tv_watch_trace_values;

/** "shape", "hash" or "full". */
bool tv_watch_trace_values_parse(const char *text, tv_watch_trace_values *ret_values);

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct tv_watch_trace tv_watch_trace;

typedef struct tv_watch_trace_options {
    const char *path; /* a new file, for its owner alone */
    tv_watch_trace_values values;
    bool hides_names; /* of accounts, tables and properties: hashes of them */
    bool has_targets; /* scalability targets are emulated */
    size_t memory;    /* 0: 8 MiB */
    /** Called once, on its thread, when the file can no longer be written. */
    void (*on_trouble)(const char *what);
} tv_watch_trace_options;

/** NULL with one line that says what is wrong. */
tv_watch_trace *tv_watch_trace_open(const tv_watch_trace_options *options, char *reterr_text,
                                    size_t reterr_size);

/** A finished request; any thread.  The name of its table may be empty. */
void tv_watch_trace_add(tv_watch_trace *trace, tv_slice account, tv_slice table,
                        const tv_watch_event *event);

/** Write what is left.  Nobody adds any more.  Accepts NULL. */
void tv_watch_trace_close(tv_watch_trace *trace);

/* ---- reading --------------------------------------------------------------------------------- */

/** What the first line says of the others. */
typedef struct tv_watch_trace_head {
    tv_watch_trace_values values;
    bool hides_names;
} tv_watch_trace_head;

/** A literal of a query: its text, or the hash that stands for it. */
typedef struct tv_watch_literal {
    char type; /* s i l d b t g x, as in shapes */
    bool is_hash;
    tv_slice text;
} tv_watch_literal;

/** A request of a trace. */
typedef struct tv_watch_traced {
    tv_slice account, table;
    tv_watch_event event; /* without its table's number and its connection; time_ns is since the
                             trace began */
    tv_shape shape;       /* text is empty where the line has none */
    bool has_shape;
    uint64_t lost; /* requests before this one */
    uint64_t connection;
    tv_watch_key keys[TV_WATCH_TRACE_KEYS_MAX];
    tv_slice row_class;               /* of the RowKey of its first key, as facts/class.h has it */
    uint32_t properties_max;          /* that one of the entities was sent with */
    const tv_watch_literal *literals; /* of a query, in the order of its shape */
    size_t literal_count;
} tv_watch_traced;

/** The first line of a trace; false with what is wrong with it. */
bool tv_watch_trace_read_head(tv_arena *arena, tv_slice line, tv_watch_trace_head *ret_head,
                              char *reterr_text, size_t reterr_size);

/** Another line; false when it is not valid.  Texts are in the arena, or parts of the line. */
bool tv_watch_trace_read_line(tv_arena *arena, tv_slice line, tv_watch_traced *ret_request);

/** Is shown each request of a file.  What it points to lives until the next one; what it needs
 * meanwhile can be made in the arena. */
typedef void tv_watch_trace_visit(void *ctx, const tv_watch_trace_head *head, tv_arena *arena,
                                  tv_watch_traced *request);

/**
 * Read a file: the requests one after the other, those of shapes with the text that an earlier
 * line had, and those without an operation, which only tell what was lost.  False with one line
 * that says what is wrong with it, and where; what came before has been shown.
 */
bool tv_watch_trace_read_file(const char *path, tv_watch_trace_visit *visit, void *ctx,
                              char *reterr_text, size_t reterr_size);

#endif
