/* Bulk writes: any number, to any partitions, each with its own outcome. */
#include "live.h"

/* What failed() was told. */
typedef struct failure_notes {
    int count;
    tavola_err err;
    char code[64];
    uint8_t *is_failed; /* by N, or NULL */
    int32_t last_n;
} failure_notes;

static void note(void *user, const tavola_entity *entity, tavola_err err, const char *code)
{
    failure_notes *failures = user;
    int32_t n = -1;

    failures->count++;
    failures->err = err;
    snprintf(failures->code, sizeof failures->code, "%s", code);
    if (tavola_entity_get_int32(entity, "N", &n) && failures->is_failed)
        failures->is_failed[n]++;
    failures->last_n = n;
}

static void add(tavola_bulk *bulk, tavola_write write, const char *partition_key, int row,
                int32_t n)
{
    char row_key[16];
    tavola_entity *entity;

    snprintf(row_key, sizeof row_key, "%06d", row);
    entity = new_entity(partition_key, row_key, n);
    CHECK_OK(tavola_bulk_add(bulk, write, entity, TAVOLA_ANY));
    tavola_entity_free(entity);
}

static void close_and_check(tavola_bulk *bulk, uint64_t want_written, uint64_t want_failed)
{
    uint64_t written = UINT64_MAX, failed = UINT64_MAX;

    CHECK_OK(tavola_bulk_close(bulk, &written, &failed));
    CHECK_INT(written, want_written);
    CHECK_INT(failed, want_failed);
}

static const struct {
    const char *what;
    int entities, partitions;
    uint32_t in_flight_max;
} loads[] = {
    {"one entity", 1, 1, 0},
    {"one partition", 2500, 1, 0},
    {"one batch at a time", 1000, 3, 1},
    {"each entity in a partition of its own", 300, 300, 0},
    {"partitions in turn, more than are kept open", 20000, 400, 16},
};

TEST(all_is_written_whatever_its_partitions)
{
    for (size_t i = 0; i < COUNT_OF(loads); i++) {
        tavola_bulk *bulk = NULL;
        failure_notes failures = {0};

        t_row = loads[i].what;
        CHECK_OK(tavola_bulk_open(t.table, loads[i].in_flight_max, note, &failures, NULL, &bulk));
        for (int n = 0; n < loads[i].entities; n++) {
            char partition_key[16];

            snprintf(partition_key, sizeof partition_key, "%zu-%d", i, n % loads[i].partitions);
            add(bulk, TAVOLA_INSERT, partition_key, n, n);
        }
        close_and_check(bulk, (uint64_t)loads[i].entities, 0);
        CHECK_INT(failures.count, 0);
        if (i == 1)
            CHECK_INT(count_all(), 2501);
    }
    CHECK_INT(count_all(), 1 + 2500 + 1000 + 300 + 20000);
}

/* The guide's bulk load. */
TEST(a_hundred_thousand_entities_are_loaded)
{
    enum { ENTITIES = 100000, PARTITIONS = 100 };
    tavola_bulk *bulk = NULL;

    CHECK_OK(tavola_bulk_open(t.table, 0, NULL, NULL, NULL, &bulk));
    for (int n = 0; n < ENTITIES; n++) {
        char partition_key[16];

        snprintf(partition_key, sizeof partition_key, "p%d", n % PARTITIONS);
        add(bulk, TAVOLA_INSERT_OR_REPLACE, partition_key, n, n);
    }
    close_and_check(bulk, ENTITIES, 0);
    CHECK_INT(count_all(), ENTITIES);
    CHECK_INT(stored_n("p42", "000042"), 42);
}

/* Every third of them exists already. */
TEST(conflicts_are_told_one_by_one)
{
    enum { ENTITIES = 1000 };
    tavola_bulk *bulk = NULL;
    uint8_t is_failed[ENTITIES] = {0};
    failure_notes failures = {.is_failed = is_failed};

    CHECK_OK(tavola_bulk_open(t.table, 0, note, &failures, NULL, &bulk));
    for (int n = 0; n < ENTITIES; n += 3)
        add(bulk, TAVOLA_INSERT, n % 2 ? "odd" : "even", n, n);
    close_and_check(bulk, (ENTITIES + 2) / 3, 0);

    CHECK_OK(tavola_bulk_open(t.table, 0, note, &failures, NULL, &bulk));
    for (int n = 0; n < ENTITIES; n++)
        add(bulk, TAVOLA_INSERT, n % 2 ? "odd" : "even", n, n);
    close_and_check(bulk, ENTITIES - (ENTITIES + 2) / 3, (ENTITIES + 2) / 3);
    CHECK_INT(failures.count, (ENTITIES + 2) / 3);
    CHECK_ERR(failures.err, TAVOLA_ERR_EXISTS);
    CHECK_TEXT(failures.code, "EntityAlreadyExists");
    for (int n = 0; n < ENTITIES; n++)
        CHECK_INT(is_failed[n], n % 3 == 0);
    CHECK_INT(count_all(), ENTITIES);
}

