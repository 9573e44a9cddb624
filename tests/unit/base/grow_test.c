/* Arrays that double. */
#include "base/grow.h"

#include "check.h"

TEST(an_array_grows_by_doubling_and_keeps_its_items)
{
    size_t count = 0, size = 0;
    int *items = NULL;

    for (int i = 0; i < 1000; i++) {
        tv_grow(&items, count, &size, 3);
        items[count++] = i;
        if (i < 3)
            CHECK_INT(size, 3);
    }
    CHECK_INT(size, 3 * 512);
    for (int i = 0; i < 1000; i++)
        CHECK_INT(items[i], i);
    free(items);
}

TEST(an_array_with_room_is_left_alone)
{
    size_t size = 2;
    char room[2] = "a", *items = room;

    CHECK(tv_try_grow(&items, 1, &size, 64));
    CHECK(items == room && size == 2);
}

/* Twice as many items, or their bytes, are more than a size_t holds. */
static const size_t full[] = {SIZE_MAX / 16 + 1, SIZE_MAX / 2 + 1};

TEST(what_cannot_be_had_leaves_the_array_as_it_was)
{
    uint64_t room = 0;
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        uint64_t *items = &room;
        size_t size = full[i];

        CHECK(!tv_try_grow(&items, full[i], &size, 1));
        CHECK_ERR(tv_arena_try_grow(&arena, &items, full[i], &size, 1), TV_ERR_OVERLOADED);
        CHECK(items == &room && size == full[i]);
    }
    tv_arena_done(&arena);
}

TEST(an_array_in_an_arena_grows_the_same_way)
{
    size_t count = 0, size = 0, try_count = 0, try_size = 0;
    tv_slice *items = NULL, *tried = NULL;
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0; i < 100; i++) {
        tv_arena_grow(&arena, &items, count, &size, 1);
        items[count++] = (tv_slice){NULL, i};
        CHECK_ERR(tv_arena_try_grow(&arena, &tried, try_count, &try_size, 16), TV_OK);
        tried[try_count++] = (tv_slice){NULL, i};
    }
    CHECK_INT(size, 128);
    CHECK_INT(try_size, 128);
    for (size_t i = 0; i < 100; i++)
        CHECK(items[i].len == i && tried[i].len == i);
    tv_arena_done(&arena);
}

TEST(a_budget_refuses_growth_in_an_arena)
{
    tv_budget *budget = tv_budget_new((size_t)64 << 20);
    size_t size = (size_t)32 << 20;
    char *items = NULL;
    tv_charge charge;
    tv_arena arena;

    tv_charge_init(&charge, tv_budget_share(budget, TV_LIT("a")));
    tv_arena_init(&arena);
    arena.charge = &charge;
    CHECK_ERR(tv_arena_try_grow(&arena, &items, size, &size, 1), TV_ERR_OVERLOADED);
    CHECK(items == NULL && size == (size_t)32 << 20);
    tv_arena_done(&arena);
    tv_charge_done(&charge);
    tv_budget_free(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_grows_by_doubling_and_keeps_its_items),
        cmocka_unit_test(an_array_with_room_is_left_alone),
        cmocka_unit_test(what_cannot_be_had_leaves_the_array_as_it_was),
        cmocka_unit_test(an_array_in_an_arena_grows_the_same_way),
        cmocka_unit_test(a_budget_refuses_growth_in_an_arena),
    };

    return cmocka_run_group_tests_name("base/grow", tests, NULL, NULL);
}
