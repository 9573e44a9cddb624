/* Entity group transactions, as six clients write them and as none should. */
#include "services/table/batch.h"

#include "check.h"
#include "requests.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define BASE "http://127.0.0.1:10002/acct"

static tv_arena arena;
static tv_buf body;

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    body = TV_BUF_EMPTY;
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&arena);
    tv_buf_done(&body);
    return 0;
}

static tv_err parse_as(const char *content_type, tv_slice text, tv_table_batch *batch,
                       tv_error_info *info)
{
    tv_request request =
        request_new(&arena, "POST", "$batch",
                    (const char *)tv_arena_printf(&arena, "Content-Type: %s\n", content_type).data);
    tv_endpoint endpoint = request_endpoint(&arena, &request);

    request.body = text;
    *info = (tv_error_info){0};
    return tv_table_batch_parse(&arena, &request, &endpoint, batch, info);
}

static tv_err parse(tv_slice text, tv_table_batch *batch)
{
    tv_error_info info;

    return parse_as("multipart/mixed; boundary=b", text, batch, &info);
}

/* --- the dialects --- */

typedef struct dialect {
    const char *name;
    const char *eol;
    const char *batch_type;                     /* Content-Type of the request */
    const char *changeset_type;                 /* the header line of the changeset */
    const char *part_headers;                   /* '|' ends a line */
    const char *insert_headers, *merge_headers; /* of the embedded requests */
    const char *delete_headers;
    const char *merge; /* verb */
    const char *query; /* after each embedded target */
    int blank_lines;   /* before the JSON */
    const char *tail;  /* after the last delimiter */
} dialect;

static const dialect dialects[] = {
    {"Python", "\r\n", "multipart/mixed; boundary=b", "Content-Type: multipart/mixed; boundary=c|",
     "Content-Type: application/http|Content-Transfer-Encoding: binary|Content-ID: 0|",
     "x-ms-version: 2019-02-02|Prefer: return-no-content|Content-Type: "
     "application/json;odata=nometadata|Content-Length: 41|",
     "If-Match: *|Content-Length: 41|", "If-Match: *|", "PATCH", "", 1, "|"},
    {"JavaScript", "\r\n", "multipart/mixed; boundary=b",
     "content-type: multipart/mixed; boundary=c||",
     "content-type: application/http|content-transfer-encoding: binary|",
     "prefer: return-no-content|accept: application/json|", "if-match: *|", "if-match: *|", "PATCH",
     "", 2, ""},
    {".NET", "\r\n", "multipart/mixed; boundary=\"b\"",
     "Content-Type: multipart/mixed; boundary=\"c\"|",
     "Content-Type: application/http|Content-Transfer-Encoding: binary|",
     "Host: 127.0.0.1:10002|Prefer: return-no-content|", "Host: 127.0.0.1:10002|If-Match: *|",
     "Host: 127.0.0.1:10002|If-Match: *|", "PATCH",
     "?$format=application%2Fjson%3Bodata%3Dminimalmetadata", 1, "|"},
    {"Go", "\r\n", "multipart/mixed; boundary=b", "Content-Type: multipart/mixed; boundary=c|",
     "Content-Transfer-Encoding: binary|Content-Type: application/http|",
     "Content-Length: 41|Prefer: return-no-content|X-Ms-Version: 2019-02-02|",
     "Content-Length: 41|If-Match: *|", "If-Match: *|", "PATCH",
     "?%24format=application%2Fjson%3Bodata%3Dminimalmetadata", 1, "|"},
    {"Java", "\r\n", "multipart/mixed; boundary=b", "Content-Type: multipart/mixed; boundary=c|",
     "Content-Type: application/http|Content-Transfer-Encoding: binary|",
     "Prefer: return-no-content|Content-Length: 41|", "If-Match: *|Content-Length: 41|",
     "If-Match: *|Content-Length: 0|", "MERGE", "", 1, "|"},
    {"legacy Node", "\n", "multipart/mixed; charset=\"utf-8\"; boundary=b",
     "content-type: multipart/mixed;charset=\"utf-8\";boundary=c|",
     "content-type: application/http|content-transfer-encoding: binary|",
     "prefer: return-no-content|content-type: application/json|", "content-id: 1|if-match: *|",
     "content-id: 2|if-match: *|", "MERGE", "", 1, ""},
};

