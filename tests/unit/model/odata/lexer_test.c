/* Tokens, where they are, and what is not a token. */
#include "model/odata/lexer.h"

#include "base/buf.h"
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* The tokens of a filter as "kind:text@start-end", one blank between; an error as its text. */
static tv_slice tokens_of(tv_arena *arena, tv_slice filter, tv_buf *out)
{
    static const char *const kinds[] = {
        [TV_TOKEN_END] = "end",     [TV_TOKEN_NAME] = "name",   [TV_TOKEN_STRING] = "string",
        [TV_TOKEN_NUMBER] = "num",  [TV_TOKEN_TYPED] = "typed", [TV_TOKEN_OPEN] = "(",
        [TV_TOKEN_CLOSE] = ")",     [TV_TOKEN_COMMA] = ",",     [TV_TOKEN_MINUS] = "-",
        [TV_TOKEN_SLASH] = "slash",
    };
    tv_error_info info = {0};
    tv_lexer lexer;
    tv_token token;

    out->len = 0;
    tv_lexer_init(&lexer, arena, filter);
    do {
        if (tv_lexer_next(&lexer, &token, &info)) {
            tv_buf_printf(out, "%.*s", TV_FMT(info.text));
            break;
        }
        tv_buf_printf(out, "%s", kinds[token.kind]);
        if (token.kind == TV_TOKEN_TYPED)
            tv_buf_printf(out, "/%.*s", TV_FMT(token.prefix));
        if (token.kind == TV_TOKEN_NAME || token.kind == TV_TOKEN_STRING ||
            token.kind == TV_TOKEN_NUMBER || token.kind == TV_TOKEN_TYPED)
            tv_buf_printf(out, ":%.*s", TV_FMT(token.text));
        tv_buf_printf(out, "@%zu-%zu ", token.start, token.end);
    } while (token.kind != TV_TOKEN_END);
    return tv_slice_trim(tv_buf_slice(out));
}

static const struct {
    const char *filter, *tokens;
} rows[] = {
    {"", "end@0-0"},
    {" \t\r\n", "end@4-4"},
    {"a", "name:a@0-1 end@1-1"},
    {"Abc_9 x", "name:Abc_9@0-5 name:x@6-7 end@7-7"},
    {"gr\xC3\xB6\xC3\x9F"
     "e",
     "name:gr\xC3\xB6\xC3\x9F"
     "e@0-7 end@7-7"},
    {"(a)", "(@0-1 name:a@1-2 )@2-3 end@3-3"},
    {"a eq'x'", "name:a@0-1 typed/eq:x@2-7 end@7-7"},
    {"a,b/c", "name:a@0-1 ,@1-2 name:b@2-3 slash@3-4 name:c@4-5 end@5-5"},
    {"''", "string:@0-2 end@2-2"},
    {"'it''s'", "string:it's@0-7 end@7-7"},
    {"''''", "string:'@0-4 end@4-4"},
    {"''''''", "string:''@0-6 end@6-6"},
    {"'a' 'b'", "string:a@0-3 string:b@4-7 end@7-7"},
    {"'(a eq 5)'", "string:(a eq 5)@0-10 end@10-10"},
    {"X'0aFF'", "typed/X:0aFF@0-7 end@7-7"},
    {"datetime'2020'", "typed/datetime:2020@0-14 end@14-14"},
    {"anything'it''s'", "typed/anything:it's@0-15 end@15-15"},
    {"guid 'x'", "name:guid@0-4 string:x@5-8 end@8-8"},
    {"0", "num:0@0-1 end@1-1"},
    {"-3", "num:-3@0-2 end@2-2"},
    {"- 3", "-@0-1 num:3@2-3 end@3-3"},
    {"-INF", "-@0-1 name:INF@1-4 end@4-4"},
    {"--3", "-@0-1 num:-3@1-3 end@3-3"},
    {"a -3", "name:a@0-1 num:-3@2-4 end@4-4"},
    {"12L 12l", "num:12L@0-3 num:12l@4-7 end@7-7"},
    {"1.5 1.5d 1.5D 1f 1m", "num:1.5@0-3 num:1.5d@4-8 num:1.5D@9-13 num:1f@14-16 num:1m@17-19 "
                            "end@19-19"},
    {"1E5 1e-5 1E+5 -1.5E+300", "num:1E5@0-3 num:1e-5@4-8 num:1E+5@9-13 num:-1.5E+300@14-23 "
                                "end@23-23"},
    {"5abc", "num:5@0-1 name:abc@1-4 end@4-4"},
    {"5LL", "num:5L@0-2 name:L@2-3 end@3-3"},
    {"0x1F", "num:0@0-1 name:x1F@1-4 end@4-4"},
    {"1.", "A digit was expected at position 2 in '1.'."},
    {"1.e5", "A digit was expected at position 2 in '1.e5'."},
    {"1E", "A digit was expected at position 2 in '1E'."},
    {"1E+", "A digit was expected at position 3 in '1E+'."},
    {"a 1.x", "name:a@0-1 A digit was expected at position 4 in 'a 1.x'."},
    {"'", "There is an unterminated string literal at position 1 in '''."},
    {"'a", "There is an unterminated string literal at position 2 in ''a'."},
    {"'a''", "There is an unterminated string literal at position 4 in ''a'''."},
    {"a eq 'b", "name:a@0-1 name:eq@2-4 There is an unterminated string literal at position 7 in "
                "'a eq 'b'."},
    {"X'ab", "There is an unterminated string literal at position 4 in 'X'ab'."},
    {".5", "Syntax error: character '.' is not valid at position 0 in '.5'."},
    {"a = 5", "name:a@0-1 Syntax error: character '=' is not valid at position 2 in 'a = 5'."},
    {"a eq +5", "name:a@0-1 name:eq@2-4 Syntax error: character '+' is not valid at position 5 in "
                "'a eq +5'."},
    {"\"a\"", "Syntax error: character '\"' is not valid at position 0 in '\"a\"'."},
    {"a\x02", "name:a@0-1 Syntax error: character '?' is not valid at position 1 in 'a\x02'."},
};

