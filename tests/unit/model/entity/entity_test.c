/* The stored form: what goes in comes out, and what is damaged is detected. */
#include "model/entity/entity.h"

#include <math.h>

#include "check.h"
#include "services/table/properties.h"
#include "random.h"

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

TEST(the_bytes_are_those_of_the_header)
{
    tv_property list[] = {
        {.name = TV_LIT("s"), .type = TV_EDM_STRING, .bytes = TV_LIT("hi")},
        {.name = TV_LIT("b"), .type = TV_EDM_BOOLEAN, .boolean = true},
        {.name = TV_LIT("i"), .type = TV_EDM_INT32, .int32 = -2},
        {.name = TV_LIT("l"), .type = TV_EDM_INT64, .int64 = 258},
        {.name = TV_LIT("d"), .type = TV_EDM_DOUBLE, .real = 1},
        {.name = TV_LIT("x"), .type = TV_EDM_BINARY, .bytes = {"\0\xFF", 2}},
    };
    static const char want[] = "\x08\x07\x06\x05\x04\x03\x02\x01"
                               "\x01\x01s\x02hi"
                               "\x02\x01"
                               "b\x01"
                               "\x03\x01i\xFE\xFF\xFF\xFF"
                               "\x04\x01l\x02\x01\0\0\0\0\0\0"
                               "\x05\x01"
                               "d\0\0\0\0\0\0\xF0\x3F"
                               "\x08\x01x\x02\0\xFF";
    tv_slice value = tv_entity_encode(&arena, &(tv_entity_properties){list, COUNT(list)});

    tv_entity_set_timestamp(value, INT64_C(0x0102030405060708));
    CHECK_SLICE(value, TV_LIT(want));
}

TEST(lengths_of_128_and_more_take_another_byte)
{
    static const struct {
        size_t len;
        int bytes;
    } rows[] = {{0, 1}, {127, 1}, {128, 2}, {16383, 2}, {16384, 3}, {65536, 3}};
    static char text[65536];

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_property property = {
            .name = TV_LIT("n"), .type = TV_EDM_BINARY, .bytes = {text, rows[i].len}};
        tv_entity_properties properties = {&property, 1};
        tv_slice value = tv_entity_encode(&arena, &properties);

        CHECK_INT(value.len, 8 + 3 + (size_t)rows[i].bytes + rows[i].len);
        CHECK(walks_to(value, &properties));
    }
}

TEST(random_entities_survive_encode_and_walk)
{
    t_random_seed(0xe17);
    for (int i = 0; i < 2000; i++) {
        tv_entity_properties properties =
            random_properties(&arena, t_random, t_random() % (i % 100 ? 12 : 253));
        tv_slice value = tv_entity_encode(&arena, &properties);
        int64_t ticks = (int64_t)(t_random() % (uint64_t)TV_TICKS_MAX), got;

        CHECK_OK(tv_entity_check(value));
        CHECK_OK(tv_entity_timestamp(value, &got));
        CHECK_INT(got, 0);
        tv_entity_set_timestamp(value, ticks);
        CHECK_OK(tv_entity_timestamp(value, &got));
        CHECK_INT(got, ticks);
        CHECK(walks_to(value, &properties));
        tv_arena_reset(&arena);
    }
}

/* Walk an exact copy, so that the address sanitizer sees a read past the end. */
static bool walk_copy(tv_slice value, size_t *ret_count)
{
    char *copy = tv_malloc(value.len ? value.len : 1);
    tv_entity_cursor cursor;
    tv_property property;
    size_t count = 0, seen = 0;

    memcpy(copy, value.data, value.len);
    tv_entity_cursor_init(&cursor, (tv_slice){copy, value.len});
    while (tv_entity_next(&cursor, &property)) {
        /* All that it hands out is inside the value. */
        for (size_t i = 0; i < property.name.len; i++)
            seen += (unsigned char)property.name.data[i];
        if (property.type == TV_EDM_STRING || property.type == TV_EDM_BINARY) {
            for (size_t i = 0; i < property.bytes.len; i++)
                seen += (unsigned char)property.bytes.data[i];
        }
        /* A property takes two bytes at least. */
        CHECK(++count <= value.len / 2);
    }
    CHECK_ERR(tv_entity_check((tv_slice){copy, value.len}),
              cursor.is_corrupt ? TV_ERR_CORRUPT : TV_OK);
    free(copy);
    *ret_count = count;
    return !cursor.is_corrupt && seen < SIZE_MAX;
}

