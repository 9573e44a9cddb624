/*
 * What the facts say of tables of twenty kinds, against a model that knows them: what is said to be
 * exact is, what has a bound is inside, and of what is estimated 95 in 100 are.  Each table is
 * sampled with several seeds, and looked at again when it has changed since the sample.
 */
#include "insight/facts/estimate.h"

#include <math.h>

#include "check.h"
#include "insight/facts/internal.h"
#include "model/entity/entity.h"
#include "random.h"
#include "services/table/service.h"
#include "store/commit/waiter.h"
#include "store/engine/key.h"
#include "store/engine/memory/memory.h"

#define ACCOUNT TV_LIT("acct")
#define FOREVER_NS (INT64_C(1) << 50) /* nothing here depends on how fast the machine is */

enum {
    ENTITIES_MAX = 20000,
    SEEDS = 8,
    QUERIES = 8, /* of each look at a table */
    IN_A_WRITE = 200,
    LONG_KEY = 700,
    TABLE_ID = 1,
};

static tv_engine *engine;
static tv_facts *facts;
static tv_pipeline *pipeline;
static tv_waiter waiter;
static tv_arena arena;

static int set_up(__attribute__((unused)) void **state)
{
    tv_facts_options options = {
        .committer_count = 2, .format = &tv_table_facts_format, .seed = t_random() | 1};

    tv_arena_init(&arena);
    engine = options.engine = tv_memory_engine_new(NULL);
    CHECK_OK(tv_facts_open(&options, &facts));
    /* Without its background: nothing is sampled but for those who ask. */
    pipeline = tv_pipeline_new_tallied(engine, 2, 4096, tv_facts_tally(facts), facts);
    tv_waiter_init(&waiter, pipeline);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_waiter_done(&waiter);
    tv_pipeline_free(pipeline);
    tv_facts_free(facts);
    tv_engine_close(engine);
    tv_arena_done(&arena);
    return 0;
}

/* --- the model --- */

typedef enum layout { ALL_IN_ONE, EACH_ALONE, FIFTY_EACH, EVEN, SKEWED, MIXED, LONG_KEYS } layout;

typedef struct entity {
    uint32_t partition;
    uint32_t version; /* 0: it is not there */
} entity;

static entity model[ENTITIES_MAX];
static uint32_t model_count;
static layout model_layout;

static uint32_t partition_of(layout how, uint32_t i)
{
    uint64_t mixed = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);

    switch (how) {
    case ALL_IN_ONE:
        return 0;
    case EACH_ALONE:
        return i;
    case FIFTY_EACH:
        return i / 50;
    case EVEN:
        return (uint32_t)((mixed >> 40) % 100);
    case SKEWED:
        return (uint32_t)(1.0 / (1e-3 + (double)(mixed >> 11) / (double)(UINT64_C(1) << 53)));
    case MIXED:
        return i % 3 ? 0 : 1 + i / 30;
    case LONG_KEYS:
        return i / 9;
    }
    return 0;
}

static tv_slice partition_key(uint32_t number)
{
    char *text = tv_arena_bytes(&arena, 8 + LONG_KEY);
    size_t len = (size_t)snprintf(text, 8, "p%05u", number);

    if (model_layout == LONG_KEYS) {
        memset(text + len, 'x', LONG_KEY);
        len += LONG_KEY;
    }
    return (tv_slice){text, len};
}

/* The properties that all entities have, but for the last, which some have. */
typedef enum name { ID, PAIR, FEW, LUMP, GROUP, TEXT, RARE, NAMES } name;

static const char *const names[NAMES] = {"Id", "Pair", "Few", "Lump", "Group", "Text", "Rare"};

static bool has_property(uint32_t i, name n)
{
    return n != RARE || i % 37 == 5;
}

static uint64_t hash_of(uint32_t i, uint32_t version)
{
    return ((uint64_t)i + 1) * UINT64_C(0xD6E8FEB86659FD93) +
           version * UINT64_C(0x9E3779B97F4A7C15);
}

