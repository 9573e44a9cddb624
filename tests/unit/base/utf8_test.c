/* UTF-8. */
#include "base/utf8.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct {
    const char *what, *text;
    bool valid;
    size_t units;
} validity[] = {
    {"nothing", "", true, 0},
    {"ASCII shorter than a word", "abc", true, 3},
    {"ASCII longer than a word", "abcdefghijklmnopq", true, 17},
    {"two bytes", "\xC3\xA9", true, 1},
    {"three bytes", "\xE2\x82\xAC", true, 1},
    {"four bytes are a surrogate pair", "\xF0\x9F\x98\x80", true, 2},
    {"the last code point", "\xF4\x8F\xBF\xBF", true, 2},
    {"the last before the surrogates", "\xED\x9F\xBF", true, 1},
    {"the first after the surrogates", "\xEE\x80\x80", true, 1},
    {"a long sequence after a whole word", "12345678\xE2\x82\xAC", true, 9},
    {"a tail byte alone", "\x80", false, 0},
    {"two bytes cut off", "\xC3", false, 0},
    {"three bytes cut off", "\xE2\x82", false, 0},
    {"four bytes cut off", "\xF0\x9F\x98", false, 0},
    {"an overlong slash", "\xC0\xAF", false, 0},
    {"an overlong form of two bytes", "\xC1\xBF", false, 0},
    {"an overlong form of three bytes", "\xE0\x9F\xBF", false, 0},
    {"an overlong form of four bytes", "\xF0\x8F\xBF\xBF", false, 0},
    {"a surrogate", "\xED\xA0\x80", false, 0},
    {"past the last code point", "\xF4\x90\x80\x80", false, 0},
    {"a byte that never occurs", "\xFF", false, 0},
    {"a bad byte after a whole word", "12345678\xFE", false, 0},
    {"a letter where a tail belongs", "\xE2\x82x", false, 0},
};

TEST(validity_and_units)
{
    for (size_t i = 0; i < COUNT(validity); i++) {
        tv_slice text = tv_slice_of(validity[i].text);

        t_row = validity[i].what;
        CHECK_INT(tv_utf8_is_valid(text), validity[i].valid);
        if (validity[i].valid)
            CHECK_INT(tv_utf8_units(text), validity[i].units);
    }
}

TEST(nul_is_a_code_point)
{
    tv_slice text = {"\0a", 2};

    CHECK(tv_utf8_is_valid(text));
    CHECK_INT(tv_utf8_next(&text), 0);
    CHECK_INT(tv_utf8_next(&text), 'a');
    CHECK_INT(text.len, 0);
}

TEST(every_code_point_survives_put_and_next)
{
    for (uint32_t code_point = 0; code_point <= 0x10FFFF; code_point++) {
        char bytes[4];

        if (code_point >= 0xD800 && code_point <= 0xDFFF)
            continue;

        tv_slice text = {bytes, tv_utf8_put(bytes, code_point)};
        CHECK(tv_utf8_is_valid(text));
        CHECK_INT(tv_utf8_units(text), code_point < 0x10000 ? 1 : 2);
        CHECK_INT(tv_utf8_next(&text), code_point);
        CHECK_INT(text.len, 0);
    }
}

TEST(any_bytes_can_be_walked_through)
{
    tv_slice text = tv_slice_of("a\xC3\xBC\xFF\xE2\x82x");
    static const uint32_t wanted[] = {'a', 0xFC, 0xFFFD, 0xFFFD, 0xFFFD, 'x'};

    for (size_t i = 0; i < COUNT(wanted); i++)
        CHECK_INT(tv_utf8_next_of_any(&text), wanted[i]);
    CHECK_INT(text.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validity_and_units),
        cmocka_unit_test(nul_is_a_code_point),
        cmocka_unit_test(every_code_point_survives_put_and_next),
        cmocka_unit_test(any_bytes_can_be_walked_through),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
