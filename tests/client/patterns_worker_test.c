/* Eventually consistent transactions: no message is lost, whoever dies. */
#include <stdatomic.h>

#include "clock.h"
#include "patterns.h"

static tavola_table *archive;
static tavola_queue *queue, *poison;
static char queue_name[63], poison_name[63];

static int open_queues(void **state)
{
    char name[63];

    open_live(state);
    new_name(name, sizeof name);
    CHECK_OK(tavola_table_open(t.client, name, &archive));
    CHECK_OK(tavola_table_create(archive, t.call));
    new_name(queue_name, sizeof queue_name);
    new_name(poison_name, sizeof poison_name);
    CHECK_OK(tavola_queue_open(t.client, queue_name, &queue));
    CHECK_OK(tavola_queue_open(t.client, poison_name, &poison));
    return 0;
}

static int close_queues(void **state)
{
    CHECK_OK(tavola_table_delete(archive, t.call));
    CHECK_OK(tavola_queue_delete_if_present(queue, t.call));
    CHECK_OK(tavola_queue_delete_if_present(poison, t.call));
    tavola_table_close(archive);
    tavola_queue_close(queue);
    tavola_queue_close(poison);
    return close_live(state);
}

#define QUEUE_TEST(name) cmocka_unit_test_setup_teardown(name, open_queues, close_queues)

static uint64_t messages(tavola_queue *in)
{
    uint64_t count = UINT64_MAX;

    CHECK_OK(tavola_queue_count(in, t.call, &count));
    return count;
}

static tavola_worker *open_worker(tavola_queue *poison_queue, uint32_t dequeue_max,
                                  tavola_job_fn job, void *user)
{
    tavola_worker *worker = NULL;

    CHECK_OK(tavola_worker_open(queue, poison_queue, dequeue_max, job, user, NULL, &worker));
    tavola_worker_set_hidden_s(worker, hidden_s());
    return worker;
}

/* ---- jobs ---- */

typedef struct tally {
    atomic_uint runs;
    uint32_t last_count;
    tavola_err result;
    char last[128];
} tally;

static tavola_err count_job(void *user, const char *message, uint32_t dequeue_count)
{
    tally *counted = user;

    counted->last_count = dequeue_count;
    snprintf(counted->last, sizeof counted->last, "%s", message);
    counted->runs++;
    return counted->result;
}

TEST(a_worker_makes_its_queue_and_works_until_it_is_empty)
{
    tally counted = {0};
    tavola_worker *worker = open_worker(NULL, 0, count_job, &counted);

    CHECK_OK(tavola_worker_run(worker, 0));
    CHECK_OK(tavola_enqueue(queue, "archive <456> & more", t.call));
    CHECK_OK(tavola_enqueue(queue, "archive 457", t.call));
    CHECK_OK(tavola_worker_run(worker, 0));
    CHECK_INT(counted.runs, 2);
    CHECK_INT(counted.last_count, 1);
    CHECK_TEXT(counted.last, "archive 457");
    CHECK_INT(tavola_worker_done(worker), 2);
    CHECK_INT(tavola_worker_failed(worker), 0);
    CHECK_INT(messages(queue), 0);
    tavola_worker_close(worker);
}

TEST(a_job_that_fails_is_done_again_and_then_goes_to_the_poison_queue)
{
    tally counted = {.result = TAVOLA_ERR_BUSY};
    tavola_worker *worker = open_worker(poison, 2, count_job, &counted);
    tavola_message *message = NULL;

    CHECK_OK(tavola_queue_create(queue, t.call));
    CHECK_OK(tavola_enqueue(queue, "bad", t.call));
    CHECK_OK(tavola_worker_run(worker, 0));
    CHECK_INT(counted.runs, 1);
    CHECK_INT(messages(queue), 1);
    if (has_clock()) /* it is hidden for sure */
        CHECK_OK(tavola_worker_run(worker, 0));
    CHECK_INT(counted.runs, 1);
    pass_hidden();
    CHECK_OK(tavola_worker_run(worker, 0));
    CHECK_INT(counted.runs, 2);
    CHECK_INT(counted.last_count, 2);
    CHECK_INT(tavola_worker_failed(worker), 2);
    CHECK_INT(tavola_worker_poisoned(worker), 1);
    CHECK_INT(messages(queue), 0);
    CHECK_OK(tavola_message_get(poison, 0, t.call, &message));
    CHECK_TEXT(tavola_message_text(message), "bad");
    tavola_message_free(message);
    tavola_worker_close(worker);
}

