/* What the files over librados share. */
#ifndef TV_STORE_POOL_INTERNAL_H
#define TV_STORE_POOL_INTERNAL_H

#include <pthread.h>
#include <rados/librados.h>
#include <stdatomic.h>

#include "base/background.h"
#include "store/pool/pool.h"

/** An operation with a deadline. */
typedef struct tv_librados_timed {
    struct tv_librados_timed *next, *before;
    int64_t until_ns;
    rados_completion_t completion;
    bool is_late; /* it was cancelled */
} tv_librados_timed;

/** An object that is watched (librados_watch.c). */
typedef struct tv_librados_watcher tv_librados_watcher;

typedef struct tv_librados_pool {
    tv_pool base;
    rados_t cluster;
    rados_ioctx_t io;
    char *address;
    char *name;
    void (*on_shut_out)(void *ctx);
    void *on_shut_out_ctx;
    atomic_uint lacks;    /* bits of caps: what was refused, and not done since */
    atomic_int notices;   /* under way */
    tv_background keeper; /* of the watches, whose list its lock guards */
    tv_librados_watcher *watches;
    bool has_keeper;
    tv_background canceller;
    pthread_mutex_t timed_lock;   /* guards what follows */
    pthread_cond_t let_go;        /* of `cancelled` */
    tv_librados_timed under_way;  /* a ring */
    tv_librados_timed *cancelled; /* the one that the canceller holds at the moment */
} tv_librados_pool;

static inline tv_librados_pool *tv_librados_of(tv_pool *pool)
{
    return (tv_librados_pool *)pool;
}

/** What an operation needs of the Ceph user. */
typedef enum tv_cap { TV_CAP_R, TV_CAP_W, TV_CAP_X, TV_CAP_MON, TV_CAP_BLOCKLIST, TV_CAPS } tv_cap;

/**
 * What a result of librados means.  A capability that is missing is noted and logged, and
 * forgotten with the first result that has it; who was shut out is told so.
 */
tv_err tv_librados_err(tv_librados_pool *pool, tv_cap needs, int rc);

/* The threads: `ctx` is the pool. */
void tv_librados_run_canceller(tv_background *background, void *ctx);
void tv_librados_keep_watches(tv_background *background, void *ctx);

/** After the keeper has ended: forget all watches, and wait for the notices under way. */
void tv_librados_end_watches(tv_librados_pool *pool);

/* Functions of tv_pool_ops: pool.h says what they promise. */
void tv_librados_change(tv_pool *base, tv_pool_change *change);
void tv_librados_read(tv_pool *base, tv_pool_read *read);
tv_err tv_librados_list(tv_pool *base, const char *prefix,
                        bool (*fn)(void *ctx, const char *object), void *ctx);
tv_err tv_librados_lock(tv_pool *base, const char *object, const char *holder, int seconds);
tv_err tv_librados_unlock(tv_pool *base, const char *object, const char *holder);
tv_err tv_librados_enlist(tv_pool *base, const char *object);
tv_err tv_librados_is_listed(tv_pool *base, const char *object, const char *address, bool *ret_is);
tv_err tv_librados_delist(tv_pool *base, const char *object, const char *address);
const char *tv_librados_address(tv_pool *base);
tv_err tv_librados_shut_out(tv_pool *base, const char *address);
tv_err tv_librados_osd_count(tv_pool *base, size_t *ret_count, size_t *ret_up);
tv_err tv_librados_space(tv_pool *base, tv_pool_space *ret_space);
void tv_librados_pause(tv_pool *base, int ms);
tv_err tv_librados_watch(tv_pool *base, const char *object, void (*fn)(void *ctx), void *ctx);
void tv_librados_notify(tv_pool *base, const char *object);

#endif
