/* Keys that sort as one wants them to; times and guids as text. */
#include "base/utf8.h"
#include "check.h"
#include "client/memory_faults.h"

/* Ticks of 2026-01-02T03:04:05Z. */
#define THEN INT64_C(639029198450000000)
#define LAST INT64_C(3155378975999999999)
#define EPOCH INT64_C(621355968000000000)

TEST(inverts_times)
{
    static const struct {
        tavola_ticks when;
        const char *key;
    } cases[] = {
        {THEN, "2516349777549999999"},  {THEN + 1234567, "2516349777548765432"},
        {EPOCH, "2534023007999999999"}, {0, "3155378975999999999"},
        {LAST, "0000000000000000000"},  {LAST - 1, "0000000000000000001"},
    };
    char key[20];
    tavola_ticks when;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_key_inverted(cases[i].when, key);
        assert_string_equal(key, cases[i].key);
        assert_true(tavola_key_from_inverted(key, &when));
        assert_int_equal(when, cases[i].when);
    }
    /* Something behind it tells ties apart. */
    assert_true(tavola_key_from_inverted("2516349777549999999_00000001", &when));
    assert_int_equal(when, THEN);
    tavola_key_inverted(-1, key);
    assert_string_equal(key, "3155378975999999999");
    tavola_key_inverted(INT64_MAX, key);
    assert_string_equal(key, "0000000000000000000");
    tavola_key_inverted(0, NULL);
}

TEST(takes_only_inverted_times_back)
{
    static const char *const cases[] = {
        "",
        "251634977754999999",
        "25163497775499999990",
        "-516349777549999999",
        "+516349777549999999",
        " 516349777549999999",
        "251634977754999999a",
        "251634977754999999_9",
        "3155378976000000000",
        "9223372036854775808",
    };
    tavola_ticks when = 7;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i];
        CHECK(!tavola_key_from_inverted(cases[i], &when));
    }
    assert_false(tavola_key_from_inverted(NULL, &when));
    assert_false(tavola_key_from_inverted("2516349777549999999", NULL));
    assert_int_equal(when, 7);
}

