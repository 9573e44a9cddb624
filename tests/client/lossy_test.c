/*
 * A network that loses requests and answers, and a service that says 503 after it has done the
 * work: what the library says was written was written, once.
 */
#include "faults.h"

/* Every `step`-th request of those to come meets a fault, each time another one. */
static void lose_every(int step)
{
    static const char *const faults[] = {
        "cut_answer 0", "status 503 forward", "cut_request 60",     "cut_answer 40 fin",
        "status 500",   "cut_request 0",      "status 500 forward", "cut_request 200 forward",
    };
    char text[128];

    command("CLEAR", NULL);
    for (int i = 0; i < 400; i++) {
        snprintf(text, sizeof text, "PLAN %s on %d", faults[(size_t)i % COUNT_OF(faults)],
                 (i + 1) * step);
        command(text, NULL);
    }
}

/* How many requests met their fault. */
static unsigned lost(int step)
{
    char line[LINE_SIZE] = "";
    unsigned requests = 0;

    command("STATS", line);
    CHECK(sscanf(line, "open=%*u total=%*u peak=%*u requests=%u", &requests) == 1);
    return requests / (unsigned)step;
}

/* The table through the proxies, of a client that tries again soon and often. */
static tavola_client *client;
static tavola_table *table;

static int open_lossy(void **state)
{
    tavola_client_options options = {
        .struct_size = sizeof options, .retry_max = 12, .retry_delay_ms = 1, .proxy = ""};
    int code = open_live(state);

    CHECK_OK(tavola_client_open(fault_proxies.connection, &options, &client));
    CHECK_OK(tavola_table_open(client, tavola_table_name(t.table), &table));
    return code;
}

static int close_lossy(void **state)
{
    command("CLEAR", NULL);
    tavola_table_close(table);
    tavola_client_close(client);
    return close_live(state);
}

#define LOSSY_TEST(name) cmocka_unit_test_setup_teardown(name, open_lossy, close_lossy)

enum { ENTITIES = 60 };

TEST(single_writes_are_made_once)
{
    int confirmed = 0;

    lose_every(3);
    for (int i = 0; i < ENTITIES; i++) {
        char row_key[8];
        tavola_entity *entity;

        snprintf(row_key, sizeof row_key, "%03d", i);
        t_row = row_key;
        entity = new_entity("p", row_key, i);
        CHECK_OK(tavola_insert(table, entity, t.call));
        confirmed += tavola_call_was_confirmed(t.call);
        tavola_entity_set_etag(entity, tavola_call_etag(t.call));
        tavola_entity_set_int32(entity, "N", 1000 + i);
        CHECK_OK(tavola_replace(table, entity, NULL, t.call));
        confirmed += tavola_call_was_confirmed(t.call);
        tavola_entity_set_etag(entity, tavola_call_etag(t.call));
        tavola_entity_set_string(entity, "Text", "merged");
        CHECK_OK(tavola_merge(table, entity, NULL, t.call));
        confirmed += tavola_call_was_confirmed(t.call);
        if (i % 2) {
            CHECK_OK(tavola_delete(table, "p", row_key, tavola_call_etag(t.call), t.call));
            confirmed += tavola_call_was_confirmed(t.call);
        }
        tavola_entity_free(entity);
    }
    CHECK(lost(3) > ENTITIES);
    CHECK(confirmed > 10);
    command("CLEAR", NULL);
    CHECK_INT(count_all(), ENTITIES / 2);
    CHECK_INT(stored_n("p", "000"), 1000);
}

/* An insert of what another has put there is not believed to be ours. */
TEST(a_conflict_stays_a_conflict)
{
    insert_new("p", "r", 1);
    lose_every(2);
    for (int i = 0; i < 20; i++) {
        tavola_entity *entity = new_entity("p", "r", 2);

        CHECK_ERR(tavola_insert(table, entity, t.call), TAVOLA_ERR_EXISTS);
        CHECK_ERR(tavola_replace(table, entity, "W/\"datetime'2001-01-01T00%3A00%3A00Z'\"", t.call),
                  TAVOLA_ERR_ETAG);
        tavola_entity_free(entity);
    }
    command("CLEAR", NULL);
    CHECK_INT(stored_n("p", "r"), 1);
}