/* Two values are the same if these numbers are. */
static uint32_t value_of(uint32_t i, uint32_t version, name n)
{
    uint64_t mixed = hash_of(i, version);

    switch (n) {
    case ID:
    case RARE:
        return i * 8 + version;
    case PAIR:
        return i / 2;
    case FEW:
        return (uint32_t)(mixed >> 33) % 4;
    case LUMP: /* nearly all the same, the others each different */
        return (mixed >> 33) % 100 ? 0 : i + 1;
    case GROUP:
        return (uint32_t)((mixed >> 33) % 200 * ((mixed >> 41) % 3));
    case TEXT:
    case NAMES:
        break;
    }
    return (uint32_t)(mixed >> 33) % 301; /* a length, see encode */
}

static tv_slice encode(uint32_t i, uint32_t version, uint64_t *ret_cost)
{
    tv_property list[NAMES];
    size_t count = 0;

    for (name n = 0; n < NAMES; n++) {
        uint32_t value = value_of(i, version, n);

        if (!has_property(i, n))
            continue;
        list[count] = (tv_property){
            .name = tv_slice_of(names[n]), .type = TV_EDM_INT32, .int32 = (int32_t)value};
        if (n == TEXT) { /* a few are long, and cost twice what they take */
            size_t len = value == 300 ? 4000 : value % 7;
            char *text = tv_arena_bytes(&arena, len + 1);

            memset(text, 'a', len);
            list[count].type = TV_EDM_STRING;
            list[count].bytes = (tv_slice){text, len};
        }
        count++;
    }
    *ret_cost = 4;
    for (size_t j = 0; j < count; j++)
        *ret_cost += tv_property_cost(&list[j]);
    return tv_entity_encode(&arena, &(tv_entity_properties){list, count});
}

static tv_slice row_of(uint32_t i)
{
    tv_slice prefix, key;

    CHECK_OK(
        tv_key_partition(&arena, ACCOUNT, TABLE_ID, partition_key(model[i].partition), &prefix));
    CHECK_OK(tv_key_row(&arena, prefix, tv_arena_printf(&arena, "r%05u", i), &key));
    return key;
}

/* Entities in [from, to) of which every n-th gets another version, or goes. */
typedef struct change {
    uint32_t from, to, every;
    bool deletes;
} change;

static tv_err change_some(tv_txn *txn, void *ctx)
{
    const change *c = ctx;

    for (uint32_t i = c->from; i < c->to; i++) {
        uint64_t cost;

        if (i % c->every)
            continue;
        if (c->deletes)
            tv_txn_delete(txn, row_of(i));
        else
            tv_txn_put(txn, row_of(i), encode(i, model[i].version + 1, &cost));
    }
    return TV_OK;
}

static void make(change c)
{
    for (uint32_t i = c.from; i < c.to; i += IN_A_WRITE) {
        change some = {i, i + IN_A_WRITE < c.to ? i + IN_A_WRITE : c.to, c.every, c.deletes};
        tv_slice prefix = tv_key_table(&arena, ACCOUNT, TABLE_ID);
        /* All keys begin with a p.  These are writes of two committers. */
        tv_write write = {.partition = i / IN_A_WRITE % 2
                                           ? prefix
                                           : tv_arena_printf(&arena, "%.*sp", TV_FMT(prefix)),
                          .run = change_some,
                          .ctx = &some};

        for (uint32_t j = some.from; j < some.to; j++)
            model[j].partition = partition_of(model_layout, j);
        CHECK_OK(tv_waiter_run(&waiter, &write));
        for (uint32_t j = some.from; j < some.to; j++) {
            if (j % c.every == 0)
                model[j].version = c.deletes ? 0 : model[j].version + 1;
        }
    }
    if (c.to > model_count)
        model_count = c.to;
}

