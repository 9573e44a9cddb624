/* The map of tables, their counts, and the beginning and end of it all. */
#include "insight/facts/facts.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "insight/facts/internal.h"
#include "store/engine/key.h"

enum {
    SAMPLE_MIN = 64, /* keys, however many tables there are */
    SAVE_MS = 60 * 1000,
};

const char *tv_facts_basis_name(tv_facts_basis basis)
{
    static const char *const names[] = {
        [TV_FACTS_EXACT] = "exact",
        [TV_FACTS_COUNTED] = "counted",
        [TV_FACTS_UNKNOWN] = "unknown",
    };

    return names[basis];
}

/* --- tables --- */

static tv_fact *fact_new(const tv_facts *facts, tv_slice table)
{
    tv_fact *fact = tv_calloc(1, sizeof *fact + table.len);
    char *text = (char *)(fact + 1);
    size_t mark = tv_slice_find(table, TV_KEY_MARK);

    memcpy(text, table.data, table.len);
    fact->table = (tv_slice){text, table.len};
    fact->account = tv_slice_take(fact->table, mark);
    tv_assert(mark + 1 + TV_KEY_ID_CHARS == table.len &&
              tv_key_read_number(tv_slice_skip(fact->table, mark + 1), &fact->id) == TV_OK);
    fact->is_uncounted = facts->is_shared;
    atomic_store(&fact->refs, 1);
    tv_assert(pthread_mutex_init(&fact->lock, NULL) == 0);
    return fact;
}

void tv_fact_unref(tv_fact *fact)
{
    if (atomic_fetch_sub(&fact->refs, 1) > 1)
        return;

    tv_sketch_free(fact->sketch);
    tv_facts_properties_free(fact->properties);
    free((char *)fact->wanted_partition.data);
    pthread_mutex_destroy(&fact->lock);
    free(fact);
}

static tv_fact *find_in(tv_fact *slot, tv_slice table)
{
    while (slot && !tv_slice_eq(slot->table, table))
        slot = slot->next;
    if (slot)
        atomic_fetch_add(&slot->refs, 1);
    return slot;
}

tv_fact *tv_fact_find(tv_facts *facts, tv_slice table)
{
    tv_fact **slot = &facts->map[tv_hash(table) % TV_FACTS_MAP_SLOTS];

    pthread_rwlock_rdlock(&facts->map_lock);
    tv_fact *fact = find_in(*slot, table);
    pthread_rwlock_unlock(&facts->map_lock);
    if (fact)
        return fact;

    pthread_rwlock_wrlock(&facts->map_lock);
    fact = find_in(*slot, table);
    if (fact == NULL) {
        fact = fact_new(facts, table);
        fact->next = *slot;
        *slot = fact;
        facts->fact_count++;
        atomic_fetch_add(&fact->refs, 1);
    }
    pthread_rwlock_unlock(&facts->map_lock);
    return fact;
}

tv_fact *tv_fact_find_id(tv_facts *facts, tv_slice account, int64_t id)
{
    tv_arena arena;

    tv_arena_init(&arena);
    tv_slice prefix = tv_key_table_facts(&arena, account, id);
    tv_fact *fact = tv_fact_find(facts, tv_slice_skip(prefix, 1));
    tv_arena_done(&arena);
    return fact;
}

static void remove_locked(tv_facts *facts, const tv_fact *fact)
{
    for (tv_fact **at = &facts->map[tv_hash(fact->table) % TV_FACTS_MAP_SLOTS]; *at;
         at = &(*at)->next) {
        if (*at != fact)
            continue;

        tv_fact *gone = *at;

        *at = gone->next;
        facts->fact_count--;
        tv_fact_unref(gone);
        return;
    }
}

void tv_fact_remove(tv_facts *facts, tv_fact *fact)
{
    pthread_rwlock_wrlock(&facts->map_lock);
    remove_locked(facts, fact);
    pthread_rwlock_unlock(&facts->map_lock);
}

static bool is_blank(const tv_facts *facts, const tv_fact *fact)
{
    tv_facts_sums total = tv_fact_total(fact);

    return tv_facts_sums_changes(&total) == 0 && total.entities == 0 && fact->job == NULL &&
           fact->counted_ticks == 0 && fact->wanted_partition.data == NULL && !fact->wants_count &&
           fact->is_uncounted == facts->is_shared;
}

void tv_fact_forget_blank(tv_facts *facts, tv_fact *fact)
{
    enum { OF_MAP_AND_CALLER = 2 };

    /* Nobody finds it as long as this is held, so nobody comes to hold it or its lock. */
    pthread_rwlock_wrlock(&facts->map_lock);
    if (atomic_load(&fact->refs) == OF_MAP_AND_CALLER && is_blank(facts, fact)) {
        if (fact->sketch)
            atomic_fetch_sub(&facts->sketch_count, 1);
        remove_locked(facts, fact);
    }
    pthread_rwlock_unlock(&facts->map_lock);
}

