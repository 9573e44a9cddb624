/*
 * Running a plan: the rows of its ranges in order, tested and written as a page
 * of JSON.  A page is a consistent snapshot where the engine has snapshots; elsewhere
 * only the rows that it gives together are of one instant.  A page ends after 1,000 entities, 4 MiB
 * or the given time, with a token that names the next row to look at.  It is made
 * in turns (base/turns.h), between which others have theirs.
 */
#ifndef TV_SERVICES_TABLE_SCAN_H
#define TV_SERVICES_TABLE_SCAN_H

#include "base/turns.h"
#include "model/catalog/catalog.h"
#include "model/odata/plan.h"
#include "services/table/page.h"
#include "services/table/query.h"

/** The beginning of a row's key, behind the table's prefix. */
typedef struct tv_table_scan_key {
    size_t len;
    char bytes[128];
} tv_table_scan_key;

/** The first and the last row that was examined, and that was returned; len is 0 for none. */
typedef struct tv_table_scan_keys {
    tv_table_scan_key first_looked, last_looked, first, last;
} tv_table_scan_keys;

typedef struct tv_table_scan {
    const tv_container *table;
    const tv_table_command *command;
    const tv_table_query *query;
    tv_plan plan;
    int64_t time_max_ns;
    tv_arena *arena; /* of the request */
    tv_buf *out;
    struct tv_table_bill *bill;         /* where what is returned is noted, or NULL */
    const struct tv_estimate *estimate; /* of a query that is explained or checked */
    const tv_slice *warnings;           /* of one that is explained: literals of other types */
    size_t warning_count;
    tv_table_page page;                /* result: what was done */
    tv_table_continuation next;        /* result */
    uint64_t next_hash;                /* result: tv_table_token_hash of it; 0 without one */
    struct tv_table_scan_keys *keys;   /* which were met; NULL when nobody wants to know */
    struct tv_table_scan_state *state; /* between turns: of scan.c */
    struct tv_table_walk *walk;        /* and of table_list.c */
} tv_table_scan;

/** Plan a query; fill in all but the plan and the results before. */
void tv_table_scan_plan(tv_table_scan *scan);

/**
 * Append the page, or as much of it as the turn allows; then, with *ret_is_done
 * false, call it again until it is done: the scan holds a snapshot of the engine.
 * A turn that must end ends the page with a token.  May wait for the disk.
 * TV_ERR_TABLE_NOT_FOUND when the table was dropped.
 */
tv_err tv_table_scan_run(tv_table_scan *scan, tv_engine *engine, tv_turn *turn,
                         bool *ret_is_done) TV_WARN_UNUSED;

/**
 * A plan that is one point read can be run without an iterator: read the row with this
 * key, and give the engine's result and the value.  Same page.
 */
bool tv_table_scan_is_point(const tv_table_scan *scan);
tv_slice tv_table_scan_point_key(const tv_table_scan *scan);
tv_err tv_table_scan_end_point(tv_table_scan *scan, tv_err err, tv_slice value) TV_WARN_UNUSED;

/** {"odata.metadata":"…#name","value":[ : how every page begins. */
void tv_table_scan_add_opening(tv_buf *out, const tv_entity_view *view);

#endif
