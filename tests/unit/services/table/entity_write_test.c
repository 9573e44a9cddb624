/* JSON out of stored bytes, byte for byte. */
#include "services/table/entity_write.h"

#include <math.h>

#include "base/datetime.h"
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_arena arena;
static int64_t timestamp;

static tv_entity_view view_at(tv_table_metadata_level level)
{
    return (tv_entity_view){
        .level = level,
        .base_url = TV_LIT("http://127.0.0.1:10002/acct"),
        .account = TV_LIT("acct"),
        .table = TV_LIT("orders"),
    };
}

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    return tv_datetime_parse(TV_LIT("2026-01-02T03:04:05.1234567Z"), &timestamp) ? 0 : -1;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&arena);
    return 0;
}

#define ETAG "\"odata.etag\":\"W/\\\"datetime'2026-01-02T03%3A04%3A05.1234567Z'\\\"\","
#define KEYS "\"PartitionKey\":\"eu\",\"RowKey\":\"it's\","
#define METADATA "\"odata.metadata\":\"http://127.0.0.1:10002/acct/$metadata#orders/@Element\","
#define LINK "orders(PartitionKey='eu',RowKey='it''s')"
#define TYPE "\"odata.type\":\"acct.orders\",\"odata.id\":\"http://127.0.0.1:10002/acct/" LINK "\","
#define EDIT "\"odata.editLink\":\"" LINK "\","
#define TIME "\"Timestamp\":\"2026-01-02T03:04:05.1234567Z\""

static const struct {
    const char *what;
    tv_table_metadata_level level;
    bool is_alone;
    const char *json;
} levels[] = {
    {"none", TV_TABLE_METADATA_NONE, true, "{" KEYS TIME ",\"l\":\"7\"}"},
    {"none, in a feed", TV_TABLE_METADATA_NONE, false, "{" KEYS TIME ",\"l\":\"7\"}"},
    {"minimal", TV_TABLE_METADATA_MINIMAL, true,
     "{" METADATA ETAG KEYS TIME ",\"l@odata.type\":\"Edm.Int64\",\"l\":\"7\"}"},
    {"minimal, in a feed", TV_TABLE_METADATA_MINIMAL, false,
     "{" ETAG KEYS TIME ",\"l@odata.type\":\"Edm.Int64\",\"l\":\"7\"}"},
    {"full", TV_TABLE_METADATA_FULL, true,
     "{" METADATA TYPE ETAG EDIT KEYS "\"Timestamp@odata.type\":\"Edm.DateTime\"," TIME
     ",\"l@odata.type\":\"Edm.Int64\",\"l\":\"7\"}"},
    {"full, in a feed", TV_TABLE_METADATA_FULL, false,
     "{" TYPE ETAG EDIT KEYS "\"Timestamp@odata.type\":\"Edm.DateTime\"," TIME
     ",\"l@odata.type\":\"Edm.Int64\",\"l\":\"7\"}"},
};

TEST(three_levels_of_metadata)
{
    tv_property property = {.name = TV_LIT("l"), .type = TV_EDM_INT64, .int64 = 7};
    tv_slice value = tv_entity_encode(&arena, &(tv_entity_properties){&property, 1});

    tv_entity_set_timestamp(value, timestamp);
    for (size_t i = 0; i < COUNT(levels); i++) {
        tv_entity_view view = view_at(levels[i].level);
        tv_buf buf = TV_BUF_EMPTY;

        t_row = levels[i].what;
        CHECK_OK(tv_entity_add_json(&buf, &view, TV_LIT("eu"), TV_LIT("it's"), value,
                                    levels[i].is_alone));
        CHECK_TEXT(tv_buf_slice(&buf), levels[i].json);
        tv_buf_done(&buf);
    }
}

