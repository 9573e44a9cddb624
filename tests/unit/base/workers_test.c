/* The worker pool. */
#include "base/workers.h"

#include <pthread.h>
#include <semaphore.h>

#include "check.h"

enum { JOBS = 1000 };

typedef struct sum_job {
    tv_job job;
    int input, output;
    pthread_t ran_on, delivered_on;
    bool delivered;
} sum_job;

static sum_job jobs[JOBS];

static void run(tv_job *job)
{
    sum_job *self = (sum_job *)job;

    self->output = self->input * 2;
    self->ran_on = pthread_self();
}

static void deliver(tv_mail *mail)
{
    sum_job *self = (sum_job *)mail;

    self->delivered = true;
    self->delivered_on = pthread_self();
}

static void post(void *ctx)
{
    sem_post(ctx);
}

static void submit_all(tv_workers *workers, tv_mailbox *box)
{
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (sum_job){
            .job = {.mail = {.deliver = deliver}, .run = run, .reply_to = box},
            .input = i,
        };
        CHECK(tv_workers_submit(workers, &jobs[i].job));
    }
}

static void check_all(void)
{
    for (int i = 0; i < JOBS; i++) {
        CHECK(jobs[i].delivered);
        CHECK_INT(jobs[i].output, i * 2);
        CHECK(pthread_equal(jobs[i].delivered_on, pthread_self()));
        CHECK(!pthread_equal(jobs[i].ran_on, pthread_self()));
    }
}

TEST(jobs_run_on_workers_and_come_back_to_the_asker)
{
    tv_workers *workers = tv_workers_new(4, 1000);
    tv_mailbox box;
    sem_t woken;
    int count = 0;

    sem_init(&woken, 0, 0);
    tv_mailbox_init(&box, post, &woken);
    submit_all(workers, &box);
    while (count < JOBS) {
        tv_mail *mail;

        sem_wait(&woken);
        tv_mail_chain chain = tv_mailbox_take(&box);
        while ((mail = tv_mail_chain_take(&chain))) {
            mail->deliver(mail);
            count++;
        }
    }
    check_all();
    tv_workers_free(workers);
    tv_mailbox_done(&box);
    sem_destroy(&woken);
}

TEST(free_finishes_what_was_submitted)
{
    tv_workers *workers = tv_workers_new(2, 1000);
    tv_mailbox box;
    sem_t woken;

    sem_init(&woken, 0, 0);
    tv_mailbox_init(&box, post, &woken);
    submit_all(workers, &box);
    tv_workers_free(workers);
    tv_mailbox_deliver(&box);
    check_all();
    tv_mailbox_done(&box);
    sem_destroy(&woken);
}

static sem_t gate;

static void run_behind_gate(tv_job *job)
{
    sem_wait(&gate);
    run(job);
}

TEST(a_full_queue_refuses_and_goes_on_when_there_is_room)
{
    tv_workers *workers = tv_workers_new(1, 3);
    tv_mailbox box;
    sem_t woken;
    int taken = 0;

    sem_init(&woken, 0, 0);
    sem_init(&gate, 0, 0);
    tv_mailbox_init(&box, post, &woken);
    for (int i = 0; i < 10; i++) {
        jobs[i] = (sum_job){
            .job = {.mail = {.deliver = deliver}, .run = run_behind_gate, .reply_to = &box}};
        taken += tv_workers_submit(workers, &jobs[i].job);
    }
    /* Three wait, and one may be with the worker. */
    CHECK(taken == 3 || taken == 4);

    for (int i = 0; i < taken; i++)
        sem_post(&gate);
    for (int delivered = 0; delivered < taken;) {
        sem_wait(&woken);
        tv_mail_chain chain = tv_mailbox_take(&box);
        delivered += (int)chain.count;
    }
    sem_post(&gate);
    CHECK(tv_workers_submit(workers, &jobs[9].job));
    tv_workers_free(workers);
    tv_mailbox_deliver(&box);
    CHECK(jobs[9].delivered);
    tv_mailbox_done(&box);
    sem_destroy(&woken);
    sem_destroy(&gate);
}

TEST(an_idle_pool_and_no_pool_can_be_freed)
{
    tv_workers_free(tv_workers_new(1, 1000));
    tv_workers_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_run_on_workers_and_come_back_to_the_asker),
        cmocka_unit_test(free_finishes_what_was_submitted),
        cmocka_unit_test(a_full_queue_refuses_and_goes_on_when_there_is_room),
        cmocka_unit_test(an_idle_pool_and_no_pool_can_be_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
