/*
 * The contract of engine.h.  Every engine passes all of it; an engine's own
 * promises (files, formats, faults) have tests of their own beside this file.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "fixture.h"
#include "rados_fixture.h"
#include "seed.h"
#include "store/engine/instant.h"
#include "store/engine/key.h"

typedef struct subject {
    const char *name;
    tv_engine *(*open)(const char *dir);
    bool survives_close;
    void (*after_close)(void); /* or NULL */
} subject;

typedef struct fixture {
    const subject *subject;
    tv_engine *engine;
    char dir[64];
} fixture;

static tv_engine *open_memory(const char *dir)
{
    (void)dir;
    return tv_memory_engine_new(NULL);
}

static tv_engine *open_shared_memory(const char *dir)
{
    (void)dir;
    return tv_memory_engine_new(&(tv_memory_options){.is_shared = true});
}

/* Small pages, so that every longer scan needs several. */
static tv_engine *open_ranged_memory(const char *dir)
{
    (void)dir;
    return tv_memory_engine_new(&(tv_memory_options){.has_ranges = true, .page_rows = 3});
}

/* What one case writes at once, [a, m) or [n, \xFF), stays in one range. */
static tv_engine *open_cut_memory(const char *dir)
{
    const tv_slice cuts[] = {TV_LIT("a"), TV_LIT("m"), TV_LIT("n")};
    tv_engine *engine = open_ranged_memory(dir);

    tv_memory_set_cuts(engine, cuts, 3);
    return engine;
}

static const subject subjects[] = {
    {"memory", open_memory, false, NULL},
    {"shared memory", open_shared_memory, false, NULL},
    {"memory with a range", open_ranged_memory, false, NULL},
    {"memory with four ranges", open_cut_memory, false, NULL},
    {"rocksdb", open_rocksdb, true, NULL},
    {"rados of 1 range", open_rados_1, true, close_rados_pool},
    {"rados of 5 ranges", open_rados_5, true, close_rados_pool},
    {"rados of 20 ranges", open_rados_20, true, close_rados_pool},
};

static int set_up(void **state)
{
    fixture *f = tv_calloc(1, sizeof *f);

    f->subject = *state;
    make_folder(f->dir);
    f->engine = f->subject->open(f->dir);
    *state = f;
    return 0;
}

static void close_subject(fixture *f)
{
    tv_engine_close(f->engine);
    if (f->subject->after_close)
        f->subject->after_close();
}

static int tear_down(void **state)
{
    fixture *f = *state;

    close_subject(f);
    remove_folder(f->dir);
    free(f);
    return 0;
}

/* Close and open again, where the engine keeps its rows over that. */
static void reopen(fixture *f)
{
    if (!f->subject->survives_close)
        return;

    close_subject(f);
    f->engine = f->subject->open(f->dir);
}

#define CASE(name) static void name(fixture *f)

CASE(a_row_is_read_as_it_was_written)
{
    CHECK_ROW(f->engine, "k", "-");
    CHECK_OK(WRITE(f->engine, put("k", "v1")));
    CHECK_ROW(f->engine, "k", "v1");
    CHECK_OK(WRITE(f->engine, put("k", "v2")));
    CHECK_ROW(f->engine, "k", "v2");
    CHECK_OK(WRITE(f->engine, del("k")));
    CHECK_ROW(f->engine, "k", "-");
}

CASE(deleting_what_is_not_there_is_no_error)
{
    CHECK_OK(WRITE(f->engine, del("nothing")));
}

CASE(an_empty_value_is_not_an_absent_row)
{
    CHECK_OK(WRITE(f->engine, put("k", "")));
    CHECK_ROW(f->engine, "k", "");
}

