/* Scans within a transaction: the engine's rows under what the group has written. */
#include "../../../engine/fixture.h"
#include "check.h"
#include "seed.h"
#include "store/engine/key.h"
#include "store/engine/txn.h"
#include "test_engine.h"

static tv_engine *engine;
static tv_txn *txn;

static int set_up(void **state)
{
    (void)state;
    engine = test_engine_new(NULL);
    txn = tv_txn_new(engine);
    tv_txn_begin(txn);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tv_txn_free(txn);
    tv_engine_close(engine);
    return 0;
}

/* What a scan from "p" + from to "p" + to gives: "pa=1 pb=2 ". */
static tv_err read_range(tv_txn *in, const char *from, const char *to, char *text, size_t size)
{
    tv_txn_scan scan;
    size_t len = 0;
    tv_err err;

    text[0] = '\0';
    err = tv_txn_scan_begin(in, tv_slice_of(from), tv_slice_of(to), &scan);
    if (err)
        return err;

    while (tv_txn_scan_next(&scan))
        len += (size_t)snprintf(text + len, size - len, "%.*s=%.*s ", TV_FMT(scan.key),
                                TV_FMT(scan.value));
    return tv_txn_scan_end(&scan);
}

/*
 * A script as an update function: "+k=v" puts, "-k" deletes, "[from,to" scans
 * and keeps what it saw, "!" fails.
 */
static char seen[4096];

static tv_err run_script(tv_txn *in, void *ctx)
{
    tv_slice rest = tv_slice_of(ctx), step;

    while (tv_slice_next(&rest, ' ', &step)) {
        size_t equals = tv_slice_find(step, '='), comma = tv_slice_find(step, ',');
        tv_slice key = tv_slice_skip(tv_slice_take(step, equals), 1);
        char from[16], to[16];
        tv_err err;

        switch (step.data[0]) {
        case '+':
            tv_txn_put(in, key, tv_slice_skip(step, equals + 1));
            break;
        case '-':
            tv_txn_delete(in, key);
            break;
        case '[':
            snprintf(from, sizeof from, "%.*s", (int)comma - 1, step.data + 1);
            snprintf(to, sizeof to, "%.*s", (int)(step.len - comma - 1), step.data + comma + 1);
            err = read_range(in, from, to, seen, sizeof seen);
            if (err)
                return err;
            break;
        default:
            return TV_ERR_INVALID_INPUT;
        }
    }
    return TV_OK;
}

static tv_err run(const char *script)
{
    return tv_txn_run(txn, TV_LIT("p"), run_script, (void *)(uintptr_t)script);
}

static void store(const char *script)
{
    CHECK_OK(tv_engine_update(engine, TV_LIT("p"), run_script, (void *)(uintptr_t)script));
}

#define CHECK_SEEN(script, want)                                                                   \
    do {                                                                                           \
        CHECK_OK(run(script));                                                                     \
        CHECK_TEXT(tv_slice_of(seen), want);                                                       \
    } while (0)

TEST(an_empty_range_gives_nothing)
{
    CHECK_SEEN("[p,q", "");
    store("+pa=1");
    CHECK_SEEN("[pb,q", "");
    CHECK_SEEN("[pa,pa", "");
}

TEST(a_range_begins_with_from_and_ends_before_to)
{
    store("+pa=1 +pb=2 +pd=4");
    CHECK_SEEN("+pc=3 +pe=5 [pb,pe", "pb=2 pc=3 pd=4 ");
    CHECK_SEEN("[pc,pd", "pc=3 ");
}

TEST(own_puts_and_deletes_hide_stored_rows)
{
    store("+pa=1 +pb=2 +pc=3");
    CHECK_SEEN("+pa=x -pb [p,q", "pa=x pc=3 ");
    CHECK_SEEN("+pb=y -pc -pd [p,q", "pa=x pb=y ");
    CHECK_SEEN("-pa -pb [p,q", "");
}

