/* Instants: they grow at the pace of time, also when the clock is set back, also over a restart. */
#include "store/engine/instant.h"

#include "base/number.h"
#include "check.h"
#include "store/engine/key.h"
#include "store/engine/memory/memory.h"
#include "store/engine/txn.h"

#define SECOND TV_TICKS_PER_SECOND

static tv_engine *engine;
static tv_txn *txn;
static char row[] = "pa";

/* Instants never go back in a process, so neither does this, from one test to the next. */
static int64_t ticks = TV_TICKS_UNIX_EPOCH + INT64_C(1767225600) * TV_TICKS_PER_SECOND;

static void set_clock(int64_t to)
{
    ticks = to;
    tv_clock_set_fake_ticks(ticks);
}

/* Let time pass, by both clocks. */
static void pass(int64_t seconds)
{
    tv_clock_pass_fake_ns(seconds * 1000000000);
    set_clock(ticks + seconds * SECOND);
}

static int set_up(void **state)
{
    engine = tv_memory_engine_new(*state ? *state : NULL);
    txn = tv_txn_new(engine);
    tv_txn_keep_time(txn);
    set_clock(tv_instant_now() > ticks + 1000 * SECOND ? tv_instant_now() : ticks + 1000 * SECOND);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tv_txn_free(txn);
    tv_engine_close(engine);
    tv_clock_set_fake_ticks(0);
    return 0;
}

static tv_err put_row(tv_txn *in, void *ctx)
{
    tv_txn_put(in, tv_slice_of(ctx), TV_LIT("v"));
    return TV_OK;
}

static tv_err read_row(tv_txn *in, void *ctx)
{
    tv_slice value;
    tv_err err = tv_txn_get(in, tv_slice_of(ctx), &value);

    return err == TV_ERR_NOT_FOUND ? TV_OK : err;
}

static int64_t write_group(void)
{
    tv_txn_begin(txn);
    CHECK_OK(tv_txn_run(txn, TV_LIT("p"), put_row, row));
    CHECK_OK(tv_txn_commit(txn));
    return tv_txn_now(txn);
}

/* What the store remembers; 0 for nothing. */
static int64_t remembered(void)
{
    int64_t instant = 0;
    tv_arena arena;
    tv_slice value;

    tv_arena_init(&arena);
    if (tv_engine_get(engine, TV_READ_ANY, TV_KEY_TIME, &arena, &value) == TV_OK)
        CHECK_OK(tv_instant_parse(value, &instant));
    tv_arena_done(&arena);
    return instant;
}

TEST(a_second_is_a_second_after_the_clock_was_set_back)
{
    int64_t before = write_group();

    set_clock(ticks - 600 * SECOND);
    int64_t hidden_until = write_group() + SECOND;

    CHECK(hidden_until > before && hidden_until < before + 2 * SECOND);
    CHECK(tv_instant_now() < hidden_until);
    pass(1);
    CHECK(tv_instant_now() >= hidden_until - 1000); /* ticks given out while the clock stood */
    CHECK(write_group() >= hidden_until - 1000);
}

TEST(the_store_remembers_the_time_about_once_a_second)
{
    int64_t first = write_group();

    CHECK_INT(remembered(), first);
    for (int i = 0; i < 100; i++) {
        write_group();
        CHECK_INT(remembered(), first);
    }
    pass(1);
    int64_t second = write_group();

    CHECK_INT(remembered(), second);
}

static tv_err delete_row(tv_txn *in, void *ctx)
{
    tv_txn_declare_freeing(in);
    tv_txn_delete(in, tv_slice_of(ctx));
    return TV_OK;
}

/* The store's time is no reason to refuse what makes room. */
TEST(what_frees_space_goes_through_a_full_disk_with_the_time)
{
    write_group();
    pass(5);
    tv_memory_set_full(engine, true);
    tv_txn_begin(txn);
    CHECK_OK(tv_txn_run(txn, TV_LIT("p"), delete_row, row));
    CHECK_OK(tv_txn_commit(txn));
    CHECK_INT(remembered(), tv_txn_now(txn));

    pass(5);
    tv_txn_begin(txn);
    CHECK_OK(tv_txn_run(txn, TV_LIT("p"), put_row, row));
    CHECK_ERR(tv_txn_commit(txn), TV_ERR_DISK_FULL);
}

TEST(a_group_that_writes_nothing_leaves_the_time_alone)
{
    tv_txn_begin(txn);
    CHECK_OK(tv_txn_run(txn, TV_LIT("p"), read_row, row));
    CHECK_OK(tv_txn_commit(txn));
    CHECK_INT(remembered(), 0);
}

