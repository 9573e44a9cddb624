/*
 * The background thread: counts what is not counted, and samples large tables of which much has
 * changed, within a budget.
 */
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "insight/facts/walk.h"
#include "store/engine/key.h"

enum {
    RETRY_MS = 10 * 1000,  /* after a count that failed */
    LARGE_ENTITIES = 2048, /* with more a table is sampled before anybody asks */
    ROUNDS_TO_TIDY = 60,
    PART_OF_CORE = 10,     /* a tenth of a core for all tables together, */
    PART_OF_CORE_SOON = 2, /* half of one for a first sample, or a count that somebody wants; */
    REST = 20,             /* for those who ask not again before 20 times the work */
};

#define NS_PER_MS INT64_C(1000000)
#define IDLE_NS (INT64_C(3600) * 1000 * NS_PER_MS) /* then a sample is let go */

/* --- rows --- */

typedef struct row_write {
    tv_fact *fact;
    tv_slice base; /* the value of that row, which says that the table is counted; or TV_NONE */
} row_write;

static void change_row(tv_txn *txn, const tv_fact *fact, tv_facts_row_kind kind, tv_slice value)
{
    char key[TV_FACTS_ROW_KEY_BYTES_MAX];
    tv_slice name = {key, tv_facts_row_key_format(fact->table, kind, 0, key)};

    if (value.data)
        tv_txn_put(txn, name, value);
    else
        tv_txn_delete(txn, name);
}

/* A table that is dropped gets no more rows: see tv_facts_drop. */
static tv_err put_rows(tv_txn *txn, void *ctx)
{
    row_write *w = ctx;

    pthread_mutex_lock(&w->fact->lock);
    bool is_dropped = w->fact->is_dropped, has_old_sketch = w->fact->has_old_sketch;
    pthread_mutex_unlock(&w->fact->lock);
    if (is_dropped)
        return TV_ERR_TABLE_NOT_FOUND;

    if (w->base.data) {
        change_row(txn, w->fact, TV_FACTS_ROW_BASE, w->base);
        change_row(txn, w->fact, TV_FACTS_ROW_UNCOUNTED, TV_NONE);
    }
    if (has_old_sketch)
        change_row(txn, w->fact, TV_FACTS_ROW_SKETCH, TV_NONE);
    return TV_OK;
}

static tv_err write_rows(tv_facts *facts, tv_fact *fact, tv_slice base)
{
    char key[TV_FACTS_ROW_KEY_BYTES_MAX];
    row_write w = {fact, base};
    tv_write write = {.run = put_rows, .ctx = &w, .bytes = base.len};

    write.partition =
        (tv_slice){key, tv_facts_row_key_format(fact->table, TV_FACTS_ROW_BASE, 0, key) - 1};

    tv_err err = tv_waiter_run(&facts->waiter, &write);

    if (err == TV_OK) {
        pthread_mutex_lock(&fact->lock);
        fact->has_old_sketch = false;
        pthread_mutex_unlock(&fact->lock);
    }
    return err;
}

/* --- counting --- */

static void report_difference(tv_facts *facts, const tv_fact *fact, const tv_facts_sums *base)
{
    atomic_fetch_add(&facts->differences, 1);
    tv_log(TV_LOG_ERROR, "facts_differ",
           "account=%.*s table_id=%lld entities=%lld bytes=%lld note=\"a count has found so many "
           "more than the sums have; they are corrected, and this is a bug\"",
           TV_FMT(fact->account), (long long)fact->id,
           (long long)(base->entities - fact->base.entities),
           (long long)(base->bytes - fact->base.bytes));
}

/* Keep the base that a walk has found.  Only this thread changes it. */
static tv_err keep_base(tv_facts *facts, tv_fact *fact, const tv_facts_sums *base)
{
    bool differs = !fact->is_uncounted &&
                   (fact->base.entities != base->entities || fact->base.bytes != base->bytes);
    char value[TV_FACTS_SUMS_BYTES_MAX];

    if (differs)
        report_difference(facts, fact, base);
    if (facts->is_shared || !(fact->is_uncounted || differs))
        return TV_OK;
    return write_rows(facts, fact, (tv_slice){value, tv_facts_sums_format(base, value)});
}