tv_facts_sums tv_fact_total(const tv_fact *fact)
{
    tv_facts_sums total = fact->base;

    tv_facts_sums_add(&total, &fact->others);
    for (int i = 0; i < TV_FACTS_COMMITTERS_MAX; i++)
        tv_facts_sums_add(&total, &fact->sums[i]);
    return total;
}

/* --- sketches --- */

size_t tv_facts_sample_max(const tv_facts *facts)
{
    size_t tables = atomic_load(&facts->sketch_count);
    size_t share = TV_FACTS_SERVER_SAMPLE_MAX / (tables ? tables : 1);

    return share > TV_FACTS_SAMPLE_MAX ? TV_FACTS_SAMPLE_MAX
           : share < SAMPLE_MIN        ? SAMPLE_MIN
                                       : share;
}

/* The one in the store, if nothing has changed since it was saved. */
static tv_sketch *load_sketch(tv_facts *facts, const tv_fact *fact, uint64_t changes)
{
    char key[TV_FACTS_ROW_KEY_BYTES_MAX];
    size_t len = tv_facts_row_key_format(fact->table, TV_FACTS_ROW_SKETCH, 0, key);
    tv_sketch *sketch = NULL;
    uint64_t saved;
    tv_arena arena;
    tv_slice value;

    tv_arena_init(&arena);
    if (tv_engine_get(facts->engine, TV_READ_ANY, (tv_slice){key, len}, &arena, &value) == TV_OK &&
        tv_sketch_load(value, tv_facts_sample_max(facts), &sketch, &saved) == TV_OK &&
        saved != changes) {
        tv_sketch_free(sketch);
        sketch = NULL;
    }
    tv_arena_done(&arena);
    return sketch;
}

tv_sketch *tv_fact_sketch(tv_facts *facts, tv_fact *fact)
{
    if (!fact->has_looked && !fact->is_dropped) {
        tv_facts_sums total = tv_fact_total(fact);
        uint64_t changes = tv_facts_sums_changes(&total);

        fact->has_looked = true;
        if (!facts->is_shared && !fact->is_uncounted && total.entities == 0) {
            fact->sketch = tv_sketch_new(tv_random_u64(), tv_facts_sample_max(facts));
        } else {
            fact->sketch = load_sketch(facts, fact, changes);
            fact->saved = changes;
        }
        if (fact->sketch)
            atomic_fetch_add(&facts->sketch_count, 1);
        else
            fact->wants_count = true;
    }
    return fact->sketch;
}

/* --- opening --- */

/* Add what one row says.  Sketches are read when they are needed. */
static tv_err take_row(tv_facts *facts, tv_slice key, tv_slice value)
{
    tv_facts_row_key row;
    tv_facts_sums sums;
    tv_err err = tv_facts_row_key_parse(key, &row);

    if (err)
        return err;

    tv_fact *fact = tv_fact_find(facts, row.table);

    switch (row.kind) {
    case TV_FACTS_ROW_SUMS:
        err = tv_facts_sums_parse(value, &sums);
        if (err == TV_OK && row.committer < facts->committer_count)
            fact->sums[row.committer] = sums;
        else if (err == TV_OK)
            tv_facts_sums_add(&fact->others, &sums);
        break;
    case TV_FACTS_ROW_BASE:
        err = tv_facts_sums_parse(value, &fact->base);
        break;
    case TV_FACTS_ROW_UNCOUNTED:
        fact->is_uncounted = fact->wants_count = true;
        break;
    case TV_FACTS_ROW_SKETCH:
        break;
    }
    tv_fact_unref(fact);
    return err;
}

static tv_err read_rows(tv_facts *facts)
{
    tv_iter *iter;
    tv_err err = tv_engine_iter_across(facts->engine, TV_LIT("f"), TV_LIT("g"), &iter);

    if (err)
        return err;

    for (tv_iter_seek(iter, TV_LIT("f")); err == TV_OK && tv_iter_is_valid(iter);
         tv_iter_next(iter))
        err = take_row(facts, tv_iter_key(iter), tv_iter_value(iter));
    if (err == TV_OK)
        err = tv_iter_status(iter);
    tv_iter_free(iter);
    return err;
}

