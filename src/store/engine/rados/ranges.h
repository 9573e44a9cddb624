/*
 * Changes to ranges: split, merge, fence, drop, and what is left of them when a node dies.
 *
 * There is nothing atomic over two objects, so a change is written down first: an intent in
 * tv.route, which keeps others from the range.  Then come the steps on the range objects, each
 * an operation that is refused unless the object is as the step before has left it.  One change
 * of tv.route, the publication, turns old into new for everybody at once.  Before it anyone
 * may roll back; after it anyone may finish; and two who do the same do no harm.
 *
 * What holds all the time, for a row of a range that is split from A into A and B:
 *
 *  (1) A write takes effect in an object only under its write epoch, a read under its read
 *      epoch, and every range that is newly published has epochs that nobody has named before.
 *  (2) From the moment in which B takes writes, A answers no read of the old map.
 *  (3) B takes writes only when it has all rows, and A has taken none since they were read.
 *  (4) An object may hold rows outside the range's bounds.  Nobody reads them, and they are
 *      removed before the range's bounds grow over them again.
 *  (5) Instants of a range grow: B's clocks begin where A's were (tv_range_clock).
 *
 *     split of A at `cut`                  wep, rep of A    of B             who can read, write
 *     1 intent, g|B                        e      e         -                A, A
 *     2 make B, closed                     e      e         B     B          A, A
 *     3 copy the rows from `cut` on        e      e         B     B          A, A
 *     4 freeze A                           F      e         B     B          A, nobody
 *     5 look at the rows again             F      e         B     B          A, nobody
 *     6 B can be read                      F      e         B     new        A, nobody
 *     7 publish both ranges                F      e         B     new        B: B, nobody
 *     8 A has the new epoch                new    new       B     new        both, A
 *     9 B has it                           new    new       new   new        both, both
 *    10 the intent goes, A is dirty
 *    11 the rows from `cut` on leave A, later and a few at a time
 *
 *     merge of B into A, on its left       wep, rep, mrg of A   of B
 *     1 intent, lock on B                  e    e    ""         f    f
 *     2 A: rows in B's bounds go, mrg      e    e    id         f    f
 *     3 copy B's rows to A                 e    e    id         f    f
 *     4 freeze B                           e    e    id         F    f
 *     5 look at the rows again, B's clocks e    e    id         F    f
 *     6 publish A with B's bounds          e    e    id         F    f
 *     7 remove B                           e    e    id         -
 *     8 A has the new epoch                new  new  ""         -
 *     9 the intent goes
 *
 * Here it is A that has all rows of B, and B that has taken no writes since they were read, before
 * A takes writes to them (3).  A takes writes to its own rows all the time; only who knows `mrg`
 * puts others beside them, which nobody reads (4) and which go with `mrg` when it is undone.
 *
 * A drop of a whole range is a merge that copies nothing.  A fence gives ranges a new epoch.
 *
 * All functions wait, and may be called from any thread.  TV_ERR_CONFLICT: somebody else is
 * changing these ranges, or has undone what was begun; nothing is left behind that others
 * cannot finish.  TV_ERR_STOPPED: this client is shut out, or a pressure point said so: then
 * nothing was undone.
 */
#ifndef TV_STORE_ENGINE_RADOS_RANGES_H
#define TV_STORE_ENGINE_RADOS_RANGES_H

#include "store/engine/rados/route.h"
#include "store/pool/pool.h"

/** Beside those of route.h: the id of the merge that may put rows into this object. */
#define TV_RANGE_MERGE TV_LIT("mrg")
/** A number that grows while rows are being copied into it: whoever does it is alive. */
#define TV_RANGE_BEAT TV_LIT("beat")

/** Who changes ranges.  All outlives the call. */
typedef struct tv_range_changer {
    tv_pool *pool;
    tv_slice incarnation; /* "" in tests */
} tv_range_changer;

/** How a split or a merge went. */
typedef struct tv_range_result {
    uint64_t rows, bytes; /* moved */
    int64_t total_ms, paused_ms;
    bool is_published; /* it has happened, whatever the error says */
} tv_range_result;

/**
 * Cut the range of `cut` in two there.  `cut` is the beginning of a partition.  TV_ERR_NOT_FOUND
 * when it is the beginning of a range already.  `reason` is for the history.
 */
tv_err tv_range_split(const tv_range_changer *changer, tv_slice cut, tv_slice reason,
                      tv_range_result *ret_result) TV_WARN_UNUSED;

