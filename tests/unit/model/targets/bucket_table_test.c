/* Buckets by hash. */
#include "model/targets/bucket_table.h"

#include "check.h"

enum { SETS = TV_BUCKET_SLOTS / TV_BUCKET_WAYS, RATE = 1000 };

#define START INT64_C(9000000000)

static tv_bucket_table *table;

static int set_up(__attribute__((unused)) void **state)
{
    table = tv_bucket_table_new();
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_bucket_table_free(table);
    return 0;
}

/* Whether the bucket of `hash` exists and has room; it is charged then. */
static bool take(uint64_t hash, int64_t units, int64_t now)
{
    tv_bucket *bucket = tv_bucket_table_lock(table, hash, now);
    int64_t wait_ns;

    if (bucket == NULL)
        return false;

    bool has_room = tv_bucket_has_room(bucket, now, &wait_ns);

    if (has_room)
        tv_bucket_charge(bucket, RATE, units, now);
    tv_bucket_table_unlock(table, hash);
    return has_room;
}

TEST(each_hash_has_a_bucket_of_its_own)
{
    for (uint64_t hash = 1; hash <= 1000; hash++)
        CHECK(take(hash, RATE + 1, START));
    for (uint64_t hash = 1; hash <= 1000; hash++)
        CHECK(!take(hash, 1, START));
    CHECK_INT(tv_bucket_table_untracked(table), 0);
}

TEST(a_full_set_has_no_bucket_for_the_next)
{
    for (uint64_t way = 1; way <= TV_BUCKET_WAYS; way++)
        CHECK(take(way * SETS, 1, START));
    CHECK(tv_bucket_table_lock(table, 100 * SETS, START) == NULL);
    CHECK_INT(tv_bucket_table_untracked(table), 1);
    /* Other sets, and those that are in this one, are not touched by that. */
    CHECK(take(1, 1, START));
    CHECK(take(SETS, 1, START));
}

TEST(a_bucket_that_is_empty_gives_its_slot_away)
{
    for (uint64_t way = 1; way <= TV_BUCKET_WAYS; way++)
        CHECK(take(way * SETS, way == 3 ? 1 : 1000, START));

    /* After 2 ms what the third was charged is worked off, and nothing else. */
    int64_t later = START + 2000000;

    CHECK(take(100 * SETS, 500, later));
    CHECK(tv_bucket_table_lock(table, 3 * SETS, later) == NULL);
    for (uint64_t way = 1; way <= TV_BUCKET_WAYS; way++) {
        if (way != 3)
            CHECK(take(way * SETS, 0, later));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_hash_has_a_bucket_of_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_set_has_no_bucket_for_the_next, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bucket_that_is_empty_gives_its_slot_away, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests_name("targets/bucket_table", tests, NULL, NULL);
}
