/*
 * Changes and reads of objects, each one asynchronous operation.
 *
 * Those that have a deadline are cancelled by a thread of ours, which looks at them now and then;
 * librados then answers them as all others, and touches their buffers no more.
 *
 * Traps: cmpxattr compares the argument with what is stored (GT passes when the
 * argument is greater), omap_cmp the other way round; an absent attribute or
 * row is "".  A write operation makes the object if it is not there, unless it
 * asserts that it exists.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "store/pool/internal.h"

enum { DEADLINE_TICK_MS = 500 };

/* --- deadlines --- */

static void timed_begin(tv_librados_pool *pool, tv_librados_timed *t, int64_t until_ns)
{
    int64_t own_ns = tv_clock_mono_ns() + tv_pool_patience_ms * INT64_C(1000000);

    t->until_ns = until_ns && until_ns < own_ns ? until_ns : own_ns;
    pthread_mutex_lock(&pool->timed_lock);
    t->next = &pool->under_way;
    t->before = pool->under_way.before;
    t->before->next = pool->under_way.before = t;
    pthread_mutex_unlock(&pool->timed_lock);
}

/* Before its completion is released: nobody cancels it any more. */
static void timed_end(tv_librados_pool *pool, tv_librados_timed *t)
{
    if (t->next == NULL)
        return;

    pthread_mutex_lock(&pool->timed_lock);
    t->before->next = t->next;
    t->next->before = t->before;
    while (pool->cancelled == t)
        pthread_cond_wait(&pool->let_go, &pool->timed_lock);
    pthread_mutex_unlock(&pool->timed_lock);
}

static tv_librados_timed *find_late(tv_librados_pool *pool)
{
    int64_t now_ns = tv_clock_mono_ns();

    for (tv_librados_timed *t = pool->under_way.next; t != &pool->under_way; t = t->next)
        if (!t->is_late && t->until_ns <= now_ns)
            return t;
    return NULL;
}

/* librados answers on another thread, which waits in timed_end until this one lets go. */
void tv_librados_run_canceller(tv_background *background, void *ctx)
{
    tv_librados_pool *pool = ctx;
    tv_librados_timed *t;

    while (tv_background_sleep(background, DEADLINE_TICK_MS)) {
        pthread_mutex_lock(&pool->timed_lock);
        while ((t = find_late(pool))) {
            t->is_late = true;
            pool->cancelled = t;
            pthread_mutex_unlock(&pool->timed_lock);

            int rc = rados_aio_cancel(pool->io, t->completion);

            pthread_mutex_lock(&pool->timed_lock);
            if (rc < 0) { /* not yet sent, or just answered */
                t->is_late = false;
                t->until_ns = tv_clock_mono_ns() + DEADLINE_TICK_MS * INT64_C(1000000);
            }
            pool->cancelled = NULL;
            pthread_cond_broadcast(&pool->let_go);
        }
        pthread_mutex_unlock(&pool->timed_lock);
    }
}

/* --- changes --- */

typedef struct change_op {
    tv_librados_timed deadline;
    tv_librados_pool *pool;
    tv_pool_change *change;
    rados_write_op_t op;
    rados_completion_t completion;
    int *results; /* for each step; librados fills in those of row conditions */
} change_op;

static void change_done(rados_completion_t completion, void *arg)
{
    change_op *o = arg;
    tv_pool_change *change = o->change;
    int rc = completion ? rados_aio_get_return_value(completion) : -EIO;

    timed_end(o->pool, &o->deadline);
    if (rc == -ECANCELED && o->deadline.is_late)
        rc = -ETIMEDOUT;
    change->result = tv_librados_err(o->pool, TV_CAP_W, rc);
    change->refused = TV_POOL_NO_STEP;
    if (rc == -ECANCELED) {
        for (size_t i = 0; i < change->step_count && change->refused == TV_POOL_NO_STEP; i++) {
            if (o->results[i] < 0)
                change->refused = i;
        }
    }
    rados_release_write_op(o->op);
    if (completion)
        rados_aio_release(completion);
    free(o->results);
    free(o);
    change->done(change);
}

/* A name as a C string; librados has copied it when the call returns. */
typedef struct text {
    char bytes[TV_POOL_NAME_MAX + 1];
} text;

static text text_of(tv_slice name)
{
    text t;

    tv_assert(name.len <= TV_POOL_NAME_MAX);
    *tv_slice_put(t.bytes, name) = '\0';
    return t;
}

