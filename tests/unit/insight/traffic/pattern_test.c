/* Patterns: for each one pictures that have it, and pictures that look like it and have not. */
#include <string.h>

#include "check.h"
#include "insight/traffic/pattern.h"
#include "random.h"

enum { SLOTS = 120, BUCKETS = 64 };

static uint64_t cells[SLOTS * BUCKETS];
static const tv_grid grid = {cells, SLOTS, BUCKETS};

static uint64_t noise(uint64_t mean)
{
    return mean / 2 + t_random() % (mean + 1);
}

/* Pictures: what a cell has. */
typedef uint64_t picture(size_t slot, size_t bucket);

static uint64_t nothing(size_t slot, size_t bucket)
{
    (void)slot;
    (void)bucket;
    return 0;
}

static uint64_t uniform(size_t slot, size_t bucket)
{
    (void)slot;
    (void)bucket;
    return noise(100);
}

static uint64_t every_30(size_t slot, size_t bucket)
{
    (void)bucket;
    return slot % 30 < 3 ? noise(100) : noise(2);
}

static uint64_t waves(size_t slot, size_t bucket)
{
    (void)bucket;
    return noise(5 + 19 * (slot % 20 < 10 ? slot % 10 : 10 - slot % 10));
}

static uint64_t one_burst(size_t slot, size_t bucket)
{
    (void)bucket;
    return slot > 50 && slot < 60 ? noise(200) : noise(2);
}

static uint64_t growing(size_t slot, size_t bucket)
{
    (void)bucket;
    return noise(1 + slot * 4);
}

static uint64_t stripes_of_one_key(size_t slot, size_t bucket)
{
    return slot % 30 < 3 && bucket == 7 ? 10000 : noise(2);
}

static uint64_t hot_since_40(size_t slot, size_t bucket)
{
    return slot >= 40 && bucket == 17 ? 4000 : noise(100);
}

static uint64_t hot_for_9(size_t slot, size_t bucket)
{
    return slot >= 40 && slot < 49 && bucket == 17 ? 6000 : noise(100);
}

static uint64_t warm(size_t slot, size_t bucket)
{
    (void)slot;
    return bucket == 17 ? 1000 : noise(100); /* 14 % */
}

static uint64_t three_hot_ones(size_t slot, size_t bucket)
{
    (void)slot;
    return bucket % 25 == 3 ? 3000 : noise(10); /* a quarter each, and more */
}

static uint64_t append(size_t slot, size_t bucket)
{
    return bucket == slot * BUCKETS / SLOTS ? noise(1000) : 0;
}

static uint64_t prepend(size_t slot, size_t bucket)
{
    return append(slot, BUCKETS - 1 - bucket);
}

static uint64_t append_and_updates(size_t slot, size_t bucket)
{
    return append(slot, bucket) + (bucket <= slot * BUCKETS / SLOTS ? noise(4) : 0);
}

static uint64_t updates_of_all_old_ones(size_t slot, size_t bucket)
{
    return bucket <= slot * BUCKETS / SLOTS ? noise(100) : 0;
}

static uint64_t to_and_fro(size_t slot, size_t bucket)
{
    return append(slot % 60 < 30 ? slot % 60 : 60 - slot % 60, bucket);
}

static uint64_t scan_at_70(size_t slot, size_t bucket)
{
    (void)bucket;
    return slot == 70 ? 1000 : 0;
}

static uint64_t scan_of_a_third(size_t slot, size_t bucket)
{
    return slot == 70 && bucket < BUCKETS / 3 ? 4000 : 0;
}

static void draw(picture *make)
{
    for (size_t slot = 0; slot < SLOTS; slot++) {
        for (size_t bucket = 0; bucket < BUCKETS; bucket++)
            cells[slot * BUCKETS + bucket] = make(slot, bucket);
    }
}

TEST(even_pictures_are_even)
{
    static const struct {
        const char *what;
        picture *make;
        bool want;
    } rows[] = {
        {"uniform", uniform, true},
        {"stripes", every_30, true},
        {"nothing", nothing, false},
        {"one hot key", hot_since_40, false},
        {"an append", append, true},
        {"warm", warm, false},
        {"a third is scanned", scan_of_a_third, false},
    };
    tv_pattern got;

    t_random_seed(41);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        t_row = rows[i].what;
        draw(rows[i].make);
        CHECK_INT(tv_pattern_even(&grid, &got), rows[i].want);
    }
    CHECK(!tv_pattern_even(&(tv_grid){cells, SLOTS, 7}, &got));
    CHECK(!tv_pattern_even(&(tv_grid){cells, 0, BUCKETS}, &got));
}

