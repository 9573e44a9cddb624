/* Lists whose pages lead back to where they were. */
#include "client/circle.h"

#include <stdio.h>

#include "client/memory_faults.h"

static const struct {
    const char *what;
    int way, around; /* continuations before the circle, and in it; 0: there is none */
} rows[] = {
    {"no circle", 5000, 0},         {"to itself, at once", 0, 1},  {"to itself, later", 100, 1},
    {"two by turns", 0, 2},         {"two by turns, later", 7, 2}, {"a long circle", 3, 1000},
    {"back to the first", 0, 1000},
};

/* Number i of a list. */
static tv_slice name(int i, int way, int around, char text[32])
{
    int at = around && i >= way ? way + (i - way) % around : i;

    snprintf(text, 32, "page%d", at);
    return tv_slice_of(text);
}

TEST(circles_are_noticed)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int way = rows[i].way, around = rows[i].around, seen = 0;
        int most = around ? 4 * (way > around ? way : around) + around : way;
        tvc_circle circle = {0};
        char text[32];

        t_row = rows[i].what;
        while (seen < most && !tvc_circle_closes(&circle, name(seen, way, around, text)))
            seen++;
        CHECK_INT(seen<most, around> 0); /* the way alone is walked to its end */
        if (around)
            CHECK(seen >= way + around);
        if (around == 1 && way == 0)
            CHECK_INT(seen, 1);
        tvc_circle_done(&circle);
    }
}

TEST(memory_may_run_out)
{
    MEMORY_FAULTS(fault)
    {
        tvc_circle circle = {0};
        char text[32];
        bool was_noticed = false;

        for (int i = 0; i < 60; i++)
            was_noticed |= tvc_circle_closes(&circle, name(i, 3, 4, text));
        CHECK(was_noticed || memory_fault_was_hit());
        tvc_circle_done(&circle);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(circles_are_noticed),
        cmocka_unit_test(memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
