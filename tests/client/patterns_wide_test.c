/* Wide entities in parts, and data series in slots. */
#include "patterns.h"

enum { DAYS = 1000 };

/* 1,000 properties and one of 60,000 bytes; `mark` is in all of them. */
static tavola_entity *year(const char *row_key, int days, int32_t mark)
{
    tavola_entity *wide = tavola_entity_new_wide("Sales", row_key);
    char name[16];

    for (int i = 0; i < days; i++) {
        snprintf(name, sizeof name, "Day%04d", i);
        tavola_entity_set_int32(wide, name, mark);
    }
    return wide;
}

static tavola_err put(const char *row_key, int days, int32_t mark)
{
    tavola_entity *wide = year(row_key, days, mark);
    tavola_err err = tavola_wide_put(t.table, wide, t.call);

    tavola_entity_free(wide);
    return err;
}

/* All properties are of one put: its mark.  *ret_days of them. */
static int32_t mark_of(const tavola_entity *wide, size_t *ret_days)
{
    int32_t first = -1, mark = -1;

    for (size_t i = 0; i < tavola_entity_count(wide); i++) {
        tavola_value value;
        const char *name = tavola_entity_name_at(wide, i, &value);

        CHECK(strncmp(name, "Day", 3) == 0);
        CHECK(tavola_entity_get_int32(wide, name, &mark));
        if (i == 0)
            first = mark;
        CHECK_INT(mark, first);
    }
    *ret_days = tavola_entity_count(wide);
    return first;
}

static void check_stored(const char *row_key, int days, int32_t mark)
{
    tavola_entity *got = NULL;
    size_t got_days;

    CHECK_OK(tavola_wide_get(t.table, "Sales", row_key, t.call, &got));
    CHECK_TEXT(tavola_entity_row_key(got), row_key);
    CHECK_INT(mark_of(got, &got_days), mark);
    CHECK_INT(got_days, days);
    tavola_entity_free(got);
}

TEST(a_wide_entity_comes_back_as_it_was)
{
    tavola_entity *want = year("000123", DAYS, 7), *got = NULL;

    CHECK_OK(tavola_wide_put(t.table, want, t.call));
    CHECK_INT(count_all(), 5);
    CHECK(is_stored("Sales", "000123~0") && is_stored("Sales", "000123~4"));
    CHECK_OK(tavola_wide_get(t.table, "Sales", "000123", t.call, &got));
    check_same(got, want);
    CHECK(tavola_entity_etag(got) != NULL);
    CHECK(tavola_entity_timestamp(got) != 0);
    tavola_entity_free(got);
    tavola_entity_free(want);
}

TEST(a_wide_entity_that_shrinks_loses_its_surplus_parts)
{
    static const int days[] = {1000, 250, 0, 600, 248, 249};

    for (size_t i = 0; i < COUNT_OF(days); i++) {
        CHECK_OK(put("1", days[i], (int32_t)i));
        CHECK_INT(count_all(), days[i] == 0 ? 1 : (days[i] + 1 + 246) / 247);
        if (days[i] > 0)
            check_stored("1", days[i], (int32_t)i);
    }
    CHECK_OK(tavola_wide_delete(t.table, "Sales", "1", t.call));
    CHECK_INT(count_all(), 0);
    CHECK_ERR(tavola_wide_delete(t.table, "Sales", "1", t.call), TAVOLA_ERR_NOT_FOUND);

    tavola_entity *got = NULL;

    CHECK_ERR(tavola_wide_get(t.table, "Sales", "1", t.call, &got), TAVOLA_ERR_NOT_FOUND);
}

