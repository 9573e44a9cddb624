/*
 * The memory engine over the persistent tree: what it does with and without ranges.
 * store.h tells of its locks.
 */
#include "store/engine/memory/memory.h"

#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "store/engine/instant.h"
#include "store/engine/memory/store.h"

enum { PAGE_ROWS = 1000 };

static tv_memory_store *of(tv_engine *engine)
{
    return tv_memory_node_of(engine)->store;
}

tv_tree *tv_memory_snapshot(tv_memory_store *store)
{
    pthread_mutex_lock(&store->lock);
    tv_tree *tree = tv_tree_ref(store->durable);
    pthread_mutex_unlock(&store->lock);
    return tree;
}

void tv_memory_wait_us(int64_t delay_us)
{
    struct timespec span = {.tv_sec = delay_us / 1000000, .tv_nsec = delay_us % 1000000 * 1000};

    if (delay_us > 0)
        nanosleep(&span, NULL);
}

tv_err tv_memory_read_rows(tv_memory_store *store, tv_tree **ret_tree)
{
    pthread_mutex_lock(&store->lock);
    int64_t delay_us = store->read_delay_us;
    pthread_mutex_unlock(&store->lock);
    tv_memory_wait_us(delay_us);

    pthread_mutex_lock(&store->lock);
    store->read_count++;
    tv_err err = store->read_err;
    *ret_tree = err ? NULL : tv_tree_ref(store->durable);
    pthread_mutex_unlock(&store->lock);
    return err;
}

/* Whether a read that must not wait would have to. */
static bool would_block(tv_memory_store *store)
{
    pthread_mutex_lock(&store->lock);
    bool is_so = store->has_ranges || (store->would_block && store->read_err == TV_OK);
    pthread_mutex_unlock(&store->lock);
    return is_so;
}

