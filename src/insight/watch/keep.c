/* Which shapes are kept, and how the windows of tables and shapes move on. */
#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "insight/watch/internal.h"

/* --- shapes --- */

void tv_shape_entry_free(tv_shape_entry *shape)
{
    tv_tally_done(&shape->tally);
    free(shape->text);
    free(shape->example);
    free(shape->select);
    free(shape->literal);
    for (int i = 0; i < TV_WATCH_SOURCES; i++)
        free(shape->sources[i]);
    for (size_t i = 0; i < shape->walker_count; i++)
        tv_tally_done(&shape->walkers[i].tally);
    free(shape->walkers);
    free(shape);
}

static tv_shape_entry **slot_of(tv_watch *watch, uint32_t table, uint64_t fingerprint)
{
    uint64_t hash = (fingerprint ^ table) * UINT64_C(0x9e3779b97f4a7c15);

    return &watch->shapes[(size_t)(hash >> 20) % watch->shape_slots];
}

static tv_shape_entry *look_up(tv_watch *watch, uint32_t table, uint64_t fingerprint)
{
    tv_shape_entry *shape = *slot_of(watch, table, fingerprint);

    while (shape && (shape->table != table || shape->fingerprint != fingerprint))
        shape = shape->next;
    return shape;
}

static tv_shape_entry *add_shape(tv_watch *watch, uint32_t table, uint64_t fingerprint)
{
    tv_shape_entry *shape = tv_calloc(1, sizeof *shape);
    tv_shape_entry **slot = slot_of(watch, table, fingerprint);
    tv_table_entry *entry = tv_watch_entry(watch, table);
    static const char other[] = "(other)";

    shape->table = table;
    shape->fingerprint = fingerprint;
    if (fingerprint == 0)
        shape->text = memcpy(tv_malloc(sizeof other), other, sizeof other);
    tv_tally_init(&shape->tally, TV_SHAPE_SUMS, TV_SHAPE_MAXIMA);
    shape->next = *slot;
    *slot = shape;
    shape->next_of_table = entry->shapes;
    entry->shapes = shape;
    entry->shape_count++;
    watch->shape_count++;
    return shape;
}

void tv_watch_forget_shape(tv_watch *watch, tv_shape_entry *shape)
{
    tv_shape_entry **at = slot_of(watch, shape->table, shape->fingerprint);
    tv_table_entry *entry = tv_watch_entry(watch, shape->table);

    while (*at != shape)
        at = &(*at)->next;
    *at = shape->next;
    for (at = &entry->shapes; *at != shape;)
        at = &(*at)->next_of_table;
    *at = shape->next_of_table;
    entry->shape_count--;
    watch->shape_count--;
    tv_shape_entry_free(shape);
}

/* Forget the least costly of those that nobody has asked for a day. */
static bool evict(tv_watch *watch)
{
    const int64_t day_ns = 24 * 3600 * TV_WATCH_SECOND_NS;
    tv_shape_entry *least = NULL;
    double least_cost = 0;

    for (size_t i = 0; i < watch->shape_slots; i++) {
        for (tv_shape_entry *at = watch->shapes[i]; at; at = at->next) {
            const uint64_t *numbers = at->tally.numbers;
            double cost = (double)numbers[TV_SHAPE_EXECUTIONS] * (double)numbers[TV_SHAPE_EXAMINED];

            if (watch->stepped_ns - at->last_ns < day_ns || (least && cost >= least_cost))
                continue;
            least = at;
            least_cost = cost;
        }
    }
    if (least == NULL)
        return false;

    watch->evicted++;
    tv_watch_forget_shape(watch, least);
    return true;
}

tv_shape_entry *tv_watch_find_shape(tv_watch *watch, uint32_t table, uint64_t fingerprint,
                                    bool makes_it)
{
    tv_shape_entry *shape = look_up(watch, table, fingerprint);

    if (shape || !makes_it || tv_watch_entry(watch, table) == NULL)
        return shape;
    if (fingerprint == 0 ||
        (tv_watch_entry(watch, table)->shape_count < TV_WATCH_TABLE_SHAPES_MAX &&
         (watch->shape_count < watch->shapes_max || evict(watch))))
        return add_shape(watch, table, fingerprint);

    watch->evicted++;
    return tv_watch_find_shape(watch, table, 0, true);
}

