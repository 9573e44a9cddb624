/*
 * Sites that write into one store: two of them are two nodes, each with its own idea of which
 * numbers are taken, or one node before and after a restart.
 */
#include "server/analytics/site.h"

#include "server/analytics/names.h"
#include "services/blob/store/list.h"
#include "services/queue/ops.h"
#include "services/queue/service.h"
#include "store.h"

/* 2026-01-02T03:04:05Z */
static const int64_t instant = INT64_C(639029198450000000);

static tv_catalog *tables, *containers;
static tv_catalog_kind container_kind;
static tv_blob_gc_container gc_container;
static tv_table_service table_service;
static tv_blob_service blob_service;

/* A node: its store, its counters, its site of the queue service. */
typedef struct node {
    tv_analytics_store store;
    tv_analytics_stats stats;
    tv_analytics_site_ctx ctx;
    tv_analytics_site *site;
    int own; /* writes of analytics itself */
} node;

static void count_own(void *ctx, tv_slice account, tv_service_kind service,
                      const tv_analytics_request *request)
{
    node *n = ctx;

    (void)account;
    (void)service;
    (void)request;
    n->own++;
}

static void node_start(node *n)
{
    *n = (node){.own = 0};
    tv_analytics_store_init(&n->store, pipeline, &table_service, &blob_service);
    n->ctx =
        (tv_analytics_site_ctx){.store = &n->store, .stats = &n->stats, .own = count_own, .ctx = n};
    n->site = tv_analytics_site_new(&tv_queue_spec, ACCOUNT, false);
}

static void node_stop(node *n)
{
    tv_analytics_site_free(n->site);
    tv_analytics_store_done(&n->store);
}

static int set_up(__attribute__((unused)) void **state)
{
    store_start();
    gc_container = (tv_blob_gc_container){.engine = engine};
    container_kind = tv_blob_catalog(&gc_container);
    container_kind.before_drop = NULL;
    container_kind.after_drop = NULL;
    CHECK_OK(open_catalog(&tv_table_catalog, &tables));
    CHECK_OK(open_catalog(&container_kind, &containers));
    table_service = (tv_table_service){.base = {.engine = engine, .catalog = tables}};
    blob_service = (tv_blob_service){.base = {.engine = engine, .catalog = containers}};
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_catalog_close(tables);
    tv_catalog_close(containers);
    store_stop();
    return 0;
}

/* A request of the queue service that ended at `ticks`. */
static tv_analytics_record record_of(int64_t ticks)
{
    tv_analytics_record record = {
        .service = TV_SERVICE_QUEUE,
        .op = TV_QUEUE_OP_LIST,
        .op_name = tv_slice_of(tv_queue_spec.ops[TV_QUEUE_OP_LIST].name),
        .switches = {.has_log = true,
                     .has_hours = true,
                     .has_minutes = true,
                     .has_hour_apis = true,
                     .has_minute_apis = true},
        .is_logged = true,
        .result = TV_ANALYTICS_SUCCESS,
        .status = 200,
        .start_ticks = ticks,
        .end_ticks = ticks,
        .total_us = 1000,
        .server_us = 500,
        .account = ACCOUNT,
    };

    memset(record.request_id, '0', sizeof record.request_id);
    return record;
}

static void take(node *n, int64_t ticks, int count)
{
    tv_analytics_record record = record_of(ticks);

    for (int i = 0; i < count; i++)
        tv_analytics_site_take(n->site, &n->ctx, &record);
}

/* The names of log blobs, one after the other; and the lines in them. */
static tv_slice list_logs(uint64_t *ret_bytes)
{
    tv_blob_list_query query = {0};
    tv_container *logs = tv_catalog_find(containers, ACCOUNT, TV_ANALYTICS_LOGS);
    tv_buf names = TV_BUF_EMPTY;
    tv_blob_list *list;
    tv_blob_entry entry;

    *ret_bytes = 0;
    CHECK(logs);
    query.container = logs->prefix;
    CHECK_OK(tv_blob_list_open(engine, &query, &list));
    do {
        while (tv_blob_list_next(list, &entry)) {
            tv_buf_printf(&names, "%.*s ", TV_FMT(entry.name));
            *ret_bytes += entry.head.length;
        }
    } while (tv_blob_list_has_more(list));
    CHECK_OK(tv_blob_list_status(list));
    tv_blob_list_close(list);
    tv_container_unref(logs);

    tv_slice text = tv_arena_dup(&arena, tv_buf_slice(&names));

    tv_buf_done(&names);
    return text;
}

/* Requests that a row has, -1 when there is none. */
static int64_t requests_of(const char *table_name, const char *partition_key, const char *row_key)
{
    tv_container *table = tv_catalog_find(tables, ACCOUNT, tv_slice_of(table_name));
    tv_slice partition, key, value;
    tv_analytics_counts counts;
    tv_err err;

    if (table == NULL)
        return -1;
    CHECK_OK(tv_key_partition(&arena, ACCOUNT, table->id, tv_slice_of(partition_key), &partition));
    CHECK_OK(tv_key_row(&arena, partition, tv_slice_of(row_key), &key));
    tv_container_unref(table);
    err = tv_engine_get(engine, TV_READ_ANY, key, &arena, &value);
    if (err == TV_ERR_NOT_FOUND)
        return -1;
    CHECK_OK(err);
    CHECK_OK(tv_analytics_counts_decode(value, &counts));
    return tv_analytics_counts_requests(&counts);
}

