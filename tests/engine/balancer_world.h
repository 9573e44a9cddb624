/* A pool in memory, a node's engine on it and its balancer, whose passes a test makes. */
#ifndef TV_TESTS_ENGINE_BALANCER_WORLD_H
#define TV_TESTS_ENGINE_BALANCER_WORLD_H

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "fake_pool.h"
#include "server/cluster/balancer.h"
#include "store/engine/key.h"
#include "store/engine/rados/rados.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, PASS = 5 * SECOND };

typedef struct world {
    fake_cluster *cluster;
    tv_pool *pool;
    tv_engine *engine;
    tv_balancer *balancer;
    int64_t now_ms;
    bool is_leader;
} world;

static inline bool is_leader(void *ctx)
{
    return ((world *)ctx)->is_leader;
}

static inline size_t one_node(void *ctx, tv_arena *arena, tv_slice **ret_incarnations)
{
    *ret_incarnations = tv_arena_alloc(arena, sizeof **ret_incarnations);
    **ret_incarnations = TV_LIT("n1");
    return 1;
}

/* The table of write_rows, and one behind it. */
static inline size_t two_tables(void *ctx, tv_arena *arena, tv_balancer_name **ret_names)
{
    *ret_names = tv_arena_alloc(arena, 2 * sizeof **ret_names);
    (*ret_names)[0] = (tv_balancer_name){TV_LIT("racct\x01"
                                                "00000009"),
                                         TV_LIT("acct/Others")};
    (*ret_names)[1] = (tv_balancer_name){TV_LIT("racct\x01"
                                                "00000007"),
                                         TV_LIT("acct/Sales")};
    return 2;
}

static inline void begin(world *w)
{
    char text[200];

    *w = (world){.cluster = fake_cluster_new(&(fake_options){.seed = 5}),
                 .now_ms = 100 * HOUR,
                 .is_leader = true};
    w->pool = fake_client_new(w->cluster);
    CHECK_OK(tv_rados_engine_open(&(tv_rados_options){.pool = w->pool, .has_no_keeper = true},
                                  &w->engine, text, sizeof text));
    w->balancer = tv_balancer_new(&(tv_balancer_options){
        .pool = w->pool,
        .maps = tv_rados_maps(w->engine),
        .incarnation = TV_LIT("n1"),
        .is_leader = is_leader,
        .live_nodes = one_node,
        .list_names = two_tables,
        .ctx = w,
        .has_no_thread = true,
    });
}

static inline void end(world *w)
{
    tv_balancer_free(w->balancer);
    tv_engine_close(w->engine);
    w->pool->ops->close(w->pool);
    fake_cluster_free(w->cluster);
}

static inline void pass(world *w)
{
    w->now_ms += PASS;
    tv_balancer_pass(w->balancer, w->now_ms);
}

static inline size_t count_ranges(world *w)
{
    tv_routes routes;
    tv_arena arena;
    size_t count;

    tv_arena_init(&arena);
    CHECK_OK(tv_routes_load(w->pool, &arena, &routes));
    count = routes.range_count;
    tv_arena_done(&arena);
    return count;
}

/* Put or delete rows [first, first + count) of a partition; they are small. */
static inline void write_table_rows(world *w, uint32_t table, const char *partition_key, int first,
                                    int count, bool is_put)
{
    tv_write_batch batch = {0};
    tv_slice partition, key;
    tv_arena arena;

    tv_arena_init(&arena);
    CHECK_OK(
        tv_key_partition(&arena, TV_LIT("acct"), table, tv_slice_of(partition_key), &partition));
    for (int i = first; i < first + count; i++) {
        char row[16];

        snprintf(row, sizeof row, "%06d", i);
        CHECK_OK(tv_key_row(&arena, partition, tv_slice_of(row), &key));
        if (is_put)
            tv_write_batch_add(&batch, (tv_change){TV_CHANGE_EXPECT_ABSENT, key, TV_NONE});
        tv_write_batch_add(&batch, (tv_change){is_put ? TV_CHANGE_PUT : TV_CHANGE_DELETE, key,
                                               is_put ? TV_LIT("value") : TV_NONE});
        if (batch.count >= 2000 || i + 1 == first + count) {
            CHECK_OK(tv_engine_write(w->engine, &batch));
            tv_write_batch_clear(&batch);
        }
    }
    tv_write_batch_done(&batch);
    tv_arena_done(&arena);
}

static inline void write_rows(world *w, const char *partition_key, int first, int count,
                              bool is_put)
{
    write_table_rows(w, 7, partition_key, first, count, is_put);
}

static inline void write_partitions(world *w, int partitions, int rows, bool is_put)
{
    for (int i = 0; i < partitions; i++) {
        char name[16];

        snprintf(name, sizeof name, "p%03d", i);
        write_rows(w, name, 0, rows, is_put);
    }
}

static inline int count_rows(world *w)
{
    tv_iter *iter;
    int count = 0;

    CHECK_OK(tv_engine_iter(w->engine, TV_LIT("r"), TV_LIT("s"), &iter));
    for (tv_iter_seek(iter, TV_LIT("r")); tv_iter_is_valid(iter); tv_iter_next(iter))
        count++;
    CHECK_OK(tv_iter_status(iter));
    tv_iter_free(iter);
    return count;
}

static inline bool status_has(world *w, const char *text)
{
    tv_buf out = TV_BUF_EMPTY;
    bool is_there;

    tv_balancer_write_status(w->balancer, &out, true);
    is_there = memmem(out.data, out.len, text, strlen(text)) != NULL;
    tv_buf_done(&out);
    return is_there;
}

#endif
