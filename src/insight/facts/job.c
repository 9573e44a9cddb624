/*
 * A count of a table or of a partition in a snapshot of the store, while writes go on.
 *
 * The log comes first, then the snapshot: so every change that the snapshot does not have is in
 * the log, or in `since`.  The snapshot has the sums of the committers, too (rows.h), and by them
 * it is known which of the changes in the log it has.  Sketches need few of them: only keys that
 * may get into the sample or are large are noted.
 */
#include "insight/facts/job.h"

#include <stdlib.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/random.h"
#include "store/engine/key.h"

enum {
    LOG_MAX = 1 << 20,
    LOG_BYTES_MAX = 32 << 20,
    STEP_ROWS = 1024, /* between looks at the clock and at what is noted */
};

typedef struct log_entry {
    uint64_t number; /* of changes, after its group */
    uint64_t old_bytes, bytes;
    char *key; /* NULL in the log of a partition */
    size_t len;
    int committer;
} log_entry;

struct tv_facts_job {
    tv_slice partition; /* PartitionKey 01; TV_NONE: the whole table */
    uint64_t seed;
    uint64_t reach, floor;
    tv_distinct since;
    bool has_left_out; /* changes that can be in no sample */
    bool is_overfull;
    log_entry *log;
    size_t count, size, bytes;
};

void tv_facts_job_note(tv_facts_job *job, int committer, uint64_t number, tv_slice key,
                       uint64_t old_bytes, uint64_t bytes)
{
    bool has_key = job->partition.data == NULL;

    if (has_key) {
        uint64_t hash = tv_sketch_hash(job->seed, key);

        if (old_bytes == 0)
            tv_distinct_add(&job->since, tv_sketch_hash(job->seed, tv_sketch_partition_of(key)));
        if (hash > job->reach && old_bytes < job->floor && bytes < job->floor) {
            job->has_left_out = true;
            return;
        }
    } else if (!tv_slice_starts_with(key, job->partition)) {
        return;
    }

    if (job->count == LOG_MAX || job->bytes > LOG_BYTES_MAX) {
        job->is_overfull = true;
        return;
    }
    tv_grow(&job->log, job->count, &job->size, 256);

    log_entry *entry = &job->log[job->count++];

    *entry = (log_entry){
        .number = number, .old_bytes = old_bytes, .bytes = bytes, .committer = committer};
    if (has_key) {
        entry->key = tv_malloc(key.len ? key.len : 1);
        memcpy(entry->key, key.data, key.len);
        entry->len = key.len;
        job->bytes += key.len;
    }
}

static tv_facts_job *begin(tv_fact *fact, tv_slice partition)
{
    tv_facts_job *job = tv_calloc(1, sizeof *job);

    job->partition = partition;
    job->seed = tv_random_u64();
    job->reach = UINT64_MAX;
    pthread_mutex_lock(&fact->lock);
    tv_assert(fact->job == NULL);
    fact->job = job;
    pthread_mutex_unlock(&fact->lock);
    return job;
}

/* Under the table's lock. */
static void end(tv_fact *fact)
{
    tv_facts_job *job = fact->job;

    fact->job = NULL;
    for (size_t i = 0; i < job->count; i++)
        free(job->log[i].key);
    free(job->log);
    free(job);
}

/* Between steps: about as long as a step takes, so that others have at least half of the core. */
static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

/* --- what is in a snapshot --- */

/* The sums that a snapshot has. */
typedef struct snapshot_sums {
    uint64_t changes[TV_FACTS_COMMITTERS_MAX];
    tv_facts_sums total;
} snapshot_sums;

static tv_err read_sums(tv_iter *iter, tv_slice facts_prefix, snapshot_sums *ret_sums)
{
    *ret_sums = (snapshot_sums){0};
    for (tv_iter_seek(iter, facts_prefix);
         tv_iter_is_valid(iter) && tv_slice_starts_with(tv_iter_key(iter), facts_prefix);
         tv_iter_next(iter)) {
        tv_facts_row_key row;
        tv_facts_sums sums;
        tv_err err = tv_facts_row_key_parse(tv_iter_key(iter), &row);

        if (err == TV_OK && row.kind == TV_FACTS_ROW_SUMS) {
            err = tv_facts_sums_parse(tv_iter_value(iter), &sums);
            if (err == TV_OK) {
                ret_sums->changes[row.committer] = tv_facts_sums_changes(&sums);
                tv_facts_sums_add(&ret_sums->total, &sums);
            }
        }
        if (err)
            return err;
    }
    return tv_iter_status(iter);
}

