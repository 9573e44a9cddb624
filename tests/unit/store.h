/*
 * For tests of the catalogue and of changes: a memory engine under a real
 * commit pipeline, and a write that is waited for.
 */
#ifndef TV_TESTS_UNIT_STORE_H
#define TV_TESTS_UNIT_STORE_H

#include <semaphore.h>

#include "check.h"
#include "model/catalog/catalog.h"
#include "store/engine/key.h"
#include "store/engine/memory/memory.h"
#include "test_engine.h"
#include "wait.h"

#define ACCOUNT TV_LIT("acct")

static tv_engine *engine;
static tv_pipeline *pipeline;
static tv_outbox *outbox;
static tv_mailbox mailbox;
static sem_t woken;
static tv_arena arena;

static void wake(void *ctx)
{
    sem_post(ctx);
}

/* The pipeline can be stopped and started again over the same engine, as by a restart. */
static inline void start_pipeline(void)
{
    pipeline = tv_pipeline_new(engine, 2, 4096);
    outbox = tv_outbox_new(pipeline);
}

static inline void stop_pipeline(void)
{
    tv_outbox_free(outbox);
    tv_pipeline_free(pipeline);
}

static inline void store_start(void)
{
    tv_arena_init(&arena);
    engine = test_engine_new(NULL);
    sem_init(&woken, 0, 0);
    tv_mailbox_init(&mailbox, wake, &woken);
    start_pipeline();
}

static inline void store_stop(void)
{
    stop_pipeline();
    tv_engine_close(engine);
    tv_mailbox_done(&mailbox);
    sem_destroy(&woken);
    tv_arena_done(&arena);
}

/* A catalogue of a node that leads. */
static inline tv_err open_catalog(const tv_catalog_kind *kind, tv_catalog **ret_catalog)
{
    static tv_lead lead = {true};
    tv_err err = tv_catalog_open(kind, engine, pipeline, ret_catalog);

    if (err == TV_OK)
        tv_catalog_lead(*ret_catalog, &lead);
    return err;
}

static bool is_delivered;

static inline void deliver(tv_mail *mail)
{
    (void)mail;
    is_delivered = true;
}

/* Submit one write and wait until it is durable or has failed. */
static inline tv_err commit(tv_write *write)
{
    write->mail.deliver = deliver;
    write->reply_to = &mailbox;
    is_delivered = false;
    tv_outbox_add(outbox, write);
    tv_outbox_flush(outbox);
    while (!is_delivered) {
        sem_wait(&woken);
        tv_mailbox_deliver(&mailbox);
    }
    return write->result;
}

/* Create a container, as a request does. */
static inline tv_err create_container(tv_catalog_create *create)
{
    tv_waiter waiter;
    tv_err err;

    tv_waiter_init(&waiter, pipeline);
    err = tv_catalog_create_now(create, &waiter);
    tv_waiter_done(&waiter);
    return err;
}

/* How many rows the engine holds under a prefix. */
static inline size_t count_rows(tv_slice prefix)
{
    tv_iter *iter;
    size_t count = 0;

    CHECK_OK(tv_engine_iter_across(engine, prefix, tv_key_after(&arena, prefix), &iter));
    for (tv_iter_seek(iter, prefix); tv_iter_is_valid(iter); tv_iter_next(iter))
        count++;
    CHECK_OK(tv_iter_status(iter));
    tv_iter_free(iter);
    return count;
}

/* Wait, up to a minute, until there is nothing under a prefix. */
static inline void wait_until_empty(tv_slice prefix)
{
    WAIT_UNTIL(count_rows(prefix) == 0);
}

#endif
