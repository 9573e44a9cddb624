/* Properties out of JSON: the types, and every way to be wrong. */
#include "services/table/entity_read.h"

#include <math.h>

#include "base/base64.h"
#include "base/buf.h"
#include "check.h"
#include "properties.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

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

static tv_err read_body(tv_slice json, tv_entity_body *ret_body)
{
    tv_error_info info = {0};

    return tv_entity_body_read(&arena, json, ret_body, &info);
}

/*
 * Every type against every kind of JSON value.  A cell is the value as the
 * metadata-less text below, or NULL when it is refused.
 */
static const char *const type_names[] = {"(none)",       "Edm.String", "Edm.Boolean",
                                         "Edm.Int32",    "Edm.Int64",  "Edm.Double",
                                         "Edm.DateTime", "Edm.Guid",   "Edm.Binary"};

/* clang-format off */
#define NO NULL
static const struct {
    const char *json;
    const char *cells[COUNT(type_names)];
} matrix[] = {
    /*                 none           String         Boolean      Int32      Int64     Double     DateTime Guid Binary */
    {"\"\"",          {"String ",     "String ",     NO,          NO,        NO,       NO,        NO, NO, "Binary "}},
    {"\"text\"",      {"String text", "String text", NO,          NO,        NO,       NO,        NO, NO, "Binary \xB5\xEC\x6D"}},
    {"\"true\"",      {"String true", "String true", "Boolean 1", NO,        NO,       NO,        NO, NO, "Binary \xB6\xBB\x9E"}},
    {"\"false\"",     {"String false","String false","Boolean 0", NO,        NO,       NO,        NO, NO, NO}},
    {"\"True\"",      {"String True", "String True", "Boolean 1", NO,          NO,       NO,        NO, NO, "Binary \x4E\xBB\x9E"}},
    {"true",          {"Boolean 1",   NO,            "Boolean 1", NO,        NO,       NO,        NO, NO, NO}},
    {"false",         {"Boolean 0",   NO,            "Boolean 0", NO,        NO,       NO,        NO, NO, NO}},
    {"7",             {"Int32 7",     NO,            NO,          "Int32 7", "Int64 7","Double 7",NO, NO, NO}},
    {"-0",            {"Int32 0",     NO,            NO,          "Int32 0", "Int64 0","Double -0",NO,NO, NO}},
    {"\"7\"",         {"String 7",    "String 7",    NO,          "Int32 7", "Int64 7","Double 7",NO, NO, NO}},
    {"7.0",           {"Double 7",    NO,            NO,          NO,        NO,       "Double 7",NO, NO, NO}},
    {"7E0",           {"Double 7",    NO,            NO,          NO,        NO,       "Double 7",NO, NO, NO}},
    {"\"7.5\"",       {"String 7.5",  "String 7.5",  NO,          NO,        NO,       "Double 7.5",NO,NO,NO}},
    {"2147483647",    {"Int32 2147483647", NO, NO, "Int32 2147483647", "Int64 2147483647", "Double 2147483647", NO, NO, NO}},
    {"2147483648",    {"Double 2147483648", NO, NO, NO,       "Int64 2147483648", "Double 2147483648", NO, NO, NO}},
    {"-2147483648",   {"Int32 -2147483648", NO, NO, "Int32 -2147483648", "Int64 -2147483648", "Double -2147483648", NO, NO, NO}},
    {"-2147483649",   {"Double -2147483649", NO, NO, NO,      "Int64 -2147483649", "Double -2147483649", NO, NO, NO}},
    {"9223372036854775807",  {"Double 9.2233720368547758e+18", NO, NO, NO, "Int64 9223372036854775807", "Double 9.2233720368547758e+18", NO, NO, NO}},
    {"9223372036854775808",  {"Double 9.2233720368547758e+18", NO, NO, NO, NO, "Double 9.2233720368547758e+18", NO, NO, NO}},
    {"1e999",         {NO, NO, NO, NO, NO, NO, NO, NO, NO}},
    {"\"NaN\"",       {"String NaN",  "String NaN",  NO, NO, NO, "Double nan", NO, NO, NO}},
    {"\"Infinity\"",  {"String Infinity", "String Infinity", NO, NO, NO, "Double inf", NO, NO, "Binary \x22\x77\xE2\x9E\x2B\x72"}},
    {"\"-Infinity\"", {"String -Infinity", "String -Infinity", NO, NO, NO, "Double -inf", NO, NO, NO}},
    {"\"nan\"",       {"String nan",  "String nan",  NO, NO, NO, NO, NO, NO, NO}},
    {"\" 7\"",        {"String  7",   "String  7",   NO, NO, NO, NO, NO, NO, NO}},
    {"\"0x7\"",       {"String 0x7",  "String 0x7",  NO, NO, NO, NO, NO, NO, NO}},
    {"\"2026-01-02T03:04:05Z\"",
     {"String 2026-01-02T03:04:05Z", "String 2026-01-02T03:04:05Z", NO, NO, NO, NO, "DateTime 639029198450000000", NO, NO}},
    {"\"6F9619FF-8b86-d011-b42d-00c04fc964ff\"",
     {"String 6F9619FF-8b86-d011-b42d-00c04fc964ff", "String 6F9619FF-8b86-d011-b42d-00c04fc964ff", NO, NO, NO, NO, NO,
      "Guid 6f9619ff-8b86-d011-b42d-00c04fc964ff", NO}},
    {"\"AQID\"",      {"String AQID", "String AQID", NO, NO, NO, NO, NO, NO, "Binary \x01\x02\x03"}},
    {"{}",            {NO, NO, NO, NO, NO, NO, NO, NO, NO}},
    {"[1]",           {NO, NO, NO, NO, NO, NO, NO, NO, NO}},
};