TEST(a_truncated_entity_is_corrupt_or_ends_between_two_properties)
{
    t_random_seed(0x7c);
    for (int i = 0; i < 60; i++) {
        tv_entity_properties properties = random_properties(&arena, t_random, t_random() % 10);
        tv_slice value = tv_entity_encode(&arena, &properties);
        size_t whole = 0, count;

        for (size_t len = 0; len < value.len; len++) {
            if (!walk_copy(tv_slice_take(value, len), &count))
                continue;
            /* A cut that leaves an entity leaves one property less each time. */
            CHECK_INT(count, whole);
            CHECK(len >= 8);
            whole++;
        }
        CHECK_INT(whole, properties.count);
        tv_arena_reset(&arena);
    }
}

TEST(a_changed_byte_is_corrupt_or_another_entity)
{
    t_random_seed(0xf11b);
    for (int i = 0; i < 12; i++) {
        tv_entity_properties properties = random_properties(&arena, t_random, 1 + t_random() % 6);
        tv_slice value = tv_entity_encode(&arena, &properties);
        size_t count;

        for (size_t at = 0; at < value.len; at++) {
            char *byte = (char *)value.data + at, was = *byte;

            for (int bit = 0; bit < 8; bit++) {
                *byte = (char)(was ^ 1 << bit);
                walk_copy(value, &count);
            }
            *byte = (char)0xFF;
            walk_copy(value, &count);
            *byte = was;
        }
        CHECK(walks_to(value, &properties));
        tv_arena_reset(&arena);
    }
}

