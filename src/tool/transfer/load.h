/*
 * Entities into a table, many batches in flight.
 *
 * What is added may be written in any order, so all that is known before xfer_load_drain is that
 * nothing has failed so far.  After it, everything added has its outcome.
 */
#ifndef XFER_LOAD_H
#define XFER_LOAD_H

#include "../tool.h"

typedef enum xfer_conflict {
    XFER_FAIL,    /* an entity that exists already is a failure */
    XFER_SKIP,    /* it stays as it is */
    XFER_MERGE,   /* properties of both */
    XFER_REPLACE, /* it is gone */
} xfer_conflict;

/** --on-conflict; TOOL_USAGE when it is not one of these. */
tool_exit xfer_conflict_of(const tool_run *run, xfer_conflict *ret_conflict);

typedef struct xfer_load {
    tavola_table *table; /* not ours */
    tavola_call *call;   /* the same: ends what waits to be written */
    xfer_conflict conflict;
    uint32_t parallel; /* 0: as many as the library likes */
    tavola_bulk *bulk;
    uint64_t written, existing, failed; /* outcomes so far; existing: skipped */
    /*
     * An entity that was refused for what it is.  True: it counts as existing, false: as failed.
     */
    bool (*refused)(void *user, const tavola_entity *entity, tavola_err err, const char *code);
    void *user;
    /* What every other write would meet as well: no service, no table, no permission. */
    tavola_err trouble;
    char trouble_code[64];
} xfer_load;

/** TAVOLA_OK, or why the entity was not taken: then its own fault, unless load->trouble is set. */
tavola_err xfer_load_add(xfer_load *load, const tavola_entity *entity);

/** Wait for all that was added.  When there is trouble, what still waits is given up. */
void xfer_load_drain(xfer_load *load);

/**
 * One line about the trouble, and its exit code.  A write whose outcome is not known counts as a
 * service that was not there: whoever repeats a transfer need not look first.
 */
tool_exit xfer_load_tell(const xfer_load *load, const char *target);

/** Whether the table has the entity just so.  When that cannot be found out: false, and that is the
 * load's trouble. */
bool xfer_load_has(xfer_load *load, const tavola_entity *entity);

/** "EntityAlreadyExists", or the library's word if the service has none. */
const char *xfer_code_of(tavola_err err, const char *code);

#endif
