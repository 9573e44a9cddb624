/* Opening clients and tables: what is refused, what is filled in, who keeps whom alive. */
#include "client/client.h"

#include "client/memory_faults.h"
#include "client/op/service.h"

#define LOCAL "UseDevelopmentStorage=true"

static const struct {
    const char *what, *name;
    tavola_err err;
} names[] = {
    {"letters", "People", TAVOLA_OK},
    {"digits after a letter", "a12", TAVOLA_OK},
    {"as short as can be", "abc", TAVOLA_OK},
    {"too short", "ab", TAVOLA_ERR_INVALID},
    {"empty", "", TAVOLA_ERR_INVALID},
    {"none", NULL, TAVOLA_ERR_INVALID},
    {"63 characters", "a23456789012345678901234567890123456789012345678901234567890123", TAVOLA_OK},
    {"64 characters", "a234567890123456789012345678901234567890123456789012345678901234",
     TAVOLA_ERR_INVALID},
    {"a digit first", "1abc", TAVOLA_ERR_INVALID},
    {"a dash", "a-bc", TAVOLA_ERR_INVALID},
    {"an underscore", "a_bc", TAVOLA_ERR_INVALID},
    {"a blank", "a bc", TAVOLA_ERR_INVALID},
    {"a path", "abc/def", TAVOLA_ERR_INVALID},
    {"a quote", "abc'", TAVOLA_ERR_INVALID},
    {"not ASCII", "\xc3\xa4\xc3\xb6\xc3\xbc", TAVOLA_ERR_INVALID},
    {"metrics", "$MetricsHourPrimaryTransactionsTable", TAVOLA_OK},
    {"other dollars", "$logs", TAVOLA_ERR_INVALID},
    {"metrics with a dash", "$Metrics-x", TAVOLA_ERR_INVALID},
};

TEST(table_names_are_checked)
{
    tavola_client *client = NULL;

    CHECK_CODE(tavola_client_open(LOCAL, NULL, &client), TAVOLA_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tavola_table *table = NULL;

        t_row = names[i].what;
        CHECK_CODE(tavola_table_open(client, names[i].name, &table), names[i].err);
        CHECK_INT(table != NULL, names[i].err == TAVOLA_OK);
        if (table)
            CHECK_TEXT(tv_slice_of(tavola_table_name(table)), names[i].name);
        tavola_table_close(table);
    }
    tavola_client_close(client);
    t_row = "";
}

TEST(nothing_is_refused_politely)
{
    tavola_client *client = NULL;
    tavola_table *table = NULL;

    CHECK_CODE(tavola_client_open(NULL, NULL, &client), TAVOLA_ERR_INVALID);
    CHECK(strstr(tavola_error_text(TAVOLA_ERR_INVALID), "connection string"));
    CHECK_CODE(tavola_client_open(LOCAL, NULL, NULL), TAVOLA_ERR_INVALID);
    CHECK(strstr(tavola_error_text(TAVOLA_ERR_INVALID), "no place"));
    CHECK_CODE(tavola_client_open("nonsense", NULL, &client), TAVOLA_ERR_INVALID);
    CHECK(client == NULL);
    CHECK_CODE(tavola_table_open(NULL, "People", &table), TAVOLA_ERR_INVALID);
    CHECK_CODE(tavola_client_open(LOCAL, NULL, &client), TAVOLA_OK);
    CHECK_CODE(tavola_table_open(client, "People", NULL), TAVOLA_ERR_INVALID);
    tavola_client_close(client);
    tavola_client_close(NULL);
    tavola_table_close(NULL);
    tavola_table_set_crypto(NULL, NULL);
    CHECK(tavola_table_name(NULL) == NULL);
}