TEST(writes_after_a_scan_are_in_the_next_one)
{
    CHECK_SEEN("+pm=1 [p,q +pa=2 +pz=3 +pn=4 [p,q", "pa=2 pm=1 pn=4 pz=3 ");
    CHECK_SEEN("+pm=5 -pn [p,q", "pa=2 pm=5 pz=3 ");
}

TEST(what_a_failed_function_wrote_is_not_seen)
{
    store("+pa=1");
    CHECK_OK(run("+pb=2"));
    CHECK_ERR(run("+pa=x +pb=x +pc=x [p,q !"), TV_ERR_INVALID_INPUT);
    CHECK_TEXT(tv_slice_of(seen), "pa=x pb=x pc=x ");
    CHECK_SEEN("[p,q", "pa=1 pb=2 ");
    /* A row that was undone and is written again is there, once. */
    CHECK_SEEN("+pc=3 [p,q", "pa=1 pb=2 pc=3 ");
    CHECK_ERR(run("-pc !"), TV_ERR_INVALID_INPUT);
    CHECK_SEEN("+pd=4 [p,q", "pa=1 pb=2 pc=3 pd=4 ");
}

TEST(a_group_that_begins_anew_sees_only_what_was_committed)
{
    CHECK_SEEN("+pa=1 [p,q", "pa=1 ");
    tv_txn_begin(txn);
    CHECK_SEEN("[p,q", "");
    CHECK_OK(run("+pb=2"));
    CHECK_OK(tv_txn_commit(txn));
    tv_txn_begin(txn);
    CHECK_SEEN("[p,q", "pb=2 ");
}

TEST(rows_of_other_partitions_are_not_met)
{
    CHECK_OK(tv_txn_run(txn, TV_LIT("o"), run_script, (void *)(uintptr_t) "+oz=1"));
    CHECK_OK(tv_txn_run(txn, TV_LIT("q"), run_script, (void *)(uintptr_t) "+qa=1"));
    CHECK_SEEN("+pa=1 [p,q", "pa=1 ");
}

static tv_err scan_two_at_once(tv_txn *in, void *ctx)
{
    tv_txn_scan outer, inner;
    tv_slice value;
    int *pairs = ctx;
    tv_err err;

    err = tv_txn_scan_begin(in, TV_LIT("p"), TV_LIT("q"), &outer);
    if (err)
        return err;
    while (tv_txn_scan_next(&outer)) {
        CHECK_OK(tv_txn_get(in, outer.key, &value));
        CHECK_SLICE(value, outer.value);
        CHECK_OK(tv_txn_scan_begin(in, TV_LIT("p"), TV_LIT("q"), &inner));
        while (tv_txn_scan_next(&inner))
            ++*pairs;
        CHECK_OK(tv_txn_scan_end(&inner));
    }
    return tv_txn_scan_end(&outer);
}

TEST(scans_may_overlap_and_rows_be_read_meanwhile)
{
    int pairs = 0;

    store("+pa=1 +pb=2");
    CHECK_OK(run("+pc=3"));
    CHECK_OK(tv_txn_run(txn, TV_LIT("p"), scan_two_at_once, &pairs));
    CHECK_INT(pairs, 9);
}

/* An engine whose iterators break off after a number of rows. */
static const tv_engine_ops *whole_ops;
static const tv_iter_ops *whole_iter_ops;
static tv_engine_ops broken_ops;
static tv_iter_ops broken_iter_ops;
static int rows_left;

static bool is_valid_until_broken(const tv_iter *iter)
{
    return rows_left > 0 && whole_iter_ops->is_valid(iter);
}

static void next_until_broken(tv_iter *iter)
{
    rows_left--;
    whole_iter_ops->next(iter);
}

static tv_err status_of_broken(const tv_iter *iter)
{
    return rows_left > 0 ? whole_iter_ops->status(iter) : TV_ERR_CORRUPT;
}

