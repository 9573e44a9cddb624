/* The parameters of query strings. */
#include "base/parameters.h"

#include "base/buf.h"
#include "check.h"
#include "parameters.h"

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
    const char *what, *query;
    bool ok;
    const char *value; /* of $top; NULL when there is none */
} parameters[] = {
    {"no query", "", true, NULL},
    {"alone", "$top=5", true, "5"},
    {"an encoded name", "%24top=5", true, "5"},
    {"among others", "$filter=a+eq+1&$top=5&timeout=3", true, "5"},
    {"a value is decoded", "$top=%35+x", true, "5 x"},
    {"a value holds equals signs", "$top=a=b=c", true, "a=b=c"},
    {"the first of two", "$top=1&$top=2", true, "1"},
    {"an empty value", "$top=", true, ""},
    {"no equals sign", "$top", true, ""},
    {"another case is another name", "$Top=5", true, NULL},
    {"a longer name is another name", "$topx=5", true, NULL},
    {"empty parts", "&&$top=5&&", true, "5"},
    {"the value cannot be decoded", "$top=%f", false, NULL},
    {"a name cannot be decoded", "%zz=1&$top=5", false, NULL},
    {"a later name cannot be decoded", "$top=5&%zz=1", false, NULL},
    {"another value is not looked at", "a=%zz&$top=5", true, "5"},
};

TEST(query_parameters_are_found_by_their_decoded_name)
{
    for (size_t i = 0; i < COUNT(parameters); i++) {
        tv_parameters query;
        tv_slice value;

        t_row = parameters[i].what;
        CHECK(tv_parameters_parse(&arena, tv_slice_of(parameters[i].query), &query));
        bool ok = tv_parameters_get(&query, &arena, TV_LIT("$top"), &value);
        CHECK_INT(ok, parameters[i].ok);
        if (!ok)
            continue;
        CHECK_INT(value.data != NULL, parameters[i].value != NULL);
        if (parameters[i].value)
            CHECK_TEXT(value, parameters[i].value);
    }
}

TEST(names_count_in_any_case_where_that_is_asked_for)
{
    tv_parameters query = query_of(&arena, TV_LIT("x=1&SnapShot=2&snapshot=3"));
    tv_slice value;

    CHECK(tv_parameters_get_nocase(&query, &arena, TV_LIT("snapshot"), &value));
    CHECK_TEXT(value, "2");
    CHECK(tv_parameters_get(&query, &arena, TV_LIT("snapshot"), &value));
    CHECK_TEXT(value, "3");
    CHECK(tv_parameters_get_nocase(&query, &arena, TV_LIT("snap"), &value));
    CHECK(value.data == NULL);
}

TEST(an_absent_query_has_no_parameters)
{
    tv_parameters query = query_of(&arena, TV_NONE);
    tv_slice value = TV_LIT("x");

    CHECK(query.text.data == NULL);
    CHECK(tv_parameters_get(&query, &arena, TV_LIT("a"), &value));
    CHECK(value.data == NULL);
}

TEST(parameters_are_counted_with_the_empty_ones)
{
    static const char *const parts[] = {"a", "a=b", "%41", ""};

    for (size_t i = 0; i < COUNT(parts); i++) {
        tv_buf text = TV_BUF_EMPTY;
        tv_parameters query;

        t_row = parts[i];
        tv_buf_add(&text, tv_slice_of(parts[i]));
        for (size_t count = 1; count < TV_PARAMETERS_MAX; count++)
            tv_buf_printf(&text, "&%s", parts[i]);
        CHECK(tv_parameters_parse(&arena, tv_buf_slice(&text), &query));
        CHECK_INT(query.count, *parts[i] ? TV_PARAMETERS_MAX : 0);
        tv_buf_add_char(&text, '&');
        CHECK(!tv_parameters_parse(&arena, tv_buf_slice(&text), &query));
        tv_buf_done(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(query_parameters_are_found_by_their_decoded_name),
        cmocka_unit_test(names_count_in_any_case_where_that_is_asked_for),
        cmocka_unit_test(an_absent_query_has_no_parameters),
        cmocka_unit_test(parameters_are_counted_with_the_empty_ones),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
