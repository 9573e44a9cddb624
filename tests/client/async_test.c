/* Started operations: many at once, polled, waited for, cancelled. */
#include <poll.h>
#include <sched.h>

#include "patterns.h"

/* ---- waiting ---- */

TEST(each_operation_can_be_started_and_waited_for)
{
    tavola_entity *entity = new_entity("p", "r", 1), *got;
    tavola_batch *batch = tavola_batch_new(t.table);
    tavola_page *page;
    tavola_op *op = NULL;

    CHECK_OK(tavola_start_write(t.table, TAVOLA_INSERT, entity, NULL, NULL, NULL, NULL, &op));
    CHECK_OK(tavola_op_wait(op, 60000));
    CHECK_OK(tavola_op_err(op));
    CHECK_INT(tavola_call_status(tavola_op_call(op)), 204);
    CHECK(tavola_call_etag(tavola_op_call(op)) != NULL);
    CHECK(tavola_op_take_entity(op) == NULL);
    tavola_op_free(op);

    CHECK_OK(tavola_start_get(t.table, "p", "r", NULL, NULL, NULL, &op));
    CHECK_OK(tavola_op_wait(op, 60000));
    got = tavola_op_take_entity(op);
    CHECK_TEXT(tavola_entity_row_key(got), "r");
    CHECK(tavola_op_take_entity(op) == NULL);
    tavola_op_free(op);
    tavola_entity_free(got); /* it outlives its operation */

    tavola_entity_free(entity);
    entity = new_entity("p", "s", 2);
    tavola_batch_add(batch, TAVOLA_INSERT, entity, NULL);
    CHECK_OK(tavola_start_batch(batch, NULL, NULL, NULL, &op));
    CHECK_OK(tavola_op_wait(op, 60000));
    tavola_op_free(op);
    CHECK(tavola_batch_etag(batch, 0) != NULL);

    CHECK_OK(tavola_start_page(t.table, NULL, NULL, NULL, NULL, NULL, &op));
    CHECK_OK(tavola_op_wait(op, 60000));
    page = tavola_op_take_page(op);
    tavola_op_free(op);
    CHECK_INT(tavola_page_count(page), 2);
    tavola_page_free(page);
    tavola_batch_free(batch);
    tavola_entity_free(entity);
}

TEST(the_error_of_a_started_operation_is_told)
{
    tavola_entity *entity = new_entity("p", "r", 1);
    tavola_batch *batch = tavola_batch_new(t.table);
    tavola_op *op = NULL;

    CHECK_OK(tavola_start_get(t.table, "p", "r", NULL, NULL, NULL, &op));
    CHECK_ERR(tavola_op_wait(op, 60000), TAVOLA_ERR_NOT_FOUND);
    CHECK_TEXT(tavola_call_code(tavola_op_call(op)), "ResourceNotFound");
    CHECK(tavola_op_take_entity(op) == NULL);
    tavola_op_free(op);

    insert_new("p", "r", 1);
    CHECK_OK(tavola_start_write(t.table, TAVOLA_INSERT, entity, NULL, NULL, NULL, NULL, &op));
    CHECK_ERR(tavola_op_wait(op, 60000), TAVOLA_ERR_EXISTS);
    tavola_op_free(op);

    tavola_batch_add(batch, TAVOLA_INSERT, entity, NULL);
    CHECK_OK(tavola_start_batch(batch, NULL, NULL, NULL, &op));
    CHECK_ERR(tavola_op_wait(op, 60000), TAVOLA_ERR_EXISTS);
    CHECK_INT(tavola_call_failed_index(tavola_op_call(op)), 0);
    tavola_op_free(op);
    tavola_batch_free(batch);
    tavola_entity_free(entity);
}

TEST(what_cannot_be_started_is_refused_at_once)
{
    tavola_entity *entity = new_entity("p", "r", 1);
    tavola_batch *empty = tavola_batch_new(t.table);
    tavola_op *op = NULL;

    CHECK_ERR(tavola_start_get(NULL, "p", "r", NULL, NULL, NULL, &op), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_start_get(t.table, NULL, "r", NULL, NULL, NULL, &op), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_start_get(t.table, "p", "a/b", NULL, NULL, NULL, &op), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_start_get(t.table, "p", "r", NULL, NULL, NULL, NULL), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_start_write(NULL, TAVOLA_INSERT, entity, NULL, NULL, NULL, NULL, &op),
              TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_start_write(t.table, TAVOLA_REPLACE, entity, NULL, NULL, NULL, NULL, &op),
              TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_start_write(t.table, TAVOLA_INSERT, NULL, NULL, NULL, NULL, NULL, &op),
              TAVOLA_ERR_NO_MEMORY);
    CHECK_ERR(tavola_start_write(t.table, TAVOLA_INSERT, entity, NULL, NULL, NULL, NULL, NULL),
              TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_start_batch(empty, NULL, NULL, NULL, &op), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_start_batch(NULL, NULL, NULL, NULL, &op), TAVOLA_ERR_NO_MEMORY);
    CHECK_ERR(tavola_start_page(NULL, NULL, NULL, NULL, NULL, NULL, &op), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_start_page(t.table, NULL, "no token", NULL, NULL, NULL, &op),
              TAVOLA_ERR_INVALID);
    CHECK(op == NULL);
    tavola_batch_free(empty);
    tavola_entity_free(entity);
}

