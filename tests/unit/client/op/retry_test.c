/* Which answers are repeated, when, where and for how long. */
#include "base/clock.h"
#include "client/net/tls_server.h"
#include "client/op/service.h"
#include "client/op/state.h"

#define MS INT64_C(1000000)

static const struct {
    int status;
    bool helps, hides_write;
} statuses[] = {
    {200, false, false}, {204, false, false}, {301, false, false}, {304, false, false},
    {400, false, false}, {401, false, false}, {403, false, false}, {404, false, false},
    {408, true, true},   {409, false, false}, {412, false, false}, {413, false, false},
    {416, false, false}, {429, true, false},  {499, false, false}, {500, true, true},
    {501, false, false}, {502, true, true},   {503, true, true},   {504, true, true},
    {505, false, false}, {507, true, true},   {524, true, true},   {599, true, true},
};

TEST(some_answers_are_repeated)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        char name[16];

        snprintf(name, sizeof name, "%d", statuses[i].status);
        t_row = name;
        CHECK_INT(tvc_retry_helps(statuses[i].status), statuses[i].helps);
        CHECK_INT(tvc_retry_hides_write(statuses[i].status), statuses[i].hides_write);
    }
    t_row = "";
}

static const struct {
    const char *what;
    uint32_t delay_ms, delay_max_ms, n;
    double spread;
    int64_t ms;
} delays[] = {
    {"first, shortest", 800, 60000, 1, 0, 640},
    {"first, middle", 800, 60000, 1, 0.5, 800},
    {"first, longest", 800, 60000, 1, 1, 960},
    {"second", 800, 60000, 2, 0.5, 1600},
    {"third", 800, 60000, 3, 0.5, 3200},
    {"the longest delay bounds it", 800, 60000, 8, 0.5, 60000},
    {"and its spread", 800, 1000, 2, 0, 1000},
    {"a very late retry", 800, 60000, UINT32_MAX, 0.5, 60000},
    {"a delay beyond the longest", 5000, 1000, 1, 0.5, 1000},
};

TEST(delays_double)
{
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        tavola_client_options options = {.retry_delay_ms = delays[i].delay_ms,
                                         .retry_delay_max_ms = delays[i].delay_max_ms};

        t_row = delays[i].what;
        CHECK_INT(tvc_retry_delay_ns(&options, delays[i].n, delays[i].spread) / MS, delays[i].ms);
    }
}

static const struct {
    const char *what, *name, *value;
    bool is_said;
    int64_t ms;
} waits[] = {
    {"seconds", "Retry-After", "3", true, 3000},
    {"any case", "retry-after", "3", true, 3000},
    {"none at all", "Retry-After", "0", true, 0},
    {"milliseconds", "retry-after-ms", "250", true, 250},
    {"Azure's milliseconds", "x-ms-retry-after-ms", "250", true, 250},
    {"longer than we wait", "Retry-After", "61", true, 60000},
    {"very much longer", "Retry-After", "18446744073709551615", true, 60000},
    {"more than a number holds", "Retry-After", "18446744073709551616", false, 0},
    {"negative", "Retry-After", "-1", false, 0},
    {"a date is not read", "Retry-After", "Fri, 06 May 2022 00:31:04 GMT", false, 0},
    {"nothing", "Retry-After", "", false, 0},
    {"another header", "Retry", "3", false, 0},
};

TEST(the_service_says_when)
{
    tavola_client_options options = {.retry_delay_max_ms = 60000};

    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        tv_header header = {tv_slice_of(waits[i].name), tv_slice_of(waits[i].value)};
        tvc_response response = {.status = 503, .headers = &header, .header_count = 1};
        int64_t ns = 0;

        t_row = waits[i].what;
        CHECK_INT(tvc_retry_after_ns(&options, &response, &ns), waits[i].is_said);
        CHECK_INT(ns / MS, waits[i].ms);
    }
}

/* ---- with servers --------------------------------------------------------------------------- */

