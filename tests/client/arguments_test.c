/*
 * Arguments that cannot be used, of every function: each pointer is NULL in its turn, each text is
 * not UTF-8 or far too long.  What is not documented as allowed is INVALID (or TOO_LARGE), nothing
 * is sent, and outputs stay as they were.  interface_test.py sees to it that no function is
 * missing.
 *
 *     TRY("pttop", tavola_get(P(0, table), T(1, "p"), T(2, "r"), P(3, call), P(4, &out.entity)));
 *
 * says of each argument: p is a pointer, t a text; o and x are the same where NULL is allowed; l
 * and m are texts that may be long, s is a text of which NULL is not tried; n is an object for
 * which there was no memory if it is NULL; - is not tried.
 */
#include <stdatomic.h>

#include "live.h"

enum { LONG_TEXT_BYTES = 2 * 1024 * 1024, ARGUMENTS_MAX = 8 };

typedef enum harm { IS_NULL, IS_NOT_UTF8, IS_LONG, HARMS } harm;
static const char *const harm_names[HARMS] = {"NULL", "not UTF-8", "too long"};

static struct {
    int at; /* of the argument that is bad */
    harm how;
    char row[300];
} bad;
static char long_text[LONG_TEXT_BYTES + 1];

#define P(i, value) (bad.at == (i) && bad.how == IS_NULL ? NULL : (value))

static const char *T(int i, const char *text)
{
    if (bad.at != i)
        return text;
    return bad.how == IS_NULL ? NULL : bad.how == IS_NOT_UTF8 ? "a\xff" : long_text;
}

/* ---- what the functions are tried with ------------------------------------------------------ */

static tavola_client *client;
static tavola_table *table;
static tavola_queue *queue;
static tavola_container *container;
static tavola_entity *entity;
static tavola_call *call;
static tavola_query *query;
static tavola_crypto *crypto;
static tavola_message *message;
static _Atomic unsigned attempts_made;

/* Room for every output. */
static struct outputs {
    tavola_client *client;
    tavola_table *table;
    tavola_queue *queue;
    tavola_container *container;
    tavola_entity *entity;
    tavola_page *page;
    tavola_scan *scan;
    tavola_bulk *bulk;
    tavola_op *op;
    tavola_names *names;
    tavola_sas *sas;
    tavola_policies *policies;
    tavola_message *message;
    tavola_messages *messages;
    tavola_blob_info *info;
    tavola_blobs *blobs;
    tavola_worker *worker;
    tavola_indexed *indexed;
    tavola_crypto *crypto;
    void *data;
    size_t size;
    char *text;
    uint64_t count;
    bool flag;
} out;

static void free_outputs(void)
{
    uint64_t count;

    if (out.op)
        (void)tavola_op_wait(out.op, 30 * 1000);
    tavola_op_free(out.op);
    if (out.bulk)
        CHECK_OK(tavola_bulk_close(out.bulk, &count, &count));
    tavola_client_close(out.client);
    tavola_table_close(out.table);
    tavola_queue_close(out.queue);
    tavola_container_close(out.container);
    tavola_entity_free(out.entity);
    tavola_page_free(out.page);
    tavola_scan_close(out.scan);
    tavola_names_free(out.names);
    tavola_sas_free(out.sas);
    tavola_policies_free(out.policies);
    tavola_message_free(out.message);
    tavola_messages_free(out.messages);
    tavola_blob_info_free(out.info);
    tavola_blobs_free(out.blobs);
    tavola_worker_close(out.worker);
    tavola_indexed_close(out.indexed);
    tavola_crypto_free(out.crypto);
    tavola_free(out.data);
    tavola_free(out.text);
    memset(&out, 0, sizeof out);
}

/* Every attempt is a line of the log. */
static void count_attempt(void *user, int level, const char *text)
{
    (void)user;
    (void)level;
    (void)text;
    attempts_made++;
}

static int open_all(void **state)
{
    static const uint8_t key[32] = {1};
    tavola_client_options options = {.struct_size = sizeof options, .log = count_attempt};
    char name[60], dashed[62];

    (void)state;
    memset(long_text, 'a', LONG_TEXT_BYTES);
    new_name(name, sizeof name);
    snprintf(dashed, sizeof dashed, "a-%s", name);
    CHECK_OK(tavola_client_open(connection_string(), &options, &client));
    CHECK_OK(tavola_table_open(client, name, &table));
    CHECK_OK(tavola_queue_open(client, dashed, &queue));
    CHECK_OK(tavola_container_open(client, dashed, &container));
    CHECK_OK(tavola_table_create(table, NULL));
    CHECK_OK(tavola_queue_create(queue, NULL));
    CHECK_OK(tavola_container_create(container, NULL));
    call = tavola_call_new();
    query = tavola_query_new(NULL);
    crypto = new_aes("key", key);
    message = tavola_message_new("id", "receipt");
    entity = tavola_entity_new("p", "r");
    tavola_entity_set_string(entity, "Name", "value");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    CHECK_OK(tavola_table_delete_if_present(table, NULL));
    CHECK_OK(tavola_queue_delete_if_present(queue, NULL));
    CHECK_OK(tavola_container_delete_if_present(container, NULL));
    tavola_entity_free(entity);
    tavola_message_free(message);
    tavola_crypto_free(crypto);
    tavola_query_free(query);
    tavola_call_free(call);
    tavola_container_close(container);
    tavola_queue_close(queue);
    tavola_table_close(table);
    tavola_client_close(client);
    return 0;
}

/* ---- rounds --------------------------------------------------------------------------------- */

static unsigned complaints; /* of a test: all of its rows are tried before it fails */

#define COMPLAIN(...)                                                                              \
    do {                                                                                           \
        print_error("row \"%s\": ", t_row);                                                        \
        print_error(__VA_ARGS__);                                                                  \
        print_error("\n");                                                                         \
        complaints++;                                                                              \
    } while (0)

static int count_complaints(void **state)
{
    int result = complaints ? -1 : 0;

    (void)state;
    complaints = 0;
    return result;
}

#define ROWS_TEST(name) cmocka_unit_test_teardown(name, count_complaints)

static bool may_be_null(char kind)
{
    return kind == 'o' || kind == 'x' || kind == 'm';
}

static bool is_tried(char kind, harm how)
{
    switch (how) {
    case IS_NULL:
        return kind != '-' && kind != 's';
    case IS_NOT_UTF8:
        return kind == 't' || kind == 'x' || kind == 'l' || kind == 'm' || kind == 's';
    default:
        return kind == 't' || kind == 'x' || kind == 's';
    }
}

static bool begin_round(const char *kinds, int at, harm how, const char *text)
{
    if (!is_tried(kinds[at], how))
        return false;

    bad.at = at;
    bad.how = how;
    /* What the function before has said is not what this one says. */
    CHECK_ERR(tavola_crypto_set_place(NULL, NULL, NULL), TAVOLA_ERR_INVALID);
    snprintf(bad.row, sizeof bad.row, "argument %d is %s: %.200s", at, harm_names[how], text);
    t_row = bad.row;
    attempts_made = 0;
    return true;
}

