/* The life of tables: created, found, deleted, collected, also across a crash. */
#include "model/catalog/catalog.h"

#include "base/log.h"
#include "model/catalog/ids.h"
#include "model/catalog/internal.h"
#include "services/table/service.h"
#include "store.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_catalog *catalog;

static int set_up(__attribute__((unused)) void **state)
{
    store_start();
    return open_catalog(&tv_table_catalog, &catalog) == TV_OK ? 0 : -1;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_catalog_close(catalog);
    store_stop();
    return 0;
}

/* Stop everything above the engine and start again. */
static void restart(void)
{
    tv_catalog_close(catalog);
    stop_pipeline();
    start_pipeline();
    CHECK_OK(open_catalog(&tv_table_catalog, &catalog));
}

static tv_err create_in(tv_slice account, const char *name)
{
    tv_catalog_create create = {
        .catalog = catalog, .account = account, .name = tv_slice_of(name), .arena = &arena};

    return create_container(&create);
}

static tv_err create(const char *name)
{
    return create_in(ACCOUNT, name);
}

static tv_container *find(const char *name)
{
    return tv_catalog_find(catalog, ACCOUNT, tv_slice_of(name));
}

static bool exists(const char *name)
{
    tv_container *table = find(name);

    tv_container_unref(table);
    return table != NULL;
}

static int64_t id_of(const char *name)
{
    tv_container *table = find(name);
    int64_t id = table ? table->id : 0;

    tv_container_unref(table);
    return id;
}

static tv_err delete_table(tv_container *table)
{
    tv_catalog_delete delete_op = {.catalog = catalog, .container = table, .arena = &arena};
    tv_write write = {0};

    tv_catalog_prepare_delete(&delete_op, &write);
    return commit(&write);
}

/* The write of a deletion alone: what has happened when the server dies right after it. */
static tv_err delete_row(tv_container *table)
{
    tv_catalog_delete delete_op = {.catalog = catalog, .container = table, .arena = &arena};
    tv_write write = {0};

    tv_catalog_prepare_delete(&delete_op, &write);
    write.settle = NULL;
    return commit(&write);
}

static tv_err delete_name(const char *name)
{
    tv_container *table = find(name);
    tv_err err = table ? delete_table(table) : TV_ERR_NOT_FOUND;

    tv_container_unref(table);
    return err;
}

static tv_err put_row(tv_txn *txn, void *ctx)
{
    tv_txn_put(txn, *(tv_slice *)ctx, TV_LIT("row"));
    return TV_OK;
}

/* A few rows of a table in several partitions. */
static void fill(tv_slice account, int64_t id)
{
    for (int i = 0; i < 20; i++) {
        tv_slice partition, row;
        tv_slice number = tv_arena_printf(&arena, "%d", i);
        tv_write write = {.run = put_row, .ctx = &row};

        CHECK_OK(tv_key_partition(&arena, account, id, number, &partition));
        CHECK_OK(tv_key_row(&arena, partition, TV_LIT("r"), &row));
        write.partition = partition;
        CHECK_OK(commit(&write));
    }
}

TEST(a_table_is_found_after_it_was_created)
{
    CHECK(!exists("people"));
    CHECK_INT(tv_catalog_count(catalog), 0);
    CHECK_OK(create("people"));
    CHECK(exists("people"));
    CHECK_INT(tv_catalog_count(catalog), 1);

    tv_container *table = find("people");
    CHECK_TEXT(table->name, "people");
    CHECK_SLICE(table->account, ACCOUNT);
    CHECK_SLICE(table->prefix, tv_key_table(&arena, ACCOUNT, table->id));
    CHECK(!atomic_load(&table->is_dropped));
    tv_container_unref(table);
}

TEST(a_table_is_created_once)
{
    CHECK_OK(create("people"));
    int64_t id = id_of("people");
    CHECK_ERR(create("people"), TV_ERR_TABLE_EXISTS);
    CHECK_ERR(create("PEOPLE"), TV_ERR_TABLE_EXISTS);
    CHECK_INT(id_of("people"), id);
    CHECK_INT(tv_catalog_count(catalog), 1);
}

