/* Percent-encoding. */
#include "base/uri.h"

#include "check.h"

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

static const struct {
    const char *what, *text;
    const char *path, *query; /* NULL when it is refused */
} decodings[] = {
    {"nothing", "", "", ""},
    {"plain text", "People", "People", "People"},
    {"a plus sign", "a+b", "a+b", "a b"},
    {"an encoded plus sign", "a%2Bb", "a+b", "a+b"},
    {"an encoded blank", "a%20b", "a b", "a b"},
    {"encoded quotes", "%27p%27%27%27", "'p'''", "'p'''"},
    {"an encoded percent sign is decoded once", "%2520", "%20", "%20"},
    {"lower case digits", "%c3%b4", "\xC3\xB4", "\xC3\xB4"},
    {"raw UTF-8", "\xC3\xB4", "\xC3\xB4", "\xC3\xB4"},
    {"a character half raw, half encoded", "\xC3%B4", "\xC3\xB4", "\xC3\xB4"},
    {"a percent sign at the end", "a%", NULL, NULL},
    {"one digit at the end", "a%4", NULL, NULL},
    {"a foreign digit", "%4g", NULL, NULL},
    {"a sign for a digit", "%+4", NULL, NULL},
    {"two percent signs", "%%41", NULL, NULL},
    {"not UTF-8", "%FF", NULL, NULL},
    {"a surrogate", "%ED%A0%80", NULL, NULL},
    {"an overlong form", "%C0%AF", NULL, NULL},
};

TEST(paths_and_queries_are_decoded)
{
    for (size_t i = 0; i < COUNT(decodings); i++) {
        /* A copy of just this size lets the address sanitizer see reads past the end. */
        size_t len = strlen(decodings[i].text);
        char *copy = memcpy(tv_malloc(len), decodings[i].text, len);
        tv_slice text = {copy, len}, decoded;

        t_row = decodings[i].what;
        CHECK_INT(tv_uri_decode_path(&arena, text, &decoded), decodings[i].path != NULL);
        if (decodings[i].path)
            CHECK_TEXT(decoded, decodings[i].path);
        CHECK_INT(tv_uri_decode_query(&arena, text, &decoded), decodings[i].query != NULL);
        if (decodings[i].query)
            CHECK_TEXT(decoded, decodings[i].query);
        free(copy);
    }
}

TEST(an_encoded_nul_is_a_character)
{
    tv_slice decoded;

    CHECK(tv_uri_decode_path(&arena, TV_LIT("a%00b"), &decoded));
    CHECK_SLICE(decoded, ((tv_slice){"a\0b", 3}));
}

/* The first five are what the service was seen to write. */
static const struct {
    const char *key, *text;
} keys[] = {
    {":@", "%3A%40"},
    {"+,$", "%2B%2C%24"},
    {"=& ", "%3D%26%20"},
    {"A'a\"b", "A''a%22b"},
    {"x-\xC3\xB4-%20", "x-%C3%B4-%2520"},
    {"", ""},
    {"azAZ09-._~", "azAZ09-._~"},
    {"''", "''''"},
    {"/?#[]!*()\x7F", "%2F%3F%23%5B%5D%21%2A%28%29%7F"},
};

TEST(keys_are_written_as_the_service_does)
{
    for (size_t i = 0; i < COUNT(keys); i++) {
        tv_buf buf = TV_BUF_EMPTY;

        t_row = keys[i].key;
        tv_uri_add_key(&buf, tv_slice_of(keys[i].key));
        CHECK_TEXT(tv_buf_slice(&buf), keys[i].text);
        tv_buf_done(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_and_queries_are_decoded),
        cmocka_unit_test(an_encoded_nul_is_a_character),
        cmocka_unit_test(keys_are_written_as_the_service_does),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