bool tv_watch_shape_history(tv_watch *watch, uint32_t table, uint64_t fingerprint,
                            tv_watch_history *ret_history)
{
    tv_watch_history found = {.share_low = 1};

    tv_watch_fold(watch);
    pthread_mutex_lock(&watch->lock);

    const tv_shape_entry *shape = look_up(watch, table, fingerprint);

    if (shape) {
        const tv_tally *tally = &shape->tally;
        size_t shares = shape->share_count < TV_WATCH_SHARES ? shape->share_count : TV_WATCH_SHARES;

        found.pages = tv_tally_sum(tally, watch->slot, TV_TALLY_LIVE, TV_SHAPE_PAGES);
        found.examined = tv_tally_sum(tally, watch->slot, TV_TALLY_LIVE, TV_SHAPE_EXAMINED);
        found.returned = tv_tally_sum(tally, watch->slot, TV_TALLY_LIVE, TV_SHAPE_RETURNED);
        found.bytes_out = tv_tally_sum(tally, watch->slot, TV_TALLY_LIVE, TV_SHAPE_BYTES_OUT);
        for (size_t i = 0; i < shares; i++) {
            found.share_low = fmin(found.share_low, shape->shares[i].low);
            found.share_high = fmax(found.share_high, shape->shares[i].high);
        }
    }
    pthread_mutex_unlock(&watch->lock);
    if (found.pages == 0)
        return false;

    *ret_history = found;
    return true;
}

/* --- windows --- */

static void each_of_sketch(tv_watch_sketch *sketch, void (*fn)(tv_tally *tally, int64_t number),
                           int64_t number)
{
    for (size_t i = 0; i < sketch->count; i++)
        fn(&sketch->list[i].tally, number);
}

void tv_watch_each_tally(tv_watch *watch, void (*fn)(tv_tally *tally, int64_t number),
                         int64_t number)
{
    for (tv_table_entry *table = NULL; (table = tv_watch_next_table(watch, table));) {
        fn(&table->tally, number);
        each_of_sketch(&table->partitions, fn, number);
        each_of_sketch(&table->rows, fn, number);
    }
    for (size_t i = 0; i < watch->shape_slots; i++) {
        for (tv_shape_entry *shape = watch->shapes[i]; shape; shape = shape->next) {
            fn(&shape->tally, number);
            for (size_t j = 0; j < shape->walker_count; j++)
                fn(&shape->walkers[j].tally, number);
        }
    }
}

void tv_watch_begin_slots(tv_watch *watch, int64_t time_ns)
{
    int64_t slot = tv_tally_slot_of(time_ns);

    /* Older ones than the last six are not in the window any more. */
    if (watch->slot < slot - TV_TALLY_SLOTS)
        watch->slot = slot - TV_TALLY_SLOTS;
    while (watch->slot < slot) {
        watch->slot++;
        watch->slot_requests[watch->slot % TV_TALLY_SLOTS] = watch->requests;
        tv_watch_each_tally(watch, tv_tally_begin_slot, watch->slot);
        for (tv_table_entry *table = NULL; (table = tv_watch_next_table(watch, table));) {
            if (table->retries)
                table->retries[watch->slot % TV_TALLY_SLOTS] = (tv_worst_minute){0};
        }
    }
}

void tv_watch_end_hour(tv_watch *watch, int64_t hour)
{
    for (tv_table_entry *table = NULL; (table = tv_watch_next_table(watch, table));)
        memcpy(table->day[hour % TV_WATCH_DAY_HOURS], table->tally.numbers, sizeof table->day[0]);
    for (size_t i = 0; i < watch->shape_slots; i++) {
        for (tv_shape_entry *shape = watch->shapes[i]; shape; shape = shape->next) {
            memcpy(shape->latencies[1], shape->latencies[0], sizeof shape->latencies[1]);
            memset(shape->latencies[0], 0, sizeof shape->latencies[0]);
        }
    }
}

typedef struct retry_visit {
    tv_watch *watch;
    int64_t time_ns;
} retry_visit;

static void end_retry_minute(void *ctx, const tv_retry_table *taken)
{
    retry_visit *visit = ctx;
    tv_watch *watch = visit->watch;
    tv_table_entry *table = tv_watch_entry(watch, taken->table);
    tv_worst_minute *worst;

    if (table == NULL)
        return; /* it has left */
    if (table->retries == NULL)
        table->retries = tv_calloc(TV_TALLY_SLOTS, sizeof *table->retries);
    worst = &table->retries[watch->slot % TV_TALLY_SLOTS];
    if (taken->minute.retries < worst->minute.retries && worst->end_ns)
        return;
    *worst = (tv_worst_minute){.end_ns = visit->time_ns, .minute = taken->minute};
    worst->minute.requests = table->tally.numbers[TV_WATCH_TABLE_REQUESTS] - table->minute_requests;
}

void tv_watch_end_minute(tv_watch *watch, int64_t time_ns)
{
    retry_visit visit = {watch, time_ns};

    tv_watch_find_traffic(watch);
    tv_retries_take(&watch->retries, true, end_retry_minute, &visit);
    tv_retries_expire(&watch->retries, time_ns - TV_RETRY_IDLE_S * TV_WATCH_SECOND_NS);
    for (tv_table_entry *table = NULL; (table = tv_watch_next_table(watch, table));) {
        table->minute_requests = table->tally.numbers[TV_WATCH_TABLE_REQUESTS];
        tv_watch_sketch_halve(&table->partitions);
        tv_watch_sketch_halve(&table->rows);
        if (table->inserts)
            tv_direction_end_minute(table->inserts);
    }
}