/* clang-format on */

/* A property as the cells above write it. */
static const char *describe(const tv_property *property)
{
    static char text[200];
    char guid[TV_GUID_TEXT_LEN];

    switch (property->type) {
    case TV_EDM_STRING:
        snprintf(text, sizeof text, "String %.*s", TV_FMT(property->bytes));
        break;
    case TV_EDM_BOOLEAN:
        snprintf(text, sizeof text, "Boolean %d", property->boolean);
        break;
    case TV_EDM_INT32:
        snprintf(text, sizeof text, "Int32 %d", property->int32);
        break;
    case TV_EDM_INT64:
        snprintf(text, sizeof text, "Int64 %lld", (long long)property->int64);
        break;
    case TV_EDM_DOUBLE:
        snprintf(text, sizeof text, "Double %.17g", property->real);
        break;
    case TV_EDM_DATETIME:
        snprintf(text, sizeof text, "DateTime %lld", (long long)property->ticks);
        break;
    case TV_EDM_GUID:
        tv_guid_format(guid, &property->guid);
        snprintf(text, sizeof text, "Guid %.36s", guid);
        break;
    case TV_EDM_BINARY:
        snprintf(text, sizeof text, "Binary %.*s", TV_FMT(property->bytes));
        break;
    }
    return text;
}

TEST(every_type_takes_its_own_kinds_of_json)
{
    for (size_t i = 0; i < COUNT(matrix); i++) {
        for (size_t type = 0; type < COUNT(type_names); type++) {
            const char *want = matrix[i].cells[type];
            tv_slice json;
            tv_entity_body body;
            char row[100];

            snprintf(row, sizeof row, "%s as %s", matrix[i].json, type_names[type]);
            t_row = row;
            /* The annotation comes after its value: some clients write it so. */
            json = type == 0 ? tv_arena_printf(&arena, "{\"v\":%s}", matrix[i].json)
                             : tv_arena_printf(&arena, "{\"v\":%s,\"v@odata.type\":\"%s\"}",
                                               matrix[i].json, type_names[type]);
            CHECK_ERR(read_body(json, &body), want ? TV_OK : TV_ERR_INVALID_INPUT);
            if (want == NULL)
                continue;
            CHECK_INT(body.properties.count, 1);
            CHECK_TEXT(body.properties.list[0].name, "v");
            CHECK_TEXT(tv_slice_of(describe(&body.properties.list[0])), want);
        }
    }
}

