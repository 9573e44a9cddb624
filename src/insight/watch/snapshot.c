/* Tables, partitions, rows and everything else that is not a shape, as evidence. */
#include "insight/watch/snapshot.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/number.h"
#include "insight/watch/snapshot_internal.h"
#include "store/engine/key.h"

/* --- texts --- */

/* A key may be cut in the middle of a character. */
tv_slice tv_snapshot_text(const tv_snapshot *s, tv_slice stored)
{
    tv_slice text;

    for (size_t cut = 0; cut < 6 && cut <= stored.len; cut++) {
        if (tv_key_decode_text(s->arena, tv_slice_take(stored, stored.len - cut), &text) == TV_OK)
            return text.data ? text : TV_LIT("");
    }
    return TV_LIT("");
}

tv_slice tv_snapshot_copy(const tv_snapshot *s, const char *text)
{
    return text ? tv_arena_dup(s->arena, tv_slice_of(text)) : TV_LIT("");
}

tv_slice tv_snapshot_partition_key(const tv_snapshot *s, const tv_kept_key *key)
{
    return tv_snapshot_text(s, (tv_slice){key->bytes, key->partition_len});
}

tv_slice tv_snapshot_row_key(const tv_snapshot *s, const tv_kept_key *key)
{
    size_t at = (size_t)key->partition_len + 1;

    if (at >= key->len)
        return TV_LIT("");
    return tv_snapshot_text(s, (tv_slice){key->bytes + at, key->len - at});
}

/* --- heavy keys --- */

static tv_evidence_rate rate_of(const tv_snapshot *s, const tv_tally *tally, int units, int peak,
                                double variance)
{
    return (tv_evidence_rate){
        .units = (double)tv_snapshot_sum(s, tally, units),
        .units_error = 2 * sqrt(variance),
        .peak_per_second = (double)tv_snapshot_max(s, tally, peak) / 10,
        .sustained_per_second = (double)tv_snapshot_max(s, tally, peak + 1) / 10,
    };
}

static double share_of(double units, double all)
{
    return all > 0 ? (units < all ? units / all : 1) : 0;
}

static int by_units(const void *a, const void *b)
{
    double first = ((const tv_evidence_partition *)a)->rate.units;
    double second = ((const tv_evidence_partition *)b)->rate.units;

    return (first < second) - (first > second);
}