CASE(values_may_hold_any_byte)
{
    char bytes[256];
    tv_slice got;
    tv_arena arena;

    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    tv_arena_init(&arena);
    CHECK_OK(WRITE(f->engine, {TV_CHANGE_PUT, TV_LIT("k"), {bytes, sizeof bytes}}));
    CHECK_OK(tv_engine_get(f->engine, TV_READ_ANY, TV_LIT("k"), &arena, &got));
    CHECK_SLICE(got, ((tv_slice){bytes, sizeof bytes}));
    tv_arena_done(&arena);
}

CASE(keys_sort_as_unsigned_bytes)
{
    CHECK_OK(WRITE(f->engine, put("q", "3"), put("\xFE", "5"), put("p", "1"), put("pq", "2"),
                   put("\x7F", "4")));
    CHECK_SCAN(f->engine, "n", "\xFF", "p=1 pq=2 q=3 \x7F=4 \xFE=5 ");
}

CASE(a_scan_keeps_to_its_bounds)
{
    tv_iter *iter;

    CHECK_OK(WRITE(f->engine, put("a", "1"), put("b", "2"), put("c", "3"), put("d", "4")));
    CHECK_SCAN(f->engine, "b", "d", "b=2 c=3 ");
    CHECK_SCAN(f->engine, "aa", "bb", "b=2 ");
    CHECK_SCAN(f->engine, "b", "b", "");
    CHECK_SCAN(f->engine, "c", "b", "");
    CHECK_SCAN(f->engine, "x", "z", "");

    CHECK_OK(tv_engine_iter(f->engine, TV_LIT("b"), TV_LIT("d"), &iter));
    CHECK_TEXT(tv_slice_of(rest_of(iter, "a")), "b=2 c=3 ");
    CHECK_TEXT(tv_slice_of(rest_of(iter, "c")), "c=3 ");
    CHECK_TEXT(tv_slice_of(rest_of(iter, "d")), "");
    CHECK_TEXT(tv_slice_of(rest_of(iter, "b")), "b=2 c=3 ");
    tv_iter_free(iter);
}

CASE(an_iterator_stands_nowhere_before_its_first_seek)
{
    tv_iter *iter;

    CHECK_OK(WRITE(f->engine, put("a", "1")));
    CHECK_OK(tv_engine_iter(f->engine, TV_LIT("a"), TV_LIT("b"), &iter));
    CHECK(!tv_iter_is_valid(iter));
    CHECK_OK(tv_iter_status(iter));
    tv_iter_free(iter);
}

CASE(an_iterator_is_a_snapshot)
{
    tv_iter *iter;

    if (!f->engine->ops->has_snapshots)
        return;

    CHECK_OK(WRITE(f->engine, put("a", "1"), put("b", "1"), put("c", "1")));
    CHECK_OK(tv_engine_iter(f->engine, TV_LIT("a"), TV_LIT("l"), &iter));
    CHECK_OK(WRITE(f->engine, put("a", "2"), del("b"), put("d", "2")));
    CHECK_TEXT(tv_slice_of(rest_of(iter, "a")), "a=1 b=1 c=1 ");
    tv_iter_free(iter);
    CHECK_SCAN(f->engine, "a", "l", "a=2 c=1 d=2 ");
}

CASE(an_iterator_meets_what_is_there_all_the_time_once)
{
    enum { ROWS = 3000 };
    tv_write_batch batch = {0};
    tv_arena arena;
    tv_iter *iter;
    int met = 0;

    tv_arena_init(&arena);
    for (int i = 0; i < ROWS; i++)
        tv_write_batch_add(
            &batch, (tv_change){TV_CHANGE_PUT, tv_arena_printf(&arena, "g%05d", i), TV_LIT("1")});
    CHECK_OK(write_changes(f->engine, batch.changes, batch.count));
    tv_write_batch_done(&batch);

    CHECK_OK(tv_engine_iter(f->engine, TV_LIT("g"), TV_LIT("h"), &iter));
    tv_iter_seek(iter, TV_LIT("g"));
    for (; tv_iter_is_valid(iter); tv_iter_next(iter)) {
        tv_slice key = tv_iter_key(iter);
        char other[16];

        if (key.len != 6)
            continue; /* one that came meanwhile */
        CHECK_SLICE(key, tv_arena_printf(&arena, "g%05d", met));
        met++;
        if (met % 100 == 0) {
            snprintf(other, sizeof other, "g%05dx", met - 50);
            CHECK_OK(WRITE(f->engine, put(other, "2")));
            snprintf(other, sizeof other, "g%05dx", met + 50);
            CHECK_OK(WRITE(f->engine, put(other, "2")));
        }
    }
    CHECK_OK(tv_iter_status(iter));
    CHECK_INT(met, ROWS);
    tv_iter_free(iter);
    tv_arena_done(&arena);
}

