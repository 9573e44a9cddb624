/* Query Entities and Query Tables: from a plan to a page. */
#include "table/access.h"
#include "table/call.h"
#include "table/table_list.h"

/* Pages of clients that do not read them; more queries are refused until some are gone. */
enum { UNSENT_PAGE_BYTES_MAX = 512 * 1024 * 1024 };

/* Bytes that wait to be sent count until the request is done. */
static void count_page(tv_table_call *call)
{
    call->page_bytes = call->req->out.len;
    atomic_fetch_add(&call->service->page_bytes, call->page_bytes);
}

static void run_query(tv_job *job)
{
    tv_table_call *call = TV_TABLE_CALL_OF(job, job);
    tv_request *req = call->req;
    tv_table_service *service = call->service;
    tv_scan *scan = &call->scan;

    /* Looked at here and not when the job was queued: only as many pages as there are workers
     * can then go beyond the limit. */
    if (atomic_load(&service->page_bytes) >= UNSENT_PAGE_BYTES_MAX) {
        call->job_result = TV_ERR_OVERLOADED;
        return;
    }
    if (call->op.kind == TV_TABLE_OP_QUERY_TABLES)
        call->job_result =
            tv_table_list(service->engine, &call->op, &call->query, service->query_time_max_ns,
                          &req->arena, &req->out, &scan->page, &scan->next);
    else if (tv_scan_is_point(scan))
        call->job_result = tv_scan_run_point(scan, service->engine, TV_READ_ANY);
    else
        call->job_result = tv_scan_run(scan, service->engine);
    count_page(call);
}

static void on_query_done(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, job.mail);

    if (call->job_result)
        tv_table_respond_error(call, call->job_result);
    else
        tv_table_respond_page(call);
}

/* A plan that reads nothing needs no other thread: health checks do not queue behind scans. */
static tv_err answer_at_once(tv_table_call *call)
{
    run_query(&call->job);
    on_query_done(&call->job.mail);
    return TV_OK;
}

tv_err tv_table_query_tables(tv_table_call *call)
{
    if (tv_filter_passes_nothing(call->query.filter)) {
        call->scan.plan = (tv_plan){.kind = TV_PLAN_POINT, .count = 0};
        return answer_at_once(call);
    }
    call->scan.plan = (tv_plan){.kind = TV_PLAN_TABLE, .count = 1};
    return tv_table_call_run_job(call, call->service->scanners, run_query, on_query_done);
}

/* A filter that comes to one point read is answered like one: at once, if it is in memory. */
static tv_err query_point(tv_table_call *call)
{
    tv_err err = tv_scan_run_point(&call->scan, call->service->engine, TV_READ_CACHED);

    if (err == TV_ERR_WOULD_BLOCK)
        return tv_table_call_run_job(call, call->service->readers, run_query, on_query_done);
    if (err)
        return err;

    tv_table_respond_page(call);
    return TV_OK;
}

tv_err tv_table_query_entities(tv_table_call *call)
{
    tv_err err = tv_table_call_find_table(call, call->op.resource.table);

    if (err)
        return err;

    call->scan = (tv_scan){
        .table = call->table,
        .op = &call->op,
        .query = &call->query,
        .time_max_ns = call->service->query_time_max_ns,
        .arena = &call->req->arena,
        .out = &call->req->out,
    };
    tv_scan_plan(&call->scan);
    tv_access_clip(call->identity, &call->req->arena, call->table->prefix, &call->scan.plan);
    if (call->query.is_explained) {
        tv_table_respond_plan(call);
        return TV_OK;
    }

    tv_table_count_plan(call->table, call->scan.plan.kind);
    if (call->scan.plan.count == 0)
        return answer_at_once(call);
    if (tv_scan_is_point(&call->scan))
        return query_point(call);
    return tv_table_call_run_job(call, call->service->scanners, run_query, on_query_done);
}
