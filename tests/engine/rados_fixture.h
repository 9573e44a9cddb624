/*
 * Cluster engines to test: over a fake cluster, or, where TAVOLA_TEST_CEPH_CONF and
 * TAVOLA_TEST_CEPH_POOL say so, over a pool of a real one, whose store is wiped first.
 */
#ifndef TV_TESTS_ENGINE_RADOS_FIXTURE_H
#define TV_TESTS_ENGINE_RADOS_FIXTURE_H

#include <unistd.h>

#include "check.h"
#include "fake_pool.h"
#include "store/engine/rados/rados.h"

/* Cuts between the keys that the contract's cases use; none within what must be one partition. */
static const char *const rados_cuts_5[] = {"f", "g010000", "k20", "m"};
static const char *const rados_cuts_20[] = {"f",   "f5",  "g",   "g005000", "g01", "g015000", "h",
                                            "k",   "k05", "k10", "k15",     "k20", "k25",     "k30",
                                            "k35", "l",   "m",   "o",       "x"};

static fake_cluster *rados_cluster; /* of the store that is open, or was */
static tv_pool *rados_pool;
static char rados_store[64]; /* its name */

static inline void rados_drop_cluster(void)
{
    if (rados_cluster)
        fake_cluster_free(rados_cluster);
    rados_cluster = NULL;
    rados_store[0] = '\0';
}

static inline bool rados_wipe_object(void *ctx, const char *object)
{
    const tv_pool_step gone = {.kind = TV_POOL_REMOVE};
    tv_err err = tv_pool_change_now(ctx, object, &gone, 1, NULL);

    CHECK(err == TV_OK || err == TV_ERR_NOT_FOUND);
    return true;
}

static inline tv_pool *open_real_pool(bool is_new)
{
    tv_librados_options options = {
        .conf = getenv("TAVOLA_TEST_CEPH_CONF"),
        .pool_name = getenv("TAVOLA_TEST_CEPH_POOL"),
    };
    char text[512] = "";
    tv_pool *pool;

    if (!tv_librados_open(&options, &pool, text, sizeof text))
        CHECK_FAIL("%s", text);
    if (is_new)
        CHECK_OK(pool->ops->list(pool, "tv.", rados_wipe_object, pool));
    return pool;
}

static inline tv_pool *open_pool(bool is_new)
{
    if (getenv("TAVOLA_TEST_CEPH_CONF"))
        return open_real_pool(is_new);
    if (is_new) {
        rados_drop_cluster();
        rados_cluster = fake_cluster_new(&(fake_options){.seed = 7, .is_threaded = true});
    }
    return fake_client_new(rados_cluster);
}

/* The store called `name`, which is made again when it is not the last one that was open. */
static inline tv_engine *open_rados(const char *name, const char *const *cuts, size_t cut_count)
{
    bool is_new = strcmp(name, rados_store) != 0;
    tv_slice slices[32];
    char text[512] = "";
    tv_engine *engine = NULL;

    for (size_t i = 0; i < cut_count; i++)
        slices[i] = tv_slice_of(cuts[i]);
    rados_pool = open_pool(is_new);
    snprintf(rados_store, sizeof rados_store, "%s", name);

    tv_rados_options options = {.pool = rados_pool, .cuts = slices, .cut_count = cut_count};
    tv_err err = tv_rados_engine_open(&options, &engine, text, sizeof text);

    if (err)
        CHECK_FAIL("cannot open: %s: %s", tv_err_name(err), text);
    return engine;
}

static inline tv_engine *open_rados_1(const char *name)
{
    return open_rados(name, NULL, 0);
}

static inline tv_engine *open_rados_5(const char *name)
{
    return open_rados(name, rados_cuts_5, sizeof rados_cuts_5 / sizeof *rados_cuts_5);
}

static inline tv_engine *open_rados_20(const char *name)
{
    return open_rados(name, rados_cuts_20, sizeof rados_cuts_20 / sizeof *rados_cuts_20);
}

/* After the engine was closed. */
static inline void close_rados_pool(void)
{
    rados_pool->ops->close(rados_pool);
    rados_pool = NULL;
}

#endif
