/* The guide's words for filters, against what the server's planner says. */
#include "check.h"
#include "client/memory_faults.h"
#include "client/query/filter.h"
#include "client/values.h"
#include "model/odata/filter.h"
#include "model/odata/plan.h"

static const struct {
    const char *filter, *plan;
} cases[] = {
    {"PartitionKey eq 'a' and RowKey eq 'b'", "point"},
    {"RowKey eq 'b' and PartitionKey eq 'a' and Age gt 3", "point"},
    {"PartitionKey eq 'a' and (RowKey eq 'b' or RowKey eq 'c')", "point"},
    {"(PartitionKey eq 'a' and RowKey eq 'b') or (PartitionKey eq 'c' and RowKey eq 'd')", "point"},
    {"PartitionKey eq '' and RowKey eq ''", "point"},
    {"PartitionKey eq 'a' and PartitionKey eq 'b'", "point"},
    {"false", "point"},
    {"PartitionKey eq 'a' and RowKey ge 'b'", "range"},
    {"PartitionKey eq 'a' and RowKey ge 'b' and RowKey lt 'c'", "range"},
    {"'a' eq PartitionKey and 'b' lt RowKey", "range"},
    {"PartitionKey eq 'a' and not (RowKey lt 'b')", "range"},
    {"PartitionKey eq 'a' and RowKey ne 'b'", "range"},
    {"PartitionKey eq 'a'", "partition scan"},
    {"PartitionKey eq 'a' and Age gt 3", "partition scan"},
    {"PartitionKey eq 'a' or PartitionKey eq 'b'", "partition scan"},
    {"PartitionKey eq 'a' and (RowKey eq 'b' or Age gt 3)", "partition scan"},
    {"not (PartitionKey ne 'a')", "partition scan"},
    {"PartitionKey eq 'it''s'", "partition scan"},
    {"PartitionKey ge 'a' and PartitionKey lt 'b'", "table scan"},
    {"RowKey eq 'b'", "table scan"},
    {"Age gt 3", "table scan"},
    {"PartitionKey eq 'a' or Age gt 3", "table scan"},
    {"not (PartitionKey eq 'a')", "table scan"},
    {"true", "table scan"},
    {"paid", "table scan"},
    {"PartitionKey eq 'a\tb'", "table scan"},
    /* What the service will refuse has no plan. */
    {"PartitionKey eq 5", NULL},
    {"PartitionKey eq 'a' and startswith(RowKey, 'b')", NULL},
    {"PartitionKey eq 'a' and", NULL},
    {"PartitionKey eq 3000000000", NULL},
    {"Age gt", NULL},
    {"Age gt one", NULL},
    {"(Age gt 1", NULL},
};

enum { CASES = sizeof cases / sizeof *cases };

/* NULL is no text, and is wanted where the service refuses the filter. */
static void check_word(const char *got, const char *want)
{
    CHECK((got == NULL) == (want == NULL));
    if (got)
        CHECK_TEXT(tv_slice_of(got), want);
}

TEST(names_plans_as_the_guide_does)
{
    for (size_t i = 0; i < CASES; i++) {
        tavola_filter *filter = tavola_filter_raw(cases[i].filter);

        t_row = cases[i].filter;
        check_word(tavola_filter_plan(filter), cases[i].plan);
        tavola_filter_free(filter);
    }
}

/* The word of a filter's plan as tavolad makes it; NULL when it refuses the filter. */
static const char *word_of_server(tv_slice text)
{
    static const char *const words[] = {"point", "range", "partition scan", "table scan"};
    tv_error_info info = {0};
    const char *word = NULL;
    tv_filter *filter;
    tv_arena arena;

    tv_arena_init(&arena);
    if (tv_filter_parse(&arena, text, &filter, &info) == TV_OK)
        word = words[tv_plan_make(&arena,
                                  TV_LIT("rdevstoreaccount1\x01"
                                         "00000001"),
                                  filter)
                         .kind];
    tv_arena_done(&arena);
    return word;
}

/* Random filters of up to `depth` levels, mostly about keys. */
static tavola_filter *random_filter(unsigned *seed, int depth)
{
    static const char *const names[] = {"PartitionKey", "PartitionKey", "RowKey", "RowKey", "Age"};
    static const char *const keys[] = {"",    "a", "b", "c", "\xf0\x90\x80\x80", "\xee\x80\x80",
                                       "\x01"};
    unsigned dice = (unsigned)rand_r(seed) % 10;

    if (depth == 0 || dice < 3) {
        const char *name = names[(unsigned)rand_r(seed) % 5];
        tavola_cmp cmp = (tavola_cmp)(rand_r(seed) % 2 ? 0 : rand_r(seed) % 6);

        return tavola_where(name, cmp, string_of(keys[(unsigned)rand_r(seed) % 7]));
    }
    if (dice < 4)
        return tavola_not(random_filter(seed, depth - 1));
    if (dice < 7)
        return tavola_or(random_filter(seed, depth - 1), random_filter(seed, depth - 1));
    return tavola_and(random_filter(seed, depth - 1), random_filter(seed, depth - 1));
}

