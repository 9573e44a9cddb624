/* The eight types: names and sizes. */
#include "model/odata/edm.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct {
    const char *name;
    tv_edm_type type;
    int number; /* on disk */
} types[] = {
    {"Edm.String", TV_EDM_STRING, 1}, {"Edm.Boolean", TV_EDM_BOOLEAN, 2},
    {"Edm.Int32", TV_EDM_INT32, 3},   {"Edm.Int64", TV_EDM_INT64, 4},
    {"Edm.Double", TV_EDM_DOUBLE, 5}, {"Edm.DateTime", TV_EDM_DATETIME, 6},
    {"Edm.Guid", TV_EDM_GUID, 7},     {"Edm.Binary", TV_EDM_BINARY, 8},
};

TEST(eight_types_have_names_and_numbers)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        tv_edm_type parsed;

        t_row = types[i].name;
        CHECK_TEXT(tv_edm_name(types[i].type), types[i].name);
        CHECK(tv_edm_parse(tv_slice_of(types[i].name), &parsed));
        CHECK_INT(parsed, types[i].type);
        CHECK_INT(types[i].type, types[i].number);
    }
}

static const char *const refused[] = {"",           "String",      "Edm.",
                                      "edm.string", "Edm.Int16",   "Edm.DateTimeOffset",
                                      "Edm.Int32 ", "Edm.Decimal", "Edm.Stringy"};

TEST(other_names_are_refused)
{
    tv_edm_type type = TV_EDM_GUID;

    for (size_t i = 0; i < COUNT(refused); i++) {
        t_row = refused[i];
        CHECK(!tv_edm_parse(tv_slice_of(refused[i]), &type));
        CHECK_INT(type, TV_EDM_GUID);
    }
}

static const struct {
    const char *what, *name;
    tv_edm_type type;
    const char *bytes;
    int cost;
} costs[] = {
    {"a string", "ab", TV_EDM_STRING, "xyz", 8 + 4 + 6 + 4},
    {"an empty string", "a", TV_EDM_STRING, "", 8 + 2 + 4},
    {"a string beyond ASCII counts its units", "a", TV_EDM_STRING, "\xC3\xB4\xE2\x82\xAC",
     8 + 2 + 4 + 4},
    {"a pair of surrogates counts twice", "a", TV_EDM_STRING, "\xF0\x9F\x98\x80", 8 + 2 + 4 + 4},
    {"a name beyond ASCII", "\xC3\xB4", TV_EDM_STRING, "", 8 + 2 + 4},
    {"binary", "a", TV_EDM_BINARY, "xyz", 8 + 2 + 3 + 4},
    {"a boolean", "a", TV_EDM_BOOLEAN, "", 8 + 2 + 1},
    {"an int32", "a", TV_EDM_INT32, "", 8 + 2 + 4},
    {"an int64", "a", TV_EDM_INT64, "", 8 + 2 + 8},
    {"a double", "a", TV_EDM_DOUBLE, "", 8 + 2 + 8},
    {"a date", "a", TV_EDM_DATETIME, "", 8 + 2 + 8},
    {"a guid", "a", TV_EDM_GUID, "", 8 + 2 + 16},
};

TEST(a_property_costs_what_the_published_formula_says)
{
    for (size_t i = 0; i < COUNT(costs); i++) {
        tv_property property = {.name = tv_slice_of(costs[i].name),
                                .type = costs[i].type,
                                .bytes = tv_slice_of(costs[i].bytes)};

        t_row = costs[i].what;
        CHECK_INT(tv_property_cost(&property), costs[i].cost);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_types_have_names_and_numbers),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(a_property_costs_what_the_published_formula_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