TEST(stripes_have_a_period)
{
    static const struct {
        const char *what;
        picture *make;
        size_t period; /* 0: none */
    } rows[] = {
        {"every 30 slots", every_30, 30}, {"waves", waves, 20},
        {"uniform", uniform, 0},          {"one burst", one_burst, 0},
        {"growing", growing, 0},          {"of one key", stripes_of_one_key, 0},
        {"nothing", nothing, 0},
    };

    t_random_seed(42);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_pattern got = {0};

        t_row = rows[i].what;
        draw(rows[i].make);
        CHECK_INT(tv_pattern_stripes(&grid, &got), rows[i].period > 0);
        CHECK(got.period + 1 >= rows[i].period && got.period <= rows[i].period + 1);
    }
}

TEST(a_hot_line_is_a_quarter_in_one_bucket_for_ten_slots)
{
    static const struct {
        const char *what;
        picture *make;
        bool want;
        size_t slot, slots, bucket;
    } rows[] = {
        {"hot since slot 40", hot_since_40, true, 40, 80, 17},
        {"hot for 9 slots", hot_for_9, false, 0, 0, 0},
        {"warm", warm, false, 0, 0, 0},
        {"uniform", uniform, false, 0, 0, 0},
        {"an append does not stay", append, false, 0, 0, 0},
        {"nothing", nothing, false, 0, 0, 0},
    };
    tv_pattern got;

    t_random_seed(43);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        t_row = rows[i].what;
        draw(rows[i].make);
        CHECK_INT(tv_pattern_hot_line(&grid, &got), rows[i].want);
        if (!rows[i].want)
            continue;
        CHECK_INT(got.slot, rows[i].slot);
        CHECK_INT(got.slots, rows[i].slots);
        CHECK_INT(got.bucket, rows[i].bucket);
        CHECK(got.share > 0.3 && got.share < 0.5);
    }
    draw(three_hot_ones);
    CHECK(tv_pattern_hot_line(&grid, &got));
    CHECK_INT(got.bucket % 25, 3);
}

TEST(a_small_table_has_a_hot_line_when_nearly_all_is_in_one_bucket)
{
    static const struct {
        const char *what;
        size_t buckets;
        uint64_t hot, other; /* in the second bucket, and in each of the others */
        bool want;
    } rows[] = {
        {"one of two", 2, 90, 10, true},
        {"two alike", 2, 50, 50, false},
        {"one key and both sides", 3, 90, 5, true},
        {"three alike", 3, 34, 33, false},
        {"a bit more of one", 3, 60, 20, false},
        {"one of seven", 7, 70, 5, true},
        {"warm in seven", 7, 40, 10, false},
        {"there is but one", 1, 0, 100, false},
    };
    uint64_t counts[7 * 20];
    tv_pattern got;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_grid small = {counts, 20, rows[i].buckets};

        t_row = rows[i].what;
        for (size_t cell = 0; cell < 20 * rows[i].buckets; cell++)
            counts[cell] = cell % rows[i].buckets == 1 ? rows[i].hot : rows[i].other;
        CHECK_INT(tv_pattern_hot_line(&small, &got), rows[i].want);
        if (rows[i].want)
            CHECK_INT(got.bucket, 1);
    }
}

TEST(a_diagonal_goes_one_way_and_its_edge_takes_the_writes)
{
    static const struct {
        const char *what;
        picture *make;
        int want; /* a kind, or -1 */
    } rows[] = {
        {"append", append, TV_PATTERN_RISING},
        {"prepend", prepend, TV_PATTERN_FALLING},
        {"append with some updates", append_and_updates, TV_PATTERN_RISING},
        {"updates of all that is there", updates_of_all_old_ones, -1},
        {"to and fro", to_and_fro, -1},
        {"uniform", uniform, -1},
        {"a hot key", hot_since_40, -1},
        {"nothing", nothing, -1},
    };

    t_random_seed(44);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_pattern got = {0};

        t_row = rows[i].what;
        draw(rows[i].make);
        CHECK_INT(tv_pattern_diagonal(&grid, &got) ? (int)got.kind : -1, rows[i].want);
        if (rows[i].want >= 0)
            CHECK(got.share >= 0.5);
    }
}

