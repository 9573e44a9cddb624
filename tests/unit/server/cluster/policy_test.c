/* When ranges are split, merged and moved: every number, on both sides of it. */
#include "server/cluster/policy.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };
enum { BEGIN = 5 * HOUR }; /* old enough for everything */

/* A range that has done the same for so long. */
static tv_policy_range range_after(tv_policy_load load, int64_t ms)
{
    tv_policy_range range = {0};

    tv_policy_observe(&range, &load, BEGIN);
    tv_policy_observe(&range, &load, BEGIN + ms);
    return range;
}

static const struct {
    const char *what;
    tv_policy_load load;
    int64_t ms;
    size_t ranges, osds;
    tv_policy_reason reason;
} splits[] = {
    {"nothing to do", {.rows = 0}, HOUR, 1, 3, TV_POLICY_NO_REASON},
    {"busy with large groups for 10 s",
     {.busy = 0.80, .rows_per_op = 128},
     10 * SECOND,
     11,
     3,
     TV_POLICY_WRITES},
    {"a moment less",
     {.busy = 0.80, .rows_per_op = 128},
     10 * SECOND - 1,
     11,
     3,
     TV_POLICY_NO_REASON},
    {"not quite busy", {.busy = 0.79, .rows_per_op = 500}, MINUTE, 11, 3, TV_POLICY_NO_REASON},
    {"groups too small", {.busy = 1, .rows_per_op = 127}, MINUTE, 11, 3, TV_POLICY_NO_REASON},
    {"4 ranges for each OSD are enough",
     {.busy = 1, .rows_per_op = 500},
     MINUTE,
     12,
     3,
     TV_POLICY_NO_REASON},
    {"many reads", {.reads_s = 40000}, 10 * SECOND, 1, 3, TV_POLICY_READS},
    {"reads split whatever the OSDs", {.reads_s = 40000}, 10 * SECOND, 100, 3, TV_POLICY_READS},
    {"fewer reads", {.reads_s = 39999}, MINUTE, 1, 3, TV_POLICY_NO_REASON},
    {"many reads, not for long", {.reads_s = 90000}, 10 * SECOND - 1, 1, 3, TV_POLICY_NO_REASON},
    {"as large as may be", {.rows = 50000, .bytes = 32 << 20}, 0, 1, 3, TV_POLICY_NO_REASON},
    {"a row too many", {.rows = 50001}, 0, 1, 3, TV_POLICY_SIZE},
    {"a byte too many", {.bytes = (32 << 20) + 1}, 0, 1, 3, TV_POLICY_SIZE},
    {"size splits whatever the OSDs", {.rows = 50001}, 0, 1000, 1, TV_POLICY_SIZE},
    {"size goes before load",
     {.rows = 50001, .busy = 1, .rows_per_op = 500},
     MINUTE,
     1,
     3,
     TV_POLICY_SIZE},
};

TEST(ranges_are_split_by_load_and_by_size)
{
    for (size_t i = 0; i < COUNT(splits); i++) {
        tv_policy_range range = range_after(splits[i].load, splits[i].ms);

        t_row = splits[i].what;
        CHECK_TEXT(tv_slice_of(tv_policy_reason_name(tv_policy_split(
                       &range, BEGIN + splits[i].ms, splits[i].ranges, splits[i].osds))),
                   tv_policy_reason_name(splits[i].reason));
    }
}

TEST(a_break_in_the_load_begins_the_ten_seconds_anew)
{
    tv_policy_load hot = {.busy = 1, .rows_per_op = 500}, cold = {0};
    tv_policy_range range = {0};

    tv_policy_observe(&range, &hot, BEGIN);
    tv_policy_observe(&range, &cold, BEGIN + 5 * SECOND);
    tv_policy_observe(&range, &hot, BEGIN + 10 * SECOND);
    CHECK_INT(tv_policy_split(&range, BEGIN + 19 * SECOND, 1, 3), TV_POLICY_NO_REASON);
    CHECK_INT(tv_policy_split(&range, BEGIN + 20 * SECOND, 1, 3), TV_POLICY_WRITES);
}

