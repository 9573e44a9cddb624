/* Delete Blob: the blob, its snapshots, or one of them. */
#include "base/assert.h"
#include "blob/store/content.h"

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
        err = tv_blob_snapshots_load(txn, change, &snapshots, &count);
        if (err)
            return err;
    }
    if (count != view->head.snapshot_count)
        return TV_ERR_CORRUPT;

    tv_blob_head *heads = tv_arena_alloc(change->arena, (count + 1) * sizeof *heads);

    if (count)
        memcpy(heads, snapshots, count * sizeof *heads);
    heads[count] = view->head;
    *ret_family = (head_family){heads, count + 1};
    return TV_OK;
}

/* Drop heads, given in the order of their age, with all of their contents that is not kept. */
static tv_err drop_heads(tv_keep *keep, tv_txn *txn, tv_blob_change *change,
                         const tv_blob_head *heads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const tv_blob_head *head = &heads[i];
        tv_err err;

        tv_txn_delete(txn, tv_blob_key_head(change->arena, change->partition, head->snapshot));

        /* Rows that heads share go with the last of them, which has them all. */
        if (head->pieces == NULL && i + 1 < count && heads[i + 1].content_id == head->content_id)
            continue;

        err = tv_drop_content(keep, txn, change, head);
        if (err)
            return err;
    }
    return TV_OK;
}

/* The blob goes, and all its snapshots and uncommitted blocks. */
static tv_err delete_all(tv_txn *txn, tv_blob_change *change, const tv_blob_view *view)
{
    tv_keep keep = {0};
    head_family family;
    tv_err err;

    err = load_family(txn, change, view, &family);
    if (err)
        return err;

    err = drop_heads(&keep, txn, change, family.heads, family.count);
    if (err)
        return err;

    return tv_drop_blocks(&keep, txn, change, view);
}

/* All snapshots go, the blob stays. */
static tv_err delete_snapshots(tv_txn *txn, tv_blob_change *change, tv_blob_view *view)
{
    tv_keep keep = {0};
    head_family family;
    tv_err err;

    err = load_family(txn, change, view, &family);
    if (err)
        return err;

    err = tv_keep_heads(&keep, txn, change, &view->head, 1);
    if (err)
        return err;

    err = drop_heads(&keep, txn, change, family.heads, family.count - 1);
    if (err)
        return err;

    view->head.snapshot_count = 0;
    tv_blob_head_write(txn, change, &view->head);
    return TV_OK;
}

/* One snapshot goes.  Conditions are those of the snapshot; it has no lease. */
static tv_err delete_one(tv_txn *txn, tv_blob_change *change, tv_blob_view *view, int64_t snapshot)
{
    tv_keep keep = {0};
    head_family family;
    size_t at = 0;
    tv_err err;

    err = load_family(txn, change, view, &family);
    if (err)
        return err;

    while (at < family.count && family.heads[at].snapshot != snapshot)
        at++;
    if (at == family.count)
        return TV_ERR_BLOB_NOT_FOUND;

    tv_blob_head one = family.heads[at];

    err = tv_conditions_check_write(&change->conditions, one.etag);
    if (err)
        return err;

    memmove(family.heads + at, family.heads + at + 1,
            (family.count - at - 1) * sizeof *family.heads);
    err = tv_keep_heads(&keep, txn, change, family.heads, family.count - 1);
    if (err)
        return err;

    err = drop_heads(&keep, txn, change, &one, 1);
    if (err)
        return err;

    view->head.snapshot_count--;
    tv_blob_head_write(txn, change, &view->head);
    return TV_OK;
}

/* A blob that was never committed: nothing but blocks, which can be no snapshot's. */
static tv_err delete_uncommitted(tv_txn *txn, tv_delete_blob *delete, const tv_blob_view *view)
{
    tv_blob_change *change = &delete->change;
    tv_keep keep = {0};
    tv_err err;

    if (!view->has_ledger ||
        (delete->scope != TV_DELETE_BLOB && delete->scope != TV_DELETE_WITH_SNAPSHOTS))
        return TV_ERR_BLOB_NOT_FOUND;

    err = tv_blob_view_check_put(view, change);
    if (err)
        return err;

    return tv_drop_blocks(&keep, txn, change, view);
}

tv_err tv_delete_blob_run(tv_txn *txn, void *delete_blob)
{
    tv_delete_blob *delete = delete_blob;
    tv_blob_change *change = &delete->change;
    tv_blob_view view;
    tv_err err;

    tv_txn_declare_freeing(txn);
    err = tv_blob_view_read(txn, change, &view);
    if (err)
        return err;
    if (!view.has_head)
        return delete_uncommitted(txn, delete, &view);

    change->etag = view.head.etag;
    if (delete->scope == TV_DELETE_ONE_SNAPSHOT) {
        tv_assert(delete->snapshot > 0);
        return delete_one(txn, change, &view, delete->snapshot);
    }

    err = tv_blob_view_check(&view, change);
    if (err)
        return err;
    if (delete->scope == TV_DELETE_BLOB && view.head.snapshot_count > 0)
        return TV_ERR_SNAPSHOTS_PRESENT;

    return delete->scope == TV_DELETE_SNAPSHOTS ? delete_snapshots(txn, change, &view)
                                                : delete_all(txn, change, &view);
}