/* Append text with the dialect's line end for every '|'. */
static void add(const dialect *d, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            tv_buf_add(&body, tv_slice_of(d->eol));
        else
            tv_buf_add_char(&body, *text);
    }
}

static void add_op(const dialect *d, const char *verb, const char *target, const char *headers,
                   const char *json)
{
    add(d, "--c|");
    add(d, d->part_headers);
    add(d, "|");
    add(d, verb);
    add(d, " " BASE "/");
    add(d, target);
    add(d, d->query);
    add(d, " HTTP/1.1|");
    add(d, headers);
    for (int i = 0; i < d->blank_lines; i++)
        add(d, "|");
    add(d, json);
    add(d, "|");
}

/* An insert, a merge and a deletion. */
static tv_slice three_ops(const dialect *d)
{
    body.len = 0;
    add(d, "--b|");
    add(d, d->changeset_type);
    add(d, "|");
    add_op(d, "POST", "people", d->insert_headers,
           "{\"PartitionKey\":\"p\",\"RowKey\":\"new\",\"v\":1}");
    add_op(d, d->merge, "people(PartitionKey='p',RowKey='old')", d->merge_headers,
           "{\"PartitionKey\":\"p\",\"RowKey\":\"old\",\"v\":2}");
    add_op(d, "DELETE", "people(PartitionKey='p',RowKey='gone')", d->delete_headers, "");
    add(d, "--c--|--b--");
    add(d, d->tail);
    return tv_buf_slice(&body);
}

TEST(six_clients_are_understood)
{
    for (size_t i = 0; i < COUNT(dialects); i++) {
        tv_table_batch batch;
        tv_error_info info;

        t_row = dialects[i].name;
        CHECK_OK(parse_as(dialects[i].batch_type, three_ops(&dialects[i]), &batch, &info));
        CHECK(!batch.is_query);
        CHECK_INT(batch.count, 3);
        CHECK_INT(batch.commands[0].kind, TV_TABLE_OP_INSERT_ENTITY);
        CHECK_INT(batch.commands[1].kind, TV_TABLE_OP_MERGE_ENTITY);
        CHECK_INT(batch.commands[2].kind, TV_TABLE_OP_DELETE_ENTITY);
        CHECK_TEXT(batch.commands[0].resource.row_key, "new");
        CHECK_TEXT(batch.commands[1].resource.row_key, "old");
        CHECK_TEXT(batch.commands[2].resource.row_key, "gone");
        CHECK_INT(batch.commands[0].prefer, TV_TABLE_PREFER_NO_CONTENT);
        CHECK_INT(batch.commands[1].body.properties.count, 1);
        CHECK_TEXT(batch.commands[1].endpoint.base_url, BASE);
    }
}

/* A body that was cut is refused as a whole, or has lost nothing but its last line end. */
TEST(a_body_cut_at_any_byte_is_never_a_smaller_batch)
{
    for (size_t i = 0; i < COUNT(dialects); i++) {
        tv_slice whole = three_ops(&dialects[i]);
        size_t tail_len = dialects[i].tail[0] ? strlen(dialects[i].eol) : 0;

        t_row = dialects[i].name;
        for (size_t len = 0; len < whole.len; len++) {
            char *copy = memcpy(tv_malloc(len + 1), whole.data, len);
            tv_table_batch batch;
            tv_error_info info;
            tv_err err = parse_as(dialects[i].batch_type, (tv_slice){copy, len}, &batch, &info);

            CHECK_ERR(err, len < whole.len - tail_len ? TV_ERR_INVALID_INPUT : TV_OK);
            CHECK(!batch.is_part_error);
            if (err == TV_OK)
                CHECK_INT(batch.count, 3);
            free(copy);
        }
        tv_arena_reset(&arena);
    }
}

