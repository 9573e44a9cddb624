/* Entities: what can be set, what is refused, what comes out again. */
#include <math.h>

#include "base/clock.h"
#include "check.h"
#include "client/entity/entity.h"
#include "client/memory_faults.h"

static const tavola_guid some_guid = {
    {0x6f, 0x96, 0x19, 0xff, 0x8b, 0x86, 0xd0, 0x11, 0xb4, 0x2d, 0, 0xc0, 0x4f, 0xc9, 0x64, 0xff}};

static tavola_entity *make_one_of_each(void)
{
    tavola_entity *entity = tavola_entity_new("eu", "0001");

    tavola_entity_set_string(entity, "text", "h\xc3\xa9llo \"you\"\n");
    tavola_entity_set_binary(entity, "bytes", "\x00\x01\xff", 3);
    tavola_entity_set_boolean(entity, "yes", true);
    tavola_entity_set_int32(entity, "small", INT32_MIN);
    tavola_entity_set_int64(entity, "large", INT64_MIN);
    tavola_entity_set_double(entity, "whole", 5.0);
    tavola_entity_set_datetime(entity, "when", INT64_C(639028982451234567));
    tavola_entity_set_guid(entity, "id", some_guid);
    tavola_entity_set_double(entity, "nan", NAN);
    tavola_entity_set_double(entity, "low", -INFINITY);
    tavola_entity_set_etag(entity, "W/\"datetime'2026'\"");
    return entity;
}

static void check_one_of_each(const tavola_entity *entity)
{
    const char *text;
    const void *data;
    size_t size;
    bool boolean;
    int32_t int32;
    int64_t int64;
    double real;
    tavola_ticks ticks;
    tavola_guid guid;

    assert_int_equal(tavola_entity_error(entity), TAVOLA_OK);
    assert_string_equal(tavola_entity_error_text(entity), "");
    assert_string_equal(tavola_entity_partition_key(entity), "eu");
    assert_string_equal(tavola_entity_row_key(entity), "0001");
    assert_int_equal(tavola_entity_count(entity), 10);
    assert_true(tavola_entity_get_string(entity, "text", &text));
    assert_string_equal(text, "h\xc3\xa9llo \"you\"\n");
    assert_true(tavola_entity_get_binary(entity, "bytes", &data, &size));
    assert_int_equal(size, 3);
    assert_memory_equal(data, "\x00\x01\xff", 3);
    assert_true(tavola_entity_get_boolean(entity, "yes", &boolean) && boolean);
    assert_true(tavola_entity_get_int32(entity, "small", &int32) && int32 == INT32_MIN);
    assert_true(tavola_entity_get_int64(entity, "large", &int64) && int64 == INT64_MIN);
    assert_true(tavola_entity_get_double(entity, "whole", &real) && real == 5.0);
    assert_true(tavola_entity_get_datetime(entity, "when", &ticks));
    assert_int_equal(ticks, INT64_C(639028982451234567));
    assert_true(tavola_entity_get_guid(entity, "id", &guid));
    assert_memory_equal(&guid, &some_guid, sizeof guid);
    assert_true(tavola_entity_get_double(entity, "nan", &real) && isnan(real));
    assert_true(tavola_entity_get_double(entity, "low", &real) && real == -INFINITY);
}

TEST(keeps_every_type)
{
    tavola_entity *entity = make_one_of_each();
    tavola_entity *copy = tavola_entity_copy(entity);

    check_one_of_each(entity);
    assert_string_equal(tavola_entity_etag(entity), "W/\"datetime'2026'\"");
    assert_int_equal(tavola_entity_timestamp(entity), 0);
    tavola_entity_free(entity);

    check_one_of_each(copy);
    assert_string_equal(tavola_entity_etag(copy), "W/\"datetime'2026'\"");
    tavola_entity_free(copy);
}

TEST(copies_what_is_set)
{
    char name[] = "name", text[] = "text", key[] = "key", etag[] = "etag";
    tavola_entity *entity = tavola_entity_new(key, key);
    const char *got;

    tavola_entity_set_string(entity, name, text);
    tavola_entity_set_etag(entity, etag);
    name[0] = text[0] = key[0] = etag[0] = 'X';
    assert_true(tavola_entity_get_string(entity, "name", &got));
    assert_string_equal(got, "text");
    assert_string_equal(tavola_entity_partition_key(entity), "key");
    assert_string_equal(tavola_entity_etag(entity), "etag");
    tavola_entity_set_etag(entity, NULL);
    assert_null(tavola_entity_etag(entity));
    tavola_entity_free(entity);
}

