/*
 * A pool over librados: opened and closed, and what its errors mean.  Built with
 * -Drados=enabled; only the files of this folder know librados.
 *
 * librados answers operations on a thread of its own, the finisher, which calls `done`.  It
 * repeats what an OSD's death leaves unanswered, with the same request id, so no operation
 * has a timeout of librados' own (librados_ops.c has ours).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "store/pool/internal.h"

static const struct {
    const char *name, *means;
    bool is_for_mon;
} caps[TV_CAPS] = {
    {"osd r", "no row is read", false},
    {"osd w", "no row is written", false},
    {"osd x", "it cannot join the nodes of the pool", false},
    {"mon r", "how full the pool is cannot be seen", true},
    {"mon osd blocklist", "a dead node cannot be shut out", true},
};

static void describe_lack(tv_librados_pool *pool, tv_cap lack, char *ret_text, size_t size)
{
    char osd[200];

    snprintf(osd, sizeof osd, "osd 'allow rwx pool=%.100s'", pool->name);
    snprintf(ret_text, size, "the Ceph user lacks %s, so %s; it needs %s", caps[lack].name,
             caps[lack].means,
             caps[lack].is_for_mon ? "mon 'allow r, allow command \"osd blocklist\"'" : osd);
}

/* A line when it begins: it will be so until somebody changes it. */
static void note_lack(tv_librados_pool *pool, tv_cap lack)
{
    char text[400];

    if (atomic_fetch_or(&pool->lacks, 1u << lack) & 1u << lack)
        return;

    describe_lack(pool, lack, text, sizeof text);
    tv_log(TV_LOG_ERROR, "ceph_caps", "pool=%s problem=\"%s\"", pool->name, text);
}

static bool pool_lacks(tv_pool *base, char *ret_text, size_t size)
{
    tv_librados_pool *pool = tv_librados_of(base);
    unsigned lacks = atomic_load(&pool->lacks);

    for (int i = 0; i < TV_CAPS; i++) {
        if (lacks & 1u << i) {
            describe_lack(pool, (tv_cap)i, ret_text, size);
            return true;
        }
    }
    return false;
}

tv_err tv_librados_err(tv_librados_pool *pool, tv_cap needs, int rc)
{
    if (rc >= 0 && atomic_load(&pool->lacks) & 1u << needs)
        atomic_fetch_and(&pool->lacks, ~(1u << needs));
    switch (-rc) {
    case ENOENT:
        return TV_ERR_NOT_FOUND;
    case ECANCELED:
    case EEXIST:
        return TV_ERR_CONFLICT;
    case ENOSPC:
    case EDQUOT:
        return TV_ERR_DISK_FULL;
    case EBUSY:
        return TV_ERR_IN_USE;
    case ETIMEDOUT:
        return TV_ERR_TIMED_OUT;
    case EPERM:
    case EACCES:
        note_lack(pool, needs);
        return TV_ERR_IO;
    case ESHUTDOWN:
        if (pool->on_shut_out)
            pool->on_shut_out(pool->on_shut_out_ctx);
        return TV_ERR_STOPPED;
    default:
        return rc < 0 ? TV_ERR_IO : TV_OK;
    }
}

/* --- open and close --- */

static void pool_close(tv_pool *base)
{
    tv_librados_pool *pool = tv_librados_of(base);

    if (pool->has_keeper)
        tv_background_stop(&pool->keeper);
    tv_librados_end_watches(pool);
    if (pool->io)
        rados_aio_flush(pool->io);
    if (pool->has_keeper) {
        tv_background_done(&pool->keeper); /* a watch that is lost meanwhile takes its lock */
        tv_background_done(&pool->canceller);
    }
    if (pool->io)
        rados_ioctx_destroy(pool->io);
    rados_shutdown(pool->cluster);
    pthread_cond_destroy(&pool->let_go);
    pthread_mutex_destroy(&pool->timed_lock);
    free(pool->address);
    free(pool->name);
    free(pool);
}

static const tv_pool_ops ops = {
    .change = tv_librados_change,
    .read = tv_librados_read,
    .list = tv_librados_list,
    .lock = tv_librados_lock,
    .unlock = tv_librados_unlock,
    .watch = tv_librados_watch,
    .notify = tv_librados_notify,
    .enlist = tv_librados_enlist,
    .is_listed = tv_librados_is_listed,
    .delist = tv_librados_delist,
    .address = tv_librados_address,
    .shut_out = tv_librados_shut_out,
    .space = tv_librados_space,
    .osd_count = tv_librados_osd_count,
    .lacks = pool_lacks,
    .pause = tv_librados_pause,
    .close = pool_close,
};

/*
 * What we need of librados, whatever the ceph.conf says.  An OSD that does not answer is waited
 * for; a mon is not.  The objecter looks for operations that got lost more often than it does
 * by itself: each 0.5 s for those older than 1 s, instead of 5 and 10.  A connection that was lost
 * is tried again each second at least, instead of each 15, so that service resumes with the
 * network.
 */