TEST(a_wall_is_a_slot_that_read_nearly_all)
{
    static const struct {
        const char *what;
        picture *make;
        uint64_t rows;
        bool want;
    } rows[] = {
        {"every key, size not known", scan_at_70, 0, true},
        {"every key, all rows", scan_at_70, 64000, true},
        {"every key, nine tenths", scan_at_70, 71000, true},
        {"a little of every key", scan_at_70, 640000, false},
        {"a third of the keys, often", scan_of_a_third, 64000, false},
        {"nothing", nothing, 0, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_pattern got = {0};

        t_row = rows[i].what;
        draw(rows[i].make);
        CHECK_INT(tv_pattern_wall(&grid, rows[i].rows, &got), rows[i].want);
        if (!rows[i].want)
            continue;
        CHECK_INT(got.slot, 70);
        CHECK_INT(got.times, 1);
    }

    /* A table of one bucket: only its size can tell. */
    uint64_t few[3] = {0, 5000, 10};
    tv_pattern got;

    CHECK(!tv_pattern_wall(&(tv_grid){few, 3, 1}, 0, &got));
    CHECK(tv_pattern_wall(&(tv_grid){few, 3, 1}, 5000, &got));
    CHECK_INT(got.slot, 1);
}

static tv_view view_of(picture *make, size_t recorded_from)
{
    static char texts[BUCKETS][8];
    tv_slice bounds[BUCKETS] = {TV_LIT("")};
    tv_view view = {.from = 29700000, .grain = TV_GRAIN_MINUTE, .slots = SLOTS};

    for (size_t i = 1; i < BUCKETS; i++) {
        snprintf(texts[i], sizeof texts[i], i == 18 ? "k17\x01" : "k%02zu", i);
        bounds[i] = tv_slice_of(texts[i]);
    }
    view.axis = tv_axis_new(bounds, BUCKETS);
    view.is_recorded = tv_calloc(SLOTS, sizeof(bool));
    for (int k = 0; k < TV_MEASURES; k++)
        view.cells[k] = tv_calloc(SLOTS * BUCKETS, sizeof(uint64_t));
    for (size_t slot = recorded_from; slot < SLOTS; slot++) {
        view.is_recorded[slot] = true;
        for (size_t i = 0; i < BUCKETS; i++) {
            for (int k = 0; k < TV_MEASURES; k++)
                view.cells[k][slot * BUCKETS + i] = make(slot, i);
        }
    }
    return view;
}

TEST(a_view_is_described_in_words)
{
    static const struct {
        const char *what;
        picture *make;
        size_t from;
        tv_traffic_measure measure;
        const char *names, *text;
    } rows[] = {
        {"even", uniform, 0, TV_MEASURE_READS, "even ", "Even. Nothing to do."},
        {"hot", hot_since_40, 30, TV_MEASURE_READS, "hot-line ",
         "One entity, 39 % of the reads, hot since 00:40 UTC. One key cannot be split."},
        {"stripes", every_30, 0, TV_MEASURE_BYTES, "stripes ",
         "Traffic comes every 30 minutes, evenly over the keys."},
        {"append", append, 0, TV_MEASURE_WRITES, "rising ",
         "100 % of the writes go to the largest keys, which rise."},
        {"prepend", prepend, 0, TV_MEASURE_WRITES, "falling ",
         "100 % of the writes go to the smallest keys, which fall."},
        {"an append is looked for in writes only", append, 0, TV_MEASURE_READS, "even ", NULL},
        {"wall", scan_at_70, 0, TV_MEASURE_SCANNED, "wall ",
         "A table scan at 01:10 UTC read every part of the keys."},
        {"nothing", nothing, 0, TV_MEASURE_READS, "", NULL},
        {"too short", uniform, SLOTS - 9, TV_MEASURE_READS, "", NULL},
        {"long enough", uniform, SLOTS - 10, TV_MEASURE_READS, "even ", NULL},
    };

    t_random_seed(45);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_view view = view_of(rows[i].make, rows[i].from);
        tv_pattern found[TV_PATTERN_KINDS];
        tv_buf names = TV_BUF_EMPTY, text = TV_BUF_EMPTY;
        size_t count = tv_patterns_find(&view, rows[i].measure, 0, found);

        t_row = rows[i].what;
        for (size_t k = 0; k < count; k++)
            tv_buf_printf(&names, "%s ", tv_pattern_name(found[k].kind));
        CHECK_TEXT(tv_buf_slice(&names), rows[i].names);
        if (rows[i].text) {
            tv_pattern_describe(&found[0], &view, rows[i].measure, &text);
            CHECK_TEXT(tv_buf_slice(&text), rows[i].text);
        }
        tv_buf_done(&names);
        tv_buf_done(&text);
        tv_view_done(&view);
    }
    CHECK_TEXT(tv_slice_of(tv_pattern_verdict(TV_PATTERN_EVEN)), "fine");
    CHECK_TEXT(tv_slice_of(tv_pattern_verdict(TV_PATTERN_HOT_LINE)), "fix");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_pictures_are_even),
        cmocka_unit_test(stripes_have_a_period),
        cmocka_unit_test(a_hot_line_is_a_quarter_in_one_bucket_for_ten_slots),
        cmocka_unit_test(a_small_table_has_a_hot_line_when_nearly_all_is_in_one_bucket),
        cmocka_unit_test(a_diagonal_goes_one_way_and_its_edge_takes_the_writes),
        cmocka_unit_test(a_wall_is_a_slot_that_read_nearly_all),
        cmocka_unit_test(a_view_is_described_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
