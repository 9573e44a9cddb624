/* The rules, one function each; the header says why they are so. */
#include "server/cluster/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"

/* Shares of the samples. */
#define HOT_SHARE 0.50
#define HEAVIER_HALF_MAX 0.75
/* Shares of a full range. */
#define LOOK_SHARE 0.25 /* it is looked at whenever it has grown by that */
#define OVER_MAX 0.50   /* at most that much goes along with new rows, for the rest to be in size */
#define GROWING_MAX 0.75     /* what grows may go on in its range when it is not fuller */
#define STILL_MIN (1.0 / 16) /* less is not worth a cut of its own */

#define APPEND_SHARE 0.80
#define APPEND_PERCENTILE 0.95
enum { APPEND_WINDOWS = 3 };

/* A pass is a twelfth of a minute. */
#define MEAN_SHARE (1.0 / 12)

/* 0 is "not so": a clock that begins at 0 is taken as if it had begun a moment later. */
static void note(int64_t *since_ms, bool is_so, int64_t now_ms)
{
    if (!is_so)
        *since_ms = 0;
    else if (*since_ms == 0)
        *since_ms = now_ms ? now_ms : 1;
}

static bool has_lasted(int64_t since_ms, int64_t now_ms, int64_t ms)
{
    return since_ms && now_ms - since_ms >= ms;
}

void tv_policy_observe(tv_policy_range *range, const tv_policy_load *load, int64_t now_ms)
{
    double load_now = load->write_ops_s * load->rows_per_op + load->reads_s;

    range->load = *load;
    range->mean_load += (load_now - range->mean_load) * MEAN_SHARE;
    note(&range->busy_since_ms,
         load->busy >= TV_POLICY_BUSY_MIN && load->rows_per_op >= TV_POLICY_ROWS_PER_OP_MIN,
         now_ms);
    note(&range->read_since_ms, load->reads_s >= TV_POLICY_HOT_READS, now_ms);
    note(&range->quiet_since_ms,
         load->write_ops_s < TV_POLICY_QUIET_WRITE_OPS && load->reads_s < TV_POLICY_QUIET_READS,
         now_ms);
}

void tv_policy_rest(tv_policy_range *range, int64_t now_ms)
{
    range->rests_until_ms = now_ms + TV_POLICY_REST_MS;
}

void tv_policy_refuse(tv_policy_range *range, tv_policy_reason reason, int64_t now_ms)
{
    if (reason == TV_POLICY_SIZE) {
        range->size_rests_until_ms = now_ms + TV_POLICY_REST_MS;
        range->size_rests_until_rows = range->load.rows + range->load.rows / 4;
    } else {
        range->load_rests_until_ms = now_ms + TV_POLICY_REST_MS;
    }
}

const char *tv_policy_reason_name(tv_policy_reason reason)
{
    static const char *const names[] = {"", "writes", "reads", "size"};

    return names[reason];
}

const char *tv_policy_refusal_name(tv_policy_refusal refusal)
{
    static const char *const names[] = {"",           "no_samples", "hot_partition",
                                        "unbalanced", "append",     "single_partition"};

    return names[refusal];
}

static bool may_change(const tv_policy_range *range, int64_t now_ms)
{
    return !range->has_intent && now_ms >= range->rests_until_ms;
}

static bool is_too_large(const tv_policy_range *range, int64_t now_ms)
{
    const tv_policy_load *load = &range->load;

    return (load->rows > TV_POLICY_ROWS_MAX || load->bytes > TV_POLICY_BYTES_MAX) &&
           (now_ms >= range->size_rests_until_ms || load->rows >= range->size_rests_until_rows);
}

tv_policy_reason tv_policy_split(const tv_policy_range *range, int64_t now_ms, size_t range_count,
                                 size_t osd_count)
{
    if (!may_change(range, now_ms))
        return TV_POLICY_NO_REASON;
    if (is_too_large(range, now_ms))
        return TV_POLICY_SIZE;
    if (now_ms < range->load_rests_until_ms)
        return TV_POLICY_NO_REASON;
    if (has_lasted(range->busy_since_ms, now_ms, TV_POLICY_HOT_MS) &&
        range_count < TV_POLICY_RANGES_PER_OSD * osd_count)
        return TV_POLICY_WRITES;
    if (has_lasted(range->read_since_ms, now_ms, TV_POLICY_HOT_MS))
        return TV_POLICY_READS;
    return TV_POLICY_NO_REASON;
}

