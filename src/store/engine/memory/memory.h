/*
 * The memory engine: the reference implementation of engine.h, and the disk
 * that fails on demand under the tests of the layers above.  It keeps nothing
 * across processes; within one, "durable" means published, and losing power
 * drops what was not.
 *
 * With `has_ranges` it stands for a cluster: one store, to which several nodes
 * connect, each by an engine of its own (tv_memory_engine_join).  Its rows are
 * cut into ranges, and the cuts may change at any time (tv_memory_set_cuts); a
 * node learns of that only when it meets a refusal.  Every read waits, iterators
 * read page by page, and writes to different ranges go on side by side.
 */
#ifndef TV_STORE_ENGINE_MEMORY_MEMORY_H
#define TV_STORE_ENGINE_MEMORY_MEMORY_H

#include <stdint.h>

#include "store/engine/engine.h"

/** All zeros, or no options at all, is an ordinary engine without faults. */
typedef struct tv_memory_options {
    bool is_shared;         /* say that others write too: batches then come with expectations */
    bool has_ranges;        /* is shared, as a cluster is: see above */
    int64_t write_delay_us; /* how long a write takes to become durable */
    int64_t read_delay_us;  /* how long a read takes; with has_ranges */
    size_t page_rows;       /* rows in a page of an iterator, 1,000 if 0; with has_ranges */
    uint64_t seed;          /* decides what becomes of writes under way when the power goes */
} tv_memory_options;

tv_engine *tv_memory_engine_new(const tv_memory_options *options);

/** Another node on the store of an engine that has ranges; the store goes with the last of them. */
tv_engine *tv_memory_engine_join(tv_engine *node);

/**
 * Cut the store elsewhere: ranges begin at these keys, in ascending order, and at the front.
 * A range that begins where one began before keeps its number.
 */
void tv_memory_set_cuts(tv_engine *engine, const tv_slice *cuts, size_t count);

/*
 * Faults, for tests.  `engine` is one made by tv_memory_engine_new.  Any thread.
 */

/**
 * Make the `nth` write from now (1 is the next), and as many as make `count`,
 * fail with `err`, without effect.  TV_ERR_IO stops all later writes as the
 * contract says, until tv_memory_restart, except of a store with ranges; other
 * errors do not.  One such fault at a time.
 */
void tv_memory_fail_writes(tv_engine *engine, uint64_t nth, uint64_t count, tv_err err);

/** While on, there is no room for writes: TV_ERR_DISK_FULL, except for freeing ones. */
void tv_memory_set_full(tv_engine *engine, bool on);

/** Make every get fail with `err` until called with TV_OK. */
void tv_memory_fail_reads(tv_engine *engine, tv_err err);

/** While on, a get that must not wait (TV_READ_CACHED) is answered TV_ERR_WOULD_BLOCK. */
void tv_memory_set_would_block(tv_engine *engine, bool on);

void tv_memory_set_write_delay(tv_engine *engine, int64_t delay_us);

/**
 * Cut the power.  What was reported durable stays; a write under way fails
 * with TV_ERR_IO, at once, and is kept or dropped as a whole, by the seed, as on a disk.
 * All writes after that are refused until tv_memory_restart, except of a store
 * with ranges, of which it only cuts the connections.
 */
void tv_memory_lose_power(tv_engine *engine);

/** Writes that are about to become durable, after their delay. */
int tv_memory_delayed_count(tv_engine *engine);

/** Start again after TV_ERR_IO or a loss of power. */
void tv_memory_restart(tv_engine *engine);

/** Writes that have become durable since the engine was made. */
uint64_t tv_memory_write_count(tv_engine *engine);

/** How often the store was asked for rows: gets, groups of rows, groups of reads, pages. */
uint64_t tv_memory_read_count(tv_engine *engine);

/** Batches that were to be written, refused ones and those that only compare among them. */
uint64_t tv_memory_batch_count(tv_engine *engine);

#endif
