/*
 * The memory engine over the persistent tree.  Two roots matter: `durable`,
 * which readers see, and the one that a write is building.  A write becomes
 * visible and durable in one assignment, which is all there is to atomicity
 * and to "no read sees what is not durable".
 *
 * Locks: `write_lock` is held for a whole write, its delay included, so writes
 * queue up as they do for one disk.  `lock` guards the fields below it and is
 * held for moments.  A writer takes `write_lock`, then `lock`.
 */
#include "engine/memory/memory.h"

#include <pthread.h>
#include <time.h>

#include "base/assert.h"
#include "engine/memory/tree.h"

typedef struct memory_engine {
    tv_engine base;
    pthread_mutex_t write_lock;

    pthread_mutex_t lock;
    tv_tree *durable;
    int64_t write_delay_us;
    uint64_t write_count;
    uint64_t power_cuts; /* so that a write can see that the power went while it waited */
    uint64_t random;
    uint64_t fail_after, fail_count; /* this many writes pass, then this many fail */
    tv_err fail_err, read_err;
    bool would_block;
    bool is_full;
    bool is_stopped; /* after TV_ERR_IO or a loss of power */
} memory_engine;

typedef struct memory_iter {
    tv_iter base;
    tv_tree *tree;
    tv_tree_cursor cursor;
    tv_slice from, to;
    char bounds[]; /* the bytes of `from` and `to` */
} memory_iter;

static memory_engine *of(tv_engine *engine)
{
    return (memory_engine *)engine;
}

static tv_tree *snapshot(memory_engine *memory)
{
    pthread_mutex_lock(&memory->lock);
    tv_tree *tree = tv_tree_ref(memory->durable);
    pthread_mutex_unlock(&memory->lock);
    return tree;
}

static tv_err get(tv_engine *engine, tv_read_mode mode, tv_slice key, tv_arena *arena,
                  tv_slice *ret_value)
{
    memory_engine *memory = of(engine);
    tv_slice value;
    tv_err err;

    pthread_mutex_lock(&memory->lock);
    err = memory->read_err;
    if (err == TV_OK && mode == TV_READ_CACHED && memory->would_block)
        err = TV_ERR_WOULD_BLOCK;
    tv_tree *tree = err ? NULL : tv_tree_ref(memory->durable);
    pthread_mutex_unlock(&memory->lock);
    if (err)
        return err;

    if (tv_tree_get(tree, key, &value))
        err = tv_arena_try_dup(arena, value, ret_value);
    else
        err = TV_ERR_NOT_FOUND;
    tv_tree_unref(tree);
    return err;
}

/* Stay within the bounds, or have no position. */
static void clip(memory_iter *iter)
{
    if (tv_tree_cursor_is_valid(&iter->cursor) &&
        tv_slice_cmp(tv_tree_cursor_key(&iter->cursor), iter->to) >= 0)
        iter->cursor.depth = 0;
}

static void iter_seek(tv_iter *base, tv_slice key)
{
    memory_iter *iter = (memory_iter *)base;

    tv_tree_cursor_seek(&iter->cursor, tv_slice_cmp(key, iter->from) < 0 ? iter->from : key);
    clip(iter);
}

static bool iter_is_valid(const tv_iter *base)
{
    return tv_tree_cursor_is_valid(&((const memory_iter *)base)->cursor);
}

static void iter_next(tv_iter *base)
{
    memory_iter *iter = (memory_iter *)base;

    tv_tree_cursor_next(&iter->cursor);
    clip(iter);
}

static tv_slice iter_key(const tv_iter *base)
{
    return tv_tree_cursor_key(&((const memory_iter *)base)->cursor);
}

static tv_slice iter_value(const tv_iter *base)
{
    return tv_tree_cursor_value(&((const memory_iter *)base)->cursor);
}

static tv_err iter_status(const tv_iter *base)
{
    (void)base;
    return TV_OK;
}

static void iter_free(tv_iter *base)
{
    memory_iter *iter = (memory_iter *)base;

    tv_tree_cursor_done(&iter->cursor);
    tv_tree_unref(iter->tree);
    free(iter);
}

static const tv_iter_ops iter_ops = {
    .seek = iter_seek,
    .is_valid = iter_is_valid,
    .next = iter_next,
    .key = iter_key,
    .value = iter_value,
    .status = iter_status,
    .free = iter_free,
};

static tv_err iter_new(tv_engine *engine, tv_slice from, tv_slice to, tv_iter **ret_iter)
{
    memory_iter *iter = tv_calloc(1, sizeof *iter + from.len + to.len);

    iter->base.ops = &iter_ops;
    iter->tree = snapshot(of(engine));
    iter->cursor.tree = iter->tree;
    if (from.len)
        memcpy(iter->bounds, from.data, from.len);
    if (to.len)
        memcpy(iter->bounds + from.len, to.data, to.len);
    iter->from = (tv_slice){iter->bounds, from.len};
    iter->to = (tv_slice){iter->bounds + from.len, to.len};
    *ret_iter = &iter->base;
    return TV_OK;
}

