/* Operations on tables: what they send, and what odd answers make of them. */
#include "client/op/service.h"
#include "client/table/table.h"

/* A client of a scripted server with one table. */
typedef struct setting {
    script_server server;
    tavola_client *client;
    tavola_table *table;
    tavola_call *call;
} setting;

static void begin(setting *s, const script_answer *answers, int count)
{
    memset(s, 0, sizeof *s);
    memcpy(s->server.answers, answers, (size_t)count * sizeof *answers);
    s->server.answer_count = count;
    script_server_start(&s->server);
    s->client = open_client(&s->server, NULL, NULL);
    CHECK_CODE(tavola_table_open(s->client, "People", &s->table), TAVOLA_OK);
    s->call = tavola_call_new();
}

static void end(setting *s)
{
    tavola_call_free(s->call);
    tavola_table_close(s->table);
    tavola_client_close(s->client);
    script_server_stop(&s->server);
}

static tavola_entity *ada(const char *row_key)
{
    tavola_entity *entity = tavola_entity_new("O'Brien", row_key);

    tavola_entity_set_int32(entity, "N", 1);
    return entity;
}

/* ---- requests ---- */

#define JSON "{\"PartitionKey\":\"O'Brien\",\"RowKey\":\"a b\",\"N\":1}"
#define PATH "/account/People(PartitionKey='O''Brien',RowKey='a%20b')"

static tavola_err do_insert(setting *s, tavola_entity *entity)
{
    return tavola_insert(s->table, entity, s->call);
}
static tavola_err do_upsert(setting *s, tavola_entity *entity)
{
    return tavola_insert_or_replace(s->table, entity, s->call);
}
static tavola_err do_upmerge(setting *s, tavola_entity *entity)
{
    return tavola_insert_or_merge(s->table, entity, s->call);
}
static tavola_err do_replace(setting *s, tavola_entity *entity)
{
    return tavola_replace(s->table, entity, "W/\"x\"", s->call);
}
static tavola_err do_merge(setting *s, tavola_entity *entity)
{
    tavola_entity_set_etag(entity, "W/\"own\"");
    return tavola_merge(s->table, entity, NULL, s->call);
}
static tavola_err do_delete(setting *s, tavola_entity *entity)
{
    return tavola_delete(s->table, "O'Brien", "a b", TAVOLA_ANY, s->call);
}
static tavola_err do_create(setting *s, tavola_entity *entity)
{
    return tavola_table_create(s->table, s->call);
}
static tavola_err do_drop(setting *s, tavola_entity *entity)
{
    return tavola_table_delete(s->table, s->call);
}
static tavola_err do_exists(setting *s, tavola_entity *entity)
{
    bool exists;

    return tavola_table_exists(s->table, s->call, &exists);
}

static const struct {
    const char *what;
    tavola_err (*run)(setting *s, tavola_entity *entity);
    const char *has[4];  /* in the request */
    const char *lacks;   /* or NULL */
    const char *ends_in; /* its body */
} requests[] = {
    {"insert",
     do_insert,
     {"POST /account/People HTTP/1.1\r\n", "\r\nPrefer: return-no-content\r\n",
      "\r\nAccept: application/json;odata=minimalmetadata\r\n",
      "\r\nContent-Type: application/json\r\n"},
     "If-Match",
     "\r\n\r\n" JSON},
    {"insert or replace", do_upsert, {"PUT " PATH " HTTP/1.1\r\n"}, "If-Match", "\r\n\r\n" JSON},
    {"insert or merge", do_upmerge, {"PATCH " PATH " HTTP/1.1\r\n"}, "If-Match", "\r\n\r\n" JSON},
    {"replace",
     do_replace,
     {"PUT " PATH " HTTP/1.1\r\n", "\r\nIf-Match: W/\"x\"\r\n"},
     "Prefer",
     "\r\n\r\n" JSON},
    {"merge with its own etag",
     do_merge,
     {"PATCH " PATH " HTTP/1.1\r\n", "\r\nIf-Match: W/\"own\"\r\n"},
     "Prefer",
     "\r\n\r\n" JSON},
    {"delete",
     do_delete,
     {"DELETE " PATH " HTTP/1.1\r\n", "\r\nIf-Match: *\r\n"},
     "Content-Type",
     "\r\n\r\n"},
    {"create a table",
     do_create,
     {"POST /account/Tables HTTP/1.1\r\n", "\r\nPrefer: return-no-content\r\n"},
     NULL,
     "\r\n\r\n{\"TableName\":\"People\"}"},
    {"delete a table",
     do_drop,
     {"DELETE /account/Tables('People') HTTP/1.1\r\n"},
     "If-Match",
     "\r\n\r\n"},
    {"look for a table",
     do_exists,
     {"GET /account/People()?$select=PartitionKey&$top=1 HTTP/1.1\r\n"},
     NULL,
     "\r\n\r\n"},
};