static void count_table(tv_facts *facts, tv_fact *fact, bool is_soon)
{
    tv_facts_budget budget = {.part_of_core = is_soon ? PART_OF_CORE_SOON : PART_OF_CORE};
    int64_t began_ns = tv_clock_mono_ns();
    tv_facts_found found;
    tv_err err;

    pthread_mutex_lock(&fact->lock);
    fact->wants_count = fact->wants_it_soon = false;
    fact->is_counting = true;
    pthread_mutex_unlock(&fact->lock);
    err = tv_facts_walk(facts, fact, budget, &found);

    bool has_found = err == TV_OK;

    if (has_found)
        err = keep_base(facts, fact, &found.base);

    int64_t now_ns = tv_clock_mono_ns();

    pthread_mutex_lock(&fact->lock);
    fact->is_counting = false;
    fact->count_after_ns = now_ns + (now_ns - began_ns) / budget.part_of_core * REST;
    if (err == TV_OK) {
        tv_fact_set_sample(facts, fact, found.sample, &found.extremes);
        fact->base = found.base;
        fact->is_uncounted = facts->is_shared;
        fact->counted_ticks = tv_clock_ticks();
        atomic_fetch_add(&facts->counts_done, 1);
    } else if (!fact->is_dropped) {
        fact->wants_count = true;
        fact->retry_ns = now_ns + RETRY_MS * NS_PER_MS;
    }
    pthread_mutex_unlock(&fact->lock);
    if (has_found)
        tv_facts_found_done(&found);
    if (err && err != TV_ERR_STOPPED && err != TV_ERR_TABLE_NOT_FOUND)
        tv_log(TV_LOG_WARN, "facts_count",
               "account=%.*s table_id=%lld error=%s note=\"again in %d s\"", TV_FMT(fact->account),
               (long long)fact->id, tv_err_name(err), RETRY_MS / 1000);
}

/* What one look at a table has found to do. */
typedef struct chores {
    bool counts, is_soon, has_old_sketch;
} chores;

static chores look(tv_facts *facts, tv_fact *fact)
{
    size_t keys_max = tv_facts_share(facts, TV_FACTS_SERVER_SAMPLE_MAX, TV_FACTS_SAMPLE_MAX);
    int64_t now_ns = tv_clock_mono_ns();
    chores todo = {0};

    pthread_mutex_lock(&fact->lock);
    if (!fact->is_dropped) {
        tv_facts_sums total = tv_fact_total(fact);
        bool is_due = !facts->is_shared && total.entities > LARGE_ENTITIES && tv_fact_is_due(fact);

        todo.is_soon = fact->wants_it_soon || (fact->wants_count && fact->sample == NULL);
        todo.counts = (fact->wants_count || is_due) && now_ns >= fact->retry_ns;
        todo.has_old_sketch = fact->has_old_sketch;
        /* Far more than a table's share, now that there are more of them, or of no use. */
        if (fact->sample && !facts->is_shared &&
            (fact->sample->key_count > 2 * keys_max || now_ns - fact->used_ns > IDLE_NS))
            tv_fact_forget_sample(facts, fact);
    }
    pthread_mutex_unlock(&fact->lock);
    return todo;
}

static void serve(tv_facts *facts, tv_fact *fact, bool tidies)
{
    chores todo = look(facts, fact);

    if (tidies && todo.has_old_sketch)
        (void)write_rows(facts, fact, TV_NONE); /* again the next time, if it fails */
    if (todo.counts)
        count_table(facts, fact, todo.is_soon);
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

static void serve_all(tv_facts *facts, bool tidies)
{
    size_t count;
    tv_fact **list = all_facts(facts, &count);

    for (size_t i = 0; i < count; i++) {
        if (!tv_background_is_stopping(&facts->thread))
            serve(facts, list[i], tidies);
        if (tidies)
            tv_fact_forget_blank(facts, list[i]);
        tv_fact_unref(list[i]);
    }
    free(list);
}

void tv_facts_run(tv_background *thread, void *ctx)
{
    tv_facts *facts = ctx;
    unsigned round = 0;

    do {
        serve_all(facts, ++round % ROUNDS_TO_TIDY == 0);

        int64_t round_ns = tv_clock_mono_ns() + facts->round_ms * NS_PER_MS;

        tv_background_lock(thread);
        while (!facts->is_woken && tv_background_wait(thread, round_ns))
            ;
        facts->is_woken = false;
        tv_background_unlock(thread);
    } while (!tv_background_is_stopping(thread));
}

size_t tv_facts_counting(tv_facts *facts)
{
    size_t count, waiting = 0;
    tv_fact **list = all_facts(facts, &count);

    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&list[i]->lock);
        waiting += !list[i]->is_dropped && (list[i]->wants_count || list[i]->is_counting ||
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
    fact->wants_count = fact->wants_it_soon = true;
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
