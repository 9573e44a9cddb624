/* Estimates against what queries examine, on tables of six kinds. */
#include "insight/facts/estimate.h"

#include <math.h>

#include "check.h"
#include "model/entity/entity.h"
#include "random.h"
#include "services/table/row_test.h"
#include "services/table/service.h"
#include "store/commit/waiter.h"
#include "store/engine/key.h"
#include "store/engine/memory/memory.h"
#include "wait.h"

#define ACCOUNT TV_LIT("acct")

enum { ENTITIES = 20000, QUERIES = 60, IN_A_WRITE = 100 };

#define FOREVER_NS (INT64_C(1) << 50) /* nothing here depends on how fast the machine is */

static tv_engine *engine;
static tv_facts *facts;
static tv_pipeline *pipeline;
static tv_waiter waiter;
static tv_arena arena;

static int set_up(__attribute__((unused)) void **state)
{
    tv_facts_options options = {.committer_count = 1, .format = &tv_table_facts_format};

    tv_arena_init(&arena);
    engine = options.engine = tv_memory_engine_new(NULL);
    if (tv_facts_open(&options, &facts))
        return -1;
    pipeline = tv_pipeline_new_tallied(engine, 1, 4096, tv_facts_tally(facts), facts);
    tv_waiter_init(&waiter, pipeline);
    tv_facts_start(facts, pipeline);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_facts_stop(facts);
    tv_waiter_done(&waiter);
    tv_pipeline_free(pipeline);
    tv_facts_free(facts);
    tv_engine_close(engine);
    tv_arena_done(&arena);
    return 0;
}

/* --- tables --- */

typedef enum kind { UNIFORM, ZIPF, ONE_PARTITION, ONE_EACH, TIME_SERIES, MIXED, KINDS } kind;

static const char *const kind_names[KINDS] = {"uniform",       "zipf partitions",
                                              "one partition", "one entity a partition",
                                              "time series",   "mixed"};

/* The keys of the i-th entity. */
static void name_entity(kind k, uint64_t i, char partition[32], char row[32])
{
    uint64_t mixed = i * UINT64_C(0x9E3779B97F4A7C15);

    snprintf(row, 32, "r%06llu", (unsigned long long)i);
    switch (k) {
    case UNIFORM:
        snprintf(partition, 32, "p%03llu", (unsigned long long)(mixed >> 40) % 200);
        break;
    case ZIPF: {
        unsigned partition_number = 1;

        while (partition_number < 300 && (mixed >> (10 + partition_number % 40)) % 4)
            partition_number += partition_number / 2 + 1;
        snprintf(partition, 32, "p%03u", partition_number);
        break;
    }
    case ONE_PARTITION:
        snprintf(partition, 32, "all");
        break;
    case ONE_EACH:
        snprintf(partition, 32, "u%06llu", (unsigned long long)i);
        break;
    case TIME_SERIES:
        snprintf(partition, 32, "202611%02llu", (unsigned long long)i / 900);
        break;
    default:
        if (i % 2)
            snprintf(partition, 32, "big");
        else
            snprintf(partition, 32, "s%05llu", (unsigned long long)i / 7);
        break;
    }
}

typedef struct load {
    kind k;
    uint64_t from, to;
    int64_t id;
} load;

/* Half of the ages are below 16, some are rare; two of three are active. */
static tv_slice value_of(uint64_t i)
{
    uint64_t mixed = (i + 1) * UINT64_C(0xD6E8FEB86659FD93);
    int32_t age = (int32_t)((mixed >> 33) % 16 * ((mixed >> 40) % 16));
    tv_property list[] = {
        {.name = TV_LIT("Age"), .type = TV_EDM_INT32, .int32 = age},
        {.name = TV_LIT("Active"), .type = TV_EDM_BOOLEAN, .boolean = i % 3 != 0},
    };

    return tv_entity_encode(&arena, &(tv_entity_properties){list, 2});
}

/* Rows of any partition: nothing of the group's order matters here. */
static tv_err put_some(tv_txn *txn, void *ctx)
{
    load *l = ctx;

    for (uint64_t i = l->from; i < l->to; i++) {
        char partition[32], row[32];
        tv_slice prefix, key;

        name_entity(l->k, i, partition, row);
        CHECK_OK(tv_key_partition(&arena, ACCOUNT, l->id, tv_slice_of(partition), &prefix));
        CHECK_OK(tv_key_row(&arena, prefix, tv_slice_of(row), &key));
        tv_txn_put(txn, key, value_of(i));
    }
    return TV_OK;
}

