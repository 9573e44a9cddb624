/* Facts kept at commit, against a model that counts: after any group, failure, restart and drop. */
#include "insight/facts/facts.h"

#include "base/buf.h"
#include "check.h"
#include "insight/facts/rows.h"
#include "random.h"
#include "store/commit/waiter.h"
#include "store/engine/instant.h"
#include "store/engine/key.h"
#include "store/engine/memory/memory.h"
#include "wait.h"

enum { COMMITTERS = 2, TABLES = 3, PARTITIONS = 5, ROWS = 40, CHANGES_MAX = 6 };

#define ACCOUNT TV_LIT("acct")

static tv_engine *engine;
static tv_facts *facts;
static tv_pipeline *pipeline;
static tv_waiter waiter;
static tv_arena arena;

/* What is stored here is no entity: all of it is one property. */
static tv_err walk_value(tv_slice value, void (*fn)(void *ctx, const tv_property *property),
                         void *ctx)
{
    tv_property property = {.name = TV_LIT("Text"), .type = TV_EDM_STRING, .bytes = value};

    fn(ctx, &property);
    return TV_OK;
}

static const tv_facts_format format = {.walk = walk_value};

/* --- a store that can be started again --- */

static void start_facts(void)
{
    tv_facts_options options = {
        .engine = engine, .format = &format, .committer_count = COMMITTERS, .round_ms = 1};

    CHECK_OK(tv_facts_upgrade(engine));
    CHECK_OK(tv_facts_open(&options, &facts));
    pipeline = tv_pipeline_new_tallied(engine, COMMITTERS, 4096, tv_facts_tally(facts), facts);
    tv_waiter_init(&waiter, pipeline);
}

static void stop_facts(void)
{
    tv_facts_stop(facts);
    tv_waiter_done(&waiter);
    tv_pipeline_free(pipeline);
    tv_facts_free(facts);
}

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    engine = tv_memory_engine_new(NULL);
    start_facts();
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    stop_facts();
    tv_engine_close(engine);
    tv_arena_done(&arena);
    return 0;
}

/* --- the model --- */

/* Lengths of the values; 0: there is no such entity. */
static size_t model[TABLES][PARTITIONS][ROWS];
static int64_t ids[TABLES];

typedef struct change {
    int row;
    size_t len; /* 0 deletes */
} change;

typedef struct group {
    int table, partition;
    change changes[CHANGES_MAX];
    int count;
    bool fails; /* after all of its changes */
} group;

static tv_slice partition_prefix(int table, int partition)
{
    char name[16];
    tv_slice prefix;

    snprintf(name, sizeof name, "p%d", partition);
    CHECK_OK(tv_key_partition(&arena, ACCOUNT, ids[table], tv_slice_of(name), &prefix));
    return prefix;
}

static tv_slice key_of(tv_slice partition, int row)
{
    char name[16];
    tv_slice key;

    snprintf(name, sizeof name, "r%03d", row);
    CHECK_OK(tv_key_row(&arena, partition, tv_slice_of(name), &key));
    return key;
}

static tv_slice value_of(size_t len)
{
    char *text = tv_arena_bytes(&arena, len);

    memset(text, 'v', len);
    return (tv_slice){text, len};
}

static tv_err run_group(tv_txn *txn, void *ctx)
{
    const group *g = ctx;
    tv_slice prefix = partition_prefix(g->table, g->partition);

    for (int i = 0; i < g->count; i++) {
        tv_slice key = key_of(prefix, g->changes[i].row), stored;
        tv_err err;

        /* Some look first, as changes of entities do, and some do not. */
        if (g->changes[i].row % 3) {
            err = tv_txn_get(txn, key, &stored);
            if (err && err != TV_ERR_NOT_FOUND)
                return err;
        }
        if (g->changes[i].len)
            tv_txn_put(txn, key, value_of(g->changes[i].len));
        else
            tv_txn_delete(txn, key);
    }
    return g->fails ? TV_ERR_ETAG_MISMATCH : TV_OK;
}

static tv_err run_one(group *g)
{
    tv_write write = {
        .partition = partition_prefix(g->table, g->partition), .run = run_group, .ctx = g};
    tv_err err = tv_waiter_run(&waiter, &write);

    for (int i = 0; err == TV_OK && i < g->count; i++)
        model[g->table][g->partition][g->changes[i].row] = g->changes[i].len;
    return err;
}

