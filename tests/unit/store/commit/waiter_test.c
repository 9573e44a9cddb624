/* A waiter submits one write after the other and returns what became of each. */
#include "store/commit/waiter.h"

#include <semaphore.h>

#include "check.h"
#include "store/engine/memory/memory.h"
#include "test_engine.h"

static tv_engine *engine;
static tv_pipeline *pipeline;

static void start(size_t queue_max)
{
    engine = test_engine_new(NULL);
    pipeline = tv_pipeline_new(engine, 2, queue_max);
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_pipeline_free(pipeline);
    tv_engine_close(engine);
    return 0;
}

typedef struct change {
    const char *value;
    tv_err result; /* of the function */
    int runs;
} change;

static tv_err run_change(tv_txn *txn, void *ctx)
{
    change *c = ctx;

    c->runs++;
    tv_txn_put(txn, TV_LIT("pprow"), tv_slice_of(c->value));
    return c->result;
}

static tv_write write_of(change *c)
{
    return (tv_write){.partition = TV_LIT("pp"), .run = run_change, .ctx = c};
}

static void check_stored(const char *want)
{
    tv_arena arena;
    tv_slice value;

    tv_arena_init(&arena);
    CHECK_OK(tv_engine_get(engine, TV_READ_ANY, TV_LIT("pprow"), &arena, &value));
    CHECK_TEXT(value, want);
    tv_arena_done(&arena);
}

TEST(when_it_returns_the_write_is_durable)
{
    tv_waiter waiter;

    start(100);
    tv_waiter_init(&waiter, pipeline);
    for (int i = 0; i < 200; i++) {
        char text[16];
        change c = {.value = text};
        tv_write write = write_of(&c);

        snprintf(text, sizeof text, "%d", i);
        CHECK_OK(tv_waiter_run(&waiter, &write));
        CHECK(c.runs >= 1);
        check_stored(text);
    }
    tv_waiter_done(&waiter);
}

TEST(the_result_of_the_function_comes_back_and_the_waiter_goes_on)
{
    change good = {.value = "kept"}, bad = {.value = "never", .result = TV_ERR_QUEUE_NOT_FOUND};
    tv_write first = write_of(&good), second = write_of(&bad), third = write_of(&good);
    tv_waiter waiter;

    start(100);
    tv_waiter_init(&waiter, pipeline);
    CHECK_OK(tv_waiter_run(&waiter, &first));
    CHECK_ERR(tv_waiter_run(&waiter, &second), TV_ERR_QUEUE_NOT_FOUND);
    check_stored("kept");
    CHECK_OK(tv_waiter_run(&waiter, &third));
    tv_waiter_done(&waiter);
}

/* --- a full pipeline --- */

static tv_err hold(__attribute__((unused)) tv_txn *txn, void *ctx)
{
    sem_wait(ctx);
    return TV_OK;
}

static void forget(__attribute__((unused)) tv_mail *mail)
{
}

static void post(void *ctx)
{
    sem_post(ctx);
}

TEST(a_pipeline_that_is_full_is_an_answer_too)
{
    change c = {.value = "late"};
    tv_write write = write_of(&c);
    sem_t gate, answered;
    tv_mailbox mailbox;
    tv_write slow = {.mail.deliver = forget,
                     .partition = TV_LIT("pp"),
                     .run = hold,
                     .ctx = &gate,
                     .reply_to = &mailbox};
    tv_waiter waiter;

    start(1);
    sem_init(&gate, 0, 0);
    sem_init(&answered, 0, 0);
    tv_mailbox_init(&mailbox, post, &answered);
    tv_outbox *outbox = tv_outbox_new(pipeline);

    tv_outbox_add(outbox, &slow);
    tv_outbox_flush(outbox);
    tv_waiter_init(&waiter, pipeline);
    CHECK_ERR(tv_waiter_run(&waiter, &write), TV_ERR_OVERLOADED);
    CHECK_INT(c.runs, 0);

    sem_post(&gate);
    sem_wait(&answered);
    tv_mailbox_deliver(&mailbox);
    tv_pipeline_drain(pipeline);
    write = write_of(&c);
    CHECK_OK(tv_waiter_run(&waiter, &write));

    tv_waiter_done(&waiter);
    tv_outbox_free(outbox);
    tv_mailbox_done(&mailbox);
    sem_destroy(&gate);
    sem_destroy(&answered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(when_it_returns_the_write_is_durable, tear_down),
        cmocka_unit_test_teardown(the_result_of_the_function_comes_back_and_the_waiter_goes_on,
                                  tear_down),
        cmocka_unit_test_teardown(a_pipeline_that_is_full_is_an_answer_too, tear_down),
    };

    return cmocka_run_group_tests_name("commit/waiter", tests, NULL, NULL);
}
