/* What a request asks for: method, resource, condition, format. */
#include "services/table/command.h"

#include "check.h"
#include "requests.h"
#include "services/table/call.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define ENTITY "people(PartitionKey='p',RowKey='r')"
#define ETAG "W/\"datetime'2026-01-02T03%3A04%3A05Z'\""

static tv_arena arena;

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&arena);
    return 0;
}

/* As a request. */
static tv_err choose(tv_request *request, const tv_endpoint *endpoint, tv_table_command *command)
{
    tv_table_service service = {.base.spec = &tv_table_spec};
    tv_table_call t = {.base = {.service = &service.base,
                                .req = request,
                                .endpoint = *endpoint,
                                .op = &tv_table_spec.ops[TV_OP_UNKNOWN]}};
    tv_err err = tv_table_spec.read_path(&t.base);

    if (err == TV_OK)
        err = tv_call_choose(&t.base);
    *command = t.command;
    return err;
}

/* A request and a part of a batch, which must give the same result. */
static tv_err parse(const char *method, const char *target, const char *headers,
                    tv_table_command *command)
{
    tv_request request = request_new(&arena, method, target, headers);
    tv_endpoint endpoint = request_endpoint(&arena, &request);
    tv_table_head head = tv_table_head_of(&request);
    tv_error_info info = {0};
    tv_err err = tv_table_command_parse(&arena, &head, &endpoint, command, &info);
    tv_table_command chosen;

    tv_arena_init(&request.arena);
    CHECK_ERR(choose(&request, &endpoint, &chosen), err);
    CHECK_INT(chosen.kind, command->kind);
    CHECK_INT(chosen.level, command->level);
    CHECK_INT(chosen.is_xml, command->is_xml);
    tv_arena_done(&request.arena);
    return err;
}

/* --- method against resource --- */

static const char *const methods[] = {"GET",   "HEAD",   "POST",    "PUT", "PATCH",
                                      "MERGE", "DELETE", "OPTIONS", "BREW"};

/* Without and with If-Match: a kind, or an error. */
typedef struct cell {
    tv_table_op_kind kind;
    tv_err err;
} cell;

#define OP(name)                                                                                   \
    {                                                                                              \
        TV_TABLE_OP_##name, TV_OK                                                                  \
    }
#define NOT_ALLOWED                                                                                \
    {                                                                                              \
        TV_TABLE_OP_UNKNOWN, TV_ERR_METHOD_NOT_ALLOWED                                             \
    }
#define NO_VERB                                                                                    \
    {                                                                                              \
        TV_TABLE_OP_UNKNOWN, TV_ERR_INVALID_VERB                                                   \
    }
#define NOT_IMPLEMENTED                                                                            \
    {                                                                                              \
        TV_TABLE_OP_UNKNOWN, TV_ERR_NOT_IMPLEMENTED                                                \
    }

/* clang-format off */
static const struct {
    const char *target, *headers;
    cell cells[COUNT(methods)];
} operations[] = {
    {"Tables", "", {OP(QUERY_TABLES), NOT_ALLOWED, OP(CREATE_TABLE), NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NO_VERB}},
    {"Tables('people')", "", {OP(QUERY_TABLE), NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, OP(DELETE_TABLE), NOT_ALLOWED, NO_VERB}},
    {"people", "", {OP(QUERY_ENTITIES), NOT_ALLOWED, OP(INSERT_ENTITY), NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NO_VERB}},
    {"people()", "", {OP(QUERY_ENTITIES), NOT_ALLOWED, OP(INSERT_ENTITY), NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NO_VERB}},
    {"people", "If-Match: rubbish\n", {OP(QUERY_ENTITIES), NOT_ALLOWED, OP(INSERT_ENTITY), NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NO_VERB}},
    {ENTITY, "", {OP(QUERY_ENTITY), NOT_ALLOWED, NOT_ALLOWED, OP(INSERT_OR_REPLACE_ENTITY), OP(INSERT_OR_MERGE_ENTITY), OP(INSERT_OR_MERGE_ENTITY),
                  {TV_TABLE_OP_DELETE_ENTITY, TV_ERR_MISSING_HEADER}, NOT_ALLOWED, NO_VERB}},
    {ENTITY, "If-Match: *\n", {OP(QUERY_ENTITY), NOT_ALLOWED, NOT_ALLOWED, OP(UPDATE_ENTITY), OP(MERGE_ENTITY), OP(MERGE_ENTITY), OP(DELETE_ENTITY), NOT_ALLOWED, NO_VERB}},
    {ENTITY, "If-Match: " ETAG "\n", {OP(QUERY_ENTITY), NOT_ALLOWED, NOT_ALLOWED, OP(UPDATE_ENTITY), OP(MERGE_ENTITY), OP(MERGE_ENTITY), OP(DELETE_ENTITY), NOT_ALLOWED, NO_VERB}},
    {"$batch", "", {NOT_ALLOWED, NOT_ALLOWED, OP(BATCH), NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, NO_VERB}},
    {"", "", {NOT_IMPLEMENTED, NOT_IMPLEMENTED, NOT_IMPLEMENTED, NOT_IMPLEMENTED, NOT_IMPLEMENTED, NOT_IMPLEMENTED, NOT_IMPLEMENTED, NOT_IMPLEMENTED, NO_VERB}},
};
/* clang-format on */