TEST(a_range_rests_after_a_rollback_and_during_a_change)
{
    tv_policy_range range = range_after((tv_policy_load){.rows = 60000}, 0);

    tv_policy_rest(&range, BEGIN);
    CHECK_INT(tv_policy_split(&range, BEGIN + 10 * MINUTE - 1, 1, 3), TV_POLICY_NO_REASON);
    CHECK_INT(tv_policy_split(&range, BEGIN + 10 * MINUTE, 1, 3), TV_POLICY_SIZE);
    range.has_intent = true;
    CHECK_INT(tv_policy_split(&range, BEGIN + HOUR, 1, 3), TV_POLICY_NO_REASON);
}

TEST(a_refusal_holds_for_its_own_reason)
{
    tv_policy_range range = range_after((tv_policy_load){.busy = 1, .rows_per_op = 500}, MINUTE);
    tv_policy_load large = {.rows = 60000, .busy = 1, .rows_per_op = 500};
    int64_t now = BEGIN + MINUTE;

    tv_policy_refuse(&range, TV_POLICY_WRITES, now);
    CHECK_INT(tv_policy_split(&range, now, 1, 3), TV_POLICY_NO_REASON);
    tv_policy_observe(&range, &large, now);
    CHECK_INT(tv_policy_split(&range, now, 1, 3), TV_POLICY_SIZE);

    /* One partition: again when it has a quarter more rows, or after ten minutes. */
    tv_policy_refuse(&range, TV_POLICY_SIZE, now);
    CHECK_INT(tv_policy_split(&range, now + 10 * MINUTE - 1, 1, 3), TV_POLICY_NO_REASON);
    CHECK_INT(tv_policy_split(&range, now + 10 * MINUTE, 1, 3), TV_POLICY_SIZE);
    large.rows = 74999;
    tv_policy_observe(&range, &large, now);
    CHECK_INT(tv_policy_split(&range, now, 1, 3), TV_POLICY_NO_REASON);
    large.rows = 75000;
    tv_policy_observe(&range, &large, now);
    CHECK_INT(tv_policy_split(&range, now, 1, 3), TV_POLICY_SIZE);
}

static const struct {
    const char *what;
    uint64_t rows, bytes;
    tv_policy_load load;
    bool wants;
} looks[] = {
    {"nothing has come", 20000, 1 << 20, {.rows = 20000, .bytes = 1 << 20}, false},
    {"not quite a quarter", 20000, 0, {.rows = 32499}, false},
    {"a quarter of what a range may have", 20000, 0, {.rows = 32500}, true},
    {"a quarter by bytes", 10, 8 << 20, {.rows = 20, .bytes = 16 << 20}, true},
    {"rows have gone", 40000, 0, {.rows = 10000}, false},
    {"a large one, which takes long to look at", 1000000, 0, {.rows = 1249999}, false},
    {"a quarter of a large one", 1000000, 0, {.rows = 1250000}, true},
};

TEST(a_range_is_looked_at_when_it_has_grown_by_a_quarter)
{
    for (size_t i = 0; i < COUNT(looks); i++) {
        t_row = looks[i].what;
        CHECK_INT(tv_policy_wants_look(&looks[i].load, looks[i].rows, looks[i].bytes),
                  looks[i].wants);
    }
}

#define QUIET                                                                                      \
    {                                                                                              \
        .rows = 10000, .bytes = 6 << 20, .write_ops_s = 1.6, .reads_s = 999                        \
    }

static const struct {
    const char *what;
    tv_policy_load left, right;
    int64_t quiet_ms, age_ms;
    bool has_intent, may;
} merges[] = {
    {"small, quiet and old", QUIET, QUIET, 10 * MINUTE, HOUR, false, true},
    {"not quiet for long enough", QUIET, QUIET, 10 * MINUTE - 1, HOUR, false, false},
    {"too young", QUIET, QUIET, 10 * MINUTE, HOUR - 1, false, false},
    {"being changed", QUIET, QUIET, 10 * MINUTE, HOUR, true, false},
    {"a row too many", QUIET, {.rows = 10001}, 10 * MINUTE, HOUR, false, false},
    {"a byte too many", QUIET, {.bytes = (6 << 20) + 1}, 10 * MINUTE, HOUR, false, false},
    {"100 writes a minute", QUIET, {.write_ops_s = 100.0 / 60}, HOUR, HOUR, false, false},
    {"1,000 reads a second", {.reads_s = 1000}, QUIET, HOUR, HOUR, false, false},
    {"both empty", {.rows = 0}, {.rows = 0}, 10 * MINUTE, HOUR, false, true},
};

