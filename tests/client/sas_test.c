/* Shared access signatures, used by clients that have nothing else. */
#include "live.h"

#define OPTIONS .struct_size = sizeof(tavola_sas_options)
#define MINUTE INT64_C(600000000)

/* The value of a setting of the connection string; "" when it has none. */
static void setting(const char *name, char *to, size_t size)
{
    const char *at = strstr(connection_string(), name);
    size_t len = at ? strcspn(at + strlen(name), ";") : 0;

    CHECK(len < size);
    memcpy(to, at ? at + strlen(name) : "", len);
    to[len] = '\0';
}

/* A client that has only a signature, which is freed; NULL when the server lacks the service. */
static tavola_client *client_with(const char *endpoint, char *query)
{
    char url[200], text[2000], name[40];
    tavola_client *client = NULL;

    snprintf(name, sizeof name, "%s=", endpoint);
    setting(name, url, sizeof url);
    snprintf(text, sizeof text, "%s=%s;SharedAccessSignature=%s", endpoint, url, query);
    if (url[0] && tavola_client_open(text, NULL, &client) != TAVOLA_OK)
        CHECK_FAIL("%s: %s", endpoint, tavola_error_text(TAVOLA_ERR_INVALID));
    tavola_free(query);
    return client;
}

/* The test's table as someone sees it who has a signature with these options. */
static tavola_table *table_with(const tavola_sas_options *options, tavola_client **ret_client)
{
    tavola_table *table = NULL;
    char *query = NULL;

    CHECK_OK(tavola_table_sas(t.table, options, &query));
    *ret_client = client_with("TableEndpoint", query);
    CHECK_OK(tavola_table_open(*ret_client, tavola_table_name(t.table), &table));
    return table;
}

static tavola_err insert_into(tavola_table *table, const char *partition_key, const char *row_key)
{
    tavola_entity *entity = new_entity(partition_key, row_key, 1);
    tavola_err err = tavola_insert(table, entity, t.call);

    tavola_entity_free(entity);
    return err;
}

static tavola_err read_from(tavola_table *table, const char *partition_key, const char *row_key)
{
    tavola_entity *entity = NULL;
    tavola_err err = tavola_get(table, partition_key, row_key, t.call, &entity);

    tavola_entity_free(entity);
    return err;
}

TEST(a_signature_allows_what_it_says)
{
    tavola_sas_options options = {OPTIONS, .permissions = "r", .expiry = tavola_now() + MINUTE};
    tavola_client *client;
    tavola_table *table = table_with(&options, &client);
    char *query = NULL;

    CHECK_OK(insert_into(t.table, "p", "r"));
    CHECK_OK(read_from(table, "p", "r"));
    CHECK_ERR(insert_into(table, "p", "s"), TAVOLA_ERR_DENIED);
    CHECK_ERR(tavola_delete(table, "p", "r", TAVOLA_ANY, t.call), TAVOLA_ERR_DENIED);
    /* Who has no key cannot make another signature. */
    CHECK_ERR(tavola_table_sas(table, &options, &query), TAVOLA_ERR_INVALID);
    tavola_table_close(table);
    tavola_client_close(client);
}

TEST(a_signature_ends)
{
    tavola_sas_options options = {OPTIONS, .permissions = "raud", .expiry = tavola_now() - MINUTE};
    tavola_client *client;
    tavola_table *table = table_with(&options, &client);

    CHECK_ERR(insert_into(table, "p", "r"), TAVOLA_ERR_DENIED);
    tavola_table_close(table);
    tavola_client_close(client);
}

