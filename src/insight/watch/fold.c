/* From the sheets of shards to what is kept of tables and shapes. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "insight/watch/internal.h"

/* --- tables --- */

static void fold_keys(tv_kept_key *to_first, tv_kept_key *to_last, const tv_kept_key *first,
                      const tv_kept_key *last)
{
    if (first->len) {
        *to_first = *first;
        *to_last = *last;
    }
}

/* Writes by minutes; those that nobody wrote in are empty. */
static void fold_writes(tv_table_entry *table, int64_t time_ns, uint64_t writes)
{
    int64_t minute = time_ns / TV_WATCH_SECOND_NS / 60;

    if (writes == 0)
        return;
    if (minute > table->writes_minute + TV_WATCH_MINUTES)
        table->writes_minute = minute - TV_WATCH_MINUTES;
    while (table->writes_minute < minute)
        table->writes[++table->writes_minute % TV_WATCH_MINUTES] = 0;
    table->writes[minute % TV_WATCH_MINUTES] += (uint32_t)writes;
}

static void fold_table(tv_watch *watch, const tv_sheet_table *sheet)
{
    tv_table_entry *table = tv_watch_entry(watch, sheet->table);

    if (table == NULL)
        return; /* it has left */
    for (int i = 0; i < TV_WATCH_TABLE_SUMS; i++)
        tv_tally_add(&table->tally, i, sheet->sums[i]);
    for (int i = 0; i < TV_WATCH_TABLE_SHEET_MAXIMA; i++)
        tv_tally_raise(&table->tally, watch->slot, i, sheet->maxima[i]);
    tv_rate_slots_add(&table->slots, &table->tally, TV_WATCH_TABLE_PEAK, sheet->last_ns,
                      sheet->sums[TV_WATCH_TABLE_UNITS]);
    fold_writes(table, sheet->last_ns, sheet->sums[TV_WATCH_TABLE_WRITES]);
    if (table->first_ns == 0)
        table->first_ns = sheet->first_ns;
    if (table->last_ns < sheet->last_ns)
        table->last_ns = sheet->last_ns;
    tv_few_clients_join(&table->read_clients, &sheet->read_clients);
    tv_few_clients_join(&table->write_clients, &sheet->write_clients);
    fold_keys(&table->read_first, &table->read_last, &sheet->read_first, &sheet->read_last);
    fold_keys(&table->write_first, &table->write_last, &sheet->write_first, &sheet->write_last);
    if (watch->first_ns == 0 || sheet->first_ns < watch->first_ns)
        watch->first_ns = sheet->first_ns;
    if (watch->last_ns < sheet->last_ns)
        watch->last_ns = sheet->last_ns;
}

/* --- shapes --- */

static void replace(char **text, char **with)
{
    if (*with == NULL)
        return;
    free(*text);
    *text = *with;
    *with = NULL;
}

static void fold_sources(tv_shape_entry *shape, tv_sheet_shape *sheet)
{
    for (int i = 0; i < TV_WATCH_SOURCES && sheet->sources[i]; i++) {
        for (int j = 0; j < TV_WATCH_SOURCES; j++) {
            if (shape->sources[j] == NULL)
                replace(&shape->sources[j], &sheet->sources[i]);
            if (sheet->sources[i] == NULL || strcmp(shape->sources[j], sheet->sources[i]) == 0)
                break;
        }
    }
}

static void fold_span(tv_shape_entry *shape, tv_sheet_shape *sheet)
{
    bool is_same = shape->literal && sheet->literal && sheet->literal_at == shape->literal_at &&
                   strcmp(shape->literal, sheet->literal) == 0;

    if (sheet->literal_tries == 0)
        return;
    shape->span_first = sheet->span_first;
    shape->span_last = sheet->span_last;
    shape->looked_first = sheet->looked_first;
    shape->looked_last = sheet->looked_last;
    if (sheet->literal && !is_same) {
        replace(&shape->literal, &sheet->literal);
        shape->literal_at = sheet->literal_at;
        shape->literal_hits = shape->literal_tries = 0;
    }
    shape->literal_hits += sheet->literal_hits;
    shape->literal_tries += sheet->literal_tries;
    while (shape->literal_tries > 16) {
        shape->literal_hits /= 2;
        shape->literal_tries /= 2;
    }
}