TEST(more_than_a_mebibyte_is_cut_by_bytes)
{
    enum { BIG = 60000, COUNT = 40 };
    tavola_entity *want = tavola_entity_new_wide("Sales", "big"), *got = NULL;
    char name[16], *data = malloc(BIG);

    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "B%02d", i);
        memset(data, 'a' + i % 26, BIG);
        tavola_entity_set_binary(want, name, data, BIG);
    }
    CHECK_OK(tavola_wide_put(t.table, want, t.call));
    CHECK_INT(count_all(), 4);
    CHECK_OK(tavola_wide_get(t.table, "Sales", "big", t.call, &got));
    check_same(got, want);
    tavola_entity_free(got);

    /* In base64 it is more than a batch can have. */
    for (int i = 0; i < COUNT * 2; i++) {
        snprintf(name, sizeof name, "C%02d", i);
        tavola_entity_set_binary(want, name, data, BIG);
    }
    CHECK_ERR(tavola_wide_put(t.table, want, t.call), TAVOLA_ERR_TOO_LARGE);
    CHECK_INT(count_all(), 4);
    tavola_entity_free(want);
    free(data);
}

TEST(keys_with_tildes_do_not_meet)
{
    static const char *const keys[] = {"a", "a~", "a~0", "a~~", "a~~0", "a~0~0", "~", "", "a~1~"};

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        t_row = keys[i];
        CHECK_OK(put(keys[i], 300, (int32_t)i));
    }
    /* Neighbours that are no parts. */
    insert_new("Sales", "a~5x", 1);
    insert_new("Sales", "a~9", 1);
    insert_new("Sales", "a~007", 1);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        t_row = keys[i];
        check_stored(keys[i], 300, (int32_t)i);
    }
    for (size_t i = 0; i < COUNT_OF(keys); i += 2)
        CHECK_OK(tavola_wide_delete(t.table, "Sales", keys[i], t.call));
    for (size_t i = 1; i < COUNT_OF(keys); i += 2)
        check_stored(keys[i], 300, (int32_t)i);
}

TEST(an_etag_is_a_condition)
{
    tavola_entity *first = NULL, *second = NULL;

    CHECK_OK(put("1", 300, 1));
    CHECK_OK(tavola_wide_get(t.table, "Sales", "1", t.call, &first));
    CHECK_OK(tavola_wide_get(t.table, "Sales", "1", t.call, &second));
    CHECK_OK(tavola_wide_put(t.table, first, t.call));
    CHECK_ERR(tavola_wide_put(t.table, second, t.call), TAVOLA_ERR_ETAG);
    CHECK_OK(tavola_wide_delete(t.table, "Sales", "1", t.call));
    CHECK_ERR(tavola_wide_put(t.table, second, t.call), TAVOLA_ERR_NOT_FOUND);
    tavola_entity_free(first);
    tavola_entity_free(second);
}

TEST(parts_that_are_missing_are_told_and_put_right)
{
    tavola_entity *got = NULL;

    CHECK_OK(put("1", DAYS, 1));
    CHECK_OK(tavola_delete(t.table, "Sales", "1~2", TAVOLA_ANY, t.call));
    CHECK_ERR(tavola_wide_get(t.table, "Sales", "1", t.call, &got), TAVOLA_ERR_PROTOCOL);
    CHECK_OK(put("1", 10, 2));
    CHECK_INT(count_all(), 1);
    check_stored("1", 10, 2);
    insert_new("Sales", "2~0", 1);
    CHECK_ERR(put("2", 10, 2), TAVOLA_ERR_CONFLICT);
}

TEST(a_part_of_another_put_is_not_handed_out)
{
    tavola_entity *old = NULL, *got = NULL;

    CHECK_OK(put("1", 300, 1));
    CHECK_OK(tavola_get(t.table, "Sales", "1~1", t.call, &old));
    CHECK_OK(put("1", 300, 2));
    CHECK_OK(tavola_insert_or_replace(t.table, old, t.call));
    CHECK_ERR(tavola_wide_get(t.table, "Sales", "1", t.call, &got), TAVOLA_ERR_PROTOCOL);
    CHECK(got == NULL);
    CHECK_OK(put("1", 300, 3));
    check_stored("1", 300, 3);
    tavola_entity_free(old);
}

