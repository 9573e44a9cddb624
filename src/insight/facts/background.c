/*
 * The background thread: counts what is not counted, partitions that have become large, and tables
 * whose sketches have worn out; saves sketches.
 */
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "insight/facts/job.h"
#include "store/engine/key.h"

enum {
    ROUND_MS = 1000,
    RETRY_MS = 10 * 1000,        /* after a count that failed */
    RECOUNT_MS = 10 * 60 * 1000, /* between counts of a table whose sketch wears out */
    PROMOTIONS = 4,              /* of one table in a round */
    WORN_CREATED_MIN = 1000,
};

#define NS_PER_MS INT64_C(1000000)
#define IDLE_NS (INT64_C(3600) * 1000 * NS_PER_MS) /* then a sketch goes back to the store */

/* --- rows --- */

typedef struct row_write {
    tv_fact *fact;
    char key[3][TV_FACTS_ROW_KEY_BYTES_MAX];
    size_t key_len[3];
    tv_slice value; /* of the first; the others are deleted */
    size_t deletes; /* of the others */
} row_write;

static void name_row(row_write *w, int at, tv_facts_row_kind kind)
{
    w->key_len[at] = tv_facts_row_key_format(w->fact->table, kind, 0, w->key[at]);
}

/* A table that is dropped gets no more rows: see tv_facts_drop. */
static tv_err put_rows(tv_txn *txn, void *ctx)
{
    row_write *w = ctx;

    pthread_mutex_lock(&w->fact->lock);
    bool is_dropped = w->fact->is_dropped;
    pthread_mutex_unlock(&w->fact->lock);
    if (is_dropped)
        return TV_ERR_TABLE_NOT_FOUND;

    tv_txn_put(txn, (tv_slice){w->key[0], w->key_len[0]}, w->value);
    for (size_t i = 1; i <= w->deletes; i++)
        tv_txn_delete(txn, (tv_slice){w->key[i], w->key_len[i]});
    return TV_OK;
}

static tv_err write_rows(tv_facts *facts, row_write *w)
{
    tv_slice partition = {w->key[0], 1 + w->fact->table.len};
    tv_write write = {.partition = partition, .run = put_rows, .ctx = w, .bytes = w->value.len};

    return tv_waiter_run(&facts->waiter, &write);
}

/* The base that a count has found; and the table is counted. */
static tv_err write_base(tv_facts *facts, tv_fact *fact, const tv_facts_sums *base)
{
    char value[TV_FACTS_SUMS_BYTES_MAX];
    row_write w = {.fact = fact, .deletes = 1};

    name_row(&w, 0, TV_FACTS_ROW_BASE);
    name_row(&w, 1, TV_FACTS_ROW_UNCOUNTED);
    w.value = (tv_slice){value, tv_facts_sums_format(base, value)};
    return write_rows(facts, &w);
}

/* Save a sketch that has changed since the last time; `wants_memory`: and let go of it. */
static void save(tv_facts *facts, tv_fact *fact, bool wants_memory)
{
    row_write w = {.fact = fact};
    tv_buf value = TV_BUF_EMPTY;

    pthread_mutex_lock(&fact->lock);
    tv_facts_sums total = tv_fact_total(fact);
    uint64_t changes = tv_facts_sums_changes(&total);
    bool is_due = fact->sketch && !fact->is_dropped && !facts->is_shared && fact->saved != changes;

    if (is_due)
        tv_sketch_save(fact->sketch, changes, &value);
    pthread_mutex_unlock(&fact->lock);
    if (is_due) {
        name_row(&w, 0, TV_FACTS_ROW_SKETCH);
        w.value = tv_buf_slice(&value);
        if (write_rows(facts, &w) == TV_OK) {
            pthread_mutex_lock(&fact->lock);
            fact->saved = changes;
            pthread_mutex_unlock(&fact->lock);
            atomic_fetch_add(&facts->saves, 1);
        }
    }
    tv_buf_done(&value);
    if (!wants_memory)
        return;

    pthread_mutex_lock(&fact->lock);
    total = tv_fact_total(fact);
    if (fact->sketch && fact->saved == tv_facts_sums_changes(&total)) {
        tv_sketch_free(fact->sketch);
        fact->sketch = NULL;
        fact->has_looked = false;
        atomic_fetch_sub(&facts->sketch_count, 1);
        tv_facts_properties_free(fact->properties);
        fact->properties = NULL;
    }
    pthread_mutex_unlock(&fact->lock);
}

