/* Names of tables and properties, and keys. */
#include "services/table/names.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct {
    const char *what, *name;
    tv_err err;
} tables[] = {
    {"three letters", "abc", TV_OK},
    {"digits after a letter", "A12", TV_OK},
    {"63 characters", "a23456789012345678901234567890123456789012345678901234567890123", TV_OK},
    {"empty", "", TV_ERR_NAME_LENGTH},
    {"two letters", "ab", TV_ERR_NAME_LENGTH},
    {"64 characters", "a234567890123456789012345678901234567890123456789012345678901234",
     TV_ERR_NAME_LENGTH},
    {"length is looked at first", "-!", TV_ERR_NAME_LENGTH},
    {"a digit first", "1abc", TV_ERR_NAME_INVALID},
    {"an underscore", "my_table", TV_ERR_NAME_INVALID},
    {"a dash", "my-table", TV_ERR_NAME_INVALID},
    {"a blank", "my table", TV_ERR_NAME_INVALID},
    {"a dollar", "$Metrics", TV_ERR_NAME_INVALID},
    {"beyond ASCII",
     "t\xC3\xA4"
     "ble",
     TV_ERR_NAME_INVALID},
    {"two characters of four units", "\xF0\x9F\x98\x80\xF0\x9F\x98\x80", TV_ERR_NAME_INVALID},
    {"reserved", "tables", TV_ERR_NAME_RESERVED},
    {"reserved in any case", "TaBLeS", TV_ERR_NAME_RESERVED},
    {"not reserved", "table", TV_OK},
};

TEST(table_names_are_3_to_63_letters_and_digits)
{
    for (size_t i = 0; i < COUNT(tables); i++) {
        t_row = tables[i].what;
        CHECK_ERR(tv_check_table_name(tv_slice_of(tables[i].name)), tables[i].err);
    }
}

static const struct {
    const char *what, *name;
    tv_err err;
} properties[] = {
    {"a letter", "a", TV_OK},
    {"an underscore first", "_a", TV_OK},
    {"digits after", "a1", TV_OK},
    {"a letter beyond ASCII", "\xC3\xB4", TV_OK},
    {"a letter of Yi", "\xEA\x80\x95", TV_OK},
    {"an ideograph beyond the BMP", "\xF0\xA0\x80\x80", TV_OK},
    {"a micro sign, which is a letter", "\xC2\xB5", TV_OK},
    {"empty", "", TV_ERR_PROPERTY_NAME_INVALID},
    {"a digit first", "1a", TV_ERR_PROPERTY_NAME_INVALID},
    {"a dash", "a-b", TV_ERR_PROPERTY_NAME_INVALID},
    {"a blank", "a b", TV_ERR_PROPERTY_NAME_INVALID},
    {"a point", "a.b", TV_ERR_PROPERTY_NAME_INVALID},
    {"a control character", "a\x01", TV_ERR_PROPERTY_NAME_INVALID},
    {"a delete character", "a\x7F", TV_ERR_PROPERTY_NAME_INVALID},
    {"a control character of Latin-1", "a\xC2\x85", TV_ERR_PROPERTY_NAME_INVALID},
    {"a multiplication sign", "a\xC3\x97", TV_ERR_PROPERTY_NAME_INVALID},
    {"a dash of general punctuation", "a\xE2\x80\x94", TV_ERR_PROPERTY_NAME_INVALID},
    {"an arrow", "a\xE2\x86\x90", TV_ERR_PROPERTY_NAME_INVALID},
    {"an ideographic comma", "a\xE3\x80\x81", TV_ERR_PROPERTY_NAME_INVALID},
    {"private use", "a\xEE\x80\x80", TV_ERR_PROPERTY_NAME_INVALID},
    {"no character at all", "a\xEF\xBF\xBF", TV_ERR_PROPERTY_NAME_INVALID},
};

TEST(property_names_are_identifiers)
{
    for (size_t i = 0; i < COUNT(properties); i++) {
        t_row = properties[i].what;
        CHECK_ERR(tv_check_property_name(tv_slice_of(properties[i].name)), properties[i].err);
    }
}

/* Lengths count UTF-16 units. */
static tv_slice repeat(char *to, const char *text, size_t count)
{
    size_t len = strlen(text);

    for (size_t i = 0; i < count; i++)
        memcpy(to + i * len, text, len);
    return (tv_slice){to, count * len};
}

static const struct {
    const char *what, *text;
    size_t fits; /* how often into 255 units; into 1,024 it is given below */
    size_t fits_key;
} lengths[] = {
    {"one byte", "a", 255, 1024},
    {"two bytes, one unit", "\xC3\xB4", 255, 1024},
    {"three bytes, one unit", "\xEA\x80\x95", 255, 1024},
    {"four bytes, two units", "\xF0\xA0\x80\x80", 127, 512},
};