TEST(neighbours_are_merged_when_they_are_small_quiet_and_old)
{
    for (size_t i = 0; i < COUNT(merges); i++) {
        tv_policy_range left = range_after(merges[i].left, merges[i].quiet_ms);
        tv_policy_range right = range_after(merges[i].right, merges[i].quiet_ms);
        int64_t now = BEGIN + merges[i].quiet_ms;

        left.born_ms = BEGIN - 2 * HOUR;
        right.born_ms = now - merges[i].age_ms;
        left.has_intent = merges[i].has_intent;
        t_row = merges[i].what;
        CHECK_INT(tv_policy_may_merge(&left, &right, now), merges[i].may);
        CHECK_INT(tv_policy_may_merge(&right, &left, now), merges[i].may);
    }
}

TEST(what_was_merged_is_far_from_a_split)
{
    CHECK(TV_POLICY_MERGE_ROWS_MAX * 2 < TV_POLICY_ROWS_MAX);
    CHECK(TV_POLICY_MERGE_BYTES_MAX * 2 < TV_POLICY_BYTES_MAX);
}

/* --- where to cut --- */

/* "a3 b1" is partition a with weight 3 and b with 1. */
static size_t read_samples(const char *text, tv_policy_sample *ret_samples)
{
    size_t count = 0;

    while (*text) {
        char *end;

        ret_samples[count].partition = (tv_slice){text, 1};
        ret_samples[count++].weight = strtoull(text + 1, &end, 10);
        text = end + strspn(end, " ");
    }
    return tv_policy_sort_samples(ret_samples, count);
}

static const struct {
    const char *what, *samples, *start;
    tv_policy_refusal refusal;
    const char *cut;
} load_cuts[] = {
    {"no samples", "", "", TV_POLICY_NO_SAMPLES, ""},
    {"samples without weight", "a0 b0", "", TV_POLICY_NO_SAMPLES, ""},
    {"one partition", "b5", "", TV_POLICY_HOT_PARTITION, ""},
    {"half of all in one partition", "a2 b1 c5 d2", "", TV_POLICY_HOT_PARTITION, ""},
    {"less than half", "a2 b1 c4 d2", "", TV_POLICY_ALLOWED, "c"},
    {"two equal ones are each a half", "a1 b1", "", TV_POLICY_HOT_PARTITION, ""},
    {"even", "a1 b1 c1 d1", "", TV_POLICY_ALLOWED, "c"},
    {"nearest to half", "a4 b3 c3", "", TV_POLICY_ALLOWED, "b"},
    {"unsorted and in parts", "d1 a1 c1 b1 d1 a1 c1 b1", "", TV_POLICY_ALLOWED, "c"},
    {"a cut at the range's own start is none", "b4 c3 d3", "b", TV_POLICY_ALLOWED, "c"},
    {"three quarters may be on one side", "a1 b1 c1 d1", "b", TV_POLICY_ALLOWED, "c"},
};

TEST(a_cut_for_load_is_nearest_to_half_the_weight)
{
    for (size_t i = 0; i < COUNT(load_cuts); i++) {
        tv_policy_sample samples[16];
        size_t count = read_samples(load_cuts[i].samples, samples);
        tv_slice cut = TV_NONE;

        t_row = load_cuts[i].what;
        CHECK_TEXT(tv_slice_of(tv_policy_refusal_name(tv_policy_cut_by_load(
                       samples, count, tv_slice_of(load_cuts[i].start), &cut))),
                   tv_policy_refusal_name(load_cuts[i].refusal));
        CHECK_TEXT(cut, load_cuts[i].cut);
    }
}