TEST(pads_numbers)
{
    static const struct {
        uint64_t number;
        unsigned width;
        size_t size;
        const char *key;
    } cases[] = {
        {7, 5, 20, "00007"}, {12345, 3, 20, "12345"},  {0, 0, 20, "0"},
        {0, 3, 20, "000"},   {7, 5, 6, "00007"},       {7, 5, 5, ""},
        {12345, 0, 5, ""},   {7, 4000000000u, 20, ""}, {UINT64_MAX, 0, 21, "18446744073709551615"},
        {7, 1, 1, ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char key[40] = "untouched";

        tavola_key_padded(cases[i].number, cases[i].width, key, cases[i].size);
        assert_string_equal(key, cases[i].key);
    }
    tavola_key_padded(1, 1, NULL, 5);
    tavola_key_padded(1, 1, (char[1]){0}, 0);
}

TEST(joins_parts)
{
    static const struct {
        const char *label;
        char separator;
        const char *parts[4];
        const char *key;
    } cases[] = {
        {"two", '_', {"Sales", "000223"}, "Sales_000223"},
        {"one", '_', {"Sales"}, "Sales"},
        {"none", '_', {NULL}, ""},
        {"an empty one", '$', {"a", "", "b"}, "a$$b"},
        {"the separator in a part", '_', {"a", "b_c"}, NULL},
        {"no separator", '\0', {"a", "b"}, NULL},
        {"half a character", '\xc3', {"a", "b"}, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *key = tavola_key_join(cases[i].separator, cases[i].parts);

        t_row = cases[i].label;
        CHECK((key == NULL) == (cases[i].key == NULL));
        if (key)
            CHECK_TEXT(tv_slice_of(key), cases[i].key);
        tavola_free(key);
    }
    assert_null(tavola_key_join('_', NULL));
}

TEST(knows_which_keys_are_valid)
{
    static char longest[513], too_long[514];
    static const struct {
        const char *label, *key;
        bool is_valid;
    } cases[] = {
        {"letters", "Sales", true},
        {"empty", "", true},
        {"blanks and signs", " !\"$%&'()*+,-.:;<=>@[]^_`{|}~", true},
        {"other alphabets", "\xc3\xb6\xf0\x9f\x98\x80\xef\xbf\xbf", true},
        {"a slash", "a/b", false},
        {"a backslash", "a\\b", false},
        {"a hash", "#", false},
        {"a question mark", "?", false},
        {"a tab", "a\tb", false},
        {"the last control character", "\x1f", false},
        {"delete", "\x7f", false},
        {"a control character of the second block", "\xc2\x9f", false},
        {"the one after them", "\xc2\xa0", true},
        {"not UTF-8", "\xff", false},
        {"1 KiB", longest, true},
        {"more", too_long, false},
        {"none", NULL, false},
    };

    memset(longest, 'a', sizeof longest - 1);
    memset(too_long, 'a', sizeof too_long - 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].label;
        CHECK(tavola_key_is_valid(cases[i].key) == cases[i].is_valid);
    }
}

/* --- what comes after a prefix --- */

TEST(finds_what_comes_after_a_prefix)
{
    static const struct {
        const char *label, *prefix, *after;
    } cases[] = {
        {"a letter", "B", "C"},
        {"the last of some", "ab", "ac"},
        {"what is no letter", "a.", "a/"},
        {"the end of one byte", "a\x7e", "a\xc2\xa0"},
        {"the end of two bytes", "\xdf\xbf", "\xe0\xa0\x80"},
        {"U+D7FF is followed by surrogates", "x\xed\x9f\xbf", "x\xf0\x90\x80\x80"},
        {"U+10FFFF by U+E000", "x\xf4\x8f\xbf\xbf", "x\xee\x80\x80"},
        {"U+FFFF by nothing", "x\xef\xbf\xbf", "y"},
        {"beyond U+FFFF", "\xf0\x90\x8f\xbf", "\xf0\x90\x90\x80"},
        {"all of U+FFFF", "\xef\xbf\xbf\xef\xbf\xbf", NULL},
        {"empty", "", NULL},
        {"not UTF-8", "a\xff", NULL},
        {"none", NULL, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *after = tavola_key_after(cases[i].prefix);

        t_row = cases[i].label;
        CHECK((after == NULL) == (cases[i].after == NULL));
        if (after)
            CHECK_TEXT(tv_slice_of(after), cases[i].after);
        tavola_free(after);
    }
}

/* UTF-16 units of a text, the plain way. */
static size_t units_of(const char *text, uint16_t *units)
{
    tv_slice rest = tv_slice_of(text);
    size_t count = 0;

    while (rest.len) {
        uint32_t point = tv_utf8_next(&rest);

        if (point > 0xFFFF) {
            units[count++] = (uint16_t)(0xD800 + ((point - 0x10000) >> 10));
            units[count++] = (uint16_t)(0xDC00 + (point & 0x3FF));
        } else {
            units[count++] = (uint16_t)point;
        }
    }
    return count;
}

static int compare_units(const char *a, const char *b)
{
    uint16_t left[64], right[64];
    size_t left_count = units_of(a, left), right_count = units_of(b, right);

    for (size_t i = 0; i < left_count && i < right_count; i++) {
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    }
    return (left_count > right_count) - (left_count < right_count);
}

/* A code point near one of the edges; no control characters, which keys do not have. */
static uint32_t random_point(unsigned *seed)
{
    static const uint32_t edges[] = {'a',     '~',      0xA0,     0x7FF,  0x800,   0xD7FE,
                                     0xD7FF,  0xE000,   0xFFFE,   0xFFFF, 0x10000, 0x103FF,
                                     0x10400, 0x10FFFE, 0x10FFFF, 0xFFFD, 'b',     0xE001};
    unsigned dice = (unsigned)rand_r(seed);
    uint32_t point = dice % 3 ? edges[dice / 3 % (sizeof edges / sizeof *edges)]
                              : 0xA0 + (uint32_t)rand_r(seed) % 0x10FF5F;

    return point >= 0xD800 && point < 0xE000 ? 'c' : point;
}

static void random_key(unsigned *seed, char *to, int points_max)
{
    int count = rand_r(seed) % (points_max + 1);

    for (int i = 0; i < count; i++)
        to += tv_utf8_put(to, random_point(seed));
    *to = '\0';
}

/* Between a prefix and what comes after it are the keys with the prefix, and no others. */
TEST(splits_random_keys_by_random_prefixes)
{
    unsigned seed = 5;
    int inside = 0, outside = 0;

    for (int i = 0; i < 100000; i++) {
        char prefix[64], key[128];

        random_key(&seed, prefix, 3);
        if (i % 2) {
            snprintf(key, sizeof key, "%s", prefix);
            random_key(&seed, key + strlen(key), 2);
        } else {
            random_key(&seed, key, 4);
        }

        char *after = tavola_key_after(prefix);
        bool is_between =
            compare_units(key, prefix) >= 0 && (after == NULL || compare_units(key, after) < 0);
        bool has_prefix = strncmp(key, prefix, strlen(prefix)) == 0;

        t_row = prefix;
        CHECK(is_between == has_prefix);
        inside += has_prefix;
        outside += !has_prefix;
        tavola_free(after);
    }
    assert_true(inside > 10000 && outside > 10000);
}

/* --- times and guids --- */

TEST(converts_times)
{
    static const struct {
        int64_t us;
        tavola_ticks ticks;
    } cases[] = {{0, EPOCH}, {1, EPOCH + 10}, {-1, EPOCH - 10}, {1767323045123456, THEN + 1234560}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(tavola_ticks_from_unix_us(cases[i].us), cases[i].ticks);
        assert_int_equal(tavola_ticks_to_unix_us(cases[i].ticks), cases[i].us);
    }
    assert_int_equal(tavola_ticks_to_unix_us(EPOCH + 9), 0);
    assert_int_equal(tavola_ticks_to_unix_us(EPOCH - 1), -1);
    assert_int_equal(tavola_ticks_from_unix_us(INT64_MIN), 0);
    assert_int_equal(tavola_ticks_from_unix_us(INT64_MAX), LAST);
    assert_int_equal(tavola_ticks_from_unix_us(-62135596800000001), 0);
    assert_true(tavola_ticks_to_unix_us(INT64_MIN) < 0);
    assert_true(tavola_ticks_to_unix_us(INT64_MAX) > 0);
    assert_true(tavola_now() > THEN);
}

TEST(writes_and_reads_times)
{
    static const struct {
        tavola_ticks ticks;
        const char *text;
    } cases[] = {
        {THEN + 1234567, "2026-01-02T03:04:05.1234567Z"},
        {EPOCH, "1970-01-01T00:00:00.0000000Z"},
        {0, "0001-01-01T00:00:00.0000000Z"},
        {LAST, "9999-12-31T23:59:59.9999999Z"},
    };
    char text[29];
    tavola_ticks ticks;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_ticks_format(cases[i].ticks, text);
        assert_string_equal(text, cases[i].text);
        assert_true(tavola_ticks_parse(text, &ticks));
        assert_int_equal(ticks, cases[i].ticks);
    }
    tavola_ticks_format(-1, text);
    assert_string_equal(text, "");
    tavola_ticks_format(INT64_MAX, text);
    assert_string_equal(text, "");
    assert_true(tavola_ticks_parse("2026-01-02T03:04:05Z", &ticks));
    assert_int_equal(ticks, THEN);
    assert_true(tavola_ticks_parse("2026-01-02T03:04:05.000000099Z", &ticks));
    assert_int_equal(ticks, THEN);
    assert_false(tavola_ticks_parse("2026-01-02", &ticks));
    assert_false(tavola_ticks_parse("2026-13-02T03:04:05Z", &ticks));
    assert_false(tavola_ticks_parse("", &ticks));
    assert_false(tavola_ticks_parse(NULL, &ticks));
    assert_false(tavola_ticks_parse("2026-01-02T03:04:05Z", NULL));
    tavola_ticks_format(0, NULL);
}

TEST(writes_and_reads_guids)
{
    static const char text[] = "c9da6455-213d-42c9-9a79-3e9149a57833";
    tavola_guid guid, other;
    char again[37];

    assert_true(tavola_guid_parse("C9DA6455-213D-42C9-9A79-3E9149A57833", &guid));
    assert_int_equal(guid.bytes[0], 0xc9);
    assert_int_equal(guid.bytes[15], 0x33);
    tavola_guid_format(guid, again);
    assert_string_equal(again, text);

    assert_false(tavola_guid_parse("c9da6455213d42c99a793e9149a57833", &guid));
    assert_false(tavola_guid_parse("{c9da6455-213d-42c9-9a79-3e9149a57833}", &guid));
    assert_false(tavola_guid_parse("", &guid));
    assert_false(tavola_guid_parse(NULL, &guid));
    assert_false(tavola_guid_parse(text, NULL));
    tavola_guid_format(guid, NULL);

    guid = tavola_guid_random();
    other = tavola_guid_random();
    assert_memory_not_equal(guid.bytes, other.bytes, 16);
    tavola_guid_format(guid, again);
    assert_int_equal(again[14], '4');
}

TEST(survives_a_lack_of_memory)
{
    static const char *const parts[] = {"a", "b", NULL};

    MEMORY_FAULTS(fault)
    {
        char *key = tavola_key_join('_', parts), *after = tavola_key_after("ab");

        assert_true((key && after) || memory_fault_was_hit());
        if (key)
            assert_string_equal(key, "a_b");
        if (after)
            assert_string_equal(after, "ac");
        tavola_free(key);
        tavola_free(after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverts_times),
        cmocka_unit_test(takes_only_inverted_times_back),
        cmocka_unit_test(pads_numbers),
        cmocka_unit_test(joins_parts),
        cmocka_unit_test(knows_which_keys_are_valid),
        cmocka_unit_test(finds_what_comes_after_a_prefix),
        cmocka_unit_test(splits_random_keys_by_random_prefixes),
        cmocka_unit_test(converts_times),
        cmocka_unit_test(writes_and_reads_times),
        cmocka_unit_test(writes_and_reads_guids),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