TEST(a_message_that_ends_its_workers_goes_to_the_poison_queue_unseen)
{
    tally counted = {0};
    tavola_message *message = NULL;
    tavola_worker *worker = open_worker(poison, 1, count_job, &counted);

    CHECK_OK(tavola_queue_create(queue, t.call));
    CHECK_OK(tavola_enqueue(queue, "deadly", t.call));
    /* Somebody took it and died. */
    CHECK_OK(tavola_message_get(queue, hidden_s(), t.call, &message));
    tavola_message_free(message);
    pass_hidden();
    CHECK_OK(tavola_worker_run(worker, 0));
    CHECK_INT(counted.runs, 0);
    CHECK_INT(tavola_worker_poisoned(worker), 1);
    CHECK_INT(messages(queue), 0);
    CHECK_INT(messages(poison), 1);
    tavola_worker_close(worker);
}

static void *run_beside(void *user)
{
    tavola_worker *worker = user;

    return tavola_worker_run(worker, UINT32_MAX) ? worker : NULL;
}

static void wait_for_runs(tally *counted, unsigned want)
{
    for (int i = 0; counted->runs < want; i++) {
        CHECK(i < 6000);
        sleep_ms(10);
    }
}

/* It waits for messages: new ones, and one that comes back. */
TEST(a_worker_works_until_it_is_stopped)
{
    tally counted = {.result = TAVOLA_ERR_BUSY};
    tavola_worker *worker = open_worker(NULL, 0, count_job, &counted);
    pthread_t thread;
    void *failure = NULL;

    CHECK_OK(tavola_queue_create(queue, t.call));
    CHECK(pthread_create(&thread, NULL, run_beside, worker) == 0);
    CHECK_OK(tavola_enqueue(queue, "first", t.call));
    wait_for_runs(&counted, 1);
    CHECK_OK(tavola_enqueue(queue, "second", t.call));
    wait_for_runs(&counted, 2);
    pass_hidden();
    wait_for_runs(&counted, 4);
    tavola_worker_stop(worker);
    pthread_join(thread, &failure);
    CHECK(failure == NULL);
    CHECK_INT(messages(queue), 2);
    tavola_worker_close(worker);
}

