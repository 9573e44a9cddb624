/* Estimates, by the best that is known. */
#include "facts/estimate.h"

#include <math.h>

#include "base/clock.h"
#include "engine/key.h"
#include "facts/internal.h"

enum {
    PROBE_KEYS = 1000,
    PROBE_NS = 2 * 1000 * 1000,
    SAMPLE_KEYS_MIN = 30, /* of a partition, for a share of it */
    COMPARISONS_MAX = 15, /* Azure refuses more */
    PAGE_ENTITIES = 1000,
};

#define ROW_MS 0.0006 /* to examine an entity: bench/RESULTS.md */
#define SEEK_MS 0.02
#define PAGE_MS 5000.0
#define WIDE 10.0 /* what a guess at a selectivity may be off by */

const char *tv_estimate_basis_name(tv_estimate_basis basis)
{
    static const char *const names[TV_ESTIMATE_BASES] = {
        [TV_ESTIMATE_COUNTED] = "counted",
        [TV_ESTIMATE_TABLE_FACT] = "table fact",
        [TV_ESTIMATE_PARTITION_FACT] = "partition fact",
        [TV_ESTIMATE_KEY_SAMPLE] = "key sample",
        [TV_ESTIMATE_MEAN_PARTITION] = "mean partition",
        [TV_ESTIMATE_NOTHING] = "nothing",
    };

    return names[basis];
}

static void set_exact(tv_estimate *e, tv_estimate_basis basis, double examined)
{
    e->basis = basis;
    e->examined = e->low = e->high = examined;
}

/* --- the probe --- */

/* Count the keys of the ranges; `ret_ended` is false when there are more. */
static tv_err probe(tv_engine *engine, const tv_plan *plan, size_t *ret_keys, bool *ret_ended)
{
    int64_t until_ns = tv_clock_mono_ns() + PROBE_NS;
    tv_iter *iter;
    tv_err err =
        tv_engine_iter(engine, plan->ranges[0].from, plan->ranges[plan->count - 1].to, &iter);

    *ret_keys = 0;
    *ret_ended = false;
    if (err)
        return err;

    for (size_t i = 0; i < plan->count; i++) {
        for (tv_iter_seek(iter, plan->ranges[i].from);
             tv_iter_is_valid(iter) && tv_slice_cmp(tv_iter_key(iter), plan->ranges[i].to) < 0;
             tv_iter_next(iter)) {
            if (*ret_keys == PROBE_KEYS ||
                (*ret_keys % 64 == 63 && tv_clock_mono_ns() > until_ns)) {
                tv_iter_free(iter);
                return TV_OK;
            }
            ++*ret_keys;
        }
    }
    err = tv_iter_status(iter);
    *ret_ended = err == TV_OK;
    tv_iter_free(iter);
    return err;
}

/* --- by facts --- */

/* Whether a range is one whole partition, and of which PartitionKey, as stored. */
static bool is_partition(const tv_estimate_query *query, const tv_key_range *range,
                         tv_slice *ret_key)
{
    tv_slice tail = tv_slice_skip(range->from, query->prefix.len);
    size_t mark = tv_slice_find(tail, '\x01');

    *ret_key = tv_slice_take(tail, mark);
    return range->kind == TV_PLAN_PARTITION && mark + 1 == tail.len;
}

static bool is_whole_table(const tv_estimate_query *query, tv_arena *arena)
{
    const tv_plan *plan = query->plan;

    return plan->count == 1 && tv_slice_eq(plan->ranges[0].from, query->prefix) &&
           tv_slice_eq(plan->ranges[0].to, tv_key_after(arena, query->prefix));
}

/* The PartitionKey that all of a plan's ranges lie in; false when they lie in several. */
static bool one_partition(const tv_estimate_query *query, tv_slice *ret_key)
{
    const tv_plan *plan = query->plan;

    for (size_t i = 0; i < plan->count; i++) {
        tv_slice tail = tv_slice_skip(plan->ranges[i].from, query->prefix.len);
        size_t mark = tv_slice_find(tail, '\x01');
        tv_slice key = tv_slice_take(tail, mark);

        if (plan->ranges[i].kind > TV_PLAN_PARTITION || mark == tail.len ||
            (i > 0 && !tv_slice_eq(key, *ret_key)))
            return false;
        *ret_key = key;
    }
    return plan->count > 0;
}

