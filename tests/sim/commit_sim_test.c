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
 *  - the writes of one thread to one partition are in their order (3), unless
 *    the storage has ranges;
 *  - a write to two rows of a partition is in both or in neither (7);
 *  - a row read by a bystander never lost a write that it once had (2).
 *
 * With ranges there are two nodes, each with its own pipeline, over one store whose
 * cuts change all the time; every thread then submits to both.
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
#include "seed.h"
#include "store/commit/pipeline.h"
#include "store/engine/memory/memory.h"

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
    char keys[2][8];
    tv_slice reads[2];
} sim_write;

typedef struct submitter {
    pthread_t thread;
    int id;
    uint64_t random;
    tv_pipeline *pipelines[2]; /* of the nodes; the second may be NULL */
    tv_mailbox mailbox;
    sem_t woken;
    int in_flight;
    sim_write writes[WRITES_EACH];
} submitter;

/* What the simulation is about. */
typedef struct sim_setting {
    tv_memory_options options;
    int committer_count;
    size_t queue_max;
} sim_setting;

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

static void flush(tv_outbox *const *outboxes, int count)
{
    for (int i = 0; i < count; i++)
        tv_outbox_flush(outboxes[i]);
}

static void *submit_all(void *arg)
{
    submitter *s = arg;
    int nodes = s->pipelines[1] ? 2 : 1;
    tv_outbox *outboxes[2] = {NULL};

    for (int i = 0; i < nodes; i++)
        outboxes[i] = tv_outbox_new(s->pipelines[i]);

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
        if (seed_next(&s->random) % 4) {
            row_key(w->keys[0], w->partition, 'a');
            row_key(w->keys[1], w->partition, 'b');
            w->reads[0] = tv_slice_of(w->keys[0]);
            w->reads[1] = tv_slice_of(w->keys[1]);
            w->write.reads = w->reads;
            w->write.read_count = 1 + seed_next(&s->random) % 2;
        }
        tv_outbox_add(outboxes[seed_next(&s->random) % (uint64_t)nodes], &w->write);
        s->in_flight++;
        if (seed_next(&s->random) % 3 == 0 || s->in_flight >= IN_FLIGHT_MAX)
            flush(outboxes, nodes);
        while (s->in_flight >= IN_FLIGHT_MAX) {
            sem_wait(&s->woken);
            tv_mailbox_deliver(&s->mailbox);
        }
        if (i > 0 && s->writes[i - 1].is_answered && s->writes[i - 1].write.result)
            usleep(200); /* a client that is refused waits before it tries again */
    }
    flush(outboxes, nodes);
    while (s->in_flight > 0) {
        sem_wait(&s->woken);
        tv_mailbox_deliver(&s->mailbox);
    }
    for (int i = 0; i < nodes; i++)
        tv_outbox_free(outboxes[i]);
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

/* Begin a range at each of the partitions, or not. */
static void cut_anew(tv_engine *engine, uint64_t *random)
{
    tv_slice cuts[PARTITIONS];
    size_t count = 0;

    for (int p = 0; p < PARTITIONS; p++) {
        if (seed_next(random) % 2)
            cuts[count++] = tv_slice_of(partitions[p]);
    }
    tv_memory_set_cuts(engine, cuts, count);
}

/* One fault after the other, with quiet times between. */
static void play_faults(tv_engine *engine, uint64_t *random)
{
    bool is_shared = engine->ops->is_shared, has_ranges = engine->ops->range_of != NULL;

    for (int i = 0; i < FAULTS; i++) {
        uint64_t nth = 1 + seed_next(random) % 4, count = 1 + seed_next(random) % 6;

        if (has_ranges)
            cut_anew(engine, random);
        switch (seed_next(random) % 6) {
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
        case 4:
            if (has_ranges)
                tv_memory_fail_writes(engine, nth, count, TV_ERR_MOVED);
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
    bool is_ordered = engine->ops->range_of == NULL;
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
            CHECK(!is_ordered || (int64_t)number > last[number / WRITES_EACH]); /* (3) */
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

static void simulate(sim_setting setting)
{
    uint64_t seed = seed_start(), random = seed ? seed : 1;

    setting.options.seed = seed;
    setting.options.write_delay_us = 100;
    tv_engine *engine = tv_memory_engine_new(&setting.options);
    tv_engine *other = setting.options.has_ranges ? tv_memory_engine_join(engine) : NULL;
    tv_pipeline *pipelines[2] = {
        tv_pipeline_new(engine, setting.committer_count, setting.queue_max),
        other ? tv_pipeline_new(other, setting.committer_count, setting.queue_max) : NULL,
    };
    bystander b = {.engine = engine};
    pthread_t watcher;

    memset(submitters, 0, sizeof submitters);
    CHECK(pthread_create(&watcher, NULL, watch, &b) == 0);
    for (int i = 0; i < SUBMITTERS; i++) {
        submitter *s = &submitters[i];

        s->id = i;
        s->random = seed_next(&random) | 1;
        memcpy(s->pipelines, pipelines, sizeof pipelines);
        sem_init(&s->woken, 0, 0);
        tv_mailbox_init(&s->mailbox, wake, &s->woken);
        CHECK(pthread_create(&s->thread, NULL, submit_all, s) == 0);
    }
    play_faults(engine, &random);
    for (int i = 0; i < SUBMITTERS; i++)
        pthread_join(submitters[i].thread, NULL);
    for (int i = 0; i < 2; i++)
        tv_pipeline_free(pipelines[i]);
    atomic_store(&b.stop, true);
    pthread_join(watcher, NULL);
    CHECK_INT(atomic_load(&b.lost), 0);
    check_history(engine);
    for (int i = 0; i < SUBMITTERS; i++) {
        tv_mailbox_done(&submitters[i].mailbox);
        sem_destroy(&submitters[i].woken);
    }
    tv_engine_close(other);
    tv_engine_close(engine);
}

TEST(rows_and_answers_agree_with_one_committer)
{
    simulate((sim_setting){.committer_count = 1, .queue_max = 4096});
}

TEST(rows_and_answers_agree_with_three_committers)
{
    simulate((sim_setting){.committer_count = 3, .queue_max = 4096});
}

TEST(rows_and_answers_agree_on_shared_storage)
{
    simulate((sim_setting){.options.is_shared = true, .committer_count = 2, .queue_max = 4096});
}

TEST(rows_and_answers_agree_when_the_queue_is_short)
{
    simulate((sim_setting){.options.is_shared = true, .committer_count = 1, .queue_max = 12});
}

TEST(rows_and_answers_agree_while_two_nodes_write_and_ranges_move)
{
    simulate((sim_setting){.options.has_ranges = true, .committer_count = 4, .queue_max = 4096});
}

TEST(rows_and_answers_agree_with_fewer_threads_than_ranges)
{
    simulate((sim_setting){
        .options = {.has_ranges = true, .read_delay_us = 100},
        .committer_count = 2,
        .queue_max = 14,
    });
}

int main(void)
{
    tv_log_set_level(TV_LOG_OFF);

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_answers_agree_with_one_committer),
        cmocka_unit_test(rows_and_answers_agree_with_three_committers),
        cmocka_unit_test(rows_and_answers_agree_on_shared_storage),
        cmocka_unit_test(rows_and_answers_agree_when_the_queue_is_short),
        cmocka_unit_test(rows_and_answers_agree_while_two_nodes_write_and_ranges_move),
        cmocka_unit_test(rows_and_answers_agree_with_fewer_threads_than_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