static group random_group(void)
{
    group g = {.table = (int)(t_random() % TABLES),
               .partition = (int)(t_random() % PARTITIONS),
               .count = 1 + (int)(t_random() % CHANGES_MAX),
               .fails = t_random() % 8 == 0};

    for (int i = 0; i < g.count; i++)
        g.changes[i] = (change){.row = (int)(t_random() % ROWS),
                                .len = t_random() % 3 ? 1 + t_random() % 300 : 0};
    return g;
}

static void check_partition(const tv_facts_table *table, tv_slice partition_key, uint64_t entities)
{
    for (size_t i = 0; i < table->largest_partition_count; i++) {
        const tv_facts_partition *partition = &table->largest_partitions[i];

        if (partition->is_exact && tv_slice_eq(partition->partition_key, partition_key)) {
            CHECK_INT(partition->entities, entities);
            return;
        }
    }
    CHECK(!table->sample_is_all || entities == 0);
}

/* What the facts must say of a table. */
static void check_table(int table)
{
    uint64_t entities = 0, bytes = 0, partitions = 0, largest = 0;
    tv_facts_table got;

    CHECK_OK(tv_facts_take(facts, ACCOUNT, ids[table], TV_FACTS_KEYS | TV_FACTS_PROPERTIES,
                           TV_FACTS_WAIT_NS, &arena, &got));
    for (int p = 0; p < PARTITIONS; p++) {
        uint64_t here = 0;
        char name[16];

        for (int r = 0; r < ROWS; r++) {
            size_t len = model[table][p][r];

            if (len == 0)
                continue;

            uint64_t size = key_of(partition_prefix(table, p), r).len + len;

            here++;
            bytes += size;
            if (size > largest)
                largest = size;
        }
        entities += here;
        partitions += here != 0;
        snprintf(name, sizeof name, "p%d", p);
        check_partition(&got, tv_slice_of(name), here);
    }
    CHECK_INT(got.count.basis, TV_FACTS_EXACT);
    CHECK_INT(got.count.entities, entities);
    CHECK_INT(got.count.bytes, bytes);
    if (got.sample_is_all) {
        CHECK_INT(got.sample_count, entities);
        CHECK_INT((long long)got.partitions, partitions);
        CHECK_INT(got.property_samples, entities);
    }
    if (got.largest_count)
        CHECK_INT(got.largest[0].bytes, largest);
}

static void check_all(void)
{
    for (int i = 0; i < TABLES; i++)
        check_table(i);
}

static void clear_model(void)
{
    memset(model, 0, sizeof model);
    for (int i = 0; i < TABLES; i++)
        ids[i] = i + 1;
}

static void drop_table(int table)
{
    tv_slice rows = tv_key_table(&arena, ACCOUNT, ids[table]);

    tv_pipeline_drain(pipeline);
    CHECK_OK(tv_facts_drop(facts, ACCOUNT, ids[table]));
    CHECK_OK(tv_engine_drop_range(engine, rows, tv_key_after(&arena, rows)));
    ids[table] += TABLES; /* the next of that name has another id */
    memset(model[table], 0, sizeof model[table]);
}

static void wait_for_counts(void)
{
    WAIT_UNTIL(tv_facts_counting(facts) == 0);
}

TEST(counts_are_those_of_a_model_after_anything)
{
    clear_model();
    t_random_seed(20261117);
    for (int step = 0; step < 4000; step++) {
        group g = random_group();
        uint64_t what = t_random() % 100;

        t_row = "step";
        if (what < 4)
            tv_memory_fail_writes(engine, 1, 1 + t_random() % 3,
                                  t_random() % 2 ? TV_ERR_DISK_FULL : TV_ERR_CONFLICT);
        (void)run_one(&g);
        if (what == 50)
            drop_table((int)(t_random() % TABLES));
        if (what == 51 || what == 52) {
            if (what == 52) /* the background has had a look, or not */
                tv_facts_start(facts, pipeline);
            stop_facts();
            start_facts();
        }
        if (step % 16 == 0)
            check_all();
        if (step % 64 == 0)
            tv_arena_reset(&arena);
    }
    check_all();
}

/* A write that loses power is there or not, as a whole. */
TEST(after_a_loss_of_power_counts_are_those_of_the_rows)
{
    clear_model();
    t_random_seed(7);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 30; i++) {
            group g = random_group();

            (void)run_one(&g);
        }
        tv_memory_fail_writes(engine, 1 + t_random() % 3, 1, TV_ERR_IO);
        for (int i = 0; i < 4; i++) {
            group g = random_group();

            (void)run_one(&g);
        }
        tv_memory_lose_power(engine);
        stop_facts();
        tv_memory_restart(engine);
        start_facts();
        check_all();
        tv_arena_reset(&arena);
    }
}

