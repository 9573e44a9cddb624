/*
 * The catalogue: which table of an account has which id, the access policies of
 * tables and the service properties of accounts.  The engine holds the truth;
 * the catalogue keeps all of it in memory too, because every request asks.
 *
 * A table dies in steps, each safe to repeat after a crash: (1) one write to
 * the catalogue partition removes its name and notes its id as dropped; from
 * then on nobody finds it; (2) writes that found it earlier see `is_dropped`
 * and fail, and the sweeper waits until those already queued are through;
 * (3) the sweeper drops its rows in one operation and (4) removes the note.
 */
#ifndef TV_TABLE_CATALOG_H
#define TV_TABLE_CATALOG_H

#include <stdatomic.h>
#include <stdint.h>

#include "auth/policy.h"
#include "commit/pipeline.h"
#include "engine/engine.h"
#include "odata/plan.h"
#include "table/service_properties.h"

typedef struct tv_catalog tv_catalog;

/** A table.  Shared by threads; counted. */
typedef struct tv_table {
    atomic_int refs;
    atomic_bool is_dropped;
    int64_t id;
    tv_slice account;
    tv_slice name;                               /* as it was created */
    tv_slice prefix;                             /* of its rows, tv_key_table */
    _Atomic uint64_t plan_counts[TV_PLAN_KINDS]; /* queries by kind, since the start */
    tv_access_policies *policies;                /* NULL for none; the catalogue's lock guards it */
    struct tv_table *next;
} tv_table;

/** Read the catalogue and start the sweeper, which finishes what a crash left.  Logs nothing. */
tv_err tv_catalog_open(tv_engine *engine, tv_pipeline *pipeline,
                       tv_catalog **ret_catalog) TV_WARN_UNUSED;

/** Stop the sweeper (what it has not done, the next start will do) and free.  Accepts NULL. */
void tv_catalog_close(tv_catalog *catalog);

/** A table by name in any case, counted for the caller; NULL when there is none.  Any thread. */
tv_table *tv_catalog_find(tv_catalog *catalog, tv_slice account, tv_slice name);

/** Accepts NULL. */
void tv_table_unref(tv_table *table);

/** A copy, in the arena, of a table's access policies.  TV_ERR_TABLE_NOT_FOUND.  Any thread. */
tv_err tv_catalog_policies(tv_catalog *catalog, tv_slice account, tv_slice name, tv_arena *arena,
                           tv_access_policies *ret_policies) TV_WARN_UNUSED;

/** What an account has set, counted for the caller; NULL when that is nothing.  Any thread. */
tv_shared_properties *tv_catalog_properties(tv_catalog *catalog, tv_slice account);

/** False as long as no account has had a CORS rule: saves requests the search.  Any thread. */
bool tv_catalog_has_cors(const tv_catalog *catalog);

/** How many tables there are. */
size_t tv_catalog_count(tv_catalog *catalog);

/** Call `fn` for every table, in no order, with the map locked: keep it short. */
void tv_catalog_visit(tv_catalog *catalog, void (*fn)(void *ctx, const tv_table *table), void *ctx);

/*
 * Changes: fill in all but the result, and submit `write` as
 * tv_catalog_prepare_* sets it up.  Its committer brings the catalogue in memory
 * up to date before it answers anybody; so who has heard that a table exists, or
 * that it does not, finds it so, also when it was another's request that made it
 * so and that one has not been answered yet.
 */
typedef struct tv_catalog_create {
    tv_catalog *catalog;
    tv_slice account, name; /* in the request's arena */
    tv_arena *arena;
    int64_t id; /* result */
} tv_catalog_create;

/** Set up a write that creates a table: TV_ERR_TABLE_EXISTS. */
void tv_catalog_prepare_create(tv_catalog_create *create, tv_write *write);

typedef struct tv_catalog_delete {
    tv_catalog *catalog;
    tv_table *table; /* the caller's reference; stays the caller's */
    tv_arena *arena;
} tv_catalog_delete;

/** Set up a write that deletes a table: TV_ERR_NOT_FOUND when somebody else was faster. */
void tv_catalog_prepare_delete(tv_catalog_delete *delete_op, tv_write *write);

typedef struct tv_catalog_set_policies {
    tv_catalog *catalog;
    tv_table *table; /* the caller's reference; stays the caller's */
    tv_arena *arena;
    tv_access_policies policies;
} tv_catalog_set_policies;

/** Set up a write that replaces a table's policies: TV_ERR_TABLE_NOT_FOUND when it is gone. */
void tv_catalog_prepare_set_policies(tv_catalog_set_policies *set, tv_write *write);

typedef struct tv_catalog_set_properties {
    tv_catalog *catalog;
    tv_slice account;
    tv_arena *arena;
    tv_service_properties update; /* what is not set in it stays as it is */
    tv_slice document;            /* result: all of them */
} tv_catalog_set_properties;

/** Set up a write that changes an account's service properties. */
void tv_catalog_prepare_set_properties(tv_catalog_set_properties *set, tv_write *write);

/** The table's name as it was created, out of a catalogue row's value; TV_ERR_CORRUPT. */
tv_err tv_catalog_row_name(tv_slice value, tv_slice *ret_name) TV_WARN_UNUSED;

#endif