static const struct {
    const char *what, *json;
    tv_err err;
    const char *properties; /* "name type value" joined by '|' */
} bodies[] = {
    {"nothing", "{}", TV_OK, ""},
    {"an annotation in front", "{\"a@odata.type\":\"Edm.Int64\",\"a\":\"1\"}", TV_OK, "a Int64 1"},
    {"an annotation after", "{\"a\":\"1\",\"a@odata.type\":\"Edm.Int64\"}", TV_OK, "a Int64 1"},
    {"an annotation of another name", "{\"a\":\"1\",\"b@odata.type\":\"Edm.Int64\"}", TV_OK,
     "a String 1"},
    {"an annotation of another case", "{\"a\":\"1\",\"A@odata.type\":\"Edm.Int64\"}", TV_OK,
     "a String 1"},
    {"an unknown type", "{\"a\":\"1\",\"a@odata.type\":\"Edm.DateTimeOffset\"}",
     TV_ERR_INVALID_INPUT, ""},
    {"an annotation that is no string", "{\"a\":\"1\",\"a@odata.type\":1}", TV_ERR_INVALID_INPUT,
     ""},
    {"another annotation", "{\"a\":\"1\",\"a@odata.mediaType\":\"x\",\"a@x\":{}}", TV_OK,
     "a String 1"},
    {"an annotation of nothing", "{\"@odata.type\":\"Edm.Int64\",\"a\":1}", TV_OK, "a Int32 1"},
    {"a short name with an at sign", "{\"a@\":1,\"@\":2}", TV_OK, ""},
    {"metadata is ignored", "{\"odata.etag\":\"x\",\"odata.metadata\":[1],\"odata.\":null,\"a\":1}",
     TV_OK, "a Int32 1"},
    {"metadata may be repeated", "{\"odata.etag\":\"x\",\"odata.etag\":\"y\"}", TV_OK, ""},
    {"a name that begins alike", "{\"odata\":1}", TV_OK, "odata Int32 1"},
    {"ETag is an ordinary name", "{\"ETag\":\"x\"}", TV_OK, "ETag String x"},
    {"a null is dropped", "{\"a\":null,\"b\":1}", TV_OK, "b Int32 1"},
    {"a null with a type is dropped", "{\"a@odata.type\":\"Edm.Int64\",\"a\":null}", TV_OK, ""},
    {"a null is a property all the same", "{\"a\":null,\"a\":1}", TV_ERR_DUPLICATE_PROPERTIES, ""},
    {"a name twice", "{\"a\":1,\"b\":2,\"a\":1}", TV_ERR_DUPLICATE_PROPERTIES, ""},
    {"a name twice, once escaped", "{\"a\":1,\"\\u0061\":1}", TV_ERR_DUPLICATE_PROPERTIES, ""},
    {"a key twice", "{\"RowKey\":\"a\",\"RowKey\":\"a\"}", TV_ERR_DUPLICATE_PROPERTIES, ""},
    {"Timestamp twice", "{\"Timestamp\":1,\"Timestamp\":1}", TV_ERR_DUPLICATE_PROPERTIES, ""},
    {"a type twice", "{\"a@odata.type\":\"Edm.Int64\",\"a@odata.type\":\"Edm.Int64\",\"a\":1}",
     TV_ERR_DUPLICATE_PROPERTIES, ""},
    {"names differ by case", "{\"a\":1,\"A\":2}", TV_OK, "a Int32 1|A Int32 2"},
    {"Timestamp is ignored", "{\"Timestamp\":\"0001-01-01T00:00:00Z\"}", TV_OK, ""},
    {"Timestamp is not even looked at",
     "{\"Timestamp\":{\"x\":[]},\"Timestamp@odata.type\":\"Edm.Nothing\"}", TV_OK, ""},
    {"timestamp in lower case is an ordinary name", "{\"timestamp\":1}", TV_OK,
     "timestamp Int32 1"},
    {"the order is that of the body", "{\"b\":1,\"a\":2}", TV_OK, "b Int32 1|a Int32 2"},
    {"a bad name", "{\"a-b\":1}", TV_ERR_PROPERTY_NAME_INVALID, ""},
    {"an empty name", "{\"\":1}", TV_ERR_PROPERTY_NAME_INVALID, ""},
    {"a bad name of a null", "{\"a-b\":null}", TV_OK, ""},
    {"a string that looks like a date", "{\"a\":\"2026-01-02T03:04:05Z\"}", TV_OK,
     "a String 2026-01-02T03:04:05Z"},
    {"a list", "[]", TV_ERR_INVALID_INPUT, ""},
    {"no body", "", TV_ERR_INVALID_INPUT, ""},
    {"cut", "{\"a\":1", TV_ERR_INVALID_INPUT, ""},
    {"more after it", "{\"a\":1}x", TV_ERR_INVALID_INPUT, ""},
    {"a lone surrogate", "{\"a\":\"\\ud800\"}", TV_ERR_INVALID_INPUT, ""},
    {"not UTF-8", "{\"a\":\"\xFF\"}", TV_ERR_INVALID_INPUT, ""},
};