static void load_some(kind k, int64_t id, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i += IN_A_WRITE) {
        load l = {k, i, i + IN_A_WRITE, id};
        tv_write write = {
            .partition = tv_key_table(&arena, ACCOUNT, id), .run = put_some, .ctx = &l};

        CHECK_OK(tv_waiter_run(&waiter, &write));
    }
}

static void sample_table(int64_t id)
{
    tv_facts_recount(facts, ACCOUNT, id);
    WAIT_UNTIL(tv_facts_counting(facts) == 0);
}

static tv_slice load_table(kind k, int64_t id)
{
    load_some(k, id, 0, ENTITIES);
    sample_table(id);
    return tv_arena_dup(&arena, tv_key_table(&arena, ACCOUNT, id));
}

static tv_facts_table table_within(int64_t id, int64_t wait_ns)
{
    tv_facts_table table;

    CHECK_OK(tv_facts_take(facts, ACCOUNT, id, TV_FACTS_KEYS, wait_ns, &arena, &table));
    return table;
}

static tv_facts_table table_of(int64_t id)
{
    return table_within(id, TV_FACTS_WAIT_LEAST_NS);
}

/* A table of which an eighth has come since its sample, and there is nobody to take another. */
static tv_slice load_old_sample(kind k, int64_t id)
{
    enum { NEW = ENTITIES / 8 };

    tv_facts_stop(facts);
    tv_facts_start(facts, pipeline);
    load_some(k, id, 0, ENTITIES - NEW);
    sample_table(id);
    CHECK_INT(table_of(id).sample_changes, 0);
    tv_facts_stop(facts);
    load_some(k, id, ENTITIES - NEW, ENTITIES);
    CHECK_INT(table_of(id).sample_changes, NEW);
    CHECK(table_of(id).partitions_error > 0);
    return tv_arena_dup(&arena, tv_key_table(&arena, ACCOUNT, id));
}

/* --- queries --- */

static tv_slice random_ranges(kind k)
{
    char partition[32], row[32], other[32], last[32];
    uint64_t a = t_random() % ENTITIES, b = t_random() % ENTITIES;

    name_entity(k, a < b ? a : b, partition, row);
    name_entity(k, a < b ? b : a, other, last);
    switch (t_random() % 5) {
    case 0:
        return tv_arena_printf(&arena, "PartitionKey eq '%s'", partition);
    case 1:
        return tv_arena_printf(&arena, "PartitionKey eq '%s' and RowKey ge '%s' and RowKey lt '%s'",
                               partition, row, last);
    case 2:
        return tv_arena_printf(&arena, "PartitionKey ge '%s' and PartitionKey lt '%s'",
                               strcmp(partition, other) < 0 ? partition : other,
                               strcmp(partition, other) < 0 ? other : partition);
    case 3:
        return tv_arena_printf(&arena, "PartitionKey eq '%s' or PartitionKey eq '%s'", partition,
                               other);
    default:
        return tv_arena_printf(&arena, "PartitionKey gt '%s'", partition);
    }
}

/* Every other one with a test on properties. */
static tv_slice random_filter(kind k)
{
    tv_slice ranges = random_ranges(k);

    switch (t_random() % 6) {
    case 0:
        return tv_arena_printf(&arena, "(%.*s) and Age gt %u", TV_FMT(ranges),
                               (unsigned)(t_random() % 200));
    case 1:
        return tv_arena_printf(&arena, "(%.*s) and Active and Age lt %u", TV_FMT(ranges),
                               (unsigned)(t_random() % 40));
    case 2:
        return tv_arena_printf(&arena, "(%.*s) and not (Age eq %u)", TV_FMT(ranges),
                               (unsigned)(t_random() % 20));
    default:
        return ranges;
    }
}

