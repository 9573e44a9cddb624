/* What is told of a view: JSON, the compact form, bounds as texts. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "check.h"
#include "insight/traffic/heat.h"

TEST(a_byte_stands_for_about_its_value)
{
    static const uint64_t maxima[] = {1, 2, 10, 3000, 1000000, UINT64_C(1) << 50};

    for (size_t i = 0; i < sizeof maxima / sizeof maxima[0]; i++) {
        uint64_t max = maxima[i];
        unsigned char before = 0;

        CHECK_INT(tv_heat_code(0, max), 0);
        CHECK_INT(tv_heat_code(max, max), 255);
        for (uint64_t value = 1; value < max; value += 1 + value / 100) {
            unsigned char code = tv_heat_code(value, max);
            double told = pow((double)max, (code - 1) / 254.0);

            CHECK(code >= 1 && code >= before);
            before = code;
            if (max == 3000)
                CHECK(fabs(told - (double)value) / (double)value < 0.016);
        }
    }
}

TEST(bounds_are_read_as_they_are_written)
{
    static const struct {
        const char *what;
        tv_slice bound;
        const char *json, *text;
    } rows[] = {
        {"the first", {"", 0}, "[\"\"]", ""},
        {"a piece of a PartitionKey", {"devi", 4}, "[\"devi\"]", "devi"},
        {"a key", {"p\x01r", 3}, "[\"p\",\"r\"]", "p\x01r"},
        {"behind a key", {"p\x01r\x01", 4}, "[\"p\",\"r\",\"\"]", "p\x01r\x01"},
        {"an empty RowKey", {"p\x01", 2}, "[\"p\",\"\"]", "p\x01"},
        {"behind all that begin so", {"p\x01r\xff", 4}, "[\"p\",\"r\\u0002\"]", "p\x01r\x02"},
        {"behind a PartitionKey", {"p\x01\xff", 3}, "[\"p\",\"\\u0002\"]", "p\x01\x02"},
        {"beyond the BMP",
         {"\xed\xa0\xbd\xed\xb8\x80", 6},
         "[\"\\ud83d\\ude00\"]",
         "\xf0\x9f\x98\x80"},
        {"quotes", {"\"\\", 2}, "[\"\\\"\\\\\"]", "\"\\"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_arena arena = {0};
        tv_buf out = TV_BUF_EMPTY;
        tv_slice bound;

        t_row = rows[i].what;
        tv_heat_bound_write(&arena, rows[i].bound, &out);
        CHECK_TEXT(tv_buf_slice(&out), rows[i].json);
        CHECK_OK(tv_heat_bound_parse(&arena, tv_slice_of(rows[i].text), &bound));
        CHECK_SLICE(bound, rows[i].bound);
        tv_buf_done(&out);
        tv_arena_done(&arena);
    }

    tv_arena arena = {0};
    tv_slice bound;

    CHECK_ERR(tv_heat_bound_parse(&arena, TV_LIT("a\x03"), &bound), TV_ERR_OUT_OF_RANGE);
    CHECK_ERR(tv_heat_bound_parse(&arena, TV_LIT("a\x02z"), &bound), TV_ERR_OUT_OF_RANGE);
    tv_arena_done(&arena);
}

/* Two slots of two buckets. */
static tv_heat heat_of(tv_view *view)
{
    static const tv_slice bounds[2] = {{"", 0}, {"m\x01", 2}};
    static const uint64_t reads[4] = {0, 1, 10, 3000};

    *view = (tv_view){.from = 29700000, .grain = TV_GRAIN_TEN, .slots = 2, .is_approximate = true};
    view->axis = tv_axis_new(bounds, 2);
    view->is_recorded = tv_calloc(2, sizeof(bool));
    view->is_recorded[1] = true;
    view->cells[TV_MEASURE_READS] = tv_malloc(sizeof reads);
    memcpy(view->cells[TV_MEASURE_READS], reads, sizeof reads);
    return (tv_heat){.account = TV_LIT("acct"),
                     .table = TV_LIT("People"),
                     .measure = TV_MEASURE_READS,
                     .low = TV_LIT("c"),
                     .view = view};
}

#define HEADER                                                                                     \
    "{\"account\":\"acct\",\"table\":\"People\",\"m\":\"reads\",\"grainS\":600,"                   \
    "\"from\":1782000000,\"slots\":2,\"recorded\":1,\"until\":1782001200,\"buckets\":2,"           \
    "\"max\":3000,\"approx\":true,"                                                               \
    "\"keys\":[[\"c\"],[\"m\",\"\"]],\"findings\":["

TEST(a_view_in_json)
{
    tv_arena arena = {0};
    tv_buf out = TV_BUF_EMPTY;
    tv_view view;
    tv_heat heat = heat_of(&view);
    tv_heat_write_json(&heat, &arena, &out);
    CHECK_TEXT(tv_buf_slice(&out), HEADER "],\"cells\":[[0,1],[10,3000]]}\n");
    out.len = 0;
    view.patterns[0] = (tv_pattern){.kind = TV_PATTERN_HOT_LINE,
                                    .measure = TV_MEASURE_WRITES,
                                    .minute = view.from + 10,
                                    .minutes = 10,
                                    .low = {2, "m\x01"},
                                    .share = 0.5,
                                    .is_now = true};
    view.pattern_count = 1;
    tv_heat_write_json(&heat, &arena, &out);
    CHECK_TEXT(tv_buf_slice(&out),
               HEADER "{\"kind\":\"hot-line\",\"verdict\":\"watch\",\"m\":\"writes\","
                      "\"slot\":1,\"slots\":1,\"bucket\":1,\"buckets\":1,\"share\":0.5000,"
                      "\"period\":0,\"oneKey\":false,\"text\":\"Partition 'm' has 50 % of the "
                      "writes, since 00:10 UTC.\"}],\"cells\":[[0,1],[10,3000]]}\n");
    tv_buf_done(&out);
    tv_arena_done(&arena);
    tv_view_done(&view);
}

