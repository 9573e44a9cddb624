/* Changes of what is known about a blob, its data left as it is, and snapshots of it. */
#include "base/assert.h"
#include "services/blob/store/content.h"
#include "store/engine/key.h"

tv_err tv_set_blob_headers_run(tv_txn *txn, void *set_blob_headers)
{
    tv_set_blob_headers *set = set_blob_headers;
    tv_blob_view view;
    tv_err err;

    err = tv_blob_view_open(txn, &set->change, &view);
    if (err)
        return err;

    view.head.headers = set->headers;
    view.head.copy = (tv_blob_copy){0}; /* it is no longer what was copied */
    tv_blob_view_touch(txn, &set->change, &view, &view.head);
    return TV_OK;
}

tv_err tv_set_blob_metadata_run(tv_txn *txn, void *set_blob_metadata)
{
    tv_set_blob_metadata *set = set_blob_metadata;
    tv_blob_view view;
    tv_err err;

    err = tv_blob_view_open(txn, &set->change, &view);
    if (err)
        return err;

    view.head.metadata = set->metadata;
    tv_blob_view_touch(txn, &set->change, &view, &view.head);
    return TV_OK;
}

/* A snapshot changes nothing that a lease protects. */
static tv_err check_snapshot(const tv_blob_view *view, const tv_blob_change *change)
{
    tv_err err;

    if (!view->has_head)
        return TV_ERR_BLOB_NOT_FOUND;

    err = tv_lease_check_read(&view->head.lease, tv_blob_change_lease_id(change), view->now);
    if (err)
        return err;

    return tv_conditions_check_write(&change->conditions, view->head.etag);
}

/*
 * To collect the garbage of a change to a blob one has to know what its
 * snapshots keep, so all of them are read for it.  The weight of a snapshot is
 * what that costs: a head, its texts and its pieces, unless the next one has
 * them, too.
 */
enum { SNAPSHOT_WEIGHT_MAX = 250 * 1000, TEXT_BYTES_PER_WEIGHT = 100, SNAPSHOTS_PER_CHECK = 64 };

static uint64_t text_weight(const tv_blob_head *head)
{
    const tv_blob_headers *h = &head->headers;
    size_t bytes = h->type.len + h->encoding.len + h->language.len + h->disposition.len +
                   h->cache_control.len + head->copy.source.len;

    for (size_t i = 0; i < head->metadata.count; i++)
        bytes += head->metadata.list[i].name.len + head->metadata.list[i].value.len;
    return bytes / TEXT_BYTES_PER_WEIGHT;
}

/* Adds snapshots in the order of their age. */
typedef struct weighing {
    uint64_t weight;
    uint64_t content_id;  /* of the one before, if its pieces are in rows; else 0 */
    uint32_t piece_count; /* of that */
} weighing;

static void weigh(weighing *w, const tv_blob_head *head)
{
    bool has_rows = head->pieces == NULL;

    w->weight += 1 + text_weight(head) + head->piece_count;
    if (has_rows && w->content_id == head->content_id)
        w->weight -= w->piece_count;
    w->content_id = has_rows ? head->content_id : 0;
    w->piece_count = head->piece_count;
}

static tv_err check_weight(const weighing *w)
{
    return w->weight < SNAPSHOT_WEIGHT_MAX ? TV_OK : TV_ERR_SNAPSHOT_COUNT;
}

tv_err tv_snapshot_blob_plan(tv_engine *engine, tv_snapshot_blob *take)
{
    tv_arena *arena = take->change.arena;
    tv_slice from = tv_blob_key_kind(arena, take->change.partition, TV_BLOB_ROW_SNAPSHOT);
    weighing w = {0};
    tv_arena scratch;
    tv_iter *iter;
    tv_err err;

    take->planned_count = 0;
    err = tv_engine_iter(engine, from, tv_key_after(arena, from), &iter);
    if (err)
        return err;

    tv_arena_init(&scratch);
    for (tv_iter_seek(iter, from); err == TV_OK && tv_iter_is_valid(iter); tv_iter_next(iter)) {
        tv_blob_head head;

        tv_arena_reset(&scratch);
        err = tv_blob_head_decode(&scratch, tv_iter_value(iter), 1, &head);
        if (err == TV_OK)
            weigh(&w, &head);
        take->planned_count++;
    }
    if (err == TV_OK)
        err = tv_iter_status(iter);
    tv_iter_free(iter);
    tv_arena_done(&scratch);
    return err ? err : check_weight(&w);
}