TEST(more_than_three_quarters_on_one_side_of_every_cut_is_unbalanced)
{
    /* Cuts can be at c (77 of 100 before it) and d only: everything before them began earlier. */
    tv_policy_sample samples[] = {
        {TV_LIT("a"), 39}, {TV_LIT("b"), 38}, {TV_LIT("c"), 12}, {TV_LIT("d"), 11}};
    tv_slice cut = TV_NONE;

    CHECK_INT(tv_policy_cut_by_load(samples, 4, TV_LIT("b"), &cut), TV_POLICY_UNBALANCED);
    samples[0].weight = 37;
    samples[2].weight = 14;
    CHECK_INT(tv_policy_cut_by_load(samples, 4, TV_LIT("b"), &cut), TV_POLICY_ALLOWED);
    CHECK_TEXT(cut, "c");
}

/* "a3 b10": partition a with 3,000 rows, b with 10,000; 600 bytes each.  Kept in `boundaries`. */
static tv_range_shape read_shape(const char *text, const char *start, const char *end,
                                 tv_range_boundary *boundaries)
{
    tv_range_shape shape = {
        .start = tv_slice_of(start), .end = tv_slice_of(end), .boundaries = boundaries};

    while (*text) {
        size_t len = strcspn(text, "0123456789");
        tv_slice partition = {text, len};
        char *rest;
        uint64_t rows = 1000 * strtoull(text + len, &rest, 10);

        if (shape.rows == 0)
            shape.first = partition;
        else
            boundaries[shape.count++] = (tv_range_boundary){partition, shape.rows, shape.bytes};
        shape.rows += rows;
        shape.bytes += 600 * rows;
        text = rest + strspn(rest, " ");
    }
    return shape;
}

static const struct {
    const char *what, *start, *end, *before, *now;
    tv_growth_kind kind;
    const char *cut;
} size_cuts[] = {
    /* Where nothing is known: half of the rows. */
    {"never looked at", "", "", "", "a10 b15 c15 d12", TV_GROWTH_UNKNOWN, "c"},
    {"next to nothing was there", "", "", "a1 b1", "a10 b15 c15 d12", TV_GROWTH_UNKNOWN, "c"},
    {"nothing has come", "", "", "a10 b15 c15 d12", "a10 b15 c15 d12", TV_GROWTH_UNKNOWN, "c"},
    {"rows have gone", "", "", "a20 b25 c15 d12", "a10 b15 c15 d12", TV_GROWTH_UNKNOWN, "c"},
    {"one boundary is the cut", "", "", "", "a1 b60", TV_GROWTH_UNKNOWN, "b"},
    /* Spread. */
    {"even", "", "", "a6 b6 c6 d6", "a13 b13 c13 d13", TV_GROWTH_SPREAD, "c"},
    {"even, with new partitions between", "", "", "a6 c6 e6 g6", "a6 b7 c6 d7 e6 f7 g6 h7",
     TV_GROWTH_SPREAD, "e"},
    {"at both ends", "", "", "d10 e10", "a8 b8 d10 e10 f8 g8", TV_GROWTH_SPREAD, "e"},
    {"not quite 80 % behind the last", "", "", "a10 b10", "a17 b10 c12 d12", TV_GROWTH_SPREAD, "c"},
    /* Appended. */
    {"behind the last partition", "", "", "a10 b10 c10", "a10 b10 c10 d10 e10 f2", TV_GROWTH_UP,
     "f"},
    {"no more is left than a range may have", "", "", "a10 b10 c10", "a10 b10 c10 d10 e10 f2 g2 h2",
     TV_GROWTH_UP, "f"},
    {"too much has come: what is to move would be too much", "", "", "a10 b10 c10",
     "a10 b10 c10 d20 e10 f10 g10 h1", TV_GROWTH_UP, "h"},
    {"into the last partition: it goes alone", "", "", "a10 b10 c10 d10", "a10 b10 c10 d22",
     TV_GROWTH_UP, "d"},
    {"while old rows go", "", "", "a20 b10 c10", "a5 b10 c10 d10 e10 f6", TV_GROWTH_UP, "f"},
    {"and a few rows come elsewhere", "", "", "a10 b10 c10", "a11 b10 c10 d10 e9 f2", TV_GROWTH_UP,
     "f"},
    {"one partition was there", "", "", "a30", "a30 b10 c10 d2", TV_GROWTH_UP, "d"},
    {"a table ends, and the next one has few rows", "", "", "Xa15 Xb15 Ya1 Yb1",
     "Xa15 Xb15 Xc10 Xd8 Xe1 Ya1 Yb1", TV_GROWTH_UP, "Xe"},
    {"a table ends, and the next one has many: they are cut off", "", "", "Xa10 Xb5 Ya10 Yb10",
     "Xa10 Xb5 Xc10 Xd5 Xe3 Ya10 Yb10", TV_GROWTH_UP, "Ya"},
    {"a table ends in the last partition but some", "", "", "Xa10 Xb5 Ya10 Yb10",
     "Xa10 Xb17 Ya10 Yb15", TV_GROWTH_SPREAD, "Ya"},
    /* Prepended. */
    {"before the first partition", "", "", "d10 e10 f10", "a2 b10 c10 d10 e10 f10", TV_GROWTH_DOWN,
     "b"},
    {"no more is behind than a range may have", "", "", "d10 e10 f10",
     "Z2 _2 a2 b10 c10 d10 e10 f10", TV_GROWTH_DOWN, "b"},
    {"before the first of a table behind another", "", "", "Xa1 Yd10 Ye10 Yf10",
     "Xa1 Ya2 Yb10 Yc10 Yd10 Ye10 Yf10", TV_GROWTH_DOWN, "Yb"},
    {"a table before it has many rows: they are cut off", "", "", "Xa20 Yd10 Ye5",
     "Xa20 Ya2 Yb8 Yc8 Yd10 Ye5", TV_GROWTH_DOWN, "Ya"},
    /* In the middle. */
    {"one hot partition in the middle", "", "", "a10 b10 c10 d10", "a10 b22 c10 d10", TV_GROWTH_UP,
     "c"},
    {"in a range that ends in the same table", "tt", "tz", "tta15 ttb15", "tta15 ttb15 ttc20 ttd2",
     TV_GROWTH_UP, "ttd"},
};