static void fold_texts(tv_shape_entry *shape, tv_sheet_shape *sheet)
{
    /* That of the others has no filter of its own. */
    if (shape->fingerprint == 0)
        return;

    if (shape->text == NULL)
        replace(&shape->text, &sheet->text);
    replace(&shape->example, &sheet->example);
    fold_sources(shape, sheet);
    shape->select_differs = shape->select_differs || sheet->select_differs ||
                            (shape->select && shape->select_hash != sheet->select_hash);
    shape->select_hash = sheet->select_hash;
    replace(&shape->select, &sheet->select);
    shape->has_select = sheet->has_select;
    shape->has_top = sheet->has_top;
    shape->selects_keys = sheet->selects_keys;
    shape->flags = sheet->flags;
    if (shape->comparisons < sheet->comparisons)
        shape->comparisons = sheet->comparisons;
}

static void fold_shape(tv_watch *watch, tv_sheet_shape *sheet)
{
    tv_shape_entry *shape = tv_watch_find_shape(watch, sheet->table, sheet->fingerprint, true);

    if (shape == NULL)
        return;
    for (int i = 0; i < TV_SHAPE_SHEET_SUMS; i++)
        tv_tally_add(&shape->tally, i, sheet->sums[i]);
    for (int i = 0; i < TV_SHAPE_MAXIMA; i++)
        tv_tally_raise(&shape->tally, watch->slot, i, sheet->maxima[i]);
    for (int i = 0; i < TV_WATCH_LATENCIES; i++)
        shape->latencies[0][i] += sheet->latencies[i];
    if (sheet->share_low <= sheet->share_high)
        shape->shares[shape->share_count++ % TV_WATCH_SHARES] =
            (tv_share_range){sheet->share_low, sheet->share_high};
    if (shape->first_ns == 0)
        shape->first_ns = sheet->first_ns;
    if (shape->last_ns < sheet->last_ns)
        shape->last_ns = sheet->last_ns;
    for (int i = 0; i < 4; i++)
        shape->partitions[i] |= sheet->partitions[i];
    if (sheet->largest.len && sheet->largest_looked >= shape->largest_looked) {
        shape->largest_looked = sheet->largest_looked;
        shape->largest = sheet->largest;
    }
    fold_texts(shape, sheet);
    fold_span(shape, sheet);
}

/* --- walks --- */

static tv_walker *walker_of(tv_shape_entry *shape, const tv_walk *walk)
{
    tv_walker *fewest = NULL;

    if (shape->walkers == NULL)
        shape->walkers = tv_calloc(TV_WATCH_CLIENTS, sizeof *shape->walkers);
    for (size_t i = 0; i < shape->walker_count; i++) {
        tv_walker *walker = &shape->walkers[i];

        if (walker->client == walk->client)
            return walker;
        if (fewest == NULL ||
            walker->tally.numbers[TV_CLIENT_PAGED] < fewest->tally.numbers[TV_CLIENT_PAGED])
            fewest = walker;
    }
    if (shape->walker_count < TV_WATCH_CLIENTS)
        fewest = &shape->walkers[shape->walker_count++];
    else
        tv_tally_done(&fewest->tally);
    *fewest = (tv_walker){.client = walk->client};
    memcpy(fewest->agent, walk->agent, sizeof fewest->agent);
    tv_tally_init(&fewest->tally, TV_CLIENT_SUMS, 0);
    return fewest;
}