static const struct {
    const char *what;
    tv_property property;
    const char *annotation, *json;
} values[] = {
    {"a string",
     {.type = TV_EDM_STRING, .bytes = {"a\"\\\n\x01", 5}},
     "",
     "\"a\\\"\\\\\\n\\u0001\""},
    {"a string beyond ASCII",
     {.type = TV_EDM_STRING, .bytes = {"\xC3\xB4\xF0\x9F\x98\x80", 6}},
     "",
     "\"\\u00f4\\ud83d\\ude00\""},
    {"an empty string", {.type = TV_EDM_STRING, .bytes = {"", 0}}, "", "\"\""},
    {"true", {.type = TV_EDM_BOOLEAN, .boolean = true}, "", "true"},
    {"false", {.type = TV_EDM_BOOLEAN, .boolean = false}, "", "false"},
    {"an int32", {.type = TV_EDM_INT32, .int32 = INT32_MIN}, "", "-2147483648"},
    {"an int64",
     {.type = TV_EDM_INT64, .int64 = INT64_MIN},
     "Edm.Int64",
     "\"-9223372036854775808\""},
    {"a double", {.type = TV_EDM_DOUBLE, .real = 12.5}, "", "12.5"},
    {"a whole double", {.type = TV_EDM_DOUBLE, .real = 5}, "", "5.0"},
    {"a large double", {.type = TV_EDM_DOUBLE, .real = 1e20}, "", "1E+20"},
    {"not a number", {.type = TV_EDM_DOUBLE, .real = NAN}, "Edm.Double", "\"NaN\""},
    {"infinity", {.type = TV_EDM_DOUBLE, .real = INFINITY}, "Edm.Double", "\"Infinity\""},
    {"minus infinity", {.type = TV_EDM_DOUBLE, .real = -INFINITY}, "Edm.Double", "\"-Infinity\""},
    {"a date",
     {.type = TV_EDM_DATETIME, .ticks = INT64_C(504911232000000000)},
     "Edm.DateTime",
     "\"1601-01-01T00:00:00Z\""},
    {"a guid",
     {.type = TV_EDM_GUID,
      .guid = {{0x6f, 0x96, 0x19, 0xff, 0x8b, 0x86, 0xd0, 0x11, 0xb4, 0x2d, 0, 0xc0, 0x4f, 0xc9,
                0x64, 0xff}}},
     "Edm.Guid",
     "\"6f9619ff-8b86-d011-b42d-00c04fc964ff\""},
    {"binary",
     {.type = TV_EDM_BINARY, .bytes = {"\x01\x02\x03\x04", 4}},
     "Edm.Binary",
     "\"AQIDBA==\""},
    {"empty binary", {.type = TV_EDM_BINARY, .bytes = {"", 0}}, "Edm.Binary", "\"\""},
};

TEST(types_are_told_where_json_does_not_show_them)
{
    for (size_t i = 0; i < COUNT(values); i++) {
        tv_property property = values[i].property;
        char want[300];

        t_row = values[i].what;
        property.name = TV_LIT("v");
        tv_slice value = tv_entity_encode(&arena, &(tv_entity_properties){&property, 1});

        for (int level = TV_TABLE_METADATA_NONE; level <= TV_TABLE_METADATA_FULL; level++) {
            tv_entity_view view = view_at((tv_table_metadata_level)level);
            bool has_type = level != TV_TABLE_METADATA_NONE && values[i].annotation[0];
            tv_buf buf = TV_BUF_EMPTY;

            CHECK_OK(tv_entity_add_json(&buf, &view, TV_LIT(""), TV_LIT(""), value, false));
            snprintf(want, sizeof want, "%s%s%s\"v\":%s}", has_type ? "\"v@odata.type\":\"" : "",
                     has_type ? values[i].annotation : "", has_type ? "\"," : "", values[i].json);

            tv_slice got = tv_buf_slice(&buf);

            CHECK(got.len > strlen(want));
            CHECK_TEXT(tv_slice_skip(got, got.len - strlen(want)), want);
            CHECK_INT(got.data[got.len - strlen(want) - 1], ',');
            tv_buf_done(&buf);
        }
    }
}

/* The stored properties are "name" and "big", an Int64. */
static const struct {
    const char *what, *list;
    tv_table_metadata_level level;
    const char *json; /* alone */
} selections[] = {
    {"one property", "name", TV_TABLE_METADATA_NONE, "{\"name\":\"Ada\"}"},
    {"in the entity's own order", "big,name", TV_TABLE_METADATA_NONE,
     "{\"name\":\"Ada\",\"big\":\"7\"}"},
    {"keys come first", "name,RowKey,PartitionKey", TV_TABLE_METADATA_NONE,
     "{\"PartitionKey\":\"eu\",\"RowKey\":\"1\",\"name\":\"Ada\"}"},
    {"Timestamp", "Timestamp", TV_TABLE_METADATA_NONE, "{" TIME "}"},
    {"what is not there is null", "none,name", TV_TABLE_METADATA_NONE,
     "{\"name\":\"Ada\",\"none\":null}"},
    {"nothing that is there", "none", TV_TABLE_METADATA_NONE, "{\"none\":null}"},
    {"another case is another name", "Name", TV_TABLE_METADATA_NONE, "{\"Name\":null}"},
    {"a name that needs escapes", "a\"b", TV_TABLE_METADATA_NONE, "{\"a\\\"b\":null}"},
    {"a star", "*", TV_TABLE_METADATA_NONE,
     "{\"PartitionKey\":\"eu\",\"RowKey\":\"1\"," TIME ",\"name\":\"Ada\",\"big\":\"7\"}"},
    {"types and metadata", "big", TV_TABLE_METADATA_MINIMAL,
     "{\"odata.metadata\":\"http://127.0.0.1:10002/acct/$metadata#orders/"
     "@Element&$select=big\"," ETAG "\"big@odata.type\":\"Edm.Int64\",\"big\":\"7\"}"},
    {"a list is escaped in the metadata", "a\"b, name", TV_TABLE_METADATA_MINIMAL,
     "{\"odata.metadata\":\"http://127.0.0.1:10002/acct/$metadata#orders/"
     "@Element&$select=a%22b,%20name\"," ETAG "\"name\":\"Ada\",\"a\\\"b\":null}"},
};

