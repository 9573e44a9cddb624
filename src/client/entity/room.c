/* Memory of entities, in blocks that double up to a limit. */
#include "client/entity/room.h"

#include <stdalign.h>

enum { BLOCK_BYTES_MIN = 1024, BLOCK_BYTES_MAX = 64 * 1024 };

typedef struct tvc_entity_block {
    struct tvc_entity_block *next;
    alignas(max_align_t) char bytes[];
} tvc_entity_block;

bool tvc_room_reserve(tvc_entity_memory *memory, size_t size)
{
    size_t bytes = memory->taken < BLOCK_BYTES_MAX ? memory->taken : BLOCK_BYTES_MAX;

    if (bytes < BLOCK_BYTES_MIN)
        bytes = BLOCK_BYTES_MIN;
    if (bytes < size)
        bytes = size;
    if (bytes > SIZE_MAX / 2)
        return false;

    tvc_entity_block *block = tvc_alloc(sizeof *block + bytes);

    if (block == NULL)
        return false;
    block->next = memory->blocks;
    memory->blocks = block;
    memory->at = block->bytes;
    memory->end = block->bytes + bytes;
    return true;
}

char *tvc_room_take(tvc_entity_memory *memory, size_t size)
{
    if ((size_t)(memory->end - memory->at) < size && !tvc_room_reserve(memory, size))
        return NULL;

    char *room = memory->at;

    memory->at += size;
    memory->taken += size;
    return room;
}

tvc_property *tvc_room_properties(tvc_entity_memory *memory, size_t count)
{
    size_t gap = -(uintptr_t)memory->at % alignof(tvc_property);
    size_t bytes = count * sizeof(tvc_property);

    if ((size_t)(memory->end - memory->at) < gap + bytes) {
        if (!tvc_room_reserve(memory, bytes))
            return NULL;
        gap = 0;
    }
    return (tvc_property *)(void *)(tvc_room_take(memory, gap + bytes) + gap);
}

const char *tvc_room_dup(tvc_entity_memory *memory, tv_slice text)
{
    char *copy = tvc_room_take(memory, text.len + 1);

    if (copy == NULL)
        return NULL;
    *tv_slice_put(copy, text) = '\0';
    return copy;
}

void tvc_room_done(tvc_entity_memory *memory)
{
    while (memory->blocks) {
        tvc_entity_block *next = memory->blocks->next;

        tvc_release(memory->blocks);
        memory->blocks = next;
    }
    tvc_release(memory->json);
    tvc_release(memory->read);
    *memory = (tvc_entity_memory){0};
}
