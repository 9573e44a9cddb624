/* The thread that hashes for uploads, without them. */
#include "services/blob/body/hasher.h"

#include <semaphore.h>

#include "check.h"
#include "random.h"

enum { UPLOADS = 20, PIECE_MAX = 5000 };

/* What an upload is to the hasher; all belong to the thread of the test. */
typedef struct sender {
    tv_hash_job hash;
    tv_md5 alone, together;
    int letters;
    char bytes[PIECE_MAX];
} sender;

static tv_workers *workers;
static tv_hasher *hasher;
static tv_mailbox box;
static sem_t posted, gate;
static sender senders[UPLOADS];

static void wake(void *ctx)
{
    (void)ctx;
    sem_post(&posted);
}

static void run_nothing(tv_job *job)
{
    (void)job;
}

static void run_gate(tv_job *job)
{
    (void)job;
    sem_post(&posted);
    sem_wait(&gate);
}

static void deliver(tv_mail *mail)
{
    ((sender *)mail)->letters++;
}

static void setup(size_t queue_max)
{
    sem_init(&posted, 0, 0);
    sem_init(&gate, 0, 0);
    tv_mailbox_init(&box, wake, NULL);
    workers = tv_workers_new(1, queue_max);
    hasher = tv_hasher_new(workers);
    memset(senders, 0, sizeof senders);
    for (int i = 0; i < UPLOADS; i++) {
        sender *s = &senders[i];

        s->hash.md5 = &s->together;
        s->hash.job = (tv_job){.mail.deliver = deliver, .run = run_nothing, .reply_to = &box};
        tv_md5_init(&s->alone);
        tv_md5_init(&s->together);
    }
}

static void join(int count)
{
    for (int i = 0; i < count; i++)
        tv_hasher_join(hasher);
}

/* Stop the threads as the server does, and see what has come back. */
static void stop(void)
{
    tv_hasher_stop(hasher);
    tv_workers_free(workers);
    tv_mailbox_deliver(&box);
}

static void teardown(int count)
{
    for (int i = 0; i < count; i++)
        tv_hasher_leave(hasher, &senders[i].hash);
    tv_hasher_free(hasher);
    tv_mailbox_done(&box);
    sem_destroy(&posted);
    sem_destroy(&gate);
}

/* Hand in a random piece; false when the hasher does not take it. */
static bool submit(sender *s)
{
    tv_slice bytes = {s->bytes, 1 + t_random() % PIECE_MAX};

    for (size_t i = 0; i < bytes.len; i++)
        s->bytes[i] = (char)t_random();
    s->hash.bytes = bytes;
    if (!tv_hasher_submit(hasher, &s->hash))
        return false;
    tv_md5_update(&s->alone, bytes);
    return true;
}

static void check_digest(sender *s)
{
    unsigned char want[TV_MD5_BYTES], got[TV_MD5_BYTES];

    tv_md5_final(&s->alone, want);
    tv_md5_final(&s->together, got);
    CHECK(memcmp(got, want, sizeof want) == 0);
}

/* Wait until a completion has come for every upload that sent something. */
static void wait_for_letters(const int *want)
{
    for (int i = 0; i < UPLOADS; i++) {
        while (senders[i].letters < want[i]) {
            sem_wait(&posted);
            tv_mailbox_deliver(&box);
        }
    }
}

TEST(pieces_of_many_are_hashed_together)
{
    int sent[UPLOADS] = {0};
    uint64_t batches, pieces;

    t_random_seed(3);
    setup(100);
    join(UPLOADS);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < UPLOADS; i++) {
            if (t_random() % 4 == 0)
                continue;
            CHECK(submit(&senders[i]));
            sent[i]++;
        }
        wait_for_letters(sent);
    }
    tv_hasher_metrics(hasher, &batches, &pieces);
    CHECK(batches < pieces);
    stop();
    for (int i = 0; i < UPLOADS; i++)
        check_digest(&senders[i]);
    teardown(UPLOADS);
}

TEST(an_upload_that_is_alone_and_one_that_only_ends_are_left_to_the_workers)
{
    setup(100);
    join(1);
    CHECK(!submit(&senders[0]));
    join(1);
    senders[0].hash.bytes = TV_NONE;
    CHECK(!tv_hasher_submit(hasher, &senders[0].hash));
    CHECK(submit(&senders[0]));
    stop();
    CHECK_INT(senders[0].letters, 1);
    check_digest(&senders[0]);
    teardown(2);
}

TEST(what_waits_when_it_stops_is_hashed_and_run)
{
    setup(100);
    join(UPLOADS);
    for (int i = 0; i < UPLOADS; i++)
        CHECK(submit(&senders[i]));
    stop();
    for (int i = 0; i < UPLOADS; i++) {
        CHECK_INT(senders[i].letters, 1);
        CHECK(!senders[i].hash.is_refused);
        check_digest(&senders[i]);
    }
    teardown(UPLOADS);
}

TEST(a_job_that_the_workers_refuse_comes_back)
{
    int refused = 0;

    setup(2);
    join(UPLOADS);
    senders[0].hash.job.run = run_gate;
    CHECK(submit(&senders[0]));
    sem_wait(&posted); /* the worker is at the gate, its queue is empty */
    for (int i = 1; i < UPLOADS; i++)
        CHECK(submit(&senders[i]));
    while (refused < UPLOADS - 3) { /* two wait for the worker */
        sem_wait(&posted);
        tv_mailbox_deliver(&box);
        refused = 0;
        for (int i = 1; i < UPLOADS; i++)
            refused += senders[i].letters;
    }
    for (int i = 1; i < UPLOADS; i++)
        CHECK_INT(senders[i].letters, senders[i].hash.is_refused);
    sem_post(&gate);
    stop();
    for (int i = 0; i < UPLOADS; i++)
        CHECK_INT(senders[i].letters, 1);
    teardown(UPLOADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_many_are_hashed_together),
        cmocka_unit_test(an_upload_that_is_alone_and_one_that_only_ends_are_left_to_the_workers),
        cmocka_unit_test(what_waits_when_it_stops_is_hashed_and_run),
        cmocka_unit_test(a_job_that_the_workers_refuse_comes_back),
    };

    return cmocka_run_group_tests_name("blob/hasher", tests, NULL, NULL);
}