static const char *const settings[][2] = {
    {"client_mount_timeout", "10"}, {"rados_mon_op_timeout", "10"},
    {"rados_osd_op_timeout", "0"},  {"objecter_tick_interval", "0.5"},
    {"objecter_timeout", "1"},      {"ms_max_backoff", "1"},
};

static bool connect_failed(int rc, const tv_librados_options *options, const char *user,
                           char *reterr_text, size_t reterr_size)
{
    switch (-rc) {
    case ETIMEDOUT:
        snprintf(reterr_text, reterr_size,
                 "no monitor of the Ceph cluster of %.300s answers within 10 seconds",
                 options->conf);
        break;
    case EACCES:
    case EPERM:
        snprintf(reterr_text, reterr_size,
                 "the Ceph cluster of %.300s refuses the key of client.%.60s", options->conf, user);
        break;
    case ENOENT:
        snprintf(reterr_text, reterr_size,
                 "there is no key for client.%.60s in the keyring that %.300s names", user,
                 options->conf);
        break;
    default:
        snprintf(reterr_text, reterr_size, "cannot connect to the Ceph cluster of %.300s: %s",
                 options->conf, strerror(-rc));
    }
    return false;
}

static bool open_io(tv_librados_pool *pool, char *reterr_text, size_t reterr_size)
{
    int rc = rados_ioctx_create(pool->cluster, pool->name, &pool->io), is_erasure_coded = 0;

    if (rc == -ENOENT)
        snprintf(reterr_text, reterr_size, "the Ceph cluster has no pool '%.100s'", pool->name);
    else if (rc < 0)
        snprintf(reterr_text, reterr_size, "cannot use the pool '%.100s': %s", pool->name,
                 strerror(-rc));
    if (rc < 0) {
        pool->io = NULL;
        return false;
    }
    if (rados_ioctx_pool_requires_alignment2(pool->io, &is_erasure_coded) == 0 &&
        is_erasure_coded) {
        snprintf(reterr_text, reterr_size,
                 "the pool '%.100s' is erasure-coded and cannot hold rows; use a replicated one",
                 pool->name);
        return false;
    }
    /* A full pool refuses what needs room, instead of waiting for it, and lets deletes through. */
    rados_set_pool_full_try(pool->io);
    return true;
}

static bool join_cluster(tv_librados_pool *pool, const tv_librados_options *options,
                         const char *user, char *reterr_text, size_t reterr_size)
{
    char *address;
    int rc = rados_conf_read_file(pool->cluster, options->conf);

    if (rc < 0) {
        snprintf(reterr_text, reterr_size, "cannot read --ceph-conf %.300s: %s", options->conf,
                 strerror(-rc));
        return false;
    }
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        rc = rados_conf_set(pool->cluster, settings[i][0], settings[i][1]);
        if (rc < 0)
            tv_log(TV_LOG_WARN, "librados", "setting=%s problem=\"%s\"", settings[i][0],
                   strerror(-rc));
    }
    rc = rados_connect(pool->cluster);
    if (rc < 0)
        return connect_failed(rc, options, user, reterr_text, reterr_size);
    if (!open_io(pool, reterr_text, reterr_size))
        return false;

    rc = rados_getaddrs(pool->cluster, &address);
    if (rc < 0) {
        snprintf(reterr_text, reterr_size, "cannot tell this client's address: %s", strerror(-rc));
        return false;
    }
    pool->address = strdup(address);
    rados_buffer_free(address);
    return true;
}

bool tv_librados_open(const tv_librados_options *options, tv_pool **ret_pool, char *reterr_text,
                      size_t reterr_size)
{
    tv_librados_pool *pool = tv_calloc(1, sizeof *pool);
    const char *user = options->user ? options->user : "admin";
    int rc = rados_create(&pool->cluster, user);

    if (rc < 0) {
        snprintf(reterr_text, reterr_size, "cannot use librados: %s", strerror(-rc));
        free(pool);
        return false;
    }
    pool->base.ops = &ops;
    pool->under_way.next = pool->under_way.before = &pool->under_way;
    tv_assert(pthread_mutex_init(&pool->timed_lock, NULL) == 0);
    tv_assert(pthread_cond_init(&pool->let_go, NULL) == 0);
    pool->name = strdup(options->pool_name);
    pool->on_shut_out = options->on_shut_out;
    pool->on_shut_out_ctx = options->ctx;
    if (!join_cluster(pool, options, user, reterr_text, reterr_size)) {
        pool_close(&pool->base);
        return false;
    }

    tv_background_start(
        &pool->keeper,
        &(tv_background_options){.name = "watches", .run = tv_librados_keep_watches, .ctx = pool});
    tv_background_start(&pool->canceller, &(tv_background_options){.name = "deadlines",
                                                                   .run = tv_librados_run_canceller,
                                                                   .ctx = pool});
    pool->has_keeper = true;
    *ret_pool = &pool->base;
    return true;
}
