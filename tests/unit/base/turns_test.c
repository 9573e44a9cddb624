/*
 * Turns: which task is served when, and how tasks end.  The tasks note each of
 * their turns in one list, so that the order can be looked at; none of them takes
 * long.
 */
#include "base/turns.h"

#include <pthread.h>
#include <semaphore.h>

#include "check.h"

enum { TASKS = 64, NOTES = 4096 };

typedef struct fake {
    tv_task task;
    int id;
    int turns_wanted;
    int turns; /* had so far */
    bool was_last_forced, is_delivered;
    atomic_bool is_gone;
    sem_t *started, *gate; /* to say that it runs, and to wait for while it does; or NULL */
} fake;

static fake fakes[TASKS];
static tv_turns *turns;
static tv_mailbox box;
static sem_t mail;
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;
static int notes[NOTES], note_count;

static void wake(void *ctx)
{
    sem_post(ctx);
}

static int set_up(__attribute__((unused)) void **state)
{
    sem_init(&mail, 0, 0);
    tv_mailbox_init(&box, wake, &mail);
    memset(fakes, 0, sizeof fakes);
    note_count = 0;
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_turns_free(turns);
    turns = NULL;

    tv_mail_chain chain = tv_mailbox_take(&box);

    while (chain.first)
        tv_mail_chain_take(&chain);
    tv_mailbox_done(&box);
    sem_destroy(&mail);
    return 0;
}

static bool run(tv_task *task, tv_turn *turn)
{
    fake *self = (fake *)task;
    sem_t *ready = self->started, *until = self->gate; /* a test may change them while it waits */

    pthread_mutex_lock(&notes_lock);
    if (note_count < NOTES)
        notes[note_count++] = self->id;
    pthread_mutex_unlock(&notes_lock);
    if (ready)
        sem_post(ready);
    if (until)
        sem_wait(until);
    self->turns++;
    self->was_last_forced = turn->must_end;
    return turn->must_end || self->turns == self->turns_wanted;
}

static void deliver(tv_mail *message)
{
    ((fake *)message)->is_delivered = true;
}

static fake *make(int id, const char *account, int turns_wanted)
{
    fake *self = &fakes[id];

    self->task = (tv_task){.mail.deliver = deliver,
                           .run = run,
                           .reply_to = &box,
                           .account = tv_slice_of(account),
                           .is_gone = &self->is_gone};
    self->id = id;
    self->turns_wanted = turns_wanted;
    return self;
}

static fake *submit(int id, const char *account, int turns_wanted)
{
    fake *self = make(id, account, turns_wanted);

    CHECK(tv_turns_submit(turns, &self->task));
    return self;
}

/* Take messages until this many tasks have come back. */
static void await(int count)
{
    while (count > 0) {
        sem_wait(&mail);
        tv_mail_chain chain = tv_mailbox_take(&box);

        for (tv_mail *message; (message = tv_mail_chain_take(&chain)) != NULL; count--)
            message->deliver(message);
    }
}

/* The only thread is busy with task 0 of an account of its own until the gate opens. */
static sem_t started, gate;

static void start_busy(void)
{
    sem_init(&started, 0, 0);
    sem_init(&gate, 0, 0);
    turns = tv_turns_new(1, 1000);

    fake *first = make(0, "gate", 1);

    first->started = &started;
    first->gate = &gate;
    CHECK(tv_turns_submit(turns, &first->task));
    sem_wait(&started);
}

static void open_gate(void)
{
    sem_post(&gate);
}

static int turns_before(int id, int end)
{
    int count = 0;

    for (int i = 0; i < end; i++)
        count += notes[i] == id;
    return count;
}

TEST(a_task_runs_until_it_is_done_and_comes_back)
{
    turns = tv_turns_new(2, 10);
    submit(1, "a", 5);
    await(1);
    CHECK_INT(fakes[1].turns, 5);
    CHECK(fakes[1].is_delivered && !fakes[1].was_last_forced);
    CHECK_INT(note_count, 5);
}

/* Forty long tasks of one account, one of another: every second turn is the other's. */
TEST(accounts_have_their_turns_one_after_the_other)
{
    start_busy();
    for (int i = 1; i <= 40; i++)
        submit(i, "many", 20);
    submit(41, "one", 20);
    open_gate();
    await(42);
    for (int i = 1; i < 40; i += 2) {
        CHECK(notes[i] != 41);
        CHECK_INT(notes[i + 1], 41);
    }
}

TEST(the_tasks_of_an_account_have_their_turns_one_after_the_other)
{
    start_busy();
    for (int i = 1; i <= 8; i++)
        submit(i, "a", 10);
    open_gate();
    await(9);

    /* Once all have begun, none gets two turns ahead of another. */
    for (int end = 20; end < 60; end++) {
        for (int i = 1; i <= 8; i++) {
            for (int k = 1; k <= 8; k++)
                CHECK(turns_before(i, end) - turns_before(k, end) <= 8);
        }
    }
    for (int i = 1; i <= 8; i++)
        CHECK_INT(fakes[i].turns, 10);
}

/* Its first turn is at most the second from when it came, whatever else the account has. */
TEST(a_short_task_does_not_wait_for_all_the_long_ones)
{
    fake *last;
    int before;

    start_busy();
    for (int i = 1; i <= 30; i++)
        submit(i, "a", 50);
    fakes[30].started = &started; /* the last one to begin tells that all have */
    fakes[30].gate = &gate;
    open_gate();
    sem_wait(&started);
    pthread_mutex_lock(&notes_lock);
    before = note_count;
    pthread_mutex_unlock(&notes_lock);
    last = submit(31, "a", 1);
    fakes[30].started = NULL;
    fakes[30].gate = NULL;
    open_gate();
    await(32);
    CHECK_INT(last->turns, 1);
    CHECK(turns_before(31, before + 2) == 1);
}