/* Which getters give something for a property of each type. */
TEST(widens_only_what_loses_nothing)
{
    static const struct {
        const char *name, *getters;
    } cases[] = {
        {"text", "s"},  {"bytes", "x"}, {"yes", "b"}, {"small", "ild"}, {"large", "l"},
        {"whole", "d"}, {"when", "t"},  {"id", "g"},  {"none", ""},
    };
    tavola_entity *entity = make_one_of_each();
    int64_t int64;
    double real;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = cases[i].name;
        char got[16] = "", *to = got;

        t_row = name;
        if (tavola_entity_get_string(entity, name, NULL))
            *to++ = 's';
        if (tavola_entity_get_binary(entity, name, NULL, NULL))
            *to++ = 'x';
        if (tavola_entity_get_boolean(entity, name, NULL))
            *to++ = 'b';
        if (tavola_entity_get_int32(entity, name, NULL))
            *to++ = 'i';
        if (tavola_entity_get_int64(entity, name, NULL))
            *to++ = 'l';
        if (tavola_entity_get_double(entity, name, NULL))
            *to++ = 'd';
        if (tavola_entity_get_datetime(entity, name, NULL))
            *to++ = 't';
        if (tavola_entity_get_guid(entity, name, NULL))
            *to++ = 'g';
        CHECK_TEXT(tv_slice_of(got), cases[i].getters);
        CHECK(tavola_entity_get(entity, name, NULL) == (got[0] != '\0'));
    }
    assert_true(tavola_entity_get_int64(entity, "small", &int64) && int64 == INT32_MIN);
    assert_true(tavola_entity_get_double(entity, "small", &real) && real == INT32_MIN);
    tavola_entity_free(entity);
}

static tavola_value text_of(char *room, size_t count, char c)
{
    memset(room, c, count);
    return (tavola_value){.type = TAVOLA_STRING, .size = count, .as = {.ptr = room}};
}

