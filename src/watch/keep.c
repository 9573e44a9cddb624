/* Which tables and shapes are kept, and how their windows move on. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "watch/internal.h"

/* --- tables --- */

static uint64_t table_hash(tv_slice account, tv_slice name)
{
    return tv_hash(account) * 31 + tv_hash_nocase(name);
}

static bool is_table(const tv_table_entry *table, tv_slice account, tv_slice name)
{
    return tv_slice_eq(tv_slice_of(table->account), account) &&
           tv_slice_eq_nocase(tv_slice_of(table->name), name);
}

static void index_table(tv_watch *watch, uint32_t number)
{
    const tv_table_entry *table = &watch->tables[number];
    size_t at = (size_t)table_hash(tv_slice_of(table->account), tv_slice_of(table->name)) %
                watch->table_index_size;

    while (watch->table_index[at])
        at = (at + 1) % watch->table_index_size;
    watch->table_index[at] = number;
}

static void grow_index(tv_watch *watch)
{
    free(watch->table_index);
    watch->table_index_size = watch->table_index_size ? 2 * watch->table_index_size : 64;
    watch->table_index = tv_calloc(watch->table_index_size, sizeof *watch->table_index);
    for (uint32_t i = 1; i < watch->table_count; i++)
        index_table(watch, i);
}

static char *copy(tv_slice text)
{
    char *made = tv_malloc(text.len + 1);

    *tv_slice_put(made, text) = '\0';
    return made;
}

static uint32_t add_table(tv_watch *watch, tv_slice account, tv_slice name)
{
    if (watch->table_count == watch->table_size) {
        watch->table_size = watch->table_size ? 2 * watch->table_size : 16;
        watch->tables = tv_realloc(watch->tables, watch->table_size * sizeof *watch->tables);
    }
    if (watch->table_count == 0)
        watch->tables[watch->table_count++] = (tv_table_entry){0}; /* number 0 is none */

    tv_table_entry *table = &watch->tables[watch->table_count];

    *table = (tv_table_entry){.account = copy(account), .name = copy(name)};
    tv_tally_init(&table->tally, TV_TABLE_SUMS, TV_TABLE_MAXIMA);
    watch->table_count++;
    if (2 * watch->table_count > watch->table_index_size)
        grow_index(watch);
    else
        index_table(watch, (uint32_t)watch->table_count - 1);
    return (uint32_t)watch->table_count - 1;
}

static uint32_t find_table(const tv_watch *watch, tv_slice account, tv_slice name)
{
    if (watch->table_index == NULL)
        return 0;

    size_t at = (size_t)table_hash(account, name) % watch->table_index_size;

    for (; watch->table_index[at]; at = (at + 1) % watch->table_index_size) {
        if (is_table(&watch->tables[watch->table_index[at]], account, name))
            return watch->table_index[at];
    }
    return 0;
}

uint32_t tv_watch_table(tv_watch *watch, tv_slice account, tv_slice name)
{
    uint32_t number;

    pthread_mutex_lock(&watch->lock);
    number = find_table(watch, account, name);
    if (number == 0 && watch->table_count <= watch->tables_max)
        number = add_table(watch, account, name);
    pthread_mutex_unlock(&watch->lock);
    return number;
}

void tv_table_entry_done(tv_table_entry *table)
{
    free(table->account);
    free(table->name);
    tv_tally_done(&table->tally);
    tv_sketch_done(&table->partitions);
    tv_sketch_done(&table->rows);
    free(table->conflicts);
    free(table->inserts);
    free(table->retries);
}

size_t tv_watch_sketch_size(const tv_watch *watch)
{
    return watch->table_count <= 128   ? TV_SKETCH_KEYS
           : watch->table_count <= 512 ? TV_SKETCH_KEYS / 2
                                       : TV_SKETCH_KEYS / 4;
}

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

    shape->table = table;
    shape->fingerprint = fingerprint;
    if (fingerprint == 0)
        shape->text = copy(TV_LIT("(other)"));
    tv_tally_init(&shape->tally, TV_SHAPE_SUMS, TV_SHAPE_MAXIMA);
    shape->next = *slot;
    *slot = shape;
    watch->shape_count++;
    watch->tables[table].shape_count++;
    return shape;
}

