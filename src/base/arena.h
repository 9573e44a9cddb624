/*
 * Memory by lifetime: what a request needs until its answer is sent comes from
 * the request's arena and is freed with it, all at once.  An arena belongs to
 * one thread at a time; handing a request to another thread hands over its
 * arena.
 *
 * Code that takes memory by a size that a client chose asks for it first, with
 * tv_arena_reserve or tv_buf_try_grow, which can refuse; what is taken then cannot
 * fail.  What is written row by row (a page, a list, a reply) asks before each row for
 * the most that the row can take, and ends before it, or is refused, when there is no
 * more.  An update function that finds no memory fails alone (engine/txn.h).  The rest
 * is small, at most about a request's head, bounded by limits that were met before,
 * and a malloc that fails there ends the process.  An arena with a charge counts all
 * it takes (base/budget.h).
 */
#ifndef TV_BASE_ARENA_H
#define TV_BASE_ARENA_H

#include "base/budget.h"
#include "base/slice.h"

typedef struct tv_arena_chunk tv_arena_chunk;

typedef struct tv_arena {
    tv_arena_chunk *chunk; /* the newest; older ones hang after it */
    size_t used;           /* bytes taken of `chunk` */
    tv_charge *charge;     /* set after init, or NULL: what it takes is counted there */
} tv_arena;

void tv_arena_init(tv_arena *arena);

/** Free everything.  The arena may be used again as after init; it keeps its charge. */
void tv_arena_done(tv_arena *arena);

/**
 * Forget everything but keep one ordinary chunk, so that the next user need not
 * allocate.  Nothing of it is charged any more.
 */
void tv_arena_reset(tv_arena *arena);

/** Bytes that an arena has from the heap. */
size_t tv_arena_held(const tv_arena *arena);

/**
 * Make sure that `size` bytes can be taken, in any number of pieces: TV_ERR_OVERLOADED
 * when the charge or the system does not have that much.  What is reserved and not used
 * costs address space, not memory.
 */
tv_err tv_arena_reserve(tv_arena *arena, size_t size) TV_WARN_UNUSED;

/**
 * Whether the charge allows `size` bytes more: for what comes in pieces that are not
 * large by themselves.  TV_ERR_OVERLOADED.
 */
static inline tv_err tv_arena_allow(tv_arena *arena, size_t size)
{
    return arena->charge ? tv_charge_reserve(arena->charge, size) : TV_OK;
}

/** Uninitialised memory, aligned for any type. */
void *tv_arena_alloc(tv_arena *arena, size_t size);

/** The same, filled with zeros. */
void *tv_arena_zalloc(tv_arena *arena, size_t size);

/** Uninitialised memory for bytes: not aligned. */
char *tv_arena_bytes(tv_arena *arena, size_t size);

/** A copy that lives as long as the arena. */
tv_slice tv_arena_dup(tv_arena *arena, tv_slice bytes);

/** The same for bytes that may be many: TV_ERR_OVERLOADED like tv_arena_reserve. */
tv_err tv_arena_try_dup(tv_arena *arena, tv_slice bytes, tv_slice *ret_copy) TV_WARN_UNUSED;

/** Formatted text in the arena. */
tv_slice tv_arena_printf(tv_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));

#endif