TEST(refuses_what_the_service_would)
{
    static char room[70000], long_name[257];
    static const tavola_value one = {.type = TAVOLA_INT32, .as = {.int32 = 1}};

    memset(long_name, 'n', 256);
    const struct {
        const char *label, *name;
        tavola_value value;
        tavola_err err;
        const char *text;
    } cases[] = {
        {"a name", "Age", one, TAVOLA_OK, ""},
        {"letters beyond ASCII", "\xc3\xa4ge", one, TAVOLA_OK, ""},
        {"an underscore first", "_a", one, TAVOLA_OK, ""},
        {"lower case is not the key", "rowkey", one, TAVOLA_OK, ""},
        {"no name", NULL, one, TAVOLA_ERR_INVALID, "property '' is no name"},
        {"empty name", "", one, TAVOLA_ERR_INVALID, "property '' is an empty name"},
        {"digit first", "1st", one, TAVOLA_ERR_INVALID, "property '1st' begins with a digit"},
        {"dash", "a-b", one, TAVOLA_ERR_INVALID,
         "property 'a-b' has a character that names cannot have: letters, digits and _ can be"},
        {"annotation", "a@odata.type", one, TAVOLA_ERR_INVALID,
         "property 'a@odata.type' has a character that names cannot have: letters, digits and _ "
         "can be"},
        {"name of bad UTF-8", "a\xff", one, TAVOLA_ERR_INVALID, "property 'a?' is not valid UTF-8"},
        {"255 characters", long_name + 1, one, TAVOLA_OK, ""},
        {"256 characters", long_name, one, TAVOLA_ERR_INVALID,
         "property 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...' is longer "
         "than "
         "255 characters"},
        {"a key", "PartitionKey", one, TAVOLA_ERR_INVALID,
         "property 'PartitionKey' is a key: give it to tavola_entity_new"},
        {"the other", "RowKey", one, TAVOLA_ERR_INVALID,
         "property 'RowKey' is a key: give it to tavola_entity_new"},
        {"timestamp", "Timestamp", one, TAVOLA_ERR_INVALID,
         "property 'Timestamp' is set by the service: take another name"},
        {"no type",
         "a",
         {.type = TAVOLA_NONE},
         TAVOLA_ERR_INVALID,
         "property 'a' has a value without a type"},
        {"odd type",
         "a",
         {.type = (tavola_type)77},
         TAVOLA_ERR_INVALID,
         "property 'a' has a value without a type"},
        {"null", "a", tavola_string(NULL), TAVOLA_ERR_INVALID,
         "property 'a' is NULL: there is no null, use tavola_entity_unset"},
        {"empty", "a", tavola_string(""), TAVOLA_OK, ""},
        {"bad UTF-8", "a", tavola_string("\xc3("), TAVOLA_ERR_INVALID,
         "property 'a' is not valid UTF-8"},
        {"surrogate", "a", tavola_string("\xed\xa0\x80"), TAVOLA_ERR_INVALID,
         "property 'a' is not valid UTF-8"},
        {"32768 characters", "a", text_of(room, 32768, 'x'), TAVOLA_OK, ""},
        {"32769 characters", "a", text_of(room, 32769, 'x'), TAVOLA_ERR_TOO_LARGE,
         "property 'a' is longer than 32768 characters (64 KiB)"},
        {"no bytes", "a", tavola_binary(NULL, 0), TAVOLA_OK, ""},
        {"bytes of NULL", "a", tavola_binary(NULL, 1), TAVOLA_ERR_INVALID,
         "property 'a' is NULL: there is no null, use tavola_entity_unset"},
        {"65536 bytes", "a", tavola_binary(room, 65536), TAVOLA_OK, ""},
        {"65537 bytes", "a", tavola_binary(room, 65537), TAVOLA_ERR_TOO_LARGE,
         "property 'a' is longer than 65536 bytes"},
        {"1601", "a", tavola_datetime(TV_TICKS_MIN), TAVOLA_OK, ""},
        {"before 1601", "a", tavola_datetime(TV_TICKS_MIN - 1), TAVOLA_ERR_INVALID,
         "property 'a' is a time before 1601, which the service does not keep"},
        {"9999", "a", tavola_datetime(TV_TICKS_MAX), TAVOLA_OK, ""},
        {"after 9999", "a", tavola_datetime(TV_TICKS_MAX + 1), TAVOLA_ERR_INVALID,
         "property 'a' is a time after 9999"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_entity *entity = tavola_entity_new("p", "r");

        t_row = cases[i].label;
        tavola_entity_set(entity, cases[i].name, cases[i].value);
        CHECK_INT(tavola_entity_error(entity), cases[i].err);
        CHECK_TEXT(tv_slice_of(tavola_entity_error_text(entity)), cases[i].text);
        CHECK_INT(tavola_entity_count(entity), cases[i].err == TAVOLA_OK);

        /* The first error stays, and nothing is set any more. */
        tavola_entity_set_int32(entity, "after", 1);
        tavola_entity_set_int32(entity, "?", 1);
        if (cases[i].err) {
            CHECK_INT(tavola_entity_error(entity), cases[i].err);
            CHECK_TEXT(tv_slice_of(tavola_entity_error_text(entity)), cases[i].text);
            CHECK_INT(tavola_entity_count(entity), 0);
        }
        tavola_entity_free(entity);
    }
}

TEST(refuses_keys_that_the_service_would)
{
    static char long_key[1026];

    memset(long_key, 'k', 1025);
    static const struct {
        const char *label, *key;
        tavola_err err;
        const char *why;
    } cases[] = {
        {"empty", "", TAVOLA_OK, ""},
        {"quotes and blanks", "O'Hara \"x\" +%&", TAVOLA_OK, ""},
        {"beyond ASCII", "\xe2\x82\xac", TAVOLA_OK, ""},
        {"U+00A0", "\xc2\xa0", TAVOLA_OK, ""},
        {"NULL", NULL, TAVOLA_ERR_INVALID, "is NULL"},
        {"slash", "a/b", TAVOLA_ERR_INVALID, "has one of / \\ # ? which keys cannot have"},
        {"backslash", "\\", TAVOLA_ERR_INVALID, "has one of / \\ # ? which keys cannot have"},
        {"hash", "#", TAVOLA_ERR_INVALID, "has one of / \\ # ? which keys cannot have"},
        {"question mark", "?", TAVOLA_ERR_INVALID, "has one of / \\ # ? which keys cannot have"},
        {"tab", "\t", TAVOLA_ERR_INVALID, "has a control character, which keys cannot have"},
        {"U+007F", "\x7f", TAVOLA_ERR_INVALID, "has a control character, which keys cannot have"},
        {"U+009F", "a\xc2\x9f", TAVOLA_ERR_INVALID,
         "has a control character, which keys cannot have"},
        {"bad UTF-8", "\xc0\x80", TAVOLA_ERR_INVALID, "is not valid UTF-8"},
        {"1024 characters", long_key + 1, TAVOLA_OK, ""},
        {"1025 characters", long_key, TAVOLA_ERR_TOO_LARGE, "is longer than 1024 characters"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *names[] = {"PartitionKey", "RowKey"};

        t_row = cases[i].label;
        for (int which = 0; which < 2; which++) {
            tavola_entity *entity =
                which ? tavola_entity_new("p", cases[i].key) : tavola_entity_new(cases[i].key, "r");
            char text[200] = "";

            if (cases[i].err)
                snprintf(text, sizeof text, "%s %s", names[which], cases[i].why);
            CHECK_INT(tavola_entity_error(entity), cases[i].err);
            CHECK_TEXT(tv_slice_of(tavola_entity_error_text(entity)), text);
            CHECK(tavola_entity_partition_key(entity) && tavola_entity_row_key(entity));
            tavola_entity_free(entity);
        }
    }
}

TEST(has_at_most_252_properties)
{
    tavola_entity *entity = tavola_entity_new("p", "r");
    char name[20];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < TVC_PROPERTIES_MAX; i++) {
            snprintf(name, sizeof name, "n%d", i);
            tavola_entity_set_int32(entity, name, i + round);
        }
    }
    assert_int_equal(tavola_entity_error(entity), TAVOLA_OK);
    assert_int_equal(tavola_entity_count(entity), TVC_PROPERTIES_MAX);
    tavola_entity_unset(entity, "n100");
    tavola_entity_set_int32(entity, "m", 1);
    assert_int_equal(tavola_entity_error(entity), TAVOLA_OK);
    tavola_entity_set_int32(entity, "n100", 1);
    assert_int_equal(tavola_entity_error(entity), TAVOLA_ERR_TOO_LARGE);
    assert_string_equal(tavola_entity_error_text(entity),
                        "property 'n100' is one too many: an entity has at most 252");
    tavola_entity_free(entity);
}