/* Run it: how many entities are examined, and how many of them pass. */
static uint64_t examine(tv_slice prefix, const tv_plan *plan, size_t top, uint64_t *ret_returned)
{
    tv_table_row_test *test = tv_table_row_test_new(&arena, plan);
    uint64_t count = 0;

    *ret_returned = 0;

    for (size_t i = 0; i < plan->count; i++) {
        tv_iter *iter;

        CHECK_OK(tv_engine_iter(engine, plan->ranges[i].from, plan->ranges[i].to, &iter));
        for (tv_iter_seek(iter, plan->ranges[i].from);
             tv_iter_is_valid(iter) && (top == 0 || *ret_returned < top); tv_iter_next(iter)) {
            tv_table_row row = {.key = tv_iter_key(iter), .value = tv_iter_value(iter)};
            bool passes;

            CHECK_OK(tv_table_row_passes(test, &row, prefix, &arena, &passes));
            count++;
            *ret_returned += passes;
        }
        tv_iter_free(iter);
    }
    return count;
}

/* Wherever a number stands, what it is bounded by stands round it. */
static void check_order(const tv_estimate *e, size_t top)
{
    CHECK(e->low <= e->examined && e->examined <= e->high);
    CHECK(e->returned_low <= e->returned && e->returned <= e->returned_high);
    CHECK(e->returned <= e->examined && e->returned_high <= e->high);
    CHECK(top == 0 || e->returned_high <= (double)top);
    CHECK(!e->is_exact || e->low == e->high);
    CHECK(e->ms >= 0 && e->pages >= 1 && e->azure_examined >= 0);
}

static void check_nine_of_ten(tv_slice (*make)(kind k, int64_t id))
{
    unsigned inside = 0, returned_inside = 0, all = 0, exact = 0;

    t_random_seed(5);
    for (int k = 0; k < KINDS; k++) {
        tv_slice prefix = make((kind)k, k + 1);
        unsigned here = 0, returned_here = 0;

        t_row = kind_names[k];
        for (int i = 0; i < QUERIES; i++) {
            tv_error_info info = {0};
            tv_filter *filter;
            tv_estimate e;

            CHECK_OK(tv_filter_parse(&arena, random_filter((kind)k), &filter, &info));

            tv_plan plan = tv_plan_make(&arena, prefix, filter);
            tv_estimate_query query = {.account = ACCOUNT,
                                       .table_id = k + 1,
                                       .prefix = prefix,
                                       .plan = &plan,
                                       .top = t_random() % 8 ? 0 : 1 + t_random() % 100,
                                       .probe_ns = FOREVER_NS};
            uint64_t returned;

            CHECK_OK(tv_facts_estimate(facts, &query, &arena, &e));
            check_order(&e, query.top);

            double got = (double)examine(prefix, &plan, query.top, &returned);

            here += got >= floor(e.low) && got <= ceil(e.high);
            returned_here += (double)returned >= floor(e.returned_low) &&
                             (double)returned <= ceil(e.returned_high);
            if (e.is_exact) {
                CHECK_INT((long long)e.examined, (long long)got);
                exact++;
            }
            if (e.returned_basis == TV_SHARE_COUNTED)
                CHECK_INT((long long)e.returned, (long long)returned);
            tv_facts_note_estimate(facts, &e, (uint64_t)got);
        }
        print_message("# %s: of %d, %u examined and %u returned inside\n", kind_names[k], QUERIES,
                      here, returned_here);
        CHECK(here * 10 >= QUERIES * 8 && returned_here * 10 >= QUERIES * 8);
        inside += here;
        returned_inside += returned_here;
        all += QUERIES;
    }
    print_message("# of %u, %u examined and %u returned inside; %u exact\n", all, inside,
                  returned_inside, exact);
    CHECK(inside * 10 >= all * 9);
    CHECK(returned_inside * 10 >= all * 9);
    CHECK(exact > 0 && exact < all);
}

TEST(nine_of_ten_estimates_hold_what_queries_examine_and_return)
{
    check_nine_of_ten(load_table);
}

TEST(nine_of_ten_estimates_hold_when_the_sample_is_old)
{
    check_nine_of_ten(load_old_sample);
}

TEST(a_table_that_has_changed_much_is_sampled_anew)
{
    load_some(UNIFORM, 1, 0, ENTITIES / 2);
    WAIT_UNTIL(table_of(1).sample_count && 5 * table_of(1).sample_changes <= ENTITIES / 2);
    load_some(UNIFORM, 1, ENTITIES / 2, ENTITIES);
    WAIT_UNTIL(5 * table_of(1).sample_changes <= ENTITIES);
}

