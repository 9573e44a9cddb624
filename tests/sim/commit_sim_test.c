/*
 * A simulation of the commit pipeline on a disk that loses power.
 *
 * Threads submit random writes to a few rows: an update appends its own number
 * to what the row holds, so that a row's value is the list of all the writes
 * that ever took effect on it, in their order.  Meanwhile the disk is slow,
 * full, in conflict or without power, all by one seed.  In the end the rows
 * tell what happened, and the answers must agree with them:
 *
 *  - a write that was answered TV_OK is in its row, once (1);
 *  - one that was refused or failed by itself is in no row (5), (6);
 *  - one that was answered TV_ERR_IO may be there or not, but not twice;
 *  - the writes of one thread to one partition are in their order (3);
 *  - a write to two rows of a partition is in both or in neither (7);
 *  - a row read by a bystander never lost a write that it once had (2).
 *
 * TAVOLA_SEED=n repeats the choices of the run that printed n.  Threads are
 * scheduled by the kernel, so a run repeats in its choices, not in its timing.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/log.h"
#include "check.h"
#include "commit/pipeline.h"
#include "engine/memory/memory.h"
#include "seed.h"

enum {
    PARTITIONS = 3,
    SUBMITTERS = 3,
    WRITES_EACH = 2000,
    IN_FLIGHT_MAX = 8,
    FAULTS = 200,
    VALUE_BYTES_MAX = 4 * SUBMITTERS * WRITES_EACH,
};

typedef struct sim_write {
    tv_write write;
    uint32_t number; /* submitter * WRITES_EACH + its turn */
    int partition;
    bool wants_to_fail;
    bool is_answered;
} sim_write;

typedef struct submitter {
    pthread_t thread;
    int id;
    uint64_t random;
    tv_pipeline *pipeline;
    tv_mailbox mailbox;
    sem_t woken;
    int in_flight;
    sim_write writes[WRITES_EACH];
} submitter;

typedef struct bystander {
    tv_engine *engine;
    atomic_bool stop;
    atomic_int lost;
} bystander;

static submitter submitters[SUBMITTERS];
static const char *const partitions[PARTITIONS] = {"p0", "p1", "p2"};

static void row_key(char key[8], int partition, char row)
{
    snprintf(key, 8, "%s%c", partitions[partition], row);
}

/* Append our number to a row: four bytes each. */
static tv_err append(tv_txn *txn, const sim_write *w, char row)
{
    char key[8], value[VALUE_BYTES_MAX];
    tv_slice old = TV_NONE;
    tv_err err;

    row_key(key, w->partition, row);
    err = tv_txn_get(txn, tv_slice_of(key), &old);
    if (err && err != TV_ERR_NOT_FOUND)
        return err;

    tv_assert(old.len + 4 <= sizeof value);
    if (old.len)
        memcpy(value, old.data, old.len);
    memcpy(value + old.len, &w->number, 4);
    tv_txn_put(txn, tv_slice_of(key), (tv_slice){value, old.len + 4});
    return TV_OK;
}

static tv_err run(tv_txn *txn, void *ctx)
{
    sim_write *w = ctx;
    tv_err err;

    err = append(txn, w, 'a');
    if (err)
        return err;
    err = append(txn, w, 'b');
    if (err)
        return err;

    return w->wants_to_fail ? TV_ERR_ETAG_MISMATCH : TV_OK;
}

static void deliver(tv_mail *mail)
{
    sim_write *w = (sim_write *)mail;

    tv_assert(!w->is_answered);
    w->is_answered = true;
    submitters[w->number / WRITES_EACH].in_flight--;
}

static void wake(void *ctx)
{
    sem_post(ctx);
}