TEST(unsets)
{
    tavola_entity *entity = make_one_of_each();

    tavola_entity_unset(entity, "not there");
    assert_int_equal(tavola_entity_error(entity), TAVOLA_ERR_INVALID);
    tavola_entity_free(entity);

    entity = make_one_of_each();
    tavola_entity_unset(entity, "absent");
    assert_int_equal(tavola_entity_error(entity), TAVOLA_OK);
    assert_false(entity->is_unset);
    tavola_entity_unset(entity, "yes");
    assert_true(entity->is_unset);
    assert_false(tavola_entity_get(entity, "yes", NULL));
    assert_int_equal(tavola_entity_count(entity), 9);
    assert_string_equal(tavola_entity_name_at(entity, 2, NULL), "small");
    assert_null(tavola_entity_name_at(entity, 9, NULL));
    tavola_entity_unset(entity, "RowKey");
    assert_int_equal(tavola_entity_error(entity), TAVOLA_ERR_INVALID);
    tavola_entity_free(entity);
}

TEST(accepts_null_for_an_entity)
{
    tavola_value value;

    tavola_entity_set_int32(NULL, "a", 1);
    tavola_entity_unset(NULL, "a");
    tavola_entity_set_etag(NULL, "a");
    tavola_entity_free(NULL);
    assert_null(tavola_entity_copy(NULL));
    assert_int_equal(tavola_entity_error(NULL), TAVOLA_ERR_NO_MEMORY);
    assert_false(tavola_entity_get(NULL, "a", &value));
    assert_int_equal(tavola_entity_count(NULL), 0);
    assert_null(tavola_entity_name_at(NULL, 0, &value));
    assert_int_equal(tavola_entity_bytes(NULL), 0);
    assert_null(tavola_entity_json(NULL));
    assert_string_equal(tavola_entity_partition_key(NULL), "");
}

TEST(refuses_etags_that_break_a_header)
{
    static const char *const etags[] = {"", "a\r\nHost: b", "\xc3\xa4", "\x7f"};

    for (size_t i = 0; i < sizeof etags / sizeof *etags; i++) {
        tavola_entity *entity = tavola_entity_new("p", "r");

        tavola_entity_set_etag(entity, etags[i]);
        assert_int_equal(tavola_entity_error(entity), TAVOLA_ERR_INVALID);
        tavola_entity_free(entity);
    }
}