/** Make one range of that which starts at `start` and the one before it; TV_ERR_NOT_FOUND. */
tv_err tv_range_merge(const tv_range_changer *changer, tv_slice start, tv_slice reason,
                      tv_range_result *ret_result) TV_WARN_UNUSED;

/** See tv_engine_ops.fence.  What is being done to these ranges is finished or undone first. */
tv_err tv_range_fence(const tv_range_changer *changer, tv_slice from, tv_slice to) TV_WARN_UNUSED;

/**
 * Remove all rows in [from, to): see tv_engine_ops.drop_range.  Ranges that are wholly inside
 * go with their objects, the rest goes in steps of 1,000 rows.
 */
tv_err tv_range_drop(const tv_range_changer *changer, tv_slice from, tv_slice to) TV_WARN_UNUSED;

/** Finish or undo all that is being done to the range of this key.  For who waits for it. */
tv_err tv_range_recover(const tv_range_changer *changer, tv_slice key) TV_WARN_UNUSED;

/** An intent as somebody saw it who waits for its end; zeros is nothing seen. */
typedef struct tv_range_stuck {
    char id[32];
    tv_intent_stage stage;
    uint64_t beat;
    int64_t since_ms, first_ms; /* seen as it is, and at all */
} tv_range_stuck;

enum { TV_RANGE_STILL_MS = 2 * 1000, TV_RANGE_PAUSE_MS_MAX = 10 * 1000 };

/**
 * The same for one who waits for the range of a key, and comes again every second or so: only when
 * whoever changes the range has not gone on for TV_RANGE_STILL_MS, or takes longer than
 * TV_RANGE_PAUSE_MS_MAX.  By any clock that grows.
 */
tv_err tv_range_recover_stuck(const tv_range_changer *changer, tv_slice key, tv_range_stuck *stuck,
                              int64_t now_ms) TV_WARN_UNUSED;

/* --- for the leader --- */

/** Finish or undo the intent of this id.  TV_OK also when there is none any more. */
tv_err tv_range_recover_id(const tv_range_changer *changer, tv_slice id) TV_WARN_UNUSED;

/** Intents as they were seen at a time; zeros is nothing seen. */
typedef struct tv_range_watch {
    struct {
        char id[32];
        tv_intent_stage stage;
        uint64_t beat; /* a hash of TV_RANGE_BEAT */
        int64_t since_ms;
    } seen[64];
    size_t count;
} tv_range_watch;

enum { TV_RANGE_INTENT_MS = 10 * 1000 };

/**
 * Recover intents that have not changed for TV_RANGE_INTENT_MS, by any clock that grows, and whose
 * copy has not gone on either.
 */
tv_err tv_range_recover_old(const tv_range_changer *changer, tv_range_watch *watch,
                            int64_t now_ms) TV_WARN_UNUSED;

/** Remove up to 1,000 rows that a range holds outside its bounds.  `ret_is_clean`: all ranges are.
 */
tv_err tv_range_clean(const tv_range_changer *changer, bool *ret_is_clean) TV_WARN_UNUSED;

enum { TV_RANGE_MADE_MS = 60 * 1000, TV_RANGE_EVENTS_MAX = 1000 };

/** Remove objects that a rolled back split has made, by the wall clock (ms since 1970). */
tv_err tv_range_collect(const tv_range_changer *changer, int64_t now_ms) TV_WARN_UNUSED;

/**
 * Of these range objects, all of which were in the pool before the call, keep those that nothing
 * in tv.route names: nobody uses them, now or later.
 */
tv_err tv_range_keep_strays(const tv_range_changer *changer, tv_slice *objects,
                            size_t *count) TV_WARN_UNUSED;

/**
 * Remove a stray that a split has made and not opened.  TV_ERR_CONFLICT: it is something else,
 * which this source does not know how to come by; it stays.
 */
tv_err tv_range_remove_stray(const tv_range_changer *changer, tv_slice object) TV_WARN_UNUSED;

/** All events, the oldest first; what is passed to `fn` lies in the arena. */
tv_err tv_range_visit_events(tv_pool *pool, tv_arena *arena,
                             void (*fn)(void *ctx, const tv_route_event *event),
                             void *ctx) TV_WARN_UNUSED;

/** Forget the oldest events above TV_RANGE_EVENTS_MAX. */
tv_err tv_range_trim_events(const tv_range_changer *changer) TV_WARN_UNUSED;

/** Set the hint, the node that usually writes it, of the range that starts at `start`. */
tv_err tv_range_set_hint(const tv_range_changer *changer, tv_slice start,
                         tv_slice hint) TV_WARN_UNUSED;

#endif
