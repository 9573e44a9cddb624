/* What each operation needs, and that no plan leaves an identity's keys. */
#include "services/table/access.h"

#include "check.h"
#include "model/auth/identity_internal.h"
#include "random.h"
#include "services/table/service.h"
#include "store/engine/key.h"

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

/* --- the table of needs --- */

enum { NOT_BY_TABLE_SAS = 1, NOT_BY_SAS = 2 };

/* `letters`: one of the words is enough, and all the letters of a word are needed. */
static const struct {
    tv_table_op_kind kind;
    char type;
    const char *letters[3];
    int refused;
} needs[] = {
    {TV_TABLE_OP_QUERY_TABLES, 'c', {"l"}, NOT_BY_TABLE_SAS},
    {TV_TABLE_OP_QUERY_TABLE, 'c', {"l", "r"}, NOT_BY_TABLE_SAS},
    {TV_TABLE_OP_CREATE_TABLE, 'c', {"c", "w"}, NOT_BY_TABLE_SAS},
    {TV_TABLE_OP_DELETE_TABLE, 'c', {"d"}, NOT_BY_TABLE_SAS},
    {TV_TABLE_OP_QUERY_ENTITIES, 'o', {"r"}, 0},
    {TV_TABLE_OP_QUERY_ENTITY, 'o', {"r"}, 0},
    {TV_TABLE_OP_INSERT_ENTITY, 'o', {"a"}, 0},
    {TV_TABLE_OP_UPDATE_ENTITY, 'o', {"u"}, 0},
    {TV_TABLE_OP_MERGE_ENTITY, 'o', {"u"}, 0},
    {TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY, 'o', {"au"}, 0},
    {TV_TABLE_OP_INSERT_OR_MERGE_ENTITY, 'o', {"au"}, 0},
    {TV_TABLE_OP_DELETE_ENTITY, 'o', {"d"}, 0},
    {TV_TABLE_OP_GET_PROPERTIES, 's', {"r"}, NOT_BY_TABLE_SAS},
    {TV_TABLE_OP_SET_PROPERTIES, 's', {"w"}, NOT_BY_TABLE_SAS},
    {TV_TABLE_OP_GET_STATS, 's', {"r"}, NOT_BY_TABLE_SAS},
    {TV_TABLE_OP_GET_ACL, 'c', {""}, NOT_BY_SAS},
    {TV_TABLE_OP_SET_ACL, 'c', {""}, NOT_BY_SAS},
    {TV_TABLE_OP_PREFLIGHT, 's', {""}, NOT_BY_SAS},
    {TV_TABLE_OP_UNKNOWN, 's', {""}, NOT_BY_SAS},
};

static const char permission_letters[] = "raudwlc";
static const char type_letters[] = "sco";

static unsigned bits_of(const char *letters, const char *alphabet)
{
    unsigned bits = 0;

    for (; *letters; letters++)
        bits |= 1u << (strchr(alphabet, *letters) - alphabet);
    return bits;
}

static bool has_enough(size_t row, unsigned permissions)
{
    for (size_t i = 0; i < COUNT(needs[row].letters) && needs[row].letters[i]; i++) {
        unsigned word = bits_of(needs[row].letters[i], permission_letters);

        if ((permissions & word) == word)
            return true;
    }
    return false;
}

static tv_err wanted(size_t row, bool is_table_sas, unsigned permissions, unsigned types)
{
    if (needs[row].refused == NOT_BY_SAS || (is_table_sas && needs[row].refused))
        return TV_ERR_AUTHORIZATION_FAILURE;
    if (!is_table_sas && !(types & bits_of((char[]){needs[row].type, 0}, type_letters)))
        return TV_ERR_RESOURCE_TYPE_MISMATCH;
    return has_enough(row, permissions) ? TV_OK : TV_ERR_PERMISSION_MISMATCH;
}