TEST(a_selection_shows_what_it_names)
{
    tv_property list[] = {
        {.name = TV_LIT("name"), .type = TV_EDM_STRING, .bytes = TV_LIT("Ada")},
        {.name = TV_LIT("big"), .type = TV_EDM_INT64, .int64 = 7},
    };
    tv_slice value = tv_entity_encode(&arena, &(tv_entity_properties){list, 2});

    tv_entity_set_timestamp(value, timestamp);
    for (size_t i = 0; i < COUNT(selections); i++) {
        tv_entity_view view = view_at(selections[i].level);
        tv_buf buf = TV_BUF_EMPTY;

        t_row = selections[i].what;
        CHECK_OK(tv_table_select_parse(&arena, tv_slice_of(selections[i].list), &view.select));
        CHECK_OK(tv_entity_add_json(&buf, &view, TV_LIT("eu"), TV_LIT("1"), value, true));
        CHECK_TEXT(tv_buf_slice(&buf), selections[i].json);
        tv_buf_done(&buf);
    }
}

TEST(names_and_keys_are_escaped)
{
    tv_property property = {.name = TV_LIT("\xC3\xB4"), .type = TV_EDM_INT64, .int64 = 1};
    tv_slice value = tv_entity_encode(&arena, &(tv_entity_properties){&property, 1});
    tv_entity_view view = view_at(TV_TABLE_METADATA_MINIMAL);
    tv_buf buf = TV_BUF_EMPTY;

    tv_entity_set_timestamp(value, timestamp);
    CHECK_OK(tv_entity_add_json(&buf, &view, TV_LIT("a\"b"), TV_LIT("\xC3\xB4"), value, false));
    CHECK_TEXT(tv_buf_slice(&buf),
               "{" ETAG "\"PartitionKey\":\"a\\\"b\",\"RowKey\":\"\\u00f4\"," TIME
               ",\"\\u00f4@odata.type\":\"Edm.Int64\",\"\\u00f4\":\"1\"}");
    tv_buf_done(&buf);
}

TEST(a_link_doubles_quotes_and_encodes_the_rest)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_entity_add_link(&buf, TV_LIT("t"), TV_LIT("A'a\"b"), TV_LIT("x-\xC3\xB4-%20"));
    CHECK_TEXT(tv_buf_slice(&buf), "t(PartitionKey='A''a%22b',RowKey='x-%C3%B4-%2520')");
    tv_buf_done(&buf);
}

TEST(a_corrupt_entity_is_an_error_at_every_cut)
{
    tv_property property = {.name = TV_LIT("l"), .type = TV_EDM_INT64, .int64 = 7};
    tv_slice value = tv_entity_encode(&arena, &(tv_entity_properties){&property, 1});

    for (size_t len = 0; len < value.len; len++) {
        tv_entity_view view = view_at(TV_TABLE_METADATA_MINIMAL);
        tv_buf buf = TV_BUF_EMPTY;

        CHECK_ERR(tv_entity_add_json(&buf, &view, TV_LIT(""), TV_LIT(""), tv_slice_take(value, len),
                                     true),
                  len == 8 ? TV_OK : TV_ERR_CORRUPT);
        tv_buf_done(&buf);
    }
}

TEST(each_level_has_its_content_type)
{
    CHECK_TEXT(tv_table_metadata_content_type(TV_TABLE_METADATA_NONE),
               "application/json;odata=nometadata;streaming=true;charset=utf-8");
    CHECK_TEXT(tv_table_metadata_content_type(TV_TABLE_METADATA_MINIMAL),
               "application/json;odata=minimalmetadata;streaming=true;charset=utf-8");
    CHECK_TEXT(tv_table_metadata_content_type(TV_TABLE_METADATA_FULL),
               "application/json;odata=fullmetadata;streaming=true;charset=utf-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_levels_of_metadata),
        cmocka_unit_test(types_are_told_where_json_does_not_show_them),
        cmocka_unit_test(a_selection_shows_what_it_names),
        cmocka_unit_test(names_and_keys_are_escaped),
        cmocka_unit_test(a_link_doubles_quotes_and_encodes_the_rest),
        cmocka_unit_test(a_corrupt_entity_is_an_error_at_every_cut),
        cmocka_unit_test(each_level_has_its_content_type),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
