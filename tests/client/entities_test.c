/* Entities are written and read: every type, every kind of key, and what is refused. */
#include <float.h>
#include <math.h>

#include "live.h"

/* The service's own range of dates. */
#define TICKS_1601 INT64_C(504911232000000000)
#define TICKS_LAST INT64_C(3155378975999999999)

static const uint8_t guid_bytes[16] = {0x6f, 0x96, 0x19, 0xff, 0x8b, 0x86, 0xd0, 0x11,
                                       0xb4, 0x2d, 0x00, 0xc0, 0x4f, 0xc9, 0x64, 0xff};

static tavola_value guid_value(void)
{
    tavola_guid guid;

    memcpy(guid.bytes, guid_bytes, sizeof guid.bytes);
    return tavola_guid_value(guid);
}

/* One property of each kind; the names say what they hold. */
static tavola_entity *new_full_entity(const char *partition_key, const char *row_key)
{
    tavola_entity *entity = tavola_entity_new(partition_key, row_key);

    tavola_entity_set_string(entity, "Text", "it's \"so\" \\ \n\t\x01 <&>");
    tavola_entity_set_string(entity, "Empty", "");
    tavola_entity_set_string(entity, "Unicode", "Grüße, 世界 \xf0\x9f\x98\x80");
    tavola_entity_set_int32(entity, "Int32Min", INT32_MIN);
    tavola_entity_set_int32(entity, "Int32Max", INT32_MAX);
    tavola_entity_set_int64(entity, "Int64Min", INT64_MIN);
    tavola_entity_set_int64(entity, "Int64Max", INT64_MAX);
    tavola_entity_set_int64(entity, "Int64Small", 7);
    tavola_entity_set_double(entity, "Whole", 5.0);
    tavola_entity_set_double(entity, "Third", 1.0 / 3.0);
    tavola_entity_set_double(entity, "Huge", DBL_MAX);
    tavola_entity_set_double(entity, "Tiny", DBL_MIN);
    tavola_entity_set_double(entity, "NotANumber", NAN);
    tavola_entity_set_double(entity, "Infinite", -INFINITY);
    tavola_entity_set_boolean(entity, "True", true);
    tavola_entity_set_boolean(entity, "False", false);
    tavola_entity_set_datetime(entity, "First", TICKS_1601);
    tavola_entity_set_datetime(entity, "Last", TICKS_LAST);
    tavola_entity_set(entity, "Guid", guid_value());
    tavola_entity_set_binary(entity, "Binary", guid_bytes, sizeof guid_bytes);
    tavola_entity_set_binary(entity, "NoBytes", "", 0);
    return entity;
}

static bool is_same_value(tavola_value a, tavola_value b)
{
    if (a.type != b.type)
        return false;

    switch (a.type) {
    case TAVOLA_STRING:
    case TAVOLA_BINARY:
        return a.size == b.size && memcmp(a.as.ptr, b.as.ptr, a.size) == 0;
    case TAVOLA_BOOLEAN:
        return a.as.boolean == b.as.boolean;
    case TAVOLA_INT32:
        return a.as.int32 == b.as.int32;
    case TAVOLA_DOUBLE:
        return (isnan(a.as.real) && isnan(b.as.real)) || a.as.real == b.as.real;
    case TAVOLA_GUID:
        return memcmp(a.as.guid.bytes, b.as.guid.bytes, 16) == 0;
    default:
        return a.as.int64 == b.as.int64;
    }
}

static void check_same(const tavola_entity *got, const tavola_entity *want)
{
    CHECK_TEXT(tavola_entity_partition_key(got), tavola_entity_partition_key(want));
    CHECK_TEXT(tavola_entity_row_key(got), tavola_entity_row_key(want));
    CHECK_INT(tavola_entity_count(got), tavola_entity_count(want));
    for (size_t i = 0; i < tavola_entity_count(want); i++) {
        tavola_value a, b;
        const char *name = tavola_entity_name_at(want, i, &b);

        t_row = name;
        CHECK(tavola_entity_get(got, name, &a));
        CHECK(is_same_value(a, b));
    }
    t_row = "";
}

