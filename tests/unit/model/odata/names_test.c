/* Sets of names. */
#include "model/odata/names.h"

#include "check.h"
#include "random.h"

TEST(a_name_has_the_index_at_which_it_came)
{
    tv_names names = {0};

    CHECK_INT(tv_names_find(&names, TV_LIT("a")), -1);
    CHECK_INT(tv_names_add(&names, TV_LIT("b")), 0);
    CHECK_INT(tv_names_add(&names, TV_LIT("a")), 1);
    CHECK_INT(tv_names_add(&names, TV_LIT("A")), 2);
    CHECK_INT(tv_names_add(&names, TV_LIT("b")), 0);
    CHECK_INT(tv_names_add(&names, TV_LIT("")), 3);
    CHECK_INT(names.count, 4);
    CHECK_TEXT(names.list[1], "a");
    CHECK_INT(tv_names_find(&names, TV_LIT("A")), 2);
    CHECK_INT(tv_names_find(&names, TV_LIT("")), 3);
    CHECK_INT(tv_names_find(&names, TV_LIT("ab")), -1);
}

TEST(a_full_set_takes_no_more)
{
    char texts[TV_NAMES_MAX + 1][16];
    tv_names names = {0};

    for (int i = 0; i <= TV_NAMES_MAX; i++) {
        snprintf(texts[i], sizeof texts[i], "n%llu%d", (unsigned long long)t_random() % 1000, i);
        CHECK_INT(tv_names_add(&names, tv_slice_of(texts[i])), i < TV_NAMES_MAX ? i : -1);
    }
    for (int i = 0; i < TV_NAMES_MAX; i++)
        CHECK_INT(tv_names_find(&names, tv_slice_of(texts[i])), i);
    CHECK_INT(tv_names_find(&names, tv_slice_of(texts[TV_NAMES_MAX])), -1);
    CHECK_INT(names.count, TV_NAMES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_the_index_at_which_it_came),
        cmocka_unit_test(a_full_set_takes_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