/* --- what engines over shared storage have --- */

CASE(rows_that_are_read_together_are_of_one_view)
{
    const tv_slice keys[] = {TV_LIT("b"), TV_LIT("nothing"), TV_LIT("a"), TV_LIT("e")};
    const tv_slice near[] = {TV_LIT("b"), TV_LIT("c"), TV_LIT("a"), TV_LIT("e")};
    tv_slice values[4];
    tv_arena arena;

    if (f->engine->ops->get_many == NULL)
        return;

    CHECK_OK(WRITE(f->engine, put("a", "1"), put("b", "2"), put("e", "")));
    tv_arena_init(&arena);
    CHECK_OK(f->engine->ops->get_many(f->engine, near, 4, &arena, values));
    CHECK_TEXT(values[0], "2");
    CHECK(values[1].data == NULL);
    CHECK_TEXT(values[2], "1");
    CHECK(values[3].data != NULL && values[3].len == 0);

    /* Far apart they may be of two ranges; then a write of them is refused as well. */
    tv_err err = f->engine->ops->get_many(f->engine, keys, 4, &arena, values);

    CHECK(err == TV_OK || err == TV_ERR_MOVED);
    const tv_change far_apart[] = {put("b", "3"), put("nothing", "3")};

    CHECK_ERR(write_batch(f->engine, far_apart, 2), err);
    CHECK_ROW(f->engine, "b", err ? "2" : "3");
    CHECK(err == TV_OK || f->engine->ops->range_of(f->engine, TV_LIT("b")) !=
                              f->engine->ops->range_of(f->engine, TV_LIT("nothing")));
    tv_arena_done(&arena);
}

