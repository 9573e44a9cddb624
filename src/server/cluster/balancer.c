/* The passes of the leader. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "server/cluster/internal.h"

enum {
    PASS_MS = 5000,
    CHECK_MS = 60 * 60 * 1000,               /* all objects are listed, which takes a while */
    TIDY_PASSES = 12,                        /* a minute */
    CLEAN_STEPS_MAX = 20,                    /* of 1,000 rows, a pass */
    OSDS_FEWEST = 3,                         /* until the pool has said how many there are */
    DROPPED_MS = 60 * 1000,                  /* after a fence what was dropped is gone, mostly */
    MEASURED_ROWS_MAX = 100 * 1000,          /* in a pass, about */
    WRITTEN_BYTES_MAX = TV_POLICY_BYTES_MAX, /* then a range is measured again */
};

/* --- what is known --- */

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const tv_balance_entry *)a)->object, ((const tv_balance_entry *)b)->object);
}

tv_balance_entry *tv_balancer_entry(const tv_balancer *balancer, tv_slice object)
{
    tv_balance_entry wanted = {.is_measured = false};

    if (balancer->entry_count == 0 || object.len > TV_POOL_NAME_MAX)
        return NULL;
    memcpy(wanted.object, object.data, object.len);
    return bsearch(&wanted, balancer->entries, balancer->entry_count, sizeof wanted,
                   compare_entries);
}

static bool is_held(const tv_routes *routes, tv_slice start)
{
    bool is = false;

    for (size_t i = 0; i < routes->intent_count; i++)
        is |= tv_slice_eq(routes->intents[i].start, start);
    for (size_t i = 0; i < routes->lock_count; i++)
        is |= tv_slice_eq(routes->locks[i].start, start);
    return is;
}

/* Since when ranges have their bounds, by the wall clock; 0: longer than events are kept. */
typedef struct last_changes {
    const tv_routes *routes;
    int64_t *at_ms; /* of each */
} last_changes;

static void note_change(void *ctx, const tv_route_event *event)
{
    last_changes *last = ctx;
    bool is_split = tv_slice_eq(event->op, TV_LIT("split"));

    if (!tv_slice_eq(event->outcome, TV_LIT("done")))
        return;
    for (size_t i = 0; i < last->routes->range_count; i++) {
        const tv_route *route = &last->routes->ranges[i];

        if (tv_slice_eq(event->range, route->object) ||
            (is_split && tv_slice_eq(event->key, route->start)))
            last->at_ms[i] = event->at_ms;
    }
}

/*
 * When ranges got their bounds, by the clock of the passes.  Who leads may have begun to do so just
 * now, so the history tells.  At most as long ago as it matters; when it cannot be read, now.
 */
static int64_t *list_births(const tv_balancer *balancer, const tv_routes *routes, int64_t now_ms)
{
    int64_t *born_ms = tv_calloc(routes->range_count, sizeof *born_ms),
            wall_ms = tv_clock_unix_ms();
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = tv_range_visit_events(balancer->options.pool, &arena, note_change,
                                &(last_changes){routes, born_ms});
    tv_arena_done(&arena);
    for (size_t i = 0; i < routes->range_count; i++) {
        int64_t age_ms = err ? 0 : wall_ms - born_ms[i];

        age_ms = age_ms < 0 ? 0 : age_ms;
        born_ms[i] = now_ms - (age_ms < TV_POLICY_AGE_MIN_MS ? age_ms : TV_POLICY_AGE_MIN_MS);
    }
    return born_ms;
}

static uint64_t hash_bounds(const tv_routes *routes, size_t index)
{
    tv_slice end = tv_routes_end(routes, index);

    return tv_hash(routes->ranges[index].start) * 31 + tv_hash(end);
}

static void free_entries(tv_balancer *balancer)
{
    for (size_t i = 0; i < balancer->entry_count; i++) {
        tv_policy_trend_done(&balancer->entries[i].trend);
        tv_marks_done(&balancer->entries[i].marks);
    }
    free(balancer->entries);
}

