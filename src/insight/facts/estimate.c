/* Estimates, by the best that is known: the probe, and putting the answers together. */
#include "insight/facts/estimate.h"

#include <math.h>

#include "base/clock.h"
#include "insight/facts/estimate_parts.h"

enum {
    PROBE_KEYS = 1000,
    PROBE_KEYS_MIN = 256, /* whatever time that takes: two or three blocks of a file */
    COMPARISONS_MAX = 15, /* Azure refuses more */
    PAGE_ENTITIES = 1000,
};

#define PROBE_NS (2 * INT64_C(1000000))
#define PAGE_MS 5000.0
#define PAGE_BYTES (4.0 * 1024 * 1024)
#define JSON_FACTOR 1.5          /* from stored bytes to those of an answer, until it is known */
#define HISTORY_RETURNED_MIN 100 /* entities, to know their bytes */

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

const char *tv_share_basis_name(tv_share_basis basis)
{
    static const char *const names[TV_SHARE_BASES] = {
        [TV_SHARE_ALL] = "all",
        [TV_SHARE_COUNTED] = "counted",
        [TV_SHARE_SAMPLE] = "sample",
        [TV_SHARE_HISTORY] = "history",
        [TV_SHARE_BEGINNING] = "beginning",
    };

    return names[basis];
}

/* --- the probe --- */

/* One row; the probe ends with the last that $top asks for, as a page does. */
static tv_err probe_row(tv_facts *facts, const tv_estimate_query *query, void *test, tv_iter *iter,
                        tv_arena *scratch, tv_estimate_probe *p)
{
    bool passes = true;
    tv_err err = TV_OK;

    if (query->plan->residual)
        err = facts->format->test(test, query->prefix, tv_iter_key(iter), tv_iter_value(iter),
                                  scratch, &passes);
    tv_arena_reset(scratch);
    p->keys++;
    p->passed += passes;
    p->has_ended = query->top && p->passed == query->top;
    return err;
}

static tv_err probe_ranges(tv_facts *facts, const tv_estimate_query *query, void *test,
                           tv_iter *iter, tv_arena *arena, tv_arena *scratch, tv_estimate_probe *p)
{
    const tv_plan *plan = query->plan;
    int64_t until_ns = tv_clock_mono_ns() + (query->probe_ns ? query->probe_ns : PROBE_NS);

    for (size_t i = 0; i < plan->count; i++) {
        for (tv_iter_seek(iter, plan->ranges[i].from);
             tv_iter_is_valid(iter) && tv_slice_cmp(tv_iter_key(iter), plan->ranges[i].to) < 0;
             tv_iter_next(iter)) {
            if (p->keys == PROBE_KEYS ||
                (p->keys >= PROBE_KEYS_MIN && p->keys % 64 == 0 && tv_clock_mono_ns() > until_ns)) {
                p->next = tv_arena_dup(arena, tv_slice_skip(tv_iter_key(iter), query->prefix.len));
                return TV_OK;
            }

            tv_err err = probe_row(facts, query, test, iter, scratch, p);

            if (err || p->has_ended)
                return err;
        }
    }

    tv_err err = tv_iter_status(iter);

    p->has_ended = err == TV_OK;
    return err;
}

/* Count and test the first entities of the ranges. */
static tv_err probe(tv_facts *facts, const tv_estimate_query *query, tv_arena *arena,
                    tv_estimate_probe *ret_probe)
{
    const tv_plan *plan = query->plan;
    tv_arena scratch;
    tv_iter *iter;
    tv_err err;

    *ret_probe = (tv_estimate_probe){.has_ended = plan->count == 0};
    if (plan->count == 0)
        return TV_OK;

    err = tv_engine_iter(facts->engine, plan->ranges[0].from, plan->ranges[plan->count - 1].to,
                         &iter);
    if (err)
        return err;

    tv_arena_init(&scratch);
    err = probe_ranges(facts, query, plan->residual ? facts->format->test_begin(arena, plan) : NULL,
                       iter, arena, &scratch, ret_probe);
    tv_arena_done(&scratch);
    tv_iter_free(iter);
    return err;
}

/* --- putting together --- */

static void set_counted(const tv_estimate_query *query, const tv_estimate_probe *p, tv_estimate *e)
{
    e->basis = TV_ESTIMATE_COUNTED;
    e->is_exact = true;
    e->examined = e->low = e->high = (double)p->keys;
    e->returned_basis = query->plan->residual ? TV_SHARE_COUNTED : TV_SHARE_ALL;
    e->returned = e->returned_low = e->returned_high = (double)p->passed;
}

/* Every entity is returned. */
static void return_all(const tv_estimate_query *query, tv_estimate *e)
{
    double top = query->top ? (double)query->top : HUGE_VAL;

    e->examined = fmin(e->examined, top);
    e->low = fmin(e->low, top);
    e->high = fmin(e->high, top);
    e->is_exact = e->is_exact || e->low == e->high;
    e->returned_basis = TV_SHARE_ALL;
    e->returned = e->examined;
    e->returned_low = e->low;
    e->returned_high = e->high;
}

/*
 * A page that $top ends examines no more than it needs: at best the next ones all pass, at worst
 * the last of all is needed.
 */
