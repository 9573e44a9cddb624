/* The machine's memory. */
#include "base/machine.h"

#include <unistd.h>

#include "check.h"

TEST(a_process_may_use_some_memory_and_no_more_than_there_is)
{
    uint64_t memory = tv_machine_memory();

    CHECK(memory >= 1 << 20);
    CHECK(memory <= (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
}

TEST(the_default_share_is_within_its_bounds)
{
    CHECK(tv_machine_memory_share() >= 64 << 20);
    CHECK(tv_machine_memory_share() <= 1024 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_may_use_some_memory_and_no_more_than_there_is),
        cmocka_unit_test(the_default_share_is_within_its_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
