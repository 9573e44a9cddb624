/*
 * What the library says of a write is true, whatever the network does to it.
 *
 * Every kind of write meets every fault, once, twice and for ever, with retries and without.  Then
 * the server is asked directly: OK means that the write was made; an error, but for
 * UNKNOWN_OUTCOME, that it was not.
 */
#include "faults.h"

enum { RETRIES = 3, MANY_RETRIES = 1000 };

/* A client through the proxy, and the test's table through it. */
typedef struct side {
    tavola_client *client;
    tavola_table *table;
} side;

static struct {
    side patient, hasty; /* hasty: for faults that let it wait */
    tavola_client *client;
    tavola_table *table; /* of the one in use */
    tavola_call *call;
    unsigned made, not_made, unknown, confirmed, lies;
} f;

static side open_side(uint32_t attempt_timeout_ms)
{
    tavola_client_options options = {.struct_size = sizeof options,
                                     .attempt_timeout_ms = attempt_timeout_ms,
                                     .total_timeout_ms = 60 * 1000,
                                     .retry_max = RETRIES,
                                     .retry_delay_ms = 1,
                                     .retry_delay_max_ms = 20};
    side opened = {0};

    CHECK_OK(tavola_client_open(fault_proxies.connection, &options, &opened.client));
    CHECK_OK(tavola_table_open(opened.client, tavola_table_name(t.table), &opened.table));
    return opened;
}

static void close_side(side *opened)
{
    tavola_table_close(opened->table);
    tavola_client_close(opened->client);
}

static void use(const side *one)
{
    f.client = one->client;
    f.table = one->table;
}

static void open_faulty(void)
{
    enum { HASTE_MS = 50 };

    memset(&f, 0, sizeof f);
    command("CLEAR", NULL);
    f.patient = open_side(0);
    f.hasty = open_side(HASTE_MS);
    use(&f.patient);
    f.call = tavola_call_new();
}

static void close_faulty(void)
{
    tavola_call_free(f.call);
    close_side(&f.patient);
    close_side(&f.hasty);
}

/* ---- the writes ----------------------------------------------------------------------------- */

/* Each begins with what is there, writes N = 2 under the row key, and can tell if it was made. */
typedef struct kind {
    const char *name;
    const char *method;
    bool is_there; /* an entity with N = 1 and Other = 7 */
    tavola_err (*write)(const char *row_key);
    bool (*is_made)(const char *row_key);
} kind;

static char known_etag[200];

static void prepare(const kind *k, const char *row_key)
{
    tavola_entity *entity = new_entity("p", row_key, 1);

    if (k->is_there) {
        tavola_entity_set_int32(entity, "Other", 7);
        CHECK_OK(tavola_insert(t.table, entity, t.call));
        snprintf(known_etag, sizeof known_etag, "%s", tavola_call_etag(t.call));
    }
    tavola_entity_free(entity);
}

static tavola_err with_entity(const char *row_key,
                              tavola_err (*write)(tavola_table *, tavola_entity *, tavola_call *))
{
    tavola_entity *entity = new_entity("p", row_key, 2);
    tavola_err err = write(f.table, entity, f.call);

    tavola_entity_free(entity);
    return err;
}

static tavola_err do_insert(const char *row_key)
{
    return with_entity(row_key, tavola_insert);
}

static tavola_err do_insert_or_replace(const char *row_key)
{
    return with_entity(row_key, tavola_insert_or_replace);
}

static tavola_err do_insert_or_merge(const char *row_key)
{
    return with_entity(row_key, tavola_insert_or_merge);
}

static tavola_err replace_known(tavola_table *table, tavola_entity *entity, tavola_call *call)
{
    return tavola_replace(table, entity, known_etag, call);
}

static tavola_err do_replace(const char *row_key)
{
    return with_entity(row_key, replace_known);
}

static tavola_err merge_known(tavola_table *table, tavola_entity *entity, tavola_call *call)
{
    return tavola_merge(table, entity, known_etag, call);
}

static tavola_err do_merge(const char *row_key)
{
    return with_entity(row_key, merge_known);
}

