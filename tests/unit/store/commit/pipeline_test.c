/*
 * The invariants of src/store/commit/README.md, each by its number, over a memory
 * engine that can be slow, full, in conflict or without power.
 */
#include "store/commit/pipeline.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "check.h"
#include "store/commit/group.h"
#include "store/engine/memory/memory.h"

enum { QUEUE_MAX = 4096 };

static tv_engine *engine;
static tv_pipeline *pipeline;
static tv_outbox *outbox;
static tv_mailbox mailbox;
static sem_t woken;

static void wake(void *ctx)
{
    sem_post(ctx);
}

static void start(int committer_count, const tv_memory_options *options, size_t queue_max)
{
    engine = tv_memory_engine_new(options);
    pipeline = tv_pipeline_new(engine, committer_count, queue_max);
    outbox = tv_outbox_new(pipeline);
    sem_init(&woken, 0, 0);
    tv_mailbox_init(&mailbox, wake, &woken);
}

static int tear_down(void **state)
{
    (void)state;
    tv_outbox_free(outbox);
    tv_pipeline_free(pipeline);
    tv_engine_close(engine);
    tv_mailbox_deliver(&mailbox);
    tv_mailbox_done(&mailbox);
    sem_destroy(&woken);
    return 0;
}

/* One write of the tests: what it does, and what is known of it afterwards. */
typedef struct step {
    tv_write write;
    tv_err (*act)(tv_txn *txn, struct step *step);
    const char *key, *value;
    tv_err want_fail; /* what the function returns by itself */
    int runs;         /* how often it ran */
    char saw[64];     /* what the row held when it ran last */
    sem_t *gate;      /* held before it acts, where given */
    int order;        /* which answer this was, from 1; 0 is none yet */
    bool is_delivered;
} step;

static int answer_count;
static sem_t entered; /* a function has come to its gate */

static void deliver(tv_mail *mail)
{
    step *s = (step *)mail;

    s->is_delivered = true;
    s->order = ++answer_count;
}

static tv_err run_step(tv_txn *txn, void *ctx)
{
    step *s = ctx;

    s->runs++;
    if (s->gate) {
        sem_post(&entered);
        sem_wait(s->gate);
    }
    return s->act(txn, s);
}

/* Note what the row holds. */
static void look(tv_txn *txn, step *s)
{
    tv_slice value;
    tv_err err = tv_txn_get(txn, tv_slice_of(s->key), &value);

    if (err)
        snprintf(s->saw, sizeof s->saw, "%s", err == TV_ERR_NOT_FOUND ? "-" : tv_err_name(err));
    else
        snprintf(s->saw, sizeof s->saw, "%.*s", TV_FMT(value));
}

static tv_err act_put(tv_txn *txn, step *s)
{
    look(txn, s);
    tv_txn_put(txn, tv_slice_of(s->key), tv_slice_of(s->value));
    return s->want_fail;
}

static tv_err act_insert(tv_txn *txn, step *s)
{
    look(txn, s);
    if (strcmp(s->saw, "-") != 0)
        return TV_ERR_ENTITY_EXISTS;
    tv_txn_put(txn, tv_slice_of(s->key), tv_slice_of(s->value));
    return TV_OK;
}

static tv_err act_read(tv_txn *txn, step *s)
{
    look(txn, s);
    return s->want_fail;
}

/* Append the value to what is there: the result tells the order of all that ran. */
static tv_err act_append(tv_txn *txn, step *s)
{
    char text[128];

    look(txn, s);
    snprintf(text, sizeof text, "%s%s", strcmp(s->saw, "-") == 0 ? "" : s->saw, s->value);
    tv_txn_put(txn, tv_slice_of(s->key), tv_slice_of(text));
    return s->want_fail;
}

/* The key's first two characters are its partition. */
static void submit(step *s, tv_err (*act)(tv_txn *, step *), const char *key, const char *value)
{
    s->act = act;
    s->key = key;
    s->value = value;
    s->write = (tv_write){
        .mail.deliver = deliver,
        .partition = {key, 2},
        .run = run_step,
        .ctx = s,
        .reply_to = &mailbox,
    };
    tv_outbox_add(outbox, &s->write);
}

static void wait_for(const step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        while (!steps[i].is_delivered) {
            sem_wait(&woken);
            tv_mailbox_deliver(&mailbox);
        }
    }
}