/* ---- polling ---- */

typedef struct tally {
    int ok, cancelled, unknown, other;
} tally;

static void note_end(void *user, tavola_op *op)
{
    tally *tally_of = user;
    tavola_err err = tavola_op_err(op);

    tally_of->ok += err == TAVOLA_OK;
    tally_of->cancelled += err == TAVOLA_ERR_CANCELLED;
    tally_of->unknown += err == TAVOLA_ERR_UNKNOWN_OUTCOME;
    tally_of->other +=
        err != TAVOLA_OK && err != TAVOLA_ERR_CANCELLED && err != TAVOLA_ERR_UNKNOWN_OUTCOME;
    tavola_op_free(op);
}

static int ended(const tally *tally_of)
{
    return tally_of->ok + tally_of->cancelled + tally_of->unknown + tally_of->other;
}

static void start_writes(int count, tally *tally_of)
{
    for (int i = 0; i < count; i++) {
        char row_key[16];
        tavola_entity *entity;
        tavola_op *op = NULL;

        snprintf(row_key, sizeof row_key, "%06d", i);
        entity = new_entity("p", row_key, i);
        CHECK_OK(tavola_start_write(t.table, TAVOLA_INSERT_OR_REPLACE, entity, NULL, note_end,
                                    tally_of, NULL, &op));
        tavola_entity_free(entity); /* it has a copy */
    }
}

TEST(thousands_are_in_flight)
{
    enum { WRITES = 5000 };
    tally writes = {0};

    start_writes(WRITES, &writes);
    while (ended(&writes) < WRITES)
        CHECK(tavola_poll(t.client, 60000) > 0);
    CHECK_INT(writes.ok, WRITES);
    CHECK_INT(tavola_poll(t.client, 0), 0);
    CHECK_INT(count_all(), WRITES);
}

/* With a loop of one's own. */
TEST(the_descriptor_says_when_to_poll)
{
    enum { WRITES = 300 };
    tally writes = {0};
    struct pollfd fd = {.fd = tavola_client_fd(t.client), .events = POLLIN};

    CHECK(fd.fd >= 0);
    CHECK_INT(poll(&fd, 1, 0), 0);
    start_writes(WRITES, &writes);
    while (ended(&writes) < WRITES) {
        CHECK_INT(poll(&fd, 1, 60000), 1);
        CHECK(tavola_poll(t.client, 0) > 0);
    }
    CHECK_INT(writes.ok, WRITES);
    CHECK_INT(poll(&fd, 1, 0), 0);
    CHECK_INT(tavola_client_fd(t.client), fd.fd);
}

/* All pages of a table, each started by the one before. */
typedef struct page_walk {
    tavola_query *query;
    int entities, pages;
    bool is_over;
} page_walk;

static void on_page(void *user, tavola_op *op)
{
    page_walk *walk = user;
    tavola_page *page = tavola_op_take_page(op);
    tavola_op *next = NULL;

    CHECK_OK(tavola_op_err(op));
    walk->entities += (int)tavola_page_count(page);
    walk->pages++;
    walk->is_over = tavola_page_token(page) == NULL;
    if (!walk->is_over)
        CHECK_OK(tavola_start_page(t.table, walk->query, tavola_page_token(page), on_page, walk,
                                   NULL, &next));
    tavola_page_free(page);
    tavola_op_free(op);
}

TEST(pages_follow_each_other)
{
    tally writes = {0};
    page_walk walk = {.query = tavola_query_new(NULL)};
    tavola_op *op = NULL;

    start_writes(500, &writes);
    while (ended(&writes) < 500)
        tavola_poll(t.client, 1000);
    tavola_query_set_page_size(walk.query, 120);
    CHECK_OK(tavola_start_page(t.table, walk.query, NULL, on_page, &walk, NULL, &op));
    while (!walk.is_over)
        tavola_poll(t.client, 1000);
    CHECK_INT(walk.entities, 500);
    CHECK_INT(walk.pages, 5);
    tavola_query_free(walk.query);
}