TEST(what_cannot_work_is_refused_before_it_is_sent)
{
    tavola_entity *wide = year("a", 300, 1), *got = NULL;

    CHECK_REFUSED(tavola_insert(t.table, wide, t.call), TAVOLA_ERR_TOO_LARGE);
    CHECK_REFUSED(tavola_wide_put(NULL, wide, t.call), TAVOLA_ERR_INVALID);
    tavola_entity_free(wide);
    wide = year("a/b", 3, 1);
    CHECK_REFUSED(tavola_wide_put(t.table, wide, t.call), TAVOLA_ERR_INVALID);
    tavola_entity_free(wide);
    wide = year("a", 26000, 1);
    CHECK_REFUSED(tavola_wide_put(t.table, wide, t.call), TAVOLA_ERR_TOO_LARGE);
    tavola_entity_free(wide);
    CHECK_REFUSED(tavola_wide_put(t.table, NULL, t.call), TAVOLA_ERR_NO_MEMORY);
    CHECK_REFUSED(tavola_wide_get(t.table, NULL, "r", t.call, &got), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_wide_get(t.table, "p", "r", t.call, NULL), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_wide_delete(t.table, "p", NULL, t.call), TAVOLA_ERR_INVALID);
}

/* ---- killed at every boundary ---- */

static void run_key(char *to, size_t size, unsigned run)
{
    snprintf(to, size, "%03u", run);
}

static void prepare_wide(unsigned run)
{
    char key[16];

    run_key(key, sizeof key, run);
    CHECK_OK(put(key, 700, 1));
}

static tavola_err shrink(tavola_client *client, unsigned run)
{
    tavola_table *table = table_on(client);
    char key[16];

    run_key(key, sizeof key, run);

    tavola_entity *wide = year(key, 300, 2);
    tavola_err err = tavola_wide_put(table, wide, NULL);

    tavola_entity_free(wide);
    tavola_table_close(table);
    return err;
}

static void check_shrunk(unsigned run, tavola_err err)
{
    tavola_entity *got = NULL;
    char key[16];
    size_t days;

    run_key(key, sizeof key, run);
    CHECK_OK(tavola_wide_get(t.table, "Sales", key, t.call, &got));

    int32_t mark = mark_of(got, &days);

    CHECK_INT(days, mark == 1 ? 700 : 300);
    if (err == TAVOLA_OK)
        CHECK_INT(mark, 2);
    tavola_entity_free(got);
    CHECK_OK(put(key, 300, 2));
    check_stored(key, 300, 2);
}

TEST(a_client_that_dies_leaves_one_state)
{
    static const kill_case one = {.prepare = prepare_wide, .act = shrink, .check = check_shrunk};

    kill_everywhere(&one);
}

TEST(a_lost_answer_leaves_one_state)
{
    static const kill_case one = {.prepare = prepare_wide, .act = shrink, .check = check_shrunk};

    lose_everywhere(&one);
}

/* ---- races ---- */

enum { RACERS = 4, RACES = 20 };

static void *race(void *number)
{
    uint32_t seed = (uint32_t)(uintptr_t)number * 31 + 1;
    tavola_err err = TAVOLA_OK;

    for (int i = 0; i < RACES; i++) {
        tavola_entity *wide =
            year("race", (int)(next_random(&seed) % 900) + 1, (int32_t)next_random(&seed));

        err = tavola_wide_put(t.table, wide, NULL);
        tavola_entity_free(wide);
        if (err && err != TAVOLA_ERR_ETAG)
            return (void *)(uintptr_t)tavola_err_name(err);

        tavola_entity *got = NULL;
        int32_t first = 0, mark = 0;

        err = tavola_wide_get(t.table, "Sales", "race", NULL, &got);
        if (err && err != TAVOLA_ERR_NOT_FOUND)
            return (void *)(uintptr_t)tavola_err_name(err);
        tavola_entity_get_int32(got, "Day0000", &first);
        for (size_t k = 0; k < tavola_entity_count(got); k++) {
            tavola_value value;

            tavola_entity_get_int32(got, tavola_entity_name_at(got, k, &value), &mark);
            if (mark != first)
                return (void *)(uintptr_t) "two puts are mixed";
        }
        tavola_entity_free(got);
    }
    return NULL;
}

