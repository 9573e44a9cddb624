/*
 * The catalogue of a service: which table (queue, container of blobs) of an
 * account has which id, its access policies and other attributes, and the service
 * properties of accounts.  The engine holds the truth; the catalogue keeps all of
 * it in memory too, because every request asks.  On an engine that other nodes share
 * that is a copy which may be behind; see "many nodes" below.
 *
 * What has a name here is called a container, whatever the service calls it.
 * It dies in steps, each safe to repeat after a crash: (1) one write to the
 * catalogue partition removes its name and notes its id as dropped; from then
 * on nobody finds it; (2) writes that found it earlier see `is_dropped` and
 * fail, and the garbage collection (gc.h) waits until those already queued are
 * through; (3) it drops the rows in one operation and (4) removes the note.
 */
#ifndef TV_MODEL_CATALOG_CATALOG_H
#define TV_MODEL_CATALOG_CATALOG_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/background.h"
#include "base/lead.h"
#include "base/service_kind.h"
#include "model/auth/policy.h"
#include "model/catalog/settings.h"
#include "store/commit/waiter.h"
#include "store/engine/engine.h"
#include "store/engine/key.h"

typedef struct tv_catalog tv_catalog;
typedef struct tv_container tv_container;

/** What the catalogue of one service has of its own. */
typedef struct tv_catalog_kind {
    tv_service_kind service;
    tv_key_space space;
    tv_err exists, not_found; /* the service's errors for its names */

    /** Prefix of all rows of a container. */
    tv_slice (*rows)(tv_arena *arena, tv_slice account, int64_t id);

    /**
     * Bytes, zero at first, that every container carries for the service:
     * tv_container.service_data.  Made when the rest of the container is there, released
     * with its last reference; both functions may be NULL.
     */
    size_t service_bytes;
    void (*service_init)(void *ctx, tv_container *container);
    void (*service_done)(tv_container *container);

    /**
     * What depends on rows that are about to be dropped (on the thread of gc.h):
     * look at them before, release it after.  A crash in between is the service's
     * business.  Both may be NULL.  A look that takes long ends with TV_ERR_STOPPED
     * as soon as the thread is to stop; the next start looks again.
     */
    tv_err (*before_drop)(void *ctx, tv_slice rows, const tv_background *thread);
    void (*after_drop)(void *ctx);
    void *ctx;
} tv_catalog_kind;

/** How much is in a container, as whoever counts it has found lately; only kept here. */
typedef struct tv_container_count {
    _Atomic int64_t counted_ns;    /* monotonic, when it began; 0: never */
    _Atomic uint64_t changes;      /* tv_container.changes at that time */
    _Atomic uint64_t items, bytes; /* messages, or blobs and their bytes */
    _Atomic int64_t took_ns;
} tv_container_count;

/** A table, a queue or a container of blobs.  Shared by threads; counted. */
struct tv_container {
    atomic_int refs;
    atomic_bool is_dropped;
    _Atomic uint64_t requests; /* of clients, that are done; not those of its owner */
    _Atomic uint64_t changes;  /* those that may have changed what is in it, by anybody */
    tv_container_count count;
    int64_t id;
    tv_slice account;
    tv_slice name;                /* as it was created */
    tv_slice prefix;              /* of its rows */
    void *service_data;           /* see tv_catalog_kind */
    tv_access_policies *policies; /* NULL for none; the catalogue's lock guards it */
    tv_slice attributes;          /* its attributes, guarded likewise: see tv_catalog_attributes */
    const tv_catalog_kind *kind;
    struct tv_container *next;
    uint64_t added, changed; /* by tv_catalog.sequence: for catalog/ alone */
    uint64_t met;            /* likewise */
};

/**
 * Read the catalogue and start the garbage collection, which finishes what a crash left.
 * Logs nothing.  `kind` outlives it.
 */
tv_err tv_catalog_open(const tv_catalog_kind *kind, tv_engine *engine, tv_pipeline *pipeline,
                       tv_catalog **ret_catalog) TV_WARN_UNUSED;

/**
 * On a shared engine: collect garbage only while this node leads.  Without it, the gc
 * of a shared engine does nothing.  `lead` outlives the catalogue.
 */
void tv_catalog_lead(tv_catalog *catalog, const tv_lead *lead);

/** Stop the gc (what it has not done, the next start will do) and free.  Accepts NULL. */
void tv_catalog_close(tv_catalog *catalog);

/** As it was opened with. */
const tv_catalog_kind *tv_catalog_kind_of(const tv_catalog *catalog);

