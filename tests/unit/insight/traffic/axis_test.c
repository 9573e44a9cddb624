/* Axes: finding, projecting and squeezing; sums are kept whatever the axes are. */
#include <string.h>

#include "check.h"
#include "insight/traffic/bucket_map.h"
#include "random.h"

enum { BOUNDS_MAX = 96, KEY_MAX = 24 };

/* Random ascending bounds, many of them with long common beginnings. */
typedef struct bounds {
    char bytes[BOUNDS_MAX][KEY_MAX];
    tv_slice list[BOUNDS_MAX];
} bounds;

static tv_slice random_key(char *to)
{
    static const char *const beginnings[] = {"", "device-0000", "device-0001", "z"};
    const char *beginning = beginnings[t_random() % 4];
    size_t len = strlen(beginning), more = t_random() % 5;

    memcpy(to, beginning, len);
    for (size_t i = 0; i < more; i++)
        to[len++] = "\x01"
                    "059az\xe4\xff"[t_random() % 8];
    return (tv_slice){to, len};
}

static int compare(const void *a, const void *b)
{
    return tv_slice_cmp(*(const tv_slice *)a, *(const tv_slice *)b);
}

static tv_axis *random_axis(void)
{
    static bounds b;
    size_t count = 1 + t_random() % BOUNDS_MAX, kept = 1;

    b.list[0] = TV_LIT("");
    for (size_t i = 1; i < count; i++)
        b.list[i] = random_key(b.bytes[i]);
    qsort(b.list, count, sizeof b.list[0], compare);
    for (size_t i = 1; i < count; i++) {
        if (!tv_slice_eq(b.list[i], b.list[kept - 1]))
            b.list[kept++] = b.list[i];
    }
    return tv_axis_new(b.list, kept);
}

static tv_axis *axis_of(const char *texts)
{
    tv_slice list[16] = {TV_LIT("")}, rest = tv_slice_of(texts);
    size_t count = 1;

    while (rest.len && tv_slice_next(&rest, ' ', &list[count]))
        count++;
    return tv_axis_new(list, count);
}

static tv_counts *random_counts(size_t count)
{
    tv_counts *counts = tv_calloc(count, sizeof *counts);

    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < TV_MEASURES; k++)
            counts[i].by[k] = t_random() % 3 ? 0 : t_random() >> (t_random() % 60 + 4);
    }
    return counts;
}

static tv_counts sum(const tv_counts *counts, size_t count)
{
    tv_counts all = {{0}};

    for (size_t i = 0; i < count; i++)
        tv_counts_add(&all, &counts[i]);
    return all;
}

TEST(a_key_is_found_in_its_bucket)
{
    tv_axis *axis = axis_of("b bb c");
    static const struct {
        const char *key;
        size_t bucket;
    } rows[] = {{"", 0},   {"a", 0},   {"az", 0}, {"b", 1},  {"ba", 1},
                {"bb", 2}, {"bbz", 2}, {"c", 3},  {"cc", 3}, {"zzzzzzzzzzzzz", 3}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        t_row = rows[i].key;
        CHECK_INT(tv_axis_find(axis, tv_slice_of(rows[i].key)), rows[i].bucket);
    }
    tv_axis_unref(axis);
}

TEST(the_fast_search_finds_what_the_plain_one_finds)
{
    char bytes[KEY_MAX];

    t_random_seed(1);
    for (int round = 0; round < 500; round++) {
        tv_axis *axis = random_axis();
        tv_traffic_bucket_map *map = tv_traffic_bucket_map_new(axis, 2);

        for (int i = 0; i < 200; i++) {
            tv_slice key = random_key(bytes);

            CHECK_INT(tv_traffic_bucket_map_find(map, key), tv_axis_find(axis, key));
        }
        for (size_t i = 0; i < axis->count; i++)
            CHECK_INT(tv_traffic_bucket_map_find(map, axis->bounds[i]), i);
        tv_traffic_bucket_map_free(map);
        tv_axis_unref(axis);
    }
}

