/* Slices. */
#include "base/slice.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* In order; every one is less than the next. */
static const char *const ordered[] = {"",   "A",  "AB",   "Aa",   "B",   "a",
                                      "a ", "a!", "\x7F", "\x80", "\xFF"};

TEST(order_is_that_of_unsigned_bytes_and_the_shorter_first)
{
    for (size_t i = 0; i < COUNT(ordered); i++) {
        for (size_t j = 0; j < COUNT(ordered); j++) {
            int order = tv_slice_cmp(tv_slice_of(ordered[i]), tv_slice_of(ordered[j]));

            t_row = ordered[i];
            CHECK_INT((order > 0) - (order < 0), (i > j) - (i < j));
            CHECK_INT(tv_slice_eq(tv_slice_of(ordered[i]), tv_slice_of(ordered[j])), i == j);
        }
    }
}

TEST(absent_and_empty_are_equal_as_bytes)
{
    CHECK(tv_slice_eq(TV_NONE, TV_LIT("")));
    CHECK_INT(tv_slice_cmp(TV_NONE, TV_LIT("")), 0);
    CHECK(tv_slice_starts_with(TV_LIT("a"), TV_NONE));
    CHECK(tv_slice_eq_nocase(TV_NONE, TV_LIT("")));
    CHECK_INT(tv_slice_find(TV_NONE, 'a'), 0);
    CHECK_INT(tv_slice_trim(TV_NONE).len, 0);
}

TEST(a_literal_keeps_its_nul_bytes)
{
    CHECK_INT(TV_LIT("a\0b").len, 3);
    CHECK(!tv_slice_eq(TV_LIT("a\0b"), TV_LIT("a\0c")));
    CHECK_INT(tv_slice_find(TV_LIT("a\0b"), 'b'), 2);
}

TEST(prefixes)
{
    CHECK(tv_slice_starts_with(TV_LIT("abc"), TV_LIT("ab")));
    CHECK(tv_slice_starts_with(TV_LIT("abc"), TV_LIT("abc")));
    CHECK(!tv_slice_starts_with(TV_LIT("abc"), TV_LIT("abcd")));
    CHECK(!tv_slice_starts_with(TV_LIT("abc"), TV_LIT("b")));
    CHECK_TEXT(tv_slice_skip(TV_LIT("abc"), 1), "bc");
    CHECK_TEXT(tv_slice_take(TV_LIT("abc"), 1), "a");
}

TEST(case_is_ignored_for_ascii_letters_only)
{
    CHECK(tv_slice_eq_nocase(TV_LIT("Content-Type"), TV_LIT("cONTENT-tYPE")));
    CHECK(!tv_slice_eq_nocase(TV_LIT("a"), TV_LIT("ab")));
    CHECK(!tv_slice_eq_nocase(TV_LIT("["), TV_LIT("{")));
    CHECK(!tv_slice_eq_nocase(TV_LIT("@"), TV_LIT("`")));
    CHECK(!tv_slice_eq_nocase(TV_LIT("\xC3\x89"), TV_LIT("\xC3\xA9")));
}

static const struct {
    const char *text, *trimmed;
} trims[] = {{"", ""}, {" \t ", ""}, {"a", "a"}, {" a b\t", "a b"}, {"\na\n", "\na\n"}};

TEST(blanks_and_tabs_are_trimmed_at_both_ends)
{
    for (size_t i = 0; i < COUNT(trims); i++) {
        t_row = trims[i].text;
        CHECK_TEXT(tv_slice_trim(tv_slice_of(trims[i].text)), trims[i].trimmed);
    }
}

static const struct {
    const char *what, *text;
    const char *parts[4];
} splits[] = {
    {"an empty text has one empty part", "", {""}},
    {"no separator", "a", {"a"}},
    {"two parts", "a&b", {"a", "b"}},
    {"a separator at the end", "a&", {"a", ""}},
    {"a separator at the start", "&a", {"", "a"}},
    {"separators alone", "&&", {"", "", ""}},
};

TEST(text_is_cut_at_separators)
{
    for (size_t i = 0; i < COUNT(splits); i++) {
        tv_slice rest = tv_slice_of(splits[i].text), part = TV_NONE;

        t_row = splits[i].what;
        for (size_t j = 0; splits[i].parts[j]; j++) {
            CHECK(tv_slice_next(&rest, '&', &part));
            CHECK_TEXT(part, splits[i].parts[j]);
        }
        CHECK(!tv_slice_next(&rest, '&', &part));
    }
}

TEST(an_absent_text_has_no_parts)
{
    tv_slice rest = TV_NONE, part;

    CHECK(!tv_slice_next(&rest, '&', &part));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_that_of_unsigned_bytes_and_the_shorter_first),
        cmocka_unit_test(absent_and_empty_are_equal_as_bytes),
        cmocka_unit_test(a_literal_keeps_its_nul_bytes),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(case_is_ignored_for_ascii_letters_only),
        cmocka_unit_test(blanks_and_tabs_are_trimmed_at_both_ends),
        cmocka_unit_test(text_is_cut_at_separators),
        cmocka_unit_test(an_absent_text_has_no_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
