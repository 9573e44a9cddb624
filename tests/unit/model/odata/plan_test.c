/*
 * Plans as tables: a filter, the name of its plan, its ranges and what is left
 * to test.  A bound is shown as it appears in a row key after the table's prefix,
 * with '|' for 01 (between PartitionKey and RowKey, and after a RowKey), '^' for
 * 02 (after a partition) and '$' for the end of the table.
 */
#include "model/odata/plan.h"

#include "check.h"
#include "model/odata/region.h"
#include "store/engine/key.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_arena arena;
static tv_buf shown;

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&arena);
    tv_buf_done(&shown);
    return 0;
}

static tv_slice prefix_of_table(void)
{
    return tv_key_table(&arena, TV_LIT("acct"), 7);
}

static tv_plan plan_of(tv_slice text)
{
    tv_error_info info = {0};
    tv_filter *filter;

    CHECK_OK(tv_filter_parse(&arena, text, &filter, &info));
    return tv_plan_make(&arena, prefix_of_table(), filter);
}

static void show_bound(tv_slice bound)
{
    tv_slice prefix = prefix_of_table();

    if (!tv_slice_starts_with(bound, prefix)) {
        CHECK_SLICE(bound, tv_key_after(&arena, prefix));
        tv_buf_add_char(&shown, '$');
        return;
    }
    for (size_t i = prefix.len; i < bound.len; i++) {
        char c = bound.data[i];

        tv_buf_add_char(&shown, c == '\x01' ? '|' : c == '\x02' ? '^' : c);
    }
}

/* "range [p|a,p|b) [p|c,p|c|) : residual" */
static tv_slice show(const tv_plan *plan)
{
    shown.len = 0;
    tv_buf_printf(&shown, "%s", tv_plan_kind_name(plan->kind));
    for (size_t i = 0; i < plan->count; i++) {
        tv_buf_add_lit(&shown, " [");
        show_bound(plan->ranges[i].from);
        tv_buf_add_char(&shown, ',');
        show_bound(plan->ranges[i].to);
        tv_buf_add_char(&shown, ')');
    }
    if (plan->residual) {
        tv_buf_add_lit(&shown, " : ");
        tv_filter_print(&shown, plan->filter, plan->residual);
        CHECK(shown.len <= tv_filter_print_max(plan->filter, plan->residual));
    }
    return tv_buf_slice(&shown);
}

#define P "PartitionKey eq 'p' and "