static void note_wake(void *ctx)
{
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static void take_read(tv_mail *mail)
{
    ((tv_engine_read *)mail)->next = NULL;
    mail->deliver = NULL; /* it has come */
}

CASE(a_read_that_does_not_wait_is_answered_by_mail)
{
    static const char *const names[] = {"a", "none", "e"};
    static const char *const want[] = {"1", "-", ""};
    tv_engine_read reads[3];
    tv_arena arenas[3];
    tv_mailbox box;
    atomic_int wakes = 0;

    if (f->engine->ops->read == NULL)
        return;

    CHECK_OK(WRITE(f->engine, put("a", "1"), put("e", "")));
    tv_mailbox_init(&box, note_wake, &wakes);
    for (int i = 0; i < 3; i++) {
        tv_arena_init(&arenas[i]);
        reads[i] = (tv_engine_read){.mail.deliver = take_read,
                                    .reply_to = &box,
                                    .key = tv_slice_of(names[i]),
                                    .arena = &arenas[i]};
        f->engine->ops->read(f->engine, &reads[i]);
    }
    while (reads[0].mail.deliver || reads[1].mail.deliver || reads[2].mail.deliver) {
        usleep(100);
        tv_mailbox_deliver(&box);
    }
    for (int i = 0; i < 3; i++) {
        if (want[i][0] == '-')
            CHECK_ERR(reads[i].result, TV_ERR_NOT_FOUND);
        else
            CHECK_OK(reads[i].result);
        if (want[i][0] != '-')
            CHECK_TEXT(reads[i].value, want[i]);
        tv_arena_done(&arenas[i]);
    }
    tv_mailbox_done(&box);
}

static tv_err write_stamped(tv_engine *engine, const char *key, int64_t stamp)
{
    tv_write_batch batch = {0};

    tv_write_batch_add(&batch, put(key, "1"));
    batch.stamp = stamp;
    tv_err err = tv_engine_write(engine, &batch);
    tv_write_batch_done(&batch);
    return err;
}

CASE(an_instant_that_is_not_later_is_refused_and_the_next_ones_are_later)
{
    int64_t early = tv_instant_next(), late = tv_instant_next();

    if (f->engine->ops->range_of == NULL)
        return;

    CHECK_OK(write_stamped(f->engine, "a", late));
    CHECK_ERR(write_stamped(f->engine, "b", late), TV_ERR_CONFLICT);
    CHECK_ERR(write_stamped(f->engine, "b", early), TV_ERR_CONFLICT);
    CHECK_OK(write_stamped(f->engine, "c", 0));
    CHECK_SCAN(f->engine, "a", "l", "a=1 c=1 ");

    /* As if another node, whose clock is ahead, had written here. */
    CHECK_OK(write_stamped(f->engine, "a", late + TV_TICKS_PER_SECOND));
    CHECK_ERR(write_stamped(f->engine, "b", tv_instant_next()), TV_ERR_CONFLICT);
    CHECK_OK(write_stamped(f->engine, "b", tv_instant_next()));
}

/* Or two batches could give one row the same instant. */
CASE(the_first_instant_of_a_batch_is_later_than_the_last_of_every_other)
{
    int64_t now = tv_instant_next();
    tv_write_batch batch = {.first_stamp = now + 50, .stamp = now + 150};

    if (f->engine->ops->range_of == NULL)
        return;

    tv_write_batch_add(&batch, put("b", "1"));
    CHECK_OK(write_stamped(f->engine, "a", now + 100));
    CHECK_ERR(tv_engine_write(f->engine, &batch), TV_ERR_CONFLICT);
    batch.first_stamp = now + 101;
    CHECK_OK(tv_engine_write(f->engine, &batch));
    CHECK_ERR(write_stamped(f->engine, "a", now + 150), TV_ERR_CONFLICT);
    tv_write_batch_done(&batch);
}

CASE(changes_to_one_key_apply_in_order)
{
    CHECK_OK(WRITE(f->engine, put("a", "1"), del("a"), put("b", "1"), put("b", "2"), put("c", "1"),
                   del("c"), put("c", "3")));
    CHECK_SCAN(f->engine, "a", "l", "b=2 c=3 ");
}

CASE(expectations_that_hold_let_a_batch_through)
{
    CHECK_OK(WRITE(f->engine, put("a", "1")));
    CHECK_OK(WRITE(f->engine, expect("a", "1"), expect_absent("b"), put("a", "2"), put("b", "2")));
    CHECK_SCAN(f->engine, "a", "l", "a=2 b=2 ");
}

CASE(an_expectation_that_fails_stops_the_whole_batch)
{
    CHECK_OK(WRITE(f->engine, put("a", "1")));
    CHECK_ERR(WRITE(f->engine, put("b", "2"), expect("a", "other")), TV_ERR_CONFLICT);
    CHECK_ERR(WRITE(f->engine, put("b", "2"), expect("a", "")), TV_ERR_CONFLICT);
    CHECK_ERR(WRITE(f->engine, put("b", "2"), expect("c", "1")), TV_ERR_CONFLICT);
    CHECK_ERR(WRITE(f->engine, put("b", "2"), expect_absent("a")), TV_ERR_CONFLICT);
    CHECK_ERR(WRITE(f->engine, put("b", "2"), expect_absent("d"), expect_absent("a")),
              TV_ERR_CONFLICT);
    CHECK_SCAN(f->engine, "a", "l", "a=1 ");
}

CASE(expectations_are_tested_before_all_changes)
{
    CHECK_ERR(WRITE(f->engine, put("a", "1"), expect("a", "1")), TV_ERR_CONFLICT);
    CHECK_OK(WRITE(f->engine, put("a", "1"), expect_absent("a")));
    CHECK_ROW(f->engine, "a", "1");
}

CASE(a_batch_of_expectations_alone_writes_nothing)
{
    CHECK_OK(WRITE(f->engine, expect_absent("a")));
    CHECK_ERR(WRITE(f->engine, expect("a", "1")), TV_ERR_CONFLICT);
    CHECK_SCAN(f->engine, "a", "l", "");
}

CASE(a_dropped_range_is_gone_and_its_neighbours_are_not)
{
    CHECK_OK(WRITE(f->engine, put("a", "1"), put("b", "1"), put("bz", "1"), put("c", "1")));
    CHECK_OK(tv_engine_drop_range(f->engine, TV_LIT("b"), TV_LIT("c")));
    CHECK_SCAN(f->engine, "a", "l", "a=1 c=1 ");
    CHECK_ROW(f->engine, "b", "-");
    CHECK_ROW(f->engine, "c", "1");
    CHECK_OK(tv_engine_drop_range(f->engine, TV_LIT("b"), TV_LIT("c")));
    CHECK_OK(tv_engine_drop_range(f->engine, TV_LIT("c"), TV_LIT("a")));
    CHECK_OK(WRITE(f->engine, put("b", "2")));
    reopen(f);
    CHECK_SCAN(f->engine, "a", "l", "a=1 b=2 c=1 ");
}

/* The end of a range is not part of it, even when it is the last key of a table file. */
CASE(dropping_spares_the_end_of_the_range_after_a_reopen)
{
    CHECK_OK(WRITE(f->engine, put("b", "1"), put("b1", "1"), put("c", "1")));
    reopen(f);
    CHECK_OK(tv_engine_drop_range(f->engine, TV_LIT("b"), TV_LIT("c")));
    CHECK_SCAN(f->engine, "a", "l", "c=1 ");
    reopen(f);
    CHECK_SCAN(f->engine, "a", "l", "c=1 ");
}

CASE(an_iterator_opened_after_a_drop_does_not_see_it)
{
    tv_iter *around;

    CHECK_OK(WRITE(f->engine, put("a", "1"), put("b", "1"), put("c", "1")));
    CHECK_OK(tv_engine_iter(f->engine, TV_LIT("a"), TV_LIT("l"), &around));
    CHECK_OK(tv_engine_drop_range(f->engine, TV_LIT("b"), TV_LIT("c")));
    CHECK_SCAN(f->engine, "a", "l", "a=1 c=1 ");

    /* An older one may or may not see the dropped rows, but gives the others. */
    const char *text = rest_of(around, "a");

    CHECK(strstr(text, "a=1 ") && strstr(text, "c=1 "));
    tv_iter_free(around);
}

CASE(a_dropped_range_of_many_rows_stays_dropped)
{
    enum { ROWS = 20000 };
    tv_write_batch batch = {0};
    tv_arena arena;

    tv_arena_init(&arena);
    for (int i = 0; i < ROWS; i++)
        tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, tv_arena_printf(&arena, "g%06d", i),
                                               TV_LIT("some value of a row")});
    CHECK_OK(write_changes(f->engine, batch.changes, batch.count));
    tv_write_batch_done(&batch);
    tv_arena_done(&arena);
    CHECK_OK(WRITE(f->engine, put("f", "1"), put("h", "1")));
    reopen(f);
    CHECK_ROW(f->engine, "g012345", "some value of a row");
    CHECK_OK(tv_engine_drop_range(f->engine, TV_LIT("g"), TV_LIT("h")));
    CHECK_SCAN(f->engine, "a", "l", "f=1 h=1 ");
    reopen(f);
    CHECK_SCAN(f->engine, "a", "l", "f=1 h=1 ");
}