static int by_row_units(const void *a, const void *b)
{
    double first = ((const tv_evidence_row *)a)->rate.units;
    double second = ((const tv_evidence_row *)b)->rate.units;

    return (first < second) - (first > second);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* In the window, from its first to its last traffic. */
static double active_seconds(const tv_snapshot *s, const tv_heavy *heavy)
{
    return (double)(heavy->last_ns - later(heavy->first_ns, s->from_ns)) /
           (double)TV_WATCH_SECOND_NS;
}

static void fill_partitions(tv_snapshot *s, tv_table_entry *entry, tv_evidence_table *table)
{
    table->partitions =
        tv_arena_zalloc(s->arena, (entry->partitions.count + 1) * sizeof *table->partitions);
    for (size_t i = 0; i < entry->partitions.count; i++) {
        tv_heavy *heavy = &entry->partitions.list[i];

        tv_rate_slots_settle(&heavy->slots, &heavy->tally, TV_HEAVY_PEAK, s->now_ns);
        if (tv_snapshot_sum(s, &heavy->tally, TV_HEAVY_UNITS) == 0)
            continue;

        tv_evidence_partition *to = &table->partitions[table->partition_count++];

        to->partition_key = tv_snapshot_partition_key(s, &heavy->key);
        to->rate = rate_of(s, &heavy->tally, TV_HEAVY_UNITS, TV_HEAVY_PEAK, heavy->variance);
        to->share = share_of(to->rate.units, table->rate.units);
        to->reads = tv_snapshot_sum(s, &heavy->tally, TV_HEAVY_READS);
        to->writes = tv_snapshot_sum(s, &heavy->tally, TV_HEAVY_WRITES);
        to->throttled = tv_snapshot_sum(s, &heavy->tally, TV_HEAVY_THROTTLED);
        to->first_throttled_ticks = tv_snapshot_ticks(heavy->first_throttled_ns);
        to->rate_at_throttle = heavy->rate_at_throttle;
        to->first_seen_ticks = tv_snapshot_ticks(heavy->first_ns);
        to->active_seconds = active_seconds(s, heavy);
        to->is_new = heavy->first_ns >= s->from_ns;
        table->partitions_read += to->reads > 0;
        table->partitions_written += to->writes > 0;
        to->scans = tv_snapshot_sum(s, &heavy->tally, TV_HEAVY_SCANS);
        to->scan_examined_max = tv_snapshot_max(s, &heavy->tally, TV_HEAVY_SCANNED_MAX);
    }
    qsort(table->partitions, table->partition_count, sizeof *table->partitions, by_units);
}

static uint64_t conflict_sum(const tv_snapshot *s, const tv_conflict *conflict,
                             tv_conflict_sum which)
{
    return s->mark == TV_TALLY_LIVE ? tv_conflict_recent(conflict, which, s->now_ns)
                                    : conflict->all[which] - conflict->at_mark[s->mark][which];
}

static void fill_conflict(const tv_snapshot *s, const tv_conflict *conflict, tv_evidence_row *to)
{
    to->conditional_writes = conflict_sum(s, conflict, TV_CONFLICT_CONDITIONAL);
    to->conflicts = conflict_sum(s, conflict, TV_CONFLICT_CONFLICTS);
    to->conflicts_gone = conflict_sum(s, conflict, TV_CONFLICT_GONE);
    to->conflicts_replayed = conflict_sum(s, conflict, TV_CONFLICT_REPLAYED);
    to->conflict_clients = conflict->clients.count;
    to->changed_count = conflict->changed_count;
    to->changed_numbers = conflict->changed_numbers;
    for (uint32_t i = 0; i < 4 && i < conflict->changed_count; i++)
        to->changed[i] = tv_snapshot_copy(s, conflict->changed[i]);
}

static const tv_conflict *conflict_of(const tv_table_entry *entry, uint64_t hash)
{
    for (size_t i = 0; i < entry->conflict_count; i++) {
        if (entry->conflicts[i].hash == hash)
            return &entry->conflicts[i];
    }
    return NULL;
}

static bool is_heavy(const tv_table_entry *entry, uint64_t hash)
{
    for (size_t i = 0; i < entry->rows.count; i++) {
        if (entry->rows.list[i].hash == hash)
            return true;
    }
    return false;
}

static void fill_rows(tv_snapshot *s, tv_table_entry *entry, tv_evidence_table *table)
{
    table->rows = tv_arena_zalloc(s->arena, (entry->rows.count + entry->conflict_count + 1) *
                                                sizeof *table->rows);
    for (size_t i = 0; i < entry->rows.count; i++) {
        tv_heavy *heavy = &entry->rows.list[i];
        const tv_conflict *conflict = conflict_of(entry, heavy->hash);

        tv_rate_slots_settle(&heavy->slots, &heavy->tally, TV_HEAVY_PEAK, s->now_ns);
        if (tv_snapshot_sum(s, &heavy->tally, TV_HEAVY_UNITS) == 0)
            continue;

        tv_evidence_row *to = &table->rows[table->row_count++];

        to->partition_key = tv_snapshot_partition_key(s, &heavy->key);
        to->row_key = tv_snapshot_row_key(s, &heavy->key);
        to->rate = rate_of(s, &heavy->tally, TV_HEAVY_UNITS, TV_HEAVY_PEAK, heavy->variance);
        to->share = share_of(to->rate.units, table->rate.units);
        to->reads = tv_snapshot_sum(s, &heavy->tally, TV_HEAVY_READS);
        to->writes = tv_snapshot_sum(s, &heavy->tally, TV_HEAVY_WRITES);
        to->active_seconds = active_seconds(s, heavy);
        table->rows_read += to->reads > 0;
        table->rows_written += to->writes > 0;
        if (conflict)
            fill_conflict(s, conflict, to);
    }
    for (size_t i = 0; i < entry->conflict_count; i++) {
        const tv_conflict *conflict = &entry->conflicts[i];

        if (is_heavy(entry, conflict->hash))
            continue;

        tv_evidence_row *to = &table->rows[table->row_count++];

        to->partition_key = tv_snapshot_partition_key(s, &conflict->key);
        to->row_key = tv_snapshot_row_key(s, &conflict->key);
        fill_conflict(s, conflict, to);
    }
    qsort(table->rows, table->row_count, sizeof *table->rows, by_row_units);
}

/* --- direction --- */

static void add_window(tv_evidence_direction *to, const tv_direction_window *window,
                       tv_direction_window *sums)
{
    int sign = tv_direction_sign(window);

    if (to->windows == 0) {
        to->row = window->row;
        to->partition = window->partition;
        to->has_partition = window->has_partition;
    }
    to->windows++;
    to->windows_up += sign > 0;
    to->windows_down += sign < 0;
    to->inserts += window->inserts;
    sums->first += window->first;
    sums->last += window->last;
    sums->compared += window->compared;
}

/* When a window was judged all keys have been filled. */
static void fill_ends(const tv_snapshot *s, const tv_direction *d, tv_evidence_direction *to)
{
    const tv_kept_key *least = &d->keys[0], *greatest = &d->keys[0];

    for (size_t i = 1; i < TV_DIRECTION_KEYS; i++) {
        if (tv_slice_cmp(tv_kept_key_slice(&d->keys[i]), tv_kept_key_slice(least)) < 0)
            least = &d->keys[i];
        if (tv_slice_cmp(tv_kept_key_slice(&d->keys[i]), tv_kept_key_slice(greatest)) > 0)
            greatest = &d->keys[i];
    }
    to->least = (tv_evidence_key){tv_snapshot_partition_key(s, least), tv_snapshot_row_key(s, least)};
    to->greatest = (tv_evidence_key){tv_snapshot_partition_key(s, greatest),
                                     tv_snapshot_row_key(s, greatest)};
}

static void fill_direction(const tv_snapshot *s, const tv_table_entry *entry,
                           tv_evidence_direction *to)
{
    const tv_direction *d = entry->inserts;
    tv_direction_window now, sums = {0};

    if (d == NULL || d->last_ns < s->from_ns)
        return;

    /* A run may be shorter than a window. */
    bool has_now =
        tv_direction_look(d, s->now_ns, &now) && (d->window_count == 0 || s->mark != TV_TALLY_LIVE);

    if (has_now)
        add_window(to, &now, &sums);
    for (uint32_t i = 0; i < d->window_count && to->windows < TV_DIRECTION_WINDOWS; i++) {
        if (d->windows[i].end_ns >= s->from_ns)
            add_window(to, &d->windows[i], &sums);
    }
    if (sums.compared) {
        to->first_share = (double)sums.first / (double)sums.compared;
        to->last_share = (double)sums.last / (double)sums.compared;
    }
    if (to->windows)
        fill_ends(s, d, to);
    to->hot_share = d->hot_share;
    to->hot_changes = d->changes;
    to->hot_changes_up = (uint32_t)__builtin_popcountll(
        d->changes < 64 ? d->changes_up & ((UINT64_C(1) << d->changes) - 1) : d->changes_up);
    to->clients = d->clients.count;

    int64_t first = d->first_ns > s->from_ns ? d->first_ns : s->from_ns;

    to->seconds = (double)(d->last_ns - first) / (double)TV_WATCH_SECOND_NS;
    to->silent_seconds = (double)(s->now_ns - d->last_ns) / (double)TV_WATCH_SECOND_NS;
}

/* --- deletes, batches, runs, retries --- */

/* Slot n holds ages from 2^(n-1) to 2^n hours; the first those below one. */
static double age_percentile(const tv_snapshot *s, const tv_tally *tally, double share,
                             uint64_t all)
{
    uint64_t sum = 0;

    for (int i = 0; i < TV_WATCH_TABLE_SUMS - TV_WATCH_TABLE_AGES; i++) {
        uint64_t count = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_AGES + i);

        if (count && (double)(sum + count) >= share * (double)all) {
            double low = i ? ldexp(1, i - 1) : 0, high = ldexp(1, i);

            /* Spread evenly inside of a slot. */
            return low + (high - low) * (share * (double)all - (double)sum) / (double)count;
        }
        sum += count;
    }
    return 0;
}