/* What a reader would find, "-" for nothing. */
static const char *stored(const char *key)
{
    static char text[256];
    tv_arena arena;
    tv_slice value;

    tv_arena_init(&arena);
    tv_err err = tv_engine_get(engine, TV_READ_ANY, tv_slice_of(key), &arena, &value);
    if (err)
        snprintf(text, sizeof text, "%s", err == TV_ERR_NOT_FOUND ? "-" : tv_err_name(err));
    else
        snprintf(text, sizeof text, "%.*s", TV_FMT(value));
    tv_arena_done(&arena);
    return text;
}

#define CHECK_STORED(key, want) CHECK_TEXT(tv_slice_of(stored(key)), want)

/* Hold the committer inside a write, so that what is submitted meanwhile becomes one group. */
static void hold(step *s, sem_t *gate)
{
    sem_init(gate, 0, 0);
    s->gate = gate;
    submit(s, act_read, "hold", "");
    tv_outbox_flush(outbox);
    sem_wait(&entered);
}

static tv_pipeline_metrics metrics_now(void)
{
    tv_pipeline_metrics now;

    tv_pipeline_read_metrics(pipeline, &now);
    return now;
}

static tv_pipeline_metrics metrics(void)
{
    tv_pipeline_drain(pipeline);
    return metrics_now();
}

TEST(invariant_1_success_is_heard_only_after_the_write_is_durable)
{
    step s = {0};

    start(1, &(tv_memory_options){.write_delay_us = 50000}, QUEUE_MAX);
    int64_t start_ns = tv_clock_mono_ns();
    submit(&s, act_put, "pa", "1");
    tv_outbox_flush(outbox);
    wait_for(&s, 1);
    CHECK(tv_clock_mono_ns() - start_ns >= 50000000);
    CHECK_OK(s.write.result);
    CHECK_INT(tv_memory_write_count(engine), 1);
    CHECK_STORED("pa", "1");
}

TEST(invariant_1_a_write_whose_outcome_is_unknown_is_no_success)
{
    step s[3] = {0}, held = {0}, later = {0};
    sem_t gate;

    start(1, NULL, QUEUE_MAX);
    hold(&held, &gate);
    submit(&s[0], act_put, "pa", "1");
    submit(&s[1], act_insert, "pa", "2"); /* fails by itself, judging by s[0] */
    submit(&s[2], act_put, "pb", "1");
    tv_outbox_flush(outbox);
    tv_memory_fail_writes(engine, 1, 1, TV_ERR_IO);
    sem_post(&gate);
    wait_for(s, 3);
    for (int i = 0; i < 3; i++)
        CHECK_ERR(s[i].write.result, TV_ERR_IO);
    submit(&later, act_put, "pc", "1");
    tv_outbox_flush(outbox);
    wait_for(&later, 1);
    CHECK_ERR(later.write.result, TV_ERR_IO);
    CHECK_STORED("pa", "-");
    sem_destroy(&gate);
}

TEST(invariant_2_a_reader_never_sees_a_write_that_is_not_durable)
{
    step s = {0};

    start(1, &(tv_memory_options){.write_delay_us = 30000}, QUEUE_MAX);
    submit(&s, act_put, "pa", "1");
    tv_outbox_flush(outbox);
    while (tv_memory_write_count(engine) == 0) {
        bool was_seen = strcmp(stored("pa"), "-") != 0;

        CHECK(!was_seen || tv_memory_write_count(engine) == 1);
    }
    wait_for(&s, 1);
    CHECK_STORED("pa", "1");
}

TEST(invariant_2_no_answer_rests_on_a_write_that_failed)
{
    step s[2] = {0}, held = {0};
    sem_t gate;

    start(1, NULL, QUEUE_MAX);
    hold(&held, &gate);
    submit(&s[0], act_insert, "pa", "1");
    submit(&s[1], act_insert, "pa", "2");
    tv_outbox_flush(outbox);
    /* The group is refused and so is its first member alone: then the second one may insert. */
    tv_memory_fail_writes(engine, 1, 2, TV_ERR_DISK_FULL);
    sem_post(&gate);
    wait_for(s, 2);
    CHECK_ERR(s[0].write.result, TV_ERR_DISK_FULL);
    CHECK_OK(s[1].write.result);
    CHECK_STORED("pa", "2");
    sem_destroy(&gate);
}