TEST(names_ignore_case_and_keep_it)
{
    CHECK_OK(create("PeoPle"));
    CHECK(exists("people") && exists("PEOPLE") && exists("PeoPle"));
    CHECK(!exists("peopl") && !exists("people2"));

    tv_container *table = find("pEOpLE");
    CHECK_TEXT(table->name, "PeoPle");
    tv_container_unref(table);
    CHECK_OK(delete_name("people"));
    CHECK(!exists("PeoPle"));
}

TEST(accounts_do_not_see_each_other)
{
    CHECK_OK(create_in(TV_LIT("one"), "people"));
    CHECK_OK(create_in(TV_LIT("two"), "people"));
    CHECK(!exists("people"));
    CHECK_INT(tv_catalog_count(catalog), 2);

    tv_container *table = tv_catalog_find(catalog, TV_LIT("one"), TV_LIT("people"));
    CHECK_OK(delete_table(table));
    tv_container_unref(table);
    CHECK(tv_catalog_find(catalog, TV_LIT("one"), TV_LIT("people")) == NULL);
    table = tv_catalog_find(catalog, TV_LIT("two"), TV_LIT("people"));
    CHECK(table != NULL);
    tv_container_unref(table);
}

TEST(a_table_that_comes_again_has_a_new_id)
{
    CHECK_OK(create("people"));
    int64_t first = id_of("people");
    CHECK_OK(delete_name("people"));
    CHECK(!exists("people"));
    CHECK_INT(tv_catalog_count(catalog), 0);
    CHECK_OK(create("people"));
    CHECK(id_of("people") > first);

    /* Also after a restart, and when the newest of all has gone. */
    int64_t second = id_of("people");
    CHECK_OK(delete_name("people"));
    restart();
    CHECK_OK(create("people"));
    CHECK(id_of("people") > second);
}

TEST(the_ids_of_living_tables_are_told_from_others)
{
    const int first_dropped = 30, end_dropped = 60;
    int64_t ids[100];
    char name[16];
    tv_catalog_ids known;

    tv_catalog_ids_take(catalog, &known);
    CHECK(!tv_catalog_ids_have(&known, ACCOUNT, 1));
    tv_catalog_ids_done(&known);
    for (size_t i = 0; i < COUNT(ids); i++) {
        snprintf(name, sizeof name, "table%zu", i);
        CHECK_OK(create(name));
        ids[i] = id_of(name);
    }
    for (int i = first_dropped; i < end_dropped; i++) {
        snprintf(name, sizeof name, "table%d", i);
        CHECK_OK(delete_name(name));
    }
    tv_catalog_ids_take(catalog, &known);
    CHECK_INT(known.count, 70);
    for (int i = 0; i < (int)COUNT(ids); i++) {
        CHECK(tv_catalog_ids_have(&known, ACCOUNT, ids[i]) ==
              (i < first_dropped || i >= end_dropped));
        CHECK(!tv_catalog_ids_have(&known, TV_LIT("nobody"), ids[i]));
    }
    tv_catalog_ids_done(&known);
}

TEST(tables_are_there_after_a_restart)
{
    char name[32];

    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "Table%d", i);
        CHECK_OK(create(name));
    }
    int64_t id = id_of("table7");
    CHECK_OK(delete_name("Table8"));
    restart();
    CHECK_INT(tv_catalog_count(catalog), 49);
    CHECK_INT(id_of("TABLE7"), id);
    CHECK(!exists("Table8"));

    tv_container *table = find("table7");
    CHECK_TEXT(table->name, "Table7");
    CHECK_SLICE(table->account, ACCOUNT);
    tv_container_unref(table);
}

TEST(the_rows_of_a_deleted_table_vanish_and_no_others)
{
    CHECK_OK(create("people"));
    CHECK_OK(create("pets"));
    int64_t people = id_of("people"), pets = id_of("pets");
    fill(ACCOUNT, people);
    fill(ACCOUNT, pets);
    CHECK_INT(count_rows(tv_key_table(&arena, ACCOUNT, people)), 20);

    CHECK_OK(delete_name("people"));
    wait_until_empty(tv_key_catalog_dropped(&arena, TV_SPACE_TABLES, ACCOUNT));
    CHECK_INT(count_rows(tv_key_table(&arena, ACCOUNT, people)), 0);
    CHECK_INT(count_rows(tv_key_table(&arena, ACCOUNT, pets)), 20);
}