TEST(a_fold_gives_each_count_once_also_when_counters_wrap)
{
    tv_axis *axis = axis_of("m");
    tv_traffic_bucket_map *map = tv_traffic_bucket_map_new(axis, 3);
    tv_counts got[2];

    memset(got, 0, sizeof got);
    tv_traffic_bucket_add(tv_traffic_bucket_map_at(map, 0, 0), TV_MEASURE_READS, UINT32_MAX);
    tv_traffic_bucket_add(tv_traffic_bucket_map_at(map, 2, 1), TV_MEASURE_BYTES, UINT64_C(1) << 40);
    tv_traffic_bucket_map_fold(map, got);
    tv_traffic_bucket_map_fold(map, got);
    CHECK_INT(got[0].by[TV_MEASURE_READS], UINT32_MAX);
    CHECK_INT(got[1].by[TV_MEASURE_BYTES], INT64_C(1) << 40);

    tv_traffic_bucket_add(tv_traffic_bucket_map_at(map, 0, 0), TV_MEASURE_READS, 5);
    tv_traffic_bucket_add(tv_traffic_bucket_map_at(map, 1, 0), TV_MEASURE_READS, 7);
    for (int k = 0; k < TV_MEASURES; k++)
        tv_traffic_bucket_add(tv_traffic_bucket_map_at(map, 1, 1), (tv_traffic_measure)k, 3);
    tv_traffic_bucket_map_fold(map, got);
    CHECK_INT(got[0].by[TV_MEASURE_READS], UINT32_MAX + INT64_C(12));
    for (int k = 0; k < TV_MEASURES; k++)
        CHECK_INT(got[1].by[k], k == TV_MEASURE_BYTES ? (INT64_C(1) << 40) + 3 : 3);
    tv_traffic_bucket_map_free(map);
    tv_axis_unref(axis);
}

TEST(a_count_is_divided_by_weights_and_the_rest_goes_to_the_heaviest)
{
    static const struct {
        const char *what;
        double weights[3];
        uint64_t want[3];
    } rows[] = {
        {"evenly without weights", {0, 0, 0}, {34, 33, 33}},
        {"by weights", {1, 2, 1}, {25, 50, 25}},
        {"all to the one that has any", {0, 0, 9}, {0, 0, 100}},
        {"the remainder to the heaviest", {1, 1, 1.001}, {33, 33, 34}},
    };
    tv_axis *from = axis_of(""), *to = axis_of("g p");
    tv_counts counts = {{0}};

    counts.by[TV_MEASURE_READS] = 100;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_counts got[3];

        t_row = rows[i].what;
        memset(got, 0, sizeof got);
        CHECK(tv_axis_project(from, &counts, to, rows[i].weights, got));
        for (int k = 0; k < 3; k++)
            CHECK_INT(got[k].by[TV_MEASURE_READS], rows[i].want[k]);
    }
    tv_axis_unref(from);
    tv_axis_unref(to);
}

TEST(what_fits_into_one_bucket_is_not_divided)
{
    tv_axis *from = axis_of("b c d"), *to = axis_of("c");
    tv_counts counts[4], got[2];
    const double weights[2] = {1, 1};

    memset(counts, 0, sizeof counts);
    memset(got, 0, sizeof got);
    for (int i = 0; i < 4; i++)
        counts[i].by[TV_MEASURE_WRITES] = 1u << i;
    CHECK(!tv_axis_project(from, counts, to, weights, got));
    CHECK_INT(got[0].by[TV_MEASURE_WRITES], 3);
    CHECK_INT(got[1].by[TV_MEASURE_WRITES], 12);
    tv_axis_unref(from);
    tv_axis_unref(to);
}

TEST(projecting_keeps_all_sums_on_random_axes)
{
    t_random_seed(2);
    for (int round = 0; round < 2000; round++) {
        tv_axis *from = random_axis(), *to = random_axis();
        tv_counts *counts = random_counts(from->count);
        tv_counts *got = tv_calloc(to->count, sizeof *got);
        double *weights = tv_calloc(to->count, sizeof *weights);

        for (size_t i = 0; i < to->count; i++)
            weights[i] = t_random() % 2 ? 0 : (double)(t_random() % 1000) / 7;
        tv_axis_project(from, counts, to, weights, got);

        tv_counts want = sum(counts, from->count), have = sum(got, to->count);

        CHECK(memcmp(&want, &have, sizeof want) == 0);
        free(weights);
        free(got);
        free(counts);
        tv_axis_unref(from);
        tv_axis_unref(to);
    }
}

/* By the definition: look at all pairs, merge the least, again and again. */
static size_t squeeze_slowly(const tv_axis *axis, const double *weights, size_t count_max,
                             tv_slice *ret_bounds)
{
    double weight[BOUNDS_MAX];
    size_t width[BOUNDS_MAX], count = axis->count;

    for (size_t i = 0; i < count; i++) {
        weight[i] = weights[i];
        width[i] = 1;
        ret_bounds[i] = axis->bounds[i];
    }
    for (; count > count_max; count--) {
        size_t best = 0;

        for (size_t i = 1; i + 1 < count; i++) {
            double a = weight[i] + weight[i + 1], b = weight[best] + weight[best + 1];

            if (a < b || (a == b && width[i] + width[i + 1] < width[best] + width[best + 1]))
                best = i;
        }
        weight[best] += weight[best + 1];
        width[best] += width[best + 1];
        for (size_t i = best + 1; i + 1 < count; i++) {
            weight[i] = weight[i + 1];
            width[i] = width[i + 1];
            ret_bounds[i] = ret_bounds[i + 1];
        }
    }
    return count;
}

