/* Continuation tokens. */
#include "services/table/token.h"

#include "check.h"
#include "properties.h"
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

/* The first is what the service was seen to write. */
static const struct {
    const char *text, *token;
} pairs[] = {
    {"pkadca2e0d", "1!16!cGthZGNhMmUwZA--"},
    {"", "1!0!"},
    {"a", "1!4!YQ--"},
    {"ab", "1!4!YWI-"},
    {"abc", "1!4!YWJj"},
    {"???", "1!4!Pz8_"},
    {">>>", "1!4!Pj4*"},
};

TEST(tokens_are_base_64_with_their_length_in_front)
{
    for (size_t i = 0; i < COUNT(pairs); i++) {
        tv_slice text = TV_NONE;

        t_row = pairs[i].token;
        CHECK_TEXT(tv_table_token_format(&arena, tv_slice_of(pairs[i].text)), pairs[i].token);
        CHECK_OK(tv_table_token_parse(&arena, tv_slice_of(pairs[i].token), &text));
        CHECK_TEXT(text, pairs[i].text);
        /* An empty key is a key: a page may begin with it. */
        CHECK(text.data != NULL);
    }
}

TEST(random_texts_survive)
{
    t_random_seed(0x70c);
    for (int i = 0; i < 3000; i++) {
        tv_slice text = random_text(&arena, t_random, 100);
        tv_slice token = tv_table_token_format(&arena, text), back;

        for (size_t j = 0; j < token.len; j++)
            CHECK(token.data[j] > ' ' && token.data[j] < 0x7F && !strchr("+/=&%?#", token.data[j]));
        CHECK_OK(tv_table_token_parse(&arena, token, &back));
        CHECK_SLICE(back, text);
        tv_arena_reset(&arena);
    }
}

static const struct {
    const char *what, *token;
} forged[] = {
    {"empty", ""},
    {"plain text", "people"},
    {"another version", "2!4!YWJj"},
    {"no version", "!4!YWJj"},
    {"no length", "1!YWJj"},
    {"an empty length", "1!!YWJj"},
    {"a length too small", "1!3!YWJj"},
    {"a length too large", "1!5!YWJj"},
    {"a length of many digits", "1!99999999999999999999999999!YWJj"},
    {"a negative length", "1!-4!YWJj"},
    {"nothing after the length", "1!4"},
    {"nothing after a length of 0", "1!0"},
    {"cut base 64", "1!3!YWJ"},
    {"a foreign character", "1!4!YW!j"},
    {"unused bits", "1!4!YR--"},
    {"padding inside", "1!8!YQ--YWJj"},
    {"not UTF-8", "1!4!*v8-"},
    {"a surrogate", "1!4!7aCA"},
    {"a blank in front", " 1!4!YWJj"},
};

TEST(forged_tokens_are_refused)
{
    for (size_t i = 0; i < COUNT(forged); i++) {
        tv_slice text;

        t_row = forged[i].what;
        CHECK_ERR(tv_table_token_parse(&arena, tv_slice_of(forged[i].token), &text),
                  TV_ERR_INVALID_INPUT);
    }
}

TEST(no_token_at_all_is_refused)
{
    tv_slice text;

    CHECK_ERR(tv_table_token_parse(&arena, TV_NONE, &text), TV_ERR_INVALID_INPUT);
}

TEST(a_cut_token_is_refused)
{
    tv_slice token = tv_table_token_format(&arena, TV_LIT("partition")), text;

    for (size_t len = 0; len < token.len; len++) {
        char *copy = memcpy(tv_malloc(len + 1), token.data, len);

        CHECK_ERR(tv_table_token_parse(&arena, (tv_slice){copy, len}, &text), TV_ERR_INVALID_INPUT);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_base_64_with_their_length_in_front),
        cmocka_unit_test(random_texts_survive),
        cmocka_unit_test(forged_tokens_are_refused),
        cmocka_unit_test(no_token_at_all_is_refused),
        cmocka_unit_test(a_cut_token_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