/* What the model says. */
typedef struct truth {
    uint64_t entities, bytes, billed, partitions;
    uint32_t in_partition[ENTITIES_MAX];
    uint64_t distinct[NAMES], have[NAMES];
} truth;

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void count_values(truth *t, name n)
{
    static uint32_t values[ENTITIES_MAX];
    uint64_t count = 0;

    for (uint32_t i = 0; i < model_count; i++) {
        if (model[i].version && has_property(i, n))
            values[count++] = value_of(i, model[i].version, n);
        if (n == TEXT && model[i].version) /* what is written of it */
            values[count - 1] = values[count - 1] == 300 ? 4000 : values[count - 1] % 7;
    }
    qsort(values, count, sizeof *values, compare_numbers);
    t->have[n] = count;
    for (uint64_t i = 0; i < count; i++)
        t->distinct[n] += i == 0 || values[i] != values[i - 1];
}

static void count_model(truth *t)
{
    *t = (truth){0};
    for (uint32_t i = 0; i < model_count; i++) {
        uint64_t cost;

        if (model[i].version == 0)
            continue;

        tv_slice value = encode(i, model[i].version, &cost), key = row_of(i);

        t->entities++;
        t->bytes += key.len + value.len;
        t->billed += cost + 2 * (partition_key(model[i].partition).len + strlen("r00000"));
        t->partitions += t->in_partition[model[i].partition]++ == 0;
    }
    for (name n = 0; n < NAMES; n++)
        count_values(t, n);
    tv_arena_reset(&arena);
}

/* --- what is said of it --- */

/* How many of those things that are true by chance are true. */
typedef struct tally {
    unsigned inside, all;
} tally;

static void note(tally *t, bool is_inside)
{
    t->inside += is_inside;
    t->all++;
}

static void add_tally(tally *to, tally more)
{
    to->inside += more.inside;
    to->all += more.all;
}

static void check_off(double said, double error, double is)
{
    CHECK(fabs(said - is) <= error + 0.5);
}

static void check_partitions(const tv_facts_table *got, const truth *t)
{
    uint32_t least = UINT32_MAX, listed = 0;

    check_off(got->partitions, got->partitions_error, (double)t->partitions);
    for (size_t i = 0; i < got->largest_partition_count; i++) {
        const tv_facts_partition *p = &got->largest_partitions[i];
        unsigned number = (unsigned)strtoul(p->partition_key.data + 1, NULL, 10);
        uint32_t is = t->in_partition[number];

        CHECK(!p->is_exact || p->error == 0);
        CHECK(p->entities > p->error);
        check_off((double)p->entities, (double)p->error, is);
        least = is < least ? is : least;
        listed += p->is_exact;
    }
    if (got->is_aged)
        return;

    /* They are the largest. */
    CHECK(listed == got->largest_partition_count);
    for (uint32_t i = 0; listed && i < ENTITIES_MAX; i++)
        listed -= t->in_partition[i] > least;
    CHECK(listed <= got->largest_partition_count);
    CHECK(got->largest_partition_count == t->partitions ||
          got->largest_partition_count >= TV_FACTS_PARTITIONS_MAX / 4);
}

static void check_properties(const tv_facts_table *got, const truth *t, tally *distinct)
{
    for (size_t i = 0; i < got->property_count; i++) {
        const tv_evidence_property *p = &got->properties[i];
        name n = 0;

        while (n < NAMES && !tv_slice_eq(p->name, tv_slice_of(names[n])))
            n++;
        CHECK(n < NAMES);
        CHECK(p->distinct_low <= p->distinct_high);
        if (got->sample_changes < p->count)
            CHECK(p->distinct_low >= 1);
        CHECK(p->types[n == TEXT ? TV_EDM_STRING : TV_EDM_INT32] == p->count);

        double is = (double)t->distinct[n];

        if (got->sample_is_all) {
            CHECK_INT(p->count, t->have[n]);
            CHECK(p->distinct_low == is && p->distinct_high == is);
        }
        if (p->distinct_low < p->distinct_high)
            note(distinct, p->distinct_low <= is && is <= p->distinct_high);
        else
            CHECK(p->distinct_low == is);
    }
}

/* --- queries --- */