TEST(a_deletion_that_a_crash_cut_short_is_finished_at_the_next_start)
{
    CHECK_OK(create("people"));
    tv_container *table = find("people");
    int64_t id = table->id;
    fill(ACCOUNT, id);

    /* The catalogue's write is durable; then the power goes, before the gc hears of it. */
    CHECK_OK(delete_row(table));
    tv_container_unref(table);
    if (!test_has_ranges()) { /* there the gc looks by itself, and may have begun */
        CHECK_INT(count_rows(tv_key_catalog_dropped(&arena, TV_SPACE_TABLES, ACCOUNT)), 1);
        CHECK_INT(count_rows(tv_key_table(&arena, ACCOUNT, id)), 20);
    }
    tv_memory_lose_power(engine);
    tv_memory_restart(engine);

    restart();
    CHECK(!exists("people"));
    wait_until_empty(tv_key_catalog_dropped(&arena, TV_SPACE_TABLES, ACCOUNT));
    CHECK_INT(count_rows(tv_key_table(&arena, ACCOUNT, id)), 0);
}

TEST(a_name_can_be_used_again_before_its_old_rows_are_gone)
{
    CHECK_OK(create("people"));
    tv_container *table = find("people");
    int64_t old = table->id;
    fill(ACCOUNT, old);
    CHECK_OK(delete_row(table));
    tv_container_unref(table);

    /* Created again in the next life, while the note of the old one is still there. */
    restart();
    CHECK_OK(create("people"));
    int64_t new = id_of("people");
    CHECK(new > old);
    fill(ACCOUNT, new);
    wait_until_empty(tv_key_catalog_dropped(&arena, TV_SPACE_TABLES, ACCOUNT));
    CHECK_INT(count_rows(tv_key_table(&arena, ACCOUNT, old)), 0);
    CHECK_INT(count_rows(tv_key_table(&arena, ACCOUNT, new)), 20);
    CHECK(exists("people"));
}

/* Which write of the gc the disk refuses, and what is left of the rows. */
static const struct {
    const char *what;
    uint64_t nth;
    size_t rows;
} faults[] = {
    {"the rows cannot be dropped", 1, 20},
    {"the note cannot be removed", 2, 0},
};

TEST(a_gc_that_failed_half_way_is_repeated_at_the_next_start)
{
    if (test_has_ranges())
        return; /* a failure there is one batch's, and the next step finds everything in order */

    tv_log_set_level(TV_LOG_OFF);
    for (size_t i = 0; i < COUNT(faults); i++) {
        t_row = faults[i].what;
        CHECK_OK(create("people"));
        tv_container *table = find("people");
        int64_t id = table->id;
        fill(ACCOUNT, id);
        CHECK_OK(delete_row(table));
        tv_container_unref(table);

        tv_memory_fail_writes(engine, faults[i].nth, 1, TV_ERR_IO);
        restart();
        WAIT_UNTIL(tv_engine_check(engine) != TV_OK);
        tv_catalog_close(catalog);
        catalog = NULL;
        CHECK_INT(count_rows(tv_key_table(&arena, ACCOUNT, id)), faults[i].rows);
        CHECK_INT(count_rows(tv_key_catalog_dropped(&arena, TV_SPACE_TABLES, ACCOUNT)), 1);

        tv_memory_restart(engine);
        restart();
        wait_until_empty(tv_key_catalog_dropped(&arena, TV_SPACE_TABLES, ACCOUNT));
        CHECK_INT(count_rows(tv_key_table(&arena, ACCOUNT, id)), 0);
    }
    tv_log_set_level(TV_LOG_INFO);
}

TEST(the_second_of_two_deletions_finds_nothing)
{
    CHECK_OK(create("people"));
    tv_container *one = find("people"), *two = find("people");

    CHECK_OK(delete_table(one));
    CHECK(atomic_load(&two->is_dropped));
    CHECK_ERR(delete_table(two), TV_ERR_NOT_FOUND);

    /* Nor does it touch the table that has come under the same name since. */
    CHECK_OK(create("people"));
    CHECK_ERR(delete_table(two), TV_ERR_NOT_FOUND);
    CHECK(exists("people"));
    tv_container_unref(one);
    tv_container_unref(two);
}

TEST(a_table_in_use_outlives_its_deletion)
{
    CHECK_OK(create("people"));
    tv_container *table = find("people");

    CHECK_OK(delete_name("people"));
    wait_until_empty(tv_key_catalog_dropped(&arena, TV_SPACE_TABLES, ACCOUNT));
    CHECK_TEXT(table->name, "people");
    tv_container_unref(table);
    tv_container_unref(NULL);
}

