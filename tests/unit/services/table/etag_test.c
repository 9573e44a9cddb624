/* ETags and If-Match. */
#include "services/table/etag.h"

#include "base/clock.h"
#include "check.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* 2026-01-02T03:04:05Z */
#define TICKS INT64_C(639029198450000000)

static const struct {
    int64_t ticks;
    const char *text;
} formats[] = {
    {TICKS, "W/\"datetime'2026-01-02T03%3A04%3A05Z'\""},
    {TICKS + 1234567, "W/\"datetime'2026-01-02T03%3A04%3A05.1234567Z'\""},
    {TICKS + 7140000, "W/\"datetime'2026-01-02T03%3A04%3A05.714Z'\""},
    {TICKS + 1, "W/\"datetime'2026-01-02T03%3A04%3A05.0000001Z'\""},
    {0, "W/\"datetime'0001-01-01T00%3A00%3A00Z'\""},
    {TV_TICKS_MAX, "W/\"datetime'9999-12-31T23%3A59%3A59.9999999Z'\""},
};

TEST(an_etag_is_the_timestamp_with_encoded_colons)
{
    for (size_t i = 0; i < COUNT(formats); i++) {
        char text[TV_TABLE_ETAG_TEXT_MAX];

        t_row = formats[i].text;
        CHECK_TEXT(((tv_slice){text, tv_table_etag_format(text, formats[i].ticks)}),
                   formats[i].text);
    }
}

TEST(an_etag_that_went_out_comes_back_exact)
{
    t_random_seed(0xe7a6);
    for (int i = 0; i < 5000; i++) {
        int64_t ticks = (int64_t)(t_random() % ((uint64_t)TV_TICKS_MAX + 1));
        char text[TV_TABLE_ETAG_TEXT_MAX];
        tv_table_condition condition;

        CHECK_OK(tv_table_condition_parse((tv_slice){text, tv_table_etag_format(text, ticks)},
                                          &condition));
        CHECK_INT(condition.kind, TV_TABLE_CONDITION_EXACT);
        CHECK_INT(condition.ticks, ticks);
        CHECK(tv_table_condition_holds(&condition, ticks));
        CHECK(!tv_table_condition_holds(&condition, ticks + 1));
    }
}

static const struct {
    const char *what, *if_match; /* NULL: no header */
    tv_err err;
    tv_table_condition_kind kind;
    int64_t ticks;
} conditions[] = {
    {"no header", NULL, TV_OK, TV_TABLE_CONDITION_NONE, 0},
    {"any", "*", TV_OK, TV_TABLE_CONDITION_ANY, 0},
    {"exact", "W/\"datetime'2026-01-02T03%3A04%3A05Z'\"", TV_OK, TV_TABLE_CONDITION_EXACT, TICKS},
    {"a lower-case w", "w/\"datetime'2026-01-02T03%3A04%3A05Z'\"", TV_OK, TV_TABLE_CONDITION_EXACT,
     TICKS},
    {"a lower-case escape", "W/\"datetime'2026-01-02T03%3a04%3a05Z'\"", TV_OK,
     TV_TABLE_CONDITION_EXACT, TICKS},
    {"plain colons", "W/\"datetime'2026-01-02T03:04:05Z'\"", TV_OK, TV_TABLE_CONDITION_EXACT,
     TICKS},
    {"zeros at the end", "W/\"datetime'2026-01-02T03%3A04%3A05.7140000Z'\"", TV_OK,
     TV_TABLE_CONDITION_EXACT, TICKS + 7140000},
    {"a tag of another service", "W/\"0x8D1\"", TV_OK, TV_TABLE_CONDITION_NEVER, 0},
    {"an empty tag", "W/\"\"", TV_OK, TV_TABLE_CONDITION_NEVER, 0},
    {"not a date", "W/\"datetime'yesterday'\"", TV_OK, TV_TABLE_CONDITION_NEVER, 0},
    {"an empty date", "W/\"datetime''\"", TV_OK, TV_TABLE_CONDITION_NEVER, 0},
    {"no quote at the end", "W/\"datetime'2026-01-02T03%3A04%3A05Z\"", TV_OK,
     TV_TABLE_CONDITION_NEVER, 0},
    {"a date too long to be one",
     "W/\"datetime'2026-01-02T03%3A04%3A05.00000000000000000000000000000000000000Z'\"", TV_OK,
     TV_TABLE_CONDITION_NEVER, 0},
    {"empty", "", TV_ERR_ETAG_INVALID, 0, 0},
    {"strong", "\"datetime'2026-01-02T03%3A04%3A05Z'\"", TV_ERR_ETAG_INVALID, 0, 0},
    {"no quotes", "datetime'2026-01-02T03%3A04%3A05Z'", TV_ERR_ETAG_INVALID, 0, 0},
    {"a weak tag without an end", "W/\"datetime'2026-01-02", TV_ERR_ETAG_INVALID, 0, 0},
    {"one quote for both ends", "W/\"", TV_ERR_ETAG_INVALID, 0, 0},
    {"a list", "W/\"a\", W/\"b\"", TV_ERR_ETAG_INVALID, 0, 0},
    {"a quote inside", "W/\"a\"b\"", TV_ERR_ETAG_INVALID, 0, 0},
    {"two stars", "**", TV_ERR_ETAG_INVALID, 0, 0},
    {"a star in quotes", "\"*\"", TV_ERR_ETAG_INVALID, 0, 0},
};

TEST(only_weak_etags_and_a_star_are_conditions)
{
    for (size_t i = 0; i < COUNT(conditions); i++) {
        tv_slice text = conditions[i].if_match ? tv_slice_of(conditions[i].if_match) : TV_NONE;
        char *copy = text.data ? memcpy(tv_malloc(text.len + 1), text.data, text.len) : NULL;
        tv_table_condition condition;

        t_row = conditions[i].what;
        CHECK_ERR(tv_table_condition_parse((tv_slice){copy, text.len}, &condition),
                  conditions[i].err);
        if (conditions[i].err == TV_OK) {
            CHECK_INT(condition.kind, conditions[i].kind);
            if (condition.kind == TV_TABLE_CONDITION_EXACT)
                CHECK_INT(condition.ticks, conditions[i].ticks);
        }
        free(copy);
    }
}

TEST(a_condition_holds_for_what_it_names)
{
    CHECK(tv_table_condition_holds(&(tv_table_condition){TV_TABLE_CONDITION_NONE, 0}, TICKS));
    CHECK(tv_table_condition_holds(&(tv_table_condition){TV_TABLE_CONDITION_ANY, 0}, TICKS));
    CHECK(tv_table_condition_holds(&(tv_table_condition){TV_TABLE_CONDITION_EXACT, TICKS}, TICKS));
    CHECK(!tv_table_condition_holds(&(tv_table_condition){TV_TABLE_CONDITION_EXACT, TICKS - 1},
                                    TICKS));
    CHECK(!tv_table_condition_holds(&(tv_table_condition){TV_TABLE_CONDITION_NEVER, 0}, TICKS));
    CHECK(!tv_table_condition_holds(&(tv_table_condition){TV_TABLE_CONDITION_NEVER, 0}, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_etag_is_the_timestamp_with_encoded_colons),
        cmocka_unit_test(an_etag_that_went_out_comes_back_exact),
        cmocka_unit_test(only_weak_etags_and_a_star_are_conditions),
        cmocka_unit_test(a_condition_holds_for_what_it_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
