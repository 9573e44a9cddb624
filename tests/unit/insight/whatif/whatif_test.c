/* Templates, and queries that are rewritten for other keys. */
#include "insight/whatif/rewrite.h"
#include "insight/whatif/store.h"

#include "check.h"
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

/* --- templates --- */

static const struct {
    const char *text, *problem; /* NULL: it is one */
} designs[] = {
    {"PartitionKey=email_{Email};RowKey=email", NULL},
    {"PartitionKey={PartitionKey};RowKey={When:inv}_{RowKey};Columns=a,b", NULL},
    {"PartitionKey={Email:lower:first(2)};RowKey={Number:pad(6)}", NULL},
    {"PartitionKey={RowKey:hash(16)};RowKey={When:date(yyyyMMdd)}", NULL},
    {"PartitionKey=a", "needs both keys"},
    {"", "is not PartitionKey"},
    {"PartitionKey={A;RowKey=b", "has a { without its }"},
    {"PartitionKey=A};RowKey=b", "has a } without its {"},
    {"PartitionKey={};RowKey=b", "has a placeholder"},
    {"PartitionKey={A:upper};RowKey=b", "has a placeholder"},
    {"PartitionKey={A:pad};RowKey=b", "has a placeholder"},
    {"PartitionKey={A:pad(0)};RowKey=b", "has a placeholder"},
    {"PartitionKey={A:pad(21)};RowKey=b", "has a placeholder"},
    {"PartitionKey={A:inv(2)};RowKey=b", "has a placeholder"},
    {"PartitionKey={A:date()};RowKey=b", "has a placeholder"},
    {"PartitionKey={A:first(2};RowKey=b", "has a placeholder"},
    {"PartitionKey=a;RowKey=b;Columns=a,", "is a list of properties"},
    {"PartitionKey=\xff;RowKey=b", "is UTF-8 text"},
    {"PartitionKey=\x1b;RowKey=b", "without control characters"},
    {"PartitionKey=a;RowKey=b;Index=c", "is not PartitionKey, RowKey or Columns"},
};

TEST(a_design_is_two_templates_and_perhaps_columns)
{
    for (size_t i = 0; i < COUNT(designs); i++) {
        char problem[512] = "";
        tv_design design;
        bool ok = tv_design_parse(tv_slice_of(designs[i].text), &design, problem, sizeof problem);

        t_row = designs[i].text;
        CHECK_INT(ok, designs[i].problem == NULL);
        if (designs[i].problem && strstr(problem, designs[i].problem) == NULL)
            CHECK_FAIL("got \"%s\"", problem);
    }
}

#define STRING(text)                                                                               \
    {                                                                                              \
        .type = TV_EDM_STRING, .bytes = { text, sizeof text - 1 }                                  \
    }

static const struct {
    const char *placeholder;
    tv_property value;
    const char *text; /* NULL: it can be no key */
} values[] = {
    {"P", STRING("a/b\\c#d?e%f"), "a%2Fb%5Cc%23d%3Fe%25f"},
    {"P", STRING("\x01\xc2\x85z\xc3\xa9"), "%01%85z\xc3\xa9"},
    {"PartitionKey", STRING("50%"), "50%"},
    {"P:lower", STRING("AbC"), "abc"},
    {"P:first(2)", STRING("\xc3\xa9\xc3\xa9x"), "\xc3\xa9\xc3\xa9"},
    {"P", {.type = TV_EDM_INT32, .int32 = 0}, "2147483648"},
    {"P", {.type = TV_EDM_INT32, .int32 = INT32_MIN}, "0000000000"},
    {"P", {.type = TV_EDM_INT64, .int64 = -1}, "09223372036854775807"},
    {"P", {.type = TV_EDM_INT64, .int64 = INT64_MAX}, "18446744073709551615"},
    {"P:pad(5)", {.type = TV_EDM_INT32, .int32 = 42}, "00042"},
    {"P:pad(2)", {.type = TV_EDM_INT32, .int32 = 421}, NULL},
    {"P:pad(5)", {.type = TV_EDM_INT32, .int32 = -1}, NULL},
    {"P:pad(5)", STRING("42"), NULL},
    {"P", {.type = TV_EDM_BOOLEAN, .boolean = true}, "true"},
    {"P", {.type = TV_EDM_DATETIME, .ticks = 5}, "0000000000000000005"},
    {"P:inv", {.type = TV_EDM_DATETIME, .ticks = 5}, "3155378975999999994"},
    {"P:date(yyyyMMdd-HH)",
     {.type = TV_EDM_DATETIME, .ticks = INT64_C(636188256000000000)},
     "20170101-00"},
    {"P:ticks", STRING("no time"), NULL},
    {"P", {.type = TV_EDM_DOUBLE, .real = 1}, NULL},
    {"P", {.type = TV_EDM_BINARY}, NULL},
};

