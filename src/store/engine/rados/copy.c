/* See copy.h. */
#include "store/engine/rados/copy.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/point.h"
#include "store/engine/rados/ranges.h"

enum {
    PAGE_ROWS_FIRST = 64,
    PAGE_ROWS_MAX = 1000,
    PAGE_BYTES = 4 << 20,
    WRITE_BYTES_MAX = 8 << 20,
    IN_FLIGHT = 8,
};

void tv_copy_init(tv_copy *copy)
{
    tv_arena_init(&copy->arena);
    copy->pieces = NULL;
    copy->count = copy->size = 0;
    copy->page_rows = PAGE_ROWS_FIRST;
    copy->rows = copy->bytes = copy->beat = 0;
}

void tv_copy_done(tv_copy *copy)
{
    free(copy->pieces);
    tv_arena_done(&copy->arena);
}

/* The least key greater than this one. */
static tv_slice successor(tv_arena *arena, tv_slice key)
{
    char *bytes = tv_arena_alloc(arena, key.len + 1);

    memcpy(bytes, key.data, key.len);
    bytes[key.len] = '\x01';
    return (tv_slice){bytes, key.len + 1};
}

/* A client chooses the bytes, so they are hashed under a key that it does not know. */
static uint64_t digest_rows(uint64_t digest, const tv_pool_row *rows, size_t count)
{
    const uint64_t factor = UINT64_C(0x9E3779B97F4A7C15);

    for (size_t i = 0; i < count; i++) {
        digest = (digest ^ tv_hash(rows[i].key)) * factor;
        digest = (digest ^ digest >> 32 ^ tv_hash(rows[i].value)) * factor;
    }
    return digest;
}

/* How many of the rows are before `to`. */
static size_t count_before(const tv_pool_row *rows, size_t count, tv_slice to)
{
    while (count && tv_slice_cmp(rows[count - 1].key, to) >= 0)
        count--;
    return count;
}

static void learn_size(tv_copy *copy, const tv_pool_row *rows, size_t count)
{
    size_t bytes = 0, mean;

    for (size_t i = 0; i < count; i++)
        bytes += rows[i].key.len + rows[i].value.len;
    copy->rows += count;
    copy->bytes += bytes;
    if (count == 0)
        return;
    mean = bytes / count + 1;
    copy->page_rows = PAGE_BYTES / mean;
    if (copy->page_rows > PAGE_ROWS_MAX)
        copy->page_rows = PAGE_ROWS_MAX;
    if (copy->page_rows == 0)
        copy->page_rows = 1;
}

/* Tell those who wait that it goes on. */
static tv_pool_step next_beat(tv_copy *copy, char text[24])
{
    int size = snprintf(text, 24, "%llu", (unsigned long long)++copy->beat);

    return (tv_pool_step){TV_POOL_SET_ATTR, TV_RANGE_BEAT, {text, (size_t)size}};
}

static tv_err beat(tv_copy *copy)
{
    char text[24];
    const tv_pool_step steps[] = {
        {TV_POOL_ATTR_IS, copy->target_guard.attr, copy->target_guard.value},
        next_beat(copy, text),
    };

    return tv_pool_change_now(copy->pool, copy->target, steps, 2, NULL);
}

/* Changes of rows of the target, in as many operations as it takes. */
static tv_err send_changes(tv_copy *copy, const tv_pool_step *changes, size_t count)
{
    tv_pool_step *steps = tv_malloc((count + 2) * sizeof *steps);
    size_t done = 0;
    tv_err err = TV_OK;

    while (!err && done < count) {
        size_t bytes = 0, n = 0;
        char text[24];

        steps[n++] =
            (tv_pool_step){TV_POOL_ATTR_IS, copy->target_guard.attr, copy->target_guard.value};
        for (; done < count && bytes < WRITE_BYTES_MAX; done++) {
            steps[n++] = changes[done];
            bytes += changes[done].key.len + changes[done].value.len;
        }
        steps[n++] = next_beat(copy, text);
        err = tv_pool_change_now(copy->pool, copy->target, steps, n, NULL);
    }
    free(steps);
    return err;
}

static tv_pool_step put_of(tv_pool_row row)
{
    return (tv_pool_step){TV_POOL_PUT_ROW, row.key, row.value};
}

