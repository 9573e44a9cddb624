#include "insight/traffic/pattern.h"

#include "insight/advice/shares.h"
#include "insight/traffic/judged.h"

enum {
    STRIPE_SLOTS_MIN = 10,
    WALL_BUCKETS_MIN = 8, /* with fewer they do not say which keys were read */
    PARTS_OF_A_TRACE = 50,
};

void tv_pattern_bound_set(tv_pattern_bound *bound, tv_slice text)
{
    if (text.len > TV_COLUMN_BOUND_BYTES_MAX) /* of a query: about there */
        text = tv_slice_take(text, TV_COLUMN_BOUND_BYTES_MAX);
    bound->len = (uint8_t)text.len;
    tv_slice_put(bound->bytes, text);
}

/* The buckets of a piece that have keys of the input. */
static tv_judged_slot slot_of(const tv_pattern_input *input, const tv_piece *piece)
{
    size_t end = input->high.len ? tv_axis_find(piece->axis, input->high) : piece->axis->count - 1;

    /* A bucket that begins with the end has none of them. */
    if (!input->high.len || tv_slice_cmp(piece->axis->bounds[end], input->high) < 0)
        end++;
    return (tv_judged_slot){
        .piece = piece, .first = tv_axis_find(piece->axis, input->low), .end = end};
}

tv_judged tv_judged_of(const tv_pattern_input *input, tv_measure_mask mask, tv_arena *arena)
{
    tv_judged judged = {.input = input, .mask = mask};
    uint64_t most = 0;
    size_t kept = 0;

    judged.slots = tv_arena_alloc(arena, (input->count + 1) * sizeof *judged.slots);
    for (size_t i = 0; i < input->count; i++) {
        tv_judged_slot slot = slot_of(input, &input->pieces[i]);

        for (size_t b = slot.first; b < slot.end; b++)
            slot.total += tv_judged_cell(&judged, &slot, b);
        most = slot.total > most ? slot.total : most;
        judged.slots[i] = slot;
    }
    for (size_t i = 0; i < input->count; i++) {
        if (judged.slots[i].total == 0 || judged.slots[i].total < most / PARTS_OF_A_TRACE)
            continue;
        judged.slots[kept++] = judged.slots[i];
        judged.total += judged.slots[i].total;
    }
    judged.count = kept;
    return judged;
}

tv_pattern tv_judged_pattern(const tv_judged *judged, tv_pattern_kind kind, size_t first,
                             size_t last)
{
    uint32_t from = judged->slots[first].piece->minute;
    tv_pattern pattern = {.kind = kind,
                          .minute = from,
                          .minutes =
                              judged->slots[last].piece->minute + judged->input->grain - from,
                          .is_now = last + 1 == judged->count};

    while (judged->mask != TV_MASK_REQUESTS && !(judged->mask >> pattern.measure & 1))
        pattern.measure++;
    tv_pattern_bound_set(&pattern.low, judged->input->low);
    tv_pattern_bound_set(&pattern.high, judged->input->high);
    return pattern;
}

/* --- stripes --- */

/* How much a row of numbers is like itself `lag` later: 1 the same, 0 not at all. */
static double autocorrelation(const double *deviations, size_t count, size_t lag)
{
    double both = 0, own = 0;

    for (size_t i = 0; i < count; i++)
        own += deviations[i] * deviations[i];
    for (size_t i = 0; i + lag < count; i++)
        both += deviations[i] * deviations[i + lag];
    return own > 0 ? both / own * ((double)count / (double)(count - lag)) : 0;
}

/* The shortest time after which the row repeats itself, and in between does not; 0 for none. */
static size_t find_period(const double *deviations, size_t count)
{
    bool has_fallen = false;

    for (size_t lag = 1; lag <= count / 3; lag++) {
        double here = autocorrelation(deviations, count, lag);

        if (here < 0.3)
            has_fallen = true;
        if (has_fallen && here > 0.6 &&
            (lag == count / 3 || here >= autocorrelation(deviations, count, lag + 1)))
            return lag;
    }
    return 0;
}

static bool find_stripes(const tv_judged *judged, tv_arena *arena, tv_pattern *ret_pattern)
{
    const tv_pattern_input *input = judged->input;
    size_t count = (input->to - input->from) / input->grain, period = 0;
    double *deviations, mean = 0, square = 0;

    if (count < STRIPE_SLOTS_MIN || !tv_judged_has_enough(judged->count, judged->total))
        return false;
    deviations = tv_arena_alloc(arena, count * sizeof *deviations);
    memset(deviations, 0, count * sizeof *deviations);
    for (size_t i = 0; i < judged->count; i++)
        deviations[(judged->slots[i].piece->minute - input->from) / input->grain] =
            (double)judged->slots[i].total;
    mean = (double)judged->total / (double)count;
    for (size_t i = 0; i < count; i++) {
        deviations[i] -= mean;
        square += deviations[i] * deviations[i] / (double)count;
    }
    if (square > 0.25 * mean * mean) /* less cannot be seen */
        period = find_period(deviations, count);
    if (period == 0)
        return false;
    *ret_pattern = tv_judged_pattern(judged, TV_PATTERN_STRIPES, 0, judged->count - 1);
    ret_pattern->period = (uint32_t)period * input->grain;
    return true;
}

/* --- walls --- */