TEST(a_task_ends_when_its_client_goes)
{
    start_busy();
    submit(1, "a", 1000000);
    submit(2, "a", 3);
    submit(3, "b", 1000000);
    atomic_store(&fakes[1].is_gone, true); /* before its first turn */
    fakes[3].started = &started;
    open_gate();
    sem_wait(&started);
    atomic_store(&fakes[3].is_gone, true); /* in the midst of it */
    await(4);
    CHECK_INT(fakes[1].turns, 2); /* the first one it has in any case */
    CHECK(fakes[1].was_last_forced && fakes[3].was_last_forced);
    CHECK_INT(fakes[2].turns, 3);
    CHECK(!fakes[2].was_last_forced);
    CHECK_INT(tv_turns_read_counts(turns).cancelled, 2);
}

/* At the end each has one more turn, and those that come then have one. */
TEST(a_stop_ends_all_tasks)
{
    start_busy();
    for (int i = 1; i <= 32; i++)
        submit(i, i % 2 ? "a" : "b", 1000000);
    tv_turns_finish(turns);
    submit(33, "c", 1000000);
    open_gate();
    await(34);
    for (int i = 1; i <= 33; i++) {
        CHECK(fakes[i].is_delivered && fakes[i].was_last_forced);
        CHECK_INT(fakes[i].turns, 1);
    }
    CHECK_INT(tv_turns_read_counts(turns).cancelled, 0);
}

/* An account may have as many as it leaves to the others. */
TEST(no_account_can_take_all_places)
{
    static const struct {
        const char *account;
        int taken;
    } rows[] = {{"a", 15}, {"b", 8}, {"c", 4}, {"d", 2}, {"e", 1}};
    int id = 1, all = 0;

    sem_init(&started, 0, 0);
    sem_init(&gate, 0, 0);
    turns = tv_turns_new(1, 32);

    fake *first = make(0, "a", 1);

    first->started = &started;
    first->gate = &gate;
    CHECK(tv_turns_submit(turns, &first->task));
    sem_wait(&started);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int taken = 0;

        t_row = rows[i].account;
        while (tv_turns_submit(turns, &make(id, rows[i].account, 1)->task)) {
            id++;
            taken++;
        }
        CHECK_INT(taken, rows[i].taken);
        all += taken;
    }
    t_row = "";
    CHECK_INT(tv_turns_read_counts(turns).refused, 5);
    CHECK_INT(tv_turns_read_counts(turns).waiting, all);
    CHECK_INT(tv_turns_read_counts(turns).running, 1);
    open_gate();
    await(1 + all);
    CHECK_INT(tv_turns_read_counts(turns).waiting, 0);
    CHECK_INT(tv_turns_read_counts(turns).running, 0);
}

/* Turns that hang leave a thread to others. */
TEST(no_account_can_take_all_threads)
{
    sem_init(&started, 0, 0);
    sem_init(&gate, 0, 0);
    turns = tv_turns_new(3, 100);
    for (int i = 1; i <= 5; i++) {
        fake *self = make(i, "hangs", 1);

        self->started = &started;
        self->gate = &gate;
        CHECK(tv_turns_submit(turns, &self->task));
    }
    sem_wait(&started);
    sem_wait(&started);
    submit(6, "other", 10);
    await(1);
    CHECK(fakes[6].is_delivered);
    CHECK_INT(tv_turns_read_counts(turns).running, 2);
    CHECK_INT(tv_turns_read_counts(turns).waiting, 3);
    for (int i = 1; i <= 5; i++)
        open_gate();
    await(5);
}

TEST(many_threads_run_every_task_as_often_as_it_wants)
{
    static const char *const accounts[] = {"a", "b", "c", "d", "e"};

    turns = tv_turns_new(4, 1000);
    for (int i = 0; i < TASKS; i++)
        submit(i, accounts[i % 5], 1 + i);
    await(TASKS);
    for (int i = 0; i < TASKS; i++) {
        CHECK_INT(fakes[i].turns, 1 + i);
        CHECK(fakes[i].is_delivered);
    }
}

TEST(a_turn_is_over_when_its_time_is)
{
    tv_turn turn = {.end_ns = 0}, endless = tv_turn_endless(), last = endless;

    for (int i = 1; i < TV_TURN_WORK_MAX; i++)
        CHECK(!tv_turn_is_over(&turn, 1));
    CHECK(tv_turn_is_over(&turn, 1));
    CHECK(!tv_turn_is_over(&turn, 1));
    CHECK(tv_turn_is_over(&turn, TV_TURN_WORK_MAX));
    CHECK(!tv_turn_is_over(&endless, 1000));
    last.must_end = true;
    CHECK(tv_turn_is_over(&last, 0));
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(a_task_runs_until_it_is_done_and_comes_back),
        ONE(accounts_have_their_turns_one_after_the_other),
        ONE(the_tasks_of_an_account_have_their_turns_one_after_the_other),
        ONE(a_short_task_does_not_wait_for_all_the_long_ones),
        ONE(a_task_ends_when_its_client_goes),
        ONE(a_stop_ends_all_tasks),
        ONE(no_account_can_take_all_places),
        ONE(no_account_can_take_all_threads),
        ONE(many_threads_run_every_task_as_often_as_it_wants),
        ONE(a_turn_is_over_when_its_time_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