TEST(squeezing_merges_the_lightest_neighbours_and_keeps_sums)
{
    tv_slice want[BOUNDS_MAX];

    t_random_seed(3);
    for (int round = 0; round < 1000; round++) {
        tv_axis *axis = random_axis();
        tv_counts *counts = random_counts(axis->count);
        double weights[BOUNDS_MAX], none[BOUNDS_MAX] = {0};
        size_t count_max = 1 + t_random() % BOUNDS_MAX;

        for (size_t i = 0; i < axis->count; i++)
            weights[i] = (double)(t_random() % 16);

        tv_axis *squeezed = tv_axis_squeeze(axis, weights, count_max);
        size_t count = squeeze_slowly(axis, weights, count_max, want);
        tv_counts *got = tv_calloc(squeezed->count, sizeof *got);

        CHECK_INT(squeezed->count, count);
        for (size_t i = 0; i < count; i++)
            CHECK_SLICE(squeezed->bounds[i], want[i]);
        CHECK(!tv_axis_project(axis, counts, squeezed, none, got));

        tv_counts before = sum(counts, axis->count), after = sum(got, squeezed->count);

        CHECK(memcmp(&before, &after, sizeof before) == 0);
        free(got);
        free(counts);
        tv_axis_unref(squeezed);
        tv_axis_unref(axis);
    }
}

TEST(a_hot_bucket_survives_and_even_ones_keep_even_widths)
{
    tv_slice list[64] = {TV_LIT("")};
    char texts[64][4];
    double hot[64], even[64];

    for (int i = 0; i < 64; i++) {
        snprintf(texts[i], sizeof texts[i], "%02d", i);
        if (i)
            list[i] = tv_slice_of(texts[i]);
        hot[i] = i == 41 ? 1000 : 1;
        even[i] = 1;
    }
    tv_axis *axis = tv_axis_new(list, 64), *squeezed = tv_axis_squeeze(axis, hot, 8);
    size_t at = tv_axis_find(squeezed, TV_LIT("41"));

    CHECK_SLICE(squeezed->bounds[at], TV_LIT("41"));
    CHECK_SLICE(squeezed->bounds[at + 1], TV_LIT("42"));
    tv_axis_unref(squeezed);

    squeezed = tv_axis_squeeze(axis, even, 8);
    for (size_t i = 1; i < 8; i++)
        CHECK_INT(tv_axis_find(axis, squeezed->bounds[i]), 8 * i);
    tv_axis_unref(squeezed);
    tv_axis_unref(axis);
}

TEST(united_axes_have_all_bounds_once)
{
    tv_axis *axes[3] = {axis_of("b d"), axis_of("c d"), axis_of("")};
    tv_axis *united = tv_axis_unite(axes, 3), *want = axis_of("b c d");

    CHECK(tv_axis_eq(united, want));
    CHECK(!tv_axis_eq(united, axes[0]));
    for (int i = 0; i < 3; i++)
        tv_axis_unref(axes[i]);
    tv_axis_unref(united);
    tv_axis_unref(want);
}

TEST(a_bucket_of_one_key_is_known)
{
    tv_axis *axis = axis_of("a\x01"
                            "b a\x01"
                            "b\x01 c");

    CHECK(!tv_axis_is_one_key(axis, 0));
    CHECK(tv_axis_is_one_key(axis, 1));
    CHECK(!tv_axis_is_one_key(axis, 2));
    CHECK(!tv_axis_is_one_key(axis, 3));
    tv_axis_unref(axis);
}

TEST(measures_have_names)
{
    tv_traffic_measure got;

    for (int i = 0; i < TV_MEASURES; i++) {
        CHECK(tv_traffic_measure_parse(tv_slice_of(tv_traffic_measure_name((tv_traffic_measure)i)),
                                       &got));
        CHECK_INT(got, i);
    }
    CHECK(!tv_traffic_measure_parse(TV_LIT("Reads"), &got));
    CHECK(!tv_traffic_measure_parse(TV_LIT(""), &got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_found_in_its_bucket),
        cmocka_unit_test(the_fast_search_finds_what_the_plain_one_finds),
        cmocka_unit_test(a_fold_gives_each_count_once_also_when_counters_wrap),
        cmocka_unit_test(a_count_is_divided_by_weights_and_the_rest_goes_to_the_heaviest),
        cmocka_unit_test(what_fits_into_one_bucket_is_not_divided),
        cmocka_unit_test(projecting_keeps_all_sums_on_random_axes),
        cmocka_unit_test(squeezing_merges_the_lightest_neighbours_and_keeps_sums),
        cmocka_unit_test(a_hot_bucket_survives_and_even_ones_keep_even_widths),
        cmocka_unit_test(united_axes_have_all_bounds_once),
        cmocka_unit_test(a_bucket_of_one_key_is_known),
        cmocka_unit_test(measures_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