TEST(lengths_are_counted_in_utf16_units)
{
    static char text[4200];

    for (size_t i = 0; i < COUNT(lengths); i++) {
        t_row = lengths[i].what;
        CHECK_OK(tv_check_property_name(repeat(text, lengths[i].text, lengths[i].fits)));
        CHECK_ERR(tv_check_property_name(repeat(text, lengths[i].text, lengths[i].fits + 1)),
                  TV_ERR_PROPERTY_NAME_TOO_LONG);
        CHECK_OK(tv_check_url_key(repeat(text, lengths[i].text, lengths[i].fits_key)));
        CHECK_ERR(tv_check_url_key(repeat(text, lengths[i].text, lengths[i].fits_key + 1)),
                  TV_ERR_PROPERTY_VALUE_TOO_LARGE);
    }
}

TEST(a_name_that_is_too_long_and_wrong_is_too_long)
{
    char text[256];

    CHECK_ERR(tv_check_property_name(repeat(text, "-", 256)), TV_ERR_PROPERTY_NAME_TOO_LONG);
}

static const struct {
    const char *what;
    tv_slice key;
    tv_err url, body;
} keys[] = {
    {"empty", {"", 0}, TV_OK, TV_OK},
    {"signs that are legal", {"'\"+,$=& :@%;()~!*", 17}, TV_OK, TV_OK},
    {"beyond ASCII", {"\xC3\xB4\xF0\x9F\x98\x80", 6}, TV_OK, TV_OK},
    {"a slash", {"a/b", 3}, TV_ERR_QUERY_SYNTAX, TV_ERR_OUT_OF_RANGE},
    {"a backslash", {"a\\b", 3}, TV_ERR_QUERY_SYNTAX, TV_ERR_OUT_OF_RANGE},
    {"a number sign", {"a#b", 3}, TV_ERR_OUT_OF_RANGE, TV_ERR_OUT_OF_RANGE},
    {"a question mark", {"a?b", 3}, TV_ERR_OUT_OF_RANGE, TV_ERR_OUT_OF_RANGE},
    {"a NUL", {"a\0b", 3}, TV_ERR_OUT_OF_RANGE, TV_ERR_OUT_OF_RANGE},
    {"a tab", {"a\tb", 3}, TV_ERR_OUT_OF_RANGE, TV_ERR_OUT_OF_RANGE},
    {"the last control character", {"\x1F", 1}, TV_ERR_OUT_OF_RANGE, TV_ERR_OUT_OF_RANGE},
    {"a delete character", {"\x7F", 1}, TV_ERR_OUT_OF_RANGE, TV_ERR_OUT_OF_RANGE},
    {"U+0080", {"\xC2\x80", 2}, TV_ERR_OUT_OF_RANGE, TV_ERR_OUT_OF_RANGE},
    {"U+009F", {"\xC2\x9F", 2}, TV_ERR_OUT_OF_RANGE, TV_ERR_OUT_OF_RANGE},
    {"U+00A0", {"\xC2\xA0", 2}, TV_OK, TV_OK},
};

TEST(keys_have_forbidden_characters)
{
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0; i < COUNT(keys); i++) {
        tv_error_info info = {0};

        t_row = keys[i].what;
        CHECK_ERR(tv_check_url_key(keys[i].key), keys[i].url);
        CHECK_ERR(tv_check_body_key(&arena, TV_LIT("RowKey"), keys[i].key, &info), keys[i].body);
        CHECK_INT(info.text.data != NULL, keys[i].body != TV_OK);
    }
    tv_arena_done(&arena);
}

TEST(the_error_for_an_inserted_key_names_it)
{
    static char text[1025];
    tv_error_info info = {0};
    tv_arena arena;

    tv_arena_init(&arena);
    CHECK_ERR(tv_check_body_key(&arena, TV_LIT("PartitionKey"), TV_LIT("a/b"), &info),
              TV_ERR_OUT_OF_RANGE);
    CHECK_TEXT(info.text, "The 'PartitionKey' parameter of value 'a/b' is out of range.");

    info = (tv_error_info){0};
    CHECK_ERR(tv_check_body_key(&arena, TV_LIT("RowKey"), repeat(text, "k", 1025), &info),
              TV_ERR_PROPERTY_VALUE_TOO_LARGE);
    CHECK(info.text.data == NULL);
    tv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_names_are_3_to_63_letters_and_digits),
        cmocka_unit_test(property_names_are_identifiers),
        cmocka_unit_test(lengths_are_counted_in_utf16_units),
        cmocka_unit_test(a_name_that_is_too_long_and_wrong_is_too_long),
        cmocka_unit_test(keys_have_forbidden_characters),
        cmocka_unit_test(the_error_for_an_inserted_key_names_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