/* Count the rows of a table by hand. */
static uint64_t stored_entities(int64_t id)
{
    tv_slice prefix = tv_key_table(&arena, ACCOUNT, id);
    uint64_t count = 0;
    tv_iter *iter;

    CHECK_OK(tv_engine_iter_across(engine, prefix, tv_key_after(&arena, prefix), &iter));
    for (tv_iter_seek(iter, prefix); tv_iter_is_valid(iter); tv_iter_next(iter))
        count++;
    tv_iter_free(iter);
    return count;
}

typedef struct writer {
    pthread_t thread;
    tv_waiter waiter;
    uint64_t seed;
    int partition; /* its own */
    atomic_bool *stops;
} writer;

static tv_err put_or_delete(tv_txn *txn, void *ctx)
{
    tv_slice *key = ctx, stored;
    tv_err err = tv_txn_get(txn, *key, &stored);

    if (err == TV_ERR_NOT_FOUND)
        tv_txn_put(txn, *key, TV_LIT("some value"));
    else if (err == TV_OK)
        tv_txn_delete(txn, *key);
    return TV_OK;
}

static void *write_on(void *ctx)
{
    writer *w = ctx;
    tv_arena own;

    tv_arena_init(&own);
    while (!atomic_load(w->stops)) {
        char name[32];
        tv_slice partition, key;

        w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
        snprintf(name, sizeof name, "w%d", w->partition);
        CHECK_OK(tv_key_partition(&own, ACCOUNT, 1, tv_slice_of(name), &partition));
        snprintf(name, sizeof name, "%llu", (unsigned long long)(w->seed >> 33) % 3000);
        CHECK_OK(tv_key_row(&own, partition, tv_slice_of(name), &key));

        tv_write write = {.partition = partition, .run = put_or_delete, .ctx = &key};

        CHECK_OK(tv_waiter_run(&w->waiter, &write));
        tv_arena_reset(&own);
    }
    tv_arena_done(&own);
    return NULL;
}

/* Mark a table as the upgrade of an older store does: its sums are not those of its rows. */
static void mark_uncounted(int64_t id)
{
    tv_write_batch batch = {0};
    tv_slice prefix = tv_key_table_facts(&arena, ACCOUNT, id);
    tv_slice key = tv_arena_printf(&arena, "%.*su", TV_FMT(prefix));
    tv_slice sums = tv_arena_printf(&arena, "%.*sc0", TV_FMT(prefix));
    tv_slice other = tv_arena_printf(&arena, "%.*sc1", TV_FMT(prefix));

    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, key, TV_FACTS_UNCOUNTED});
    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_DELETE, sums, TV_NONE});
    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_DELETE, other, TV_NONE});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
}

