/*
 * Planned queries against a naive reader.
 *
 * Random tables and random filters; what the planner, the scan and its pages
 * return must be what a reader returns that looks at every row in order and
 * knows nothing of plans: it walks its own tree (the filter's text is printed
 * from it), decodes strings to UTF-16 itself, and has its own copy of the rules
 * of comparison.  A query is read
 *
 *  - page by page, with a random $top, following the tokens: the pages make the
 *    naive list, in its order, and all but the last are full;
 *  - by the point path as well, when its plan is one point;
 *  - once more while rows come and go between the pages: rows that were there
 *    all the time are returned exactly once, and nothing that does not match.
 *
 * TAVOLA_SEED=n repeats the run that printed n.
 */
#include "query_random.h"
#include "services/table/scans.h"

/* --- planned execution --- */

typedef struct answer {
    int ids[ROWS_ROOM];
    size_t count;
    size_t examined;
} answer;

static tv_table_command command = {.kind = TV_TABLE_OP_QUERY_ENTITIES,
                                   .level = TV_TABLE_METADATA_NONE};

static tv_table_scan scan_of(const tv_table_query *query, tv_buf *out)
{
    tv_table_scan scan = {.table = &table,
                          .command = &command,
                          .query = query,
                          .time_max_ns = INT64_C(600000000000),
                          .arena = &arena,
                          .out = out};

    out->len = 0;
    tv_table_scan_plan(&scan);
    return scan;
}

/* {"value":[{"id":3},{"id":4}]} */
static size_t read_ids(tv_slice page, answer *into)
{
    size_t count = 0;

    CHECK(tv_slice_starts_with(page, TV_LIT("{\"value\":[")));
    page = tv_slice_skip(page, 10);
    while (tv_slice_starts_with(page, TV_LIT("{\"id\":"))) {
        size_t end = tv_slice_find(page, '}');

        CHECK(into->count < ROWS_ROOM);
        into->ids[into->count++] = (int)strtol(page.data + 6, NULL, 10);
        count++;
        page = tv_slice_skip(page, end + 1);
        if (page.len && page.data[0] == ',')
            page = tv_slice_skip(page, 1);
    }
    CHECK_TEXT(page, "]}");
    return count;
}

/* In one turn or in many; a page is the same. */
static tv_err run_page(tv_table_scan *scan)
{
    tv_turn endless = tv_turn_endless(), short_turn = {.end_ns = 0};

    return run_in_turns(tv_table_scan_run, scan, engine, chance(50) ? endless : short_turn, NULL);
}

/* What every plan promises. */
static void check_plan(const tv_plan *plan)
{
    tv_slice end = tv_key_after(&arena, table.prefix);
    tv_plan_kind worst = TV_PLAN_POINT;

    for (size_t i = 0; i < plan->count; i++) {
        const tv_key_range *range = &plan->ranges[i];

        CHECK(tv_slice_starts_with(range->from, table.prefix));
        CHECK(tv_slice_cmp(range->from, range->to) < 0);
        CHECK(tv_slice_cmp(range->to, end) <= 0);
        CHECK(i == 0 || tv_slice_cmp(plan->ranges[i - 1].to, range->from) < 0);
        if (range->kind > worst)
            worst = range->kind;
    }
    CHECK_INT(plan->kind, worst);
}

/* Read one page; false on the last. */
static bool read_page(tv_table_query *query, answer *into)
{
    tv_buf out = TV_BUF_EMPTY;
    tv_table_scan scan = scan_of(query, &out);

    met.pages++;
    check_plan(&scan.plan);
    CHECK_OK(run_page(&scan));
    size_t returned = read_ids(tv_buf_slice(&out), into);
    tv_buf_done(&out);

    CHECK_INT(scan.page.returned, returned);
    CHECK(scan.page.examined >= returned);
    CHECK(scan.plan.residual || scan.page.examined == returned);
    CHECK(returned <= query->top);
    into->examined += scan.page.examined;

    CHECK_INT(scan.next.next_partition.data != NULL, scan.next.next_row.data != NULL);
    if (scan.next.next_partition.data == NULL)
        return false;
    CHECK_INT(returned, query->top);
    CHECK_OK(tv_table_token_parse(&arena, scan.next.next_partition, &query->next_partition));
    CHECK_OK(tv_table_token_parse(&arena, scan.next.next_row, &query->next_row));
    return true;
}

static void check_point(const tv_table_query *query, const answer *want)
{
    tv_buf out = TV_BUF_EMPTY;
    tv_table_scan scan = scan_of(query, &out);
    answer got = {0};

    met.plans[scan.plan.kind]++;
    met.without_residual += scan.plan.residual == NULL;
    if (tv_table_scan_is_point(&scan)) {
        met.single_points++;
        tv_slice value = TV_NONE;
        tv_err err =
            tv_engine_get(engine, TV_READ_ANY, tv_table_scan_point_key(&scan), scan.arena, &value);

        CHECK_OK(tv_table_scan_end_point(&scan, err, value));
        read_ids(tv_buf_slice(&out), &got);
        CHECK_INT(got.count, want->count);
        CHECK(got.count <= 1);
        CHECK_INT(got.ids[0], want->ids[0]);
        CHECK_INT(scan.page.returned, got.count);
        CHECK(scan.next.next_partition.data == NULL);
    }
    tv_buf_done(&out);
}