static tv_slice random_filter(uint32_t *ret_from, uint32_t *ret_to, name *ret_name,
                              uint32_t *ret_value)
{
    uint32_t a = model_count ? model[t_random() % model_count].partition : 0;
    uint32_t b = model_count ? model[t_random() % model_count].partition : 0;

    *ret_from = a < b ? a : b;
    *ret_to = t_random() % 2 ? *ret_from : a < b ? b : a;
    *ret_name = t_random() % 3 == 0 ? FEW : t_random() % 2 ? ID : NAMES;
    *ret_value =
        *ret_name == FEW ? (uint32_t)t_random() % 4 : (uint32_t)t_random() % (8 * ENTITIES_MAX);

    tv_slice keys =
        tv_arena_printf(&arena, "PartitionKey ge '%.*s' and PartitionKey le '%.*s'",
                        TV_FMT(partition_key(*ret_from)), TV_FMT(partition_key(*ret_to)));

    if (*ret_from == *ret_to)
        keys = tv_arena_printf(&arena, "PartitionKey eq '%.*s'", TV_FMT(partition_key(*ret_from)));
    return *ret_name == NAMES
               ? keys
               : tv_arena_printf(&arena, "%.*s and %s %s %u", TV_FMT(keys), names[*ret_name],
                                 *ret_name == FEW ? "eq" : "gt", *ret_value);
}

static void check_estimate(tally *estimates)
{
    tv_error_info info = {0};
    tv_filter *filter;
    tv_estimate e;
    uint32_t from, to, value;
    name n;

    CHECK_OK(tv_filter_parse(&arena, random_filter(&from, &to, &n, &value), &filter, &info));

    tv_slice prefix = tv_key_table(&arena, ACCOUNT, TABLE_ID);
    tv_plan plan = tv_plan_make(&arena, prefix, filter);
    tv_estimate_query query = {.account = ACCOUNT,
                               .table_id = TABLE_ID,
                               .prefix = prefix,
                               .plan = &plan,
                               .probe_ns = FOREVER_NS};
    double examined = 0, returned = 0;

    CHECK_OK(tv_facts_estimate(facts, &query, &arena, &e));
    for (uint32_t i = 0; i < model_count; i++) {
        uint32_t version = model[i].version, is = version ? value_of(i, version, n) : 0;

        if (version == 0 || model[i].partition < from || model[i].partition > to)
            continue;
        examined++;
        returned += n == NAMES || (n == FEW ? is == value : is > value);
    }
    if (e.is_exact)
        CHECK(e.examined == examined && e.low == examined && e.high == examined);
    else
        note(estimates, floor(e.low) <= examined && examined <= ceil(e.high));
    if (e.returned_low < e.returned_high)
        note(estimates, floor(e.returned_low) <= returned && returned <= ceil(e.returned_high));
    else
        CHECK(e.returned == returned);
}

/* --- the tables --- */

static const struct {
    const char *what;
    layout how;
    uint32_t entities;
    change before[3]; /* the first sample; `every` is 0 for none */
} tables[] = {
    {"an empty one", ALL_IN_ONE, 0, {{0}}},
    {"one entity", ALL_IN_ONE, 1, {{0}}},
    {"a few, each alone", EACH_ALONE, 10, {{0}}},
    {"a thousand in one partition", ALL_IN_ONE, 1000, {{0}}},
    {"as many as a sample has", EVEN, 1024, {{0}}},
    {"one more", EVEN, 1025, {{0}}},
    {"some thousand in fifties", FIFTY_EACH, 3600, {{0}}},
    {"some thousand with long keys", LONG_KEYS, 3600, {{0}}},
    {"as many as are walked over at once", EACH_ALONE, 4096, {{0}}},
    {"many in one partition", ALL_IN_ONE, 12000, {{0}}},
    {"many, each alone", EACH_ALONE, 12000, {{0}}},
    {"many in fifties", FIFTY_EACH, 12000, {{0}}},
    {"more fifties than are listed", FIFTY_EACH, 18000, {{0}}},
    {"even partitions", EVEN, 12000, {{0}}},
    {"skewed partitions", SKEWED, 12000, {{0}}},
    {"one large and many small ones", MIXED, 12000, {{0}}},
    {"many with long keys", LONG_KEYS, 9000, {{0}}},
    {"a third is deleted", FIFTY_EACH, 12000, {{0, 12000, 3, true}}},
    {"whole partitions are deleted", FIFTY_EACH, 12000, {{2000, 7000, 1, true}}},
    {"all is replaced, some twice", EVEN, 9000, {{0, 9000, 1, false}, {0, 9000, 2, false}}},
    {"all is deleted and half comes again",
     SKEWED,
     9000,
     {{0, 9000, 1, true}, {0, 9000, 2, false}}},
    {"all but a few are deleted", EACH_ALONE, 9000, {{0, 8900, 1, true}}},
};

