/* Shapes of queries, as evidence. */
#include <math.h>

#include "base/clock.h"
#include "insight/watch/snapshot_internal.h"

static double percentile_ms(const tv_shape_entry *shape, double share)
{
    uint64_t all = 0, sum = 0;

    for (int i = 0; i < TV_WATCH_LATENCIES; i++)
        all += shape->latencies[0][i] + shape->latencies[1][i];
    for (int i = 0; i < TV_WATCH_LATENCIES && all; i++) {
        sum += shape->latencies[0][i] + shape->latencies[1][i];
        if ((double)sum >= share * (double)all)
            return tv_latency_ms(i);
    }
    return 0;
}

/* How many distinct hashes set so many bits of 256. */
static double distinct(const uint64_t bits[4])
{
    int zeros = 256;

    for (int i = 0; i < 4; i++)
        zeros -= __builtin_popcountll(bits[i]);
    return zeros == 256 ? 0 : 256 * log(256.0 / (zeros ? zeros : 0.5));
}

static tv_slice common(tv_slice a, tv_slice b)
{
    size_t len = 0;

    while (len < a.len && len < b.len && a.data[len] == b.data[len])
        len++;
    return tv_slice_take(a, len);
}

static tv_slice common_text(const tv_snapshot *s, const tv_kept_key *first, const tv_kept_key *last)
{
    return tv_snapshot_text(s, common(tv_kept_key_slice(first), tv_kept_key_slice(last)));
}

/* --- walks --- */

static void fill_walker(const tv_snapshot *s, const tv_walker *walker, tv_evidence_walks *walks)
{
    uint64_t to_end = tv_snapshot_sum(s, &walker->tally, TV_CLIENT_TO_END);
    uint64_t ignored = tv_snapshot_sum(s, &walker->tally, TV_CLIENT_IGNORED);

    if (walks->to_end_client < to_end)
        walks->to_end_client = to_end;
    if (ignored <= walks->ignored)
        return;
    walks->ignored = ignored;
    walks->ignored_paged = tv_snapshot_sum(s, &walker->tally, TV_CLIENT_PAGED);
    walks->ignored_returned = tv_snapshot_sum(s, &walker->tally, TV_CLIENT_IGNORED_RETURNED);
    walks->ignored_empty = tv_snapshot_sum(s, &walker->tally, TV_CLIENT_IGNORED_EMPTY);
    walks->ignored_below_top = tv_snapshot_sum(s, &walker->tally, TV_CLIENT_IGNORED_BELOW_TOP);
    walks->ignored_end = (tv_page_end)walker->last_end;
    walks->ignored_client = tv_snapshot_copy(s, walker->agent);
}

static void fill_walks(const tv_snapshot *s, const tv_shape_entry *shape, tv_evidence_walks *walks)
{
    *walks = (tv_evidence_walks){
        .to_end = tv_snapshot_sum(s, &shape->tally, TV_SHAPE_TO_END),
        .left = tv_snapshot_sum(s, &shape->tally, TV_SHAPE_LEFT),
        .left_pages = tv_snapshot_sum(s, &shape->tally, TV_SHAPE_LEFT_PAGES),
        .left_returned = tv_snapshot_sum(s, &shape->tally, TV_SHAPE_LEFT_RETURNED),
        .left_by_person = tv_snapshot_sum(s, &shape->tally, TV_SHAPE_LEFT_BY_PERSON),
        .left_by_top = tv_snapshot_sum(s, &shape->tally, TV_SHAPE_LEFT_BY_TOP),
    };
    for (size_t i = 0; i < shape->walker_count; i++)
        fill_walker(s, &shape->walkers[i], walks);
}

/* --- one shape --- */

static void fill_counts(const tv_snapshot *s, const tv_shape_entry *shape, tv_evidence_shape *to)
{
    const tv_tally *tally = &shape->tally;

    to->executions = tv_snapshot_sum(s, tally, TV_SHAPE_EXECUTIONS);
    to->pages = tv_snapshot_sum(s, tally, TV_SHAPE_PAGES);
    for (int i = 0; i < TV_LANGUAGES; i++)
        to->languages[i] = tv_snapshot_sum(s, tally, TV_SHAPE_LANGUAGES + 1 + i);
    for (int i = 0; i < TV_PLAN_KINDS; i++)
        to->plans[i] = tv_snapshot_sum(s, tally, TV_SHAPE_PLANS + i);
    to->residual = tv_snapshot_sum(s, tally, TV_SHAPE_RESIDUAL);
    to->ranges_sum = tv_snapshot_sum(s, tally, TV_SHAPE_RANGES);
    to->ranges_max = tv_snapshot_max(s, tally, TV_SHAPE_RANGES_MAX);
    to->list_sum = tv_snapshot_sum(s, tally, TV_SHAPE_LIST);
    to->list_max = tv_snapshot_max(s, tally, TV_SHAPE_LIST_MAX);
    to->examined = tv_snapshot_sum(s, tally, TV_SHAPE_EXAMINED);
    to->examined_max = tv_snapshot_max(s, tally, TV_SHAPE_EXAMINED_MAX);
    to->returned = tv_snapshot_sum(s, tally, TV_SHAPE_RETURNED);
    to->returned_max = tv_snapshot_max(s, tally, TV_SHAPE_RETURNED_MAX);
    to->bytes_out = tv_snapshot_sum(s, tally, TV_SHAPE_BYTES_OUT);
    to->spans = tv_snapshot_sum(s, tally, TV_SHAPE_SPANS);
    to->span_rows = tv_snapshot_sum(s, tally, TV_SHAPE_SPAN_ROWS);
    to->span_returned = tv_snapshot_sum(s, tally, TV_SHAPE_SPAN_RETURNED);
    to->prefix_ranges = tv_snapshot_sum(s, tally, TV_SHAPE_PREFIX_RANGES);
    to->walks_by_key = tv_snapshot_sum(s, tally, TV_SHAPE_WALKS_BY_KEY);
    to->upper_bounds = tv_snapshot_sum(s, tally, TV_SHAPE_UPPER_BOUNDS);
    to->lower_bounds = tv_snapshot_sum(s, tally, TV_SHAPE_LOWER_BOUNDS);
}

