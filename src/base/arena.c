/* Bump allocation out of a chain of chunks. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>

#include "base/assert.h"

enum { CHUNK_BYTES = 8 * 1024, ALIGNMENT = 16 };

struct tv_arena_chunk {
    tv_arena_chunk *older;
    size_t size;    /* of `bytes` */
    size_t charged; /* to the arena's charge; nothing when it was kept by a reset */
    _Alignas(ALIGNMENT) char bytes[];
};

void tv_arena_init(tv_arena *arena)
{
    *arena = (tv_arena){NULL, 0, NULL};
}

/* The chunk's memory is no longer counted by the charge. */
static void discharge(tv_arena *arena, tv_arena_chunk *chunk)
{
    if (chunk->charged)
        tv_charge_unuse(arena->charge, chunk->charged);
    chunk->charged = 0;
}

static void free_chunk(tv_arena *arena, tv_arena_chunk *chunk)
{
    discharge(arena, chunk);
    free(chunk);
}

void tv_arena_done(tv_arena *arena)
{
    while (arena->chunk) {
        tv_arena_chunk *older = arena->chunk->older;

        free_chunk(arena, arena->chunk);
        arena->chunk = older;
    }
    arena->used = 0;
}

void tv_arena_reset(tv_arena *arena)
{
    tv_arena_chunk *kept = NULL;

    while (arena->chunk) {
        tv_arena_chunk *older = arena->chunk->older;

        if (kept == NULL && arena->chunk->size == CHUNK_BYTES)
            kept = arena->chunk;
        else
            free_chunk(arena, arena->chunk);
        arena->chunk = older;
    }
    if (kept) {
        discharge(arena, kept);
        kept->older = NULL;
    }
    arena->chunk = kept;
    arena->used = 0;
}

size_t tv_arena_held(const tv_arena *arena)
{
    size_t bytes = 0;

    for (const tv_arena_chunk *chunk = arena->chunk; chunk; chunk = chunk->older)
        bytes += sizeof *chunk + chunk->size;
    return bytes;
}

/* Make a chunk, fresh from malloc, the newest one. */
static void add_chunk(tv_arena *arena, tv_arena_chunk *chunk, size_t size)
{
    *chunk = (tv_arena_chunk){.older = arena->chunk, .size = size};
    if (arena->charge && arena->charge->share) {
        chunk->charged = sizeof *chunk + size;
        tv_charge_use(arena->charge, chunk->charged);
    }
    arena->chunk = chunk;
    arena->used = 0;
}

static size_t aligned(size_t offset, size_t alignment)
{
    return (offset + alignment - 1) & ~(alignment - 1);
}

tv_err tv_arena_reserve(tv_arena *arena, size_t size)
{
    tv_arena_chunk *chunk;
    size_t chunk_size;
    tv_err err = TV_OK;

    tv_assert(size < SIZE_MAX / 4);
    if (arena->chunk && aligned(arena->used, ALIGNMENT) + size <= arena->chunk->size)
        return TV_OK;

    chunk_size = size > CHUNK_BYTES ? size : CHUNK_BYTES;
    if (arena->charge)
        err = tv_charge_reserve(arena->charge, sizeof *chunk + chunk_size);
    if (err)
        return err;

    chunk = malloc(sizeof *chunk + chunk_size);
    if (chunk == NULL) {
        if (arena->charge)
            tv_charge_trim(arena->charge);
        return TV_ERR_OVERLOADED;
    }
    add_chunk(arena, chunk, chunk_size);
    return TV_OK;
}

/* Take `size` bytes at a multiple of `alignment`, from a new chunk if need be. */
static void *take(tv_arena *arena, size_t size, size_t alignment)
{
    size_t start = aligned(arena->used, alignment);

    tv_assert(size < SIZE_MAX / 4);
    if (arena->chunk == NULL || start + size > arena->chunk->size) {
        size_t chunk_size = size > CHUNK_BYTES ? size : CHUNK_BYTES;

        add_chunk(arena, tv_malloc(sizeof(tv_arena_chunk) + chunk_size), chunk_size);
        start = 0;
    }
    arena->used = start + size;
    return arena->chunk->bytes + start;
}

void *tv_arena_alloc(tv_arena *arena, size_t size)
{
    return take(arena, size, ALIGNMENT);
}

void *tv_arena_zalloc(tv_arena *arena, size_t size)
{
    return memset(take(arena, size, ALIGNMENT), 0, size);
}

char *tv_arena_bytes(tv_arena *arena, size_t size)
{
    return take(arena, size, 1);
}

tv_slice tv_arena_dup(tv_arena *arena, tv_slice bytes)
{
    char *copy = tv_arena_bytes(arena, bytes.len);

    if (bytes.len)
        memcpy(copy, bytes.data, bytes.len);
    return (tv_slice){copy, bytes.len};
}

tv_err tv_arena_try_dup(tv_arena *arena, tv_slice bytes, tv_slice *ret_copy)
{
    tv_err err = bytes.len > CHUNK_BYTES ? tv_arena_reserve(arena, bytes.len) : TV_OK;

    if (err == TV_OK)
        *ret_copy = tv_arena_dup(arena, bytes);
    return err;
}

tv_slice tv_arena_printf(tv_arena *arena, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    tv_assert(len >= 0);

    char *text = tv_arena_bytes(arena, (size_t)len + 1);

    vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return (tv_slice){text, (size_t)len};
}