TEST(requests_are_what_the_protocol_says)
{
    static const script_answer made = NO_CONTENT;

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        static setting s;
        tavola_entity *entity = ada("a b");

        t_row = requests[i].what;
        begin(&s, &made, 1);
        CHECK_CODE(requests[i].run(&s, entity), TAVOLA_OK);

        const char *sent = s.server.last_request;
        size_t len = strlen(sent), tail = strlen(requests[i].ends_in);

        for (size_t j = 0; j < 4 && requests[i].has[j]; j++) {
            if (strstr(sent, requests[i].has[j]) == NULL)
                CHECK_FAIL("no \"%s\" in:\n%s", requests[i].has[j], sent);
        }
        CHECK(requests[i].lacks == NULL || strstr(sent, requests[i].lacks) == NULL);
        if (len < tail || strcmp(sent + len - tail, requests[i].ends_in) != 0)
            CHECK_FAIL("does not end in \"%s\":\n%s", requests[i].ends_in, sent);
        end(&s);
        tavola_entity_free(entity);
    }
}

/* ---- batches ---- */

#define OUTER                                                                                      \
    "HTTP/1.1 202 Accepted\r\nContent-Type: multipart/mixed; boundary=b\r\nConnection: "           \
    "close\r\n\r\n--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n"
#define IN(status, body)                                                                           \
    "--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 " status                                \
    "\r\nContent-Type: application/json\r\nETag: W/\"e\"\r\n\r\n" body "\r\n"
#define ERROR(code, message)                                                                       \
    "{\"odata.error\":{\"code\":\"" code "\",\"message\":{\"lang\":\"en-US\",\"value\":\"" message \
    "\"}}}"
#define BATCH_ANSWER(parts)                                                                        \
    {                                                                                              \
        .text = OUTER parts "--c--\r\n--b--\r\n", .then_close = true                               \
    }
#define DONE IN("204 No Content", "")
#define BATCH_MADE BATCH_ANSWER(DONE DONE)
#define BATCH_FAILED(status, code, message) BATCH_ANSWER(IN(status, ERROR(code, message)))
#define READ_BACK(n)                                                                               \
    CHUNKED("{\"odata.etag\":\"W/\\\"r\\\"\",\"PartitionKey\":\"O'Brien\",\"RowKey\":\"1\","       \
            "\"N\":" n "}")

