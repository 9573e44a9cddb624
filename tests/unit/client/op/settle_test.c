/* Attempts, retries and lost answers: what the caller is told, and after how many requests. */
#include "client/op/service.h"

#define SENT "{\"PartitionKey\":\"a\",\"RowKey\":\"b\",\"N\":1}"
#define READ(properties)                                                                           \
    CHUNKED("{\"odata.metadata\":\"m\",\"odata.etag\":\"W/\\\"read\\\"\",\"PartitionKey\":\"a\","  \
            "\"RowKey\":\"b\",\"Timestamp\":\"2026-01-02T03:04:05Z\"" properties "}")
#define EXISTS REFUSED(409, "EntityAlreadyExists")
#define CHANGED REFUSED(412, "UpdateConditionNotSatisfied")
#define MISSING REFUSED(404, "ResourceNotFound")
#define DENIED REFUSED(403, "AuthorizationFailure")
#define BUSY REFUSED(503, "ServerBusy")
#define BROKEN REFUSED(500, "InternalError")
#define BATCH_EXISTS                                                                               \
    {                                                                                              \
        .text = "HTTP/1.1 202 Accepted\r\nContent-Length: 3\r\n\r\n409"                            \
    }
#define BATCH_BUSY                                                                                 \
    {                                                                                              \
        .text = "HTTP/1.1 202 Accepted\r\nContent-Length: 3\r\n\r\n503"                            \
    }
#define OTHERS(status, body)                                                                       \
    {                                                                                              \
        .text = "HTTP/1.1 " status "\r\nx-ms-client-request-id: other\r\n"                         \
                "Connection: close\r\n\r\n" body,                                                  \
        .then_close = true                                                                         \
    }
#define NONSENSE                                                                                   \
    {                                                                                              \
        .text = "220 mail.example.com ESMTP\r\n\r\n", .then_close = true                           \
    }
#define BATCH_OK                                                                                   \
    {                                                                                              \
        .text = "HTTP/1.1 202 Accepted\r\nContent-Length: 3\r\n\r\n204"                            \
    }

enum { READING = 100, BATCH = 200, WHOLE_TABLE = 400 }; /* beside the kinds of settling */