static const struct {
    const char *filter, *plan;
} rows[] = {
    {"", "table [,$)"},
    {"a eq 1", "table [,$) : a eq 1"},
    {"Timestamp gt datetime'2020-01-01T00:00:00Z'",
     "table [,$) : Timestamp gt datetime'2020-01-01T00:00:00Z'"},
    /* points */
    {P "RowKey eq 'r'", "point [p|r,p|r|)"},
    {"RowKey eq 'r' and PartitionKey eq 'p'", "point [p|r,p|r|)"},
    {"'r' eq RowKey and 'p' eq PartitionKey", "point [p|r,p|r|)"},
    {P "RowKey eq 'r' and a eq 1", "point [p|r,p|r|) : a eq 1"},
    {P "RowKey eq ''", "point [p|,p||)"},
    {"PartitionKey eq '' and RowKey eq ''", "point [|,||)"},
    {P "(RowKey eq 'b' or RowKey eq 'a')", "point [p|a,p|a|) [p|b,p|b|)"},
    {P "(RowKey eq 'a' or RowKey eq 'a')", "point [p|a,p|a|)"},
    {"(" P "RowKey eq 'a') or (PartitionKey eq 'q' and RowKey eq 'b')",
     "point [p|a,p|a|) [q|b,q|b|)"},
    {"(PartitionKey eq 'q' or PartitionKey eq 'p') and (RowKey eq 'a' or RowKey eq 'b')",
     "point [p|a,p|a|) [p|b,p|b|) [q|a,q|a|) [q|b,q|b|)"},
    {P "RowKey ge 'r' and RowKey le 'r'", "point [p|r,p|r|)"},
    {P "not (RowKey ne 'r')", "point [p|r,p|r|)"},
    {"not (PartitionKey ne 'p' or RowKey ne 'r')", "point [p|r,p|r|)"},
    /* ranges */
    {P "RowKey ge 'email_a' and RowKey lt 'email_b'", "range [p|email_a,p|email_b)"},
    {P "RowKey gt 'a'", "range [p|a|,p^)"},
    {P "RowKey ge 'a'", "range [p|a,p^)"},
    {P "RowKey lt 'b'", "range [p|,p|b)"},
    {P "RowKey le 'b'", "range [p|,p|b|)"},
    {P "RowKey ne 'b'", "range [p|,p|b) [p|b|,p^)"},
    {P "RowKey ne ''", "range [p||,p^)"},
    {P "not (RowKey lt 'b')", "range [p|b,p^)"},
    {P "RowKey gt 'a' and RowKey gt 'b' and RowKey le 'y' and RowKey lt 'z'", "range [p|b|,p|y|)"},
    {P "(RowKey lt 'b' or RowKey ge 'y')", "range [p|,p|b) [p|y,p^)"},
    {P "(RowKey lt 'm' or RowKey gt 'c' and RowKey lt 'x')", "range [p|,p|x)"},
    {P "(RowKey eq 'a' or RowKey gt 'b')", "range [p|a,p|a|) [p|b|,p^)"},
    {P "(RowKey eq 'a' or RowKey gt 'a')", "range [p|a,p^)"},
    {P "RowKey ge 'a' and Age gt 5 and RowKey lt 'b' and paid",
     "range [p|a,p|b) : Age gt 5 and paid"},
    {P "(RowKey gt 'b' and a eq 1 or RowKey lt 'a' and b eq 2)",
     "range [p|,p|a) [p|b|,p^) : (RowKey gt 'b' and a eq 1) or (RowKey lt 'a' and b eq 2)"},
    /* partitions */
    {"PartitionKey eq 'p'", "partition [p|,p^)"},
    {"PartitionKey eq ''", "partition [|,^)"},
    {P "a eq 1", "partition [p|,p^) : a eq 1"},
    {P "RowKey ge ''", "partition [p|,p^)"},
    {P "(RowKey lt 'b' or RowKey ge 'b')", "partition [p|,p^)"},
    {P "(RowKey eq 'a' or a eq 1)", "partition [p|,p^) : RowKey eq 'a' or a eq 1"},
    {P "not (RowKey eq 'a' and a eq 1)", "partition [p|,p^) : not (RowKey eq 'a' and a eq 1)"},
    {"PartitionKey eq 'p' or PartitionKey eq 'a'", "partition [a|,a^) [p|,p^)"},
    {"PartitionKey eq 'p' or PartitionKey eq 'q' and RowKey eq '1'",
     "partition [p|,p^) [q|1,q|1|)"},
    {"PartitionKey ge 'p' and PartitionKey le 'p'", "partition [p|,p^)"},
    {"PartitionKey eq 'p' and not (gone ne 3)", "partition [p|,p^) : not (gone ne 3)"},
    /* tables */
    {"PartitionKey gt 'p'", "table [p^,$)"},
    {"PartitionKey ge 'p'", "table [p|,$)"},
    {"PartitionKey lt 'p'", "table [,p|)"},
    {"PartitionKey le 'p'", "table [,p^)"},
    {"PartitionKey ne 'p'", "table [,p|) [p^,$)"},
    {"PartitionKey ne ''", "table [^,$)"},
    {"PartitionKey ge 'a' and PartitionKey lt 'b'", "table [a|,b|)"},
    {"PartitionKey ge 'a' and PartitionKey lt 'b' and x eq 1", "table [a|,b|) : x eq 1"},
    {"RowKey eq 'r'", "table [,$) : RowKey eq 'r'"},
    {"PartitionKey ge 'a' and RowKey eq 'r'",
     "table [a|,$) : PartitionKey ge 'a' and RowKey eq 'r'"},
    {"PartitionKey eq 'p' or a eq 1", "table [,$) : PartitionKey eq 'p' or a eq 1"},
    {"not (PartitionKey eq 'p' and a eq 1)", "table [,$) : not (PartitionKey eq 'p' and a eq 1)"},
    {"not (PartitionKey eq 'p' or a eq 1)",
     "table [,p|) [p^,$) : not (PartitionKey eq 'p' or a eq 1)"},
    {"PartitionKey eq 'p' or PartitionKey ne 'p'", "table [,$)"},
    {"PartitionKey eq 'b' or PartitionKey gt 'a' and PartitionKey lt 'c'", "table [a^,c|)"},
    /* contradictions read nothing */
    {"PartitionKey eq 'a' and PartitionKey eq 'b'", "point"},
    {P "RowKey gt 'b' and RowKey lt 'a'", "point"},
    {P "RowKey gt 'a' and RowKey lt 'a'", "point"},
    {P "RowKey ge 'a' and RowKey lt 'a'", "point"},
    {P "RowKey lt ''", "point"},
    {"PartitionKey lt ''", "point"},
    {"not (PartitionKey ge '')", "point"},
    {"PartitionKey ne 'p' and PartitionKey eq 'p' and x eq 1", "point : x eq 1"},
    {"false", "point"},
    {"x eq 1 and false", "point"},
    {"not true or " P "false", "point"},
    /* and "true" changes nothing */
    {"true", "table [,$)"},
    {"true and " P "RowKey eq 'r'", "point [p|r,p|r|)"},
    {"PartitionKey eq 'p' or false", "partition [p|,p^)"},
    {"PartitionKey eq 'p' or true", "table [,$)"},
    /* Beyond the BMP, in the form of the keys: U+10000 is before U+E000. */
    {"PartitionKey ge '\xF0\x90\x80\x80' and PartitionKey lt '\xEE\x80\x80'",
     "table [\xED\xA0\x80\xED\xB0\x80|,\xEE\x80\x80|)"},
    {"PartitionKey ge '\xEE\x80\x80' and PartitionKey lt '\xF0\x90\x80\x80'", "point"},
    /* What no key can hold is compared row by row. */
    {P "RowKey lt 'a\x02'", "partition [p|,p^) : PartitionKey eq 'p' and RowKey lt 'a\x02'"},
    {"PartitionKey eq 'a\x7f'", "table [,$) : PartitionKey eq 'a\x7f'"},
};

