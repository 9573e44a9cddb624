/*
 * The recorder of the table service's traffic: what was asked, how it was answered and what that
 * cost, over the last hour and since marks.  Rules judge what it has (snapshot.h); people see it
 * by GET /shapes.  README.md numbers what holds.
 *
 * A shard belongs to one thread, which tells it of each request that is done (tv_watch_record).
 * Everything else is for any thread.
 */
#ifndef TV_INSIGHT_WATCH_WATCH_H
#define TV_INSIGHT_WATCH_WATCH_H

#include "base/buf.h"
#include "insight/watch/event.h"

typedef struct tv_traffic tv_traffic;
typedef struct tv_watch tv_watch;
typedef struct tv_watch_shard tv_watch_shard;

typedef struct tv_watch_options {
    int shard_count;
    bool samples_all;     /* keep the key of every request, whatever the rate */
    bool is_clock_manual; /* time stands still but for tv_watch_advance: for tests */
    int memory_mb;        /* of all that is kept of tables and shapes; 64 */
    tv_traffic *traffic;  /* where requests are counted by key, of as many shards; or NULL */
} tv_watch_options;

tv_watch *tv_watch_new(const tv_watch_options *options);

/** No shard records any more.  Accepts NULL. */
void tv_watch_free(tv_watch *watch);

tv_watch_shard *tv_watch_shard_at(tv_watch *watch, int index);

/** When a recorder that begins now begins. */
int64_t tv_watch_start_ns(void);

/** The recorder's time: ticks of the steady clock in ns since 1970, or the manual clock's. */
int64_t tv_watch_now(const tv_watch *watch);

/** The same for a time that tv_clock_mono_ns gave just now. */
int64_t tv_watch_at(const tv_watch *watch, int64_t mono_ns);

bool tv_watch_is_manual(const tv_watch *watch);

/**
 * Move a manual clock towards a time, no further than to where something falls due: tv_watch_step
 * is called next.  False when the time has come.  One thread at a time.
 */
bool tv_watch_move_clock(tv_watch *watch, int64_t to_ns);

/** Move a manual clock and take all steps; for who does nothing between them. */
void tv_watch_advance(tv_watch *watch, int64_t ns);

/**
 * The number of a table, which events name it by.  `id` is the catalogue's, by which its traffic
 * is counted; 0 when it is not.  When there are too many tables, a dropped one,
 * else the one that was silent for longest, has to leave, and its number is nobody's from then on:
 * ask tv_watch_has_table before it is used again, and here for another when it is not.  0 when
 * more tables have come since the last fold than there is room for.
 */
uint32_t tv_watch_table(tv_watch *watch, tv_slice account, tv_slice name, int64_t id);
bool tv_watch_has_table(const tv_watch *watch, uint32_t number);

/**
 * The table with this id is gone.  What is known of it stays until its place is needed, but for its
 * traffic by key, which is in files.  Ignored when another one has its name by now.
 */
void tv_watch_drop_table(tv_watch *watch, uint32_t number, int64_t id);

/** What a connection carries for the recorder; all zeros is new. */
enum { TV_WATCH_CONN_BYTES = 512 };
typedef struct tv_watch_conn tv_watch_conn;

/** Whether the request id of a request that ended with this status is looked at. */
bool tv_watch_wants_id(const tv_watch *watch, int status);

/**
 * Record a finished request; the thread of the shard.  It does not fail, and waits for nothing but
 * a mutex that others hold for moments: of queries with a token, and of requests while failed ones
 * are remembered.  Explained queries, 401, 403 and $Metrics tables are not to be recorded; the page
 * and the command line tool, and what was refused for overload, are ignored here.
 */
void tv_watch_record(tv_watch_shard *shard, const tv_watch_event *event);

/** Take in what the shards have. */
void tv_watch_fold(tv_watch *watch);

/** From when to when a step has gone. */
typedef struct tv_watch_span {
    int64_t from_ns, to_ns;
} tv_watch_span;

/** Whether a multiple of so many seconds since 1970 lies in it, its end included. */
static inline bool tv_watch_span_ends(tv_watch_span span, int seconds)
{
    return span.from_ns / 1000000000 / seconds != span.to_ns / 1000000000 / seconds;
}

enum { TV_WATCH_JUDGE_S = 10 }; /* a manual clock that is moved stops there: rules are asked */

/**
 * Every second: fold, and end the minutes, the slots of ten minutes and the hours that are over by
 * now.  One thread at a time.
 */
tv_watch_span tv_watch_step(tv_watch *watch);

/** Begin a mark, "m3"; the oldest of eight is forgotten. */
enum { TV_WATCH_MARK_SIZE = 16 };
void tv_watch_mark(tv_watch *watch, char ret_mark[TV_WATCH_MARK_SIZE]);

/** Which shapes are asked for; empty slices: all, and of the last hour. */
typedef struct tv_watch_list {
    tv_slice account, table; /* in any case of letters */
    tv_slice since;          /* a mark, "m3" */
} tv_watch_list;

/** Append {"shapes":[...]}; `out` is lost without memory for it.  False when the mark is not known. */
bool tv_watch_list_shapes(tv_watch *watch, const tv_watch_list *asked, tv_buf *out);

/** What the pages of one shape did to a table in the last hour. */
typedef struct tv_watch_history {
    uint64_t pages, examined, returned, bytes_out;
    double share_low,
        share_high; /* of examined rows, returned by one page of the last 16 at least */
} tv_watch_history;

/** False when there was none.  `table` is of tv_watch_table. */
bool tv_watch_shape_history(tv_watch *watch, uint32_t table, uint64_t fingerprint,
                            tv_watch_history *ret_history);

typedef struct tv_watch_usage {
    uint64_t requests, dropped, evicted;
    uint64_t forgotten; /* tables that had to make room */
    size_t tables, shapes;
    size_t bytes, bytes_max; /* of tables and shapes, as of the last fold */
    uint32_t period;         /* of sampling, the greatest of the shards */
} tv_watch_usage;
tv_watch_usage tv_watch_read_usage(tv_watch *watch);

/** Append its metrics in Prometheus' text format; NULL has none. */
void tv_watch_write_metrics(void *watch, tv_buf *out);

#endif
