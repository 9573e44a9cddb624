/*
 * Rows of a range on their way from one object to another.
 *
 * They are copied while they change, in pieces with fixed bounds, and a digest of each piece
 * is kept.  When the source can no longer change, the pieces are read again, several at a time.
 * One whose digest has changed is compared with the target, and the rows that differ are written.
 * So the time in which nobody can write is that of reading, not of writing.
 *
 * Every read is guarded by an attribute of the source and every write by one of the target;
 * TV_ERR_CONFLICT says that somebody else has gone on with either of them.
 */
#ifndef TV_STORE_ENGINE_RADOS_COPY_H
#define TV_STORE_ENGINE_RADOS_COPY_H

#include "store/pool/pool.h"

/** "The attribute has this value." */
typedef struct tv_copy_guard {
    tv_slice attr, value;
} tv_copy_guard;

typedef struct tv_copy_piece {
    tv_slice from; /* it ends where the next begins */
    uint64_t digest;
    size_t rows;
} tv_copy_piece;

typedef struct tv_copy {
    tv_pool *pool;
    const char *source, *target;
    tv_copy_guard target_guard;
    tv_slice from, to; /* the keys in [from, to); `to` may be empty: no end */
    /* Kept by the functions below. */
    tv_arena arena;
    tv_copy_piece *pieces;
    size_t count, size;
    size_t page_rows; /* so that a page has some MiB at most */
    uint64_t rows, bytes;
    uint64_t beat; /* writes so far: told in the target, see TV_RANGE_BEAT */
} tv_copy;

/** Fill in the upper half and call this.  All slices and names outlive it. */
void tv_copy_init(tv_copy *copy);
void tv_copy_done(tv_copy *copy);

/** Copy everything; there is nothing in these bounds of the target yet. */
tv_err tv_copy_first(tv_copy *copy, tv_copy_guard source_guard) TV_WARN_UNUSED;

/** Look at everything once more, and copy again what has changed.  `ret_changed`: pieces. */
tv_err tv_copy_again(tv_copy *copy, tv_copy_guard source_guard, size_t *ret_changed) TV_WARN_UNUSED;

/**
 * Both, while the source takes writes: what changes during the second look is all that is left for
 * one more, which writers wait for.
 */
tv_err tv_copy_ahead(tv_copy *copy, tv_copy_guard source_guard) TV_WARN_UNUSED;

#endif
