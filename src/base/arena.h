/*
 * Memory by lifetime: what a request needs until its answer is sent comes from
 * the request's arena and is freed with it, all at once.  An arena belongs to
 * one thread at a time; handing a request to another thread hands over its
 * arena.  Sizes meet their limits before they come here, so nothing fails.
 */
#ifndef TV_BASE_ARENA_H
#define TV_BASE_ARENA_H

#include "base/slice.h"

typedef struct tv_arena_chunk tv_arena_chunk;

typedef struct tv_arena {
    tv_arena_chunk *chunk; /* the newest; older ones hang behind it */
    size_t used;           /* bytes taken of `chunk` */
} tv_arena;

void tv_arena_init(tv_arena *arena);

/** Free everything.  The arena may be used again as after init. */
void tv_arena_done(tv_arena *arena);

/** Forget everything but keep one ordinary chunk, so that the next user need not allocate. */
void tv_arena_reset(tv_arena *arena);

/** Bytes that an arena has from the heap. */
size_t tv_arena_held(const tv_arena *arena);

/** Uninitialised memory, aligned for any type. */
void *tv_arena_alloc(tv_arena *arena, size_t size);

/** The same, filled with zeros. */
void *tv_arena_zalloc(tv_arena *arena, size_t size);

/** Uninitialised memory for bytes: not aligned. */
char *tv_arena_bytes(tv_arena *arena, size_t size);

/** A copy that lives as long as the arena. */
tv_slice tv_arena_dup(tv_arena *arena, tv_slice bytes);

/** Formatted text in the arena. */
tv_slice tv_arena_printf(tv_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));

#endif
