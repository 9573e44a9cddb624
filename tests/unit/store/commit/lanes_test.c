/*
 * The pipeline over storage with ranges: lanes, rows that are fetched beforehand,
 * results that are confirmed, ranges that move.  Numbers are those of the invariants in
 * src/store/commit/README.md.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/log.h"
#include "check.h"
#include "store/commit/group.h"
#include "store/commit/pipeline.h"
#include "store/engine/memory/memory.h"
#include "wait.h"

enum { QUEUE_MAX = 4096, THREADS = 4 };

static tv_engine *engine, *other; /* two nodes on one store */
static tv_pipeline *pipeline;
static tv_outbox *outbox;
static tv_mailbox mailbox;
static sem_t woken, entered;

static void wake(void *ctx)
{
    sem_post(ctx);
}

static int set_up(void **state)
{
    (void)state;
    engine = tv_memory_engine_new(&(tv_memory_options){.has_ranges = true});
    other = tv_memory_engine_join(engine);
    pipeline = tv_pipeline_new(engine, THREADS, QUEUE_MAX);
    outbox = tv_outbox_new(pipeline);
    sem_init(&woken, 0, 0);
    sem_init(&entered, 0, 0);
    tv_mailbox_init(&mailbox, wake, &woken);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tv_outbox_free(outbox);
    tv_pipeline_free(pipeline);
    tv_engine_close(other);
    tv_engine_close(engine);
    tv_mailbox_deliver(&mailbox);
    tv_mailbox_done(&mailbox);
    sem_destroy(&entered);
    sem_destroy(&woken);
    return 0;
}

/* Ranges begin at each of these letters. */
static void cut_at(const char *letters)
{
    tv_slice cuts[8];
    size_t count = 0;

    for (; letters[count]; count++)
        cuts[count] = (tv_slice){letters + count, 1};
    tv_memory_set_cuts(engine, cuts, count);
}

static tv_err put_directly(const char *key, const char *value)
{
    tv_write_batch batch = {0};

    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, tv_slice_of(key), tv_slice_of(value)});
    tv_err err = tv_engine_write(other, &batch);
    tv_write_batch_done(&batch);
    return err;
}

/* A node looks at the map when it writes. */
static void hear_of_cuts(void)
{
    tv_write_batch batch = {0};

    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_DELETE, TV_LIT("none"), TV_NONE});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
}

typedef struct step {
    tv_write write;
    tv_err (*act)(tv_txn *txn, struct step *step);
    const char *key, *value;
    tv_slice reads[2];
    int runs;
    sem_t *gate; /* held before it acts, where given */
    bool is_undone, is_delivered;
} step;

static void deliver(tv_mail *mail)
{
    ((step *)mail)->is_delivered = true;
}