TEST(a_cut_for_size_is_where_new_rows_come_or_in_the_middle)
{
    for (size_t i = 0; i < COUNT(size_cuts); i++) {
        tv_range_boundary before[16], now[16];
        tv_range_shape was =
            read_shape(size_cuts[i].before, size_cuts[i].start, size_cuts[i].end, before);
        tv_range_shape is = read_shape(size_cuts[i].now, size_cuts[i].start, size_cuts[i].end, now);
        tv_marks marks = {0};
        tv_growth growth;
        tv_slice cut = TV_NONE;

        t_row = size_cuts[i].what;
        tv_marks_keep(&marks, &was);
        growth = tv_growth_since(&marks, &is);
        CHECK_INT(growth.kind, size_cuts[i].kind);
        CHECK_INT(tv_policy_cut_by_size(&is, &growth, &cut), TV_POLICY_ALLOWED);
        CHECK_TEXT(cut, size_cuts[i].cut);
        tv_marks_done(&marks);
    }
}

TEST(one_partition_cannot_be_cut_however_it_grows)
{
    tv_range_boundary before[1], now[1];
    tv_range_shape was = read_shape("a30", "", "", before), is = read_shape("a60", "", "", now);
    tv_marks marks = {0};
    tv_growth growth;
    tv_slice cut = TV_NONE;

    tv_marks_keep(&marks, &was);
    growth = tv_growth_since(&marks, &is);
    CHECK_INT(tv_policy_cut_by_size(&is, &growth, &cut), TV_POLICY_SINGLE_PARTITION);
    tv_marks_done(&marks);
}

/* Rows of 1 MiB: a range is full of a few. */
TEST(a_cut_for_size_counts_bytes)
{
    tv_range_boundary boundaries[40];
    tv_range_shape shape = {.first = TV_LIT("p00"), .boundaries = boundaries};
    static char names[40][4];
    tv_marks marks = {0};
    tv_growth growth;
    tv_slice cut = TV_NONE;

    for (int i = 0; i < 36; i++) {
        snprintf(names[i], sizeof names[i], "p%02d", i);
        if (i)
            boundaries[shape.count++] =
                (tv_range_boundary){tv_slice_of(names[i]), shape.rows, shape.bytes};
        shape.rows++;
        shape.bytes += 1 << 20;
        if (i == 25)
            tv_marks_keep(&marks, &shape);
    }
    growth = tv_growth_since(&marks, &shape);
    CHECK_INT(growth.kind, TV_GROWTH_UP);
    CHECK_INT(tv_policy_cut_by_size(&shape, &growth, &cut), TV_POLICY_ALLOWED);
    CHECK_TEXT(cut, "p32"); /* 32 MiB are before it */
    tv_marks_done(&marks);
}