static const struct row {
    const char *what;
    int kind;
    script_answer answers[6];
    int answer_count;
    tavola_err err;
    bool was_confirmed;
    uint32_t attempts;
    const char *message; /* contains */
} rows[] = {
    {"an insert whose answer was lost finds its entity",
     TVC_SETTLE_INSERT,
     {CUT, EXISTS, READ(",\"N\":1")},
     3,
     TAVOLA_OK,
     true,
     3,
     ""},
    {"an insert finds another entity with the same properties",
     TVC_SETTLE_INSERT,
     {CUT, EXISTS, CHUNKED("{\"PartitionKey\":\"a\",\"RowKey\":\"c\",\"N\":1}")},
     3,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     3,
     "whether the write was made is not known"},
    {"half an answer is none",
     TVC_SETTLE_INSERT,
     {HALF, EXISTS, READ(",\"N\":1")},
     3,
     TAVOLA_OK,
     true,
     3,
     ""},
    {"a 503 may hide an insert",
     TVC_SETTLE_INSERT,
     {BUSY, EXISTS, READ(",\"N\":1")},
     3,
     TAVOLA_OK,
     true,
     3,
     ""},
    {"a 429 does not",
     TVC_SETTLE_INSERT,
     {REFUSED(429, "TooManyRequests"), EXISTS},
     2,
     TAVOLA_ERR_EXISTS,
     false,
     2,
     ""},
    {"another value: it was not us",
     TVC_SETTLE_INSERT,
     {CUT, EXISTS, READ(",\"N\":2")},
     3,
     TAVOLA_ERR_EXISTS,
     false,
     3,
     ""},
    {"another type: it was not us",
     TVC_SETTLE_INSERT,
     {CUT, EXISTS, READ(",\"N\":\"1\"")},
     3,
     TAVOLA_ERR_EXISTS,
     false,
     3,
     ""},
    {"one property more: it was not us",
     TVC_SETTLE_INSERT,
     {CUT, EXISTS, READ(",\"N\":1,\"M\":1")},
     3,
     TAVOLA_ERR_EXISTS,
     false,
     3,
     ""},
    {"one property less: it was not us",
     TVC_SETTLE_INSERT,
     {CUT, EXISTS, READ("")},
     3,
     TAVOLA_ERR_EXISTS,
     false,
     3,
     ""},
    {"it is gone again",
     TVC_SETTLE_INSERT,
     {CUT, EXISTS, MISSING},
     3,
     TAVOLA_ERR_EXISTS,
     false,
     3,
     ""},
    {"the question is repeated, too",
     TVC_SETTLE_INSERT,
     {CUT, EXISTS, BUSY, READ(",\"N\":1")},
     4,
     TAVOLA_OK,
     true,
     4,
     ""},
    {"we may not ask",
     TVC_SETTLE_INSERT,
     {CUT, EXISTS, DENIED},
     3,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     3,
     "not known"},
    {"an answer that cannot be read settles nothing",
     TVC_SETTLE_INSERT,
     {CUT, EXISTS, CHUNKED("<html>")},
     3,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     3,
     "not known"},
    {"a first answer is never doubted",
     TVC_SETTLE_INSERT,
     {EXISTS},
     1,
     TAVOLA_ERR_EXISTS,
     false,
     1,
     ""},
    {"the last question finds it",
     TVC_SETTLE_INSERT,
     {CUT, CUT, CUT, CUT, READ(",\"N\":1")},
     5,
     TAVOLA_OK,
     true,
     5,
     ""},
    {"the last question does not find it, but it may be on its way",
     TVC_SETTLE_INSERT,
     {CUT, CUT, CUT, CUT, MISSING},
     5,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     5,
     "not known"},
    {"nothing is answered",
     TVC_SETTLE_INSERT,
     {CUT},
     1,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     5,
     "not known"},
    {"all attempts were answered, and it is not there",
     TVC_SETTLE_INSERT,
     {BUSY, BUSY, BUSY, BUSY, MISSING},
     5,
     TAVOLA_ERR_BUSY,
     false,
     5,
     ""},
    {"all attempts were answered, the question was not",
     TVC_SETTLE_INSERT,
     {BROKEN, BROKEN, BROKEN, BROKEN, CUT},
     5,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     5,
     "not known"},

    {"a replace whose answer was lost finds its entity",
     TVC_SETTLE_REPLACE,
     {CUT, CHANGED, READ(",\"N\":1")},
     3,
     TAVOLA_OK,
     true,
     3,
     ""},
    {"somebody else has changed it",
     TVC_SETTLE_REPLACE,
     {CUT, CHANGED, READ(",\"N\":3")},
     3,
     TAVOLA_ERR_ETAG,
     false,
     3,
     ""},
    {"a replace leaves nothing else",
     TVC_SETTLE_REPLACE,
     {CUT, CHANGED, READ(",\"N\":1,\"M\":1")},
     3,
     TAVOLA_ERR_ETAG,
     false,
     3,
     ""},
    {"a first 412 is never doubted",
     TVC_SETTLE_REPLACE,
     {CHANGED},
     1,
     TAVOLA_ERR_ETAG,
     false,
     1,
     ""},
    {"deleted before or after cannot be told",
     TVC_SETTLE_REPLACE,
     {CUT, MISSING},
     2,
     TAVOLA_ERR_NOT_FOUND,
     false,
     2,
     "before or after"},
    {"a merge leaves the rest",
     TVC_SETTLE_MERGE,
     {CUT, CHANGED, READ(",\"M\":1,\"N\":1")},
     3,
     TAVOLA_OK,
     true,
     3,
     ""},
    {"a merge that is not in it",
     TVC_SETTLE_MERGE,
     {CUT, CHANGED, READ(",\"M\":1,\"N\":2")},
     3,
     TAVOLA_ERR_ETAG,
     false,
     3,
     ""},

    {"a delete whose answer was lost",
     TVC_SETTLE_DELETE,
     {CUT, MISSING},
     2,
     TAVOLA_OK,
     true,
     2,
     ""},
    {"a delete that finds nothing at first",
     TVC_SETTLE_DELETE,
     {MISSING},
     1,
     TAVOLA_ERR_NOT_FOUND,
     false,
     1,
     ""},
    {"the table is gone, not the entity",
     TVC_SETTLE_DELETE,
     {CUT, REFUSED(404, "TableNotFound")},
     2,
     TAVOLA_ERR_NOT_FOUND,
     false,
     2,
     ""},
    {"a delete, and then it is gone",
     TVC_SETTLE_DELETE,
     {CUT, CUT, CUT, CUT, MISSING},
     5,
     TAVOLA_OK,
     true,
     5,
     ""},
    {"a delete, and it is still there",
     TVC_SETTLE_DELETE,
     {CUT, CUT, CUT, CUT, READ("")},
     5,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     5,
     "not known"},

    {"a table was made by the attempt before",
     TVC_SETTLE_CREATE,
     {CUT, REFUSED(409, "TableAlreadyExists")},
     2,
     TAVOLA_OK,
     true,
     2,
     ""},
    {"a table was there before",
     TVC_SETTLE_CREATE,
     {REFUSED(409, "TableAlreadyExists")},
     1,
     TAVOLA_ERR_EXISTS,
     false,
     1,
     ""},
    {"a table is being deleted",
     TVC_SETTLE_CREATE,
     {CUT, REFUSED(409, "TableBeingDeleted")},
     2,
     TAVOLA_ERR_CONFLICT,
     false,
     2,
     ""},

    {"an answer that is not HTTP, and it is there",
     TVC_SETTLE_INSERT,
     {NONSENSE, READ(",\"N\":1")},
     2,
     TAVOLA_OK,
     true,
     2,
     ""},
    {"an answer that is not HTTP, and it is not there",
     TVC_SETTLE_INSERT,
     {NONSENSE, MISSING},
     2,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     2,
     "not known"},
    {"an upsert, and an answer that is not HTTP",
     TVC_SETTLE_NONE,
     {NONSENSE},
     1,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     1,
     "not known"},
    {"a read, and an answer that is not HTTP",
     READING,
     {NONSENSE},
     1,
     TAVOLA_ERR_PROTOCOL,
     false,
     1,
     ""},
    {"the signature has expired meanwhile",
     TVC_SETTLE_INSERT,
     {CUT, DENIED},
     2,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     2,
     "not known"},
    {"denied after an answer that may hide a write",
     TVC_SETTLE_INSERT,
     {BUSY, DENIED},
     2,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     2,
     "not known"},
    {"denied after an answer that hides none",
     TVC_SETTLE_INSERT,
     {REFUSED(429, "TooManyRequests"), DENIED},
     2,
     TAVOLA_ERR_DENIED,
     false,
     2,
     ""},
    {"led elsewhere, by whoever is on the way, after an attempt without an answer",
     TVC_SETTLE_INSERT,
     {CUT, REFUSED(302, ""), READ(",\"N\":1")},
     3,
     TAVOLA_OK,
     true,
     3,
     ""},
    {"led elsewhere, and the attempt before was not made, or not yet",
     TVC_SETTLE_INSERT,
     {CUT, REFUSED(302, ""), MISSING},
     3,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     3,
     "not known"},
    {"led elsewhere at once",
     TVC_SETTLE_INSERT,
     {REFUSED(302, "")},
     1,
     TAVOLA_ERR_PROTOCOL,
     false,
     1,
     "status 302"},
    {"what is read back was the answer to another request",
     TVC_SETTLE_INSERT,
     {CUT, EXISTS, OTHERS("200 OK", SENT)},
     3,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     3,
     "not known"},
    {"that something is gone was the answer to another request",
     TVC_SETTLE_DELETE,
     {CUT, CUT, CUT, CUT, OTHERS("404 X", "")},
     5,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     5,
     "not known"},
    {"a whole table was deleted by the attempt before",
     WHOLE_TABLE + TVC_SETTLE_DELETE,
     {CUT, REFUSED(404, "TableNotFound")},
     2,
     TAVOLA_OK,
     true,
     2,
     ""},
    {"a batch of which a part is busy is repeated",
     BATCH + TVC_SETTLE_INSERT,
     {BATCH_BUSY, BATCH_OK},
     2,
     TAVOLA_OK,
     false,
     2,
     ""},
    {"and may have been made nevertheless",
     BATCH + TVC_SETTLE_INSERT,
     {BATCH_BUSY, BATCH_EXISTS, READ(",\"N\":1")},
     3,
     TAVOLA_OK,
     true,
     3,
     ""},
    {"a batch that is always busy",
     BATCH + TVC_SETTLE_INSERT,
     {BATCH_BUSY, BATCH_BUSY, BATCH_BUSY, BATCH_BUSY, MISSING},
     5,
     TAVOLA_ERR_BUSY,
     false,
     5,
     ""},

    {"an upsert is just repeated", TVC_SETTLE_NONE, {CUT, NO_CONTENT}, 2, TAVOLA_OK, false, 2, ""},
    {"an upsert that is never answered",
     TVC_SETTLE_NONE,
     {CUT},
     1,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     4,
     "not known"},
    {"a write that nothing settles, behind answers that may hide it",
     TVC_SETTLE_NONE,
     {BUSY},
     1,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     4,
     "not known"},

    {"what cannot be read back is not repeated",
     TVC_SETTLE_GUESS,
     {CUT, NO_CONTENT},
     2,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     1,
     "not known"},
    {"nor after an answer that may hide a write",
     TVC_SETTLE_GUESS,
     {BUSY, NO_CONTENT},
     2,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     false,
     1,
     "not known"},
    {"but after one that hides nothing",
     TVC_SETTLE_GUESS,
     {REFUSED(429, "TooManyRequests"), NO_CONTENT},
     2,
     TAVOLA_OK,
     false,
     2,
     ""},

    {"a batch that was made finds its entity",
     BATCH + TVC_SETTLE_INSERT,
     {CUT, BATCH_EXISTS, READ(",\"N\":1")},
     3,
     TAVOLA_OK,
     true,
     3,
     ""},
    {"a batch that was not made",
     BATCH + TVC_SETTLE_INSERT,
     {CUT, BATCH_EXISTS, READ(",\"N\":2")},
     3,
     TAVOLA_ERR_EXISTS,
     false,
     3,
     ""},
    {"a batch with a first answer",
     BATCH + TVC_SETTLE_INSERT,
     {BATCH_EXISTS},
     1,
     TAVOLA_ERR_EXISTS,
     false,
     1,
     ""},
    {"a batch that works", BATCH + TVC_SETTLE_INSERT, {CUT, BATCH_OK}, 2, TAVOLA_OK, false, 2, ""},

    {"a read is repeated", READING, {CUT, NO_CONTENT}, 2, TAVOLA_OK, false, 2, ""},
    {"a read that is never answered", READING, {CUT}, 1, TAVOLA_ERR_NETWORK, false, 4, ""},
    {"a read that is always busy", READING, {BUSY}, 1, TAVOLA_ERR_BUSY, false, 4, ""},
    {"a read that always breaks", READING, {BROKEN}, 1, TAVOLA_ERR_SERVER, false, 4, ""},
    {"a read of what is not there", READING, {MISSING}, 1, TAVOLA_ERR_NOT_FOUND, false, 1, "404"},
    {"what is not supported is not repeated",
     READING,
     {REFUSED(501, "NotImplemented")},
     1,
     TAVOLA_ERR_UNSUPPORTED,
     false,
     1,
     ""},
    {"a read is not for us", READING, {DENIED}, 1, TAVOLA_ERR_DENIED, false, 1, ""},
};