static void forget_sample(void)
{
    tv_fact *fact = tv_fact_find_id(facts, ACCOUNT, TABLE_ID);

    pthread_mutex_lock(&fact->lock);
    tv_fact_forget_sample(facts, fact);
    pthread_mutex_unlock(&fact->lock);
    tv_fact_unref(fact);
}

static void look(int64_t wait_ns, tally *distinct, tally *estimates)
{
    static truth t;
    tv_facts_table got;

    count_model(&t);
    CHECK_OK(tv_facts_take(facts, ACCOUNT, TABLE_ID, TV_FACTS_KEYS | TV_FACTS_PROPERTIES, wait_ns,
                           &arena, &got));
    CHECK_INT(got.count.basis, TV_FACTS_EXACT);
    CHECK_INT(got.count.entities, t.entities);
    CHECK_INT(got.count.bytes, t.bytes);
    if (!got.has_sample) { /* of a small table that could not be walked over in 20 ms */
        CHECK(wait_ns == TV_FACTS_WAIT_LEAST_NS && t.entities <= 4096);
        return;
    }
    CHECK(got.is_aged == (got.sample_changes > 0));
    check_off(got.billed, got.billed_error, (double)t.billed);
    CHECK(got.is_aged || got.billed_error == 0);
    check_partitions(&got, &t);
    check_properties(&got, &t, distinct);
    for (int i = 0; i < QUERIES; i++)
        check_estimate(estimates);
    tv_arena_reset(&arena);
}

static void check_table(size_t row, tally *distinct, tally *estimates)
{
    uint32_t entities = tables[row].entities;
    change after[] = {{entities, entities + entities / 30, 1, false},
                      {0, entities, 41, true},
                      {1, entities, 43, false}};

    memset(model, 0, sizeof model);
    model_count = 0;
    model_layout = tables[row].how;
    make((change){0, entities, 1, false});
    for (size_t i = 0; i < 3 && tables[row].before[i].every; i++)
        make(tables[row].before[i]);
    for (int seed = 0; seed < SEEDS; seed++) {
        forget_sample();
        look(FOREVER_NS, distinct, estimates);
    }
    /* What came, went and changed since is in no sample of a large table. */
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        make(after[i]);
        look(TV_FACTS_WAIT_LEAST_NS, distinct, estimates);
    }
}

static void check_tally(const char *what, tally t, unsigned per_cent)
{
    print_message("# %s: %u of %u inside\n", what, t.inside, t.all);
    CHECK(t.inside * 100 >= t.all * per_cent);
}

TEST(what_is_said_of_tables_of_twenty_kinds_is_true)
{
    tally all_distinct = {0}, all_estimates = {0};

    t_random_seed(25);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        tally distinct = {0}, estimates = {0};

        if (i > 0) {
            tear_down(NULL);
            set_up(NULL);
        }
        t_row = tables[i].what;
        check_table(i, &distinct, &estimates);
        print_message("# %s\n", tables[i].what);
        check_tally("distinct values", distinct, 95);
        check_tally("entities examined and returned", estimates, 95);
        add_tally(&all_distinct, distinct);
        add_tally(&all_estimates, estimates);
    }
    t_row = "all";
    check_tally("distinct values", all_distinct, 95);
    check_tally("entities examined and returned", all_estimates, 95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_said_of_tables_of_twenty_kinds_is_true, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