/* How full a range is; above 1 it is too large. */
static double fullness(uint64_t rows, uint64_t bytes)
{
    double by_rows = (double)rows / TV_POLICY_ROWS_MAX;
    double by_bytes = (double)bytes / TV_POLICY_BYTES_MAX;

    return by_rows > by_bytes ? by_rows : by_bytes;
}

bool tv_policy_wants_look(const tv_policy_load *load, uint64_t rows, uint64_t bytes)
{
    double then = fullness(rows, bytes);

    /* The more there is to look at the more must have come. */
    return fullness(load->rows, load->bytes) - then >= LOOK_SHARE * (then > 1 ? then : 1);
}

static bool is_mergeable(const tv_policy_range *range, int64_t now_ms)
{
    return may_change(range, now_ms) &&
           has_lasted(range->quiet_since_ms, now_ms, TV_POLICY_QUIET_MS) &&
           now_ms - range->born_ms >= TV_POLICY_AGE_MIN_MS;
}

bool tv_policy_may_merge(const tv_policy_range *left, const tv_policy_range *right, int64_t now_ms)
{
    return is_mergeable(left, now_ms) && is_mergeable(right, now_ms) &&
           left->load.rows + right->load.rows <= TV_POLICY_MERGE_ROWS_MAX &&
           left->load.bytes + right->load.bytes <= TV_POLICY_MERGE_BYTES_MAX;
}

/* --- where to cut --- */

static int compare_samples(const void *a, const void *b)
{
    return tv_slice_cmp(((const tv_policy_sample *)a)->partition,
                        ((const tv_policy_sample *)b)->partition);
}

size_t tv_policy_sort_samples(tv_policy_sample *samples, size_t count)
{
    size_t kept = 0;

    if (count == 0)
        return 0;
    qsort(samples, count, sizeof *samples, compare_samples);
    for (size_t i = 1; i < count; i++) {
        if (tv_slice_eq(samples[kept].partition, samples[i].partition))
            samples[kept].weight += samples[i].weight;
        else
            samples[++kept] = samples[i];
    }
    return kept + 1;
}

static uint64_t weight_of(const tv_policy_sample *samples, size_t count)
{
    uint64_t weight = 0;

    for (size_t i = 0; i < count; i++)
        weight += samples[i].weight;
    return weight;
}

tv_policy_refusal tv_policy_cut_by_load(const tv_policy_sample *samples, size_t count,
                                        tv_slice start, tv_slice *ret_cut)
{
    double total = (double)weight_of(samples, count);
    double before = 0, nearest = INFINITY;
    tv_slice cut = TV_NONE;

    if (total == 0)
        return TV_POLICY_NO_SAMPLES;
    for (size_t i = 0; i < count; i++) {
        double weight = (double)samples[i].weight;

        if (weight >= HOT_SHARE * total)
            return TV_POLICY_HOT_PARTITION;
        if (fabs(before - total / 2) < nearest && tv_slice_cmp(samples[i].partition, start) > 0) {
            nearest = fabs(before - total / 2);
            cut = samples[i].partition;
        }
        before += weight;
    }
    /* The heavier side has `nearest` more than half. */
    if (total / 2 + nearest > HEAVIER_HALF_MAX * total)
        return TV_POLICY_UNBALANCED;
    *ret_cut = cut;
    return TV_POLICY_ALLOWED;
}

/* How full what is before a boundary would be; of all that there is, when there is no such one. */
static double full_before(const tv_range_shape *shape, size_t index)
{
    const tv_range_boundary *boundary = &shape->boundaries[index];

    return index < shape->count ? fullness(boundary->rows_before, boundary->bytes_before)
                                : fullness(shape->rows, shape->bytes);
}