CASE(a_value_of_a_mebibyte_and_the_longest_key)
{
    static char value[1 << 20];
    char key[TV_KEY_BYTES_MAX];
    tv_slice got;
    tv_arena arena;

    for (size_t i = 0; i < sizeof value; i++)
        value[i] = (char)(i * 31 >> 3);
    memset(key, 'k', sizeof key);
    tv_arena_init(&arena);
    CHECK_OK(
        WRITE(f->engine, {TV_CHANGE_PUT, {key, sizeof key}, {value, sizeof value}}, put("k", "1")));
    reopen(f);
    CHECK_OK(tv_engine_get(f->engine, TV_READ_ANY, (tv_slice){key, sizeof key}, &arena, &got));
    CHECK(got.len == sizeof value && memcmp(got.data, value, sizeof value) == 0);
    CHECK_ROW(f->engine, "k", "1");
    tv_arena_done(&arena);
}

CASE(a_cached_read_answers_or_says_that_it_would_block)
{
    tv_arena arena;
    tv_slice value;
    tv_err err;

    CHECK_OK(WRITE(f->engine, put("k", "v")));
    reopen(f);
    tv_arena_init(&arena);
    err = tv_engine_get(f->engine, TV_READ_CACHED, TV_LIT("k"), &arena, &value);
    CHECK(err == TV_OK || err == TV_ERR_WOULD_BLOCK);
    CHECK_ROW(f->engine, "k", "v");
    err = tv_engine_get(f->engine, TV_READ_CACHED, TV_LIT("k"), &arena, &value);
    if (f->engine->ops->read == NULL)
        CHECK_OK(err); /* it was just read */
    else
        CHECK(err == TV_OK || err == TV_ERR_WOULD_BLOCK);
    if (err == TV_OK)
        CHECK_TEXT(value, "v");
    tv_arena_done(&arena);
}