TEST(method_resource_and_condition_make_an_operation)
{
    for (size_t i = 0; i < COUNT(operations); i++) {
        for (size_t m = 0; m < COUNT(methods); m++) {
            const cell *want = &operations[i].cells[m];
            tv_table_command command;
            char row[200];

            snprintf(row, sizeof row, "%s %s %s", methods[m], operations[i].target,
                     operations[i].headers);
            t_row = row;
            CHECK_ERR(parse(methods[m], operations[i].target, operations[i].headers, &command),
                      want->err);
            CHECK_TEXT(tv_slice_of(tv_table_spec.ops[command.kind].name),
                       tv_table_spec.ops[want->kind].name);
        }
    }
}

static const struct {
    const char *what, *method, *headers;
    tv_err err;
    tv_table_op_kind kind;
} tunnels[] = {
    {"PUT", "POST", "X-HTTP-Method: PUT\n", TV_OK, TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY},
    {"PUT with a condition", "POST", "X-HTTP-Method: PUT\nIf-Match: *\n", TV_OK,
     TV_TABLE_OP_UPDATE_ENTITY},
    {"MERGE", "POST", "x-http-method: MERGE\n", TV_OK, TV_TABLE_OP_INSERT_OR_MERGE_ENTITY},
    {"PATCH", "POST", "X-HTTP-Method: PATCH\nIf-Match: *\n", TV_OK, TV_TABLE_OP_MERGE_ENTITY},
    {"DELETE", "POST", "X-HTTP-Method: DELETE\nIf-Match: *\n", TV_OK, TV_TABLE_OP_DELETE_ENTITY},
    {"DELETE without a condition", "POST", "X-HTTP-Method: DELETE\n", TV_ERR_MISSING_HEADER, 0},
    {"GET is not tunnelled", "POST", "X-HTTP-Method: GET\n", TV_ERR_XMETHOD_VALUE, 0},
    {"nor is POST", "POST", "X-HTTP-Method: POST\n", TV_ERR_XMETHOD_VALUE, 0},
    {"lower case", "POST", "X-HTTP-Method: put\n", TV_ERR_XMETHOD_VALUE, 0},
    {"empty", "POST", "X-HTTP-Method:\n", TV_ERR_XMETHOD_VALUE, 0},
    {"through another method", "PUT", "X-HTTP-Method: PUT\n", TV_ERR_XMETHOD_NOT_POST, 0},
    {"through a read", "GET", "X-HTTP-Method: DELETE\nIf-Match: *\n", TV_ERR_XMETHOD_NOT_POST, 0},
    {"twice", "POST", "X-HTTP-Method: PUT\nX-HTTP-Method: PUT\n", TV_ERR_XMETHOD_COUNT, 0},
    {"no tunnel", "POST", "", TV_ERR_METHOD_NOT_ALLOWED, 0},
};

TEST(post_tunnels_four_methods)
{
    for (size_t i = 0; i < COUNT(tunnels); i++) {
        tv_table_command command;

        t_row = tunnels[i].what;
        CHECK_ERR(parse(tunnels[i].method, ENTITY, tunnels[i].headers, &command), tunnels[i].err);
        if (tunnels[i].err == TV_OK)
            CHECK_INT(command.kind, tunnels[i].kind);
    }
}

