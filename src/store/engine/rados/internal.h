/* What the files of the cluster engine share; for this folder alone. */
#ifndef TV_STORE_ENGINE_RADOS_INTERNAL_H
#define TV_STORE_ENGINE_RADOS_INTERNAL_H

#include "base/background.h"
#include "base/meter.h"
#include "store/engine/rados/rados.h"
#include "store/engine/rados/ranges.h"

/** How long an operation goes on against refusals before its client is told that it timed out. */
enum { TV_RADOS_PATIENCE_MS = 30 * 1000 };

/** An operation under way; a list of them tells how old the oldest is. */
typedef struct tv_rados_op {
    struct tv_rados_op *next, *before;
    int64_t began_ns;
} tv_rados_op;

enum { TV_RADOS_METER_SLOTS = TV_METER_SLOTS }; /* slot i: up to 2^i microseconds */

typedef struct tv_rados_meter {
    _Atomic uint64_t ops, rows, bytes, us;
    _Atomic uint64_t us_slots[TV_RADOS_METER_SLOTS];
} tv_rados_meter;

typedef struct tv_rados_engine {
    tv_engine base;
    tv_pool *pool;
    tv_maps *maps;
    int reserve_percent;

    tv_rados_meter reads, writes;
    _Atomic uint64_t conflicts, clock_refusals, moved;
    _Atomic unsigned slot; /* of tv_range_clks and tv_range_gones, that this node sets */
    struct {
        uint64_t ops, conflicts, clock_refusals, moved; /* when the minute began; the keeper's */
        int looks;                                      /* since then */
        _Atomic double conflict_share, clock_share, moved_share;
    } minute; /* shares of write operations that were refused, in the last full one */
    _Atomic uint64_t space_bytes, space_free_bytes;
    _Atomic int64_t answered_ns; /* when an operation last came back */
    atomic_bool is_full;         /* the pool: puts are refused */

    pthread_mutex_t ops_lock;
    tv_rados_op ops; /* a ring, the oldest behind this one */

    tv_background router;          /* takes care of reads that were refused */
    struct tv_engine_read *strays; /* for it, in the order in which they came; under its lock */
    struct tv_engine_read **strays_end;

    bool has_keeper;
    tv_background keeper; /* looks at the map and the space */
} tv_rados_engine;

static inline tv_rados_engine *tv_rados_of(tv_engine *engine)
{
    return (tv_rados_engine *)engine;
}

/* --- engine.c --- */

/** An operation begins, and ends; they are counted in a meter and in the counts of the range. */
void tv_rados_op_begin(tv_rados_engine *rados, tv_rados_op *op);
int64_t tv_rados_op_end(tv_rados_engine *rados, tv_rados_op *op, tv_rados_meter *meter, size_t rows,
                        size_t bytes);

/** What tv_engine_ops.fences says of a map: never 0, which a batch has whose author asked nobody.
 */
static inline uint64_t tv_rados_fences_of(const tv_map *map)
{
    return map->drops + 1;
}

/** The slot that a node takes by a number; the first is nobody's. */
static inline unsigned tv_rados_slot(uint64_t number)
{
    return 1 + (unsigned)(number % (TV_RANGE_SLOTS - 1));
}

/** Whether an operation was refused because its range is elsewhere, or has another epoch. */
static inline bool tv_rados_is_astray(tv_err err)
{
    return err == TV_ERR_CONFLICT || err == TV_ERR_NOT_FOUND;
}

/** Tries against refusals: all zeros at first, but for the key. */
typedef struct tv_rados_patience {
    tv_slice key; /* what waits: when its range stays closed, whoever closed it may be dead */
    int pause_ms, waited_ms, looked_ms;
    tv_range_stuck stuck;
} tv_rados_patience;

/**
 * An operation that went by `map` was refused: have a later map, or wait for one to come.
 * TV_ERR_TIMED_OUT when that takes too long.  `map` stays the caller's.
 */
tv_err tv_rados_reroute(tv_rados_engine *rados, const tv_map *map,
                        tv_rados_patience *patience) TV_WARN_UNUSED;

/** Wait a moment, longer each time, and end what keeps the range closed.  TV_ERR_TIMED_OUT. */
tv_err tv_rados_wait(tv_rados_engine *rados, tv_rados_patience *patience) TV_WARN_UNUSED;

/** This node, for changes of ranges. */
tv_range_changer tv_rados_changer(tv_rados_engine *rados);

/** A value as it is in a row of an object, without its form.  TV_ERR_CORRUPT. */
tv_err tv_rados_open_value(tv_slice stored, tv_slice *ret_value) TV_WARN_UNUSED;

/** How many rows to ask for on a lane, at most `most`: about 4 MiB. */
size_t tv_range_lane_rows_max(tv_range_lane *lane, size_t most);
/** Rows with these keys were read or written on a lane: one of them stands for all. */
void tv_range_lane_note_use(tv_range_lane *lane, tv_slice key, size_t rows);
/** What was got. */
void tv_range_lane_note_rows(tv_range_lane *lane, size_t rows, size_t bytes);

/* --- read.c, iter.c, write.c: tv_engine_ops of the same names --- */

tv_err tv_rados_get(tv_engine *engine, tv_read_mode mode, tv_slice key, tv_arena *arena,
                    tv_slice *ret_value);
tv_err tv_rados_get_many(tv_engine *engine, const tv_slice *keys, size_t count, tv_arena *arena,
                         tv_slice *ret_values);
void tv_rados_read(tv_engine *engine, tv_engine_read *read);
void tv_rados_router_run(tv_background *background, void *ctx);
tv_err tv_rados_iter_new(tv_engine *engine, tv_slice from, tv_slice to, tv_iter **ret_iter);
tv_err tv_rados_write(tv_engine *engine, const tv_write_batch *batch);

#endif