static tv_err get(tv_engine *engine, tv_read_mode mode, tv_slice key, tv_arena *arena,
                  tv_slice *ret_value)
{
    tv_memory_store *store = of(engine);
    tv_slice value;
    tv_tree *tree;
    tv_err err;

    if (mode == TV_READ_CACHED && would_block(store))
        return TV_ERR_WOULD_BLOCK;
    err = tv_memory_read_rows(store, &tree);
    if (err)
        return err;

    if (tv_tree_get(tree, key, &value))
        err = tv_arena_try_dup(arena, value, ret_value);
    else
        err = TV_ERR_NOT_FOUND;
    tv_tree_unref(tree);
    return err;
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

/* xorshift64: small, and the same on every machine. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint64_t power_cuts_of(tv_memory_store *store)
{
    pthread_mutex_lock(&store->lock);
    uint64_t count = store->power_cuts;
    pthread_mutex_unlock(&store->lock);
    return count;
}

/* Before a write: may it go on?  Counts it for tv_memory_fail_writes. */
static tv_err admit(tv_memory_store *store, bool is_freeing, uint64_t *ret_power_cuts)
{
    tv_err err = TV_OK;

    pthread_mutex_lock(&store->lock);
    if (store->is_stopped)
        err = TV_ERR_IO;
    else if (store->fail_after)
        store->fail_after--;
    else if (store->fail_count && store->fail_count--)
        err = store->fail_err;
    else if (store->is_full && !is_freeing)
        err = TV_ERR_DISK_FULL;
    if (err == TV_ERR_IO)
        store->is_stopped = !store->has_ranges;
    if (ret_power_cuts)
        *ret_power_cuts = store->power_cuts;
    pthread_mutex_unlock(&store->lock);
    return err;
}

/*
 * After the delay: make `tree` the durable version, unless the power went
 * meanwhile.  Then the write has failed, but the disk may hold it all the same.
 */
static tv_err publish(tv_memory_store *store, tv_tree *tree, uint64_t power_cuts,
                      struct tv_memory_range *range, int64_t stamp)
{
    tv_tree *dropped;

    pthread_mutex_lock(&store->lock);
    bool lost = store->power_cuts != power_cuts;
    if (lost && next_random(&store->random) % 2) {
        dropped = tree;
    } else {
        dropped = store->durable;
        store->durable = tree;
        store->write_count++;
        if (range && stamp)
            range->clock = stamp;
    }
    pthread_mutex_unlock(&store->lock);
    tv_tree_unref(dropped);
    return lost ? TV_ERR_IO : TV_OK;
}

/* What a write takes to become durable, or until the power goes. */
static void wait_for_disk(tv_memory_store *store, int64_t delay_us, uint64_t power_cuts)
{
    struct timespec until = tv_clock_system_time(tv_clock_mono_ns() + delay_us * 1000);

    if (delay_us <= 0)
        return;

    pthread_mutex_lock(&store->lock);
    store->delayed_count++;
    while (store->power_cuts == power_cuts &&
           pthread_cond_clockwait(&store->power_went, &store->lock, CLOCK_MONOTONIC, &until) == 0)
        ;
    store->delayed_count--;
    pthread_mutex_unlock(&store->lock);
}

/* A range may be written to, by a batch whose stamps are later than all before it. */
static tv_err enter_range(tv_memory_node *node, const tv_write_batch *batch,
                          struct tv_memory_range **ret_range)
{
    tv_memory_store *store = node->store;
    int64_t clock = 0;
    unsigned in_row = 0;
    tv_err err = TV_OK;

    *ret_range = NULL;
    pthread_mutex_lock(&store->lock);
    if (store->has_ranges)
        err = tv_memory_route(node, batch, ret_range);
    if (err == TV_OK && *ret_range) {
        struct tv_memory_range *range = *ret_range;
        bool is_refused = batch->stamp && tv_write_batch_first_stamp(batch) <= range->clock;

        clock = range->clock;
        in_row = range->refused_in_row = is_refused ? range->refused_in_row + 1 : 0;
    }
    pthread_mutex_unlock(&store->lock);
    if (err || in_row == 0)
        return err;

    tv_instant_follow(clock, tv_write_batch_first_stamp(batch), in_row);
    return TV_ERR_CONFLICT;
}

/*
 * A cluster takes writes to different rows side by side, so there the delay is over
 * before anything is looked at.
 */
static int64_t wait_for_cluster(tv_memory_store *store)
{
    pthread_mutex_lock(&store->lock);
    int64_t delay_us = store->write_delay_us;
    store->batch_count++;
    pthread_mutex_unlock(&store->lock);
    if (store->has_ranges)
        tv_memory_wait_us(delay_us);
    return store->has_ranges ? 0 : delay_us;
}

static tv_err write_batch(tv_engine *engine, const tv_write_batch *batch)
{
    tv_memory_store *store = of(engine);
    struct tv_memory_range *range;
    uint64_t power_cuts = power_cuts_of(store);
    int64_t delay_us = wait_for_cluster(store);
    tv_err err;

    pthread_mutex_lock(&store->write_lock);
    err = admit(store, batch->is_freeing, store->has_ranges ? NULL : &power_cuts);
    if (err == TV_OK)
        err = enter_range(tv_memory_node_of(engine), batch, &range);
    if (err)
        goto out;

    tv_tree *tree = tv_memory_snapshot(store);
    if (!expectations_hold(tree, batch)) {
        tv_tree_unref(tree);
        err = TV_ERR_CONFLICT;
        goto out;
    }

    tree = apply(tree, batch);
    wait_for_disk(store, delay_us, power_cuts);
    err = publish(store, tree, power_cuts, range, batch->stamp);

out:
    pthread_mutex_unlock(&store->write_lock);
    return err;
}

static tv_err drop_range(tv_engine *engine, tv_slice from, tv_slice to)
{
    tv_memory_store *store = of(engine);
    int64_t delay_us = wait_for_cluster(store);
    uint64_t power_cuts;
    tv_err err;

    pthread_mutex_lock(&store->write_lock);
    err = admit(store, true, &power_cuts);
    if (err == TV_OK) {
        tv_tree *tree = tv_tree_delete_range(tv_memory_snapshot(store), from, to);

        wait_for_disk(store, delay_us, power_cuts);
        err = publish(store, tree, power_cuts, NULL, 0);
    }
    pthread_mutex_unlock(&store->write_lock);
    return err;
}

/* Nobody holds back what was begun before, and catalogues are not kept here. */
static tv_err fence(tv_engine *engine, tv_slice from, tv_slice to)
{
    (void)engine;
    (void)from;
    (void)to;
    return TV_OK;
}

static tv_err backup(tv_engine *engine, const char *dir)
{
    (void)engine;
    (void)dir;
    return TV_ERR_NOT_IMPLEMENTED;
}

static tv_err check(tv_engine *engine)
{
    tv_memory_store *store = of(engine);

    pthread_mutex_lock(&store->lock);
    tv_err err = store->is_stopped ? TV_ERR_IO : store->read_err;
    pthread_mutex_unlock(&store->lock);
    return err;
}

static void metrics(tv_engine *engine, tv_metric_fn *report, void *ctx)
{
    tv_memory_store *store = of(engine);

    pthread_mutex_lock(&store->lock);
    size_t rows = tv_tree_count(store->durable);
    uint64_t writes = store->write_count;
    pthread_mutex_unlock(&store->lock);
    report(ctx, "memory_rows", "Rows in the memory engine.", (double)rows);
    report(ctx, "memory_writes_total", "Batches written to the memory engine.", (double)writes);
}

static void close_engine(tv_engine *engine)
{
    tv_memory_node *node = tv_memory_node_of(engine);
    tv_memory_store *store = node->store;

    if (store->has_ranges)
        tv_memory_node_close(node);
    pthread_mutex_lock(&store->lock);
    tv_memory_map_unref(node->map);
    bool is_last = --store->nodes == 0;
    pthread_mutex_unlock(&store->lock);
    free(node);
    if (!is_last)
        return;

    tv_memory_map_unref(store->map);
    tv_tree_unref(store->durable);
    pthread_cond_destroy(&store->power_went);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->write_lock);
    free(store);
}

