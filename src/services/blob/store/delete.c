/* Delete Blob: the blob, its snapshots, or one of them. */
#include "base/assert.h"
#include "services/blob/store/content.h"

/* A blob and its snapshots in the order of their age, the blob itself last. */
typedef struct head_family {
    tv_blob_head *heads;
    size_t count;
} head_family;

static tv_err load_family(tv_txn *txn, tv_blob_change *change, const tv_blob_view *view,
                          head_family *ret_family)
{
    const tv_blob_head *snapshots = NULL;
    size_t count = 0;
    tv_err err;

    if (view->head.snapshot_count) {
        err = tv_blob_snapshots_load(txn, change, SIZE_MAX, &snapshots, &count);
        if (err)
            return err;
    }
    if (count != view->head.snapshot_count)
        return TV_ERR_CORRUPT;

    err = tv_arena_reserve(change->arena, (count + 1) * sizeof(tv_blob_head));
    if (err)
        return err;

    tv_blob_head *heads = tv_arena_alloc(change->arena, (count + 1) * sizeof *heads);

    if (count)
        memcpy(heads, snapshots, count * sizeof *heads);
    heads[count] = view->head;
    *ret_family = (head_family){heads, count + 1};
    return TV_OK;
}

static void delete_heads(tv_txn *txn, tv_blob_change *change, const tv_blob_removal *removal)
{
    for (size_t i = 0; i < removal->gone_count; i++) {
        tv_assert(removal->gone[i].snapshot > 0 || i + 1 == removal->gone_count);
        tv_txn_delete(
            txn, tv_blob_key_head(change->arena, change->partition, removal->gone[i].snapshot));
    }
}

/* A step for a blob with too many snapshots: the oldest ones go, and the rest next time. */
static tv_err delete_oldest(tv_txn *txn, tv_blob_change *change, tv_blob_view *view)
{
    tv_blob_removal removal = {.is_blind = true};
    tv_live_set live = {0};
    tv_err err;

    err = tv_blob_snapshots_load(txn, change, tv_blob_at_once_max + 1, &removal.gone,
                                 &removal.gone_count);
    if (err)
        return err;
    /* There are more than that, by the head: or a step would remove nothing, for ever. */
    if (removal.gone_count != tv_blob_at_once_max + 1)
        return TV_ERR_CORRUPT;

    err = tv_blob_remove(&live, txn, change, view, &removal);
    if (err)
        return err;

    delete_heads(txn, change, &removal);
    tv_assert(removal.gone_count <= view->head.snapshot_count);
    view->head.snapshot_count -= (uint32_t)removal.gone_count;
    tv_blob_head_write(txn, change, &view->head);
    change->is_partial = true;
    return TV_OK;
}

/* The blob goes, and all its snapshots and uncommitted blocks. */
static tv_err delete_all(tv_txn *txn, tv_blob_change *change, const tv_blob_view *view)
{
    tv_live_set live = {0};
    head_family family;
    tv_err err;

    err = load_family(txn, change, view, &family);
    if (err)
        return err;

    tv_blob_removal removal = {
        .gone = family.heads, .gone_count = family.count, .with_blocks = true};

    delete_heads(txn, change, &removal);
    tv_blob_note_gone(txn, view->last);
    return tv_blob_remove(&live, txn, change, view, &removal);
}

/* All snapshots go, the blob stays. */
static tv_err delete_snapshots(tv_txn *txn, tv_blob_change *change, tv_blob_view *view)
{
    tv_live_set live = {0};
    head_family family;
    tv_err err;

    err = load_family(txn, change, view, &family);
    if (err)
        return err;

    tv_blob_removal removal = {.gone = family.heads,
                               .gone_count = family.count - 1,
                               .stays = &view->head,
                               .stay_count = 1};

    err = tv_blob_remove(&live, txn, change, view, &removal);
    if (err)
        return err;

    delete_heads(txn, change, &removal);
    view->head.snapshot_count = 0;
    tv_blob_head_write(txn, change, &view->head);
    return TV_OK;
}

/* The head of one snapshot. */
static tv_err find_snapshot(tv_txn *txn, tv_blob_change *change, int64_t snapshot,
                            tv_blob_head *ret_head)
{
    tv_slice value;
    tv_err err;

    err = tv_txn_get(txn, tv_blob_key_head(change->arena, change->partition, snapshot), &value);
    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_ERR_BLOB_NOT_FOUND : err;

    return tv_blob_head_decode(change->arena, value, snapshot, ret_head);
}

