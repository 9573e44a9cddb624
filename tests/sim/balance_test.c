/*
 * A day in the life of the balancer: 1,000 ranges, 100 nodes and load that rises and falls
 * with the hour, drifts, leaps, and leaves rows behind or deletes them.
 *
 * The rules are those of cluster/policy.h, applied as the leader does every 5 s; what they act
 * on is a model: partitions in a row with load and rows, ranges over them.  It shows that
 *
 *  - no range is split and merged again within the hour, nor flaps over the day;
 *  - changes and moves are few, and keep their rate;
 *  - ranges stay within their size, and what could be helped by a split has been split;
 *  - the nodes' loads even out, and stay more even than without moves.
 *
 * TAVOLA_SEED=n repeats the run that printed n.
 */
#include "server/cluster/policy.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "check.h"
#include "seed.h"

enum {
    PARTITIONS = 20000,
    RANGES = 1000,
    RANGES_MAX = 4000,
    NODES = 100,
    OSDS = 300,
    SPOTS = 200,
    HOT_SPOTS = 3, /* of them */
    PASS_MS = 5000,
    MINUTE_MS = 60 * 1000,
    HOUR_MS = 60 * MINUTE_MS,
    DAY_MS = 24 * HOUR_MS,
    SAMPLES = 64,
    KEY_SIZE = 12,
};

/* Where much is going on: a stretch of partitions. */
typedef struct spot {
    double middle, width, rows_s, reads_s, growth; /* rows kept of those written: -1 to 1 */
} spot;

typedef struct model_range {
    tv_policy_range seen;
    int first; /* partition; the next range's is the end */
    size_t node;
} model_range;

static spot spots[SPOTS];
static double writes[PARTITIONS], reads[PARTITIONS], rows[PARTITIONS]; /* a second; kept */
static double write_sum[PARTITIONS + 1], read_sum[PARTITIONS + 1], row_sum[PARTITIONS + 1];
static model_range ranges[RANGES_MAX + 1]; /* the last has the end */
static size_t range_count;
static int64_t cut_at_ms[PARTITIONS], merged_at_ms[PARTITIONS]; /* where a boundary came and went */
static char keys[PARTITIONS][KEY_SIZE];