static const struct {
    const char *what, *filter;
    tv_estimate_basis basis;
    double examined;
    const char *azure;
    double azure_examined;
} cases[] = {
    {"nothing matches", "PartitionKey eq 'a' and PartitionKey eq 'b'", TV_ESTIMATE_COUNTED, 0,
     "point", 0},
    {"one entity", "PartitionKey eq 'all' and RowKey eq 'r000007'", TV_ESTIMATE_COUNTED, 1, "point",
     1},
    {"few are counted", "PartitionKey eq 'all' and RowKey lt 'r000500'", TV_ESTIMATE_COUNTED, 500,
     "range", 500},
    {"a whole table is known", "", TV_ESTIMATE_TABLE_FACT, ENTITIES, "table", ENTITIES},
    {"a large partition is known", "PartitionKey eq 'all'", TV_ESTIMATE_PARTITION_FACT, ENTITIES,
     "partition", ENTITIES},
    {"an or of RowKeys reads the partition in Azure",
     "PartitionKey eq 'all' and (RowKey eq 'r000001' or RowKey eq 'r000900')", TV_ESTIMATE_COUNTED,
     2, "partition", ENTITIES},
    {"an or of partitions may read the table there", "PartitionKey eq 'all' or PartitionKey eq 'b'",
     TV_ESTIMATE_PARTITION_FACT, ENTITIES, "table", ENTITIES},
};

TEST(who_can_wait_has_a_sample_without_the_background)
{
    tv_facts_stop(facts);
    load_some(UNIFORM, 1, 0, ENTITIES / 2);
    CHECK_INT(table_of(1).sample_count, 0);
    CHECK_INT(table_of(1).count.entities, ENTITIES / 2);

    tv_facts_table table = table_within(1, FOREVER_NS);

    CHECK(table.sample_count > 0);
    CHECK_INT(table.sample_changes, 0);
    CHECK(table.largest_partitions[0].is_exact);

    /* An old one is as good as none for them, but not for others. */
    load_some(UNIFORM, 1, ENTITIES / 2, ENTITIES);
    CHECK_INT(table_of(1).sample_changes, ENTITIES / 2);
    CHECK_INT(table_within(1, FOREVER_NS).sample_changes, 0);
}

TEST(an_estimate_says_what_it_goes_by)
{
    tv_slice prefix = load_table(ONE_PARTITION, 1);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tv_error_info info = {0};
        tv_filter *filter;
        tv_estimate e;

        t_row = cases[i].what;
        CHECK_OK(tv_filter_parse(&arena, tv_slice_of(cases[i].filter), &filter, &info));

        tv_plan plan = tv_plan_make(&arena, prefix, filter);
        tv_estimate_query query = {.account = ACCOUNT,
                                   .table_id = 1,
                                   .prefix = prefix,
                                   .plan = &plan,
                                   .probe_ns = FOREVER_NS};

        CHECK_OK(tv_facts_estimate(facts, &query, &arena, &e));
        CHECK_TEXT(tv_slice_of(tv_estimate_basis_name(e.basis)),
                   tv_estimate_basis_name(cases[i].basis));
        CHECK_INT((long long)e.examined, (long long)cases[i].examined);
        CHECK_TEXT(tv_slice_of(e.azure_plan), cases[i].azure);
        CHECK_INT((long long)e.azure_examined, (long long)cases[i].azure_examined);
    }
}

/* --- what queries of the same shape have returned --- */

static tv_estimate estimate_with(tv_slice prefix, const char *text,
                                 const tv_estimate_history *history, const tv_query_cost *cost)
{
    tv_error_info info = {0};
    tv_filter *filter;
    tv_estimate e;

    CHECK_OK(tv_filter_parse(&arena, tv_slice_of(text), &filter, &info));

    tv_plan plan = tv_plan_make(&arena, prefix, filter);
    tv_estimate_query query = {.account = ACCOUNT,
                               .table_id = 1,
                               .prefix = prefix,
                               .plan = &plan,
                               .history = history,
                               .cost = cost,
                               .probe_ns = FOREVER_NS};

    CHECK_OK(tv_facts_estimate(facts, &query, &arena, &e));
    check_order(&e, 0);
    return e;
}