static bool is_in_snapshot(const snapshot_sums *sums, const log_entry *entry)
{
    return entry->number <= sums->changes[entry->committer];
}

/* Whether a snapshot has groups that their committers have not told of yet. */
static bool is_ahead(const tv_facts *facts, const tv_fact *fact, const snapshot_sums *sums)
{
    for (int i = 0; i < facts->committer_count; i++) {
        if (sums->changes[i] > tv_facts_sums_changes(&fact->sums[i]))
            return true;
    }
    return false;
}

/*
 * Lock a table after a walk, whose result `err` is.  A group is durable a moment before its
 * committer tells of it: what was found in the snapshot is used once it has, or the group would
 * be counted a second time then.
 */
static tv_err lock_when_told(tv_facts *facts, tv_fact *fact, const snapshot_sums *sums, tv_err err)
{
    enum { TRIES_MAX = 4000 };

    pthread_mutex_lock(&fact->lock);
    for (int tries = 0; err == TV_OK && is_ahead(facts, fact, sums); tries++) {
        if (tries == TRIES_MAX || fact->is_dropped || tv_background_is_stopping(&facts->thread))
            return TV_ERR_STOPPED;
        pthread_mutex_unlock(&fact->lock);
        rest();
        pthread_mutex_lock(&fact->lock);
    }
    return err;
}

/* The largest partitions that a walk in key order has passed. */
typedef struct passed {
    tv_sketch_partition list[TV_FACTS_PARTITIONS_MAX];
    size_t count;
    tv_buf key; /* PartitionKey at hand */
    uint64_t entities, bytes;
    bool is_begun;
} passed;

static void pass_partition(passed *p)
{
    size_t at = p->count;

    if (!p->is_begun || p->entities < TV_SKETCH_PROMOTED)
        return;
    if (p->count == TV_FACTS_PARTITIONS_MAX) {
        at = 0;
        for (size_t i = 1; i < p->count; i++) {
            if (p->list[i].entities < p->list[at].entities)
                at = i;
        }
        if (p->list[at].entities >= p->entities)
            return;
        free(p->list[at].key);
    } else {
        p->count++;
    }
    p->list[at] = (tv_sketch_partition){.key = tv_malloc(p->key.len + 1),
                                        .len = p->key.len,
                                        .entities = p->entities,
                                        .bytes = p->bytes};
    if (p->key.len)
        memcpy(p->list[at].key, p->key.data, p->key.len);
}

static void pass_row(passed *p, tv_slice key, uint64_t bytes)
{
    tv_slice partition_key = tv_sketch_partition_of(key);

    if (!p->is_begun || !tv_slice_eq(tv_buf_slice(&p->key), partition_key)) {
        pass_partition(p);
        tv_buf_reset(&p->key);
        tv_buf_add(&p->key, partition_key);
        p->entities = p->bytes = 0;
        p->is_begun = true;
    }
    p->entities++;
    p->bytes += bytes;
}

static void passed_done(passed *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->list[i].key);
    tv_buf_done(&p->key);
}

/* --- the properties of an entity --- */

typedef struct entity_look {
    tv_sketch *sketch;
    uint32_t properties;
    uint64_t cost;
} entity_look;

static void look_at_property(void *ctx, const tv_property *property)
{
    entity_look *look = ctx;

    look->properties++;
    look->cost += tv_property_cost(property);
    tv_facts_look_at_value(look->sketch, property);
}

static tv_err look_at_entity(const tv_facts *facts, tv_sketch *sketch, tv_slice key, tv_slice value)
{
    entity_look look = {.sketch = sketch, .cost = tv_facts_key_cost(key)};
    tv_err err = facts->format->walk(value, look_at_property, &look);

    if (err)
        return err;

    tv_sketch_note_extreme(sketch, TV_EXTREME_PROPERTIES, look.properties, key);
    tv_sketch_note_extreme(sketch, TV_EXTREME_COST, look.cost, key);
    return TV_OK;
}

/* --- a table --- */

/* What a walk over a snapshot has found. */
typedef struct found {
    snapshot_sums sums;
    tv_facts_sums rows; /* entities and bytes */
    tv_sketch *sketch;
    passed passed;
} found;

