/* Query Entities and Query Tables: from a plan to a page. */
#include "services/table/access.h"
#include "services/table/call.h"
#include "services/table/table_list.h"
#include "services/table/units.h"

static tv_plan plan_of_tables(const tv_filter *filter)
{
    return tv_filter_passes_nothing(filter) ? (tv_plan){.kind = TV_PLAN_POINT, .count = 0}
                                            : (tv_plan){.kind = TV_PLAN_TABLE, .count = 1};
}

static bool is_list(const tv_call *call)
{
    return tv_table_call_of((tv_call *)call)->command.kind == TV_TABLE_OP_QUERY_TABLES;
}

static int64_t query_time_max_ns(const tv_call *call)
{
    return TV_CALL_OF(tv_table_service, call->service, base)->query_time_max_ns;
}

/* From options to a plan; here or, with a long filter, in the first turn of the task. */
static tv_err prepare(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_arena *arena = &call->req->arena;
    tv_err err;

    if (t->query.filter == NULL) {
        err = tv_table_query_complete(arena, &t->query, &call->info);
        if (err)
            return err;
    }
    t->outcome.scan = (tv_table_scan){
        .table = call->container,
        .command = &t->command,
        .query = &t->query,
        .time_max_ns = query_time_max_ns(call),
        .arena = arena,
        .out = &call->req->out,
    };
    if (is_list(call)) {
        t->outcome.scan.plan = plan_of_tables(t->query.filter);
        return TV_OK;
    }
    tv_table_scan_plan(&t->outcome.scan);
    tv_table_access_clip(call->identity, arena, call->container->prefix, &t->outcome.scan.plan);
    tv_table_observe_plan(call);
    return t->query.is_explained ? TV_OK : tv_table_admit_query(call);
}

static bool is_explained(tv_call *call)
{
    return !is_list(call) && tv_table_call_of(call)->query.is_explained;
}

/* Whether there is memory for the rest of a page. */
static bool has_room(tv_request *req)
{
    size_t rest =
        req->out.len < TV_TABLE_PAGE_BYTES_MAX ? TV_TABLE_PAGE_BYTES_MAX - req->out.len : 0;

    return tv_charge_reserve(&req->charge, rest) == TV_OK;
}

/*
 * A turn of a query.  The memory is reserved here and not when the task was
 * queued, and what the turn did not need is given back: tasks that wait reserve
 * nothing.
 */
static bool work_on_query(tv_call *call, tv_turn *turn)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_table_scan *scan = &t->outcome.scan;
    int64_t start_ns = tv_clock_mono_ns();
    bool is_done = true;

    if (!has_room(call->req)) {
        if (call->req->out.len == 0) {
            call->result = TV_ERR_OVERLOADED;
            return true;
        }
        turn->must_end = true; /* the page goes out as it is */
    }
    if (is_list(call))
        call->result = tv_table_list(scan, call->service->catalog, turn, &is_done);
    else
        call->result = tv_table_scan_run(scan, call->service->engine, turn, &is_done);
    t->outcome.scan_ns += tv_clock_mono_ns() - start_ns;
    if (is_done && call->result == TV_OK && !is_list(call))
        tv_table_note_page(call);
    if (is_done)
        tv_buf_trim(&call->req->out);
    tv_charge_trim(&call->req->charge);
    return is_done;
}

static bool explain_in_turn(tv_call *call, tv_turn *turn)
{
    (void)turn;
    /* It goes by the whole table, which not everybody may know. */
    if (tv_identity_key_limits(call->identity))
        return true;
    call->result = tv_table_estimate(call);
    if (call->result == TV_OK)
        call->result = tv_table_check_literals(call);
    return true;
}

/* The same, of a query that has to be parsed and planned before. */
static bool work_on_long_query(tv_call *call, tv_turn *turn)
{
    if (tv_table_call_of(call)->query.filter == NULL) {
        call->result = prepare(call);
        if (call->result == TV_OK && is_explained(call))
            return explain_in_turn(call, turn);
        if (call->result)
            return true;
    }
    return work_on_query(call, turn);
}

static tv_err finish_query(tv_call *call, tv_err err)
{
    if (err)
        return err;
    if (is_explained(call))
        return tv_table_respond_plan(call);

    tv_table_respond_page(call);
    return TV_OK;
}

/* A plan that reads nothing needs no other thread: health checks do not queue behind scans. */
static tv_err answer_at_once(tv_call *call)
{
    tv_turn turn = tv_turn_endless();

    work_on_query(call, &turn);
    return finish_query(call, call->result);
}

tv_err tv_table_query_tables(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_err err;

    if (t->query.filter == NULL)
        return tv_call_take_turns(call, work_on_long_query, finish_query);

    err = prepare(call);
    if (err)
        return err;

    if (t->outcome.scan.plan.count == 0)
        return answer_at_once(call);
    return tv_call_take_turns(call, work_on_query, finish_query);
}

/* A filter that amounts to one point read is answered like one: at once, if it is in memory. */
static tv_err finish_point(tv_call *call, tv_err err)
{
    return finish_query(call, tv_table_scan_end_point(&tv_table_call_of(call)->outcome.scan, err,
                                                      call->fetch.value));
}

tv_err tv_table_query_entities(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_err err;

    if (t->query.filter == NULL)
        return tv_call_take_turns(call, work_on_long_query, finish_query);

    err = prepare(call);
    if (err)
        return err;

    if (is_explained(call))
        return tv_call_take_turns(call, explain_in_turn, finish_query);
    if (t->outcome.scan.plan.count == 0)
        return answer_at_once(call);
    if (tv_table_scan_is_point(&t->outcome.scan))
        return tv_call_fetch(call, tv_table_scan_point_key(&t->outcome.scan), finish_point);
    return tv_call_take_turns(call, work_on_query, finish_query);
}
