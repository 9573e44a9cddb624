/* What a call tells, also of answers that nobody should send. */
#include "base/clock.h"
#include "base/datetime.h"
#include "client/memory_faults.h"
#include "client/op/service.h"

static const struct {
    int status;
    const char *code;
    tavola_err err;
} errors[] = {
    {200, "", TAVOLA_OK},
    {204, "", TAVOLA_OK},
    {302, "", TAVOLA_ERR_PROTOCOL},
    {304, "ConditionNotMet", TAVOLA_ERR_ETAG},
    {400, "InvalidInput", TAVOLA_ERR_INVALID},
    {400, "EntityTooLarge", TAVOLA_ERR_TOO_LARGE},
    {400, "PropertyValueTooLarge", TAVOLA_ERR_TOO_LARGE},
    {400, "", TAVOLA_ERR_INVALID},
    {401, "NoAuthenticationInformation", TAVOLA_ERR_DENIED},
    {403, "AuthenticationFailed", TAVOLA_ERR_DENIED},
    {404, "ResourceNotFound", TAVOLA_ERR_NOT_FOUND},
    {404, "TableNotFound", TAVOLA_ERR_NOT_FOUND},
    {405, "", TAVOLA_ERR_UNSUPPORTED},
    {408, "", TAVOLA_ERR_TIMEOUT},
    {409, "EntityAlreadyExists", TAVOLA_ERR_EXISTS},
    {409, "TableAlreadyExists", TAVOLA_ERR_EXISTS},
    {409, "QueueAlreadyExists", TAVOLA_ERR_EXISTS},
    {409, "BlobAlreadyExists", TAVOLA_ERR_EXISTS},
    {409, "TableBeingDeleted", TAVOLA_ERR_CONFLICT},
    {409, "", TAVOLA_ERR_CONFLICT},
    {411, "", TAVOLA_ERR_INVALID},
    {412, "UpdateConditionNotSatisfied", TAVOLA_ERR_ETAG},
    {412, "LeaseIdMissing", TAVOLA_ERR_CONFLICT},
    {413, "RequestBodyTooLarge", TAVOLA_ERR_TOO_LARGE},
    {415, "AtomFormatNotSupported", TAVOLA_ERR_UNSUPPORTED},
    {416, "InvalidRange", TAVOLA_ERR_INVALID},
    {429, "", TAVOLA_ERR_BUSY},
    {500, "OperationTimedOut", TAVOLA_ERR_SERVER},
    {501, "NotImplemented", TAVOLA_ERR_UNSUPPORTED},
    {502, "", TAVOLA_ERR_SERVER},
    {503, "ServerBusy", TAVOLA_ERR_BUSY},
    {504, "", TAVOLA_ERR_SERVER},
    {505, "", TAVOLA_ERR_UNSUPPORTED},
    {0, "", TAVOLA_ERR_PROTOCOL},
    {700, "", TAVOLA_ERR_PROTOCOL},
};

TEST(errors_say_what_can_be_done_next)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        char name[64];

        snprintf(name, sizeof name, "%d %s", errors[i].status, errors[i].code);
        t_row = name;
        CHECK_CODE(tvc_err_of(errors[i].status, tv_slice_of(errors[i].code)), errors[i].err);
    }
    t_row = "";
}