/* An entry for each range, sorted by object; what is gone is forgotten. */
static void follow_map(tv_balancer *balancer, const tv_routes *routes, int64_t now_ms)
{
    tv_balance_entry *entries = tv_calloc(routes->range_count, sizeof *entries);
    int64_t *born_ms = NULL;

    for (size_t i = 0; i < routes->range_count; i++) {
        const tv_route *route = &routes->ranges[i];
        tv_balance_entry *before = tv_balancer_entry(balancer, route->object);
        uint64_t bounds = hash_bounds(routes, i), epoch = tv_hash(route->epoch);

        tv_assert(route->object.len <= TV_POOL_NAME_MAX);
        if (before) {
            entries[i] = *before;
            before->trend = (tv_policy_trend){0}; /* they have a new owner */
            before->marks = (tv_marks){0};
        } else {
            if (born_ms == NULL)
                born_ms = list_births(balancer, routes, now_ms);
            entries[i].policy.born_ms = born_ms[i];
            entries[i].trend_ms = now_ms;
            memcpy(entries[i].object, route->object.data, route->object.len);
        }
        entries[i].partition_count = 0;
        if (before && before->bounds != bounds)
            entries[i].is_measured = entries[i].has_waited = false;
        else if (before && before->epoch != epoch)
            entries[i].remeasure_ms = now_ms + DROPPED_MS;
        entries[i].bounds = bounds;
        entries[i].epoch = epoch;
        entries[i].policy.has_intent = is_held(routes, route->start);
    }
    free(born_ms);
    free_entries(balancer);
    qsort(entries, routes->range_count, sizeof *entries, compare_entries);
    balancer->entries = entries;
    balancer->entry_count = routes->range_count;
}

static int compare_seen(const void *a, const void *b)
{
    uint64_t x = ((const tv_balance_seen *)a)->key, y = ((const tv_balance_seen *)b)->key;

    return (x > y) - (x < y);
}

static const tv_balance_seen *find_seen(const tv_balancer *balancer, const tv_balance_seen *wanted)
{
    return balancer->seen_count
               ? bsearch(wanted, balancer->seen, balancer->seen_count, sizeof *wanted, compare_seen)
               : NULL;
}

/* What came since the last pass; a count that is less than before has started over. */
static uint64_t more(uint64_t now, uint64_t before)
{
    return now >= before ? now - before : now;
}

/* Add a node's counts to a range's load; `load` has sums for now. */
static void add_row(tv_balance_entry *entry, const tv_stats_row *row, const tv_stats_row *before,
                    tv_policy_load *load)
{
    load->reads_s += (double)more(row->read_keys, before->read_keys);
    load->write_ops_s += (double)more(row->write_ops, before->write_ops);
    load->rows_per_op += (double)more(row->write_rows, before->write_rows);
    load->busy += (double)more(row->write_ns, before->write_ns);
    entry->rows_more += row->rows_more - before->rows_more;
    entry->written_bytes += more(row->write_bytes, before->write_bytes);
}

static void add_samples(tv_balance_entry *entry, const tv_stats_row *row, tv_arena *arena)
{
    size_t count = entry->partition_count + row->partition_count;
    tv_slice *all = tv_arena_alloc(arena, (count + 1) * sizeof *all);

    if (entry->partition_count)
        memcpy(all, entry->partitions, entry->partition_count * sizeof *all);
    memcpy(all + entry->partition_count, row->partitions, row->partition_count * sizeof *all);
    entry->partitions = all;
    entry->partition_count = count;
}

/* Samples as the policy wants them. */
static size_t sort_samples(const tv_balance_entry *entry, tv_arena *arena,
                           tv_policy_sample **ret_samples)
{
    tv_policy_sample *samples =
        tv_arena_alloc(arena, (entry->partition_count + 1) * sizeof *samples);

    for (size_t i = 0; i < entry->partition_count; i++)
        samples[i] = (tv_policy_sample){entry->partitions[i], 1};
    *ret_samples = samples;
    return tv_policy_sort_samples(samples, entry->partition_count);
}