static void note_undo(tv_write *write)
{
    ((step *)write)->is_undone = true;
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

static tv_err act_put(tv_txn *txn, step *s)
{
    tv_txn_put(txn, tv_slice_of(s->key), tv_slice_of(s->value));
    return TV_OK;
}

static tv_err act_insert(tv_txn *txn, step *s)
{
    tv_slice old;
    tv_err err = tv_txn_get(txn, tv_slice_of(s->key), &old);

    if (err == TV_OK)
        return TV_ERR_ENTITY_EXISTS;
    tv_txn_put(txn, tv_slice_of(s->key), tv_slice_of(s->value));
    return err == TV_ERR_NOT_FOUND ? TV_OK : err;
}

/* The key's first two characters are its partition. */
static void add(step *s, tv_err (*act)(tv_txn *, step *), const char *key, const char *value)
{
    s->act = act;
    s->key = key;
    s->value = value;
    s->write = (tv_write){
        .mail.deliver = deliver,
        .partition = {key, 2},
        .run = run_step,
        .ctx = s,
        .undo = note_undo,
        .reply_to = &mailbox,
    };
    tv_outbox_add(outbox, &s->write);
}

static void announce(step *s, const char *key)
{
    s->reads[s->write.read_count++] = tv_slice_of(key);
    s->write.reads = s->reads;
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

static void hold(step *s, sem_t *gate, const char *key)
{
    sem_init(gate, 0, 0);
    s->gate = gate;
    add(s, act_put, key, "held");
    tv_outbox_flush(outbox);
    sem_wait(&entered);
}

static void let_go(sem_t *gate)
{
    sem_post(gate);
}

static const char *stored(const char *key)
{
    static char text[64];
    tv_arena arena;
    tv_slice value;

    tv_arena_init(&arena);
    tv_err err = tv_engine_get(engine, TV_READ_ANY, tv_slice_of(key), &arena, &value);
    if (err)
        snprintf(text, sizeof text, "%s", tv_err_name(err));
    else
        snprintf(text, sizeof text, "%.*s", TV_FMT(value));
    tv_arena_done(&arena);
    return text;
}

#define CHECK_STORED(key, want) CHECK_TEXT(tv_slice_of(stored(key)), want)

static tv_pipeline_metrics metrics(void)
{
    tv_pipeline_metrics now;

    tv_pipeline_drain(pipeline);
    tv_pipeline_read_metrics(pipeline, &now);
    return now;
}

/* --- lanes --- */

TEST(a_range_does_not_wait_for_another)
{
    step held = {0}, free_one = {0}, behind = {0};
    sem_t gate;

    cut_at("q");
    hear_of_cuts();
    hold(&held, &gate, "pa1");
    add(&behind, act_put, "pb1", "1");
    add(&free_one, act_put, "qa1", "1");
    tv_outbox_flush(outbox);
    wait_for(&free_one, 1);
    CHECK_OK(free_one.write.result);
    CHECK(!behind.is_delivered);
    let_go(&gate);
    wait_for(&behind, 1);
    wait_for(&held, 1);
    CHECK_INT(metrics().lanes, 2);
    sem_destroy(&gate);
}

TEST(the_writes_of_a_range_are_one_batch)
{
    step held = {0}, s[20] = {0};
    static char keys[20][8];
    sem_t gate;

    hold(&held, &gate, "pa1");
    for (int i = 0; i < 20; i++) {
        snprintf(keys[i], sizeof keys[i], "p%cx", 'a' + i);
        add(&s[i], act_insert, keys[i], "1");
        announce(&s[i], keys[i]);
    }
    tv_outbox_flush(outbox);

    uint64_t batches = tv_memory_batch_count(engine), reads = tv_memory_read_count(engine);

    let_go(&gate);
    wait_for(s, 20);
    for (int i = 0; i < 20; i++)
        CHECK_OK(s[i].write.result);
    CHECK_INT(tv_memory_batch_count(engine) - batches, 2); /* with that of the held one */
    CHECK_INT(tv_memory_read_count(engine) - reads, 1);    /* for all of them */
    sem_destroy(&gate);
}

/* --- rows that are taken for absent --- */

static void add_insert(step *s, const char *key)
{
    add(s, act_insert, key, "new");
    announce(s, key);
    s->write.expects_none = true;
}

TEST(a_row_that_is_expected_to_be_absent_is_not_read)
{
    uint64_t reads = tv_memory_read_count(engine), batches = tv_memory_batch_count(engine);
    step s[3] = {0};

    add_insert(&s[0], "pa1");
    add_insert(&s[1], "pa2");
    add_insert(&s[2], "pa1"); /* after the first one has made it */
    tv_outbox_flush(outbox);
    wait_for(s, 3);
    CHECK_OK(s[0].write.result);
    CHECK_OK(s[1].write.result);
    CHECK_ERR(s[2].write.result, TV_ERR_ENTITY_EXISTS);
    CHECK_INT(tv_memory_read_count(engine) - reads, 0);
    CHECK_INT(tv_memory_batch_count(engine) - batches, 1);
}

TEST(a_row_that_was_taken_for_absent_and_is_there_stays)
{
    step s[3] = {0};

    CHECK_OK(put_directly("pa2", "old"));
    for (int i = 0; i < 3; i++)
        add_insert(&s[i], (const char *[]){"pa1", "pa2", "pa3"}[i]);
    tv_outbox_flush(outbox);
    wait_for(s, 3);
    CHECK_OK(s[0].write.result);
    CHECK_ERR(s[1].write.result, TV_ERR_ENTITY_EXISTS);
    CHECK_OK(s[2].write.result);
    CHECK_STORED("pa2", "old");
    CHECK_STORED("pa3", "new");
    for (int i = 0; i < 3; i++)
        CHECK_INT(s[i].runs, 2);
}

/* An error is confirmed, too: nothing may rest on a guess. */
TEST(nobody_else_is_told_what_was_only_guessed)
{
    step s[2] = {0};

    CHECK_OK(put_directly("pa1", "old"));
    add_insert(&s[0], "pa1");
    add(&s[1], act_insert, "pa1", "other"); /* has not announced it */
    tv_outbox_flush(outbox);
    wait_for(s, 2);
    CHECK_ERR(s[0].write.result, TV_ERR_ENTITY_EXISTS);
    CHECK_ERR(s[1].write.result, TV_ERR_ENTITY_EXISTS);

    /* One that wants to see the row has it read. */
    step both[2] = {0};
    uint64_t reads = tv_memory_read_count(engine), retries = metrics().retries;

    add_insert(&both[0], "pa1");
    add(&both[1], act_insert, "pa1", "other");
    announce(&both[1], "pa1");
    tv_outbox_flush(outbox);
    wait_for(both, 2);
    CHECK_INT(tv_memory_read_count(engine) - reads, 1);
    CHECK_INT(metrics().retries, retries);
}

TEST(guesses_rest_when_they_are_often_wrong)
{
    uint64_t reads;

    tv_pipeline_free(pipeline); /* one thread, so that it learns from every group */
    tv_outbox_free(outbox);
    pipeline = tv_pipeline_new(engine, 1, QUEUE_MAX);
    outbox = tv_outbox_new(pipeline);
    CHECK_OK(put_directly("pa1", "old"));
    for (int i = 0; i < 100; i++) {
        step s = {0};

        add_insert(&s, "pa1");
        tv_outbox_flush(outbox);
        wait_for(&s, 1);
        CHECK_ERR(s.write.result, TV_ERR_ENTITY_EXISTS);
    }
    CHECK(metrics().retries > 0 && metrics().retries <= 5);

    /* And are tried again, much later. */
    for (int i = 0; i < 1000; i++) {
        step s = {0};

        add(&s, act_put, "pa2", "x");
        announce(&s, "pa2");
        tv_outbox_flush(outbox);
        wait_for(&s, 1);
    }
    reads = tv_memory_read_count(engine);

    step s = {0};

    add_insert(&s, "pa3");
    tv_outbox_flush(outbox);
    wait_for(&s, 1);
    CHECK_OK(s.write.result);
    CHECK_INT(tv_memory_read_count(engine) - reads, 0);
}

/* A transaction of a hundred rows each. */
static tv_err act_put_many(tv_txn *txn, step *s)
{
    for (int i = 0; i < 100; i++) {
        char key[16];

        snprintf(key, sizeof key, "%s%03d", s->key, i);
        tv_txn_put(txn, tv_slice_of(key), tv_slice_of("1"));
    }
    return TV_OK;
}

TEST(a_group_ends_when_it_has_many_rows)
{
    step held = {0}, s[33] = {0};
    static char keys[33][8];
    sem_t gate;

    hold(&held, &gate, "pa1");
    for (int i = 0; i < 33; i++) {
        snprintf(keys[i], sizeof keys[i], "pb%02d", i);
        add(&s[i], act_put_many, keys[i], "");
    }
    tv_outbox_flush(outbox);
    let_go(&gate);
    wait_for(s, 33);
    CHECK_INT(metrics().groups, 1 + 3); /* the held one, and eleven in each */
    sem_destroy(&gate);
}

static tv_err act_delete(tv_txn *txn, step *s)
{
    tv_slice value;
    tv_err err = tv_txn_get(txn, tv_slice_of(s->key), &value);

    tv_txn_delete(txn, tv_slice_of(s->key));
    return err;
}

/* How large the rows are is known only when they have been read. */
TEST(large_rows_are_fetched_a_few_at_a_time)
{
    enum { ROWS = 60, VALUE = 1 << 20 };
    static step s[ROWS];
    static char keys[ROWS][8];
    char *value = tv_malloc(VALUE + 1);
    step held = {0};
    sem_t gate;

    tv_pipeline_free(pipeline); /* one thread, so that it learns from every group */
    tv_outbox_free(outbox);
    pipeline = tv_pipeline_new(engine, 1, QUEUE_MAX);
    outbox = tv_outbox_new(pipeline);
    memset(s, 0, sizeof s);
    memset(value, 'v', VALUE);
    value[VALUE] = '\0';
    for (int i = 0; i < ROWS; i++) {
        snprintf(keys[i], sizeof keys[i], "pa%02d", i);
        CHECK_OK(put_directly(keys[i], value));
    }
    free(value);
    hold(&held, &gate, "pa1");
    for (int i = 0; i < ROWS; i++) {
        add(&s[i], act_delete, keys[i], "");
        announce(&s[i], keys[i]);
    }
    tv_outbox_flush(outbox);

    uint64_t reads = tv_memory_read_count(engine);

    let_go(&gate);
    wait_for(s, ROWS);
    for (int i = 0; i < ROWS; i++)
        CHECK_OK(s[i].write.result);

    /* One fetch of all of them, of which 8 MiB make a group, and then 8 MiB each. */
    CHECK_INT(metrics().groups, 1 + (ROWS + 7) / 8);
    CHECK_INT(tv_memory_read_count(engine) - reads, (ROWS + 7) / 8);
    sem_destroy(&gate);
}

TEST(lanes_that_are_not_used_any_more_go)
{
    step s = {0};
    int64_t usual = tv_lane_idle_max_ns;

    add(&s, act_put, "pa1", "1");
    tv_outbox_flush(outbox);
    wait_for(&s, 1);
    CHECK_INT(metrics().lanes, 1);
    tv_lane_idle_max_ns = 1;
    WAIT_UNTIL(metrics().lanes == 0);
    tv_lane_idle_max_ns = usual;
}

/* --- ranges that move --- */

TEST(writes_whose_range_was_cut_are_dealt_out_anew)
{
    step held = {0}, s[6] = {0};
    static const char *const keys[] = {"pa2", "qa2", "ra2", "pb2", "qb2", "rb2"};
    sem_t gate;

    hold(&held, &gate, "pa1");
    for (int i = 0; i < 6; i++) {
        add(&s[i], act_insert, keys[i], "1");
        if (i % 2)
            announce(&s[i], keys[i]);
    }
    tv_outbox_flush(outbox);
    cut_at("qr");
    let_go(&gate);
    wait_for(s, 6);
    for (int i = 0; i < 6; i++) {
        t_row = keys[i];
        CHECK_OK(s[i].write.result);
        CHECK_STORED(keys[i], "1");
        CHECK(!s[i].is_undone);
    }
    t_row = "";

    tv_pipeline_metrics now = metrics();

    CHECK(now.moved >= 6);
    CHECK_INT(now.retries, 0); /* it is no conflict */
    CHECK_INT(now.writes, 7);
    CHECK_INT(now.queued, 0);
    sem_destroy(&gate);
}

TEST(a_write_that_never_finds_its_range_is_refused_in_time)
{
    step s = {0}, next = {0};
    int64_t usual = tv_write_wait_max_ns;

    tv_write_wait_max_ns = 20 * INT64_C(1000000);
    tv_memory_fail_writes(engine, 1, UINT64_MAX, TV_ERR_MOVED);
    add(&s, act_put, "pa1", "1");
    tv_outbox_flush(outbox);
    wait_for(&s, 1);
    CHECK(s.write.result == TV_ERR_OVERLOADED || s.write.result == TV_ERR_TIMED_OUT);
    CHECK(s.is_undone);
    tv_write_wait_max_ns = usual;

    tv_memory_fail_writes(engine, 1, 0, TV_OK);
    add(&next, act_put, "pa1", "2");
    tv_outbox_flush(outbox);
    wait_for(&next, 1);
    CHECK_OK(next.write.result);
    CHECK_STORED("pa1", "2");
}

/* --- storage that does not answer --- */

TEST(a_write_that_waits_too_long_is_not_run)
{
    step held = {0}, s[2] = {0};
    int64_t usual = tv_write_wait_max_ns;
    sem_t gate;

    hold(&held, &gate, "pa1");
    tv_write_wait_max_ns = 20 * INT64_C(1000000);
    add(&s[0], act_put, "pa2", "1");
    add(&s[1], act_put, "pb2", "1");
    tv_outbox_flush(outbox);
    wait_for(s, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_ERR(s[i].write.result, TV_ERR_TIMED_OUT);
        CHECK_INT(s[i].runs, 0);
        CHECK(s[i].is_undone);
    }
    CHECK(!held.is_delivered);
    tv_write_wait_max_ns = usual;
    let_go(&gate);
    wait_for(&held, 1);
    CHECK_OK(held.write.result); /* the one under way may yet succeed */
    CHECK_INT(metrics().timed_out, 2);
    CHECK_STORED("pa2", "NOT_FOUND");
    sem_destroy(&gate);
}

/* The engine has waited as long as anybody may: not once more for each member of the group. */
TEST(a_group_that_times_out_is_not_tried_one_by_one)
{
    enum { COUNT = 20 };
    step held = {0}, s[COUNT] = {0};
    uint64_t before;
    sem_t gate;

    hold(&held, &gate, "pa1");
    for (int i = 0; i < COUNT; i++)
        add(&s[i], act_put, "pa2", "1");
    tv_outbox_flush(outbox);
    before = tv_memory_batch_count(engine);
    tv_memory_fail_writes(engine, 2, 1, TV_ERR_TIMED_OUT);
    let_go(&gate);
    wait_for(&held, 1);
    CHECK_OK(held.write.result);
    wait_for(s, COUNT);
    for (int i = 0; i < COUNT; i++) {
        CHECK_ERR(s[i].write.result, TV_ERR_TIMED_OUT);
        CHECK_INT(s[i].runs, 1);
        CHECK(s[i].is_undone); /* what the engine refuses has left nothing */
    }
    CHECK_INT(tv_memory_batch_count(engine) - before, 2);
    CHECK_STORED("pa2", "NOT_FOUND");
    sem_destroy(&gate);
}

static int64_t seen_deadline_ns[2];

static tv_err act_see_deadline(tv_txn *txn, step *s)
{
    seen_deadline_ns[s->value[0] - '0'] = tv_deadline();
    return act_put(txn, s);
}

/* Its time begins when it comes, not when its group does; and ends with nobody's else. */
TEST(a_write_has_one_deadline_wherever_it_waits)
{
    step held = {0}, s[2] = {0};
    int64_t second = INT64_C(1000000000);
    uint64_t before;
    sem_t gate;

    hold(&held, &gate, "pa1");
    before = tv_memory_batch_count(engine);
    add(&s[0], act_see_deadline, "pa2", "0");
    tv_outbox_flush(outbox);

    int64_t first_ns = tv_clock_mono_ns();

    tv_clock_skip_ns(20 * second);
    add(&s[1], act_see_deadline, "pa3", "1");
    tv_outbox_flush(outbox);

    int64_t second_ns = tv_clock_mono_ns();

    let_go(&gate);
    wait_for(&held, 1);
    wait_for(s, 2);
    CHECK_OK(s[0].write.result);
    CHECK_OK(s[1].write.result);
    CHECK(seen_deadline_ns[0] && seen_deadline_ns[0] <= first_ns + tv_write_wait_max_ns);
    CHECK(seen_deadline_ns[1] > second_ns + tv_write_wait_max_ns - second);
    CHECK_INT(tv_memory_batch_count(engine) - before, 3); /* they are not of an age */
    CHECK_INT(tv_deadline(), 0);
    sem_destroy(&gate);
}

/* Those that were taken out of their lane with it, and make a group of their own. */
TEST(what_has_waited_too_long_behind_a_group_is_not_run)
{
    enum { COUNT = 200 }; /* more than are fetched at once at first */
    step held = {0}, s[COUNT] = {0};
    int64_t usual = tv_write_wait_max_ns;
    sem_t gate, second;
    int run = 0;

    hold(&held, &gate, "pa1");
    sem_init(&second, 0, 0);
    s[0].gate = &second;
    for (int i = 0; i < COUNT; i++)
        add(&s[i], act_put, "pa2", "1");
    tv_outbox_flush(outbox);
    let_go(&gate);
    sem_wait(&entered);
    tv_write_wait_max_ns = 1;
    let_go(&second);
    wait_for(&held, 1);
    wait_for(s, COUNT);
    tv_write_wait_max_ns = usual;
    for (int i = 0; i < COUNT; i++) {
        CHECK_ERR(s[i].write.result, s[i].runs ? TV_OK : TV_ERR_TIMED_OUT);
        CHECK_INT(s[i].is_undone, s[i].runs == 0);
        run += s[i].runs;
    }
    CHECK(run > 0 && run < COUNT);
    CHECK_INT(metrics().timed_out, COUNT - run);
    sem_destroy(&second);
    sem_destroy(&gate);
}

TEST(invariant_12_an_unknown_outcome_concerns_one_batch)
{
    step lost = {0}, next = {0};

    tv_memory_fail_writes(engine, 1, 1, TV_ERR_IO);
    add(&lost, act_put, "pa1", "1");
    tv_outbox_flush(outbox);
    wait_for(&lost, 1);
    CHECK_ERR(lost.write.result, TV_ERR_IO);
    CHECK(!lost.is_undone);

    add(&next, act_put, "pa1", "2");
    tv_outbox_flush(outbox);
    wait_for(&next, 1);
    CHECK_OK(next.write.result);

    step again = {0};

    tv_memory_fail_writes(engine, 1, 1, TV_ERR_IO);
    add(&again, act_put, "pa1", "3");
    tv_outbox_flush(outbox);
    wait_for(&again, 1);
    CHECK_ERR(again.write.result, TV_ERR_IO);
    CHECK(!again.is_undone); /* it may have been written, whatever was before it */
}

TEST(invariant_9_a_drain_waits_for_all_lanes)
{
    enum { WRITES = 200 };
    static step s[WRITES];
    static char keys[WRITES][8];

    memset(s, 0, sizeof s);
    cut_at("bdfhj");
    tv_memory_set_write_delay(engine, 500);
    for (int i = 0; i < WRITES; i++) {
        snprintf(keys[i], sizeof keys[i], "%c%c%d", 'a' + i % 12, 'a' + i % 7, i);
        add(&s[i], act_insert, keys[i], "1");
        if (i % 5 == 0)
            tv_outbox_flush(outbox);
        if (i % 20 == 0)
            cut_at(i % 40 ? "bdfhj" : "cegik");
    }
    tv_outbox_flush(outbox);
    tv_pipeline_drain(pipeline);
    for (int i = 0; i < WRITES; i++)
        CHECK_STORED(keys[i], "1");
    wait_for(s, WRITES);
}

/* --- what is confirmed --- */

static tv_err read_two(tv_txn *txn, tv_slice *first, tv_slice *second)
{
    tv_err err = tv_txn_get(txn, TV_LIT("pa1"), first);

    if (err)
        return err;
    return tv_txn_get(txn, TV_LIT("pa2"), second);
}

/* Two rows that are always written together; on its first run another node is quicker. */
static tv_err act_compare(tv_txn *txn, step *s)
{
    tv_slice first, second;
    tv_err err = tv_txn_get(txn, TV_LIT("pa1"), &first);

    if (err)
        return err;
    if (s->runs == 1) {
        tv_write_batch batch = {0};

        tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, TV_LIT("pa1"), TV_LIT("new")});
        tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, TV_LIT("pa2"), TV_LIT("new")});
        CHECK_OK(tv_engine_write(other, &batch));
        tv_write_batch_done(&batch);
    }
    err = tv_txn_get(txn, TV_LIT("pa2"), &second);
    if (err)
        return err;
    return tv_slice_eq(first, second) ? TV_ERR_ENTITY_EXISTS : TV_ERR_CORRUPT;
}