TEST(the_condition_is_kept)
{
    tv_table_command command;

    CHECK_OK(parse("PUT", ENTITY, "If-Match: " ETAG "\n", &command));
    CHECK_INT(command.condition.kind, TV_TABLE_CONDITION_EXACT);
    CHECK_OK(parse("PUT", ENTITY, "If-Match: *\n", &command));
    CHECK_INT(command.condition.kind, TV_TABLE_CONDITION_ANY);
    CHECK_OK(parse("PUT", ENTITY, "", &command));
    CHECK_INT(command.condition.kind, TV_TABLE_CONDITION_NONE);
    CHECK_OK(parse("PUT", ENTITY, "If-Match: W/\"0x8\"\n", &command));
    CHECK_INT(command.condition.kind, TV_TABLE_CONDITION_NEVER);
    CHECK_ERR(parse("PUT", ENTITY, "If-Match: \"strong\"\n", &command), TV_ERR_ETAG_INVALID);
    CHECK_ERR(parse("DELETE", ENTITY, "If-Match:\n", &command), TV_ERR_ETAG_INVALID);
}

static const struct {
    const char *what, *method, *target;
    tv_err err;
} names[] = {
    {"a bad table", "GET", "a_b()", TV_ERR_NAME_INVALID},
    {"a short table", "POST", "ab", TV_ERR_NAME_LENGTH},
    {"a reserved table", "GET", "TABLES", TV_ERR_NAME_RESERVED},
    {"a bad table to delete", "DELETE", "Tables('a-b')", TV_ERR_NAME_INVALID},
    {"a bad table of an entity", "PUT", "a_b(PartitionKey='p',RowKey='r')", TV_ERR_NAME_INVALID},
    {"a slash in a key", "PUT", "people(PartitionKey='a%2Fb',RowKey='r')", TV_ERR_QUERY_SYNTAX},
    {"a control character in a key", "PUT", "people(PartitionKey='p',RowKey='%01')",
     TV_ERR_OUT_OF_RANGE},
    {"the method is looked at before the name", "PUT", "a_b", TV_ERR_METHOD_NOT_ALLOWED},
    {"a bad path", "GET", "people/x/y", TV_ERR_INVALID_URI},
    {"a bad escape", "GET", "people%2", TV_ERR_URL_UNPARSABLE},
};

TEST(names_are_checked_on_every_operation)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        tv_table_command command;

        t_row = names[i].what;
        CHECK_ERR(parse(names[i].method, names[i].target, "", &command), names[i].err);
    }
}

/* --- formats --- */

static const struct {
    const char *what, *target, *accept; /* NULL: no header */
    tv_err err;
    tv_table_metadata_level level;
} formats[] = {
    {"no Accept", "people()", NULL, TV_OK, TV_TABLE_METADATA_MINIMAL},
    {"an empty Accept", "people()", "", TV_OK, TV_TABLE_METADATA_MINIMAL},
    {"plain JSON", "people()", "application/json", TV_OK, TV_TABLE_METADATA_MINIMAL},
    {"anything", "people()", "*/*", TV_OK, TV_TABLE_METADATA_MINIMAL},
    {"any application", "people()", "application/*", TV_OK, TV_TABLE_METADATA_MINIMAL},
    {"minimal", "people()", "application/json;odata=minimalmetadata", TV_OK,
     TV_TABLE_METADATA_MINIMAL},
    {"none", "people()", "application/json;odata=nometadata", TV_OK, TV_TABLE_METADATA_NONE},
    {"full", "people()", "application/json;odata=fullmetadata", TV_OK, TV_TABLE_METADATA_FULL},
    {"case and blanks", "people()", "Application/JSON ; OData = NoMetadata", TV_OK,
     TV_TABLE_METADATA_NONE},
    {"another parameter in front", "people()", "application/json;q=1;odata=fullmetadata", TV_OK,
     TV_TABLE_METADATA_FULL},
    {"the first of two", "people()",
     "application/json;odata=nometadata,application/json;odata=fullmetadata", TV_OK,
     TV_TABLE_METADATA_NONE},
    {"the first that can be served", "people()",
     "application/atom+xml, text/html, application/json;odata=fullmetadata", TV_OK,
     TV_TABLE_METADATA_FULL},
    {"Atom", "people()", "application/atom+xml", TV_ERR_ATOM_FORMAT, 0},
    {"Atom and XML: the first problem", "people()", "application/atom+xml,application/xml",
     TV_ERR_ATOM_FORMAT, 0},
    {"XML and Atom", "people()", "application/xml,application/atom+xml", TV_ERR_MEDIA_TYPE, 0},
    {"verbose JSON", "people()", "application/json;odata=verbose", TV_ERR_JSON_VERBOSE_FORMAT, 0},
    {"unknown metadata", "people()", "application/json;odata=much", TV_ERR_MEDIA_TYPE, 0},
    {"HTML", "people()", "text/html", TV_ERR_MEDIA_TYPE, 0},
    {"$format wins", "people()?$format=application/json;odata=nometadata",
     "application/json;odata=fullmetadata", TV_OK, TV_TABLE_METADATA_NONE},
    {"$format wins over Atom", "people()?%24format=application%2Fjson%3Bodata%3Dfullmetadata",
     "application/atom+xml", TV_OK, TV_TABLE_METADATA_FULL},
    {"an empty $format is none", "people()?$format=", "application/json;odata=fullmetadata", TV_OK,
     TV_TABLE_METADATA_FULL},
    {"a $format that is not JSON", "people()?$format=application/atom%2Bxml", "application/json",
     TV_ERR_ATOM_FORMAT, 0},
    {"a plus in a query is a blank", "people()?$format=application/atom+xml", "application/json",
     TV_ERR_MEDIA_TYPE, 0},
    {"a $format that cannot be decoded", "people()?$format=%zz", NULL, TV_ERR_URL_UNPARSABLE, 0},
};

