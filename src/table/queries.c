/* Query Entities and Query Tables: from a plan to a page. */
#include "table/access.h"
#include "table/call.h"
#include "table/table_list.h"

static tv_plan plan_of_tables(const tv_filter *filter)
{
    return tv_filter_passes_nothing(filter) ? (tv_plan){.kind = TV_PLAN_POINT, .count = 0}
                                            : (tv_plan){.kind = TV_PLAN_TABLE, .count = 1};
}

/* From options to a plan; here or, with a long filter, in the first turn of the task. */
static tv_err prepare(tv_table_call *call)
{
    tv_arena *arena = &call->req->arena;
    tv_err err;

    if (call->query.filter == NULL) {
        err = tv_query_complete(arena, &call->query, &call->info);
        if (err)
            return err;
    }
    call->scan = (tv_scan){
        .table = call->table,
        .op = &call->op,
        .query = &call->query,
        .time_max_ns = call->service->query_time_max_ns,
        .arena = arena,
        .out = &call->req->out,
    };
    if (call->op.kind == TV_TABLE_OP_QUERY_TABLES) {
        call->scan.plan = plan_of_tables(call->query.filter);
        return TV_OK;
    }
    tv_scan_plan(&call->scan);
    tv_access_clip(call->identity, arena, call->table->prefix, &call->scan.plan);
    if (!call->query.is_explained)
        tv_table_count_plan(call->table, call->scan.plan.kind);
    return TV_OK;
}

static bool is_explained(const tv_table_call *call)
{
    return call->op.kind == TV_TABLE_OP_QUERY_ENTITIES && call->query.is_explained;
}

/* Whether there is memory for the rest of a page. */
static bool has_room(tv_request *req)
{
    size_t rest = req->out.len < TV_PAGE_BYTES_MAX ? TV_PAGE_BYTES_MAX - req->out.len : 0;

    return tv_charge_reserve(&req->charge, rest) == TV_OK;
}

/*
 * A turn of a query.  The memory is asked for here and not when the task was queued,
 * and what the turn did not need is given back: those that wait reserve nothing.
 */
static bool run_query(tv_task *task, tv_turn *turn)
{
    tv_table_call *call = TV_TABLE_CALL_OF(task, task);
    tv_engine *engine = call->service->engine;
    bool is_done = true;

    if (!has_room(call->req)) {
        if (call->req->out.len == 0) {
            call->job_result = TV_ERR_OVERLOADED;
            return true;
        }
        turn->must_end = true; /* the page goes out as it is */
    }
    if (call->op.kind == TV_TABLE_OP_QUERY_TABLES)
        call->job_result = tv_table_list(&call->scan, engine, turn, &is_done);
    else
        call->job_result = tv_scan_run(&call->scan, engine, turn, &is_done);
    if (is_done)
        tv_buf_trim(&call->req->out);
    tv_charge_trim(&call->req->charge);
    return is_done;
}

/* The same, of a query that has to be parsed and planned before. */
static bool run_long_query(tv_task *task, tv_turn *turn)
{
    tv_table_call *call = TV_TABLE_CALL_OF(task, task);

    if (call->query.filter == NULL) {
        call->job_result = prepare(call);
        if (call->job_result || is_explained(call))
            return true;
    }
    return run_query(task, turn);
}

static void finish_query(tv_table_call *call)
{
    if (call->job_result)
        tv_table_respond_error(call, call->job_result);
    else if (is_explained(call))
        tv_table_respond_plan(call);
    else
        tv_table_respond_page(call);
}

static void on_query_done(tv_mail *mail)
{
    finish_query(TV_TABLE_CALL_OF(mail, task.mail));
}

/* A plan that reads nothing needs no other thread: health checks do not queue behind scans. */
static tv_err answer_at_once(tv_table_call *call)
{
    tv_turn turn = tv_turn_endless();

    run_query(&call->task, &turn);
    finish_query(call);
    return TV_OK;
}

tv_err tv_table_query_tables(tv_table_call *call)
{
    tv_err err;

    if (call->query.filter == NULL)
        return tv_table_call_run_task(call, run_long_query, on_query_done);

    err = prepare(call);
    if (err)
        return err;

    if (call->scan.plan.count == 0)
        return answer_at_once(call);
    return tv_table_call_run_task(call, run_query, on_query_done);
}

static void run_point(tv_job *job)
{
    tv_table_call *call = TV_TABLE_CALL_OF(job, job);

    call->job_result = tv_scan_run_point(&call->scan, call->service->engine, TV_READ_ANY);
    tv_buf_trim(&call->req->out);
    tv_charge_trim(&call->req->charge);
}

static void on_point_done(tv_mail *mail)
{
    finish_query(TV_TABLE_CALL_OF(mail, job.mail));
}

/* A filter that comes to one point read is answered like one: at once, if it is in memory. */
static tv_err query_point(tv_table_call *call)
{
    tv_err err = tv_scan_run_point(&call->scan, call->service->engine, TV_READ_CACHED);

    if (err == TV_ERR_WOULD_BLOCK)
        return tv_table_call_run_job(call, call->service->readers, run_point, on_point_done);
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

    if (call->query.filter == NULL)
        return tv_table_call_run_task(call, run_long_query, on_query_done);

    err = prepare(call);
    if (err)
        return err;
    if (is_explained(call)) {
        tv_table_respond_plan(call);
        return TV_OK;
    }

    if (call->scan.plan.count == 0)
        return answer_at_once(call);
    if (tv_scan_is_point(&call->scan))
        return query_point(call);
    return tv_table_call_run_task(call, run_query, on_query_done);
}