TEST(a_table_is_counted_while_others_write_and_is_exact_then)
{
    enum { WRITERS = 4 };
    writer writers[WRITERS];
    atomic_bool stops = false;

    clear_model();
    t_random_seed(3);
    for (int i = 0; i < 2000; i++) {
        group g = random_group();

        g.table = 0;
        (void)run_one(&g);
    }
    stop_facts();
    mark_uncounted(1);
    start_facts();
    CHECK_INT(tv_facts_count_of(facts, ACCOUNT, 1).basis, TV_FACTS_UNKNOWN);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){.seed = (uint64_t)i + 1, .partition = i, .stops = &stops};
        tv_waiter_init(&writers[i].waiter, pipeline);
        CHECK(pthread_create(&writers[i].thread, NULL, write_on, &writers[i]) == 0);
    }
    tv_facts_start(facts, pipeline);
    wait_for_counts();
    for (int i = 0; i < 5; i++) {
        tv_facts_recount(facts, ACCOUNT, 1);
        wait_for_counts();
    }
    atomic_store(&stops, true);
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        tv_waiter_done(&writers[i].waiter);
    }

    tv_facts_count got = tv_facts_count_of(facts, ACCOUNT, 1);
    tv_facts_table table;

    CHECK_INT(got.basis, TV_FACTS_EXACT);
    CHECK_INT(got.entities, stored_entities(1));

    /* No recount has found anything else than the sums. */
    tv_buf metrics = TV_BUF_EMPTY;

    tv_facts_write_metrics(facts, &metrics);
    tv_buf_add_char(&metrics, '\0');
    CHECK(strstr(metrics.data, "tavola_facts_differences_total 0\n"));
    tv_buf_done(&metrics);

    /* And what a sample says of it is so, once the writers have ended. */
    tv_facts_recount(facts, ACCOUNT, 1);
    wait_for_counts();
    CHECK_OK(tv_facts_take(facts, ACCOUNT, 1, TV_FACTS_KEYS, TV_FACTS_WAIT_NS, &arena, &table));
    for (size_t i = 0; i < table.largest_partition_count; i++) {
        tv_slice prefix;
        uint64_t count = 0;
        tv_iter *iter;

        if (!table.largest_partitions[i].is_exact)
            continue;
        CHECK_OK(tv_key_partition(&arena, ACCOUNT, 1, table.largest_partitions[i].partition_key,
                                  &prefix));
        CHECK_OK(tv_engine_iter_across(engine, prefix, tv_key_after(&arena, prefix), &iter));
        for (tv_iter_seek(iter, prefix); tv_iter_is_valid(iter); tv_iter_next(iter))
            count++;
        tv_iter_free(iter);
        CHECK_INT(table.largest_partitions[i].entities, count);
    }
    for (size_t i = 0; i < table.sample_count; i++) {
        tv_slice prefix, key, value;

        CHECK_OK(tv_key_partition(&arena, ACCOUNT, 1, table.sample[i].partition_key, &prefix));
        CHECK_OK(tv_key_row(&arena, prefix, table.sample[i].row_key, &key));
        CHECK_OK(tv_engine_get(engine, TV_READ_ANY, key, &arena, &value));
    }

    stop_facts();
    start_facts();
    CHECK_INT(tv_facts_count_of(facts, ACCOUNT, 1).basis, TV_FACTS_EXACT);
    CHECK_INT(tv_facts_count_of(facts, ACCOUNT, 1).entities, stored_entities(1));
}

/* --- a store of the format before --- */

static void put(tv_write_batch *batch, tv_slice key, tv_slice value)
{
    tv_write_batch_add(batch, (tv_change){TV_CHANGE_PUT, key, value});
}

/* As a server of that format has left it: a table with entities, one without, one being dropped. */
static void make_old_store(void)
{
    tv_write_batch batch = {0};

    put(&batch, TV_KEY_FORMAT, TV_FORMAT_BEFORE);
    put(&batch, tv_key_catalog_last_id(&arena, TV_SPACE_TABLES, ACCOUNT), TV_LIT("3"));
    put(&batch, tv_key_catalog_name(&arena, TV_SPACE_TABLES, ACCOUNT, TV_LIT("People")),
        TV_LIT("1 People"));
    put(&batch, tv_key_catalog_name(&arena, TV_SPACE_TABLES, ACCOUNT, TV_LIT("Empty")),
        TV_LIT("2 Empty"));
    put(&batch, tv_key_catalog_dropped_id(&arena, TV_SPACE_TABLES, ACCOUNT, 3), TV_LIT("dropped"));
    for (int i = 0; i < ROWS; i++)
        put(&batch, key_of(partition_prefix(0, i % PARTITIONS), i), value_of(10));
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
}

TEST(a_store_of_the_format_before_is_counted_once_and_has_the_new_one)
{
    tv_slice format_row;
    tv_buf metrics = TV_BUF_EMPTY;

    clear_model();
    stop_facts();
    make_old_store();
    for (int i = 0; i < ROWS; i++)
        model[0][i % PARTITIONS][i] = 10;
    start_facts();
    CHECK_OK(tv_engine_get(engine, TV_READ_ANY, TV_KEY_FORMAT, &arena, &format_row));
    CHECK_SLICE(format_row, TV_FORMAT);
    CHECK_INT(tv_facts_count_of(facts, ACCOUNT, 1).basis, TV_FACTS_UNKNOWN);
    CHECK_INT(tv_facts_count_of(facts, ACCOUNT, 2).basis, TV_FACTS_UNKNOWN);

    /* Written to before it is counted, and cut off by a crash. */
    group first = {.table = 0, .partition = 1, .count = 1, .changes = {{.row = 1, .len = 0}}};

    CHECK_OK(run_one(&first));
    stop_facts();
    start_facts();
    CHECK_INT(tv_facts_count_of(facts, ACCOUNT, 1).basis, TV_FACTS_UNKNOWN);
    tv_facts_start(facts, pipeline);
    wait_for_counts();
    check_table(0);
    CHECK_INT(tv_facts_count_of(facts, ACCOUNT, 1).entities, ROWS - 1);
    CHECK_INT(tv_facts_count_of(facts, ACCOUNT, 2).basis, TV_FACTS_EXACT);
    CHECK_INT(tv_facts_count_of(facts, ACCOUNT, 2).entities, 0);

    /* Once: the next start has nothing to count. */
    stop_facts();
    start_facts();
    check_table(0);
    tv_facts_start(facts, pipeline);
    wait_for_counts();
    tv_facts_write_metrics(facts, &metrics);
    tv_buf_add_char(&metrics, '\0');
    CHECK(strstr(metrics.data, "tavola_facts_counts_total 0\n"));
    tv_buf_done(&metrics);
}