TEST(sets_a_property_from_itself)
{
    tavola_entity *entity = tavola_entity_new("p", "r");
    const char *text;

    tavola_entity_set_string(entity, "a", "0123456789");
    tavola_entity_get_string(entity, "a", &text);
    tavola_entity_set_string(entity, "a", text + 3);
    tavola_entity_get_string(entity, "a", &text);
    assert_string_equal(text, "3456789");
    tavola_entity_set_string(entity, "b", text);
    tavola_entity_get_string(entity, "b", &text);
    assert_string_equal(text, "3456789");
    tavola_entity_free(entity);
}

/* However often it is changed, an entity keeps to about the size of what it has. */
TEST(does_not_grow_when_it_is_changed_for_ever)
{
    static char room[40000];
    tavola_entity *entity = make_one_of_each();
    const char *text;

    for (int i = 0; i < 20000; i++) {
        size_t size = (size_t)(i * 7919 % 30000);

        tavola_entity_set(entity, "changing", text_of(room, size, 'a'));
        if (i % 3 == 0)
            tavola_entity_unset(entity, "changing");
        tavola_entity_set_etag(entity, i % 2 ? "one" : "two");
        assert_true(entity->memory->taken < 512 * 1024);
    }
    tavola_entity_unset(entity, "changing");
    check_one_of_each(entity);
    tavola_entity_set(entity, "zeros", (tavola_value){TAVOLA_STRING, 3, {.ptr = "a\0b"}});
    assert_false(tavola_entity_get_string(entity, "zeros", &text));
    tavola_entity_free(entity);
}

TEST(counts_bytes_as_the_service_does)
{
    tavola_entity *entity = tavola_entity_new("ab", "c");

    /* 4 + 2 * 3, and for each 8 + 2 * name + value. */
    assert_int_equal(tavola_entity_bytes(entity), 10);
    tavola_entity_set_string(entity, "s", "\xf0\x9f\x98\x80"); /* two UTF-16 units */
    assert_int_equal(tavola_entity_bytes(entity), 10 + 10 + 8);
    tavola_entity_set_binary(entity, "b", "xyz", 3);
    tavola_entity_set_boolean(entity, "t", true);
    tavola_entity_set_int32(entity, "i", 1);
    tavola_entity_set_int64(entity, "l", 1);
    tavola_entity_set_double(entity, "d", 1);
    tavola_entity_set_datetime(entity, "w", TV_TICKS_MIN);
    tavola_entity_set_guid(entity, "g", some_guid);
    assert_int_equal(tavola_entity_bytes(entity), 28 + 7 * 10 + 7 + 1 + 4 + 8 + 8 + 8 + 16);
    tavola_entity_free(entity);
}

TEST(is_too_large_for_the_service)
{
    static char room[65536];
    tavola_entity *entity = tavola_entity_new("", "");
    const char *why;
    char name[8];

    /* 4, and 15 of 10 + 4 + 65536, and one of 10 + 4 + rest: 1 MiB. */
    for (int i = 0; i < 15; i++) {
        snprintf(name, sizeof name, "%c", 'a' + i);
        tavola_entity_set_binary(entity, name, room, sizeof room);
    }
    tavola_entity_set_binary(entity, "z", room, 65536 - 4 - 16 * 14);
    assert_int_equal(tavola_entity_bytes(entity), 1024 * 1024);
    assert_int_equal(tvc_entity_check(entity, &why), TAVOLA_OK);
    tavola_entity_set_boolean(entity, "one_more", true);
    assert_int_equal(tvc_entity_check(entity, &why), TAVOLA_ERR_TOO_LARGE);
    assert_string_equal(why, "the entity is larger than 1 MiB");
    tavola_entity_free(entity);
}