/* --- rules --- */

static const dialect plain = {.eol = "\r\n",
                              .part_headers = "Content-Type: application/http|",
                              .query = "",
                              .blank_lines = 1};

static void open_changeset(void)
{
    body.len = 0;
    add(&plain, "--b|Content-Type: multipart/mixed; boundary=c||");
}

static tv_slice close_changeset(void)
{
    add(&plain, "--c--|--b--|");
    return tv_buf_slice(&body);
}

static void add_delete(const char *table, const char *partition_key, int row)
{
    char target[100];

    snprintf(target, sizeof target, "%s(PartitionKey='%s',RowKey='%d')", table, partition_key, row);
    add_op(&plain, "DELETE", target, "If-Match: *|", "");
}

TEST(a_changeset_has_up_to_100_operations)
{
    tv_table_batch batch;

    for (int count = 99; count <= 102; count++) {
        open_changeset();
        for (int i = 0; i < count; i++)
            add_delete("people", "p", i);
        CHECK_ERR(parse(close_changeset(), &batch), count <= 100 ? TV_OK : TV_ERR_BATCH_TOO_MANY);
        if (count <= 100) {
            CHECK_INT(batch.count, (size_t)count);
        } else {
            CHECK(batch.is_part_error);
            CHECK_INT(batch.failed, 99);
        }
    }
    open_changeset();
    CHECK_ERR(parse(close_changeset(), &batch), TV_OK);
    CHECK_INT(batch.count, 0);
    CHECK(!batch.is_query);
}

static const struct {
    const char *what;
    /* Of the second operation; the first deletes people(p,0), the third people(p,2). */
    const char *verb, *target, *headers, *json;
    tv_err err;
} seconds[] = {
    {"the same partition", "DELETE", "people(PartitionKey='p',RowKey='1')", "If-Match: *|", "",
     TV_OK},
    {"a table in another case", "DELETE", "PEOPLE(PartitionKey='p',RowKey='1')", "If-Match: *|", "",
     TV_OK},
    {"a tunnel", "POST", "people(PartitionKey='p',RowKey='1')", "X-HTTP-Method: PUT|", "{}", TV_OK},
    {"another partition", "DELETE", "people(PartitionKey='q',RowKey='1')", "If-Match: *|", "",
     TV_ERR_BATCH_PARTITIONS},
    {"a partition in another case", "DELETE", "people(PartitionKey='P',RowKey='1')", "If-Match: *|",
     "", TV_ERR_BATCH_PARTITIONS},
    {"another partition, in the body of an insert", "POST", "people", "",
     "{\"PartitionKey\":\"q\",\"RowKey\":\"1\"}", TV_ERR_BATCH_PARTITIONS},
    {"another table", "DELETE", "pets(PartitionKey='p',RowKey='1')", "If-Match: *|", "",
     TV_ERR_BATCH_PARTITIONS},
    {"the same row", "DELETE", "people(PartitionKey='p',RowKey='0')", "If-Match: *|", "",
     TV_ERR_BATCH_DUPLICATE_ROW},
    {"the same row, inserted", "POST", "people", "", "{\"PartitionKey\":\"p\",\"RowKey\":\"0\"}",
     TV_ERR_BATCH_DUPLICATE_ROW},
    {"a read among writes", "GET", "people(PartitionKey='p',RowKey='1')", "", "",
     TV_ERR_INVALID_INPUT},
    {"a query", "GET", "people()", "", "", TV_ERR_NOT_IMPLEMENTED},
    {"a table", "POST", "Tables", "", "{\"TableName\":\"people\"}", TV_ERR_NOT_IMPLEMENTED},
    {"a batch", "POST", "$batch", "", "", TV_ERR_NOT_IMPLEMENTED},
    {"a bad key", "PUT", "people(PartitionKey='p',RowKey='a%2Fb')", "", "{}", TV_ERR_QUERY_SYNTAX},
    {"no condition", "DELETE", "people(PartitionKey='p',RowKey='1')", "", "",
     TV_ERR_MISSING_HEADER},
    {"a bad condition", "PUT", "people(PartitionKey='p',RowKey='1')", "If-Match: 1|", "{}",
     TV_ERR_ETAG_INVALID},
    {"a bad body", "PUT", "people(PartitionKey='p',RowKey='1')", "", "{", TV_ERR_INVALID_INPUT},
    {"a method that is not allowed", "OPTIONS", "people", "", "", TV_ERR_METHOD_NOT_ALLOWED},
    {"an unknown method", "BREW", "people", "", "", TV_ERR_INVALID_VERB},
    {"no keys", "POST", "people", "", "{}", TV_ERR_PROPERTIES_NEED_VALUE},
};

