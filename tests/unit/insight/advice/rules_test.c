/* Each rule: what makes it fire, what is just below that, its exceptions, and runs. */
#include "../../check.h"

#include <stdio.h>

#include "base/clock.h"
#include "insight/advice/rules.h"
#include "insight/advice/seen.h"
#include "insight/advice/shares.h"

typedef struct fixture {
    tv_evidence evidence;
    tv_evidence_table table;
    tv_evidence_shape shape;
    tv_evidence_partition partition;
    tv_evidence_row row;
    tv_evidence_property properties[4];
    tv_evidence_key keys[TV_EVIDENCE_KEYS_MAX];
    tv_arena arena;
} fixture;

static void fill_keys(fixture *f, const char *partition_key, const char *format)
{
    for (int i = 0; i < 200; i++) {
        char key[80];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(key, sizeof key, format, i);
#pragma GCC diagnostic pop
        f->keys[i] = (tv_evidence_key){tv_slice_of(partition_key),
                                       tv_arena_dup(&f->arena, tv_slice_of(key))};
    }
    f->table.keys = f->keys;
    f->table.key_count = 200;
}

/* Day, month and year, by their positions. */
static void fill_dates(fixture *f, const char *format)
{
    for (int i = 0; i < 200; i++) {
        char key[80];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
        snprintf(key, sizeof key, format, 1 + i % 28, 1 + i / 28, 2026);
#pragma GCC diagnostic pop
        f->keys[i] = (tv_evidence_key){TV_LIT("p"), tv_arena_dup(&f->arena, tv_slice_of(key))};
    }
    f->table.keys = f->keys;
    f->table.key_count = 200;
}

static void fill_cases(fixture *f)
{
    fill_keys(f, "p", "Name%05d");
    for (int i = 0; i < 100; i++)
        f->keys[i].row_key = tv_arena_printf(&f->arena, "name%05d", i);
}

/* ---- evidence that makes each rule fire ------------------------------------------------------ */

/* A shape that read 2,000 of 2,000 to return 1, twenty times. */
static void scan(tv_evidence_shape *s)
{
    s->text = TV_LIT("Email eq ?s");
    s->executions = s->pages = s->returned = 20;
    s->examined = 40000;
    s->examined_max = 2000;
    s->returned_max = 1;
    s->plans[TV_PLAN_TABLE] = 20;
    s->residual = 20;
}

static void scan_partition(tv_evidence_shape *s)
{
    scan(s);
    s->plans[TV_PLAN_TABLE] = 0;
    s->plans[TV_PLAN_PARTITION] = 20;
    s->examined = 100000;
    s->examined_max = 5000;
}

static void base_Q01(fixture *f)
{
    scan(&f->shape);
}

static void base_Q02(fixture *f)
{
    scan(&f->shape);
    f->shape.text = TV_LIT("RowKey eq ?s");
}

static void base_Q03(fixture *f)
{
    scan_partition(&f->shape);
    f->shape.text = TV_LIT("PartitionKey eq ?s and Year eq ?i");
    f->shape.returned = f->shape.span_returned = f->shape.span_rows = 2000;
    f->shape.spans = 20;
    f->shape.returned_prefix = TV_LIT("order_0001");
    f->shape.partition_prefix = TV_LIT("order_00");
}

static void base_Q04(fixture *f)
{
    scan_partition(&f->shape);
    f->shape.text = TV_LIT("PartitionKey eq ?s and Email eq ?s");
}

static void base_Q05(fixture *f)
{
    f->shape.text = TV_LIT("PartitionKey eq ?s and any(RowKey eq ?s)");
    f->shape.executions = 20;
    f->shape.plans[TV_PLAN_POINT] = 20;
    f->shape.ranges_max = 2;
    f->shape.list_sum = f->shape.examined = 40;
    f->shape.partition_entities_known = true;
    f->shape.partition_entities_max = 2000;
}