TEST(values_become_texts_of_keys)
{
    for (size_t i = 0; i < COUNT(values); i++) {
        tv_slice text =
            tv_arena_printf(&arena, "PartitionKey={%s};RowKey=r", values[i].placeholder);
        char problem[512];
        tv_design design;
        tv_slice got = TV_NONE;

        t_row = values[i].placeholder;
        CHECK(tv_design_parse(text, &design, problem, sizeof problem));

        bool ok = tv_template_value(&arena, &design.partition.parts[0], &values[i].value, &got);

        CHECK_INT(ok, values[i].text != NULL);
        if (ok)
            CHECK_TEXT(got, values[i].text);
    }
}

/* --- rewriting --- */

static tv_edm_type email_is_a_string(void *ctx, tv_slice name)
{
    (void)ctx;
    return tv_slice_eq(name, TV_LIT("Age"))    ? TV_EDM_INT64
           : tv_slice_eq(name, TV_LIT("When")) ? TV_EDM_DATETIME
           : tv_slice_eq(name, TV_LIT("Mix"))  ? 0
                                               : TV_EDM_STRING;
}

static const struct {
    const char *design, *filter, *keys;
} rewrites[] = {
    {"PartitionKey=email_{Email};RowKey=email", "Email eq 'a@b'",
     "(PartitionKey eq 'email_a@b' and RowKey eq 'email')"},
    {"PartitionKey=email_{Email};RowKey={PartitionKey}_{RowKey}", "Email eq 'o''neil' and Age gt 5",
     "(PartitionKey eq 'email_o''neil')"},
    {"PartitionKey={PartitionKey};RowKey=email_{Email}_{RowKey}",
     "PartitionKey eq 'S' and Email eq 'a'",
     "(PartitionKey eq 'S' and RowKey ge 'email_a_' and RowKey lt 'email_a`')"},
    {"PartitionKey={PartitionKey};RowKey={Age}", "PartitionKey eq 'S' and Age ge 1 and Age lt 3L",
     "(PartitionKey eq 'S' and RowKey ge '09223372036854775809' and RowKey lt "
     "'09223372036854775811')"},
    {"PartitionKey={PartitionKey};RowKey={When:inv}_{RowKey}",
     "PartitionKey eq 'S' and When gt datetime'9999-12-31T23:59:59.9999990Z'",
     "(PartitionKey eq 'S' and RowKey lt '0000000000000000009')"},
    {"PartitionKey=e_{Email};RowKey=x", "Email eq 'a' or Email eq 'b'",
     "(PartitionKey eq 'e_a' and RowKey eq 'x') or (PartitionKey eq 'e_b' and RowKey eq 'x')"},
    {"PartitionKey={Email};RowKey={RowKey}", "Email eq 'a' or Age eq 5", ""},
    {"PartitionKey={Email};RowKey={RowKey}", "not (Email eq 'a')", ""},
    {"PartitionKey={Mix};RowKey={RowKey}", "Mix eq 'a'", ""},
    {"PartitionKey={Age};RowKey={RowKey}", "Age eq 5.0", ""},
    {"PartitionKey={Email};RowKey={RowKey}", "", ""},
};

