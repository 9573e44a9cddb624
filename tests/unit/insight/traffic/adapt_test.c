/* Buckets follow the load: simulated traffic, step by step. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "insight/traffic/adapt.h"
#include "random.h"

enum { BUCKETS_MAX = 128, REQUESTS = 6000 };

typedef struct table {
    tv_live live;
    tv_live_pool pool;
    tv_counts counts[512];
    size_t largest;  /* the most buckets it ever had */
    double heaviest; /* the share of the heaviest bucket in the last step */
} table;

static void start(table *t, size_t pool)
{
    *t = (table){.pool = {.buckets_left = pool, .samples_left = 2048, .random = t_random() | 1}};
    tv_live_init(&t->live, &t->pool);
}

static void stop(table *t, size_t pool)
{
    tv_live_done(&t->live, &t->pool);
    CHECK_INT(t->pool.buckets_left, pool);
    CHECK_INT(t->pool.samples_left, 2048);
}

/* A step of so many requests, whose keys `make` gives; one of 16 is sampled. */
static void step(table *t, int requests, void (*make)(char *key, int step, int i), int number)
{
    tv_axis *axis = tv_live_axis(&t->live);
    uint64_t most = 0;
    char key[80];

    memset(t->counts, 0, sizeof t->counts);
    for (int i = 0; i < requests; i++) {
        make(key, number, i);
        t->counts[tv_axis_find(axis, tv_slice_of(key))].by[TV_MEASURE_READS]++;
        if (t_random() % 16 == 0)
            tv_live_add_key(&t->live, &t->pool, tv_slice_of(key), 16);
    }
    for (size_t i = 0; i < axis->count; i++)
        most = t->counts[i].by[TV_MEASURE_READS] > most ? t->counts[i].by[TV_MEASURE_READS] : most;
    t->heaviest = requests ? (double)most / requests : 0;
    tv_axis_unref(axis);

    size_t left = t->pool.buckets_left + t->live.count;

    tv_live_weigh(&t->live, t->counts, BUCKETS_MAX);
    tv_live_merge(&t->live, &t->pool);
    tv_live_split(&t->live, &t->pool, BUCKETS_MAX);
    CHECK_INT(t->pool.buckets_left + t->live.count, left);
    CHECK(t->live.count <= BUCKETS_MAX);
    if (t->live.count > t->largest)
        t->largest = t->live.count;
    tv_axis_unref(tv_live_axis(&t->live)); /* asserts that bounds ascend */
}

static void uniform(char *key, int number, int i)
{
    (void)number;
    (void)i;
    snprintf(key, 80, "user-%06llu\x01profile", (unsigned long long)(t_random() % 1000000));
}

static void ten_partitions(char *key, int number, int i)
{
    (void)number;
    (void)i;
    snprintf(key, 80, "p%llu\x01%05llu", (unsigned long long)(t_random() % 10),
             (unsigned long long)(t_random() % 100000));
}

static void half_on_one_key(char *key, int number, int i)
{
    if (t_random() % 2)
        snprintf(key, 80, "counter\x01total");
    else
        uniform(key, number, i);
}

static void half_on_one_long_key(char *key, int number, int i)
{
    if (t_random() % 2)
        snprintf(key, 80, "counter\x01%066d", 7);
    else
        uniform(key, number, i);
}

static void append(char *key, int number, int i)
{
    snprintf(key, 80, "log\x01%012d", number * REQUESTS + i);
}

TEST(even_loads_get_many_buckets_of_even_weight)
{
    static const struct {
        const char *what;
        void (*make)(char *key, int step, int i);
    } rows[] = {{"uniform", uniform}, {"ten partitions", ten_partitions}};

    t_random_seed(11);
    for (size_t i = 0; i < 2; i++) {
        table t;

        t_row = rows[i].what;
        start(&t, 16384);
        for (int n = 0; n < 8; n++)
            step(&t, REQUESTS, rows[i].make, n);
        CHECK(t.live.count >= 64);
        CHECK(t.heaviest < 0.08);
        stop(&t, 16384);
    }
}

TEST(a_hot_key_stands_alone_after_few_steps)
{
    table t;

    t_random_seed(12);
    start(&t, 16384);
    step(&t, REQUESTS, half_on_one_key, 0);

    tv_axis *axis = tv_live_axis(&t.live);
    size_t at = tv_axis_find(axis, TV_LIT("counter\x01total"));

    CHECK_SLICE(axis->bounds[at], TV_LIT("counter\x01total"));
    CHECK(tv_axis_is_one_key(axis, at));
    tv_axis_unref(axis);

    /* And it stays so, while the others are divided. */
    for (int n = 1; n < 10; n++)
        step(&t, REQUESTS, half_on_one_key, n);
    axis = tv_live_axis(&t.live);
    CHECK(tv_axis_is_one_key(axis, tv_axis_find(axis, TV_LIT("counter\x01total"))));
    CHECK(axis->count > 40);
    tv_axis_unref(axis);
    stop(&t, 16384);
}

TEST(a_hot_key_that_is_cut_stands_alone_with_its_like)
{
    table t;
    char key[80];

    t_random_seed(13);
    start(&t, 16384);
    for (int n = 0; n < 3; n++)
        step(&t, REQUESTS, half_on_one_long_key, n);
    snprintf(key, sizeof key, "counter\x01%066d", 7);

    tv_axis *axis = tv_live_axis(&t.live);
    size_t at = tv_axis_find(axis, tv_slice_of(key));

    CHECK_SLICE(axis->bounds[at], tv_slice_take(tv_slice_of(key), TV_LIVE_KEY_BYTES_MAX));
    CHECK_INT(axis->bounds[at + 1].len, TV_LIVE_BOUND_BYTES_MAX);
    tv_axis_unref(axis);
    stop(&t, 16384);
}

