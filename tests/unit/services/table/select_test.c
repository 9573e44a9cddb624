/* Lists of selected properties. */
#include "services/table/select.h"

#include "base/buf.h"
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
    const char *what, *list; /* NULL: no parameter */
    const char *names;       /* joined by '|'; empty: everything */
    const char *url_text;
} lists[] = {
    {"no parameter", NULL, "", ""},
    {"empty", "", "", ""},
    {"a star", "*", "", ""},
    {"a star among names", "a,*,b", "", ""},
    {"one", "age", "age", "age"},
    {"two", "age,sex", "age|sex", "age,sex"},
    {"blanks", " age , sex", "age|sex", "%20age%20,%20sex"},
    {"a name twice", "a,b,a", "a|b", "a,b,a"},
    {"names differ by case", "a,A", "a|A", "a,A"},
    {"empty names", "a,,b,", "a|b", "a,,b,"},
    {"a name beyond ASCII", "\xC3\xB4", "\xC3\xB4", "%C3%B4"},
    {"signs", "a\"b\\", "a\"b\\", "a%22b%5C"},
};

TEST(a_list_names_properties)
{
    for (size_t i = 0; i < COUNT(lists); i++) {
        tv_slice list = lists[i].list ? tv_slice_of(lists[i].list) : TV_NONE;
        tv_buf names = TV_BUF_EMPTY;
        tv_table_select select;

        t_row = lists[i].what;
        CHECK_OK(tv_table_select_parse(&arena, list, &select));
        for (size_t j = 0; j < select.count; j++)
            tv_buf_printf(&names, "%s%.*s", j ? "|" : "", TV_FMT(select.names->list[j]));
        CHECK_TEXT(tv_buf_slice(&names), lists[i].names);
        CHECK_TEXT(select.url_text, lists[i].url_text);
        tv_buf_done(&names);
    }
}

TEST(no_selection_has_everything)
{
    tv_table_select select = {0};

    CHECK(tv_table_select_has(&select, TV_LIT("a")));
    CHECK_OK(tv_table_select_parse(&arena, TV_LIT("a,b"), &select));
    CHECK(tv_table_select_has(&select, TV_LIT("a")));
    CHECK(tv_table_select_has(&select, TV_LIT("b")));
    CHECK(!tv_table_select_has(&select, TV_LIT("c")));
    CHECK(!tv_table_select_has(&select, TV_LIT("A")));
}

TEST(a_list_has_at_most_255_names)
{
    tv_buf list = TV_BUF_EMPTY;
    tv_table_select select;

    for (int i = 0; i < 255; i++)
        tv_buf_printf(&list, "%sp%d", i ? "," : "", i);
    CHECK_OK(tv_table_select_parse(&arena, tv_buf_slice(&list), &select));
    CHECK_INT(select.count, 255);
    tv_buf_add_lit(&list, ",q");
    CHECK_ERR(tv_table_select_parse(&arena, tv_buf_slice(&list), &select), TV_ERR_INVALID_INPUT);
    tv_buf_done(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_names_properties),
        cmocka_unit_test(no_selection_has_everything),
        cmocka_unit_test(a_list_has_at_most_255_names),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