static tavola_err merge_any(tavola_table *table, tavola_entity *entity, tavola_call *call)
{
    return tavola_merge(table, entity, TAVOLA_ANY, call);
}

static tavola_err do_merge_any(const char *row_key)
{
    return with_entity(row_key, merge_any);
}

static tavola_err do_delete(const char *row_key)
{
    return tavola_delete(f.table, "p", row_key, known_etag, f.call);
}

static tavola_err do_delete_if_present(const char *row_key)
{
    return tavola_delete_if_present(f.table, "p", row_key, f.call);
}

/* Two inserts in one transaction. */
static tavola_err do_batch(const char *row_key)
{
    tavola_batch *batch = tavola_batch_new(f.table);
    tavola_err err;
    char second[100];

    snprintf(second, sizeof second, "%s-second", row_key);
    for (int i = 0; i < 2; i++) {
        tavola_entity *entity = new_entity("p", i ? second : row_key, 2);

        tavola_batch_add(batch, TAVOLA_INSERT, entity, NULL);
        tavola_entity_free(entity);
    }
    err = tavola_batch_run(batch, f.call);
    tavola_batch_free(batch);
    return err;
}

static tavola_err batch_of_one(const char *row_key, tavola_write write)
{
    tavola_batch *batch = tavola_batch_new(f.table);
    tavola_entity *entity = new_entity("p", row_key, 2);
    tavola_err err;

    tavola_batch_add(batch, write, entity, known_etag);
    err = tavola_batch_run(batch, f.call);
    tavola_entity_free(entity);
    tavola_batch_free(batch);
    return err;
}

static tavola_err do_batch_of_a_delete(const char *row_key)
{
    return batch_of_one(row_key, TAVOLA_DELETE);
}

static tavola_err do_batch_of_a_merge(const char *row_key)
{
    return batch_of_one(row_key, TAVOLA_MERGE);
}

static tavola_err do_create_table(const char *row_key)
{
    tavola_table *table = NULL;
    tavola_err err;

    CHECK_OK(tavola_table_open(f.client, row_key, &table));
    err = tavola_table_create(table, f.call);
    tavola_table_close(table);
    return err;
}

static bool has_n(const char *row_key)
{
    return is_stored("p", row_key) && stored_n("p", row_key) == 2;
}

static bool is_gone(const char *row_key)
{
    return !is_stored("p", row_key);
}

static bool table_is_there(const char *row_key)
{
    tavola_table *table = NULL;
    bool exists = false;

    CHECK_OK(tavola_table_open(t.client, row_key, &table));
    CHECK_OK(tavola_table_exists(table, t.call, &exists));
    if (exists)
        CHECK_OK(tavola_table_delete(table, t.call));
    tavola_table_close(table);
    return exists;
}

static const kind kinds[] = {
    {"insert", "POST", false, do_insert, has_n},
    {"insert or replace", "PUT", true, do_insert_or_replace, has_n},
    {"insert or replace, new", "PUT", false, do_insert_or_replace, has_n},
    {"insert or merge", "PATCH", true, do_insert_or_merge, has_n},
    {"replace with an etag", "PUT", true, do_replace, has_n},
    {"merge with an etag", "PATCH", true, do_merge, has_n},
    {"merge with any", "PATCH", true, do_merge_any, has_n},
    {"delete with an etag", "DELETE", true, do_delete, is_gone},
    {"delete if present", "DELETE", true, do_delete_if_present, is_gone},
    {"batch of inserts", "POST", false, do_batch, has_n},
    {"batch of a delete", "POST", true, do_batch_of_a_delete, is_gone},
    {"batch of a merge", "POST", true, do_batch_of_a_merge, has_n},
    {"create a table", "POST", false, do_create_table, table_is_there},
};

/* ---- the faults ----------------------------------------------------------------------------- */