static void base_Q06(fixture *f)
{
    f->shape.text = TV_LIT("PartitionKey eq ?s and any(RowKey eq ?s)");
    f->shape.executions = 1;
    f->shape.comparisons_max = 16;
}

static void base_Q07(fixture *f)
{
    scan_partition(&f->shape);
    f->shape.text = TV_LIT("PartitionKey eq ?s and Timestamp ge ?t");
    f->shape.executions = 10;
}

static void base_Q08(fixture *f)
{
    f->table.read_runs = (tv_evidence_runs){.runs = 30, .requests = 720, .contiguous = 30};
    f->table.point_reads = 720;
}

static void base_Q09(fixture *f)
{
    f->shape.text = TV_LIT("PartitionKey eq ?s");
    f->shape.executions = 20;
    f->shape.plans[TV_PLAN_PARTITION] = 20;
    f->shape.returned = 4000;
    f->shape.bytes_out = 4000 * 16384;
    f->table.property_samples = 100;
    for (int i = 0; i < 4; i++)
        f->properties[i] = (tv_evidence_property){TV_LIT("P"), .count = 100, .bytes = 5,
                                                  .types[TV_EDM_STRING] = 100};
    f->table.property_count = 4;
    f->table.is_exact = false;
}

static void base_Q10(fixture *f)
{
    f->shape.text = TV_LIT("*");
    f->shape.executions = 12;
    f->shape.plans[TV_PLAN_TABLE] = 12;
    f->shape.examined = f->shape.returned = 24000;
    f->shape.walks.to_end = f->shape.walks.to_end_client = 12;
}

static void base_P01(fixture *f)
{
    f->table.partition_count = 1;
    f->partition = (tv_evidence_partition){
        .partition_key = TV_LIT("p000"),
        .rate = {.units = 60000, .peak_per_second = 2500, .sustained_per_second = 2400},
        .share = 0.9,
        .reads = 60000,
    };
    f->table.rate = f->partition.rate;
    f->table.partitions_now = 50;
    f->table.entities_now = 500;
}

static void base_P02(fixture *f)
{
    f->table.row_count = 1;
    f->row = (tv_evidence_row){
        .partition_key = TV_LIT("p000"),
        .row_key = TV_LIT("r"),
        .rate = {.units = 5000, .peak_per_second = 500, .sustained_per_second = 500},
        .share = 0.2,
    };
    f->table.rate.sustained_per_second = 2000;
}

/* As little as people do by hand: so many reads and writes of the table, and those of one
 * partition and one entity. */
static void few(fixture *f, uint64_t all, uint64_t reads, uint64_t writes)
{
    f->table.rate = f->partition.rate = f->row.rate =
        (tv_evidence_rate){.units = (double)all, .peak_per_second = 1, .sustained_per_second = 1};
    f->table.point_reads = f->table.writes = all;
    f->table.partitions_read = f->table.partitions_written = 10;
    f->table.rows_read = f->table.rows_written = 10;
    f->partition.reads = f->row.reads = reads;
    f->partition.writes = f->row.writes = writes;
    f->partition.active_seconds = f->row.active_seconds = 90;
}

static void base_P03(fixture *f)
{
    f->table.row_count = 1;
    f->row = (tv_evidence_row){.partition_key = TV_LIT("p"),
                               .row_key = TV_LIT("r"),
                               .conditional_writes = 200,
                               .conflicts = 175,
                               .conflict_clients = 4};
}

static void base_P04(fixture *f)
{
    f->table.direction = (tv_evidence_direction){.windows = 5,
                                                 .windows_up = 5,
                                                 .row = 1,
                                                 .inserts = 60000,
                                                 .seconds = 300,
                                                 .last_share = 1,
                                                 .clients = 4};
    f->table.inserts = 60000;
    f->evidence.seconds = 300;
    f->evidence.from_ticks = f->evidence.to_ticks - 300 * TV_TICKS_PER_SECOND;
}

static void base_P05(fixture *f)
{
    base_P04(f);
    f->table.direction.inserts = 12000;
    f->table.direction.seconds = 6000;
    f->table.inserts_day = 12000;
    f->table.point_reads_day = 20;
    f->table.bytes_now = 400 * f->table.entities_now;
}

