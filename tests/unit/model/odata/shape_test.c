/* Filters and their shapes, as a table; the fingerprints are written down in files of users. */
#include "model/odata/shape.h"

#include "base/hash.h"
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

static tv_filter *parse(tv_slice text)
{
    tv_error_info info = {0};
    tv_filter *filter;

    CHECK_OK(tv_filter_parse(&arena, text, &filter, &info));
    return filter;
}

static tv_shape shape_of(const char *text)
{
    return tv_shape_make(&arena, parse(tv_slice_of(text)), false, false);
}

#define ZERO_GUID "00000000-0000-0000-0000-000000000000"
#define ONE_GUID "10000000-0000-0000-0000-000000000000"

static const struct {
    const char *what, *filter, *text;
    uint64_t fingerprint; /* 0: not written down anywhere */
} shapes[] = {
    {"literals go", "PartitionKey eq 'Sales' and RowKey eq '121'",
     "PartitionKey eq ?s and RowKey eq ?s", 0x1479dc17d96c2f0b},
    {"in any order", "RowKey eq '7' and PartitionKey eq 'HR'",
     "PartitionKey eq ?s and RowKey eq ?s", 0x1479dc17d96c2f0b},
    {"in any parentheses",
     "(PartitionKey eq 'Sales') and ((RowKey ge 'email_a') and (RowKey lt 'email_b'))",
     "PartitionKey eq ?s and RowKey ge ?s and RowKey lt ?s", 0x9af8bc60effa3a87},
    {"a list of any length is one part",
     "PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322' or RowKey eq '9')",
     "PartitionKey eq ?s and any(RowKey eq ?s)", 0x26c092cf0b9a39dc},
    {"a property", "Email eq 'jonesj@contoso.com'", "Email eq ?s", 0x7ea1374a206cc01a},
    {"the property is on the left", "'o''neil' eq LastName", "LastName eq ?s", 0xfecf7a31ee3b1ffd},
    {"Int32", "Age gt 30", "Age gt ?i", 0x8dc2974986e5945c},
    {"Int64, turned round", "30L lt Age", "Age gt ?l", 0xa1be1ae54026dca9},
    {"a bare property", "Active", "Active", 0xf96a16b5a585b0ae},
    {"keys come first", "Active eq true and PartitionKey eq 'S'",
     "PartitionKey eq ?s and Active eq ?b", 0x2b11a0943f86e591},
    {"not of a property stays", "not (Age gt 30)", "not(Age gt ?i)", 0x744fa848d92105ee},
    {"not not goes", "not (not (PartitionKey eq 'a'))", "PartitionKey eq ?s", 0xa584454acdff3f63},
    {"not of a key turns the operator",
     "not (PartitionKey eq 'a') and not (PartitionKey eq 'b') and Total ge 5.0",
     "all(PartitionKey ne ?s) and Total ge ?d", 0x2436faa1faccad76},
    {"DateTime", "PartitionKey eq 'p' and Timestamp ge datetime'2026-01-01T00:00:00Z'",
     "PartitionKey eq ?s and Timestamp ge ?t", 0x7269f1df4531b98d},
    {"a list of pairs",
     "(PartitionKey eq 'a' and RowKey eq '1') or (PartitionKey eq 'b' and RowKey eq '2')",
     "any(PartitionKey eq ?s and RowKey eq ?s)", 0xa02a80f648d2a398},
    {"two lists", "Id eq guid'" ZERO_GUID "' or Code eq 5 or Id eq guid'" ONE_GUID "'",
     "Code eq ?i or any(Id eq ?g)", 0x35a39e05fd496bd8},
    {"no filter", "", "*", 0x9e65482ea53f1934},
    {"a row key alone", "RowKey eq '121'", "RowKey eq ?s", 0x09021a34d30e2aad},
    {"an or inside an and is in parentheses", "B eq 1 and (A eq 1 or C eq 's')",
     "(A eq ?i or C eq ?s) and B eq ?i", 0},
    {"parentheses do not hide what a part begins with",
     "A eq 1 and (PartitionKey eq 'a' or B eq 2)", "(PartitionKey eq ?s or B eq ?i) and A eq ?i",
     0},
    {"a name that begins like a key is another", "PartitionKeys eq 'a' and A eq 1",
     "A eq ?i and PartitionKeys eq ?s", 0},
    {"Binary", "Blob eq X'00ff'", "Blob eq ?x", 0},
    {"a filter that passes nothing", "false", "false", 0},
    {"a long name is cut",
     "Abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij eq 1",
     "Abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcd…*", 0},
};

/* An equal text, or one that begins with what stands before a '*' at the end. */
static bool fits(tv_slice got, tv_slice want)
{
    if (want.len > 1 && want.data[want.len - 1] == '*')
        return tv_slice_starts_with(got, tv_slice_take(want, want.len - 1));
    return tv_slice_eq(got, want);
}