TEST(compares)
{
    static const struct {
        const char *label, *a, *b;
        bool contains, same;
    } cases[] = {
        {"nothing", "", "", true, true},
        {"equal", "\"x\":1,\"y\":\"a\"", "\"x\":1,\"y\":\"a\"", true, true},
        {"another order", "\"x\":1,\"y\":\"a\"", "\"y\":\"a\",\"x\":1", true, true},
        {"fewer", "\"x\":1,\"y\":\"a\"", "\"y\":\"a\"", true, false},
        {"more", "\"y\":\"a\"", "\"x\":1,\"y\":\"a\"", false, false},
        {"another type", "\"x\":1", "\"x\":1.0", false, false},
        {"another value", "\"x\":1", "\"x\":2", false, false},
        {"another case", "\"x\":1", "\"X\":1", false, false},
        {"a sign of zero", "\"x\":0.0", "\"x\":-0.0", true, true},
        {"not a number", "\"x@odata.type\":\"Edm.Double\",\"x\":\"NaN\"",
         "\"x@odata.type\":\"Edm.Double\",\"x\":\"NaN\"", true, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_entity *entities[2] = {NULL, NULL};

        t_row = cases[i].label;
        for (int k = 0; k < 2; k++) {
            char json[200];

            snprintf(json, sizeof json, "{%s}", k ? cases[i].b : cases[i].a);
            CHECK_INT(tvc_entity_read(tvc_dup_text(json), strlen(json), &entities[k]), TAVOLA_OK);
        }
        CHECK(tvc_entity_contains(entities[0], entities[1]) == cases[i].contains);
        CHECK(tvc_entity_same(entities[0], entities[1]) == cases[i].same);
        CHECK(tvc_entity_same(entities[1], entities[0]) == cases[i].same);
        tavola_entity_free(entities[0]);
        tavola_entity_free(entities[1]);
    }
}

TEST(survives_a_lack_of_memory)
{
    static char room[5000];

    MEMORY_FAULTS(fault)
    {
        tavola_entity *entity = make_one_of_each();
        char name[20];

        for (int i = 0; i < 40; i++) {
            snprintf(name, sizeof name, "n%d", i);
            tavola_entity_set(entity, name, text_of(room, (size_t)i * 100, 'x'));
        }
        tavola_entity_unset(entity, "n1");
        tavola_entity_set_string(entity, "bad name", "x");

        tavola_entity *copy = tavola_entity_copy(entity);
        tavola_err err = tavola_entity_error(entity);

        assert_non_null(tavola_entity_error_text(entity));
        if (err == TAVOLA_ERR_NO_MEMORY)
            assert_true(memory_fault_was_hit());
        else
            assert_int_equal(err, TAVOLA_ERR_INVALID);
        if (copy)
            assert_int_equal(tavola_entity_error(copy), err);
        else
            assert_true(memory_fault_was_hit());
        tavola_entity_free(copy);
        tavola_entity_free(entity);
    }
}

static void takes_etags_of_any_length_from_writes(void **state)
{
    enum { LONG = 300 };
    char text[LONG + 1] = "";
    tavola_entity *entity = make_one_of_each();

    (void)state;
    for (int i = 0; i < 2000; i++) {
        memset(text, 'a' + i % 26, sizeof text - 1);
        text[i % LONG + 1] = '\0';
        assert_true(tvc_entity_reserve_etag(entity));
        tvc_entity_take_etag(entity, text);
        assert_string_equal(tavola_entity_etag(entity), text);

        /* Its own, and that of a copy. */
        tvc_entity_take_etag(entity, tavola_entity_etag(entity));
        assert_string_equal(tavola_entity_etag(entity), text);
        tavola_entity *copy = tavola_entity_copy(entity);
        assert_string_equal(tavola_entity_etag(copy), text);
        tavola_entity_free(copy);
    }
    tvc_entity_take_etag(entity, NULL);
    assert_null(tavola_entity_etag(entity));
    tavola_entity_free(entity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_every_type),
        cmocka_unit_test(copies_what_is_set),
        cmocka_unit_test(widens_only_what_loses_nothing),
        cmocka_unit_test(refuses_what_the_service_would),
        cmocka_unit_test(refuses_keys_that_the_service_would),
        cmocka_unit_test(has_at_most_252_properties),
        cmocka_unit_test(unsets),
        cmocka_unit_test(accepts_null_for_an_entity),
        cmocka_unit_test(refuses_etags_that_break_a_header),
        cmocka_unit_test(takes_etags_of_any_length_from_writes),
        cmocka_unit_test(sets_a_property_from_itself),
        cmocka_unit_test(does_not_grow_when_it_is_changed_for_ever),
        cmocka_unit_test(counts_bytes_as_the_service_does),
        cmocka_unit_test(is_too_large_for_the_service),
        cmocka_unit_test(compares),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