static const struct {
    const char *what, *header, *body, *code, *message;
} bodies[] = {
    {"a table's", NULL,
     "{\"odata.error\":{\"code\":\"TableNotFound\",\"message\":{\"lang\":\"en-US\",\"value\":\"The "
     "table does not exist.\\nRequestId:1\\nTime:2\"}}}",
     "TableNotFound", "The table does not exist."},
    {"another order, and more", NULL,
     "{ \"x\":[1,{}], \"odata.error\" : {\"message\":{\"value\":\"No.\",\"lang\":\"\"},\"y\":null,"
     "\"code\":\"C\"}}",
     "C", "No."},
    {"a plain message", NULL, "{\"error\":{\"code\":\"C\",\"message\":\"No.\"}}", "C", "No."},
    {"a queue's", NULL,
     "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>QueueNotFound</Code>"
     "<Message>The queue &lt;a&amp;b&gt; is &quot;gone&apos;.\nRequestId:1</Message></Error>",
     "QueueNotFound", "The queue <a&b> is \"gone'."},
    {"an entity that XML does not have", NULL,
     "<Error><Code>A</Code><Message>&nbsp; &#65; &</Message></Error>", "A", "&nbsp; &#65; &"},
    {"the header when the body has no code", "FromHeader", "", "FromHeader",
     "the service answered with status 400"},
    {"the body before the header", "FromHeader",
     "{\"odata.error\":{\"code\":\"FromBody\",\"message\":{\"value\":\"x\"}}}", "FromBody", "x"},
    {"a page of a proxy", NULL, "<html><body>Bad gateway</body></html>", "",
     "the service answered with status 400"},
    {"half of JSON", "H", "{\"odata.error\":{\"code\":\"Ta", "H",
     "the service answered with status 400"},
    {"JSON that ends too early", NULL, "{\"odata.error\":{\"code\":\"A\"}", "",
     "the service answered with status 400"},
    {"half of XML", NULL, "<Error><Code>Abc", "Abc", "the service answered with status 400"},
    {"an array", NULL, "[]", "", "the service answered with status 400"},
    {"numbers for texts", NULL, "{\"odata.error\":{\"code\":1,\"message\":2}}", "",
     "the service answered with status 400"},
    {"an array for an object", NULL, "{\"odata.error\":[1,2]}", "",
     "the service answered with status 400"},
    {"control characters", NULL,
     "<Error><Code>A\x01\x1b[31m</Code><Message>a\tb\x7f</Message></Error>", "A??[31m", "a?b?"},
    {"not UTF-8", NULL, "<Error><Code>A</Code><Message>a\xff\xfe</Message></Error>", "A", "a??"},
    {"UTF-8", NULL, "<Error><Code>A</Code><Message>\xc3\xa4</Message></Error>", "A", "\xc3\xa4"},
    {"only a line end", NULL, "<Error><Code>A</Code><Message>\n</Message></Error>", "A",
     "the service answered with status 400"},
};

static tvc_response answer_of(int status, const char *body, tv_header *headers, size_t count)
{
    return (tvc_response){.status = status,
                          .headers = headers,
                          .header_count = count,
                          .body = (char *)body,
                          .body_len = strlen(body)};
}

TEST(error_bodies_are_read_for_people)
{
    tavola_call *call = tavola_call_new();

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        tv_header header = {TV_LIT("X-Ms-Error-Code"), TV_NONE};
        tvc_response response = answer_of(400, bodies[i].body, &header, bodies[i].header != NULL);

        t_row = bodies[i].what;
        if (bodies[i].header)
            header.value = tv_slice_of(bodies[i].header);
        CHECK_CODE(tvc_call_read_error(call, &response), TAVOLA_ERR_INVALID);
        CHECK_TEXT(tv_slice_of(tavola_call_code(call)), bodies[i].code);
        CHECK_TEXT(tv_slice_of(tavola_call_message(call)), bodies[i].message);
        CHECK_CODE(tvc_call_read_error(NULL, &response), TAVOLA_ERR_INVALID);
    }
    tavola_call_free(call);
}

TEST(long_messages_are_cut_between_characters)
{
    tavola_call *call = tavola_call_new();
    char body[4000] = "<Error><Code>A</Code><Message>x";

    for (size_t i = 0; i < 1500; i++)
        memcpy(body + strlen(body), "\xc3\xa4", 3);

    tvc_response response = answer_of(500, body, NULL, 0);

    CHECK_CODE(tvc_call_read_error(call, &response), TAVOLA_ERR_SERVER);
    CHECK_INT(strlen(tavola_call_message(call)), 511);
    CHECK_INT((unsigned char)tavola_call_message(call)[510], 0xa4);
    tavola_call_free(call);
}

static const struct {
    const char *what;
    int status;
    const char *code;
    int minutes; /* of the service, after ours */
    const char *hint;
} skews[] = {
    {"ours is late", 403, "AuthenticationFailed", 20, "check the clock: it is 20 minutes behind"},
    {"ours is early", 403, "AuthenticationFailed", -20, "check the clock: it is 20 minutes ahead"},
    {"nine minutes are fine", 403, "AuthenticationFailed", 9, NULL},
    {"another refusal", 403, "AuthorizationFailure", 20, NULL},
    {"401 as well", 401, "AuthenticationFailed", 30, "check the clock"},
    {"not for other errors", 404, "AuthenticationFailed", 30, NULL},
};