static void end_round(const char *kinds, tavola_err err)
{
    static const struct outputs untouched;
    bool is_allowed = bad.how == IS_NULL && may_be_null(kinds[bad.at]);

    if (is_allowed) {
        if (err == TAVOLA_ERR_INVALID || err == TAVOLA_ERR_NO_MEMORY)
            COMPLAIN("what is allowed is refused: %s", tavola_err_name(err));
    } else {
        tavola_err wanted = kinds[bad.at] == 'n' ? TAVOLA_ERR_NO_MEMORY : TAVOLA_ERR_INVALID;

        if (err != wanted && !(bad.how == IS_LONG && err == TAVOLA_ERR_TOO_LARGE))
            COMPLAIN("it is not refused: %s", tavola_err_name(err));
        if (err == TAVOLA_ERR_INVALID && strstr(bad.row, "tavola_crypto_set_place") == NULL &&
            strcmp(tavola_error_text(err), "there is no crypto: it is NULL") == 0)
            COMPLAIN("it does not say why");
        if (attempts_made)
            COMPLAIN("%u requests were sent", attempts_made);
        if (memcmp(&out, &untouched, sizeof out) != 0)
            COMPLAIN("an output was touched");
    }
    free_outputs();
    bad.at = -1;
}

#define ROUNDS(kinds, text, ...)                                                                   \
    for (int how_ = IS_NULL; how_ < HARMS; how_++) {                                               \
        for (int at_ = 0; (kinds)[at_]; at_++) {                                                   \
            if (begin_round(kinds, at_, (harm)how_, text)) {                                       \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
        }                                                                                          \
    }

#define TRY(kinds, expression)                                                                     \
    ROUNDS(kinds, #expression, tavola_err err_ = (expression); end_round(kinds, err_))
/* It has no error to return: it must only survive. */
#define CALM(kinds, statement) ROUNDS(kinds, #statement, (void)(statement); bad.at = -1)
/* Nothing, false or 0 comes back. */
#define NOTHING(kinds, expression)                                                                 \
    ROUNDS(kinds, #expression, if (expression) COMPLAIN("something came back"); bad.at = -1)

/* A filter that knows its error. */
static void check_filter(tavola_filter *filter)
{
    if (filter == NULL || tavola_filter_error(filter) == TAVOLA_OK)
        COMPLAIN("the filter has no error");
    if (tavola_filter_error_text(filter)[0] == '\0')
        COMPLAIN("the filter does not say why");
    tavola_filter_free(filter);
    bad.at = -1;
}
#define FILTER(kinds, expression) ROUNDS(kinds, #expression, check_filter(expression))

/* An entity that knows its error. */
static void check_entity(tavola_entity *of)
{
    if (tavola_entity_error(of) != TAVOLA_ERR_INVALID &&
        !(bad.how == IS_LONG && tavola_entity_error(of) == TAVOLA_ERR_TOO_LARGE))
        COMPLAIN("the entity has the error %s", tavola_err_name(tavola_entity_error(of)));
    if (tavola_entity_error_text(of)[0] == '\0')
        COMPLAIN("the entity does not say why");
    CHECK_ERR(tavola_insert(table, of, call), tavola_entity_error(of));
    CHECK_INT(attempts_made, 0);
    tavola_entity_free(of);
    bad.at = -1;
}
#define ENTITY(kinds, expression) ROUNDS(kinds, #expression, check_entity(expression))
#define SET(kinds, statement)                                                                      \
    ROUNDS(kinds, #statement, tavola_entity *set = tavola_entity_new("p", "r"); statement;         \
           check_entity(set))

/* ---- 1. client, table, call ----------------------------------------------------------------- */

static tavola_client_options client_options = {.struct_size = sizeof client_options};

TEST(clients_and_tables)
{
    const char *connection = connection_string();
    char status[TAVOLA_GEO_STATUS_SIZE];
    tavola_ticks last_sync;

    TRY("top", tavola_client_open(T(0, connection), P(1, &client_options), P(2, &out.client)));
    TRY("ptp", tavola_table_open(P(0, client), T(1, "People"), P(2, &out.table)));
    TRY("po", tavola_table_create(P(0, table), P(1, call)));
    TRY("po", tavola_table_create_if_absent(P(0, table), P(1, call)));
    TRY("pop", tavola_table_exists(P(0, table), P(1, call), P(2, &out.flag)));
    TRY("pmop", tavola_table_list(P(0, client), T(1, "t"), P(2, call), P(3, &out.names)));
    TRY("p", tavola_table_delete(P(0, table), call));
    TRY("p", tavola_table_delete_if_present(P(0, table), call));
    NOTHING("p", tavola_table_name(P(0, table)));
    NOTHING("p", tavola_client_endpoint(P(0, client), TAVOLA_SERVICE_TABLE));
    CHECK(tavola_client_endpoint(client, (tavola_service)77) == NULL);
    CALM("p", tavola_client_account(P(0, client)));
    CALM("p-", tavola_token_set(P(0, (tavola_token *)NULL), "text", 0));
    CALM("pp", tavola_token_set_error(P(0, (tavola_token *)NULL), P(1, "why")));
    TRY("p-opp", tavola_service_stats(P(0, client), TAVOLA_SERVICE_TABLE, P(2, call), P(3, status),
                                      P(4, &last_sync)));
    CHECK_ERR(tavola_service_stats(client, (tavola_service)77, call, status, &last_sync),
              TAVOLA_ERR_INVALID);
    CALM("po", tavola_table_set_crypto(P(0, table), P(1, crypto)));
    tavola_table_set_crypto(table, NULL);
    CHECK_INT(tavola_last_error(), TAVOLA_ERR_INVALID); /* of what was refused last */
    NOTHING("p", tavola_names_count(P(0, out.names)));
    NOTHING("p", tavola_names_at(P(0, out.names), 0));
}

TEST(options_without_a_size)
{
    tavola_client_options none = {0};
    tavola_sas_options no_sas = {0};
    tavola_blob_options no_blob = {0};
    tavola_policy no_policy = {.id = "a"};
    tavola_key_ops no_ops = {0};

    CHECK_ERR(tavola_client_open(connection_string(), &none, &out.client), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_table_sas(table, &no_sas, &out.text), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_blob_put(container, "b", "", 0, &no_blob, call), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_table_set_policies(table, &no_policy, 1, call), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_crypto_new(&no_ops, NULL, &out.crypto), TAVOLA_ERR_INVALID);
    CHECK(out.client == NULL && out.text == NULL);
}

TEST(calls)
{
    CALM("p", tavola_call_set_timeout_ms(P(0, call), 0));
    CALM("p", tavola_call_set_retries(P(0, call), 3));
    CALM("po", tavola_call_set_request_id(P(0, call), T(1, "mine")));
    CALM("p", tavola_call_cancel(P(0, call)));
    CALM("po", tavola_call_set_source(P(0, call), T(1, "login.c:88")));
    CALM("po", tavola_call_set_crypto(P(0, call), P(1, crypto)));
    tavola_call_set_request_id(call, NULL);
    tavola_call_set_crypto(call, NULL);
    NOTHING("p", tavola_call_status(P(0, call)));
    NOTHING("p", tavola_call_code(P(0, call))[0]);
    NOTHING("p", tavola_call_message(P(0, call))[0]);
    NOTHING("p", tavola_call_etag(P(0, call)));
    NOTHING("p", tavola_call_service_request_id(P(0, call)));
    NOTHING("p", tavola_call_client_request_id(P(0, call)));
    NOTHING("p", tavola_call_attempts(P(0, call)));
    NOTHING("p", tavola_call_was_confirmed(P(0, call)));
    NOTHING("p", tavola_call_failed_index(P(0, call)) + 1);
    NOTHING("p", tavola_call_plan(P(0, call)));
}

/* ---- 2. entities ---------------------------------------------------------------------------- */

TEST(entities_remember_what_they_cannot_hold)
{
    static const char bytes[] = "bytes";

    ENTITY("tt", tavola_entity_new(T(0, "p"), T(1, "r")));
    ENTITY("tt", tavola_entity_new_wide(T(0, "p"), T(1, "r")));
    SET("-t-", tavola_entity_set(set, T(1, "N"), tavola_int32(1)));
    SET("-tt", tavola_entity_set_string(set, T(1, "N"), T(2, "text")));
    SET("-tt", tavola_entity_set(set, T(1, "N"), tavola_string(T(2, "text"))));
    SET("-t", tavola_entity_set_int32(set, T(1, "N"), 1));
    SET("-t", tavola_entity_set_int64(set, T(1, "N"), 1));
    SET("-t", tavola_entity_set_double(set, T(1, "N"), 1));
    SET("-t", tavola_entity_set_boolean(set, T(1, "N"), true));
    SET("-t", tavola_entity_set_datetime(set, T(1, "N"), tavola_now()));
    SET("-t", tavola_entity_set_guid(set, T(1, "N"), tavola_guid_random()));
    SET("-tp", tavola_entity_set_binary(set, T(1, "N"), P(2, bytes), sizeof bytes));
    SET("-tp", tavola_entity_set(set, T(1, "N"), tavola_binary(P(2, bytes), sizeof bytes)));
    SET("-t", tavola_entity_unset(set, T(1, "N")));
    SET("-s", tavola_entity_embed(set, T(1, "Of"), entity, NULL));
}

TEST(entities_that_are_not_there)
{
    static const tavola_field fields[] = {{"Name", TAVOLA_STRING, 0, 0}, TAVOLA_FIELD_END};
    const char *object[1] = {"name"}, *text;
    const void *data;
    tavola_entity *set = NULL;
    tavola_value value;
    tavola_guid guid;
    int32_t int32;
    int64_t int64;
    double real;
    size_t size;
    bool flag;

    NOTHING("p", tavola_entity_copy(P(0, entity)));
    CALM("p", tavola_entity_set(P(0, set), "N", tavola_int32(1)));
    CALM("p", tavola_entity_set_string(P(0, set), "N", "text"));
    CALM("p", tavola_entity_set_int32(P(0, set), "N", 1));
    CALM("p", tavola_entity_set_int64(P(0, set), "N", 1));
    CALM("p", tavola_entity_set_double(P(0, set), "N", 1));
    CALM("p", tavola_entity_set_boolean(P(0, set), "N", true));
    CALM("p", tavola_entity_set_datetime(P(0, set), "N", tavola_now()));
    CALM("p", tavola_entity_set_guid(P(0, set), "N", tavola_guid_random()));
    CALM("p", tavola_entity_set_binary(P(0, set), "N", "", 0));
    CALM("p", tavola_entity_embed(P(0, set), "Of", entity, NULL));
    set = tavola_entity_new("p", "r");
    tavola_entity_embed(set, "Of", NULL, NULL);
    CHECK_ERR(tavola_entity_error(set), TAVOLA_ERR_NO_MEMORY);
    tavola_entity_free(set);
    set = NULL;
    CALM("p", tavola_entity_unset(P(0, set), "N"));
    CALM("p", tavola_entity_set_etag(P(0, set), "W/\"1\""));
    CHECK(tavola_entity_error(NULL) != TAVOLA_OK);
    CALM("p", tavola_entity_error_text(P(0, set)));
    CALM("p", tavola_entity_partition_key(P(0, entity)));
    CALM("p", tavola_entity_row_key(P(0, entity)));
    NOTHING("p", tavola_entity_etag(P(0, entity)));
    NOTHING("p", tavola_entity_timestamp(P(0, entity)));
    NOTHING("pt", tavola_entity_get(P(0, entity), T(1, "Name"), &value));
    NOTHING("pt", tavola_entity_get_string(P(0, entity), T(1, "Name"), &text));
    NOTHING("pt", tavola_entity_get_int32(P(0, entity), T(1, "Name"), &int32));
    NOTHING("pt", tavola_entity_get_int64(P(0, entity), T(1, "Name"), &int64));
    NOTHING("pt", tavola_entity_get_double(P(0, entity), T(1, "Name"), &real));
    NOTHING("pt", tavola_entity_get_boolean(P(0, entity), T(1, "Name"), &flag));
    NOTHING("pt", tavola_entity_get_datetime(P(0, entity), T(1, "Name"), &int64));
    NOTHING("pt", tavola_entity_get_guid(P(0, entity), T(1, "Name"), &guid));
    NOTHING("pt", tavola_entity_get_binary(P(0, entity), T(1, "Name"), &data, &size));
    CALM("--p", tavola_entity_get(entity, "Name", P(2, &value)));
    CALM("--p", tavola_entity_get_string(entity, "Name", P(2, &text)));
    CALM("--pp", tavola_entity_get_binary(entity, "Name", P(2, &data), P(3, &size)));
    NOTHING("p", tavola_entity_count(P(0, entity)));
    NOTHING("p", tavola_entity_name_at(P(0, entity), 0, &value));
    CALM("--o", tavola_entity_name_at(entity, 0, P(2, &value)));
    NOTHING("p", tavola_entity_bytes(P(0, entity)));
    NOTHING("p", tavola_entity_json(P(0, entity)));
    NOTHING("pt-", tavola_series_get(P(0, entity), T(1, "Name"), 1, &value));
    TRY("p-p", tavola_entity_from_json(P(0, "{}"), 2, P(2, &out.entity)));
    TRY("ppp", tavola_entity_from(P(0, fields), P(1, object), P(2, &out.entity)));
    TRY("ppp", tavola_entity_read(P(0, entity), P(1, fields), P(2, object)));
}

TEST(getters_without_a_place_for_the_value)
{
    static const struct {
        const char *name;
        tavola_value value;
    } rows[] = {
        {"Int32", {.type = TAVOLA_INT32}},
        {"Int64", {.type = TAVOLA_INT64}},
        {"Double", {.type = TAVOLA_DOUBLE}},
        {"Boolean", {.type = TAVOLA_BOOLEAN}},
        {"DateTime", {.type = TAVOLA_DATETIME, .as.ticks = INT64_C(630000000000000000)}},
        {"Guid", {.type = TAVOLA_GUID}},
        {"Binary", {.type = TAVOLA_BINARY, .as.ptr = ""}},
        {"String", {.type = TAVOLA_STRING, .as.ptr = ""}},
    };
    tavola_entity *full = tavola_entity_new("p", "r");

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tavola_entity_set(full, rows[i].name, rows[i].value);
    CHECK_OK(tavola_entity_error(full));
    (void)tavola_entity_get(full, "Int32", NULL);
    (void)tavola_entity_get_int32(full, "Int32", NULL);
    (void)tavola_entity_get_int64(full, "Int64", NULL);
    (void)tavola_entity_get_double(full, "Double", NULL);
    (void)tavola_entity_get_boolean(full, "Boolean", NULL);
    (void)tavola_entity_get_datetime(full, "DateTime", NULL);
    (void)tavola_entity_get_guid(full, "Guid", NULL);
    (void)tavola_entity_get_binary(full, "Binary", NULL, NULL);
    (void)tavola_entity_get_string(full, "String", NULL);
    tavola_entity_free(full);
}

/* ---- 3. single operations ------------------------------------------------------------------- */

static tavola_err change_nothing(void *user, tavola_entity *of)
{
    (void)of;
    (void)user;
    return TAVOLA_OK;
}

TEST(single_operations)
{
    static const char *const names[] = {"Name", NULL};

    TRY("po-", tavola_insert(P(0, table), entity, P(1, call)));
    TRY("-n", tavola_insert(table, P(1, entity), call));
    TRY("pttop", tavola_get(P(0, table), T(1, "p"), T(2, "r"), P(3, call), P(4, &out.entity)));
    TRY("pttpop", tavola_get_select(P(0, table), T(1, "p"), T(2, "r"), P(3, names), P(4, call),
                                    P(5, &out.entity)));
    TRY("pno", tavola_insert_or_replace(P(0, table), P(1, entity), P(2, call)));
    TRY("pno", tavola_insert_or_merge(P(0, table), P(1, entity), P(2, call)));
    TRY("pn-o", tavola_replace(P(0, table), P(1, entity), TAVOLA_ANY, P(3, call)));
    TRY("--p", tavola_replace(table, entity, bad.how == IS_NULL ? "" : "*", call));
    TRY("--t", tavola_delete(table, "p", bad.how == IS_NULL ? NULL : "r", T(2, "*"), call));
    TRY("--t", tavola_merge(table, entity, bad.how == IS_NULL ? "a\nb" : T(2, "*"), call));
    TRY("pn-o", tavola_merge(P(0, table), P(1, entity), TAVOLA_ANY, P(3, call)));
    TRY("pttp-", tavola_delete(P(0, table), T(1, "p"), T(2, "r"), P(3, TAVOLA_ANY), call));
    TRY("ptt-o", tavola_delete(P(0, table), T(1, "p"), T(2, "r"), TAVOLA_ANY, P(4, call)));
    TRY("ptto", tavola_delete_if_present(P(0, table), T(1, "p"), T(2, "r"), P(3, call)));
    TRY("pttp-o",
        tavola_update(P(0, table), T(1, "p"), T(2, "r"), P(3, change_nothing), NULL, P(5, call)));
}

/* ---- 4. filters and queries ----------------------------------------------------------------- */

static tavola_filter *new_filter(void)
{
    return tavola_where("N", TAVOLA_EQ, tavola_int32(1));
}

TEST(filters_remember_what_they_cannot_say)
{
    const tavola_value one = tavola_int32(1);
    tavola_filter *filter = new_filter();

    FILTER("t--", tavola_where(T(0, "N"), TAVOLA_EQ, one));
    FILTER("-ll", tavola_where("N", TAVOLA_EQ, tavola_string(T(bad.at, "text"))));
    FILTER("--p", tavola_where("N", (tavola_cmp)77, one));
    FILTER("--p", tavola_where("N", TAVOLA_EQ, (tavola_value){.type = (tavola_type)77}));
    FILTER("tl", tavola_where_prefix(T(0, "N"), T(1, "text")));
    FILTER("pp", tavola_and(P(0, new_filter()), P(1, new_filter())));
    FILTER("pp", tavola_or(P(0, new_filter()), P(1, new_filter())));
    FILTER("p", tavola_not(P(0, new_filter())));
    FILTER("lp-", tavola_filter_bind(T(0, "N eq ?"), P(1, &one), 1));
    FILTER("l", tavola_filter_raw(T(0, "N eq 1")));
    CALM("p", tavola_filter_plan(P(0, filter)));
    NOTHING("p", tavola_filter_text(P(0, filter)));
    CHECK_ERR(tavola_filter_error(NULL), TAVOLA_ERR_NO_MEMORY);
    tavola_filter_free(filter);
}

static void check_query(tavola_query *of)
{
    end_round("ttttt", tavola_query_page(table, of, NULL, call, &out.page));
    tavola_query_free(of);
}
#define QUERY(kinds, statement)                                                                    \
    ROUNDS(kinds, #statement, tavola_query *set = tavola_query_new(NULL); statement;               \
           check_query(set))

TEST(queries)
{
    const char *bad_names[] = {"a\xff", NULL}, *long_names[] = {long_text, NULL};
    uint64_t count;

    QUERY("-p", tavola_query_select(set, bad.at ? bad_names : NULL));
    QUERY("-p", tavola_query_select(set, bad.at ? long_names : NULL));
    QUERY("-p", tavola_query_set_page_size(set, bad.at ? 1001 : 1));
    CALM("p", tavola_query_select(P(0, query), bad_names));
    CALM("p", tavola_query_set_page_size(P(0, query), 0));
    CALM("p", tavola_query_set_limit(P(0, query), 0));
    TRY("poop", tavola_scan_open(P(0, table), P(1, query), P(2, call), P(3, &out.scan)));
    TRY("poxop",
        tavola_query_page(P(0, table), P(1, query), T(2, NULL), P(3, call), P(4, &out.page)));
    TRY("poop", tavola_count(P(0, table), P(1, query), P(2, call), P(3, &out.count)));
    TRY("poop", tavola_explain(P(0, table), P(1, query), P(2, call), P(3, &out.text)));
    TRY("po-xop", tavola_scan_open_spread(P(0, table), P(1, query), 2, T(3, "p"), P(4, call),
                                          P(5, &out.scan)));
    CHECK_OK(tavola_scan_open(table, query, NULL, &out.scan));
    CHECK_ERR(tavola_scan_next(NULL, &(const tavola_entity *){NULL}), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_scan_next(out.scan, NULL), TAVOLA_ERR_INVALID);
    free_outputs();
    NOTHING("p", tavola_page_count(P(0, out.page)));
    NOTHING("p", tavola_page_at(P(0, out.page), 0));
    NOTHING("p", tavola_page_token(P(0, out.page)));

    /* Nothing may be deleted by mistake. */
    attempts_made = 0;
    CHECK_ERR(tavola_delete_where(table, NULL, call, &count), TAVOLA_ERR_NO_MEMORY);
    CHECK_INT(attempts_made, 0);
    TRY("p", tavola_delete_where(P(0, table), new_filter(), call, &out.count));
    TRY("--oo", tavola_delete_where(table, new_filter(), P(2, call), P(3, &out.count)));
}

/* ---- 5. batches, 6. asynchronous ------------------------------------------------------------ */

/* A batch whose add was bad, run or started. */
static void check_batch(tavola_batch *batch)
{
    CHECK_ERR(tavola_batch_run(batch, call), TAVOLA_ERR_INVALID);
    CHECK_INT(tavola_call_failed_index(call), 0);
    CHECK_INT(attempts_made, 0);
    tavola_batch_free(batch);
}

TEST(batches_and_bulks)
{
    tavola_batch *batch = tavola_batch_new(table);
    uint64_t count;

    tavola_batch *of_none = tavola_batch_new(NULL);

    CHECK_ERR(tavola_batch_run(of_none, call), TAVOLA_ERR_INVALID);
    tavola_batch_free(of_none);
    CALM("p", tavola_batch_add(P(0, batch), TAVOLA_INSERT, entity, NULL));
    NOTHING("p", tavola_batch_count(P(0, batch)));
    NOTHING("p", tavola_batch_etag(P(0, batch), 0));
    TRY("n-", tavola_batch_run(P(0, batch), call));
    tavola_batch_free(batch);

    attempts_made = 0;
    batch = tavola_batch_new(table);
    tavola_batch_add(batch, TAVOLA_INSERT, NULL, NULL);
    CHECK_ERR(tavola_batch_run(batch, call), TAVOLA_ERR_NO_MEMORY);
    tavola_batch_free(batch);
    batch = tavola_batch_new(table);
    tavola_batch_add(batch, (tavola_write)77, entity, NULL);
    check_batch(batch);
    batch = tavola_batch_new(table);
    tavola_batch_add(batch, TAVOLA_REPLACE, entity, "a\r\nb: c");
    check_batch(batch);

    TRY("p-o-op", tavola_bulk_open(P(0, table), 0, P(2, (tavola_bulk_fn)NULL), NULL, P(4, call),
                                   P(5, &out.bulk)));
    CHECK_OK(tavola_bulk_open(table, 0, NULL, NULL, NULL, &out.bulk));
    CHECK_ERR(tavola_bulk_add(NULL, TAVOLA_INSERT, entity, NULL), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_bulk_add(out.bulk, TAVOLA_INSERT, NULL, NULL), TAVOLA_ERR_NO_MEMORY);
    CHECK_ERR(tavola_bulk_add(out.bulk, (tavola_write)77, entity, NULL), TAVOLA_ERR_INVALID);
    CHECK_OK(tavola_bulk_close(out.bulk, NULL, NULL));
    out.bulk = NULL;
    (void)!tavola_bulk_close(NULL, &count, &count);
}

static void ignore(void *user, tavola_op *op)
{
    (void)op;
    (void)user;
}

TEST(started_operations)
{
    tavola_batch *batch = tavola_batch_new(table);

    TRY("ptto-op", tavola_start_get(P(0, table), T(1, "p"), T(2, "r"), P(3, (tavola_done_fn)NULL),
                                    NULL, P(5, call), P(6, &out.op)));
    TRY("p-n-o-op",
        tavola_start_write(P(0, table), TAVOLA_INSERT, P(2, entity), NULL,
                           P(4, (tavola_done_fn)NULL), NULL, P(6, call), P(7, &out.op)));
    TRY("-p",
        tavola_start_write(table, (tavola_write)77, entity, NULL, ignore, NULL, call, &out.op));
    tavola_batch_add(batch, TAVOLA_INSERT, entity, NULL);
    TRY("n--op", tavola_start_batch(P(0, batch), NULL, NULL, P(3, call), P(4, &out.op)));
    tavola_batch_free(batch);
    TRY("poxo-op", tavola_start_page(P(0, table), P(1, query), T(2, NULL),
                                     P(3, (tavola_done_fn)NULL), NULL, P(5, call), P(6, &out.op)));
    CHECK_ERR(tavola_op_wait(NULL, 0), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_op_err(NULL), TAVOLA_ERR_INVALID);
    NOTHING("p", tavola_op_call(P(0, out.op)));
    NOTHING("p", tavola_op_take_entity(P(0, out.op)));
    NOTHING("p", tavola_op_take_page(P(0, out.op)));
    CALM("p", tavola_op_cancel(P(0, out.op)));
    CHECK_INT(tavola_poll(NULL, 0), -1);
    CHECK_INT(tavola_client_fd(NULL), -1);
}

/* ---- 7. keys -------------------------------------------------------------------------------- */

TEST(keys)
{
    static const char *const parts[] = {"a", "b", NULL};
    char text[64];
    tavola_ticks ticks;
    tavola_guid guid;

    CALM("-p", tavola_ticks_format(tavola_now(), P(1, text)));
    NOTHING("p", tavola_ticks_parse(P(0, "2026-01-02T03:04:05Z"), &ticks));
    CALM("-p", tavola_ticks_parse("2026-01-02T03:04:05Z", P(1, &ticks)));
    NOTHING("p", tavola_guid_parse(P(0, "00000000-0000-0000-0000-000000000000"), &guid));
    CALM("-p", tavola_guid_parse("00000000-0000-0000-0000-000000000000", P(1, &guid)));
    CALM("-p", tavola_guid_format(tavola_guid_random(), P(1, text)));
    CALM("-p", tavola_key_inverted(tavola_now(), P(1, text)));
    NOTHING("p", tavola_key_from_inverted(P(0, "2516349777549999999"), &ticks));
    CALM("-p", tavola_key_from_inverted("2516349777549999999", P(1, &ticks)));
    CALM("--p", tavola_key_padded(1, 5, P(2, text), sizeof text));
    NOTHING("-p", tavola_key_join('_', P(1, parts)));
    NOTHING("p", tavola_key_after(P(0, "a")));
    NOTHING("t", tavola_key_is_valid(T(0, "a")));
    NOTHING("-p", tavola_key_part('_', P(1, "a_b"), 0));
    CALM("l-p", tavola_key_spread(T(0, "a"), 16, P(2, text), sizeof text));
    CALM("t-p", tavola_dated_name(T(0, "Logs"), tavola_now(), P(2, text), sizeof text));
}

/* ---- 10. signatures and policies ------------------------------------------------------------ */

TEST(signatures_and_policies)
{
    const char *id = NULL;
    tavola_sas_options sas = {
        .struct_size = sizeof sas, .permissions = "r", .expiry = tavola_ticks_from_unix_us(0)};
    /* With rights and times: Azurite insists on them. */
    tavola_policy policy = {sizeof policy, "a", "r", tavola_now(), tavola_now() + 36000000000};

    sas.expiry = tavola_now();
    TRY("ppp", tavola_table_sas(P(0, table), P(1, &sas), P(2, &out.text)));
    TRY("pttpp",
        tavola_account_sas(P(0, client), T(1, "t"), T(2, "sco"), P(3, &sas), P(4, &out.text)));
    TRY("ppp", tavola_queue_sas(P(0, queue), P(1, &sas), P(2, &out.text)));
    TRY("ppp", tavola_container_sas(P(0, container), P(1, &sas), P(2, &out.text)));
    TRY("ptpp", tavola_blob_sas(P(0, container), T(1, "a"), P(2, &sas), P(3, &out.text)));
    TRY("tp", tavola_sas_parse(T(0, "sv=2019-02-02&tn=t&sig=abc"), P(1, &out.sas)));
    NOTHING("p", tavola_sas_kind(P(0, out.sas)));
    NOTHING("pt", tavola_sas_field(P(0, out.sas), T(1, "sv")));

    TRY("pp-o", tavola_table_set_policies(P(0, table), P(1, &policy), 1, P(3, call)));
    TRY("pp-o", tavola_queue_set_policies(P(0, queue), P(1, &policy), 1, P(3, call)));
    TRY("pp-o", tavola_container_set_policies(P(0, container), P(1, &policy), 1, P(3, call)));
    TRY("pop", tavola_table_get_policies(P(0, table), P(1, call), P(2, &out.policies)));
    TRY("pop", tavola_queue_get_policies(P(0, queue), P(1, call), P(2, &out.policies)));
    TRY("pop", tavola_container_get_policies(P(0, container), P(1, call), P(2, &out.policies)));
    TRY("t",
        tavola_table_set_policies(
            table, (id = T(0, "a"), &(tavola_policy){sizeof policy, id, NULL, 0, 0}), 1, call));
    NOTHING("p", tavola_policies_count(P(0, out.policies)));
    NOTHING("p", tavola_policies_at(P(0, out.policies), 0));
}

/* ---- 11. encryption ------------------------------------------------------------------------- */

static const char *name_key(void *key)
{
    return key;
}

TEST(encryption)
{
    static const uint8_t key[32] = {1};
    static const char pem[] = "-----BEGIN PUBLIC KEY-----\n";
    tavola_key_ops ops = {.struct_size = sizeof ops, .kid = name_key};

    TRY("p-p", tavola_crypto_new(P(0, &ops), NULL, P(2, &out.crypto)));
    TRY("lp-p", tavola_crypto_new_aes(T(0, "key"), P(1, key), 32, P(3, &out.crypto)));
    TRY("tp-p", tavola_crypto_new_rsa(T(0, "key"), P(1, pem), sizeof pem - 1, P(3, &out.crypto)));
    CALM("po-", tavola_crypto_set_resolver(P(0, crypto), P(1, (tavola_resolve_fn)NULL), NULL));
    CALM("po-", tavola_crypto_set_properties(P(0, crypto), P(1, (tavola_encrypt_fn)NULL), NULL));
    CALM("p-", tavola_crypto_set_required(P(0, crypto), false));
    CALM("p-", tavola_crypto_set_protocol(P(0, crypto), 2));
    TRY("poo", tavola_crypto_set_place(P(0, crypto), T(1, "account"), T(2, "People")));
    CHECK_OK(tavola_crypto_set_place(crypto, NULL, NULL));
    TRY("pp", tavola_crypto_rewrap(P(0, table), P(1, crypto), new_filter(), call, &out.count));
    TRY("--ooo",
        tavola_crypto_rewrap(table, crypto, P(2, new_filter()), P(3, call), P(4, &out.count)));
}

/* ---- 8. queues ------------------------------------------------------------------------------ */

TEST(queues)
{
    TRY("ptp", tavola_queue_open(P(0, client), T(1, "jobs"), P(2, &out.queue)));
    NOTHING("p", tavola_queue_name(P(0, queue)));
    TRY("po", tavola_queue_create(P(0, queue), P(1, call)));
    TRY("po", tavola_queue_create_if_absent(P(0, queue), P(1, call)));
    TRY("p", tavola_queue_delete(P(0, queue), call));
    TRY("p", tavola_queue_delete_if_present(P(0, queue), call));
    TRY("pop", tavola_queue_exists(P(0, queue), P(1, call), P(2, &out.flag)));
    TRY("pmop", tavola_queue_list(P(0, client), T(1, "j"), P(2, call), P(3, &out.names)));
    TRY("pop", tavola_queue_count(P(0, queue), P(1, call), P(2, &out.count)));
    TRY("po", tavola_queue_clear(P(0, queue), P(1, call)));
    TRY("pto", tavola_message_put(P(0, queue), T(1, "text"), P(2, call)));
    TRY("pp-o", tavola_message_put_bytes(P(0, queue), P(1, "bytes"), 5, P(3, call)));
    TRY("pt--oo",
        tavola_message_put_later(P(0, queue), T(1, "text"), 1, 60, P(4, call), P(5, &out.message)));
    TRY("p-op", tavola_message_get(P(0, queue), 1, P(2, call), P(3, &out.message)));
    TRY("p--op", tavola_messages_get(P(0, queue), 1, 1, P(3, call), P(4, &out.messages)));
    TRY("p-op", tavola_messages_peek(P(0, queue), 1, P(2, call), P(3, &out.messages)));
    TRY("pp", tavola_message_update(P(0, queue), P(1, message), "text", 1, call));
    TRY("--l",
        tavola_message_update(queue, bad.how == IS_NULL ? NULL : message, T(2, "text"), 1, call));
    TRY("pp", tavola_message_delete(P(0, queue), P(1, message), call));
    TRY("ppp", tavola_message_bytes(P(0, message), P(1, &out.data), P(2, &out.size)));
}

TEST(messages_that_are_not_there)
{
    tavola_message *none = tavola_message_new(NULL, NULL);

    TRY("p", tavola_message_delete(queue, P(0, none), call));
    if (none)
        CHECK_ERR(tavola_message_delete(queue, none, call), TAVOLA_ERR_INVALID);
    tavola_message_free(none);
    NOTHING("p", tavola_message_id(P(0, message)));
    NOTHING("p", tavola_message_pop_receipt(P(0, message)));
    NOTHING("p", tavola_message_text(P(0, message)));
    NOTHING("p", tavola_message_dequeue_count(P(0, message)));
    NOTHING("p", tavola_message_inserted(P(0, message)));
    NOTHING("p", tavola_message_expires(P(0, message)));
    NOTHING("p", tavola_message_next_visible(P(0, message)));
    NOTHING("p", tavola_messages_count(P(0, out.messages)));
    NOTHING("p", tavola_messages_at(P(0, out.messages), 0));
}

/* ---- 9. blobs ------------------------------------------------------------------------------- */

static bool give_nothing(void *user, void *to, size_t size, size_t *ret_len)
{
    (void)user;
    (void)to;
    (void)size;
    *ret_len = 0;
    return true;
}

static bool take_all(void *user, const void *bytes, size_t len)
{
    (void)user;
    (void)bytes;
    (void)len;
    return true;
}

TEST(containers_and_blobs)
{
    static const tavola_blob_options options = {.struct_size = sizeof options};

    TRY("ptp", tavola_container_open(P(0, client), T(1, "files"), P(2, &out.container)));
    NOTHING("p", tavola_container_name(P(0, container)));
    TRY("po", tavola_container_create(P(0, container), P(1, call)));
    TRY("po", tavola_container_create_if_absent(P(0, container), P(1, call)));
    TRY("p", tavola_container_delete(P(0, container), call));
    TRY("p", tavola_container_delete_if_present(P(0, container), call));
    TRY("pop", tavola_container_exists(P(0, container), P(1, call), P(2, &out.flag)));
    TRY("pmop", tavola_container_list(P(0, client), T(1, "j"), P(2, call), P(3, &out.names)));
    TRY("ptp-oo",
        tavola_blob_put(P(0, container), T(1, "b"), P(2, "data"), 4, P(4, &options), P(5, call)));
    TRY("ptp-oo", tavola_blob_write(P(0, container), T(1, "b"), P(2, give_nothing), NULL,
                                    P(4, &options), P(5, call)));
    TRY("pt-opp", tavola_blob_get(P(0, container), T(1, "b"), 100, P(3, call), P(4, &out.data),
                                  P(5, &out.size)));
    TRY("pt--opp", tavola_blob_get_range(P(0, container), T(1, "b"), 0, 1, P(4, call),
                                         P(5, &out.data), P(6, &out.size)));
    TRY("ptp-o", tavola_blob_read(P(0, container), T(1, "b"), P(2, take_all), NULL, P(4, call)));
    TRY("ptop", tavola_blob_exists(P(0, container), T(1, "b"), P(2, call), P(3, &out.flag)));
    TRY("ptop", tavola_blob_stat(P(0, container), T(1, "b"), P(2, call), P(3, &out.info)));
    TRY("ptoo", tavola_blob_delete(P(0, container), T(1, "b"), P(2, TAVOLA_ANY), P(3, call)));
    TRY("pto", tavola_blob_delete_if_present(P(0, container), T(1, "b"), P(2, call)));
    TRY("ptoo", tavola_blob_create_append(P(0, container), T(1, "a"), P(2, &options), P(3, call)));
    TRY("ptp-oo", tavola_blob_append(P(0, container), T(1, "a"), P(2, "data"), 4, P(4, call),
                                     P(5, &out.count)));
    TRY("pt-p-o",
        tavola_blob_append_at(P(0, container), T(1, "a"), 0, P(3, "data"), 4, P(5, call)));
    TRY("pmm-xop", tavola_blob_list(P(0, container), T(1, "a"), T(2, "/"), 0, T(4, NULL),
                                    P(5, call), P(6, &out.blobs)));
    NOTHING("p", tavola_blobs_count(P(0, out.blobs)));
    NOTHING("p", tavola_blobs_at(P(0, out.blobs), 0));
    NOTHING("p", tavola_blobs_token(P(0, out.blobs)));
}

TEST(options_of_blobs)
{
    static const struct {
        const char *what;
        tavola_blob_options options;
    } rows[] = {
        {"a line end in the type", {sizeof(tavola_blob_options), "a\r\nb: c", NULL, false}},
        {"a type that is not ASCII", {sizeof(tavola_blob_options), "a\xff", NULL, false}},
        {"a line end in the etag", {sizeof(tavola_blob_options), NULL, "a\r\nb: c", false}},
        {"an etag that is empty", {sizeof(tavola_blob_options), NULL, "", false}},
        {"an etag that is too long", {sizeof(tavola_blob_options), NULL, long_text, false}},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        t_row = rows[i].what;
        attempts_made = 0;
        CHECK_ERR(tavola_blob_put(container, "b", "", 0, &rows[i].options, call),
                  TAVOLA_ERR_INVALID);
        CHECK_ERR(tavola_blob_create_append(container, "b", &rows[i].options, call),
                  TAVOLA_ERR_INVALID);
        CHECK_INT(attempts_made, 0);
    }
}

/* ---- 12. patterns --------------------------------------------------------------------------- */

static tavola_err do_nothing(void *user, const char *text, uint32_t dequeue_count)
{
    (void)text;
    (void)dequeue_count;
    (void)user;
    return TAVOLA_OK;
}

TEST(indexes)
{
    static const tavola_index index = {.prefix = "name_", .property = "Name"};
    static const tavola_index unnamed = {.property = "Name"}, empty = {.prefix = "name_"};
    tavola_inter_partition inter = {.struct_size = sizeof inter, .queue = queue};
    const tavola_inter_partition no_size = {.queue = queue},
                                 no_queue = {.struct_size = sizeof no_queue};
    tavola_indexed *both[2] = {NULL, NULL};

    TRY("pp-oop", tavola_indexed_open(P(0, table), P(1, &index), 1,
                                      P(3, (const tavola_inter_partition *)NULL), P(4, call),
                                      P(5, &out.indexed)));
    CHECK_OK(tavola_indexed_open(table, &index, 1, NULL, call, &both[0]));
    CHECK_OK(tavola_indexed_open(table, &index, 1, &inter, call, &both[1]));
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        tavola_indexed *one = both[i];

        TRY("pno", tavola_indexed_put(P(0, one), P(1, entity), P(2, call)));
        TRY("ptttop", tavola_indexed_get(P(0, one), T(1, "Name"), T(2, "p"), T(3, "value"),
                                         P(4, call), P(5, &out.entity)));
        TRY("pttxxoop", tavola_indexed_scan(P(0, one), T(1, "Name"), T(2, "p"), T(3, NULL),
                                            T(4, NULL), P(5, query), P(6, call), P(7, &out.scan)));
        TRY("pttp-o", tavola_indexed_update(P(0, one), T(1, "p"), T(2, "r"), P(3, change_nothing),
                                            NULL, P(5, call)));
        TRY("pttpo",
            tavola_indexed_delete(P(0, one), T(1, "p"), T(2, "r"), P(3, TAVOLA_ANY), P(4, call)));
        TRY("px--oo",
            tavola_indexed_check(P(0, one), T(1, NULL), NULL, NULL, P(4, call), P(5, &out.count)));
        TRY("px--oo",
            tavola_indexed_repair(P(0, one), T(1, NULL), NULL, NULL, P(4, call), P(5, &out.count)));
    }
    TRY("pt", tavola_indexed_job(P(0, both[1]), T(1, "{}"), 0));
    tavola_indexed_close(both[0]);
    tavola_indexed_close(both[1]);
    CHECK_ERR(tavola_indexed_open(table, &unnamed, 1, NULL, call, &out.indexed),
              TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_indexed_open(table, &empty, 1, NULL, call, &out.indexed), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_indexed_open(table, &index, 1, &no_size, call, &out.indexed),
              TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_indexed_open(table, &index, 1, &no_queue, call, &out.indexed),
              TAVOLA_ERR_INVALID);
    CALM("p", tavola_indexed_close(P(0, out.indexed)));
}

TEST(work_of_others)
{
    TRY("pto", tavola_enqueue(P(0, queue), T(1, "text"), P(2, call)));
    TRY("pt-p-o",
        tavola_eventually(P(0, queue), T(1, "text"), 0, P(3, do_nothing), NULL, P(5, call)));
    TRY("po-p-op", tavola_worker_open(P(0, queue), P(1, queue), 0, P(3, do_nothing), NULL,
                                      P(5, call), P(6, &out.worker)));
    CALM("p-", tavola_worker_set_hidden_s(P(0, out.worker), 1));
    CHECK_ERR(tavola_worker_run(NULL, 0), TAVOLA_ERR_INVALID);
    CALM("p", tavola_worker_stop(P(0, out.worker)));
    NOTHING("p", tavola_worker_done(P(0, out.worker)));
    NOTHING("p", tavola_worker_failed(P(0, out.worker)));
    NOTHING("p", tavola_worker_poisoned(P(0, out.worker)));
    TRY("pptt", tavola_move(P(0, table), P(1, table), T(2, "p"), T(3, "r"), call));
}

TEST(lists)
{
    const char *ps[] = {"p", "p"}, *rs[] = {"r", "r"};
    tavola_entity *many[2] = {NULL, NULL};

    TRY("ptttl-o", tavola_list_add(P(0, table), T(1, "p"), T(2, "list"), T(3, "Items"),
                                   T(4, "item"), NULL, P(6, call)));
    TRY("ptttl-o", tavola_list_remove(P(0, table), T(1, "p"), T(2, "list"), T(3, "Items"),
                                      T(4, "item"), NULL, P(6, call)));
    TRY("pttttl-o", tavola_list_move(P(0, table), T(1, "p"), T(2, "list"), T(3, "other"),
                                     T(4, "Items"), T(5, "item"), NULL, P(7, call)));
    TRY("ptttop", tavola_list_get(P(0, table), T(1, "p"), T(2, "list"), T(3, "Items"), P(4, call),
                                  P(5, &out.names)));
    TRY("ptlo", tavola_list_blob_add(P(0, container), T(1, "list"), T(2, "item"), P(3, call)));
    TRY("ptlo", tavola_list_blob_remove(P(0, container), T(1, "list"), T(2, "item"), P(3, call)));
    TRY("ptop", tavola_list_blob_get(P(0, container), T(1, "list"), P(2, call), P(3, &out.names)));
    TRY("ppp", tavola_get_many(P(0, table), P(1, ps), P(2, rs), 2, 0, call, many));
    TRY("p", tavola_get_many(table, ps, rs, 2, 0, call, P(0, many)));
    TRY("tt",
        (ps[1] = T(0, "p"), rs[1] = T(1, "r"), tavola_get_many(table, ps, rs, 2, 0, call, many)));
    CHECK(many[0] == NULL && many[1] == NULL);
}

TEST(other_patterns)
{
    tavola_ticks now = tavola_now();
    tavola_entity *large = tavola_entity_new("p", "large");

    TRY("pn-o", tavola_log_add(P(0, table), P(1, entity), now, P(3, call)));
    TRY("pt-op", tavola_tail(P(0, table), T(1, "p"), 1, P(3, call), P(4, &out.page)));
    TRY("pt-oo", tavola_drop_before(P(0, client), T(1, "Zzz"), now, P(3, call), P(4, &out.count)));
    TRY("pttt--o", tavola_series_set(P(0, table), T(1, "p"), T(2, "r"), T(3, "Stem"), 1,
                                     tavola_int32(1), P(6, call)));
    TRY("pno", tavola_wide_put(P(0, table), P(1, entity), P(2, call)));
    TRY("pttop", tavola_wide_get(P(0, table), T(1, "p"), T(2, "r"), P(3, call), P(4, &out.entity)));
    TRY("ptto", tavola_wide_delete(P(0, table), T(1, "p"), T(2, "r"), P(3, call)));
    TRY("pntpp-o", tavola_large_put(P(0, table), P(1, large), T(2, "Photo"), P(3, container),
                                    P(4, "data"), 4, P(6, call)));
    TRY("pppopp", tavola_large_get(P(0, table), P(1, large), T(2, "Photo"), P(3, call),
                                   P(4, &out.data), P(5, &out.size)));
    TRY("pttto",
        tavola_large_delete(P(0, table), T(1, "p"), T(2, "large"), T(3, "Photo"), P(4, call)));
    TRY("ptp-oo", tavola_large_sweep(P(0, table), T(1, "Photo"), P(2, container), now, P(4, call),
                                     P(5, &out.count)));
    TRY("pt-p-o",
        tavola_log_blob_append(P(0, container), T(1, "stem"), now, P(3, "data"), 4, P(5, call)));
    tavola_entity_free(large);
}

/* ---- what frees and closes ------------------------------------------------------------------ */

TEST(nothing_can_be_freed)
{
    tavola_free(NULL);
    tavola_client_close(NULL);
    tavola_table_close(NULL);
    tavola_names_free(NULL);
    tavola_call_free(NULL);
    tavola_entity_free(NULL);
    tavola_filter_free(NULL);
    tavola_query_free(NULL);
    tavola_scan_close(NULL);
    tavola_page_free(NULL);
    tavola_batch_free(NULL);
    tavola_op_free(NULL);
    tavola_sas_free(NULL);
    tavola_policies_free(NULL);
    tavola_crypto_free(NULL);
    tavola_queue_close(NULL);
    tavola_message_free(NULL);
    tavola_messages_free(NULL);
    tavola_container_close(NULL);
    tavola_blob_info_free(NULL);
    tavola_blobs_free(NULL);
    tavola_worker_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROWS_TEST(clients_and_tables),
        ROWS_TEST(options_without_a_size),
        ROWS_TEST(calls),
        ROWS_TEST(entities_remember_what_they_cannot_hold),
        ROWS_TEST(entities_that_are_not_there),
        ROWS_TEST(getters_without_a_place_for_the_value),
        ROWS_TEST(single_operations),
        ROWS_TEST(filters_remember_what_they_cannot_say),
        ROWS_TEST(queries),
        ROWS_TEST(batches_and_bulks),
        ROWS_TEST(started_operations),
        ROWS_TEST(keys),
        ROWS_TEST(signatures_and_policies),
        ROWS_TEST(encryption),
        ROWS_TEST(queues),
        ROWS_TEST(messages_that_are_not_there),
        ROWS_TEST(containers_and_blobs),
        ROWS_TEST(options_of_blobs),
        ROWS_TEST(indexes),
        ROWS_TEST(work_of_others),
        ROWS_TEST(lists),
        ROWS_TEST(other_patterns),
        ROWS_TEST(nothing_can_be_freed),
    };

    return cmocka_run_group_tests(tests, open_all, close_all);
}