static uint64_t day_sum(const tv_snapshot *s, const tv_table_entry *entry, int sum)
{
    int64_t hour = s->now_ns / TV_WATCH_SECOND_NS / 3600;

    if (s->mark != TV_TALLY_LIVE)
        return tv_snapshot_sum(s, &entry->tally, sum);
    return entry->tally.numbers[sum] - entry->day[(hour + 1) % TV_WATCH_DAY_HOURS][sum];
}

static void fill_deletes(const tv_snapshot *s, const tv_table_entry *entry, tv_evidence_deletes *to)
{
    const tv_tally *tally = &entry->tally;
    uint64_t runs = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_DELETE_RUNS);

    to->single = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_DELETES_SINGLE);
    to->batched = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_DELETES_BATCHED);
    to->single_day = day_sum(s, entry, TV_WATCH_TABLE_DELETES_SINGLE);
    to->batched_day = day_sum(s, entry, TV_WATCH_TABLE_DELETES_BATCHED);
    to->run_per_partition = runs ? (double)to->single / (double)runs : 0;
    for (int i = 0; i < TV_WATCH_TABLE_SUMS - TV_WATCH_TABLE_AGES; i++)
        to->aged += tv_snapshot_sum(s, tally, TV_WATCH_TABLE_AGES + i);
    to->age_p10_hours = age_percentile(s, tally, 0.1, to->aged);
    to->age_p50_hours = age_percentile(s, tally, 0.5, to->aged);
    to->age_p90_hours = age_percentile(s, tally, 0.9, to->aged);
    to->after_scan_day = day_sum(s, entry, TV_WATCH_TABLE_AFTER_SCAN);
    to->scan_fingerprint = entry->scan_fingerprint;
    to->scan_examined_day = day_sum(s, entry, TV_WATCH_TABLE_SCAN_EXAMINED);
    if (entry->deleting_before_ns)
        to->every_hours = (double)(entry->deleting_ns - entry->deleting_before_ns) /
                          (3600.0 * (double)TV_WATCH_SECOND_NS);
}