static void base_P06(fixture *f)
{
    f->table.partition_count = 1;
    f->table.entities_now = 120000;
    f->table.partitions_now = 20;
    f->partition = (tv_evidence_partition){
        .partition_key = TV_LIT("p000"), .entities_now = 110000, .is_exact = true};
}

static void base_P07(fixture *f)
{
    f->table.entities_now = 12000;
    f->table.partitions_now = 1;
    f->table.partitions_exact = true;
}

static void base_P08(fixture *f)
{
    f->table.throttled = f->table.throttled_account = 10;
    f->table.rate.units = 60000;
}

static void base_W01(fixture *f)
{
    f->table.deletes = (tv_evidence_deletes){.single = 2000,
                                             .run_per_partition = 500,
                                             .aged = 2000,
                                             .age_p10_hours = 48,
                                             .age_p50_hours = 48,
                                             .age_p90_hours = 48};
}

static void base_W02(fixture *f)
{
    base_W01(f);
    f->table.entities_now = 10000;
    f->table.deletes.single_day = f->table.deletes.after_scan_day = 2000;
    f->table.deletes.scan_fingerprint = f->shape.fingerprint;
    f->shape.text = TV_LIT("Timestamp lt ?t");
}

static void base_W03(fixture *f)
{
    f->table.batches = (tv_evidence_batches){.count = 200, .sizes = {200}};
}

static void base_W04(fixture *f)
{
    f->table.write_runs = (tv_evidence_runs){.runs = 40, .requests = 2000};
}

static void base_W05(fixture *f)
{
    f->table.batches.across_partitions = 1;
}

static void base_D01(fixture *f)
{
    f->table.extremes.properties_max = 240;
    f->table.extremes.properties_key = (tv_evidence_key){TV_LIT("p"), TV_LIT("r")};
}

static void base_D02(fixture *f)
{
    f->table.extremes.string_units_max = 31000;
    f->table.extremes.string_property = TV_LIT("Text");
}

static void base_D03(fixture *f)
{
    f->properties[0] = (tv_evidence_property){TV_LIT("Age"), .count = 220,
                                              .types = {[TV_EDM_INT32] = 200, [TV_EDM_INT64] = 20}};
    f->table.property_count = 1;
    f->shape.text = TV_LIT("PartitionKey eq ?s and Age gt ?i");
    f->shape.executions = 1;
}

static void base_K01(fixture *f)
{
    fill_keys(f, "p", "%d");
    f->shape.text = TV_LIT("PartitionKey eq ?s and RowKey ge ?s and RowKey lt ?s");
    f->shape.executions = 5;
}

static void base_K02(fixture *f)
{
    fill_dates(f, "%1$02d.%2$02d.%3$04d");
    f->shape.text = TV_LIT("PartitionKey eq ?s and RowKey ge ?s");
    f->shape.executions = 5;
}

static void base_K03(fixture *f)
{
    fill_keys(f, "p", "00000000-0000-4000-8000-%012d");
    f->shape.text = TV_LIT("PartitionKey eq ?s and RowKey ge ?s and RowKey lt ?s");
    f->shape.executions = 20;
}

static void base_C01(fixture *f)
{
    f->shape.walks = (tv_evidence_walks){.left = 30, .left_pages = 120, .left_returned = 120000};
}

static void base_C02(fixture *f)
{
    f->shape.walks = (tv_evidence_walks){.ignored = 10, .ignored_paged = 10};
}

static void base_C03(fixture *f)
{
    f->table.retries = (tv_evidence_retries){
        .retries = 100, .requests = 200, .gap_p50_ms = 5, .attempts = {[7] = 10}};
}

/* ---- the cases ------------------------------------------------------------------------------- */