TEST(says_what_the_server_says)
{
    unsigned seed = 11, counts[4] = {0};

    for (size_t i = 0; i < CASES; i++) {
        t_row = cases[i].filter;
        check_word(word_of_server(tv_slice_of(cases[i].filter)), cases[i].plan);
    }
    for (int i = 0; i < 5000; i++) {
        tavola_filter *filter = random_filter(&seed, i % 7);
        char *text = tavola_filter_text(filter);
        const char *word = tavola_filter_plan(filter);

        t_row = text;
        check_word(word, word_of_server(tv_slice_of(text)));
        counts[word[0] == 't' ? 3 : word[0] == 'r' ? 1 : word[1] == 'o' ? 0 : 2]++;
        tavola_free(text);
        tavola_filter_free(filter);
    }
    t_row = "";
    for (int i = 0; i < 4; i++)
        assert_true(counts[i] > 50);
}

/* Keys so many and long that the server gives up telling them apart. */
static tavola_filter *giant(int count, size_t key_len)
{
    tavola_filter *both[2] = {NULL, NULL};
    char key[1000];

    for (int which = 0; which < 2; which++) {
        for (int i = 0; i < count; i++) {
            memset(key, 'k', key_len);
            snprintf(key + key_len, 20, "%d", i);

            tavola_filter *one =
                tavola_where(which ? "RowKey" : "PartitionKey", TAVOLA_EQ, string_of(key));

            both[which] = both[which] ? tavola_or(both[which], one) : one;
        }
    }
    return tavola_and(both[0], both[1]);
}

TEST(agrees_about_giants)
{
    static const struct {
        int count;
        size_t key_len;
    } sizes[] = {{3, 10}, {30, 500}, {31, 1}, {40, 1}, {60, 400}, {700, 1}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tavola_filter *filter = giant(sizes[i].count, sizes[i].key_len);
        char *text = tavola_filter_text(filter);

        assert_non_null(text);
        assert_string_equal(tavola_filter_plan(filter), word_of_server(tv_slice_of(text)));
        tavola_free(text);
        tavola_filter_free(filter);
    }
}

TEST(has_a_word_for_everything)
{
    tavola_filter *deep = tavola_filter_raw("PartitionKey eq 'a'"), *nots;
    char text[4 * TV_FILTER_DEPTH_MAX + 24];

    assert_string_equal(tavola_filter_plan(NULL), "table scan");
    tavola_filter *failed = tavola_filter_raw(NULL);

    assert_null(tavola_filter_plan(failed));
    tavola_filter_free(failed);
    /* Nested as deep as the service takes it, and deeper: two for each of these. */
    for (int i = 0; i < TV_FILTER_DEPTH_MAX / 2; i++)
        deep = tavola_not(deep);
    assert_string_equal(tavola_filter_plan(deep), "partition scan");
    deep = tavola_not(deep);
    assert_null(tavola_filter_plan(deep));
    tavola_filter_free(deep);

    for (int i = 0; i <= TV_FILTER_DEPTH_MAX; i++)
        memcpy(text + 4 * i, "not ", 4);
    memcpy(text + 4 * (TV_FILTER_DEPTH_MAX + 1), "PartitionKey eq 'a'", 20);
    nots = tavola_filter_raw(text + 4);
    assert_string_equal(tavola_filter_plan(nots), "partition scan");
    tavola_filter_free(nots);
    nots = tavola_filter_raw(text);
    assert_null(tavola_filter_plan(nots));
    tavola_filter_free(nots);
}

TEST(survives_a_lack_of_memory)
{
    for (size_t i = 0; i < CASES; i++) {
        t_row = cases[i].filter;
        MEMORY_FAULTS(fault)
        {
            tavola_filter *filter = tavola_filter_raw(cases[i].filter);
            const char *word = tavola_filter_plan(filter), *plan = cases[i].plan;

            CHECK((word && plan ? strcmp(word, plan) == 0 : word == plan) ||
                  ((!word || strcmp(word, "table scan") == 0) && memory_fault_was_hit()));
            tavola_filter_free(filter);
        }
    }
}

/* All allocations after those of the reservation would fail, and end the process. */
TEST(reserves_enough_for_the_worst)
{
    unsigned seed = 12;

    for (int i = 0; i < 300; i++) {
        tavola_filter *filter = i < 3 ? giant(20 << i, 100 >> i) : random_filter(&seed, 8);

        MEMORY_FAULTS(fault)
        {
            tavola_filter *copy = tvc_filter_copy(filter);

            assert_true(tavola_filter_plan(copy) || tavola_filter_error(copy));
            tavola_filter_free(copy);
        }
        tavola_filter_free(filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_plans_as_the_guide_does),
        cmocka_unit_test(says_what_the_server_says),
        cmocka_unit_test(agrees_about_giants),
        cmocka_unit_test(has_a_word_for_everything),
        cmocka_unit_test(survives_a_lack_of_memory),
        cmocka_unit_test(reserves_enough_for_the_worst),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