static void fold_left(tv_shape_entry *shape, tv_walker *walker, const tv_walk *walk)
{
    if (walk->pages >= 2) {
        tv_tally_add(&shape->tally, TV_SHAPE_LEFT, 1);
        tv_tally_add(&shape->tally, TV_SHAPE_LEFT_PAGES, walk->pages);
        tv_tally_add(&shape->tally, TV_SHAPE_LEFT_RETURNED, walk->returned);
        tv_tally_add(&shape->tally, TV_SHAPE_LEFT_BY_PERSON, walk->slow_gaps + 1 >= walk->pages);
        tv_tally_add(&shape->tally, TV_SHAPE_LEFT_BY_TOP, walk->is_by_top);
        return;
    }
    if (walk->first_end == TV_PAGE_END_TOP)
        return;
    walker->last_end = walk->first_end;
    tv_tally_add(&walker->tally, TV_CLIENT_IGNORED, 1);
    tv_tally_add(&walker->tally, TV_CLIENT_IGNORED_RETURNED, walk->returned);
    tv_tally_add(&walker->tally, TV_CLIENT_IGNORED_EMPTY,
                 walk->first_end == TV_PAGE_END_TIME && walk->returned == 0);
    tv_tally_add(&walker->tally, TV_CLIENT_IGNORED_BELOW_TOP, walk->below_top);
}

void tv_watch_fold_walk(void *ctx, const tv_walk *walk)
{
    tv_watch *watch = ctx;
    tv_shape_entry *shape = tv_watch_find_shape(watch, walk->table, walk->fingerprint, false);

    if (shape == NULL)
        return;

    tv_walker *walker = walker_of(shape, walk);
    bool has_one_page = walk->first_end == TV_PAGE_END_DONE;

    if (walk->first_end != TV_PAGE_END_TOP && !has_one_page)
        tv_tally_add(&walker->tally, TV_CLIENT_PAGED, 1);
    if (walk->state == TV_WALK_TO_END) {
        tv_tally_add(&shape->tally, TV_SHAPE_TO_END, !has_one_page);
        tv_tally_add(&walker->tally, TV_CLIENT_TO_END, 1);
    } else {
        fold_left(shape, walker, walk);
    }
}

/* --- samples: heavy keys --- */

static void fold_heavy(tv_heavy *heavy, const tv_watch_sample *sample, bool is_read)
{
    uint64_t units = (uint64_t)sample->weight * sample->units;

    tv_tally_add(&heavy->tally, TV_HEAVY_UNITS, units);
    tv_tally_add(&heavy->tally, is_read ? TV_HEAVY_READS : TV_HEAVY_WRITES, sample->weight);
    tv_rate_slots_add(&heavy->slots, &heavy->tally, TV_HEAVY_PEAK, sample->time_ns, units);
    /* What the others of a period were is not known: the variance of a sum of samples. */
    heavy->variance +=
        (double)sample->units * sample->units * sample->weight * (sample->weight - 1.0);
    if (sample->throttle != TV_WATCH_THROTTLED_PARTITION)
        return;
    tv_tally_add(&heavy->tally, TV_HEAVY_THROTTLED, 1);
    if (heavy->first_throttled_ns == 0)
        heavy->first_throttled_ns = sample->time_ns;
    heavy->rate_at_throttle = (double)heavy->slots.units[0] / 10;
}

static tv_kept_key partition_key_of(const tv_kept_key *key)
{
    tv_kept_key partition = *key;

    partition.len = partition.partition_len;
    return partition;
}

static void fold_heavies(tv_watch *watch, tv_table_entry *table, const tv_watch_sample *sample)
{
    bool is_query = sample->op == TV_ENTITY_OP_QUERY_ENTITIES;
    bool is_read = is_query || sample->op == TV_ENTITY_OP_QUERY_ENTITY;
    double weight = (double)sample->weight * sample->units;
    size_t size = tv_watch_sketch_size(watch);
    tv_kept_key partition = partition_key_of(&sample->key);
    tv_heavy *heavy = tv_watch_sketch_add(&table->partitions, size, sample->partition_hash,
                                          &partition, weight, sample->time_ns);

    fold_heavy(heavy, sample, is_read);
    if (is_query) {
        tv_tally_add(&heavy->tally, TV_HEAVY_SCANS, sample->weight);
        tv_tally_raise(&heavy->tally, watch->slot, TV_HEAVY_SCANNED_MAX, sample->examined);
        return;
    }
    fold_heavy(tv_watch_sketch_add(&table->rows, size, sample->key_hash, &sample->key, weight,
                                   sample->time_ns),
               sample, is_read);
}

