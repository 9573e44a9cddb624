/*
 * Patterns of columns: for each one pictures that have it, and pictures that look like it and have
 * not.  What real traffic is called, and how soon: watch/kinds_of_traffic_test.c.
 */
#include "check.h"
#include "insight/traffic/pattern.h"
#include "random.h"

enum { SLOTS = 120, PARTITIONS = 30, BUCKETS = 3 * PARTITIONS + 1, START = 29700000 };

static tv_axis *axis;
static tv_piece pieces[SLOTS];
static tv_arena arena;

/* Partitions p00 to p29, each with two buckets and, in between, the entity "p17" / "m" in one. */
static int set_up(void **state)
{
    static char texts[BUCKETS][8];
    tv_slice bounds[BUCKETS] = {TV_LIT("")};

    (void)state;
    for (int i = 0; i < PARTITIONS; i++) {
        static const char *const rows[] = {"a", "m", "m\x01"};

        for (int k = 0; k < 3; k++) {
            char *text = texts[1 + 3 * i + k];

            snprintf(text, sizeof texts[0], "p%02d\x01%s", i, rows[k]);
            bounds[1 + 3 * i + k] = tv_slice_of(text);
        }
    }
    tv_arena_init(&arena);
    t_random_seed(41);
    axis = tv_axis_new(bounds, BUCKETS);
    for (int i = 0; i < SLOTS; i++)
        pieces[i] =
            (tv_piece){START + (uint32_t)i, axis, tv_calloc(BUCKETS, sizeof *pieces[i].counts)};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tv_axis_unref(axis);
    for (int i = 0; i < SLOTS; i++)
        free(pieces[i].counts);
    tv_arena_done(&arena);
    return 0;
}

static uint64_t noise(uint64_t mean)
{
    return mean / 2 + t_random() % (mean + 1);
}

/* Pictures: what the lower bucket of a partition has, and what its entity "m" has. */
typedef uint64_t picture(int slot, int partition);

static uint64_t nothing(int slot, int partition)
{
    (void)slot;
    (void)partition;
    return 0;
}

static uint64_t uniform(int slot, int partition)
{
    (void)slot;
    (void)partition;
    return noise(100);
}

static uint64_t hardly_any(int slot, int partition)
{
    return partition == 0 && slot < 40 ? 1 : 0;
}

static uint64_t every_30(int slot, int partition)
{
    (void)partition;
    return slot % 30 < 3 ? noise(100) : noise(2);
}

static uint64_t waves(int slot, int partition)
{
    (void)partition;
    return noise(5 + 19 * (uint64_t)(slot % 20 < 10 ? slot % 10 : 10 - slot % 10));
}

static uint64_t one_burst(int slot, int partition)
{
    (void)partition;
    return slot > 50 && slot < 60 ? noise(200) : noise(2);
}

static uint64_t growing(int slot, int partition)
{
    (void)partition;
    return noise(1 + (uint64_t)slot * 4);
}

static uint64_t hot_since_40(int slot, int partition)
{
    return slot >= 40 && partition == 17 ? 7100 : 100;
}

static uint64_t hot_until_40(int slot, int partition)
{
    return slot < 40 && partition == 17 ? 7100 : 100;
}

static uint64_t hot_for_two_slots(int slot, int partition)
{
    return slot >= 40 && slot < 42 && partition == 17 ? 7100 : 100;
}

static uint64_t hot_with_silence(int slot, int partition)
{
    return slot % 10 ? 0 : hot_since_40(50, partition);
}

static uint64_t warm(int slot, int partition)
{
    (void)slot;
    return partition == 17 ? 1500 : 100; /* 34 % */
}

static uint64_t two_alike(int slot, int partition)
{
    (void)slot;
    return partition == 3 || partition == 17 ? 1000 : 0;
}

static uint64_t alone(int slot, int partition)
{
    (void)slot;
    return partition == 17 ? 1000 : 0;
}

static uint64_t append(int slot, int partition)
{
    return partition == slot * PARTITIONS / SLOTS ? 1000 : 0;
}

static uint64_t quick_append(int slot, int partition)
{
    return partition == slot ? 1000 : 0;
}

static uint64_t prepend(int slot, int partition)
{
    return append(slot, PARTITIONS - 1 - partition);
}

static uint64_t append_and_strays(int slot, int partition)
{
    return append(slot, partition) + (partition == 29 ? 300 : 0);
}

static uint64_t append_and_old(int slot, int partition)
{
    return append(slot, partition) + (partition == 0 ? 100 : 0);
}

static uint64_t to_and_fro(int slot, int partition)
{
    return partition == slot * 7919 % 101 % PARTITIONS ? 1000 : 0;
}

