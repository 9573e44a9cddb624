/*
 * A pool: what the cluster engine needs of RADOS, and no more.
 *
 * A pool holds objects by name.  An object has data, attributes and rows (RADOS:
 * bytes, xattrs, omap); rows are sorted by key.  A change to one object is one
 * operation: a list of conditions and changes that is applied as a whole or not
 * at all, and that is acknowledged when all replicas have it.  Operations on one
 * object are ordered, so a read that begins after an acknowledgement sees it.
 * There is nothing atomic over two objects.
 *
 * librados.c and its siblings implement it over librados, and are built only where
 * that is installed (-Drados).  tests/engine/fake_pool.c implements it in memory, with
 * faults by seed.  The engine and the nodes are written over this header, so that every
 * protocol can be tested without a cluster.
 *
 * Errors: TV_ERR_NOT_FOUND there is no such object; TV_ERR_CONFLICT a condition
 * does not hold, nothing was changed; TV_ERR_DISK_FULL nothing was changed;
 * TV_ERR_STOPPED this client has been shut out of the pool (blocklisted): what was
 * under way may have been done, and nothing after it ever will be; TV_ERR_IO anything else:
 * unknown.  The pool itself repeats what an OSD's death leaves unanswered, so while the process
 * lives an operation ends with its true result, however long it takes.
 */
#ifndef TV_STORE_POOL_POOL_H
#define TV_STORE_POOL_POOL_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

typedef struct tv_pool tv_pool;

/** Names of objects, and attributes' names, are C strings of at most this many characters. */
enum { TV_POOL_NAME_MAX = 100 };

typedef enum tv_pool_kind {
    /* Conditions.  They come first in a list of steps. */
    TV_POOL_CREATE,     /* there is no such object; it is made */
    TV_POOL_ATTR_IS,    /* the attribute has this value; absent is "" */
    TV_POOL_ATTR_BELOW, /* the attribute's value is less than this one, by bytes; absent is "" */
    TV_POOL_ROW_IS,     /* the row has this value */
    TV_POOL_ROW_ABSENT, /* there is no such row */
    /* Changes.  A row or attribute occurs in one of them at most. */
    TV_POOL_PUT_ROW,
    TV_POOL_DELETE_ROW,
    TV_POOL_DELETE_ROWS, /* all in [key, value) */
    TV_POOL_SET_ATTR,
    TV_POOL_SET_DATA, /* the object's data is `value`, whatever it was */
    TV_POOL_REMOVE,   /* the object goes; a change alone, after conditions */
} tv_pool_kind;

typedef struct tv_pool_step {
    tv_pool_kind kind;
    tv_slice key;   /* of a row, or the name of an attribute */
    tv_slice value; /* not empty for rows: RADOS cannot tell an empty value from none */
} tv_pool_step;

/** No step: see tv_pool_change.refused. */
#define TV_POOL_NO_STEP SIZE_MAX

/**
 * A change to one object.  Owned by its author until `done` is called.  Its changes apply in the
 * order of the steps.
 */
typedef struct tv_pool_change {
    const char *object;
    const tv_pool_step *steps; /* an object that is not there is TV_ERR_NOT_FOUND, unless created */
    size_t step_count;
    /** Monotonic: then it is TV_ERR_TIMED_OUT, and may yet take effect.  0: it waits. */
    int64_t until_ns;
    /** On a thread of the pool's, perhaps before the call returns: short, and never blocks. */
    void (*done)(struct tv_pool_change *change);
    void *ctx;
    /* Results. */
    tv_err result;
    /**
     * After TV_ERR_CONFLICT: the first step on a row whose condition did not hold,
     * TV_POOL_NO_STEP when it was an attribute or TV_POOL_CREATE.
     */
    size_t refused;
} tv_pool_change;

typedef struct tv_pool_row {
    tv_slice key, value;
} tv_pool_row;

typedef enum tv_pool_read_kind {
    TV_POOL_READ_KEYS,  /* the rows of these keys */
    TV_POOL_READ_PAGE,  /* rows in order, from the first key > `after` on */
    TV_POOL_READ_ATTRS, /* all attributes; `rows` are their names and values */
    TV_POOL_READ_DATA,
} tv_pool_read_kind;

/**
 * A look at one object: one view of it.  Owned by its author until `done` is called; that is after
 * tv_pool_patience_ms at the latest, with TV_ERR_TIMED_OUT.
 */
typedef struct tv_pool_read {
    const char *object;
    tv_pool_read_kind kind;
    tv_slice attr, attr_value; /* if attr.len: TV_ERR_CONFLICT unless the attribute is so */
    const tv_slice *keys;      /* TV_POOL_READ_KEYS */
    size_t key_count;
    tv_slice after;   /* TV_POOL_READ_PAGE: without NUL, may be empty */
    tv_slice prefix;  /* likewise: rows that begin so, and no others; may be empty */
    size_t rows_max;  /* likewise */
    uint64_t offset;  /* TV_POOL_READ_DATA */
    size_t size;      /* likewise */
    tv_arena *arena;  /* where the results are put; nobody else uses it meanwhile */
    int64_t until_ns; /* monotonic: wait no longer than this; 0: as long as all do */
    void (*done)(struct tv_pool_read *read); /* as tv_pool_change.done */
    void *ctx;
    /* Results. */
    tv_err result;
    tv_pool_row *rows; /* those that are there, in the order of their keys */
    size_t row_count;
    bool has_more; /* TV_POOL_READ_PAGE: the page ended before such rows did */
    tv_slice data;
} tv_pool_read;