static tv_err put_rubbish(tv_txn *txn, void *ctx)
{
    tv_txn_put(txn, tv_key_catalog_name(&arena, TV_SPACE_TABLES, ACCOUNT, TV_LIT("people")),
               tv_slice_of((const char *)ctx));
    return TV_OK;
}

TEST(a_damaged_catalogue_does_not_open)
{
    static const char *const values[] = {"",
                                         "17",
                                         "x people",
                                         " people",
                                         "-1 people",
                                         "0 people",
                                         "1099511627776 people",
                                         "1 others",
                                         "1 PEOPLE ",
                                         "1 "};

    for (size_t i = 0; i < COUNT(values); i++) {
        tv_catalog *other;

        t_row = values[i];
        CHECK_OK(tv_engine_update(engine, tv_key_catalog(&arena, TV_SPACE_TABLES, ACCOUNT),
                                  put_rubbish, (void *)(uintptr_t)values[i]));
        CHECK_ERR(open_catalog(&tv_table_catalog, &other), TV_ERR_CORRUPT);
    }
}

static tv_err put_value(tv_txn *txn, void *change)
{
    tv_txn_put(txn, ((tv_change *)change)->key, ((tv_change *)change)->value);
    return TV_OK;
}

TEST(a_catalogue_with_keys_of_another_form_does_not_open)
{
    static const char *const keys[] = {"t\x01nx", "t\x02\x01nx", "ta b\x01nx", "tacct"};

    for (size_t i = 0; i < COUNT(keys); i++) {
        tv_change change = {.key = tv_slice_of(keys[i]), .value = TV_LIT("1 x")};
        tv_write_batch batch = {0};
        tv_catalog *other;

        t_row = keys[i];
        CHECK_OK(tv_engine_update(engine, TV_LIT("t"), put_value, &change));
        CHECK_ERR(open_catalog(&tv_table_catalog, &other), TV_ERR_CORRUPT);
        tv_write_batch_add(&batch, (tv_change){TV_CHANGE_DELETE, change.key, TV_NONE});
        CHECK_OK(tv_engine_write(engine, &batch));
        tv_write_batch_done(&batch);
    }
}

/* Ids are never used twice, so no table may follow when the last one is not known. */
TEST(a_damaged_last_id_refuses_tables)
{
    static const char *const values[] = {"", "x", "-1", "-5", "1099511627775", "1099511627776"};
    tv_slice account = tv_key_catalog(&arena, TV_SPACE_TABLES, ACCOUNT);

    CHECK_OK(create("people"));
    for (size_t i = 0; i < COUNT(values); i++) {
        tv_change change = {.key = tv_key_catalog_last_id(&arena, TV_SPACE_TABLES, ACCOUNT),
                            .value = tv_slice_of(values[i])};

        t_row = values[i];
        CHECK_OK(tv_engine_update(engine, account, put_value, &change));
        CHECK_ERR(create("more"), TV_ERR_CORRUPT);
    }
}

TEST(a_row_tells_the_name_as_it_was_created)
{
    tv_catalog_row row;

    CHECK_OK(tv_catalog_row_parse(TV_LIT("17 Orders"), &row));
    CHECK_TEXT(row.name, "Orders");
    CHECK_ERR(tv_catalog_row_parse(TV_LIT("Orders"), &row), TV_ERR_CORRUPT);
    CHECK_ERR(tv_catalog_row_parse(TV_LIT("x Orders"), &row), TV_ERR_CORRUPT);
}

/* --- access policies --- */

static tv_err set_policies(tv_container *table, size_t count)
{
    static const char *const ids[] = {"one", "two", "three", "four", "five"};
    tv_catalog_change set = {
        .catalog = catalog, .container = table, .arena = &arena, .sets_policies = true};
    tv_write write = {0};

    for (size_t i = 0; i < count; i++)
        set.policies.list[i] =
            (tv_access_policy){.id = tv_slice_of(ids[i]), .permission = TV_LIT("r")};
    set.policies.count = count;
    tv_catalog_prepare_change(&set, &write);
    return commit(&write);
}

static tv_access_policies policies_of(const char *name)
{
    tv_access_policies policies;

    CHECK_OK(tv_catalog_policies(catalog, ACCOUNT, tv_slice_of(name), &arena, &policies));
    return policies;
}