TEST(stamps_of_a_group_are_remembered_too)
{
    write_group();
    tv_txn_begin(txn);
    for (int64_t i = 0; i <= SECOND; i += 1)
        tv_txn_stamp(txn);
    CHECK_OK(tv_txn_run(txn, TV_LIT("p"), put_row, row));
    CHECK_OK(tv_txn_commit(txn));
    CHECK_INT(remembered(), tv_txn_now(txn) + SECOND);
}

/* As a new process would find it: the steady clock has seen nothing but the wall clock. */
static void restart_at(int64_t wall)
{
    tv_clock_set_fake_ticks(0);
    set_clock(wall);
    CHECK_OK(tv_instant_load(engine));
}

TEST(after_a_restart_with_the_clock_back_time_goes_on_from_the_store)
{
    int64_t last = write_group();

    restart_at(last - 600 * SECOND);
    CHECK(tv_instant_now() >= last + SECOND);
    int64_t hidden_until = write_group() + SECOND;

    CHECK(tv_instant_now() < hidden_until);
    pass(1);
    CHECK(tv_instant_now() >= hidden_until - 1000);
    CHECK(tv_clock_lead_ticks() >= 600 * SECOND);
}

TEST(a_quick_restart_does_not_run_ahead_of_the_clock)
{
    for (int i = 0; i < 10; i++) {
        int64_t last = write_group();

        restart_at(ticks + SECOND / 10);
        CHECK(write_group() > last);
        CHECK_INT(tv_clock_lead_ticks(), 0);
        pass(3);
    }
}

/* Another node has written at a later instant than the one that was sent. */
TEST(instants_run_ahead_of_a_clock_that_was_refused_and_ever_less)
{
    const int64_t ms = SECOND / 1000;
    int64_t sent = tv_instant_next();

    tv_instant_follow(sent - SECOND, sent, TV_INSTANT_IN_ROW); /* nothing to follow */
    CHECK(tv_instant_next() < ticks + ms);

    sent = ticks;
    tv_instant_follow(ticks + 5 * ms, sent, TV_INSTANT_IN_ROW);
    CHECK(tv_instant_next() > ticks + 5 * ms);
    pass(1);
    CHECK(tv_instant_now() > ticks + 5 * ms && tv_instant_now() < ticks + 8 * ms);
    CHECK_INT(tv_instant_now(), ticks + tv_instant_lead());
    pass(239);
    CHECK(tv_instant_next() > ticks + 2 * ms && tv_instant_now() < ticks + 4 * ms);
    pass(3600);
    CHECK_INT(tv_instant_next(), ticks);
}

TEST(one_refusal_says_little_and_many_say_it_all)
{
    const int64_t ms = SECOND / 1000;
    int64_t sent = tv_instant_next();

    tv_instant_follow(sent + 900 * ms, sent, 1);
    CHECK(tv_instant_next() > sent + 900 * ms);
    pass(2);
    CHECK(tv_instant_next() < ticks + ms);
    for (unsigned in_row = 1; in_row <= TV_INSTANT_IN_ROW; in_row++) {
        tv_instant_follow(ticks + 900 * ms, tv_instant_now(), in_row);
        pass(2);
    }
    CHECK(tv_instant_now() > ticks + 900 * ms && tv_instant_now() <= ticks + 1200 * ms);

    /* Instants are later than any that was met, but do not run far ahead because of it. */
    for (unsigned in_row = 1; in_row <= 2 * TV_INSTANT_IN_ROW; in_row++) {
        int64_t far = ticks + 60 * SECOND;

        tv_instant_follow(far, ticks, in_row);
        CHECK(tv_instant_next() > far);
    }
    pass(61);
    CHECK(tv_instant_now() <= ticks + TV_INSTANT_LEAD_MAX);
    pass(7200);
}

/* Two nodes that are as quick as each other overtake each other now and then. */
TEST(nodes_that_overtake_each_other_do_not_drive_each_other_ahead)
{
    const int64_t ms = SECOND / 1000;

    for (int i = 0; i < 1000; i++) {
        int64_t sent = tv_instant_next();

        set_clock(ticks + 100 * ms);
        tv_instant_follow(sent + ms, sent, 1);
    }
    CHECK(tv_instant_now() < ticks + 100 * ms);
    pass(7200);
}

/* A clock that is behind by a little is refused now and then only, and there is nothing in a row.
 */