static bool expectations_hold(const tv_tree *tree, const tv_write_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const tv_change *change = &batch->changes[i];
        tv_slice value;

        if (change->kind == TV_CHANGE_EXPECT_ABSENT && tv_tree_get(tree, change->key, &value))
            return false;
        if (change->kind == TV_CHANGE_EXPECT_VALUE &&
            (!tv_tree_get(tree, change->key, &value) || !tv_slice_eq(value, change->value)))
            return false;
    }
    return true;
}

/* The version that the batch makes of `tree`, whose reference is taken over. */
static tv_tree *apply(tv_tree *tree, const tv_write_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const tv_change *change = &batch->changes[i];

        tv_assert(change->key.len > 0 && change->key.len <= TV_KEY_BYTES_MAX);
        if (change->kind == TV_CHANGE_PUT)
            tree = tv_tree_put(tree, change->key, change->value);
        else if (change->kind == TV_CHANGE_DELETE)
            tree = tv_tree_delete(tree, change->key);
    }
    return tree;
}

static void wait_us(int64_t delay_us)
{
    struct timespec span = {.tv_sec = delay_us / 1000000, .tv_nsec = delay_us % 1000000 * 1000};

    if (delay_us > 0)
        nanosleep(&span, NULL);
}

/* xorshift64: small, and the same on every machine. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Before a write: may it go on?  Counts it for tv_memory_fail_writes. */
static tv_err admit(memory_engine *memory, bool is_freeing, int64_t *ret_delay_us,
                    uint64_t *ret_power_cuts)
{
    tv_err err = TV_OK;

    pthread_mutex_lock(&memory->lock);
    if (memory->is_stopped)
        err = TV_ERR_IO;
    else if (memory->fail_after)
        memory->fail_after--;
    else if (memory->fail_count && memory->fail_count--)
        err = memory->fail_err;
    else if (memory->is_full && !is_freeing)
        err = TV_ERR_DISK_FULL;
    if (err == TV_ERR_IO)
        memory->is_stopped = true;
    *ret_delay_us = memory->write_delay_us;
    *ret_power_cuts = memory->power_cuts;
    pthread_mutex_unlock(&memory->lock);
    return err;
}

/*
 * After the delay: make `tree` the durable version, unless the power went
 * meanwhile.  Then the write has failed, but the disk may hold it all the same.
 */
static tv_err publish(memory_engine *memory, tv_tree *tree, uint64_t power_cuts)
{
    tv_tree *dropped;

    pthread_mutex_lock(&memory->lock);
    bool lost = memory->power_cuts != power_cuts;
    if (lost && next_random(&memory->random) % 2) {
        dropped = tree;
    } else {
        dropped = memory->durable;
        memory->durable = tree;
        memory->write_count++;
    }
    pthread_mutex_unlock(&memory->lock);
    tv_tree_unref(dropped);
    return lost ? TV_ERR_IO : TV_OK;
}

static tv_err write_batch(tv_engine *engine, const tv_write_batch *batch)
{
    memory_engine *memory = of(engine);
    uint64_t power_cuts;
    int64_t delay_us;
    tv_err err;

    pthread_mutex_lock(&memory->write_lock);
    err = admit(memory, batch->is_freeing, &delay_us, &power_cuts);
    if (err)
        goto out;

    tv_tree *tree = snapshot(memory);
    if (!expectations_hold(tree, batch)) {
        tv_tree_unref(tree);
        err = TV_ERR_CONFLICT;
        goto out;
    }

    tree = apply(tree, batch);
    wait_us(delay_us);
    err = publish(memory, tree, power_cuts);

out:
    pthread_mutex_unlock(&memory->write_lock);
    return err;
}

static tv_err drop_range(tv_engine *engine, tv_slice from, tv_slice to)
{
    memory_engine *memory = of(engine);
    uint64_t power_cuts;
    int64_t delay_us;
    tv_err err;

    pthread_mutex_lock(&memory->write_lock);
    err = admit(memory, true, &delay_us, &power_cuts);
    if (err == TV_OK) {
        tv_tree *tree = tv_tree_delete_range(snapshot(memory), from, to);

        wait_us(delay_us);
        err = publish(memory, tree, power_cuts);
    }
    pthread_mutex_unlock(&memory->write_lock);
    return err;
}