TEST(a_body_is_read_member_by_member)
{
    for (size_t i = 0; i < COUNT(bodies); i++) {
        size_t len = strlen(bodies[i].json);
        char *copy = memcpy(tv_malloc(len + 1), bodies[i].json, len);
        tv_buf got = TV_BUF_EMPTY;
        tv_entity_body body = {0};

        t_row = bodies[i].what;
        CHECK_ERR(read_body((tv_slice){copy, len}, &body), bodies[i].err);
        for (size_t j = 0; j < body.properties.count; j++)
            tv_buf_printf(&got, "%s%.*s %s", j ? "|" : "", TV_FMT(body.properties.list[j].name),
                          describe(&body.properties.list[j]));
        CHECK_TEXT(tv_buf_slice(&got), bodies[i].properties);
        tv_buf_done(&got);
        free(copy);
    }
}

static const struct {
    const char *what, *json;
    bool is_odd;
    const char *partition_key, *row_key; /* NULL: none */
} keys[] = {
    {"both", "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}", false, "p", "r"},
    {"empty", "{\"PartitionKey\":\"\",\"RowKey\":\"\"}", false, "", ""},
    {"none", "{\"a\":1}", false, NULL, NULL},
    {"null", "{\"PartitionKey\":null,\"RowKey\":\"r\"}", false, NULL, "r"},
    {"with a type", "{\"PartitionKey@odata.type\":\"Edm.String\",\"PartitionKey\":\"p\"}", false,
     "p", NULL},
    {"with another type", "{\"PartitionKey@odata.type\":\"Edm.Guid\",\"PartitionKey\":\"p\"}", true,
     "p", NULL},
    {"a number", "{\"PartitionKey\":1}", true, "/", NULL},
    {"an object", "{\"RowKey\":{}}", true, NULL, "/"},
    {"another case is another name", "{\"partitionKey\":\"p\"}", false, NULL, NULL},
    {"keys are not checked here", "{\"PartitionKey\":\"a/b\"}", false, "a/b", NULL},
};

TEST(keys_are_strings_or_marked)
{
    for (size_t i = 0; i < COUNT(keys); i++) {
        tv_entity_body body = {0};

        t_row = keys[i].what;
        CHECK_OK(read_body(tv_slice_of(keys[i].json), &body));
        CHECK_INT(body.has_odd_key, keys[i].is_odd);
        CHECK_INT(body.partition_key.data != NULL, keys[i].partition_key != NULL);
        CHECK_INT(body.row_key.data != NULL, keys[i].row_key != NULL);
        if (keys[i].partition_key)
            CHECK_TEXT(body.partition_key, keys[i].partition_key);
        if (keys[i].row_key)
            CHECK_TEXT(body.row_key, keys[i].row_key);
    }
}

