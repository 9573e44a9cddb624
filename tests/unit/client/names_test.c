/* Lists of names: kept in order, copied, and safe to ask for what is not there. */
#include "client/names.h"

#include <stdio.h>

#include "memory_faults.h"

TEST(a_list_keeps_its_names_in_order)
{
    tavola_names *names = tvc_names_new();
    char name[16];

    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "table%d", i);
        CHECK(tvc_names_add(names, tv_slice_of(name)));
    }
    CHECK_INT(tavola_names_count(names), 100);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "table%d", i);
        CHECK_TEXT(tv_slice_of(tavola_names_at(names, (size_t)i)), name);
    }
    CHECK(tavola_names_at(names, 100) == NULL);
    CHECK(tavola_names_at(names, SIZE_MAX) == NULL);
    tavola_names_free(names);
}

TEST(no_list_has_no_names)
{
    CHECK_INT(tavola_names_count(NULL), 0);
    CHECK(tavola_names_at(NULL, 0) == NULL);
    tavola_names_free(NULL);
}

TEST(a_list_without_memory_keeps_what_it_has)
{
    MEMORY_FAULTS(fault)
    {
        tavola_names *names = tvc_names_new();
        size_t added = 0;

        for (int i = 0; names && i < 40; i++)
            added += tvc_names_add(names, TV_LIT("name"));
        CHECK_INT(tavola_names_count(names), added);
        CHECK(added == 40 || memory_fault_was_hit());
        tavola_names_free(names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_keeps_its_names_in_order),
        cmocka_unit_test(no_list_has_no_names),
        cmocka_unit_test(a_list_without_memory_keeps_what_it_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
