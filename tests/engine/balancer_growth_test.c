/*
 * Ranges that grow: where the leader cuts them depends on where their new rows come.  Rows come at
 * a rate between passes; a row of a table is a growing table.
 */
#include "balancer_world.h"

enum { RANGES_MAX = 16, PARTITION_ROWS = 100, NEIGHBOUR = 9 };

typedef enum place { AT_THE_END, AT_THE_BEGINNING, EVERYWHERE } place;

/* The names of partitions in the order in which they come; a permutation of 0 to 9,999. */
static int name_of(place where, int number)
{
    return where == AT_THE_END         ? number
           : where == AT_THE_BEGINNING ? 9999 - number
                                       : number * 7919 % 10000;
}

/* Write partitions [first, first + count), each at once. */
static void grow(world *w, place where, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        char name[16];

        snprintf(name, sizeof name, "p%04d", name_of(where, i));
        write_rows(w, name, 0, PARTITION_ROWS, true);
    }
}

/* The rows of each range, and how many there are. */
static size_t count_each(world *w, int rows[RANGES_MAX])
{
    tv_routes routes;
    tv_arena arena;

    tv_arena_init(&arena);
    CHECK_OK(tv_routes_load(w->pool, &arena, &routes));
    CHECK(routes.range_count <= RANGES_MAX);
    for (size_t i = 0; i < routes.range_count; i++) {
        tv_slice end = i + 1 < routes.range_count ? routes.ranges[i + 1].start : TV_LIT("s");
        tv_iter *iter;

        rows[i] = 0;
        CHECK_OK(tv_engine_iter(w->engine, routes.ranges[i].start, end, &iter));
        tv_iter_seek(iter, routes.ranges[i].start);
        for (; tv_iter_is_valid(iter); tv_iter_next(iter))
            rows[i]++;
        CHECK_OK(tv_iter_status(iter));
        tv_iter_free(iter);
    }
    tv_arena_done(&arena);
    return routes.range_count;
}

static const struct {
    const char *what;
    place where;
    int partitions_a_pass, passes, neighbour_rows;
    size_t ranges;
    int rows[3][2]; /* of each range, from and to */
} growths[] = {
    {"rows are appended, 500 a second: what is full stays as it is, the rest goes on in a new "
     "range",
     AT_THE_END,
     25,
     45,
     0,
     3,
     {{45000, 50000}, {45000, 50000}, {10000, 25000}}},
    {"as many in a pass as half a range holds",
     AT_THE_END,
     300,
     8,
     0,
     0,
     {{40000, 75000}, {40000, 75000}}},
    {"rows are prepended: the ranges behind are full",
     AT_THE_BEGINNING,
     25,
     45,
     0,
     3,
     {{10000, 25000}, {45000, 50000}, {45000, 50000}}},
    {"rows come everywhere: a half each",
     EVERYWHERE,
     25,
     23,
     0,
     2,
     {{23000, 34000}, {23000, 34000}}},
    {"another table lies behind the one that grows: that is cut off first, and stays as it is",
     AT_THE_END,
     25,
     30,
     20000,
     3,
     {{45000, 50000}, {15000, 30000}, {20000, 20000}}},
    {"a few rows of another table go along",
     AT_THE_END,
     25,
     30,
     100,
     2,
     {{45000, 50000}, {25000, 30100}}},
};

TEST(ranges_are_cut_where_their_new_rows_come)
{
    for (size_t i = 0; i < sizeof growths / sizeof growths[0]; i++) {
        int rows[RANGES_MAX];
        size_t count;
        world w;

        t_row = growths[i].what;
        begin(&w);
        pass(&w);
        if (growths[i].neighbour_rows)
            write_table_rows(&w, NEIGHBOUR, "n", 0, growths[i].neighbour_rows, true);
        for (int j = 0; j < growths[i].passes; j++) {
            grow(&w, growths[i].where, j * growths[i].partitions_a_pass,
                 growths[i].partitions_a_pass);
            pass(&w);
        }
        for (int j = 0; j < 4; j++) /* the last change has its time */
            pass(&w);
        count = count_each(&w, rows);
        for (size_t j = 0; j < count; j++)
            print_message("%s%d", j ? ", " : "# rows ", rows[j]);
        print_message("\n");
        if (growths[i].ranges)
            CHECK_INT(count, growths[i].ranges);
        for (size_t j = 0; j < 3 && growths[i].rows[j][1]; j++)
            CHECK(rows[j] >= growths[i].rows[j][0] && rows[j] <= growths[i].rows[j][1]);
        CHECK_INT(count_rows(&w), growths[i].neighbour_rows + growths[i].passes *
                                                                  growths[i].partitions_a_pass *
                                                                  PARTITION_ROWS);
        end(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_cut_where_their_new_rows_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
