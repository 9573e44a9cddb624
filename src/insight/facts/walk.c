/*
 * A walk over a table.  One snapshot has its rows and the sums of the committers (rows.h), so what
 * is found needs no news of what is written meanwhile: rows less sums is the base, and the number
 * of changes in the sums says of which state the sample is.
 */
#include "insight/facts/walk.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/random.h"
#include "store/engine/key.h"

enum { STEP_ROWS = 1024 }; /* between looks at the clock */

/* --- the properties of an entity --- */

typedef struct entity_look {
    tv_extremes *extremes;
    uint32_t properties;
    uint64_t cost;
} entity_look;

static void look_at_property(void *ctx, const tv_property *property)
{
    entity_look *look = ctx;

    look->properties++;
    look->cost += tv_property_cost(property);
    tv_facts_look_at_value(look->extremes, property);
}

/* Note its extremes; *ret_cost is what it is billed for. */
static tv_err look_at_entity(const tv_facts *facts, tv_extremes *extremes, tv_slice key,
                             tv_slice value, uint64_t *ret_cost)
{
    entity_look look = {.extremes = extremes, .cost = tv_facts_key_cost(key)};
    tv_err err = facts->format->walk(value, look_at_property, &look);

    if (err)
        return err;

    tv_extremes_note(extremes, TV_EXTREME_PROPERTIES, look.properties, key);
    tv_extremes_note(extremes, TV_EXTREME_COST, look.cost, key);
    *ret_cost = look.cost;
    return TV_OK;
}

/* --- the walk --- */

typedef struct walk {
    tv_facts *facts;
    tv_fact *fact;
    tv_facts_budget budget;
    int64_t began_ns, step_ns; /* when it began, and its last step */
    tv_facts_sums sums;        /* that the snapshot has */
    tv_facts_found *found;
} walk;

/* The sums of all committers. */
static tv_err read_sums(walk *w, tv_iter *iter, tv_slice prefix)
{
    for (tv_iter_seek(iter, prefix);
         tv_iter_is_valid(iter) && tv_slice_starts_with(tv_iter_key(iter), prefix);
         tv_iter_next(iter)) {
        tv_facts_row_key row;
        tv_facts_sums sums;
        tv_err err = tv_facts_row_key_parse(tv_iter_key(iter), &row);

        if (err == TV_OK && row.kind == TV_FACTS_ROW_SUMS) {
            err = tv_facts_sums_parse(tv_iter_value(iter), &sums);
            if (err == TV_OK)
                tv_facts_sums_add(&w->sums, &sums);
            /* Committers that there are no more change nothing. */
            if (err == TV_OK && row.committer < w->facts->committer_count)
                w->found->sample->sums[row.committer] = sums;
        }
        if (err)
            return err;
    }
    return tv_iter_status(iter);
}

/* Between steps; false when it is to end. */
static bool goes_on(walk *w)
{
    int64_t now_ns = tv_clock_mono_ns();

    if (w->budget.ns && now_ns - w->began_ns > w->budget.ns)
        return false;

    pthread_mutex_lock(&w->fact->lock);
    bool is_dropped = w->fact->is_dropped;
    pthread_mutex_unlock(&w->fact->lock);
    if (is_dropped)
        return false;
    if (w->budget.part_of_core) {
        int64_t rest_ns = (now_ns - w->step_ns) * (w->budget.part_of_core - 1);

        if (!tv_background_sleep(&w->facts->thread, (int)(rest_ns / 1000000) + 1))
            return false;
    }
    w->step_ns = tv_clock_mono_ns();
    return true;
}

static tv_err walk_rows(walk *w, tv_iter *iter, tv_slice prefix)
{
    tv_sample *sample = w->found->sample;

    for (tv_iter_seek(iter, prefix); tv_iter_is_valid(iter); tv_iter_next(iter)) {
        tv_slice key = tv_iter_key(iter), tail = tv_slice_skip(key, prefix.len);
        tv_slice value = tv_iter_value(iter);
        uint64_t cost;
        tv_err err = look_at_entity(w->facts, &w->found->extremes, tail, value, &cost);

        if (err)
            return err;
        tv_sample_add(sample, tail, key.len + value.len, cost);
        if (sample->entities % STEP_ROWS == 0 && !goes_on(w))
            return TV_ERR_STOPPED;
    }
    tv_sample_finish(sample);
    /* What is done is done: the rest after the last step is all that is left. */
    if (w->budget.part_of_core)
        (void)goes_on(w);
    return tv_iter_status(iter);
}

static tv_err walk_snapshot(walk *w)
{
    bool is_shared = w->facts->is_shared;
    tv_arena arena;
    tv_iter *iter;
    tv_err err;

    tv_arena_init(&arena);
    tv_slice rows = tv_key_table(&arena, w->fact->account, w->fact->id);
    tv_slice sums = tv_key_table_facts(&arena, w->fact->account, w->fact->id);

    err = tv_engine_iter(w->facts->engine, is_shared ? rows : sums, tv_key_after(&arena, rows),
                         &iter);
    if (err == TV_OK) {
        if (!is_shared)
            err = read_sums(w, iter, sums);
        if (err == TV_OK)
            err = walk_rows(w, iter, rows);
        tv_iter_free(iter);
    }
    tv_arena_done(&arena);
    return err;
}

tv_err tv_facts_walk(tv_facts *facts, tv_fact *fact, tv_facts_budget budget,
                     tv_facts_found *ret_found)
{
    int64_t now_ns = tv_clock_mono_ns();
    walk w = {facts, fact, budget, now_ns, now_ns, {0}, ret_found};
    tv_sample *sample = tv_sample_new(&(tv_sample_options){
        .key_max = tv_facts_share(facts, TV_FACTS_SERVER_SAMPLE_MAX, TV_FACTS_SAMPLE_MAX),
        .partition_max =
            tv_facts_share(facts, TV_FACTS_SERVER_PARTITIONS_MAX, TV_FACTS_PARTITIONS_MAX),
        .committer_count = (size_t)facts->committer_count,
        .seed = facts->seed ? facts->seed++ : tv_random_u64(),
    });

    if (sample == NULL)
        return TV_ERR_OVERLOADED;
    *ret_found = (tv_facts_found){.sample = sample};
    sample->ticks = tv_clock_ticks();

    tv_err err = walk_snapshot(&w);

    if (err) {
        tv_facts_found_done(ret_found);
        return err;
    }
    sample->changes = tv_facts_sums_changes(&w.sums);
    ret_found->base.entities = sample->entities - w.sums.entities;
    ret_found->base.bytes = sample->bytes - w.sums.bytes;
    return TV_OK;
}

void tv_facts_found_done(tv_facts_found *found)
{
    tv_sample_unref(found->sample);
    tv_extremes_done(&found->extremes);
}