#define LATER(seconds)                                                                             \
    {                                                                                              \
        .text = "HTTP/1.1 503 X\r\nRetry-After: " #seconds "\r\nContent-Length: 0\r\n\r\n"         \
    }

static tavola_err run(tavola_op *op, int64_t *ret_ms)
{
    int64_t start = tv_clock_mono_ns();
    tavola_err err = tvc_op_run(op);

    *ret_ms = (tv_clock_mono_ns() - start) / MS;
    tavola_op_free(op);
    return err;
}

TEST(waits_as_long_as_the_service_asks)
{
    script_server server = {.answers = {LATER(1), NO_CONTENT}, .answer_count = 2};
    int64_t ms;

    t_row = "";
    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);

    CHECK_CODE(run(make_get(client, NULL), &ms), TAVOLA_OK);
    CHECK(ms >= 1000);
    tavola_client_close(client);
    script_server_stop(&server);
}

TEST(does_not_wait_beyond_the_deadline)
{
    enum { TIMEOUT_MS = 50 * 1000 };
    script_server server = {.answers = {LATER(3600)}, .answer_count = 1};
    tavola_call *call = tavola_call_new();
    int64_t ms;

    t_row = "";
    script_server_start(&server);
    tavola_call_set_timeout_ms(call, TIMEOUT_MS);

    tavola_client *client = open_client(&server, NULL, NULL);

    CHECK_CODE(run(make_get(client, call), &ms), TAVOLA_ERR_BUSY);
    CHECK_INT(tavola_call_attempts(call), 1);
    CHECK_INT(tavola_call_status(call), 503);
    CHECK(ms < TIMEOUT_MS);
    tavola_client_close(client);
    tavola_call_free(call);
    script_server_stop(&server);
}

static void set_absent_is_final(tavola_client_options *options)
{
    options->absent_is_final = true;
}

/* How many attempts a read takes of a port at which nobody listens. */
static uint32_t ask_nobody(void (*change)(tavola_client_options *options))
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};

    script_server_start(&server);
    script_server_stop(&server);

    tavola_client *client = open_client(&server, NULL, change);
    tavola_call *call = tavola_call_new();
    tavola_op *op = make_get(client, call);
    char wanted[100];
    uint32_t attempts;

    CHECK_CODE(tvc_op_run(op), TAVOLA_ERR_NETWORK);
    snprintf(wanted, sizeof wanted, "http://127.0.0.1:%d: the connection was refused", server.port);
    CHECK_TEXT(tv_slice_of(tavola_call_message(call)), wanted);
    attempts = tavola_call_attempts(call);
    tavola_op_free(op);
    tavola_call_free(call);
    tavola_client_close(client);
    return attempts;
}

TEST(who_is_absent_is_asked_again_unless_somebody_waits)
{
    CHECK_INT(ask_nobody(NULL), 4);
    CHECK_INT(ask_nobody(set_absent_is_final), 1);
}

TEST(who_has_answered_once_is_waited_for)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    tavola_call *call = tavola_call_new();

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, set_absent_is_final);
    tavola_op *op = make_get(client, call);

    CHECK_CODE(tvc_op_run(op), TAVOLA_OK);
    tavola_op_free(op);
    script_server_stop(&server);
    op = make_get(client, call);
    CHECK_CODE(tvc_op_run(op), TAVOLA_ERR_NETWORK);
    CHECK_INT(tavola_call_attempts(call), 4);
    tavola_op_free(op);
    tavola_client_close(client);
    tavola_call_free(call);
}

static void set_short_attempts(tavola_client_options *options)
{
    options->attempt_timeout_ms = 100;
}

static const struct {
    const char *what;
    uint32_t total_ms, retries, attempts;
} silences[] = {
    {"an attempt ends before the call", 60 * 1000, 2, 3},
    {"the call ends before an attempt", 50, 2, 1},
    {"no retries", 60 * 1000, 0, 1},
};