static uint64_t scan_at_70(int slot, int partition)
{
    (void)partition;
    return slot == 70 ? 1000 : 0;
}

static uint64_t scans_from_70(int slot, int partition)
{
    (void)partition;
    return slot == 70 || slot == 80 || slot == 90 ? (uint64_t)(1070 - slot) : 0;
}

static uint64_t scan_of_a_third(int slot, int partition)
{
    return slot == 70 && partition < PARTITIONS / 3 ? 3000 : 0;
}

/* Where a picture is put. */
typedef enum place { LOWER, ENTITY, BOTH } place;

/* A scan goes through the buckets between them, too. */
static void draw_scans(picture *make)
{
    for (int slot = 0; slot < SLOTS; slot++) {
        memset(pieces[slot].counts, 0, BUCKETS * sizeof *pieces[slot].counts);
        for (int b = 0; b < BUCKETS; b++)
            pieces[slot].counts[b].by[TV_MEASURE_SCANNED] = make(slot, b / 3);
    }
}

static void draw(picture *make, unsigned measures, place where)
{
    for (int slot = 0; slot < SLOTS; slot++) {
        memset(pieces[slot].counts, 0, BUCKETS * sizeof *pieces[slot].counts);
        for (int i = 0; i < 2 * PARTITIONS; i++) {
            bool is_entity = i % 2;
            uint64_t value =
                where == BOTH || is_entity == (where == ENTITY) ? make(slot, i / 2) : 100;

            for (int k = 0; k < TV_MEASURES; k++) {
                if (measures >> k & 1)
                    pieces[slot].counts[1 + i / 2 * 3 + i % 2].by[k] = value;
            }
        }
    }
}

enum {
    READS = 1 << TV_MEASURE_READS,
    WRITES = 1 << TV_MEASURE_WRITES,
    INSERTS = WRITES | 1 << TV_MEASURE_INSERTS,
    SCANNED = 1 << TV_MEASURE_SCANNED,
};

static const tv_pattern_input all = {
    .pieces = pieces, .count = SLOTS, .from = START, .to = START + SLOTS, .grain = 1};