static tv_err iter_new_broken(tv_engine *of, tv_slice from, tv_slice to, tv_iter **ret_iter)
{
    tv_err err = whole_ops->iter_new(of, from, to, ret_iter);

    if (err)
        return err;
    if (rows_left < 0)
        return (*ret_iter)->ops->free(*ret_iter), TV_ERR_IO;

    whole_iter_ops = (*ret_iter)->ops;
    broken_iter_ops = *whole_iter_ops;
    broken_iter_ops.is_valid = is_valid_until_broken;
    broken_iter_ops.next = next_until_broken;
    broken_iter_ops.status = status_of_broken;
    (*ret_iter)->ops = &broken_iter_ops;
    return TV_OK;
}

TEST(an_engine_that_breaks_off_is_an_error_and_not_an_end)
{
    store("+pa=1 +pc=3 +pe=5");
    whole_ops = engine->ops;
    broken_ops = *whole_ops;
    broken_ops.iter_new = iter_new_broken;
    engine->ops = &broken_ops;

    rows_left = 4;
    CHECK_SEEN("+pb=2 +pz=9 [p,q", "pa=1 pb=2 pc=3 pe=5 pz=9 ");
    rows_left = 2;
    CHECK_ERR(run("[p,q"), TV_ERR_CORRUPT);
    CHECK_TEXT(tv_slice_of(seen), "pa=1 pb=2 pc=3 "); /* and no pz, which lies beyond the gap */
    rows_left = 0;
    CHECK_ERR(run("[p,q"), TV_ERR_CORRUPT);
    CHECK_TEXT(tv_slice_of(seen), "");
    rows_left = -1;
    CHECK_ERR(run("[p,q"), TV_ERR_IO);
    engine->ops = whole_ops;
}

TEST(a_shared_engine_is_not_told_what_a_scan_met)
{
    tv_txn_free(txn);
    tv_engine_close(engine);
    engine = tv_memory_engine_new(&(tv_memory_options){.is_shared = true});
    txn = tv_txn_new(engine);
    store("+pa=1");
    tv_txn_begin(txn);
    CHECK_SEEN("[p,q +pb=2", "pa=1 ");
    store("+pa=changed +pc=new");
    CHECK_OK(tv_txn_commit(txn));
}

/*
 * Random groups against a sorted array.  A step is a function that writes a
 * few rows, perhaps fails, and scans before and after.
 */
enum { KEYS = 60, STEPS = 1500, VALUE_BYTES = 12 };

typedef struct model {
    char values[KEYS][VALUE_BYTES]; /* "" is no row */
} model;

static struct {
    model stored, group, own;
    bool fails;
} m;

static void key_of(char key[8], uint64_t number)
{
    snprintf(key, 8, "p%02u", (unsigned)number);
}

/* Compare the rows in a random range with the model. */
static void check_range(tv_txn *in, const model *want)
{
    uint64_t from = seed_below(KEYS), to = from + seed_below(KEYS + 1 - from);
    char from_key[8], to_key[8], text[KEYS * 24], want_text[KEYS * 24];
    size_t len = 0;

    key_of(from_key, from);
    key_of(to_key, to);
    want_text[0] = '\0';
    for (uint64_t i = from; i < to; i++) {
        if (want->values[i][0])
            len += (size_t)snprintf(want_text + len, sizeof want_text - len, "p%02u=%s ",
                                    (unsigned)i, want->values[i]);
    }
    CHECK_OK(read_range(in, from_key, to_key, text, sizeof text));
    CHECK_TEXT(tv_slice_of(text), want_text);
}

