/*
 * Where new entities go, slot by slot.  The frontier of a slot is the bucket in which four fifths
 * of its inserts are reached: an append leaves behind it what it has written, so four fifths of the
 * next slot lie at it or beyond, and it moves.  What else is inserted before it, a fifth at most,
 * does not matter; nor does how wide buckets are.  What lies beyond even the next frontier does:
 * the end of one partition is not the end of the table.
 *
 * A key that is one partition for each day moves once a day: there the partition that has nearly
 * all inserts of a slot is followed.
 */
#include "insight/traffic/judged.h"

static const double trace = 0.2, nearly_all = 0.8, stray_max = 0.02;

enum {
    CHANGES_MIN = 3,      /* of the partition that has nearly all */
    STEPS_LOOKED_AT = 10, /* before and after, */
    STEPS_SURE = 6,       /* for fewer than these */
};

/* The keys between which three fifths of a slot's inserts lie; `high` bounds have no data at the
 * end of all keys. */
typedef struct middle {
    tv_slice low, low_end;   /* the bucket of the first fifth */
    tv_slice high, high_end; /* and of the last */
} middle;

static tv_slice end_of(const tv_axis *axis, size_t bucket)
{
    return bucket + 1 < axis->count ? axis->bounds[bucket + 1] : TV_NONE;
}

static middle middle_of(const tv_judged *judged, const tv_judged_slot *slot)
{
    const tv_axis *axis = slot->piece->axis;
    double total = (double)slot->total, below = 0;
    middle m = {TV_NONE, TV_NONE, TV_NONE, TV_NONE};

    for (size_t i = slot->first; i < slot->end; i++) {
        double before = below;

        below += (double)tv_judged_cell(judged, slot, i);
        if (before <= trace * total && below > trace * total) {
            m.low = axis->bounds[i];
            m.low_end = end_of(axis, i);
        }
        if (before < (1 - trace) * total && below >= (1 - trace) * total) {
            m.high = axis->bounds[i];
            m.high_end = end_of(axis, i);
        }
    }
    return m;
}

typedef enum step { UNKNOWN, UP, DOWN, STAYS } step;

static step step_of(const middle *from, const middle *to)
{
    /* A slot with nothing but the first, or the last, bucket of all. */
    bool can_rise = from->high.len > 0, can_fall = from->low_end.data != NULL;

    if (can_rise && tv_slice_cmp(to->low, from->high) >= 0 &&
        tv_slice_cmp(to->high, from->high) > 0)
        return UP;
    if (can_fall && to->high_end.data && tv_slice_cmp(to->high_end, from->low_end) <= 0 &&
        tv_slice_cmp(to->low_end, from->low_end) < 0)
        return DOWN;
    return can_rise || can_fall ? STAYS : UNKNOWN;
}

/* The part of a slot that lies at the frontier of the one before or beyond. */
static double beyond(const tv_judged *judged, const tv_judged_slot *slot, const middle *before,
                     step way)
{
    const tv_axis *axis = slot->piece->axis;
    double sum = 0;

    for (size_t i = slot->first; i < slot->end; i++) {
        tv_slice end = end_of(axis, i);
        bool is_beyond = way == UP ? tv_slice_cmp(axis->bounds[i], before->high) >= 0
                                   : end.data && tv_slice_cmp(end, before->low_end) <= 0;

        sum += is_beyond ? (double)tv_judged_cell(judged, slot, i) : 0;
    }
    return sum;
}

/* The part of a slot that lies beyond the frontier of the next one. */
static double stray(const tv_judged *judged, const tv_judged_slot *slot, const middle *after,
                    step way)
{
    const tv_axis *axis = slot->piece->axis;
    double sum = 0;

    for (size_t i = slot->first; i < slot->end; i++) {
        tv_slice end = end_of(axis, i);
        bool is_stray =
            way == UP ? after->high_end.data && tv_slice_cmp(axis->bounds[i], after->high_end) >= 0
                      : end.data && tv_slice_cmp(end, after->low) <= 0;

        sum += is_stray ? (double)tv_judged_cell(judged, slot, i) : 0;
    }
    return sum;
}

/* Slots in a row that go one way; one that does not is passed over. */
typedef struct way {
    size_t first, last, steps;
    double beyond, stray, total;
    bool has_stopped; /* the slot before did not go on */
} way;