static const struct {
    const char *what;
    const char *windows[5];
    bool is_append;
} trends[] = {
    {"three windows that each go on behind the last", {"a9 b1", "b1 c9", "c1 d9", "d2 e8"}, true},
    {"two are too few", {"a9 b1", "b1 c9", "c1 d9"}, false},
    {"the third has less than 80 % beyond", {"a9 b1", "b1 c9", "c1 d9", "d21 e79"}, false},
    {"the same partitions each time", {"a5 b5", "a5 b5", "a5 b5", "a5 b5"}, false},
    {"going down", {"e9", "d9", "c9", "b9", "a9"}, false},
    {"a window in between that does not", {"a9", "b9", "b9", "c9", "d9"}, false},
    {"an empty window says nothing", {"a9", "b9", "", "c9", "d9"}, true},
    {"a few stragglers at the very end do not hide it",
     {"a95 z5", "b95 z5", "c95 z5", "d95 z5"},
     true},
};

TEST(load_that_moves_to_the_end_is_known_after_three_windows)
{
    for (size_t i = 0; i < COUNT(trends); i++) {
        tv_policy_trend trend = {0};

        t_row = trends[i].what;
        for (size_t j = 0; j < 5 && trends[i].windows[j]; j++) {
            tv_policy_sample samples[8];
            size_t count = read_samples(trends[i].windows[j], samples);

            tv_policy_trend_add(&trend, samples, count);
        }
        CHECK_INT(tv_policy_trend_is_append(&trend), trends[i].is_append);
        tv_policy_trend_done(&trend);
    }
}

/* --- how often --- */

TEST(changes_are_ten_seconds_apart_and_sixty_an_hour)
{
    tv_policy_rate rate = {0};
    int64_t now = 0;

    for (int i = 0; i < 60; i++) {
        CHECK(tv_policy_rate_allows(&rate, now));
        tv_policy_rate_add(&rate, false, now);
        CHECK(!tv_policy_rate_allows(&rate, now + 10 * SECOND - 1));
        now += 10 * SECOND + 1;
    }
    CHECK(!tv_policy_rate_allows(&rate, now));
    CHECK(!tv_policy_rate_allows(&rate, HOUR - 1));
    CHECK(tv_policy_rate_allows(&rate, HOUR + 1)); /* the first was at 0, noted as 1 */
    tv_policy_rate_add(&rate, false, HOUR + 1);
    CHECK(!tv_policy_rate_allows(&rate, HOUR + 5 * SECOND));
    CHECK(tv_policy_rate_allows(&rate, HOUR + 11 * SECOND));
}

TEST(splits_that_move_nothing_are_ten_seconds_apart_and_as_many_as_it_takes)
{
    tv_policy_rate rate = {0};
    int64_t now = 0;

    for (int i = 0; i < 200; i++) {
        CHECK(tv_policy_rate_allows(&rate, now));
        tv_policy_rate_add(&rate, true, now);
        CHECK(!tv_policy_rate_allows(&rate, now + 10 * SECOND - 1));
        now += 10 * SECOND + 1;
    }
}

/* --- which node --- */

TEST(a_node_that_leaves_gives_away_only_its_own_ranges)
{
    const tv_slice nodes[] = {TV_LIT("n1"), TV_LIT("n2"), TV_LIT("n3"), TV_LIT("n4")};
    int per_node[4] = {0};

    for (int i = 0; i < 1000; i++) {
        char object[32];
        tv_slice name = {object, (size_t)snprintf(object, sizeof object, "tv.R.%d", i)};
        size_t with = tv_policy_usual_node(name, nodes, 4);
        size_t without = tv_policy_usual_node(name, nodes, 3);

        per_node[with]++;
        CHECK(with == 3 || with == without);
    }
    for (int i = 0; i < 4; i++)
        CHECK(per_node[i] > 180 && per_node[i] < 320);
}