/* --- counting --- */

static void report_difference(const tv_facts *facts, const tv_fact *fact, const tv_facts_sums *base)
{
    (void)facts;
    tv_log(TV_LOG_ERROR, "facts_differ",
           "account=%.*s table_id=%lld entities=%lld bytes=%lld note=\"a count has found so many "
           "more than the sums have; they are corrected, and this is a bug\"",
           TV_FMT(fact->account), (long long)fact->id,
           (long long)(base->entities - fact->base.entities),
           (long long)(base->bytes - fact->base.bytes));
}

static tv_err count_table(tv_facts *facts, tv_fact *fact)
{
    int64_t start_ns = tv_clock_mono_ns();
    tv_facts_found found;
    tv_err err;

    pthread_mutex_lock(&fact->lock);
    fact->wants_count = false;
    pthread_mutex_unlock(&fact->lock);
    err = tv_facts_count_table(facts, fact, &found);
    if (err == TV_OK && found.differs) {
        report_difference(facts, fact, &found.base);
        atomic_fetch_add(&facts->differences, 1);
    }
    if (err == TV_OK && !facts->is_shared && (fact->is_uncounted || found.differs))
        err = write_base(facts, fact, &found.base);

    int64_t now_ns = tv_clock_mono_ns();

    pthread_mutex_lock(&fact->lock);
    if (err == TV_OK) {
        fact->base = found.base;
        fact->is_uncounted = facts->is_shared;
        fact->counted_ticks = tv_clock_ticks();
        fact->count_after_ns = now_ns + RECOUNT_MS * NS_PER_MS + 20 * (now_ns - start_ns);
        atomic_fetch_add(&facts->counts_done, 1);
    } else if (!fact->is_dropped) {
        fact->wants_count = true;
        fact->count_after_ns = 0;
        fact->retry_ns = now_ns + RETRY_MS * NS_PER_MS;
    }
    pthread_mutex_unlock(&fact->lock);
    if (err && err != TV_ERR_STOPPED && err != TV_ERR_TABLE_NOT_FOUND)
        tv_log(TV_LOG_WARN, "facts_count",
               "account=%.*s table_id=%lld error=%s note=\"again in %d s\"", TV_FMT(fact->account),
               (long long)fact->id, tv_err_name(err), RETRY_MS / 1000);
    return err;
}

/* Sketches that deletes have worn out: too few keys are left, or most partitions may be gone. */
static bool is_worn(const tv_sketch *sketch, uint64_t entities)
{
    bool is_thin = !tv_sketch_has_all(sketch) && sketch->sample_count < sketch->sample_max / 2 &&
                   sketch->sample_bytes < TV_SKETCH_SAMPLE_BYTES_MAX / 2 &&
                   entities > sketch->sample_count;

    return is_thin || (sketch->created >= WORN_CREATED_MIN && !tv_sketch_has_all(sketch) &&
                       sketch->deleted > sketch->created / 5);
}

static int compare_tails(const void *a, const void *b)
{
    const tv_slice *key_a = a, *key_b = b;

    return tv_slice_cmp(*key_a, *key_b);
}

/* PartitionKeys with many keys of the sample that are not counted yet, in the arena. */
static size_t find_large(tv_fact *fact, tv_arena *arena, tv_slice ret_keys[PROMOTIONS])
{
    const tv_sketch *sketch = fact->sketch;
    size_t found = 0, count = sketch->sample_count;
    tv_slice *keys = tv_arena_alloc(arena, (count ? count : 1) * sizeof *keys);

    for (size_t i = 0; i < count; i++)
        keys[i] = tv_sketch_partition_of((tv_slice){sketch->sample[i].key, sketch->sample[i].len});
    qsort(keys, count, sizeof *keys, compare_tails);
    for (size_t begin = 0, end; begin < count && found < PROMOTIONS; begin = end) {
        for (end = begin; end < count && tv_slice_eq(keys[begin], keys[end]);)
            end++;
        if (end - begin >= TV_SKETCH_PROMOTED &&
            tv_sketch_find_partition(fact->sketch, keys[begin]) == NULL)
            ret_keys[found++] = tv_arena_dup(arena, keys[begin]);
    }
    return found;
}

