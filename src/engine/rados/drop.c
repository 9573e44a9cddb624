/*
 * Dropping a range of keys: in steps of a thousand rows, because an object whose rows
 * are removed by the ten thousand answers nobody else meanwhile.
 */
#include "base/assert.h"
#include "engine/rados/internal.h"

enum { STEP_ROWS = 1000 };

/* The least of a range's end and `to`. */
static tv_slice end_within(const tv_range *range, tv_slice to)
{
    return range->end.data == NULL || tv_slice_cmp(to, range->end) <= 0 ? to : range->end;
}

/*
 * Remove up to STEP_ROWS rows from `from` on.  `ret_from` is where to go on, in the arena, which
 * may be `to`.
 */
static tv_err drop_some(tv_rados_engine *rados, const tv_map *map, tv_arena *arena, tv_slice from,
                        tv_slice to, tv_slice *ret_from)
{
    const tv_range *range = tv_map_find(map, from);
    tv_slice end = end_within(range, to);
    tv_pool_read read = {
        .object = range->object,
        .kind = TV_POOL_READ_PAGE,
        .attr = TV_RANGE_WRITE_EPOCH,
        .attr_value = range->epoch,
        .rows_max = STEP_ROWS,
        .arena = arena,
    };
    tv_rados_op op;
    tv_err err;

    /* All rows from `from` on but itself, which is removed by name. */
    read.after = from;
    tv_rados_op_begin(rados, &op);
    err = tv_pool_read_now(rados->pool, &read);
    tv_rados_op_end(rados, &op, &rados->reads, read.row_count, 0);
    if (err)
        return err;

    bool is_whole = !read.has_more || tv_slice_cmp(read.rows[read.row_count - 1].key, end) >= 0;
    tv_slice cut = is_whole ? end : read.rows[read.row_count - 1].key;
    const tv_pool_step steps[] = {
        {TV_POOL_ATTR_IS, TV_RANGE_WRITE_EPOCH, range->epoch},
        {TV_POOL_DELETE_ROWS, from, cut},
    };

    tv_rados_op_begin(rados, &op);
    err = tv_pool_change_now(rados->pool, range->object, steps, 2, NULL);
    tv_rados_op_end(rados, &op, &rados->writes, read.row_count, 0);
    if (err)
        return err;

    *ret_from = tv_arena_dup(arena, cut);
    return TV_OK;
}

tv_err tv_rados_drop_range(tv_engine *engine, tv_slice from, tv_slice to)
{
    tv_rados_engine *rados = tv_rados_of(engine);
    tv_rados_patience patience = {0};
    tv_arena arena;
    tv_err err = TV_OK;

    tv_arena_init(&arena);
    while (err == TV_OK && tv_slice_cmp(from, to) < 0) {
        tv_map *map = tv_maps_get(rados->maps);

        err = drop_some(rados, map, &arena, from, to, &from);
        if (tv_rados_is_astray(err))
            err = tv_rados_reroute(rados, map, &patience);
        tv_map_unref(map);
    }
    tv_arena_done(&arena);
    return err == TV_ERR_STOPPED ? TV_ERR_IO : err;
}