static void *submit_all(void *arg)
{
    submitter *s = arg;
    tv_outbox *outbox = tv_outbox_new(s->pipeline);

    for (int i = 0; i < WRITES_EACH; i++) {
        sim_write *w = &s->writes[i];

        *w = (sim_write){
            .number = (uint32_t)(s->id * WRITES_EACH + i),
            .partition = (int)(seed_next(&s->random) % PARTITIONS),
            .wants_to_fail = seed_next(&s->random) % 8 == 0,
        };
        w->write = (tv_write){
            .mail.deliver = deliver,
            .partition = tv_slice_of(partitions[w->partition]),
            .run = run,
            .ctx = w,
            .reply_to = &s->mailbox,
        };
        tv_outbox_add(outbox, &w->write);
        s->in_flight++;
        if (seed_next(&s->random) % 3 == 0 || s->in_flight >= IN_FLIGHT_MAX)
            tv_outbox_flush(outbox);
        while (s->in_flight >= IN_FLIGHT_MAX) {
            sem_wait(&s->woken);
            tv_mailbox_deliver(&s->mailbox);
        }
        if (i > 0 && s->writes[i - 1].is_answered && s->writes[i - 1].write.result)
            usleep(200); /* a client that is refused waits before it tries again */
    }
    tv_outbox_flush(outbox);
    while (s->in_flight > 0) {
        sem_wait(&s->woken);
        tv_mailbox_deliver(&s->mailbox);
    }
    tv_outbox_free(outbox);
    return NULL;
}

/* What a reader has seen once must stay: rows only ever grow at their end. */
static void *watch(void *arg)
{
    bystander *b = arg;
    static char before[PARTITIONS][VALUE_BYTES_MAX];
    size_t before_len[PARTITIONS] = {0};
    tv_arena arena;

    tv_arena_init(&arena);
    while (!atomic_load(&b->stop)) {
        for (int p = 0; p < PARTITIONS; p++) {
            char key[8];
            tv_slice value;

            row_key(key, p, 'a');
            if (tv_engine_get(b->engine, TV_READ_ANY, tv_slice_of(key), &arena, &value) != TV_OK)
                continue;
            if (value.len < before_len[p] || memcmp(value.data, before[p], before_len[p]) != 0)
                atomic_fetch_add(&b->lost, 1);
            memcpy(before[p], value.data, value.len);
            before_len[p] = value.len;
        }
        tv_arena_reset(&arena);
        usleep(50);
    }
    tv_arena_done(&arena);
    return NULL;
}

/* One fault after the other, with quiet times between. */
static void play_faults(tv_engine *engine, bool is_shared, uint64_t *random)
{
    for (int i = 0; i < FAULTS; i++) {
        uint64_t nth = 1 + seed_next(random) % 4, count = 1 + seed_next(random) % 6;

        switch (seed_next(random) % 5) {
        case 0:
            tv_memory_lose_power(engine);
            usleep((useconds_t)(seed_next(random) % 1000));
            tv_memory_restart(engine);
            break;
        case 1:
            tv_memory_fail_writes(engine, nth, count, TV_ERR_DISK_FULL);
            break;
        case 2:
            if (is_shared)
                tv_memory_fail_writes(engine, nth, count, TV_ERR_CONFLICT);
            break;
        case 3:
            tv_memory_fail_writes(engine, nth, 1, TV_ERR_IO);
            usleep((useconds_t)(seed_next(random) % 500));
            tv_memory_restart(engine);
            break;
        default:
            tv_memory_set_write_delay(engine, 50 + (int64_t)(seed_next(random) % 300));
            break;
        }
        usleep((useconds_t)(seed_next(random) % 1000));
        tv_memory_restart(engine);
    }
    tv_memory_fail_writes(engine, 1, 0, TV_OK);
}