/* Forget the least costly of those that nobody has asked for a day. */
static bool evict(tv_watch *watch)
{
    const int64_t day_ns = 24 * 3600 * TV_WATCH_SECOND_NS;
    tv_shape_entry **least = NULL;
    double least_cost = 0;

    for (size_t i = 0; i < watch->shape_slots; i++) {
        for (tv_shape_entry **at = &watch->shapes[i]; *at; at = &(*at)->next) {
            const uint64_t *numbers = (*at)->tally.numbers;
            double cost = (double)numbers[TV_SHAPE_EXECUTIONS] * (double)numbers[TV_SHAPE_EXAMINED];

            if (watch->stepped_ns - (*at)->last_ns < day_ns || (least && cost >= least_cost))
                continue;
            least = at;
            least_cost = cost;
        }
    }
    if (least == NULL)
        return false;

    tv_shape_entry *gone = *least;

    *least = gone->next;
    watch->tables[gone->table].shape_count--;
    watch->shape_count--;
    watch->evicted++;
    tv_shape_entry_free(gone);
    return true;
}

tv_shape_entry *tv_watch_find_shape(tv_watch *watch, uint32_t table, uint64_t fingerprint,
                                    bool makes_it)
{
    tv_shape_entry *shape = look_up(watch, table, fingerprint);

    if (shape || !makes_it)
        return shape;
    if (fingerprint == 0 || (watch->tables[table].shape_count < TV_WATCH_TABLE_SHAPES_MAX &&
                             (watch->shape_count < watch->shapes_max || evict(watch))))
        return add_shape(watch, table, fingerprint);

    watch->evicted++;
    return tv_watch_find_shape(watch, table, 0, true);
}

/* --- windows --- */

static void each_of_sketch(tv_sketch *sketch, void (*fn)(tv_tally *tally, int64_t number),
                           int64_t number)
{
    for (size_t i = 0; i < sketch->count; i++)
        fn(&sketch->list[i].tally, number);
}

void tv_watch_each_tally(tv_watch *watch, void (*fn)(tv_tally *tally, int64_t number),
                         int64_t number)
{
    for (size_t i = 1; i < watch->table_count; i++) {
        fn(&watch->tables[i].tally, number);
        each_of_sketch(&watch->tables[i].partitions, fn, number);
        each_of_sketch(&watch->tables[i].rows, fn, number);
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
        for (size_t i = 1; i < watch->table_count; i++) {
            if (watch->tables[i].retries)
                watch->tables[i].retries[watch->slot % TV_TALLY_SLOTS] = (tv_worst_minute){0};
        }
    }
}

void tv_watch_end_hour(tv_watch *watch, int64_t hour)
{
    for (size_t i = 1; i < watch->table_count; i++)
        memcpy(watch->tables[i].day[hour % TV_WATCH_DAY_HOURS], watch->tables[i].tally.numbers,
               sizeof watch->tables[i].day[0]);
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
    tv_table_entry *table = &watch->tables[taken->table];
    tv_worst_minute *worst;

    if (table->retries == NULL)
        table->retries = tv_calloc(TV_TALLY_SLOTS, sizeof *table->retries);
    worst = &table->retries[watch->slot % TV_TALLY_SLOTS];
    if (taken->minute.retries < worst->minute.retries && worst->end_ns)
        return;
    *worst = (tv_worst_minute){.end_ns = visit->time_ns, .minute = taken->minute};
    worst->minute.requests = table->tally.numbers[TV_TABLE_REQUESTS] - table->minute_requests;
}

void tv_watch_end_minute(tv_watch *watch, int64_t time_ns)
{
    retry_visit visit = {watch, time_ns};

    tv_retries_take(&watch->retries, true, end_retry_minute, &visit);
    tv_retries_expire(&watch->retries, time_ns - TV_RETRY_IDLE_S * TV_WATCH_SECOND_NS);
    for (size_t i = 1; i < watch->table_count; i++) {
        tv_table_entry *table = &watch->tables[i];

        table->minute_requests = table->tally.numbers[TV_TABLE_REQUESTS];
        tv_sketch_halve(&table->partitions);
        tv_sketch_halve(&table->rows);
        if (table->inserts)
            tv_direction_end_minute(table->inserts);
    }
}