TEST(a_worker_works_for_a_time)
{
    tally counted = {0};
    tavola_worker *worker = open_worker(NULL, 0, count_job, &counted);
    struct timespec before, after;

    CHECK_OK(tavola_queue_create(queue, t.call));
    clock_gettime(CLOCK_MONOTONIC, &before);
    CHECK_OK(tavola_worker_run(worker, 200));
    clock_gettime(CLOCK_MONOTONIC, &after);
    CHECK((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec >=
          200 * 1000000);
    CHECK_INT(counted.runs, 0);
    tavola_worker_close(worker);
}

TEST(what_is_done_eventually_is_done_now)
{
    tally counted = {0};

    CHECK_OK(tavola_queue_create(queue, t.call));
    CHECK_OK(tavola_eventually(queue, "now", hidden_s(), count_job, &counted, t.call));
    CHECK_INT(counted.runs, 1);
    CHECK_INT(counted.last_count, 0);
    CHECK_TEXT(counted.last, "now");
    CHECK_INT(messages(queue), 0);
}

TEST(what_fails_now_is_left_to_a_worker)
{
    tally counted = {.result = TAVOLA_ERR_BUSY};
    tavola_worker *worker = open_worker(NULL, 0, count_job, &counted);

    CHECK_OK(tavola_queue_create(queue, t.call));
    CHECK_ERR(tavola_eventually(queue, "later", hidden_s(), count_job, &counted, t.call),
              TAVOLA_ERR_BUSY);
    CHECK_INT(messages(queue), 1);
    counted.result = TAVOLA_OK;
    if (has_clock()) /* it is hidden for sure */
        CHECK_OK(tavola_worker_run(worker, 0));
    CHECK_INT(counted.runs, 1);
    pass_hidden();
    CHECK_OK(tavola_worker_run(worker, 0));
    CHECK_INT(counted.runs, 2);
    CHECK_INT(counted.last_count, 1);
    CHECK_INT(messages(queue), 0);
    tavola_worker_close(worker);
}

TEST(what_cannot_work_is_refused)
{
    tavola_worker *worker = NULL;
    tally counted = {0};

    CHECK_ERR(tavola_worker_open(queue, NULL, 0, NULL, NULL, NULL, &worker), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_worker_open(NULL, NULL, 0, count_job, NULL, NULL, &worker),
              TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_worker_run(NULL, 0), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_enqueue(NULL, "m", t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_enqueue(queue, NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_eventually(queue, NULL, 0, count_job, &counted, t.call),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_eventually(queue, "m", 0, NULL, &counted, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_move(t.table, t.table, "p", "r", t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_move(NULL, t.table, "p", "r", t.call), TAVOLA_ERR_INVALID);
    CHECK_INT(counted.runs, 0);
    tavola_worker_close(NULL);
    tavola_worker_stop(NULL);
}

/* ---- the guide's archive step ---- */

static bool is_archived(const char *row_key)
{
    tavola_entity *entity = NULL;
    tavola_err err = tavola_get(archive, "Sales", row_key, t.call, &entity);

    if (err != TAVOLA_ERR_NOT_FOUND)
        CHECK_OK(err);
    tavola_entity_free(entity);
    return err == TAVOLA_OK;
}

TEST(an_entity_is_moved_once)
{
    insert_new("Sales", "456", 7);
    CHECK_OK(tavola_move(t.table, archive, "Sales", "456", t.call));
    CHECK(!is_stored("Sales", "456") && is_archived("456"));
    CHECK_OK(tavola_move(t.table, archive, "Sales", "456", t.call));
    CHECK(is_archived("456"));
    CHECK_ERR(tavola_move(t.table, archive, "Sales", "457", t.call), TAVOLA_ERR_NOT_FOUND);

    /* What is there already gives way. */
    insert_new("Sales", "456", 8);
    CHECK_OK(tavola_move(t.table, archive, "Sales", "456", t.call));
    CHECK(!is_stored("Sales", "456"));

    tavola_entity *entity = NULL;
    int32_t n = 0;

    CHECK_OK(tavola_get(archive, "Sales", "456", t.call, &entity));
    CHECK(tavola_entity_get_int32(entity, "N", &n));
    CHECK_INT(n, 8);
    tavola_entity_free(entity);
}

static void run_key(char *to, size_t size, unsigned run)
{
    snprintf(to, size, "%03u", run);
}

static void prepare_entity(unsigned run)
{
    char key[16];

    run_key(key, sizeof key, run);
    insert_new("Sales", key, (int32_t)run);
}

static tavola_err move_on(tavola_client *client, const char *key)
{
    tavola_table *from = table_on(client), *to = NULL;

    CHECK_OK(tavola_table_open(client, tavola_table_name(archive), &to));

    tavola_err err = tavola_move(from, to, "Sales", key, NULL);

    tavola_table_close(from);
    tavola_table_close(to);
    return err;
}

static tavola_err move_entity(tavola_client *client, unsigned run)
{
    char key[16];

    run_key(key, sizeof key, run);
    return move_on(client, key);
}

/* Before the recovery: never in none. */
static void finish_moves(unsigned runs)
{
    for (unsigned run = 0; run < runs; run++) {
        char key[16];

        run_key(key, sizeof key, run);
        CHECK(is_stored("Sales", key) || is_archived(key));
        CHECK_OK(tavola_move(t.table, archive, "Sales", key, t.call));
    }
}

static void check_moved(unsigned run, tavola_err err)
{
    char key[16];

    (void)err;
    run_key(key, sizeof key, run);
    CHECK(!is_stored("Sales", key));
    CHECK(is_archived(key));
}

TEST(a_client_that_dies_in_a_move_loses_nothing)
{
    static const kill_case move = {.prepare = prepare_entity,
                                   .act = move_entity,
                                   .recover = finish_moves,
                                   .check = check_moved};

    kill_everywhere(&move);
}

/* ---- clients and workers that die ---- */

static tavola_err move_job(void *user, const char *message, uint32_t dequeue_count)
{
    (void)dequeue_count;
    return move_on(user, message);
}

static void work_off(unsigned runs)
{
    tavola_worker *worker = open_worker(poison, 5, move_job, t.client);

    (void)runs;
    for (int i = 0; messages(queue) > 0; i++) {
        CHECK(i < 100);
        pass_hidden();
        CHECK_OK(tavola_worker_run(worker, 0));
    }
    CHECK_INT(tavola_worker_poisoned(worker), 0);
    tavola_worker_close(worker);
}

static tavola_err move_eventually(tavola_client *client, unsigned run)
{
    char key[16];

    run_key(key, sizeof key, run);

    tavola_queue *own = queue_on(client, queue_name);
    tavola_err err = tavola_eventually(own, key, hidden_s(), move_job, client, NULL);

    tavola_queue_close(own);
    return err;
}

/* A client that died before its message was there has moved nothing. */
static void check_all_or_nothing(unsigned run, tavola_err err)
{
    char key[16];

    run_key(key, sizeof key, run);
    CHECK(is_stored("Sales", key) != is_archived(key));
    if (err == TAVOLA_OK)
        CHECK(is_archived(key));
}

TEST(a_client_that_dies_leaves_its_job_to_a_worker)
{
    static const kill_case eventually = {.prepare = prepare_entity,
                                         .act = move_eventually,
                                         .recover = work_off,
                                         .check = check_all_or_nothing};

    CHECK_OK(tavola_queue_create(queue, t.call));
    kill_everywhere(&eventually);
}

static void prepare_message(unsigned run)
{
    char key[16];

    prepare_entity(run);
    run_key(key, sizeof key, run);
    CHECK_OK(tavola_enqueue(queue, key, t.call));
}

static tavola_err work_once(tavola_client *client, unsigned run)
{
    tavola_queue *own = queue_on(client, queue_name);
    tavola_worker *worker = NULL;

    (void)run;
    CHECK_OK(tavola_worker_open(own, NULL, 0, move_job, client, NULL, &worker));
    tavola_queue_close(own);
    tavola_worker_set_hidden_s(worker, hidden_s());

    tavola_err err = tavola_worker_run(worker, 0);

    tavola_worker_close(worker);
    return err;
}

TEST(a_worker_that_dies_leaves_its_message_to_the_next)
{
    static const kill_case work = {
        .prepare = prepare_message, .act = work_once, .recover = work_off, .check = check_moved};

    CHECK_OK(tavola_queue_create(queue, t.call));
    kill_everywhere(&work);
}

static tavola_err fail_job(void *user, const char *message, uint32_t dequeue_count)
{
    (void)message, (void)dequeue_count, (void)user;
    return TAVOLA_ERR_INVALID;
}

static tavola_err poison_once(tavola_client *client, unsigned run)
{
    tavola_queue *own = queue_on(client, queue_name), *bad = queue_on(client, poison_name);
    tavola_worker *worker = NULL;

    (void)run;
    CHECK_OK(tavola_worker_open(own, bad, 1, fail_job, NULL, NULL, &worker));
    tavola_queue_close(own);
    tavola_queue_close(bad);
    tavola_worker_set_hidden_s(worker, hidden_s());

    tavola_err err = tavola_worker_run(worker, 0);

    tavola_worker_close(worker);
    return err;
}

static void prepare_poison(unsigned run)
{
    char text[16];

    run_key(text, sizeof text, run);
    CHECK_OK(tavola_enqueue(queue, text, t.call));
}

static bool poison_seen[KILL_RUNS_MAX];

static void poison_all(unsigned runs)
{
    tavola_worker *worker = open_worker(poison, 1, fail_job, NULL);
    tavola_message *message = NULL;
    tavola_err err;

    (void)runs;
    for (int i = 0; messages(queue) > 0; i++) {
        CHECK(i < 100);
        pass_hidden();
        CHECK_OK(tavola_worker_run(worker, 0));
    }
    tavola_worker_close(worker);
    memset(poison_seen, 0, sizeof poison_seen);
    while ((err = tavola_message_get(poison, 600, t.call, &message)) == TAVOLA_OK) {
        unsigned run = (unsigned)strtoul(tavola_message_text(message), NULL, 10);

        CHECK(run < KILL_RUNS_MAX);
        poison_seen[run] = true;
        tavola_message_free(message);
    }
    CHECK_ERR(err, TAVOLA_END);
}

static void check_poisoned(unsigned run, tavola_err err)
{
    (void)err;
    CHECK(poison_seen[run]);
}

TEST(a_worker_that_dies_with_a_poisoned_message_does_not_lose_it)
{
    static const kill_case one = {.prepare = prepare_poison,
                                  .act = poison_once,
                                  .recover = poison_all,
                                  .check = check_poisoned};

    CHECK_OK(tavola_queue_create(queue, t.call));
    CHECK_OK(tavola_queue_create(poison, t.call));
    kill_everywhere(&one);
}

TEST(a_lost_answer_loses_no_job)
{
    static const kill_case move = {.prepare = prepare_entity,
                                   .act = move_entity,
                                   .recover = finish_moves,
                                   .check = check_moved};
    static const kill_case work = {
        .prepare = prepare_message, .act = work_once, .recover = work_off, .check = check_moved};

    lose_everywhere(&move);
    CHECK_OK(tavola_delete_where(
        archive, tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")), t.call, NULL));
    CHECK_OK(tavola_queue_create(queue, t.call));
    lose_everywhere(&work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        QUEUE_TEST(a_worker_makes_its_queue_and_works_until_it_is_empty),
        QUEUE_TEST(a_job_that_fails_is_done_again_and_then_goes_to_the_poison_queue),
        QUEUE_TEST(a_message_that_ends_its_workers_goes_to_the_poison_queue_unseen),
        QUEUE_TEST(a_worker_works_until_it_is_stopped),
        QUEUE_TEST(a_worker_works_for_a_time),
        QUEUE_TEST(what_is_done_eventually_is_done_now),
        QUEUE_TEST(what_fails_now_is_left_to_a_worker),
        QUEUE_TEST(what_cannot_work_is_refused),
        QUEUE_TEST(an_entity_is_moved_once),
        QUEUE_TEST(a_client_that_dies_in_a_move_loses_nothing),
        QUEUE_TEST(a_client_that_dies_leaves_its_job_to_a_worker),
        QUEUE_TEST(a_worker_that_dies_leaves_its_message_to_the_next),
        QUEUE_TEST(a_worker_that_dies_with_a_poisoned_message_does_not_lose_it),
        QUEUE_TEST(a_lost_answer_loses_no_job),
    };

    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