static void check_order(int committer_count)
{
    enum { PARTITIONS = 8, ROUNDS = 12 };
    static step s[PARTITIONS * ROUNDS];
    static char keys[PARTITIONS][8], letters[ROUNDS][2];

    memset(s, 0, sizeof s);
    start(committer_count, &(tv_memory_options){.write_delay_us = 200}, QUEUE_MAX);
    for (int p = 0; p < PARTITIONS; p++)
        snprintf(keys[p], sizeof keys[p], "%c_k", 'A' + p);
    for (int round = 0; round < ROUNDS; round++) {
        snprintf(letters[round], 2, "%c", 'a' + round);
        for (int p = 0; p < PARTITIONS; p++)
            submit(&s[round * PARTITIONS + p], act_append, keys[p], letters[round]);
        if (round % 3 == 0)
            tv_outbox_flush(outbox);
    }
    tv_outbox_flush(outbox);
    wait_for(s, PARTITIONS * ROUNDS);
    for (int p = 0; p < PARTITIONS; p++)
        CHECK_STORED(keys[p], "abcdefghijkl");
}

TEST(invariant_3_writes_to_a_partition_keep_their_order)
{
    check_order(1);
}

TEST(invariant_3_with_several_committers_too)
{
    check_order(3);
}

TEST(invariant_3_members_that_go_alone_keep_their_order)
{
    step s[4] = {0}, held = {0};
    sem_t gate;

    start(1, NULL, QUEUE_MAX);
    hold(&held, &gate);
    for (int i = 0; i < 4; i++)
        submit(&s[i], act_append, "pa", (const char *[]){"a", "b", "c", "d"}[i]);
    tv_outbox_flush(outbox);
    tv_memory_fail_writes(engine, 1, 1, TV_ERR_DISK_FULL);
    sem_post(&gate);
    wait_for(s, 4);
    CHECK_STORED("pa", "abcd");
    CHECK(s[0].order < s[1].order && s[1].order < s[2].order && s[2].order < s[3].order);
    CHECK_INT(tv_memory_write_count(engine), 4);
    sem_destroy(&gate);
}

static tv_err act_free(tv_txn *txn, step *s)
{
    tv_txn_declare_freeing(txn);
    tv_txn_delete(txn, tv_slice_of(s->key));
    return TV_OK;
}

TEST(invariant_6_deletes_go_through_on_a_full_disk_beside_writes_that_cannot)
{
    step first = {0}, s[3] = {0}, held = {0};
    sem_t gate;

    start(1, NULL, QUEUE_MAX);
    submit(&first, act_put, "pa", "1");
    tv_outbox_flush(outbox);
    wait_for(&first, 1);

    hold(&held, &gate);
    submit(&s[0], act_put, "pb", "1");
    submit(&s[1], act_free, "pa", "");
    submit(&s[2], act_append, "pa", "2");
    tv_outbox_flush(outbox);
    tv_memory_set_full(engine, true);
    sem_post(&gate);
    wait_for(s, 3);
    CHECK_ERR(s[0].write.result, TV_ERR_DISK_FULL);
    CHECK_OK(s[1].write.result);
    CHECK_ERR(s[2].write.result, TV_ERR_DISK_FULL);
    CHECK_STORED("pa", "-");
    CHECK_STORED("pb", "-");
    sem_destroy(&gate);
}

TEST(invariant_4_a_function_sees_every_earlier_write_of_its_group)
{
    step s[3] = {0}, held = {0};
    sem_t gate;

    start(1, NULL, QUEUE_MAX);
    hold(&held, &gate);
    submit(&s[0], act_insert, "pa", "1");
    submit(&s[1], act_insert, "pa", "2");
    submit(&s[2], act_put, "pa", "3");
    tv_outbox_flush(outbox);
    sem_post(&gate);
    wait_for(s, 3);
    CHECK_OK(s[0].write.result);
    CHECK_ERR(s[1].write.result, TV_ERR_ENTITY_EXISTS);
    CHECK_OK(s[2].write.result);
    CHECK_TEXT(tv_slice_of(s[2].saw), "1");
    CHECK_STORED("pa", "3");
    CHECK_INT(tv_memory_write_count(engine), 1); /* one group, one durable write */
    sem_destroy(&gate);
}

