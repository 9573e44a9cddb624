/* Ranges, rows, and the page they make. */
#include "services/table/scan.h"

#include "base/assert.h"
#include "services/table/row_test.h"
#include "services/table/token.h"
#include "services/table/units.h"
#include "store/engine/key.h"

void tv_table_scan_plan(tv_table_scan *scan)
{
    const tv_plan *plan = &scan->plan;

    scan->plan = tv_plan_make(scan->arena, scan->table->prefix, scan->query->filter);

    /* Sorted, disjoint and of this table: or rows would come twice, or those of another table. */
    for (size_t i = 0; i < plan->count; i++) {
        tv_assert(tv_slice_starts_with(plan->ranges[i].from, scan->table->prefix));
        tv_assert(tv_slice_cmp(plan->ranges[i].from, plan->ranges[i].to) < 0);
        tv_assert(i == 0 || tv_slice_cmp(plan->ranges[i - 1].to, plan->ranges[i].from) <= 0);
    }
}

/* --- the page --- */

void tv_table_scan_add_opening(tv_buf *out, const tv_entity_view *view)
{
    tv_buf_add_char(out, '{');
    if (view->level != TV_TABLE_METADATA_NONE)
        tv_entity_add_metadata_url(out, view, TV_LIT(""));
    tv_buf_add_lit(out, "\"value\":[");
}

static void keep_key(tv_table_scan_key *to, const tv_table_scan *scan, const tv_table_row *row)
{
    tv_slice key = tv_slice_skip(row->key, scan->table->prefix.len);

    to->len = key.len < sizeof to->bytes ? key.len : sizeof to->bytes;
    memcpy(to->bytes, key.data, to->len);
}

static void note_examined(tv_table_scan *scan, const tv_table_row *row)
{
    if (scan->keys == NULL)
        return;
    if (scan->page.examined == 1)
        keep_key(&scan->keys->first_looked, scan, row);
    keep_key(&scan->keys->last_looked, scan, row);
}

static void note_returned(tv_table_scan *scan, const tv_table_row *row)
{
    if (scan->page.first == 0)
        scan->page.first = scan->page.examined;
    scan->page.last = scan->page.examined;
    if (scan->keys == NULL)
        return;
    if (scan->page.first == scan->page.examined)
        keep_key(&scan->keys->first, scan, row);
    keep_key(&scan->keys->last, scan, row);
}

/* Look at one row and write it if it passes. */
static tv_err take_row(tv_table_scan *scan, const tv_entity_view *view, tv_table_row_test *test,
                       tv_table_row *row, tv_arena *scratch)
{
    bool passes;
    tv_err err;

    scan->page.examined++;
    note_examined(scan, row);
    err = tv_table_row_passes(test, row, scan->table->prefix, scratch, &passes);
    if (err || !passes)
        return err;

    err = tv_table_row_split(row, scan->table->prefix, scratch);
    if (err)
        return err;

    tv_assert(scan->page.returned < scan->page.rows_max);
    note_returned(scan, row);
    if (scan->page.returned++)
        tv_buf_add_char(scan->out, ',');
    if (scan->bill)
        tv_table_bill_add(scan->bill, row->key, row->partition_key, row->row_key, row->value);
    return tv_entity_add_json(scan->out, view, row->partition_key, row->row_key, row->value, false);
}

static tv_err end_page_at(tv_table_scan *scan, tv_table_row *row)
{
    tv_err err = tv_table_row_split(row, scan->table->prefix, scan->arena);

    tv_assert(scan->page.examined > 0); /* or the next page would begin at this row, too */
    if (err)
        return err;

    scan->next.next_partition = tv_table_token_format(scan->arena, row->partition_key);
    scan->next.next_row = tv_table_token_format(scan->arena, row->row_key);
    scan->next_hash = tv_table_token_hash(row->partition_key, row->row_key);
    return TV_OK;
}