static const struct {
    const char *what;
    tavola_write kind; /* of both writes */
    script_answer answers[4];
    int count;
    tavola_err err;
    uint32_t attempts;
    int failed_index;
    bool was_confirmed;
} batches[] = {
    {"made", TAVOLA_INSERT, {BATCH_MADE}, 1, TAVOLA_OK, 1, -1, false},
    {"the second fails",
     TAVOLA_INSERT,
     {BATCH_FAILED("409 Conflict", "EntityAlreadyExists", "1:There.")},
     1,
     TAVOLA_ERR_EXISTS,
     1,
     1,
     false},
    {"one fails, and nobody says which",
     TAVOLA_INSERT,
     {BATCH_FAILED("409 Conflict", "EntityAlreadyExists", "There.")},
     1,
     TAVOLA_ERR_EXISTS,
     1,
     -1,
     false},
    {"one fails that is not there",
     TAVOLA_INSERT,
     {BATCH_FAILED("409 Conflict", "EntityAlreadyExists", "2:There.")},
     1,
     TAVOLA_ERR_EXISTS,
     1,
     -1,
     false},
    {"busy inside is busy",
     TAVOLA_INSERT,
     {BATCH_FAILED("503 Busy", "ServerBusy", "0:Busy."), BATCH_MADE},
     2,
     TAVOLA_OK,
     2,
     -1,
     false},
    {"busy inside may have been made",
     TAVOLA_INSERT,
     {BATCH_FAILED("503 Busy", "ServerBusy", "0:Busy."),
      BATCH_FAILED("409 Conflict", "EntityAlreadyExists", "0:There."), READ_BACK("1")},
     3,
     TAVOLA_OK,
     3,
     -1,
     true},
    {"a lost answer to a batch that was made",
     TAVOLA_INSERT,
     {CUT, BATCH_FAILED("409 Conflict", "EntityAlreadyExists", "0:There."), READ_BACK("1")},
     3,
     TAVOLA_OK,
     3,
     -1,
     true},
    {"a lost answer to a batch that was not",
     TAVOLA_INSERT,
     {CUT, BATCH_FAILED("409 Conflict", "EntityAlreadyExists", "0:There."), READ_BACK("2")},
     3,
     TAVOLA_ERR_EXISTS,
     3,
     0,
     false},
    {"deletes that were made",
     TAVOLA_DELETE,
     {CUT, BATCH_FAILED("404 Not Found", "ResourceNotFound", "0:Gone."),
      REFUSED(404, "ResourceNotFound")},
     3,
     TAVOLA_OK,
     3,
     -1,
     true},
    {"deletes that were not: the other is there",
     TAVOLA_DELETE,
     {CUT, BATCH_FAILED("404 Not Found", "ResourceNotFound", "0:Gone."), READ_BACK("1")},
     3,
     TAVOLA_ERR_NOT_FOUND,
     3,
     0,
     false},
    {"deletes that were not: the first was found",
     TAVOLA_DELETE,
     {CUT, BATCH_FAILED("404 Not Found", "ResourceNotFound", "1:Gone.")},
     2,
     TAVOLA_ERR_NOT_FOUND,
     2,
     1,
     false},
    {"too few parts: it may have been made",
     TAVOLA_INSERT,
     {BATCH_ANSWER(DONE), REFUSED(403, "AuthenticationFailed")},
     2,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     2,
     -1,
     false},
    {"too few parts, and it was made",
     TAVOLA_INSERT,
     {BATCH_ANSWER(DONE), READ_BACK("1")},
     2,
     TAVOLA_OK,
     2,
     -1,
     true},
    {"too many parts",
     TAVOLA_INSERT,
     {BATCH_ANSWER(DONE DONE DONE), REFUSED(403, "AuthenticationFailed")},
     2,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     2,
     -1,
     false},
    {"no parts",
     TAVOLA_INSERT,
     {{.text = "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}"},
      REFUSED(403, "AuthenticationFailed")},
     2,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     2,
     -1,
     false},
    {"no body",
     TAVOLA_INSERT,
     {{.text = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"},
      REFUSED(403, "AuthenticationFailed")},
     2,
     TAVOLA_ERR_UNKNOWN_OUTCOME,
     2,
     -1,
     false},
    {"refused as a whole",
     TAVOLA_INSERT,
     {REFUSED(403, "AuthenticationFailed")},
     1,
     TAVOLA_ERR_DENIED,
     1,
     -1,
     false},
};

static tavola_batch *two_writes(setting *s, tavola_write kind)
{
    tavola_batch *batch = tavola_batch_new(s->table);
    tavola_entity *first = ada("1"), *second = ada("2");

    tavola_batch_add(batch, kind, first, TAVOLA_ANY);
    tavola_batch_add(batch, kind, second, TAVOLA_ANY);
    tavola_entity_free(first);
    tavola_entity_free(second);
    return batch;
}

TEST(batches_end_as_their_answers_say)
{
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        static setting s;

        t_row = batches[i].what;
        begin(&s, batches[i].answers, batches[i].count);

        tavola_batch *batch = two_writes(&s, batches[i].kind);

        CHECK_CODE(tavola_batch_run(batch, s.call), batches[i].err);
        CHECK_INT(tavola_call_attempts(s.call), batches[i].attempts);
        CHECK_INT(tavola_call_failed_index(s.call), batches[i].failed_index);
        CHECK_INT(tavola_call_was_confirmed(s.call), batches[i].was_confirmed);
        if (batches[i].err == TAVOLA_OK && !batches[i].was_confirmed)
            CHECK_TEXT(tv_slice_of(tavola_batch_etag(batch, 1)), "W/\"e\"");
        tavola_batch_free(batch);
        end(&s);
    }
}