static tv_err put_rows(tv_copy *copy, const tv_pool_row *rows, size_t count)
{
    tv_pool_step *puts = tv_malloc((count + 1) * sizeof *puts);
    tv_err err;

    for (size_t i = 0; i < count; i++)
        puts[i] = put_of(rows[i]);
    err = send_changes(copy, puts, count);
    free(puts);
    return err;
}

static void add_piece(tv_copy *copy, tv_copy_piece piece)
{
    tv_grow(&copy->pieces, copy->count, &copy->size, 64);
    copy->pieces[copy->count++] = piece;
}

tv_err tv_copy_first(tv_copy *copy, tv_copy_guard guard)
{
    tv_slice at = copy->from, to = tv_route_end(copy->to);
    tv_arena page;
    tv_err err = TV_OK;
    bool is_last = false;

    tv_arena_init(&page);
    while (!err && !is_last) {
        tv_pool_read read = {
            .object = copy->source,
            .kind = TV_POOL_READ_PAGE,
            .attr = guard.attr,
            .attr_value = guard.value,
            .after = tv_route_before(&page, at),
            .rows_max = copy->page_rows,
            .arena = &page,
        };

        err = tv_pool_read_now(copy->pool, &read);
        if (err)
            break;

        size_t count = count_before(read.rows, read.row_count, to);

        is_last = !read.has_more || count < read.row_count;
        learn_size(copy, read.rows, count);
        add_piece(copy, (tv_copy_piece){at, digest_rows(0, read.rows, count), count});
        err = put_rows(copy, read.rows, count);
        if (count)
            at = successor(&copy->arena, read.rows[count - 1].key);
        tv_arena_reset(&page);
    }
    tv_arena_done(&page);
    return err;
}

/* --- once more --- */

/* Reads that are under way together. */
typedef struct flight {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t under_way;
    struct {
        tv_pool_read read;
        tv_arena arena;
    } slots[IN_FLIGHT];
} flight;

