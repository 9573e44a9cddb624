/*
 * What the facts about tables cost the committer: groups of 64 changes to a store in memory,
 * through a pipeline that keeps facts and one that does not, in turns.
 *
 *     facts_bench [PAIRS] [ENTITIES]
 *
 * A round inserts ENTITIES new rows, replaces all of them by values of other lengths, and deletes
 * them.  Prints, for each kind of change, user CPU of the process in ns a change: without facts,
 * with them, and the median of the differences of pairs with the middle half of these.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/assert.h"
#include "insight/facts/facts.h"
#include "store/commit/waiter.h"
#include "store/engine/key.h"
#include "store/engine/memory/memory.h"

enum { IN_A_GROUP = 64, PARTITIONS = 64, PAIRS_MAX = 200 };

typedef enum kind { INSERT, REPLACE, DELETE, KINDS } kind;

static int pairs = 12, entities = 20000;

typedef struct stand {
    tv_engine *engine;
    tv_facts *facts; /* or NULL */
    tv_pipeline *pipeline;
    tv_waiter waiter;
} stand;

static tv_err walk(tv_slice value, void (*fn)(void *ctx, const tv_property *property), void *ctx)
{
    (void)value, (void)fn, (void)ctx;
    return TV_OK;
}

static const tv_facts_format format = {.walk = walk};

static stand stand_new(bool has_facts)
{
    stand s = {.engine = tv_memory_engine_new(NULL)};

    if (has_facts)
        tv_assert(
            tv_facts_open(
                &(tv_facts_options){.engine = s.engine, .format = &format, .committer_count = 1},
                &s.facts) == TV_OK);
    s.pipeline = s.facts
                     ? tv_pipeline_new_tallied(s.engine, 1, 1024, tv_facts_tally(s.facts), s.facts)
                     : tv_pipeline_new(s.engine, 1, 1024);
    return s;
}

static void stand_done(stand *s)
{
    tv_pipeline_free(s->pipeline);
    tv_facts_free(s->facts);
    tv_engine_close(s->engine);
}

typedef struct group {
    kind what;
    int first;
    const tv_slice *keys;
} group;

static tv_err change(tv_txn *txn, void *ctx)
{
    static const char bytes[512] = {'v'};
    const group *g = ctx;

    for (int i = g->first; i < g->first + IN_A_GROUP && i < entities; i++) {
        tv_slice old;
        tv_err err = tv_txn_get(txn, g->keys[i], &old);

        tv_assert(err == (g->what == INSERT ? TV_ERR_NOT_FOUND : TV_OK));
        if (g->what == DELETE)
            tv_txn_delete(txn, g->keys[i]);
        else
            tv_txn_put(txn, g->keys[i],
                       (tv_slice){bytes, (g->what == INSERT ? 200u : 210u) + (unsigned)i % 30});
    }
    return TV_OK;
}

static double user_ns(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return 1e9 * (double)usage.ru_utime.tv_sec + 1e3 * (double)usage.ru_utime.tv_usec;
}

static void measure(bool has_facts, const tv_slice *keys, double ret_ns[KINDS])
{
    tv_slice prefix = {keys[0].data, 7 + 8}; /* 'r' "bench" 01 id */
    stand s = stand_new(has_facts);

    tv_waiter_init(&s.waiter, s.pipeline);
    for (int what = 0; what < KINDS; what++) {
        double began = user_ns();

        for (int first = 0; first < entities; first += IN_A_GROUP) {
            group g = {(kind)what, first, keys};
            tv_write write = {.partition = prefix, .run = change, .ctx = &g};

            tv_assert(tv_waiter_run(&s.waiter, &write) == TV_OK);
        }
        ret_ns[what] = (user_ns() - began) / entities;
    }
    tv_waiter_done(&s.waiter);
    stand_done(&s);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile(double *values, double at)
{
    qsort(values, (size_t)pairs, sizeof *values, compare);
    return values[(size_t)(at * (pairs - 1) + 0.5)];
}

int main(int argc, char **argv)
{
    static const char *const names[KINDS] = {"insert", "replace", "delete"};
    static double without[KINDS][PAIRS_MAX], with[KINDS][PAIRS_MAX], more[KINDS][PAIRS_MAX];
    tv_arena arena;

    pairs = argc > 1 ? (int)strtol(argv[1], NULL, 10) : pairs;
    entities = argc > 2 ? (int)strtol(argv[2], NULL, 10) : entities;
    tv_assert(pairs > 0 && pairs <= PAIRS_MAX && entities > 0);
    tv_arena_init(&arena);

    tv_slice *keys = tv_malloc((size_t)entities * sizeof *keys);

    for (int i = 0; i < entities; i++) {
        char partition[32], row[32];
        tv_slice prefix;

        snprintf(partition, sizeof partition, "customer-%04d", i % PARTITIONS);
        snprintf(row, sizeof row, "order-%010d", i);
        tv_assert(tv_key_partition(&arena, TV_LIT("bench"), 1, tv_slice_of(partition), &prefix) ==
                  TV_OK);
        tv_assert(tv_key_row(&arena, prefix, tv_slice_of(row), &keys[i]) == TV_OK);
    }
    for (int pair = -1; pair < pairs; pair++) { /* the first one warms up */
        double ns[2][KINDS];

        measure(pair % 2 == 0, keys, ns[pair % 2 == 0]);
        measure(pair % 2 != 0, keys, ns[pair % 2 != 0]);
        for (int what = 0; pair >= 0 && what < KINDS; what++) {
            without[what][pair] = ns[0][what];
            with[what][pair] = ns[1][what];
            more[what][pair] = ns[1][what] - ns[0][what];
        }
    }
    for (int what = 0; what < KINDS; what++)
        printf("%-8s %6.0f ns without facts, %6.0f with; %4.0f more (half of the pairs: %.0f to "
               "%.0f)\n",
               names[what], quantile(without[what], 0.5), quantile(with[what], 0.5),
               quantile(more[what], 0.5), quantile(more[what], 0.25), quantile(more[what], 0.75));
    free(keys);
    tv_arena_done(&arena);
    return 0;
}