TEST(silence_ends_in_time)
{
    for (size_t i = 0; i < sizeof silences / sizeof silences[0]; i++) {
        script_server server = {.answers = {{.text = NULL}}, .answer_count = 1};
        tavola_call *call = tavola_call_new();
        int64_t ms;

        t_row = silences[i].what;
        script_server_start(&server);
        tavola_call_set_timeout_ms(call, silences[i].total_ms);
        tavola_call_set_retries(call, silences[i].retries ? silences[i].retries : UINT32_MAX);

        tavola_client *client = open_client(&server, NULL, set_short_attempts);

        CHECK_CODE(run(make_get(client, call), &ms), TAVOLA_ERR_TIMEOUT);
        CHECK_INT(tavola_call_attempts(call), silences[i].attempts);
        tavola_client_close(client);
        tavola_call_free(call);
        script_server_stop(&server);
    }
}

/* It was sent before the time was over: who knows. */
TEST(a_write_without_an_answer_in_time_is_unknown)
{
    enum { TIMEOUT_MS = 600 * 1000 };
    script_server server = {.answers = {{.text = NULL}}, .answer_count = 1};
    tavola_call *call = tavola_call_new();

    t_row = "";
    script_server_start(&server);
    tavola_call_set_timeout_ms(call, TIMEOUT_MS);

    tavola_client *client = open_client(&server, NULL, NULL);
    tavola_op *op = make_write(client, call, "{}"), *second = make_get(client, NULL);

    CHECK_CODE(tvc_op_start(op, NULL, NULL), TAVOLA_OK);
    CHECK(script_server_has_read(&server, 1));
    tv_clock_skip_ns(TIMEOUT_MS * MS);
    CHECK_CODE(tvc_op_start(second, NULL, NULL), TAVOLA_OK); /* lets the loop look at the clock */
    CHECK_CODE(tavola_op_wait(op, 60 * 1000), TAVOLA_ERR_UNKNOWN_OUTCOME);
    CHECK_INT(tavola_call_attempts(call), 1);
    tavola_op_cancel(second);
    tavola_op_free(op);
    tavola_op_free(second);
    tavola_client_close(client);
    tavola_call_free(call);
    script_server_stop(&server);
    tv_clock_skip_ns(-TIMEOUT_MS * MS);
}

/* ---- the secondary -------------------------------------------------------------------------- */

#define OK_ANSWER NO_CONTENT
#define BUSY_ANSWER REFUSED(503, "ServerBusy")
#define MISSING_ANSWER REFUSED(404, "ResourceNotFound")

static const struct place_row {
    const char *what;
    script_answer primary[3], secondary[3];
    int primary_count, secondary_count;
    bool is_write;
    tvc_location location;
    tavola_err err;
    bool was_secondary;
    int primary_requests, secondary_requests;
} places[] = {
    {"the primary answers",
     {OK_ANSWER},
     {OK_ANSWER},
     1,
     1,
     false,
     TVC_AT_EITHER,
     TAVOLA_OK,
     false,
     1,
     0},
    {"a busy primary",
     {BUSY_ANSWER},
     {OK_ANSWER},
     1,
     1,
     false,
     TVC_AT_EITHER,
     TAVOLA_OK,
     true,
     1,
     1},
    {"the secondary lags behind",
     {BUSY_ANSWER, OK_ANSWER},
     {MISSING_ANSWER},
     2,
     1,
     false,
     TVC_AT_EITHER,
     TAVOLA_OK,
     false,
     2,
     1},
    {"a lagging secondary is asked once",
     {BUSY_ANSWER},
     {MISSING_ANSWER},
     1,
     1,
     false,
     TVC_AT_EITHER,
     TAVOLA_ERR_BUSY,
     false,
     3,
     1},
    {"both are busy",
     {BUSY_ANSWER},
     {BUSY_ANSWER},
     1,
     1,
     false,
     TVC_AT_EITHER,
     TAVOLA_ERR_BUSY,
     false,
     2,
     2},
    {"the primary does not have it",
     {MISSING_ANSWER},
     {OK_ANSWER},
     1,
     1,
     false,
     TVC_AT_EITHER,
     TAVOLA_ERR_NOT_FOUND,
     false,
     1,
     0},
    {"a write stays at the primary",
     {BUSY_ANSWER, OK_ANSWER},
     {OK_ANSWER},
     2,
     1,
     true,
     TVC_AT_EITHER,
     TAVOLA_OK,
     false,
     2,
     0},
    {"a token of the primary",
     {BUSY_ANSWER},
     {OK_ANSWER},
     1,
     1,
     false,
     TVC_AT_PRIMARY,
     TAVOLA_ERR_BUSY,
     false,
     4,
     0},
    {"a token of the secondary",
     {OK_ANSWER},
     {BUSY_ANSWER, OK_ANSWER},
     1,
     2,
     false,
     TVC_AT_SECONDARY,
     TAVOLA_OK,
     true,
     0,
     2},
    {"a token of the secondary, which does not have it",
     {OK_ANSWER},
     {MISSING_ANSWER},
     1,
     1,
     false,
     TVC_AT_SECONDARY,
     TAVOLA_ERR_NOT_FOUND,
     false,
     0,
     1},
};

