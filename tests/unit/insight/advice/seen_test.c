/* Templates of sentences, filled with the fields of a finding. */
#include "../../check.h"

#include "base/clock.h"
#include "insight/advice/seen.h"

/* 12 minutes to 14:05. */
static tv_finding finding_of_minutes(void)
{
    tv_finding finding = {
        .from_ticks = (14 * 60 - 7) * 60 * TV_TICKS_PER_SECOND,
        .to_ticks = (14 * 60 + 5) * 60 * TV_TICKS_PER_SECOND,
        .fields = {{TV_LIT("queries"), TV_FIELD_NUMBER, .number = 12345},
                   {TV_LIT("one"), TV_FIELD_NUMBER, .number = 1},
                   {TV_LIT("none"), TV_FIELD_NUMBER, .number = 0},
                   {TV_LIT("mean"), TV_FIELD_NUMBER, .number = 3.44},
                   {TV_LIT("whole"), TV_FIELD_NUMBER, .number = 10.96},
                   {TV_LIT("large"), TV_FIELD_NUMBER, .number = 1234.5},
                   {TV_LIT("few"), TV_FIELD_NUMBER, .number = 0.052},
                   {TV_LIT("tiny"), TV_FIELD_NUMBER, .number = 0.001},
                   {TV_LIT("sampled"), TV_FIELD_NUMBER, .number = 340, .error = 12},
                   {TV_LIT("share"), TV_FIELD_NUMBER, .number = 0.92},
                   {TV_LIT("part"), TV_FIELD_NUMBER, .number = 0.92, .error = 0.03},
                   {TV_LIT("nearly"), TV_FIELD_NUMBER, .number = 0.9999},
                   {TV_LIT("hardly"), TV_FIELD_NUMBER, .number = 0.0001},
                   {TV_LIT("is"), TV_FIELD_BOOL, .number = 1},
                   {TV_LIT("isnot"), TV_FIELD_BOOL, .number = 0},
                   {TV_LIT("text"), TV_FIELD_TEXT, .texts = {TV_LIT("GUID")}, .text_count = 1},
                   {TV_LIT("null"), TV_FIELD_TEXT, .texts = {TV_LIT("")}, .text_count = 1},
                   {TV_LIT("keys"), TV_FIELD_KEYS,
                    .texts = {TV_LIT("Ab1"), TV_LIT("Cd22"), TV_LIT("e")}, .text_count = 3}},
        .field_count = 18,
    };

    return finding;
}

TEST(templates_are_filled)
{
    static const struct {
        const char *what, *sentence, *text;
    } rows[] = {
        {"a number", "{queries}.", "12,345."},
        {"one of something", "{one#query|queries}", "1 query"},
        {"many", "{queries#query|queries}", "12,345 queries"},
        {"none", "{none#query|queries}", "0 queries"},
        {"a mean", "{mean} {whole} {large} {few} {tiny}", "3.4 11 1,235 0.05 less than 0.01"},
        {"with its error", "{sampled} a second", "340 ± 12 a second"},
        {"a share with its error", "{part%}, {part%of} all", "92 % ± 3 %, 92 % ± 3 % of all"},
        {"percent", "{share%} {one%} {none%}", "92 % 100 % 0 %"},
        {"not all is not 100 %", "{nearly%}, {hardly%}", "more than 99 %, less than 1 %"},
        {"of all", "{one%of} a, {share%of} b, {none%of} c", "all of a, 92 % of b, none of c"},
        {"texts", "{text}", "GUID"},
        {"keys", "{keys}", "'Ab1', 'Cd22' and 'e'"},
        {"the window", "in {window}", "in the 12 minutes to 14:05 UTC"},
        {"what says something", "a[, {queries} b][, {is?}c]", "a, 12,345 b, c"},
        {"what says nothing", "a[, {none} b][, {isnot?}c][ {null}][ {absent}]", "a"},
        {"the first that says something", "[{none}|{text}|{queries}]", "GUID"},
        {"the last needs nothing", "[{none}|{null}|nothing]", "nothing"},
        {"brackets decide for themselves", "[{text} and [{none}|no number]|{queries}]",
         "GUID and no number"},
        {"a field that is not there", "{queries} and {absent}", ""},
        {"also inside of a choice", "[{text}|{absent}]", "GUID"},
    };
    tv_finding finding = finding_of_minutes();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_buf text = TV_BUF_EMPTY;

        t_row = rows[i].what;
        tv_finding_fill(&text, rows[i].sentence, &finding, false);
        CHECK_TEXT(tv_buf_slice(&text), rows[i].text);
        tv_buf_done(&text);
    }
}

TEST(times_are_told_by_their_length)
{
    static const struct {
        int64_t seconds;
        const char *text;
        bool is_of_run;
    } rows[] = {
        {1, "the 1 second to 14:05 UTC", false},    {119, "the 119 seconds to 14:05 UTC", false},
        {120, "the 2 minutes to 14:05 UTC", false}, {179, "the 3 minutes to 14:05 UTC", false},
        {7169, "the 119 minutes to 14:05 UTC", false}, {7199, "the 2 hours to 14:05 UTC", false},
        {7200, "the 2 hours to 14:05 UTC", false},  {12, "12 seconds of the run", true},
        {150, "3 minutes of the run", true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_finding finding = finding_of_minutes();
        tv_buf text = TV_BUF_EMPTY;

        t_row = rows[i].text;
        finding.from_ticks = finding.to_ticks - rows[i].seconds * TV_TICKS_PER_SECOND;
        finding.is_of_run = rows[i].is_of_run;
        tv_finding_fill(&text, "{window}", &finding, false);
        CHECK_TEXT(tv_buf_slice(&text), rows[i].text);
        tv_buf_done(&text);
    }
}

TEST(keys_are_hidden_where_they_are_elsewhere)
{
    tv_finding finding = finding_of_minutes();
    tv_buf text = TV_BUF_EMPTY;

    tv_finding_fill(&text, "{keys} {text}", &finding, true);
    tv_buf_add_char(&text, '\0');
    CHECK(strstr(text.data, "Ab1") == NULL && strstr(text.data, "Cd22") == NULL);
    CHECK(strstr(text.data, "#") && strstr(text.data, "GUID"));
    tv_buf_done(&text);
}

/* A finding that was kept before its rule had a sentence. */
TEST(without_fields_there_is_no_sentence)
{
    for (int rule = 0; rule < TV_RULES; rule++) {
        tv_finding finding = {.rule = (tv_rule)rule};
        tv_buf text = TV_BUF_EMPTY;

        t_row = tv_rule_info_of((tv_rule)rule)->code;
        tv_finding_add_seen(&text, &finding, false);
        CHECK_INT(text.len, 0);
        tv_buf_done(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates_are_filled),
        cmocka_unit_test(times_are_told_by_their_length),
        cmocka_unit_test(keys_are_hidden_where_they_are_elsewhere),
        cmocka_unit_test(without_fields_there_is_no_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