static bool is_way(const tv_judged *judged, const way *w)
{
    uint64_t total = 0;

    for (size_t i = w->first; i <= w->last; i++)
        total += judged->slots[i].total;
    return w->steps + 1 >= TV_PATTERN_SLOTS_MIN && total >= TV_PATTERN_COUNT_MIN &&
           w->beyond >= nearly_all * w->total && w->stray <= stray_max * w->total;
}

/* Whether writes go to and fro about the time: then a few steps mean nothing. */
static bool is_to_and_fro(const tv_judged *judged, const middle *middles, const way *w, step wanted)
{
    size_t first = w->first > STEPS_LOOKED_AT ? w->first - STEPS_LOOKED_AT : 0, back = 0;

    for (size_t i = first; i + 1 < judged->count && i < w->last + STEPS_LOOKED_AT; i++) {
        if (step_of(&middles[i], &middles[i + 1]) == (wanted == UP ? DOWN : UP))
            back++;
    }
    return back > 1 && w->steps < STEPS_SURE;
}

static bool find_way(const tv_judged *judged, const middle *middles, step wanted, way *ret_way)
{
    way w = {0};
    bool is_found = false;

    for (size_t i = 1; i < judged->count; i++) {
        step each = step_of(&middles[i - 1], &middles[i]);

        if (each == wanted) {
            if (w.steps == 0)
                w = (way){.first = i - 1};
            w.last = i;
            w.steps++;
            w.total += (double)judged->slots[i].total;
            w.beyond += beyond(judged, &judged->slots[i], &middles[i - 1], wanted);
            w.stray += stray(judged, &judged->slots[i - 1], &middles[i], wanted);
            w.has_stopped = false;
        } else if (each != UNKNOWN && w.has_stopped) {
            w = (way){0};
        } else {
            w.has_stopped = each != UNKNOWN;
        }
        if (w.steps && is_way(judged, &w) && !is_to_and_fro(judged, middles, &w, wanted) &&
            (!is_found || w.steps >= ret_way->steps)) {
            *ret_way = w;
            is_found = true;
        }
    }
    return is_found;
}

/* Whether the partition that has nearly all inserts of a slot changes one way, nine times of ten.
 */
static bool find_changes(const tv_judged *judged, const tv_shares *shares, step wanted,
                         way *ret_way)
{
    size_t changes = 0, back = 0;
    tv_slice before = TV_NONE;
    way w = {0};

    for (size_t i = 0; i < judged->count; i++) {
        const tv_share_top *top = &shares->partitions[i];
        double total = (double)judged->slots[i].total;
        int order;

        if (top->name.data == NULL || (double)top->own < nearly_all * total)
            continue;
        if (before.data == NULL)
            w.first = i;
        order = before.data ? tv_slice_cmp(top->name, before) : 0;
        changes += order != 0;
        back += order && (order > 0) != (wanted == UP);
        before = top->name;
        w.last = i;
        w.steps++;
        w.beyond += (double)top->own;
        w.total += total;
    }
    *ret_way = w;
    return changes >= CHANGES_MIN && 10 * back <= changes && is_way(judged, &w);
}

bool tv_frontier_find(const tv_judged *judged, const tv_shares *shares, tv_pattern *ret_pattern)
{
    tv_arena arena;
    middle *middles;
    bool is_found = false;

    tv_arena_init(&arena);
    middles = tv_arena_alloc(&arena, (judged->count + 1) * sizeof *middles);
    for (size_t i = 0; i < judged->count; i++)
        middles[i] = middle_of(judged, &judged->slots[i]);
    for (step wanted = UP; wanted <= DOWN && !is_found; wanted++) {
        way w = {0};

        is_found =
            find_way(judged, middles, wanted, &w) || find_changes(judged, shares, wanted, &w);
        if (!is_found)
            continue;
        *ret_pattern = tv_judged_pattern(
            judged, wanted == UP ? TV_PATTERN_RISING : TV_PATTERN_FALLING, w.first, w.last);
        ret_pattern->share = w.beyond / w.total;
        tv_pattern_bound_set(&ret_pattern->low,
                             wanted == UP ? middles[w.first].low : middles[w.last].low);
        tv_pattern_bound_set(&ret_pattern->high,
                             wanted == UP ? middles[w.last].high_end : middles[w.first].high_end);
    }
    tv_arena_done(&arena);
    return is_found;
}
