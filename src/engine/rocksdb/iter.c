/*
 * Iterators.  RocksDB's are snapshots of the moment they are made.  Both bounds
 * are always given to it: without an upper one a scan would step over whatever
 * lies after its range, a dropped table's tombstones for instance.
 */
#include "base/assert.h"
#include "engine/rocksdb/internal.h"

typedef struct rocks_iter {
    tv_iter base;
    rocksdb_iterator_t *rocks;
    tv_rocksdb_reads *reads;
    rocksdb_readoptions_t *options; /* RocksDB keeps pointers into it and into `bounds` */
    char bounds[];
} rocks_iter;

static void seek(tv_iter *base, tv_slice key)
{
    rocksdb_iter_seek(((rocks_iter *)base)->rocks, key.data, key.len);
}

static bool is_valid(const tv_iter *base)
{
    return rocksdb_iter_valid(((const rocks_iter *)base)->rocks);
}

static void next(tv_iter *base)
{
    rocksdb_iter_next(((rocks_iter *)base)->rocks);
}

static tv_slice key(const tv_iter *base)
{
    tv_slice slice;

    slice.data = rocksdb_iter_key(((const rocks_iter *)base)->rocks, &slice.len);
    return slice;
}

static tv_slice value(const tv_iter *base)
{
    tv_slice slice;

    slice.data = rocksdb_iter_value(((const rocks_iter *)base)->rocks, &slice.len);
    return slice;
}

static tv_err status(const tv_iter *base)
{
    char *text = NULL;

    rocksdb_iter_get_error(((const rocks_iter *)base)->rocks, &text);
    tv_err err = tv_rocksdb_read_err(((const rocks_iter *)base)->reads, text);
    rocksdb_free(text);
    return err;
}

static void free_iter(tv_iter *base)
{
    rocks_iter *iter = (rocks_iter *)base;

    rocksdb_iter_destroy(iter->rocks);
    rocksdb_readoptions_destroy(iter->options);
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

tv_err tv_rocksdb_iter_new(rocksdb_t *db, tv_rocksdb_reads *reads, tv_slice from, tv_slice to,
                           tv_iter **ret_iter)
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
    iter->reads = reads;
    iter->options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_iterate_lower_bound(iter->options, iter->bounds, from.len);
    rocksdb_readoptions_set_iterate_upper_bound(iter->options, iter->bounds + from.len, to.len);
    iter->rocks = rocksdb_create_iterator(db, iter->options);
    *ret_iter = &iter->base;
    return TV_OK;
}