TEST(damage_counts_only_when_it_is_confirmed)
{
    step s = {0};

    CHECK_OK(put_directly("pa1", "old"));
    CHECK_OK(put_directly("pa2", "old"));
    add(&s, act_compare, "pa", "");
    tv_outbox_flush(outbox);
    wait_for(&s, 1);
    CHECK_ERR(s.write.result, TV_ERR_ENTITY_EXISTS);
    CHECK_INT(s.runs, 2);
    CHECK_INT(metrics().retries, 1);
}

static tv_err act_read_two(tv_txn *txn, step *s)
{
    tv_slice first, second;

    (void)s;
    return read_two(txn, &first, &second);
}

TEST(what_was_read_in_one_view_needs_no_confirmation)
{
    step apart = {0}, together = {0};

    CHECK_OK(put_directly("pa1", "1"));
    CHECK_OK(put_directly("pa2", "1"));

    uint64_t batches = tv_memory_batch_count(engine);

    add(&apart, act_read_two, "pa", "");
    tv_outbox_flush(outbox);
    wait_for(&apart, 1);
    CHECK_OK(apart.write.result);
    CHECK_INT(tv_memory_batch_count(engine) - batches, 1);

    add(&together, act_read_two, "pa", "");
    announce(&together, "pa1");
    announce(&together, "pa2");
    tv_outbox_flush(outbox);
    wait_for(&together, 1);
    CHECK_OK(together.write.result);
    CHECK_INT(tv_memory_batch_count(engine) - batches, 1);
}