#define MEMORY_OPS                                                                                 \
    .name = "memory", .get = get, .iter_new = tv_memory_iter_new, .write = write_batch,            \
    .drop_range = drop_range, .backup = backup, .check = check, .metrics = metrics,                \
    .close = close_engine

static const tv_engine_ops memory_ops = {MEMORY_OPS, .has_snapshots = true};
static const tv_engine_ops shared_memory_ops = {
    MEMORY_OPS,
    .is_shared = true,
    .has_snapshots = true,
};
static const tv_engine_ops ranged_memory_ops = {
    MEMORY_OPS,
    .is_shared = true,
    .read = tv_memory_read,
    .get_many = tv_memory_get_many,
    .range_of = tv_memory_range_of,
    .fence = fence,
};

static tv_engine *connect_to(tv_memory_store *store, const tv_engine_ops *ops)
{
    tv_memory_node *node = tv_calloc(1, sizeof *node);

    node->base.ops = ops;
    node->store = store;
    pthread_mutex_lock(&store->lock);
    store->nodes++;
    if (store->has_ranges)
        tv_memory_node_open(node);
    pthread_mutex_unlock(&store->lock);
    return &node->base;
}

tv_engine *tv_memory_engine_new(const tv_memory_options *options)
{
    static const tv_memory_options defaults;
    tv_memory_store *store = tv_calloc(1, sizeof *store);

    if (options == NULL)
        options = &defaults;
    store->has_ranges = options->has_ranges;
    store->page_rows = options->page_rows ? options->page_rows : PAGE_ROWS;
    store->write_delay_us = options->write_delay_us;
    store->read_delay_us = options->read_delay_us;
    store->random = options->seed ? options->seed : 1; /* xorshift stays at 0 for ever */
    tv_assert(pthread_mutex_init(&store->write_lock, NULL) == 0);
    tv_assert(pthread_mutex_init(&store->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&store->power_went, NULL) == 0);
    if (options->has_ranges)
        tv_memory_map_init(store);
    return connect_to(store, options->has_ranges  ? &ranged_memory_ops
                             : options->is_shared ? &shared_memory_ops
                                                  : &memory_ops);
}

