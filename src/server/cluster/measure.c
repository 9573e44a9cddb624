/* See measure.h. */
#include "server/cluster/measure.h"

#include "store/engine/key.h"

enum { PAGE_ROWS_FIRST = 64, PAGE_ROWS_MAX = 1000, PAGE_BYTES = 4 << 20, BOUNDARIES_MAX = 4096 };

/* When there are too many, every other one will do; the last one stays. */
static void thin_out(tv_range_shape *shape)
{
    size_t kept = 0;

    for (size_t i = 1; i < shape->count; i += 2)
        shape->boundaries[kept++] = shape->boundaries[i];
    shape->count = kept;
}

static void add_row(tv_range_shape *shape, tv_arena *arena, const tv_pool_row *row,
                    tv_slice *partition)
{
    tv_slice of_row = tv_key_partition_of(row->key);

    if (!tv_slice_eq(of_row, *partition)) {
        *partition = tv_arena_dup(arena, of_row);
        if (shape->rows) {
            if (shape->count == BOUNDARIES_MAX)
                thin_out(shape);
            shape->boundaries[shape->count++] =
                (tv_range_boundary){*partition, shape->rows, shape->bytes};
        } else {
            shape->first = *partition;
        }
    }
    shape->rows++;
    shape->bytes += row->key.len + row->value.len;
}

/* Rows may be large. */
static size_t page_rows(const tv_range_shape *shape)
{
    size_t rows = shape->rows ? PAGE_BYTES / (shape->bytes / shape->rows + 1) : PAGE_ROWS_FIRST;

    return rows > PAGE_ROWS_MAX ? PAGE_ROWS_MAX : rows ? rows : 1;
}

tv_err tv_measure_range(tv_pool *pool, const tv_route *route, tv_slice end, tv_arena *arena,
                        tv_range_shape *ret_shape)
{
    tv_range_shape shape = {
        .start = route->start,
        .end = end,
        .boundaries = tv_arena_alloc(arena, BOUNDARIES_MAX * sizeof *shape.boundaries),
    };
    tv_slice partition = TV_NONE, after = TV_RANGE_SENTINEL;
    tv_arena page, keep;
    bool is_last = false;
    tv_err err = TV_OK;

    if (route->start.len)
        after = tv_route_before(arena, route->start);
    tv_arena_init(&page);
    tv_arena_init(&keep);
    while (!err && !is_last) {
        tv_pool_read read = {
            .object = tv_arena_printf(&page, "%.*s%c", TV_FMT(route->object), '\0').data,
            .kind = TV_POOL_READ_PAGE,
            .attr = TV_RANGE_READ_EPOCH,
            .attr_value = route->epoch,
            .after = after,
            .rows_max = page_rows(&shape),
            .arena = &page,
        };

        err = tv_pool_read_now(pool, &read);
        for (size_t i = 0; !err && i < read.row_count && !is_last; i++) {
            is_last = tv_slice_cmp(read.rows[i].key, tv_route_end(end)) >= 0;
            if (!is_last)
                add_row(&shape, arena, &read.rows[i], &partition);
        }
        if (err)
            break;
        is_last = is_last || !read.has_more;
        tv_arena_reset(&keep);
        if (read.row_count)
            after = tv_arena_dup(&keep, read.rows[read.row_count - 1].key);
        tv_arena_reset(&page);
    }
    tv_arena_done(&page);
    tv_arena_done(&keep);
    *ret_shape = shape;
    return err;
}