static const char *const faults[] = {
    "cut_request 0",
    "cut_request 40",
    "cut_request 40 forward",
    "cut_request 100000 forward fin",
    "cut_answer 0",
    "cut_answer 0 fin",
    "cut_answer 1",
    "cut_answer 12 fin",
    "cut_answer 100",
    "cut_answer 250 fin",
    "cut_body 0",
    "cut_body 1 fin",
    "delay_request 100",
    "delay_answer 100",
    "hang",
    "hang forward",
    "duplicate first",
    "duplicate second",
    "status 500",
    "status 500 forward",
    "status 502 forward",
    "status 503",
    "status 503 forward",
    "status 503 forward retry_after 0",
    "status 504 forward",
    "status 408 forward",
    "status 429",
    "raw text:garbage forward",
    "raw random:400:7 forward",
    "garbage_head random:100",
    "garbage_body text:{\\\"x\\\":",
    "garbage_body random:50",
    "wrong_length 10",
    "wrong_length -10",
    "set_header x-ms-client-request-id another",
    "append text:HTTP/1.1",
};

enum { FOR_EVER = 2 };
static const char *const often[] = {"times 1", "times 2", [FOR_EVER] = "always"};

static bool lets_wait(const char *fault)
{
    return strncmp(fault, "hang", 4) == 0 || strncmp(fault, "delay", 5) == 0;
}

/* Faults that end nothing: whoever repeats often enough gets through. */
static bool ends_well(size_t times, uint32_t retries)
{
    return times < 2 && retries == RETRIES;
}

/* Say what is wrong and go on: the other rows tell more about the cause. */
static void complain(const char *what, tavola_err err)
{
    print_error("%s: %s: %s (%d %s %s), %u attempts\n", t_row, what, tavola_err_name(err),
                tavola_call_status(f.call), tavola_call_code(f.call), tavola_call_message(f.call),
                tavola_call_attempts(f.call));
    f.lies++;
}

/*
 * A proxy that sends a request on twice and gives back the second answer says what the service
 * said: there is no doubt that the library could settle.
 */
static bool is_of_a_duplicate(const char *fault, tavola_err err)
{
    return strcmp(fault, "duplicate second") == 0 &&
           (err == TAVOLA_ERR_EXISTS || err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_NOT_FOUND);
}

static void look(const kind *k, const char *fault, const char *row_key, tavola_err err)
{
    bool is_made = k->is_made(row_key);

    if (err == TAVOLA_ERR_UNKNOWN_OUTCOME)
        f.unknown++;
    else if (err == TAVOLA_OK && !is_made)
        complain("was not made", err);
    else if (err != TAVOLA_OK && is_made && !is_of_a_duplicate(fault, err))
        complain("was made", err);
    else if (is_made)
        f.made++;
    else
        f.not_made++;
    f.confirmed += tavola_call_was_confirmed(f.call);
}

static void meet(const kind *k, const char *fault, size_t times, uint32_t retries)
{
    static unsigned count;
    static char row[300];
    char row_key[50], plan[300];
    tavola_err err;

    snprintf(row, sizeof row, "%s: %s %s, %u retries", k->name, fault, often[times], retries);
    t_row = row;
    snprintf(row_key, sizeof row_key, "r%u", count++);
    if (k->write == do_create_table)
        snprintf(row_key, sizeof row_key, "%.50s%u", "faultytable", count);
    prepare(k, row_key);
    command("CLEAR", NULL);
    /* A fault for ever spares the reads that find out what happened. */
    snprintf(plan, sizeof plan, "PLAN %s %s%s%s", fault, often[times],
             times == FOR_EVER ? " match " : "", times == FOR_EVER ? k->method : "");
    command(plan, NULL);
    /* On a slow machine the hasty one gives up on answers that nothing delays. */
    tavola_call_set_retries(f.call, lets_wait(fault) && ends_well(times, retries) ? MANY_RETRIES
                                    : retries                                     ? retries
                                                                                  : UINT32_MAX);
    use(lets_wait(fault) ? &f.hasty : &f.patient);

    err = k->write(row_key);
    use(&f.patient);
    command("SETTLE", NULL);
    look(k, fault, row_key, err);
    if (ends_well(times, retries) && err != TAVOLA_OK && !is_of_a_duplicate(fault, err) &&
        strncmp(fault, "raw", 3) != 0 && strncmp(fault, "garbage", 7) != 0 &&
        strncmp(fault, "wrong", 5) != 0 && strncmp(fault, "set_header", 10) != 0)
        complain("retries were left", err);
}