static const struct {
    const char *what, *text, *value; /* NULL: in range */
} dates[] = {
    {"the first", "1601-01-01T00:00:00Z", NULL},
    {"the last", "9999-12-31T23:59:59.9999999Z", NULL},
    {"a tick before the first", "1600-12-31T23:59:59.9999999Z", "12/31/1600 23:59:59"},
    {"the first of all", "0001-01-01T00:00:00Z", "01/01/0001 00:00:00"},
};

TEST(dates_begin_in_1601)
{
    for (size_t i = 0; i < COUNT(dates); i++) {
        tv_error_info info = {0};
        tv_entity_body body;
        char want[200];

        t_row = dates[i].what;
        CHECK_ERR(
            tv_entity_body_read(
                &arena,
                tv_arena_printf(&arena, "{\"due@odata.type\":\"Edm.DateTime\",\"due\":\"%s\"}",
                                dates[i].text),
                &body, &info),
            dates[i].value ? TV_ERR_OUT_OF_RANGE : TV_OK);
        if (dates[i].value == NULL)
            continue;
        snprintf(want, sizeof want, "The 'due' parameter of value '%s' is out of range.",
                 dates[i].value);
        CHECK_TEXT(info.text, want);
    }
}

/* --- limits --- */

static void add_members(tv_buf *json, const char *format, int from, int count)
{
    for (int i = from; i < from + count; i++) {
        tv_buf_add_char(json, json->len ? ',' : '{');
        tv_buf_printf(json, "\"p%d", i);
        tv_buf_printf(json, "%s", format);
    }
}

TEST(a_body_has_252_properties_beside_the_system_ones)
{
    tv_buf json = TV_BUF_EMPTY;
    tv_entity_body body;

    /* Keys, Timestamp, nulls and annotations do not count. */
    tv_buf_add_lit(&json, "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Timestamp\":null");
    add_members(&json, "@odata.type\":\"Edm.Int64\"", 0, 252);
    add_members(&json, "\":null", 1000, 300);
    add_members(&json, "\":1", 0, 252);
    tv_buf_add_char(&json, '}');
    CHECK_OK(read_body(tv_buf_slice(&json), &body));
    CHECK_INT(body.properties.count, 252);

    json.len--;
    tv_buf_add_lit(&json, ",\"one\":1}");
    CHECK_ERR(read_body(tv_buf_slice(&json), &body), TV_ERR_TOO_MANY_PROPERTIES);
    tv_buf_done(&json);
}

TEST(members_without_end_are_refused)
{
    tv_buf json = TV_BUF_EMPTY;
    tv_entity_body body;

    add_members(&json, "\":null", 0, 100000);
    tv_buf_add_char(&json, '}');
    CHECK_ERR(read_body(tv_buf_slice(&json), &body), TV_ERR_TOO_MANY_PROPERTIES);
    json.len = 0;
    add_members(&json, "@odata.type\":\"\"", 0, 100000);
    tv_buf_add_char(&json, '}');
    CHECK_ERR(read_body(tv_buf_slice(&json), &body), TV_ERR_TOO_MANY_PROPERTIES);
    tv_buf_done(&json);
}

/* {"v":"xxx…"} with `count` times `text`. */
static tv_slice long_string(tv_buf *json, const char *opening, const char *text, size_t count)
{
    json->len = 0;
    tv_buf_add(json, tv_slice_of(opening));
    for (size_t i = 0; i < count; i++)
        tv_buf_add(json, tv_slice_of(text));
    tv_buf_add_lit(json, "\"}");
    return tv_buf_slice(json);
}