static double less(double a, double b)
{
    return a < b ? a : b;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static double random_share(void)
{
    return (double)seed_below(1000001) / 1000000;
}

/* A few are so hot that a range cannot have them alone. */
static void leap(spot *s)
{
    bool is_hot = s < spots + HOT_SPOTS;

    *s = (spot){
        .middle = random_share() * PARTITIONS,
        .width = is_hot ? 20 + random_share() * 200 : 100 + random_share() * 1000,
        .rows_s = is_hot ? 60000 + random_share() * 60000 : random_share() * 4000,
        .reads_s = is_hot ? 60000 + random_share() * 60000 : random_share() * 8000,
        .growth = (random_share() < 0.6 ? 0.01 : -0.03) * random_share() / (is_hot ? 20 : 1),
    };
}

/* What the spots do in this minute. */
static void shift_load(int64_t now_ms)
{
    double hour = (double)now_ms / HOUR_MS;
    double day = 1 - 0.9 * fabs(hour / 12 - 1); /* most at noon */

    for (int p = 0; p < PARTITIONS; p++) {
        writes[p] = 0.02;
        reads[p] = 1;
    }
    for (int i = 0; i < SPOTS; i++) {
        spot *s = &spots[i];
        double half = s->width / 2;

        if (seed_below(180) == 0) /* every three hours or so */
            leap(s);
        s->middle += random_share() * 2 - 1;
        for (int p = (int)greater(0, s->middle - half); p < less(PARTITIONS, s->middle + half);
             p++) {
            double share = day * 2 / s->width * (1 - fabs(p - s->middle) / half);

            writes[p] += share * s->rows_s;
            reads[p] += share * s->reads_s;
            rows[p] = greater(0, rows[p] + share * s->rows_s * s->growth * 60);
        }
    }
    for (int p = 0; p < PARTITIONS; p++) {
        write_sum[p + 1] = write_sum[p] + writes[p];
        read_sum[p + 1] = read_sum[p] + reads[p];
        row_sum[p + 1] = row_sum[p] + rows[p];
    }
}

/* One operation at a time takes 2 ms and 20 us a row; what comes meanwhile is the next group. */
static tv_policy_load load_of(const model_range *range)
{
    int from = range->first, to = range[1].first;
    double noise = 0.9 + 0.2 * random_share();
    double rows_s = (write_sum[to] - write_sum[from]) * noise;
    double share = less(rows_s * 20e-6, 0.98);
    double group = greater(1, rows_s * 2e-3 / (1 - share));
    double ops = rows_s / group;
    uint64_t kept = (uint64_t)(row_sum[to] - row_sum[from]);

    return (tv_policy_load){
        .busy = less(1, ops * (2e-3 + group * 20e-6)),
        .write_ops_s = ops,
        .rows_per_op = group,
        .reads_s = (read_sum[to] - read_sum[from]) * noise,
        .rows = kept,
        .bytes = kept * 300,
    };
}

static int partition_of(tv_slice key)
{
    return (int)strtol(key.data, NULL, 10);
}

static tv_slice key_of(int partition)
{
    return tv_slice_of(keys[partition]);
}

/* As the nodes sample: partitions by their share of rows read and written. */
static tv_policy_refusal cut_for_load(const model_range *range, int *ret_cut)
{
    tv_policy_sample samples[SAMPLES];
    int from = range->first, to = range[1].first;
    double all = write_sum[to] - write_sum[from] + read_sum[to] - read_sum[from];
    tv_slice cut;

    for (int i = 0; i < SAMPLES; i++) {
        double at = random_share() * all;
        int p = from;

        while (p < to - 1 && at >= writes[p] + reads[p])
            at -= writes[p] + reads[p], p++;
        samples[i] = (tv_policy_sample){key_of(p), 1};
    }

    size_t count = tv_policy_sort_samples(samples, SAMPLES);
    tv_policy_refusal refusal = tv_policy_cut_by_load(samples, count, key_of(from), &cut);

    if (refusal == TV_POLICY_ALLOWED)
        *ret_cut = partition_of(cut);
    return refusal;
}

static tv_policy_refusal cut_for_size(const model_range *range, int *ret_cut)
{
    static tv_range_boundary boundaries[PARTITIONS];
    const tv_growth unknown = {.kind = TV_GROWTH_UNKNOWN};
    size_t count = 0;
    int from = range->first, to = range[1].first;
    tv_slice cut;

    for (int p = from + 1; p < to; p++)
        boundaries[count++] =
            (tv_range_boundary){key_of(p), (uint64_t)(row_sum[p] - row_sum[from]), 0};

    tv_policy_refusal refusal = tv_policy_cut_by_size(
        &(tv_range_shape){.rows = range->seen.load.rows, .boundaries = boundaries, .count = count},
        &unknown, &cut);

    if (refusal == TV_POLICY_ALLOWED)
        *ret_cut = partition_of(cut);
    return refusal;
}

typedef struct day_counts {
    int splits, merges, refused, moves, quick_merges, quick_splits;
    double uneven_sum; /* over the passes behind the first hour */
    int uneven_count;
} day_counts;

static void split_at(size_t i, int cut, int64_t now_ms, day_counts *counts)
{
    tv_assert(range_count < RANGES_MAX);
    tv_assert(cut > ranges[i].first && cut < ranges[i + 1].first);
    memmove(&ranges[i + 1], &ranges[i], (range_count - i + 1) * sizeof ranges[0]);
    range_count++;
    ranges[i + 1].first = cut;
    for (size_t j = i; j < i + 2; j++) {
        ranges[j].seen = (tv_policy_range){.born_ms = now_ms};
        tv_policy_load load = load_of(&ranges[j]);

        tv_policy_observe(&ranges[j].seen, &load, now_ms);
    }
    counts->splits++;
    counts->quick_splits += merged_at_ms[cut] && now_ms - merged_at_ms[cut] < HOUR_MS;
    cut_at_ms[cut] = now_ms;
}

static void merge_at(size_t i, int64_t now_ms, day_counts *counts)
{
    int boundary = ranges[i + 1].first;

    memmove(&ranges[i + 1], &ranges[i + 2], (range_count - i - 1) * sizeof ranges[0]);
    range_count--;
    ranges[i].seen = (tv_policy_range){.born_ms = now_ms};
    counts->merges++;
    counts->quick_merges += cut_at_ms[boundary] && now_ms - cut_at_ms[boundary] < HOUR_MS;
    merged_at_ms[boundary] = now_ms;
}

/* One change, if there is one to make. */
static bool change_one(int64_t now_ms, day_counts *counts)
{
    for (size_t i = 0; i < range_count; i++) {
        tv_policy_reason reason = tv_policy_split(&ranges[i].seen, now_ms, range_count, OSDS);
        tv_policy_refusal refusal;
        int cut = 0;

        if (reason == TV_POLICY_NO_REASON)
            continue;
        refusal = reason == TV_POLICY_SIZE ? cut_for_size(&ranges[i], &cut)
                                           : cut_for_load(&ranges[i], &cut);
        if (refusal != TV_POLICY_ALLOWED) {
            counts->refused++;
            tv_policy_refuse(&ranges[i].seen, reason, now_ms);
            continue;
        }
        split_at(i, cut, now_ms, counts);
        return true;
    }
    for (size_t i = 0; i + 1 < range_count; i++) {
        if (!tv_policy_may_merge(&ranges[i].seen, &ranges[i + 1].seen, now_ms))
            continue;
        merge_at(i, now_ms, counts);
        return true;
    }
    return false;
}

/* How far the nodes' loads are from their mean, on average, as a share of it. */
static double unevenness(void)
{
    double loads[NODES] = {0}, sum = 0, off = 0;

    for (size_t i = 0; i < range_count; i++) {
        loads[ranges[i].node] += ranges[i].seen.mean_load;
        sum += ranges[i].seen.mean_load;
    }
    for (int n = 0; n < NODES; n++)
        off += fabs(loads[n] - sum / NODES);
    return off / sum;
}

static void move_one(tv_policy_balance *balance, int64_t now_ms, day_counts *counts)
{
    static tv_policy_place places[RANGES_MAX];
    tv_policy_move move;

    for (size_t i = 0; i < range_count; i++)
        places[i] = (tv_policy_place){ranges[i].node, ranges[i].seen.mean_load};
    if (!tv_policy_balance_next(balance, places, range_count, NODES, now_ms, &move))
        return;
    ranges[move.range].node = move.to_node;
    counts->moves++;
}

static void begin_day(void)
{
    memset(write_sum, 0, sizeof write_sum);
    memset(cut_at_ms, 0, sizeof cut_at_ms);
    memset(merged_at_ms, 0, sizeof merged_at_ms);
    memset(ranges, 0, sizeof ranges);
    range_count = RANGES;
    for (int p = 0; p < PARTITIONS; p++) {
        snprintf(keys[p], KEY_SIZE, "%08d", p);
        rows[p] = random_share() * 1500;
    }
    for (size_t i = 0; i <= RANGES; i++)
        ranges[i].first = (int)i * (PARTITIONS / RANGES);
    for (size_t i = 0; i < RANGES; i++)
        ranges[i].node = seed_below(NODES);
    for (int i = 0; i < SPOTS; i++)
        leap(&spots[i]);
}

static day_counts simulate(bool has_moves)
{
    day_counts counts = {0};
    tv_policy_rate rate = {0};
    tv_policy_balance balance = {0};
    int hour_changes = 0, last_hour = 0;
    int64_t start_ms = INT64_C(1000) * HOUR_MS;

    begin_day();
    for (int64_t at = 0; at < DAY_MS; at += PASS_MS) {
        int64_t now_ms = start_ms + at;

        if (at % MINUTE_MS == 0)
            shift_load(at);
        for (size_t i = 0; i < range_count; i++) {
            tv_policy_load load = load_of(&ranges[i]);

            tv_policy_observe(&ranges[i].seen, &load, now_ms);
        }
        if (at / HOUR_MS != last_hour) {
            last_hour = (int)(at / HOUR_MS);
            hour_changes = 0;
        }
        if (tv_policy_rate_allows(&rate, now_ms) && change_one(now_ms, &counts)) {
            tv_policy_rate_add(&rate, false, now_ms);
            CHECK(++hour_changes <= TV_POLICY_PER_HOUR_MAX);
        }
        if (has_moves)
            move_one(&balance, now_ms, &counts);
        if (at >= HOUR_MS) {
            counts.uneven_sum += unevenness();
            counts.uneven_count++;
        }
    }
    return counts;
}

TEST(a_day_passes_without_flapping_and_loads_even_out)
{
    uint64_t seed = seed_start(), before = seed_state;
    day_counts still = simulate(false);

    seed_state = before;

    day_counts day = simulate(true);
    uint64_t largest = 0;
    double uneven = day.uneven_sum / day.uneven_count;
    double uneven_still = still.uneven_sum / still.uneven_count;

    for (size_t i = 0; i < range_count; i++) /* those that can be split */
        if (ranges[i + 1].first - ranges[i].first > 1 && ranges[i].seen.load.rows > largest)
            largest = ranges[i].seen.load.rows;
    printf("# seed %llu: %d splits, %d merges, %d refused, %d moves, %zu ranges; split and merged "
           "within the hour %d, merged and split %d; largest %llu rows; unevenness %.2f (%.2f "
           "without moves)\n",
           (unsigned long long)seed, day.splits, day.merges, day.refused, day.moves, range_count,
           day.quick_merges, day.quick_splits, (unsigned long long)largest, uneven, uneven_still);
    CHECK_INT(day.quick_merges, 0);
    CHECK(day.quick_splits <= 3);
    CHECK(day.splits + day.merges > 10);
    CHECK(day.moves > 0 && day.moves < 5 * RANGES);
    CHECK(largest < 2 * TV_POLICY_ROWS_MAX);
    CHECK(uneven < 0.75 * uneven_still); /* a hot range is more than its share on any node */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_passes_without_flapping_and_loads_even_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