TEST(a_wrong_clock_is_named)
{
    tavola_call *call = tavola_call_new();

    for (size_t i = 0; i < sizeof skews / sizeof skews[0]; i++) {
        char date[TV_DATETIME_TEXT_MAX];
        int64_t theirs =
            tv_clock_ticks() +
            (skews[i].minutes * 60 + (skews[i].minutes > 0 ? 5 : -5)) * TV_TICKS_PER_SECOND;
        tv_header headers[] = {
            {TV_LIT("Date"), {date, tv_http_date_format(date, theirs)}},
            {TV_LIT("x-ms-error-code"), tv_slice_of(skews[i].code)},
        };
        tvc_response response = answer_of(skews[i].status, "", headers, 2);

        t_row = skews[i].what;
        tvc_call_read_error(call, &response);
        CHECK_INT(strstr(tavola_call_message(call), "clock") != NULL, skews[i].hint != NULL);
        if (skews[i].hint)
            CHECK(strstr(tavola_call_message(call), skews[i].hint));
    }
    tavola_call_free(call);
}

TEST(no_call_is_fine)
{
    t_row = "";
    tavola_call_free(NULL);
    tavola_call_set_timeout_ms(NULL, 1);
    tavola_call_set_retries(NULL, 1);
    tavola_call_set_request_id(NULL, "x");
    tavola_call_set_source(NULL, "a.c:1");
    tavola_call_set_crypto(NULL, NULL);
    CHECK_INT(tavola_call_status(NULL), 0);
    CHECK_TEXT(tv_slice_of(tavola_call_code(NULL)), "");
    CHECK_TEXT(tv_slice_of(tavola_call_message(NULL)), "");
    CHECK(tavola_call_etag(NULL) == NULL);
    CHECK(tavola_call_service_request_id(NULL) == NULL);
    CHECK(tavola_call_client_request_id(NULL) == NULL);
    CHECK_INT(tavola_call_attempts(NULL), 0);
    CHECK(!tavola_call_was_confirmed(NULL));
    CHECK_INT(tavola_call_failed_index(NULL), -1);
    CHECK(tavola_call_plan(NULL) == NULL);
    CHECK_CODE(tvc_call_refuse(NULL, TAVOLA_ERR_INVALID, "no"), TAVOLA_ERR_INVALID);
    tvc_call_set_error(NULL, "a", "b");
}

TEST(a_new_call_has_no_outcome)
{
    tavola_call *call = tavola_call_new();

    CHECK_INT(tavola_call_status(call), 0);
    CHECK_TEXT(tv_slice_of(tavola_call_code(call)), "");
    CHECK_TEXT(tv_slice_of(tavola_call_message(call)), "");
    CHECK(tavola_call_etag(call) == NULL);
    CHECK(tavola_call_service_request_id(call) == NULL);
    CHECK(tavola_call_client_request_id(call) == NULL);
    CHECK_INT(tavola_call_failed_index(call), -1);
    CHECK(tavola_call_plan(call) == NULL);
    tavola_call_free(call);
}

TEST(a_refusal_replaces_the_last_outcome)
{
    tavola_call *call = tavola_call_new();

    call->status = 200;
    call->failed_index = 7;
    CHECK(tvc_call_set_etag(call, TV_LIT("W/\"x\"")));
    CHECK_CODE(tvc_call_refuse(call, TAVOLA_ERR_TOO_LARGE, "property %s", "P"),
               TAVOLA_ERR_TOO_LARGE);
    CHECK_INT(tavola_call_status(call), 0);
    CHECK_INT(tavola_call_failed_index(call), -1);
    CHECK(tavola_call_etag(call) == NULL);
    CHECK_TEXT(tv_slice_of(tavola_call_message(call)), "property P");
    tavola_call_free(call);
}

TEST(etags_may_be_long)
{
    tavola_call *call = tavola_call_new();
    char text[300];

    memset(text, 'e', sizeof text);
    for (size_t len = 0; len < sizeof text; len += 23) {
        CHECK(tvc_call_set_etag(call, (tv_slice){text, len}));
        CHECK_SLICE(tv_slice_of(tavola_call_etag(call)), ((tv_slice){text, len}));
    }
    tavola_call_free(call);
}

/* ---- over the wire -------------------------------------------------------------------------- */

