/* Estimates against what queries examine, on tables of six kinds. */
#include "facts/estimate.h"

#include "check.h"
#include "commit/waiter.h"
#include "engine/key.h"
#include "engine/memory/memory.h"
#include "random.h"

#define ACCOUNT TV_LIT("acct")

enum { ENTITIES = 20000, QUERIES = 60, IN_A_WRITE = 100 };

static tv_engine *engine;
static tv_facts *facts;
static tv_pipeline *pipeline;
static tv_waiter waiter;
static tv_arena arena;

static tv_err walk_value(tv_slice value, void (*fn)(void *ctx, const tv_property *property),
                         void *ctx)
{
    tv_property property = {.name = TV_LIT("Text"), .type = TV_EDM_STRING, .bytes = value};

    fn(ctx, &property);
    return TV_OK;
}

static const tv_facts_format format = {.walk = walk_value};

static int set_up(__attribute__((unused)) void **state)
{
    tv_facts_options options = {.committer_count = 1, .format = &format};

    tv_arena_init(&arena);
    engine = options.engine = tv_memory_engine_new(NULL);
    if (tv_facts_open(&options, &facts))
        return -1;
    pipeline = tv_pipeline_new_tallied(engine, 1, 4096, tv_facts_tally(facts), facts);
    tv_waiter_init(&waiter, pipeline);
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
        tv_txn_put(txn, key, TV_LIT("value"));
    }
    return TV_OK;
}

static tv_slice load_table(kind k, int64_t id)
{
    tv_slice prefix = tv_arena_dup(&arena, tv_key_table(&arena, ACCOUNT, id));

    for (uint64_t i = 0; i < ENTITIES; i += IN_A_WRITE) {
        load l = {k, i, i + IN_A_WRITE, id};
        tv_write write = {.partition = prefix, .run = put_some, .ctx = &l};

        CHECK_OK(tv_waiter_run(&waiter, &write));
    }
    return prefix;
}

/* --- queries --- */

static tv_slice random_filter(kind k)
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

static uint64_t examine(const tv_plan *plan)
{
    uint64_t count = 0;

    for (size_t i = 0; i < plan->count; i++) {
        tv_iter *iter;

        CHECK_OK(tv_engine_iter(engine, plan->ranges[i].from, plan->ranges[i].to, &iter));
        for (tv_iter_seek(iter, plan->ranges[i].from); tv_iter_is_valid(iter); tv_iter_next(iter))
            count++;
        tv_iter_free(iter);
    }
    return count;
}

TEST(nine_of_ten_estimates_hold_what_queries_examine)
{
    unsigned inside = 0, all = 0, exact = 0;

    t_random_seed(5);
    for (int k = 0; k < KINDS; k++) {
        tv_slice prefix = load_table((kind)k, k + 1);
        unsigned here = 0;

        t_row = kind_names[k];
        for (int i = 0; i < QUERIES; i++) {
            tv_error_info info = {0};
            tv_filter *filter;
            tv_estimate e;

            CHECK_OK(tv_filter_parse(&arena, random_filter((kind)k), &filter, &info));

            tv_plan plan = tv_plan_make(&arena, prefix, filter);
            tv_estimate_query query = {
                .account = ACCOUNT, .table_id = k + 1, .prefix = prefix, .plan = &plan};

            CHECK_OK(tv_facts_estimate(facts, &query, &arena, &e));

            double got = (double)examine(&plan);

            CHECK(e.low <= e.examined && e.examined <= e.high);
            here += got >= e.low && got <= e.high;
            if (e.low == e.high) {
                CHECK_INT((long long)e.examined, (long long)got);
                exact++;
            }
            tv_facts_note_estimate(facts, &e, (uint64_t)got);
        }
        print_message("# %s: %u of %d inside\n", kind_names[k], here, QUERIES);
        inside += here;
        all += QUERIES;
    }
    print_message("# %u of %u inside, %u exact\n", inside, all, exact);
    CHECK(inside * 10 >= all * 9);
    CHECK(exact > 0 && exact < all);
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
     TV_ESTIMATE_KEY_SAMPLE, ENTITIES, "table", ENTITIES},
};

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
        tv_estimate_query query = {
            .account = ACCOUNT, .table_id = 1, .prefix = prefix, .plan = &plan};

        CHECK_OK(tv_facts_estimate(facts, &query, &arena, &e));
        CHECK_TEXT(tv_slice_of(tv_estimate_basis_name(e.basis)),
                   tv_estimate_basis_name(cases[i].basis));
        CHECK_INT((long long)e.examined, (long long)cases[i].examined);
        CHECK_TEXT(tv_slice_of(e.azure_plan), cases[i].azure);
        CHECK_INT((long long)e.azure_examined, (long long)cases[i].azure_examined);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nine_of_ten_estimates_hold_what_queries_examine, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_estimate_says_what_it_goes_by, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