TEST(one_wrong_operation_is_named_by_its_index)
{
    for (size_t i = 0; i < COUNT(seconds); i++) {
        tv_table_batch batch;
        tv_err want = seconds[i].err;

        t_row = seconds[i].what;
        open_changeset();
        add_delete("people", "p", 0);
        add_op(&plain, seconds[i].verb, seconds[i].target, seconds[i].headers, seconds[i].json);
        add_delete("people", "p", 2);
        CHECK_ERR(parse(close_changeset(), &batch), want);
        CHECK_INT(batch.is_part_error, want != TV_OK);
        if (want)
            CHECK_INT(batch.failed, 1);
    }
}

TEST(each_part_belongs_to_the_account_that_signed)
{
    static const struct {
        const char *what, *target;
        tv_err err;
    } rows[] = {
        {"absolute", BASE "/people", TV_OK},
        {"origin", "/acct/people", TV_OK},
        {"another host name, the same account", "http://localhost/acct/people", TV_OK},
        {"host style", "https://acct.table.local/people", TV_OK},
        {"another account", "/other/people", TV_ERR_AUTHORIZATION_FAILURE},
        {"another account, absolute", "http://127.0.0.1:10002/other/people",
         TV_ERR_AUTHORIZATION_FAILURE},
        {"another account in host style", "http://other.table.local/acct/people",
         TV_ERR_AUTHORIZATION_FAILURE},
        {"the account in another case", "/ACCT/people", TV_ERR_AUTHORIZATION_FAILURE},
        {"the account, encoded", "/%61cct/people", TV_ERR_AUTHORIZATION_FAILURE},
        {"no account", "/", TV_ERR_INVALID_URI},
        {"a host that is not valid", "http://a\"b/acct/people", TV_ERR_INVALID_INPUT},
        {"not a request", "people", TV_ERR_INVALID_INPUT},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_table_batch batch;

        t_row = rows[i].what;
        open_changeset();
        add(&plain, "--c|Content-Type: application/http||POST ");
        add(&plain, rows[i].target);
        add(&plain, " HTTP/1.1||{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}|");
        CHECK_ERR(parse(close_changeset(), &batch), rows[i].err);
        CHECK_INT(batch.is_part_error, rows[i].err != TV_OK);
        if (rows[i].err == TV_OK)
            CHECK_TEXT(batch.commands[0].endpoint.base_url, BASE);
    }
}

#define PART "Content-Type: application/http||"
#define GET "GET " BASE "/people(PartitionKey='p',RowKey='r') HTTP/1.1||"
#define PUT "PUT " BASE "/people(PartitionKey='p',RowKey='r') HTTP/1.1||{}|"
#define CHANGESET "Content-Type: multipart/mixed; boundary=c||--c|" PART PUT "--c--|"