TEST(a_signature_has_bounds)
{
    AZURITE_DIFFERS("does not look at the bounds");

    static const char *const rows[] = {"a", "b", "c", "d"};
    tavola_sas_options options = {OPTIONS,
                                  .permissions = "dura",
                                  .start = tavola_now() - MINUTE,
                                  .expiry = tavola_now() + MINUTE,
                                  .start_pk = "it's + & \xc3\xb6",
                                  .start_rk = "b",
                                  .end_pk = "it's + & \xc3\xb6",
                                  .end_rk = "c"};
    tavola_client *client;
    tavola_table *table = table_with(&options, &client);
    uint64_t count = 0;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool is_inside = rows[i][0] == 'b' || rows[i][0] == 'c';

        t_row = rows[i];
        CHECK_ERR(insert_into(table, options.start_pk, rows[i]),
                  is_inside ? TAVOLA_OK : TAVOLA_ERR_DENIED);
        if (!is_inside)
            CHECK_OK(insert_into(t.table, options.start_pk, rows[i]));
    }
    t_row = "";
    CHECK_OK(tavola_count(table, NULL, t.call, &count));
    CHECK_INT(count, 2);
    CHECK_INT(count_all(), 4);
    tavola_table_close(table);
    tavola_client_close(client);
}

/* An empty end would not be signed, so there is none. */
TEST(the_empty_key_is_a_bound_at_the_start)
{
    AZURITE_DIFFERS("does not look at the bounds");

    tavola_sas_options options = {
        OPTIONS,        .permissions = "ra", .expiry = tavola_now() + MINUTE,
        .start_pk = "", .start_rk = "",      .end_pk = "o"};
    tavola_client *client;
    tavola_table *table = table_with(&options, &client);

    CHECK_OK(insert_into(table, "", ""));
    CHECK_OK(insert_into(table, "o", "r"));
    CHECK_OK(read_from(table, "", ""));
    CHECK_ERR(insert_into(table, "p", "r"), TAVOLA_ERR_DENIED);
    tavola_table_close(table);
    tavola_client_close(client);
}

TEST(a_policy_can_be_taken_back)
{
    tavola_policy policy = {.struct_size = sizeof policy,
                            .id = "reader",
                            .permissions = "r",
                            .start = tavola_now() - MINUTE, /* which Azurite insists on */
                            .expiry = tavola_now() + MINUTE};
    tavola_sas_options options = {OPTIONS, .policy_id = "reader"};
    tavola_client *client;
    tavola_table *table = table_with(&options, &client);

    CHECK_OK(insert_into(t.table, "p", "r"));
    CHECK_ERR(read_from(table, "p", "r"), TAVOLA_ERR_DENIED);
    CHECK_OK(tavola_table_set_policies(t.table, &policy, 1, t.call));
    CHECK_OK(read_from(table, "p", "r"));
    CHECK_ERR(insert_into(table, "p", "s"), TAVOLA_ERR_DENIED);
    CHECK_OK(tavola_table_set_policies(t.table, NULL, 0, t.call));
    CHECK_ERR(read_from(table, "p", "r"), TAVOLA_ERR_DENIED);
    tavola_table_close(table);
    tavola_client_close(client);
}

TEST(an_account_signature_is_for_services_and_types)
{
    tavola_sas_options options = {OPTIONS, .permissions = "udlracw",
                                  .expiry = tavola_now() + MINUTE};
    static const struct {
        const char *services, *types;
        tavola_err create, insert;
    } cases[] = {
        {"t", "sco", TAVOLA_OK, TAVOLA_OK},
        {"bqt", "o", TAVOLA_ERR_DENIED, TAVOLA_OK},
        {"t", "c", TAVOLA_OK, TAVOLA_ERR_DENIED},
        {"b", "sco", TAVOLA_ERR_DENIED, TAVOLA_ERR_DENIED},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tavola_table *other = NULL, *same = NULL;
        tavola_client *client;
        char *query = NULL, name[63];

        t_row = cases[i].types;
        new_name(name, sizeof name);
        CHECK_OK(tavola_account_sas(t.client, cases[i].services, cases[i].types, &options, &query));
        client = client_with("TableEndpoint", query);
        CHECK_OK(tavola_table_open(client, name, &other));
        CHECK_OK(tavola_table_open(client, tavola_table_name(t.table), &same));
        CHECK_ERR(tavola_table_create(other, t.call), cases[i].create);
        if (cases[i].create == TAVOLA_OK)
            CHECK_OK(tavola_table_delete(other, t.call));
        CHECK_ERR(insert_into(same, "p", cases[i].services), cases[i].insert);
        tavola_table_close(other);
        tavola_table_close(same);
        tavola_client_close(client);
    }
}