TEST(parts_of_two_puts_are_never_mixed)
{
    run_threads(RACERS, race);
}

/* ---- series ---- */

static void *set_slots(void *number)
{
    for (uint32_t i = 0; i < 24; i++) {
        tavola_err err =
            tavola_series_set(t.table, "Sales", "000123", "Hour",
                              i + 24 * (uint32_t)(uintptr_t)number, tavola_int32((int32_t)i), NULL);

        if (err)
            return (void *)(uintptr_t)tavola_err_name(err);
    }
    return NULL;
}

TEST(no_slot_of_a_series_is_lost)
{
    tavola_entity *got = NULL;
    tavola_value value;

    run_threads(4, set_slots);
    CHECK_OK(tavola_get(t.table, "Sales", "000123", t.call, &got));
    CHECK_INT(tavola_entity_count(got), 96);
    for (uint32_t i = 0; i < 96; i++) {
        CHECK(tavola_series_get(got, "Hour", i, &value));
        CHECK_INT(value.as.int32, i % 24);
    }
    CHECK(tavola_entity_get(got, "Hour007", &value));
    CHECK(!tavola_series_get(got, "Hour", 96, &value));
    CHECK(!tavola_series_get(got, NULL, 1, &value));
    CHECK(!tavola_series_get(got, "Hour", 1000, &value));
    CHECK_REFUSED(tavola_series_set(t.table, "p", "r", "H", 1000, tavola_int32(1), t.call),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_series_set(t.table, "p", "r", NULL, 1, tavola_int32(1), t.call),
                  TAVOLA_ERR_INVALID);
    tavola_entity_free(got);
}

static tavola_err set_slot(tavola_client *client, unsigned run)
{
    tavola_table *table = table_on(client);
    tavola_err err =
        tavola_series_set(table, "Sales", "killed", "Hour", run, tavola_int32(1), NULL);

    tavola_table_close(table);
    return err;
}

static void check_slot(unsigned run, tavola_err err)
{
    tavola_entity *got = NULL;
    tavola_value value;

    CHECK_OK(tavola_series_set(t.table, "Sales", "killed", "Other", 0, tavola_int32(1), t.call));
    CHECK_OK(tavola_get(t.table, "Sales", "killed", t.call, &got));
    if (err == TAVOLA_OK)
        CHECK(tavola_series_get(got, "Hour", run, &value));
    tavola_entity_free(got);
}

TEST(a_client_that_dies_sets_its_slot_or_not)
{
    static const kill_case one = {.act = set_slot, .check = check_slot};

    kill_everywhere(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(a_wide_entity_comes_back_as_it_was),
        LIVE_TEST(a_wide_entity_that_shrinks_loses_its_surplus_parts),
        LIVE_TEST(more_than_a_mebibyte_is_cut_by_bytes),
        LIVE_TEST(keys_with_tildes_do_not_meet),
        LIVE_TEST(an_etag_is_a_condition),
        LIVE_TEST(parts_that_are_missing_are_told_and_put_right),
        LIVE_TEST(a_part_of_another_put_is_not_handed_out),
        LIVE_TEST(what_cannot_work_is_refused_before_it_is_sent),
        LIVE_TEST(a_client_that_dies_leaves_one_state),
        LIVE_TEST(a_lost_answer_leaves_one_state),
        LIVE_TEST(parts_of_two_puts_are_never_mixed),
        LIVE_TEST(no_slot_of_a_series_is_lost),
        LIVE_TEST(a_client_that_dies_sets_its_slot_or_not),
    };

    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
