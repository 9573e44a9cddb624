/*
 * Removing extents from a pool: the last part first, part 0 at the end.  So a removal
 * that is interrupted leaves an extent whose part 0 is still there, and with it all
 * that is needed to begin again.
 */
#include "base/point.h"
#include "store/extent/pool/internal.h"

/* Whether there is such a part, of an extent that is not whole. */
static tv_err look_for_part(tv_pool_extents *extents, tv_extent_id id, uint32_t part)
{
    char name[TV_EXTENT_OBJECT_SIZE];
    tv_arena arena;
    tv_pool_read read = {.object = name, .kind = TV_POOL_READ_ATTRS, .arena = &arena};
    tv_err err;

    tv_pool_extent_name(id, part, name);
    tv_arena_init(&arena);
    err = tv_pool_read_now(extents->options.pool, &read);
    tv_arena_done(&arena);
    return err;
}

/* How many parts, from part 0 on, an extent that was not finished may have. */
static tv_err find_end(tv_pool_extents *extents, tv_extent_id id, uint32_t *ret_end)
{
    uint32_t end = 1;

    for (uint32_t part = 1; part < end + TV_EXTENT_PARTS_IN_FLIGHT; part++) {
        tv_err err = look_for_part(extents, id, part);

        if (err && err != TV_ERR_NOT_FOUND)
            return err;
        if (err == TV_OK)
            end = part + 1;
    }
    *ret_end = end;
    return TV_OK;
}

static tv_err remove_part(tv_pool_extents *extents, tv_extent_id id, uint32_t part)
{
    tv_pool_step step = {.kind = TV_POOL_REMOVE};
    char name[TV_EXTENT_OBJECT_SIZE];
    tv_err err;

    err = tv_point("extent.remove");
    if (err)
        return err;
    tv_pool_extent_name(id, part, name);
    err = tv_pool_change_now(extents->options.pool, name, &step, 1, NULL);
    return err == TV_ERR_NOT_FOUND ? TV_OK : err;
}

/*
 * Without part 0 there are no other parts, unless somebody removed it by hand: then those that
 * are found go.
 */
void tv_pool_extent_remove(tv_extents *store, tv_extent_id id)
{
    tv_pool_extents *extents = tv_pool_extents_of(store);
    tv_pool_extent_facts facts;
    uint32_t end = 1;
    tv_err err;

    err = tv_pool_extent_look(extents, id, &facts);
    if (err == TV_OK && facts.length != UINT64_MAX)
        end = tv_pool_extent_parts(facts.length);
    else if (err == TV_OK || err == TV_ERR_NOT_FOUND)
        err = find_end(extents, id, &end);
    for (uint32_t part = end; err == TV_OK && part > 0; part--)
        err = remove_part(extents, id, part - 1);
    if (err)
        (void)tv_pool_extents_failed(extents, "remove", id, err);
}