static void check_place(const struct place_row *row)
{
    script_server primary = {.answer_count = row->primary_count};
    script_server secondary = {.answer_count = row->secondary_count};

    t_row = row->what;
    memcpy(primary.answers, row->primary, sizeof row->primary);
    memcpy(secondary.answers, row->secondary, sizeof row->secondary);
    script_server_start(&primary);
    script_server_start(&secondary);

    tavola_client *client = open_client(&primary, &secondary, NULL);
    tavola_op *op = row->is_write ? make_write(client, NULL, "{}") : make_get(client, NULL);

    op->location = row->location;
    CHECK_CODE(tvc_op_run(op), row->err);
    CHECK_INT(op->was_secondary, row->was_secondary);
    CHECK_INT(atomic_load(&primary.requests), row->primary_requests);
    CHECK_INT(atomic_load(&secondary.requests), row->secondary_requests);
    if (row->secondary_requests)
        CHECK(strstr(secondary.last_request, " /account-secondary/People"));
    tavola_op_free(op);
    tavola_client_close(client);
    script_server_stop(&primary);
    script_server_stop(&secondary);
}

TEST(reads_go_to_the_secondary)
{
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        check_place(&places[i]);
}

/* What the caller is told is the primary's trouble, not what the secondary does not have. */
TEST(a_lagging_secondary_has_no_last_word)
{
    script_server primary = {.answers = {BUSY_ANSWER}, .answer_count = 1};
    script_server secondary = {.answers = {MISSING_ANSWER}, .answer_count = 1};
    tavola_call *call = tavola_call_new();

    t_row = "";
    script_server_start(&primary);
    script_server_start(&secondary);
    tavola_call_set_retries(call, 1);

    tavola_client *client = open_client(&primary, &secondary, NULL);
    tavola_op *op = make_get(client, call);

    CHECK_CODE(tvc_op_run(op), TAVOLA_ERR_BUSY);
    CHECK_INT(tavola_call_status(call), 503);
    CHECK_TEXT(tv_slice_of(tavola_call_code(call)), "ServerBusy");
    CHECK_INT(tavola_call_attempts(call), 2);
    CHECK_INT(atomic_load(&secondary.requests), 1);
    tavola_op_free(op);
    tavola_client_close(client);
    tavola_call_free(call);
    script_server_stop(&primary);
    script_server_stop(&secondary);
}