static void observe(tv_balance_entry *entry, tv_policy_load *load, int64_t now_ms,
                    int64_t passed_ms, tv_arena *arena)
{
    double seconds = (double)passed_ms / 1000, mean;
    tv_policy_sample *samples;

    load->rows_per_op = load->write_ops_s > 0 ? load->rows_per_op / load->write_ops_s : 0;
    load->write_ops_s /= seconds;
    load->reads_s /= seconds;
    load->busy /= seconds * 1e9;
    load->busy = load->busy > 1 ? 1 : load->busy;
    load->rows = (uint64_t)((int64_t)entry->measured_rows + entry->rows_more > 0
                                ? (int64_t)entry->measured_rows + entry->rows_more
                                : 0);
    /* Bytes by the mean row; all that was written, where there was none to measure. */
    mean = entry->measured_rows ? (double)entry->measured_bytes / (double)entry->measured_rows : 0;
    load->bytes =
        entry->measured_rows ? (uint64_t)(mean * (double)load->rows) : entry->written_bytes;
    tv_policy_observe(&entry->policy, load, now_ms);
    if (now_ms - entry->trend_ms >= TV_SAMPLE_WINDOW_MS) {
        size_t count = sort_samples(entry, arena, &samples);

        tv_policy_trend_add(&entry->trend, samples, count);
        entry->trend_ms = now_ms;
    }
}

/* Read what all nodes say. */
static tv_err gather(tv_balancer *balancer, int64_t now_ms, tv_arena *arena)
{
    int64_t passed_ms = now_ms - balancer->last_pass_ms;
    tv_policy_load *loads = tv_arena_zalloc(arena, (balancer->entry_count + 1) * sizeof *loads);
    tv_balance_seen *seen = NULL;
    size_t count = 0, node_count;
    tv_slice *nodes;

    node_count = balancer->options.live_nodes(balancer->options.ctx, arena, &nodes);
    for (size_t i = 0; i < node_count; i++) {
        tv_stats_row *rows = NULL;
        size_t row_count = 0;
        tv_err err = tv_stats_load(balancer->options.pool, nodes[i], arena, &rows, &row_count);

        if (err) {
            free(seen);
            return err;
        }
        seen = tv_realloc(seen, (count + row_count + 1) * sizeof *seen);
        /* Where a node has been seen before and the range has not, it has begun to use it since. */
        seen[count] = (tv_balance_seen){.key = tv_hash(nodes[i])};
        const tv_balance_seen *node_before = find_seen(balancer, &seen[count++]);

        for (size_t j = 0; j < row_count; j++) {
            tv_slice both =
                tv_arena_printf(arena, "%.*s %.*s", TV_FMT(nodes[i]), TV_FMT(rows[j].object));
            tv_balance_seen now = {tv_hash(both), rows[j]};
            const tv_balance_seen *before = find_seen(balancer, &now);

            seen[count++] = now;
            if (before == NULL)
                before = node_before;

            tv_balance_entry *entry = tv_balancer_entry(balancer, rows[j].object);

            if (entry == NULL)
                continue;
            add_samples(entry, &rows[j], arena);
            if (before)
                add_row(entry, &rows[j], &before->row, &loads[entry - balancer->entries]);
        }
    }
    if (count)
        qsort(seen, count, sizeof *seen, compare_seen);
    for (size_t i = 0; i < balancer->entry_count && passed_ms > 0; i++)
        observe(&balancer->entries[i], &loads[i], now_ms, passed_ms, arena);
    free(balancer->seen);
    balancer->seen = seen;
    balancer->seen_count = count;
    return TV_OK;
}

/* --- changes --- */