TEST(every_version_is_understood)
{
    static const char *const versions[] = {"2015-04-05", "2018-03-28", "2019-02-02", "2020-12-06",
                                           "2022-11-02"};
    tavola_sas_options options = {OPTIONS, .permissions = "ra", .expiry = tavola_now() + MINUTE,
                                  .ip_range = "127.0.0.1"};

    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        tavola_client *client;
        tavola_table *table;

        t_row = options.version = versions[i];
        table = table_with(&options, &client);
        CHECK_OK(insert_into(table, "p", versions[i]));
        tavola_table_close(table);
        tavola_client_close(client);
    }
}

TEST(queues_have_signatures)
{
    tavola_sas_options options = {OPTIONS, .permissions = "a", .expiry = tavola_now() + MINUTE};
    tavola_queue *queue = NULL, *same = NULL;
    tavola_client *client;
    tavola_message *message = NULL;
    char *query = NULL, name[63];

    new_name(name, sizeof name);
    CHECK_OK(tavola_queue_open(t.client, name, &queue));
    CHECK_OK(tavola_queue_sas(queue, &options, &query));
    client = client_with("QueueEndpoint", query);
    if (client == NULL) {
        tavola_free(query);
        tavola_queue_close(queue);
        skip();
    }
    CHECK_OK(tavola_queue_create(queue, t.call));
    CHECK_OK(tavola_queue_open(client, name, &same));
    CHECK_OK(tavola_message_put(same, "hello", t.call));
    CHECK_ERR(tavola_message_get(same, 0, t.call, &message), TAVOLA_ERR_DENIED);
    CHECK_OK(tavola_queue_delete(queue, t.call));
    tavola_queue_close(queue);
    tavola_queue_close(same);
    tavola_client_close(client);
}

/* Put and get a blob by a signature that allows only one of them. */
static void try_blob(tavola_container *container, char *query, const char *blob, bool can_write)
{
    tavola_client *client = client_with("BlobEndpoint", query);
    tavola_container *same = NULL;
    size_t size = 0;
    void *data = NULL;

    CHECK_OK(tavola_container_open(client, tavola_container_name(container), &same));
    CHECK_ERR(tavola_blob_put(same, blob, "x", 1, NULL, t.call),
              can_write ? TAVOLA_OK : TAVOLA_ERR_DENIED);
    CHECK_ERR(tavola_blob_get(same, blob, 100, t.call, &data, &size),
              can_write ? TAVOLA_ERR_DENIED : TAVOLA_OK);
    tavola_free(data);
    tavola_container_close(same);
    tavola_client_close(client);
}

TEST(containers_and_blobs_have_signatures)
{
    tavola_sas_options options = {OPTIONS, .permissions = "wc", .expiry = tavola_now() + MINUTE};
    tavola_container *container = NULL;
    char *query = NULL, name[63], url[200];
    static const char blob[] = "a b/\xc3\xb6 + &.png";

    setting("BlobEndpoint=", url, sizeof url);
    if (url[0] == '\0')
        skip();
    new_name(name, sizeof name);
    CHECK_OK(tavola_container_open(t.client, name, &container));
    CHECK_OK(tavola_container_create(container, t.call));
    CHECK_OK(tavola_container_sas(container, &options, &query));
    try_blob(container, query, blob, true);
    options.permissions = "r";
    CHECK_OK(tavola_blob_sas(container, blob, &options, &query));
    try_blob(container, query, blob, false);
    CHECK_OK(tavola_container_delete(container, t.call));
    tavola_container_close(container);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(a_signature_allows_what_it_says),
        LIVE_TEST(a_signature_ends),
        LIVE_TEST(a_signature_has_bounds),
        LIVE_TEST(the_empty_key_is_a_bound_at_the_start),
        LIVE_TEST(a_policy_can_be_taken_back),
        LIVE_TEST(an_account_signature_is_for_services_and_types),
        LIVE_TEST(every_version_is_understood),
        LIVE_TEST(queues_have_signatures),
        LIVE_TEST(containers_and_blobs_have_signatures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