static tv_err backup(tv_engine *engine, const char *dir)
{
    (void)engine;
    (void)dir;
    return TV_ERR_NOT_IMPLEMENTED;
}

static tv_err check(tv_engine *engine)
{
    memory_engine *memory = of(engine);

    pthread_mutex_lock(&memory->lock);
    tv_err err = memory->is_stopped ? TV_ERR_IO : memory->read_err;
    pthread_mutex_unlock(&memory->lock);
    return err;
}

static void metrics(tv_engine *engine, tv_metric_fn *report, void *ctx)
{
    memory_engine *memory = of(engine);

    pthread_mutex_lock(&memory->lock);
    size_t rows = tv_tree_count(memory->durable);
    uint64_t writes = memory->write_count;
    pthread_mutex_unlock(&memory->lock);
    report(ctx, "memory_rows", "Rows in the memory engine.", (double)rows);
    report(ctx, "memory_writes_total", "Batches written to the memory engine.", (double)writes);
}

static void close_engine(tv_engine *engine)
{
    memory_engine *memory = of(engine);

    tv_tree_unref(memory->durable);
    pthread_mutex_destroy(&memory->lock);
    pthread_mutex_destroy(&memory->write_lock);
    free(memory);
}

#define MEMORY_OPS(shared)                                                                         \
    {                                                                                              \
        .name = "memory", .is_shared = (shared), .has_snapshots = true, .get = get,                \
        .iter_new = iter_new, .write = write_batch, .drop_range = drop_range, .backup = backup,    \
        .check = check, .metrics = metrics, .close = close_engine,                                 \
    }

static const tv_engine_ops memory_ops = MEMORY_OPS(false);
static const tv_engine_ops shared_memory_ops = MEMORY_OPS(true);

tv_engine *tv_memory_engine_new(const tv_memory_options *options)
{
    static const tv_memory_options defaults;
    memory_engine *memory = tv_calloc(1, sizeof *memory);

    if (options == NULL)
        options = &defaults;
    memory->base.ops = options->is_shared ? &shared_memory_ops : &memory_ops;
    memory->write_delay_us = options->write_delay_us;
    memory->random = options->seed ? options->seed : 1; /* xorshift stays at 0 for ever */
    tv_assert(pthread_mutex_init(&memory->write_lock, NULL) == 0);
    tv_assert(pthread_mutex_init(&memory->lock, NULL) == 0);
    return &memory->base;
}

void tv_memory_fail_writes(tv_engine *engine, uint64_t nth, uint64_t count, tv_err err)
{
    memory_engine *memory = of(engine);

    tv_assert(nth > 0);
    pthread_mutex_lock(&memory->lock);
    memory->fail_after = nth - 1;
    memory->fail_count = count;
    memory->fail_err = err;
    pthread_mutex_unlock(&memory->lock);
}

void tv_memory_set_full(tv_engine *engine, bool on)
{
    memory_engine *memory = of(engine);

    pthread_mutex_lock(&memory->lock);
    memory->is_full = on;
    pthread_mutex_unlock(&memory->lock);
}

void tv_memory_fail_reads(tv_engine *engine, tv_err err)
{
    memory_engine *memory = of(engine);

    pthread_mutex_lock(&memory->lock);
    memory->read_err = err;
    pthread_mutex_unlock(&memory->lock);
}

void tv_memory_set_would_block(tv_engine *engine, bool on)
{
    memory_engine *memory = of(engine);

    pthread_mutex_lock(&memory->lock);
    memory->would_block = on;
    pthread_mutex_unlock(&memory->lock);
}

void tv_memory_set_write_delay(tv_engine *engine, int64_t delay_us)
{
    memory_engine *memory = of(engine);

    pthread_mutex_lock(&memory->lock);
    memory->write_delay_us = delay_us;
    pthread_mutex_unlock(&memory->lock);
}

void tv_memory_lose_power(tv_engine *engine)
{
    memory_engine *memory = of(engine);

    pthread_mutex_lock(&memory->lock);
    memory->power_cuts++;
    memory->is_stopped = true;
    pthread_mutex_unlock(&memory->lock);
}

void tv_memory_restart(tv_engine *engine)
{
    memory_engine *memory = of(engine);

    /* A write that was under way ends before the engine starts again. */
    pthread_mutex_lock(&memory->write_lock);
    pthread_mutex_lock(&memory->lock);
    memory->is_stopped = false;
    pthread_mutex_unlock(&memory->lock);
    pthread_mutex_unlock(&memory->write_lock);
}

uint64_t tv_memory_write_count(tv_engine *engine)
{
    memory_engine *memory = of(engine);

    pthread_mutex_lock(&memory->lock);
    uint64_t count = memory->write_count;
    pthread_mutex_unlock(&memory->lock);
    return count;
}