TEST(every_operation_needs_what_the_table_says_and_no_less)
{
    tv_account account = {.name = "acct"};

    CHECK_INT(COUNT(needs), TV_TABLE_OP_COUNT - 1); /* all but batches */
    for (size_t row = 0; row < COUNT(needs); row++) {
        tv_table_command command = {.kind = needs[row].kind,
                                    .resource = {.table = TV_LIT("People")}};
        tv_identity key = {.account = &account};

        t_row = tv_table_spec.ops[command.kind].name;
        CHECK_OK(tv_table_access_check(&key, &command));
        for (unsigned permissions = 0; permissions < 128; permissions++) {
            tv_identity sas = {
                .account = &account, .sas = TV_SAS_ACCOUNT, .permissions = permissions};

            for (unsigned types = 0; types < 8; types++) {
                sas.resource_types = types;
                CHECK_ERR(tv_table_access_check(&sas, &command),
                          wanted(row, false, permissions, types));
            }
            sas.resource_types = 0;
            sas.sas = TV_SAS_CONTAINER;
            sas.container = TV_LIT("people");
            CHECK_ERR(tv_table_access_check(&sas, &command), wanted(row, true, permissions, 0));
            sas.container = TV_LIT("persons");
            CHECK_ERR(tv_table_access_check(&sas, &command), TV_ERR_AUTHORIZATION_FAILURE);
        }
    }
}

TEST(a_batch_by_itself_needs_nothing)
{
    for (int kind = 0; kind < TV_TABLE_OP_COUNT; kind++) {
        const tv_op *row = &tv_table_spec.ops[kind];

        t_row = row->name;
        CHECK_INT(!!(row->flags & TV_OP_BY_PARTS), kind == TV_TABLE_OP_BATCH);
    }
}

TEST(the_secondary_is_read_only_and_has_the_stats)
{
    for (int kind = 0; kind < TV_TABLE_OP_COUNT; kind++) {
        const tv_op *row = &tv_table_spec.ops[kind];
        bool is_read = kind == TV_TABLE_OP_QUERY_TABLES || kind == TV_TABLE_OP_QUERY_TABLE ||
                       kind == TV_TABLE_OP_QUERY_ENTITIES || kind == TV_TABLE_OP_QUERY_ENTITY ||
                       kind == TV_TABLE_OP_GET_ACL || kind == TV_TABLE_OP_GET_PROPERTIES;

        t_row = row->name;
        CHECK_INT(!!(row->flags & TV_OP_READS), is_read);
        CHECK_INT(!!(row->flags & TV_OP_SECONDARY_ONLY), kind == TV_TABLE_OP_GET_STATS);
    }
}

/* --- limits on keys --- */

#define BEYOND "\xF0\x90\x80\x80" /* U+10000: D800 DC00 in UTF-16 */
#define E000 "\xEE\x80\x80"       /* after it there, before it in UTF-8 */

static tv_identity limited(const char *spk, const char *srk, const char *epk, const char *erk)
{
    return (tv_identity){
        .sas = TV_SAS_CONTAINER,
        .container = TV_LIT("people"),
        .has_limits = spk || epk,
        .limits = {spk ? tv_slice_of(spk) : TV_NONE, srk ? tv_slice_of(srk) : TV_NONE,
                   epk ? tv_slice_of(epk) : TV_NONE, erk ? tv_slice_of(erk) : TV_NONE},
    };
}

static const struct {
    const char *what, *spk, *srk, *epk, *erk, *partition, *row;
    bool is_inside;
} places[] = {
    {"no limits", NULL, NULL, NULL, NULL, "", "", true},
    {"before the start", "b", NULL, NULL, NULL, "a", "z", false},
    {"at the start", "b", NULL, NULL, NULL, "b", "", true},
    {"after the start", "b", NULL, NULL, NULL, "z", "", true},
    {"before the row of the start", "b", "m", NULL, NULL, "b", "l", false},
    {"at the row of the start", "b", "m", NULL, NULL, "b", "m", true},
    {"the start row says nothing of later partitions", "b", "m", NULL, NULL, "c", "a", true},
    {"nor saves earlier ones", "b", "m", NULL, NULL, "a", "z", false},
    {"at the end", NULL, NULL, "b", NULL, "b", "zzz", true},
    {"after the end", NULL, NULL, "b", NULL, "ba", "", false},
    {"at the row of the end", NULL, NULL, "b", "m", "b", "m", true},
    {"after the row of the end", NULL, NULL, "b", "m", "b", "ma", false},
    {"the end row says nothing of earlier partitions", NULL, NULL, "b", "m", "a", "z", true},
    {"nor saves later ones", NULL, NULL, "b", "m", "c", "a", false},
    {"one entity", "b", "m", "b", "m", "b", "m", true},
    {"its neighbour before", "b", "m", "b", "m", "b", "l", false},
    {"its neighbour after", "b", "m", "b", "m", "b", "m ", false},
    {"letters have a case", "b", NULL, "b", NULL, "B", "m", false},
    {"beyond the BMP sorts by UTF-16 units, inside", "a", NULL, E000, NULL, BEYOND, "", true},
    {"and outside", E000, NULL, NULL, NULL, BEYOND, "", false},
    {"and the other way round", NULL, NULL, BEYOND, NULL, E000, "", false},
    {"rows as well", "a", E000, "a", NULL, "a", BEYOND, false},
    {"rows as well, inside", "a", NULL, "a", E000, "a", BEYOND, true},
};