TEST(shapes_are_the_filter_without_values)
{
    for (size_t i = 0; i < COUNT(shapes); i++) {
        tv_shape shape = shape_of(shapes[i].filter);

        t_row = shapes[i].what;
        if (!fits(shape.text, tv_slice_of(shapes[i].text)))
            CHECK_SLICE(shape.text, tv_slice_of(shapes[i].text));
        if (shapes[i].fingerprint)
            CHECK_INT((int64_t)shape.fingerprint, (int64_t)shapes[i].fingerprint);
    }
}

TEST(select_and_top_are_part_of_a_shape)
{
    tv_filter *filter = parse(TV_LIT("Email eq 'a'"));

    CHECK_INT((int64_t)tv_shape_make(&arena, filter, true, false).fingerprint, 0x4f0f11c6082c7d31);
    CHECK_INT((int64_t)tv_shape_make(&arena, filter, false, true).fingerprint, 0x7ea1384a206cc1cd);
}

TEST(other_operations_have_constant_fingerprints)
{
    CHECK_INT((int64_t)tv_fnv(TV_LIT("v1|QueryEntity")), 0x35e7898ff5ab90c3);
    CHECK_INT((int64_t)tv_fnv(TV_LIT("v1|DeleteEntity|if-match=*")), 0x0b043626e428ef48);
    CHECK_INT((int64_t)tv_fnv(TV_LIT("v1|EntityGroupTransaction|Insert,Replace|mixed=0")),
              0x782c72441db17fb5);
}

static const struct {
    const char *what, *filter;
    uint32_t has, has_not, list_len;
} flags[] = {
    {"a point", "PartitionKey eq 'a' and RowKey eq 'b'",
     TV_SHAPE_PARTITION | TV_SHAPE_ROW | TV_SHAPE_PARTITION_EQ,
     TV_SHAPE_PROPERTY | TV_SHAPE_ANY_ROW | TV_SHAPE_ROW_SPAN, 0},
    {"alternatives of rows", "PartitionKey eq 'a' and (RowKey eq 'b' or RowKey eq 'c')",
     TV_SHAPE_ANY_ROW | TV_SHAPE_PARTITION_EQ, TV_SHAPE_ANY_PARTITION, 2},
    {"alternatives of spans",
     "PartitionKey eq 'a' and ((RowKey ge 'b' and RowKey lt 'c') or RowKey ge 'x')",
     TV_SHAPE_ANY_ROW | TV_SHAPE_ROW_SPAN, TV_SHAPE_PROPERTY, 0},
    {"alternatives of partitions", "PartitionKey eq 'a' or PartitionKey eq 'b'",
     TV_SHAPE_ANY_PARTITION, TV_SHAPE_PARTITION_EQ, 2},
    {"newer than", "Timestamp ge datetime'2026-01-01T00:00:00Z'",
     TV_SHAPE_TIMESTAMP | TV_SHAPE_NEWER | TV_SHAPE_PROPERTY, TV_SHAPE_OLDER | TV_SHAPE_DATETIME,
     0},
    {"older than", "Due lt datetime'2026-01-01T00:00:00Z'", TV_SHAPE_DATETIME | TV_SHAPE_OLDER,
     TV_SHAPE_TIMESTAMP | TV_SHAPE_NEWER, 0},
    {"a span of partitions", "PartitionKey gt 'M'", TV_SHAPE_PARTITION_SPAN, TV_SHAPE_PARTITION_EQ,
     0},
    {"not some partitions", "PartitionKey ne 'a' and not (PartitionKey eq 'b')",
     TV_SHAPE_ONLY_NE_PARTITION, TV_SHAPE_PARTITION_EQ, 2},
    {"and something else", "PartitionKey ne 'a' and A eq 1", TV_SHAPE_PROPERTY,
     TV_SHAPE_ONLY_NE_PARTITION, 0},
};

TEST(flags_say_what_a_filter_looks_at)
{
    for (size_t i = 0; i < COUNT(flags); i++) {
        tv_shape shape = shape_of(flags[i].filter);

        t_row = flags[i].what;
        CHECK_INT(shape.flags & flags[i].has, flags[i].has);
        CHECK_INT(shape.flags & flags[i].has_not, 0);
        CHECK_INT(shape.list_len, flags[i].list_len);
    }
}

