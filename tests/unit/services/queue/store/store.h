/*
 * For tests of queues: one queue over an engine, groups of writes as a committer
 * would run them, a clock that the test sets, and an engine that counts.
 */
#ifndef TV_TESTS_UNIT_QUEUE_STORE_H
#define TV_TESTS_UNIT_QUEUE_STORE_H

#include "base/clock.h"
#include "check.h"
#include "services/queue/store/row.h"
#include "services/queue/writes.h"
#include "store/commit/group.h"
#include "store/engine/instant.h"
#include "store/engine/key.h"
#include "store/engine/memory/memory.h"

#define SECOND TV_TICKS_PER_SECOND
#define DAY_S INT64_C(86400)

static tv_engine *engine;
static tv_txn *txn;
static tv_queue queue;
static atomic_bool is_dropped;
static tv_arena arena;

/* Groups never go back in time, so neither does this, from one test to the next. */
static int64_t ticks = TV_TICKS_UNIX_EPOCH + INT64_C(1767225600) * TV_TICKS_PER_SECOND;

static inline void pass_ticks(int64_t count)
{
    ticks = tv_instant_now() > ticks ? tv_instant_now() : ticks;
    ticks += count;
    tv_clock_set_fake_ticks(ticks);
}

static inline void pass(int64_t seconds)
{
    pass_ticks(seconds * SECOND);
}

static inline void store_open(tv_engine *over)
{
    engine = over;
    txn = tv_txn_new(engine);
    tv_arena_init(&arena);
    is_dropped = false;
    tv_queue_init(&queue, engine, tv_key_queue(&arena, TV_LIT("acct"), 1), &is_dropped);
    tv_clock_set_fake_ticks(ticks);
}

/* What a restart of the server keeps: the engine, and nothing else. */
static inline tv_engine *store_leave(void)
{
    tv_queue_done(&queue);
    tv_txn_free(txn);
    tv_arena_done(&arena);
    return engine;
}

/* Run writes as one group and settle those that succeeded; returns the engine's last result. */
static inline tv_err commit_group(tv_write *const *writes, size_t count)
{
    tv_pipeline_metrics metrics = {0};
    tv_err err = TV_OK;

    for (size_t done = 0; done < count;) {
        size_t ran = tv_group_commit(txn, writes + done, count - done, &metrics, &err);

        for (size_t i = done; i < done + ran; i++) {
            if (writes[i]->result == TV_OK && writes[i]->settle)
                writes[i]->settle(writes[i]);
        }
        done += ran;
    }
    return err;
}

static inline tv_err commit(tv_write *write)
{
    commit_group(&write, 1);
    return write->result;
}

/* Single operations, waited for. */

static inline tv_err put_message(const char *text, int64_t timeout_s, int64_t ttl_s,
                                 tv_message *ret_message)
{
    tv_queue_put op = {
        .queue = &queue, .text = tv_slice_of(text), .timeout_s = timeout_s, .ttl_s = ttl_s};
    tv_write write = {0};
    tv_err err = tv_queue_prepare_put(&op, &write);

    if (err == TV_OK)
        err = commit(&write);
    if (ret_message)
        *ret_message = op.message;
    return err;
}

static inline tv_err get_messages(int64_t count, int64_t timeout_s, tv_queue_get *ret_get)
{
    tv_write write = {0};
    tv_err err;

    *ret_get =
        (tv_queue_get){.queue = &queue, .arena = &arena, .count = count, .timeout_s = timeout_s};
    err = tv_queue_prepare_get(ret_get, &write);
    return err ? err : commit(&write);
}

/* Get one message that must be there. */
static inline tv_message get_one(int64_t timeout_s)
{
    tv_queue_get op;

    CHECK_OK(get_messages(1, timeout_s, &op));
    CHECK_INT(op.message_count, 1);
    return op.messages[0];
}

/* The texts that a get gives: "a b ". */
static inline const char *get_texts(int64_t count, int64_t timeout_s)
{
    static char text[4096];
    tv_queue_get op;
    size_t len = 0;

    CHECK_OK(get_messages(count, timeout_s, &op));
    text[0] = '\0';
    for (size_t i = 0; i < op.message_count; i++)
        len +=
            (size_t)snprintf(text + len, sizeof text - len, "%.*s ", TV_FMT(op.messages[i].text));
    return text;
}