TEST(missing_options_have_defaults)
{
    tavola_client *client = NULL;

    CHECK_CODE(tavola_client_open(LOCAL, NULL, &client), TAVOLA_OK);
    CHECK_INT(client->options.connect_timeout_ms, 10000);
    CHECK_INT(client->options.attempt_timeout_ms, 35000);
    CHECK_INT(client->options.total_timeout_ms, 120000);
    CHECK_INT(client->options.retry_max, 3);
    CHECK_INT(client->options.retry_delay_ms, 800);
    CHECK_INT(client->options.retry_delay_max_ms, 60000);
    CHECK_INT(client->options.connections_max, 32);
    CHECK(client->options.application == NULL && client->options.log == NULL);
    CHECK_TEXT(tv_slice_of(client->user_agent), "tavola/0.1.0");
    tavola_client_close(client);
}

static const struct {
    const char *what;
    size_t struct_size;
    tavola_err err;
    uint32_t connect_timeout_ms, retry_max;
    bool has_application;
} sizes[] = {
    {"all of it", sizeof(tavola_client_options), TAVOLA_OK, 7, 0, true},
    {"an older, shorter one", offsetof(tavola_client_options, attempt_timeout_ms), TAVOLA_OK, 7, 3,
     false},
    {"only its size", sizeof(size_t), TAVOLA_OK, 10000, 3, false},
    {"not set", 0, TAVOLA_ERR_INVALID, 0, 0, false},
};

TEST(only_as_much_as_the_caller_knows_is_read)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char application[] = "app/1";
        tavola_client_options options = {.struct_size = sizes[i].struct_size,
                                         .connect_timeout_ms = 7,
                                         .retry_max = UINT32_MAX,
                                         .application = application};
        tavola_client *client = NULL;

        t_row = sizes[i].what;
        CHECK_CODE(tavola_client_open(LOCAL, &options, &client), sizes[i].err);
        if (client == NULL)
            continue;
        application[0] = 'X'; /* it was copied */
        CHECK_INT(client->options.connect_timeout_ms, sizes[i].connect_timeout_ms);
        CHECK_INT(client->options.retry_max, sizes[i].retry_max);
        CHECK_TEXT(tv_slice_of(client->user_agent),
                   sizes[i].has_application ? "app/1 tavola/0.1.0" : "tavola/0.1.0");
        tavola_client_close(client);
    }
    t_row = "";
}

TEST(a_newer_longer_one_is_cut)
{
    struct {
        tavola_client_options options;
        char more[64];
    } newer = {.options.struct_size = sizeof newer};
    tavola_client *client = NULL;

    memset(newer.more, 0xff, sizeof newer.more);
    CHECK_CODE(tavola_client_open(LOCAL, &newer.options, &client), TAVOLA_OK);
    CHECK_INT(client->options.struct_size, sizeof(tavola_client_options));
    tavola_client_close(client);
}

static const struct {
    const char *what;
    tavola_client_options options;
} bad_options[] = {
    {"an application that would be a header",
     {.struct_size = sizeof(tavola_client_options), .application = "a\r\nx: y"}},
    {"an application that is not ASCII",
     {.struct_size = sizeof(tavola_client_options), .application = "\xc3\xa4"}},
    {"a proxy that is no URL", {.struct_size = sizeof(tavola_client_options), .proxy = "::"}},
};

TEST(bad_options_are_named)
{
    for (size_t i = 0; i < sizeof bad_options / sizeof bad_options[0]; i++) {
        tavola_client *client = NULL;

        t_row = bad_options[i].what;
        CHECK_CODE(tavola_client_open(LOCAL, NULL, NULL), TAVOLA_ERR_INVALID);
        CHECK_CODE(tavola_client_open(LOCAL, &bad_options[i].options, &client), TAVOLA_ERR_INVALID);
        CHECK(client == NULL);
        CHECK(strstr(tavola_error_text(TAVOLA_ERR_INVALID), "no place") == NULL);
    }
    t_row = "";
}