TEST(limits_compare_both_keys_together)
{
    for (size_t i = 0; i < COUNT(places); i++) {
        tv_identity identity = limited(places[i].spk, places[i].srk, places[i].epk, places[i].erk);

        t_row = places[i].what;
        CHECK_ERR(tv_table_access_check_key(&identity, tv_slice_of(places[i].partition),
                                            tv_slice_of(places[i].row)),
                  places[i].is_inside ? TV_OK : TV_ERR_AUTHORIZATION_FAILURE);
    }
}

/* --- plans cut down to the limits --- */

static tv_slice table_prefix(void)
{
    return tv_key_table(&arena, TV_LIT("acct"), 7);
}

static tv_slice row_key(const char *partition, const char *row)
{
    tv_slice prefix, key;

    CHECK_OK(tv_key_partition(&arena, TV_LIT("acct"), 7, tv_slice_of(partition), &prefix));
    CHECK_OK(tv_key_row(&arena, prefix, tv_slice_of(row), &key));
    return key;
}

static bool plan_has(const tv_plan *plan, tv_slice key)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (tv_slice_cmp(key, plan->ranges[i].from) >= 0 &&
            tv_slice_cmp(key, plan->ranges[i].to) < 0)
            return true;
    }
    return false;
}

static const char *const texts[] = {
    "",
    " ",
    "a",
    "a ",
    "aa",
    "ab",
    "b",
    "b!",
    "~",
    "\xC3\xA9",
    "\xED\x9F\xBF",
    BEYOND,
    BEYOND "a",
    E000,
    E000 "a",
    "\xEF\xBF\xBD",
    "\xF4\x8F\xBF\xBF",
};

static const char *any_text(void)
{
    return texts[t_random() % COUNT(texts)];
}

/* Up to four ranges between random rows, sorted and disjoint as plans are. */
static tv_plan random_plan(void)
{
    tv_slice cuts[8];
    size_t count = 2 * (t_random() % 5);
    tv_plan plan = {.kind = TV_PLAN_TABLE,
                    .ranges = tv_arena_alloc(&arena, 5 * sizeof *plan.ranges)};

    for (size_t i = 0; i < count; i++) {
        tv_slice cut = t_random() % 8 ? row_key(any_text(), any_text()) : table_prefix();
        size_t at = i;

        for (; at > 0 && tv_slice_cmp(cuts[at - 1], cut) > 0; at--)
            cuts[at] = cuts[at - 1];
        cuts[at] = cut;
    }
    for (size_t i = 0; i + 1 < count; i += 2) {
        if (tv_slice_cmp(cuts[i], cuts[i + 1]) < 0)
            plan.ranges[plan.count++] = (tv_key_range){cuts[i], cuts[i + 1], TV_PLAN_TABLE};
    }
    if (count == 0)
        plan.ranges[plan.count++] =
            (tv_key_range){table_prefix(), tv_key_after(&arena, table_prefix()), TV_PLAN_TABLE};
    return plan;
}

TEST(a_clipped_plan_has_the_rows_inside_and_no_other)
{
    t_random_seed(0xC11B);
    for (int round = 0; round < 3000; round++) {
        bool has_start = t_random() % 4, has_end = t_random() % 4;
        tv_identity identity =
            limited(has_start ? any_text() : NULL, NULL, has_end ? any_text() : NULL, NULL);
        tv_plan plan = random_plan(), clipped = plan;

        if (has_start && t_random() % 2)
            identity.limits.start_row = tv_slice_of(any_text());
        if (has_end && t_random() % 2)
            identity.limits.end_row = tv_slice_of(any_text());
        clipped.ranges = tv_arena_alloc(&arena, 5 * sizeof *plan.ranges);
        memcpy(clipped.ranges, plan.ranges, plan.count * sizeof *plan.ranges);
        tv_table_access_clip(&identity, &arena, table_prefix(), &clipped);
        for (size_t p = 0; p < COUNT(texts); p++) {
            for (size_t r = 0; r < COUNT(texts); r++) {
                tv_slice key = row_key(texts[p], texts[r]);
                bool is_inside = tv_table_access_check_key(&identity, tv_slice_of(texts[p]),
                                                           tv_slice_of(texts[r])) == TV_OK;

                CHECK_INT(plan_has(&clipped, key), plan_has(&plan, key) && is_inside);
            }
        }
        for (size_t i = 0; i < clipped.count; i++) {
            CHECK(tv_slice_cmp(clipped.ranges[i].from, clipped.ranges[i].to) < 0);
            CHECK(tv_slice_starts_with(clipped.ranges[i].from, table_prefix()));
        }
        tv_arena_reset(&arena);
    }
}