/* --- samples: conflicts --- */

static void shift_minutes(tv_conflict *conflict, int64_t time_ns)
{
    int64_t minute = time_ns / TV_WATCH_SECOND_NS / 60;

    for (int i = 0; i < 6 && conflict->minute < minute; i++, conflict->minute++) {
        memmove(conflict->minutes[1], conflict->minutes[0], 5 * sizeof conflict->minutes[0]);
        memset(conflict->minutes[0], 0, sizeof conflict->minutes[0]);
    }
    if (conflict->minute < minute)
        conflict->minute = minute;
}

uint64_t tv_conflict_recent(const tv_conflict *conflict, tv_conflict_sum which, int64_t time_ns)
{
    int64_t age = time_ns / TV_WATCH_SECOND_NS / 60 - conflict->minute;
    uint64_t sum = 0;

    for (int64_t i = 0; i + age < 5 && i < 6; i++)
        sum += conflict->minutes[i][which];
    return sum;
}

static tv_conflict *conflict_of(tv_table_entry *table, const tv_watch_sample *sample)
{
    tv_conflict *oldest = NULL;

    for (size_t i = 0; i < table->conflict_count; i++) {
        tv_conflict *conflict = &table->conflicts[i];

        if (conflict->hash == sample->key_hash)
            return conflict;
        if (oldest == NULL || conflict->last_ns < oldest->last_ns)
            oldest = conflict;
    }
    if (sample->outcome != TV_WATCH_CONFLICT)
        return NULL;

    if (table->conflicts == NULL)
        table->conflicts = tv_calloc(TV_WATCH_CONFLICTS_MAX, sizeof *table->conflicts);
    if (table->conflict_count < TV_WATCH_CONFLICTS_MAX)
        oldest = &table->conflicts[table->conflict_count++];
    *oldest = (tv_conflict){.hash = sample->key_hash, .key = sample->key};
    return oldest;
}

static void add_to_conflict(tv_conflict *conflict, tv_conflict_sum which, uint32_t count)
{
    conflict->minutes[0][which] += count;
    conflict->all[which] += count;
}

/* Conditional writes count from the first conflict on. */
static void fold_conflict(tv_table_entry *table, const tv_watch_sample *sample)
{
    tv_conflict *conflict = conflict_of(table, sample);

    if (conflict == NULL)
        return;

    shift_minutes(conflict, sample->time_ns);
    add_to_conflict(conflict, TV_CONFLICT_CONDITIONAL, sample->weight);
    add_to_conflict(conflict, TV_CONFLICT_GONE, sample->outcome == TV_WATCH_MISSING);
    if (sample->outcome != TV_WATCH_CONFLICT)
        return;
    conflict->last_ns = sample->time_ns;
    add_to_conflict(conflict, TV_CONFLICT_CONFLICTS, sample->weight);
    add_to_conflict(conflict, TV_CONFLICT_REPLAYED, sample->is_replay);
    tv_few_clients_add(&conflict->clients, sample->client);
    conflict->changed_count = sample->changed_count;
    conflict->changed_numbers = sample->changed_numbers;
    memcpy(conflict->changed, sample->changed, sizeof conflict->changed);
}

/* --- samples: scans that find what is deleted next --- */

static tv_recent_scan *scan_of(tv_table_entry *table, uint64_t client, bool makes_it)
{
    tv_recent_scan *oldest = &table->scans[0];

    for (int i = 0; i < TV_WATCH_SCANS_MAX; i++) {
        if (table->scans[i].client == client && table->scans[i].time_ns)
            return &table->scans[i];
        if (table->scans[i].time_ns < oldest->time_ns)
            oldest = &table->scans[i];
    }
    if (!makes_it)
        return NULL;
    *oldest = (tv_recent_scan){.client = client};
    return oldest;
}

