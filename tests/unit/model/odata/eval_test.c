/*
 * The rules of comparison, as a table written from the service's behaviour:
 * every stored type against every literal type under every operator.
 */
#include <math.h>

#include "check.h"
#include "model/odata/filter.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const type_names[] = {
    [0] = "absent",
    [TV_EDM_STRING] = "String",
    [TV_EDM_BOOLEAN] = "Boolean",
    [TV_EDM_INT32] = "Int32",
    [TV_EDM_INT64] = "Int64",
    [TV_EDM_DOUBLE] = "Double",
    [TV_EDM_DATETIME] = "DateTime",
    [TV_EDM_GUID] = "Guid",
    [TV_EDM_BINARY] = "Binary",
};

/*
 * How a stored value (row) meets a literal (column).  'n': they compare in their
 * natural order.  '<': as if the stored one were less, whatever the values.
 * '-': the property is not there and everything is false.
 *
 *                                     literal
 *                 String Boolean Int32 Int64 Double DateTime Guid Binary
 */
static const char *const matrix[] = {
    [0] = "--------",               /* absent */
    [TV_EDM_STRING] = "n<<<<<<<",   /* String */
    [TV_EDM_BOOLEAN] = "<n<<<<<<",  /* Boolean */
    [TV_EDM_INT32] = "<<n<<<<<",    /* Int32: not with a wider literal */
    [TV_EDM_INT64] = "<<nn<<<<",    /* Int64: an Int32 literal is widened */
    [TV_EDM_DOUBLE] = "<<nnn<<<",   /* Double: either integer literal is widened */
    [TV_EDM_DATETIME] = "<<<<<n<<", /* DateTime */
    [TV_EDM_GUID] = "<<<<<<n<",     /* Guid */
    [TV_EDM_BINARY] = "<<<<<<<n",   /* Binary */
};

/* Operators, and which of them hold when P is less than, equal to, greater than L. */
static const struct {
    tv_compare_op op;
    const char *word;
    bool less, equal, greater;
} ops[] = {
    {TV_OP_EQ, "eq", false, true, false}, {TV_OP_NE, "ne", true, false, true},
    {TV_OP_GT, "gt", false, false, true}, {TV_OP_GE, "ge", false, true, true},
    {TV_OP_LT, "lt", true, false, false}, {TV_OP_LE, "le", true, true, false},
};

/* Three values of each type that say -1, 0 and 1, if the type has three: Boolean has two. */
static tv_property value_of(tv_edm_type type, int rank)
{
    static const char *const strings[] = {"a", "b", "ba"};
    static const char *const binaries[] = {"\x01\xff", "\x02", "\x80"};
    tv_property value = {.type = type};

    switch (type) {
    case TV_EDM_STRING:
        value.bytes = tv_slice_of(strings[rank + 1]);
        break;
    case TV_EDM_BINARY:
        value.bytes = tv_slice_of(binaries[rank + 1]);
        break;
    case TV_EDM_BOOLEAN:
        value.boolean = rank > 0;
        break;
    case TV_EDM_INT32:
        value.int32 = rank * 7;
        break;
    case TV_EDM_INT64:
        value.int64 = rank * 7;
        break;
    case TV_EDM_DOUBLE:
        value.real = rank * 7;
        break;
    case TV_EDM_DATETIME:
        value.ticks = 630822816000000000 + rank;
        break;
    case TV_EDM_GUID:
        memset(value.guid.bytes, 0x80, sizeof value.guid.bytes);
        value.guid.bytes[0] = (uint8_t)(0x80 + rank * 0x7f);
        break;
    }
    return value;
}

/* Evaluates "x op literal" as a filter does, so that absence is part of it. */
static bool holds(const tv_property *stored, tv_compare_op op, const tv_property *literal)
{
    tv_node node = {.kind = TV_NODE_COMPARE, .op = op, .literal = *literal};
    tv_filter_slot slot = {.is_there = stored != NULL};

    if (stored)
        slot.value = *stored;
    return tv_filter_eval(&node, &slot);
}

TEST(the_whole_matrix)
{
    int count = 0;

    for (int p = 0; p <= TV_EDM_BINARY; p++) {
        for (int l = TV_EDM_STRING; l <= TV_EDM_BINARY; l++) {
            char meets = matrix[p][l - TV_EDM_STRING];

            for (int i = -1; i <= 1; i++) {
                for (int j = -1; j <= 1; j++) {
                    tv_property stored = {0}, literal = value_of((tv_edm_type)l, j);
                    int order = (i > j) - (i < j);

                    if (p)
                        stored = value_of((tv_edm_type)p, i);
                    if (p == TV_EDM_BOOLEAN && l == TV_EDM_BOOLEAN)
                        order = (i > 0) - (j > 0);
                    for (size_t k = 0; k < COUNT(ops); k++) {
                        bool want = order < 0    ? ops[k].less
                                    : order == 0 ? ops[k].equal
                                                 : ops[k].greater;
                        char row[80];

                        if (meets == '<')
                            want = ops[k].less;
                        if (meets == '-')
                            want = false;
                        snprintf(row, sizeof row, "%s(%d) %s %s(%d)", type_names[p], i, ops[k].word,
                                 type_names[l], j);
                        t_row = row;
                        CHECK_INT(holds(p ? &stored : NULL, ops[k].op, &literal), want);
                        count++;
                    }
                }
            }
        }
    }
    CHECK_INT(count, 9 * 8 * 9 * 6);
}