/** A container by name in any case, counted for the caller; NULL when there is none.  Any thread.
 */
tv_container *tv_catalog_find(tv_catalog *catalog, tv_slice account, tv_slice name);

/** Count a container once more, for a holder that keeps it longer than its caller.  Any thread. */
tv_container *tv_container_ref(tv_container *container);

/** Accepts NULL. */
void tv_container_unref(tv_container *container);

/** A copy, in the arena, of a container's access policies.  kind->not_found.  Any thread. */
tv_err tv_catalog_policies(tv_catalog *catalog, tv_slice account, tv_slice name, tv_arena *arena,
                           tv_access_policies *ret_policies) TV_WARN_UNUSED;

/**
 * A copy, in the arena, of what else the service keeps about a container: bytes
 * that only it can read, as it gave them.  Any thread.
 */
tv_slice tv_catalog_attributes(tv_catalog *catalog, const tv_container *container, tv_arena *arena);

/**
 * Call `fn` for the containers of an account in the order of their names, from
 * `from` on (a name, or empty) and while the name begins with `prefix`, until it
 * returns false.  Reads the engine, so it may wait for the disk.  Slices live
 * during the call.
 */
tv_err tv_catalog_list(tv_catalog *catalog, tv_slice account, tv_slice prefix, tv_slice from,
                       bool (*fn)(void *ctx, tv_slice name, tv_slice attributes),
                       void *ctx) TV_WARN_UNUSED;

/** What an account has set, counted for the caller; NULL when it has set nothing.  Any thread. */
tv_shared_settings *tv_catalog_settings(tv_catalog *catalog, tv_slice account);

/** False as long as no account has had a CORS rule: saves requests the search.  Any thread. */
bool tv_catalog_has_cors(const tv_catalog *catalog);

/** The same for logging and metrics that are on, or whose data is kept for some days only. */
bool tv_catalog_has_analytics(const tv_catalog *catalog);

/**
 * Call `fn` for every account that has set something, in no order, with the map locked: keep
 * it short.
 */
void tv_catalog_visit_settings(tv_catalog *catalog,
                               void (*fn)(void *ctx, tv_slice account,
                                          tv_shared_settings *settings),
                               void *ctx);

/** How many containers there are. */
size_t tv_catalog_count(tv_catalog *catalog);

/** Call `fn` for every container, in no order, with the map locked: keep it short. */
void tv_catalog_visit(tv_catalog *catalog, void (*fn)(void *ctx, const tv_container *container),
                      void *ctx);

/** All containers, in no order, each counted for the caller, who frees the list. */
tv_container **tv_catalog_all(tv_catalog *catalog, size_t *ret_count);

/*
 * Changes: fill in all but the result, and submit `write` as
 * tv_catalog_prepare_* sets it up.  Its committer brings the catalogue in memory
 * up to date before it answers anybody; so a client that has been told that a
 * table exists, or that it does not, finds it so, even if another request made
 * it so and has not been answered yet.
 *
 * `now`, for `decide`, is later than all that this node knows of.  Others may have written later
 * ones, which the attributes show; those of a container that is made are later than all that one of
 * its name ever had, if its `decide` of a deletion said so (`latest`).
 */
typedef struct tv_catalog_create tv_catalog_create;
struct tv_catalog_create {
    tv_catalog *catalog;
    tv_slice account, name; /* in the request's arena */
    tv_slice attributes;    /* likewise; may be empty */
    tv_arena *arena;
    /** Set `attributes`, on the committer's thread, perhaps more than once; or NULL. */
    void (*decide)(tv_catalog_create *create, int64_t now);
    void *ctx;               /* for decide */
    int64_t id;              /* result */
    tv_slice old_attributes; /* result of kind->exists: those of the one that is there */
    uint64_t barrier;        /* its own */
};

/**
 * Set up a write that creates a container: kind->exists.  TV_ERR_WOULD_BLOCK: the last one of that
 * name was dropped by another request, which has not fenced it yet; tv_catalog_finish_drop,
 * and again.
 */
void tv_catalog_prepare_create(tv_catalog_create *create, tv_write *write);

/** The same for a thread that can wait: kind->exists. */
tv_err tv_catalog_create_now(tv_catalog_create *create, tv_waiter *waiter) TV_WARN_UNUSED;