TEST(policies_go_with_their_table)
{
    tv_container *table;
    tv_access_policies policies;

    CHECK_OK(create("People"));
    CHECK_OK(create("orders"));
    CHECK_INT(policies_of("people").count, 0);
    table = find("people");
    CHECK_OK(set_policies(table, 5));
    policies = policies_of("PEOPLE");
    CHECK_INT(policies.count, 5);
    CHECK_TEXT(policies.list[4].id, "five");
    CHECK_TEXT(policies.list[4].permission, "r");
    CHECK(policies.list[4].start.data == NULL);
    CHECK_OK(set_policies(table, 2));
    CHECK_INT(policies_of("people").count, 2);

    CHECK_OK(delete_name("people"));
    CHECK_INT(
        count_rows(tv_key_catalog_policies(&arena, TV_SPACE_TABLES, ACCOUNT, TV_LIT("people"))), 0);
    CHECK_ERR(set_policies(table, 1), TV_ERR_TABLE_NOT_FOUND);
    CHECK_OK(create("people"));
    CHECK_INT(policies_of("people").count, 0);
    CHECK_ERR(set_policies(table, 1), TV_ERR_TABLE_NOT_FOUND); /* it is another one now */
    CHECK_INT(policies_of("people").count, 0);
    CHECK_INT(policies_of("orders").count, 0);
    CHECK_ERR(tv_catalog_policies(catalog, ACCOUNT, TV_LIT("nobody"), &arena, &policies),
              TV_ERR_TABLE_NOT_FOUND);
    tv_container_unref(table);
}

TEST(policies_are_there_after_a_restart)
{
    tv_container *table;

    CHECK_OK(create("People"));
    CHECK_OK(create("orders"));
    table = find("people");
    CHECK_OK(set_policies(table, 3));
    tv_container_unref(table);
    restart();
    CHECK_INT(policies_of("people").count, 3);
    CHECK_TEXT(policies_of("people").list[2].id, "three");
    CHECK_INT(policies_of("orders").count, 0);

    table = find("people");
    CHECK_OK(set_policies(table, 0));
    CHECK_INT(
        count_rows(tv_key_catalog_policies(&arena, TV_SPACE_TABLES, ACCOUNT, TV_LIT("people"))), 0);
    tv_container_unref(table);
    restart();
    CHECK_INT(policies_of("people").count, 0);
}

static tv_err put_policies(tv_txn *txn, void *ctx)
{
    tv_txn_put(txn, tv_key_catalog_policies(&arena, TV_SPACE_TABLES, ACCOUNT, TV_LIT("people")),
               tv_slice_of((const char *)ctx));
    return TV_OK;
}

TEST(policies_that_fit_no_table_do_not_open)
{
    static const char *const values[] = {"", "1", "2 <SignedIdentifiers />", "1 <Other />"};

    CHECK_OK(create("people"));
    for (size_t i = 0; i < COUNT(values); i++) {
        tv_catalog *other;

        t_row = values[i];
        /* Where rows come in pages, that of the table may be the newer one. */
        if (!engine->ops->has_snapshots && values[i][0] == '2')
            continue;
        CHECK_OK(tv_engine_update(engine, tv_key_catalog(&arena, TV_SPACE_TABLES, ACCOUNT),
                                  put_policies, (void *)(uintptr_t)values[i]));
        CHECK_ERR(open_catalog(&tv_table_catalog, &other), TV_ERR_CORRUPT);
    }
}

/* --- service properties --- */

static tv_err set_settings(tv_slice account, const char *document)
{
    tv_catalog_set_settings set = {.catalog = catalog, .account = account, .arena = &arena};
    tv_write write = {0};

    CHECK_OK(tv_settings_parse(&arena, TV_SERVICE_TABLE, tv_slice_of(document), &set.update,
                               &(tv_error_info){0}));
    tv_catalog_prepare_set_settings(&set, &write);
    return commit(&write);
}

#define HOUR_METRICS                                                                               \
    "<StorageServiceProperties><HourMetrics><Version>1.0</Version><Enabled>true</Enabled>"         \
    "<IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>7</Days>"        \
    "</RetentionPolicy></HourMetrics></StorageServiceProperties>"
