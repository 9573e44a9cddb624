/* See stats.h. */
#include "server/cluster/stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/number.h"

enum { ROWS_MAX = 20000 }; /* ranges of a node in one operation: some MiB of samples */

tv_slice tv_stats_encode(tv_arena *arena, const tv_stats_row *row)
{
    tv_buf out = TV_BUF_EMPTY;
    tv_slice value;

    tv_words_add_number(&out, (int64_t)row->read_keys);
    tv_words_add_number(&out, (int64_t)row->read_bytes);
    tv_words_add_number(&out, (int64_t)row->write_ops);
    tv_words_add_number(&out, (int64_t)row->write_rows);
    tv_words_add_number(&out, (int64_t)row->write_bytes);
    tv_words_add_number(&out, (int64_t)row->write_ns);
    tv_words_add(&out, tv_arena_printf(arena, "%lld", (long long)row->rows_more));
    for (size_t i = 0; i < row->partition_count; i++)
        tv_words_add(&out, row->partitions[i]);
    value = tv_arena_dup(arena, tv_buf_slice(&out));
    tv_buf_done(&out);
    return value;
}

static tv_err next_count(tv_slice *rest, uint64_t *ret_count)
{
    int64_t number = 0;
    tv_err err = tv_words_next_number(rest, &number);

    *ret_count = (uint64_t)number;
    return err;
}

tv_err tv_stats_decode(tv_arena *arena, tv_slice object, tv_slice value, tv_stats_row *ret_row)
{
    tv_stats_row row = {.object = object};
    uint64_t *const counts[] = {&row.read_keys,  &row.read_bytes,  &row.write_ops,
                                &row.write_rows, &row.write_bytes, &row.write_ns};
    tv_slice word;
    tv_err err;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        err = next_count(&value, counts[i]);
        if (err)
            return err;
    }
    err = tv_words_next(&value, arena, &word);
    if (err || !tv_parse_int64(word, &row.rows_more))
        return TV_ERR_CORRUPT;
    row.partitions = tv_arena_alloc(arena, TV_SAMPLES_MAX * sizeof *row.partitions);
    while (value.len) {
        if (row.partition_count == TV_SAMPLES_MAX)
            return TV_ERR_CORRUPT;
        err = tv_words_next(&value, arena, &row.partitions[row.partition_count]);
        if (err)
            return err;
        row.partition_count++;
    }
    *ret_row = row;
    return TV_OK;
}

static const char *object_of(tv_arena *arena, tv_slice incarnation)
{
    return tv_arena_printf(arena, TV_STATS_OBJECT "%.*s%c", TV_FMT(incarnation), '\0').data;
}

/* All rows, or none: the first time the object is made. */
static tv_err replace_rows(tv_pool *pool, const char *object, tv_pool_step *steps, size_t count)
{
    tv_err err;

    steps[0] = (tv_pool_step){TV_POOL_DELETE_ROWS, TV_LIT("!"), TV_LIT("\xff")};
    err = tv_pool_change_now(pool, object, steps, count, NULL);
    if (err != TV_ERR_NOT_FOUND)
        return err;
    steps[0] = (tv_pool_step){TV_POOL_CREATE, TV_NONE, TV_NONE};
    return tv_pool_change_now(pool, object, steps, count, NULL);
}

tv_err tv_stats_publish(tv_pool *pool, tv_slice incarnation, tv_maps *maps, int64_t now_ms)
{
    tv_map *map = tv_maps_get(maps);
    tv_pool_step *steps = tv_malloc((map->count + 2) * sizeof *steps);
    size_t count = 1;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    for (size_t i = 0; i < map->count && count < ROWS_MAX; i++) {
        tv_range_lane *lane = map->ranges[i].lane;
        tv_slice partitions[TV_SAMPLES_MAX];
        tv_stats_row row = {
            .object = tv_slice_of(map->ranges[i].object),
            .read_keys = lane->use.read_keys,
            .read_bytes = lane->use.read_bytes,
            .write_ops = lane->use.write_ops,
            .write_rows = lane->use.write_rows,
            .write_bytes = lane->use.write_bytes,
            .write_ns = lane->use.write_ns,
            .rows_more = lane->use.rows_more,
            .partitions = partitions,
        };

        if (row.read_keys == 0 && row.write_ops == 0)
            continue;
        row.partition_count = tv_samples_read(&lane->samples, &arena, now_ms, partitions);
        steps[count++] = (tv_pool_step){TV_POOL_PUT_ROW, row.object, tv_stats_encode(&arena, &row)};
    }
    err = replace_rows(pool, object_of(&arena, incarnation), steps, count);
    tv_arena_done(&arena);
    tv_map_unref(map);
    free(steps);
    return err;
}

tv_err tv_stats_load(tv_pool *pool, tv_slice incarnation, tv_arena *arena, tv_stats_row **ret_rows,
                     size_t *ret_count)
{
    tv_pool_read read = {
        .object = object_of(arena, incarnation),
        .kind = TV_POOL_READ_PAGE,
        .rows_max = 1000,
        .arena = arena,
    };
    tv_stats_row *rows = NULL;
    size_t count = 0;

    do {
        tv_err err = tv_pool_read_now(pool, &read);

        if (err == TV_ERR_NOT_FOUND)
            break;
        if (err)
            return err;

        tv_stats_row *more = tv_arena_alloc(arena, (count + read.row_count + 1) * sizeof *more);

        if (count)
            memcpy(more, rows, count * sizeof *more);
        rows = more;
        for (size_t i = 0; i < read.row_count; i++) {
            err = tv_stats_decode(arena, read.rows[i].key, read.rows[i].value, &rows[count]);
            if (err)
                return err;
            count++;
        }
        if (read.row_count)
            read.after = read.rows[read.row_count - 1].key;
    } while (read.has_more);
    *ret_rows = rows;
    *ret_count = count;
    return TV_OK;
}

tv_err tv_stats_remove(tv_pool *pool, tv_slice incarnation)
{
    const tv_pool_step remove = {TV_POOL_REMOVE, TV_NONE, TV_NONE};
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = tv_pool_change_now(pool, object_of(&arena, incarnation), &remove, 1, NULL);
    tv_arena_done(&arena);
    return err == TV_ERR_NOT_FOUND ? TV_OK : err;
}