TEST(pictures_have_their_names_and_words)
{
    static const struct {
        const char *what;
        picture *make;
        unsigned measures;
        place where;
        const char *names, *text; /* of all; of the first, when it matters */
    } rows[] = {
        {"even", uniform, READS, BOTH, "even ", NULL},
        {"two alike", two_alike, WRITES, BOTH, "even ",
         "Even: no partition has more than 50 % of the requests."},
        {"one that is alone", alone, WRITES, BOTH, "uneven ",
         "Partition 'p17' has all of the writes."},
        {"one with a third", warm, WRITES, BOTH, "uneven ",
         "Partition 'p17' has 34 % of the writes, the largest share."},
        {"a hot partition", hot_since_40, WRITES, BOTH, "hot-line ",
         "Partition 'p17' has 71 % of the writes, since 00:40 UTC."},
        {"one that was hot", hot_until_40, READS, BOTH, "hot-line ",
         "Partition 'p17' has 71 % of the reads, from 00:00 UTC to 00:40 UTC."},
        {"hot for two slots", hot_for_two_slots, READS, BOTH, "even ", NULL},
        {"hot, and silent in between", hot_with_silence, READS, BOTH, "hot-line ", NULL},
        {"a hot entity", hot_since_40, READS, ENTITY, "hot-line ",
         "Entity 'p17' / 'm' has 55 % of the reads, since 00:40 UTC. One key cannot be split."},
        {"append", append, INSERTS, BOTH, "rising ",
         "New entities go to the end of the table: all of the inserts since 00:00 UTC lie behind "
         "those of the slot before."},
        {"prepend", prepend, INSERTS, BOTH, "falling ",
         "New entities go to the beginning of the table: all of the inserts since 00:00 UTC lie "
         "in front of those of the slot before."},
        {"append, and some before it", append_and_old, INSERTS, BOTH, "rising ", NULL},
        {"no end of the table", append_and_strays, INSERTS, BOTH, "hot-line ", NULL},
        {"updates that move on", append, WRITES, BOTH, "even ", NULL},
        {"to and fro", to_and_fro, INSERTS, BOTH, "even ", NULL},
        {"wall", scan_at_70, SCANNED, BOTH, "wall ",
         "Nearly all of the table was scanned at 01:10 UTC."},
        {"walls", scans_from_70, SCANNED, BOTH, "wall ",
         "Nearly all of the table was scanned at 01:10 UTC, and in 2 other minutes."},
        {"a scan of a third", scan_of_a_third, SCANNED, BOTH, "", NULL},
        {"stripes", every_30, READS, BOTH, "stripes ",
         "Traffic comes every 30 minutes, evenly over the keys."},
        {"nothing", nothing, READS, BOTH, "", NULL},
        {"hardly anything", hardly_any, READS, BOTH, "", NULL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_pattern found[TV_PATTERNS_MAX];
        tv_buf names = TV_BUF_EMPTY, text = TV_BUF_EMPTY;
        size_t count;

        t_row = rows[i].what;
        if (rows[i].measures == SCANNED)
            draw_scans(rows[i].make);
        else
            draw(rows[i].make, rows[i].measures, rows[i].where);
        count = tv_patterns_find(&all, found);
        for (size_t k = 0; k < count; k++)
            tv_buf_printf(&names, "%s ", tv_pattern_name(found[k].kind));
        CHECK_TEXT(tv_buf_slice(&names), rows[i].names);
        if (rows[i].text) {
            tv_pattern_describe(&found[0], &arena, &text);
            CHECK_TEXT(tv_buf_slice(&text), rows[i].text);
        }
        tv_buf_done(&names);
        tv_buf_done(&text);
    }
    CHECK_TEXT(tv_slice_of(tv_pattern_verdict(TV_PATTERN_EVEN)), "fine");
    CHECK_TEXT(tv_slice_of(tv_pattern_verdict(TV_PATTERN_HOT_LINE)), "watch");
}

TEST(stripes_have_a_period)
{
    static const struct {
        const char *what;
        picture *make;
        uint32_t period; /* 0: none */
    } rows[] = {
        {"every 30 slots", every_30, 30}, {"waves", waves, 20},    {"uniform", uniform, 0},
        {"one burst", one_burst, 0},      {"growing", growing, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_pattern found[TV_PATTERNS_MAX] = {{0}};

        t_row = rows[i].what;
        draw(rows[i].make, READS, BOTH);
        CHECK_INT(tv_patterns_find(&all, found), 1);
        CHECK_INT(found[0].kind == TV_PATTERN_STRIPES, rows[i].period > 0);
        CHECK(found[0].period + 1 >= rows[i].period && found[0].period <= rows[i].period + 1);
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
        {"every key, all rows", scan_at_70, 91000, true},
        {"every key, nine tenths", scan_at_70, 101000, true},
        {"a little of every key", scan_at_70, 910000, false},
        {"a third of the keys, often", scan_of_a_third, 90000, false},
        {"nothing", nothing, 0, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_pattern found[TV_PATTERNS_MAX];
        tv_pattern_input input = all;

        t_row = rows[i].what;
        input.row_count = rows[i].rows;
        draw_scans(rows[i].make);
        CHECK_INT(tv_patterns_find(&input, found), rows[i].want);
        if (!rows[i].want)
            continue;
        CHECK_INT(found[0].minute, START + 70);
        CHECK_INT(found[0].minutes, 1);
        CHECK_INT(found[0].times, 1);
    }
}

TEST(a_range_of_keys_is_judged_by_itself)
{
    tv_pattern found[TV_PATTERNS_MAX];
    tv_pattern_input part = all;

    draw(hot_since_40, WRITES, BOTH);
    part.high = TV_LIT("p17");
    CHECK_INT(tv_patterns_find(&part, found), 1);
    CHECK_INT(found[0].kind, TV_PATTERN_EVEN);
    part.high = TV_LIT("p25");
    part.low = TV_LIT("p10");
    CHECK_INT(tv_patterns_find(&part, found), 1);
    CHECK_INT(found[0].kind, TV_PATTERN_HOT_LINE);
    CHECK_SLICE(tv_pattern_bound_slice(&found[0].low), TV_LIT("p17"));
    CHECK_SLICE(tv_pattern_bound_slice(&found[0].high), TV_LIT("p17\x01\xff"));
}

TEST(three_slots_are_needed)
{
    tv_pattern found[TV_PATTERNS_MAX];
    tv_pattern_input few = all;

    draw(quick_append, INSERTS, BOTH);
    for (few.count = 0; few.count < 3; few.count++)
        CHECK_INT(tv_patterns_find(&few, found), 0);
    CHECK_INT(tv_patterns_find(&few, found), 1);
    CHECK_INT(found[0].kind, TV_PATTERN_RISING);
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(pictures_have_their_names_and_words),
        ONE(stripes_have_a_period),
        ONE(a_wall_is_a_slot_that_read_nearly_all),
        ONE(a_range_of_keys_is_judged_by_itself),
        ONE(three_slots_are_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