TEST(what_a_filter_fixes_becomes_keys)
{
    for (size_t i = 0; i < COUNT(rewrites); i++) {
        tv_rewrite_facts facts = {.type_of = email_is_a_string};
        tv_error_info info = {0};
        char problem[512];
        tv_design design;
        tv_filter *filter;
        tv_slice keys;

        t_row = rewrites[i].filter;
        CHECK(tv_design_parse(tv_slice_of(rewrites[i].design), &design, problem, sizeof problem));
        CHECK_OK(tv_filter_parse(&arena, tv_slice_of(rewrites[i].filter), &filter, &info));
        CHECK(tv_rewrite(&arena, filter, &design, &facts, &keys));
        CHECK_TEXT(keys, rewrites[i].keys);
    }
}

TEST(a_partial_copy_answers_only_what_all_its_entities_have)
{
    tv_rewrite_facts facts = {.type_of = email_is_a_string, .is_partial = true};
    tv_error_info info = {0};
    char problem[512];
    tv_design design;
    tv_filter *filter;
    tv_slice keys;

    CHECK(tv_design_parse(TV_LIT("PartitionKey={Email};RowKey={Age}"), &design, problem,
                          sizeof problem));
    CHECK_OK(tv_filter_parse(&arena, TV_LIT("Email eq 'a' and Age gt 1"), &filter, &info));
    CHECK(tv_rewrite(&arena, filter, &design, &facts, &keys));
    CHECK_OK(tv_filter_parse(&arena, TV_LIT("Email eq 'a'"), &filter, &info));
    CHECK(!tv_rewrite(&arena, filter, &design, &facts, &keys));
}

static const struct {
    const char *text, *successor;
} successors[] = {
    {"a", "b"},
    {"email_", "email`"},
    {"a~", "a\xc2\xa0"},
    {"a\xed\x9f\xbf", "a\xf0\x90\x80\x80"},
    {"a\xef\xbf\xbf", "b"},
    {"\xef\xbf\xbf", ""},
    {"a\xf4\x8f\xbf\xbf", "a\xee\x80\x80"},
    {"\xc3\xbf", "\xc4\x80"},
};

TEST(the_successor_of_a_prefix_is_above_all_that_begin_with_it)
{
    for (size_t i = 0; i < COUNT(successors); i++) {
        t_row = successors[i].text;
        CHECK_TEXT(tv_rewrite_successor(&arena, tv_slice_of(successors[i].text)),
                   successors[i].successor);
    }
}

/* --- the property: a design changes what is examined, never what is returned --- */

static const char *const kinds[] = {
    "PartitionKey=email_{Email};RowKey={PartitionKey}_{RowKey}",
    "PartitionKey={PartitionKey};RowKey={Age}_{RowKey}",
    "PartitionKey={Email:first(1)};RowKey={When:inv}_{PartitionKey}_{RowKey}",
    "PartitionKey={RowKey:hash(4)};RowKey={PartitionKey}_{RowKey}",
    "PartitionKey={Email:lower};RowKey={Age:pad(3)}_{PartitionKey}_{RowKey}",
    "PartitionKey={When:date(yyyy)};RowKey={When:ticks}_{PartitionKey}_{RowKey}",
    "PartitionKey={Mix};RowKey={PartitionKey}_{RowKey}",
};

static uint32_t below(uint32_t end)
{
    return (uint32_t)(t_random() % end);
}