static bool publish_filter(tv_fact *fact, tv_facts_job *job, const tv_sketch *sketch)
{
    pthread_mutex_lock(&fact->lock);
    job->reach = sketch->sample_reach;
    job->floor = sketch->largest_floor;

    bool goes_on = !fact->is_dropped && !job->is_overfull;

    pthread_mutex_unlock(&fact->lock);
    return goes_on;
}

static tv_err walk_rows(tv_facts *facts, tv_fact *fact, tv_facts_job *job, tv_iter *iter,
                        tv_slice prefix, found *f)
{
    size_t rows = 0;

    for (tv_iter_seek(iter, prefix); tv_iter_is_valid(iter); tv_iter_next(iter)) {
        tv_slice key = tv_iter_key(iter), tail = tv_slice_skip(key, prefix.len);
        tv_slice value = tv_iter_value(iter);
        uint64_t bytes = key.len + value.len;
        tv_err err = look_at_entity(facts, f->sketch, tail, value);

        if (err)
            return err;
        tv_sketch_created(f->sketch, tail, bytes);
        pass_row(&f->passed, tail, bytes);
        f->rows.entities++;
        f->rows.bytes += bytes;
        if (++rows % STEP_ROWS)
            continue;
        if (tv_background_is_stopping(&facts->thread) || !publish_filter(fact, job, f->sketch))
            return TV_ERR_STOPPED;
        rest();
    }
    pass_partition(&f->passed);
    return tv_iter_status(iter);
}

/* Under the lock: bring what was found up to date with what was written meanwhile. */
static void catch_up(const tv_facts_job *job, found *f)
{
    tv_sketch *sketch = f->sketch;

    tv_sketch_clear_partitions(sketch);
    for (size_t i = 0; !job->has_left_out && i < f->passed.count; i++) {
        const tv_sketch_partition *p = &f->passed.list[i];

        (void)tv_sketch_add_partition(sketch, (tv_slice){p->key, p->len}, p->entities, p->bytes);
    }
    for (size_t i = 0; i < job->count; i++) {
        const log_entry *entry = &job->log[i];
        tv_slice key = {entry->key, entry->len};

        if (is_in_snapshot(&f->sums, entry))
            continue;
        if (entry->old_bytes == 0)
            tv_sketch_created(sketch, key, entry->bytes);
        else if (entry->bytes == 0)
            tv_sketch_deleted(sketch, key, entry->old_bytes);
        else
            tv_sketch_replaced(sketch, key, entry->old_bytes, entry->bytes);
    }
    for (size_t i = 0; i < TV_DISTINCT_REGISTERS; i++) {
        if (job->since.registers[i] > sketch->partition_keys.registers[i])
            sketch->partition_keys.registers[i] = job->since.registers[i];
    }
    /* What they began with does not count as change since. */
    sketch->created = f->rows.entities;
    sketch->deleted = 0;
    tv_assert(!job->has_left_out || !tv_sketch_has_all(sketch));
}

static tv_err walk_table(tv_facts *facts, tv_fact *fact, tv_facts_job *job, found *f)
{
    tv_arena arena;
    tv_iter *iter;
    tv_err err;

    tv_arena_init(&arena);
    tv_slice rows = tv_key_table(&arena, fact->account, fact->id);
    tv_slice sums = tv_key_table_facts(&arena, fact->account, fact->id);

    err = tv_engine_iter(facts->engine, facts->is_shared ? rows : sums, tv_key_after(&arena, rows),
                         &iter);
    if (err == TV_OK) {
        if (!facts->is_shared)
            err = read_sums(iter, sums, &f->sums);
        if (err == TV_OK)
            err = walk_rows(facts, fact, job, iter, rows, f);
        tv_iter_free(iter);
    }
    tv_arena_done(&arena);
    return err;
}

