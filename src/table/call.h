/*
 * One request on its way through the table service.  Lives in the request's
 * arena; private to this folder.
 */
#ifndef TV_TABLE_CALL_H
#define TV_TABLE_CALL_H

#include "service/cors.h"
#include "table/batch.h"
#include "table/scan.h"
#include "table/service.h"

typedef struct tv_table_call {
    tv_table_service *service;
    tv_request *req;
    const tv_identity *identity; /* nothing runs without one */
    tv_table_op op;
    tv_error_info info;  /* of the error that ends the call */
    tv_container *table; /* counted; released when the request is done */
    char request_id[TV_GUID_TEXT_LEN];

    /* What waits for another thread. */
    tv_write write;
    tv_job job;
    tv_task task;
    tv_err job_result; /* of either */

    /* What the operation at hand needs. */
    tv_change_set changes;
    void (*changes_deliver)(tv_mail *mail); /* of the write that applies them */
    tv_batch_request batch;
    tv_catalog_create create;
    tv_catalog_delete delete_table;
    tv_catalog_change set_policies;
    tv_catalog_set_properties set_properties;
    tv_query query;
    tv_scan scan;
    tv_slice value;    /* of the row that was read */
} tv_table_call;

/** The call in which a write or a job is embedded. */
#define TV_TABLE_CALL_OF(pointer, member)                                                          \
    ((tv_table_call *)((char *)(pointer)-offsetof(tv_table_call, member)))

/* call.c: handing a call over to another thread; `deliver` brings it back. */

/** Submit call->write, whose function and partition are set. */
void tv_table_call_submit(tv_table_call *call, void (*deliver)(tv_mail *mail));

/**
 * Submit call->write, which applies call->changes.  Merges of much that is stored are
 * made ahead on a scanner's thread, and the write goes to the committer again.
 */
void tv_table_call_submit_changes(tv_table_call *call, void (*deliver)(tv_mail *mail));

/** TV_ERR_OVERLOADED when too many jobs wait already. */
tv_err tv_table_call_run_job(tv_table_call *call, tv_workers *workers, void (*run)(tv_job *job),
                             void (*deliver)(tv_mail *mail)) TV_WARN_UNUSED;

/** Have work that takes long done in turns with others.  TV_ERR_OVERLOADED when the account has too
 * many. */
tv_err tv_table_call_run_task(tv_table_call *call, bool (*run)(tv_task *task, tv_turn *turn),
                              void (*deliver)(tv_mail *mail)) TV_WARN_UNUSED;

/**
 * Before the body of a write is read: ask for what it becomes, the rows and the answer
 * that may repeat them.  TV_ERR_OVERLOADED.
 */
tv_err tv_table_call_reserve(tv_table_call *call) TV_WARN_UNUSED;

/**
 * Before the changes are submitted: take the memory of the answer, so that what was done
 * is never answered with an error.  That is all that an answer without the entities takes,
 * and about what they take; with many escapes it may be more, and then they are left out.
 * TV_ERR_OVERLOADED.
 */
tv_err tv_table_call_reserve_reply(tv_table_call *call) TV_WARN_UNUSED;

/** Set call->table: TV_ERR_TABLE_NOT_FOUND when the identity's account has none of that name. */
tv_err tv_table_call_find_table(tv_table_call *call, tv_slice name) TV_WARN_UNUSED;

/** Count a query of this table by its plan. */
static inline void tv_table_count_plan(tv_container *table, tv_plan_kind kind)
{
    tv_table_counts *counts = table->own;

    atomic_fetch_add_explicit(&counts->plans[kind], 1, memory_order_relaxed);
}

/* The operations, a file for each group of them.  TV_OK means answered, or will be. */

/* tables.c */
tv_err tv_table_create(tv_table_call *call) TV_WARN_UNUSED;
tv_err tv_table_delete(tv_table_call *call) TV_WARN_UNUSED;
tv_err tv_table_get(tv_table_call *call) TV_WARN_UNUSED;

/* queries.c */
tv_err tv_table_query_tables(tv_table_call *call) TV_WARN_UNUSED;
tv_err tv_table_query_entities(tv_table_call *call) TV_WARN_UNUSED;

/* entities.c; a batch of one read is read here as well */
tv_err tv_table_get_entity(tv_table_call *call) TV_WARN_UNUSED;
tv_err tv_table_write_entity(tv_table_call *call) TV_WARN_UNUSED;

/* transactions.c */
tv_err tv_table_run_batch(tv_table_call *call) TV_WARN_UNUSED;

/* acl.c, properties.c */
tv_err tv_table_get_acl(tv_table_call *call) TV_WARN_UNUSED;
tv_err tv_table_set_acl(tv_table_call *call) TV_WARN_UNUSED;
tv_err tv_table_get_properties(tv_table_call *call) TV_WARN_UNUSED;
tv_err tv_table_set_properties(tv_table_call *call) TV_WARN_UNUSED;
tv_err tv_table_get_stats(tv_table_call *call) TV_WARN_UNUSED;

/* respond.c: every function sends the response, after which the call is gone. */

/** An error, in the JSON or XML that the service gives it. */
void tv_table_respond_error(tv_table_call *call, tv_err err);

void tv_table_respond_preflight(tv_table_call *call, const tv_cors_grant *grant);

void tv_table_respond_table_created(tv_table_call *call);
void tv_table_respond_table(tv_table_call *call);
void tv_table_respond_no_content(tv_table_call *call);
void tv_table_respond_inserted(tv_table_call *call);
void tv_table_respond_updated(tv_table_call *call);
void tv_table_respond_entity(tv_table_call *call);

/** An XML body in req->out (without the declaration), or none: for acl, properties and stats. */
void tv_table_respond_xml(tv_table_call *call, int status);

/** A page of a query, whose body is in req->out already. */
void tv_table_respond_page(tv_table_call *call);

/** The plan of a query instead of its result. */
void tv_table_respond_plan(tv_table_call *call);

/** A batch: applied, or read, or failed with `err` at operation `failed`. */
void tv_table_respond_batch(tv_table_call *call);
void tv_table_respond_batch_error(tv_table_call *call, tv_err err, size_t failed);

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
tv_err tv_table_add_batch_reply(tv_buf *buf, const tv_table_call *call, tv_slice batch_id,
                                tv_err err, size_t failed) TV_WARN_UNUSED;

/** The most bytes that the answer to these changes takes beside the entities that it shows. */
size_t tv_table_batch_reply_max(const tv_change_set *set);

/** Reason phrase of the statuses that stand inside a batch reply. */
const char *tv_table_reason(int status);

#endif