TEST(a_batch_is_written_as_every_service_reads_it)
{
    static const script_answer made[] = {BATCH_MADE};
    static setting s;
    char want[2048], id[37] = "", url[64];

    begin(&s, made, 1);

    tavola_batch *batch = tavola_batch_new(s.table);
    tavola_entity *first = ada("1"), *second = ada("2");

    tavola_batch_add(batch, TAVOLA_INSERT, first, NULL);
    tavola_batch_add(batch, TAVOLA_DELETE, second, TAVOLA_ANY);
    CHECK_CODE(tavola_batch_run(batch, s.call), TAVOLA_OK);

    const char *body = strstr(s.server.last_request, "\r\n\r\n") + 4;

    CHECK(strlen(body) > 44);
    memcpy(id, body + strlen("--batch_"), 36);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/account/People", s.server.port);
    snprintf(want, sizeof want, "\r\nContent-Type: multipart/mixed; boundary=batch_%s\r\n", id);
    CHECK(strstr(s.server.last_request, want) != NULL);
    CHECK(strstr(s.server.last_request, "POST /account/$batch HTTP/1.1\r\n") != NULL);
    snprintf(want, sizeof want,
             "--batch_%s\r\n"
             "Content-Type: multipart/mixed; boundary=changeset_%s\r\n\r\n"
             "--changeset_%s\r\n"
             "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
             "POST %s HTTP/1.1\r\n"
             "Accept: application/json;odata=minimalmetadata\r\nDataServiceVersion: 3.0\r\n"
             "Content-Type: application/json\r\nPrefer: return-no-content\r\n"
             "Content-Length: 45\r\n\r\n"
             "{\"PartitionKey\":\"O'Brien\",\"RowKey\":\"1\",\"N\":1}\r\n"
             "--changeset_%s\r\n"
             "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
             "DELETE %s(PartitionKey='O''Brien',RowKey='2') HTTP/1.1\r\n"
             "Accept: application/json;odata=minimalmetadata\r\nDataServiceVersion: 3.0\r\n"
             "If-Match: *\r\nContent-Length: 0\r\n\r\n"
             "\r\n"
             "--changeset_%s--\r\n--batch_%s--\r\n",
             id, id, id, url, id, url, id, id);
    CHECK_TEXT(tv_slice_of(body), want);
    tavola_entity_free(first);
    tavola_entity_free(second);
    tavola_batch_free(batch);
    end(&s);
}

/* ---- bulk ---- */

typedef struct told {
    int count;
    tavola_err err;
} told_failures;

static void note(void *user, const tavola_entity *entity, tavola_err err, const char *code)
{
    told_failures *told = user;

    told->count++;
    told->err = err;
}

static const struct {
    const char *what;
    script_answer answers[5];
    int count;
    int written, failed, requests;
    tavola_err err;
} bulks[] = {
    {"made", {BATCH_MADE}, 1, 2, 0, 1, TAVOLA_OK},
    {"one fails: the other is sent again",
     {BATCH_FAILED("409 Conflict", "EntityAlreadyExists", "0:There."), BATCH_ANSWER(DONE)},
     2,
     1,
     1,
     2,
     TAVOLA_ERR_EXISTS},
    {"too large together: each alone",
     {REFUSED(413, "RequestBodyTooLarge"), BATCH_ANSWER(DONE), BATCH_ANSWER(DONE)},
     3,
     2,
     0,
     3,
     TAVOLA_OK},
    {"nobody says which: each alone",
     {BATCH_FAILED("400 Bad Request", "InvalidInput", "Bad."),
      BATCH_FAILED("400 Bad Request", "InvalidInput", "Bad."), BATCH_ANSWER(DONE)},
     3,
     1,
     1,
     3,
     TAVOLA_ERR_INVALID},
    {"denied: all at once", {REFUSED(403, "AuthenticationFailed")}, 1, 0, 2, 1, TAVOLA_ERR_DENIED},
    {"no table: all at once",
     {BATCH_FAILED("404 Not Found", "TableNotFound", "0:None.")},
     1,
     0,
     2,
     1,
     TAVOLA_ERR_NOT_FOUND},
    {"an answer that cannot be read",
     {{.text = "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}"},
      REFUSED(403, "AuthenticationFailed")},
     2,
     0,
     2,
     2,
     TAVOLA_ERR_UNKNOWN_OUTCOME},
};

