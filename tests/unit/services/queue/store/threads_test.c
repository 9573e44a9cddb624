/*
 * A queue under a real pipeline: threads put, others get and delete, one peeks
 * and one collects.  Every message is given out once, and none is left.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "check.h"
#include "services/queue/writes.h"
#include "store/engine/key.h"
#include "store/engine/memory/memory.h"
#include "test_engine.h"

enum { PRODUCERS = 2, CONSUMERS = 2, PUTS_EACH = 1500, ALL = PRODUCERS * PUTS_EACH };

static tv_engine *engine;
static tv_pipeline *pipeline;
static tv_queue queue;
static atomic_bool is_dropped;
static atomic_int seen[ALL];
static atomic_int deleted, wrong;

/* A thread's own path to the pipeline. */
typedef struct client {
    tv_outbox *outbox;
    tv_mailbox mailbox;
    sem_t woken;
    tv_arena arena;
} client;

typedef struct waited_write {
    tv_write write; /* first: its completion leads to it */
    bool is_done;
} waited_write;

static void wake(void *ctx)
{
    sem_post(ctx);
}

static void deliver(tv_mail *mail)
{
    ((waited_write *)mail)->is_done = true;
}

static void client_start(client *c)
{
    c->outbox = tv_outbox_new(pipeline);
    sem_init(&c->woken, 0, 0);
    tv_mailbox_init(&c->mailbox, wake, &c->woken);
    tv_arena_init(&c->arena);
}

static void client_stop(client *c)
{
    tv_outbox_free(c->outbox);
    tv_mailbox_done(&c->mailbox);
    sem_destroy(&c->woken);
    tv_arena_done(&c->arena);
}

/* Submit and wait. */
static tv_err commit(client *c, waited_write *w)
{
    w->write.mail.deliver = deliver;
    w->write.reply_to = &c->mailbox;
    w->is_done = false;
    tv_outbox_add(c->outbox, &w->write);
    tv_outbox_flush(c->outbox);
    while (!w->is_done) {
        sem_wait(&c->woken);
        tv_mailbox_deliver(&c->mailbox);
    }
    return w->write.result;
}

static void expect(bool condition)
{
    if (!condition)
        atomic_fetch_add(&wrong, 1);
}

static void *produce(void *arg)
{
    int first = (int)(intptr_t)arg * PUTS_EACH;
    client c;

    client_start(&c);
    for (int i = first; i < first + PUTS_EACH; i++) {
        char text[16];
        waited_write w = {0};

        snprintf(text, sizeof text, "%d", i);
        tv_queue_put op = {.queue = &queue, .text = tv_slice_of(text), .ttl_s = -1};
        expect(tv_queue_prepare_put(&op, &w.write) == TV_OK && commit(&c, &w) == TV_OK);
    }
    client_stop(&c);
    return NULL;
}

static int number_of(const tv_message *message)
{
    char text[16];

    snprintf(text, sizeof text, "%.*s", TV_FMT(message->text));
    return (int)strtol(text, NULL, 10);
}

static void *consume(void *arg)
{
    client c;

    (void)arg;
    client_start(&c);
    while (atomic_load(&deleted) < ALL) {
        tv_queue_get op = {.queue = &queue, .arena = &c.arena, .count = 4, .timeout_s = 600};
        waited_write w = {0};

        expect(tv_queue_prepare_get(&op, &w.write) == TV_OK && commit(&c, &w) == TV_OK);
        for (size_t i = 0; i < op.message_count; i++) {
            tv_queue_delete delete_op = {
                .queue = &queue, .id = op.messages[i].id, .receipt = op.messages[i].receipt};
            waited_write delete_write = {0};

            expect(op.messages[i].dequeue_count == 1);
            expect(atomic_fetch_add(&seen[number_of(&op.messages[i])], 1) == 0);
            tv_queue_prepare_delete(&delete_op, &delete_write.write);
            expect(commit(&c, &delete_write) == TV_OK);
            atomic_fetch_add(&deleted, 1);
        }
        tv_arena_reset(&c.arena);
    }
    client_stop(&c);
    return NULL;
}

static void *peek_and_gc(void *arg)
{
    client c;

    (void)arg;
    client_start(&c);
    while (atomic_load(&deleted) < ALL) {
        tv_message messages[TV_MESSAGES_MAX];
        tv_queue_gc_step op = {.queue = &queue};
        waited_write w = {0};
        int64_t stored;
        size_t count;

        expect(tv_queue_peek(&queue, &c.arena, 32, messages, &count) == TV_OK);
        for (size_t i = 0; i < count; i++)
            expect(messages[i].dequeue_count == 0);
        expect(tv_queue_count(&queue, TV_READ_ANY, &stored) == TV_OK && stored >= 0);
        expect(tv_queue_prepare_gc(&op, &w.write) == TV_OK && commit(&c, &w) == TV_OK);
        tv_arena_reset(&c.arena);
    }
    client_stop(&c);
    return NULL;
}

TEST(every_message_is_given_out_once)
{
    pthread_t threads[PRODUCERS + CONSUMERS + 1];
    tv_arena arena;
    int64_t stored;

    tv_arena_init(&arena);
    engine = test_engine_new(NULL);
    pipeline = tv_pipeline_new(engine, 2, 4096);
    tv_queue_init(&queue, engine, tv_key_queue(&arena, TV_LIT("acct"), 1), &is_dropped);
    for (intptr_t i = 0; i < PRODUCERS; i++)
        CHECK(pthread_create(&threads[i], NULL, produce, (void *)i) == 0);
    for (int i = 0; i < CONSUMERS; i++)
        CHECK(pthread_create(&threads[PRODUCERS + i], NULL, consume, NULL) == 0);
    CHECK(pthread_create(&threads[PRODUCERS + CONSUMERS], NULL, peek_and_gc, NULL) == 0);
    for (int i = 0; i < PRODUCERS + CONSUMERS + 1; i++)
        pthread_join(threads[i], NULL);

    CHECK_INT(atomic_load(&wrong), 0);
    for (int i = 0; i < ALL; i++)
        CHECK_INT(atomic_load(&seen[i]), 1);
    CHECK_OK(tv_queue_count(&queue, TV_READ_ANY, &stored));
    CHECK_INT(stored, 0);
    tv_pipeline_free(pipeline);
    tv_queue_done(&queue);
    tv_engine_close(engine);
    tv_arena_done(&arena);
}

int main(void)
{
    tv_log_set_level(TV_LOG_OFF);

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_is_given_out_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