TEST(invariant_5_a_function_that_fails_fails_alone)
{
    step s[3] = {0}, held = {0};
    sem_t gate;

    start(1, NULL, QUEUE_MAX);
    hold(&held, &gate);
    s[1].want_fail = TV_ERR_ETAG_MISMATCH;
    submit(&s[0], act_append, "pa", "a");
    submit(&s[1], act_append, "pa", "b");
    submit(&s[2], act_append, "pa", "c");
    tv_outbox_flush(outbox);
    sem_post(&gate);
    wait_for(s, 3);
    CHECK_OK(s[0].write.result);
    CHECK_ERR(s[1].write.result, TV_ERR_ETAG_MISMATCH);
    CHECK_OK(s[2].write.result);
    CHECK_STORED("pa", "ac");
    sem_destroy(&gate);
}

TEST(invariant_6_a_group_in_conflict_runs_again)
{
    step s[2] = {0}, held = {0};
    sem_t gate;

    start(1, &(tv_memory_options){.is_shared = true}, QUEUE_MAX);
    hold(&held, &gate);
    submit(&s[0], act_append, "pa", "a");
    submit(&s[1], act_append, "pb", "b");
    tv_outbox_flush(outbox);
    tv_memory_fail_writes(engine, 1, 1, TV_ERR_CONFLICT);
    sem_post(&gate);
    wait_for(s, 2);
    CHECK_OK(s[0].write.result);
    CHECK_OK(s[1].write.result);
    CHECK_INT(s[0].runs, 2);
    CHECK_STORED("pa", "a");
    CHECK_STORED("pb", "b");
    CHECK_INT(metrics().retries, 1);
    sem_destroy(&gate);
}

/* A row that changes under the function each time it runs: another node that always wins. */
static tv_err act_contended(tv_txn *txn, step *s)
{
    tv_write_batch batch = {0};
    char text[16];

    look(txn, s);
    snprintf(text, sizeof text, "other%d", s->runs);
    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, tv_slice_of(s->key), tv_slice_of(text)});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
    tv_txn_put(txn, tv_slice_of(s->key), tv_slice_of(s->value));
    return TV_OK;
}

TEST(invariant_6_one_that_cannot_win_does_not_fail_its_neighbours)
{
    step s[3] = {0}, held = {0};
    sem_t gate;

    start(1, &(tv_memory_options){.is_shared = true}, QUEUE_MAX);
    hold(&held, &gate);
    submit(&s[0], act_append, "pa", "a");
    submit(&s[1], act_contended, "pb", "b");
    submit(&s[2], act_append, "pa", "c");
    tv_outbox_flush(outbox);
    sem_post(&gate);
    wait_for(s, 3);
    CHECK_OK(s[0].write.result);
    CHECK_ERR(s[1].write.result, TV_ERR_CONFLICT);
    CHECK_OK(s[2].write.result);
    CHECK_STORED("pa", "ac");
    sem_destroy(&gate);
}

TEST(invariant_6_a_full_disk_leaves_each_its_own_answer)
{
    step s[2] = {0}, held = {0};
    sem_t gate;

    start(1, NULL, QUEUE_MAX);
    hold(&held, &gate);
    s[1].want_fail = TV_ERR_ENTITY_NOT_FOUND;
    submit(&s[0], act_put, "pa", "a");
    submit(&s[1], act_read, "pb", "");
    tv_outbox_flush(outbox);
    tv_memory_fail_writes(engine, 1, 2, TV_ERR_DISK_FULL);
    sem_post(&gate);
    wait_for(s, 2);
    CHECK_ERR(s[0].write.result, TV_ERR_DISK_FULL);
    CHECK_ERR(s[1].write.result, TV_ERR_ENTITY_NOT_FOUND);
    sem_destroy(&gate);
}

/* One function, many rows: the shape of an entity group transaction. */
static tv_err act_many(tv_txn *txn, step *s)
{
    for (int i = 0; i < 100; i++) {
        char key[16];

        snprintf(key, sizeof key, "%.2s%03d", s->key, i);
        tv_txn_put(txn, tv_slice_of(key), tv_slice_of(s->value));
        if (s->want_fail && i == 60)
            return s->want_fail;
    }
    return TV_OK;
}

TEST(invariant_7_a_function_of_many_rows_is_all_or_nothing)
{
    step s[2] = {0};

    start(1, NULL, QUEUE_MAX);
    s[1].want_fail = TV_ERR_ENTITY_EXISTS;
    submit(&s[0], act_many, "pa", "1");
    submit(&s[1], act_many, "pa", "2");
    tv_outbox_flush(outbox);
    wait_for(s, 2);
    CHECK_OK(s[0].write.result);
    CHECK_ERR(s[1].write.result, TV_ERR_ENTITY_EXISTS);
    CHECK_STORED("pa000", "1");
    CHECK_STORED("pa060", "1");
    CHECK_STORED("pa099", "1");
}