/* As the answer to a batch is read: the status of a part is the body. */
static tavola_err finish_batch(tavola_op *op, tvc_response *response)
{
    CHECK_INT(response->body_len, 3);
    op->call->status = (int)strtol(response->body, NULL, 10);
    if (op->call->status < 300)
        return TAVOLA_OK;
    op->call->failed_index = 2;
    return op->call->status == 503 ? TAVOLA_ERR_BUSY : TAVOLA_ERR_EXISTS;
}

static tavola_op *make_op(tavola_client *client, tavola_call *call, int kind)
{
    if (kind == READING)
        return make_get(client, call);

    tavola_op *op = make_write(client, call, SENT);

    if (kind >= WHOLE_TABLE) {
        tvc_text_reset(&op->request.path);
        tvc_text_add_lit(&op->request.path, "/Tables('People')");
    }
    op->settle.is_batch = kind >= BATCH && kind < WHOLE_TABLE;
    op->settle.kind = (tvc_settle_kind)(kind % BATCH);
    if (op->settle.is_batch)
        op->finish = finish_batch;
    if (op->settle.kind <= TVC_SETTLE_MERGE && op->settle.kind != TVC_SETTLE_NONE) {
        tvc_text_add_lit(&op->settle.path, "/People(PartitionKey='a',RowKey='b')");
        tvc_text_add_lit(&op->settle.entity, SENT);
    }
    return op;
}