/* The row key at which this page begins, the least key of the plan without a token. */
static tv_err start_key(const tv_table_scan *scan, tv_slice *ret_start)
{
    const tv_table_query *query = scan->query;
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

/* --- in turns --- */

/* What a scan keeps between two turns. */
struct tv_table_scan_state {
    tv_iter *iter;
    tv_entity_view view;
    tv_table_row_test *test;
    tv_arena scratch; /* for one row */
    tv_slice start;   /* the least key of the page */
    size_t range;     /* the one at hand */
    bool is_in_range; /* the iterator is in it, or at its end */
    size_t empty_len; /* of the page before its first row */
};

typedef enum outcome {
    RANGE_READ, /* to its end */
    TURN_OVER,  /* the row at the iterator is the next one */
    PAGE_FULL,
} outcome;

/* A seek costs as much as some rows. */
enum { SEEK_WORK = 4 };

/*
 * Whether to stop before a row; `work` was done since the last one.  Every page
 * looks at one at least, or a client that goes on from its token would never get
 * any further.
 */
static outcome look_at_limits(tv_table_scan *scan, tv_turn *turn, unsigned work)
{
    if (tv_table_page_is_full(&scan->page, scan->out)) {
        scan->page.end = tv_table_page_full_end(&scan->page);
        return PAGE_FULL;
    }
    if (scan->page.examined == 0 || !tv_turn_is_over(turn, work))
        return RANGE_READ;
    if (!turn->must_end && !tv_table_page_is_late(&scan->page))
        return TURN_OVER;
    scan->page.end = TV_PAGE_END_TIME;
    return PAGE_FULL;
}

/* The rows of the range at hand, from the iterator's on. */
static tv_err scan_range(tv_table_scan *scan, tv_turn *turn, outcome *ret_outcome)
{
    struct tv_table_scan_state *state = scan->state;
    const tv_key_range *range = &scan->plan.ranges[state->range];
    tv_iter *iter = state->iter;
    bool ends_with_iterator = state->range + 1 == scan->plan.count;
    unsigned work = 0; /* so that every turn looks at a row, too */

    for (; tv_iter_is_valid(iter); tv_iter_next(iter)) {
        tv_table_row row = {.key = tv_iter_key(iter), .value = tv_iter_value(iter)};
        tv_err err;

        if (!ends_with_iterator && tv_slice_cmp(row.key, range->to) >= 0)
            return TV_OK;

        *ret_outcome = look_at_limits(scan, turn, work);
        if (*ret_outcome == PAGE_FULL)
            return end_page_at(scan, &row);
        if (*ret_outcome == TURN_OVER)
            return TV_OK;

        size_t len = scan->out->len;

        err = take_row(scan, &state->view, state->test, &row, &state->scratch);
        if (err == TV_ERR_OVERLOADED && len > state->empty_len) {
            /* No memory for this row: the page goes out as it was before. */
            scan->out->len = len;
            scan->page.returned--;
            scan->page.end = TV_PAGE_END_BYTES;
            *ret_outcome = PAGE_FULL;
            return end_page_at(scan, &row);
        }
        if (err)
            return err;

        work = tv_table_row_work(state->test, row.value);
        tv_arena_reset(&state->scratch);
    }
    return tv_iter_status(iter);
}

/* Go to the next range that holds something of the page. */
static void enter_range(struct tv_table_scan_state *state, const tv_key_range *range)
{
    tv_iter_seek(state->iter,
                 tv_slice_cmp(state->start, range->from) > 0 ? state->start : range->from);
    state->is_in_range = true;
}

static tv_err scan_ranges(tv_table_scan *scan, tv_turn *turn, outcome *ret_outcome)
{
    struct tv_table_scan_state *state = scan->state;

    *ret_outcome = RANGE_READ;
    for (; state->range < scan->plan.count; state->range++, state->is_in_range = false) {
        const tv_key_range *range = &scan->plan.ranges[state->range];
        tv_err err;

        if (tv_slice_cmp(state->start, range->to) >= 0)
            continue;
        if (!state->is_in_range) {
            /* Only a row can end a page, so the last turn goes on to one. */
            if (tv_turn_is_over(turn, SEEK_WORK) && !turn->must_end) {
                *ret_outcome = TURN_OVER;
                return TV_OK;
            }
            enter_range(state, range);
        }
        err = scan_range(scan, turn, ret_outcome);
        if (err || *ret_outcome != RANGE_READ)
            return err;
    }
    return TV_OK;
}

static void begin_page(tv_table_scan *scan)
{
    tv_entity_view view = tv_table_command_view(scan->command);

    scan->next = (tv_table_continuation){0};
    tv_table_scan_add_opening(scan->out, &view);
    scan->page = tv_table_page_begin(scan->query->top, scan->time_max_ns, scan->out);
}

/* Rows of a dropped table vanish file by file, so the page may lack some that it should have
 * had if the query came before the drop. */
static tv_err end_page(tv_table_scan *scan)
{
    tv_buf_add_lit(scan->out, "]}");
    return atomic_load(&scan->table->is_dropped) ? TV_ERR_TABLE_NOT_FOUND : TV_OK;
}

/* Rows that the page takes if they are there; a test may want to see any number. */
static size_t rows_expected(const tv_table_scan *scan)
{
    size_t rows =
        scan->page.rows_max < TV_TABLE_PAGE_ROWS_MAX ? scan->page.rows_max : TV_TABLE_PAGE_ROWS_MAX;

    return scan->plan.residual ? SIZE_MAX : rows + 1; /* and the one behind it */
}

static tv_err begin_scan(tv_table_scan *scan, tv_engine *engine)
{
    const tv_plan *plan = &scan->plan;
    struct tv_table_scan_state *state;
    tv_slice start;
    tv_iter *iter;
    tv_err err;

    tv_assert(plan->count > 0 && scan->state == NULL);
    err = start_key(scan, &start);
    if (err)
        return err;

    err = tv_engine_iter(engine, plan->ranges[0].from, plan->ranges[plan->count - 1].to, &iter);
    if (err)
        return err;

    if (iter->ops->expect && plan->count == 1)
        iter->ops->expect(iter, rows_expected(scan));
    state = tv_arena_zalloc(scan->arena, sizeof *state);
    state->iter = iter;
    state->start = start;
    state->view = tv_table_command_view(scan->command);
    state->test = tv_table_row_test_new(scan->arena, plan);
    state->empty_len = scan->out->len;
    tv_arena_init(&state->scratch);
    scan->state = state;
    return TV_OK;
}

static void end_scan(tv_table_scan *scan)
{
    tv_iter_free(scan->state->iter);
    tv_arena_done(&scan->state->scratch);
    scan->state = NULL;
}

tv_err tv_table_scan_run(tv_table_scan *scan, tv_engine *engine, tv_turn *turn, bool *ret_is_done)
{
    outcome result;
    tv_err err;

    *ret_is_done = true;
    if (scan->state == NULL)
        begin_page(scan);
    if (scan->plan.count == 0)
        return end_page(scan);
    if (scan->state == NULL) {
        err = begin_scan(scan, engine);
        if (err)
            return err;
    }

    err = scan_ranges(scan, turn, &result);
    if (err == TV_OK && result == TURN_OVER) {
        *ret_is_done = false;
        return TV_OK;
    }
    end_scan(scan);
    return err ? err : end_page(scan);
}

/* --- one point --- */

bool tv_table_scan_is_point(const tv_table_scan *scan)
{
    return scan->plan.count == 1 && scan->plan.kind == TV_PLAN_POINT &&
           scan->query->next_partition.data == NULL;
}

tv_slice tv_table_scan_point_key(const tv_table_scan *scan)
{
    tv_assert(tv_table_scan_is_point(scan));
    return scan->plan.ranges[0].from;
}

tv_err tv_table_scan_end_point(tv_table_scan *scan, tv_err err, tv_slice value)
{
    tv_entity_view view = tv_table_command_view(scan->command);
    tv_table_row row = {.key = tv_table_scan_point_key(scan), .value = value};

    if (err && err != TV_ERR_NOT_FOUND)
        return err;

    begin_page(scan);
    if (err == TV_OK) {
        err = take_row(scan, &view, tv_table_row_test_new(scan->arena, &scan->plan), &row,
                       scan->arena);
        if (err)
            return err;
    }
    return end_page(scan);
}