/* Whether nearly all keys were scanned in a slot. */
static bool is_wall(const tv_judged *judged, const tv_judged_slot *slot)
{
    uint64_t rows = judged->input->row_count;
    size_t touched = 0, buckets = slot->end - slot->first;

    for (size_t i = slot->first; i < slot->end; i++)
        touched += tv_judged_cell(judged, slot, i) > 0;
    if (buckets >= WALL_BUCKETS_MIN) {
        /* Before the first row, and behind the last, there is nothing to scan. */
        buckets -= tv_judged_cell(judged, slot, slot->first) == 0;
        buckets -= tv_judged_cell(judged, slot, slot->end - 1) == 0;
    }
    /* Few buckets say nothing about which keys were read; then the size of the table does. */
    return touched * 10 >= buckets * 9 && (rows ? (double)slot->total >= 0.9 * (double)rows
                                                : slot->end - slot->first >= WALL_BUCKETS_MIN);
}

static bool find_wall(const tv_judged *judged, tv_pattern *ret_pattern)
{
    uint64_t best = 0, rows = judged->input->row_count;
    size_t times = 0;

    if (rows && rows <= TV_SMALL_TABLE)
        return false;
    for (size_t i = 0; i < judged->count; i++) {
        uint64_t total = judged->slots[i].total;

        if (!is_wall(judged, &judged->slots[i]))
            continue;
        times++;
        if (total <= best)
            continue;
        best = total;
        *ret_pattern = tv_judged_pattern(judged, TV_PATTERN_WALL, i, i);
        ret_pattern->share = rows ? (double)total / (double)rows : 0;
    }
    ret_pattern->times = times;
    return times > 0;
}

/* --- all of them --- */

/* Whether the shares of a measure are spread, as far as there is enough of it. */
static bool is_spread(const tv_judged *judged, tv_arena *arena)
{
    tv_shares shares;
    tv_pattern found;

    if (!tv_judged_has_enough(judged->count, judged->total))
        return true;
    shares = tv_shares_of(judged, arena);
    return tv_shares_find_even(&shares, &found) && found.kind == TV_PATTERN_EVEN;
}

/* Whether a partition was hot only while it was the last one of those that new entities go to. */
static bool is_passed_by(const tv_pattern *hot, const tv_pattern *frontier)
{
    return !hot->is_one_key && 2 * hot->minutes < frontier->minutes;
}

/* Whether it is known that there are too few entities to spread what is asked of them. */
static bool is_few(const tv_pattern_input *input)
{
    return input->row_count > 0 && input->row_count <= TV_FEW_ENTITIES;
}

/* Stripes, even or uneven, where nothing stands out. */
static size_t find_calm(const tv_pattern_input *input, const tv_judged *writes,
                        const tv_judged *reads, tv_arena *arena, tv_pattern *ret_patterns)
{
    tv_judged requests = tv_judged_of(input, TV_MASK_REQUESTS, arena);
    tv_shares shares = tv_shares_of(&requests, arena);
    const tv_judged *each[] = {writes, reads};

    if (is_few(input)) {
        if (!tv_judged_has_enough(requests.count, requests.total))
            return 0;
        *ret_patterns = tv_judged_pattern(&requests, TV_PATTERN_EVEN, 0, requests.count - 1);
        ret_patterns->share = 1;
        ret_patterns->few = input->row_count;
        return 1;
    }
    for (size_t i = 0; i < 2; i++) {
        tv_shares own;

        if (is_spread(each[i], arena))
            continue;
        own = tv_shares_of(each[i], arena);
        return tv_shares_find_even(&own, ret_patterns);
    }
    if (!tv_shares_find_even(&shares, ret_patterns))
        return 0;
    return find_stripes(&requests, arena, ret_patterns) || ret_patterns->kind == TV_PATTERN_EVEN;
}

size_t tv_patterns_find(const tv_pattern_input *input, tv_pattern ret_patterns[TV_PATTERNS_MAX])
{
    tv_judged inserts, writes, reads, scanned;
    bool may_be_hot = !is_few(input);
    tv_shares shares;
    tv_arena arena;
    size_t count = 0;

    tv_arena_init(&arena);
    inserts = tv_judged_of(input, TV_MASK_OF(TV_MEASURE_INSERTS), &arena);
    writes = tv_judged_of(input, TV_MASK_OF(TV_MEASURE_WRITES), &arena);
    reads = tv_judged_of(input, TV_MASK_OF(TV_MEASURE_READS), &arena);
    scanned = tv_judged_of(input, TV_MASK_OF(TV_MEASURE_SCANNED), &arena);

    shares = tv_shares_of(&inserts, &arena);
    count += tv_frontier_find(&inserts, &shares, &ret_patterns[count]);
    shares = tv_shares_of(&writes, &arena);
    count += may_be_hot && tv_shares_find_hot(&shares, &ret_patterns[count]);
    if (count == 2 && is_passed_by(&ret_patterns[1], &ret_patterns[0]))
        count--;
    shares = tv_shares_of(&reads, &arena);
    count += may_be_hot && tv_shares_find_hot(&shares, &ret_patterns[count]);
    count += find_wall(&scanned, &ret_patterns[count]);
    if (count == 0)
        count = find_calm(input, &writes, &reads, &arena, ret_patterns);
    tv_arena_done(&arena);
    return count;
}