static void check_row(const struct row *row, bool is_started)
{
    script_server server = {.answer_count = row->answer_count};
    tavola_call *call = tavola_call_new();

    t_row = row->what;
    memcpy(server.answers, row->answers, sizeof row->answers);
    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);
    tavola_op *op = make_op(client, call, row->kind);
    tavola_err err;

    if (is_started) {
        CHECK_CODE(tvc_op_start(op, NULL, NULL), TAVOLA_OK);
        err = tavola_op_wait(op, 60 * 1000);
    } else {
        err = tvc_op_run(op);
    }
    CHECK_CODE(err, row->err);
    CHECK_INT(tavola_call_was_confirmed(call), row->was_confirmed);
    CHECK_INT(tavola_call_attempts(call), row->attempts);
    CHECK_INT(atomic_load(&server.requests), row->attempts);
    if (strstr(tavola_call_message(call), row->message) == NULL)
        CHECK_FAIL("message \"%s\" without \"%s\"", tavola_call_message(call), row->message);
    if (err == TAVOLA_OK) {
        CHECK_TEXT(tv_slice_of(tavola_call_message(call)), "");
        CHECK_TEXT(tv_slice_of(tavola_call_code(call)), "");
        CHECK_INT(tavola_call_failed_index(call), -1);
    }
    if (row->was_confirmed && strstr(row->answers[row->answer_count - 1].text, "200 OK"))
        CHECK_TEXT(tv_slice_of(tavola_call_etag(call)), "W/\"read\"");
    tavola_op_free(op);
    tavola_client_close(client);
    tavola_call_free(call);
    script_server_stop(&server);
}