TEST(a_token_of_the_secondary_needs_one)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    tavola_call *call = tavola_call_new();

    t_row = "";
    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);
    tavola_op *op = make_get(client, call);

    op->location = TVC_AT_SECONDARY;
    CHECK_CODE(tvc_op_run(op), TAVOLA_ERR_INVALID);
    CHECK(strstr(tavola_call_message(call), "secondary"));
    CHECK_INT(atomic_load(&server.requests), 0);
    tavola_op_free(op);
    tavola_client_close(client);
    tavola_call_free(call);
    script_server_stop(&server);
}

/* ---- patterns ------------------------------------------------------------------------------- */

static tavola_table *there; /* another table than that of the pattern */
static const tavola_index by_name = {.prefix = "name_", .property = "Name"};

static tavola_err sweep(tavola_table *table)
{
    tavola_container *photos = NULL;

    CHECK_CODE(tavola_container_open(table->client, "photos", &photos), TAVOLA_OK);

    tavola_err err = tavola_large_sweep(table, "Photo", photos, tavola_now(), NULL, NULL);

    tavola_container_close(photos);
    return err;
}

static tavola_err delete_large(tavola_table *table)
{
    return tavola_large_delete(table, "p", "r", "Photo", NULL);
}

static tavola_err add_to_list(tavola_table *table)
{
    return tavola_list_add(table, "p", "r", "Items", "item", NULL, NULL);
}

static tavola_err move_it(tavola_table *table)
{
    return tavola_move(table, there, "p", "r", NULL);
}

static tavola_err put(tavola_table *table,
                      tavola_err (*how)(tavola_table *table, tavola_entity *entity))
{
    tavola_entity *entity = tavola_entity_new("p", "r");

    tavola_entity_set_string(entity, "Name", "Ada");

    tavola_err err = how(table, entity);

    tavola_entity_free(entity);
    return err;
}

static tavola_err put_as_wide(tavola_table *table, tavola_entity *entity)
{
    return tavola_wide_put(table, entity, NULL);
}

static tavola_err put_wide(tavola_table *table)
{
    return put(table, put_as_wide);
}

static tavola_err delete_wide(tavola_table *table)
{
    return tavola_wide_delete(table, "p", "r", NULL);
}

static tavola_indexed *open_indexed(tavola_table *table)
{
    tavola_indexed *indexed = NULL;

    CHECK_CODE(tavola_indexed_open(table, &by_name, 1, NULL, NULL, &indexed), TAVOLA_OK);
    return indexed;
}

static tavola_err put_as_indexed(tavola_table *table, tavola_entity *entity)
{
    tavola_indexed *indexed = open_indexed(table);
    tavola_err err = tavola_indexed_put(indexed, entity, NULL);

    tavola_indexed_close(indexed);
    return err;
}

static tavola_err put_indexed(tavola_table *table)
{
    return put(table, put_as_indexed);
}

static tavola_err delete_indexed(tavola_table *table)
{
    tavola_indexed *indexed = open_indexed(table);
    tavola_err err = tavola_indexed_delete(indexed, "p", "r", TAVOLA_ANY, NULL);

    tavola_indexed_close(indexed);
    return err;
}

static tavola_err repair_indexed(tavola_table *table)
{
    tavola_indexed *indexed = open_indexed(table);
    tavola_err err = tavola_indexed_repair(indexed, NULL, NULL, NULL, NULL, NULL);

    tavola_indexed_close(indexed);
    return err;
}

static tavola_err get_list(tavola_table *table)
{
    tavola_names *items = NULL;
    tavola_err err = tavola_list_get(table, "p", "r", "Items", NULL, &items);

    tavola_names_free(items);
    return err;
}

static tavola_err get_wide(tavola_table *table)
{
    tavola_entity *wide = NULL;
    tavola_err err = tavola_wide_get(table, "p", "r", NULL, &wide);

    tavola_entity_free(wide);
    return err;
}