TEST(each_write_of_a_bulk_has_its_outcome)
{
    for (size_t i = 0; i < sizeof bulks / sizeof *bulks; i++) {
        static setting s;
        tavola_bulk *bulk = NULL;
        tavola_entity *first = ada("1"), *second = ada("2");
        told_failures told = {0};
        uint64_t written = 0, failed = 0;

        t_row = bulks[i].what;
        begin(&s, bulks[i].answers, bulks[i].count);
        CHECK_CODE(tavola_bulk_open(s.table, 1, note, &told, NULL, &bulk), TAVOLA_OK);
        CHECK_CODE(tavola_bulk_add(bulk, TAVOLA_INSERT, first, NULL), TAVOLA_OK);
        CHECK_CODE(tavola_bulk_add(bulk, TAVOLA_INSERT, second, NULL), TAVOLA_OK);
        CHECK_CODE(tavola_bulk_close(bulk, &written, &failed), TAVOLA_OK);
        CHECK_INT(written, bulks[i].written);
        CHECK_INT(failed, bulks[i].failed);
        CHECK_INT(told.count, bulks[i].failed);
        CHECK_CODE(told.err, bulks[i].err);
        CHECK_INT(s.server.requests, bulks[i].requests);
        tavola_entity_free(first);
        tavola_entity_free(second);
        end(&s);
    }
}

/* ---- pages ---- */

#define PAGE(headers, entities)                                                                    \
    {                                                                                              \
        .text = "HTTP/1.1 200 OK\r\nConnection: close\r\n" headers "\r\n{\"odata.metadata\":"      \
                "\"m\",\"value\":[" entities "]}",                                                 \
        .then_close = true                                                                         \
    }
#define NEXT(key) "x-ms-continuation-NextPartitionKey: " key "\r\n"
#define ONE(n) "{\"PartitionKey\":\"p\",\"RowKey\":\"" n "\",\"N\":" n "}"

static const struct {
    const char *what;
    script_answer answers[4];
    int count;
    uint64_t limit; /* 0: none */
    tavola_err err;
    int entities, requests;
} scans[] = {
    {"nothing", {PAGE("", "")}, 1, 0, TAVOLA_END, 0, 1},
    {"an empty page is not the end",
     {PAGE(NEXT("1!4!MQ--"), ""), PAGE(NEXT("1!4!Mg--"), ""), PAGE("", ONE("1"))},
     3,
     0,
     TAVOLA_END,
     1,
     3},
    {"a continuation that leads to itself",
     {PAGE(NEXT("a"), ONE("1")), PAGE(NEXT("a"), "")},
     2,
     0,
     TAVOLA_ERR_PROTOCOL,
     1,
     2},
    {"and so does one with entities",
     {PAGE(NEXT("a"), ONE("1")), PAGE(NEXT("a"), ONE("2"))},
     2,
     0,
     TAVOLA_ERR_PROTOCOL,
     1,
     2},
    {"continuations that lead back and forth",
     {PAGE(NEXT("a"), ONE("1")), PAGE(NEXT("b"), ""), PAGE(NEXT("a"), ""), PAGE(NEXT("b"), "")},
     4,
     0,
     TAVOLA_ERR_PROTOCOL,
     1,
     4},
    {"more than was asked for",
     {PAGE(NEXT("a"), ONE("1") "," ONE("2") "," ONE("3"))},
     1,
     2,
     TAVOLA_END,
     2,
     1},
    {"not a page",
     {{.text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"}},
     1,
     0,
     TAVOLA_ERR_PROTOCOL,
     0,
     1},
    {"no body",
     {{.text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}},
     1,
     0,
     TAVOLA_ERR_PROTOCOL,
     0,
     1},
    {"refused in the middle",
     {PAGE(NEXT("a"), ONE("1")), REFUSED(403, "AuthenticationFailed")},
     2,
     0,
     TAVOLA_ERR_DENIED,
     1,
     2},
};

TEST(scans_end_as_their_pages_say)
{
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
        static setting s;
        tavola_query *query = tavola_query_new(NULL);
        tavola_scan *scan = NULL;
        const tavola_entity *entity = NULL;
        tavola_err err;
        int count = 0;

        t_row = scans[i].what;
        begin(&s, scans[i].answers, scans[i].count);
        if (scans[i].limit)
            tavola_query_set_limit(query, scans[i].limit);
        CHECK_CODE(tavola_scan_open(s.table, query, s.call, &scan), TAVOLA_OK);
        while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK)
            count++;
        CHECK_CODE(err, scans[i].err);
        CHECK_INT(count, scans[i].entities);
        tavola_scan_close(scan);
        CHECK_INT(s.server.requests, scans[i].requests);
        tavola_query_free(query);
        end(&s);
    }
}