static void landed(tv_pool_read *read)
{
    flight *f = read->ctx;

    pthread_mutex_lock(&f->lock);
    if (--f->under_way == 0)
        pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static tv_slice piece_end(const tv_copy *copy, size_t index)
{
    return index + 1 < copy->count ? copy->pieces[index + 1].from : tv_route_end(copy->to);
}

/* Ask for the first page of each of some pieces, and wait for all. */
static void read_together(tv_copy *copy, flight *f, size_t first, size_t count, tv_copy_guard guard)
{
    f->under_way = count;
    for (size_t i = 0; i < count; i++) {
        const tv_copy_piece *piece = &copy->pieces[first + i];
        tv_arena *arena = &f->slots[i].arena;

        tv_arena_reset(arena);
        f->slots[i].read = (tv_pool_read){
            .object = copy->source,
            .kind = TV_POOL_READ_PAGE,
            .attr = guard.attr,
            .attr_value = guard.value,
            .after = tv_route_before(arena, piece->from),
            .rows_max = piece->rows + PAGE_ROWS_FIRST / 2, /* and some that have come */
            .arena = arena,
            .done = landed,
            .ctx = f,
        };
        copy->pool->ops->read(copy->pool, &f->slots[i].read);
    }
    pthread_mutex_lock(&f->lock);
    while (f->under_way)
        pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

/* All rows of a piece, of which `read` has the first: more pages if there are more. */
static tv_err read_rest(tv_copy *copy, tv_pool_read *read, tv_slice to, tv_pool_row **ret_rows,
                        size_t *ret_count)
{
    size_t count = count_before(read->rows, read->row_count, to), size = count;
    tv_pool_row *rows = tv_malloc((count + 1) * sizeof *rows);
    tv_err err = TV_OK;

    if (count)
        memcpy(rows, read->rows, count * sizeof *rows);
    while (!err && read->has_more &&
           count_before(read->rows, read->row_count, to) == read->row_count) {
        if (read->row_count)
            read->after = read->rows[read->row_count - 1].key;
        read->rows_max = copy->page_rows;
        err = tv_pool_read_now(copy->pool, read);
        if (err)
            break;

        size_t more = count_before(read->rows, read->row_count, to);

        if (count + more > size) {
            size = 2 * (count + more);
            rows = tv_realloc(rows, size * sizeof *rows);
        }
        if (more)
            memcpy(rows + count, read->rows, more * sizeof *rows);
        count += more;
    }
    if (err) {
        free(rows);
        return err;
    }
    *ret_rows = rows;
    *ret_count = count;
    return TV_OK;
}

/* What makes `rows` of `old`; there is room for a step for each of both.  Returns how many. */
static size_t find_changes(const tv_pool_row *old, size_t old_count, const tv_pool_row *rows,
                           size_t count, tv_pool_step *ret_steps)
{
    size_t i = 0, j = 0, n = 0;

    while (i < old_count || j < count) {
        int order = i == old_count ? 1 : j == count ? -1 : tv_slice_cmp(old[i].key, rows[j].key);

        if (order < 0)
            ret_steps[n++] = (tv_pool_step){TV_POOL_DELETE_ROW, old[i].key, TV_NONE};
        else if (order > 0 || !tv_slice_eq(old[i].value, rows[j].value))
            ret_steps[n++] = put_of(rows[j]);
        i += order <= 0;
        j += order >= 0;
    }
    return n;
}

/* The rows of [from, to) in the target become these: a page is read sooner than it is written. */
static tv_err change_rows(tv_copy *copy, const tv_pool_row *rows, size_t count, tv_slice from,
                          tv_slice to)
{
    tv_pool_step *steps = NULL;
    tv_pool_row *old = NULL;
    size_t old_count;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    tv_pool_read read = {
        .object = copy->target,
        .kind = TV_POOL_READ_PAGE,
        .attr = copy->target_guard.attr,
        .attr_value = copy->target_guard.value,
        .after = tv_route_before(&arena, from),
        .rows_max = count + PAGE_ROWS_FIRST / 2,
        .arena = &arena,
    };

    err = tv_pool_read_now(copy->pool, &read);
    if (!err)
        err = read_rest(copy, &read, to, &old, &old_count);
    if (err)
        goto out;

    steps = tv_malloc((old_count + count + 1) * sizeof *steps);
    err = send_changes(copy, steps, find_changes(old, old_count, rows, count, steps));

out:
    free(steps);
    free(old);
    tv_arena_done(&arena);
    return err;
}

static tv_err check_piece(tv_copy *copy, size_t index, tv_pool_read *read, size_t *ret_changed)
{
    tv_copy_piece *piece = &copy->pieces[index];
    tv_slice to = piece_end(copy, index);
    tv_pool_row *rows;
    uint64_t digest;
    size_t count;
    tv_err err;

    if (read->result)
        return read->result;

    err = read_rest(copy, read, to, &rows, &count);
    if (err)
        return err;

    learn_size(copy, rows, count);
    digest = digest_rows(0, rows, count);
    if (digest != piece->digest || count != piece->rows) {
        err = change_rows(copy, rows, count, piece->from, to);
        piece->digest = digest;
        piece->rows = count;
        (*ret_changed)++;
    }
    free(rows);
    return err;
}

tv_err tv_copy_again(tv_copy *copy, tv_copy_guard guard, size_t *ret_changed)
{
    flight *f = tv_calloc(1, sizeof *f);
    tv_err err = TV_OK;

    tv_assert(pthread_mutex_init(&f->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&f->changed, NULL) == 0);
    for (size_t i = 0; i < IN_FLIGHT; i++)
        tv_arena_init(&f->slots[i].arena);
    copy->rows = copy->bytes = 0;
    *ret_changed = 0;
    for (size_t first = 0; !err && first < copy->count; first += IN_FLIGHT) {
        size_t count = copy->count - first < IN_FLIGHT ? copy->count - first : IN_FLIGHT;

        read_together(copy, f, first, count, guard);
        err = tv_point("copy.again");
        for (size_t i = 0; i < count && !err; i++)
            err = check_piece(copy, first + i, &f->slots[i].read, ret_changed);
        if (!err && first + count < copy->count)
            err = beat(copy);
    }
    for (size_t i = 0; i < IN_FLIGHT; i++)
        tv_arena_done(&f->slots[i].arena);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    free(f);
    return err;
}

tv_err tv_copy_ahead(tv_copy *copy, tv_copy_guard guard)
{
    size_t changed;
    tv_err err;

    err = tv_copy_first(copy, guard);
    if (err)
        return err;

    return tv_copy_again(copy, guard, &changed);
}