TEST(a_table_keeps_its_client)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    tavola_table *table = NULL, *other = NULL;

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);

    CHECK_CODE(tavola_table_open(client, "People", &table), TAVOLA_OK);
    CHECK_CODE(tavola_table_open(client, "Others", &other), TAVOLA_OK);
    tavola_client_close(client);
    tavola_table_close(other);

    tavola_op *op = make_get(table->client, NULL);

    tavola_table_close(table);
    CHECK_CODE(tvc_op_run(op), TAVOLA_OK); /* and an operation keeps it, too */
    tavola_op_free(op);
    script_server_stop(&server);
}

TEST(a_service_without_an_endpoint_is_refused)
{
    tavola_call *call = tavola_call_new();
    tavola_client *client = NULL;

    CHECK_CODE(tavola_client_open("SharedAccessSignature=sv=1&sig=x;"
                                  "TableEndpoint=http://127.0.0.1:1/account",
                                  NULL, &client),
               TAVOLA_OK);

    tavola_op *op = tvc_op_new(client, TV_SERVICE_BLOB, call);

    op->request.method = "GET";
    CHECK_CODE(tvc_op_run(op), TAVOLA_ERR_INVALID);
    CHECK(strstr(tavola_call_message(call), "endpoint"));
    CHECK_INT(tavola_call_attempts(call), 0);
    tavola_op_free(op);
    tavola_client_close(client);
    tavola_call_free(call);
}

TEST(a_shared_access_signature_goes_into_the_query)
{
    static const struct {
        const char *query, *line;
    } rows[] = {
        {"", "GET /account/People?sv=2019-02-02&sig=a%2Fb%3D HTTP/1.1\r\n"},
        {"$top=1", "GET /account/People?$top=1&sv=2019-02-02&sig=a%2Fb%3D HTTP/1.1\r\n"},
    };
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    tavola_client *client = NULL;
    char text[200];

    script_server_start(&server);
    snprintf(text, sizeof text,
             "SharedAccessSignature=sv=2019-02-02&sig=a%%2Fb%%3D;"
             "TableEndpoint=http://127.0.0.1:%d/account",
             server.port);
    CHECK_CODE(tavola_client_open(text, NULL, &client), TAVOLA_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tavola_op *op = tvc_op_new(client, TV_SERVICE_TABLE, NULL);

        t_row = rows[i].line;
        op->request.method = "GET";
        tvc_text_add_lit(&op->request.path, "/People");
        tvc_text_add(&op->request.query, tv_slice_of(rows[i].query));
        CHECK_CODE(tvc_op_run(op), TAVOLA_OK);
        CHECK(strncmp(server.last_request, rows[i].line, strlen(rows[i].line)) == 0);
        CHECK(strstr(server.last_request, "Authorization") == NULL);
        tavola_op_free(op);
    }
    tavola_client_close(client);
    script_server_stop(&server);
    t_row = "";
}

TEST(survives_a_lack_of_memory)
{
    MEMORY_FAULTS(fault)
    {
        tavola_client_options options = {.struct_size = sizeof options,
                                         .application = "app",
                                         .proxy = "",
                                         .secondary_reads = true};
        tavola_client *client = NULL;
        tavola_table *table = NULL;
        tavola_err err = tavola_client_open(LOCAL, &options, &client);

        if (err == TAVOLA_OK)
            err = tavola_table_open(client, "People", &table);
        if (err && (err != TAVOLA_ERR_NO_MEMORY || !memory_fault_was_hit()))
            fail_msg("run %ld: %s", fault.run, tavola_err_name(err));
        tavola_client_close(client);
        tavola_table_close(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_names_are_checked),
        cmocka_unit_test(nothing_is_refused_politely),
        cmocka_unit_test(missing_options_have_defaults),
        cmocka_unit_test(only_as_much_as_the_caller_knows_is_read),
        cmocka_unit_test(a_newer_longer_one_is_cut),
        cmocka_unit_test(bad_options_are_named),
        cmocka_unit_test(a_table_keeps_its_client),
        cmocka_unit_test(a_service_without_an_endpoint_is_refused),
        cmocka_unit_test(a_shared_access_signature_goes_into_the_query),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
