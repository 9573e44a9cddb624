/* What the server wires: the catalogue of tables, and metrics. */
#include "services/table/service.h"

#include "base/metrics.h"
#include "insight/facts/facts.h"
#include "model/entity/entity.h"
#include "services/table/call.h"
#include "services/table/counts.h"
#include "services/table/row_test.h"
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

/* --- facts --- */

/* `rows` is 'r' account 01 table-id. */
static tv_err drop_facts(void *ctx, tv_slice rows, const tv_background *thread)
{
    int64_t id;
    tv_err err = tv_key_read_number(tv_slice_skip(rows, rows.len - TV_KEY_ID_CHARS), &id);

    (void)thread;
    return err ? err : tv_facts_drop(ctx, tv_key_account(rows), id);
}

tv_catalog_kind tv_table_catalog_with(tv_facts *facts)
{
    tv_catalog_kind kind = tv_table_catalog;

    kind.before_drop = drop_facts;
    kind.ctx = facts;
    return kind;
}

static tv_err walk_entity(tv_slice value, void (*fn)(void *ctx, const tv_property *property),
                          void *ctx)
{
    tv_entity_cursor cursor;
    tv_property property;

    tv_entity_cursor_init(&cursor, value);
    while (tv_entity_next(&cursor, &property))
        fn(ctx, &property);
    return cursor.is_corrupt ? TV_ERR_CORRUPT : TV_OK;
}

static void *begin_test(tv_arena *arena, const tv_plan *plan)
{
    return tv_table_row_test_new(arena, plan);
}

static tv_err test_row(void *test, tv_slice prefix, tv_slice key, tv_slice value, tv_arena *scratch,
                       bool *ret_passes)
{
    tv_table_row row = {.key = key, .value = value};

    return tv_table_row_passes(test, &row, prefix, scratch, ret_passes);
}

const tv_facts_format tv_table_facts_format = {
    .walk = walk_entity, .test_begin = begin_test, .test = test_row};

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

static void write_watch(tv_watch *watch, tv_buf *out)
{
    tv_watch_usage usage = tv_watch_read_usage(watch);

    tv_metric_add(out, "watch_bytes", "Memory of what is recorded of tables.", (double)usage.bytes);
    tv_metric_add(out, "watch_tables", "Tables that are recorded.", (double)usage.tables);
    tv_metric_add(out, "watch_forgotten_total", "Tables that had to make room.",
                  (double)usage.forgotten);
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
    if (((tv_table_service *)service)->watch)
        write_watch(((tv_table_service *)service)->watch, out);
}

void tv_table_service_write_names(void *ctx, tv_buf *out)
{
    tv_service *service = ctx;

    tv_metric_open(out, "table_queries_total",
                   "Queries by table and plan; left out above 1000 tables.");
    if (tv_catalog_count(service->catalog) <= TABLES_MAX)
        tv_catalog_visit(service->catalog, add_table, out);
}