TEST(filters_have_plans)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_plan plan;

        t_row = rows[i].filter;
        plan = plan_of(tv_slice_of(rows[i].filter));
        CHECK_TEXT(show(&plan), rows[i].plan);
    }
}

/* Key characters that end like a bound must not be taken for one. */
TEST(partitions_that_begin_alike_are_apart)
{
    tv_plan plan = plan_of(TV_LIT("PartitionKey eq 'a' or PartitionKey eq 'a ' or "
                                  "PartitionKey eq 'aa'"));

    CHECK_TEXT(show(&plan), "partition [a|,a^) [a |,a ^) [aa|,aa^)");
}

/* --- caps --- */

static tv_slice chain(size_t count, const char *form)
{
    tv_buf text = TV_BUF_EMPTY;
    tv_slice copy;

    for (size_t i = 0; i < count; i++)
        tv_buf_printf(&text, "%s%s '%05zu'", i ? " or " : "", form, i);
    copy = tv_arena_dup(&arena, tv_buf_slice(&text));
    tv_buf_done(&text);
    return copy;
}

TEST(a_thousand_points_are_kept)
{
    tv_slice keys = chain(1000, "RowKey eq");
    tv_plan plan = plan_of(tv_arena_printf(&arena, "PartitionKey eq 'p' and (%.*s)", TV_FMT(keys)));

    CHECK_INT(plan.kind, TV_PLAN_POINT);
    CHECK_INT(plan.count, 1000);
    CHECK(plan.residual == NULL);
}

