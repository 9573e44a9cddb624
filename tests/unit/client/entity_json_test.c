/* Entities and pages from JSON, and back. */
#include <math.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "check.h"
#include "client/entity/entity.h"
#include "client/memory_faults.h"

/* Memory that is exactly as large as promised, so that reading past it is found. */
static char *exact(tv_slice text)
{
    char *copy = tvc_alloc(text.len + 1);

    if (copy && text.len)
        memcpy(copy, text.data, text.len);
    return copy;
}

static tavola_err read_entity(const char *json, tavola_entity **ret_entity)
{
    char *copy = exact(tv_slice_of(json));

    return copy ? tvc_entity_read(copy, strlen(json), ret_entity) : TAVOLA_ERR_NO_MEMORY;
}

static tavola_err read_page(const char *json, tavola_page **ret_page)
{
    char *copy = exact(tv_slice_of(json));

    return copy ? tvc_page_read(copy, strlen(json), ret_page) : TAVOLA_ERR_NO_MEMORY;
}

/* "Int64 12": a property as text. */
static const char *show(const tavola_entity *entity, const char *name)
{
    static char text[300];
    char *to = text;
    tavola_value value;

    if (!tavola_entity_get(entity, name, &value))
        return "absent";

    switch (value.type) {
    case TAVOLA_NONE:
        return "none";
    case TAVOLA_STRING:
        assert_int_equal(((const char *)value.as.ptr)[value.size], '\0');
        snprintf(text, sizeof text, "String %s", (const char *)value.as.ptr);
        break;
    case TAVOLA_BINARY:
        to += snprintf(text, sizeof text, "Binary ");
        for (size_t i = 0; i < value.size; i++)
            to += snprintf(to, 3, "%02x", ((const uint8_t *)value.as.ptr)[i]);
        break;
    case TAVOLA_BOOLEAN:
        snprintf(text, sizeof text, "Boolean %d", value.as.boolean);
        break;
    case TAVOLA_INT32:
        snprintf(text, sizeof text, "Int32 %d", value.as.int32);
        break;
    case TAVOLA_INT64:
        snprintf(text, sizeof text, "Int64 %lld", (long long)value.as.int64);
        break;
    case TAVOLA_DOUBLE:
        snprintf(text, sizeof text, "Double %.17g", value.as.real);
        break;
    case TAVOLA_DATETIME:
        snprintf(text, sizeof text, "DateTime %lld", (long long)value.as.ticks);
        break;
    case TAVOLA_GUID:
        to += snprintf(text, sizeof text, "Guid ");
        for (size_t i = 0; i < 16; i++)
            to += snprintf(to, 3, "%02x", value.as.guid.bytes[i]);
        break;
    }
    return text;
}