static double full_behind(const tv_range_shape *shape, size_t index)
{
    const tv_range_boundary *boundary = &shape->boundaries[index];

    return index < shape->count ? fullness(shape->rows - boundary->rows_before,
                                           shape->bytes - boundary->bytes_before)
                                : 0;
}

static size_t nearest_to_half(const tv_range_shape *shape)
{
    double half = (double)shape->rows / 2, nearest = INFINITY;
    size_t found = 0;

    for (size_t i = 0; i < shape->count; i++) {
        double distance = fabs((double)shape->boundaries[i].rows_before - half);

        if (distance < nearest) {
            nearest = distance;
            found = i;
        }
    }
    return found;
}

/* Rows are appended: at the last partition that they have come to, or a little before. */
static size_t cut_going_up(const tv_range_shape *shape, const tv_growth *growth)
{
    size_t head = growth->end - 1, cut = head;

    if (full_behind(shape, growth->end) > STILL_MIN &&
        full_before(shape, growth->end) <= GROWING_MAX)
        return growth->end;
    if (growth->end <= growth->first)
        return nearest_to_half(shape);
    while (cut > growth->first && full_before(shape, cut) > 1)
        cut--;
    return full_before(shape, cut) <= 1 &&
                   full_before(shape, head) - full_before(shape, cut) <= OVER_MAX
               ? cut
               : head;
}

/* Rows are prepended: behind the first partition that they have come to, or a little farther. */
static size_t cut_going_down(const tv_range_shape *shape, const tv_growth *growth)
{
    size_t head = growth->first + !growth->is_from_start, cut;

    if (!growth->is_from_start && full_before(shape, growth->first) > STILL_MIN &&
        full_behind(shape, growth->first) <= GROWING_MAX)
        return growth->first;
    if (head >= shape->count)
        return nearest_to_half(shape);
    cut = head;
    while (cut < growth->end && cut + 1 < shape->count && full_behind(shape, cut) > 1)
        cut++;
    return full_behind(shape, cut) <= 1 &&
                   full_behind(shape, head) - full_behind(shape, cut) <= OVER_MAX
               ? cut
               : head;
}

tv_policy_refusal tv_policy_cut_by_size(const tv_range_shape *shape, const tv_growth *growth,
                                        tv_slice *ret_cut)
{
    size_t cut;

    if (shape->count == 0)
        return TV_POLICY_SINGLE_PARTITION;
    cut = growth->kind == TV_GROWTH_UP     ? cut_going_up(shape, growth)
          : growth->kind == TV_GROWTH_DOWN ? cut_going_down(shape, growth)
                                           : nearest_to_half(shape);
    *ret_cut = shape->boundaries[cut].partition;
    return TV_POLICY_ALLOWED;
}

/* The first sample up to which a share of all weight lies. */
static tv_slice percentile(const tv_policy_sample *samples, size_t count, double share)
{
    double wanted = share * (double)weight_of(samples, count), sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += (double)samples[i].weight;
        if (sum >= wanted)
            return samples[i].partition;
    }
    return samples[count - 1].partition;
}

