/* The map of tables, their counts, and the beginning and end of it all. */
#include "insight/facts/facts.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/hash.h"
#include "insight/facts/walk.h"
#include "store/engine/key.h"

enum {
    ROUND_MS = 1000,
    SHARE_MIN = 16,        /* of what all tables may have, to a 16th of a table's most */
    SMALL_ENTITIES = 4096, /* a table of no more is walked over when somebody asks */
    /* So is one of no more for who can wait. */
    WAITED_ENTITIES = 1000 * 1000,
    CHANGED_PART = 5, /* too much is a fifth */
    ASKED_PART = 50,  /* with less, but more than this, the background does it for the next */
    REST = 20,        /* who can wait walks over the table not again before 20 times the work */
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

    tv_sample_unref(fact->sample);
    tv_extremes_done(&fact->extremes);
    tv_facts_properties_free(fact->properties);
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

    return tv_facts_sums_changes(&total) == 0 && total.entities == 0 && !fact->is_counting &&
           fact->counted_ticks == 0 && !fact->wants_count && fact->is_uncounted == facts->is_shared;
}

void tv_fact_forget_blank(tv_facts *facts, tv_fact *fact)
{
    enum { OF_MAP_AND_CALLER = 2 };

    /* Nobody finds it as long as this is held, so nobody comes to hold it or its lock. */
    pthread_rwlock_wrlock(&facts->map_lock);
    if (atomic_load(&fact->refs) == OF_MAP_AND_CALLER && is_blank(facts, fact)) {
        tv_fact_forget_sample(facts, fact);
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

/* --- samples --- */

size_t tv_facts_share(const tv_facts *facts, size_t all, size_t most)
{
    size_t tables = atomic_load(&facts->sample_count);
    size_t share = all / (tables ? tables : 1), least = most / SHARE_MIN;

    return share > most ? most : share < least ? least : share;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* A sample may be a moment ahead of what one committer has told, and behind another. */
tv_facts_since tv_fact_since(const tv_facts *facts, const tv_fact *fact, const tv_sample *sample)
{
    tv_facts_since since = {.is_known = !facts->is_shared && !fact->is_uncounted};

    for (int i = 0; since.is_known && i < facts->committer_count; i++) {
        const tv_facts_sums *now = &fact->sums[i], *then = &sample->sums[i];

        since.created += distance(now->created, then->created);
        since.replaced += distance(now->replaced, then->replaced);
        since.deleted += distance(now->deleted, then->deleted);
    }
    return since;
}

void tv_fact_set_sample(tv_facts *facts, tv_fact *fact, tv_sample *sample,
                        const tv_extremes *extremes)
{
    tv_extremes_join(&fact->extremes, extremes);
    fact->used_ns = tv_clock_mono_ns();
    if (fact->is_dropped || (fact->sample && fact->sample->changes > sample->changes))
        return;

    if (fact->sample == NULL)
        atomic_fetch_add(&facts->sample_count, 1);
    tv_sample_unref(fact->sample);
    fact->sample = tv_sample_ref(sample);
    fact->sampled = sample->changes;
}

void tv_fact_forget_sample(tv_facts *facts, tv_fact *fact)
{
    if (fact->sample)
        atomic_fetch_sub(&facts->sample_count, 1);
    tv_sample_unref(fact->sample);
    fact->sample = NULL;
    tv_facts_properties_free(fact->properties);
    fact->properties = NULL;
}

bool tv_fact_is_due(const tv_fact *fact)
{
    tv_facts_sums total = tv_fact_total(fact);

    return tv_facts_sums_changes(&total) - fact->sampled > total.entities / CHANGED_PART;
}

/* What to do for somebody who wants a sample. */
typedef enum way { WAY_THERE, WAY_EMPTY, WAY_WALK, WAY_BACKGROUND } way;

/* Under the lock. */
static way find_way(const tv_facts *facts, const tv_fact *fact, bool can_wait)
{
    tv_facts_since since = {0};
    bool is_exact = !facts->is_shared && !fact->is_uncounted && !fact->is_dropped;
    uint64_t entities = tv_fact_total(fact).entities;

    if (is_exact && entities == 0)
        return WAY_EMPTY; /* without a walk: a table that was emptied may be long to pass */
    if (fact->sample)
        since = tv_fact_since(facts, fact, fact->sample);
    if (fact->sample && tv_facts_since_is_nothing(&since))
        return WAY_THERE;
    if (is_exact && entities <= SMALL_ENTITIES)
        return WAY_WALK;
    if (is_exact && can_wait && entities <= WAITED_ENTITIES &&
        (fact->sample == NULL || tv_fact_is_due(fact) ||
         tv_clock_mono_ns() >= fact->count_after_ns))
        return WAY_WALK;
    return fact->sample ? WAY_THERE : WAY_BACKGROUND;
}

/* Whether to sample a table for the next who ask.  Under the lock. */
static bool is_worth_a_sample(const tv_facts *facts, const tv_fact *fact, int64_t now_ns)
{
    tv_facts_sums total = tv_fact_total(fact);

    return !facts->is_shared && !fact->is_dropped && now_ns >= fact->count_after_ns &&
           tv_facts_sums_changes(&total) - fact->sampled > total.entities / ASKED_PART;
}

static tv_sample *empty_sample(const tv_facts *facts, const tv_fact *fact)
{
    size_t committers = (size_t)facts->committer_count;
    tv_facts_sums total = tv_fact_total(fact);
    tv_sample *sample = tv_sample_new(
        &(tv_sample_options){.key_max = 1, .partition_max = 1, .committer_count = committers});

    if (sample == NULL)
        return NULL;
    sample->changes = tv_facts_sums_changes(&total);
    memcpy(sample->sums, fact->sums, committers * sizeof *sample->sums);
    tv_sample_finish(sample);
    return sample;
}

static tv_sample *walk_now(tv_facts *facts, tv_fact *fact, int64_t wait_ns)
{
    int64_t began_ns = tv_clock_mono_ns();
    tv_facts_found found;
    tv_err err = tv_facts_walk(facts, fact, (tv_facts_budget){.ns = wait_ns}, &found);
    int64_t now_ns = tv_clock_mono_ns();
    tv_sample *sample = err ? NULL : tv_sample_ref(found.sample);

    pthread_mutex_lock(&fact->lock);
    fact->count_after_ns = now_ns + (now_ns - began_ns) * REST;
    if (sample)
        tv_fact_set_sample(facts, fact, sample, &found.extremes);
    pthread_mutex_unlock(&fact->lock);
    if (err)
        return NULL;
    tv_facts_found_done(&found);
    return sample;
}

tv_sample *tv_fact_take_sample(tv_facts *facts, tv_fact *fact, int64_t wait_ns)
{
    tv_sample *sample = NULL;

    pthread_mutex_lock(&fact->lock);
    way how = find_way(facts, fact, wait_ns > TV_FACTS_WAIT_LEAST_NS);

    if (how == WAY_EMPTY)
        sample = empty_sample(facts, fact);
    pthread_mutex_unlock(&fact->lock);
    if (how == WAY_WALK)
        sample = walk_now(facts, fact, wait_ns);
    if (sample)
        return sample;

    pthread_mutex_lock(&fact->lock);
    fact->used_ns = tv_clock_mono_ns();
    if (fact->sample)
        sample = tv_sample_ref(fact->sample);

    bool wants_count =
        how == WAY_THERE ? is_worth_a_sample(facts, fact, fact->used_ns) : !fact->is_dropped;

    fact->wants_count = fact->wants_count || wants_count;
    pthread_mutex_unlock(&fact->lock);
    if (wants_count)
        tv_facts_wake(facts);
    return sample;
}

/* --- opening --- */

/* Add what one row says. */
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
        fact->has_old_sketch = true;
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

/* What was written before the start is sampled when somebody asks for it. */
static void begin_at_the_start(tv_facts *facts)
{
    for (size_t i = 0; i < TV_FACTS_MAP_SLOTS; i++) {
        for (tv_fact *fact = facts->map[i]; fact; fact = fact->next) {
            tv_facts_sums total = tv_fact_total(fact);

            fact->sampled = tv_facts_sums_changes(&total);
        }
    }
}

tv_err tv_facts_open(const tv_facts_options *options, tv_facts **ret_facts)
{
    tv_facts *facts = tv_calloc(1, sizeof *facts);
    tv_err err = TV_OK;

    facts->engine = options->engine;
    facts->format = options->format;
    facts->is_shared = options->engine->ops->is_shared;
    facts->committer_count = options->committer_count;
    facts->round_ms = options->round_ms ? options->round_ms : ROUND_MS;
    atomic_store(&facts->seed, options->seed);
    tv_assert(facts->is_shared || options->committer_count <= TV_FACTS_COMMITTERS_MAX);
    tv_assert(pthread_rwlock_init(&facts->map_lock, NULL) == 0);
    if (!facts->is_shared) {
        for (int i = 0; i < facts->committer_count; i++)
            facts->tallies[i] = tv_committer_tally_new(facts, i);
        err = read_rows(facts);
        begin_at_the_start(facts);
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
    tv_fact_forget_sample(facts, fact);
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