/* A key of `count` characters of three bytes each, and `end`. */
static char *long_key(size_t count, const char *end)
{
    char *text = tv_arena_bytes(&arena, count * 3 + strlen(end) + 1);

    for (size_t i = 0; i < count; i++)
        memcpy(text + i * 3, "\xE4\xB8\xAD", 3);
    memcpy(text + count * 3, end, strlen(end) + 1);
    return text;
}

TEST(the_longest_keys_can_be_limits)
{
    char *partition = long_key(TV_KEY_UNITS_MAX, ""), *row = long_key(TV_KEY_UNITS_MAX - 1, "b");
    char *before = long_key(TV_KEY_UNITS_MAX - 1, "a"),
         *after = long_key(TV_KEY_UNITS_MAX - 1, "c");
    tv_key_range all = {table_prefix(), tv_key_after(&arena, table_prefix()), TV_PLAN_TABLE};
    tv_plan plan = {.kind = TV_PLAN_TABLE, .ranges = &all, .count = 1};
    tv_identity identity = limited(partition, row, partition, row);

    tv_table_access_clip(&identity, &arena, table_prefix(), &plan);
    CHECK_INT(plan.count, 1);
    CHECK(plan_has(&plan, row_key(partition, row)));
    CHECK(!plan_has(&plan, row_key(partition, before)));
    CHECK(!plan_has(&plan, row_key(partition, after)));
}

static const struct {
    const char *what, *spk, *srk, *epk, *erk;
} impossible[] = {
    {"a start with a control character", "a\x01", NULL, NULL, NULL},
    {"an end with a control character", NULL, NULL, "z\x02", NULL},
    {"a row with a control character", "a", "\x01", "b", NULL},
    {"an end row with a control character", "a", NULL, "b", "b\x7F"},
    {"the wrong way round", "b", NULL, "a", NULL},
    {"rows the wrong way round", "a", "b", "a", "a"},
};

TEST(limits_that_hold_no_key_give_no_row)
{
    for (size_t i = 0; i < COUNT(impossible); i++) {
        tv_key_range all = {table_prefix(), tv_key_after(&arena, table_prefix()), TV_PLAN_TABLE};
        tv_plan plan = {.kind = TV_PLAN_TABLE, .ranges = &all, .count = 1};
        tv_identity identity =
            limited(impossible[i].spk, impossible[i].srk, impossible[i].epk, impossible[i].erk);

        t_row = impossible[i].what;
        tv_table_access_clip(&identity, &arena, table_prefix(), &plan);
        CHECK_INT(plan.count, 0);
    }
}

TEST(limits_longer_than_any_key_do_not_break_the_engine)
{
    char *huge = long_key(20000, "");
    tv_key_range all = {table_prefix(), tv_key_after(&arena, table_prefix()), TV_PLAN_TABLE};
    tv_plan plan = {.kind = TV_PLAN_TABLE, .ranges = &all, .count = 1};
    tv_identity identity = limited("a", NULL, huge, huge);

    tv_table_access_clip(&identity, &arena, table_prefix(), &plan);
    for (size_t i = 0; i < plan.count; i++)
        CHECK(plan.ranges[i].from.len <= 6400 && plan.ranges[i].to.len <= 6400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_needs_what_the_table_says_and_no_less),
        cmocka_unit_test(a_batch_by_itself_needs_nothing),
        cmocka_unit_test(the_secondary_is_read_only_and_has_the_stats),
        cmocka_unit_test(limits_compare_both_keys_together),
        cmocka_unit_test(a_clipped_plan_has_the_rows_inside_and_no_other),
        cmocka_unit_test(the_longest_keys_can_be_limits),
        cmocka_unit_test(limits_that_hold_no_key_give_no_row),
        cmocka_unit_test(limits_longer_than_any_key_do_not_break_the_engine),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