TEST(every_type_comes_back_as_it_went)
{
    tavola_entity *entity = new_full_entity("p", "r"), *got = NULL;

    CHECK_OK(tavola_insert(t.table, entity, t.call));
    CHECK_INT(tavola_call_status(t.call), 204);
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &got));
    check_same(got, entity);
    CHECK(tavola_entity_timestamp(got) > TICKS_1601);
    tavola_entity_free(got);

    /* The same by all that replaces. */
    got = NULL;
    CHECK_OK(tavola_insert_or_replace(t.table, entity, t.call));
    CHECK_OK(tavola_insert_or_merge(t.table, entity, t.call));
    CHECK_OK(tavola_replace(t.table, entity, TAVOLA_ANY, t.call));
    CHECK_OK(tavola_merge(t.table, entity, TAVOLA_ANY, t.call));
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &got));
    check_same(got, entity);
    tavola_entity_free(got);
    tavola_entity_free(entity);
}

#define UNITS_100                                                                                  \
    "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijab" \
    "cd"                                                                                           \
    "efghij"
#define UNITS_500 UNITS_100 UNITS_100 UNITS_100 UNITS_100 UNITS_100

static const struct {
    const char *what, *partition_key, *row_key;
} keys[] = {
    {"plain", "p", "r"},
    {"both empty", "", ""},
    {"an empty RowKey", "p", ""},
    {"an empty PartitionKey", "", "r"},
    {"quotes", "O'Brien", "''"},
    {"what a URL gives a meaning", "a b+c&d=e%20f", "x;y:z@!$*(),~\""},
    {"percent", "100%", "%41"},
    {"Unicode", "Grüße", "世界"},
    {"beyond the BMP", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80'"},
    {"blanks at both ends", " p ", " r "},
    {"1 KiB in UTF-16", UNITS_500 "abcdefghijkl", UNITS_500 "abcdefghijkl"},
};

TEST(every_key_finds_its_entity)
{
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const char *pk = keys[i].partition_key, *rk = keys[i].row_key;
        tavola_entity *entity = new_entity(pk, rk, (int32_t)i);

        t_row = keys[i].what;
        CHECK_OK(tavola_insert(t.table, entity, t.call));
        CHECK_ERR(tavola_insert(t.table, entity, t.call), TAVOLA_ERR_EXISTS);
        CHECK_INT(stored_n(pk, rk), (int)i);
        tavola_entity_set_int32(entity, "N", 1000 + (int32_t)i);
        CHECK_OK(tavola_merge(t.table, entity, TAVOLA_ANY, t.call));
        CHECK_INT(stored_n(pk, rk), 1000 + (int)i);
        tavola_entity_free(entity);
    }
    CHECK_INT(count_all(), COUNT_OF(keys));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        t_row = keys[i].what;
        CHECK_OK(
            tavola_delete(t.table, keys[i].partition_key, keys[i].row_key, TAVOLA_ANY, t.call));
    }
    CHECK_INT(count_all(), 0);
}

static const struct {
    const char *what, *key;
    tavola_err err;
} bad_keys[] = {
    {"NULL", NULL, TAVOLA_ERR_INVALID},
    {"not UTF-8", "a\xff", TAVOLA_ERR_INVALID},
    {"half a character", "a\xc3", TAVOLA_ERR_INVALID},
    {"a surrogate", "\xed\xa0\x80", TAVOLA_ERR_INVALID},
    {"a slash", "a/b", TAVOLA_ERR_INVALID},
    {"a backslash", "a\\b", TAVOLA_ERR_INVALID},
    {"a number sign", "a#b", TAVOLA_ERR_INVALID},
    {"a question mark", "a?b", TAVOLA_ERR_INVALID},
    {"a control character", "a\nb", TAVOLA_ERR_INVALID},
    {"a control character of the second block", "a\xc2\x85", TAVOLA_ERR_INVALID},
    {"too long", UNITS_500 UNITS_500 UNITS_100, TAVOLA_ERR_TOO_LARGE},
};

TEST(keys_that_no_entity_can_have_are_refused)
{
    tavola_entity *got = NULL;

    for (size_t i = 0; i < COUNT_OF(bad_keys); i++) {
        const char *key = bad_keys[i].key;
        tavola_entity *entity = new_entity("p", key, 1);

        t_row = bad_keys[i].what;
        CHECK_REFUSED(tavola_insert(t.table, entity, t.call), bad_keys[i].err);
        CHECK_REFUSED(tavola_get(t.table, key, "r", t.call, &got), bad_keys[i].err);
        CHECK_REFUSED(tavola_get(t.table, "p", key, t.call, &got), bad_keys[i].err);
        CHECK_REFUSED(tavola_delete(t.table, key, "r", TAVOLA_ANY, t.call), bad_keys[i].err);
        CHECK_REFUSED(tavola_delete(t.table, "p", key, TAVOLA_ANY, t.call), bad_keys[i].err);
        CHECK_REFUSED(tavola_delete_if_present(t.table, "p", key, t.call), bad_keys[i].err);
        CHECK(got == NULL);
        tavola_entity_free(entity);
    }
}