static void fold_delete(tv_table_entry *table, const tv_watch_sample *sample)
{
    enum { AFTER_S = 60, APART_S = 3600 };
    tv_recent_scan *scan = scan_of(table, sample->client, false);

    if (scan == NULL || sample->time_ns - scan->time_ns > AFTER_S * TV_WATCH_SECOND_NS)
        return;

    tv_tally_add(&table->tally, TV_WATCH_TABLE_AFTER_SCAN, sample->weight);
    tv_tally_add(&table->tally, TV_WATCH_TABLE_SCAN_EXAMINED, scan->examined);
    scan->examined = 0;
    table->scan_fingerprint = scan->fingerprint;
    if (sample->time_ns - table->deleting_last_ns > APART_S * TV_WATCH_SECOND_NS) {
        table->deleting_before_ns = table->deleting_ns;
        table->deleting_ns = sample->time_ns;
    }
    table->deleting_last_ns = sample->time_ns;
}

static void fold_scan(tv_table_entry *table, const tv_watch_sample *sample)
{
    if (sample->returned == 0)
        return;

    tv_recent_scan *scan = scan_of(table, sample->client, true);

    scan->fingerprint = sample->fingerprint;
    scan->examined += sample->examined;
    scan->time_ns = sample->time_ns;
}

static void fold_sample(tv_watch *watch, const tv_watch_sample *sample)
{
    tv_table_entry *table = tv_watch_entry(watch, sample->table);

    if (table == NULL)
        return;

    tv_traffic_table *traffic = atomic_load(&watch->places[tv_watch_place(sample->table)].traffic);

    if (sample->key.len)
        fold_heavies(watch, table, sample);
    if (sample->op == TV_ENTITY_OP_QUERY_ENTITIES)
        fold_scan(table, sample);
    if (sample->condition == TV_WATCH_IF_ETAG)
        fold_conflict(table, sample);
    if (sample->outcome == TV_WATCH_DELETED && !sample->is_batched)
        fold_delete(table, sample);
    if (sample->outcome == TV_WATCH_CREATED) {
        if (table->inserts == NULL)
            table->inserts = tv_calloc(1, sizeof *table->inserts);
        tv_direction_add(table->inserts, &sample->key, sample->weight, sample->client,
                         sample->time_ns);
    }
    if (traffic && sample->key.len)
        tv_traffic_sample(watch->options.traffic, traffic, tv_kept_key_slice(&sample->key),
                          sample->weight);
}

/* --- sheets --- */

static void fold_sheet(tv_watch *watch, const tv_sheet *sheet)
{
    watch->requests += sheet->requests;
    watch->dropped += sheet->dropped;
    watch->evicted += sheet->shape_overflows;
    for (size_t i = 0; i < sheet->table_count; i++)
        fold_table(watch, &sheet->tables[i]);
    for (size_t i = 0; i < sheet->shape_count; i++)
        fold_shape(watch, sheet->shapes[i]);
}

/* The shard with the oldest sample that is not folded yet, NULL when there is none. */
static tv_watch_shard *oldest_of(tv_watch *watch)
{
    tv_watch_shard *oldest = NULL;
    int64_t oldest_ns = 0;

    for (int i = 0; i < watch->options.shard_count; i++) {
        tv_watch_shard *shard = &watch->shards[i];
        const tv_sheet *sheet = shard->taken;

        if (shard->folded == sheet->sample_count)
            continue;
        if (oldest == NULL || sheet->samples[shard->folded].time_ns < oldest_ns) {
            oldest = shard;
            oldest_ns = sheet->samples[shard->folded].time_ns;
        }
    }
    return oldest;
}

void tv_watch_fold_taken(tv_watch *watch)
{
    for (int i = 0; i < watch->options.shard_count; i++) {
        fold_sheet(watch, watch->shards[i].taken);
        watch->shards[i].folded = 0;
    }
    for (tv_watch_shard *shard; (shard = oldest_of(watch));)
        fold_sample(watch, &shard->taken->samples[shard->folded++]);
}