#define CORS                                                                                       \
    "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>http://a</AllowedOrigins>"          \
    "<AllowedMethods>GET</AllowedMethods><AllowedHeaders /><ExposedHeaders /><MaxAgeInSeconds>5"   \
    "</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>"

TEST(properties_are_kept_by_account_and_over_a_restart)
{
    tv_shared_settings *first, *second;

    CHECK(tv_catalog_settings(catalog, ACCOUNT) == NULL);
    CHECK_OK(set_settings(ACCOUNT, HOUR_METRICS));
    CHECK(!tv_catalog_has_cors(catalog));
    first = tv_catalog_settings(catalog, ACCOUNT);
    CHECK_OK(set_settings(ACCOUNT, CORS));
    CHECK_INT(first->settings.cors.count, 0); /* what is being looked at does not change */
    tv_shared_settings_unref(first);
    CHECK(tv_catalog_settings(catalog, TV_LIT("acc")) == NULL);

    CHECK_OK(set_settings(TV_LIT("other"), HOUR_METRICS));
    restart();
    CHECK(tv_catalog_has_cors(catalog));
    first = tv_catalog_settings(catalog, ACCOUNT);
    second = tv_catalog_settings(catalog, TV_LIT("other"));
    CHECK_INT(first->settings.hour_metrics.retention.days, 7);
    CHECK_TEXT(first->settings.cors.rules[0].origins, "http://a");
    CHECK_INT(second->settings.cors.count, 0);
    tv_shared_settings_unref(first);
    tv_shared_settings_unref(second);
}

TEST(many_tables_come_and_go)
{
    char name[32];

    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "table%d", i % 40);
        if (exists(name))
            CHECK_OK(delete_name(name));
        else
            CHECK_OK(create(name));
        tv_arena_reset(&arena);
    }
    restart();
    CHECK_INT(tv_catalog_count(catalog), 20);
    wait_until_empty(tv_key_catalog_dropped(&arena, TV_SPACE_TABLES, ACCOUNT));
}

/* What the map was hashed with once: FNV-1a over account and name, without a key. */
static uint32_t old_bucket(const char *name)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < ACCOUNT.len; i++)
        hash = (hash ^ (unsigned char)ACCOUNT.data[i]) * 16777619u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return (hash ^ hash >> 15) % TV_CATALOG_BUCKETS;
}

TEST(names_that_a_client_has_made_to_collide_do_not_meet_in_one_chain)
{
    size_t longest = 0;

    for (int i = 0, made = 0; made < 100; i++) {
        char name[32];

        snprintf(name, sizeof name, "table%d", i);
        if (old_bucket(name) != 7)
            continue;
        CHECK_OK(create(name));
        tv_arena_reset(&arena);
        made++;
    }
    for (size_t i = 0; i < TV_CATALOG_BUCKETS; i++) {
        size_t len = 0;

        for (const tv_container *next = catalog->buckets[i]; next; next = next->next)
            len++;
        longest = len > longest ? len : longest;
    }
    CHECK(longest < 10);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_table_is_found_after_it_was_created),
        CASE(a_table_is_created_once),
        CASE(names_ignore_case_and_keep_it),
        CASE(accounts_do_not_see_each_other),
        CASE(a_table_that_comes_again_has_a_new_id),
        CASE(the_ids_of_living_tables_are_told_from_others),
        CASE(tables_are_there_after_a_restart),
        CASE(the_rows_of_a_deleted_table_vanish_and_no_others),
        CASE(a_deletion_that_a_crash_cut_short_is_finished_at_the_next_start),
        CASE(a_name_can_be_used_again_before_its_old_rows_are_gone),
        CASE(a_gc_that_failed_half_way_is_repeated_at_the_next_start),
        CASE(the_second_of_two_deletions_finds_nothing),
        CASE(a_table_in_use_outlives_its_deletion),
        CASE(a_damaged_catalogue_does_not_open),
        CASE(a_catalogue_with_keys_of_another_form_does_not_open),
        CASE(a_damaged_last_id_refuses_tables),
        CASE(a_row_tells_the_name_as_it_was_created),
        CASE(policies_go_with_their_table),
        CASE(policies_are_there_after_a_restart),
        CASE(policies_that_fit_no_table_do_not_open),
        CASE(properties_are_kept_by_account_and_over_a_restart),
        CASE(many_tables_come_and_go),
        CASE(names_that_a_client_has_made_to_collide_do_not_meet_in_one_chain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