/* The outcome of a page that was read ahead is in the caller's call. */
TEST(the_call_of_a_scan_tells_of_the_last_page)
{
    static const script_answer answers[] = {
        PAGE(NEXT("a"), ONE("1")),
        {.text = "HTTP/1.1 403 Forbidden\r\nx-ms-request-id: the-second\r\nx-ms-error-code: "
                 "AuthenticationFailed\r\nContent-Length: 0\r\n\r\n"}};
    static setting s;
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;

    begin(&s, answers, 2);
    tavola_call_set_request_id(s.call, "mine");
    CHECK_CODE(tavola_scan_open(s.table, NULL, s.call, &scan), TAVOLA_OK);
    CHECK_CODE(tavola_scan_next(scan, &entity), TAVOLA_OK);
    CHECK_INT(tavola_call_status(s.call), 200);
    CHECK_CODE(tavola_scan_next(scan, &entity), TAVOLA_ERR_DENIED);
    CHECK_INT(tavola_call_status(s.call), 403);
    CHECK_TEXT(tv_slice_of(tavola_call_code(s.call)), "AuthenticationFailed");
    CHECK_TEXT(tv_slice_of(tavola_call_service_request_id(s.call)), "the-second");
    CHECK_TEXT(tv_slice_of(tavola_call_client_request_id(s.call)), "mine");
    CHECK(strstr(s.server.last_request, "x-ms-client-request-id: mine\r\n") != NULL);
    CHECK(strstr(s.server.last_request, "NextPartitionKey=a") != NULL);
    CHECK(strstr(s.server.last_request, "NextRowKey") == NULL);
    tavola_scan_close(scan);
    end(&s);
}

/* A token is of the location that gave it. */
TEST(a_page_of_the_secondary_goes_on_there)
{
    static const script_answer busy[] = {REFUSED(503, "ServerBusy")};
    static const script_answer pages[] = {PAGE(NEXT("a"), ONE("1")), PAGE("", ONE("2"))};
    static script_server primary, secondary;
    tavola_table *table = NULL;
    tavola_page *first = NULL, *second = NULL;

    memcpy(primary.answers, busy, sizeof busy);
    memcpy(secondary.answers, pages, sizeof pages);
    primary.answer_count = 1;
    secondary.answer_count = 2;
    script_server_start(&primary);
    script_server_start(&secondary);

    tavola_client *client = open_client(&primary, &secondary, NULL);

    CHECK_CODE(tavola_table_open(client, "People", &table), TAVOLA_OK);
    CHECK_CODE(tavola_query_page(table, NULL, NULL, NULL, &first), TAVOLA_OK);
    CHECK_TEXT(tv_slice_of(tavola_page_token(first)), "v1;s;a");
    CHECK_CODE(tavola_query_page(table, NULL, tavola_page_token(first), NULL, &second), TAVOLA_OK);
    CHECK_INT(tavola_page_count(second), 1);
    CHECK_INT(primary.requests, 1);
    CHECK_INT(secondary.requests, 2);
    tavola_page_free(first);
    tavola_page_free(second);
    tavola_table_close(table);
    tavola_client_close(client);
    script_server_stop(&primary);
    script_server_stop(&secondary);
}

/* ---- lists of tables ---- */

/* ---- what a hostile service answers to a point read ---- */

#define FOUND(members) CHUNKED("{" members "}")
#define KEYS(partition_key, row_key)                                                               \
    "\"PartitionKey\":\"" partition_key "\",\"RowKey\":\"" row_key "\""

static const char *const keys_and_n[] = {"PartitionKey", "RowKey", "N", NULL};
static const char *const n_alone[] = {"N", NULL};