tv_engine *tv_memory_engine_join(tv_engine *node)
{
    tv_assert(of(node)->has_ranges);
    return connect_to(of(node), node->ops);
}

void tv_memory_fail_writes(tv_engine *engine, uint64_t nth, uint64_t count, tv_err err)
{
    tv_memory_store *store = of(engine);

    tv_assert(nth > 0);
    pthread_mutex_lock(&store->lock);
    store->fail_after = nth - 1;
    store->fail_count = count;
    store->fail_err = err;
    pthread_mutex_unlock(&store->lock);
}

void tv_memory_set_full(tv_engine *engine, bool on)
{
    tv_memory_store *store = of(engine);

    pthread_mutex_lock(&store->lock);
    store->is_full = on;
    pthread_mutex_unlock(&store->lock);
}

void tv_memory_fail_reads(tv_engine *engine, tv_err err)
{
    tv_memory_store *store = of(engine);

    pthread_mutex_lock(&store->lock);
    store->read_err = err;
    pthread_mutex_unlock(&store->lock);
}

void tv_memory_set_would_block(tv_engine *engine, bool on)
{
    tv_memory_store *store = of(engine);

    pthread_mutex_lock(&store->lock);
    store->would_block = on;
    pthread_mutex_unlock(&store->lock);
}

void tv_memory_set_write_delay(tv_engine *engine, int64_t delay_us)
{
    tv_memory_store *store = of(engine);

    pthread_mutex_lock(&store->lock);
    store->write_delay_us = delay_us;
    pthread_mutex_unlock(&store->lock);
}

void tv_memory_lose_power(tv_engine *engine)
{
    tv_memory_store *store = of(engine);

    pthread_mutex_lock(&store->lock);
    store->power_cuts++;
    store->is_stopped = !store->has_ranges;
    pthread_cond_broadcast(&store->power_went);
    pthread_mutex_unlock(&store->lock);
}

int tv_memory_delayed_count(tv_engine *engine)
{
    tv_memory_store *store = of(engine);

    pthread_mutex_lock(&store->lock);
    int count = store->delayed_count;
    pthread_mutex_unlock(&store->lock);
    return count;
}

void tv_memory_restart(tv_engine *engine)
{
    tv_memory_store *store = of(engine);

    /* A write that was under way ends before the engine starts again. */
    pthread_mutex_lock(&store->write_lock);
    pthread_mutex_lock(&store->lock);
    store->is_stopped = false;
    pthread_mutex_unlock(&store->lock);
    pthread_mutex_unlock(&store->write_lock);
}

uint64_t tv_memory_write_count(tv_engine *engine)
{
    tv_memory_store *store = of(engine);

    pthread_mutex_lock(&store->lock);
    uint64_t count = store->write_count;
    pthread_mutex_unlock(&store->lock);
    return count;
}

uint64_t tv_memory_read_count(tv_engine *engine)
{
    tv_memory_store *store = of(engine);

    pthread_mutex_lock(&store->lock);
    uint64_t count = store->read_count;
    pthread_mutex_unlock(&store->lock);
    return count;
}

uint64_t tv_memory_batch_count(tv_engine *engine)
{
    tv_memory_store *store = of(engine);

    pthread_mutex_lock(&store->lock);
    uint64_t count = store->batch_count;
    pthread_mutex_unlock(&store->lock);
    return count;
}