TEST(all_may_fail)
{
    enum { ENTITIES = 300 };
    tavola_bulk *bulk = NULL;
    failure_notes failures = {0};

    CHECK_OK(tavola_bulk_open(t.table, 0, note, &failures, NULL, &bulk));
    for (int n = 0; n < ENTITIES; n++)
        add(bulk, TAVOLA_REPLACE, "p", n, n);
    close_and_check(bulk, 0, ENTITIES);
    CHECK_INT(failures.count, ENTITIES);
    CHECK_ERR(failures.err, TAVOLA_ERR_NOT_FOUND);
    CHECK_TEXT(failures.code, "ResourceNotFound");

    /* A table that is missing is found out once for each batch, not for each write. */
    CHECK_OK(tavola_table_delete(t.table, t.call));
    CHECK_OK(tavola_bulk_open(t.table, 0, note, &failures, NULL, &bulk));
    for (int n = 0; n < ENTITIES; n++)
        add(bulk, TAVOLA_INSERT, "p", n, n);
    close_and_check(bulk, 0, ENTITIES);
    CHECK_TEXT(failures.code, "TableNotFound");
}

/* Each entity is written again and again; the last write counts. */
TEST(writes_to_one_entity_keep_their_order)
{
    enum { ENTITIES = 7, ROUNDS = 100 };
    tavola_bulk *bulk = NULL;
    failure_notes failures = {0};

    CHECK_OK(tavola_bulk_open(t.table, 16, note, &failures, NULL, &bulk));
    for (int round = 0; round < ROUNDS; round++) {
        for (int row = 0; row < ENTITIES; row++) {
            /* Deletes and inserts in turn fail if they change places. */
            if (row % 2)
                add(bulk, round % 2 ? TAVOLA_DELETE : TAVOLA_INSERT, "p", row, round);
            else
                add(bulk, TAVOLA_INSERT_OR_REPLACE, "p", row, round);
        }
    }
    add(bulk, TAVOLA_INSERT, "p", 1, 1000);
    close_and_check(bulk, ENTITIES * ROUNDS + 1, 0);
    CHECK_INT(failures.count, 0);
    CHECK_INT(stored_n("p", "000000"), ROUNDS - 1);
    CHECK_INT(stored_n("p", "000001"), 1000);
    CHECK(!is_stored("p", "000003"));
    CHECK_INT(stored_n("p", "000006"), ROUNDS - 1);
}

/* A batch is cut by its bytes, too. */
TEST(large_entities_are_cut_by_bytes)
{
    static char text[32 * 1024 + 1];
    tavola_bulk *bulk = NULL;
    char row_key[16], name[8];

    memset(text, 'x', sizeof text - 1);
    CHECK_OK(tavola_bulk_open(t.table, 4, NULL, NULL, NULL, &bulk));
    for (int i = 0; i < 60; i++) {
        tavola_entity *entity;

        snprintf(row_key, sizeof row_key, "%d", i);
        entity = tavola_entity_new("p", row_key);
        for (int j = 0; j < 15; j++) {
            snprintf(name, sizeof name, "P%d", j);
            tavola_entity_set_string(entity, name, text);
        }
        CHECK_OK(tavola_bulk_add(bulk, TAVOLA_INSERT, entity, NULL));
        tavola_entity_free(entity);
    }
    close_and_check(bulk, 60, 0);
    CHECK_INT(count_all(), 60);
}

TEST(an_entitys_etag_is_its_condition)
{
    tavola_entity *stale = NULL, *fresh = NULL;
    tavola_bulk *bulk = NULL;
    failure_notes failures = {0};

    insert_new("p", "stale", 1);
    insert_new("p", "fresh", 2);
    CHECK_OK(tavola_get(t.table, "p", "stale", t.call, &stale));
    CHECK_OK(tavola_get(t.table, "p", "stale", t.call, &fresh));
    CHECK_OK(tavola_replace(t.table, fresh, NULL, t.call));
    tavola_entity_free(fresh);
    CHECK_OK(tavola_get(t.table, "p", "fresh", t.call, &fresh));
    CHECK_OK(tavola_bulk_open(t.table, 0, note, &failures, NULL, &bulk));
    CHECK_OK(tavola_bulk_add(bulk, TAVOLA_DELETE, stale, NULL));
    CHECK_OK(tavola_bulk_add(bulk, TAVOLA_DELETE, fresh, NULL));
    close_and_check(bulk, 1, 1);
    CHECK_ERR(failures.err, TAVOLA_ERR_ETAG);
    CHECK_INT(failures.last_n, 1);
    CHECK(is_stored("p", "stale"));
    CHECK(!is_stored("p", "fresh"));
    tavola_entity_free(stale);
    tavola_entity_free(fresh);
}

