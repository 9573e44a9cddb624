/*
 * What share of the entities that a query examines passes its test on properties.
 *
 * Best is to test some: those of the key sample that lie in the query's ranges.  They tell little
 * of what is rare, of which queries of the same shape tell more, though of other values.
 */
#include <math.h>

#include "base/clock.h"
#include "insight/facts/estimate_parts.h"

enum {
    TESTED_MIN = 30, /* fewer say nothing */
    PASSED_MIN = 10, /* with fewer a history knows better */
    HISTORY_EXAMINED_MIN = 1000,
    TEST_NS = 20 * 1000 * 1000,
};

#define BEGINNING_FACTOR 3.0 /* that other entities may differ from the first ones by */

typedef struct tested {
    double count, passed;
} tested;

/* Read and test those of the sample; when time is up, the rest is left. */
static tv_err test_sample(tv_facts *facts, const tv_estimate_query *query, tv_arena *arena,
                          const tv_estimate_known *k, tested *ret)
{
    void *test = facts->format->test_begin(arena, query->plan);
    int64_t until_ns = tv_clock_mono_ns() + TEST_NS;
    tv_buf key = TV_BUF_EMPTY;
    tv_arena scratch;
    tv_err err = TV_OK;

    *ret = (tested){0};
    tv_arena_init(&scratch);
    for (size_t i = 0; i < k->tested_count && err == TV_OK; i++) {
        bool passes = false;
        tv_slice value;

        if (i >= TESTED_MIN && tv_clock_mono_ns() > until_ns)
            break;
        tv_buf_reset(&key);
        tv_buf_add(&key, query->prefix);
        tv_buf_add(&key, k->tested[i]);
        err = tv_engine_get(facts->engine, TV_READ_ANY, tv_buf_slice(&key), &scratch, &value);
        if (err == TV_ERR_NOT_FOUND) { /* deleted a moment ago */
            err = TV_OK;
            continue;
        }
        if (err == TV_OK)
            err = facts->format->test(test, query->prefix, tv_buf_slice(&key), value, &scratch,
                                      &passes);
        ret->count++;
        ret->passed += passes;
        tv_arena_reset(&scratch);
    }
    tv_arena_done(&scratch);
    tv_buf_done(&key);
    return err;
}

static tv_facts_span of_history(const tv_estimate_history *h)
{
    tv_facts_span span = tv_facts_span_of_share((double)h->returned, (double)h->examined);

    span.low = fmin(span.low, h->share_low);
    span.high = fmax(span.high, h->share_high);
    return span;
}

static tv_facts_span of_beginning(const tv_estimate_probe *probe)
{
    tv_facts_span span = tv_facts_span_of_share((double)probe->passed, (double)probe->keys);

    span.low /= BEGINNING_FACTOR;
    span.high = fmin(span.high * BEGINNING_FACTOR, 1);
    return span;
}

/*
 * What other values had, and what was seen of this one.  A sample bounds it, with the history as
 * the best guess inside; the beginning does not.
 */
static tv_facts_span join(tv_facts_span history, tv_facts_span seen, bool is_sample)
{
    if (is_sample)
        return (tv_facts_span){fmin(fmax(history.mid, seen.low), seen.high), seen.low, seen.high};
    return (tv_facts_span){history.mid, fmin(history.low, seen.low), fmax(history.high, seen.high)};
}

tv_err tv_estimate_share(tv_facts *facts, const tv_estimate_query *query, tv_arena *arena,
                         const tv_estimate_known *k, const tv_estimate_probe *probe,
                         tv_facts_span *ret_share, tv_share_basis *ret_basis)
{
    bool has_history = query->history && query->history->examined >= HISTORY_EXAMINED_MIN;
    tested t = {0};
    tv_err err;

    if (k->tested_count >= TESTED_MIN) {
        err = test_sample(facts, query, arena, k, &t);
        if (err)
            return err;
    }

    bool has_sample = t.count >= TESTED_MIN;
    tv_facts_span here =
        has_sample ? tv_facts_span_of_share(t.passed, t.count) : of_beginning(probe);

    *ret_share = here;
    *ret_basis = has_sample ? TV_SHARE_SAMPLE : TV_SHARE_BEGINNING;
    if (has_history && (!has_sample || t.passed < PASSED_MIN)) {
        *ret_share = join(of_history(query->history), here, has_sample);
        *ret_basis = TV_SHARE_HISTORY;
    }
    return TV_OK;
}