void tv_policy_trend_add(tv_policy_trend *trend, const tv_policy_sample *samples, size_t count)
{
    tv_slice before = {trend->edge, trend->edge_len};
    double total = (double)weight_of(samples, count), beyond = 0;

    if (total == 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (tv_slice_cmp(samples[i].partition, before) > 0)
            beyond += (double)samples[i].weight;
    /* The first window has none before it. */
    trend->windows = trend->edge && beyond >= APPEND_SHARE * total ? trend->windows + 1 : 0;

    tv_slice edge = percentile(samples, count, APPEND_PERCENTILE);
    char *copy = tv_malloc(edge.len + 1);

    memcpy(copy, edge.data, edge.len);
    free(trend->edge);
    trend->edge = copy;
    trend->edge_len = edge.len;
}

bool tv_policy_trend_is_append(const tv_policy_trend *trend)
{
    return trend->windows >= APPEND_WINDOWS;
}

void tv_policy_trend_done(tv_policy_trend *trend)
{
    free(trend->edge);
    *trend = (tv_policy_trend){0};
}

/* --- how often --- */

bool tv_policy_rate_allows(const tv_policy_rate *rate, int64_t now_ms)
{
    int64_t oldest = rate->at_ms[rate->next];

    return (rate->last_ms == 0 || now_ms - rate->last_ms >= TV_POLICY_PAUSE_MS) &&
           (oldest == 0 || now_ms - oldest >= TV_POLICY_HOUR_MS);
}

void tv_policy_rate_add(tv_policy_rate *rate, bool is_free, int64_t now_ms)
{
    rate->last_ms = now_ms ? now_ms : 1;
    if (is_free)
        return;
    rate->at_ms[rate->next] = rate->last_ms;
    rate->next = (rate->next + 1) % TV_POLICY_PER_HOUR_MAX;
}

/* --- which node --- */

/* Rendezvous: when a node comes or goes, only its own ranges change hands. */
size_t tv_policy_usual_node(tv_slice range_object, const tv_slice *incarnations, size_t count)
{
    static const tv_hash_key range_key = {0x7461766f6c61ull, 0x72616e6765ull};
    static const tv_hash_key node_key = {0x7461766f6c61ull, 0x6e6f6465ull};
    uint64_t range_hash = tv_siphash(1, 3, range_key, range_object), best = 0;
    size_t winner = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t both[2] = {range_hash, tv_siphash(1, 3, node_key, incarnations[i])};
        uint64_t score = tv_siphash(1, 3, node_key, (tv_slice){(const char *)both, sizeof both});

        if (score > best) {
            best = score;
            winner = i;
        }
    }
    return winner;
}

/* The range on node `from` after whose move the two nodes are nearest; false if none helps much. */
static bool choose_move(const tv_policy_place *ranges, size_t count, size_t from, double gap,
                        size_t *ret_range)
{
    double nearest = (1 - TV_POLICY_MOVE_GAIN) * gap;
    bool is_found = false;

    for (size_t i = 0; i < count; i++) {
        double left = fabs(gap - 2 * ranges[i].load);

        if (ranges[i].node != from || left > nearest)
            continue;
        nearest = left;
        *ret_range = i;
        is_found = true;
    }
    return is_found;
}

/* The busiest node of those with less load than `below`, or with just that and behind `last`. */
static size_t next_busiest(const double *loads, size_t count, double below, size_t last)
{
    size_t found = count;

    for (size_t i = 0; i < count; i++) {
        if (loads[i] > below || (loads[i] == below && i <= last))
            continue;
        if (found == count || loads[i] > loads[found])
            found = i;
    }
    return found;
}

bool tv_policy_balance_next(tv_policy_balance *balance, const tv_policy_place *ranges,
                            size_t range_count, size_t node_count, int64_t now_ms,
                            tv_policy_move *ret_move)
{
    double *loads = tv_calloc(node_count + 1, sizeof *loads);
    size_t least = 0, range = 0;
    bool is_found = false;

    for (size_t i = 0; i < range_count; i++)
        loads[ranges[i].node] += ranges[i].load;
    for (size_t i = 1; i < node_count; i++)
        if (loads[i] < loads[least])
            least = i;

    size_t most = next_busiest(loads, node_count, INFINITY, 0);

    note(&balance->since_ms,
         node_count && loads[most] >= TV_POLICY_MOVE_LOAD_MIN &&
             loads[most] - loads[least] > TV_POLICY_UNEVEN * loads[most],
         now_ms);
    /* A node with one hot range cannot be helped, but the next one may be. */
    while (has_lasted(balance->since_ms, now_ms, TV_POLICY_UNEVEN_MS) && most < node_count &&
           loads[most] - loads[least] > TV_POLICY_UNEVEN * loads[most] && !is_found) {
        is_found = choose_move(ranges, range_count, most, loads[most] - loads[least], &range);
        most = next_busiest(loads, node_count, loads[most], most);
    }
    if (is_found)
        *ret_move = (tv_policy_move){range, least};
    free(loads);
    return is_found;
}