/* All others of the family stay, if there are few enough to look at. */
static tv_err load_others(tv_txn *txn, tv_blob_change *change, const tv_blob_view *view,
                          int64_t snapshot, tv_blob_removal *removal)
{
    head_family family;
    size_t at = 0;
    tv_err err;

    removal->is_blind = !tv_blob_snapshots_are_few(view);
    if (removal->is_blind)
        return TV_OK;

    err = load_family(txn, change, view, &family);
    if (err)
        return err;

    while (at < family.count && family.heads[at].snapshot != snapshot)
        at++;
    if (at == family.count)
        return TV_ERR_CORRUPT;

    memmove(family.heads + at, family.heads + at + 1,
            (family.count - at - 1) * sizeof *family.heads);
    removal->stays = family.heads;
    removal->stay_count = family.count - 1;
    return TV_OK;
}

/* One snapshot goes.  Conditions are those of the snapshot; it has no lease. */
static tv_err delete_one(tv_txn *txn, tv_blob_change *change, tv_blob_view *view, int64_t snapshot)
{
    tv_blob_head one;
    tv_blob_removal removal = {.gone = &one, .gone_count = 1};
    tv_live_set live = {0};
    tv_err err;

    err = find_snapshot(txn, change, snapshot, &one);
    if (err)
        return err;

    err = tv_conditions_check_write(&change->conditions, one.etag);
    if (err)
        return err;

    err = load_others(txn, change, view, snapshot, &removal);
    if (err)
        return err;

    err = tv_blob_remove(&live, txn, change, view, &removal);
    if (err)
        return err;

    delete_heads(txn, change, &removal);
    tv_assert(one.snapshot == snapshot && view->head.snapshot_count > 0);
    view->head.snapshot_count--;
    tv_blob_head_write(txn, change, &view->head);
    return TV_OK;
}

/* A blob that was never committed: nothing but blocks, which cannot belong to a snapshot. */
static tv_err delete_uncommitted(tv_txn *txn, tv_delete_blob *delete, const tv_blob_view *view)
{
    tv_blob_change *change = &delete->change;
    tv_blob_removal removal = {.with_blocks = true};
    tv_live_set live = {0};
    tv_err err;

    if (!view->has_ledger ||
        (delete->scope != TV_DELETE_BLOB && delete->scope != TV_DELETE_WITH_SNAPSHOTS))
        return TV_ERR_BLOB_NOT_FOUND;

    err = tv_blob_view_check_put(view, change);
    if (err)
        return err;

    tv_blob_note_gone(txn, view->last);
    return tv_blob_remove(&live, txn, change, view, &removal);
}

static tv_err delete_scope(tv_txn *txn, tv_delete_blob *delete, tv_blob_view *view)
{
    tv_blob_change *change = &delete->change;
    tv_err err;

    if (!view->has_head)
        return delete_uncommitted(txn, delete, view);

    change->etag = view->head.etag;
    if (delete->scope == TV_DELETE_ONE_SNAPSHOT) {
        tv_assert(delete->snapshot > 0);
        return delete_one(txn, change, view, delete->snapshot);
    }

    err = tv_blob_view_check(view, change);
    if (err)
        return err;
    if (delete->scope == TV_DELETE_BLOB && view->head.snapshot_count > 0)
        return TV_ERR_SNAPSHOTS_PRESENT;
    if (view->head.snapshot_count > tv_blob_at_once_max)
        return delete_oldest(txn, change, view);

    return delete->scope == TV_DELETE_SNAPSHOTS ? delete_snapshots(txn, change, view)
                                                : delete_all(txn, change, view);
}

tv_err tv_delete_blob_run(tv_txn *txn, void *delete_blob)
{
    tv_delete_blob *delete = delete_blob;
    tv_blob_view view;
    tv_err err;

    tv_txn_declare_freeing(txn);
    err = tv_blob_view_read(txn, &delete->change, &view);
    if (err == TV_OK)
        err = delete_scope(txn, delete, &view);
    /* A discard is named by the stamp of this change, which no ETag has. */
    if (err == TV_OK && delete->change.has_discards)
        tv_blob_note_gone(txn, view.stamp);
    return err;
}
