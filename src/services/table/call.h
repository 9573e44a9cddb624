/*
 * One request on its way through the table service.  Lives in the request's
 * arena; private to this folder.
 */
#ifndef TV_SERVICES_TABLE_CALL_H
#define TV_SERVICES_TABLE_CALL_H

#include "services/service/call.h"
#include "services/table/batch.h"
#include "services/table/scan.h"
#include "services/table/service.h"
#include "services/table/units.h"

typedef struct tv_table_call {
    tv_call base;       /* first */
    tv_table_head head; /* of the request */
    tv_table_op op;     /* what it asks for */

    /* What the operation at hand needs. */
    tv_table_change_set changes;
    tv_call_then *changes_then; /* of the write that applies them */
    tv_table_batch batch;
    tv_table_query query;
    tv_table_scan scan;
    bool has_count; /* of a query of a whole table: it has exactly ... */
    uint64_t entities;
    tv_slice value;        /* of the row that was read */
    tv_table_bill *bill;   /* what it takes of the account's targets; NULL without them */
    const tv_shape *shape; /* of a long filter, made where it was parsed; else NULL */
    int64_t work_ns;       /* of its turns so far */
    tv_err batch_error;    /* of the part of a batch that failed */
} tv_table_call;

static inline tv_table_call *tv_table_call_of(tv_call *call)
{
    return TV_CALL_OF(tv_table_call, call, base);
}

/* call.c: the memory of writes, and the writing. */

/**
 * Before the body of a write is read: ask for memory for what it becomes, the
 * rows and the answer that may repeat them.  TV_ERR_OVERLOADED.
 */
tv_err tv_table_call_reserve(tv_call *call) TV_WARN_UNUSED;

/** Before the changes are submitted: take the memory of the answer.  TV_ERR_OVERLOADED. */
tv_err tv_table_call_reserve_reply(tv_call *call) TV_WARN_UNUSED;

/**
 * Have the pipeline run call->write, which applies t->changes.  Merges of much that is
 * stored are made ahead on a scanner's thread, and the write goes to the committer again.
 */
void tv_table_call_write_changes(tv_call *call, tv_call_then *then);

/** Count a query of this table by its plan. */
static inline void tv_table_count_plan(tv_container *table, tv_plan_kind kind)
{
    tv_table_counts *counts = table->service_data;

    atomic_fetch_add_explicit(&counts->plans[kind], 1, memory_order_relaxed);
}

/** Count what it has read. */
static inline void tv_table_count_examined(tv_container *table, tv_plan_kind kind, uint64_t count)
{
    tv_table_counts *counts = table->service_data;

    atomic_fetch_add_explicit(&counts->examined[kind], count, memory_order_relaxed);
}

/* observe.c */

/** Done at `end_ns`: tell the recorder of it, if there is one and it is about entities. */
void tv_table_observe(tv_call *call, int64_t end_ns);

/** What queries of the shape of this one did to its table; false when that is not known. */
bool tv_table_shape_history(tv_call *call, tv_estimate_history *ret_history);

/* The operations: see tv_op.run. */

/* table_ops.c */
tv_err tv_table_create(tv_call *call) TV_WARN_UNUSED;
tv_err tv_table_delete(tv_call *call) TV_WARN_UNUSED;
tv_err tv_table_get(tv_call *call) TV_WARN_UNUSED;

/* query_ops.c */
tv_err tv_table_query_tables(tv_call *call) TV_WARN_UNUSED;
tv_err tv_table_query_entities(tv_call *call) TV_WARN_UNUSED;

/* entity_ops.c */
tv_err tv_table_get_entity(tv_call *call) TV_WARN_UNUSED;
tv_err tv_table_write_entity(tv_call *call) TV_WARN_UNUSED;

/** Read the entity of a batch that is one read; call->container is set. */
tv_err tv_table_read_entity(tv_call *call) TV_WARN_UNUSED;

/* batch_ops.c */
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
