/* Which rows of a blob are live. */
#include "base/grow.h"
#include "services/blob/store/gc.h"
#include "services/blob/store/live_set.h"
#include "services/blob/store/row.h"

struct tv_blob_live_rows {
    tv_arena *arena;
    tv_live_content *contents; /* of heads that have their pieces in rows */
    size_t content_count, content_size;
    bool is_unsorted; /* they are not in the order of their ids, as they should be */
    bool has_ledger;
    uint64_t generation;
};

tv_blob_live_rows *tv_blob_live_rows_new(tv_arena *arena)
{
    tv_blob_live_rows *live = tv_arena_zalloc(arena, sizeof *live);

    live->arena = arena;
    return live;
}

/* Heads that share a content are next to each other. */
static tv_err learn_head(tv_blob_live_rows *live, const tv_blob_head *head)
{
    tv_live_content *last = live->content_count ? &live->contents[live->content_count - 1] : NULL;

    if (head->pieces)
        return TV_OK;
    if (last && last->id == head->content_id) {
        last->length = head->length > last->length ? head->length : last->length;
        return TV_OK;
    }
    if (last && last->id > head->content_id)
        live->is_unsorted = true;

    tv_err err = tv_arena_try_grow(live->arena, &live->contents, live->content_count,
                                   &live->content_size, 8);

    if (err)
        return err;

    live->contents[live->content_count++] =
        (tv_live_content){.id = head->content_id, .length = head->length};
    return TV_OK;
}

/* Stamps grow, and so do the ids of contents, but nothing that removes data may depend on it. */
static bool is_run_live(const tv_blob_live_rows *live, uint64_t content_id, uint64_t end)
{
    size_t low = 0, high = live->content_count;

    while (!live->is_unsorted && low < high) {
        size_t middle = low + (high - low) / 2;

        if (live->contents[middle].id < content_id)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < live->content_count; i++) {
        if (!live->is_unsorted && live->contents[i].id != content_id)
            return false;
        if (live->contents[i].id == content_id && end <= live->contents[i].length)
            return true;
    }
    return false;
}

static tv_err learn_run(tv_blob_live_rows *live, tv_slice row, bool *ret_is_live)
{
    uint64_t content_id, end;

    if (!tv_blob_pair_parse(row, &content_id, &end))
        return TV_ERR_CORRUPT;

    *ret_is_live = is_run_live(live, content_id, end);
    return TV_OK;
}

static tv_err learn_block(tv_blob_live_rows *live, tv_slice row, tv_slice value, bool *ret_is_live)
{
    tv_block_ledger ledger;
    uint64_t generation;
    tv_err err;

    if (row.len == 1) {
        err = tv_block_ledger_decode(value, &ledger);
        if (err)
            return err;
        live->has_ledger = true;
        live->generation = ledger.generation;
        *ret_is_live = true;
        return TV_OK;
    }
    if (row.len <= 1 + (size_t)TV_BLOB_NUMBER_LEN ||
        !tv_blob_number_parse(tv_slice_take(tv_slice_skip(row, 1), TV_BLOB_NUMBER_LEN),
                              &generation))
        return TV_ERR_CORRUPT;

    *ret_is_live = live->has_ledger && live->generation == generation;
    return TV_OK;
}

tv_err tv_blob_live_rows_learn(tv_blob_live_rows *live, tv_arena *scratch, tv_slice row,
                               tv_slice value, bool *ret_is_live)
{
    tv_blob_head head;
    tv_err err;

    switch (row.len ? row.data[0] : 0) {
    case TV_BLOB_ROW_SNAPSHOT:
    case TV_BLOB_ROW_HEAD:
        err = tv_blob_head_decode(scratch, value, 0, &head);
        if (err == TV_OK)
            err = learn_head(live, &head);
        *ret_is_live = true;
        return err;
    case TV_BLOB_ROW_BLOCK:
        return learn_block(live, row, value, ret_is_live);
    case TV_BLOB_ROW_DISCARD:
        *ret_is_live = false;
        return TV_OK;
    case TV_BLOB_ROW_RUN:
        return learn_run(live, row, ret_is_live);
    default:
        return TV_ERR_CORRUPT;
    }
}