static void fill_batches(const tv_snapshot *s, const tv_table_entry *entry, tv_evidence_batches *to)
{
    for (int i = 0; i < TV_EVIDENCE_BATCH_SLOTS; i++) {
        to->sizes[i] = tv_snapshot_sum(s, &entry->tally, TV_WATCH_TABLE_BATCH_SIZES + i);
        to->count += to->sizes[i];
    }
    to->operations = tv_snapshot_sum(s, &entry->tally, TV_WATCH_TABLE_BATCH_CHANGES);
    to->across_partitions = tv_snapshot_sum(s, &entry->tally, TV_WATCH_TABLE_ACROSS);
    to->across_partitions_max =
        (uint32_t)tv_snapshot_max(s, &entry->tally, TV_WATCH_TABLE_ACROSS_MAX);
}

static void fill_runs(const tv_snapshot *s, const tv_table_entry *entry, tv_evidence_table *table)
{
    const tv_tally *tally = &entry->tally;

    table->read_runs = (tv_evidence_runs){
        .runs = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_READ_RUNS),
        .requests = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_READ_RUN_REQUESTS),
        .same_key = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_READ_RUN_SAME),
        .contiguous = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_READ_RUN_ORDERED),
        .longest = tv_snapshot_max(s, tally, TV_WATCH_TABLE_READ_RUN_MAX),
        .ms = (double)tv_snapshot_sum(s, tally, TV_WATCH_TABLE_READ_RUN_NS) / 1e6,
        .clients = entry->read_clients.count,
        .first_key = tv_snapshot_row_key(s, &entry->read_first),
        .last_key = tv_snapshot_row_key(s, &entry->read_last),
    };
    table->write_runs = (tv_evidence_runs){
        .runs = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_WRITE_RUNS),
        .requests = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_WRITE_RUN_REQUESTS),
        .longest = tv_snapshot_max(s, tally, TV_WATCH_TABLE_WRITE_RUN_MAX),
        .ms = (double)tv_snapshot_sum(s, tally, TV_WATCH_TABLE_WRITE_RUN_NS) / 1e6,
        .clients = entry->write_clients.count,
        .first_key = tv_snapshot_row_key(s, &entry->write_first),
        .last_key = tv_snapshot_row_key(s, &entry->write_last),
    };
    if (table->read_runs.runs)
        table->read_runs.ms /= (double)table->read_runs.runs;
    if (table->write_runs.runs)
        table->write_runs.ms /= (double)table->write_runs.runs;
}

static double gap_median_ms(const tv_retry_minute *minute)
{
    uint64_t all = 0, sum = 0;

    for (int i = 0; i < TV_RETRY_GAPS; i++)
        all += minute->gaps[i];
    for (int i = 0; i < TV_RETRY_GAPS && all; i++) {
        sum += minute->gaps[i];
        if (2 * sum >= all)
            return i ? 0.75 * ldexp(1, i) : 0.5;
    }
    return 0;
}

static void fill_retries(const tv_snapshot *s, const tv_retry_minute *minute,
                         tv_evidence_retries *to)
{
    *to = (tv_evidence_retries){
        .retries = minute->retries,
        .requests = minute->requests,
        .attempts_max = minute->attempts_max,
        .gap_p50_ms = gap_median_ms(minute),
        .gaps_grow = minute->second_gaps && 2 * minute->grown_gaps > minute->second_gaps,
        .status_408 = minute->status_408,
        .status_429 = minute->status_429,
        .status_500 = minute->status_500,
        .status_503 = minute->status_503,
        .client = tv_snapshot_copy(s, minute->agent),
    };
    for (int i = 0; i < TV_EVIDENCE_ATTEMPTS; i++)
        to->attempts[i] = minute->attempts[i];
}