TEST(what_is_not_there_is_not_found)
{
    tavola_entity *got = NULL, *entity = new_entity("p", "r", 1);

    CHECK_ERR(tavola_get(t.table, "p", "r", t.call, &got), TAVOLA_ERR_NOT_FOUND);
    CHECK_TEXT(tavola_call_code(t.call), "ResourceNotFound");
    CHECK_INT(tavola_call_status(t.call), 404);
    CHECK(tavola_call_service_request_id(t.call) != NULL);
    CHECK_ERR(tavola_replace(t.table, entity, TAVOLA_ANY, t.call), TAVOLA_ERR_NOT_FOUND);
    CHECK_ERR(tavola_merge(t.table, entity, TAVOLA_ANY, t.call), TAVOLA_ERR_NOT_FOUND);
    CHECK_ERR(tavola_delete(t.table, "p", "r", TAVOLA_ANY, t.call), TAVOLA_ERR_NOT_FOUND);
    CHECK_OK(tavola_delete_if_present(t.table, "p", "r", t.call));
    CHECK(got == NULL);

    CHECK_OK(tavola_table_delete(t.table, t.call));
    CHECK_ERR(tavola_get(t.table, "p", "r", t.call, &got), TAVOLA_ERR_NOT_FOUND);
    CHECK_TEXT(tavola_call_code(t.call), "TableNotFound");
    CHECK_ERR(tavola_insert(t.table, entity, t.call), TAVOLA_ERR_NOT_FOUND);
    CHECK_TEXT(tavola_call_code(t.call), "TableNotFound");
    tavola_entity_free(entity);
}

TEST(a_merge_keeps_what_it_does_not_name)
{
    tavola_entity *entity = tavola_entity_new("p", "r"), *got = NULL;
    const char *text;

    tavola_entity_set_string(entity, "A", "a");
    tavola_entity_set_string(entity, "B", "b");
    CHECK_OK(tavola_insert(t.table, entity, t.call));
    tavola_entity_unset(entity, "A");
    tavola_entity_set_string(entity, "B", "b2");
    CHECK_OK(tavola_insert_or_merge(t.table, entity, t.call));
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &got));
    CHECK(tavola_entity_get_string(got, "A", &text));
    CHECK_TEXT(text, "a");
    CHECK(tavola_entity_get_string(got, "B", &text));
    CHECK_TEXT(text, "b2");
    tavola_entity_free(got);

    /* A replace does not. */
    got = NULL;
    CHECK_OK(tavola_insert_or_replace(t.table, entity, t.call));
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &got));
    CHECK(!tavola_entity_get_string(got, "A", &text));
    CHECK_INT(tavola_entity_count(got), 1);
    tavola_entity_free(got);
    tavola_entity_free(entity);
}

TEST(only_the_selected_properties_come)
{
    static const char *const names[] = {"Text", "Nothing", "Int64Max", NULL};
    tavola_entity *entity = new_full_entity("p", "r"), *got = NULL;
    int64_t number;

    CHECK_OK(tavola_insert(t.table, entity, t.call));
    CHECK_OK(tavola_get_select(t.table, "p", "r", names, t.call, &got));
    CHECK_INT(tavola_entity_count(got), 2);
    CHECK(tavola_entity_get_int64(got, "Int64Max", &number));
    CHECK_INT(number, INT64_MAX);
    CHECK_TEXT(tavola_entity_partition_key(got), "p");
    CHECK_TEXT(tavola_entity_row_key(got), "r");
    CHECK(tavola_entity_etag(got) != NULL);
    CHECK(tavola_entity_timestamp(got) != 0);
    CHECK_REFUSED(tavola_get_select(t.table, "p", "r", NULL, t.call, &got), TAVOLA_ERR_INVALID);
    tavola_entity_free(got);
    tavola_entity_free(entity);
}