/* More are one range around them all, and everything is tested. */
TEST(more_are_one_wider_range)
{
    tv_slice keys = chain(1001, "RowKey eq");
    tv_plan plan = plan_of(tv_arena_printf(&arena, "PartitionKey eq 'p' and (%.*s)", TV_FMT(keys)));

    CHECK_INT(plan.kind, TV_PLAN_RANGE);
    CHECK_INT(plan.count, 1);
    CHECK(plan.residual == plan.filter->root);
    plan.residual = NULL;
    CHECK_TEXT(show(&plan), "range [p|00000,p|01000|)");

    plan = plan_of(chain(1001, "PartitionKey eq"));
    CHECK(plan.residual == plan.filter->root);
    plan.residual = NULL;
    CHECK_TEXT(show(&plan), "table [00000|,01000^)");

    plan = plan_of(chain(1001, "PartitionKey eq 'p' and RowKey eq"));
    CHECK(plan.residual == plan.filter->root);
    plan.residual = NULL;
    CHECK_TEXT(show(&plan), "range [p|00000,p|01000|)");
}

TEST(products_of_chains_are_bounded)
{
    tv_slice partitions = chain(200, "PartitionKey eq"), keys = chain(200, "RowKey eq");
    tv_plan plan =
        plan_of(tv_arena_printf(&arena, "(%.*s) and (%.*s)", TV_FMT(partitions), TV_FMT(keys)));

    /* Each partition, and in it the range around all the rows. */
    CHECK_INT(plan.count, 200);
    CHECK_INT(plan.kind, TV_PLAN_RANGE);
    CHECK(plan.residual == plan.filter->root);

    partitions = chain(30, "PartitionKey eq");
    keys = chain(30, "RowKey eq");
    plan = plan_of(tv_arena_printf(&arena, "(%.*s) and (%.*s)", TV_FMT(partitions), TV_FMT(keys)));
    CHECK_INT(plan.count, 900);
    CHECK_INT(plan.kind, TV_PLAN_POINT);
    CHECK(plan.residual == NULL);
}

/* Every row key that is left out cuts the partition once more. */
TEST(two_hundred_row_keys_can_be_left_out)
{
    tv_buf text = TV_BUF_EMPTY;
    tv_plan plan;

    tv_buf_add_lit(&text, "PartitionKey eq 'p'");
    for (int i = 0; i < 200; i++)
        tv_buf_printf(&text, " and RowKey ne '%03d'", i);
    plan = plan_of(tv_arena_dup(&arena, tv_buf_slice(&text)));
    tv_buf_done(&text);
    CHECK_INT(plan.kind, TV_PLAN_RANGE);
    CHECK_INT(plan.count, 201);
    CHECK(plan.residual == NULL);
}

/* Whatever else there is, and however much of it, a partition is not left. */
TEST(a_long_filter_stays_in_its_partition)
{
    static const char *const forms[] = {"RowKey ne", "not RowKey eq", "a eq 1 and RowKey gt",
                                        "PartitionKey ne"};

    for (size_t i = 0; i < COUNT(forms); i++) {
        tv_buf text = TV_BUF_EMPTY;
        tv_plan plan;

        t_row = forms[i];
        tv_buf_add_lit(&text, "PartitionKey eq 'p'");
        for (int k = 0; text.len < 32 * 1024; k++)
            tv_buf_printf(&text, " and %s '%d'", forms[i], k);
        plan = plan_of(tv_arena_dup(&arena, tv_buf_slice(&text)));
        tv_buf_done(&text);
        CHECK(plan.kind <= TV_PLAN_PARTITION);
        CHECK(plan.count >= 1);
    }
}

/* --- filters that are made to be expensive, each about 32 KiB --- */

enum { LONG_FILTER = 32 * 1024 };