TEST(invariant_8_a_full_queue_refuses)
{
    step s[4] = {0}, held = {0}, later = {0};
    sem_t gate;

    start(1, NULL, 3);
    hold(&held, &gate); /* takes one place */
    for (int i = 0; i < 4; i++)
        submit(&s[i], act_append, "pa", (const char *[]){"a", "b", "c", "d"}[i]);
    tv_outbox_flush(outbox);
    wait_for(&s[2], 2); /* the last two are refused while the first two still wait */
    CHECK_ERR(s[2].write.result, TV_ERR_OVERLOADED);
    CHECK_ERR(s[3].write.result, TV_ERR_OVERLOADED);
    CHECK(!s[0].is_delivered && !s[1].is_delivered);
    sem_post(&gate);
    wait_for(s, 2);
    CHECK_OK(s[0].write.result);
    CHECK_OK(s[1].write.result);
    CHECK_STORED("pa", "ab");
    submit(&later, act_append, "pa", "e");
    tv_outbox_flush(outbox);
    wait_for(&later, 1);
    CHECK_OK(later.write.result);
    sem_destroy(&gate);
}

TEST(invariant_9_drain_waits_for_what_was_submitted)
{
    step s[20] = {0};

    start(2, &(tv_memory_options){.write_delay_us = 3000}, QUEUE_MAX);
    tv_pipeline_drain(pipeline);
    for (int i = 0; i < 20; i++) {
        submit(&s[i], act_put, (const char *[]){"aa1", "bb1", "cc1", "dd1"}[i % 4], "x");
        tv_outbox_flush(outbox);
    }
    tv_pipeline_drain(pipeline);
    tv_mailbox_deliver(&mailbox);
    for (int i = 0; i < 20; i++)
        CHECK(s[i].is_delivered && s[i].write.result == TV_OK);
    CHECK_INT(metrics().queued, 0);
}

TEST(invariant_9_ending_the_pipeline_finishes_everything)
{
    step s[50] = {0};

    start(2, &(tv_memory_options){.write_delay_us = 2000}, QUEUE_MAX);
    for (int i = 0; i < 50; i++) {
        submit(&s[i], act_put, (const char *[]){"aa1", "bb1", "cc1", "dd1", "ee1"}[i % 5], "x");
        tv_outbox_flush(outbox);
    }
    tv_outbox_free(outbox);
    outbox = NULL;
    tv_pipeline_free(pipeline);
    pipeline = NULL;
    tv_mailbox_deliver(&mailbox);
    for (int i = 0; i < 50; i++)
        CHECK(s[i].is_delivered && s[i].write.result == TV_OK);
}

static int settled_count;

/* Nobody has heard anything yet, and the row is durable. */
static void settle(tv_write *write)
{
    step *s = (step *)write;

    CHECK_STORED(s->key, s->value);
    CHECK(!s->is_delivered);
    s->order = -++settled_count;
}

TEST(invariant_11_what_a_write_settles_is_settled_before_any_answer)
{
    step s[4] = {0}, held = {0};
    sem_t gate;

    settled_count = 0;
    start(1, NULL, QUEUE_MAX);
    hold(&held, &gate);
    s[1].want_fail = TV_ERR_ETAG_MISMATCH;
    submit(&s[0], act_put, "pa", "1");
    submit(&s[1], act_put, "pb", "1");
    submit(&s[2], act_put, "pc", "1");
    submit(&s[3], act_read, "pa", "");
    for (int i = 0; i < 3; i++)
        s[i].write.settle = settle;
    tv_outbox_flush(outbox);
    sem_post(&gate);
    tv_pipeline_drain(pipeline);
    CHECK(s[0].order < 0 && s[2].order < 0); /* of two partitions, in either order */
    CHECK_INT(s[1].order, 0);                /* it failed: there is nothing to settle */
    wait_for(s, 4);
    CHECK_INT(settled_count, 2);
    sem_destroy(&gate);
}

static void note_undo(tv_write *write)
{
    step *s = (step *)write;

    CHECK(!s->is_delivered);
    s->order = -1;
}