#define NAME_(line) change_##line
#define NAME(line) NAME_(line)
#define CASE(rule, mode, want, what, ...)                                                          \
    static void NAME(__LINE__)(fixture * f)                                                        \
    {                                                                                              \
        __attribute__((unused)) tv_evidence *e = &f->evidence;                                     \
        __attribute__((unused)) tv_evidence_table *t = &f->table;                                  \
        __attribute__((unused)) tv_evidence_shape *s = &f->shape;                                  \
        __attribute__((unused)) tv_evidence_partition *p = &f->partition;                          \
        __attribute__((unused)) tv_evidence_row *r = &f->row;                                      \
        __VA_ARGS__                                                                                \
    }
#include "rules_cases.def"
#undef CASE

enum { TV_SEVERITY_NONE = -1 };

static const struct {
    tv_rule rule;
    tv_evidence_mode mode;
    int want;
    const char *what;
    void (*base)(fixture *f), (*change)(fixture *f);
} cases[] = {
#define CASE(rule, mode, want, what, ...)                                                          \
    {TV_RULE_##rule,  TV_EVIDENCE_##mode, TV_SEVERITY_##want,                                      \
     #rule ": " what, base_##rule,        NAME(__LINE__)},
#include "rules_cases.def"
#undef CASE
};

static void fixture_init(fixture *f, tv_evidence_mode mode)
{
    *f = (fixture){0};
    tv_arena_init(&f->arena);
    f->evidence = (tv_evidence){.mode = mode,
                                .to_ticks = INT64_C(36000000000),
                                .seconds = 3600,
                                .tables = &f->table,
                                .table_count = 1};
    f->table = (tv_evidence_table){.account = TV_LIT("acct"),
                                   .name = TV_LIT("Emp"),
                                   .entities_now = 2000,
                                   .is_exact = true,
                                   .partitions_now = 20,
                                   .shapes = &f->shape,
                                   .shape_count = 1,
                                   .partitions = &f->partition,
                                   .rows = &f->row,
                                   .properties = f->properties,
                                   .keys = f->keys};
    f->shape = (tv_evidence_shape){.fingerprint = UINT64_C(0x7ea1374a206cc01a),
                                   .text = TV_LIT("PartitionKey eq ?s and RowKey eq ?s")};
}

static int severity_of(const tv_findings *found, tv_rule rule)
{
    for (size_t i = 0; i < found->count; i++) {
        if (found->items[i]->rule == rule)
            return (int)found->items[i]->severity;
    }
    return TV_SEVERITY_NONE;
}

/* All rows that are wrong are printed: one change of a rule moves several. */
TEST(rules_find_what_they_should)
{
    int failures = 0;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tv_params params = tv_params_default(cases[i].mode);
        tv_findings found;
        fixture f;

        t_row = cases[i].what;
        fixture_init(&f, cases[i].mode);
        cases[i].base(&f);
        cases[i].change(&f);
        found = tv_rules_judge(&f.arena, &f.evidence, &params);
        if (severity_of(&found, cases[i].rule) != cases[i].want) {
            print_error("row \"%s\": got %d, want %d\n", t_row, severity_of(&found, cases[i].rule),
                        cases[i].want);
            failures++;
        }
        tv_arena_done(&f.arena);
    }
    CHECK_INT(failures, 0);
}

TEST(every_rule_has_cases_that_fire_and_that_do_not)
{
    for (int rule = 0; rule < TV_RULES; rule++) {
        int fires = 0, is_silent = 0;

        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            if (cases[i].rule == (tv_rule)rule) {
                fires += cases[i].want != TV_SEVERITY_NONE;
                is_silent += cases[i].want == TV_SEVERITY_NONE;
            }
        }
        t_row = tv_rule_info_of((tv_rule)rule)->code;
        CHECK(fires > 0 && is_silent > 0);
    }
}