TEST(settles_on_the_callers_thread)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(&rows[i], false);
}

TEST(settles_on_the_clients_thread)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(&rows[i], true);
}

/* Nobody listens: nothing was sent, so the outcome is known. */
TEST(refused_connections_leave_no_doubt)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    tavola_call *call = tavola_call_new();

    t_row = "";
    script_server_start(&server);
    script_server_stop(&server);

    tavola_client *client = open_client(&server, NULL, NULL);
    tavola_op *op = make_op(client, call, TVC_SETTLE_INSERT);

    CHECK_CODE(tvc_op_run(op), TAVOLA_ERR_NETWORK);
    CHECK_INT(tavola_call_attempts(call), 4);
    CHECK_INT(tavola_call_status(call), 0);
    CHECK(tavola_call_message(call)[0] != '\0');
    tavola_op_free(op);
    tavola_client_close(client);
    tavola_call_free(call);
}

/* Sent once, and then nobody listens any more: the outcome is not known. */
TEST(refused_connections_do_not_settle_what_was_sent)
{
    script_server server = {.answers = {CUT}, .answer_count = 1};
    tavola_call *call = tavola_call_new();

    t_row = "";
    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);
    tavola_op *op = make_op(client, call, TVC_SETTLE_INSERT);
    tavola_call_set_retries(call, UINT32_MAX);

    /* The listener ends while the first request is under way. */
    CHECK_CODE(tvc_op_start(op, NULL, NULL), TAVOLA_OK);
    CHECK(script_server_has_read(&server, 1));
    script_server_stop(&server);
    CHECK_CODE(tavola_op_wait(op, 60 * 1000), TAVOLA_ERR_UNKNOWN_OUTCOME);
    tavola_op_free(op);
    tavola_client_close(client);
    tavola_call_free(call);
}

static const struct {
    const char *what;
    const char *answer;
    bool is_read;
    tavola_err err;
} echoes[] = {
    {"the service need not echo", "HTTP/1.1 204 X\r\n\r\n", true, TAVOLA_OK},
    {"the echo of another", "HTTP/1.1 204 X\r\nx-ms-client-request-id: other\r\n\r\n", true,
     TAVOLA_ERR_PROTOCOL},
    {"the echo of another, for a write", "HTTP/1.1 204 X\r\nX-MS-Client-Request-Id: other\r\n\r\n",
     false, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"our echo", "HTTP/1.1 204 X\r\nx-ms-client-request-id: mine\r\n\r\n", true, TAVOLA_OK},
};

TEST(answers_to_other_requests_are_refused)
{
    for (size_t i = 0; i < sizeof echoes / sizeof echoes[0]; i++) {
        script_server server = {.answers = {{.text = echoes[i].answer}}, .answer_count = 1};
        tavola_call *call = tavola_call_new();

        t_row = echoes[i].what;
        script_server_start(&server);
        tavola_call_set_request_id(call, "mine");

        tavola_client *client = open_client(&server, NULL, NULL);
        tavola_op *op = echoes[i].is_read ? make_get(client, call) : make_write(client, call, "{}");

        CHECK_CODE(tvc_op_run(op), echoes[i].err);
        CHECK_INT(tavola_call_attempts(call), 1);
        CHECK(strstr(server.last_request, "\r\nx-ms-client-request-id: mine\r\n"));
        CHECK_TEXT(tv_slice_of(tavola_call_client_request_id(call)), "mine");
        if (!echoes[i].is_read)
            CHECK(strstr(tavola_call_message(call), "not known"));
        tavola_op_free(op);
        tavola_client_close(client);
        tavola_call_free(call);
        script_server_stop(&server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settles_on_the_callers_thread),
        cmocka_unit_test(settles_on_the_clients_thread),
        cmocka_unit_test(refused_connections_leave_no_doubt),
        cmocka_unit_test(refused_connections_do_not_settle_what_was_sent),
        cmocka_unit_test(answers_to_other_requests_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