TEST(invariant_12_what_failed_for_certain_is_undone_before_its_answer)
{
    step s[3] = {0}, held = {0};
    sem_t gate;

    start(1, NULL, 3);
    hold(&held, &gate);
    s[0].want_fail = TV_ERR_ETAG_MISMATCH;
    for (int i = 0; i < 3; i++) {
        submit(&s[i], act_put, "pa", "1");
        s[i].write.undo = note_undo;
    }
    tv_outbox_flush(outbox);
    CHECK_INT(s[2].order, -1); /* the queue is full */
    sem_post(&gate);
    tv_pipeline_drain(pipeline);
    CHECK_INT(s[0].order, -1);
    CHECK_INT(s[1].order, 0); /* it succeeded */
    wait_for(s, 3);
    CHECK_ERR(s[2].write.result, TV_ERR_OVERLOADED);
    sem_destroy(&gate);
}

TEST(invariant_12_what_the_log_may_hold_is_not_undone)
{
    static const struct {
        const char *what;
        tv_err err;
        bool is_undone;
    } ends[] = {{"a full disk", TV_ERR_DISK_FULL, true}, {"a sick disk", TV_ERR_IO, false}};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        step s = {0};

        t_row = ends[i].what;
        start(1, NULL, QUEUE_MAX);
        tv_memory_fail_writes(engine, 1, 2, ends[i].err); /* with the group, and alone */
        submit(&s, act_put, "pa", "1");
        s.write.undo = note_undo;
        tv_outbox_flush(outbox);
        tv_pipeline_drain(pipeline);
        CHECK_INT(s.order, ends[i].is_undone ? -1 : 0);
        wait_for(&s, 1);
        CHECK_ERR(s.write.result, ends[i].err);
        if (i == 0)
            tear_down(NULL);
    }
    t_row = "";

    /* What the engine refuses from then on has left nothing. */
    step reads = {0}, later = {0};

    submit(&reads, act_read, "pa", "");
    tv_outbox_flush(outbox);
    wait_for(&reads, 1);
    submit(&later, act_put, "pa", "1");
    later.write.undo = note_undo;
    tv_outbox_flush(outbox);
    tv_pipeline_drain(pipeline);
    CHECK_INT(later.order, -1);
    wait_for(&later, 1);
    CHECK_ERR(later.write.result, TV_ERR_IO);
}

/* A read that fails is not the engine's word on a write: the next TV_ERR_IO is the first. */
TEST(invariant_12_a_group_that_could_not_read_has_not_lost_the_engine)
{
    step early = {0}, s = {0};

    start(1, NULL, QUEUE_MAX);
    tv_memory_fail_reads(engine, TV_ERR_IO);
    submit(&early, act_put, "pa", "1");
    early.write.undo = note_undo;
    tv_outbox_flush(outbox);
    tv_pipeline_drain(pipeline);
    CHECK_INT(early.order, -1); /* nothing was written */
    wait_for(&early, 1);
    CHECK(early.write.result != TV_OK);

    tv_memory_fail_reads(engine, TV_OK);
    tv_memory_fail_writes(engine, 1, 1, TV_ERR_IO);
    submit(&s, act_put, "pa", "1");
    s.write.undo = note_undo;
    tv_outbox_flush(outbox);
    tv_pipeline_drain(pipeline);
    CHECK_INT(s.order, 0);
    wait_for(&s, 1);
    CHECK_ERR(s.write.result, TV_ERR_IO);
}

TEST(a_group_ends_when_it_is_large)
{
    enum { WRITES = 40, VALUE = 1 << 20 };
    static step s[WRITES];
    static char keys[WRITES][8];
    step held = {0};
    sem_t gate;
    char *value = tv_malloc(VALUE + 1);

    memset(s, 0, sizeof s);
    memset(value, 'v', VALUE);
    value[VALUE] = '\0';
    start(1, NULL, QUEUE_MAX);
    hold(&held, &gate);
    for (int i = 0; i < WRITES; i++) {
        snprintf(keys[i], sizeof keys[i], "pa%d", i);
        submit(&s[i], act_put, keys[i], value);
    }
    tv_outbox_flush(outbox);
    sem_post(&gate);
    wait_for(s, WRITES);
    CHECK_INT(tv_memory_write_count(engine), WRITES * (size_t)VALUE / TV_GROUP_BYTES_MAX);
    free(value);
    sem_destroy(&gate);
}