TEST(format_and_accept_choose_the_level)
{
    for (size_t i = 0; i < COUNT(formats); i++) {
        char headers[200] = "";
        tv_table_command command;

        t_row = formats[i].what;
        if (formats[i].accept)
            snprintf(headers, sizeof headers, "Accept: %s\n", formats[i].accept);
        CHECK_ERR(parse("GET", formats[i].target, headers, &command), formats[i].err);
        if (formats[i].err == TV_OK)
            CHECK_INT(command.level, formats[i].level);
    }
}

static const struct {
    const char *what, *method, *target;
    tv_err err;
    size_t count; /* of selected names */
} selects[] = {
    {"a query", "GET", "people()?$select=a,b", TV_OK, 2},
    {"a point read", "GET", ENTITY "?%24select=a", TV_OK, 1},
    {"none", "GET", "people()", TV_OK, 0},
    {"a write does not look at it", "PUT", ENTITY "?$select=%zz", TV_OK, 0},
    {"nor do tables", "GET", "Tables?$select=%zz", TV_OK, 0},
    {"it cannot be decoded", "GET", "people()?$select=%zz", TV_ERR_URL_UNPARSABLE, 0},
};

TEST(several_accept_headers_are_one_list)
{
    tv_table_command command;

    CHECK_OK(parse("GET", "people()",
                   "Accept: application/atom+xml\nAccept: application/json;odata=fullmetadata\n",
                   &command));
    CHECK_INT(command.level, TV_TABLE_METADATA_FULL);
    CHECK_ERR(
        parse("GET", "people()", "Accept: application/atom+xml\nAccept: text/html\n", &command),
        TV_ERR_ATOM_FORMAT);
}

TEST(reads_select_properties)
{
    for (size_t i = 0; i < COUNT(selects); i++) {
        tv_table_command command;

        t_row = selects[i].what;
        CHECK_ERR(parse(selects[i].method, selects[i].target, "", &command), selects[i].err);
        CHECK_INT(command.select.count, selects[i].count);
        CHECK_INT(tv_table_command_view(&command).select.count, selects[i].count);
    }
}

TEST(a_view_says_where_entities_are)
{
    tv_table_command command;

    CHECK_OK(parse("GET", ENTITY, "Accept: application/json;odata=fullmetadata\n", &command));
    tv_entity_view view = tv_table_command_view(&command);
    CHECK_INT(view.level, TV_TABLE_METADATA_FULL);
    CHECK_TEXT(view.base_url, "http://127.0.0.1:10002/acct");
    CHECK_TEXT(view.account, "acct");
    CHECK_TEXT(view.table, "people");
}

static const struct {
    const char *what, *method, *target, *type;
    tv_err err;
} bodies[] = {
    {"JSON", "POST", "people", "application/json", TV_OK},
    {"JSON with metadata", "POST", "people", "application/json;odata=nometadata", TV_OK},
    {"text", "POST", "people", "text/plain", TV_OK},
    {"nothing", "POST", "people", "", TV_OK},
    {"Atom", "POST", "people", "application/atom+xml", TV_ERR_ATOM_FORMAT},
    {"Atom with parameters", "POST", "people", "Application/Atom+XML;type=entry",
     TV_ERR_ATOM_FORMAT},
    {"Atom for a table", "POST", "Tables", "application/atom+xml", TV_ERR_ATOM_FORMAT},
    {"Atom for an update", "PUT", ENTITY, "application/atom+xml", TV_ERR_ATOM_FORMAT},
    {"Atom where there is no body", "GET", ENTITY, "application/atom+xml", TV_OK},
};

