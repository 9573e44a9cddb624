/* The recorder's life, its clock and its steps. */
#include "insight/watch/watch.h"

#include <sched.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "insight/watch/internal.h"

enum { MINUTE_S = 60, HOUR_S = 3600 };

/* --- time --- */

/* In ns there is room up to the year 2262: who starts later than ten years before has no later
 * time than that. */
int64_t tv_watch_start_ns(void)
{
    const int64_t ten_years = INT64_C(3652) * 24 * 3600 * TV_TICKS_PER_SECOND;
    const int64_t ticks_max = INT64_MAX / 100 - ten_years;
    int64_t ticks = tv_clock_steady_ticks() - TV_TICKS_UNIX_EPOCH;

    return (ticks < ticks_max ? ticks : ticks_max) * 100;
}

int64_t tv_watch_at(const tv_watch *watch, int64_t mono_ns)
{
    if (watch->options.is_clock_manual)
        return atomic_load_explicit(&watch->manual_ns, memory_order_relaxed);
    return mono_ns + atomic_load_explicit(&watch->offset_ns, memory_order_relaxed);
}

int64_t tv_watch_now(const tv_watch *watch)
{
    return tv_watch_at(watch, tv_clock_mono_ns());
}

bool tv_watch_is_manual(const tv_watch *watch)
{
    return watch->options.is_clock_manual;
}

/* The wall clock may have been set forward; it is never followed back. */
static void set_offset(tv_watch *watch)
{
    int64_t offset = tv_watch_start_ns() - tv_clock_mono_ns();

    if (offset > atomic_load_explicit(&watch->offset_ns, memory_order_relaxed))
        atomic_store_explicit(&watch->offset_ns, offset, memory_order_relaxed);
}

/* --- making and freeing --- */

tv_watch *tv_watch_new(const tv_watch_options *options)
{
    enum { SAMPLES_MAX = 4096, ALL_SAMPLES_MAX = 65536, SHAPE_SLOTS = 1024 };
    tv_watch *watch = tv_calloc(1, sizeof *watch);
    int memory_mb = options->memory_mb ? options->memory_mb : 64;

    tv_assert(options->shard_count > 0);
    watch->options = *options;
    watch->samples_max = options->samples_all ? ALL_SAMPLES_MAX : SAMPLES_MAX;
    watch->tables_max = (size_t)TV_WATCH_TABLES_MAX * (size_t)memory_mb / 64;
    watch->bytes_max = (size_t)memory_mb << 20;
    watch->places_max = tv_watch_places(watch->tables_max);
    tv_assert(watch->places_max < (size_t)1 << TV_WATCH_PLACE_BITS);
    watch->places = tv_calloc(watch->places_max, sizeof *watch->places);
    watch->shapes_max = (size_t)TV_WATCH_SHAPES_MAX * (size_t)memory_mb / 64;
    tv_walks_init(&watch->walks);
    tv_retries_init(&watch->retries);
    pthread_mutex_init(&watch->lock, NULL);
    watch->shape_slots = SHAPE_SLOTS;
    watch->shapes = tv_calloc(SHAPE_SLOTS, sizeof *watch->shapes);
    watch->shards = aligned_alloc(64, (size_t)options->shard_count * sizeof *watch->shards);
    tv_assert(watch->shards != NULL);
    memset(watch->shards, 0, (size_t)options->shard_count * sizeof *watch->shards);
    watch->epochs = aligned_alloc(64, (size_t)options->shard_count * sizeof *watch->epochs);
    tv_assert(watch->epochs != NULL);
    memset(watch->epochs, 0, (size_t)options->shard_count * sizeof *watch->epochs);
    for (int i = 0; i < options->shard_count; i++) {
        tv_watch_shard *shard = &watch->shards[i];

        shard->watch = watch;
        shard->epoch = options->traffic ? tv_traffic_epoch(options->traffic, i) : &watch->epochs[i];
        shard->index = i;
        shard->random = (uint64_t)i + 1;
        shard->shapes = tv_calloc(TV_SHAPE_CACHE_SIZE, sizeof *shard->shapes);
        atomic_init(&shard->period, 1);
        atomic_init(&shard->sheet, tv_sheet_new());
        shard->spare = tv_sheet_new();
        shard->taken_ns = tv_clock_mono_ns();
    }
    set_offset(watch);
    atomic_store(&watch->manual_ns, tv_watch_start_ns());
    watch->started_ns = watch->stepped_ns = tv_watch_now(watch);
    watch->slot = tv_tally_slot_of(watch->stepped_ns);
    return watch;
}

