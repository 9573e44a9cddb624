/* The list of changes. */
#include "store/engine/write_batch.h"

#include "base/grow.h"

void tv_write_batch_add(tv_write_batch *batch, tv_change change)
{
    tv_grow(&batch->changes, batch->count, &batch->size, 64);
    batch->changes[batch->count++] = change;
}

tv_err tv_write_batch_reserve(tv_write_batch *batch, size_t count)
{
    tv_change *changes;

    if (count <= batch->size)
        return TV_OK;

    changes = realloc(batch->changes, count * sizeof *changes);
    if (changes == NULL)
        return TV_ERR_OVERLOADED;

    batch->changes = changes;
    batch->size = count;
    return TV_OK;
}

void tv_write_batch_clear(tv_write_batch *batch)
{
    batch->count = 0;
    batch->is_freeing = false;
    batch->stamp = batch->first_stamp = 0;
}

void tv_write_batch_done(tv_write_batch *batch)
{
    free(batch->changes);
    *batch = (tv_write_batch){0};
}