TEST(bodies_are_json)
{
    for (size_t i = 0; i < COUNT(bodies); i++) {
        char headers[200];
        tv_table_command command;

        t_row = bodies[i].what;
        snprintf(headers, sizeof headers, "Content-Type: %s\n", bodies[i].type);
        CHECK_ERR(parse(bodies[i].method, bodies[i].target, headers, &command), bodies[i].err);
    }
}

TEST(a_batch_has_no_format_of_its_own)
{
    tv_table_command command;

    CHECK_OK(parse("POST", "$batch", "Accept: multipart/mixed\n", &command));
}

TEST(prefer_is_read_and_kept_after_an_error)
{
    tv_table_command command;

    CHECK_OK(parse("POST", "people", "", &command));
    CHECK_INT(command.prefer, TV_TABLE_PREFER_NONE);
    CHECK_OK(parse("POST", "people", "Prefer: Return-Content\n", &command));
    CHECK_INT(command.prefer, TV_TABLE_PREFER_CONTENT);
    CHECK_ERR(parse("POST", "a_b", "Prefer: return-no-content\n", &command), TV_ERR_NAME_INVALID);
    CHECK_INT(command.prefer, TV_TABLE_PREFER_NO_CONTENT);
    CHECK_OK(parse("POST", "people", "Prefer: respond-async\n", &command));
    CHECK_INT(command.prefer, TV_TABLE_PREFER_NONE);
}

TEST(a_content_id_that_cannot_be_sent_back_is_none)
{
    tv_table_command command;

    CHECK_OK(parse("PUT", ENTITY, "Content-ID: 7\n", &command));
    CHECK_TEXT(command.content_id, "7");
    CHECK_OK(parse("PUT", ENTITY, "Content-ID: a\rb\n", &command));
    CHECK(command.content_id.data == NULL);
    CHECK_OK(parse("PUT", ENTITY, "Content-ID: \xC3\xB4\n", &command));
    CHECK(command.content_id.data == NULL);
}

/* --- the body of a write --- */

static const struct {
    const char *what, *method, *target, *headers, *json;
    tv_err err;
    const char *partition_key, *row_key;
    const char *first; /* name of the first property */
} writes[] = {
    {"an insert takes its keys from the body", "POST", "people", "",
     "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"b\":1,\"a\":2}", TV_OK, "p", "r", "b"},
    {"empty keys are keys", "POST", "people", "", "{\"PartitionKey\":\"\",\"RowKey\":\"\"}", TV_OK,
     "", "", NULL},
    {"an insert without a PartitionKey", "POST", "people", "", "{\"RowKey\":\"r\"}",
     TV_ERR_PROPERTIES_NEED_VALUE, "", "", NULL},
    {"an insert without a RowKey", "POST", "people", "", "{\"PartitionKey\":\"p\"}",
     TV_ERR_PROPERTIES_NEED_VALUE, "", "", NULL},
    {"a null is no key", "POST", "people", "", "{\"PartitionKey\":\"p\",\"RowKey\":null}",
     TV_ERR_PROPERTIES_NEED_VALUE, "", "", NULL},
    {"a bad key in the body", "POST", "people", "", "{\"PartitionKey\":\"a/b\",\"RowKey\":\"r\"}",
     TV_ERR_OUT_OF_RANGE, "", "", NULL},
    {"another bad key in the body", "POST", "people", "",
     "{\"PartitionKey\":\"p\",\"RowKey\":\"\\u0001\"}", TV_ERR_OUT_OF_RANGE, "", "", NULL},
    {"an update takes its keys from the URL, and sorts", "PUT", ENTITY, "", "{\"b\":1,\"a\":2}",
     TV_OK, "p", "r", "a"},
    {"a merge sorts too", "MERGE", ENTITY, "", "{\"b\":1,\"B\":2}", TV_OK, "p", "r", "B"},
    {"the same keys in the body", "PUT", ENTITY, "",
     "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"a\":1}", TV_OK, "p", "r", "a"},
    {"another PartitionKey in the body", "PUT", ENTITY, "", "{\"PartitionKey\":\"q\"}",
     TV_ERR_INVALID_INPUT, "", "", NULL},
    {"another RowKey in the body", "PATCH", ENTITY, "", "{\"RowKey\":\"R\"}", TV_ERR_INVALID_INPUT,
     "", "", NULL},
    {"a null key contradicts nothing", "PUT", ENTITY, "", "{\"RowKey\":null}", TV_OK, "p", "r",
     NULL},
    {"a bad body", "PUT", ENTITY, "", "{", TV_ERR_INVALID_INPUT, "", "", NULL},
    {"a delete has no body", "DELETE", ENTITY, "If-Match: *\n", "rubbish", TV_OK, "p", "r", NULL},
};

