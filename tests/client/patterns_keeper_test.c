/*
 * A message is kept hidden as long as its job runs.  The one program here that is linked with the
 * library's internals: its keepers extend the time every few milliseconds, while the server's time
 * passes in large steps.  So no keeper is late, however slow the machine is.
 */
#include <stdatomic.h>

#include "client/patterns/keeper.h"

#include "clock.h"
#include "patterns.h"

enum { PAUSE_MS = 20, ROUNDS = 3 };

static char queue_name[63];

typedef struct long_job {
    atomic_bool is_begun, may_end;
    atomic_uint runs;
} long_job;

static long_job slow; /* of the test that runs: its thread outlives a failure */

static void wait_until(atomic_bool *is_so)
{
    for (int i = 0; !*is_so; i++) {
        CHECK(i < 6000);
        sleep_ms(10);
    }
}

static tavola_err run_long(void *user, const char *message, uint32_t dequeue_count)
{
    long_job *job = user;

    (void)message, (void)dequeue_count;
    job->is_begun = true;
    while (!job->may_end)
        sleep_ms(1);
    job->runs++;
    return TAVOLA_OK;
}

/* Until a whole extension was made after this call: the one behind it has begun. */
static void wait_for_extension(void)
{
    unsigned before = count_requests();

    for (int i = 0; count_requests() < before + 2; i++) {
        CHECK(i < 6000);
        sleep_ms(10);
    }
}

/* Let more time pass than the message is hidden for at once; nobody else gets it. */
static void pass_long_time(void)
{
    long_job other = {.may_end = true};
    tavola_worker *beside = NULL;
    tavola_queue *queue = queue_on(t.client, queue_name);

    CHECK_OK(tavola_worker_open(queue, NULL, 0, run_long, &other, NULL, &beside));
    for (int i = 0; i < ROUNDS; i++) {
        pass_time(has_clock() ? hidden_s() * 2 / 3 : 1);
        CHECK_OK(tavola_worker_run(beside, 0));
        CHECK_INT(other.runs, 0);
        wait_for_extension();
    }
    tavola_worker_close(beside);
    tavola_queue_close(queue);
}

static void *work(void *user)
{
    return tavola_worker_run(user, UINT32_MAX) ? user : NULL;
}

static uint64_t messages(void)
{
    uint64_t count = UINT64_MAX;
    tavola_queue *queue = queue_on(t.client, queue_name);

    CHECK_OK(tavola_queue_count(queue, t.call, &count));
    tavola_queue_close(queue);
    return count;
}

TEST(a_long_job_keeps_its_message_from_other_workers)
{
    tavola_client *client = open_through(0);
    tavola_queue *queue = queue_on(client, queue_name);
    tavola_worker *worker = NULL;
    pthread_t thread;
    void *failure = NULL;

    CHECK_OK(tavola_worker_open(queue, NULL, 0, run_long, &slow, NULL, &worker));
    tavola_worker_set_hidden_s(worker, hidden_s());
    CHECK_OK(tavola_enqueue(queue, "long", t.call));
    tavola_queue_close(queue);
    CHECK(pthread_create(&thread, NULL, work, worker) == 0);
    wait_until(&slow.is_begun);
    pass_long_time();
    tavola_worker_stop(worker);
    slow.may_end = true;
    pthread_join(thread, &failure);
    CHECK(failure == NULL);
    CHECK_INT(slow.runs, 1);
    CHECK_INT(tavola_worker_done(worker), 1);
    CHECK_INT(messages(), 0);
    tavola_worker_close(worker);
    tavola_client_close(client);
}

static void *do_eventually(void *user)
{
    tavola_client *client = open_through(0);
    tavola_queue *queue = queue_on(client, queue_name);
    tavola_err err = tavola_eventually(queue, "long", hidden_s(), run_long, user, NULL);

    tavola_queue_close(queue);
    tavola_client_close(client);
    return err ? user : NULL;
}

TEST(what_takes_long_now_is_kept_from_workers)
{
    pthread_t thread;
    void *failure = NULL;

    CHECK(pthread_create(&thread, NULL, do_eventually, &slow) == 0);
    wait_until(&slow.is_begun);
    pass_long_time();
    slow.may_end = true;
    pthread_join(thread, &failure);
    CHECK(failure == NULL);
    CHECK_INT(slow.runs, 1);
    CHECK_INT(messages(), 0);
}

static int open_queue(void **state)
{
    tavola_queue *queue = NULL;

    open_live(state);
    slow.is_begun = slow.may_end = false;
    slow.runs = 0;
    command("CLEAR", NULL);
    new_name(queue_name, sizeof queue_name);
    CHECK_OK(tavola_queue_open(t.client, queue_name, &queue));
    CHECK_OK(tavola_queue_create(queue, t.call));
    tavola_queue_close(queue);
    return 0;
}

static int close_queue(void **state)
{
    tavola_queue *queue = NULL;

    CHECK_OK(tavola_queue_open(t.client, queue_name, &queue));
    CHECK_OK(tavola_queue_delete(queue, t.call));
    tavola_queue_close(queue);
    return close_live(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_long_job_keeps_its_message_from_other_workers, open_queue,
                                        close_queue),
        cmocka_unit_test_setup_teardown(what_takes_long_now_is_kept_from_workers, open_queue,
                                        close_queue),
    };

    tvc_keeper_set_pause_ms(PAUSE_MS);
    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
