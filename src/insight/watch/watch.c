/* The recorder's life, its clock and its thread. */
#include "insight/watch/watch.h"

#include <sched.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "insight/watch/internal.h"

enum { JUDGE_S = 10, MINUTE_S = 60, HOUR_S = 3600 };

/* --- time --- */

/* In ns there is room up to the year 2262: who starts later than ten years before has no later
 * time than that. */
static int64_t steady_ns(void)
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
    int64_t offset = steady_ns() - tv_clock_mono_ns();

    if (offset > atomic_load_explicit(&watch->offset_ns, memory_order_relaxed))
        atomic_store_explicit(&watch->offset_ns, offset, memory_order_relaxed);
}

/* --- making and freeing --- */

/* The rules that the watcher calls take evidence, for which all is taken in first. */
static void init_recursive(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

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
    watch->current = tv_calloc(watch->places_max, sizeof *watch->current);
    watch->shapes_max = (size_t)TV_WATCH_SHAPES_MAX * (size_t)memory_mb / 64;
    tv_walks_init(&watch->walks);
    tv_retries_init(&watch->retries);
    init_recursive(&watch->stepping);
    pthread_mutex_init(&watch->lock, NULL);
    watch->shape_slots = SHAPE_SLOTS;
    watch->shapes = tv_calloc(SHAPE_SLOTS, sizeof *watch->shapes);
    watch->shards = aligned_alloc(64, (size_t)options->shard_count * sizeof *watch->shards);
    tv_assert(watch->shards != NULL);
    memset(watch->shards, 0, (size_t)options->shard_count * sizeof *watch->shards);
    for (int i = 0; i < options->shard_count; i++) {
        tv_watch_shard *shard = &watch->shards[i];

        shard->watch = watch;
        shard->index = i;
        shard->random = (uint64_t)i + 1;
        shard->shapes = tv_calloc(TV_SHAPE_CACHE_SIZE, sizeof *shard->shapes);
        atomic_init(&shard->period, 1);
        atomic_init(&shard->page, tv_page_new());
        shard->spare = tv_page_new();
        shard->taken_ns = tv_clock_mono_ns();
    }
    set_offset(watch);
    atomic_store(&watch->manual_ns, steady_ns());
    watch->started_ns = watch->stepped_ns = tv_watch_now(watch);
    watch->slot = tv_tally_slot_of(watch->stepped_ns);
    return watch;
}

void tv_watch_free(tv_watch *watch)
{
    if (watch == NULL)
        return;

    tv_watch_stop(watch);
    for (int i = 0; i < watch->options.shard_count; i++) {
        tv_page_free(atomic_load(&watch->shards[i].page));
        tv_page_free(watch->shards[i].spare);
        free(watch->shards[i].shapes);
    }
    free(watch->shards);
    for (tv_table_entry *table = NULL; (table = tv_watch_next_table(watch, table));)
        tv_table_entry_done(table);
    free(watch->tables);
    free(watch->current);
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
    pthread_mutex_destroy(&watch->stepping);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

tv_watch_shard *tv_watch_shard_at(tv_watch *watch, int index)
{
    tv_assert(index >= 0 && index < watch->options.shard_count);
    return &watch->shards[index];
}

/* --- taking in what shards have --- */

tv_page *tv_watch_shard_take(tv_watch_shard *shard)
{
    tv_page *full = atomic_exchange(&shard->page, shard->spare);
    uint64_t epoch = atomic_load(&shard->epoch);

    shard->spare = NULL;
    while (epoch % 2 && atomic_load(&shard->epoch) == epoch)
        sched_yield();
    return full;
}

/* How many requests one sample stands for, by the rate since the page was last taken. */
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
    for (int i = 0; i < watch->options.shard_count; i++) {
        tv_watch_shard *shard = &watch->shards[i];
        tv_page *page = tv_watch_shard_take(shard);
        int64_t now = tv_clock_mono_ns();
        unsigned period = period_for(watch, page->requests, now - shard->taken_ns);

        tv_watch_fold_page(watch, page);
        tv_page_reset(page);
        shard->spare = page;
        shard->taken_ns = now;
        atomic_store_explicit(&shard->period, period, memory_order_relaxed);
        if (watch->period < period)
            watch->period = period;
    }
}

void tv_watch_fold(tv_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    tv_watch_make_room(watch);
    take_in(watch);
    tv_walks_take_closed(&watch->walks, tv_watch_now(watch) - TV_WALK_IDLE_S * TV_WATCH_SECOND_NS,
                         tv_watch_fold_walk, watch);
    pthread_mutex_unlock(&watch->lock);
}

void tv_watch_catch_up(tv_watch *watch, bool is_exact)
{
    if (is_exact || watch->options.is_clock_manual)
        pthread_mutex_lock(&watch->stepping);
    else if (pthread_mutex_trylock(&watch->stepping) != 0)
        return; /* the watcher is at it */
    tv_watch_fold(watch);
    pthread_mutex_unlock(&watch->stepping);
}

