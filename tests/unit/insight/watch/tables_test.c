/* Which tables the recorder keeps when there are more than it has room for. */
#include "fixture.h"

enum { ROOM = 512, CHURN = 10000 }; /* with 8 MiB */

static int set_up_small(void **state)
{
    (void)state;
    tv_arena_init(&arena);
    watch = tv_watch_new(&(tv_watch_options){
        .shard_count = 2, .samples_all = true, .is_clock_manual = true, .memory_mb = 8});
    conn = (struct tv_watch_conn){0};
    return 0;
}

#define SMALL(name) cmocka_unit_test_setup_teardown(name, set_up_small, tear_down)

static uint32_t number_of(const char *name)
{
    return tv_watch_table(watch, TV_LIT("acct"), tv_slice_of(name), 0);
}

static uint32_t number_at(const char *stem, int i)
{
    char name[32];

    snprintf(name, sizeof name, "%s%d", stem, i);
    return number_of(name);
}

/* One read, and one query, of the table with this number. */
static void use(uint32_t number)
{
    tv_watch_event query;

    table = number;
    get("p", "r");
    query = query_of("Email eq 'x'", 3, 10, 1);
    record(&query);
}

static const tv_evidence_table *evidence_of(const char *name)
{
    tv_evidence *evidence;

    tv_watch_fold(watch);
    CHECK_OK(tv_watch_take(watch, &arena, NULL, &evidence));
    for (size_t i = 0; i < evidence->table_count; i++) {
        if (tv_slice_eq(evidence->tables[i].name, tv_slice_of(name)))
            return &evidence->tables[i];
    }
    return NULL;
}

static uint64_t requests_of(const char *name)
{
    const tv_evidence_table *of = evidence_of(name);

    return of ? of->requests : 0;
}

/* ---------------------------------------------------------------------------------------------- */

TEST(tables_that_come_and_go_are_all_recorded)
{
    uint32_t busy = number_of("Busy");

    for (int i = 0; i < CHURN; i++) {
        uint32_t number = number_at("Gone", i);

        CHECK(number != 0);
        use(number);
        use(busy);
        tv_watch_drop_table(watch, number, 0);
        pass(10 * MS);
        if (i % 16 == 0) {
            tv_watch_fold(watch);
            CHECK(tv_watch_read_usage(watch).tables <= ROOM);
            CHECK(tv_watch_read_usage(watch).shapes <= ROOM);
        }
    }
    tv_watch_fold(watch);
    CHECK_INT(tv_watch_read_usage(watch).tables, ROOM);
    CHECK_INT(tv_watch_read_usage(watch).forgotten, CHURN + 1 - ROOM);
    CHECK(tv_watch_has_table(watch, busy));
    CHECK_INT(requests_of("Busy"), 2 * CHURN);
    CHECK_INT(requests_of("Gone9999"), 2);
    CHECK(shape_named(evidence_of("Gone9999"), "Email eq ?s")->executions == 1);
    CHECK_INT(requests_of("Gone0"), 0);
}

TEST(a_dropped_table_leaves_before_a_silent_one)
{
    uint32_t silent = number_of("Silent"), dropped;

    use(silent);
    pass(10 * SECOND);
    dropped = number_of("Dropped");
    use(dropped);
    tv_watch_drop_table(watch, dropped, 0);
    for (int i = 0; i < ROOM - 1; i++) {
        pass(MS);
        use(number_at("T", i));
    }
    tv_watch_fold(watch);
    CHECK(!tv_watch_has_table(watch, dropped));
    CHECK(tv_watch_has_table(watch, silent));

    /* A dropped table is there again when its name is used again, and not the first to go. */
    pass(MS);
    tv_watch_drop_table(watch, number_at("T", ROOM - 2), 0);
    pass(MS);
    use(number_at("T", ROOM - 2));
    tv_watch_fold(watch);
    use(number_of("One"));
    tv_watch_fold(watch);
    CHECK(!tv_watch_has_table(watch, silent));
    CHECK_INT(requests_of("T510"), 4);
}