TEST(keys_come_from_the_url_or_the_body)
{
    for (size_t i = 0; i < COUNT(writes); i++) {
        tv_error_info info = {0};
        tv_table_command command;

        t_row = writes[i].what;
        CHECK_OK(parse(writes[i].method, writes[i].target, writes[i].headers, &command));
        CHECK(tv_table_command_is_entity_write(&command));
        CHECK_ERR(tv_table_command_read_body(&arena, tv_slice_of(writes[i].json), &command, &info),
                  writes[i].err);
        if (writes[i].err)
            continue;
        CHECK_TEXT(command.resource.partition_key, writes[i].partition_key);
        CHECK_TEXT(command.resource.row_key, writes[i].row_key);
        if (writes[i].first)
            CHECK_TEXT(command.body.properties.list[0].name, writes[i].first);
        else
            CHECK_INT(command.body.properties.count, 0);
    }
}

TEST(an_entity_over_1_mib_is_refused_when_its_body_is_read)
{
    tv_buf json = TV_BUF_EMPTY;
    tv_error_info info = {0};
    tv_table_command command;

    tv_buf_add_lit(&json, "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"");
    for (int i = 0; i < 16; i++) {
        tv_buf_printf(&json, ",\"p%c\":\"", 'a' + i);
        memset(tv_buf_reserve(&json, 32768), 'x', 32768);
        json.len += 32768 - (i == 15 ? 136 : 0);
        tv_buf_add_char(&json, '"');
    }
    tv_buf_add_char(&json, '}');
    /* The keys cost 8 and each property 16 in addition to its text: four units are left. */
    CHECK_OK(parse("POST", "people", "", &command));
    json.len -= 2;
    tv_buf_add_lit(&json, "xxxx\"}");
    CHECK_OK(tv_table_command_read_body(&arena, tv_buf_slice(&json), &command, &info));
    json.len -= 2;
    tv_buf_add_lit(&json, "x\"}");
    CHECK_ERR(tv_table_command_read_body(&arena, tv_buf_slice(&json), &command, &info),
              TV_ERR_ENTITY_TOO_LARGE);
    tv_buf_done(&json);
}

TEST(only_changes_of_one_entity_are_entity_writes)
{
    static const tv_table_op_kind kinds[] = {
        TV_TABLE_OP_INSERT_ENTITY,          TV_TABLE_OP_UPDATE_ENTITY,
        TV_TABLE_OP_MERGE_ENTITY,           TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY,
        TV_TABLE_OP_INSERT_OR_MERGE_ENTITY, TV_TABLE_OP_DELETE_ENTITY,
    };
    size_t count = 0;

    for (size_t i = 0; i < COUNT(kinds); i++)
        CHECK(tv_table_command_is_entity_write(&(tv_table_command){.kind = kinds[i]}));
    for (int kind = 0; kind < TV_TABLE_OP_COUNT; kind++)
        count +=
            tv_table_command_is_entity_write(&(tv_table_command){.kind = (tv_table_op_kind)kind});
    CHECK_INT(count, COUNT(kinds));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(method_resource_and_condition_make_an_operation),
        cmocka_unit_test(post_tunnels_four_methods),
        cmocka_unit_test(the_condition_is_kept),
        cmocka_unit_test(names_are_checked_on_every_operation),
        cmocka_unit_test(format_and_accept_choose_the_level),
        cmocka_unit_test(several_accept_headers_are_one_list),
        cmocka_unit_test(reads_select_properties),
        cmocka_unit_test(a_view_says_where_entities_are),
        cmocka_unit_test(bodies_are_json),
        cmocka_unit_test(a_batch_has_no_format_of_its_own),
        cmocka_unit_test(prefer_is_read_and_kept_after_an_error),
        cmocka_unit_test(a_content_id_that_cannot_be_sent_back_is_none),
        cmocka_unit_test(keys_come_from_the_url_or_the_body),
        cmocka_unit_test(an_entity_over_1_mib_is_refused_when_its_body_is_read),
        cmocka_unit_test(only_changes_of_one_entity_are_entity_writes),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