static void add_random(tv_scratch *scratch, int number)
{
    static const char *const emails[] = {"a", "b", "A", "a/b", "\xc3\xa9", ""};
    tv_property list[4];
    size_t count = 0;
    tv_slice partition = tv_arena_printf(&arena, "p%u", below(5));
    tv_slice row = tv_arena_printf(&arena, "r%03d", number);

    if (below(8))
        list[count++] = (tv_property){
            .name = TV_LIT("Email"), .type = TV_EDM_STRING, .bytes = tv_slice_of(emails[below(6)])};
    if (below(8))
        list[count++] =
            (tv_property){.name = TV_LIT("Age"), .type = TV_EDM_INT64, .int64 = below(12)};
    if (below(8))
        list[count++] = (tv_property){.name = TV_LIT("When"),
                                      .type = TV_EDM_DATETIME,
                                      .ticks = INT64_C(630000000000000000) +
                                               below(8) * INT64_C(200000000000000)};
    if (below(2))
        list[count++] = (tv_property){.name = TV_LIT("Mix"), .type = TV_EDM_INT32, .int32 = 1};
    else
        list[count++] =
            (tv_property){.name = TV_LIT("Mix"), .type = TV_EDM_STRING, .bytes = TV_LIT("1")};
    tv_scratch_add(scratch, partition, row, 1, list, count);
}

static void add_comparison(tv_buf *to)
{
    static const char *const ops[] = {"eq", "ne", "gt", "ge", "lt", "le"};
    const char *op = ops[below(3) ? 0 : below(6)];

    switch (below(6)) {
    case 0:
        tv_buf_printf(to, "PartitionKey %s 'p%u'", op, below(5));
        break;
    case 1:
        tv_buf_printf(to, "RowKey %s 'r%03u'", op, below(100));
        break;
    case 2:
        tv_buf_printf(to, "Email %s '%s'", op, below(2) ? "a" : "A");
        break;
    case 3:
        tv_buf_printf(to, "Age %s %u%s", op, below(12), below(2) ? "L" : "");
        break;
    case 4:
        tv_buf_printf(to, "When %s datetime'199%u-05-06T00:00:00Z'", op, 6 + below(4));
        break;
    default:
        tv_buf_printf(to, "Mix %s 1", op);
        break;
    }
}

static void add_filter(tv_buf *to, int depth)
{
    uint32_t parts = 1 + below(3);
    const char *joint = below(3) ? " and " : " or ";

    for (uint32_t i = 0; i < parts; i++) {
        if (i)
            tv_buf_add(to, tv_slice_of(joint));
        if (depth && below(3) == 0) {
            tv_buf_add(to, below(4) ? TV_LIT("(") : TV_LIT("not ("));
            add_filter(to, depth - 1);
            tv_buf_add_char(to, ')');
        } else {
            add_comparison(to);
        }
    }
}

/* --- samples --- */

static tv_filter *filter_of(const char *text)
{
    tv_error_info info = {0};
    tv_filter *filter;

    CHECK_OK(tv_filter_parse(&arena, tv_slice_of(text), &filter, &info));
    return filter;
}

TEST(a_sample_has_whole_partitions_and_counts_for_all)
{
    tv_scratch *scratch = tv_scratch_new();
    const tv_scratch_partition *partitions;
    tv_scratch_result result;
    tv_scratch_fit fit;
    size_t held = 0;

    tv_scratch_limit(scratch, 200, UINT64_MAX);
    for (int i = 0; i < 640; i++)
        tv_scratch_add(scratch, tv_arena_printf(&arena, "p%d", i / 10),
                       tv_arena_printf(&arena, "r%d", i % 10), 0, NULL, 0);
    CHECK_INT(tv_scratch_added(scratch), 640);
    CHECK(tv_scratch_count(scratch) > 50 && tv_scratch_count(scratch) <= 200);
    tv_scratch_add_design(scratch, NULL, &fit);
    held = tv_scratch_partitions(scratch, &arena, &partitions);
    CHECK_INT(held * 10, tv_scratch_count(scratch));
    for (size_t i = 0; i < held; i++)
        CHECK_INT(partitions[i].count, 10);

    CHECK(tv_scratch_run(scratch, 0, filter_of(""), &arena, &result));
    CHECK_INT((int)(result.examined + 0.5), 640);
    for (int i = 0; i < 64; i++) {
        char name[8], text[40];

        snprintf(name, sizeof name, "p%d", i);
        snprintf(text, sizeof text, "PartitionKey eq '%s'", name);
        t_row = text;
        CHECK_INT(tv_scratch_is_outside(scratch, filter_of(text)),
                  !tv_scratch_holds(scratch, tv_slice_of(name)));
        CHECK(tv_scratch_run(scratch, 0, filter_of(text), &arena, &result));
        CHECK_INT((int)result.examined, tv_scratch_holds(scratch, tv_slice_of(name)) ? 10 : 0);
    }
    tv_scratch_free(scratch);
}