TEST(what_an_old_number_is_told_is_nobodys)
{
    uint32_t old = number_of("Old"), again, heir = 0;

    use(old);
    for (int i = 0; i < ROOM + 1; i++) {
        uint32_t number;

        pass(MS);
        number = number_at("T", i);
        if (tv_watch_place(number) == tv_watch_place(old))
            heir = number;
        use(number);
        tv_watch_fold(watch);
    }
    CHECK(!tv_watch_has_table(watch, old));
    CHECK(heir != 0 && heir != old);
    use(old);
    tv_watch_fold(watch);
    CHECK_INT(requests_of("Old"), 0);
    CHECK_INT(requests_of("T512"), 2);
    CHECK_INT(tv_watch_read_usage(watch).requests, 2 * (ROOM + 2));

    pass(MS);
    again = number_of("Old");
    CHECK(again != old);
    use(again);
    CHECK_INT(requests_of("Old"), 2);
}

TEST(more_tables_at_once_than_there_is_room_wait_for_the_next_fold)
{
    int known = 0;

    for (int i = 0; i < 2 * ROOM; i++)
        known += number_at("T", i) != 0;
    CHECK(known >= ROOM && known < 2 * ROOM);
    CHECK_INT(number_at("T", 2 * ROOM - 1), 0);
    tv_watch_fold(watch);
    CHECK_INT(tv_watch_read_usage(watch).tables, ROOM);
    CHECK(number_at("T", 2 * ROOM - 1) != 0);
}

/* Inserts into, reads of, queries of and conflicts in the tables of an account, as one has them. */
static void use_much(const char *account, int count)
{
    for (int i = 0; i < count; i++) {
        char name[32];

        snprintf(name, sizeof name, "T%d", i);
        table = tv_watch_table(watch, tv_slice_of(account), tv_slice_of(name), 0);
        if (table == 0) { /* so many have come since the last fold */
            tv_watch_fold(watch);
            table = tv_watch_table(watch, tv_slice_of(account), tv_slice_of(name), 0);
        }
        for (int j = 0; j < 10; j++) {
            char row[16];

            snprintf(row, sizeof row, "r%d", j);
            insert(row, row);
            touch(TV_ENTITY_OP_UPDATE_ENTITY, row, row, TV_WATCH_CONFLICT, 412);
        }
        use(table);
        tv_arena_reset(&arena);
        if (i % 16 == 0)
            tv_watch_fold(watch);
    }
    tv_watch_fold(watch);
}

static size_t tables_of(const char *account)
{
    tv_evidence *evidence;
    size_t count = 0;

    CHECK_OK(tv_watch_take(watch, &arena, NULL, &evidence));
    for (size_t i = 0; i < evidence->table_count; i++)
        count += tv_slice_eq(evidence->tables[i].account, tv_slice_of(account));
    return count;
}

TEST(what_is_kept_stays_within_the_budget_and_one_account_costs_no_other_its_tables)
{
    size_t few;

    use_much("small", 20);
    few = tables_of("small");
    CHECK_INT(few, 20);
    for (int round = 0; round < 3; round++) {
        use_much("large", 400);
        pass(SECOND);
        tv_watch_fold(watch); /* what has come since is counted, and makes room */
        CHECK(tv_watch_read_usage(watch).bytes <= tv_watch_read_usage(watch).bytes_max);
        CHECK_INT(tv_watch_read_usage(watch).bytes_max, 8 << 20);
        CHECK_INT(tables_of("small"), 20);
        CHECK(tables_of("large") > 20);
    }
    /* The first of them was silent for longest, and is still recorded when it comes again. */
    use_much("small", 20);
    CHECK_INT(tables_of("small"), 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SMALL(tables_that_come_and_go_are_all_recorded),
        SMALL(a_dropped_table_leaves_before_a_silent_one),
        SMALL(what_an_old_number_is_told_is_nobodys),
        SMALL(more_tables_at_once_than_there_is_room_wait_for_the_next_fold),
        SMALL(what_is_kept_stays_within_the_budget_and_one_account_costs_no_other_its_tables),
    };

    (void)set_up;
    (void)judged;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