typedef struct tv_catalog_delete tv_catalog_delete;
struct tv_catalog_delete {
    tv_catalog *catalog;
    tv_container *container; /* the caller's reference; stays the caller's */
    tv_arena *arena;
    /** Whether it may go, on the committer's thread, perhaps more than once; or NULL. */
    tv_err (*decide)(tv_catalog_delete *delete_op, tv_slice attributes, int64_t now);
    void *ctx;      /* for decide */
    int64_t latest; /* result of decide: the latest instant that the attributes have; 0: none */
};

/** Set up a write that deletes a container: TV_ERR_NOT_FOUND when another request was faster. */
void tv_catalog_prepare_delete(tv_catalog_delete *delete_op, tv_write *write);

typedef struct tv_catalog_change tv_catalog_change;
struct tv_catalog_change {
    tv_catalog *catalog;
    tv_container *container; /* the caller's reference; stays the caller's */
    tv_arena *arena;
    bool sets_policies;
    tv_access_policies policies; /* if so */
    /**
     * Look at `attributes` and replace them or not, on the committer's thread, perhaps
     * more than once; an error changes nothing.  NULL leaves them as they are.
     */
    tv_err (*decide)(tv_catalog_change *change, int64_t now);
    void *ctx;           /* for decide */
    tv_slice attributes; /* as they are before `decide`; result: as they are left */
    uint64_t look;       /* its own */
};

/**
 * Set up a write that changes a container's attributes or policies:
 * kind->not_found when it is gone.
 */
void tv_catalog_prepare_change(tv_catalog_change *change, tv_write *write);

typedef struct tv_catalog_set_settings {
    tv_catalog *catalog;
    tv_slice account;
    tv_arena *arena;
    tv_service_settings update; /* what is not set in it stays as it is */
    tv_slice document;          /* result: all of them */
    uint64_t look;              /* its own */
} tv_catalog_set_settings;

/** Set up a write that changes an account's service properties. */
void tv_catalog_prepare_set_settings(tv_catalog_set_settings *set, tv_write *write);

/*
 * Many nodes.  What another node has changed is in the engine, and becomes known here
 *
 *   - at once, of a name that is looked up in the store: so a name that is not found is
 *     looked up before anybody is told that it does not exist, and so is one whose
 *     attributes are asked for;
 *   - within seconds, by tv_catalog_follow;
 *   - before this node can read or write rows of a container that was dropped: the
 *     engine calls tv_catalog_reload_dropped before it uses a map that has been fenced
 *     (tv_engine_ops.fence).
 *
 * A drop is a write to the catalogue and then a fence, and the node may die in between.  So the
 * write leaves a note under the name, which goes after the fence; while it is there nobody says
 * that the name is free before the rows are fenced.
 *
 * A container that was dropped elsewhere is then marked `is_dropped`, and its name has
 * another container or none.  So what was found earlier can turn out to be dropped;
 * work that failed because of it begins again with the name.
 */

/** Whether other nodes may change it.  Any thread. */
bool tv_catalog_is_shared(const tv_catalog *catalog);

/**
 * Bring what is known of a name (which may be empty) and of the account's settings up to
 * date with the store.  TV_OK also when there is no such name.  Waits; any thread.
 */
tv_err tv_catalog_look_up(tv_catalog *catalog, tv_slice account, tv_slice name) TV_WARN_UNUSED;

/**
 * Read again what other nodes have changed since the last time.  With `finds_accounts`
 * also look for accounts of which nothing was known.  Waits; any thread.
 */
tv_err tv_catalog_follow(tv_catalog *catalog, bool finds_accounts) TV_WARN_UNUSED;

/**
 * When this has returned TV_OK, every container that was dropped before the call has been
 * marked so, and none of them can be found again.  Waits for reads of the engine; any thread.
 */
tv_err tv_catalog_reload_dropped(tv_catalog *catalog) TV_WARN_UNUSED;

/**
 * No node can read or write the rows of a container any more that was dropped.  After the
 * write that drops it and before anybody is told.  Waits; any thread.
 */
tv_err tv_catalog_fence(tv_catalog *catalog, const tv_container *container) TV_WARN_UNUSED;

/**
 * The same for the last container of a name, if whoever dropped it has not come to that yet, or
 * never will: before anybody is told that there is none of that name, or a new one.  Waits; any
 * thread.
 */
tv_err tv_catalog_finish_drop(tv_catalog *catalog, tv_slice account, tv_slice name) TV_WARN_UNUSED;

/** Have `changed` called when this node has changed the catalogue: short, on any thread. */
void tv_catalog_tell(tv_catalog *catalog, void (*changed)(void *ctx), void *ctx);

#endif