/* Servers before this one have saved what they knew of keys. */
TEST(an_old_sketch_does_no_harm_and_is_deleted)
{
    tv_slice prefix = tv_key_table_facts(&arena, ACCOUNT, 1), value;
    tv_slice key = tv_arena_printf(&arena, "%.*ss", TV_FMT(prefix));
    group g = {.table = 0, .count = 1, .changes = {{.row = 1, .len = 10}}};
    tv_write_batch batch = {0};

    clear_model();
    CHECK_OK(run_one(&g));
    stop_facts();
    put(&batch, key, TV_LIT("of any form"));
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
    start_facts();
    check_table(0);
    tv_facts_start(facts, pipeline);
    WAIT_UNTIL(tv_engine_get(engine, TV_READ_ANY, key, &arena, &value) == TV_ERR_NOT_FOUND);
    check_table(0);
}

static const struct {
    const char *what;
    tv_facts_sums sums;
    size_t len;
} sums_rows[] = {
    {"nothing", {0}, 5},
    {"small numbers are short", {10, 60, 12, 3, 2}, 5},
    {"a committer may have deleted more than it made", {(uint64_t)-3, (uint64_t)-100, 0, 0, 3}, 6},
    {"the greatest", {INT64_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, 50},
};

/* What a server of this format cannot have written is damage, and never a table. */
TEST(keys_of_rows_are_of_one_form)
{
    static const struct {
        const char *key;
        bool is_good;
    } keys[] = {
        {"faccount\1"
         "00000001b",
         true},
        {"faccount\1"
         "00000001c2",
         true},
        {"fabcdefghijklmnopqrstuvwx\1"
         "00000001s",
         true},
        {"fabcdefghijklmnopqrstuvwxy\1"
         "00000001s",
         false}, /* no account has such a name */
        {"faccount\1"
         "0000~001b",
         false}, /* nor a table such an id */
        {"faccount\1"
         "00000001",
         false},
        {"faccount\1"
         "00000001x",
         false},
        {"faccount\1"
         "00000001bb",
         false},
        {"faccount\1"
         "00000001c",
         false},
        {"faccount\1"
         "00000001c~",
         false},
        {"raccount\1"
         "00000001b",
         false},
        {"faccount", false},
        {"f", false},
    };
    tv_facts_row_key key;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        CHECK_INT(tv_facts_row_key_parse(tv_slice_of(keys[i].key), &key),
                  keys[i].is_good ? TV_OK : TV_ERR_CORRUPT);
}

TEST(sums_are_read_as_they_were_written)
{
    for (size_t i = 0; i < sizeof sums_rows / sizeof *sums_rows; i++) {
        char text[TV_FACTS_SUMS_BYTES_MAX];
        tv_facts_sums got;

        t_row = sums_rows[i].what;
        size_t len = tv_facts_sums_format(&sums_rows[i].sums, text);

        CHECK_INT(len, sums_rows[i].len);
        CHECK_OK(tv_facts_sums_parse((tv_slice){text, len}, &got));
        CHECK(memcmp(&got, &sums_rows[i].sums, sizeof got) == 0);
        CHECK_ERR(tv_facts_sums_parse((tv_slice){text, len - 1}, &got), TV_ERR_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_are_those_of_a_model_after_anything, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(after_a_loss_of_power_counts_are_those_of_the_rows, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_table_is_counted_while_others_write_and_is_exact_then,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_store_of_the_format_before_is_counted_once_and_has_the_new_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_old_sketch_does_no_harm_and_is_deleted, set_up,
                                        tear_down),
        cmocka_unit_test(keys_of_rows_are_of_one_form),
        cmocka_unit_test(sums_are_read_as_they_were_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