TEST(refusals_by_a_little_add_up)
{
    const int64_t ms = SECOND / 1000;

    for (int i = 0; i < 600; i++) {
        int64_t sent = tv_instant_next();

        if (sent < ticks + 3 * ms)
            tv_instant_follow(ticks + 3 * ms, sent, 1);
        set_clock(ticks + 20 * ms);
    }
    CHECK(tv_instant_now() > ticks + 2 * ms && tv_instant_now() < ticks + 4 * ms);
    pass(7200);
}

/* Instants that went on by ticks would be met by those of another node that does the same. */
TEST(instants_go_on_with_time_from_one_of_the_future)
{
    const int64_t ms = SECOND / 1000;
    int64_t sent = tv_instant_next(), met = ticks + 400 * ms;

    tv_instant_follow(met, sent, 1);
    set_clock(ticks + 100 * ms);

    int64_t next = tv_instant_next();

    CHECK(next > met + 49 * ms && next < met + 51 * ms);
    set_clock(ticks + 900 * ms);
    CHECK(tv_instant_next() < ticks + ms); /* and they are back at the clock */
    pass(7200);
}

static tv_memory_options shared = {.is_shared = true};

/* Two nodes over one storage: the later time stays, and a conflict is not the fault of the writes.
 */
TEST(of_two_writers_the_later_time_is_remembered)
{
    tv_txn *other = tv_txn_new(engine);

    tv_txn_keep_time(other);
    write_group();
    tv_txn_begin(other);
    pass(5);
    int64_t later = write_group();

    CHECK_OK(tv_txn_run(other, TV_LIT("p"), put_row, row));
    CHECK_OK(tv_txn_commit(other));
    CHECK_INT(remembered(), later);
    tv_txn_free(other);
}

TEST(a_time_that_is_none_is_refused)
{
    static const char *const damaged[] = {"", "x", "-1", "12", "9223372036854775808", "1 "};

    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        int64_t instant;

        t_row = damaged[i];
        CHECK_ERR(tv_instant_parse(tv_slice_of(damaged[i]), &instant), TV_ERR_CORRUPT);
    }
}

static void put_time(const char *text)
{
    tv_write_batch batch = {0};

    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, TV_KEY_TIME, tv_slice_of(text)});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
}

TEST(a_clock_that_cannot_be_right_is_not_followed)
{
    int64_t before = write_group(), right = ticks;

    set_clock(TV_INSTANT_MAX + 100 * SECOND);
    pass(5);
    int64_t meanwhile = write_group();

    CHECK(meanwhile > before && meanwhile <= before + 6 * SECOND);
    CHECK(remembered() <= meanwhile);
    set_clock(right + 5 * SECOND);
    CHECK(write_group() > meanwhile);
}

TEST(a_store_that_such_a_clock_has_written_goes_on_by_the_clock)
{
    static const char *const wrong[] = {"1000000000000000001", "9223372036854775807"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_time(wrong[i]);
        CHECK_OK(tv_instant_load(engine));
        tv_txn_free(txn);
        txn = tv_txn_new(engine);
        tv_txn_keep_time(txn);
        pass(2);
        int64_t now = write_group();

        CHECK(now >= ticks && now < ticks + SECOND);
        CHECK_INT(remembered(), now);
    }
}

#define ALONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SHARED(name) cmocka_unit_test_prestate_setup_teardown(name, set_up, tear_down, &shared)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(a_second_is_a_second_after_the_clock_was_set_back),
        ALONE(the_store_remembers_the_time_about_once_a_second),
        ALONE(what_frees_space_goes_through_a_full_disk_with_the_time),
        ALONE(a_group_that_writes_nothing_leaves_the_time_alone),
        ALONE(a_clock_that_cannot_be_right_is_not_followed),
        ALONE(a_store_that_such_a_clock_has_written_goes_on_by_the_clock),
        ALONE(stamps_of_a_group_are_remembered_too),
        ALONE(after_a_restart_with_the_clock_back_time_goes_on_from_the_store),
        ALONE(a_quick_restart_does_not_run_ahead_of_the_clock),
        ALONE(instants_run_ahead_of_a_clock_that_was_refused_and_ever_less),
        ALONE(one_refusal_says_little_and_many_say_it_all),
        ALONE(nodes_that_overtake_each_other_do_not_drive_each_other_ahead),
        ALONE(refusals_by_a_little_add_up),
        ALONE(instants_go_on_with_time_from_one_of_the_future),
        SHARED(of_two_writers_the_later_time_is_remembered),
        cmocka_unit_test(a_time_that_is_none_is_refused),
    };

    return cmocka_run_group_tests_name("engine/instant", tests, NULL, NULL);
}
