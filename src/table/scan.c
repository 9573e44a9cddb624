/* Ranges, rows, the residual test, and the page they make. */
#include "table/scan.h"

#include "base/assert.h"
#include "engine/key.h"
#include "table/token.h"

/* What the residual test needs of a row: which properties, and room for their values. */
typedef struct row_test {
    const tv_node *residual;
    const tv_filter *filter;
    bool *is_needed; /* by the residual; the ranges may have settled others */
    bool needs_keys, needs_properties;
    tv_filter_slot *slots; /* one for each name, like is_needed */
} row_test;

/* One row under the eye of the scan.  The keys are decoded only when somebody asks. */
typedef struct scan_row {
    tv_slice key, value;
    tv_slice partition_key, row_key;
    bool is_split;
} scan_row;

void tv_scan_plan(tv_scan *scan)
{
    scan->plan = tv_plan_make(scan->arena, scan->table->prefix, scan->query->filter);
}

/* --- the residual test --- */

static void mark_needed(row_test *test, const tv_node *node)
{
    if (node->kind == TV_NODE_COMPARE || node->kind == TV_NODE_TRUTH)
        test->is_needed[node->name] = true;
    for (const tv_node *child = tv_node_first(node); child; child = child->next)
        mark_needed(test, child);
}

static bool is_key_name(tv_slice name)
{
    return tv_slice_eq(name, TV_LIT("PartitionKey")) || tv_slice_eq(name, TV_LIT("RowKey"));
}

static row_test *row_test_new(tv_arena *arena, const tv_plan *plan)
{
    row_test *test = tv_arena_zalloc(arena, sizeof *test);

    test->residual = plan->residual;
    test->filter = plan->filter;
    if (plan->residual == NULL)
        return test;

    size_t name_count = (size_t)plan->filter->name_count;

    test->is_needed = tv_arena_zalloc(arena, name_count * sizeof *test->is_needed);
    test->slots = tv_arena_alloc(arena, name_count * sizeof *test->slots);
    mark_needed(test, plan->residual);
    for (int i = 0; i < plan->filter->name_count; i++) {
        if (test->is_needed[i] && is_key_name(plan->filter->names[i]))
            test->needs_keys = true;
        else if (test->is_needed[i])
            test->needs_properties = true;
    }
    return test;
}

/* Split the key into PartitionKey and RowKey, once. */
static tv_err row_split(scan_row *row, const tv_container *table, tv_arena *scratch)
{
    tv_err err;

    if (row->is_split)
        return TV_OK;

    err = tv_key_split_row(scratch, table->prefix, row->key, &row->partition_key, &row->row_key);
    row->is_split = err == TV_OK;
    return err;
}

static void set_slot(row_test *test, tv_slice name, tv_property value)
{
    for (int i = 0; i < test->filter->name_count; i++) {
        if (test->is_needed[i] && tv_slice_eq(test->filter->names[i], name)) {
            test->slots[i].is_there = true;
            test->slots[i].value = value;
            return;
        }
    }
}

static tv_err fill_keys(row_test *test, scan_row *row, const tv_container *table, tv_arena *scratch)
{
    tv_err err = row_split(row, table, scratch);

    if (err)
        return err;

    set_slot(test, TV_LIT("PartitionKey"),
             (tv_property){.type = TV_EDM_STRING, .bytes = row->partition_key});
    set_slot(test, TV_LIT("RowKey"), (tv_property){.type = TV_EDM_STRING, .bytes = row->row_key});
    return TV_OK;
}

/* Walk over the stored bytes once; nothing is built. */
static tv_err fill_properties(row_test *test, tv_slice value)
{
    tv_entity_cursor cursor;
    tv_property property;

    tv_entity_cursor_init(&cursor, value);
    if (!cursor.is_corrupt)
        set_slot(test, TV_LIT("Timestamp"),
                 (tv_property){.type = TV_EDM_DATETIME, .ticks = cursor.timestamp});
    while (tv_entity_next(&cursor, &property))
        set_slot(test, property.name, property);
    return cursor.is_corrupt ? TV_ERR_CORRUPT : TV_OK;
}

static tv_err row_passes(row_test *test, scan_row *row, const tv_container *table,
                         tv_arena *scratch, bool *ret_passes)
{
    tv_err err = TV_OK;

    if (test->residual) {
        for (int i = 0; i < test->filter->name_count; i++)
            test->slots[i].is_there = false;
        if (test->needs_keys)
            err = fill_keys(test, row, table, scratch);
        if (err == TV_OK && test->needs_properties)
            err = fill_properties(test, row->value);
    }
    *ret_passes = err == TV_OK && tv_filter_eval(test->residual, test->slots);
    return err;
}

/* --- the page --- */

void tv_scan_add_opening(tv_buf *out, const tv_entity_view *view)
{
    tv_buf_add_char(out, '{');
    if (view->level != TV_METADATA_NONE)
        tv_entity_add_metadata_url(out, view, TV_LIT(""));
    tv_buf_add_lit(out, "\"value\":[");
}