/*
 * Every write with every fault, but not each as often as it can be and with both numbers of
 * retries: those take turns.  $TAVOLA_TEST_ALL takes two minutes for them all.
 */
static void meet_all(void)
{
    enum { TURNS = 6 };
    bool is_all = getenv("TAVOLA_TEST_ALL") != NULL;
    size_t turn = 0;

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (size_t j = 0; j < COUNT_OF(faults); j++, turn++) {
            for (size_t n = 0; n < TURNS; n++) {
                if (is_all || n == turn % TURNS)
                    meet(&kinds[i], faults[j], n / 2, n % 2 ? RETRIES : 0);
            }
        }
    }
}

TEST(what_is_said_of_a_write_is_true)
{
    open_faulty();
    meet_all();
    print_message("%u made, %u not made, %u unknown, %u confirmed by reading back\n", f.made,
                  f.not_made, f.unknown, f.confirmed);
    CHECK_INT(f.lies, 0);
    CHECK(f.made > 200 && f.not_made > 20 && f.unknown > 20 && f.confirmed > 50);
    close_faulty();
}

/* An entity of somebody else with the key of ours is never taken for ours. */
TEST(an_entity_of_somebody_else_is_told_apart)
{
    tavola_entity *entity;

    open_faulty();
    insert_new("p", "theirs", 9);
    command("PLAN cut_request 40 on 1", NULL);
    entity = new_entity("p", "theirs", 2);
    CHECK_ERR(tavola_insert(f.table, entity, f.call), TAVOLA_ERR_EXISTS);
    CHECK(!tavola_call_was_confirmed(f.call));
    CHECK_INT(stored_n("p", "theirs"), 9);
    tavola_entity_free(entity);
    close_faulty();
}

/* Without a doubt there is nothing to settle: an insert that is refused at once is refused. */
TEST(nothing_is_settled_without_a_doubt)
{
    tavola_entity *entity;

    open_faulty();
    insert_new("p", "mine", 2);
    entity = new_entity("p", "mine", 2);
    CHECK_ERR(tavola_insert(f.table, entity, f.call), TAVOLA_ERR_EXISTS);
    CHECK_INT(tavola_call_attempts(f.call), 1);

    tavola_entity_free(entity);
    close_faulty();
}

/* The read that settles meets the fault, too: then nobody knows. */
TEST(what_cannot_be_found_out_is_unknown)
{
    tavola_entity *entity = new_entity("p", "row", 2);

    open_faulty();
    command("PLAN cut_answer 0 always", NULL);
    CHECK_ERR(tavola_insert(f.table, entity, f.call), TAVOLA_ERR_UNKNOWN_OUTCOME);
    CHECK(tavola_call_message(f.call)[0] != '\0');
    CHECK_INT(stored_n("p", "row"), 2);
    tavola_entity_free(entity);
    close_faulty();
}

/* Retry-After is waited for, up to the longest delay that is allowed. */
TEST(a_busy_server_is_given_time)
{
    tavola_entity *entity = NULL;
    struct timespec before, after;

    open_faulty();
    insert_new("p", "row", 2);
    command("PLAN status 503 retry_after 3600 times 2", NULL);
    clock_gettime(CLOCK_MONOTONIC, &before);
    CHECK_ERR(tavola_get(f.table, "p", "row", f.call, &entity), TAVOLA_OK);
    clock_gettime(CLOCK_MONOTONIC, &after);
    CHECK_INT(tavola_call_attempts(f.call), 3);
    CHECK((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 >= 40);
    tavola_entity_free(entity);

    command("CLEAR", NULL);
    command("PLAN status 503 always", NULL);
    entity = NULL;
    CHECK_ERR(tavola_get(f.table, "p", "row", f.call, &entity), TAVOLA_ERR_BUSY);
    CHECK_INT(tavola_call_attempts(f.call), 1 + RETRIES);
    close_faulty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(what_is_said_of_a_write_is_true),
        LIVE_TEST(an_entity_of_somebody_else_is_told_apart),
        LIVE_TEST(nothing_is_settled_without_a_doubt),
        LIVE_TEST(what_cannot_be_found_out_is_unknown),
        LIVE_TEST(a_busy_server_is_given_time),
    };

    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
