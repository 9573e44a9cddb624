/* Which keys are proposed for a shape, and what the query over them reads. */
#include "../../check.h"

#include "insight/advice/rules.h"

typedef struct proposal_row {
    const char *what, *text;
    tv_plan_kind plan; /* of the scan */
    double distinct;   /* values of every property, of 1,000 samples; 0: nothing is known */
    uint64_t returned_max;
    const char *partition_key, *row_key, *filter_after; /* NULL: nothing is proposed */
    tv_plan_kind plan_after;
    double examined_after;
} proposal_row;

#define NEAR TV_PLAN_PARTITION
#define FAR TV_PLAN_TABLE

static const proposal_row rows[] = {
    {"unique, across partitions", "Email eq ?s", FAR, 1000, 1, "email_{Email}", "email",
     "PartitionKey eq 'email_x' and RowKey eq 'email'", TV_PLAN_POINT, 1},
    {"several share a value", "Email eq ?s", FAR, 500, 3, "email_{Email}",
     "{PartitionKey}_{RowKey}", "PartitionKey eq 'email_x'", TV_PLAN_PARTITION, 4},
    {"unique by its values, but an execution returned two", "Email eq ?s", FAR, 1000, 2,
     "email_{Email}", "{PartitionKey}_{RowKey}", "PartitionKey eq 'email_x'", TV_PLAN_PARTITION, 2},
    {"unique, in a partition", "PartitionKey eq ?s and Email eq ?s", NEAR, 1000, 1,
     "{PartitionKey}", "email_{Email}", "PartitionKey eq 'x' and RowKey eq 'email_x'",
     TV_PLAN_POINT, 1},
    {"several, in a partition", "PartitionKey eq ?s and Email eq ?s", NEAR, 500, 3,
     "{PartitionKey}", "email_{Email}_{RowKey}",
     "PartitionKey eq 'x' and RowKey ge 'email_x_' and RowKey lt 'email_x`'", TV_PLAN_RANGE, 4},
    {"numbers are padded", "Age eq ?i", FAR, 1000, 1, "age_{Age:pad(10)}", "age",
     "PartitionKey eq 'age_0000000001' and RowKey eq 'age'", TV_PLAN_POINT, 1},
    {"two properties", "PartitionKey eq ?s and City eq ?s and Name eq ?s", NEAR, 600, 3,
     "{PartitionKey}", "city_{City}_{Name}_{RowKey}",
     "PartitionKey eq 'x' and RowKey ge 'city_x_x_' and RowKey lt 'city_x_x`'", TV_PLAN_RANGE, 2},
    {"equal and a range", "City eq ?s and Age ge ?i", FAR, 300, 3, "city_{City}",
     "{Age:pad(10)}_{PartitionKey}_{RowKey}",
     "PartitionKey eq 'city_x' and RowKey ge '0000000001' and RowKey lt '~'", TV_PLAN_RANGE, 2},
    {"a range alone", "Age lt ?i", FAR, 300, 3, "age", "{Age:pad(10)}_{PartitionKey}_{RowKey}",
     "PartitionKey eq 'age' and RowKey ge '' and RowKey lt '0000000002'", TV_PLAN_RANGE, 2},
    {"behind all keys of a value", "Age gt ?i", FAR, 300, 3, "age",
     "{Age:pad(10)}_{PartitionKey}_{RowKey}",
     "PartitionKey eq 'age' and RowKey ge '0000000001`' and RowKey lt '~'", TV_PLAN_RANGE, 2},
    {"a range with two ends", "PartitionKey eq ?s and Age gt ?i and Age le ?i", NEAR, 300, 3,
     "{PartitionKey}", "age_{Age:pad(10)}_{RowKey}",
     "PartitionKey eq 'x' and RowKey ge 'age_0000000001`' and RowKey lt 'age_0000000002`'",
     TV_PLAN_RANGE, 2},
    {"a range of texts, which do not sort with something behind them", "Name ge ?s", FAR, 300, 3,
     NULL, NULL, NULL, TV_PLAN_POINT, 0},
    {"a time in a partition", "PartitionKey eq ?s and Due ge ?t", NEAR, 300, 3, "{PartitionKey}",
     "due_{Due:ticks}_{RowKey}",
     "PartitionKey eq 'x' and RowKey ge 'due_0639028224000000000' and RowKey lt 'due`'",
     TV_PLAN_RANGE, 2},
    {"an or of one shape: its body", "any(Email eq ?s)", FAR, 1000, 1, "email_{Email}", "email",
     "PartitionKey eq 'email_x' and RowKey eq 'email'", TV_PLAN_POINT, 1},
    {"nothing is known of the property, one was returned", "Email eq ?s", FAR, 0, 1,
     "email_{Email}", "email", "PartitionKey eq 'email_x' and RowKey eq 'email'", TV_PLAN_POINT, 1},
    {"a property that does not select", "State eq ?s", FAR, 5, 300, NULL, NULL, NULL, TV_PLAN_POINT,
     0},
    {"one with too few values to lead a key", "State eq ?s", FAR, 0.5, 300, NULL, NULL, NULL,
     TV_PLAN_POINT, 0},
    {"a Boolean", "Active eq ?b", FAR, 1000, 1, NULL, NULL, NULL, TV_PLAN_POINT, 0},
    {"a Double", "Total gt ?d", FAR, 1000, 1, NULL, NULL, NULL, TV_PLAN_POINT, 0},
    {"an or of two properties", "Code eq ?i or Email eq ?s", FAR, 1000, 1, NULL, NULL, NULL,
     TV_PLAN_POINT, 0},
    {"a text that was cut", "Email eq ?s and (Code eq", FAR, 1000, 1, NULL, NULL, NULL,
     TV_PLAN_POINT, 0},
};