void tv_balancer_note_change(tv_balancer *balancer, bool is_split, tv_policy_reason reason,
                             const tv_range_result *result)
{
    size_t slot = 0;

    tv_background_lock(&balancer->thread);
    if (!result->is_published)
        balancer->undone++;
    else if (is_split)
        balancer->splits[reason]++;
    else
        balancer->merges++;
    while (slot + 1 < TV_PAUSE_SLOTS && INT64_C(1) << slot < result->paused_ms)
        slot++;
    if (result->is_published) {
        balancer->pause_slots[slot]++;
        balancer->pause_ms_sum += (uint64_t)result->paused_ms;
    }
    tv_background_unlock(&balancer->thread);
}

static void refuse(tv_balancer *balancer, tv_balance_entry *entry, tv_policy_reason reason,
                   tv_policy_refusal refusal, int64_t now_ms)
{
    entry->refused = refusal;
    tv_policy_refuse(&entry->policy, reason, now_ms);
    tv_background_lock(&balancer->thread);
    balancer->refused[refusal]++;
    tv_background_unlock(&balancer->thread);
}

tv_err tv_balancer_measure(tv_balancer *balancer, const tv_routes *routes, size_t index,
                           tv_arena *arena, tv_range_shape *ret_shape)
{
    tv_balance_entry *entry = tv_balancer_entry(balancer, routes->ranges[index].object);
    tv_slice end = index + 1 < routes->range_count ? routes->ranges[index + 1].start : TV_LIT("");
    tv_err err;

    err = tv_measure_range(balancer->options.pool, &routes->ranges[index], end, arena, ret_shape);
    if (err || entry == NULL)
        return err;

    entry->is_measured = true;
    entry->remeasure_ms = 0;
    entry->measured_rows = entry->policy.load.rows = ret_shape->rows;
    entry->measured_bytes = entry->policy.load.bytes = ret_shape->bytes;
    entry->rows_more = 0;
    entry->written_bytes = 0;
    return TV_OK;
}

/*
 * Look where the rows of a range come, and whether there still is a reason to split it.  A range of
 * which nothing is known yet is given a pass to show it; TV_POLICY_NO_REASON then.
 */
static tv_growth look(tv_balancer *balancer, const tv_routes *routes, size_t index,
                      tv_policy_reason *reason, int64_t now_ms, tv_arena *arena,
                      tv_range_shape *ret_shape)
{
    tv_balance_entry *entry = tv_balancer_entry(balancer, routes->ranges[index].object);
    tv_growth growth = {.kind = TV_GROWTH_UNKNOWN};

    if (tv_balancer_measure(balancer, routes, index, arena, ret_shape)) {
        *reason = TV_POLICY_NO_REASON;
        return growth;
    }
    growth = tv_growth_since(&entry->marks, ret_shape);
    tv_marks_keep(&entry->marks, ret_shape);
    *reason = tv_policy_split(&entry->policy, now_ms, routes->range_count, balancer->osd_count);
    if (growth.kind == TV_GROWTH_UNKNOWN && !entry->has_waited) {
        entry->has_waited = true;
        *reason = TV_POLICY_NO_REASON;
    }
    return growth;
}

/* Where to cut a range, for this reason; what is measured may say that there is none. */
static tv_policy_refusal choose_cut(tv_balancer *balancer, const tv_routes *routes, size_t index,
                                    tv_policy_reason *reason, int64_t now_ms, tv_arena *arena,
                                    tv_slice *ret_cut)
{
    tv_balance_entry *entry = tv_balancer_entry(balancer, routes->ranges[index].object);
    tv_growth growth = {.kind = TV_GROWTH_UNKNOWN};
    tv_policy_refusal refusal;
    tv_policy_sample *samples;
    tv_range_shape shape;
    bool is_append;
    size_t count;

    if (*reason != TV_POLICY_READS)
        growth = look(balancer, routes, index, reason, now_ms, arena, &shape);
    if (*reason == TV_POLICY_NO_REASON)
        return TV_POLICY_ALLOWED;
    if (*reason == TV_POLICY_SIZE)
        return tv_policy_cut_by_size(&shape, &growth, ret_cut);
    is_append = growth.kind == TV_GROWTH_UP || growth.kind == TV_GROWTH_DOWN ||
                tv_policy_trend_is_append(&entry->trend);
    count = sort_samples(entry, arena, &samples);
    refusal = tv_policy_cut_by_load(samples, count, routes->ranges[index].start, ret_cut);
    return refusal == TV_POLICY_ALLOWED && is_append ? TV_POLICY_APPEND : refusal;
}