TEST(filters_are_cut_into_tokens)
{
    tv_buf out = TV_BUF_EMPTY;
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0; i < COUNT(rows); i++) {
        t_row = rows[i].filter;
        CHECK_TEXT(tokens_of(&arena, tv_slice_of(rows[i].filter), &out), rows[i].tokens);
    }
    tv_arena_done(&arena);
    tv_buf_done(&out);
}

/* The end of the bytes is the end, wherever it cuts. */
TEST(nothing_is_read_past_the_end)
{
    static const char filter[] = "not (Abc_9 eq 'it''s' or X'0a' le -1.5E+3d) and a/b(c,5L)";
    tv_buf out = TV_BUF_EMPTY;

    for (size_t len = 0; len < sizeof filter; len++) {
        char *exact = tv_malloc(len ? len : 1);
        tv_arena arena;

        memcpy(exact, filter, len);
        tv_arena_init(&arena);
        tokens_of(&arena, (tv_slice){exact, len}, &out);
        CHECK(out.len > 0);
        tv_arena_done(&arena);
        free(exact);
    }
    tv_buf_done(&out);
}

TEST(a_nul_is_no_end)
{
    tv_buf out = TV_BUF_EMPTY;
    tv_arena arena;

    tv_arena_init(&arena);
    tv_slice text = tokens_of(&arena, TV_LIT("a\0b"), &out);
    CHECK(tv_slice_starts_with(
        text, TV_LIT("name:a@0-1 Syntax error: character '?' is not valid at position 1")));
    CHECK_TEXT(tokens_of(&arena, TV_LIT("'a\0b'"), &out), "string:a@0-5 end@5-5");
    tv_arena_done(&arena);
    tv_buf_done(&out);
}

/* Memory must not grow with the number of strings times the length of the filter. */
TEST(strings_are_not_copied_without_need)
{
    tv_slice filter = TV_LIT("'plain' X'00' 'it''s'");
    tv_error_info info = {0};
    tv_arena arena;
    tv_lexer lexer;
    tv_token token;

    tv_arena_init(&arena);
    tv_lexer_init(&lexer, &arena, filter);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tv_lexer_next(&lexer, &token, &info));
        CHECK(token.text.data >= filter.data && token.text.data < filter.data + filter.len);
        CHECK(arena.chunk == NULL);
    }
    CHECK_OK(tv_lexer_next(&lexer, &token, &info));
    CHECK_TEXT(token.text, "it's");
    CHECK(arena.used <= sizeof "it''s");
    tv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_are_cut_into_tokens),
        cmocka_unit_test(nothing_is_read_past_the_end),
        cmocka_unit_test(a_nul_is_no_end),
        cmocka_unit_test(strings_are_not_copied_without_need),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