static void fill_shape(const tv_snapshot *s, const tv_shape_entry *shape, tv_evidence_shape *to)
{
    to->fingerprint = shape->fingerprint;
    to->text = tv_snapshot_copy(s, shape->text);
    to->example = tv_snapshot_copy(s, shape->example);
    to->has_select = shape->has_select;
    to->has_top = shape->has_top;
    to->comparisons_max = shape->comparisons;
    to->p50_ms = percentile_ms(shape, 0.5);
    to->p99_ms = percentile_ms(shape, 0.99);
    to->first_ticks = tv_snapshot_ticks(shape->first_ns);
    to->last_ticks = tv_snapshot_ticks(shape->last_ns);
    for (int i = 0; i < TV_WATCH_SOURCES && shape->sources[i]; i++)
        to->sources[to->source_count++] = tv_snapshot_copy(s, shape->sources[i]);
    to->select = tv_snapshot_copy(s, shape->select);
    to->select_differs = shape->select_differs;
    fill_counts(s, shape, to);
    fill_walks(s, shape, &to->walks);
    if (to->spans) {
        to->returned_prefix = common_text(s, &shape->span_first, &shape->span_last);
        to->partition_prefix = common_text(s, &shape->looked_first, &shape->looked_last);
        to->literal_property = tv_snapshot_copy(s, shape->literal);
        to->literal_at = shape->literal_at;
        to->literal_hits = shape->literal_hits;
        to->literal_tries = shape->literal_tries;
    }
    to->partitions_asked = distinct(shape->partitions);
    to->largest_partition = tv_snapshot_partition_key(s, &shape->largest);
}

/* --- walks that nobody has gone on with, of a run that may be over --- */

typedef struct idle_visit {
    tv_snapshot *s;
    uint32_t number;
    tv_evidence_table *table;
} idle_visit;

static void add_idle(void *ctx, const tv_walk *walk)
{
    idle_visit *visit = ctx;

    if (walk->table != visit->number || walk->begun_ns < visit->s->from_ns)
        return;
    for (size_t i = 0; i < visit->table->shape_count; i++) {
        tv_evidence_shape *shape = &visit->table->shapes[i];
        tv_evidence_walks *walks = &shape->walks;

        if (shape->fingerprint != walk->fingerprint)
            continue;
        if (walk->pages >= 2) {
            walks->left++;
            walks->left_pages += walk->pages;
            walks->left_returned += walk->returned;
            walks->left_by_person += walk->slow_gaps + 1 >= walk->pages;
            walks->left_by_top += walk->is_by_top;
        } else if (walk->first_end != TV_PAGE_END_TOP) {
            walks->ignored++;
            walks->ignored_paged++;
            walks->ignored_returned += walk->returned;
            walks->ignored_empty += walk->first_end == TV_PAGE_END_TIME && walk->returned == 0;
            walks->ignored_below_top += walk->below_top;
            walks->ignored_end = (tv_page_end)walk->first_end;
            walks->ignored_client = tv_snapshot_copy(visit->s, walk->agent);
        }
    }
}

tv_err tv_snapshot_shapes(tv_snapshot *s, const tv_table_entry *entry, tv_evidence_table *table)
{
    size_t bytes = (entry->shape_count + 1) * sizeof *table->shapes;
    tv_err err = tv_arena_reserve(s->arena, bytes);

    if (err)
        return err;

    table->shapes = tv_arena_zalloc(s->arena, bytes);
    for (tv_shape_entry *shape = entry->shapes; shape; shape = shape->next_of_table) {
        if (tv_snapshot_sum(s, &shape->tally, TV_SHAPE_PAGES))
            fill_shape(s, shape, &table->shapes[table->shape_count++]);
    }
    if (s->mark != TV_TALLY_LIVE) {
        idle_visit visit = {s, entry->number, table};

        tv_walks_visit_idle(&s->watch->walks, s->now_ns - TV_WATCH_RUN_IDLE_S * TV_WATCH_SECOND_NS,
                            add_idle, &visit);
    }
    return TV_OK;
}