/* `open` as often as it fits with `inner` in the middle, and as many `close` after it. */
static void add_nested(tv_buf *text, const char *open, const char *inner, const char *close)
{
    size_t count = LONG_FILTER / (strlen(open) + strlen(close) + 4);

    if (count > TV_FILTER_DEPTH_MAX / 3)
        count = TV_FILTER_DEPTH_MAX / 3;
    for (size_t i = 0; i < count; i++)
        tv_buf_printf(text, "%s", open);
    tv_buf_printf(text, "%s", inner);
    for (size_t i = 0; i < count; i++) {
        size_t at = text->len;

        tv_buf_printf(text, "%s", close);
        /* A hash stands for a number, so that no two keys are the same. */
        for (; at < text->len; at++) {
            if (text->data[at] == '#')
                text->data[at] = (char)('A' + (i + at) % 26);
        }
    }
}

static const char *const nestings[][3] = {
    {"not not (", "RowKey eq 'x' or RowKey eq 'y'",
     " or RowKey eq '###' or RowKey eq '####')"},
    {"(", "RowKey eq 'x'", " and a eq 1 or RowKey eq '###' or RowKey eq '####')"},
    {"(", "RowKey eq 'x'", " and RowKey ne '##' or RowKey eq '####' or PartitionKey eq '###')"},
    {"not (", "RowKey eq 'x'", " or RowKey ne '###' and PartitionKey ne '####')"},
    {"(not ", "RowKey eq 'x'", " or PartitionKey eq '###' and RowKey ne '####')"},
    {"(", "PartitionKey ne 'x'", " or RowKey ne '##') and (PartitionKey ne '###' or RowKey lt '#')"},
};

/* Of what planning takes, only the ranges stay with the request. */
TEST(a_plan_is_small_whatever_the_filter)
{
    for (size_t i = 0; i < COUNT(nestings); i++) {
        tv_buf text = TV_BUF_EMPTY;
        tv_error_info info = {0};
        tv_filter *filter;

        t_row = nestings[i][0];
        add_nested(&text, nestings[i][0], nestings[i][1], nestings[i][2]);
        CHECK_OK(tv_filter_parse(&arena, tv_buf_slice(&text), &filter, &info));

        size_t before = tv_arena_held(&arena);
        tv_plan plan = tv_plan_make(&arena, prefix_of_table(), filter);

        CHECK(plan.count > 0);
        CHECK(tv_arena_held(&arena) - before <= TV_PLAN_BYTES_MAX + 64 * 1024);
        tv_buf_done(&text);
    }
}

/* Each partition with each of two long row keys: the ranges would take thirty times the filter. */
TEST(long_keys_do_not_make_a_long_plan)
{
    char row[1001];
    tv_slice partitions = chain(490, "PartitionKey eq"), text;

    memset(row, 'r', sizeof row - 1);
    row[sizeof row - 1] = '\0';
    text = tv_arena_printf(&arena, "(%.*s) and (RowKey eq '%s1' or RowKey eq '%s2')",
                           TV_FMT(partitions), row, row);

    size_t before = tv_arena_held(&arena);
    tv_plan plan = plan_of(text);

    CHECK(tv_arena_held(&arena) - before <= TV_PLAN_BYTES_MAX + 256 * 1024);
    CHECK_INT(plan.count, 1);
    CHECK(plan.residual == plan.filter->root);
}

TEST(the_work_of_planning_is_bounded)
{
    for (size_t i = 0; i < COUNT(nestings); i++) {
        tv_buf text = TV_BUF_EMPTY;
        tv_error_info info = {0};
        tv_filter *filter;
        tv_arena scratch;

        t_row = nestings[i][0];
        add_nested(&text, nestings[i][0], nestings[i][1], nestings[i][2]);
        CHECK_OK(tv_filter_parse(&arena, tv_buf_slice(&text), &filter, &info));
        tv_arena_init(&scratch);

        tv_region region = tv_region_of(&scratch, filter);

        CHECK(region.count <= TV_REGION_BOXES_MAX);
        CHECK(region.work <= TV_REGION_WORK_MAX);
        CHECK(tv_arena_held(&scratch) < 4 * 1024 * 1024);
        tv_arena_done(&scratch);
        tv_buf_done(&text);
    }
}