TEST(an_append_keeps_the_number_of_buckets_bounded)
{
    table t;

    t_random_seed(14);
    start(&t, 16384);
    for (int n = 0; n < 200; n++) {
        step(&t, REQUESTS, append, n);
        if (n > 5)
            CHECK(t.heaviest > 0.9);
    }
    CHECK(t.largest <= BUCKETS_MAX);
    stop(&t, 16384);
}

TEST(what_has_become_cold_is_given_back)
{
    table t;

    t_random_seed(15);
    start(&t, 16384);
    for (int n = 0; n < 10; n++)
        step(&t, REQUESTS, uniform, n);
    CHECK(t.live.count > 40);
    for (int n = 0; n < 60; n++)
        step(&t, 0, uniform, n);
    CHECK_INT(t.live.count, 1);
    stop(&t, 16384);
}

TEST(few_requests_split_nothing)
{
    table t;

    t_random_seed(16);
    start(&t, 16384);
    for (int n = 0; n < 20; n++)
        step(&t, 1, uniform, n);
    CHECK_INT(t.live.count, 1);
    stop(&t, 16384);
}

static void most_in_one_partition(char *key, int number, int i)
{
    (void)number;
    (void)i;
    snprintf(key, 80, "s%02llu\x01%08llu",
             (unsigned long long)(t_random() % 10 < 6 ? 7 : t_random() % 50),
             (unsigned long long)(t_random() % 10000000));
}

TEST(a_partition_with_much_of_the_traffic_has_bounds_at_both_ends)
{
    static const tv_slice low = {"s07", 3}, high = {"s07\x01\xff", 5};
    table t;

    t_random_seed(19);
    start(&t, 16384);
    step(&t, REQUESTS, most_in_one_partition, 0);
    for (int n = 1; n < 10; n++) {
        tv_axis *axis = tv_live_axis(&t.live);

        CHECK_SLICE(axis->bounds[tv_axis_find(axis, low)], low);
        CHECK_SLICE(axis->bounds[tv_axis_find(axis, high)], high);
        tv_axis_unref(axis);
        step(&t, REQUESTS, most_in_one_partition, n);
    }
    CHECK(t.heaviest < 0.1);
    stop(&t, 16384);
}

TEST(no_more_buckets_are_made_than_the_pool_has)
{
    table t;

    t_random_seed(17);
    start(&t, 20);
    for (int n = 0; n < 10; n++)
        step(&t, REQUESTS, uniform, n);
    CHECK(t.live.count <= 20);
    CHECK(t.live.count >= 18);
    CHECK(tv_live_wants(&t.live) > 0 || t.live.count == 20);
    stop(&t, 20);
}

TEST(the_lightest_neighbours_are_found_and_merged)
{
    table t;
    size_t left = 0;
    double weight = 0, least = 1e300;

    t_random_seed(18);
    start(&t, 16384);
    for (int n = 0; n < 20; n++)
        step(&t, REQUESTS, uniform, n);
    CHECK(tv_live_lightest(&t.live, &left, &weight));
    for (size_t i = 0; i + 1 < t.live.count; i++) {
        double sum = t.live.buckets[i].weight + t.live.buckets[i + 1].weight;

        if (t.live.buckets[i].age > 3 && t.live.buckets[i + 1].age > 3 && sum < least)
            least = sum;
    }
    CHECK(weight == least);

    size_t before = t.live.count;

    tv_live_merge_at(&t.live, &t.pool, left);
    CHECK_INT(t.live.count, before - 1);
    CHECK(t.live.buckets[left].weight == least);
    tv_axis_unref(tv_live_axis(&t.live));
    stop(&t, 16384);
}

TEST(a_key_that_is_cut_ends_with_a_whole_character)
{
    static const struct {
        const char *what, *end;
        size_t cut; /* bytes behind the 60 of ASCII that stay */
    } rows[] = {
        {"ASCII", "abcdefgh", 4},
        {"two bytes, whole", "ab\xc3\xa4zz", 4},
        {"two bytes, cut", "abc\xc3\xa4zz", 3},
        {"three bytes, cut", "ab\xe2\x82\xacz", 2},
        {"three bytes, whole", "a\xe2\x82\xacz", 4},
        {"between surrogates", "a\xed\xa0\xbd\xed\xb8\x80", 1},
        {"within the second surrogate", "\xed\xa0\xbd\xed\xb8\x80", 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        table t;
        char key[80];

        t_row = rows[i].what;
        t_random_state = i + 1;
        start(&t, 16);
        memset(key, 'k', 60);
        snprintf(key + 60, sizeof key - 60, "%s", rows[i].end);
        tv_live_add_key(&t.live, &t.pool, tv_slice_of(key), 1);
        CHECK_INT(t.live.buckets[0].sample->keys[0].len, 60 + rows[i].cut);
        stop(&t, 16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_loads_get_many_buckets_of_even_weight),
        cmocka_unit_test(a_hot_key_stands_alone_after_few_steps),
        cmocka_unit_test(a_hot_key_that_is_cut_stands_alone_with_its_like),
        cmocka_unit_test(an_append_keeps_the_number_of_buckets_bounded),
        cmocka_unit_test(what_has_become_cold_is_given_back),
        cmocka_unit_test(few_requests_split_nothing),
        cmocka_unit_test(a_partition_with_much_of_the_traffic_has_bounds_at_both_ends),
        cmocka_unit_test(no_more_buckets_are_made_than_the_pool_has),
        cmocka_unit_test(the_lightest_neighbours_are_found_and_merged),
        cmocka_unit_test(a_key_that_is_cut_ends_with_a_whole_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