CASE(what_was_written_is_there_after_a_reopen)
{
    CHECK_OK(WRITE(f->engine, put("a", "1"), put("b", "1")));
    CHECK_OK(WRITE(f->engine, del("a"), put("c", "1")));
    reopen(f);
    CHECK_SCAN(f->engine, "a", "l", "b=1 c=1 ");
    reopen(f);
    CHECK_SCAN(f->engine, "a", "l", "b=1 c=1 ");
}

CASE(a_sound_engine_checks_out_and_reports_metrics)
{
    CHECK_OK(tv_engine_check(f->engine));
}

static void count_figure(void *ctx, const char *name, const char *help, double value)
{
    CHECK(name[0] && help[0] && value >= 0);
    ++*(int *)ctx;
}

CASE(metrics_have_names_and_help)
{
    int count = 0;

    f->engine->ops->metrics(f->engine, count_figure, &count);
    CHECK(count > 0);
}

/* A model: random batches against an array, compared by scans and gets. */
CASE(random_batches_leave_what_a_model_says)
{
    enum { KEYS = 40, ROUNDS = 600 };
    char model[KEYS][16] = {{0}}, key[KEYS][8];

    seed_start();
    for (int i = 0; i < KEYS; i++)
        snprintf(key[i], sizeof key[i], "k%02d", i);
    for (int round = 0; round < ROUNDS; round++) {
        tv_change changes[8];
        char values[8][16];
        size_t count = 1 + seed_below(8);

        if (seed_below(40) == 0) {
            size_t from = seed_below(KEYS), to = seed_below(KEYS);

            CHECK_OK(tv_engine_drop_range(f->engine, tv_slice_of(key[from]), tv_slice_of(key[to])));
            for (size_t i = from; i < to; i++)
                model[i][0] = '\0';
        }
        for (size_t i = 0; i < count; i++) {
            size_t k = seed_below(KEYS);

            if (seed_below(3) == 0) {
                changes[i] = del(key[k]);
                model[k][0] = '\0';
            } else {
                snprintf(values[i], sizeof values[i], "%d.%zu", round, i);
                changes[i] = put(key[k], values[i]);
                memcpy(model[k], values[i], sizeof values[i]);
            }
        }
        CHECK_OK(write_changes(f->engine, changes, count));
        if (round % 100 == 50)
            reopen(f);
        if (round % 10)
            continue;

        char want[2048];
        size_t len = 0, from = seed_below(KEYS), to = seed_below(KEYS);

        want[0] = '\0';
        for (size_t i = from; i < to; i++) {
            if (model[i][0])
                len += (size_t)snprintf(want + len, sizeof want - len, "%s=%s ", key[i], model[i]);
            CHECK_ROW(f->engine, key[i], model[i][0] ? model[i] : "-");
        }
        CHECK_SCAN(f->engine, key[from], key[to], want);
    }
}

