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
    return tv_call_op(call) == TV_TABLE_OP_QUERY_TABLES;
}

static int64_t query_time_max_ns(const tv_call *call)
{
    return TV_CALL_OF(tv_table_service, call->service, base)->query_time_max_ns;
}

static bool is_watched(const tv_call *call)
{
    return TV_CALL_OF(tv_table_service, call->service, base)->watch != NULL;
}

/* The shape of a long filter takes as long as its plan, so it is made by the same thread. */
static const tv_shape *make_shape(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_shape *shape = tv_arena_alloc(&call->req->arena, sizeof *shape);

    *shape =
        tv_shape_make(&call->req->arena, t->query.filter, t->op.select.count > 0, t->query.has_top);
    return shape;
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
        t->shape = is_watched(call) && !is_list(call) ? make_shape(call) : NULL;
    }
    t->scan = (tv_table_scan){
        .table = call->container,
        .op = &t->op,
        .query = &t->query,
        .time_max_ns = query_time_max_ns(call),
        .arena = arena,
        .out = &call->req->out,
    };
    if (is_list(call)) {
        t->scan.plan = plan_of_tables(t->query.filter);
        return TV_OK;
    }
    tv_table_scan_plan(&t->scan);
    tv_table_access_clip(call->identity, arena, call->container->prefix, &t->scan.plan);
    if (is_watched(call) && t->scan.plan.kind != TV_PLAN_POINT)
        t->scan.keys = tv_arena_zalloc(arena, sizeof *t->scan.keys);
    if (t->query.is_explained)
        return TV_OK;
    tv_table_count_plan(call->container, t->scan.plan.kind);
    return tv_table_admit_query(call);
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

/* What the plan would cost; it reads some keys, and perhaps entities. */
static tv_err estimate(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_facts *facts = TV_CALL_OF(tv_table_service, call->service, base)->facts;
    const tv_table_counts *counts = call->container->service_data;
    tv_estimate_history history;
    tv_estimate_query query = {.account = call->container->account,
                               .table_id = call->container->id,
                               .prefix = call->container->prefix,
                               .plan = &t->scan.plan,
                               .top = t->query.top < TV_TABLE_PAGE_ROWS_MAX ? t->query.top : 0,
                               .cost = &counts->cost};
    tv_estimate *result = tv_arena_alloc(&call->req->arena, sizeof *result);
    tv_err err;

    if (facts == NULL)
        return TV_OK;
    if (tv_table_shape_history(call, &history))
        query.history = &history;

    err = tv_facts_estimate(facts, &query, &call->req->arena, result);
    if (err == TV_OK)
        t->scan.estimate = result;
    return err;
}

/*
 * How far estimates are off is a metric, so one of so many queries that were answered whole is
 * estimated though nobody asks for it.  Here the thread may wait for the disk.
 */
static void check_estimate(tv_call *call)
{
    enum { EVERY = 1024 };
    tv_table_service *service = TV_CALL_OF(tv_table_service, call->service, base);
    const tv_table_call *t = tv_table_call_of(call);
    const tv_table_scan *scan = &t->scan;

    if (service->facts == NULL || is_list(call) || scan->plan.kind == TV_PLAN_POINT ||
        scan->page.end != TV_PAGE_END_DONE || t->query.next_partition.data)
        return;
    if (atomic_fetch_add_explicit(&service->whole_queries, 1, memory_order_relaxed) % EVERY)
        return;
    if (estimate(call) == TV_OK)
        tv_facts_note_estimate(service->facts, scan->estimate, scan->page.examined);
}

/* What a page has cost: estimates of the next ones go by it. */
static void note_cost(tv_call *call)
{
    const tv_table_call *t = tv_table_call_of(call);
    const tv_table_page *page = &t->scan.page;
    tv_table_counts *counts;

    if (is_list(call) || page->examined == 0)
        return;
    counts = call->container->service_data;
    tv_query_cost_note(&counts->cost,
                       &(tv_query_work){.ranges = (double)t->scan.plan.count,
                                        .examined = (double)page->examined,
                                        .returned = (double)page->returned,
                                        .bytes = (double)call->req->out.len},
                       (double)t->work_ns);
}

/*
 * A turn of a query.  The memory is reserved here and not when the task was
 * queued, and what the turn did not need is given back: tasks that wait reserve
 * nothing.
 */
static bool work_on_query(tv_call *call, tv_turn *turn)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_table_scan *scan = &t->scan;
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
    t->work_ns += tv_clock_mono_ns() - start_ns;
    if (is_done && call->result == TV_OK) {
        note_cost(call);
        check_estimate(call);
    }
    if (is_done)
        tv_buf_trim(&call->req->out);
    tv_charge_trim(&call->req->charge);
    return is_done;
}

static bool explain_in_turn(tv_call *call, tv_turn *turn)
{
    (void)turn;
    /* It goes by the whole table, which not everybody may know. */
    call->result = tv_identity_key_limits(call->identity) ? TV_OK : estimate(call);
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

/* For /metrics; and a partition that is read again and again is worth counting. */
static void note_scan(tv_call *call)
{
    const tv_table_scan *scan = &tv_table_call_of(call)->scan;
    tv_facts *facts = TV_CALL_OF(tv_table_service, call->service, base)->facts;

    if (!is_list(call))
        tv_table_count_examined(call->container, scan->plan.kind, scan->page.examined);
    if (facts && !is_list(call) && scan->plan.count == 1 && scan->plan.kind == TV_PLAN_PARTITION)
        tv_facts_note_scan(facts, scan->table->account, scan->table->id,
                           tv_slice_skip(scan->plan.ranges[0].from, scan->table->prefix.len),
                           scan->page.examined);
}

/* A whole table begins with how many entities it has, if that is certain: clients that count need
 * not read them all. */
static void find_count(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_facts *facts = TV_CALL_OF(tv_table_service, call->service, base)->facts;
    const tv_plan *plan = &t->scan.plan;

    if (facts == NULL || is_list(call) || t->query.filter->root || plan->count != 1 ||
        plan->kind != TV_PLAN_TABLE || t->query.next_partition.data ||
        !tv_slice_eq(plan->ranges[0].from, t->scan.table->prefix) ||
        tv_slice_starts_with(plan->ranges[0].to, t->scan.table->prefix))
        return;

    tv_facts_count count = tv_facts_count_of(facts, t->scan.table->account, t->scan.table->id);

    t->has_count = count.basis == TV_FACTS_EXACT;
    t->entities = count.entities;
}

static tv_err finish_query(tv_call *call, tv_err err)
{
    if (err)
        return err;
    if (is_explained(call))
        return tv_table_respond_plan(call);

    note_scan(call);
    find_count(call);
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

    if (t->scan.plan.count == 0)
        return answer_at_once(call);
    return tv_call_take_turns(call, work_on_query, finish_query);
}

/* A filter that amounts to one point read is answered like one: at once, if it is in memory. */
static tv_err finish_point(tv_call *call, tv_err err)
{
    return finish_query(
        call, tv_table_scan_end_point(&tv_table_call_of(call)->scan, err, call->fetch.value));
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
    if (t->scan.plan.count == 0)
        return answer_at_once(call);
    if (tv_table_scan_is_point(&t->scan))
        return tv_call_fetch(call, tv_table_scan_point_key(&t->scan), finish_point);
    return tv_call_take_turns(call, work_on_query, finish_query);
}