/* Add rows to put or to delete that follow each other, as one.  Returns the step behind them. */
static size_t add_rows(rados_write_op_t op, const tv_pool_change *change, size_t first)
{
    tv_pool_kind kind = change->steps[first].kind;
    size_t end = first, count;

    while (end < change->step_count && change->steps[end].kind == kind)
        end++;
    count = end - first;

    const char **keys = tv_calloc(count * 2, sizeof *keys), **values = keys + count;
    size_t *key_sizes = tv_calloc(count * 2, sizeof *key_sizes), *value_sizes = key_sizes + count;

    for (size_t i = 0; i < count; i++) {
        keys[i] = change->steps[first + i].key.data;
        key_sizes[i] = change->steps[first + i].key.len;
        values[i] = change->steps[first + i].value.data;
        value_sizes[i] = change->steps[first + i].value.len;
    }
    if (kind == TV_POOL_PUT_ROW)
        rados_write_op_omap_set2(op, keys, values, key_sizes, value_sizes, count);
    else
        rados_write_op_omap_rm_keys2(op, keys, key_sizes, count);
    free(keys);
    free(key_sizes);
    return end;
}

static void add_step(rados_write_op_t op, const tv_pool_step *step, int *result)
{
    switch (step->kind) {
    case TV_POOL_CREATE:
        rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
        break;
    case TV_POOL_ATTR_IS:
        rados_write_op_cmpxattr(op, text_of(step->key).bytes, LIBRADOS_CMPXATTR_OP_EQ,
                                step->value.data, step->value.len);
        break;
    case TV_POOL_ATTR_BELOW:
        rados_write_op_cmpxattr(op, text_of(step->key).bytes, LIBRADOS_CMPXATTR_OP_GT,
                                step->value.data, step->value.len);
        break;
    case TV_POOL_ROW_IS:
        rados_write_op_omap_cmp2(op, step->key.data, LIBRADOS_CMPXATTR_OP_EQ, step->value.data,
                                 step->key.len, step->value.len, result);
        break;
    case TV_POOL_ROW_ABSENT:
        rados_write_op_omap_cmp2(op, step->key.data, LIBRADOS_CMPXATTR_OP_EQ, "", step->key.len, 0,
                                 result);
        break;
    case TV_POOL_DELETE_ROWS:
        rados_write_op_omap_rm_range2(op, step->key.data, step->key.len, step->value.data,
                                      step->value.len);
        break;
    case TV_POOL_SET_ATTR:
        rados_write_op_setxattr(op, text_of(step->key).bytes, step->value.data, step->value.len);
        break;
    case TV_POOL_SET_DATA:
        rados_write_op_write_full(op, step->value.data, step->value.len);
        break;
    case TV_POOL_REMOVE:
        rados_write_op_remove(op);
        break;
    case TV_POOL_PUT_ROW:
    case TV_POOL_DELETE_ROW:
        break; /* add_rows */
    }
}

void tv_librados_change(tv_pool *base, tv_pool_change *change)
{
    tv_librados_pool *pool = tv_librados_of(base);
    change_op *o = tv_calloc(1, sizeof *o);

    o->pool = pool;
    o->change = change;
    o->op = rados_create_write_op();
    o->results = tv_calloc(change->step_count + 1, sizeof *o->results);
    if (change->step_count == 0 || change->steps[0].kind != TV_POOL_CREATE)
        rados_write_op_assert_exists(o->op);
    for (size_t i = 0; i < change->step_count;) {
        if (change->steps[i].kind == TV_POOL_PUT_ROW || change->steps[i].kind == TV_POOL_DELETE_ROW)
            i = add_rows(o->op, change, i);
        else
            add_step(o->op, &change->steps[i], &o->results[i]), i++;
    }
    tv_assert(rados_aio_create_completion2(o, change_done, &o->completion) == 0);
    o->deadline.completion = o->completion;
    if (change->until_ns)
        timed_begin(pool, &o->deadline, change->until_ns);
    if (rados_aio_write_op_operate(o->op, pool->io, o->completion, change->object, NULL, 0) < 0) {
        rados_aio_release(o->completion);
        change_done(NULL, o);
    }
}

/* --- reads --- */

typedef struct read_op {
    tv_librados_timed deadline;
    tv_librados_pool *pool;
    tv_pool_read *read;
    rados_read_op_t op;
    rados_completion_t completion;
    rados_omap_iter_t rows;
    rados_xattrs_iter_t attrs;
    unsigned char has_more;
    char *buffer;
    size_t bytes_read;
    int result; /* of the part of the operation that reads */
} read_op;

