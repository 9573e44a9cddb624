/*
 * Instants in a range: they grow whatever the clocks of nodes say, and what may be late overtakes.
 */
#include "base/clock.h"
#include "store/engine/instant.h"
#include "store/engine/key.h"
#include "store/engine/txn.h"
#include "two_nodes.h"

static void raise_level(int64_t level)
{
    CHECK_OK(tv_route_raise_level(pool, level));
    CHECK_OK(tv_maps_refresh(tv_rados_maps(engine)));
    CHECK_OK(tv_maps_refresh(tv_rados_maps(other)));
}

/* A store whose nodes all know that writes may be late. */
static int set_up_late(void **state)
{
    set_up(state);
    raise_level(TV_ROUTE_LEVEL_LATE);
    return 0;
}

/* And that guarded ones may: those of queues. */
static int set_up_guarded(void **state)
{
    set_up(state);
    raise_level(TV_ROUTE_LEVEL_GUARDED);
    return 0;
}

static int set_up_guarded_blobs(void **state)
{
    set_up(state);
    raise_level(TV_ROUTE_LEVEL_GUARDED_BLOBS);
    return 0;
}

static tv_err write_stamped(tv_engine *by, int64_t stamp, tv_change change)
{
    tv_write_batch batch = {.stamp = stamp};

    tv_write_batch_add(&batch, change);
    tv_err err = tv_engine_write(by, &batch);
    tv_write_batch_done(&batch);
    return err;
}

TEST(instants_grow_in_a_range_whatever_the_clocks_say)
{
    int64_t ahead = tv_instant_next() + 5 * TV_TICKS_PER_SECOND;

    CHECK_OK(write_stamped(other, ahead, put("a", "1")));
    CHECK_ERR(write_stamped(engine, ahead, put("a", "2")), TV_ERR_CONFLICT);
    CHECK_ERR(write_stamped(engine, ahead - 1, put("b", "2")), TV_ERR_CONFLICT);
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 2);
    CHECK_INT(metric(engine, "rados_conflicts_total"), 0);
    CHECK(tv_instant_next() > ahead);
    CHECK_OK(write_stamped(engine, tv_instant_next(), put("a", "3")));
    /* Other ranges have clocks of their own, and what writes nothing needs none. */
    CHECK_OK(write_stamped(engine, ahead - 1, put("h", "1")));
    CHECK_OK(write_stamped(engine, 1, expect("a", "3")));
    CHECK_OK(WRITE(engine, put("a", "4")));
}

/* Writes that may be late: rows that hold their instants. */
enum { MS = TV_TICKS_PER_SECOND / 1000 };

static tv_err write_late(tv_engine *by, int64_t stamp, tv_change expected, tv_change change,
                         int64_t gone)
{
    tv_write_batch batch = {.stamp = stamp, .may_be_late = true, .gone = gone};

    tv_write_batch_add(&batch, expected);
    tv_write_batch_add(&batch, change);
    tv_err err = tv_engine_write(by, &batch);
    tv_write_batch_done(&batch);
    return err;
}

static tv_err insert_late(tv_engine *by, int64_t stamp, const char *key)
{
    return write_late(by, stamp, expect_absent(key), put(key, "x"), 0);
}

static tv_err update_late(tv_engine *by, int64_t stamp, const char *key)
{
    return write_late(by, stamp, expect(key, "x"), put(key, "x"), 0);
}

/* Both nodes have been here: they know that the range's clock is at least the later of these. */
static int64_t both_begin(void)
{
    int64_t begin = tv_instant_next() + 1000 * MS;

    CHECK_OK(insert_late(engine, begin - 1, "a1"));
    CHECK_OK(insert_late(other, begin, "a2"));
    return begin;
}

TEST(writes_of_different_rows_overtake_each_other)
{
    int64_t begin = both_begin();

    CHECK_OK(insert_late(other, begin + 200 * MS, "b"));
    CHECK_OK(insert_late(engine, begin + 100 * MS, "c"));
    CHECK_OK(update_late(engine, begin + 101 * MS, "b"));
    CHECK_OK(update_late(other, begin + 50 * MS, "b"));
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 0);
    CHECK_INT(metric(other, "rados_clock_refusals_total"), 0);
    /* What goes by the order of instants is not late, and nothing is behind it. */
    CHECK_ERR(write_stamped(engine, begin, put("d", "1")), TV_ERR_CONFLICT);
    CHECK_OK(write_stamped(engine, begin + 1, put("d", "1")));
}