TEST(what_cannot_be_written_is_refused_at_once)
{
    tavola_bulk *bulk = NULL;
    tavola_entity *bad = tavola_entity_new("p", "a/b"), *good = new_entity("p", "r", 1);

    CHECK_ERR(tavola_bulk_open(NULL, 0, NULL, NULL, NULL, &bulk), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_bulk_open(t.table, 0, NULL, NULL, NULL, NULL), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_bulk_add(NULL, TAVOLA_INSERT, good, NULL), TAVOLA_ERR_INVALID);
    CHECK_OK(tavola_bulk_close(NULL, NULL, NULL));
    CHECK_OK(tavola_bulk_open(t.table, UINT32_MAX, NULL, NULL, NULL, &bulk));
    CHECK_ERR(tavola_bulk_add(bulk, TAVOLA_INSERT, bad, NULL), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_bulk_add(bulk, TAVOLA_INSERT, NULL, NULL), TAVOLA_ERR_NO_MEMORY);
    CHECK_ERR(tavola_bulk_add(bulk, (tavola_write)99, good, NULL), TAVOLA_ERR_INVALID);
    CHECK_OK(tavola_bulk_add(bulk, TAVOLA_INSERT, good, NULL));
    close_and_check(bulk, 1, 0);
    tavola_entity_free(bad);
    tavola_entity_free(good);
}

static void call_back(void *user, const tavola_entity *entity, tavola_err err, const char *code)
{
    tavola_bulk **bulk = user;

    (void)err;
    (void)code;
    CHECK_ERR(tavola_bulk_add(*bulk, TAVOLA_INSERT, entity, NULL), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_bulk_close(*bulk, NULL, NULL), TAVOLA_ERR_INVALID);
}

TEST(failed_cannot_use_the_bulk)
{
    tavola_bulk *bulk = NULL;

    CHECK_OK(tavola_bulk_open(t.table, 0, call_back, &bulk, NULL, &bulk));
    add(bulk, TAVOLA_REPLACE, "p", 1, 1);
    close_and_check(bulk, 0, 1);
}

static void note_end(void *user, const tavola_entity *entity, tavola_err err, const char *code)
{
    uint64_t *ends = user;

    (void)entity;
    (void)code;
    CHECK(err == TAVOLA_ERR_CANCELLED || err == TAVOLA_ERR_UNKNOWN_OUTCOME);
    ends[err == TAVOLA_ERR_UNKNOWN_OUTCOME]++;
}

/* Its operations are cancelled then, and nothing more can be started. */
TEST(a_bulk_survives_the_end_of_its_client)
{
    enum { ENTITIES = 2000 };
    tavola_client *client = open_client();
    tavola_table *table = NULL;
    tavola_bulk *bulk = NULL;
    uint64_t written = 0, failed = 0, ends[2] = {0}; /* not made; not known */

    CHECK_OK(tavola_table_open(client, tavola_table_name(t.table), &table));
    CHECK_OK(tavola_bulk_open(table, 0, note_end, ends, NULL, &bulk));
    tavola_table_close(table);
    for (int n = 0; n < ENTITIES; n++) {
        if (n == ENTITIES / 2)
            tavola_client_close(client);
        add(bulk, TAVOLA_INSERT, "p", n, n);
    }
    CHECK_OK(tavola_bulk_close(bulk, &written, &failed));
    CHECK_INT(written + failed, ENTITIES);
    CHECK_INT(ends[0] + ends[1], failed);
    CHECK(ends[0] >= ENTITIES / 2);
    CHECK(count_all() >= written && count_all() <= written + ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(all_is_written_whatever_its_partitions),
        LIVE_TEST(a_hundred_thousand_entities_are_loaded),
        LIVE_TEST(conflicts_are_told_one_by_one),
        LIVE_TEST(all_may_fail),
        LIVE_TEST(writes_to_one_entity_keep_their_order),
        LIVE_TEST(large_entities_are_cut_by_bytes),
        LIVE_TEST(an_entitys_etag_is_its_condition),
        LIVE_TEST(what_cannot_be_written_is_refused_at_once),
        LIVE_TEST(failed_cannot_use_the_bulk),
        LIVE_TEST(a_bulk_survives_the_end_of_its_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
