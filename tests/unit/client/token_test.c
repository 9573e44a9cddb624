/* Continuation tokens. */
#include "check.h"
#include "client/memory_faults.h"
#include "client/query/query.h"

TEST(comes_back_as_it_was_made)
{
    static const struct {
        const char *label;
        bool is_secondary;
        const char *partition, *row; /* as the service sends them */
        const char *token, *partition_again, *row_again;
    } cases[] = {
        {"both keys", false, "1!16!cGthZGNhMmUwZA--", "1!4!NQ--",
         "v1;p;1%2116%21cGthZGNhMmUwZA--;1%214%21NQ--", "1%2116%21cGthZGNhMmUwZA--",
         "1%214%21NQ--"},
        {"no row", true, "1!0!", NULL, "v1;s;1%210%21", "1%210%21", NULL},
        {"an empty row", true, "a", "", "v1;s;a;", "a", ""},
        {"odd bytes", false, "a;b c&=?\xff", "\r\n", "v1;p;a%3Bb%20c%26%3D%3F%FF;%0D%0A",
         "a%3Bb%20c%26%3D%3F%FF", "%0D%0A"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_token token;

        t_row = cases[i].label;

        char *text = tvc_token_make(cases[i].is_secondary, tv_slice_of(cases[i].partition),
                                    cases[i].row ? tv_slice_of(cases[i].row) : TV_NONE);

        CHECK_TEXT(tv_slice_of(text), cases[i].token);
        CHECK(tvc_token_parse(text, &token));
        CHECK(token.is_secondary == cases[i].is_secondary);
        CHECK_TEXT(token.partition, cases[i].partition_again);
        CHECK((token.row.data == NULL) == (cases[i].row_again == NULL));
        if (cases[i].row_again)
            CHECK_TEXT(token.row, cases[i].row_again);
        tavola_free(text);
    }
}

TEST(takes_nothing_else)
{
    static const char *const cases[] = {
        "",          "v1",          "v1;p",       "v1;p;",      "v1;p;;b",       "v2;p;a;b",
        "v1;x;a;b",  "V1;p;a;b",    "v1;p;a b;c", "v1;p;a&x=1", "v1;p;a;b;c",    "v1;p;a%",
        "v1;p;a%2",  "v1;p;a%zz;b", "v1;p;a;b\n", "v1;p;a=b",   "v1;p;\xc3\xb6", " v1;p;a;b",
        "v1;p;a;b#", "1!4!NQ--",
    };
    static char large[20000] = "v1;p;";
    tvc_token token;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i];
        CHECK(!tvc_token_parse(cases[i], &token));
    }
    memset(large + 5, 'a', sizeof large - 6);
    assert_false(tvc_token_parse(large, &token));
    assert_false(tvc_token_parse(NULL, &token));
}

TEST(survives_a_lack_of_memory)
{
    MEMORY_FAULTS(fault)
    {
        char *text = tvc_token_make(false, TV_LIT("a"), TV_LIT("b"));

        if (text)
            assert_string_equal(text, "v1;p;a;b");
        else
            assert_true(memory_fault_was_hit());
        tavola_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_as_it_was_made),
        cmocka_unit_test(takes_nothing_else),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
