/* Nodes of a cluster with their extents, over a pool in memory. */
#ifndef TV_TESTS_UNIT_EXTENT_POOL_FIXTURE_H
#define TV_TESTS_UNIT_EXTENT_POOL_FIXTURE_H

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/extent/pool/internal.h"

#include "check.h"
#include "fake_pool.h"
#include "seed.h"
#include "wait.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define MIB ((size_t)1 << 20)

enum { NEVER_MS = 1000000000 };

static fake_cluster *cluster;

typedef struct node {
    tv_pool *pool;
    tv_extents *extents;
} node;

/* Open a node's extents.  Unless `options` says otherwise, removals are done at once. */
static inline node node_open(uint64_t boot, tv_extent_pool_options options)
{
    node n = {.pool = fake_client_new(cluster)};
    char text[200];

    options.pool = n.pool;
    options.boot = boot;
    if (options.times.remove_delay_ms == 0)
        options.times.remove_delay_ms = 1;
    if (!tv_extents_open_pool(&options, &n.extents, text, sizeof text))
        CHECK_FAIL("cannot open the extents: %s", text);
    return n;
}

static inline void node_close(node *n)
{
    tv_extents_close(n->extents);
    n->pool->ops->close(n->pool);
    *n = (node){0};
}

/* Bytes that differ from block to block; the same for every call. */
static inline tv_slice some_bytes(size_t len)
{
    static char bytes[14 << 20];

    CHECK(len <= sizeof bytes);
    if (bytes[1] == 0) {
        uint64_t state = 1;

        for (size_t i = 0; i < sizeof bytes; i += 8) {
            uint64_t word = seed_next(&state);

            memcpy(bytes + i, &word, 8);
        }
    }
    return (tv_slice){bytes, len};
}

/* Write an extent in pieces of 256 KiB, as an upload does. */
static inline tv_err try_put(tv_extents *extents, tv_slice bytes, tv_extent_id *ret_id)
{
    tv_extent_writer *writer;
    tv_err err = tv_extent_create(extents, &writer);

    if (err)
        return err;

    while (bytes.len && err == TV_OK) {
        size_t len = bytes.len < MIB / 4 ? bytes.len : MIB / 4;

        err = tv_extent_append(writer, tv_slice_take(bytes, len));
        bytes = tv_slice_skip(bytes, len);
    }
    if (err == TV_OK)
        return tv_extent_finish(writer, ret_id);

    tv_extent_discard(writer);
    return err;
}

static inline tv_extent_id put(tv_extents *extents, tv_slice bytes)
{
    tv_extent_id id = {0};

    CHECK_OK(try_put(extents, bytes, &id));
    return id;
}

/* Read all of an extent; TV_ERR_CORRUPT also when it has other bytes. */
static inline tv_err try_read(tv_extents *extents, tv_extent_id id, tv_slice want)
{
    char *got = tv_malloc(want.len + 1);
    tv_extent_reader *reader;
    size_t len = 1, all = 0;
    tv_err err = tv_extent_open(extents, TV_READ_ANY, id, want.len, &reader);

    if (err == TV_OK) {
        while (err == TV_OK && len) {
            err = tv_extent_read(reader, TV_READ_ANY, all, got + all, want.len + 1 - all, &len);
            if (err == TV_OK)
                all += len;
        }
        tv_extent_close(reader);
        if (err == TV_OK && (all != want.len || memcmp(got, want.data, want.len) != 0))
            err = TV_ERR_CORRUPT;
    }
    free(got);
    return err;
}

static inline void add_metric(void *ctx, const char *name, const char *help, double value)
{
    CHECK(help[0] != '\0');
    if (strcmp(name, ((const char **)ctx)[0]) == 0)
        *((double **)ctx)[1] = value;
}

static inline int64_t metric(tv_extents *extents, const char *name)
{
    double value = -1;
    const void *ctx[2] = {name, &value};

    tv_extents_metrics(extents, add_metric, ctx);
    return (int64_t)value;
}

static inline size_t part_count(void)
{
    return fake_object_count(cluster, TV_EXTENT_OBJECT_PREFIX);
}

/* Wait until a store has removed all it was asked to. */
static inline void wait_for_removals(tv_extents *extents)
{
    WAIT_UNTIL(metric(extents, "extents_to_remove") <= 0);
}

/* Wait until nothing is left in the pool: what was given up goes when its last part has arrived. */
static inline void wait_until_empty(void)
{
    WAIT_UNTIL(part_count() == 0);
}

static inline int set_up(void **state)
{
    (void)state;
    t_row = "";
    tv_log_set_level(TV_LOG_OFF);
    cluster = fake_cluster_new(NULL);
    return 0;
}

static inline int set_up_threads(void **state)
{
    (void)state;
    t_row = "";
    tv_log_set_level(TV_LOG_OFF);
    cluster = fake_cluster_new(&(fake_options){.seed = seed_start(), .is_threaded = true});
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    tv_log_set_level(TV_LOG_INFO);
    fake_cluster_free(cluster);
    return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
/* clang-format off */
#define IN_THREADS(name) {#name "_in_threads", name, set_up_threads, tear_down, NULL}
/* clang-format on */

#endif
