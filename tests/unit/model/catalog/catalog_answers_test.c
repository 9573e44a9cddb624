/*
 * The catalogue as two clients see it that do not get their answers at the same
 * time: two mailboxes play two network threads.
 */
#include "model/catalog/catalog.h"

#include "check.h"
#include "services/table/scans.h"
#include "services/table/service.h"
#include "store/engine/memory/memory.h"
#include "test_engine.h"

static tv_engine *engine;
static tv_pipeline *pipeline;
static tv_catalog *catalog;
static tv_outbox *outbox;
static tv_arena arena;
static tv_mailbox first, second;

static const tv_slice account = {"acct", 4};

static void wake(void *ctx)
{
    (void)ctx; /* the tests wait by draining the pipeline */
}

static int set_up(void **state)
{
    (void)state;
    engine = test_engine_new(NULL);
    pipeline = tv_pipeline_new(engine, 1, 100);
    outbox = tv_outbox_new(pipeline);
    CHECK_OK(tv_catalog_open(&tv_table_catalog, engine, pipeline, &catalog));
    tv_arena_init(&arena);
    tv_mailbox_init(&first, wake, NULL);
    tv_mailbox_init(&second, wake, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tv_mailbox_deliver(&first);
    tv_mailbox_deliver(&second);
    tv_mailbox_done(&first);
    tv_mailbox_done(&second);
    tv_catalog_close(catalog);
    tv_outbox_free(outbox);
    tv_pipeline_free(pipeline);
    tv_engine_close(engine);
    tv_arena_done(&arena);
    return 0;
}

/* One request to create or delete a table.  Static in the tests: an answer may come after them. */
typedef struct asking {
    tv_write write;
    tv_catalog_create create;
    tv_catalog_delete delete_op;
    bool is_answered;
} asking;

static void deliver(tv_mail *mail)
{
    ((asking *)mail)->is_answered = true;
}

static void submit(asking *a, tv_mailbox *reply_to)
{
    a->write.mail.deliver = deliver;
    a->write.reply_to = reply_to;
    tv_outbox_add(outbox, &a->write);
    tv_outbox_flush(outbox);
    tv_pipeline_drain(pipeline);
}

static void create(asking *a, const char *name, tv_mailbox *reply_to)
{
    *a = (asking){
        .create = {
            .catalog = catalog, .account = account, .name = tv_slice_of(name), .arena = &arena}};
    tv_catalog_prepare_create(&a->create, &a->write);
    submit(a, reply_to);
}

static void delete_table(asking *a, tv_container *table, tv_mailbox *reply_to)
{
    *a = (asking){.delete_op = {.catalog = catalog, .container = table, .arena = &arena}};
    tv_catalog_prepare_delete(&a->delete_op, &a->write);
    submit(a, reply_to);
    CHECK_OK(tv_catalog_fence(catalog, table)); /* as a request does before it answers */
}

/* The id of the table that a request would find now, 0 for none. */
static int64_t found(const char *name)
{
    tv_container *table = tv_catalog_find(catalog, account, tv_slice_of(name));
    int64_t id = table ? table->id : 0;

    tv_container_unref(table);
    return id;
}

TEST(who_hears_that_a_table_exists_finds_it)
{
    static asking a, b;

    create(&a, "Orders", &first);
    create(&b, "orders", &second);
    tv_mailbox_deliver(&second);
    CHECK(b.is_answered && !a.is_answered);
    CHECK_ERR(b.write.result, TV_ERR_TABLE_EXISTS);
    CHECK_INT(found("ORDERS"), 1);
}

TEST(who_hears_that_a_table_is_gone_does_not_find_it)
{
    static asking a, b, c;

    create(&a, "Orders", &first);
    tv_mailbox_deliver(&first);
    tv_container *table = tv_catalog_find(catalog, account, TV_LIT("Orders"));
    delete_table(&b, table, &first);
    delete_table(&c, table, &second);
    tv_mailbox_deliver(&second);
    CHECK(c.is_answered && !b.is_answered);
    CHECK_ERR(c.write.result, TV_ERR_NOT_FOUND);
    CHECK_INT(found("Orders"), 0);
    CHECK(atomic_load(&table->is_dropped));
    tv_container_unref(table);
}

TEST(a_table_that_was_made_again_is_a_new_one)
{
    static asking a, b, c, d;

    create(&a, "Orders", &first);
    tv_container *table = tv_catalog_find(catalog, account, TV_LIT("Orders"));
    delete_table(&b, table, &first);
    create(&c, "Orders", &second);
    delete_table(&d, table, &second); /* of the old one, by a request that had found it */
    tv_mailbox_deliver(&second);
    tv_mailbox_deliver(&first); /* the older answers come later */
    CHECK_OK(c.write.result);
    CHECK_ERR(d.write.result, TV_ERR_NOT_FOUND);
    CHECK_INT(found("Orders"), 2);
    CHECK_INT(tv_catalog_count(catalog), 1);
    tv_container_unref(table);
}

static tv_err run_point(tv_table_scan *scan)
{
    tv_slice value = TV_NONE;
    tv_err err =
        tv_engine_get(engine, TV_READ_ANY, tv_table_scan_point_key(scan), scan->arena, &value);

    return tv_table_scan_end_point(scan, err, value);
}

/* Its rows may be half gone by then, and half a page would pass for the whole. */
TEST(a_query_of_a_table_that_was_dropped_meanwhile_gives_no_page)
{
    tv_table_command command = {.kind = TV_TABLE_OP_QUERY_ENTITIES};
    tv_table_query query = {.top = TV_TABLE_PAGE_ROWS_MAX};
    tv_error_info info = {0};
    tv_buf out = TV_BUF_EMPTY;
    static asking a, b;

    create(&a, "Orders", &first);
    CHECK_OK(tv_filter_parse(&arena, TV_NONE, &query.filter, &info));
    tv_table_scan scan = {.table = tv_catalog_find(catalog, account, TV_LIT("Orders")),
                          .command = &command,
                          .query = &query,
                          .time_max_ns = INT64_C(60000000000),
                          .arena = &arena,
                          .out = &out};
    tv_table_scan point = scan;
    tv_table_query point_query = query;
    CHECK_OK(tv_filter_parse(&arena, TV_LIT("PartitionKey eq 'p' and RowKey eq 'r'"),
                             &point_query.filter, &info));
    point.query = &point_query;
    tv_table_scan_plan(&scan);
    tv_table_scan_plan(&point);
    CHECK_OK(run_scan(&scan, engine));
    CHECK_OK(run_point(&point));
    delete_table(&b, (tv_container *)scan.table, &first);
    CHECK_ERR(run_scan(&scan, engine), TV_ERR_TABLE_NOT_FOUND);
    CHECK_ERR(run_point(&point), TV_ERR_TABLE_NOT_FOUND);
    tv_buf_done(&out);
    tv_container_unref((tv_container *)scan.table);
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(who_hears_that_a_table_exists_finds_it),
        ONE(who_hears_that_a_table_is_gone_does_not_find_it),
        ONE(a_table_that_was_made_again_is_a_new_one),
        ONE(a_query_of_a_table_that_was_dropped_meanwhile_gives_no_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