/* What one look at a table has found to do. */
typedef struct chores {
    bool counts, releases;
    tv_slice partitions[PROMOTIONS + 1];
    size_t partition_count;
} chores;

static void look(tv_facts *facts, tv_fact *fact, tv_arena *arena, chores *ret_chores)
{
    int64_t now_ns = tv_clock_mono_ns();

    *ret_chores = (chores){0};
    pthread_mutex_lock(&fact->lock);
    if (!fact->is_dropped) {
        tv_facts_sums total = tv_fact_total(fact);
        uint64_t changes = tv_facts_sums_changes(&total);

        ret_chores->counts = fact->wants_count && now_ns >= fact->retry_ns;
        if (fact->sketch && changes != fact->looked) {
            if (is_worn(fact->sketch, total.entities) && now_ns >= fact->count_after_ns)
                ret_chores->counts = true;
            tv_sketch_limit_sample(fact->sketch, tv_facts_sample_max(facts));
            if (!tv_sketch_has_all(fact->sketch) &&
                fact->sketch->partition_count < TV_FACTS_PARTITIONS_MAX &&
                changes - fact->promoted >= total.entities / 16) {
                ret_chores->partition_count = find_large(fact, arena, ret_chores->partitions);
                if (ret_chores->partition_count < PROMOTIONS)
                    fact->promoted = changes;
            }
            fact->looked = changes;
            fact->used_ns = now_ns;
        }
        if (fact->sketch && fact->wanted_partition.data) {
            if (tv_sketch_find_partition(fact->sketch, fact->wanted_partition) == NULL)
                ret_chores->partitions[ret_chores->partition_count++] =
                    tv_arena_dup(arena, fact->wanted_partition);
            free((char *)fact->wanted_partition.data);
            fact->wanted_partition = TV_NONE;
        }
        if (facts->is_shared ||
            atomic_load(&facts->partition_count) >= TV_FACTS_SERVER_PARTITIONS_MAX)
            ret_chores->partition_count = 0;
        ret_chores->releases =
            fact->sketch && !facts->is_shared && now_ns - fact->used_ns > IDLE_NS;
        if (fact->sketch)
            facts->round_partitions += fact->sketch->partition_count;
    }
    pthread_mutex_unlock(&fact->lock);
}

static void serve(tv_facts *facts, tv_fact *fact, bool saves)
{
    tv_arena arena;
    chores todo;

    tv_arena_init(&arena);
    look(facts, fact, &arena, &todo);
    if (todo.counts && count_table(facts, fact))
        todo.partition_count = 0;
    for (size_t i = 0; i < todo.partition_count; i++) {
        if (tv_facts_count_partition(facts, fact, todo.partitions[i]))
            break;
    }
    if (saves || todo.releases)
        save(facts, fact, todo.releases);
    tv_arena_done(&arena);
}

/* All tables, each counted for the caller, who frees the list. */
static tv_fact **all_facts(tv_facts *facts, size_t *ret_count)
{
    size_t count = 0;

    pthread_rwlock_rdlock(&facts->map_lock);
    tv_fact **list = tv_malloc((facts->fact_count + 1) * sizeof *list);

    for (size_t i = 0; i < TV_FACTS_MAP_SLOTS; i++) {
        for (tv_fact *fact = facts->map[i]; fact; fact = fact->next) {
            atomic_fetch_add(&fact->refs, 1);
            list[count++] = fact;
        }
    }
    pthread_rwlock_unlock(&facts->map_lock);
    *ret_count = count;
    return list;
}