static const struct {
    const char *what, *opening, *text;
    size_t fits;
} lengths[] = {
    {"32,768 letters", "{\"v\":\"", "x", 32768},
    {"two bytes are one unit", "{\"v\":\"", "\xC3\xB4", 32768},
    {"three bytes are one unit", "{\"v\":\"", "\xE2\x82\xAC", 32768},
    {"four bytes are two units", "{\"v\":\"", "\xF0\x9F\x98\x80", 16384},
    {"an escape is one unit", "{\"v\":\"", "\\u00f4", 32768},
    {"64 KiB of binary, four characters for three bytes",
     "{\"v@odata.type\":\"Edm.Binary\",\"v\":\"", "AAAA", 65536 / 3},
};

/* Read a body, and compare its values with their limits. */
static tv_err read_and_judge(tv_slice json)
{
    tv_entity_body body;
    tv_err err = read_body(json, &body);

    return err ? err : tv_entity_check_limits(TV_LIT("p"), TV_LIT("r"), &body.properties);
}

TEST(strings_and_binaries_hold_64_kib)
{
    tv_buf json = TV_BUF_EMPTY;

    for (size_t i = 0; i < COUNT(lengths); i++) {
        t_row = lengths[i].what;
        CHECK_OK(read_and_judge(
            long_string(&json, lengths[i].opening, lengths[i].text, lengths[i].fits)));
        CHECK_ERR(read_and_judge(
                      long_string(&json, lengths[i].opening, lengths[i].text, lengths[i].fits + 1)),
                  TV_ERR_PROPERTY_VALUE_TOO_LARGE);
        tv_arena_reset(&arena);
    }
    tv_buf_done(&json);
}

TEST(a_binary_may_have_exactly_65536_bytes)
{
    static char bytes[65537], text[87400];

    for (size_t len = 65535; len <= 65537; len++) {
        size_t text_len = tv_base64_encoded_len(len);

        tv_base64_encode(text, (tv_slice){bytes, len});
        CHECK_ERR(read_and_judge(tv_arena_printf(&arena,
                                                 "{\"v@odata.type\":\"Edm.Binary\",\"v\":\"%.*s\"}",
                                                 (int)text_len, text)),
                  len <= 65536 ? TV_OK : TV_ERR_PROPERTY_VALUE_TOO_LARGE);
    }
}

TEST(a_name_may_have_255_characters)
{
    char name[257];
    tv_entity_body body;

    memset(name, 'n', sizeof name);
    CHECK_OK(read_body(tv_arena_printf(&arena, "{\"%.255s\":1}", name), &body));
    CHECK_ERR(read_body(tv_arena_printf(&arena, "{\"%.256s\":1}", name), &body),
              TV_ERR_PROPERTY_NAME_TOO_LONG);
}

TEST(a_body_cut_anywhere_is_not_one)
{
    tv_slice json = TV_LIT("{\"PartitionKey\":\"p\",\"a@odata.type\":\"Edm.Int64\",\"a\":\"1\","
                           "\"b\":[{\"c\":null}],\"d\":\"\\u00f4\\ud83d\\ude00\",\"e\":-1.5E+3}");
    tv_entity_body body;

    for (size_t len = 0; len < json.len; len++) {
        char *copy = memcpy(tv_malloc(len + 1), json.data, len);

        CHECK_ERR(read_body((tv_slice){copy, len}, &body), TV_ERR_INVALID_INPUT);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_takes_its_own_kinds_of_json),
        cmocka_unit_test(a_body_is_read_member_by_member),
        cmocka_unit_test(keys_are_strings_or_marked),
        cmocka_unit_test(dates_begin_in_1601),
        cmocka_unit_test(a_body_has_252_properties_beside_the_system_ones),
        cmocka_unit_test(members_without_end_are_refused),
        cmocka_unit_test(strings_and_binaries_hold_64_kib),
        cmocka_unit_test(a_binary_may_have_exactly_65536_bytes),
        cmocka_unit_test(a_name_may_have_255_characters),
        cmocka_unit_test(a_body_cut_anywhere_is_not_one),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