/* The minute with most retries, among those that have ended and the one at hand. */
static void fill_worst_minute(const tv_snapshot *s, const tv_table_entry *entry,
                              tv_evidence_retries *to)
{
    const tv_retry_minute *worst = &entry->retry_now;

    for (int i = 0; entry->retries && i < TV_TALLY_SLOTS; i++) {
        const tv_worst_minute *minute = &entry->retries[i];

        if (minute->end_ns > s->from_ns && minute->minute.retries > worst->retries)
            worst = &minute->minute;
    }
    if (worst->retries)
        fill_retries(s, worst, to);
}

static void note_minute(void *ctx, const tv_retry_table *taken)
{
    tv_watch *watch = ctx;
    tv_table_entry *entry = tv_watch_entry(watch, taken->table);

    if (entry == NULL)
        return; /* it has left */
    entry->retry_now = taken->minute;
    entry->retry_now.requests =
        entry->tally.numbers[TV_WATCH_TABLE_REQUESTS] - entry->minute_requests;
}

/* --- all of it --- */

static void fill_minutes(const tv_snapshot *s, const tv_table_entry *entry,
                         tv_evidence_table *table)
{
    int64_t minute = s->from_ns / TV_WATCH_SECOND_NS / 60;
    int64_t now = s->now_ns / TV_WATCH_SECOND_NS / 60;

    for (; minute <= now && table->minute_count < TV_EVIDENCE_MINUTES; minute++) {
        bool is_kept = minute <= entry->writes_minute &&
                       minute > entry->writes_minute - TV_WATCH_MINUTES;

        table->writes_by_minute[table->minute_count++] =
            is_kept ? entry->writes[minute % TV_WATCH_MINUTES] : 0;
    }
}

static void fill_traffic(const tv_snapshot *s, tv_table_entry *entry, tv_evidence_table *table)
{
    const tv_tally *tally = &entry->tally;

    tv_rate_slots_settle(&entry->slots, &entry->tally, TV_WATCH_TABLE_PEAK, s->now_ns);
    table->point_reads = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_POINT_READS);
    table->point_misses = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_POINT_MISSES);
    table->point_bytes = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_POINT_BYTES);
    table->point_whole = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_POINT_WHOLE);
    table->inserts = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_INSERTS);
    table->updates = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_UPDATES);
    table->writes = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_WRITES);
    table->batched_writes = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_BATCHED_WRITES);
    table->query_executions = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_EXECUTIONS);
    table->inserts_day = day_sum(s, entry, TV_WATCH_TABLE_INSERTS);
    table->updates_day = day_sum(s, entry, TV_WATCH_TABLE_UPDATES);
    table->point_reads_day = day_sum(s, entry, TV_WATCH_TABLE_POINT_READS);
    table->query_executions_day = day_sum(s, entry, TV_WATCH_TABLE_EXECUTIONS);
    table->throttled = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_THROTTLED);
    table->throttled_account = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_THROTTLED_ACCOUNT);
    table->rate = rate_of(s, tally, TV_WATCH_TABLE_UNITS, TV_WATCH_TABLE_PEAK, 0);
    table->extremes.refused_properties =
        tv_snapshot_sum(s, tally, TV_WATCH_TABLE_REFUSED_PROPERTIES);
    table->extremes.refused_entity = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_REFUSED_ENTITY);
    table->extremes.refused_value = tv_snapshot_sum(s, tally, TV_WATCH_TABLE_REFUSED_VALUE);
}

/* A table without traffic in the window is there too: rules on data look at it. */
static tv_err fill_table(tv_snapshot *s, tv_table_entry *entry, tv_evidence_table *table)
{
    table->account = tv_snapshot_copy(s, entry->account);
    table->name = tv_snapshot_copy(s, entry->name);
    table->first_ticks = tv_snapshot_ticks(entry->first_ns);
    table->requests = tv_snapshot_sum(s, &entry->tally, TV_WATCH_TABLE_REQUESTS);
    for (int i = 0; i < TV_LANGUAGES; i++)
        table->languages[i] = tv_snapshot_sum(s, &entry->tally, TV_WATCH_TABLE_LANGUAGES + 1 + i);
    fill_traffic(s, entry, table);
    if (s->mark == TV_TALLY_LIVE)
        fill_minutes(s, entry, table);
    fill_partitions(s, entry, table);
    fill_rows(s, entry, table);
    fill_direction(s, entry, &table->direction);
    fill_deletes(s, entry, &table->deletes);
    fill_batches(s, entry, &table->batches);
    fill_runs(s, entry, table);
    fill_worst_minute(s, entry, &table->retries);
    return tv_snapshot_shapes(s, entry, table);
}