/* How a property P is read. */
TEST(takes_the_type_from_the_token_and_the_annotation)
{
    static const struct {
        const char *json, *property;
    } cases[] = {
        {"\"P\":\"x\"", "String x"},
        {"\"P\":\"\"", "String "},
        {"\"P\":true", "Boolean 1"},
        {"\"P\":false", "Boolean 0"},
        {"\"P\":null", "absent"},
        {"\"P\":0", "Int32 0"},
        {"\"P\":-0", "Int32 0"},
        {"\"P\":2147483647", "Int32 2147483647"},
        {"\"P\":-2147483648", "Int32 -2147483648"},
        {"\"P\":2147483648", "Double 2147483648"},
        {"\"P\":9007199254740993", "Double 9007199254740992"},
        {"\"P\":123456789012345678901234567890", "Double 1.2345678901234568e+29"},
        {"\"P\":5.0", "Double 5"},
        {"\"P\":-0.0", "Double -0"},
        {"\"P\":1E3", "Double 1000"},
        {"\"P\":12.5e-2", "Double 0.125"},
        {"\"P\":4.94065645841247E-324", "Double 4.9406564584124654e-324"},
        {"\"P\":1.7976931348623157E+308", "Double 1.7976931348623157e+308"},
        {"\"P\":\"2026-01-02T03:04:05Z\"", "String 2026-01-02T03:04:05Z"},
        {"\"P@odata.type\":\"Edm.Int64\",\"P\":\"9007199254740993\"", "Int64 9007199254740993"},
        {"\"P@odata.type\":\"Edm.Int64\",\"P\":\"-9223372036854775808\"",
         "Int64 -9223372036854775808"},
        {"\"P@odata.type\":\"Edm.Int64\",\"P\":9007199254740993", "Int64 9007199254740993"},
        {"\"P@odata.type\":\"Edm.Int32\",\"P\":23", "Int32 23"},
        {"\"P@odata.type\":\"Edm.Int32\",\"P\":\"23\"", "Int32 23"},
        {"\"P@odata.type\":\"Edm.Double\",\"P\":5", "Double 5"},
        {"\"P@odata.type\":\"Edm.Double\",\"P\":\"0\"", "Double 0"},
        {"\"P@odata.type\":\"Edm.Double\",\"P\":\"NaN\"", "Double nan"},
        {"\"P@odata.type\":\"Edm.Double\",\"P\":\"Infinity\"", "Double inf"},
        {"\"P@odata.type\":\"Edm.Double\",\"P\":\"-Infinity\"", "Double -inf"},
        {"\"P@odata.type\":\"Edm.Boolean\",\"P\":\"True\"", "Boolean 1"},
        {"\"P@odata.type\":\"Edm.Boolean\",\"P\":false", "Boolean 0"},
        {"\"P@odata.type\":\"Edm.String\",\"P\":\"x\"", "String x"},
        {"\"P@odata.type\":\"Edm.DateTime\",\"P\":\"2026-01-02T03:04:05.1234567Z\"",
         "DateTime 639029198451234567"},
        {"\"P@odata.type\":\"Edm.DateTime\",\"P\":\"2026-01-02T03:04:05.1Z\"",
         "DateTime 639029198451000000"},
        {"\"P@odata.type\":\"Edm.DateTime\",\"P\":\"2026-01-02T03:04:05Z\"",
         "DateTime 639029198450000000"},
        {"\"P@odata.type\":\"Edm.DateTime\",\"P\":\"2026-01-02T05:04:05+02:00\"",
         "DateTime 639029198450000000"},
        {"\"P@odata.type\":\"Edm.DateTime\",\"P\":\"1601-01-01T00:00:00Z\"",
         "DateTime 504911232000000000"},
        {"\"P@odata.type\":\"Edm.DateTime\",\"P\":\"9999-12-31T23:59:59.9999999Z\"",
         "DateTime 3155378975999999999"},
        {"\"P@odata.type\":\"Edm.Guid\",\"P\":\"6F9619ff-8b86-d011-b42d-00c04fc964ff\"",
         "Guid 6f9619ff8b86d011b42d00c04fc964ff"},
        {"\"P@odata.type\":\"Edm.Binary\",\"P\":\"AQID\"", "Binary 010203"},
        {"\"P@odata.type\":\"Edm.Binary\",\"P\":\"\"", "Binary "},
        {"\"P@odata.type\":\"Edm.Binary\",\"P\":\"/w==\"", "Binary ff"},
        {"\"P@odata.type\":\"Edm.Binary\",\"P\":\"\\/w\\u003d=\"", "Binary ff"},
        {"\"P@odata.type\":\"Edm.Int64\",\"P\":null", "absent"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[300];
        tavola_entity *entity = NULL;

        t_row = cases[i].json;
        snprintf(json, sizeof json, "{%s}", cases[i].json);
        CHECK_INT(read_entity(json, &entity), TAVOLA_OK);
        CHECK_TEXT(tv_slice_of(show(entity, "P")), cases[i].property);
        tavola_entity_free(entity);
    }
}

/* Wherever the annotations of A and B stand, also with blanks and escaped names. */
TEST(finds_annotations_in_any_order)
{
    static const char *const members[] = {"\"A@odata.type\":\"Edm.Int64\"",
                                          "\"A\":9007199254740993",
                                          "\"B@odata.type\":\"Edm.Binary\"", "\"B\":\"AQID\""};
    static const char *const odd_members[] = {
        "\"\\u0041@odata.type\" : \"Edm.Int64\"", "\"\\u0041\" :\n9007199254740993",
        " \"B@odata.type\":\"Edm.Binary\"", "\"\\u0042\":\"AQ\\u0049D\" "};
    const char *const *sets[] = {members, odd_members};

    for (int n = 0; n < 2 * 256; n++) {
        int order[4] = {n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6 & 3};
        const char *const *set = sets[n >> 8];
        tavola_entity *entity = NULL;
        char json[400];

        if (((1 << order[0]) | (1 << order[1]) | (1 << order[2]) | (1 << order[3])) != 15)
            continue;
        snprintf(json, sizeof json, "{%s,%s,\"RowKey\":\"r\",%s,%s}", set[order[0]], set[order[1]],
                 set[order[2]], set[order[3]]);
        t_row = json;
        CHECK_INT(read_entity(json, &entity), TAVOLA_OK);
        CHECK_INT(tavola_entity_count(entity), 2);
        CHECK_TEXT(tv_slice_of(show(entity, "A")), "Int64 9007199254740993");
        CHECK_TEXT(tv_slice_of(show(entity, "B")), "Binary 010203");
        tavola_entity_free(entity);
    }
}

TEST(reads_late_annotations_of_every_kind_of_token)
{
    static const struct {
        const char *value, *type, *property;
    } cases[] = {
        {"5", "Double", "Double 5"},
        {"5", "Int32", "Int32 5"},
        {"\"5\"", "Int64", "Int64 5"},
        {"9223372036854775807", "Int64", "Int64 9223372036854775807"},
        {"5.5", "Double", "Double 5.5"},
        {"true", "Boolean", "Boolean 1"},
        {"\"false\"", "Boolean", "Boolean 0"},
        {"\"x\"", "String", "String x"},
        {"\"0001-01-01T00:00:00Z\"", "DateTime", "DateTime 0"},
        {"\"6f9619ff-8b86-d011-b42d-00c04fc964ff\"", "Guid",
         "Guid 6f9619ff8b86d011b42d00c04fc964ff"},
        {"null", "Int64", "absent"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[300];
        tavola_entity *entity = NULL;

        t_row = cases[i].value;
        snprintf(json, sizeof json, "{\"P\":%s,\"Q\":1,\"P@odata.type\":\"Edm.%s\"}",
                 cases[i].value, cases[i].type);
        CHECK_INT(read_entity(json, &entity), TAVOLA_OK);
        CHECK_TEXT(tv_slice_of(show(entity, "P")), cases[i].property);
        CHECK_TEXT(tv_slice_of(show(entity, "Q")), "Int32 1");
        tavola_entity_free(entity);
    }
}

TEST(unescapes_strings)
{
    static const struct {
        const char *label, *json, *text;
    } cases[] = {
        {"plain and long", "0123456789abcdef0123456789abcdef0",
         "0123456789abcdef0123456789abcdef0"},
        {"every short one", "\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"},
        {"between runs", "0123456789abcdefg\\n0123456789\\n0123456789abcdefghi",
         "0123456789abcdefg\n0123456789\n0123456789abcdefghi"},
        {"two bytes", "\\u00e9", "\xc3\xa9"},
        {"three bytes", "\\u20AC", "\xe2\x82\xac"},
        {"a pair", "x\\ud83d\\ude00y", "x\xf0\x9f\x98\x80y"},
        {"UTF-8 as it is", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"both", "\xc3\xa9\\u00e9 0123456789abcdef \xc3\xa9",
         "\xc3\xa9\xc3\xa9 0123456789abcdef \xc3\xa9"},
        {"DEL is no control", "\x7f", "\x7f"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[300];
        tavola_entity *entity = NULL;
        const char *text = NULL;

        t_row = cases[i].label;
        snprintf(json, sizeof json, "{\"a\":\"%s\",\"b\":\"%s\"}", cases[i].json, cases[i].json);
        CHECK_INT(read_entity(json, &entity), TAVOLA_OK);
        CHECK(tavola_entity_get_string(entity, "a", &text));
        CHECK_TEXT(tv_slice_of(text), cases[i].text);
        CHECK(tavola_entity_get_string(entity, "b", &text));
        CHECK_TEXT(tv_slice_of(text), cases[i].text);
        tavola_entity_free(entity);
    }
}

/* Escapes at every place of a string of every length up to some blocks. */
TEST(unescapes_at_every_place)
{
    for (size_t len = 0; len < 40; len++) {
        for (size_t at = 0; at <= len; at++) {
            char json[200], wanted[120];
            tavola_entity *entity = NULL;
            const char *text = NULL;

            snprintf(json, sizeof json, "{\"a\":\"%.*s\\u00e9%.*s\"}", (int)at,
                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", (int)(len - at),
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
            snprintf(wanted, sizeof wanted, "%.*s\xc3\xa9%.*s", (int)at,
                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", (int)(len - at),
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
            t_row = json;
            CHECK_INT(read_entity(json, &entity), TAVOLA_OK);
            CHECK(tavola_entity_get_string(entity, "a", &text));
            CHECK_TEXT(tv_slice_of(text), wanted);
            tavola_entity_free(entity);
        }
    }
}

TEST(keeps_a_nul_inside_of_a_value_only)
{
    tavola_entity *entity = NULL;
    tavola_value value;
    const char *text;

    assert_int_equal(read_entity("{\"a\":\"x\\u0000y\"}", &entity), TAVOLA_OK);
    assert_true(tavola_entity_get(entity, "a", &value));
    assert_int_equal(value.size, 3);
    assert_memory_equal(value.as.ptr, "x\0y", 4);
    assert_false(tavola_entity_get_string(entity, "a", &text));
    tavola_entity_free(entity);
}

TEST(reads_keys_etag_and_timestamp)
{
    static const char json[] =
        "{\"odata.metadata\":\"http://h/$metadata#t/@Element\",\"odata.type\":\"a.t\","
        "\"odata.id\":\"http://h/t(PartitionKey='p',RowKey='r')\","
        "\"odata.etag\":\"W/\\\"datetime'2026-01-02T03%3A04%3A05.1234567Z'\\\"\","
        "\"odata.editLink\":\"t(PartitionKey='p',RowKey='r')\","
        "\"PartitionKey@odata.type\":\"Edm.String\",\"PartitionKey\":\"p\\u00e4\",\"RowKey\":\"r\","
        "\"Timestamp@odata.type\":\"Edm.DateTime\",\"Timestamp\":\"2026-01-02T03:04:05.1234567Z\","
        "\"odata.unknown\":{\"a\":[1,2,{\"b\":null}]},\"A@odata.navigationLink\":[],\"A\":1}";
    tavola_entity *entity = NULL;

    assert_int_equal(read_entity(json, &entity), TAVOLA_OK);
    assert_string_equal(tavola_entity_partition_key(entity), "p\xc3\xa4");
    assert_string_equal(tavola_entity_row_key(entity), "r");
    assert_string_equal(tavola_entity_etag(entity),
                        "W/\"datetime'2026-01-02T03%3A04%3A05.1234567Z'\"");
    assert_int_equal(tavola_entity_timestamp(entity), INT64_C(639029198451234567));
    assert_int_equal(tavola_entity_count(entity), 1);
    assert_false(entity->properties[0].is_set);
    tavola_entity_set_int32(entity, "A", 2);
    tavola_entity_set_int32(entity, "B", 2);
    assert_true(entity->properties[0].is_set && entity->properties[1].is_set);
    tavola_entity_free(entity);

    assert_int_equal(read_entity(" {} ", &entity), TAVOLA_OK);
    assert_string_equal(tavola_entity_partition_key(entity), "");
    assert_string_equal(tavola_entity_row_key(entity), "");
    assert_null(tavola_entity_etag(entity));
    assert_int_equal(tavola_entity_count(entity), 0);
    tavola_entity_set_int32(entity, "A", 2);
    assert_int_equal(tavola_entity_count(entity), 1);
    tavola_entity_free(entity);
}

/* What is not an entity, and inside of a page is not a page. */
static const char *const malformed_entities[] = {
    "{\"a\":1,\"a\":1}",
    "{\"a\":1,\"b\":true,\"c@odata.type\":\"Edm.Int64\",\"c\":\"1\",\"a\":\"x\"}",
    "{\"PartitionKey\":\"a\",\"PartitionKey\":\"a\"}",
    "{\"RowKey\":\"\",\"RowKey\":\"a\"}",
    "{\"odata.etag\":\"a\",\"odata.etag\":\"a\"}",
    "{\"Timestamp\":\"2026-01-02T03:04:05Z\",\"Timestamp\":\"2026-01-02T03:04:05Z\"}",
    "",
    " ",
    "null",
    "[]",
    "\"x\"",
    "{",
    "{\"",
    "{\"a",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{,}",
    "{\"a\" 1}",
    "{a:1}",
    "{'a':1}",
    "{\"a\":1 \"b\":1}",
    "{\"a\":1}x",
    "{\"a\":1}}",
    "{\"a\":01}",
    "{\"a\":+1}",
    "{\"a\":.5}",
    "{\"a\":5.}",
    "{\"a\":1e}",
    "{\"a\":1e+}",
    "{\"a\":-}",
    "{\"a\":--1}",
    "{\"a\":0x1}",
    "{\"a\":1e999}",
    "{\"a\":NaN}",
    "{\"a\":tru}",
    "{\"a\":truely}",
    "{\"a\":nul}",
    "{\"a\":nullx}",
    "{\"a\":{}}",
    "{\"a\":[]}",
    "{\"a\":[1,2]}",
    "{\"a\":\"x}",
    "{\"a\":\"\\\"}",
    "{\"a\":\"\\x41\"}",
    "{\"a\":\"\\u12\"}",
    "{\"a\":\"\\u12g4\"}",
    "{\"a\":\"\\ud800\"}",
    "{\"a\":\"\\ud800x\"}",
    "{\"a\":\"\\ud800\\n\"}",
    "{\"a\":\"\\ud800\\u0041\"}",
    "{\"a\":\"\\udc00\"}",
    "{\"a\":\"\\ud83d\\ude0\"}",
    "{\"a\":\"\n\"}",
    "{\"a\":\"\x1f\"}",
    "{\"a\":\"\xff\"}",
    "{\"a\":\"\xc3\"}",
    "{\"a\":\"\xc3\\u00e9\"}",
    "{\"a\":\"\xed\xa0\x80\"}",
    "{\"a\":\"\xc0\x80\"}",
    "{\"a\":\"\xf4\x90\x80\x80\"}",
    "{\"\xff\":1}",
    "{\"a\\u0000\":1}",
    "{\"PartitionKey\":1}",
    "{\"PartitionKey\":true}",
    "{\"RowKey\":{}}",
    "{\"RowKey\":\"a\\u0000b\"}",
    "{\"Timestamp\":1}",
    "{\"Timestamp\":\"yesterday\"}",
    "{\"odata.etag\":1}",
    "{\"odata.etag\":\"a\\u0000b\"}",
    "{\"odata.x\":[1,}",
    "{\"odata.x\":[1,]}",
    "{\"odata.x\":{\"a\"}}",
    "{\"odata.x\":[1}}",
    "{\"odata.x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
    "{\"a@odata.type\":1,\"a\":1}",
    "{\"a@odata.type\":\"Edm.Int16\",\"a\":1}",
    "{\"a@odata.type\":\"Edm.DateTimeOffset\",\"a\":\"2026-01-02T03:04:05Z\"}",
    "{\"a@odata.type\":\"Edm.Int32\",\"a\":2147483648}",
    "{\"a@odata.type\":\"Edm.Int32\",\"a\":1.0}",
    "{\"a@odata.type\":\"Edm.Int32\",\"a\":true}",
    "{\"a@odata.type\":\"Edm.Int64\",\"a\":\"9223372036854775808\"}",
    "{\"a@odata.type\":\"Edm.Int64\",\"a\":\"\"}",
    "{\"a@odata.type\":\"Edm.Int64\",\"a\":1.5}",
    "{\"a@odata.type\":\"Edm.Double\",\"a\":\"x\"}",
    "{\"a@odata.type\":\"Edm.Double\",\"a\":true}",
    "{\"a@odata.type\":\"Edm.Boolean\",\"a\":1}",
    "{\"a@odata.type\":\"Edm.Boolean\",\"a\":\"yes\"}",
    "{\"a@odata.type\":\"Edm.String\",\"a\":1}",
    "{\"a@odata.type\":\"Edm.DateTime\",\"a\":\"2026-13-02T03:04:05Z\"}",
    "{\"a@odata.type\":\"Edm.DateTime\",\"a\":\"2026-01-02T24:04:05Z\"}",
    "{\"a@odata.type\":\"Edm.DateTime\",\"a\":\"2026-01-02T03:04:05.12345678Z\"}",
    "{\"a@odata.type\":\"Edm.DateTime\",\"a\":1}",
    "{\"a@odata.type\":\"Edm.Guid\",\"a\":\"6f9619ff8b86d011b42d00c04fc964ff\"}",
    "{\"a@odata.type\":\"Edm.Binary\",\"a\":\"AQI\"}",
    "{\"a@odata.type\":\"Edm.Binary\",\"a\":\"AQ=D\"}",
    "{\"a@odata.type\":\"Edm.Binary\",\"a\":1}",
    "{\"a\":1,\"a@odata.type\":\"Edm.Guid\"}",
    "{\"a\":\"x\",\"b\":1,\"a@odata.type\":\"Edm.Int64\"}",
};

TEST(refuses_what_is_not_an_entity)
{
    for (size_t i = 0; i < sizeof malformed_entities / sizeof *malformed_entities; i++) {
        tavola_entity *entity = NULL;
        tavola_page *page = NULL;
        char json[300];

        t_row = malformed_entities[i];
        CHECK_INT(read_entity(malformed_entities[i], &entity), TAVOLA_ERR_PROTOCOL);
        CHECK(entity == NULL);
        CHECK_INT(
            tavola_entity_from_json(malformed_entities[i], strlen(malformed_entities[i]), &entity),
            TAVOLA_ERR_INVALID);
        CHECK(entity == NULL);

        snprintf(json, sizeof json, "{\"value\":[{\"z\":1},%s]}", malformed_entities[i]);
        CHECK_INT(read_page(json, &page), TAVOLA_ERR_PROTOCOL);
        CHECK(page == NULL);
    }
    assert_int_equal(tvc_entity_read(NULL, 0, NULL), TAVOLA_ERR_PROTOCOL);
    assert_int_equal(tvc_page_read(NULL, 0, NULL), TAVOLA_ERR_PROTOCOL);
}

/* Every beginning of a good answer is refused. */
TEST(refuses_answers_that_were_cut_off)
{
    static const char json[] =
        "{\"odata.metadata\":\"m\",\"value\":[{\"odata.etag\":\"W/"
        "\\\"x\\\"\",\"PartitionKey\":\"p\","
        "\"a@odata.type\":\"Edm.Int64\",\"a\":\"12\",\"b\":1.5e3,\"c\":\"\\ud83d\\ude00\"},{}]}";

    for (size_t len = 0; len < sizeof json - 1; len++) {
        tavola_page *page = NULL;

        assert_int_equal(tvc_page_read(exact((tv_slice){json, len}), len, &page),
                         TAVOLA_ERR_PROTOCOL);
    }
}

TEST(refuses_what_is_not_a_page)
{
    static const char *const cases[] = {
        "",
        "[]",
        "{}",
        "{\"values\":[]}",
        "{\"value\":{}}",
        "{\"value\":null}",
        "{\"value\":[1]}",
        "{\"value\":[null]}",
        "{\"value\":[{},]}",
        "{\"value\":[{}{}]}",
        "{\"value\":[{}]",
        "{\"value\":[{}]}}",
        "{\"value\":[],\"value\":[]}",
        "{\"value\":[{}],\"x\":}",
        "{\"value\":[{}],\"x\":\"\xff\"}",
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_page *page = NULL;

        t_row = cases[i];
        CHECK_INT(read_page(cases[i], &page), TAVOLA_ERR_PROTOCOL);
    }
}

TEST(reads_pages)
{
    static const char *const cases[] = {
        "{\"odata.metadata\":\"http://h/$metadata#t\",\"value\":[%s]}",
        "{\"value\":[%s],\"odata.metadata\":\"x\"}",
        " { \"value\" : [ %s ] , \"more\" : { \"a\" : [ { } , [ ] , -1.5e3, true ] } } ",
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[500];
        tavola_page *page = NULL;

        t_row = cases[i];
        snprintf(json, sizeof json, cases[i], "");
        CHECK_INT(read_page(json, &page), TAVOLA_OK);
        CHECK_INT(page->count, 0);
        tvc_page_free(page);

        snprintf(json, sizeof json, cases[i],
                 "{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"a\":1,\"b\":\"x\"},{ } , "
                 "{\"RowKey\":\"2\",\"c\":2.5}");
        CHECK_INT(read_page(json, &page), TAVOLA_OK);
        CHECK_INT(page->count, 3);
        CHECK_TEXT(tv_slice_of(page->entities[0].row_key), "1");
        CHECK_TEXT(tv_slice_of(show(&page->entities[0], "a")), "Int32 1");
        CHECK_TEXT(tv_slice_of(show(&page->entities[0], "b")), "String x");
        CHECK_TEXT(tv_slice_of(show(&page->entities[0], "c")), "absent");
        CHECK_INT(page->entities[1].count, 0);
        CHECK_TEXT(tv_slice_of(page->entities[1].partition_key), "");
        CHECK_TEXT(tv_slice_of(page->entities[2].row_key), "2");
        CHECK_TEXT(tv_slice_of(show(&page->entities[2], "c")), "Double 2.5");
        tavola_entity_free(&page->entities[0]); /* a view: nothing happens */
        CHECK_TEXT(tv_slice_of(page->entities[0].row_key), "1");
        tvc_page_free(page);
    }
    tvc_page_free(NULL);
}

/* The memory of a page serves the next one, larger or smaller, with nothing left of the old one. */
TEST(reads_a_page_into_the_memory_of_another)
{
    static const int counts[] = {3, 100, 0, 1, 200, 200};
    tavola_page *page = NULL;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        tvc_text text = {0};

        tvc_text_add_lit(&text, "{\"value\":[");
        for (int k = 0; k < counts[i]; k++) {
            tvc_text_add(&text, k ? TV_LIT(",{\"a\":\"x\",\"b\":") : TV_LIT("{\"b\":"));
            tvc_text_add_int64(&text, k);
            tvc_text_add_char(&text, '}');
        }
        tvc_text_add_lit(&text, "]}");

        size_t len = text.buf.len;

        assert_int_equal(tvc_page_read_into(page, tvc_text_take(&text), len, &page), TAVOLA_OK);
        assert_int_equal(page->count, counts[i]);
        assert_null(page->token);
        for (int k = 0; k < counts[i]; k++) {
            const tavola_entity *entity = &page->entities[k];
            int32_t number;

            assert_int_equal(tavola_entity_count(entity), k ? 2 : 1);
            assert_true(tavola_entity_get_int32(entity, "b", &number) && number == k);
            assert_string_equal(entity->partition_key, "");
        }
        if (page->count)
            assert_int_equal(tvc_entity_put(&page->entities[0], TV_LIT("c"), tavola_int32(1)),
                             TAVOLA_OK);
        page->token = tvc_dup(TV_LIT("token"));
    }

    /* What cannot be read takes the old page with it. */
    tavola_page *none = NULL;

    assert_int_equal(tvc_page_read_into(page, exact(TV_LIT("{}")), 2, &none), TAVOLA_ERR_PROTOCOL);
    assert_null(none);
}

/* Decryption replaces values of a page's entities. */
TEST(changes_views)
{
    tavola_page *page = NULL;

    assert_int_equal(read_page("{\"value\":[{\"a\":\"1\",\"b\":2},{\"a\":\"3\",\"b\":4}]}", &page),
                     TAVOLA_OK);

    tavola_entity *first = &page->entities[0], *second = &page->entities[1];

    tvc_entity_drop(first, 1);
    assert_int_equal(tvc_entity_put(first, TV_LIT("c"), tavola_string("a long text")), TAVOLA_OK);
    assert_int_equal(tvc_entity_put(first, TV_LIT("d"), tavola_string("and one more")), TAVOLA_OK);
    assert_int_equal(tvc_entity_put(first, TV_LIT("a"), tavola_int32(7)), TAVOLA_OK);
    assert_string_equal(show(first, "a"), "Int32 7");
    assert_string_equal(show(first, "b"), "absent");
    assert_string_equal(show(first, "c"), "String a long text");
    assert_string_equal(show(first, "d"), "String and one more");
    assert_string_equal(show(second, "a"), "String 3");
    assert_string_equal(show(second, "b"), "Int32 4");
    assert_int_equal(tavola_entity_count(second), 2);
    assert_false(first->is_unset || first->properties[0].is_set);

    tavola_entity *copy = tavola_entity_copy(first);

    tvc_page_free(page);
    assert_string_equal(show(copy, "d"), "String and one more");
    assert_false(copy->is_view);
    tavola_entity_free(copy);
}

TEST(writes_what_is_sent)
{
    tavola_entity *entity = tavola_entity_new("e\"u", "O'Hara\xc3\xa9");
    tvc_text text = {0};

    tavola_entity_set_string(entity, "s", "a\"\\\n\x01\x7f\xe2\x82\xac/");
    tavola_entity_set_binary(entity, "b", "\x01\x02\x03", 3);
    tavola_entity_set_boolean(entity, "t", true);
    tavola_entity_set_boolean(entity, "f", false);
    tavola_entity_set_int32(entity, "i", -7);
    tavola_entity_set_int64(entity, "l", INT64_MIN);
    tavola_entity_set_double(entity, "d", 5);
    tavola_entity_set_double(entity, "z", -0.0);
    tavola_entity_set_double(entity, "n", NAN);
    tavola_entity_set_double(entity, "m", -INFINITY);
    tavola_entity_set_datetime(entity, "w", INT64_C(639029198451234567));
    tavola_entity_set_guid(entity, "\xc3\xa4g", (tavola_guid){{1, 2, 3}});
    tavola_entity_set_etag(entity, "W/\"x\"");
    entity->timestamp = INT64_C(639029198451234567);
    assert_int_equal(tavola_entity_error(entity), TAVOLA_OK);

    tvc_entity_write(&text, entity);

    char *json = tvc_text_take(&text);

    assert_string_equal(
        json,
        "{\"PartitionKey\":\"e\\\"u\",\"RowKey\":\"O'Hara\xc3\xa9\","
        "\"s\":\"a\\\"\\\\\\n\\u0001\x7f\xe2\x82\xac/\","
        "\"b@odata.type\":\"Edm.Binary\",\"b\":\"AQID\",\"t\":true,\"f\":false,\"i\":-7,"
        "\"l@odata.type\":\"Edm.Int64\",\"l\":\"-9223372036854775808\","
        "\"d@odata.type\":\"Edm.Double\",\"d\":5.0,\"z@odata.type\":\"Edm.Double\",\"z\":-0.0,"
        "\"n@odata.type\":\"Edm.Double\",\"n\":\"NaN\","
        "\"m@odata.type\":\"Edm.Double\",\"m\":\"-Infinity\","
        "\"w@odata.type\":\"Edm.DateTime\",\"w\":\"2026-01-02T03:04:05.1234567Z\","
        "\"\xc3\xa4g@odata.type\":\"Edm.Guid\","
        "\"\xc3\xa4g\":\"01020300-0000-0000-0000-000000000000\"}");
    tvc_release(json);

    json = tavola_entity_json(entity);
    assert_string_equal(
        json, "{\"odata.etag\":\"W/\\\"x\\\"\",\"PartitionKey\":\"e\\\"u\","
              "\"RowKey\":\"O'Hara\\u00e9\",\"Timestamp\":\"2026-01-02T03:04:05.1234567Z\","
              "\"s\":\"a\\\"\\\\\\n\\u0001\x7f\\u20ac/\","
              "\"b@odata.type\":\"Edm.Binary\",\"b\":\"AQID\",\"t\":true,\"f\":false,\"i\":-7,"
              "\"l@odata.type\":\"Edm.Int64\",\"l\":\"-9223372036854775808\",\"d\":5.0,\"z\":-0.0,"
              "\"n@odata.type\":\"Edm.Double\",\"n\":\"NaN\","
              "\"m@odata.type\":\"Edm.Double\",\"m\":\"-Infinity\","
              "\"w@odata.type\":\"Edm.DateTime\",\"w\":\"2026-01-02T03:04:05.1234567Z\","
              "\"\\u00e4g@odata.type\":\"Edm.Guid\","
              "\"\\u00e4g\":\"01020300-0000-0000-0000-000000000000\"}");

    tavola_entity *again = NULL;

    assert_int_equal(tavola_entity_from_json(json, strlen(json), &again), TAVOLA_OK);
    assert_true(tvc_entity_same(entity, again));
    assert_string_equal(tavola_entity_etag(again), "W/\"x\"");
    assert_string_equal(tavola_entity_row_key(again), "O'Hara\xc3\xa9");
    assert_int_equal(tavola_entity_timestamp(again), entity->timestamp);
    assert_true(again->properties[0].is_set);
    tavola_free(json);
    tavola_entity_free(again);
    tavola_entity_free(entity);
}

/* Strings of every length and of the worst characters fit the room that was taken for them. */
TEST(writes_the_worst_strings)
{
    static char worst[32768];
    static const char fills[] = {1, '"', 'x'};

    for (size_t fill = 0; fill < sizeof fills; fill++) {
        static const size_t sizes[] = {0, 1, 15, 16, 17, 255, 256, 257, 5000, 32768};

        memset(worst, fills[fill], sizeof worst);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            tavola_entity *entity = tavola_entity_new("p", "r"), *again = NULL;
            tvc_text text = {0};

            tavola_entity_set(entity, "a", (tavola_value){TAVOLA_STRING, sizes[i], {.ptr = worst}});
            tavola_entity_set(entity, "b", (tavola_value){TAVOLA_STRING, sizes[i], {.ptr = worst}});
            assert_int_equal(tavola_entity_error(entity), TAVOLA_OK);
            tvc_entity_write(&text, entity);

            size_t len = text.buf.len;
            char *json = tvc_text_take(&text);

            assert_int_equal(tvc_entity_read(json, len, &again), TAVOLA_OK);
            assert_true(tvc_entity_same(entity, again));
            tavola_entity_free(again);
            tavola_entity_free(entity);
        }
    }
}

TEST(refuses_lines_that_are_not_entities)
{
    static const struct {
        const char *label, *json;
        tavola_err err;
    } cases[] = {
        {"an entity", "{\"PartitionKey\":\"\",\"RowKey\":\"\",\"a\":1}", TAVOLA_OK},
        {"no PartitionKey", "{\"RowKey\":\"r\"}", TAVOLA_ERR_INVALID},
        {"no RowKey", "{\"PartitionKey\":\"r\"}", TAVOLA_ERR_INVALID},
        {"a null for a key", "{\"PartitionKey\":null,\"RowKey\":\"r\"}", TAVOLA_ERR_INVALID},
        {"a slash in a key", "{\"PartitionKey\":\"a/b\",\"RowKey\":\"r\"}", TAVOLA_ERR_INVALID},
        {"the same name twice", "{\"PartitionKey\":\"\",\"RowKey\":\"\",\"a\":1,\"a\":1}",
         TAVOLA_ERR_INVALID},
        {"a name with a dash", "{\"PartitionKey\":\"\",\"RowKey\":\"\",\"a-b\":1}",
         TAVOLA_ERR_INVALID},
        {"a time before 1601",
         "{\"PartitionKey\":\"\",\"RowKey\":\"\",\"a@odata.type\":\"Edm.DateTime\","
         "\"a\":\"1600-12-31T00:00:00Z\"}",
         TAVOLA_ERR_INVALID},
        {"a line break in the etag",
         "{\"PartitionKey\":\"\",\"RowKey\":\"\",\"odata.etag\":\"a\\nb\"}", TAVOLA_ERR_INVALID},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_entity *entity = NULL;

        t_row = cases[i].label;
        CHECK_INT(tavola_entity_from_json(cases[i].json, strlen(cases[i].json), &entity),
                  cases[i].err);
        CHECK((entity != NULL) == (cases[i].err == TAVOLA_OK));
        tavola_entity_free(entity);
    }
    assert_int_equal(tavola_entity_from_json(NULL, 0, NULL), TAVOLA_ERR_INVALID);
}

TEST(bounds_what_a_server_can_send)
{
    tvc_text text = {0};
    tavola_page *page = NULL;

    for (int count = 512; count <= 513; count++) {
        tvc_text_add_lit(&text, "{\"value\":[{\"p\":0");
        for (int i = 1; i < count; i++) {
            char member[24];

            snprintf(member, sizeof member, ",\"p%d\":0", i);
            tvc_text_add(&text, tv_slice_of(member));
        }
        tvc_text_add_lit(&text, "}]}");

        size_t len = text.buf.len;

        assert_int_equal(tvc_page_read(tvc_text_take(&text), len, &page),
                         count == 512 ? TAVOLA_OK : TAVOLA_ERR_PROTOCOL);
        if (page)
            assert_int_equal(page->entities[0].count, 512);
        tvc_page_free(page);
        page = NULL;
    }
    for (int count = 65536; count <= 65537; count++) {
        tvc_text_add_lit(&text, "{\"value\":[{}");
        for (int i = 1; i < count; i++)
            tvc_text_add_lit(&text, ",{}");
        tvc_text_add_lit(&text, "]}");

        size_t len = text.buf.len;

        assert_int_equal(tvc_page_read(tvc_text_take(&text), len, &page),
                         count == 65536 ? TAVOLA_OK : TAVOLA_ERR_PROTOCOL);
        tvc_page_free(page);
        page = NULL;
    }
}

/* A page of many entities that get denser, and more so than was estimated. */
TEST(reads_many_entities)
{
    enum { ENTITIES = 1000 };
    tvc_text text = {0};
    tavola_page *page = NULL;

    tvc_text_add_lit(&text, "{\"value\":[");
    for (int i = 0; i < ENTITIES; i++) {
        if (i)
            tvc_text_add_char(&text, ',');
        tvc_text_add_lit(&text, "{\"RowKey\":\"");
        tvc_text_add_int64(&text, i);
        tvc_text_add_char(&text, '"');
        for (int k = 0; k < i / 10; k++) {
            tvc_text_add_lit(&text, ",\"p");
            tvc_text_add_int64(&text, k);
            tvc_text_add_lit(&text, "\":");
            tvc_text_add_int64(&text, i + k);
        }
        tvc_text_add_char(&text, '}');
    }
    tvc_text_add_lit(&text, "]}");

    size_t len = text.buf.len;

    assert_int_equal(tvc_page_read(tvc_text_take(&text), len, &page), TAVOLA_OK);
    assert_int_equal(page->count, ENTITIES);
    for (int i = 0; i < ENTITIES; i++) {
        const tavola_entity *entity = &page->entities[i];
        int32_t number;

        assert_int_equal(strtol(entity->row_key, NULL, 10), i);
        assert_int_equal(tavola_entity_count(entity), i / 10);
        if (i >= 10) {
            assert_true(tavola_entity_get_int32(entity, "p0", &number));
            assert_int_equal(number, i);
        }
    }
    tvc_page_free(page);
}

TEST(survives_a_lack_of_memory)
{
    static const char json[] =
        "{\"value\":[{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"a\":1,\"b\":2,\"c\":3,\"d\":4,"
        "\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,\"k\":11,\"l\":12,\"m\":13,\"n\":14,"
        "\"o\":15,\"p\":16,\"q\":17,\"r\":\"x\"}"
        ",{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]}";
    static const char line[] = "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"a\":1,\"b\":\"x\"}";

    MEMORY_FAULTS(fault)
    {
        tavola_page *page = NULL;
        tavola_entity *entity = NULL;
        tavola_err err = read_page(json, &page);

        if (err == TAVOLA_OK) {
            err = tvc_entity_put(&page->entities[1], TV_LIT("x"), tavola_string("yz"));
            assert_int_equal(page->entities[1].count, err == TAVOLA_OK);
        }
        if (err)
            assert_int_equal(err, TAVOLA_ERR_NO_MEMORY);

        char *copy = exact(TV_LIT("{\"value\":[{\"a\":1}]}"));

        if (copy) {
            err = tvc_page_read_into(page, copy, sizeof "{\"value\":[{\"a\":1}]}" - 1, &page);
            if (err)
                page = NULL;
        }
        tvc_page_free(page);

        err = tavola_entity_from_json(line, strlen(line), &entity);
        if (err)
            assert_int_equal(err, TAVOLA_ERR_NO_MEMORY);

        char *again = tavola_entity_json(entity);

        if (again)
            assert_string_equal(again, line);
        else
            assert_true(memory_fault_was_hit());
        tavola_free(again);
        tavola_entity_free(entity);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_type_from_the_token_and_the_annotation),
        cmocka_unit_test(finds_annotations_in_any_order),
        cmocka_unit_test(reads_late_annotations_of_every_kind_of_token),
        cmocka_unit_test(unescapes_strings),
        cmocka_unit_test(unescapes_at_every_place),
        cmocka_unit_test(keeps_a_nul_inside_of_a_value_only),
        cmocka_unit_test(reads_keys_etag_and_timestamp),
        cmocka_unit_test(refuses_what_is_not_an_entity),
        cmocka_unit_test(refuses_answers_that_were_cut_off),
        cmocka_unit_test(refuses_what_is_not_a_page),
        cmocka_unit_test(reads_pages),
        cmocka_unit_test(reads_a_page_into_the_memory_of_another),
        cmocka_unit_test(changes_views),
        cmocka_unit_test(writes_what_is_sent),
        cmocka_unit_test(writes_the_worst_strings),
        cmocka_unit_test(refuses_lines_that_are_not_entities),
        cmocka_unit_test(bounds_what_a_server_can_send),
        cmocka_unit_test(reads_many_entities),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