static void take_rows(read_op *o)
{
    tv_pool_read *read = o->read;
    unsigned count = rados_omap_iter_size(o->rows);
    tv_slice key, value;
    char *k, *v;

    read->rows = tv_arena_alloc(read->arena, (count + 1) * sizeof *read->rows);
    while (rados_omap_get_next2(o->rows, &k, &v, &key.len, &value.len) == 0 && k) {
        key.data = k;
        value.data = v;
        read->rows[read->row_count++] = (tv_pool_row){
            .key = tv_arena_dup(read->arena, key),
            .value = tv_arena_dup(read->arena, value),
        };
    }
    read->has_more = o->has_more;
}

static void take_attrs(read_op *o)
{
    enum { ATTRS_MAX = 32 };
    tv_pool_read *read = o->read;
    const char *name, *value;
    size_t len;

    read->rows = tv_arena_alloc(read->arena, ATTRS_MAX * sizeof *read->rows);
    while (read->row_count < ATTRS_MAX &&
           rados_getxattrs_next(o->attrs, &name, &value, &len) == 0 && name)
        read->rows[read->row_count++] = (tv_pool_row){
            .key = tv_arena_dup(read->arena, tv_slice_of(name)),
            .value = tv_arena_dup(read->arena, (tv_slice){value, len}),
        };
}

static void read_done(rados_completion_t completion, void *arg)
{
    read_op *o = arg;
    tv_pool_read *read = o->read;
    int rc = completion ? rados_aio_get_return_value(completion) : -EIO;

    timed_end(o->pool, &o->deadline);
    if (rc == -ECANCELED && o->deadline.is_late)
        rc = -ETIMEDOUT;
    if (rc >= 0 && o->result < 0)
        rc = o->result;
    read->result = tv_librados_err(o->pool, TV_CAP_R, rc);
    if (rc >= 0 && o->rows)
        take_rows(o);
    if (rc >= 0 && o->attrs)
        take_attrs(o);
    if (rc >= 0 && o->buffer)
        read->data = (tv_slice){o->buffer, o->bytes_read};
    if (completion && o->rows)
        rados_omap_get_end(o->rows);
    if (completion && o->attrs)
        rados_getxattrs_end(o->attrs);
    rados_release_read_op(o->op);
    if (completion)
        rados_aio_release(completion);
    free(o);
    read->done(read);
}

static void add_keys(read_op *o, const tv_pool_read *read)
{
    const char **keys = tv_calloc(read->key_count + 1, sizeof *keys);
    size_t *sizes = tv_calloc(read->key_count + 1, sizeof *sizes);

    for (size_t i = 0; i < read->key_count; i++) {
        keys[i] = read->keys[i].data;
        sizes[i] = read->keys[i].len;
    }
    rados_read_op_omap_get_vals_by_keys2(o->op, keys, read->key_count, sizes, &o->rows, &o->result);
    free(keys);
    free(sizes);
}

void tv_librados_read(tv_pool *base, tv_pool_read *read)
{
    tv_librados_pool *pool = tv_librados_of(base);
    read_op *o = tv_calloc(1, sizeof *o);
    char *after, *prefix;

    o->pool = pool;
    o->read = read;
    o->op = rados_create_read_op();
    read->rows = NULL;
    read->row_count = 0;
    read->has_more = false;
    read->data = TV_NONE;
    if (read->attr.len)
        rados_read_op_cmpxattr(o->op, text_of(read->attr).bytes, LIBRADOS_CMPXATTR_OP_EQ,
                               read->attr_value.data, read->attr_value.len);
    switch (read->kind) {
    case TV_POOL_READ_KEYS:
        add_keys(o, read);
        break;
    case TV_POOL_READ_PAGE:
        after = tv_malloc(read->after.len + read->prefix.len + 2);
        prefix = tv_slice_put(after, read->after) + 1;
        prefix[-1] = '\0';
        *tv_slice_put(prefix, read->prefix) = '\0';
        rados_read_op_omap_get_vals2(o->op, after, prefix, read->rows_max, &o->rows, &o->has_more,
                                     &o->result);
        free(after);
        break;
    case TV_POOL_READ_ATTRS:
        rados_read_op_getxattrs(o->op, &o->attrs, &o->result);
        break;
    case TV_POOL_READ_DATA:
        o->buffer = tv_arena_bytes(read->arena, read->size);
        rados_read_op_read(o->op, read->offset, read->size, o->buffer, &o->bytes_read, &o->result);
        break;
    }
    tv_assert(rados_aio_create_completion2(o, read_done, &o->completion) == 0);
    o->deadline.completion = o->completion;
    timed_begin(pool, &o->deadline, read->until_ns);
    if (rados_aio_read_op_operate(o->op, pool->io, o->completion, read->object, 0) < 0) {
        rados_aio_release(o->completion);
        read_done(NULL, o);
    }
}