static const struct {
    const char *what;
    const char *const *names; /* NULL: all */
    script_answer answer;
    tavola_err err;
} found[] = {
    {"what was asked for", NULL, FOUND(KEYS("p", "alice") ",\"N\":1"), TAVOLA_OK},
    {"another row", NULL, FOUND(KEYS("p", "bob") ",\"N\":1"), TAVOLA_ERR_PROTOCOL},
    {"another partition", NULL, FOUND(KEYS("q", "alice") ",\"N\":1"), TAVOLA_ERR_PROTOCOL},
    {"a key that goes on", NULL, FOUND(KEYS("p", "alice2") ",\"N\":1"), TAVOLA_ERR_PROTOCOL},
    {"a key that goes on after a NUL", NULL, FOUND(KEYS("p", "alice\\u0000b")),
     TAVOLA_ERR_PROTOCOL},
    {"no keys", NULL, FOUND("\"N\":1"), TAVOLA_ERR_PROTOCOL},
    {"null for a key", NULL, FOUND("\"PartitionKey\":\"p\",\"RowKey\":null"), TAVOLA_ERR_PROTOCOL},
    {"keys twice", NULL, FOUND(KEYS("p", "bob") "," KEYS("p", "alice")), TAVOLA_ERR_PROTOCOL},
    {"a property twice", NULL, FOUND(KEYS("p", "alice") ",\"N\":1,\"N\":2"), TAVOLA_ERR_PROTOCOL},
    {"selected keys", keys_and_n, FOUND(KEYS("p", "alice") ",\"N\":1"), TAVOLA_OK},
    {"another row, selected", keys_and_n, FOUND(KEYS("p", "bob")), TAVOLA_ERR_PROTOCOL},
    {"keys that were not selected", n_alone, FOUND("\"N\":1"), TAVOLA_OK},
    {"another row's, not selected", n_alone, FOUND(KEYS("p", "bob")), TAVOLA_ERR_PROTOCOL},
};

TEST(a_point_read_gives_the_entity_that_was_asked_for)
{
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        static setting s;
        tavola_entity *entity = NULL;

        t_row = found[i].what;
        begin(&s, &found[i].answer, 1);
        CHECK_CODE(found[i].names
                       ? tavola_get_select(s.table, "p", "alice", found[i].names, s.call, &entity)
                       : tavola_get(s.table, "p", "alice", s.call, &entity),
                   found[i].err);
        CHECK((entity == NULL) == (found[i].err != TAVOLA_OK));
        tavola_entity_free(entity);
        end(&s);
    }
}

TEST(a_list_of_tables_follows_its_continuation)
{
    static const script_answer answers[] = {
        PAGE("x-ms-continuation-NextTableName: b c\r\n",
             "{\"TableName\":\"Aa\"},{\"TableName\":\"Other\"}"),
        PAGE("", "{\"TableName\":\"aB\"}")};
    static const script_answer bad[] = {PAGE("", "{\"Name\":\"Aa\"}")};
    static const script_answer endless[] = {
        PAGE("x-ms-continuation-NextTableName: b\r\n", "{\"TableName\":\"Aa\"}")};
    static setting s;
    tavola_names *names = NULL;

    begin(&s, answers, 2);
    CHECK_CODE(tavola_table_list(s.client, "a", s.call, &names), TAVOLA_OK);
    CHECK_INT(tavola_names_count(names), 2);
    CHECK_TEXT(tv_slice_of(tavola_names_at(names, 1)), "aB");
    CHECK(strstr(s.server.last_request, "GET /account/Tables?NextTableName=b%20c ") != NULL);
    tavola_names_free(names);
    end(&s);

    names = NULL;
    begin(&s, bad, 1);
    CHECK_CODE(tavola_table_list(s.client, "a", s.call, &names), TAVOLA_ERR_PROTOCOL);
    CHECK(names == NULL);
    end(&s);

    begin(&s, endless, 1);
    CHECK_CODE(tavola_table_list(s.client, "a", s.call, &names), TAVOLA_ERR_PROTOCOL);
    CHECK_INT(s.server.requests, 2);
    CHECK(names == NULL);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_what_the_protocol_says),
        cmocka_unit_test(batches_end_as_their_answers_say),
        cmocka_unit_test(a_batch_is_written_as_every_service_reads_it),
        cmocka_unit_test(each_write_of_a_bulk_has_its_outcome),
        cmocka_unit_test(scans_end_as_their_pages_say),
        cmocka_unit_test(the_call_of_a_scan_tells_of_the_last_page),
        cmocka_unit_test(a_page_of_the_secondary_goes_on_there),
        cmocka_unit_test(a_point_read_gives_the_entity_that_was_asked_for),
        cmocka_unit_test(a_list_of_tables_follows_its_continuation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