/* --- letting time pass; one thread at a time --- */

/* Whether a boundary of so many seconds lies in (from, to]. */
static bool is_passed(int64_t from_ns, int64_t to_ns, int seconds)
{
    return from_ns / TV_WATCH_SECOND_NS / seconds != to_ns / TV_WATCH_SECOND_NS / seconds;
}

static void step_to(tv_watch *watch, int64_t time_ns)
{
    int64_t before = watch->stepped_ns;
    bool ends_minute = is_passed(before, time_ns, MINUTE_S);

    if (time_ns <= before)
        return;

    tv_watch_fold(watch);
    pthread_mutex_lock(&watch->lock);
    watch->stepped_ns = time_ns;
    if (ends_minute)
        tv_watch_end_minute(watch, time_ns);
    tv_watch_begin_slots(watch, time_ns);
    if (is_passed(before, time_ns, HOUR_S))
        tv_watch_end_hour(watch, time_ns / TV_WATCH_SECOND_NS / HOUR_S);
    pthread_mutex_unlock(&watch->lock);

    if (is_passed(before, time_ns, JUDGE_S) && watch->options.judge)
        watch->options.judge(watch->options.ctx);
    if (ends_minute && watch->options.close_minute)
        watch->options.close_minute(watch->options.ctx,
                                    (uint32_t)(before / TV_WATCH_SECOND_NS / MINUTE_S));
}

/* The next time at which something may be due, if the clock is moved from one to another. */
static int64_t next_due(int64_t from_ns, int64_t to_ns)
{
    /* A test that lets days pass does not want to wait for each of their tens of seconds. */
    const int64_t step_s = to_ns - from_ns > 600 * TV_WATCH_SECOND_NS ? MINUTE_S : JUDGE_S;
    int64_t due = (from_ns / TV_WATCH_SECOND_NS / step_s + 1) * step_s * TV_WATCH_SECOND_NS;

    return due < to_ns ? due : to_ns;
}

void tv_watch_advance(tv_watch *watch, int64_t ns)
{
    int64_t to;

    tv_assert(watch->options.is_clock_manual && ns >= 0);
    pthread_mutex_lock(&watch->stepping);
    to = atomic_load(&watch->manual_ns) + ns;
    tv_watch_fold(watch);
    /* What is stored from now on is as much later. */
    tv_clock_raise(tv_clock_steady_ticks() + ns / 100);
    for (int64_t at = watch->stepped_ns; at < to;) {
        at = next_due(at, to);
        atomic_store(&watch->manual_ns, at);
        step_to(watch, at);
    }
    pthread_mutex_unlock(&watch->stepping);
}

static void run(tv_background *thread, void *ctx)
{
    tv_watch *watch = ctx;
    bool is_prompt = watch->options.samples_all || watch->options.is_clock_manual;

    /* Everything is sampled in tests, so pages fill up sooner. */
    while (tv_background_sleep(thread, is_prompt ? 50 : 1000)) {
        pthread_mutex_lock(&watch->stepping);
        if (watch->options.is_clock_manual) {
            tv_watch_fold(watch);
        } else {
            set_offset(watch);
            step_to(watch, tv_watch_now(watch));
        }
        pthread_mutex_unlock(&watch->stepping);
    }
}

void tv_watch_start(tv_watch *watch)
{
    /* It does not give way: requests may wait for its locks, which it holds for microseconds. */
    tv_background_start(&watch->thread,
                        &(tv_background_options){.name = "watcher", .run = run, .ctx = watch});
    watch->is_started = true;
}

void tv_watch_stop(tv_watch *watch)
{
    if (watch->is_started)
        tv_background_done(&watch->thread);
    watch->is_started = false;
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

        conflict->mark_conditional[mark] = conflict->all_conditional;
        conflict->mark_conflicts[mark] = conflict->all_conflicts;
        conflict->mark_gone[mark] = conflict->all_gone;
        conflict->mark_replayed[mark] = conflict->all_replayed;
    }
}

uint64_t tv_watch_mark(tv_watch *watch)
{
    uint64_t number;
    int at;

    tv_watch_catch_up(watch, true);
    pthread_mutex_lock(&watch->lock);
    number = ++watch->mark_count;
    at = (int)(number % TV_TALLY_MARKS);
    watch->marks[at] = (tv_watch_mark_entry){
        .number = number, .time_ns = tv_watch_now(watch), .requests = watch->requests};
    tv_watch_each_tally(watch, mark_tally, at);
    for (tv_table_entry *table = NULL; (table = tv_watch_next_table(watch, table));)
        mark_conflicts(table, at);
    pthread_mutex_unlock(&watch->lock);
    return number;
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