tv_err tv_facts_count_table(tv_facts *facts, tv_fact *fact, tv_facts_found *ret_found)
{
    tv_facts_job *job = begin(fact, TV_NONE);
    found f = {.sketch = tv_sketch_new(job->seed, tv_facts_sample_max(facts))};
    tv_err err = walk_table(facts, fact, job, &f);

    err = lock_when_told(facts, fact, &f.sums, err);
    if (err == TV_OK && (fact->is_dropped || job->is_overfull))
        err = TV_ERR_STOPPED;
    if (err == TV_OK) {
        catch_up(job, &f);
        ret_found->base = f.rows;
        tv_facts_sums_subtract(&ret_found->base, &f.sums.total);
        ret_found->base.created = ret_found->base.replaced = ret_found->base.deleted = 0;
        ret_found->differs =
            !fact->is_uncounted && (fact->base.entities != ret_found->base.entities ||
                                    fact->base.bytes != ret_found->base.bytes);
        if (fact->sketch == NULL)
            atomic_fetch_add(&facts->sketch_count, 1);
        else
            tv_sketch_keep_extremes(f.sketch, fact->sketch);
        tv_sketch_free(fact->sketch);
        fact->sketch = f.sketch;
        fact->has_looked = true;
        fact->saved = UINT64_MAX; /* it is to be saved */
        f.sketch = NULL;
    }
    end(fact);
    pthread_mutex_unlock(&fact->lock);
    tv_sketch_free(f.sketch);
    passed_done(&f.passed);
    return err;
}

/* --- a partition --- */

static tv_err walk_partition(tv_facts *facts, tv_fact *fact, tv_slice partition,
                             snapshot_sums *ret_sums, tv_facts_sums *ret_rows)
{
    size_t steps = 0;
    tv_arena arena;
    tv_iter *iter;
    tv_err err;

    tv_arena_init(&arena);
    tv_slice table = tv_key_table(&arena, fact->account, fact->id);
    tv_slice sums = tv_key_table_facts(&arena, fact->account, fact->id);
    char *bytes = tv_arena_bytes(&arena, table.len + partition.len);

    memcpy(bytes, table.data, table.len);
    memcpy(bytes + table.len, partition.data, partition.len);

    tv_slice rows = {bytes, table.len + partition.len};

    *ret_rows = (tv_facts_sums){0};
    err = tv_engine_iter(facts->engine, sums, tv_key_after(&arena, rows), &iter);
    if (err == TV_OK) {
        err = read_sums(iter, sums, ret_sums);
        for (tv_iter_seek(iter, rows); err == TV_OK && tv_iter_is_valid(iter); tv_iter_next(iter)) {
            ret_rows->entities++;
            ret_rows->bytes += tv_iter_key(iter).len + tv_iter_value(iter).len;
            if (++steps % STEP_ROWS)
                continue;
            if (tv_background_is_stopping(&facts->thread))
                err = TV_ERR_STOPPED;
            rest();
        }
        if (err == TV_OK)
            err = tv_iter_status(iter);
        tv_iter_free(iter);
    }
    tv_arena_done(&arena);
    return err;
}

tv_err tv_facts_count_partition(tv_facts *facts, tv_fact *fact, tv_slice partition_key)
{
    tv_buf prefix = TV_BUF_EMPTY;
    snapshot_sums sums;
    tv_facts_sums rows;

    tv_buf_add(&prefix, partition_key);
    tv_buf_add_char(&prefix, TV_KEY_MARK);

    tv_facts_job *job = begin(fact, tv_buf_slice(&prefix));
    tv_err err = walk_partition(facts, fact, job->partition, &sums, &rows);

    err = lock_when_told(facts, fact, &sums, err);
    if (err == TV_OK && !job->is_overfull && fact->sketch &&
        tv_sketch_find_partition(fact->sketch, partition_key) == NULL) {
        for (size_t i = 0; i < job->count; i++) {
            const log_entry *entry = &job->log[i];

            if (is_in_snapshot(&sums, entry))
                continue;
            rows.entities += (uint64_t)(entry->bytes != 0) - (uint64_t)(entry->old_bytes != 0);
            rows.bytes += entry->bytes - entry->old_bytes;
        }
        tv_facts_make_room(fact->sketch, rows.entities);
        (void)tv_sketch_add_partition(fact->sketch, partition_key, rows.entities, rows.bytes);
    }
    end(fact);
    pthread_mutex_unlock(&fact->lock);
    tv_buf_done(&prefix);
    return err;
}

void tv_facts_make_room(tv_sketch *sketch, uint64_t entities)
{
    tv_sketch_partition *least = NULL;

    if (sketch->partition_count < TV_FACTS_PARTITIONS_MAX)
        return;

    for (size_t i = 0; i < TV_SKETCH_PARTITION_SLOTS; i++) {
        tv_sketch_partition *partition = &sketch->partitions[i];

        if (partition->key && (least == NULL || partition->entities < least->entities))
            least = partition;
    }
    if (least->entities < entities)
        tv_sketch_remove_partition(sketch, (tv_slice){least->key, least->len});
}