static const struct {
    const char *what;
    tv_slice value;
} corrupt[] = {
    {"nothing", {"", 0}},
    {"seven bytes", {"\0\0\0\0\0\0\0", 7}},
    {"a type of 0", {"\0\0\0\0\0\0\0\0\0\x01n\x01", 12}},
    {"a type of 9", {"\0\0\0\0\0\0\0\0\x09\x01n\x01", 12}},
    {"a type of 255", {"\0\0\0\0\0\0\0\0\xFF\x01n\x01", 12}},
    {"a type alone", {"\0\0\0\0\0\0\0\0\x01", 9}},
    {"a length without end", {"\0\0\0\0\0\0\0\0\x01\x80\x80\x80\x80\x80\x80\x80", 16}},
    {"a length of 34 bits", {"\0\0\0\0\0\0\0\0\x01\xFF\xFF\xFF\xFF\x7Fname", 18}},
    {"a name past the end", {"\0\0\0\0\0\0\0\0\x01\x05name", 14}},
    {"a timestamp before all time", {"\0\0\0\0\0\0\0\x80", 8}},
    {"a timestamp after year 9999", {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F", 8}},
    {"a date after year 9999", {"\0\0\0\0\0\0\0\0\x06\x01n\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F", 19}},
    {"a date before all time", {"\0\0\0\0\0\0\0\0\x06\x01n\0\0\0\0\0\0\0\x80", 19}},
};

TEST(damage_that_a_walk_must_find)
{
    for (size_t i = 0; i < COUNT(corrupt); i++) {
        size_t count;

        t_row = corrupt[i].what;
        CHECK(!walk_copy(corrupt[i].value, &count));
    }
}

TEST(an_entity_without_properties_is_an_entity)
{
    tv_entity_properties none = {NULL, 0};
    tv_slice value = tv_entity_encode(&arena, &none);

    CHECK_INT(value.len, 8);
    CHECK(walks_to(value, &none));
}

/* --- merging --- */

/* "a=1 b=x": numbers become Int32, all else a String. */
static tv_entity_properties properties_of(const char *text)
{
    tv_slice rest = tv_slice_of(text), part;
    tv_entity_properties properties = {tv_arena_alloc(&arena, 32 * sizeof(tv_property)), 0};

    while (rest.len && tv_slice_next(&rest, ' ', &part)) {
        size_t equals = tv_slice_find(part, '=');
        tv_slice value = tv_slice_skip(part, equals + 1);
        tv_property *property = &properties.list[properties.count++];
        bool is_number = value.len == 1 && value.data[0] >= '0' && value.data[0] <= '9';

        *property = (tv_property){.name = tv_slice_take(part, equals), .type = TV_EDM_STRING};
        property->bytes = value;
        if (is_number) {
            property->type = TV_EDM_INT32;
            property->int32 = value.data[0] - '0';
        }
    }
    return properties;
}

static const struct {
    const char *what, *stored, *changes, *merged;
} merges[] = {
    {"nothing over nothing", "", "", ""},
    {"nothing changes nothing but the order", "b=1 a=2", "", "a=2 b=1"},
    {"onto nothing", "", "b=1 a=2", "a=2 b=1"},
    {"a new property", "a=1", "b=2", "a=1 b=2"},
    {"a new value", "a=1 b=2", "a=3", "a=3 b=2"},
    {"a new type", "a=1", "a=text", "a=text"},
    {"names differ by case", "a=1", "A=2", "A=2 a=1"},
    {"upper case sorts first", "z=1 B=2", "a=3 _=4", "B=2 _=4 a=3 z=1"},
    {"everything replaced", "a=1 b=2", "b=x a=y", "a=y b=x"},
};

TEST(a_merge_lays_changes_over_what_is_stored)
{
    for (size_t i = 0; i < COUNT(merges); i++) {
        tv_entity_properties stored = properties_of(merges[i].stored);
        tv_entity_properties changes = properties_of(merges[i].changes);
        tv_entity_properties want = properties_of(merges[i].merged), merged;

        t_row = merges[i].what;
        CHECK_OK(tv_entity_merge(&arena, tv_entity_encode(&arena, &stored), &changes, &merged));
        CHECK(walks_to(tv_entity_encode(&arena, &merged), &want));
    }
}

TEST(a_corrupt_entity_is_not_merged)
{
    tv_entity_properties changes = properties_of("a=1"), merged;
    tv_slice value = tv_entity_encode(&arena, &changes);

    CHECK_ERR(tv_entity_merge(&arena, tv_slice_take(value, value.len - 1), &changes, &merged),
              TV_ERR_CORRUPT);
    CHECK_ERR(tv_entity_merge(&arena, TV_LIT("short"), &changes, &merged), TV_ERR_CORRUPT);
}

TEST(two_full_entities_merge_without_overflow)
{
    tv_entity_properties stored = random_properties(&arena, t_random, TV_ENTITY_PROPERTIES_MAX);
    tv_entity_properties changes = random_properties(&arena, t_random, TV_ENTITY_PROPERTIES_MAX),
                         merged;

    for (size_t i = 0; i < changes.count; i++)
        changes.list[i].name = tv_arena_printf(&arena, "other%zu", i);
    CHECK_OK(tv_entity_merge(&arena, tv_entity_encode(&arena, &stored), &changes, &merged));
    CHECK_INT(merged.count, 2 * TV_ENTITY_PROPERTIES_MAX);
    CHECK_ERR(tv_entity_check_limits(TV_LIT("p"), TV_LIT("r"), &merged),
              TV_ERR_TOO_MANY_PROPERTIES);

    /* The same names again fit. */
    CHECK_OK(tv_entity_merge(&arena, tv_entity_encode(&arena, &changes), &changes, &merged));
    CHECK_INT(merged.count, TV_ENTITY_PROPERTIES_MAX);
    CHECK_OK(tv_entity_check_limits(TV_LIT("p"), TV_LIT("r"), &merged));
}

/* --- limits of the whole --- */

TEST(an_entity_has_at_most_252_properties)
{
    tv_entity_properties properties = random_properties(&arena, t_random, 253);

    CHECK_ERR(tv_entity_check_limits(TV_LIT(""), TV_LIT(""), &properties),
              TV_ERR_TOO_MANY_PROPERTIES);
    properties.count = 252;
    CHECK_OK(tv_entity_check_limits(TV_LIT(""), TV_LIT(""), &properties));
}

TEST(an_entity_costs_at_most_1_mib)
{
    enum { BIG = 65536, COUNT_OF_BIG = 15 };
    static char bytes[BIG];
    tv_property list[COUNT_OF_BIG + 1];
    tv_entity_properties properties = {list, COUNT_OF_BIG + 1};
    size_t left = TV_ENTITY_COST_MAX - 4 - 2 * (2 + 3) - COUNT_OF_BIG * (8 + 2 + BIG + 4);

    for (int i = 0; i < COUNT_OF_BIG; i++)
        list[i] = (tv_property){
            .name = {&"abcdefghijklmno"[i], 1}, .type = TV_EDM_BINARY, .bytes = {bytes, BIG}};
    list[COUNT_OF_BIG] = (tv_property){
        .name = TV_LIT("z"), .type = TV_EDM_BINARY, .bytes = {bytes, left - 8 - 2 - 4}};
    CHECK_OK(tv_entity_check_limits(TV_LIT("pp"), TV_LIT("rrr"), &properties));
    /* Each side of the sum counts: a key, a value, a name. */
    CHECK_ERR(tv_entity_check_limits(TV_LIT("ppp"), TV_LIT("rrr"), &properties),
              TV_ERR_ENTITY_TOO_LARGE);
    CHECK_ERR(tv_entity_check_limits(TV_LIT("pp"), TV_LIT("rrrr"), &properties),
              TV_ERR_ENTITY_TOO_LARGE);
    list[COUNT_OF_BIG].bytes.len++;
    CHECK_ERR(tv_entity_check_limits(TV_LIT("pp"), TV_LIT("rrr"), &properties),
              TV_ERR_ENTITY_TOO_LARGE);
    CHECK_ERR(tv_entity_check_limits(TV_LIT("pp"), TV_LIT("rr\xF0\x9F\x98\x80"), &properties),
              TV_ERR_ENTITY_TOO_LARGE);
    list[COUNT_OF_BIG].bytes.len -= 2;
    list[COUNT_OF_BIG].name = TV_LIT("zz");
    CHECK_ERR(tv_entity_check_limits(TV_LIT("pp"), TV_LIT("rrr"), &properties),
              TV_ERR_ENTITY_TOO_LARGE);
}

TEST(a_value_is_too_large_only_in_an_entity_that_is_not)
{
    static char bytes[TV_ENTITY_COST_MAX];
    tv_property list[] = {{.name = TV_LIT("v"), .bytes = {bytes, 65537}},
                          {.name = TV_LIT("w"), .type = TV_EDM_BINARY, .bytes = {bytes, 1}}};
    tv_entity_properties properties = {list, COUNT(list)};
    static const tv_edm_type types[] = {TV_EDM_STRING, TV_EDM_BINARY};

    memset(bytes, 'a', sizeof bytes);
    for (size_t i = 0; i < COUNT(types); i++) {
        list[0].type = types[i];
        list[0].bytes.len = 65537;
        CHECK_ERR(tv_entity_check_limits(TV_LIT("p"), TV_LIT("r"), &properties),
                  TV_ERR_PROPERTY_VALUE_TOO_LARGE);
        list[0].bytes.len = sizeof bytes;
        CHECK_ERR(tv_entity_check_limits(TV_LIT("p"), TV_LIT("r"), &properties),
                  TV_ERR_ENTITY_TOO_LARGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_header),
        cmocka_unit_test(lengths_of_128_and_more_take_another_byte),
        cmocka_unit_test(random_entities_survive_encode_and_walk),
        cmocka_unit_test(a_truncated_entity_is_corrupt_or_ends_between_two_properties),
        cmocka_unit_test(a_changed_byte_is_corrupt_or_another_entity),
        cmocka_unit_test(damage_that_a_walk_must_find),
        cmocka_unit_test(an_entity_without_properties_is_an_entity),
        cmocka_unit_test(a_merge_lays_changes_over_what_is_stored),
        cmocka_unit_test(a_corrupt_entity_is_not_merged),
        cmocka_unit_test(two_full_entities_merge_without_overflow),
        cmocka_unit_test(an_entity_has_at_most_252_properties),
        cmocka_unit_test(an_entity_costs_at_most_1_mib),
        cmocka_unit_test(a_value_is_too_large_only_in_an_entity_that_is_not),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