/* --- regions --- */

static const struct {
    const char *filter;
    size_t count;
    bool is_widened;
} regions[] = {
    {"", 1, false},
    {"a eq 1", 1, false},
    {"PartitionKey eq 'p'", 1, false},
    {"RowKey ne 'r'", 2, false},
    {"RowKey lt ''", 0, false},
    {"RowKey eq 'a' and RowKey eq 'b'", 0, false},
    {"PartitionKey ne 'p' and RowKey ne 'r'", 4, false},
    {"PartitionKey eq 'p' or RowKey eq 'r'", 2, false},
    {"RowKey eq 'a' or RowKey eq 'b' or RowKey eq 'a'", 2, false},
    {"RowKey lt 'b' or RowKey ge 'a'", 1, false},
    {"RowKey eq 'a\x02'", 1, true},
    {"not (RowKey eq 'a\x02')", 1, true},
    {"RowKey eq 'a\x02' and RowKey eq 'b'", 1, true},
};

TEST(regions_are_unions_of_boxes)
{
    for (size_t i = 0; i < COUNT(regions); i++) {
        tv_error_info info = {0};
        tv_filter *filter;

        t_row = regions[i].filter;
        CHECK_OK(tv_filter_parse(&arena, tv_slice_of(regions[i].filter), &filter, &info));
        tv_region region = tv_region_of(&arena, filter);
        CHECK_INT(region.count, regions[i].count);
        CHECK_INT(region.is_widened, regions[i].is_widened);
    }
}

/* The keys 'a' and 'b' have the bounds 1, 2 and 3, 4; with the empty key 'a' has 2, 3. */
TEST(spans_know_what_they_are)
{
    tv_slice list[] = {TV_LIT("a"), TV_LIT("b")}, with[] = {TV_LIT(""), TV_LIT("a")};
    tv_named_keys keys = {.list = list, .count = 2};
    tv_named_keys with_empty = {.list = with, .count = 2, .has_empty = true};
    bool is_after;

    CHECK(tv_span_is_full((tv_span){0, TV_BOUND_END}));
    CHECK(!tv_span_is_full((tv_span){1, TV_BOUND_END}) && !tv_span_is_full((tv_span){0, 4}));
    CHECK(tv_span_is_point(&keys, (tv_span){1, 2}) && tv_span_is_point(&keys, (tv_span){3, 4}));
    CHECK(!tv_span_is_point(&keys, (tv_span){0, 1}) && !tv_span_is_point(&keys, (tv_span){2, 3}));
    CHECK(!tv_span_is_point(&keys, (tv_span){1, 4}));
    CHECK(!tv_span_is_point(&keys, (tv_span){0, TV_BOUND_END}));
    CHECK(tv_span_is_point(&with_empty, (tv_span){0, 1}));
    CHECK(tv_span_is_point(&with_empty, (tv_span){2, 3}));
    CHECK(!tv_span_is_point(&with_empty, (tv_span){1, 2}));

    CHECK_TEXT(tv_bound_key(&keys, 3, &is_after), "b");
    CHECK(!is_after);
    CHECK_TEXT(tv_bound_key(&keys, 2, &is_after), "a");
    CHECK(is_after);
    CHECK_TEXT(tv_bound_key(&with_empty, 2, &is_after), "a");
    CHECK(!is_after);
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(filters_have_plans),
        ONE(partitions_that_begin_alike_are_apart),
        ONE(a_thousand_points_are_kept),
        ONE(more_are_one_wider_range),
        ONE(products_of_chains_are_bounded),
        ONE(two_hundred_row_keys_can_be_left_out),
        ONE(a_long_filter_stays_in_its_partition),
        ONE(a_plan_is_small_whatever_the_filter),
        ONE(long_keys_do_not_make_a_long_plan),
        ONE(the_work_of_planning_is_bounded),
        ONE(regions_are_unions_of_boxes),
        ONE(spans_know_what_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