/* Compare what the rows say with what was answered. */
static void check_history(tv_engine *engine)
{
    static int found[SUBMITTERS * WRITES_EACH];
    int counts[TV_ERR_COUNT] = {0};
    tv_arena arena;

    tv_arena_init(&arena);
    memset(found, 0, sizeof found);
    for (int p = 0; p < PARTITIONS; p++) {
        char key_a[8], key_b[8];
        tv_slice a = TV_NONE, b = TV_NONE;
        int64_t last[SUBMITTERS];

        row_key(key_a, p, 'a');
        row_key(key_b, p, 'b');
        CHECK_OK(tv_engine_get(engine, TV_READ_ANY, tv_slice_of(key_a), &arena, &a));
        CHECK_OK(tv_engine_get(engine, TV_READ_ANY, tv_slice_of(key_b), &arena, &b));
        CHECK(tv_slice_eq(a, b)); /* (7) */
        memset(last, -1, sizeof last);
        for (size_t at = 0; at < a.len; at += 4) {
            uint32_t number;

            memcpy(&number, a.data + at, 4);
            CHECK(number < SUBMITTERS * WRITES_EACH);
            CHECK(submitters[number / WRITES_EACH].writes[number % WRITES_EACH].partition == p);
            CHECK((int64_t)number > last[number / WRITES_EACH]); /* (3) */
            last[number / WRITES_EACH] = number;
            found[number]++;
        }
    }
    for (int n = 0; n < SUBMITTERS * WRITES_EACH; n++) {
        const sim_write *w = &submitters[n / WRITES_EACH].writes[n % WRITES_EACH];

        CHECK(w->is_answered);
        counts[w->write.result]++;
        if (w->write.result == TV_OK)
            CHECK_INT(found[n], 1); /* (1) */
        else if (w->write.result != TV_ERR_IO)
            CHECK_INT(found[n], 0); /* (5), (6) */
        else
            CHECK(found[n] <= (w->wants_to_fail ? 0 : 1));
        CHECK(w->write.result != TV_OK || !w->wants_to_fail);
    }
    tv_arena_done(&arena);
    print_message("# ok %d, failed by themselves %d, unknown %d, disk full %d, conflict %d, "
                  "overloaded %d\n",
                  counts[TV_OK], counts[TV_ERR_ETAG_MISMATCH], counts[TV_ERR_IO],
                  counts[TV_ERR_DISK_FULL], counts[TV_ERR_CONFLICT], counts[TV_ERR_OVERLOADED]);
    CHECK(counts[TV_OK] > 0);
}

static void simulate(bool is_shared, int committer_count, size_t queue_max)
{
    uint64_t seed = seed_start(), random = seed ? seed : 1;
    tv_engine *engine = tv_memory_engine_new(
        &(tv_memory_options){.is_shared = is_shared, .seed = seed, .write_delay_us = 100});
    tv_pipeline *pipeline = tv_pipeline_new(engine, committer_count, queue_max);
    bystander b = {.engine = engine};
    pthread_t watcher;

    memset(submitters, 0, sizeof submitters);
    CHECK(pthread_create(&watcher, NULL, watch, &b) == 0);
    for (int i = 0; i < SUBMITTERS; i++) {
        submitter *s = &submitters[i];

        s->id = i;
        s->random = seed_next(&random) | 1;
        s->pipeline = pipeline;
        sem_init(&s->woken, 0, 0);
        tv_mailbox_init(&s->mailbox, wake, &s->woken);
        CHECK(pthread_create(&s->thread, NULL, submit_all, s) == 0);
    }
    play_faults(engine, is_shared, &random);
    for (int i = 0; i < SUBMITTERS; i++)
        pthread_join(submitters[i].thread, NULL);
    tv_pipeline_free(pipeline);
    atomic_store(&b.stop, true);
    pthread_join(watcher, NULL);
    CHECK_INT(atomic_load(&b.lost), 0);
    check_history(engine);
    for (int i = 0; i < SUBMITTERS; i++) {
        tv_mailbox_done(&submitters[i].mailbox);
        sem_destroy(&submitters[i].woken);
    }
    tv_engine_close(engine);
}

TEST(rows_and_answers_agree_with_one_committer)
{
    simulate(false, 1, 4096);
}

TEST(rows_and_answers_agree_with_three_committers)
{
    simulate(false, 3, 4096);
}

TEST(rows_and_answers_agree_on_shared_storage)
{
    simulate(true, 2, 4096);
}

TEST(rows_and_answers_agree_when_the_queue_is_short)
{
    simulate(true, 1, 12);
}

int main(void)
{
    tv_log_set_level(TV_LOG_OFF);

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_answers_agree_with_one_committer),
        cmocka_unit_test(rows_and_answers_agree_with_three_committers),
        cmocka_unit_test(rows_and_answers_agree_on_shared_storage),
        cmocka_unit_test(rows_and_answers_agree_when_the_queue_is_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
