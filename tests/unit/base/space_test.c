/* The disk reserve. */
#include "base/space.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "check.h"

static tv_space space;

static int set_up(void **state)
{
    (void)state;
    tv_log_set_level(TV_LOG_OFF);
    space = (tv_space){.fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC), .store = "test"};
    return space.fd >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    close(space.fd);
    tv_log_set_level(TV_LOG_INFO);
    return 0;
}

TEST(a_write_must_leave_the_reserve_alone)
{
    uint64_t free_bytes = tv_space_free(&space);

    CHECK(free_bytes > 0 && free_bytes < UINT64_MAX);
    CHECK_OK(tv_space_check(&space, 0));
    space.reserve_bytes = free_bytes / 2;
    CHECK_OK(tv_space_check(&space, free_bytes / 4));
    CHECK_ERR(tv_space_check(&space, free_bytes), TV_ERR_DISK_FULL);
    space.reserve_bytes = UINT64_MAX;
    CHECK_ERR(tv_space_check(&space, 0), TV_ERR_DISK_FULL);
}

TEST(what_frees_space_has_a_smaller_reserve)
{
    uint64_t free_bytes = tv_space_free(&space), slack = 64 << 20; /* others write here too */

    space.reserve_bytes = free_bytes + slack;
    CHECK_ERR(tv_space_check(&space, 0), TV_ERR_DISK_FULL);
    CHECK_OK(tv_space_check_freeing(&space, 0));
    CHECK_ERR(tv_space_check_freeing(&space, free_bytes - free_bytes / 16), TV_ERR_DISK_FULL);
    space.reserve_bytes = 8 * (free_bytes + slack);
    CHECK_ERR(tv_space_check_freeing(&space, 0), TV_ERR_DISK_FULL);
    space.reserve_bytes = 1; /* none at all, and so is the smaller one */
    CHECK_OK(tv_space_check_freeing(&space, free_bytes - slack));
}

TEST(the_disk_is_full_from_a_refusal_until_a_write_has_gone_through)
{
    CHECK(!atomic_load(&space.is_full));
    CHECK_ERR(tv_space_check(&space, UINT64_MAX), TV_ERR_DISK_FULL);
    CHECK(atomic_load(&space.is_full));
    CHECK_OK(tv_space_check(&space, 0));
    CHECK(atomic_load(&space.is_full));
    tv_space_accepted(&space);
    CHECK(!atomic_load(&space.is_full));
    tv_space_refused(&space, "somebody else found no room");
    CHECK(atomic_load(&space.is_full));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_write_must_leave_the_reserve_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_frees_space_has_a_smaller_reserve, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            the_disk_is_full_from_a_refusal_until_a_write_has_gone_through, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("base/space", tests, NULL, NULL);
}