/* Look at one row and write it if it passes. */
static tv_err take_row(tv_scan *scan, const tv_entity_view *view, row_test *test, scan_row *row,
                       tv_arena *scratch)
{
    bool passes;
    tv_err err;

    scan->page.examined++;
    err = row_passes(test, row, scan->table, scratch, &passes);
    if (err || !passes)
        return err;

    err = row_split(row, scan->table, scratch);
    if (err)
        return err;

    if (scan->page.returned++)
        tv_buf_add_char(scan->out, ',');
    return tv_entity_add_json(scan->out, view, row->partition_key, row->row_key, row->value, false);
}

static tv_err end_page_at(tv_scan *scan, scan_row *row)
{
    tv_err err = row_split(row, scan->table, scan->arena);

    if (err)
        return err;

    scan->next.next_partition = tv_token_format(scan->arena, row->partition_key);
    scan->next.next_row = tv_token_format(scan->arena, row->row_key);
    return TV_OK;
}

/* The row key at which this page begins, the least key of the plan without a token. */
static tv_err start_key(const tv_scan *scan, tv_slice *ret_start)
{
    const tv_query *query = scan->query;
    const tv_container *table = scan->table;
    tv_err err;

    *ret_start = scan->plan.ranges[0].from;
    if (query->next_partition.data == NULL)
        return TV_OK;

    err =
        tv_key_partition(scan->arena, table->account, table->id, query->next_partition, ret_start);
    if (err == TV_OK && query->next_row.data)
        err = tv_key_row(scan->arena, *ret_start, query->next_row, ret_start);
    return err;
}

/* The rows of one range, from `start` on if that lies within it.  True when the page is full. */
static tv_err scan_range(tv_scan *scan, tv_iter *iter, const tv_key_range *range, tv_slice start,
                         const tv_entity_view *view, row_test *test, tv_arena *scratch,
                         bool *ret_is_full)
{
    for (tv_iter_seek(iter, tv_slice_cmp(start, range->from) > 0 ? start : range->from);
         tv_iter_is_valid(iter); tv_iter_next(iter)) {
        scan_row row = {.key = tv_iter_key(iter), .value = tv_iter_value(iter)};
        tv_err err;

        if (tv_slice_cmp(row.key, range->to) >= 0)
            return TV_OK;
        if (tv_page_is_full(&scan->page, scan->out)) {
            *ret_is_full = true;
            return end_page_at(scan, &row);
        }
        err = take_row(scan, view, test, &row, scratch);
        if (err)
            return err;

        tv_arena_reset(scratch);
    }
    return tv_iter_status(iter);
}

static tv_err scan_ranges(tv_scan *scan, tv_iter *iter, tv_slice start)
{
    tv_entity_view view = tv_table_op_view(scan->op);
    row_test *test = row_test_new(scan->arena, &scan->plan);
    bool is_full = false;
    tv_err err = TV_OK;
    tv_arena scratch;

    tv_arena_init(&scratch);
    for (size_t i = 0; i < scan->plan.count && err == TV_OK && !is_full; i++) {
        const tv_key_range *range = &scan->plan.ranges[i];

        if (tv_slice_cmp(start, range->to) < 0)
            err = scan_range(scan, iter, range, start, &view, test, &scratch, &is_full);
    }
    tv_arena_done(&scratch);
    return err;
}

static void begin_page(tv_scan *scan)
{
    tv_entity_view view = tv_table_op_view(scan->op);

    scan->next = (tv_continuation){0};
    tv_scan_add_opening(scan->out, &view);
    scan->page = tv_page_begin(scan->query->top, scan->time_max_ns, scan->out);
}

/* Rows of a dropped table vanish file by file, so the page may lack some that it should have
 * had if the query came before the drop. */
static tv_err end_page(tv_scan *scan)
{
    tv_buf_add_lit(scan->out, "]}");
    return atomic_load(&scan->table->is_dropped) ? TV_ERR_TABLE_NOT_FOUND : TV_OK;
}

tv_err tv_scan_run(tv_scan *scan, tv_engine *engine)
{
    const tv_plan *plan = &scan->plan;
    tv_slice start;
    tv_iter *iter;
    tv_err err;

    begin_page(scan);
    if (plan->count) {
        err = start_key(scan, &start);
        if (err)
            return err;

        err = tv_engine_iter(engine, plan->ranges[0].from, plan->ranges[plan->count - 1].to, &iter);
        if (err)
            return err;

        err = scan_ranges(scan, iter, start);
        tv_iter_free(iter);
        if (err)
            return err;
    }
    return end_page(scan);
}

/* --- one point --- */

bool tv_scan_is_point(const tv_scan *scan)
{
    return scan->plan.count == 1 && scan->plan.kind == TV_PLAN_POINT &&
           scan->query->next_partition.data == NULL;
}

tv_err tv_scan_run_point(tv_scan *scan, tv_engine *engine, tv_read_mode mode)
{
    tv_entity_view view = tv_table_op_view(scan->op);
    scan_row row = {.key = scan->plan.ranges[0].from};
    tv_err err;

    tv_assert(tv_scan_is_point(scan));
    err = tv_engine_get(engine, mode, row.key, scan->arena, &row.value);
    if (err && err != TV_ERR_NOT_FOUND)
        return err;

    begin_page(scan);
    if (err == TV_OK) {
        err = take_row(scan, &view, row_test_new(scan->arena, &scan->plan), &row, scan->arena);
        if (err)
            return err;
    }
    return end_page(scan);
}
