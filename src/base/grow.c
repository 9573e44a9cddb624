/* See grow.h.  The array's pointer has another type than void *, so it is copied as bytes. */
#include "base/grow.h"

#include <stdlib.h>

static bool next_size(size_t size, size_t first, size_t item_bytes, size_t *ret_size,
                      size_t *ret_bytes)
{
    *ret_size = size ? 2 * size : first;
    return size <= SIZE_MAX / 2 && !__builtin_mul_overflow(*ret_size, item_bytes, ret_bytes);
}

bool tv_grow_items(void *items, size_t *size, size_t first, size_t item_bytes)
{
    size_t new_size, bytes;
    void *array;

    memcpy(&array, items, sizeof array);
    if (!next_size(*size, first, item_bytes, &new_size, &bytes))
        return false;

    array = realloc(array, bytes);
    if (array == NULL)
        return false;

    memcpy(items, &array, sizeof array);
    *size = new_size;
    return true;
}

void tv_arena_grow_items(tv_arena *arena, void *items, size_t *size, size_t first,
                         size_t item_bytes)
{
    size_t new_size, bytes;
    void *old, *array;

    memcpy(&old, items, sizeof old);
    tv_assert(next_size(*size, first, item_bytes, &new_size, &bytes));
    array = tv_arena_alloc(arena, bytes);
    if (*size)
        memcpy(array, old, *size * item_bytes);
    memcpy(items, &array, sizeof array);
    *size = new_size;
}

tv_err tv_arena_try_grow_items(tv_arena *arena, void *items, size_t *size, size_t first,
                               size_t item_bytes)
{
    size_t new_size, bytes;
    tv_err err;

    if (!next_size(*size, first, item_bytes, &new_size, &bytes))
        return TV_ERR_OVERLOADED;

    err = tv_arena_reserve(arena, bytes);
    if (err)
        return err;

    tv_arena_grow_items(arena, items, size, first, item_bytes);
    return TV_OK;
}
