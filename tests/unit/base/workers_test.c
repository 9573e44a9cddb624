/* The worker pool. */
#include "base/workers.h"

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
        tv_workers_submit(workers, &jobs[i].job);
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
    tv_workers *workers = tv_workers_new(4);
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
    tv_workers *workers = tv_workers_new(2);
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

TEST(an_idle_pool_and_no_pool_can_be_freed)
{
    tv_workers_free(tv_workers_new(1));
    tv_workers_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_run_on_workers_and_come_back_to_the_asker),
        cmocka_unit_test(free_finishes_what_was_submitted),
        cmocka_unit_test(an_idle_pool_and_no_pool_can_be_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
