/*
 * One request on its way through the table service.  Lives in the request's
 * arena; private to this folder.
 */
#ifndef TV_SERVICES_TABLE_CALL_H
#define TV_SERVICES_TABLE_CALL_H

#include "model/odata/shape.h"
#include "services/service/call.h"
#include "services/table/batch.h"
#include "services/table/scan.h"
#include "services/table/service.h"
#include "services/table/units.h"

struct tv_estimate_history;

/**
 * What an operation has done.  It fills this in for its answer; others are told of it when the
 * request is done, and no operation knows who.
 */
typedef struct tv_table_outcome {
    tv_slice key, value;         /* a point read: of the row that is meant, and what it has */
    tv_table_change_set changes; /* a write: with what became of each */
    tv_table_scan scan;          /* a query: its plan and its page; `table` is NULL before */
    int64_t scan_ns;             /* of its turns so far */
    tv_err part_error;           /* a batch: of the part that failed */
} tv_table_outcome;

typedef struct tv_table_call {
    tv_call base;             /* first */
    tv_table_head head;       /* of the request */
    tv_table_command command; /* what it asks for */

    /* What the operation at hand needs. */
    tv_table_batch batch;
    tv_table_query query;
    tv_call_then *commit_then; /* of tv_table_commit */
    tv_table_bill *bill;       /* what it takes of the account's targets; NULL without them */
    const tv_shape *shape;     /* of observe.c: of a long filter, else NULL */
    tv_table_outcome outcome;
} tv_table_call;

static inline tv_table_call *tv_table_call_of(tv_call *call)
{
    return TV_CALL_OF(tv_table_call, call, base);
}

/* commit.c */

/**
 * Before the body of a write is read: ask for memory for what it becomes, the
 * rows and the answer that may repeat them.  TV_ERR_OVERLOADED.
 */
tv_err tv_table_reserve_body(tv_call *call) TV_WARN_UNUSED;

/**
 * Commit outcome.changes: take the memory of the answer and the room in the account's targets, then
 * have the pipeline apply them; `then` answers.  TV_ERR_OVERLOADED, TV_ERR_THROTTLED.
 */
tv_err tv_table_commit(tv_call *call, tv_call_then *then) TV_WARN_UNUSED;

/* service.c */

/** See tv_service_spec.note: metrics, and facts that the next request may ask for. */
void tv_table_note(tv_call *call);

/* observe.c: what the recorder is told.  No operation knows of it, nor of the facts. */

/** See tv_service_spec.observe: tell the recorder, if there is one and it is about entities. */
void tv_table_observe(tv_call *call, int64_t end_ns);

/** A query has its plan: prepare what is to be observed of it.  The thread that made the plan. */
void tv_table_observe_plan(tv_call *call);

/** What queries of the shape of this one did to its table; false when that is not known. */
bool tv_table_shape_history(tv_call *call, struct tv_estimate_history *ret_history);

/** tv_catalog_kind.service_done: nobody observes the table any more. */
void tv_table_unobserve(tv_container *table);

/* facts.c: what the facts are told, and what they say.  Without facts, nothing. */

/** A write is done: one of its entities may be the widest of its table. */
void tv_table_note_entities(tv_call *call);

/** A page of entities is complete.  A scanner's thread, which may wait for the disk. */
void tv_table_note_page(tv_call *call);

/** Set outcome.scan.estimate, if there are facts.  May wait for the disk. */
tv_err tv_table_estimate(tv_call *call) TV_WARN_UNUSED;

/** Set outcome.scan.warnings, as far as there are facts.  May wait for the disk. */
tv_err tv_table_check_literals(tv_call *call) TV_WARN_UNUSED;

/** How many entities the query of a whole table has in front of it; false when that is not certain.
 */
bool tv_table_count_exactly(tv_call *call, uint64_t *ret_entities);

/* The operations: see tv_op.run. */

/* run_table.c */
tv_err tv_table_create(tv_call *call) TV_WARN_UNUSED;
tv_err tv_table_delete(tv_call *call) TV_WARN_UNUSED;
tv_err tv_table_get(tv_call *call) TV_WARN_UNUSED;

/* run_query.c */
tv_err tv_table_query_tables(tv_call *call) TV_WARN_UNUSED;
tv_err tv_table_query_entities(tv_call *call) TV_WARN_UNUSED;

/* run_entity.c */
tv_err tv_table_get_entity(tv_call *call) TV_WARN_UNUSED;
tv_err tv_table_write_entity(tv_call *call) TV_WARN_UNUSED;

/** Read the entity of a batch that is one read; call->container is set. */
tv_err tv_table_read_entity(tv_call *call) TV_WARN_UNUSED;

/* run_batch.c */
tv_err tv_table_run_batch(tv_call *call) TV_WARN_UNUSED;

/*
 * respond.c: every function sends the response, after which the call is gone.  Those that
 * return an error have sent nothing.
 */

/** An error, in the JSON or XML that the service gives it: see tv_service_spec. */
void tv_table_respond_error(tv_call *call, tv_err err);

void tv_table_respond_table_created(tv_call *call);
void tv_table_respond_table(tv_call *call);
void tv_table_respond_no_content(tv_call *call);
void tv_table_respond_inserted(tv_call *call);
void tv_table_respond_updated(tv_call *call);
tv_err tv_table_respond_entity(tv_call *call) TV_WARN_UNUSED;

/** A page of a query, whose body is in req->out already. */
void tv_table_respond_page(tv_call *call);

/** The plan of a query instead of its result. */
tv_err tv_table_respond_plan(tv_call *call) TV_WARN_UNUSED;

/** A batch: applied, or read, or failed with `err`, which may be returned, at operation `failed`.
 */
tv_err tv_table_respond_batch(tv_call *call) TV_WARN_UNUSED;
tv_err tv_table_respond_batch_error(tv_call *call, tv_err err, size_t failed) TV_WARN_UNUSED;

/* error_body.c */

/** {"odata.error":{…}} with the message, request id and time. */
void tv_table_add_error_json(tv_buf *buf, tv_err err, const tv_error_info *info,
                             tv_slice message_prefix, tv_slice request_id);

/** <m:error>… */
void tv_table_add_error_xml(tv_buf *buf, tv_err err, const tv_error_info *info,
                            tv_slice request_id);

/*
 * batch_reply.c: the multipart bodies.  TV_ERR_OVERLOADED without memory for one, which
 * cannot be when it shows no entity and `tv_table_batch_reply_max` bytes were reserved.
 */
tv_err tv_table_add_batch_reply(tv_buf *buf, tv_call *call, tv_slice batch_id, tv_err err,
                                size_t failed) TV_WARN_UNUSED;

/** The most bytes that the answer to these changes takes without the entities that it shows. */
size_t tv_table_batch_reply_max(const tv_table_change_set *set);

#endif