static const char *const names[] = {"Email", "Age", "City", "Name", "State", "Due"};

TEST(keys_are_proposed_and_planned)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const proposal_row *row = &rows[i];
        tv_params params = tv_params_default(TV_EVIDENCE_LIVE);
        tv_evidence_property properties[6];
        tv_evidence_shape shape = {.text = tv_slice_of(row->text),
                                   .executions = 20,
                                   .residual = 20,
                                   .examined = 100000,
                                   .returned = 40,
                                   .returned_max = row->returned_max};
        tv_evidence_table table = {.name = TV_LIT("Emp"),
                                   .entities_now = 2000,
                                   .is_exact = true,
                                   .shapes = &shape,
                                   .shape_count = 1,
                                   .properties = properties,
                                   .property_count = row->distinct > 0 ? 6 : 0,
                                   .property_samples = 1000};
        tv_evidence evidence = {
            .to_ticks = INT64_C(36000000000), .tables = &table, .table_count = 1};
        const tv_proposal *proposal;
        tv_findings found;
        tv_arena arena;

        for (int k = 0; k < 6; k++)
            properties[k] = (tv_evidence_property){tv_slice_of(names[k]), .count = 1000,
                                                   .types[TV_EDM_STRING] = 1000,
                                                   .distinct = row->distinct, .max_bytes = 40};
        t_row = row->what;
        shape.plans[row->plan] = 20;
        tv_arena_init(&arena);
        found = tv_rules_judge(&arena, &evidence, &params);
        CHECK_INT(found.count, 1);
        CHECK_INT(found.items[0]->rule, row->plan == FAR ? TV_RULE_Q01 : TV_RULE_Q04);
        proposal = &found.items[0]->proposal;
        CHECK_INT(proposal->is_set, row->partition_key != NULL);
        if (proposal->is_set) {
            CHECK_TEXT(proposal->partition_key, row->partition_key);
            CHECK_TEXT(proposal->row_key, row->row_key);
            CHECK_TEXT(proposal->filter_after, row->filter_after);
            CHECK_INT(proposal->plan_after, row->plan_after);
            CHECK_INT(proposal->examined_after, row->examined_after);
            CHECK(proposal->examined_before == 5000);
        }
        tv_arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_proposed_and_planned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
