/*
 * A batch of changes for one atomic write: puts, deletes and what the author
 * expects to find.  It borrows its slices; they live until the write returns.
 */
#ifndef TV_STORE_ENGINE_WRITE_BATCH_H
#define TV_STORE_ENGINE_WRITE_BATCH_H

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

typedef enum tv_change_kind {
    TV_CHANGE_PUT,
    TV_CHANGE_DELETE,
    TV_CHANGE_EXPECT_VALUE,  /* the row has exactly this value */
    TV_CHANGE_EXPECT_ABSENT, /* there is no such row */
} tv_change_kind;

typedef struct tv_change {
    tv_change_kind kind;
    tv_slice key;
    tv_slice value;
} tv_change;

/**
 * Rows that keep the order of others, which may be late for that: in the order in which nodes have
 * learned to keep them (rados/route.h).
 */
typedef enum tv_guard {
    TV_GUARD_NONE,
    TV_GUARD_OF_QUEUES,
    TV_GUARD_OF_BLOBS, /* and of catalogues */
    TV_GUARDS,
} tv_guard;

/** All zeros is an empty batch. */
typedef struct tv_write_batch {
    tv_change *changes;
    size_t count, size;
    bool is_freeing;     /* it frees space in the end: see tv_engine_ops.write */
    int64_t stamp;       /* the latest instant in it; 0 for none: see tv_engine_ops.write */
    int64_t first_stamp; /* the earliest; 0 when that is the same one */
    bool may_be_late;    /* see tv_engine_ops.write; then it expects something of all it changes */
    tv_guard guard;      /* or not, because some of that is guarded by other rows that it expects */
    int64_t gone;        /* the latest instant that a row has which it deletes; 0: none has one */
    uint64_t fences; /* tv_engine_ops.fences before its author looked at a catalogue; 0: at none */
} tv_write_batch;

/** The earliest instant in it. */
static inline int64_t tv_write_batch_first_stamp(const tv_write_batch *batch)
{
    return batch->first_stamp ? batch->first_stamp : batch->stamp;
}

/** Append one change.  Changes to one key apply in order; expectations are tested before all of
 * them. */
void tv_write_batch_add(tv_write_batch *batch, tv_change change);

/** Make room for this many changes in all.  TV_ERR_OVERLOADED when there is no memory. */
tv_err tv_write_batch_reserve(tv_write_batch *batch, size_t count) TV_WARN_UNUSED;

/** Empty it, keeping its memory. */
void tv_write_batch_clear(tv_write_batch *batch);

void tv_write_batch_done(tv_write_batch *batch);

#endif
