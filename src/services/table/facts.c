/* What facts learn of requests to tables, and what requests ask of them. */
#include "insight/facts/facts.h"

#include "insight/facts/estimate.h"
#include "insight/facts/literals.h"
#include "services/table/call.h"
#include "services/table/counts.h"
#include "services/table/row_test.h"
#include "store/engine/key.h"

static tv_facts *facts_of(const tv_call *call)
{
    return TV_CALL_OF(tv_table_service, call->service, base)->facts;
}

/* --- how they read tables, and when they forget one --- */

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

/* --- before the answer of a write is sent --- */

/* Raise what is known of a table; false when it is not more. */
static bool is_wider(_Atomic uint64_t *widest, uint64_t value)
{
    if (value <= atomic_load_explicit(widest, memory_order_relaxed))
        return false;

    atomic_store_explicit(widest, value, memory_order_relaxed);
    return true;
}

/* Whether an entity has more of anything than those before it; few have. */
static bool is_widest(tv_table_counts *counts, tv_slice key, const tv_entity_properties *properties)
{
    enum { LONG_BYTES = 24576 }; /* such values are counted, each */
    uint64_t cost = tv_facts_key_cost(key), longest = 0;

    for (size_t i = 0; i < properties->count; i++) {
        const tv_property *property = &properties->list[i];

        cost += tv_property_cost(property);
        if ((property->type == TV_EDM_STRING || property->type == TV_EDM_BINARY) &&
            property->bytes.len > longest)
            longest = property->bytes.len;
    }

    bool has_more = is_wider(&counts->widest[0], properties->count + 1);
    bool costs_more = is_wider(&counts->widest[1], cost);

    return is_wider(&counts->widest[2], longest) || has_more || costs_more || longest >= LONG_BYTES;
}

/* The properties that a merge has left: those that were there, with what the request says. */
static tv_entity_properties merged_properties(tv_arena *arena, tv_slice stored)
{
    tv_entity_properties properties = {
        .list = tv_arena_alloc(arena, TV_ENTITY_PROPERTIES_MAX * sizeof *properties.list)};
    tv_entity_cursor cursor;

    tv_entity_cursor_init(&cursor, stored);
    while (properties.count < TV_ENTITY_PROPERTIES_MAX &&
           tv_entity_next(&cursor, &properties.list[properties.count]))
        properties.count++;
    return properties;
}

void tv_table_note_entities(tv_call *call)
{
    const tv_table_change_set *set = &tv_table_call_of(call)->outcome.changes;
    tv_facts *facts = facts_of(call);
    tv_arena scratch;

    if (facts == NULL)
        return;

    tv_arena_init(&scratch);
    for (size_t i = 0; i < set->count; i++) {
        const tv_entity_change *change = &set->changes[i];
        bool has_merged = tv_table_command_is_merge(change->command) && change->old_timestamp;
        tv_entity_properties properties = has_merged ? merged_properties(&scratch, change->value)
                                                     : change->command->body.properties;

        if (change->command->kind != TV_TABLE_OP_DELETE_ENTITY &&
            is_widest(set->table->service_data, tv_slice_skip(change->key, set->table->prefix.len),
                      &properties))
            tv_facts_note_entity(facts, set->table->account, set->table->id, change->key,
                                 properties.list, properties.count);
        tv_arena_reset(&scratch);
    }
    tv_arena_done(&scratch);
}

/* --- queries: before and after the scan --- */

/* What the plan would cost; it reads some keys, and perhaps entities. */
tv_err tv_table_estimate(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_facts *facts = facts_of(call);
    const tv_table_counts *counts = call->container->service_data;
    tv_estimate_history history;
    tv_estimate_query query = {.account = call->container->account,
                               .table_id = call->container->id,
                               .prefix = call->container->prefix,
                               .plan = &t->outcome.scan.plan,
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
        t->outcome.scan.estimate = result;
    return err;
}

/* What the filter compares with a type that the table's entities do not have. */
tv_err tv_table_check_literals(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_arena *arena = &call->req->arena;
    tv_facts *facts = facts_of(call);
    tv_facts_table table;
    tv_err err;

    if (facts == NULL || t->outcome.scan.plan.residual == NULL)
        return TV_OK;
    err = tv_facts_take(facts, call->container->account, call->container->id, TV_FACTS_PROPERTIES,
                        TV_FACTS_WAIT_LEAST_NS, arena, &table);
    if (err)
        return err;

    tv_slice *warnings = tv_arena_alloc(arena, TV_FACTS_MISTAKES_MAX * sizeof *warnings);

    t->outcome.scan.warning_count =
        tv_facts_find_mistakes(&table, t->query.filter, arena, warnings);
    t->outcome.scan.warnings = warnings;
    return TV_OK;
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
    const tv_table_scan *scan = &t->outcome.scan;

    if (service->facts == NULL || scan->plan.kind == TV_PLAN_POINT ||
        scan->page.end != TV_PAGE_END_DONE || t->query.next_partition.data)
        return;
    if (atomic_fetch_add_explicit(&service->whole_queries, 1, memory_order_relaxed) % EVERY)
        return;
    if (tv_table_estimate(call) == TV_OK)
        tv_facts_note_estimate(service->facts, scan->estimate, scan->page.examined);
}

/* What a page has cost: estimates of the next ones go by it. */
static void note_cost(tv_call *call)
{
    const tv_table_call *t = tv_table_call_of(call);
    const tv_table_page *page = &t->outcome.scan.page;
    tv_table_counts *counts = call->container->service_data;

    if (page->examined == 0)
        return;
    tv_query_cost_note(&counts->cost,
                       &(tv_query_work){.ranges = (double)t->outcome.scan.plan.count,
                                        .examined = (double)page->examined,
                                        .returned = (double)page->returned,
                                        .bytes = (double)call->req->out.len},
                       (double)t->outcome.scan_ns);
}

void tv_table_note_page(tv_call *call)
{
    note_cost(call);
    check_estimate(call);
}

/* A whole table begins with how many entities it has, if that is certain: clients that count need
 * not read them all. */
bool tv_table_count_exactly(tv_call *call, uint64_t *ret_entities)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_facts *facts = facts_of(call);
    const tv_plan *plan = &t->outcome.scan.plan;
    const tv_container *table = t->outcome.scan.table;

    if (facts == NULL || table == NULL || plan->kind != TV_PLAN_TABLE || plan->count != 1 ||
        t->query.is_explained || t->query.filter->root || t->query.next_partition.data ||
        !tv_slice_eq(plan->ranges[0].from, table->prefix) ||
        tv_slice_starts_with(plan->ranges[0].to, table->prefix))
        return false;

    tv_facts_count known = tv_facts_count_of(facts, table->account, table->id);

    *ret_entities = known.entities;
    return known.basis == TV_FACTS_EXACT;
}
