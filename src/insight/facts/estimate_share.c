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
    TESTED_MIN = 30, /* with fewer the first entities are the better guess */
    PASSED_MIN = 10, /* with fewer a history knows better */
    HISTORY_EXAMINED_MIN = 1000,
    TEST_NS = 20 * 1000 * 1000,
};

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

static double share_of_history(const tv_estimate_history *h)
{
    return (double)h->returned / (double)h->examined;
}

/* The first entities say nothing of the others, which may all be different. */
static tv_facts_span of_beginning(const tv_estimate_probe *probe)
{
    return (tv_facts_span){(double)probe->passed / (double)probe->keys, 0, 1};
}

/* What was seen bounds it, and inside that another guess is the best one. */
static tv_facts_span with_guess(tv_facts_span seen, double guess)
{
    return (tv_facts_span){fmin(fmax(guess, seen.low), seen.high), seen.low, seen.high};
}

tv_err tv_estimate_share(tv_facts *facts, const tv_estimate_query *query, tv_arena *arena,
                         const tv_estimate_known *k, const tv_estimate_probe *probe,
                         tv_facts_span *ret_share, tv_share_basis *ret_basis)
{
    bool has_history = query->history && query->history->examined >= HISTORY_EXAMINED_MIN;
    tested t = {0};
    tv_err err;

    if (k->tested_count > 0) {
        err = test_sample(facts, query, arena, k, &t);
        if (err)
            return err;
    }

    tv_facts_span first = of_beginning(probe);
    tv_facts_span seen = t.count > 0 ? tv_facts_span_of_share(t.passed, t.count) : first;

    if (has_history && (t.count < TESTED_MIN || t.passed < PASSED_MIN)) {
        *ret_share = with_guess(seen, share_of_history(query->history));
        *ret_basis = TV_SHARE_HISTORY;
    } else if (t.count < TESTED_MIN) {
        *ret_share = with_guess(seen, first.mid);
        *ret_basis = TV_SHARE_BEGINNING;
    } else {
        *ret_share = seen;
        *ret_basis = TV_SHARE_SAMPLE;
    }
    return TV_OK;
}