static void serve_all(tv_facts *facts, bool saves)
{
    size_t count;
    tv_fact **list = all_facts(facts, &count);

    facts->round_partitions = 0;
    for (size_t i = 0; i < count; i++) {
        if (!tv_background_is_stopping(&facts->thread))
            serve(facts, list[i], saves);
        if (saves)
            tv_fact_forget_blank(facts, list[i]);
        tv_fact_unref(list[i]);
    }
    atomic_store(&facts->partition_count, facts->round_partitions);
    free(list);
}

void tv_facts_save_all(tv_facts *facts)
{
    size_t count;
    tv_fact **list = all_facts(facts, &count);

    for (size_t i = 0; i < count; i++) {
        save(facts, list[i], false);
        tv_fact_unref(list[i]);
    }
    free(list);
}

void tv_facts_run(tv_background *thread, void *ctx)
{
    tv_facts *facts = ctx;
    int64_t save_ns = tv_clock_mono_ns() + facts->save_ms * NS_PER_MS;

    for (;;) {
        int64_t now_ns = tv_clock_mono_ns();
        bool saves = now_ns >= save_ns;

        if (saves)
            save_ns = now_ns + facts->save_ms * NS_PER_MS;
        serve_all(facts, saves);

        int64_t round_ns = tv_clock_mono_ns() + ROUND_MS * NS_PER_MS;

        tv_background_lock(thread);
        while (!facts->is_woken && tv_background_wait(thread, round_ns))
            ;
        facts->is_woken = false;
        tv_background_unlock(thread);
        if (tv_background_is_stopping(thread))
            return;
    }
}

size_t tv_facts_counting(tv_facts *facts)
{
    size_t count, waiting = 0;
    tv_fact **list = all_facts(facts, &count);

    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&list[i]->lock);
        waiting += !list[i]->is_dropped && (list[i]->wants_count || list[i]->job != NULL ||
                                            (list[i]->is_uncounted && !facts->is_shared));
        pthread_mutex_unlock(&list[i]->lock);
        tv_fact_unref(list[i]);
    }
    free(list);
    return waiting;
}

void tv_facts_recount(tv_facts *facts, tv_slice account, int64_t table_id)
{
    tv_fact *fact = tv_fact_find_id(facts, account, table_id);

    pthread_mutex_lock(&fact->lock);
    fact->wants_count = true;
    fact->retry_ns = 0;
    pthread_mutex_unlock(&fact->lock);
    tv_fact_unref(fact);
    tv_facts_wake(facts);
}

static void write_errors(tv_facts *facts, tv_buf *out)
{
    tv_metric_open_histogram(out, "estimate_error_ratio",
                             "By which factor the entities examined were off what was estimated, "
                             "by what the estimate went by.");
    for (int basis = 0; basis < TV_ESTIMATE_BASES; basis++) {
        uint64_t slots[TV_FACTS_ERROR_SLOTS];
        char labels[64];
        double sum = 0;

        for (int slot = 0; slot < TV_FACTS_ERROR_SLOTS; slot++) {
            slots[slot] = atomic_load(&facts->errors[basis][slot]);
            sum += (double)slots[slot] * (double)(UINT64_C(1) << slot);
        }
        snprintf(labels, sizeof labels, "basis=\"%s\"",
                 tv_estimate_basis_name((tv_estimate_basis)basis));
        tv_metric_add_histogram(out, "estimate_error_ratio", labels, slots, TV_FACTS_ERROR_SLOTS, 1,
                                sum);
    }
}

void tv_facts_write_metrics(void *ctx, tv_buf *out)
{
    tv_facts *facts = ctx;

    write_errors(facts, out);

    tv_metric_add(out, "facts_counts_total", "Tables that were counted in the background.",
                  (double)atomic_load(&facts->counts_done));
    tv_metric_add(out, "facts_differences_total",
                  "Counts that did not agree with the sums kept at commit: a bug.",
                  (double)atomic_load(&facts->differences));
    tv_metric_add(out, "facts_waiting", "Tables that wait for a count.",
                  (double)tv_facts_counting(facts));
}