static tv_err random_function(tv_txn *in, void *ctx)
{
    (void)ctx;
    m.own = m.group;
    for (uint64_t i = seed_below(4); i > 0; i--)
        check_range(in, &m.own);
    for (uint64_t i = seed_below(8); i > 0; i--) {
        uint64_t number = seed_below(KEYS);
        char key[8], *value = m.own.values[number];

        key_of(key, number);
        if (seed_below(3)) {
            snprintf(value, VALUE_BYTES, "%u", (unsigned)seed_below(1000000));
            tv_txn_put(in, tv_slice_of(key), tv_slice_of(value));
        } else {
            value[0] = '\0';
            tv_txn_delete(in, tv_slice_of(key));
        }
        if (seed_below(4) == 0)
            check_range(in, &m.own);
    }
    m.fails = seed_below(4) == 0;
    return m.fails ? TV_ERR_INVALID_INPUT : TV_OK;
}

static void follow_model(tv_engine *over)
{
    tv_txn *group = tv_txn_new(over);

    seed_start();
    memset(&m, 0, sizeof m);
    tv_txn_begin(group);
    for (int i = 0; i < STEPS; i++) {
        tv_err err = tv_txn_run(group, TV_LIT("p"), random_function, NULL);

        CHECK_ERR(err, m.fails ? TV_ERR_INVALID_INPUT : TV_OK);
        if (!m.fails)
            m.group = m.own;
        if (seed_below(20) == 0) {
            if (seed_below(3)) {
                CHECK_OK(tv_txn_commit(group));
                m.stored = m.group;
            }
            m.group = m.stored; /* a group that is given up leaves nothing */
            tv_txn_begin(group);
        }
    }
    tv_txn_free(group);
}

TEST(random_groups_over_memory_agree_with_a_sorted_array)
{
    follow_model(engine);
}

TEST(random_groups_over_rocksdb_agree_with_a_sorted_array)
{
    char dir[64];

    make_folder(dir);
    tv_engine *rocksdb = open_rocksdb(dir);
    follow_model(rocksdb);
    tv_engine_close(rocksdb);
    remove_folder(dir);
}

/* One function of many: a scan, then a few rows in random places. */
static tv_err scan_and_scatter(tv_txn *in, void *ctx)
{
    char key[16];

    (void)ctx;
    CHECK_OK(read_range(in, "p", "p0", seen, sizeof seen));
    for (int i = 0; i < 50; i++) {
        snprintf(key, sizeof key, "p%08u", (unsigned)seed_below(100000000));
        tv_txn_put(in, tv_slice_of(key), TV_LIT("v"));
    }
    return TV_OK;
}

/* Row by row insertion would move thousands of millions of numbers here and be felt. */
TEST(a_thousand_scans_between_many_writes)
{
    size_t count = 0;
    tv_iter *iter;

    seed_start();
    for (int i = 0; i < 1000; i++)
        CHECK_OK(tv_txn_run(txn, TV_LIT("p"), scan_and_scatter, NULL));
    CHECK_OK(tv_txn_commit(txn));

    CHECK_OK(tv_engine_iter(engine, TV_LIT("p"), TV_LIT("q"), &iter));
    for (tv_iter_seek(iter, TV_LIT("p")); tv_iter_is_valid(iter); tv_iter_next(iter))
        count++;
    tv_iter_free(iter);
    CHECK(count > 49000);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(an_empty_range_gives_nothing),
        UNIT(a_range_begins_with_from_and_ends_before_to),
        UNIT(own_puts_and_deletes_hide_stored_rows),
        UNIT(writes_after_a_scan_are_in_the_next_one),
        UNIT(what_a_failed_function_wrote_is_not_seen),
        UNIT(a_group_that_begins_anew_sees_only_what_was_committed),
        UNIT(rows_of_other_partitions_are_not_met),
        UNIT(scans_may_overlap_and_rows_be_read_meanwhile),
        UNIT(an_engine_that_breaks_off_is_an_error_and_not_an_end),
        UNIT(a_shared_engine_is_not_told_what_a_scan_met),
        UNIT(random_groups_over_memory_agree_with_a_sorted_array),
        UNIT(random_groups_over_rocksdb_agree_with_a_sorted_array),
        UNIT(a_thousand_scans_between_many_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
