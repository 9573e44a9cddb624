/* The last lines of the log, against a model that keeps all of them. */
#include "base/log_ring.h"

#include "check.h"

static tv_log_ring ring;

/* Line `number` as the model has it: its length and its first byte follow from the number. */
static tv_slice line_of(uint64_t number, size_t bytes_max, char copy[TV_LOG_LINE_BYTES_MAX])
{
    size_t len = (size_t)(number * 2654435761u >> 7) % (bytes_max + 1);

    memset(copy, (int)('a' + number % 26), len);
    return (tv_slice){copy, len};
}

static void check_all(size_t bytes_max)
{
    char copy[TV_LOG_LINE_BYTES_MAX];
    int level;

    for (uint64_t n = tv_log_ring_first(&ring); n <= ring.count; n++) {
        tv_slice wanted = line_of(n, bytes_max, copy);

        CHECK(tv_slice_eq(tv_log_ring_at(&ring, n, &level), wanted));
        CHECK_INT(level, (int)(n % 4));
    }
}

TEST(what_is_kept_is_the_latest_as_it_was_added)
{
    static const size_t longest[] = {0, 1, 40, 127, 128, 129, 700, TV_LOG_LINE_BYTES_MAX};
    char copy[TV_LOG_LINE_BYTES_MAX];

    for (size_t i = 0; i < sizeof longest / sizeof *longest; i++) {
        ring = (tv_log_ring){.count = 0};
        for (uint64_t n = 1; n <= 6000; n++) {
            tv_log_ring_add(&ring, (int)(n % 4), line_of(n, longest[i], copy));
            if (n % 397 == 0 || n < 5)
                check_all(longest[i]);
        }
        CHECK_INT(ring.count, 6000);
        check_all(longest[i]);
    }
}

TEST(as_many_are_kept_as_there_is_room_for)
{
    char copy[TV_LOG_LINE_BYTES_MAX] = {0};

    ring = (tv_log_ring){.count = 0};
    CHECK_INT(tv_log_ring_first(&ring), 1);
    for (int i = 0; i < 3 * TV_LOG_RING_LINES; i++)
        tv_log_ring_add(&ring, 0, (tv_slice){copy, 10});
    CHECK_INT(ring.kept, TV_LOG_RING_LINES);
    CHECK_INT(tv_log_ring_first(&ring), 2 * TV_LOG_RING_LINES + 1);

    ring = (tv_log_ring){.count = 0};
    for (int i = 0; i < 1000; i++)
        tv_log_ring_add(&ring, 0, (tv_slice){copy, TV_LOG_LINE_BYTES_MAX});
    CHECK_INT(ring.kept, TV_LOG_RING_BYTES / TV_LOG_LINE_BYTES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_the_latest_as_it_was_added),
        cmocka_unit_test(as_many_are_kept_as_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
