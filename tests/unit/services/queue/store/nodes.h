/*
 * For tests of a queue on an engine that several nodes share: two nodes that do not hear of each
 * other, each with a tv_queue and a transaction of its own.
 */
#ifndef TV_TESTS_UNIT_QUEUE_NODES_H
#define TV_TESTS_UNIT_QUEUE_NODES_H

#include "store.h"

static tv_queue queues[2]; /* the same queue, on each node */
static tv_txn *txns[2];

static inline int set_up(void **state)
{
    (void)state;
    store_open(tv_memory_engine_new(&(tv_memory_options){.is_shared = true}));
    for (int node = 0; node < 2; node++) {
        tv_queue_init(&queues[node], engine, queue.prefix, &is_dropped);
        txns[node] = tv_txn_new(engine);
    }
    pass(1);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    for (int node = 0; node < 2; node++) {
        tv_queue_done(&queues[node]);
        tv_txn_free(txns[node]);
    }
    tv_engine_close(store_leave());
    return 0;
}

static inline tv_queue_counts stored_counts(void)
{
    tv_queue_counts counts = {0};
    tv_queue_key key;
    tv_slice value;
    tv_err err =
        tv_engine_get(engine, TV_READ_ANY, tv_queue_key_counts(&key, queue.prefix), &arena, &value);

    if (err == TV_ERR_NOT_FOUND)
        return counts;
    CHECK_OK(err);
    CHECK_OK(tv_queue_read_counts(value, &counts));
    return counts;
}

static inline void store_counts(tv_slice value)
{
    tv_write_batch batch = {0};

    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, queue.counts, value});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
}

/* The first half of a write: it has run, and is not in the store yet. */
static inline tv_err run(int node, tv_update_fn *fn, void *op)
{
    tv_txn_begin(txns[node]);
    return tv_txn_run(txns[node], queue.prefix, fn, op);
}

static inline tv_err run_whole(int node, tv_update_fn *fn, void *op)
{
    tv_err err;

    do {
        err = run(node, fn, op);
        if (err == TV_OK)
            err = tv_txn_commit(txns[node]);
    } while (err == TV_ERR_CONFLICT);
    return err;
}

static inline tv_message put_on(int node, int64_t timeout_s, int64_t ttl_s)
{
    tv_queue_put op = {
        .queue = &queues[node], .text = TV_LIT("x"), .timeout_s = timeout_s, .ttl_s = ttl_s};

    CHECK_OK(tv_queue_put_check(&op));
    CHECK_OK(run_whole(node, tv_queue_put_run, &op));
    return op.message;
}

static inline tv_queue_get get_of(int node, int64_t count)
{
    return (tv_queue_get){
        .queue = &queues[node], .arena = &arena, .count = count, .timeout_s = 600};
}

#endif
