/*
 * Two nodes of a store with the ranges "", "h" and "p", over a fake cluster: for tests of what the
 * cluster engine promises.
 */
#ifndef TV_TESTS_ENGINE_TWO_NODES_H
#define TV_TESTS_ENGINE_TWO_NODES_H

#include "base/log.h"
#include "fake_pool.h"
#include "fixture.h"
#include "store/engine/rados/internal.h"

static const tv_slice cuts[] = {{"h", 1}, {"p", 1}};

static fake_cluster *cluster;
static tv_pool *pool, *other_pool;
static tv_engine *engine, *other;
static tv_arena arena;

static inline tv_engine *open_node(tv_pool *by, int reserve_percent)
{
    tv_rados_options options = {.pool = by,
                                .cuts = cuts,
                                .cut_count = 2,
                                .reserve_percent = reserve_percent,
                                .has_no_keeper = true};
    tv_engine *opened = NULL;
    char text[300] = "";

    if (tv_rados_engine_open(&options, &opened, text, sizeof text) != TV_OK)
        CHECK_FAIL("%s", text);
    return opened;
}

static inline int set_up_with(const fake_options *options)
{
    tv_log_set_level(TV_LOG_OFF);
    tv_arena_init(&arena);
    cluster = fake_cluster_new(options);
    pool = fake_client_new(cluster);
    other_pool = fake_client_new(cluster);
    engine = open_node(pool, 0);
    other = open_node(other_pool, 0);
    return 0;
}

static inline int set_up(void **state)
{
    (void)state;
    return set_up_with(NULL);
}

static inline int tear_down(void **state)
{
    (void)state;
    tv_engine_close(engine);
    tv_engine_close(other);
    pool->ops->close(pool);
    other_pool->ops->close(other_pool);
    fake_cluster_free(cluster);
    tv_arena_done(&arena);
    return 0;
}

static double metric_value;
static const char *metric_name;

static inline void take_metric(void *ctx, const char *name, const char *help, double value)
{
    (void)ctx, (void)help;
    if (strcmp(name, metric_name) == 0)
        metric_value = value;
}

static inline double metric(tv_engine *of, const char *name)
{
    metric_name = name;
    metric_value = -1;
    of->ops->metrics(of, take_metric, NULL);
    return metric_value;
}

#endif