/* Deletes are small, but each first reads its row, which stays until the group ends. */
TEST(a_group_ends_when_it_has_read_much)
{
    enum { ROWS = 40, VALUE = 1 << 20 };
    static step puts[ROWS], reads[ROWS];
    static char keys[ROWS][8];
    step held = {0};
    sem_t gate;
    char *value = tv_malloc(VALUE + 1);

    memset(puts, 0, sizeof puts);
    memset(reads, 0, sizeof reads);
    memset(value, 'v', VALUE);
    value[VALUE] = '\0';
    start(1, NULL, QUEUE_MAX);
    for (int i = 0; i < ROWS; i++) {
        snprintf(keys[i], sizeof keys[i], "pa%d", i);
        submit(&puts[i], act_put, keys[i], value);
    }
    tv_outbox_flush(outbox);
    wait_for(puts, ROWS);
    hold(&held, &gate);
    uint64_t groups_before = metrics_now().groups;
    for (int i = 0; i < ROWS; i++)
        submit(&reads[i], act_read, keys[i], "");
    tv_outbox_flush(outbox);
    sem_post(&gate);
    wait_for(reads, ROWS);
    CHECK_INT(metrics().groups - groups_before, 1 + ROWS * (size_t)VALUE / TV_GROUP_BYTES_MAX);
    free(value);
    sem_destroy(&gate);
}

TEST(metrics_count_groups_and_writes)
{
    step s[8] = {0}, held = {0};
    sem_t gate;
    tv_pipeline_metrics now;

    start(1, NULL, QUEUE_MAX);
    hold(&held, &gate);
    for (int i = 0; i < 8; i++)
        submit(&s[i], act_append, "pa", "x");
    tv_outbox_flush(outbox);
    tv_pipeline_read_metrics(pipeline, &now);
    CHECK_INT(now.queued, 9);
    sem_post(&gate);
    wait_for(s, 8);
    now = metrics();
    CHECK_INT(now.groups, 2);
    CHECK_INT(now.writes, 9);
    CHECK_INT(now.group_size_slots[0], 1); /* the held one */
    CHECK_INT(now.group_size_slots[3], 1); /* 4 < 8 <= 8 */

    uint64_t functions = 0;

    for (int i = 0; i < TV_PIPELINE_SLOTS; i++)
        functions += now.function_us_slots[i];
    CHECK_INT(functions, 9);
    CHECK(now.function_us_max <= now.function_us_sum);
    CHECK_INT(now.queued, 0);
    sem_destroy(&gate);
}

#define ONE(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
    sem_init(&entered, 0, 0);

    const struct CMUnitTest tests[] = {
        ONE(invariant_1_success_is_heard_only_after_the_write_is_durable),
        ONE(invariant_1_a_write_whose_outcome_is_unknown_is_no_success),
        ONE(invariant_2_a_reader_never_sees_a_write_that_is_not_durable),
        ONE(invariant_2_no_answer_rests_on_a_write_that_failed),
        ONE(invariant_3_writes_to_a_partition_keep_their_order),
        ONE(invariant_3_with_several_committers_too),
        ONE(invariant_3_members_that_go_alone_keep_their_order),
        ONE(invariant_6_deletes_go_through_on_a_full_disk_beside_writes_that_cannot),
        ONE(invariant_4_a_function_sees_every_earlier_write_of_its_group),
        ONE(invariant_5_a_function_that_fails_fails_alone),
        ONE(invariant_6_a_group_in_conflict_runs_again),
        ONE(invariant_6_one_that_cannot_win_does_not_fail_its_neighbours),
        ONE(invariant_6_a_full_disk_leaves_each_its_own_answer),
        ONE(invariant_7_a_function_of_many_rows_is_all_or_nothing),
        ONE(invariant_8_a_full_queue_refuses),
        ONE(invariant_9_drain_waits_for_what_was_submitted),
        ONE(invariant_9_ending_the_pipeline_finishes_everything),
        ONE(invariant_11_what_a_write_settles_is_settled_before_any_answer),
        ONE(invariant_12_what_failed_for_certain_is_undone_before_its_answer),
        ONE(invariant_12_what_the_log_may_hold_is_not_undone),
        ONE(invariant_12_a_group_that_could_not_read_has_not_lost_the_engine),
        ONE(a_group_ends_when_it_is_large),
        ONE(a_group_ends_when_it_has_read_much),
        ONE(metrics_count_groups_and_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