/*
 * Two rows are always written together with one value: no reader may ever find
 * them apart, neither by a scan nor by two gets in the order of time.
 */
typedef struct pair_test {
    tv_engine *engine;
    atomic_bool stop;
    atomic_int torn, reads;
} pair_test;

static void *read_pairs(void *arg)
{
    pair_test *test = arg;
    tv_arena arena;

    tv_arena_init(&arena);
    while (!atomic_load(&test->stop)) {
        tv_iter *iter;
        tv_slice first = TV_NONE, second = TV_NONE;

        if (tv_engine_iter(test->engine, TV_LIT("p"), TV_LIT("q"), &iter) != TV_OK)
            break;
        tv_iter_seek(iter, TV_LIT("p"));
        if (tv_iter_is_valid(iter)) {
            first = tv_arena_dup(&arena, tv_iter_value(iter));
            tv_iter_next(iter);
        }
        if (tv_iter_is_valid(iter))
            second = tv_arena_dup(&arena, tv_iter_value(iter));
        tv_iter_free(iter);
        if (!tv_slice_eq(first, second))
            atomic_fetch_add(&test->torn, 1);
        atomic_fetch_add(&test->reads, 1);
        tv_arena_reset(&arena);
    }
    tv_arena_done(&arena);
    return NULL;
}

static void *write_pairs(void *arg)
{
    pair_test *test = arg;

    for (int i = 0; i < 300; i++) {
        char value[16];

        snprintf(value, sizeof value, "%06d", i);
        if (WRITE(test->engine, put("p1", value), put("p2", value)) != TV_OK)
            atomic_fetch_add(&test->torn, 1);
    }
    return NULL;
}

CASE(a_batch_is_seen_whole_or_not_at_all)
{
    pair_test test = {.engine = f->engine};
    pthread_t readers[2], writers[2];

    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&readers[i], NULL, read_pairs, &test) == 0);
        CHECK(pthread_create(&writers[i], NULL, write_pairs, &test) == 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(writers[i], NULL);
    atomic_store(&test.stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    CHECK_INT(atomic_load(&test.torn), 0);
    CHECK(atomic_load(&test.reads) > 0);
}

/* Compare-and-set from two threads loses no increment: an expectation and its write are one. */
static void *increment(void *arg)
{
    tv_engine *engine = arg;

    for (int done = 0; done < 100;) {
        const char *old;
        char before[32], after[32];
        tv_arena arena;
        tv_slice value;

        tv_arena_init(&arena);
        if (tv_engine_get(engine, TV_READ_ANY, TV_LIT("n"), &arena, &value) != TV_OK)
            value = TV_LIT("0");
        snprintf(before, sizeof before, "%.*s", TV_FMT(value));
        tv_arena_done(&arena);
        old = before;
        snprintf(after, sizeof after, "%ld", strtol(before, NULL, 10) + 1);
        tv_err err = WRITE(engine, expect("n", old), put("n", after));
        if (err == TV_OK)
            done++;
        else if (err != TV_ERR_CONFLICT)
            break;
    }
    return NULL;
}

CASE(expectations_and_their_write_are_one_step)
{
    pthread_t threads[3];

    CHECK_OK(WRITE(f->engine, put("n", "0")));
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, increment, f->engine) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK_ROW(f->engine, "n", "300");
}