/* The long row is guarded by the other one, so another value of it is no conflict. */
static tv_err act_peek(tv_txn *txn, step *s)
{
    tv_slice guard, text;
    tv_err err = tv_txn_get(txn, TV_LIT("pa1"), &guard);

    if (err == TV_OK)
        err = tv_txn_peek(txn, TV_LIT("pa2"), &text);
    if (err)
        return err;
    CHECK_OK(put_directly("pa2", "changed"));
    tv_txn_put(txn, TV_LIT("pa3"), tv_slice_of(s->value));
    return TV_OK;
}

TEST(a_row_that_was_peeked_at_is_not_compared)
{
    step s = {0};

    CHECK_OK(put_directly("pa1", "1"));
    CHECK_OK(put_directly("pa2", "1"));
    add(&s, act_peek, "pa", "x");
    tv_outbox_flush(outbox);
    wait_for(&s, 1);
    CHECK_OK(s.write.result);
    CHECK_INT(s.runs, 1);
    CHECK_STORED("pa3", "x");
}

/* Rows that were fetched for a write that did not ask for them do not make others conflict. */
static tv_err act_put_beside(tv_txn *txn, step *s)
{
    CHECK_OK(put_directly("pa9", "changed"));
    return act_put(txn, s);
}

TEST(a_row_that_nobody_asked_for_is_not_compared)
{
    step s = {0};

    add(&s, act_put_beside, "pa1", "x");
    announce(&s, "pa9");
    tv_outbox_flush(outbox);
    wait_for(&s, 1);
    CHECK_OK(s.write.result);
    CHECK_INT(s.runs, 1);
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    tv_log_set_level(TV_LOG_OFF);

    const struct CMUnitTest tests[] = {
        ONE(a_range_does_not_wait_for_another),
        ONE(the_writes_of_a_range_are_one_batch),
        ONE(a_row_that_is_expected_to_be_absent_is_not_read),
        ONE(a_row_that_was_taken_for_absent_and_is_there_stays),
        ONE(nobody_else_is_told_what_was_only_guessed),
        ONE(guesses_rest_when_they_are_often_wrong),
        ONE(a_group_ends_when_it_has_many_rows),
        ONE(large_rows_are_fetched_a_few_at_a_time),
        ONE(lanes_that_are_not_used_any_more_go),
        ONE(writes_whose_range_was_cut_are_dealt_out_anew),
        ONE(a_write_that_never_finds_its_range_is_refused_in_time),
        ONE(a_write_that_waits_too_long_is_not_run),
        ONE(a_group_that_times_out_is_not_tried_one_by_one),
        ONE(a_write_has_one_deadline_wherever_it_waits),
        ONE(what_has_waited_too_long_behind_a_group_is_not_run),
        ONE(invariant_12_an_unknown_outcome_concerns_one_batch),
        ONE(invariant_9_a_drain_waits_for_all_lanes),
        ONE(damage_counts_only_when_it_is_confirmed),
        ONE(what_was_read_in_one_view_needs_no_confirmation),
        ONE(a_row_that_was_peeked_at_is_not_compared),
        ONE(a_row_that_nobody_asked_for_is_not_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