/* ---- cancelling ---- */

/*
 * Start many writes, each of an entity of its own, and cancel them all.  One that was cancelled was
 * not made; how many were done before.
 */
static int cancel_writes(tavola_table *table, int count)
{
    tavola_op **ops = calloc((size_t)count, sizeof(tavola_op *));
    static unsigned round;
    char partition_key[16];
    int done = 0, unknown = 0;

    snprintf(partition_key, sizeof partition_key, "round%u", round++);

    for (int i = 0; i < count; i++) {
        char row_key[16];

        snprintf(row_key, sizeof row_key, "%d", i);

        tavola_entity *entity = new_entity(partition_key, row_key, i);

        CHECK_OK(tavola_start_write(table, TAVOLA_INSERT_OR_REPLACE, entity, NULL, NULL, NULL, NULL,
                                    &ops[i]));
        tavola_entity_free(entity);
    }
    for (int i = 0; i < count; i++)
        tavola_op_cancel(ops[i]);
    for (int i = 0; i < count; i++) {
        tavola_err err = tavola_op_wait(ops[i], 60000);

        if (err != TAVOLA_OK && err != TAVOLA_ERR_UNKNOWN_OUTCOME)
            CHECK_ERR(err, TAVOLA_ERR_CANCELLED);
        done += err == TAVOLA_OK;
        unknown += err == TAVOLA_ERR_UNKNOWN_OUTCOME;
        tavola_op_free(ops[i]);
    }
    free(ops);

    uint64_t made = 0;
    tavola_query *query =
        tavola_query_new(TAVOLA_BIND("PartitionKey eq ?", tavola_string(partition_key)));

    CHECK_OK(tavola_count(t.table, query, t.call, &made));
    tavola_query_free(query);
    CHECK((int)made >= done && (int)made <= done + unknown);
    return done;
}

TEST(what_is_cancelled_ends_soon)
{
    enum { WRITES = 500 };
    tavola_client *client = open_mortal_client();
    tavola_table *table = table_on(client);

    cancel_writes(t.table, WRITES);
    insert_new("p", "after", 1); /* the client is as good as before */

    /* Without an answer they would not end by themselves. */
    command("CLEAR", NULL);
    command("PLAN hang always", NULL);
    CHECK_INT(cancel_writes(table, WRITES), 0);
    command("CLEAR", NULL);

    tavola_entity *entity = new_entity("p", "later", 1);

    CHECK_OK(tavola_insert(table, entity, t.call));
    tavola_entity_free(entity);
    tavola_table_close(table);
    tavola_client_close(client);
}

TEST(what_is_cancelled_can_be_freed_at_once)
{
    for (int i = 0; i < 200; i++) {
        tavola_op *op = NULL;

        CHECK_OK(tavola_start_page(t.table, NULL, NULL, NULL, NULL, NULL, &op));
        for (int k = 0; k < i % 40; k++)
            sched_yield(); /* so that it has come less or more far */
        tavola_op_cancel(op);
        tavola_op_free(op);
    }
    insert_new("p", "after", 1);
}

/* Nobody polls any more: `done` is called when the client is closed. */
TEST(closing_the_client_ends_what_is_under_way)
{
    enum { WRITES = 200 };
    tavola_client *client = open_client();
    tavola_table *table = NULL;
    tally writes = {0};
    tavola_op *op = NULL;

    CHECK_OK(tavola_table_open(client, tavola_table_name(t.table), &table));
    for (int i = 0; i < WRITES; i++) {
        tavola_entity *entity = new_entity("p", "r", i);

        CHECK_OK(tavola_start_write(table, TAVOLA_INSERT_OR_REPLACE, entity, NULL, note_end,
                                    &writes, NULL, &op));
        tavola_entity_free(entity);
    }
    tavola_client_close(client);
    CHECK_INT(ended(&writes), WRITES);
    CHECK_INT(writes.other, 0);
    CHECK_ERR(tavola_start_get(table, "p", "r", NULL, NULL, NULL, &op), TAVOLA_ERR_CANCELLED);
    tavola_table_close(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(each_operation_can_be_started_and_waited_for),
        LIVE_TEST(the_error_of_a_started_operation_is_told),
        LIVE_TEST(what_cannot_be_started_is_refused_at_once),
        LIVE_TEST(thousands_are_in_flight),
        LIVE_TEST(the_descriptor_says_when_to_poll),
        LIVE_TEST(pages_follow_each_other),
        LIVE_TEST(what_is_cancelled_ends_soon),
        LIVE_TEST(what_is_cancelled_can_be_freed_at_once),
        LIVE_TEST(closing_the_client_ends_what_is_under_way),
    };

    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