TEST(tells_what_the_answer_says_of_itself)
{
    script_server server = {
        .answers = {{.text = "HTTP/1.1 200 OK\r\nx-ms-request-id: 17\r\nETag: W/\"1\"\r\n"
                             "x-tavola-plan: point\r\nContent-Length: 0\r\n\r\n"},
                    {.text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}},
        .answer_count = 2};
    tavola_call *call = tavola_call_new();

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);

    for (int i = 0; i < 2; i++) {
        tavola_op *op = make_get(client, call);

        CHECK_CODE(tvc_op_run(op), TAVOLA_OK);
        CHECK_INT(tavola_call_status(call), 200);
        CHECK_INT(strlen(tavola_call_client_request_id(call)), 36);
        if (i == 0) {
            CHECK_TEXT(tv_slice_of(tavola_call_service_request_id(call)), "17");
            CHECK_TEXT(tv_slice_of(tavola_call_etag(call)), "W/\"1\"");
            CHECK_TEXT(tv_slice_of(tavola_call_plan(call)), "point");
        } else {
            CHECK(tavola_call_service_request_id(call) == NULL);
            CHECK(tavola_call_etag(call) == NULL);
            CHECK(tavola_call_plan(call) == NULL);
        }
        tavola_op_free(op);
    }
    tavola_client_close(client);
    tavola_call_free(call);
    script_server_stop(&server);
}

static void set_application(tavola_client_options *options)
{
    options->application = "test/7";
}

TEST(sends_what_every_request_has)
{
    static const char *const wanted[] = {
        "POST /account/People HTTP/1.1\r\n",
        "\r\nHost: 127.0.0.1:",
        "\r\nUser-Agent: test/7 tavola/0.1.0\r\n",
        "\r\nx-ms-version: 2019-02-02\r\n",
        "\r\nDataServiceVersion: 3.0;NetFx\r\n",
        "\r\nMaxDataServiceVersion: 3.0;NetFx\r\n",
        "\r\nContent-Length: 2\r\n",
        "\r\nContent-Type: application/json\r\n",
        "\r\nx-ms-date: ",
        " GMT\r\n",
        "\r\nx-ms-client-request-id: ",
        "\r\nAuthorization: SharedKeyLite account:",
        "\r\n\r\n{}",
    };
    script_server server = {.answers = {REFUSED(503, "ServerBusy"), NO_CONTENT}, .answer_count = 2};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, set_application);
    tavola_op *op = make_write(client, NULL, "{}");

    CHECK_CODE(tvc_op_run(op), TAVOLA_OK);
    CHECK_INT(atomic_load(&server.requests), 2);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        t_row = wanted[i];
        CHECK(strstr(server.last_request, wanted[i]));
    }
    t_row = "the id of the first attempt";
    CHECK(strstr(server.last_request, tavola_call_client_request_id(tavola_op_call(op))));
    tavola_op_free(op);
    tavola_client_close(client);
    script_server_stop(&server);
}

static const struct {
    const char *what, *id;
    bool is_sent;
} ids[] = {
    {"any text", "order 17", true},
    {"nothing", "", false},
    {"a line end would be a header", "a\r\nx-evil: 1", false},
    {"not ASCII", "\xc3\xa4", false},
    {"a blank at its end is lost on the way", "a ", false},
};

TEST(request_ids_are_checked)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);

    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        tavola_call *call = tavola_call_new();
        int before = atomic_load(&server.requests);

        t_row = ids[i].what;
        tavola_call_set_request_id(call, ids[i].id);

        tavola_op *op = make_get(client, call);

        CHECK_CODE(tvc_op_run(op), ids[i].is_sent ? TAVOLA_OK : TAVOLA_ERR_INVALID);
        CHECK_INT(atomic_load(&server.requests) - before, ids[i].is_sent);
        CHECK_INT(tavola_call_message(call)[0] == '\0', ids[i].is_sent);
        tavola_op_free(op);
        tavola_call_set_request_id(call, NULL); /* and a new one for the next */
        op = make_get(client, call);
        CHECK_CODE(tvc_op_run(op), TAVOLA_OK);
        CHECK_INT(strlen(tavola_call_client_request_id(call)), 36);
        tavola_op_free(op);
        tavola_call_free(call);
    }
    tavola_client_close(client);
    script_server_stop(&server);
}

static const struct {
    const char *what, *source;
    bool is_sent;
} places[] = {
    {"a place", "src/login.c:88", true},
    {"none", NULL, false},
    {"an empty one", "", false},
    {"a line end would be a header", "a.c:1\r\nx-evil: 1", false},
    {"not ASCII", "\xc3\xa4.c:1", false},
    {"too long",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaa:1",
     false},
};