static inline const char *peek_texts(int64_t count)
{
    static char text[4096];
    tv_message messages[TV_MESSAGES_MAX];
    size_t len = 0, found = 0;

    CHECK_OK(tv_queue_peek(&queue, &arena, count, messages, &found));
    text[0] = '\0';
    for (size_t i = 0; i < found; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s ", TV_FMT(messages[i].text));
    return text;
}

#define CHECK_GET(count, timeout_s, want) CHECK_TEXT(tv_slice_of(get_texts(count, timeout_s)), want)
#define CHECK_PEEK(count, want) CHECK_TEXT(tv_slice_of(peek_texts(count)), want)

/* `message` becomes what the update makes of it; a NULL text keeps the text. */
static inline tv_err update(tv_message *message, int64_t timeout_s, const char *text)
{
    tv_queue_update op = {
        .queue = &queue,
        .id = message->id,
        .receipt = message->receipt,
        .timeout_s = timeout_s,
        .text = text ? tv_slice_of(text) : TV_NONE,
    };
    tv_write write = {0};
    tv_err err = tv_queue_prepare_update(&op, &write);

    if (err == TV_OK)
        err = commit(&write);
    if (err == TV_OK)
        *message = op.message;
    return err;
}

static inline tv_err delete_message(const tv_message *message)
{
    tv_queue_delete op = {.queue = &queue, .id = message->id, .receipt = message->receipt};
    tv_write write = {0};

    tv_queue_prepare_delete(&op, &write);
    return commit(&write);
}

static inline tv_err clear(void)
{
    tv_write write = {0};

    tv_queue_prepare_clear(&queue, &write);
    return commit(&write);
}

/* One step of garbage collection. */
static inline tv_err gc(tv_queue_gc_step *ret_step)
{
    tv_write write = {0};
    tv_err err;

    *ret_step = (tv_queue_gc_step){.queue = &queue};
    err = tv_queue_prepare_gc(ret_step, &write);
    return err ? err : commit(&write);
}

static inline void gc_all(void)
{
    tv_queue_gc_step op;

    do {
        CHECK_OK(gc(&op));
    } while (op.has_more);
}

static inline int64_t count_messages(void)
{
    int64_t count;

    CHECK_OK(tv_queue_count(&queue, TV_READ_ANY, &count));
    return count;
}

/* How many rows the engine holds for the queue, the counts included. */
static inline size_t count_rows(void)
{
    tv_iter *iter;
    size_t count = 0;

    CHECK_OK(tv_engine_iter_across(engine, queue.prefix, tv_key_after(&arena, queue.prefix), &iter));
    for (tv_iter_seek(iter, queue.prefix); tv_iter_is_valid(iter); tv_iter_next(iter))
        count++;
    CHECK_OK(tv_iter_status(iter));
    tv_iter_free(iter);
    return count;
}

/* The promise of bound.h, checked against the rows that the engine holds. */
static inline void check_bound(tv_queue_index index, tv_queue_place bound)
{
    tv_queue_counts counts = {0};
    tv_queue_key from, to;
    tv_slice value;
    tv_iter *iter;
    tv_err err;

    err = tv_engine_get(engine, TV_READ_ANY, tv_queue_key_counts(&from, queue.prefix), &arena,
                        &value);
    if (err == TV_ERR_NOT_FOUND)
        return;
    CHECK_OK(err);
    CHECK_OK(tv_queue_read_counts(value, &counts));

    tv_slice first =
        tv_queue_key_place(&from, queue.prefix, counts.generation, index, (tv_queue_place){0, 0});
    CHECK_OK(tv_engine_iter(engine, first,
                            tv_queue_key_place(&to, queue.prefix, counts.generation, index, bound),
                            &iter));
    for (tv_iter_seek(iter, first); tv_iter_is_valid(iter); tv_iter_next(iter)) {
        int64_t expires;
        tv_guid id;

        CHECK_OK(tv_queue_read_entry(tv_iter_value(iter), &id, &expires));
        /* An expired message is dead for the one index; for the other it is what it looks for. */
        if (index == TV_QUEUE_EXPIRY || expires > tv_instant_now())
            CHECK_FAIL("a live row of index '%c' lies below the bound", index);
    }
    CHECK_OK(tv_iter_status(iter));
    tv_iter_free(iter);
}

static inline void check_bounds(void)
{
    check_bound(TV_QUEUE_VISIBLE, tv_queue_bound_read(&queue.visible));
    check_bound(TV_QUEUE_EXPIRY, tv_queue_bound_read(&queue.expiring));
}

/* An engine that counts the rows that are read, by key or by iterator. */
static const tv_engine_ops *plain_ops;
static const tv_iter_ops *plain_iter_ops;
static tv_engine_ops counting_ops;
static tv_iter_ops counting_iter_ops;
static size_t rows_read;

static inline tv_err count_get(tv_engine *of, tv_read_mode mode, tv_slice key, tv_arena *into,
                               tv_slice *ret_value)
{
    rows_read++;
    return plain_ops->get(of, mode, key, into, ret_value);
}

static inline void count_next(tv_iter *iter)
{
    rows_read++;
    plain_iter_ops->next(iter);
}

static inline tv_err count_iter_new(tv_engine *of, tv_slice from, tv_slice to, tv_iter **ret_iter)
{
    tv_err err = plain_ops->iter_new(of, from, to, ret_iter);

    if (err)
        return err;
    plain_iter_ops = (*ret_iter)->ops;
    counting_iter_ops = *plain_iter_ops;
    counting_iter_ops.next = count_next;
    (*ret_iter)->ops = &counting_iter_ops;
    return TV_OK;
}

static inline void start_counting(void)
{
    plain_ops = engine->ops;
    counting_ops = *plain_ops;
    counting_ops.get = count_get;
    counting_ops.iter_new = count_iter_new;
    engine->ops = &counting_ops;
    rows_read = 0;
}

static inline size_t stop_counting(void)
{
    engine->ops = plain_ops;
    return rows_read;
}

#endif
