/* What is said of comparisons with a type that entities do not have. */
#include "insight/facts/literals.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_evidence_property properties[] = {
    {.name = TV_LIT("Age"), .count = 3600, .types = {[TV_EDM_INT32] = 3600}},
    {.name = TV_LIT("Big"), .count = 3600, .types = {[TV_EDM_INT64] = 3600}},
    {.name = TV_LIT("Price"), .count = 20, .types = {[TV_EDM_DOUBLE] = 20}},
    {.name = TV_LIT("Born"), .count = 3600, .types = {[TV_EDM_DATETIME] = 3600}},
    {.name = TV_LIT("Id"), .count = 3600, .types = {[TV_EDM_GUID] = 3600}},
    {.name = TV_LIT("Name"), .count = 3600, .types = {[TV_EDM_STRING] = 3600}},
    {.name = TV_LIT("Paid"), .count = 3600, .types = {[TV_EDM_BOOLEAN] = 3600}},
    {.name = TV_LIT("Photo"), .count = 9, .types = {[TV_EDM_BINARY] = 9}},
    {.name = TV_LIT("Mixed"), .count = 3600, .types = {[TV_EDM_INT32] = 3599, [TV_EDM_STRING] = 1}},
};

static const struct {
    const char *filter, *said; /* sentences with a '|' between them */
} rows[] = {
    {"Age gt '60'", "Age is Int32 in 3,600 of 3,600 sampled entities; write 60"},
    {"Age lt '60'", "Age is Int32 in 3,600 of 3,600 sampled entities; write 60"},
    {"'60' lt Age", "Age is Int32 in 3,600 of 3,600 sampled entities; write 60"},
    {"Age gt 60L", "Age is Int32 in 3,600 of 3,600 sampled entities; write 60"},
    {"Age gt 60.0", "Age is Int32 in 3,600 of 3,600 sampled entities; write 60"},
    {"Age gt 60.5", "Age is Int32 in 3,600 of 3,600 sampled entities"},
    {"Age gt 'sixty'", "Age is Int32 in 3,600 of 3,600 sampled entities"},
    {"Age gt '60 or Age gt 1'", "Age is Int32 in 3,600 of 3,600 sampled entities"},
    {"Age gt ''", "Age is Int32 in 3,600 of 3,600 sampled entities"},
    {"Age gt 60", ""},
    {"Big gt '60'", "Big is Int64 in 3,600 of 3,600 sampled entities; write 60"},
    {"Big gt '6000000000'", "Big is Int64 in 3,600 of 3,600 sampled entities; write 6000000000L"},
    {"Big gt 60", ""},
    {"Big gt 60L", ""},
    {"Price lt '1.5'", "Price is Double in 20 of 3,600 sampled entities; write 1.5"},
    {"Price lt 1 and Price gt 1L and Price gt 1.5", ""},
    {"Born ge '2026-01-02T00:00:00Z'", "Born is DateTime in 3,600 of 3,600 sampled entities; write "
                                       "datetime'2026-01-02T00:00:00Z'"},
    {"Id eq 'c9da6455-213d-42c9-9a79-3e9149a57833'",
     "Id is Guid in 3,600 of 3,600 sampled entities; write "
     "guid'c9da6455-213d-42c9-9a79-3e9149a57833'"},
    {"Name eq 5", "Name is String in 3,600 of 3,600 sampled entities; write '5'"},
    {"Name eq true", "Name is String in 3,600 of 3,600 sampled entities; write 'true'"},
    {"Name eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'",
     "Name is String in 3,600 of 3,600 sampled entities; write "
     "'c9da6455-213d-42c9-9a79-3e9149a57833'"},
    {"Name eq X'00ff'", "Name is String in 3,600 of 3,600 sampled entities"},
    {"Name", "Name is String in 3,600 of 3,600 sampled entities"},
    {"Paid eq 'true'", "Paid is Boolean in 3,600 of 3,600 sampled entities; write true"},
    {"not Paid", ""},
    {"Photo eq 'x'", "Photo is Binary in 9 of 3,600 sampled entities"},
    /* Some have it so: it may be meant. */
    {"Mixed eq 'x' or Mixed eq 5", ""},
    {"Mixed eq true", "Mixed is Int32 in 3,599 of 3,600 sampled entities"},
    /* Nobody has seen it. */
    {"Unknown eq '5'", ""},
    /* Names have a case. */
    {"age eq '5'", "age is in none of 3,600 sampled entities; write Age"},
    {"paid and AGE gt 5", "paid is in none of 3,600 sampled entities; write Paid|"
                          "AGE is in none of 3,600 sampled entities; write Age"},
    {"RowKey lt 'x' and PartitionKey eq 'x' and Timestamp gt datetime'2026-01-02T00:00:00Z'", ""},
    /* Each once. */
    {"Age gt '60' and (Age lt '70' or not (Name eq 5))",
     "Age is Int32 in 3,600 of 3,600 sampled entities; write 60|"
     "Name is String in 3,600 of 3,600 sampled entities; write '5'"},
    {"", ""},
    {"false", ""},
};

TEST(a_literal_of_another_type_is_told)
{
    tv_facts_table table = {
        .properties = properties, .property_count = COUNT(properties), .property_samples = 3600};
    tv_slice said[TV_FACTS_MISTAKES_MAX];
    tv_buf text = TV_BUF_EMPTY;
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_error_info info = {0};
        tv_filter *filter;

        t_row = rows[i].filter;
        CHECK_OK(tv_filter_parse(&arena, tv_slice_of(rows[i].filter), &filter, &info));

        size_t count = tv_facts_find_mistakes(&table, filter, &arena, said);

        tv_buf_reset(&text);
        for (size_t k = 0; k < count; k++)
            tv_buf_printf(&text, "%s%.*s", k ? "|" : "", TV_FMT(said[k]));
        CHECK_TEXT(tv_buf_slice(&text), rows[i].said);
    }
    tv_buf_done(&text);
    tv_arena_done(&arena);
}

TEST(not_more_is_said_than_there_is_room_for)
{
    tv_evidence_property many[2 * TV_FACTS_MISTAKES_MAX];
    tv_facts_table table = {
        .properties = many, .property_count = COUNT(many), .property_samples = 1};
    tv_slice said[TV_FACTS_MISTAKES_MAX];
    tv_buf text = TV_BUF_EMPTY;
    tv_error_info info = {0};
    tv_filter *filter;
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0; i < COUNT(many); i++) {
        many[i] = (tv_evidence_property){.name = tv_arena_printf(&arena, "p%zu", i),
                                         .types = {[TV_EDM_INT32] = 1}};
        tv_buf_printf(&text, "%sp%zu eq 'x'", i ? " or " : "", i);
    }
    CHECK_OK(tv_filter_parse(&arena, tv_buf_slice(&text), &filter, &info));
    CHECK_INT(tv_facts_find_mistakes(&table, filter, &arena, said), TV_FACTS_MISTAKES_MAX);
    tv_buf_done(&text);
    tv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_literal_of_another_type_is_told),
        cmocka_unit_test(not_more_is_said_than_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