TEST(a_source_is_sent_when_it_can_be)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);
    tavola_call *call = tavola_call_new();

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        t_row = places[i].what;
        tavola_call_set_source(call, places[i].source);

        tavola_op *op = make_get(client, call);

        CHECK_CODE(tvc_op_run(op), TAVOLA_OK);
        CHECK_INT(strstr(server.last_request, "x-tavola-source: src/login.c:88\r\n") != NULL,
                  places[i].is_sent);
        CHECK_INT(strstr(server.last_request, "x-tavola-source") != NULL, places[i].is_sent);
        tavola_op_free(op);
    }
    tavola_call_free(call);
    tavola_client_close(client);
    script_server_stop(&server);
}

static struct {
    char text[4096];
} log_lines;

static void keep_log(void *user, int level, const char *text)
{
    size_t len = strlen(log_lines.text);

    CHECK(user == &log_lines);
    snprintf(log_lines.text + len, sizeof log_lines.text - len, "%d %s\n", level, text);
}

static void set_log(tavola_client_options *options)
{
    options->log = keep_log;
    options->log_user = &log_lines;
}

TEST(logs_attempts_without_keys)
{
    script_server server = {
        .answers = {CUT, {.text = "HTTP/1.1 204 X\r\nx-ms-request-id: srv\r\n\r\n"}},
        .answer_count = 2};
    tavola_call *call = tavola_call_new();

    t_row = "";
    script_server_start(&server);
    tavola_call_set_request_id(call, "my-id");

    tavola_client *client = open_client(&server, NULL, set_log);
    tavola_op *op = make_get(client, call);

    tvc_text_add_lit(&op->request.query, "sig=secret");
    CHECK_CODE(tvc_op_run(op), TAVOLA_OK);
    CHECK(strstr(log_lines.text, "2 my-id: attempt 1: NETWORK, sent without an answer"));
    CHECK(strstr(log_lines.text, "3 my-id: attempt 2: status 204, service srv (GET /"));
    CHECK(strstr(log_lines.text, "PartitionKey") == NULL);
    CHECK(strstr(log_lines.text, "secret") == NULL);
    tavola_op_free(op);
    tavola_client_close(client);
    tavola_call_free(call);
    script_server_stop(&server);
}

TEST(survives_a_lack_of_memory)
{
    script_server server = {
        .answers = {{.text =
                         "HTTP/1.1 404 X\r\nContent-Length: 57\r\n\r\n{\"odata.error\":{\"code\":"
                         "\"ResourceNotFound\",\"message\":\"No\"}}"}},
        .answer_count = 1};

    script_server_start(&server);

    MEMORY_FAULTS(fault)
    {
        tavola_client_options options = {.struct_size = sizeof options,
                                         .application = "test",
                                         .proxy = "",
                                         .retry_max = UINT32_MAX};
        char text[300];
        tavola_client *client = NULL;
        tavola_call *call = tavola_call_new();

        tavola_call_set_request_id(call, "id");
        snprintf(text, sizeof text,
                 "AccountName=account;AccountKey=" KEY ";TableEndpoint=http://127.0.0.1:%d/account",
                 server.port);

        tavola_err err = tavola_client_open(text, &options, &client);

        if (err == TAVOLA_OK) {
            tavola_op *op = make_get(client, call);

            err = op ? tvc_op_run(op) : TAVOLA_ERR_NO_MEMORY;
            tavola_op_free(op);
        }
        if (err != TAVOLA_ERR_NOT_FOUND && (err != TAVOLA_ERR_NO_MEMORY || !memory_fault_was_hit()))
            fail_msg("run %ld: %s", fault.run, tavola_err_name(err));
        tavola_client_close(client);
        tavola_call_free(call);
    }
    script_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_what_can_be_done_next),
        cmocka_unit_test(error_bodies_are_read_for_people),
        cmocka_unit_test(long_messages_are_cut_between_characters),
        cmocka_unit_test(a_wrong_clock_is_named),
        cmocka_unit_test(no_call_is_fine),
        cmocka_unit_test(a_new_call_has_no_outcome),
        cmocka_unit_test(a_refusal_replaces_the_last_outcome),
        cmocka_unit_test(etags_may_be_long),
        cmocka_unit_test(tells_what_the_answer_says_of_itself),
        cmocka_unit_test(sends_what_every_request_has),
        cmocka_unit_test(request_ids_are_checked),
        cmocka_unit_test(a_source_is_sent_when_it_can_be),
        cmocka_unit_test(logs_attempts_without_keys),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
