/* The catalogue of tables, and what is counted with each of them. */
#include "services/table/service.h"

#include "base/metrics.h"
#include "services/table/call.h"
#include "services/table/counts.h"
#include "store/engine/key.h"

const tv_catalog_kind tv_table_catalog = {
    .service = TV_SERVICE_TABLE,
    .space = TV_SPACE_TABLES,
    .exists = TV_ERR_TABLE_EXISTS,
    .not_found = TV_ERR_TABLE_NOT_FOUND,
    .rows = tv_key_table,
    .service_bytes = sizeof(tv_table_counts),
    .service_done = tv_table_unobserve,
};

/* --- what is counted of a request, before its answer is sent --- */

static void count(const tv_container *table, tv_plan_kind kind, uint64_t examined)
{
    tv_table_counts *counts = table->service_data;

    atomic_fetch_add_explicit(&counts->plans[kind], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts->examined[kind], examined, memory_order_relaxed);
}

static void note_page(tv_call *call, bool has_failed)
{
    const tv_table_scan *scan = &tv_table_call_of(call)->outcome.scan;

    count(call->container, scan->plan.kind, has_failed ? 0 : scan->page.examined);
}

void tv_table_note(tv_call *call)
{
    const tv_table_outcome *outcome = &tv_table_call_of(call)->outcome;
    bool has_failed = call->req->status >= 300 || outcome->part_error;

    if (call->container == NULL)
        return;
    if (outcome->key.data)
        count(call->container, TV_PLAN_POINT, 1);
    else if (outcome->scan.table && !tv_table_query_is_explained(call->req))
        note_page(call, has_failed);
    else if (outcome->changes.count && !has_failed)
        tv_table_note_entities(call);
}

/* --- metrics --- */

/* More tables than that would drown everything else; then the totals say enough. */
enum { TABLES_MAX = 1000 };

typedef struct totals {
    uint64_t queries[TV_PLAN_KINDS], examined[TV_PLAN_KINDS];
} totals;

static void add_up(void *ctx, const tv_container *table)
{
    const tv_table_counts *counts = table->service_data;
    totals *t = ctx;

    for (int kind = 0; kind < TV_PLAN_KINDS; kind++) {
        t->queries[kind] += atomic_load(&counts->plans[kind]);
        t->examined[kind] += atomic_load(&counts->examined[kind]);
    }
}

static void add_table(void *ctx, const tv_container *table)
{
    const tv_table_counts *counts = table->service_data;

    for (int kind = 0; kind < TV_PLAN_KINDS; kind++) {
        unsigned long long count = atomic_load(&counts->plans[kind]);

        if (count)
            tv_buf_printf(ctx,
                          "tavola_table_queries_total{account=\"%.*s\",table=\"%.*s\",plan=\"%s\"} "
                          "%llu\n",
                          TV_FMT(table->account), TV_FMT(table->name),
                          tv_plan_kind_name((tv_plan_kind)kind), count);
    }
}

void tv_table_service_write_metrics(void *ctx, tv_buf *out)
{
    tv_service *service = ctx;
    totals t = {{0}, {0}};

    tv_metric_add(out, "tables", "Tables of all accounts.",
                  (double)tv_catalog_count(service->catalog));
    tv_catalog_visit(service->catalog, add_up, &t);
    tv_metric_open(out, "queries_total", "Queries of the tables that exist, by plan.");
    for (int kind = 0; kind < TV_PLAN_KINDS; kind++)
        tv_metric_add_of(out, "queries_total", "plan", tv_plan_kind_name((tv_plan_kind)kind),
                         (double)t.queries[kind]);
    tv_metric_open(out, "queries_examined_total", "Entities that they have read.");
    for (int kind = 0; kind < TV_PLAN_KINDS; kind++)
        tv_metric_add_of(out, "queries_examined_total", "plan",
                         tv_plan_kind_name((tv_plan_kind)kind), (double)t.examined[kind]);
}

void tv_table_service_write_names(void *ctx, tv_buf *out)
{
    tv_service *service = ctx;

    tv_metric_open(out, "table_queries_total",
                   "Queries by table and plan; left out above 1000 tables.");
    if (tv_catalog_count(service->catalog) <= TABLES_MAX)
        tv_catalog_visit(service->catalog, add_table, out);
}