TEST(a_structure_is_that_of_the_shape_not_of_its_values)
{
    uint64_t one = tv_shape_structure(parse(TV_LIT("A eq 'x' and B gt 5")), false, false);

    CHECK(one == tv_shape_structure(parse(TV_LIT("A eq 'yy' and B gt 77")), false, false));
    CHECK(one != tv_shape_structure(parse(TV_LIT("A eq 'x' and B gt 5L")), false, false));
    CHECK(one != tv_shape_structure(parse(TV_LIT("A eq 'x' and B ge 5")), false, false));
    CHECK(one != tv_shape_structure(parse(TV_LIT("A eq 'x' or B gt 5")), false, false));
    CHECK(one != tv_shape_structure(parse(TV_LIT("A eq 'x' and C gt 5")), false, false));
    CHECK(one != tv_shape_structure(parse(TV_LIT("A eq 'x' and B gt 5")), true, false));
    CHECK(
        tv_shape_structure(parse(TV_LIT("A eq 1 and (B eq 1 or C eq 1)")), false, false) !=
        tv_shape_structure(parse(TV_LIT("A eq 1 and (B eq 1 or C eq 1 or D eq 1)")), false, false));
}

TEST(an_example_has_no_values)
{
    tv_filter *filter = parse(TV_LIT("Name eq 'secret' and (Age gt 30 or Due lt "
                                     "datetime'2026-01-01T00:00:00Z') and not (Open eq false)"));

    CHECK_SLICE(tv_shape_example(&arena, filter, 512),
                TV_LIT("Name eq '…' and (Age gt 0 or Due lt datetime'…') and not (Open eq true)"));
    CHECK_SLICE(tv_shape_example(&arena, filter, 7), TV_LIT("Name eq"));
    /* Never half of a character. */
    CHECK_SLICE(tv_shape_example(&arena, filter, 10), TV_LIT("Name eq '"));
}

TEST(texts_are_cut_and_fingerprints_are_of_all)
{
    tv_buf a = {0}, b = {0};

    for (int i = 0; i < 60; i++) {
        tv_buf_printf(&a, "%sProperty%03d eq 1", i ? " and " : "", i);
        tv_buf_printf(&b, "%sProperty%03d eq 1", i ? " and " : "", i == 59 ? 77 : i);
    }

    tv_shape one = tv_shape_make(&arena, parse(tv_buf_slice(&a)), false, false);
    tv_shape other = tv_shape_make(&arena, parse(tv_buf_slice(&b)), false, false);

    CHECK_INT(one.text.len, TV_SHAPE_TEXT_MAX);
    CHECK_SLICE(one.text, other.text);
    CHECK(one.fingerprint != other.fingerprint);
    CHECK_INT(one.comparisons, 60);
    tv_buf_done(&a);
    tv_buf_done(&b);
}

/* 450 levels of and and or: copied once a level, it would take a megabyte and more. */
TEST(deep_filters_take_little)
{
    tv_buf text = {0};

    for (int i = 0; i < 450; i++)
        tv_buf_printf(&text, "(A eq %d %s ", i, i % 2 ? "or" : "and");
    tv_buf_add_lit(&text, "B eq 1");
    for (int i = 0; i < 450; i++)
        tv_buf_add_char(&text, ')');

    tv_shape shape = tv_shape_make(&arena, parse(tv_buf_slice(&text)), false, false);

    CHECK(shape.text.len > 0 && shape.text.len <= TV_SHAPE_TEXT_MAX);
    CHECK_INT(shape.comparisons, 451);
    tv_buf_done(&text);
}

TEST(bounds_have_a_case_when_all_have_the_same)
{
    CHECK_INT(tv_shape_bounds_case(parse(TV_LIT("RowKey ge 'A' and RowKey lt 'B'"))),
              TV_SHAPE_CASE_UPPER);
    CHECK_INT(tv_shape_bounds_case(parse(TV_LIT("RowKey ge 'a' and A lt 'B'"))),
              TV_SHAPE_CASE_LOWER);
    CHECK_INT(tv_shape_bounds_case(parse(TV_LIT("RowKey ge 'a' and RowKey lt 'B'"))),
              TV_SHAPE_CASE_NONE);
    CHECK_INT(tv_shape_bounds_case(parse(TV_LIT("RowKey ge '1' and RowKey lt 'b'"))),
              TV_SHAPE_CASE_NONE);
    CHECK_INT(tv_shape_bounds_case(parse(TV_LIT("RowKey eq 'a'"))), TV_SHAPE_CASE_NONE);
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(shapes_are_the_filter_without_values),
        ONE(select_and_top_are_part_of_a_shape),
        ONE(other_operations_have_constant_fingerprints),
        ONE(flags_say_what_a_filter_looks_at),
        ONE(a_structure_is_that_of_the_shape_not_of_its_values),
        ONE(an_example_has_no_values),
        ONE(texts_are_cut_and_fingerprints_are_of_all),
        ONE(deep_filters_take_little),
        ONE(bounds_have_a_case_when_all_have_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