/* How the sentence of a finding is wrong, or NULL. */
static const char *wrong_in(const tv_finding *finding, const char *text)
{
    size_t size = strlen(text);

    if (size == 0 || text[size - 1] != '.')
        return "it is no sentence";
    if (strpbrk(text, "{}[]|"))
        return "a piece of its template is left";
    if (strstr(text, "null") || strstr(text, "nan") || strstr(text, "  "))
        return "something is missing in it";
    for (size_t i = 0; i < finding->field_count; i++) {
        char name[64];

        snprintf(name, sizeof name, "%.*s", TV_FMT(finding->fields[i].name));
        if (strpbrk(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && strstr(text, name))
            return "a field is shown by its name";
    }
    return NULL;
}

/* Of each case in which a rule fires: what it rests on is said to people, with no field's name. */
TEST(every_finding_says_what_was_seen)
{
    int failures = 0;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tv_params params = tv_params_default(cases[i].mode);
        tv_findings found;
        fixture f;

        t_row = cases[i].what;
        fixture_init(&f, cases[i].mode);
        cases[i].base(&f);
        cases[i].change(&f);
        found = tv_rules_judge(&f.arena, &f.evidence, &params);
        for (size_t k = 0; k < found.count; k++) {
            tv_buf text = TV_BUF_EMPTY;
            const char *wrong;

            tv_finding_add_seen(&text, found.items[k], false);
            tv_buf_add_char(&text, '\0');
            wrong = wrong_in(found.items[k], text.data);
            if (wrong) {
                print_error("row \"%s\": %s: %s\n", t_row, wrong, text.data);
                failures++;
            }
            tv_buf_done(&text);
        }
        tv_arena_done(&f.arena);
    }
    CHECK_INT(failures, 0);
}

TEST(rules_and_the_map_name_the_same_shares)
{
    tv_params params = tv_params_default(TV_EVIDENCE_LIVE);

    CHECK(params.value[TV_PARAM_P01_share] == TV_SHARE_OF_PARTITION);
    CHECK(params.value[TV_PARAM_P02_share] == TV_SHARE_OF_ENTITY);
    CHECK(params.value[TV_PARAM_ALL_small_table] == TV_SMALL_TABLE);
}

TEST(no_evidence_is_no_finding)
{
    for (int mode = TV_EVIDENCE_LIVE; mode <= TV_EVIDENCE_RUN; mode++) {
        tv_params params = tv_params_default((tv_evidence_mode)mode);
        tv_findings found;
        fixture f;

        fixture_init(&f, (tv_evidence_mode)mode);
        f.evidence.seconds = 0;
        f.table.shape_count = 0;
        found = tv_rules_judge(&f.arena, &f.evidence, &params);
        CHECK_INT(found.count, 0);
        f.evidence.table_count = 0;
        found = tv_rules_judge(&f.arena, &f.evidence, &params);
        CHECK_INT(found.count, 0);
        tv_arena_done(&f.arena);
    }
}

TEST(dated_tables_are_one_family)
{
    tv_params params = tv_params_default(TV_EVIDENCE_LIVE);
    tv_evidence_table tables[2];
    tv_findings found;
    fixture f;

    fixture_init(&f, TV_EVIDENCE_LIVE);
    base_Q01(&f);
    tables[0] = tables[1] = f.table;
    tables[0].name = TV_LIT("Log20260101");
    tables[1].name = TV_LIT("Log20260102");
    f.evidence.tables = tables;
    f.evidence.table_count = 2;
    found = tv_rules_judge(&f.arena, &f.evidence, &params);
    CHECK_INT(found.count, 1);
    CHECK_TEXT(found.items[0]->table, "Log");
    CHECK_TEXT(found.items[0]->id, "table-scan-property@acct/Log/7ea1374a206cc01a");
    tables[1].name = TV_LIT("Other20260102");
    found = tv_rules_judge(&f.arena, &f.evidence, &params);
    CHECK_INT(found.count, 2);
    tv_arena_done(&f.arena);
}