static void end_at_top(const tv_estimate_query *query, const tv_estimate_probe *p,
                       tv_facts_span share, tv_estimate *e)
{
    double top = (double)query->top, missing = top - (double)p->passed;

    e->returned = fmin(e->returned, top);
    e->returned_low = fmin(e->returned_low, top);
    e->returned_high = fmin(e->returned_high, top);
    e->low = fmin(e->low, (double)p->keys + missing);
    if (share.mid > 0)
        e->examined = fmin(e->examined, (double)p->keys + missing / share.mid);
    e->examined = fmin(fmax(e->examined, e->low), e->high);
    e->is_exact = e->is_exact && e->low == e->high;
}

static tv_err return_some(tv_facts *facts, const tv_estimate_query *query, tv_arena *arena,
                          const tv_estimate_known *k, const tv_estimate_probe *p, tv_estimate *e)
{
    tv_facts_span share;
    tv_err err = tv_estimate_share(facts, query, arena, k, p, &share, &e->returned_basis);

    if (err)
        return err;

    /* Behind the probe.  What came since the sample may all pass, or not at all. */
    double keys = (double)p->keys, passed = (double)p->passed;
    double least = e->basis == TV_ESTIMATE_TABLE_FACT ? e->low - k->created : e->low;
    double most = fmax(e->high - keys, 0), fresh = fmin(k->created, most);

    e->returned_low = passed + fmax(least - keys, 0) * share.low;
    e->returned_high = passed + (most - fresh) * share.high + fresh;
    e->returned = passed + (e->examined - keys) * share.mid;
    /* What has passed in the probe may be all: no page of this kind returned more. */
    if (e->returned_basis == TV_SHARE_HISTORY && query->history->share_high > 0)
        e->returned = fmax(fmin(e->returned, e->examined * query->history->share_high), passed);
    e->returned = fmin(fmax(e->returned, e->returned_low), e->returned_high);
    if (query->top)
        end_at_top(query, p, share, e);
    return TV_OK;
}

/* Bytes of an answer for each entity of it. */
static double entity_bytes(const tv_estimate_query *query, const tv_facts_count *count)
{
    const tv_estimate_history *h = query->history;

    if (h && h->returned >= HISTORY_RETURNED_MIN)
        return (double)h->bytes / (double)h->returned;
    if (query->cost && query->cost->entity_bytes > 0)
        return query->cost->entity_bytes;
    return count->entities ? JSON_FACTOR * (double)count->bytes / (double)count->entities : 0;
}

static void estimate_time(const tv_estimate_query *query, const tv_facts_count *count,
                          tv_estimate *e)
{
    static const tv_query_cost unknown = {0};
    tv_query_work work = {.ranges = (double)query->plan->count,
                          .examined = e->examined,
                          .returned = e->returned,
                          .bytes = e->returned * entity_bytes(query, count)};

    e->ms = tv_query_cost_ns(query->cost ? query->cost : &unknown, &work) / 1e6;

    double pages = fmax(fmax(ceil(e->returned / PAGE_ENTITIES), ceil(e->ms / PAGE_MS)),
                        ceil(work.bytes / PAGE_BYTES));

    e->pages = pages < 1 || query->top ? 1 : (uint64_t)pages;
}

/* --- Azure --- */

static void estimate_azure(const tv_estimate_query *query, const tv_estimate_known *k,
                           tv_estimate *e)
{
    const tv_plan *plan = query->plan;
    double entities = (double)k->count.entities;

    e->azure_plan = tv_plan_kind_name(plan->kind);
    e->azure_is_documented = true;
    e->azure_examined = e->examined;
    if (plan->filter && plan->filter->compare_count > COMPARISONS_MAX) {
        e->azure_plan = "refused";
        e->azure_examined = 0;
    } else if (plan->count > 1 && k->has_partition) {
        /* An `or` of RowKeys reads the partition there. */
        e->azure_plan = tv_plan_kind_name(TV_PLAN_PARTITION);
        e->azure_examined = k->is_counted ? k->entities
                            : k->sample_keys
                                ? fmax(entities * k->partition_keys / k->sample_keys, e->examined)
                                : e->examined;
    } else if (plan->count > 1) {
        e->azure_plan = tv_plan_kind_name(TV_PLAN_TABLE);
        e->azure_is_documented = false;
        e->azure_examined = fmax(entities, e->examined);
    }
}

tv_err tv_facts_estimate(tv_facts *facts, const tv_estimate_query *query, tv_arena *arena,
                         tv_estimate *ret_estimate)
{
    tv_estimate_known *k = tv_arena_alloc(arena, sizeof *k);
    tv_estimate_probe p;
    tv_estimate e = {0};
    tv_err err = probe(facts, query, arena, &p);

    if (err)
        return err;

    tv_estimate_look_up(facts, query, &p, arena, k);
    if (p.has_ended) {
        set_counted(query, &p, &e);
    } else {
        tv_estimate_rows(query, arena, k, &p, &e);
        if (query->plan->residual == NULL)
            return_all(query, &e);
        else
            err = return_some(facts, query, arena, k, &p, &e);
        if (err)
            return err;
    }
    estimate_time(query, &k->count, &e);
    estimate_azure(query, k, &e);
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
