/* What is kept in memory of many tables, and of tables that are gone. */
#include "check.h"
#include "insight/facts/internal.h"
#include "store/commit/waiter.h"
#include "store/engine/key.h"
#include "store/engine/memory/memory.h"
#include "wait.h"

enum { NAMES = TV_FACTS_PROPERTIES_MAX, MANY = 40, CHURN = 10000 };

#define ACCOUNT TV_LIT("acct")

static tv_engine *engine;
static tv_facts *facts;
static tv_pipeline *pipeline;
static tv_waiter waiter;
static tv_arena arena;

/* Each entity has as many properties as are kept of a table. */
static tv_err walk_value(tv_slice value, void (*fn)(void *ctx, const tv_property *property),
                         void *ctx)
{
    char name[32];

    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "%.*sN%d", TV_FMT(value), i);
        fn(ctx, &(tv_property){.name = tv_slice_of(name), .type = TV_EDM_INT32});
    }
    return TV_OK;
}

static const tv_facts_format format = {.walk = walk_value};

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    engine = tv_memory_engine_new(NULL);
    CHECK_OK(tv_facts_upgrade(engine));
    CHECK_OK(tv_facts_open(
        &(tv_facts_options){
            .engine = engine, .format = &format, .committer_count = 1, .round_ms = 1},
        &facts));
    pipeline = tv_pipeline_new_tallied(engine, 1, 4096, tv_facts_tally(facts), facts);
    tv_waiter_init(&waiter, pipeline);
    tv_facts_start(facts, pipeline);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_facts_stop(facts);
    tv_waiter_done(&waiter);
    tv_pipeline_free(pipeline);
    tv_facts_free(facts);
    tv_engine_close(engine);
    tv_arena_done(&arena);
    return 0;
}

static tv_err put(tv_txn *txn, void *ctx)
{
    tv_txn_put(txn, *(tv_slice *)ctx, TV_LIT("v"));
    return TV_OK;
}

static void insert(int64_t id)
{
    tv_slice prefix, key;

    CHECK_OK(tv_key_partition(&arena, ACCOUNT, id, TV_LIT("p"), &prefix));
    CHECK_OK(tv_key_row(&arena, prefix, TV_LIT("r"), &key));
    CHECK_OK(tv_waiter_run(&waiter, &(tv_write){.partition = prefix, .run = put, .ctx = &key}));
}

static size_t properties_of(int64_t id)
{
    tv_facts_table table;

    CHECK_OK(
        tv_facts_take(facts, ACCOUNT, id, TV_FACTS_PROPERTIES, TV_FACTS_WAIT_NS, &arena, &table));
    return table.property_count;
}

static size_t entries(void)
{
    pthread_rwlock_rdlock(&facts->map_lock);

    size_t count = facts->fact_count;

    pthread_rwlock_unlock(&facts->map_lock);
    return count;
}

static void drop(int64_t id)
{
    tv_slice rows = tv_key_table(&arena, ACCOUNT, id);

    CHECK_OK(tv_facts_drop(facts, ACCOUNT, id));
    CHECK_OK(tv_engine_drop_range(engine, rows, tv_key_after(&arena, rows)));
}

/* ---------------------------------------------------------------------------------------------- */

TEST(names_of_properties_are_remembered_up_to_a_limit_and_known_beyond_it)
{
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i <= MANY; i++) {
            if (round == 0)
                insert(i);
            CHECK_INT(properties_of(i), NAMES);
            CHECK(atomic_load(&facts->name_count) <= TV_FACTS_SERVER_NAMES_MAX);
        }
    }
    CHECK_INT(atomic_load(&facts->name_count), TV_FACTS_SERVER_NAMES_MAX);

    /* What is dropped makes room. */
    for (int i = 1; i <= MANY; i++)
        drop(i);
    CHECK_INT(atomic_load(&facts->name_count), 0);
}

TEST(tables_that_come_and_go_leave_nothing_even_when_asked_for_again)
{
    for (int i = 1; i <= CHURN; i++) {
        if (i % 500 == 0) {
            insert(i);
            CHECK_INT(properties_of(i), NAMES);
            drop(i);
        }
        CHECK_INT(properties_of(i), 0); /* by one who has not heard of it yet */
        if (i % 1000 == 0)
            tv_arena_reset(&arena);
    }
    insert(CHURN + 1);
    WAIT_UNTIL((tv_facts_wake(facts), entries() <= 1));
    CHECK_INT(entries(), 1);
    CHECK_INT(tv_facts_count_of(facts, ACCOUNT, CHURN + 1).entities, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            names_of_properties_are_remembered_up_to_a_limit_and_known_beyond_it, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(
            tables_that_come_and_go_leave_nothing_even_when_asked_for_again, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