/*
 * Split the first range that asks for it, of those that are written to or of the others.  True when
 * something was done.
 */
static bool split_one(tv_balancer *balancer, const tv_routes *routes, bool is_written,
                      int64_t now_ms, tv_arena *arena)
{
    for (size_t i = 0; i < routes->range_count; i++) {
        tv_balance_entry *entry = tv_balancer_entry(balancer, routes->ranges[i].object);
        tv_policy_reason reason =
            tv_policy_split(&entry->policy, now_ms, routes->range_count, balancer->osd_count);
        tv_policy_refusal refusal;
        tv_range_result result;
        tv_slice cut;
        tv_err err;

        if (reason == TV_POLICY_NO_REASON || (entry->policy.load.write_ops_s > 0) != is_written)
            continue;
        refusal = choose_cut(balancer, routes, i, &reason, now_ms, arena, &cut);
        if (reason == TV_POLICY_NO_REASON)
            return true; /* it was measured, which is work enough for a pass */
        if (refusal == TV_POLICY_NO_SAMPLES)
            continue;
        if (refusal != TV_POLICY_ALLOWED) {
            refuse(balancer, entry, reason, refusal, now_ms);
            continue;
        }
        entry->refused = TV_POLICY_ALLOWED;
        err = tv_range_split(&balancer->changer, cut, tv_slice_of(tv_policy_reason_name(reason)),
                             &result);
        tv_balancer_note_change(balancer, true, reason, &result);
        tv_policy_rate_add(&balancer->rate, !err && result.rows <= TV_POLICY_FREE_ROWS, now_ms);
        if (err)
            tv_policy_rest(&entry->policy, now_ms);
        entry->policy.born_ms = now_ms;
        entry->is_measured = false;
        tv_log(
            TV_LOG_INFO, "split", "range=%s reason=%s rows=%llu ms=%lld paused_ms=%lld result=%s",
            entry->object, tv_policy_reason_name(reason), (unsigned long long)result.rows,
            (long long)result.total_ms, (long long)result.paused_ms, err ? tv_err_name(err) : "OK");
        return true;
    }
    return false;
}

static bool merge_one(tv_balancer *balancer, const tv_routes *routes, int64_t now_ms)
{
    for (size_t i = 1; i < routes->range_count; i++) {
        tv_balance_entry *left = tv_balancer_entry(balancer, routes->ranges[i - 1].object);
        tv_balance_entry *right = tv_balancer_entry(balancer, routes->ranges[i].object);
        tv_range_result result;
        tv_err err;

        if (!left->is_measured || !right->is_measured ||
            !tv_policy_may_merge(&left->policy, &right->policy, now_ms))
            continue;
        err = tv_range_merge(&balancer->changer, routes->ranges[i].start, TV_LIT("small"), &result);
        tv_balancer_note_change(balancer, false, TV_POLICY_NO_REASON, &result);
        tv_policy_rate_add(&balancer->rate, false, now_ms);
        if (err)
            tv_policy_rest(&left->policy, now_ms);
        left->policy.born_ms = now_ms;
        left->is_measured = false;
        tv_log(TV_LOG_INFO, "merge", "range=%s rows=%llu ms=%lld paused_ms=%lld result=%s",
               left->object, (unsigned long long)result.rows, (long long)result.total_ms,
               (long long)result.paused_ms, err ? tv_err_name(err) : "OK");
        return true;
    }
    return false;
}