/* The largest that the service takes: 252 properties, and a mebibyte. */
TEST(the_largest_entities_are_taken)
{
    static char text[32 * 1024 + 1];
    tavola_entity *wide = tavola_entity_new("p", "wide"),
                  *long_one = tavola_entity_new("p", "long"), *got = NULL;
    char name[16];

    for (int i = 0; i < 252; i++) {
        snprintf(name, sizeof name, "P%d", i);
        tavola_entity_set_int32(wide, name, i);
    }
    CHECK_OK(tavola_insert(t.table, wide, t.call));

    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < 15; i++) {
        snprintf(name, sizeof name, "P%d", i);
        tavola_entity_set_string(long_one, name, text);
    }
    CHECK(tavola_entity_bytes(long_one) < 1024 * 1024);
    CHECK_OK(tavola_insert(t.table, long_one, t.call));
    CHECK_OK(tavola_get(t.table, "p", "long", t.call, &got));
    check_same(got, long_one);
    tavola_entity_free(got);

    /* One more of these is too much. */
    tavola_entity_set_string(long_one, "More", text);
    CHECK_REFUSED(tavola_insert_or_replace(t.table, long_one, t.call), TAVOLA_ERR_TOO_LARGE);
    tavola_entity_set_int32(wide, "More", 1);
    CHECK_REFUSED(tavola_insert_or_replace(t.table, wide, t.call), TAVOLA_ERR_TOO_LARGE);
    tavola_entity_free(long_one);
    tavola_entity_free(wide);
}

/* What a setter could not take is told by the operation. */
TEST(errors_of_setters_are_told_by_the_operation)
{
    tavola_entity *entity = tavola_entity_new("p", "r");

    tavola_entity_set_datetime(entity, "Due", 1);
    CHECK_REFUSED(tavola_insert(t.table, entity, t.call), tavola_entity_error(entity));
    CHECK(strstr(tavola_call_message(t.call), "Due") != NULL);
    CHECK_REFUSED(tavola_insert_or_merge(t.table, entity, t.call), tavola_entity_error(entity));
    CHECK_REFUSED(tavola_replace(t.table, entity, TAVOLA_ANY, t.call), tavola_entity_error(entity));
    tavola_entity_free(entity);
}

TEST(what_is_missing_is_refused)
{
    tavola_entity *entity = new_entity("p", "r", 1), *got = NULL;

    CHECK_REFUSED(tavola_insert(NULL, entity, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_insert(t.table, NULL, t.call), TAVOLA_ERR_NO_MEMORY);
    CHECK_REFUSED(tavola_replace(NULL, entity, TAVOLA_ANY, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_get(NULL, "p", "r", t.call, &got), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_get(t.table, "p", "r", t.call, NULL), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_delete(NULL, "p", "r", TAVOLA_ANY, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_update(NULL, "p", "r", NULL, NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_update(t.table, "p", "r", NULL, NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_INT(count_all(), 0);
    tavola_entity_free(entity);
}

TEST(a_call_carries_its_ids_and_its_outcome)
{
    tavola_entity *entity = new_entity("p", "r", 1);

    tavola_call_set_request_id(t.call, "my request");
    CHECK_OK(tavola_insert(t.table, entity, t.call));
    CHECK_TEXT(tavola_call_client_request_id(t.call), "my request");
    CHECK(tavola_call_service_request_id(t.call) != NULL);
    CHECK_INT(tavola_call_attempts(t.call), 1);
    CHECK(!tavola_call_was_confirmed(t.call));
    CHECK(tavola_call_etag(t.call) != NULL);
    CHECK_ERR(tavola_insert(t.table, entity, t.call), TAVOLA_ERR_EXISTS);
    CHECK_INT(tavola_call_status(t.call), 409);
    CHECK_TEXT(tavola_call_code(t.call), "EntityAlreadyExists");
    CHECK(strchr(tavola_call_message(t.call), '\n') == NULL);
    CHECK(tavola_call_etag(t.call) == NULL);
    tavola_entity_free(entity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(every_type_comes_back_as_it_went),
        LIVE_TEST(every_key_finds_its_entity),
        LIVE_TEST(keys_that_no_entity_can_have_are_refused),
        LIVE_TEST(what_is_not_there_is_not_found),
        LIVE_TEST(a_merge_keeps_what_it_does_not_name),
        LIVE_TEST(only_the_selected_properties_come),
        LIVE_TEST(the_largest_entities_are_taken),
        LIVE_TEST(errors_of_setters_are_told_by_the_operation),
        LIVE_TEST(what_is_missing_is_refused),
        LIVE_TEST(a_call_carries_its_ids_and_its_outcome),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
