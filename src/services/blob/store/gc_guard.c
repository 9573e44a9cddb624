/* Looking at a blob's head and ledger, before and after a look at all its rows. */
#include "services/blob/store/gc.h"
#include "services/blob/store/row.h"

void tv_blob_guard_init(tv_blob_guard *guard, tv_engine *engine, tv_slice blob)
{
    *guard = (tv_blob_guard){.engine = engine, .blob = blob};
    tv_arena_init(&guard->arena);
}

void tv_blob_guard_done(tv_blob_guard *guard)
{
    tv_arena_done(&guard->arena);
}

static tv_err look(tv_blob_guard *guard, tv_slice *ret_head, uint64_t *ret_generation)
{
    tv_arena *arena = &guard->arena;
    const tv_slice keys[] = {tv_blob_key_head(arena, guard->blob, 0),
                             tv_blob_key_ledger(arena, guard->blob)};
    tv_block_ledger ledger = {0};
    tv_slice values[2];
    tv_err err;

    err = tv_engine_get_rows(guard->engine, keys, 2, arena, values);
    if (err)
        return err;
    if (values[1].data)
        err = tv_block_ledger_decode(values[1], &ledger);
    *ret_head = values[0];
    *ret_generation = ledger.generation;
    return err;
}

tv_err tv_blob_guard_begin(tv_blob_guard *guard)
{
    if (guard->engine->ops->has_snapshots)
        return TV_OK;

    tv_arena_reset(&guard->arena);
    return look(guard, &guard->head, &guard->generation);
}

/* Rows that do not agree may seem to be damaged, too. */
bool tv_blob_guard_again(tv_blob_guard *guard, tv_err *err)
{
    uint64_t generation;
    tv_slice head;
    tv_err look_err;

    if (guard->engine->ops->has_snapshots || (*err && *err != TV_ERR_CORRUPT))
        return false;

    look_err = look(guard, &head, &generation);
    if (look_err) {
        *err = look_err;
        return false;
    }
    return (head.data == NULL) != (guard->head.data == NULL) || !tv_slice_eq(head, guard->head) ||
           generation != guard->generation;
}
