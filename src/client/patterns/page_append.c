/* One page of two. */
#include "client/entity/room.h"
#include "client/patterns/pattern.h"

static bool copy_entity(tavola_page *page, tavola_entity *to, const tavola_entity *from)
{
    tvc_entity_memory *memory = &page->memory;

    *to = (tavola_entity){.partition_key = tvc_room_dup(memory, tv_slice_of(from->partition_key)),
                          .row_key = tvc_room_dup(memory, tv_slice_of(from->row_key)),
                          .etag = from->etag ? tvc_room_dup(memory, tv_slice_of(from->etag)) : NULL,
                          .timestamp = from->timestamp,
                          .is_view = true,
                          .memory = memory};
    if (to->partition_key == NULL || to->row_key == NULL || (from->etag && to->etag == NULL))
        return false;

    for (uint32_t i = 0; i < from->count; i++) {
        const tvc_property *property = &from->properties[i];

        if (tvc_entity_put(to, (tv_slice){property->name, property->name_len}, property->value) !=
            TAVOLA_OK)
            return false;
    }
    return true;
}

static bool make_room(tavola_page *page, size_t more)
{
    size_t size = page->count + more;

    if (size <= page->entities_size)
        return true;

    tavola_entity *entities = tvc_resize(page->entities, size * sizeof *entities);

    if (entities == NULL)
        return false;
    page->entities = entities;
    page->entities_size = size;
    return true;
}

tavola_err tvc_page_append(tavola_page *page, tavola_page *next)
{
    bool is_copied = make_room(page, next->count);

    for (size_t i = 0; is_copied && i < next->count; i++) {
        is_copied = copy_entity(page, &page->entities[page->count], &next->entities[i]);
        page->count += is_copied;
    }
    if (is_copied) {
        tvc_release(page->token);
        page->token = next->token;
        next->token = NULL;
    }
    tavola_page_free(next);
    return is_copied ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
}