TEST(a_move_needs_a_minute_of_unevenness)
{
    const tv_policy_place ranges[] = {{0, 50}, {0, 20}, {0, 30}, {1, 60}, {2, 90}};
    tv_policy_balance balance = {0};
    tv_policy_move move;

    CHECK(!tv_policy_balance_next(&balance, ranges, 5, 3, BEGIN, &move));
    CHECK(!tv_policy_balance_next(&balance, ranges, 5, 3, BEGIN + MINUTE - 1, &move));
    CHECK(tv_policy_balance_next(&balance, ranges, 5, 3, BEGIN + MINUTE, &move));
    CHECK_INT(move.range, 1); /* 100 and 60 become 80 and 80 */
    CHECK_INT(move.to_node, 1);
}

TEST(hints_of_an_idle_cluster_stay_where_they_are)
{
    const tv_policy_place ranges[] = {{0, 60}, {0, 39}, {1, 0}};
    tv_policy_balance balance = {0};
    tv_policy_move move;

    for (int64_t ms = 0; ms < HOUR; ms += MINUTE)
        CHECK(!tv_policy_balance_next(&balance, ranges, 3, 2, BEGIN + ms, &move));
}

TEST(a_move_that_does_not_help_is_not_made)
{
    const tv_policy_place one_hot[] = {{0, 100}, {1, 10}};
    const tv_policy_place even[] = {{0, 100}, {1, 70}};
    tv_policy_balance balance = {0};
    tv_policy_move move;

    CHECK(!tv_policy_balance_next(&balance, one_hot, 2, 2, BEGIN, &move));
    CHECK(tv_policy_balance_next(&balance, one_hot, 1, 1, BEGIN + HOUR, &move) == false);
    balance.since_ms = 0;
    /* The one range of the busy node would only make the other busy. */
    CHECK(!tv_policy_balance_next(&balance, one_hot, 2, 2, BEGIN, &move));
    const tv_policy_place swap[] = {{0, 100}, {1, 0}};
    CHECK(!tv_policy_balance_next(&balance, swap, 2, 2, BEGIN + HOUR, &move));
    /* 30 % and no more. */
    balance.since_ms = 0;
    CHECK(!tv_policy_balance_next(&balance, even, 2, 2, BEGIN, &move));
    CHECK_INT(balance.since_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_split_by_load_and_by_size),
        cmocka_unit_test(a_break_in_the_load_begins_the_ten_seconds_anew),
        cmocka_unit_test(a_range_rests_after_a_rollback_and_during_a_change),
        cmocka_unit_test(a_refusal_holds_for_its_own_reason),
        cmocka_unit_test(a_range_is_looked_at_when_it_has_grown_by_a_quarter),
        cmocka_unit_test(neighbours_are_merged_when_they_are_small_quiet_and_old),
        cmocka_unit_test(what_was_merged_is_far_from_a_split),
        cmocka_unit_test(a_cut_for_load_is_nearest_to_half_the_weight),
        cmocka_unit_test(more_than_three_quarters_on_one_side_of_every_cut_is_unbalanced),
        cmocka_unit_test(a_cut_for_size_is_where_new_rows_come_or_in_the_middle),
        cmocka_unit_test(one_partition_cannot_be_cut_however_it_grows),
        cmocka_unit_test(a_cut_for_size_counts_bytes),
        cmocka_unit_test(load_that_moves_to_the_end_is_known_after_three_windows),
        cmocka_unit_test(changes_are_ten_seconds_apart_and_sixty_an_hour),
        cmocka_unit_test(splits_that_move_nothing_are_ten_seconds_apart_and_as_many_as_it_takes),
        cmocka_unit_test(a_node_that_leaves_gives_away_only_its_own_ranges),
        cmocka_unit_test(a_move_needs_a_minute_of_unevenness),
        cmocka_unit_test(hints_of_an_idle_cluster_stay_where_they_are),
        cmocka_unit_test(a_move_that_does_not_help_is_not_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