/* Measure ranges that nobody has measured, or that have changed a lot since; not all at once. */
static void measure_some(tv_balancer *balancer, const tv_routes *routes, int64_t now_ms,
                         tv_arena *arena)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < routes->range_count && rows < MEASURED_ROWS_MAX; i++) {
        tv_balance_entry *entry = tv_balancer_entry(balancer, routes->ranges[i].object);
        tv_range_shape shape;
        bool is_due =
            (entry->remeasure_ms && now_ms >= entry->remeasure_ms) ||
            entry->written_bytes >= WRITTEN_BYTES_MAX ||
            tv_policy_wants_look(&entry->policy.load, entry->measured_rows, entry->measured_bytes);

        if (entry->is_measured && !is_due)
            continue;
        if (tv_balancer_measure(balancer, routes, i, arena, &shape))
            continue;
        tv_marks_keep(&entry->marks, &shape);
        rows += shape.rows;
    }
}

/* The usual node of one range, if that evens out the nodes' loads. */
static void move_one(tv_balancer *balancer, const tv_routes *routes, int64_t now_ms,
                     tv_arena *arena)
{
    tv_policy_place *places = tv_arena_alloc(arena, (routes->range_count + 1) * sizeof *places);
    tv_slice *nodes;
    size_t count = balancer->options.live_nodes(balancer->options.ctx, arena, &nodes);
    tv_policy_move move;

    if (count < 2)
        return;
    for (size_t i = 0; i < routes->range_count; i++) {
        const tv_route *route = &routes->ranges[i];

        places[i].node = tv_policy_usual_node(route->object, nodes, count);
        places[i].load = tv_balancer_entry(balancer, route->object)->policy.mean_load;
        for (size_t j = 0; j < count; j++)
            if (tv_slice_eq(nodes[j], route->hint))
                places[i].node = j;
    }
    if (!tv_policy_balance_next(&balancer->balance, places, routes->range_count, count, now_ms,
                                &move))
        return;
    tv_err err = tv_range_set_hint(&balancer->changer, routes->ranges[move.range].start,
                                   nodes[move.to_node]);

    tv_log(TV_LOG_INFO, "move", "range=%.*s to=%.*s result=%s",
           TV_FMT(routes->ranges[move.range].object), TV_FMT(nodes[move.to_node]),
           err ? tv_err_name(err) : "OK");
}

/* --- leading --- */

/* When the pool does not say, what it has said before holds. */
static void look_at_pool(tv_balancer *balancer)
{
    tv_pool *pool = balancer->options.pool;
    size_t count, up;

    if (balancer->pass_count % TIDY_PASSES == 0 &&
        pool->ops->osd_count(pool, &count, &up) == TV_OK) {
        balancer->osd_count = count;
        balancer->osds_up = up;
    }
    if (pool->ops->space(pool, &balancer->space))
        balancer->space = (tv_pool_space){0};
}

/* What others have left. */
static tv_err tidy(tv_balancer *balancer, int64_t now_ms)
{
    bool is_clean = false;
    tv_err err = TV_OK;

    for (int i = 0; i < CLEAN_STEPS_MAX && !err && !is_clean; i++)
        err = tv_range_clean(&balancer->changer, &is_clean);
    if (err || balancer->pass_count % TIDY_PASSES != 0)
        return err;
    if (balancer->checked_ms == 0 || now_ms - balancer->checked_ms >= CHECK_MS) {
        balancer->checked_ms = now_ms;
        err = tv_balancer_check(balancer);
        if (err)
            return err;
    }
    err = tv_range_collect(&balancer->changer, tv_clock_unix_ms());
    return err ? err : tv_range_trim_events(&balancer->changer);
}