static size_t random_top(void)
{
    return chance(30) ? 1000 : 1 + seed_below(chance(50) ? 5 : 60);
}

static void check_pages(const expr *e, tv_table_query query)
{
    static answer want, got;

    want.count = got.count = got.examined = 0;
    want.ids[0] = got.ids[0] = 0;
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].is_there && naive_matches(e, &rows[i]))
            want.ids[want.count++] = rows[i].id;
    }
    met.empty += want.count == 0;
    check_point(&query, &want);
    query.top = random_top();
    while (read_page(&query, &got))
        ;
    for (size_t i = 0; i < want.count && i < got.count; i++)
        CHECK_INT(got.ids[i], want.ids[i]);
    CHECK_INT(got.count, want.count);
    CHECK(got.examined <= row_count);
}

/* --- rows that come and go --- */

static bool was_deleted[IDS_MAX]; /* by id */

static void change_some_rows(void)
{
    for (uint64_t i = seed_below(6); i > 0; i--) {
        if (chance(50)) {
            add_row();
            continue;
        }

        row *victim = &rows[seed_below(row_count)];

        if (victim->is_there) {
            write_change((tv_change){TV_CHANGE_DELETE, victim->key, TV_NONE});
            victim->is_there = false;
            was_deleted[victim->id] = true;
        }
    }
}

static const row *row_by_id(int id)
{
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].id == id)
            return &rows[i];
    }
    CHECK_FAIL("an id that no row of the table ever had: %d", id);
    return NULL;
}

static void forget_deleted(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].is_there)
            rows[kept++] = rows[i];
    }
    row_count = kept;
}

static void check_pages_under_change(const expr *e, tv_table_query query)
{
    int first_new_id = next_id;
    const row *last = NULL;
    static answer got;
    size_t seen = 0;

    got.count = got.examined = 0;
    query.top = random_top();
    while (read_page(&query, &got))
        change_some_rows();

    /* In order, and so nothing twice; and nothing that does not match. */
    for (size_t i = 0; i < got.count; i++) {
        const row *r = row_by_id(got.ids[i]);

        CHECK(naive_matches(e, r));
        CHECK(last == NULL || row_order(last, r) < 0);
        last = r;
        seen += r->id < first_new_id && !was_deleted[r->id];
    }
    /* All that were there from the beginning to the end. */
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].id < first_new_id && !was_deleted[rows[i].id] && naive_matches(e, &rows[i]))
            seen--;
    }
    CHECK_INT(seen, 0);
    forget_deleted();
}

static void check_filter(const expr *e)
{
    tv_buf text = TV_BUF_EMPTY;
    tv_table_query query = {.top = 1000};
    tv_error_info info = {0};
    char shown[400];

    add_expr(&text, e, 0);
    snprintf(shown, sizeof shown, "%.*s", TV_FMT(tv_buf_slice(&text)));
    t_row = shown;
    CHECK_OK(tv_filter_parse(&arena, tv_buf_slice(&text), &query.filter, &info));
    check_pages(e, query);
    if (chance(25))
        check_pages_under_change(e, query);
    tv_buf_done(&text);
    t_row = "";
}

static int set_up(__attribute__((unused)) void **state)
{
    seed_start();
    return 0;
}

TEST(planned_queries_return_what_a_naive_reader_returns)
{
    for (int i = 0; i < TABLES; i++) {
        engine = tv_memory_engine_new(NULL);
        tv_arena_init(&arena);
        table.id = 7;
        CHECK_OK(tv_table_select_parse(&arena, TV_LIT("id"), &command.select));
        memset(was_deleted, 0, sizeof was_deleted);
        make_table();
        for (int k = 0; k < FILTERS; k++) {
            check_filter(k % 20 == 19 ? huge_expr()
                         : k % 4 == 0 ? partition_expr()
                                      : random_expr((int)seed_below(5)));
            if (row_count < 30) {
                while (row_count < 50)
                    add_row();
            }
        }
        tv_engine_close(engine);
        tv_arena_done(&arena);
    }
    for (int kind = 0; kind < TV_PLAN_KINDS; kind++) {
        printf("# %s: %d\n", tv_plan_kind_name((tv_plan_kind)kind), met.plans[kind]);
        CHECK(met.plans[kind] > FILTERS * TABLES / 100);
    }
    printf("# without residual: %d, one point: %d, empty: %d, pages: %d\n", met.without_residual,
           met.single_points, met.empty, met.pages);
    CHECK(met.single_points > 0 && met.empty < FILTERS * TABLES * 3 / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planned_queries_return_what_a_naive_reader_returns),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