/* A finding about all of the table, or of one partition. */
static tv_finding finding_of(tv_rule rule, tv_severity severity, const char *partition)
{
    return (tv_finding){.rule = rule,
                        .severity = severity,
                        .id = TV_LIT("id"),
                        .subject = partition ? TV_SUBJECT_PARTITION : TV_SUBJECT_TABLE,
                        .partition_key = partition ? tv_slice_of(partition) : TV_NONE,
                        .title = tv_slice_of(tv_rule_info_of(rule)->title),
                        .from_ticks = TV_TICKS_UNIX_EPOCH,
                        .to_ticks = INT64_MAX / 2};
}

TEST(findings_about_keys_are_told_with_patterns)
{
    enum { NONE = -1 };
    static const struct {
        const char *what;
        tv_pattern_kind kind; /* of the columns */
        int rule;             /* of a finding, */
        tv_severity severity;
        const char *partition; /* about it */
        const char *told;
    } rows[] = {
        {"even, and nothing found", TV_PATTERN_EVEN, NONE, 0, NULL, "even fine;"},
        {"even, and another rule's", TV_PATTERN_EVEN, TV_RULE_D01, TV_SEVERITY_ERROR, NULL,
         "even fine;"},
        {"never even while a rule fires", TV_PATTERN_EVEN, TV_RULE_P04, TV_SEVERITY_INFO, NULL,
         "rising watch append-prepend;"},
        {"nor with a hot partition", TV_PATTERN_EVEN, TV_RULE_P01, TV_SEVERITY_WARNING, "x",
         "hot-line fix hot-partition;"},
        {"the same partition", TV_PATTERN_HOT_LINE, TV_RULE_P01, TV_SEVERITY_INFO, "m",
         "hot-line watch hot-partition;"},
        {"with a warning", TV_PATTERN_HOT_LINE, TV_RULE_P01, TV_SEVERITY_WARNING, "m",
         "hot-line fix hot-partition;"},
        {"another partition", TV_PATTERN_HOT_LINE, TV_RULE_P01, TV_SEVERITY_WARNING, "n",
         "hot-line watch;hot-line fix hot-partition;"},
        {"a log is an append", TV_PATTERN_FALLING, TV_RULE_P05, TV_SEVERITY_INFO, NULL,
         "falling watch log-data;"},
        {"a scan that no slot shows", TV_PATTERN_UNEVEN, TV_RULE_Q01, TV_SEVERITY_ERROR, NULL,
         "uneven watch;wall fix table-scan-property;"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_advised told[TV_ADVISED_MAX];
        tv_buf out = TV_BUF_EMPTY;
        tv_arena arena = {0};
        tv_finding finding, *findings[1] = {&finding};
        tv_view view;
        size_t count;

        t_row = rows[i].what;
        heat_of(&view);
        view.patterns[0] = (tv_pattern){.kind = rows[i].kind, .low = {1, "m"}};
        view.pattern_count = 1;
        if (rows[i].rule != NONE)
            finding = finding_of((tv_rule)rows[i].rule, rows[i].severity, rows[i].partition);
        count = tv_advised_of(&view, findings, rows[i].rule != NONE, &arena, told);
        for (size_t k = 0; k < count; k++) {
            tv_buf_printf(&out, "%s %s", tv_pattern_name(told[k].pattern.kind),
                          tv_advised_verdict(&told[k]));
            if (told[k].finding)
                tv_buf_printf(&out, " %s", tv_rule_info_of(told[k].finding->rule)->name);
            tv_buf_add_char(&out, ';');
            CHECK(told[k].pattern.minute >= view.from || !told[k].is_findings_own);
        }
        CHECK_TEXT(tv_buf_slice(&out), rows[i].told);
        tv_buf_done(&out);
        tv_arena_done(&arena);
        tv_view_done(&view);
    }
}

TEST(a_view_in_bytes)
{
    static const char header[] = HEADER "]}";
    tv_arena arena = {0};
    tv_buf out = TV_BUF_EMPTY;
    tv_view view;
    tv_heat heat = heat_of(&view);
    size_t len = sizeof header - 1;

    tv_heat_write_bytes(&heat, &arena, &out);
    CHECK_INT(out.len, 8 + len + 4);
    CHECK_SLICE(tv_slice_take(tv_buf_slice(&out), 4), TV_LIT("TVH1"));
    CHECK_INT((unsigned char)out.data[4] | (unsigned char)out.data[5] << 8, len);
    CHECK_INT(out.data[6] | out.data[7], 0);
    CHECK_TEXT(tv_slice_take(tv_slice_skip(tv_buf_slice(&out), 8), len), header);
    CHECK_INT((unsigned char)out.data[8 + len], 0);
    CHECK_INT((unsigned char)out.data[9 + len], 1);
    CHECK_INT((unsigned char)out.data[10 + len], tv_heat_code(10, 3000));
    CHECK_INT((unsigned char)out.data[11 + len], 255);
    tv_buf_done(&out);
    tv_arena_done(&arena);
    tv_view_done(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_byte_stands_for_about_its_value),
        cmocka_unit_test(bounds_are_read_as_they_are_written),
        cmocka_unit_test(a_view_in_json),
        cmocka_unit_test(findings_about_keys_are_told_with_patterns),
        cmocka_unit_test(a_view_in_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