static tavola_err add_one(void *user, tavola_entity *entity)
{
    int32_t n = 0;

    (void)user;
    CHECK(tavola_entity_get_int32(entity, "N", &n));
    tavola_entity_set_int32(entity, "N", n + 1);
    return TAVOLA_OK;
}

TEST(a_counter_counts_each_update_once)
{
    insert_new("p", "counter", 0);
    lose_every(3);
    for (int i = 0; i < ENTITIES; i++)
        CHECK_OK(tavola_update(table, "p", "counter", add_one, NULL, t.call));
    command("CLEAR", NULL);
    CHECK_INT(stored_n("p", "counter"), ENTITIES);
}

TEST(batches_are_made_once)
{
    enum { BATCHES = 30, WRITES = 10 };

    lose_every(2);
    for (int i = 0; i < BATCHES; i++) {
        tavola_batch *inserts = tavola_batch_new(table), *deletes = tavola_batch_new(table);

        for (int j = 0; j < WRITES; j++) {
            char row_key[16];
            tavola_entity *entity;

            snprintf(row_key, sizeof row_key, "%d-%d", i, j);
            entity = new_entity("p", row_key, i);
            tavola_batch_add(inserts, TAVOLA_INSERT, entity, NULL);
            tavola_batch_add(deletes, TAVOLA_DELETE, entity, TAVOLA_ANY);
            tavola_entity_free(entity);
        }
        CHECK_OK(tavola_batch_run(inserts, t.call));
        if (i % 3 == 0)
            CHECK_OK(tavola_batch_run(deletes, t.call));
        tavola_batch_free(inserts);
        tavola_batch_free(deletes);
    }
    command("CLEAR", NULL);
    CHECK_INT(count_all(), BATCHES * WRITES * 2 / 3);
}

TEST(a_bulk_is_written_once_and_found_again)
{
    enum { WRITES = 3000 };
    tavola_query *query = tavola_query_new(NULL);
    tavola_bulk *bulk = NULL;
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    uint64_t written = 0, failed = 0, deleted = 0;
    uint8_t seen[WRITES] = {0};
    tavola_err err;

    lose_every(4);
    CHECK_OK(tavola_bulk_open(table, 4, NULL, NULL, NULL, &bulk));
    for (int i = 0; i < WRITES; i++) {
        char partition_key[8], row_key[16];
        tavola_entity *one;

        snprintf(partition_key, sizeof partition_key, "p%d", i % 20);
        snprintf(row_key, sizeof row_key, "%05d", i);
        one = new_entity(partition_key, row_key, i);
        CHECK_OK(tavola_bulk_add(bulk, TAVOLA_INSERT, one, NULL));
        tavola_entity_free(one);
    }
    CHECK_OK(tavola_bulk_close(bulk, &written, &failed));
    CHECK_INT(written, WRITES);
    CHECK_INT(failed, 0);

    tavola_query_set_page_size(query, 90);
    CHECK_OK(tavola_scan_open(table, query, t.call, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        int32_t n = -1;

        CHECK(tavola_entity_get_int32(entity, "N", &n));
        seen[n]++;
    }
    CHECK_ERR(err, TAVOLA_END);
    tavola_scan_close(scan);
    for (int i = 0; i < WRITES; i++)
        CHECK_INT(seen[i], 1);

    CHECK_OK(tavola_delete_where(table, tavola_where("N", TAVOLA_LT, tavola_int32(2000)), t.call,
                                 &deleted));
    CHECK_INT(deleted, 2000);
    command("CLEAR", NULL);
    CHECK_INT(count_all(), WRITES - 2000);
    tavola_query_free(query);
}

TEST(tables_are_made_and_deleted_once)
{
    lose_every(2);
    for (int i = 0; i < 10; i++) {
        bool exists = true;

        CHECK_OK(tavola_table_delete(table, t.call));
        CHECK_OK(tavola_table_exists(table, t.call, &exists));
        CHECK(!exists);
        CHECK_OK(tavola_table_create(table, t.call));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOSSY_TEST(single_writes_are_made_once),
        LOSSY_TEST(a_conflict_stays_a_conflict),
        LOSSY_TEST(a_counter_counts_each_update_once),
        LOSSY_TEST(batches_are_made_once),
        LOSSY_TEST(a_bulk_is_written_once_and_found_again),
        LOSSY_TEST(tables_are_made_and_deleted_once),
    };

    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