/** How much room there is. */
typedef struct tv_pool_space {
    uint64_t bytes, free_bytes; /* raw bytes of the cluster, or the pool's quota if that is less */
} tv_pool_space;

typedef struct tv_pool_ops {
    void (*change)(tv_pool *pool, tv_pool_change *change);
    void (*read)(tv_pool *pool, tv_pool_read *read);

    /**
     * Call `fn` for the objects whose names begin with `prefix`, in no order, until it
     * returns false.  May miss what is made or removed meanwhile.  Waits.
     */
    tv_err (*list)(tv_pool *pool, const char *prefix, bool (*fn)(void *ctx, const char *object),
                   void *ctx);

    /**
     * Take or renew a lock on an object, which is made if need be, for `seconds` by the
     * cluster's own clock.  TV_ERR_IN_USE when another holds it.  `holder` names who asks.
     * A lock keeps two from doing the same work; nothing may rest on it.  Waits.
     */
    tv_err (*lock)(tv_pool *pool, const char *object, const char *holder, int seconds);
    tv_err (*unlock)(tv_pool *pool, const char *object, const char *holder);

    /** Call `fn` on a thread of the pool's, short, whenever somebody notifies this object. */
    tv_err (*watch)(tv_pool *pool, const char *object, void (*fn)(void *ctx), void *ctx);
    /** Tell those who watch an object.  Does not wait, and may fail without a word. */
    void (*notify)(tv_pool *pool, const char *object);

    /**
     * Put this client on the list of an object that is there.  The storage itself notes the address
     * that the client has, and it stays there, whatever becomes of the client, until somebody
     * takes it off.  Waits.
     */
    tv_err (*enlist)(tv_pool *pool, const char *object);
    /** Whether a client of this address was put on the list.  Waits. */
    tv_err (*is_listed)(tv_pool *pool, const char *object, const char *address, bool *ret_is);
    /** Take it off, if it is there.  Waits. */
    tv_err (*delist)(tv_pool *pool, const char *object, const char *address);

    /** This client's address in the cluster: shut_out takes it.  Lives as long as the pool. */
    const char *(*address)(tv_pool *pool);
    /** No operation of that client takes effect any more when this has returned.  Waits. */
    tv_err (*shut_out)(tv_pool *pool, const char *address);

    tv_err (*space)(tv_pool *pool, tv_pool_space *ret_space); /* waits */
    /** How many OSDs the cluster keeps data on, and how many run.  Waits. */
    tv_err (*osd_count)(tv_pool *pool, size_t *ret_count, size_t *ret_up);

    /**
     * A line that names the right that the pool has refused this client, and what it needs; false
     * when there is none.  NULL: a pool without rights.
     */
    bool (*lacks)(tv_pool *pool, char *ret_text, size_t size);

    /**
     * Wait, before something is tried again.  Whoever polls the pool waits by this, so that
     * simulated time can pass at once.
     */
    void (*pause)(tv_pool *pool, int ms);

    /** No operation may be under way. */
    void (*close)(tv_pool *pool);
} tv_pool_ops;

/** A pool's own struct begins with this. */
struct tv_pool {
    const tv_pool_ops *ops;
};

/** How long an operation that somebody waits for is waited for.  A variable for tests alone. */
extern int tv_pool_patience_ms;

/*
 * --- the same, waited for: not on the pool's own threads (pool.c) ---
 *
 * No longer than until the thread's deadline (base/deadline.h), if it has one.  When that is over
 * nothing is asked for.
 */

/** `ret_refused` may be NULL: see tv_pool_change.refused. */
tv_err tv_pool_change_now(tv_pool *pool, const char *object, const tv_pool_step *steps,
                          size_t step_count, size_t *ret_refused) TV_WARN_UNUSED;

/** The same, for tv_pool_patience_ms at most. */
tv_err tv_pool_change_in_time(tv_pool *pool, const char *object, const tv_pool_step *steps,
                              size_t step_count, size_t *ret_refused) TV_WARN_UNUSED;

/** Fill in all but `done`; the result is returned as well. */
tv_err tv_pool_read_now(tv_pool *pool, tv_pool_read *read) TV_WARN_UNUSED;

/** The value of a row, in the arena; data is NULL when there is none. */
tv_err tv_pool_get_row(tv_pool *pool, const char *object, tv_slice key, tv_arena *arena,
                       tv_slice *ret_value) TV_WARN_UNUSED;

/** Why a start cannot go on, for people. */
const char *tv_pool_problem(tv_err err);

/** See tv_pool_ops.lacks. */
bool tv_pool_lacks(tv_pool *pool, char *ret_text, size_t size);

/** How to reach a pool of a Ceph cluster. */
typedef struct tv_librados_options {
    const char *conf; /* path of a ceph.conf */
    const char *user; /* "admin" is client.admin; NULL: that */
    const char *pool_name;
    /** This client was shut out, and nothing it does has an effect any more.  Any thread. */
    void (*on_shut_out)(void *ctx);
    void *ctx;
} tv_librados_options;

/** Connect.  False with one line that says what is wrong.  librados.c. */
bool tv_librados_open(const tv_librados_options *options, tv_pool **ret_pool, char *reterr_text,
                      size_t reterr_size);

#endif