/* Texts in ordinal order: by UTF-16 units, so pairs of surrogates are before U+E000. */
static const char *const in_order[] = {
    "",
    " ",
    "A",
    "B",
    "Ba",
    "a",
    "aa",
    "a\xC2\x80",
    "\xC3\x9F",         /* U+00DF */
    "\xE2\x82\xAC",     /* U+20AC */
    "\xED\x9F\xBF",     /* U+D7FF */
    "\xF0\x90\x80\x80", /* U+10000 = D800 DC00 */
    "\xF0\x90\x80\x80"
    "a",                /* and more */
    "\xF0\x9F\x98\x80", /* U+1F600 = D83D DE00 */
    "\xF4\x8F\xBF\xBF", /* U+10FFFF = DBFF DFFF */
    "\xEE\x80\x80",     /* U+E000 */
    "\xEE\x80\x80"
    "a",
    "\xEF\xBF\xBD", /* U+FFFD */
    "\xEF\xBF\xBF", /* U+FFFF */
};

TEST(strings_are_in_ordinal_order)
{
    for (size_t i = 0; i < COUNT(in_order); i++) {
        for (size_t j = 0; j < COUNT(in_order); j++) {
            tv_slice a = tv_slice_of(in_order[i]), b = tv_slice_of(in_order[j]);
            int order = tv_ordinal_compare(a, b);

            t_row = in_order[i];
            CHECK_INT((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
}

static const struct {
    const char *what;
    tv_property stored, literal;
    int order; /* of stored and literal */
} numbers[] = {
    {"ends of Int32",
     {.type = TV_EDM_INT32, .int32 = INT32_MIN},
     {.type = TV_EDM_INT32, .int32 = INT32_MAX},
     -1},
    {"ends of Int64",
     {.type = TV_EDM_INT64, .int64 = INT64_MAX},
     {.type = TV_EDM_INT64, .int64 = INT64_MIN},
     1},
    {"beyond Int32 against Int32",
     {.type = TV_EDM_INT64, .int64 = INT64_C(4294967296)},
     {.type = TV_EDM_INT32, .int32 = 0},
     1},
    {"neighbours that a double cannot tell apart",
     {.type = TV_EDM_INT64, .int64 = INT64_C(9007199254740993)},
     {.type = TV_EDM_INT64, .int64 = INT64_C(9007199254740992)},
     1},
    {"a widened literal is a double, and may round",
     {.type = TV_EDM_DOUBLE, .real = 9007199254740992.0},
     {.type = TV_EDM_INT64, .int64 = INT64_C(9007199254740993)},
     0},
    {"minus zero", {.type = TV_EDM_DOUBLE, .real = -0.0}, {.type = TV_EDM_DOUBLE, .real = 0.0}, 0},
    {"minus zero against 0", {.type = TV_EDM_DOUBLE, .real = -0.0}, {.type = TV_EDM_INT32}, 0},
    {"a fraction", {.type = TV_EDM_DOUBLE, .real = 5.5}, {.type = TV_EDM_INT32, .int32 = 5}, 1},
    {"infinity",
     {.type = TV_EDM_DOUBLE, .real = INFINITY},
     {.type = TV_EDM_INT64, .int64 = INT64_MAX},
     1},
    {"infinity is itself",
     {.type = TV_EDM_DOUBLE, .real = -INFINITY},
     {.type = TV_EDM_DOUBLE, .real = -INFINITY},
     0},
    {"binary: the shorter first",
     {.type = TV_EDM_BINARY, .bytes = {"\x01", 1}},
     {.type = TV_EDM_BINARY, .bytes = {"\x01\x00", 2}},
     -1},
    {"binary: bytes are unsigned",
     {.type = TV_EDM_BINARY, .bytes = {"\x7f", 1}},
     {.type = TV_EDM_BINARY, .bytes = {"\x80", 1}},
     -1},
    {"binary: bytes, not characters",
     {.type = TV_EDM_BINARY, .bytes = {"\xF0\x9F\x98\x80", 4}},
     {.type = TV_EDM_BINARY, .bytes = {"\xEE\x80\x80", 3}},
     1},
    {"binary: nothing is less than something",
     {.type = TV_EDM_BINARY, .bytes = {NULL, 0}},
     {.type = TV_EDM_BINARY, .bytes = {"\x00", 1}},
     -1},
};

TEST(edges_of_natural_order)
{
    for (size_t i = 0; i < COUNT(numbers); i++) {
        t_row = numbers[i].what;
        for (size_t k = 0; k < COUNT(ops); k++) {
            bool want = numbers[i].order < 0    ? ops[k].less
                        : numbers[i].order == 0 ? ops[k].equal
                                                : ops[k].greater;

            CHECK_INT(tv_filter_compare(&numbers[i].stored, ops[k].op, &numbers[i].literal), want);
        }
    }
}

/* NaN is neither less nor equal nor greater: all is false but ne. */
TEST(nan_equals_nothing)
{
    tv_property nan_value = {.type = TV_EDM_DOUBLE, .real = NAN};
    tv_property others[] = {
        {.type = TV_EDM_DOUBLE, .real = NAN},
        {.type = TV_EDM_DOUBLE, .real = 0},
        {.type = TV_EDM_DOUBLE, .real = INFINITY},
    };
    tv_property zero = {.type = TV_EDM_INT32};

    for (size_t k = 0; k < COUNT(ops); k++) {
        t_row = ops[k].word;
        for (size_t i = 0; i < COUNT(others); i++) {
            CHECK_INT(holds(&nan_value, ops[k].op, &others[i]), ops[k].op == TV_OP_NE);
            CHECK_INT(holds(&others[i], ops[k].op, &nan_value), ops[k].op == TV_OP_NE);
        }
        CHECK_INT(holds(&nan_value, ops[k].op, &zero), ops[k].op == TV_OP_NE);
    }
}

TEST(negation_holds_where_the_operator_does_not)
{
    tv_property three[] = {value_of(TV_EDM_INT32, -1), value_of(TV_EDM_INT32, 0),
                           value_of(TV_EDM_INT32, 1)};

    for (size_t k = 0; k < COUNT(ops); k++) {
        t_row = ops[k].word;
        for (size_t i = 0; i < COUNT(three); i++)
            CHECK(holds(&three[i], ops[k].op, &three[1]) !=
                  holds(&three[i], tv_compare_op_negate(ops[k].op), &three[1]));
    }
}

static const struct {
    const char *filter;
    bool passes;
} wholes[] = {
    /* The entity: n = 3 (Int32), yes = true, no = false, text = 'true'; nothing else. */
    {"", true},
    {"n eq 3", true},
    {"n eq 3 and yes", true},
    {"n eq 4 or yes", true},
    {"n eq 4 or no", false},
    {"n eq 3 and no", false},
    {"not yes", false},
    {"not no", true},
    {"text", false}, /* a bare property of another type is false */
    {"not text", true},
    {"gone", false},
    {"not gone", true},
    {"gone eq 3", false},
    {"gone ne 3", false},
    {"not (gone ne 3)", true}, /* finds entities without it */
    {"not (gone eq 3) and not (gone ne 3)", true},
    {"not (gone eq 3 or n eq 4)", true},
    {"not (gone eq 3 and n eq 3)", true},
    {"not not gone", false},
    {"N eq 3", false}, /* names have a case */
    {"n eq 3L", false},
    {"n ne 3L", true},
    {"n lt -3L", true},
    {"n lt -3.5", true},
    {"n eq '3'", false},
    {"3 eq n", true},
    {"2 lt n and 4 gt n", true},
    {"n eq 4 or n eq 5 and n eq 3 or n eq 3", true},
};

TEST(whole_filters)
{
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0; i < COUNT(wholes); i++) {
        tv_filter_slot slots[TV_NAMES_MAX] = {0};
        tv_error_info info = {0};
        tv_filter *filter;

        t_row = wholes[i].filter;
        CHECK_OK(tv_filter_parse(&arena, tv_slice_of(wholes[i].filter), &filter, &info));
        for (int k = 0; k < filter->names.count; k++) {
            tv_slice name = filter->names.list[k];

            slots[k].is_there = true;
            if (tv_slice_eq(name, TV_LIT("n")))
                slots[k].value = (tv_property){.type = TV_EDM_INT32, .int32 = 3};
            else if (tv_slice_eq(name, TV_LIT("yes")) || tv_slice_eq(name, TV_LIT("no")))
                slots[k].value = (tv_property){.type = TV_EDM_BOOLEAN, .boolean = name.len == 3};
            else if (tv_slice_eq(name, TV_LIT("text")))
                slots[k].value = (tv_property){.type = TV_EDM_STRING, .bytes = TV_LIT("true")};
            else
                slots[k].is_there = false;
        }
        CHECK_INT(tv_filter_eval(filter->root, slots), wholes[i].passes);
    }
    tv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_matrix),
        cmocka_unit_test(strings_are_in_ordinal_order),
        cmocka_unit_test(edges_of_natural_order),
        cmocka_unit_test(nan_equals_nothing),
        cmocka_unit_test(negation_holds_where_the_operator_does_not),
        cmocka_unit_test(whole_filters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
