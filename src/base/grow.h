/*
 * Arrays that double.  An array is a pointer, a count of items and a size, the number of items
 * that there is room for; all zeros is empty.  Each of these makes room for one item more:
 *
 *     tv_grow(&set->ids, set->count, &set->size, 64);
 *     set->ids[set->count++] = id;
 *
 * `first` is the size of an array that has had no item yet.  When memory is refused the array
 * is as it was.
 */
#ifndef TV_BASE_GROW_H
#define TV_BASE_GROW_H

#include "base/arena.h"
#include "base/assert.h"

/** On the heap, for what is bounded: without memory the process ends. */
#define tv_grow(items, count, size, first) tv_assert(tv_try_grow(items, count, size, first))

/** On the heap; false without memory. */
#define tv_try_grow(items, count, size, first)                                                     \
    ((count) < *(size) || tv_grow_items(items, size, first, sizeof **(items)))

/** In an arena, where the smaller array stays.  For what is bounded, like tv_grow. */
#define tv_arena_grow(arena, items, count, size, first)                                            \
    ((count) < *(size) ? (void)0 : tv_arena_grow_items(arena, items, size, first, sizeof **(items)))

/** The same for as many items as a client wants: TV_ERR_OVERLOADED like tv_arena_reserve. */
#define tv_arena_try_grow(arena, items, count, size, first)                                        \
    ((count) < *(size) ? TV_OK                                                                     \
                       : tv_arena_try_grow_items(arena, items, size, first, sizeof **(items)))

/* What the macros call when an array is full.  `items` is the address of its pointer. */
bool tv_grow_items(void *items, size_t *size, size_t first, size_t item_bytes);
void tv_arena_grow_items(tv_arena *arena, void *items, size_t *size, size_t first,
                         size_t item_bytes);
tv_err tv_arena_try_grow_items(tv_arena *arena, void *items, size_t *size, size_t first,
                               size_t item_bytes) TV_WARN_UNUSED;

#endif