/* Snapshots of few pieces are not looked at every time: this many of them weigh next to nothing. */
static tv_err check_room(tv_txn *txn, const tv_snapshot_blob *take, tv_blob_change *change,
                         const tv_blob_view *view)
{
    const tv_blob_head *heads;
    weighing w = {0};
    size_t count;
    tv_err err;

    if (view->head.snapshot_count == 0 ||
        (view->head.pieces && view->head.snapshot_count % SNAPSHOTS_PER_CHECK != 0))
        return TV_OK;
    if (take->planned_count &&
        take->planned_count + SNAPSHOTS_PER_CHECK > view->head.snapshot_count)
        return TV_OK;
    if (!tv_blob_snapshots_are_few(view))
        return TV_ERR_UNPLANNED;

    err = tv_blob_snapshots_load(txn, change, SIZE_MAX, &heads, &count);
    if (err)
        return err;

    for (size_t i = 0; i < count; i++)
        weigh(&w, &heads[i]);
    return check_weight(&w);
}

tv_err tv_snapshot_blob_run(tv_txn *txn, void *snapshot_blob)
{
    tv_snapshot_blob *take = snapshot_blob;
    tv_blob_change *change = &take->change;
    tv_blob_view view;
    tv_err err;

    err = tv_blob_view_read(txn, change, &view);
    if (err)
        return err;

    err = check_snapshot(&view, change);
    if (err)
        return err;

    err = check_room(txn, take, change, &view);
    if (err)
        return err;

    tv_blob_head snapshot = view.head;

    if (view.head.snapshot_count == UINT32_MAX)
        return TV_ERR_CORRUPT;

    snapshot.snapshot = view.stamp;
    snapshot.lease = (tv_lease){0};
    snapshot.snapshot_count = 0;
    snapshot.last_snapshot = 0;
    if (take->metadata.count) {
        snapshot.metadata = take->metadata;
        snapshot.etag = view.stamp;
    }
    tv_blob_head_write(txn, change, &snapshot);

    tv_assert(snapshot.snapshot > view.head.last_snapshot);
    view.head.snapshot_count++;
    view.head.last_snapshot = snapshot.snapshot;
    tv_blob_head_write(txn, change, &view.head);
    take->snapshot = snapshot.snapshot;
    change->etag = snapshot.etag;
    return TV_OK;
}

tv_err tv_lease_blob_run(tv_txn *txn, void *lease_blob)
{
    tv_lease_blob *lease = lease_blob;
    tv_blob_change *change = &lease->change;
    tv_blob_view view;
    tv_err err;

    err = tv_blob_view_read(txn, change, &view);
    if (err)
        return err;
    if (!view.has_head)
        return TV_ERR_BLOB_NOT_FOUND;

    err = tv_lease_apply(&view.head.lease, &lease->request, view.now, &lease->seconds);
    if (err)
        return err;

    err = tv_conditions_check_write(&change->conditions, view.head.etag);
    if (err)
        return err;

    tv_blob_head_write(txn, change, &view.head);
    lease->lease = view.head.lease;
    change->etag = view.head.etag;
    return TV_OK;
}

tv_err tv_abort_copy_run(tv_txn *txn, void *change)
{
    tv_blob_view view;
    tv_err err;

    err = tv_blob_view_open(txn, change, &view);
    if (err)
        return err;

    return TV_ERR_NO_PENDING_COPY;
}