/* --- by the key sample --- */

typedef struct sampled {
    size_t keys, in_ranges;                     /* of the table */
    size_t partition_keys, partition_in_ranges; /* of the plan's one partition, if it is one */
} sampled;

/* Whether a key without the table's prefix is in a range.  These are in order and do not overlap:
 * only the last that begins at the key or before it can have it. */
static bool is_in(const tv_estimate_query *query, tv_slice tail)
{
    const tv_key_range *ranges = query->plan->ranges;
    size_t low = 0, high = query->plan->count, skipped = query->prefix.len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (tv_slice_cmp(tv_slice_skip(ranges[middle].from, skipped), tail) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;

    tv_slice to = ranges[low - 1].to;

    /* Without the prefix it is the end of the table. */
    return !tv_slice_starts_with(to, query->prefix) ||
           tv_slice_cmp(tail, tv_slice_skip(to, skipped)) < 0;
}

/* x of k: Wilson's interval at 95 %. */
static void set_share(tv_estimate *e, double x, double k, double of)
{
    const double z = 1.96;
    double p = x / k, mid = (p + z * z / (2 * k)) / (1 + z * z / k);
    double half = z * sqrt(p * (1 - p) / k + z * z / (4 * k * k)) / (1 + z * z / k);

    e->examined = of * p;
    e->low = of * (mid - half);
    e->high = of * (mid + half);
    if (x == 0) {
        e->low = 0;
        e->high = 3.7 * of / k;
    }
}

/* What is known of the partition of a plan and of its neighbours. */
typedef struct known {
    tv_facts_count count;
    double partitions;
    sampled sample;
    bool has_partition; /* the plan is of one */
    bool is_counted;    /* and that has exactly */
    uint64_t entities;
    bool ranges_counted; /* all ranges are whole partitions, of so many */
    uint64_t range_entities;
    bool has_sample;
} known;

static void look_up(tv_facts *facts, const tv_estimate_query *query, known *k)
{
    tv_fact *fact = tv_fact_find_id(facts, query->account, query->table_id);
    const tv_plan *plan = query->plan;
    tv_slice partition = TV_NONE;

    *k = (known){.has_partition = one_partition(query, &partition)};
    pthread_mutex_lock(&fact->lock);
    k->count = tv_fact_count(fact);

    tv_sketch *sketch = tv_fact_sketch(facts, fact);

    if (sketch && k->count.basis != TV_FACTS_UNKNOWN) {
        k->has_sample = true;
        k->partitions = tv_distinct_estimate(&sketch->partition_keys);
        k->sample.keys = sketch->sample_count;
        for (size_t i = 0; i < sketch->sample_count; i++) {
            tv_slice tail = {sketch->sample[i].key, sketch->sample[i].len};
            bool is_inside = is_in(query, tail);
            bool is_of_partition =
                k->has_partition && tv_slice_eq(tv_sketch_partition_of(tail), partition);

            k->sample.in_ranges += is_inside;
            k->sample.partition_keys += is_of_partition;
            k->sample.partition_in_ranges += is_of_partition && is_inside;
        }

        tv_sketch_partition *counted =
            k->has_partition ? tv_sketch_find_partition(sketch, partition) : NULL;

        if (counted && k->count.basis == TV_FACTS_EXACT) {
            k->is_counted = true;
            k->entities = counted->entities;
        }
        k->ranges_counted = k->count.basis == TV_FACTS_EXACT && plan->count > 0;
        for (size_t i = 0; i < plan->count && k->ranges_counted; i++) {
            tv_slice key;

            counted = is_partition(query, &plan->ranges[i], &key)
                          ? tv_sketch_find_partition(sketch, key)
                          : NULL;
            k->ranges_counted = counted != NULL;
            k->range_entities += counted ? counted->entities : 0;
        }
    }
    pthread_mutex_unlock(&fact->lock);
    tv_fact_unref(fact);
}

static void estimate_examined(const tv_estimate_query *query, tv_arena *arena, const known *k,
                              double probed, tv_estimate *e)
{
    double entities = (double)k->count.entities;

    if (k->count.basis == TV_FACTS_EXACT && is_whole_table(query, arena)) {
        set_exact(e, TV_ESTIMATE_TABLE_FACT, entities);
        return;
    }
    if (k->ranges_counted) {
        set_exact(e, TV_ESTIMATE_PARTITION_FACT, (double)k->range_entities);
        return;
    }
    if (!k->has_sample || k->sample.keys == 0) {
        e->basis = TV_ESTIMATE_NOTHING;
        e->examined = e->low = probed;
        e->high = HUGE_VAL;
        return;
    }

    e->basis = TV_ESTIMATE_KEY_SAMPLE;
    if (k->is_counted && k->sample.partition_keys >= SAMPLE_KEYS_MIN) {
        set_share(e, (double)k->sample.partition_in_ranges, (double)k->sample.partition_keys,
                  (double)k->entities);
    } else {
        set_share(e, (double)k->sample.in_ranges, (double)k->sample.keys, entities);
        if (k->has_partition && k->sample.partition_keys < SAMPLE_KEYS_MIN) {
            double mean = entities / (k->partitions < 1 ? 1 : k->partitions);

            e->basis = TV_ESTIMATE_MEAN_PARTITION;
            e->high = fmax(e->high, 8 * mean);
        }
    }
    if (k->count.basis != TV_FACTS_EXACT) { /* it may be old */
        e->low /= 2;
        e->high *= 2;
    }
    e->low = fmax(e->low, probed);
    e->examined = fmax(e->examined, e->low);
    e->high = fmax(e->high, e->examined);
    if (k->count.basis == TV_FACTS_EXACT) {
        e->high = fmin(e->high, entities);
        e->examined = fmin(e->examined, e->high);
        e->low = fmin(e->low, e->examined);
    }
}

/* --- what passes --- */

static const tv_facts_property *find_property(const tv_facts_table *table, tv_slice name)
{
    for (size_t i = 0; i < table->property_count; i++) {
        if (tv_slice_eq(table->properties[i].name, name))
            return &table->properties[i];
    }
    return NULL;
}

static double compare_share(const tv_facts_table *table, const tv_filter *filter,
                            const tv_node *node)
{
    double presence = 1, distinct = table->count.entities ? (double)table->count.entities : 1;

    if (!tv_filter_is_key(filter, node->name) &&
        !tv_slice_eq(filter->names.list[node->name], TV_LIT("Timestamp"))) {
        const tv_facts_property *p = find_property(table, filter->names.list[node->name]);

        presence =
            p && table->property_samples ? (double)p->count / (double)table->property_samples : 0;
        distinct = p && p->distinct >= 1 ? p->distinct : 1;
    }
    switch ((tv_compare_op)node->op) {
    case TV_OP_EQ:
        return presence / distinct;
    case TV_OP_NE:
        return presence - presence / distinct;
    default:
        return presence / 3;
    }
}

/* The share of entities that pass, by textbook rules. */
static double share_of(const tv_facts_table *table, const tv_filter *filter, const tv_node *node)
{
    double share = 1;

    switch ((tv_node_kind)node->kind) {
    case TV_NODE_AND:
        for (const tv_node *child = node->first; child; child = child->next)
            share *= share_of(table, filter, child);
        return share;
    case TV_NODE_OR:
        for (const tv_node *child = node->first; child; child = child->next)
            share *= 1 - share_of(table, filter, child);
        return 1 - share;
    case TV_NODE_NOT:
        return 1 - share_of(table, filter, node->first);
    case TV_NODE_COMPARE:
        return compare_share(table, filter, node);
    case TV_NODE_TRUTH:
        return 0.5;
    case TV_NODE_FALSE:
        break;
    }
    return 0;
}

static tv_err estimate_returned(tv_facts *facts, const tv_estimate_query *query, tv_arena *arena,
                                tv_estimate *e)
{
    const tv_plan *plan = query->plan;
    double top = query->top ? (double)query->top : HUGE_VAL;
    tv_facts_table table;
    tv_err err;

    if (plan->residual == NULL) {
        e->examined = fmin(e->examined, top);
        e->low = fmin(e->low, top);
        e->high = fmin(e->high, top);
        e->returned = e->examined;
        e->returned_low = e->low;
        e->returned_high = e->high;
        return TV_OK;
    }
    err = tv_facts_take(facts, query->account, query->table_id, TV_FACTS_KEYS | TV_FACTS_PROPERTIES,
                        arena, &table);
    if (err)
        return err;

    double share = share_of(&table, plan->filter, plan->residual);

    e->returned_is_guess = true;
    e->returned = fmin(e->examined * share, top);
    e->returned_low = fmin(e->low * share / WIDE, top);
    e->returned_high = fmin(fmin(e->high * fmax(share, 1e-6) * WIDE, e->high), top);
    if (query->top && share > 0) {
        e->examined = fmin(e->examined, top / share);
        e->low = fmin(e->low, e->examined);
    }
    return TV_OK;
}

/* --- Azure --- */

static void estimate_azure(const tv_estimate_query *query, const known *k, tv_estimate *e)
{
    const tv_plan *plan = query->plan;

    e->azure_plan = tv_plan_kind_name(plan->kind);
    e->azure_is_documented = true;
    e->azure_examined = e->examined;
    if (plan->filter && plan->filter->compare_count > COMPARISONS_MAX) {
        e->azure_plan = "refused";
        e->azure_examined = 0;
    } else if (plan->count > 1 && k->has_partition) {
        /* An `or` of RowKeys reads the partition there. */
        e->azure_plan = tv_plan_kind_name(TV_PLAN_PARTITION);
        e->azure_examined =
            k->is_counted ? (double)k->entities
            : k->has_sample && k->sample.keys
                ? fmax((double)k->count.entities * (double)k->sample.partition_keys /
                           (double)k->sample.keys,
                       e->examined)
                : e->examined;
    } else if (plan->count > 1) {
        e->azure_plan = tv_plan_kind_name(TV_PLAN_TABLE);
        e->azure_is_documented = false;
        e->azure_examined = fmax((double)k->count.entities, e->examined);
    }
}

tv_err tv_facts_estimate(tv_facts *facts, const tv_estimate_query *query, tv_arena *arena,
                         tv_estimate *ret_estimate)
{
    tv_estimate e = {0};
    bool has_ended = true;
    size_t probed = 0;
    known k;
    tv_err err;

    if (query->plan->count) {
        err = probe(facts->engine, query->plan, &probed, &has_ended);
        if (err)
            return err;
    }
    look_up(facts, query, &k);
    if (has_ended)
        set_exact(&e, TV_ESTIMATE_COUNTED, (double)probed);
    else
        estimate_examined(query, arena, &k, (double)probed, &e);
    err = estimate_returned(facts, query, arena, &e);
    if (err)
        return err;

    e.ms = e.examined * ROW_MS + SEEK_MS * (double)query->plan->count;

    double pages = fmax(ceil(e.returned / PAGE_ENTITIES), ceil(e.ms / PAGE_MS));

    e.pages = pages < 1 ? 1 : (uint64_t)pages;
    estimate_azure(query, &k, &e);
    *ret_estimate = e;
    return TV_OK;
}

/* --- how far off --- */

void tv_facts_note_estimate(tv_facts *facts, const tv_estimate *estimate, uint64_t examined)
{
    double ratio = (estimate->examined + 1) / ((double)examined + 1);
    double steps = fabs(log2(ratio));
    size_t slot =
        steps >= TV_FACTS_ERROR_SLOTS - 1 ? TV_FACTS_ERROR_SLOTS - 1 : (size_t)ceil(steps);

    atomic_fetch_add(&facts->errors[estimate->basis][slot], 1);
}