TEST(the_most_costly_is_first)
{
    tv_params params = tv_params_default(TV_EVIDENCE_LIVE);
    tv_evidence_shape shapes[3];
    tv_findings found;
    fixture f;

    fixture_init(&f, TV_EVIDENCE_LIVE);
    base_Q01(&f);
    for (int i = 0; i < 3; i++) {
        shapes[i] = f.shape;
        shapes[i].fingerprint = (uint64_t)i;
        shapes[i].examined = 40000 + (uint64_t)(i == 1) * 1000;
    }
    f.table.shapes = shapes;
    f.table.shape_count = 3;
    found = tv_rules_judge(&f.arena, &f.evidence, &params);
    CHECK_INT(found.count, 3);
    CHECK_INT(found.items[0]->fingerprint, 1);
    CHECK_INT(found.items[1]->fingerprint, 0);
    CHECK_INT(found.items[2]->fingerprint, 2);
    tv_arena_done(&f.arena);
}

TEST(thresholds_are_set_by_name)
{
    static const struct {
        const char *what, *name;
        double value;
        tv_params_set_result result;
    } rows[] = {
        {"by rule", "partition-scan-selectivity.warning_examined", 500, TV_PARAMS_SET},
        {"by code", "Q04.warning_examined", 500, TV_PARAMS_SET},
        {"of all", "all.small_table", 10, TV_PARAMS_SET},
        {"no such rule", "partition-scan.warning_examined", 500, TV_PARAMS_NO_SUCH},
        {"no such parameter", "partition-scan-selectivity.examined", 1, TV_PARAMS_NO_SUCH},
        {"no dot", "small_table", 1, TV_PARAMS_NO_SUCH},
        {"what the recorder counts by", "missed-batching.gap_ms", 1, TV_PARAMS_FIXED},
        {"negative", "all.small_table", -1, TV_PARAMS_NOT_A_NUMBER},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_params params = tv_params_default(TV_EVIDENCE_LIVE);

        t_row = rows[i].what;
        CHECK_INT(tv_params_set(&params, tv_slice_of(rows[i].name), rows[i].value), rows[i].result);
    }
    {
        tv_params params = tv_params_default(TV_EVIDENCE_LIVE);
        tv_findings found;
        fixture f;

        fixture_init(&f, TV_EVIDENCE_LIVE);
        base_Q04(&f);
        CHECK_INT(tv_params_set(&params, TV_LIT("Q04.warning_examined"), 5001), TV_PARAMS_SET);
        found = tv_rules_judge(&f.arena, &f.evidence, &params);
        CHECK_INT(severity_of(&found, TV_RULE_Q04), TV_SEVERITY_INFO);
        tv_arena_done(&f.arena);
    }
}

/* Each word of a list of functions stands in the header with a parenthesis behind it. */
TEST(functions_of_cures_are_in_the_header)
{
    static char header[1 << 20];
    char path[4096];
    FILE *file;
    size_t size;

    snprintf(path, sizeof path, "%s/include/tavola.h",
             getenv("TAVOLA_ROOT") ? getenv("TAVOLA_ROOT") : ".");
    file = fopen(path, "r");
    CHECK(file);
    size = fread(header, 1, sizeof header - 1, file);
    fclose(file);
    CHECK(size > 1000);
    for (int rule = 0; rule < TV_RULES; rule++) {
        tv_slice rest = tv_slice_of(tv_rule_info_of((tv_rule)rule)->functions), name;
        int count = 0;

        while (tv_slice_next(&rest, ',', &name)) {
            char call[80];

            snprintf(call, sizeof call, "%.*s(", TV_FMT(name));
            t_row = call;
            CHECK(strstr(header, call));
            count++;
        }
        CHECK(count > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_find_what_they_should),
        cmocka_unit_test(every_rule_has_cases_that_fire_and_that_do_not),
        cmocka_unit_test(every_finding_says_what_was_seen),
        cmocka_unit_test(rules_and_the_map_name_the_same_shares),
        cmocka_unit_test(no_evidence_is_no_finding),
        cmocka_unit_test(dated_tables_are_one_family),
        cmocka_unit_test(the_most_costly_is_first),
        cmocka_unit_test(thresholds_are_set_by_name),
        cmocka_unit_test(functions_of_cures_are_in_the_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
