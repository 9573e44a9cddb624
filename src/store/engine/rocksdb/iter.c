/*
 * Iterators.  Both bounds are always given to RocksDB: without an upper one a scan would step over
 * whatever lies after its range, a dropped table's tombstones for instance.
 *
 * RocksDB's own iterators know which ranges were dropped, and cannot be trusted: before RocksDB
 * 8.7.3, when one comes from one file of a level to the next and cannot read there, it leaves out
 * the rest of the level and says that all is well.  One that is told to ignore such drops always
 * says what it could not read.  So that is what walks where nothing was dropped.
 *
 * Across drops two of them walk side by side over one snapshot.  A row is one that the honest one
 * has, and what the other one lacks is looked up by itself: either its range was dropped, or it had
 * been left out.
 */
#include "base/assert.h"
#include "store/engine/rocksdb/internal.h"

typedef struct rocks_iter {
    tv_iter base;
    rocksdb_t *db;
    tv_rocksdb_reads *reads;
    rocksdb_readoptions_t *all_options; /* RocksDB keeps pointers into it and into `bounds` */
    rocksdb_iterator_t *all;            /* rows of dropped ranges are among its rows */
    /* Across drops, else NULL: */
    const rocksdb_snapshot_t *snapshot;
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *left; /* has no rows of dropped ranges, nor those that it has left out */
    tv_err err;               /* met elsewhere than in `all` since the last seek */
    char bounds[];
} rocks_iter;

static tv_slice key_of(const rocksdb_iterator_t *iterator)
{
    tv_slice slice;

    slice.data = rocksdb_iter_key(iterator, &slice.len);
    return slice;
}

static tv_err status_of(const rocks_iter *iter, const rocksdb_iterator_t *iterator)
{
    char *text = NULL;

    rocksdb_iter_get_error(iterator, &text);
    tv_err err = tv_rocksdb_read_err(iter->reads, text);
    rocksdb_free(text);
    return err;
}

/* Whether there is such a row. */
static bool has_row(rocks_iter *iter, tv_slice key)
{
    char *text = NULL;
    rocksdb_pinnableslice_t *pinned =
        rocksdb_get_pinned(iter->db, iter->options, key.data, key.len, &text);

    bool is_there = pinned != NULL;

    iter->err = tv_rocksdb_read_err(iter->reads, text);
    rocksdb_free(text);
    rocksdb_pinnableslice_destroy(pinned);
    return is_there;
}

/* Whether `left` has this row.  It is never asked for one before the last. */
static bool is_left(rocks_iter *iter, tv_slice key)
{
    while (rocksdb_iter_valid(iter->left)) {
        int order = tv_slice_cmp(key_of(iter->left), key);

        if (order >= 0)
            return order == 0;
        rocksdb_iter_next(iter->left);
    }
    iter->err = status_of(iter, iter->left);
    return false;
}

/* Bring `left` to where `all` is: what is before that it need not step over. */
static void follow(rocks_iter *iter)
{
    tv_slice key = key_of(iter->all);

    rocksdb_iter_seek(iter->left, key.data, key.len);
}

/* Go on to the next row that is not of a dropped range. */
static void skip_dropped(rocks_iter *iter)
{
    if (iter->left == NULL)
        return;
    for (; rocksdb_iter_valid(iter->all); rocksdb_iter_next(iter->all)) {
        tv_slice key = key_of(iter->all);

        if (is_left(iter, key) || iter->err)
            return;
        if (has_row(iter, key)) {
            follow(iter); /* it has the level again */
            return;
        }
        if (iter->err)
            return;
    }
}

static void seek(tv_iter *base, tv_slice key)
{
    rocks_iter *iter = (rocks_iter *)base;

    iter->err = TV_OK;
    rocksdb_iter_seek(iter->all, key.data, key.len);
    if (iter->left && rocksdb_iter_valid(iter->all))
        follow(iter);
    skip_dropped(iter);
}

static bool is_valid(const tv_iter *base)
{
    const rocks_iter *iter = (const rocks_iter *)base;

    return iter->err == TV_OK && rocksdb_iter_valid(iter->all);
}

static void next(tv_iter *base)
{
    rocks_iter *iter = (rocks_iter *)base;

    rocksdb_iter_next(iter->all);
    skip_dropped(iter);
}

static tv_slice key(const tv_iter *base)
{
    return key_of(((const rocks_iter *)base)->all);
}

static tv_slice value(const tv_iter *base)
{
    tv_slice slice;

    slice.data = rocksdb_iter_value(((const rocks_iter *)base)->all, &slice.len);
    return slice;
}

static tv_err status(const tv_iter *base)
{
    const rocks_iter *iter = (const rocks_iter *)base;

    return iter->err ? iter->err : status_of(iter, iter->all);
}

static void free_iter(tv_iter *base)
{
    rocks_iter *iter = (rocks_iter *)base;

    rocksdb_iter_destroy(iter->all);
    rocksdb_readoptions_destroy(iter->all_options);
    if (iter->left) {
        rocksdb_iter_destroy(iter->left);
        rocksdb_readoptions_destroy(iter->options);
        rocksdb_release_snapshot(iter->db, iter->snapshot);
    }
    free(iter);
}

static const tv_iter_ops iter_ops = {
    .seek = seek,
    .is_valid = is_valid,
    .next = next,
    .key = key,
    .value = value,
    .status = status,
    .free = free_iter,
};

static rocksdb_readoptions_t *new_options(const rocks_iter *iter, size_t from_len, size_t to_len)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();

    if (iter->snapshot)
        rocksdb_readoptions_set_snapshot(options, iter->snapshot);
    rocksdb_readoptions_set_iterate_lower_bound(options, iter->bounds, from_len);
    rocksdb_readoptions_set_iterate_upper_bound(options, iter->bounds + from_len, to_len);
    return options;
}

tv_err tv_rocksdb_iter_new(rocksdb_t *db, tv_rocksdb_reads *reads, tv_slice from, tv_slice to,
                           bool is_across, tv_iter **ret_iter)
{
    /* RocksDB does not promise anything for bounds the wrong way round: make them an empty range.
     */
    if (tv_slice_cmp(from, to) > 0)
        to = from;

    rocks_iter *iter = tv_calloc(1, sizeof *iter + from.len + to.len);

    if (from.len)
        memcpy(iter->bounds, from.data, from.len);
    if (to.len)
        memcpy(iter->bounds + from.len, to.data, to.len);
    iter->base.ops = &iter_ops;
    iter->db = db;
    iter->reads = reads;
    if (is_across)
        iter->snapshot = rocksdb_create_snapshot(db);
    iter->all_options = new_options(iter, from.len, to.len);
    rocksdb_readoptions_set_ignore_range_deletions(iter->all_options, 1);
    iter->all = rocksdb_create_iterator(db, iter->all_options);
    /* After it: files of a range that is dropped in between are in `all`, and looked up. */
    if (is_across) {
        iter->options = new_options(iter, from.len, to.len);
        iter->left = rocksdb_create_iterator(db, iter->options);
    }
    *ret_iter = &iter->base;
    return TV_OK;
}