TEST(a_history_tells_of_what_is_rare)
{
    tv_slice prefix = load_table(ONE_PARTITION, 1);
    tv_estimate_history rare = {
        .examined = 1000000, .returned = 500, .bytes = 50000, .share_high = 0.001};
    tv_estimate_history short_one = {.examined = 999, .returned = 999, .share_high = 1};
    tv_estimate none = estimate_with(prefix, "Age gt 300", NULL, NULL);
    tv_estimate by_history = estimate_with(prefix, "Age gt 300", &rare, NULL);

    CHECK_INT(none.returned_basis, TV_SHARE_SAMPLE);
    CHECK_INT(by_history.returned_basis, TV_SHARE_HISTORY);
    CHECK_INT((long long)(by_history.returned + 0.5), ENTITIES * 500 / 1000000);
    CHECK(by_history.returned_high == none.returned_high);
    CHECK_INT(estimate_with(prefix, "Age gt 300", &short_one, NULL).returned_basis,
              TV_SHARE_SAMPLE);

    /* What is common the sample knows better, for it knows the value. */
    CHECK_INT(estimate_with(prefix, "Age lt 1000", &rare, NULL).returned_basis, TV_SHARE_SAMPLE);
    CHECK_INT((long long)estimate_with(prefix, "Age lt 1000", &rare, NULL).returned, ENTITIES);
}

/* Every earlier query returned one, and the probe of this one has found one already. */
TEST(a_history_of_one_each_is_one_also_when_it_is_found_at_once)
{
    tv_slice prefix = load_table(ONE_PARTITION, 1);
    tv_estimate_history one = {.examined = 40 * ENTITIES,
                               .returned = 40,
                               .bytes = 4000,
                               .share_low = 1.0 / ENTITIES,
                               .share_high = 1.0 / ENTITIES};
    tv_estimate e = estimate_with(prefix, "RowKey eq 'r000007' and Age ge 0 or Age gt 300", &one,
                                  NULL);

    CHECK_INT(e.returned_basis, TV_SHARE_HISTORY);
    CHECK(e.returned > 0.99 && e.returned < 1.01);
}

TEST(a_query_of_few_entities_is_counted_and_tested)
{
    tv_slice prefix = load_table(ONE_PARTITION, 1);
    tv_estimate e = estimate_with(
        prefix, "PartitionKey eq 'all' and RowKey lt 'r000300' and Active", NULL, NULL);

    CHECK(e.is_exact);
    CHECK_INT(e.returned_basis, TV_SHARE_COUNTED);
    CHECK_INT((long long)e.examined, 300);
    CHECK_INT((long long)e.returned, 200);
    CHECK(e.returned_low == e.returned && e.returned_high == e.returned);
}

/* --- what pages have cost --- */

TEST(time_goes_by_what_pages_have_cost)
{
    static const tv_query_work pages[] = {{1, 1000, 1000, 250000},
                                          {1, 50000, 10, 3000},
                                          {1, 1, 1, 250},
                                          {20, 300, 40, 10000},
                                          {1, 8000, 1000, 100000}};
    enum { PAGES = sizeof pages / sizeof *pages };
    tv_slice prefix = load_table(ONE_PARTITION, 1);
    tv_query_cost cost = {0};
    double before_ms = estimate_with(prefix, "", NULL, &cost).ms;

    for (int round = 0; round < 400; round++) {
        for (int i = 0; i < PAGES; i++) {
            const tv_query_work *w = &pages[i];
            double ns = 9000 * w->ranges + 2500 * w->examined + 3 * w->bytes;

            tv_query_cost_note(&cost, w, t_random() % 8 ? ns : ns * 1.5); /* some were disturbed */
        }
    }
    for (int i = 0; i < PAGES; i++) {
        const tv_query_work *w = &pages[i];
        double ns = 9000 * w->ranges + 2500 * w->examined + 3 * w->bytes;
        double ratio = tv_query_cost_ns(&cost, w) / ns;

        CHECK(ratio > 0.8 && ratio < 1.4);
    }
    CHECK(estimate_with(prefix, "", NULL, &cost).ms > 2 * before_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nine_of_ten_estimates_hold_what_queries_examine_and_return,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(nine_of_ten_estimates_hold_when_the_sample_is_old, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_table_that_has_changed_much_is_sampled_anew, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(who_can_wait_has_a_sample_without_the_background, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_estimate_says_what_it_goes_by, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_history_tells_of_what_is_rare, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_history_of_one_each_is_one_also_when_it_is_found_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_query_of_few_entities_is_counted_and_tested, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(time_goes_by_what_pages_have_cost, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