TEST(a_write_is_late_by_less_than_a_second)
{
    int64_t begin = both_begin(), ahead = begin + TV_INSTANT_LATE_RAISE;

    /* The latest that the range need not remember. */
    CHECK_OK(insert_late(other, ahead, "b"));
    CHECK_ERR(insert_late(engine, begin - TV_INSTANT_LATE_MAX, "c"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(engine, begin - TV_INSTANT_LATE_MAX + 1, "c"));
    CHECK_OK(insert_late(other, ahead + 1, "d"));
    CHECK_ERR(insert_late(engine, ahead + 1 - TV_INSTANT_LATE_MAX, "e"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(engine, ahead + 2 - TV_INSTANT_LATE_MAX, "e"));
}

TEST(a_row_is_not_put_at_an_earlier_instant_than_one_had_that_is_gone)
{
    int64_t begin = both_begin(), had = begin + 200 * MS;

    CHECK_OK(insert_late(other, had, "e"));
    CHECK_OK(write_late(other, had + 1, expect("e", "x"), del("e"), had));
    CHECK_ERR(insert_late(engine, had - 1, "e"), TV_ERR_CONFLICT);
    CHECK_ERR(insert_late(engine, had, "e"), TV_ERR_CONFLICT);
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 2);
    CHECK(tv_instant_next() > had);
    /* Rows that are there are nobody else's. */
    CHECK_OK(update_late(engine, begin + 1, "a2"));
    CHECK_OK(insert_late(engine, had + 2, "e"));

    /* A later delete of an earlier row. */
    CHECK_OK(write_late(engine, had + 3, expect("e", "x"), del("e"), had + 2));
    CHECK_OK(write_late(other, had - 1, expect("a2", "x"), del("a2"), begin + 1));
    CHECK_ERR(insert_late(other, had + 2, "e"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(other, had + 3, "e"));
}

TEST(deletes_of_several_nodes_do_not_hold_each_other_up)
{
    int64_t begin = both_begin();

    tv_rados_of(other)->slot = 1;
    tv_rados_of(engine)->slot = 2;
    CHECK_OK(insert_late(other, begin + 100 * MS, "b"));
    CHECK_OK(insert_late(other, begin + 110 * MS, "c"));
    CHECK_OK(write_late(other, begin + 200 * MS, expect("c", "x"), del("c"), begin + 110 * MS));
    CHECK_OK(write_late(engine, begin + 150 * MS, expect("b", "x"), del("b"), begin + 100 * MS));
    CHECK_OK(insert_late(engine, begin + 120 * MS, "b"));
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 0);
    CHECK_INT(metric(other, "rados_clock_refusals_total"), 0);

    /* Nodes that set the same attribute do, once: then they set others. */
    tv_rados_of(other)->slot = tv_rados_of(engine)->slot;
    CHECK_OK(insert_late(other, begin + 201 * MS, "c"));
    CHECK_OK(insert_late(other, begin + 202 * MS, "d"));
    CHECK_OK(write_late(engine, begin + 203 * MS, expect("d", "x"), del("d"), begin + 202 * MS));
    CHECK_OK(write_late(other, begin + 204 * MS, expect("c", "x"), del("c"), begin + 201 * MS));
    CHECK_INT(metric(other, "rados_clock_refusals_total"), 1);
    CHECK(tv_rados_of(other)->slot != tv_rados_of(engine)->slot);
}

TEST(what_is_gone_goes_with_the_rows)
{
    const tv_range_changer changer = {.pool = other_pool, .incarnation = TV_LIT("")};
    int64_t begin = both_begin(), had = begin + 200 * MS;
    tv_range_result result;

    CHECK_OK(insert_late(other, had, "e"));
    CHECK_OK(write_late(other, had + 1, expect("e", "x"), del("e"), had));
    CHECK_OK(tv_range_split(&changer, TV_LIT("d"), TV_LIT("test"), &result));
    CHECK_ERR(insert_late(engine, had, "e"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(engine, had + 1, "e"));
    CHECK_OK(write_late(engine, had + 2, expect("e", "x"), del("e"), had + 1));
    CHECK_OK(tv_range_merge(&changer, TV_LIT("d"), TV_LIT("test"), &result));
    CHECK_ERR(insert_late(other, had + 1, "e"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(other, had + 2, "e"));
}

/* Whether the range knows of something that is gone. */
static bool knows_of_gone(const char *object)
{
    tv_pool_step is_none[TV_RANGE_SLOTS];

    for (size_t i = 0; i < TV_RANGE_SLOTS; i++)
        is_none[i] = (tv_pool_step){TV_POOL_ATTR_IS, tv_range_gones[i], TV_LIT("")};
    return tv_pool_change_now(other_pool, object, is_none, TV_RANGE_SLOTS, NULL) == TV_ERR_CONFLICT;
}

TEST(a_delete_of_an_old_row_holds_nobody_up)
{
    int64_t begin = both_begin(), later = begin + TV_INSTANT_LATE_MAX + TV_INSTANT_LATE_RAISE;

    CHECK_OK(insert_late(other, begin + 100 * MS, "e"));
    CHECK_OK(write_late(other, later + 100 * MS, expect("e", "x"), del("e"), begin + 100 * MS));
    CHECK(!knows_of_gone("tv.R.1"));
    CHECK_OK(insert_late(engine, later, "e"));
    CHECK_OK(write_late(other, later + 200 * MS, expect("e", "x"), del("e"), later));
    CHECK(knows_of_gone("tv.R.1"));
}

TEST(nodes_that_set_the_clock_do_not_hold_each_other_up)
{
    int64_t begin = both_begin();

    tv_rados_of(other)->slot = 1;
    tv_rados_of(engine)->slot = 2;
    CHECK_OK(insert_late(other, begin + 400 * MS, "b"));
    CHECK_OK(insert_late(engine, begin + 399 * MS, "c"));
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 0);
    /* All of them count. */
    CHECK_ERR(write_stamped(engine, begin + 400 * MS, put("d", "1")), TV_ERR_CONFLICT);
    CHECK_ERR(write_stamped(other, begin + 400 * MS, put("d", "1")), TV_ERR_CONFLICT);
    CHECK_ERR(insert_late(engine, begin + 400 * MS - TV_INSTANT_LATE_MAX, "d"), TV_ERR_CONFLICT);

    /* Those that set the same one do, once, and it goes on without. */
    tv_rados_of(engine)->slot = 1;
    CHECK_OK(insert_late(other, begin + 800 * MS, "e"));
    CHECK_OK(insert_late(engine, begin + 799 * MS, "f"));
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 3);
    CHECK(tv_rados_of(engine)->slot != 1);
}

TEST(nothing_is_late_where_nodes_may_not_know_of_it)
{
    int64_t begin = both_begin();

    CHECK_OK(insert_late(other, begin + 2, "b"));
    CHECK_ERR(insert_late(engine, begin + 1, "c"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(engine, begin + 3, "c"));
    CHECK_OK(write_late(engine, begin + 4, expect("c", "x"), del("c"), begin + 3));
    CHECK(knows_of_gone("tv.R.1"));
    /* Nor does a delete of an earlier row wait for ever. */
    CHECK_OK(write_late(engine, begin + 5, expect("a2", "x"), del("a2"), begin));
    tv_rados_of(other)->slot = tv_rados_of(engine)->slot;
    CHECK_ERR(write_late(other, begin + 6, expect("b", "x"), del("b"), begin + 2), TV_ERR_CONFLICT);
    CHECK_OK(write_late(other, begin + 6, expect("b", "x"), del("b"), begin + 2));
}

/* --- guarded writes: rows that hold no instants, and one that is compared for them --- */

/* The guard is put as it was: what it says is up to its author. */
static tv_err write_guarded_by(tv_guard kind, tv_engine *by, int64_t stamp, const char *guard,
                               const char *key)
{
    tv_write_batch batch = {.stamp = stamp, .may_be_late = true, .guard = kind};

    tv_write_batch_add(&batch, expect(guard, "x"));
    tv_write_batch_add(&batch, put(guard, "x"));
    tv_write_batch_add(&batch, put(key, "y"));
    tv_err err = tv_engine_write(by, &batch);
    tv_write_batch_done(&batch);
    return err;
}

static tv_err write_guarded(tv_engine *by, int64_t stamp, const char *guard, const char *key)
{
    return write_guarded_by(TV_GUARD_OF_QUEUES, by, stamp, guard, key);
}

/* Each node has a guard here, "ga" and "gb", and the range's clock is the instant that is returned.
 */
static int64_t both_guard(void)
{
    int64_t begin = both_begin();

    tv_rados_of(engine)->slot = 1;
    tv_rados_of(other)->slot = 2;
    CHECK_OK(write_stamped(engine, begin + 1, put("ga", "x")));
    CHECK_OK(write_stamped(other, begin + 2, put("gb", "x")));
    return begin + 2;
}

TEST(guarded_writes_overtake_each_other)
{
    int64_t begin = both_guard();

    CHECK_OK(write_guarded(other, begin + 200 * MS, "gb", "b"));
    CHECK_OK(write_guarded(engine, begin + 100 * MS, "ga", "c"));
    CHECK_OK(write_guarded(engine, begin + 50 * MS, "gb", "b"));
    CHECK_INT(metric(engine, "rados_clock_refusals_total"), 0);
    CHECK_INT(metric(other, "rados_clock_refusals_total"), 0);
    CHECK_ERR(write_guarded(engine, begin - TV_INSTANT_LATE_MAX, "ga", "d"), TV_ERR_CONFLICT);
    /* The guard is compared. */
    CHECK_OK(WRITE(other, put("ga", "other")));
    CHECK_ERR(write_guarded(engine, begin + 300 * MS, "ga", "d"), TV_ERR_CONFLICT);
    CHECK_ROW(other, "d", "-");
}

TEST(guarded_writes_are_not_late_where_nodes_may_keep_no_guard)
{
    int64_t begin = both_guard();

    CHECK_OK(write_guarded(other, begin + 200 * MS, "gb", "b"));
    CHECK_ERR(write_guarded(engine, begin + 100 * MS, "ga", "c"), TV_ERR_CONFLICT);
    CHECK_OK(insert_late(engine, begin + 100 * MS, "c"));
    CHECK_OK(write_guarded(engine, begin + 201 * MS, "ga", "c"));
}

TEST(guarded_writes_are_behind_all_that_nodes_without_guards_have_put)
{
    int64_t begin = both_guard();

    CHECK_OK(write_stamped(other, begin + 500 * MS, put("gb", "x"))); /* one of them, the last */
    raise_level(TV_ROUTE_LEVEL_GUARDED);
    CHECK_OK(insert_late(engine, begin + 400 * MS, "c"));
    CHECK_ERR(write_guarded(engine, begin + 400 * MS, "gb", "b"), TV_ERR_CONFLICT);
    CHECK(tv_instant_next() > begin + 500 * MS);
    CHECK_ERR(write_guarded(engine, begin + 500 * MS, "gb", "b"), TV_ERR_CONFLICT);

    CHECK_OK(write_guarded(other, begin + 600 * MS, "gb", "b"));
    CHECK_OK(write_guarded(engine, begin + 501 * MS, "gb", "b"));
    /* It was not refused, so it begins with its own instant. */
    CHECK_ERR(write_guarded(other, begin + 600 * MS, "gb", "b"), TV_ERR_CONFLICT);
    CHECK_OK(write_guarded(other, begin + 601 * MS, "gb", "b"));
    CHECK_OK(write_guarded(engine, begin + 600 * MS, "gb", "b"));
}

TEST(each_kind_of_guard_begins_when_all_nodes_keep_it)
{
    int64_t begin = both_guard();

    CHECK_OK(write_guarded(engine, begin + 1, "ga", "b"));
    CHECK_OK(write_guarded(other, begin + 2, "gb", "b"));
    CHECK_OK(write_guarded(other, begin + 300 * MS, "gb", "b"));
    CHECK_OK(write_guarded(engine, begin + 100 * MS, "ga", "c"));
    CHECK_ERR(write_guarded_by(TV_GUARD_OF_BLOBS, engine, begin + 101 * MS, "ga", "c"),
              TV_ERR_CONFLICT);

    CHECK_OK(write_stamped(other, begin + 500 * MS, put("gb", "x"))); /* by one that keeps none */
    raise_level(TV_ROUTE_LEVEL_GUARDED_BLOBS);
    CHECK_OK(write_guarded(engine, begin + 400 * MS, "ga", "c"));
    CHECK_ERR(write_guarded_by(TV_GUARD_OF_BLOBS, engine, begin + 401 * MS, "ga", "c"),
              TV_ERR_CONFLICT);
    CHECK_OK(write_guarded(other, begin + 800 * MS, "gb", "b"));
    CHECK_OK(write_guarded_by(TV_GUARD_OF_BLOBS, engine, begin + 501 * MS, "ga", "c"));
}

TEST(a_guard_is_not_put_at_an_earlier_instant_than_one_had_that_is_gone)
{
    int64_t begin = both_guard(), had = begin + 200 * MS;
    tv_write_batch batch = {
        .stamp = had + 1, .may_be_late = true, .guard = TV_GUARD_OF_BLOBS, .gone = had};

    for (int node = 0; node < 2; node++)
        CHECK_OK(write_guarded_by(TV_GUARD_OF_BLOBS, node ? other : engine, begin + 10 + node,
                                  node ? "gb" : "ga", "b"));
    tv_write_batch_add(&batch, expect("gb", "x"));
    tv_write_batch_add(&batch, del("gb"));
    tv_write_batch_add(&batch, del("b"));
    CHECK_OK(tv_engine_write(other, &batch));
    tv_write_batch_done(&batch);

    batch = (tv_write_batch){.stamp = had, .may_be_late = true, .guard = TV_GUARD_OF_BLOBS};
    tv_write_batch_add(&batch, expect_absent("gb"));
    tv_write_batch_add(&batch, put("gb", "x"));
    tv_write_batch_add(&batch, put("b", "y"));
    CHECK_ERR(tv_engine_write(engine, &batch), TV_ERR_CONFLICT);
    batch.stamp = had + 1;
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
}

/* --- groups --- */

/* What each function of a group says, and whether its batch may be late. */
enum { SAYS_LATE = 1, SAYS_GUARDED = 2, SAYS_GUARDED_BLOBS = 4, WRITES = 8, FAILS = 16, BLIND = 32 };
typedef struct speaker {
    const char *key;
    int does;
} speaker;

static tv_err speak(tv_txn *txn, void *ctx)
{
    const speaker *s = ctx;
    tv_slice key = tv_slice_of(s->key), value;

    if (s->does & BLIND) {
        tv_txn_put(txn, key, TV_LIT("y"));
        return TV_OK;
    }

    tv_err err = tv_txn_get(txn, key, &value);

    CHECK(err == TV_OK || err == TV_ERR_NOT_FOUND);
    if (s->does & SAYS_LATE)
        tv_txn_declare_late(txn);
    if (s->does & SAYS_GUARDED)
        tv_txn_declare_guarded(txn, key, TV_GUARD_OF_QUEUES);
    if (s->does & SAYS_GUARDED_BLOBS)
        tv_txn_declare_guarded(txn, key, TV_GUARD_OF_BLOBS);
    if (s->does & WRITES)
        tv_txn_put(txn, key, TV_LIT("x"));
    return s->does & FAILS ? TV_ERR_ENTITY_EXISTS : TV_OK;
}

static void check_groups(int64_t level)
{
    static const struct {
        const char *what;
        speaker all[2];
        int64_t level; /* from which on it may be late; 0: never */
    } rows[] = {
        {"both may", {{"a", SAYS_LATE | WRITES}, {"b", SAYS_LATE | WRITES}}, TV_ROUTE_LEVEL_LATE},
        {"the first may not", {{"a", WRITES}, {"b", SAYS_LATE | WRITES}}, 0},
        {"the second may not", {{"a", SAYS_LATE | WRITES}, {"b", WRITES}}, 0},
        {"who only reads is not asked", {{"a", SAYS_LATE | WRITES}, {"b", 0}}, TV_ROUTE_LEVEL_LATE},
        {"nor who has failed",
         {{"a", SAYS_LATE | WRITES}, {"b", WRITES | FAILS}},
         TV_ROUTE_LEVEL_LATE},
        {"the first is guarded",
         {{"a", SAYS_GUARDED | WRITES}, {"b", SAYS_LATE | WRITES}},
         TV_ROUTE_LEVEL_GUARDED},
        {"the second is guarded",
         {{"a", SAYS_LATE | WRITES}, {"b", SAYS_GUARDED | WRITES}},
         TV_ROUTE_LEVEL_GUARDED},
        {"who is guarded only reads",
         {{"a", SAYS_LATE | WRITES}, {"b", SAYS_GUARDED}},
         TV_ROUTE_LEVEL_LATE},
        {"the later kind of guard counts",
         {{"a", SAYS_GUARDED_BLOBS | WRITES}, {"b", SAYS_GUARDED | WRITES}},
         TV_ROUTE_LEVEL_GUARDED_BLOBS},
        {"whoever comes first",
         {{"a", SAYS_GUARDED | WRITES}, {"b", SAYS_GUARDED_BLOBS | WRITES}},
         TV_ROUTE_LEVEL_GUARDED_BLOBS},
        {"unless it only reads",
         {{"a", SAYS_GUARDED | WRITES}, {"b", SAYS_GUARDED_BLOBS}},
         TV_ROUTE_LEVEL_GUARDED},
        {"the guard was put without a look", {{"a", BLIND}, {"a", SAYS_GUARDED | WRITES}}, 0},
        {"one is guarded and the other may not", {{"a", SAYS_GUARDED | WRITES}, {"b", WRITES}}, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tv_txn *txn = tv_txn_new(engine);

        t_row = rows[i].what;
        tv_txn_begin(txn);
        for (int s = 0; s < 2; s++)
            CHECK(tv_txn_run(txn, tv_slice_of(rows[i].all[s].key), speak,
                             (void *)&rows[i].all[s]) == TV_OK ||
                  rows[i].all[s].does & FAILS);
        /* Another node is faster.  The first group of all learns where the range is. */
        CHECK_OK(write_stamped(other, tv_instant_next(), put("c", "x")));
        tv_err err = tv_txn_commit(txn);

        if (i > 0)
            CHECK_ERR(err, rows[i].level && rows[i].level <= level ? TV_OK : TV_ERR_CONFLICT);
        else
            CHECK_ERR(err, TV_ERR_CONFLICT);
        tv_txn_free(txn);
    }
}

TEST(a_group_may_be_late_when_all_of_it_that_writes_may)
{
    check_groups(TV_ROUTE_LEVEL_LATE);
}

TEST(a_guarded_one_may_where_all_nodes_keep_guards)
{
    check_groups(TV_ROUTE_LEVEL_GUARDED);
}

TEST(those_of_blobs_too_from_the_next_level_on)
{
    check_groups(TV_ROUTE_LEVEL_GUARDED_BLOBS);
}

TEST(what_a_group_writes_after_a_row_that_is_gone_is_later)
{
    tv_txn *txn = tv_txn_new(engine);

    tv_txn_begin(txn);

    int64_t now = tv_txn_now(txn), ahead = now + 900 * MS;

    tv_txn_note_gone(txn, ahead);
    CHECK(tv_txn_stamp(txn) == ahead + 1);
    /* Nobody has written that, and nobody goes by it: nor could one that is a tick later. */
    tv_txn_note_gone(txn, now + 1000 * MS + 1);
    tv_txn_pass(txn, TV_TICKS_MAX);
    CHECK(tv_txn_stamp(txn) == ahead + 2);
    tv_txn_begin(txn);
    CHECK(tv_txn_now(txn) > ahead + 2 && tv_txn_now(txn) < now + 1000 * MS);
    tv_txn_free(txn);
}

/*
 * A node that is 100 ms away from the pool.  Others are near, and one of them has written to the
 * range at the instant at which its change arrives.
 */
enum { FLIGHT_MS = 100, GROUPS = 100 };

static tv_pool_ops far_ops;
static const tv_pool_ops *near_ops;

static void fly(void)
{
    tv_clock_skip_ns(FLIGHT_MS * INT64_C(1000000));
}

/* What it leaves; refused if ours is later. */
static void write_meanwhile(const char *object)
{
    char digits[13];
    tv_slice stamp = {digits, sizeof digits};

    tv_key_put_number(digits, tv_clock_steady_ticks(), sizeof digits);
    const tv_pool_step steps[] = {{TV_POOL_ATTR_BELOW, tv_range_clks[0], stamp},
                                  {TV_POOL_SET_ATTR, tv_range_clks[0], stamp}};
    tv_err err = tv_pool_change_now(other_pool, object, steps, 2, NULL);

    CHECK(err == TV_OK || err == TV_ERR_CONFLICT);
}

static void change_from_far(tv_pool *of, tv_pool_change *change)
{
    fly();
    write_meanwhile(change->object);
    near_ops->change(of, change);
    fly();
}

static void read_from_far(tv_pool *of, tv_pool_read *read)
{
    fly();
    near_ops->read(of, read);
    fly();
}

static bool may_be_late;

static tv_err count_up(tv_txn *txn, void *ctx)
{
    tv_slice value;
    tv_err err = tv_txn_get(txn, TV_LIT("a"), &value);

    if (err && err != TV_ERR_NOT_FOUND)
        return err;
    if (may_be_late)
        tv_txn_declare_late(txn);
    int64_t stamp = tv_txn_stamp(txn);

    *(int64_t *)ctx = stamp - tv_clock_steady_ticks();
    tv_txn_put(txn, TV_LIT("a"), tv_arena_printf(&arena, "%lld", (long long)stamp));
    return TV_OK;
}

static void go_far_away(void)
{
    near_ops = pool->ops;
    far_ops = *near_ops;
    far_ops.change = change_from_far;
    far_ops.read = read_from_far;
    pool->ops = &far_ops;
}

TEST(the_instant_of_a_group_is_later_than_what_it_has_fetched)
{
    tv_slice key = TV_LIT("a");
    tv_txn *txn = tv_txn_new(engine);

    go_far_away();
    tv_txn_begin(txn);
    CHECK(tv_txn_announce(txn, &key, 1, false));
    CHECK_OK(tv_txn_fetch(txn));
    CHECK(tv_txn_now(txn) + TV_TICKS_PER_SECOND / 20 > tv_clock_steady_ticks());
    pool->ops = near_ops;
    tv_txn_free(txn);
}

TEST(a_node_that_is_far_away_is_not_refused_again_and_again)
{
    const int64_t ms = TV_TICKS_PER_SECOND / 1000;
    int64_t ahead = 0;

    go_far_away();
    for (int i = 0; i < GROUPS; i++)
        CHECK_OK(tv_engine_update(engine, TV_LIT("a"), count_up, &ahead));
    pool->ops = near_ops;
    CHECK(metric(engine, "rados_clock_refusals_total") < GROUPS / 10);
    CHECK(ahead < 10 * FLIGHT_MS * ms);
}

TEST(nor_is_one_whose_writes_may_be_late)
{
    may_be_late = true;
    a_node_that_is_far_away_is_not_refused_again_and_again(NULL);
    may_be_late = false;
}

#define CASE_OF(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define LATE(name) cmocka_unit_test_setup_teardown(name, set_up_late, tear_down)
#define GUARDED(name) cmocka_unit_test_setup_teardown(name, set_up_guarded, tear_down)
#define BLOBS(name) cmocka_unit_test_setup_teardown(name, set_up_guarded_blobs, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE_OF(instants_grow_in_a_range_whatever_the_clocks_say),
        LATE(writes_of_different_rows_overtake_each_other),
        LATE(a_write_is_late_by_less_than_a_second),
        LATE(a_row_is_not_put_at_an_earlier_instant_than_one_had_that_is_gone),
        LATE(deletes_of_several_nodes_do_not_hold_each_other_up),
        LATE(what_is_gone_goes_with_the_rows),
        LATE(a_delete_of_an_old_row_holds_nobody_up),
        LATE(nodes_that_set_the_clock_do_not_hold_each_other_up),
        CASE_OF(nothing_is_late_where_nodes_may_not_know_of_it),
        GUARDED(guarded_writes_overtake_each_other),
        LATE(guarded_writes_are_not_late_where_nodes_may_keep_no_guard),
        LATE(guarded_writes_are_behind_all_that_nodes_without_guards_have_put),
        GUARDED(each_kind_of_guard_begins_when_all_nodes_keep_it),
        BLOBS(a_guard_is_not_put_at_an_earlier_instant_than_one_had_that_is_gone),
        LATE(a_group_may_be_late_when_all_of_it_that_writes_may),
        GUARDED(a_guarded_one_may_where_all_nodes_keep_guards),
        BLOBS(those_of_blobs_too_from_the_next_level_on),
        LATE(what_a_group_writes_after_a_row_that_is_gone_is_later),
        CASE_OF(the_instant_of_a_group_is_later_than_what_it_has_fetched),
        CASE_OF(a_node_that_is_far_away_is_not_refused_again_and_again),
        LATE(nor_is_one_whose_writes_may_be_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