TEST(a_rewritten_query_returns_what_the_original_does)
{
    tv_design parsed[COUNT(kinds)];
    tv_scratch *scratch = tv_scratch_new();
    tv_scratch_fit fit;
    char problem[512];
    size_t answered = 0, cheaper = 0;

    t_random_seed(0x7A57E);
    for (int i = 0; i < 100; i++)
        add_random(scratch, i);
    tv_scratch_add_design(scratch, NULL, &fit);
    CHECK_INT(fit.missing + fit.colliding, 0);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        CHECK(tv_design_parse(tv_slice_of(kinds[i]), &parsed[i], problem, sizeof problem));
        tv_scratch_add_design(scratch, &parsed[i], &fit);
        CHECK_INT(fit.colliding, 0);
    }
    for (int round = 0; round < 1000; round++) {
        tv_scratch_result before, after;
        tv_buf text = TV_BUF_EMPTY;
        tv_error_info info = {0};
        tv_filter *filter;
        tv_arena scratchpad;

        tv_arena_init(&scratchpad);
        add_filter(&text, 2);
        tv_buf_add_char(&text, '\0');
        t_row = text.data;
        CHECK_OK(tv_filter_parse(&scratchpad, tv_slice_of(text.data), &filter, &info));
        CHECK(tv_scratch_run(scratch, 0, filter, &scratchpad, &before));
        for (size_t i = 1; i <= COUNT(kinds); i++) {
            if (!tv_scratch_run(scratch, i, filter, &scratchpad, &after))
                continue;
            if (before.sum != after.sum || before.matches != after.matches)
                CHECK_FAIL("%s: %llu and %llu returned, keys %.*s", kinds[i - 1],
                           (unsigned long long)before.matches, (unsigned long long)after.matches,
                           TV_FMT(after.keys));
            answered++;
            cheaper += after.examined < before.examined;
        }
        tv_arena_done(&scratchpad);
        tv_buf_done(&text);
    }
    /* The designs were used, and some of them helped. */
    CHECK(answered > 1000 && cheaper > 100);
    tv_scratch_free(scratch);
}

TEST(keys_that_collide_are_counted_and_shown)
{
    tv_scratch *scratch = tv_scratch_new();
    tv_property name = {.name = TV_LIT("N"), .type = TV_EDM_STRING, .bytes = TV_LIT("x")};
    tv_scratch_fit fit;
    tv_design design;
    char problem[512];

    for (int i = 0; i < 9; i++)
        tv_scratch_add(scratch, TV_LIT("p"), tv_arena_printf(&arena, "%d", i), 1, &name, i != 8);
    CHECK(tv_design_parse(TV_LIT("PartitionKey={N};RowKey={N}"), &design, problem, sizeof problem));
    tv_scratch_add_design(scratch, &design, &fit);
    CHECK_INT(fit.colliding, 7);
    CHECK_INT(fit.missing, 1);
    CHECK_TEXT(fit.missing_name, "N");
    CHECK_INT(fit.shown_count, 5);
    CHECK_INT(fit.largest, 8);
    tv_scratch_free(scratch);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_design_is_two_templates_and_perhaps_columns),
        CASE(values_become_texts_of_keys),
        CASE(what_a_filter_fixes_becomes_keys),
        CASE(a_partial_copy_answers_only_what_all_its_entities_have),
        CASE(the_successor_of_a_prefix_is_above_all_that_begin_with_it),
        CASE(a_sample_has_whole_partitions_and_counts_for_all),
        CASE(a_rewritten_query_returns_what_the_original_does),
        CASE(keys_that_collide_are_counted_and_shown),
    };

    return cmocka_run_group_tests_name("whatif/whatif", tests, NULL, NULL);
}