static const struct {
    const char *what, *body;
    tv_err err;
    bool is_part_error, is_query;
} bodies[] = {
    {"a read", "--b|" PART GET "|--b--", TV_OK, false, true},
    {"a read without headers", "--b||" GET "|--b--", TV_OK, false, true},
    {"a write without a changeset", "--b|" PART PUT "--b--", TV_ERR_INVALID_INPUT, true, true},
    {"two reads", "--b|" PART GET "|--b|" PART GET "|--b--", TV_ERR_INVALID_INPUT, false, false},
    {"one changeset", "--b|" CHANGESET "--b--", TV_OK, false, false},
    {"two changesets", "--b|" CHANGESET "--b|" CHANGESET "--b--", TV_ERR_INVALID_INPUT, false,
     false},
    {"a changeset and a read", "--b|" CHANGESET "--b|" PART GET "|--b--", TV_ERR_INVALID_INPUT,
     false, false},
    {"a preamble and an epilogue", "x|--b|" CHANGESET "--b--|y", TV_OK, false, false},
    {"an open batch", "--b|" CHANGESET "--b|", TV_ERR_INVALID_INPUT, false, false},
    {"an open changeset",
     "--b|Content-Type: multipart/mixed; boundary=c||--c|" PART PUT "--c|--b--",
     TV_ERR_INVALID_INPUT, false, false},
    {"a boundary that nobody uses",
     "--b|Content-Type: multipart/mixed; boundary=x||--c|" PART PUT "--c--|--b--",
     TV_ERR_INVALID_INPUT, false, false},
    {"a changeset inside a changeset",
     "--b|Content-Type: multipart/mixed; boundary=c||--c|Content-Type: multipart/mixed; "
     "boundary=d||--d|" PART PUT "--d--|--c--|--b--",
     TV_ERR_INVALID_INPUT, true, false},
    {"a part with a header that is not valid", "--b|rubbish|" PART GET "|--b--",
     TV_ERR_INVALID_INPUT, false, false},
    {"an empty part", "--b||--b--", TV_ERR_INVALID_INPUT, true, true},
    {"no part", "--b--", TV_ERR_INVALID_INPUT, false, false},
    {"nothing", "", TV_ERR_INVALID_INPUT, false, false},
};

TEST(a_batch_is_one_changeset_or_one_read)
{
    for (size_t i = 0; i < COUNT(bodies); i++) {
        tv_table_batch batch;

        t_row = bodies[i].what;
        body.len = 0;
        add(&plain, bodies[i].body);
        CHECK_ERR(parse(tv_buf_slice(&body), &batch), bodies[i].err);
        CHECK_INT(batch.is_part_error, bodies[i].is_part_error);
        CHECK_INT(batch.is_query, bodies[i].is_query);
        if (bodies[i].err == TV_OK)
            CHECK_INT(batch.count, 1);
    }
}

TEST(a_batch_without_a_boundary_is_refused)
{
    static const char *const types[] = {"", "multipart/mixed", "application/json",
                                        "multipart/mixed; boundary="};
    tv_table_batch batch;
    tv_error_info info;

    add(&plain, "--b|" CHANGESET "--b--");
    for (size_t i = 0; i < COUNT(types); i++) {
        t_row = types[i];
        CHECK_ERR(parse_as(types[i], tv_buf_slice(&body), &batch, &info), TV_ERR_INVALID_INPUT);
        CHECK(!batch.is_part_error);
    }
}

TEST(an_error_in_a_part_keeps_its_text)
{
    tv_table_batch batch;
    tv_error_info info;

    open_changeset();
    add_op(&plain, "POST", "people", "", "{\"PartitionKey\":\"a/b\",\"RowKey\":\"r\"}");
    CHECK_ERR(parse_as("multipart/mixed; boundary=b", close_changeset(), &batch, &info),
              TV_ERR_OUT_OF_RANGE);
    CHECK_TEXT(info.text, "The 'PartitionKey' parameter of value 'a/b' is out of range.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(six_clients_are_understood, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_body_cut_at_any_byte_is_never_a_smaller_batch, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_changeset_has_up_to_100_operations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_wrong_operation_is_named_by_its_index, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_part_belongs_to_the_account_that_signed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_batch_is_one_changeset_or_one_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_batch_without_a_boundary_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_error_in_a_part_keeps_its_text, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