tv_err tv_facts_open(const tv_facts_options *options, tv_facts **ret_facts)
{
    tv_facts *facts = tv_calloc(1, sizeof *facts);
    tv_err err = TV_OK;

    facts->engine = options->engine;
    facts->format = options->format;
    facts->is_shared = options->engine->ops->is_shared;
    facts->committer_count = options->committer_count;
    facts->save_ms = options->save_ms ? options->save_ms : SAVE_MS;
    tv_assert(facts->is_shared || options->committer_count <= TV_FACTS_COMMITTERS_MAX);
    tv_assert(pthread_rwlock_init(&facts->map_lock, NULL) == 0);
    if (!facts->is_shared) {
        for (int i = 0; i < facts->committer_count; i++)
            facts->tallies[i] = tv_committer_tally_new(facts, i);
        err = read_rows(facts);
    }
    if (err) {
        tv_facts_free(facts);
        return err;
    }
    *ret_facts = facts;
    return TV_OK;
}

static tv_txn_tally *tally_of(void *ctx, int committer)
{
    tv_facts *facts = ctx;

    tv_assert(committer < facts->committer_count);
    return (tv_txn_tally *)facts->tallies[committer]; /* its first member */
}

tv_tally_of_fn *tv_facts_tally(tv_facts *facts)
{
    return facts->is_shared ? NULL : tally_of;
}

void tv_facts_start(tv_facts *facts, tv_pipeline *pipeline)
{
    facts->pipeline = pipeline;
    tv_waiter_init(&facts->waiter, pipeline);
    facts->is_started = true;
    /* It does not give way: committers and network threads take its locks. */
    tv_background_start(&facts->thread, &(tv_background_options){
                                            .name = "tv-facts", .run = tv_facts_run, .ctx = facts});
}

void tv_facts_stop(tv_facts *facts)
{
    if (facts == NULL || !facts->is_started)
        return;

    tv_background_stop(&facts->thread);
    tv_facts_save_all(facts);
    tv_background_done(&facts->thread);
    tv_waiter_done(&facts->waiter);
    facts->is_started = false;
}

void tv_facts_free(tv_facts *facts)
{
    if (facts == NULL)
        return;

    tv_assert(!facts->is_started);
    for (size_t i = 0; i < TV_FACTS_MAP_SLOTS; i++) {
        while (facts->map[i]) {
            tv_fact *fact = facts->map[i];

            facts->map[i] = fact->next;
            tv_fact_unref(fact);
        }
    }
    for (int i = 0; i < TV_FACTS_COMMITTERS_MAX; i++)
        tv_committer_tally_free(facts->tallies[i]);
    pthread_rwlock_destroy(&facts->map_lock);
    free(facts);
}

void tv_facts_wake(tv_facts *facts)
{
    if (!facts->is_started)
        return;

    tv_background_lock(&facts->thread);
    facts->is_woken = true;
    tv_background_wake(&facts->thread);
    tv_background_unlock(&facts->thread);
}

/* --- what others ask and tell --- */

tv_err tv_facts_drop(tv_facts *facts, tv_slice account, int64_t table_id)
{
    tv_fact *fact = tv_fact_find_id(facts, account, table_id);
    tv_err err = TV_OK;
    tv_arena arena;

    pthread_mutex_lock(&fact->lock);
    fact->is_dropped = true;
    if (fact->sketch)
        atomic_fetch_sub(&facts->sketch_count, 1);
    tv_sketch_free(fact->sketch);
    fact->sketch = NULL;
    pthread_mutex_unlock(&fact->lock);

    /* What the background has submitted before it could see that is through. */
    if (facts->is_started)
        tv_pipeline_drain(facts->pipeline);
    tv_arena_init(&arena);
    if (!facts->is_shared) {
        tv_slice rows = tv_key_table_facts(&arena, account, table_id);

        err = tv_engine_drop_range(facts->engine, rows, tv_key_after(&arena, rows));
    }
    tv_arena_done(&arena);
    if (err == TV_OK)
        tv_fact_remove(facts, fact);
    tv_fact_unref(fact);
    return err;
}

tv_facts_count tv_fact_count(const tv_fact *fact)
{
    tv_facts_sums total = tv_fact_total(fact);
    tv_facts_basis basis = !fact->is_uncounted   ? TV_FACTS_EXACT
                           : fact->counted_ticks ? TV_FACTS_COUNTED
                                                 : TV_FACTS_UNKNOWN;

    if (basis == TV_FACTS_UNKNOWN)
        return (tv_facts_count){.basis = basis};
    return (tv_facts_count){
        .basis = basis,
        .entities = total.entities,
        .bytes = total.bytes,
        .created = total.created,
        .replaced = total.replaced,
        .deleted = total.deleted,
    };
}

tv_facts_count tv_facts_count_of(tv_facts *facts, tv_slice account, int64_t table_id)
{
    tv_fact *fact = tv_fact_find_id(facts, account, table_id);

    pthread_mutex_lock(&fact->lock);
    tv_facts_count count = tv_fact_count(fact);
    pthread_mutex_unlock(&fact->lock);
    tv_fact_unref(fact);
    return count;
}