#define HOURS "$MetricsHourPrimaryTransactionsQueue"
#define MINUTES "$MetricsMinutePrimaryTransactionsQueue"

TEST(nodes_do_not_take_each_others_numbers)
{
    node a, b;
    uint64_t bytes;

    node_start(&a);
    node_start(&b);
    for (int i = 0; i < 3; i++) {
        take(&a, instant, 1);
        take(&b, instant, 1);
        tv_analytics_site_flush(a.site, &a.ctx);
        tv_analytics_site_flush(b.site, &b.ctx);
    }
    CHECK_TEXT(list_logs(&bytes),
               "queue/2026/01/02/0300/000000.log queue/2026/01/02/0300/000001.log "
               "queue/2026/01/02/0300/000002.log queue/2026/01/02/0300/000003.log "
               "queue/2026/01/02/0300/000004.log queue/2026/01/02/0300/000005.log ");
    CHECK_INT(a.stats.blobs + b.stats.blobs, 6);
    CHECK_INT(a.stats.failed_writes + b.stats.failed_writes, 0);
    node_stop(&a);
    node_stop(&b);
}

TEST(nodes_count_into_the_same_rows)
{
    node a, b;

    node_start(&a);
    node_start(&b);
    for (int i = 0; i < 5; i++) {
        take(&a, instant, 3);
        take(&b, instant, 4);
        tv_analytics_site_flush(a.site, &a.ctx);
        tv_analytics_site_flush(b.site, &b.ctx);
    }
    CHECK_INT(requests_of(HOURS, "20260102T0300", "user;All"), 35);
    CHECK_INT(requests_of(MINUTES, "20260102T0304", "user;All"), 35);
    CHECK_INT(requests_of(HOURS, "20260102T0300", "system;All"), 0);
    CHECK_INT(requests_of(HOURS, "20260102T0300", "user;ListQueues"), 35);
    CHECK_INT(requests_of(HOURS, "20260102T0300", "user;PutMessage"), -1);
    node_stop(&a);
    node_stop(&b);
}

TEST(hours_and_minutes_end_where_the_next_request_is_of_another)
{
    node n;
    uint64_t bytes;

    node_start(&n);
    take(&n, instant, 2);
    take(&n, instant + TV_ANALYTICS_MINUTE_TICKS, 3);
    take(&n, instant + TV_ANALYTICS_HOUR_TICKS, 4);
    tv_analytics_site_flush(n.site, &n.ctx);
    CHECK_TEXT(list_logs(&bytes),
               "queue/2026/01/02/0300/000000.log queue/2026/01/02/0400/000000.log ");
    CHECK_INT(requests_of(MINUTES, "20260102T0304", "user;All"), 2);
    CHECK_INT(requests_of(MINUTES, "20260102T0305", "user;All"), 3);
    CHECK_INT(requests_of(MINUTES, "20260102T0404", "user;All"), 4);
    CHECK_INT(requests_of(HOURS, "20260102T0300", "user;All"), 5);
    CHECK_INT(requests_of(HOURS, "20260102T0400", "user;All"), 4);
    CHECK_INT(n.stats.lines, 9);
    node_stop(&n);
}

TEST(a_clock_that_goes_back_loses_nothing)
{
    node n;

    node_start(&n);
    take(&n, instant + TV_ANALYTICS_HOUR_TICKS, 1);
    take(&n, instant, 1);
    tv_analytics_site_flush(n.site, &n.ctx);
    CHECK_INT(requests_of(HOURS, "20260102T0400", "user;All"), 2);
    CHECK_INT(n.stats.lines, 2);
    node_stop(&n);
}

TEST(a_blob_has_at_most_512_kib_and_all_lines_are_somewhere)
{
    node n;
    uint64_t bytes, line_bytes;
    enum { LINES = 5000 };

    node_start(&n);
    take(&n, instant, 1);
    line_bytes = n.site->lines.len;
    take(&n, instant, LINES - 1);
    CHECK(n.site->lines.len <= TV_ANALYTICS_LOG_BYTES_MAX);
    tv_analytics_site_flush(n.site, &n.ctx);
    list_logs(&bytes);
    CHECK_INT(bytes, line_bytes * LINES);
    CHECK(n.stats.blobs >= bytes / TV_ANALYTICS_LOG_BYTES_MAX);
    CHECK_INT(n.stats.dropped_lines, 0);
    node_stop(&n);
}

TEST(a_site_whose_writes_fail_keeps_to_its_bounds_and_counts_what_it_drops)
{
    node n;
    enum { LINES = 20000 };

    node_start(&n);
    tv_memory_set_full(engine, true);
    take(&n, instant, LINES);
    CHECK(n.site->lines.len <= TV_ANALYTICS_LOG_BYTES_MAX);
    CHECK_INT(n.stats.lines + n.stats.dropped_lines, LINES);
    CHECK(n.stats.dropped_lines > 0);

    /* Counts are all there when it can write again, and so are the lines that found room. */
    tv_memory_set_full(engine, false);
    tv_analytics_site_flush(n.site, &n.ctx);
    CHECK_INT(requests_of(HOURS, "20260102T0300", "user;All"), LINES);
    CHECK_INT(n.site->lines.len, 0);
    node_stop(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes_do_not_take_each_others_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nodes_count_into_the_same_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hours_and_minutes_end_where_the_next_request_is_of_another,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_clock_that_goes_back_loses_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_blob_has_at_most_512_kib_and_all_lines_are_somewhere,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_site_whose_writes_fail_keeps_to_its_bounds_and_counts_what_it_drops, set_up,
            tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