/* The seconds in which there was traffic, from the first request of the window to the last. */
static double traffic_seconds(const tv_snapshot *s)
{
    int64_t first = s->watch->first_ns > s->from_ns ? s->watch->first_ns : s->from_ns;

    return s->watch->last_ns > first
               ? (double)(s->watch->last_ns - first) / (double)TV_WATCH_SECOND_NS
               : 0;
}

bool tv_watch_find_mark(tv_watch *watch, const char *text, int *ret_mark)
{
    uint64_t number;

    *ret_mark = TV_TALLY_LIVE;
    if (text == NULL)
        return true;
    if (text[0] != 'm' || !tv_parse_uint64(tv_slice_of(text + 1), &number) || number == 0)
        return false;

    *ret_mark = (int)(number % TV_TALLY_MARKS);
    return watch->marks[*ret_mark].number == number;
}

/* Where what day_sum adds up begins: with an hour of the clock. */
static int64_t day_begin_ns(const tv_snapshot *s)
{
    int64_t hour = s->now_ns / TV_WATCH_SECOND_NS / 3600;

    return later((hour + 2 - TV_WATCH_DAY_HOURS) * 3600 * TV_WATCH_SECOND_NS,
                 s->watch->started_ns);
}

static tv_err fill(tv_snapshot *s)
{
    tv_watch *watch = s->watch;
    size_t tables_bytes = (watch->table_count + 1) * sizeof(tv_evidence_table);
    tv_evidence *evidence = s->evidence;
    int64_t day_from_ns = day_begin_ns(s);
    uint64_t requests_before = 0;
    tv_err err = tv_arena_reserve(s->arena, tables_bytes);

    if (err)
        return err;

    evidence->tables = tv_arena_zalloc(s->arena, tables_bytes);
    if (s->mark == TV_TALLY_LIVE) {
        s->from_ns = later(tv_tally_begin_ns(watch->slot), watch->started_ns);
        requests_before = watch->slot_requests[(watch->slot + 1) % TV_TALLY_SLOTS];
    } else {
        s->from_ns = day_from_ns = watch->marks[s->mark].time_ns;
        requests_before = watch->marks[s->mark].requests;
    }
    for (tv_table_entry *entry = NULL; (entry = tv_watch_next_table(watch, entry));)
        entry->retry_now = (tv_retry_minute){0};
    tv_retries_take(&watch->retries, false, note_minute, watch);
    evidence->mode = s->mark == TV_TALLY_LIVE ? TV_EVIDENCE_LIVE : TV_EVIDENCE_RUN;
    evidence->from_ticks = tv_snapshot_ticks(s->from_ns);
    evidence->to_ticks = tv_snapshot_ticks(s->now_ns);
    evidence->day_from_ticks = tv_snapshot_ticks(day_from_ns);
    evidence->seconds = traffic_seconds(s);
    evidence->requests = watch->requests - requests_before;
    evidence->sample_period = watch->period ? watch->period : 1;
    evidence->dropped = watch->dropped;
    evidence->evicted_shapes = watch->evicted;
    for (tv_table_entry *entry = NULL; !err && (entry = tv_watch_next_table(watch, entry));)
        err = fill_table(s, entry, &evidence->tables[evidence->table_count++]);
    return err;
}

tv_err tv_watch_take(tv_watch *watch, tv_arena *arena, const char *mark, tv_evidence **ret_evidence)
{
    tv_snapshot s = {.watch = watch, .arena = arena};
    tv_err err = TV_ERR_NOT_FOUND;

    pthread_mutex_lock(&watch->lock);
    if (tv_watch_find_mark(watch, mark, &s.mark)) {
        s.now_ns = tv_watch_now(watch);
        s.evidence = tv_arena_zalloc(arena, sizeof *s.evidence);
        err = fill(&s);
    }
    pthread_mutex_unlock(&watch->lock);
    if (err)
        return err;

    *ret_evidence = s.evidence;
    return TV_OK;
}