/* What the secondary does not know yet must not be deleted or written over. */
static const struct {
    const char *what;
    tavola_err (*act)(tavola_table *table);
    bool asks_secondary;
} patterns[] = {
    {"a sweep", sweep, false},
    {"a large value is deleted", delete_large, false},
    {"a list is changed", add_to_list, false},
    {"an entity is moved", move_it, false},
    {"a wide entity is put", put_wide, false},
    {"a wide entity is deleted", delete_wide, false},
    {"an entity with indexes is put", put_indexed, false},
    {"an entity with indexes is deleted", delete_indexed, false},
    {"indexes are repaired", repair_indexed, false},
    {"a list is read", get_list, true},
    {"a wide entity is read", get_wide, true},
};

TEST(patterns_that_write_read_the_primary)
{
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        script_server primary = {.answers = {BUSY_ANSWER}, .answer_count = 1};
        script_server secondary = {.answers = {BUSY_ANSWER}, .answer_count = 1};
        tavola_table *table = NULL;

        t_row = patterns[i].what;
        script_server_start(&primary);
        script_server_start(&secondary);

        tavola_client *client = open_client(&primary, &secondary, NULL);

        CHECK_CODE(tavola_table_open(client, "People", &table), TAVOLA_OK);
        CHECK_CODE(tavola_table_open(client, "There", &there), TAVOLA_OK);
        CHECK_CODE(patterns[i].act(table), TAVOLA_ERR_BUSY);
        CHECK_INT(atomic_load(&primary.requests), patterns[i].asks_secondary ? 2 : 4);
        CHECK_INT(atomic_load(&secondary.requests), patterns[i].asks_secondary ? 2 : 0);
        tavola_table_close(there);
        tavola_table_close(table);
        tavola_client_close(client);
        script_server_stop(&primary);
        script_server_stop(&secondary);
    }
    t_row = "";
}

/* Whom we do not trust now we do not trust in a second: nobody waits for it. */
TEST(a_certificate_that_is_refused_is_not_asked_for_again)
{
    authority ours = authority_new(), other = authority_new();
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    tavola_client_options options = {
        .struct_size = sizeof options, .retry_delay_ms = 1, .proxy = "", .ca_file = other.path};
    tavola_call *call = tavola_call_new();
    tavola_client *client = NULL;
    char text[300];

    use_tls(&server, &ours, "DNS:localhost", -3600, 3600);
    script_server_start(&server);
    snprintf(text, sizeof text,
             "AccountName=account;AccountKey=" KEY ";TableEndpoint=https://localhost:%d/account",
             server.port);
    CHECK_CODE(tavola_client_open(text, &options, &client), TAVOLA_OK);
    for (int i = 0; i < 2; i++) {
        tavola_op *op = i ? make_write(client, call, "{}") : make_get(client, call);

        CHECK_CODE(tvc_op_run(op), TAVOLA_ERR_NETWORK);
        CHECK_INT(tavola_call_attempts(call), 1);
        CHECK(strstr(tavola_call_message(call), "certificate"));
        tavola_op_free(op);
    }
    tavola_call_free(call);
    tavola_client_close(client);
    script_server_stop(&server);
    SSL_CTX_free(server.user);
    authority_done(&ours);
    authority_done(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_answers_are_repeated),
        cmocka_unit_test(delays_double),
        cmocka_unit_test(the_service_says_when),
        cmocka_unit_test(waits_as_long_as_the_service_asks),
        cmocka_unit_test(does_not_wait_beyond_the_deadline),
        cmocka_unit_test(who_is_absent_is_asked_again_unless_somebody_waits),
        cmocka_unit_test(who_has_answered_once_is_waited_for),
        cmocka_unit_test(silence_ends_in_time),
        cmocka_unit_test(a_write_without_an_answer_in_time_is_unknown),
        cmocka_unit_test(reads_go_to_the_secondary),
        cmocka_unit_test(a_lagging_secondary_has_no_last_word),
        cmocka_unit_test(a_token_of_the_secondary_needs_one),
        cmocka_unit_test(patterns_that_write_read_the_primary),
        cmocka_unit_test(a_certificate_that_is_refused_is_not_asked_for_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