static tv_err lead(tv_balancer *balancer, int64_t now_ms, tv_arena *arena)
{
    tv_routes routes;
    tv_err err;

    err = tidy(balancer, now_ms);
    if (err && err != TV_ERR_CONFLICT)
        return err;
    err = tv_routes_load_all(balancer->options.pool, arena, &routes);
    if (err)
        return err;

    look_at_pool(balancer);
    follow_map(balancer, &routes, now_ms);
    err = gather(balancer, now_ms, arena);
    if (err)
        return err;
    /* What grows goes first: it gets larger while others are moved. */
    if (tv_policy_rate_allows(&balancer->rate, now_ms) &&
        (split_one(balancer, &routes, true, now_ms, arena) ||
         split_one(balancer, &routes, false, now_ms, arena) ||
         merge_one(balancer, &routes, now_ms))) {
        err = tv_routes_load_all(balancer->options.pool, arena, &routes);
        if (err)
            return err;
        follow_map(balancer, &routes, now_ms);
    }
    measure_some(balancer, &routes, now_ms, arena);
    move_one(balancer, &routes, now_ms, arena);
    tv_balancer_publish(balancer);
    return TV_OK;
}

void tv_balancer_pass(tv_balancer *balancer, int64_t now_ms)
{
    bool is_leader = balancer->options.is_leader(balancer->options.ctx);
    tv_arena arena;
    tv_err err = TV_OK;

    tv_arena_init(&arena);
    if (balancer->options.maps)
        err = tv_stats_publish(balancer->options.pool, balancer->options.incarnation,
                               balancer->options.maps, tv_clock_mono_ns() / 1000000);
    /* Any node does it: the one that has died may have led, and its lock outlives it. */
    if (!err)
        err = tv_range_recover_old(&balancer->changer, &balancer->watch, now_ms);
    if ((!err || err == TV_ERR_CONFLICT) && is_leader)
        err = lead(balancer, now_ms, &arena);
    if (err && err != TV_ERR_CONFLICT && err != TV_ERR_STOPPED)
        tv_log(TV_LOG_ERROR, "balancer", "problem=%s", tv_err_name(err));
    balancer->last_pass_ms = now_ms;
    balancer->pass_count++;
    tv_background_lock(&balancer->thread);
    balancer->is_leader = is_leader;
    tv_background_unlock(&balancer->thread);
    tv_balancer_make_status(balancer);
    tv_arena_done(&arena);
}

static void run(tv_background *thread, void *ctx)
{
    tv_balancer *balancer = ctx;
    int64_t next_ns = tv_clock_mono_ns(), pace = balancer->options.pace;

    while (!tv_background_is_stopping(thread)) {
        if (!balancer->options.has_no_thread && tv_clock_mono_ns() >= next_ns) {
            tv_balancer_pass(balancer, pace * (tv_clock_mono_ns() / 1000000));
            next_ns = tv_clock_mono_ns() + PASS_MS * INT64_C(1000000) / pace;
        }
        tv_balancer_do_job(balancer);
        tv_background_lock(thread);
        if (!balancer->job.is_waiting)
            tv_background_wait(thread,
                               balancer->options.has_no_thread ? TV_BACKGROUND_NEVER : next_ns);
        tv_background_unlock(thread);
    }
}

tv_balancer *tv_balancer_new(const tv_balancer_options *options)
{
    tv_balancer *balancer = tv_calloc(1, sizeof *balancer);

    balancer->options = *options;
    balancer->options.pace = options->pace ? options->pace : 1;
    balancer->osd_count = OSDS_FEWEST;
    balancer->changer = (tv_range_changer){options->pool, options->incarnation};
    tv_background_start(&balancer->thread,
                        &(tv_background_options){.name = "balancer", .run = run, .ctx = balancer});
    return balancer;
}

void tv_balancer_free(tv_balancer *balancer)
{
    if (balancer == NULL)
        return;
    tv_background_done(&balancer->thread);
    free_entries(balancer);
    free(balancer->seen);
    tv_buf_done(&balancer->status);
    free(balancer);
}