void tv_watch_free(tv_watch *watch)
{
    if (watch == NULL)
        return;

    for (int i = 0; i < watch->options.shard_count; i++) {
        tv_sheet_free(atomic_load(&watch->shards[i].sheet));
        tv_sheet_free(watch->shards[i].spare);
        free(watch->shards[i].shapes);
    }
    free(watch->shards);
    free(watch->epochs);
    for (tv_table_entry *table = NULL; (table = tv_watch_next_table(watch, table));)
        tv_table_entry_done(table);
    free(watch->tables);
    free(watch->places);
    free(watch->leaving);
    free(watch->table_index);
    for (size_t i = 0; i < watch->shape_slots; i++) {
        while (watch->shapes[i]) {
            tv_shape_entry *next = watch->shapes[i]->next;

            tv_shape_entry_free(watch->shapes[i]);
            watch->shapes[i] = next;
        }
    }
    free(watch->shapes);
    tv_walks_done(&watch->walks);
    tv_retries_done(&watch->retries);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

tv_watch_shard *tv_watch_shard_at(tv_watch *watch, int index)
{
    tv_assert(index >= 0 && index < watch->options.shard_count);
    return &watch->shards[index];
}

/* --- taking in what shards have --- */

tv_sheet *tv_watch_shard_take(tv_watch_shard *shard)
{
    tv_sheet *full = atomic_exchange(&shard->sheet, shard->spare);
    uint64_t then = tv_epoch_look(shard->epoch);

    shard->spare = NULL;
    while (!tv_epoch_has_left(shard->epoch, then))
        sched_yield();
    return full;
}

/* How many requests one sample stands for, by the rate since the sheet was last taken. */
static unsigned period_for(const tv_watch *watch, uint64_t requests, int64_t ns)
{
    double rate = ns > 0 ? (double)requests * 1e9 / (double)ns : 0;

    if (watch->options.samples_all || rate < 1000)
        return 1;
    return rate < 64000 ? 16 : 64;
}

static void take_in(tv_watch *watch)
{
    watch->period = 1;
    for (int i = 0; i < watch->options.shard_count; i++)
        watch->shards[i].taken = tv_watch_shard_take(&watch->shards[i]);
    tv_watch_fold_taken(watch);
    for (int i = 0; i < watch->options.shard_count; i++) {
        tv_watch_shard *shard = &watch->shards[i];
        int64_t now = tv_clock_mono_ns();
        unsigned period = period_for(watch, shard->taken->requests, now - shard->taken_ns);

        tv_sheet_reset(shard->taken);
        shard->spare = shard->taken;
        shard->taken = NULL;
        shard->taken_ns = now;
        atomic_store_explicit(&shard->period, period, memory_order_relaxed);
        if (watch->period < period)
            watch->period = period;
    }
}

/* With the lock. */
static void fold(tv_watch *watch)
{
    tv_watch_make_room(watch);
    take_in(watch);
    tv_watch_release_traffic(watch);
    tv_walks_take_closed(&watch->walks, tv_watch_now(watch) - TV_WALK_IDLE_S * TV_WATCH_SECOND_NS,
                         tv_watch_fold_walk, watch);
}

void tv_watch_fold(tv_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    fold(watch);
    pthread_mutex_unlock(&watch->lock);
}

/* --- letting time pass; one thread at a time --- */

tv_watch_span tv_watch_step(tv_watch *watch)
{
    tv_watch_span span;

    if (!watch->options.is_clock_manual)
        set_offset(watch);
    pthread_mutex_lock(&watch->lock);
    fold(watch);
    span = (tv_watch_span){watch->stepped_ns, tv_watch_now(watch)};
    if (tv_watch_span_ends(span, MINUTE_S))
        tv_watch_end_minute(watch, span.to_ns);
    tv_watch_begin_slots(watch, span.to_ns);
    if (tv_watch_span_ends(span, HOUR_S))
        tv_watch_end_hour(watch, span.to_ns / TV_WATCH_SECOND_NS / HOUR_S);
    watch->stepped_ns = span.to_ns;
    pthread_mutex_unlock(&watch->lock);
    return span;
}

bool tv_watch_move_clock(tv_watch *watch, int64_t to_ns)
{
    int64_t from = atomic_load(&watch->manual_ns), due;
    /* A test that lets days pass does not want to wait for each of their tens of seconds. */
    int64_t step = (to_ns - from > 600 * TV_WATCH_SECOND_NS ? MINUTE_S : TV_WATCH_JUDGE_S) *
                   TV_WATCH_SECOND_NS;

    tv_assert(watch->options.is_clock_manual);
    if (from >= to_ns)
        return false;

    due = (from / step + 1) * step;
    if (due > to_ns)
        due = to_ns;
    /* What is stored from now on is as much later. */
    tv_clock_raise(tv_clock_steady_ticks() + (due - from) / 100);
    atomic_store(&watch->manual_ns, due);
    return true;
}

void tv_watch_advance(tv_watch *watch, int64_t ns)
{
    int64_t to = tv_watch_now(watch) + ns;

    tv_watch_fold(watch);
    while (tv_watch_move_clock(watch, to))
        tv_watch_step(watch);
}

/* --- marks --- */

static void mark_tally(tv_tally *tally, int64_t number)
{
    tv_tally_mark(tally, (int)number);
}

static void mark_conflicts(tv_table_entry *table, int mark)
{
    for (size_t i = 0; i < table->conflict_count; i++) {
        tv_conflict *conflict = &table->conflicts[i];

        memcpy(conflict->at_mark[mark], conflict->all, sizeof conflict->all);
    }
}

void tv_watch_mark(tv_watch *watch, char ret_mark[TV_WATCH_MARK_SIZE])
{
    uint64_t number;
    int at;

    pthread_mutex_lock(&watch->lock);
    fold(watch);
    number = ++watch->mark_count;
    at = (int)(number % TV_TALLY_MARKS);
    watch->marks[at] = (tv_watch_mark_entry){
        .number = number, .time_ns = tv_watch_now(watch), .requests = watch->requests};
    tv_watch_each_tally(watch, mark_tally, at);
    for (tv_table_entry *table = NULL; (table = tv_watch_next_table(watch, table));)
        mark_conflicts(table, at);
    pthread_mutex_unlock(&watch->lock);
    snprintf(ret_mark, TV_WATCH_MARK_SIZE, "m%llu", (unsigned long long)number % 100000000000000u);
}

/* --- what it takes --- */

tv_watch_usage tv_watch_read_usage(tv_watch *watch)
{
    tv_watch_usage usage;

    pthread_mutex_lock(&watch->lock);
    usage = (tv_watch_usage){
        .requests = watch->requests,
        .dropped = watch->dropped,
        .evicted = watch->evicted,
        .tables = watch->table_count,
        .forgotten = watch->forgotten,
        .shapes = watch->shape_count,
        .bytes = watch->bytes,
        .bytes_max = watch->bytes_max,
        .period = watch->period ? watch->period : 1,
    };
    pthread_mutex_unlock(&watch->lock);
    return usage;
}

void tv_watch_write_metrics(void *ctx, tv_buf *out)
{
    if (ctx == NULL)
        return;

    tv_watch_usage usage = tv_watch_read_usage(ctx);

    tv_metric_add(out, "watch_bytes", "Memory of what is recorded of tables.", (double)usage.bytes);
    tv_metric_add(out, "watch_tables", "Tables that are recorded.", (double)usage.tables);
    tv_metric_add(out, "watch_forgotten_total", "Tables that had to make room.",
                  (double)usage.forgotten);
}