typedef struct contract_case {
    const char *name;
    void (*run)(fixture *f);
} contract_case;

#define NAMED(name)                                                                                \
    {                                                                                              \
#name, name                                                                                \
    }

static const contract_case cases[] = {
    NAMED(a_row_is_read_as_it_was_written),
    NAMED(deleting_what_is_not_there_is_no_error),
    NAMED(an_empty_value_is_not_an_absent_row),
    NAMED(values_may_hold_any_byte),
    NAMED(keys_sort_as_unsigned_bytes),
    NAMED(a_scan_keeps_to_its_bounds),
    NAMED(an_iterator_stands_nowhere_before_its_first_seek),
    NAMED(an_iterator_is_a_snapshot),
    NAMED(an_iterator_meets_what_is_there_all_the_time_once),
    NAMED(rows_that_are_read_together_are_of_one_view),
    NAMED(a_read_that_does_not_wait_is_answered_by_mail),
    NAMED(an_instant_that_is_not_later_is_refused_and_the_next_ones_are_later),
    NAMED(the_first_instant_of_a_batch_is_later_than_the_last_of_every_other),
    NAMED(changes_to_one_key_apply_in_order),
    NAMED(expectations_that_hold_let_a_batch_through),
    NAMED(an_expectation_that_fails_stops_the_whole_batch),
    NAMED(expectations_are_tested_before_all_changes),
    NAMED(a_batch_of_expectations_alone_writes_nothing),
    NAMED(a_dropped_range_is_gone_and_its_neighbours_are_not),
    NAMED(dropping_spares_the_end_of_the_range_after_a_reopen),
    NAMED(an_iterator_opened_after_a_drop_does_not_see_it),
    NAMED(a_dropped_range_of_many_rows_stays_dropped),
    NAMED(a_value_of_a_mebibyte_and_the_longest_key),
    NAMED(a_cached_read_answers_or_says_that_it_would_block),
    NAMED(what_was_written_is_there_after_a_reopen),
    NAMED(a_sound_engine_checks_out_and_reports_metrics),
    NAMED(metrics_have_names_and_help),
    NAMED(random_batches_leave_what_a_model_says),
    NAMED(a_batch_is_seen_whole_or_not_at_all),
    NAMED(expectations_and_their_write_are_one_step),
};

enum {
    CASE_COUNT = sizeof cases / sizeof *cases,
    SUBJECT_COUNT = sizeof subjects / sizeof *subjects
};

/* cmocka gives a test no argument but its state, so the case to run is in the running number. */
static size_t running;

static void run_case(void **state)
{
    fixture *f = *state;
    const contract_case *c = &cases[running++ % CASE_COUNT];

    t_row = f->subject->name;
    c->run(f);
}

/* $TAVOLA_TEST_SUBJECT names the only one to test: on a real cluster each takes its time. */
int main(void)
{
    static struct CMUnitTest tests[CASE_COUNT * SUBJECT_COUNT];
    static char names[CASE_COUNT * SUBJECT_COUNT][128];
    const char *only = getenv("TAVOLA_TEST_SUBJECT");
    size_t count = 0;

    for (size_t i = 0; i < CASE_COUNT * SUBJECT_COUNT; i++) {
        const subject *s = &subjects[i / CASE_COUNT];

        if (only && strcmp(only, s->name) != 0)
            continue;
        snprintf(names[i], sizeof names[i], "%s: %s", s->name, cases[i % CASE_COUNT].name);
        tests[count++] =
            (struct CMUnitTest){names[i], run_case, set_up, tear_down, (void *)(uintptr_t)s};
    }
    if (count == 0) {
        fprintf(stderr, "there is no subject '%s'\n", only);
        return 1;
    }
    int failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);

    rados_drop_cluster();
    return failed;
}
