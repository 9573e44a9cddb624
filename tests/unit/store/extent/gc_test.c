/* Removal, the visits that defer it, and the garbage collection after a crash. */
#include "store/extent/extent.h"
#include "store/extent/file/file.h"

#include "on_both.h"

TEST(a_removal_waits_for_visits_that_began_before_and_for_no_others)
{
    tv_extent_visit before, also_before, after;

    NEEDS_FOLDER();
    store = open_store();
    tv_extent_id first = put(store, TV_LIT("1")), second = put(store, TV_LIT("2"));

    tv_extent_visit_begin(store, &before);
    tv_extent_visit_begin(store, &also_before);
    tv_extents_remove(store, &first, 1);
    tv_extent_visit_begin(store, &after);
    tv_extents_remove(store, &second, 1);
    CHECK_INT(read_metrics(store).to_remove, 2);

    tv_extent_visit_end(store, &before);
    wait_for_look(store);
    check_bytes(store, first, TV_LIT("1"));

    tv_extent_visit_end(store, &also_before);
    wait_for_removals(store, 1);
    CHECK(!is_there(first));
    wait_for_look(store);
    check_bytes(store, second, TV_LIT("2"));

    tv_extent_visit_end(store, &after);
    wait_for_removals(store, 0);
    CHECK(!is_there(second));
    tv_extents_close(store);
}

/* A client that reads slowly must not keep the disk from ever getting its space back. */
TEST(a_visit_that_lasts_too_long_holds_nothing_up)
{
    tv_extent_visit slow, late;

    NEEDS_FOLDER();
    CHECK(try_open(&(tv_extent_options){.dir = dir, .visit_ms_max = 10 * 60 * 1000}, &store));
    tv_extent_id first = put(store, TV_LIT("1")), second = put(store, TV_LIT("2"));

    tv_extent_visit_begin(store, &slow);
    tv_extents_remove(store, &first, 1);
    pass_minutes(5);
    wait_for_look(store);
    CHECK(is_there(first));
    tv_extent_visit_begin(store, &late);
    tv_extents_remove(store, &second, 1);
    pass_minutes(5);
    wait_for_removals(store, 1); /* nobody wakes it */
    CHECK(!is_there(first));
    wait_for_look(store);
    CHECK(is_there(second));

    tv_extent_visit_end(store, &slow);
    tv_extent_visit_end(store, &late);
    wait_for_removals(store, 0);
    tv_extents_close(store);
}

/* A backup takes as long as it takes, and must not miss what is removed meanwhile. */
TEST(a_hold_lasts_until_it_ends)
{
    tv_extent_visit slow, hold;

    NEEDS_FOLDER();
    CHECK(try_open(&(tv_extent_options){.dir = dir, .visit_ms_max = 10 * 60 * 1000}, &store));
    tv_extent_id before = put(store, TV_LIT("1")), after = put(store, TV_LIT("2"));

    tv_extent_visit_begin(store, &slow);
    tv_extents_remove(store, &before, 1);
    tv_extent_hold_begin(store, &hold);
    tv_extents_remove(store, &after, 1);
    pass_minutes(10);
    wait_for_removals(store, 1);
    CHECK(!is_there(before));
    pass_minutes(60);
    wait_for_look(store);
    CHECK(is_there(after));
    CHECK(!tv_extent_visit_is_over(store, &hold));

    tv_extent_visit_end(store, &hold);
    wait_for_removals(store, 0);
    CHECK(!is_there(after));
    tv_extent_visit_end(store, &slow);
    tv_extents_close(store);
}

TEST(visits_may_end_in_any_order)
{
    tv_extent_visit visits[5];
    static const int orders[][5] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}};

    NEEDS_FOLDER();
    store = open_store();
    for (size_t i = 0; i < COUNT(orders); i++) {
        tv_extent_id id = put(store, TV_LIT("x"));

        for (int v = 0; v < 5; v++)
            tv_extent_visit_begin(store, &visits[v]);
        tv_extents_remove(store, &id, 1);
        for (int v = 0; v < 5; v++) {
            CHECK(is_there(id));
            tv_extent_visit_end(store, &visits[orders[i][v]]);
        }
        wait_for_removals(store, 0);
        CHECK(!is_there(id));
    }
    tv_extents_close(store);
}

TEST(an_open_extent_can_be_read_after_its_removal)
{
    char got[8];
    size_t len;
    tv_extent_reader *reader;

    NEEDS_FOLDER();
    store = open_store();
    tv_extent_id id = put(store, TV_LIT("abc"));

    CHECK_OK(tv_extent_open(store, TV_READ_ANY, id, 3, &reader));
    tv_extents_remove(store, &id, 1);
    wait_for_removals(store, 0);
    CHECK_OK(tv_extent_read(reader, TV_READ_ANY, 0, got, sizeof got, &len));
    CHECK_SLICE(((tv_slice){got, len}), TV_LIT("abc"));
    tv_extent_close(reader);
    tv_extents_close(store);
}

TEST(closing_does_what_no_visit_holds_up_and_leaves_the_rest_to_the_gc)
{
    tv_extent_visit visit;
    size_t removed = 0;

    NEEDS_FOLDER();
    store = open_store();
    tv_extent_id goes = put(store, TV_LIT("1")), held = put(store, TV_LIT("2"));

    tv_extents_remove(store, &goes, 1);
    tv_extent_visit_begin(store, &visit);
    tv_extents_remove(store, &held, 1);
    tv_extents_close(store);
    CHECK(!is_there(goes) && is_there(held));

    store = open_store();
    CHECK_FIGURES(store, 1, file_bytes(1));
    CHECK_OK(gc_extents(store, &(rows){0}, &removed));
    CHECK_INT(removed, 1);
    tv_extents_close(store);
    CHECK(!is_there(held));
}

TEST(the_gc_after_a_crash_removes_what_no_row_refers_to)
{
    size_t removed = 99;
    char foreign[4][128];

    NEEDS_FOLDER();
    crash();
    crash();
    snprintf(foreign[0], sizeof foreign[0], "%s/notes.txt", dir);
    snprintf(foreign[1], sizeof foreign[1], "%s/00/notes.txt", dir);
    /* In the wrong shard, and of no boot: neither is a name that we have ever given. */
    snprintf(foreign[2], sizeof foreign[2], "%s/07/0000000000000001-0000000000000001", dir);
    snprintf(foreign[3], sizeof foreign[3], "%s/00/0000000000000000-0000000000000001", dir);
    for (size_t i = 0; i < COUNT(foreign); i++)
        touch(foreign[i]);

    store = open_store();
    tv_extent_id kept[] = {{1, 1}, {2, 2}}, fresh = put(store, TV_LIT("x"));

    CHECK_INT(fresh.boot, 3);
    CHECK_FIGURES(store, 1, file_bytes(1));
    CHECK_OK(gc_extents(store, &(rows){kept, 2, TV_OK}, &removed));
    CHECK_INT(removed, 4);
    wait_for_removals(store, 0);
    CHECK_FIGURES(store, 3, 2 * file_bytes(4) + file_bytes(1));
    check_bytes(store, kept[0], TV_LIT("1234"));
    check_bytes(store, kept[1], TV_LIT("1234"));
    check_bytes(store, fresh, TV_LIT("x"));
    for (uint64_t boot = 1; boot <= 2; boot++) {
        for (uint64_t number = 1; number <= 3; number++)
            CHECK_INT(is_there((tv_extent_id){boot, number}), number == boot);
    }
    for (size_t i = 0; i < COUNT(foreign); i++)
        CHECK(access(foreign[i], F_OK) == 0);

    CHECK_OK(gc_extents(store, &(rows){kept, 2, TV_OK}, &removed));
    CHECK_INT(removed, 0);
    CHECK_FIGURES(store, 3, 2 * file_bytes(4) + file_bytes(1));
    tv_extents_close(store);
}

TEST(a_gc_whose_rows_cannot_be_read_removes_nothing)
{
    size_t removed = 99;

    NEEDS_FOLDER();
    crash();
    store = open_store();
    CHECK_ERR(gc_extents(store, &(rows){.err = TV_ERR_CORRUPT}, &removed), TV_ERR_CORRUPT);
    CHECK_INT(removed, 99);
    CHECK_INT(read_metrics(store).to_remove, 0);
    for (uint64_t number = 1; number <= 3; number++)
        CHECK(is_there((tv_extent_id){1, number}));
    CHECK_FIGURES(store, 3, 2 * file_bytes(4) + 4);
    tv_extents_close(store);
}

/* Rows and extents that do not fit together are from different times: who knows what is garbage? */
TEST(a_gc_removes_nothing_when_rows_refer_to_what_is_lost)
{
    NEEDS_FOLDER();
    crash();
    store = open_store();
    /* One is there, two are lost, what is of this boot does not concern a gc, and of a later
     * boot there can be nothing. */
    tv_extent_id ids[] = {{1, 1}, {1, 50}, {1, 51}, {2, 99}, {3, 1}};
    tv_extent_gc s = {.mark_rows = mark_rows, .ctx = &(rows){ids, COUNT(ids), TV_OK}};

    CHECK_OK(tv_extents_gc(store, &s));
    CHECK_INT(s.missing_count, 3);
    CHECK_INT(s.orphan_count, 2);
    CHECK(!s.has_removed);
    CHECK_INT(read_metrics(store).to_remove, 0);
    for (uint64_t number = 1; number <= 3; number++)
        CHECK(is_there((tv_extent_id){1, number}));

    /* When the rows are gone that did not fit, the rest goes. */
    s.ctx = &(rows){ids, 1, TV_OK};
    CHECK_OK(tv_extents_gc(store, &s));
    CHECK_INT(s.missing_count, 0);
    CHECK(s.has_removed);
    wait_for_removals(store, 0);
    CHECK(is_there(ids[0]) && !is_there((tv_extent_id){1, 2}));
    tv_extents_close(store);
}

TEST(a_gc_that_keeps_all_counts)
{
    tv_extent_gc s = {.mark_rows = mark_rows, .ctx = &(rows){0}, .keeps_all = true};

    NEEDS_FOLDER();
    crash();
    store = open_store();
    CHECK_OK(tv_extents_gc(store, &s));
    CHECK_INT(s.orphan_count, 3);
    CHECK(!s.has_removed);
    CHECK_INT(read_metrics(store).to_remove, 0);
    tv_extents_close(store);
}

static bool stops(void *ctx)
{
    (void)ctx;
    return true;
}

TEST(a_gc_that_is_to_stop_removes_nothing)
{
    tv_extent_gc s = {.mark_rows = mark_rows, .is_stopping = stops, .ctx = &(rows){0}};

    NEEDS_FOLDER();
    crash();
    store = open_store();
    CHECK_ERR(tv_extents_gc(store, &s), TV_ERR_STOPPED);
    CHECK_INT(read_metrics(store).to_remove, 0);
    tv_extents_close(store);
    store = open_store();
    CHECK_ERR(tv_extents_gc(store, &s), TV_ERR_STOPPED);
    tv_extents_close(store);
}

TEST(the_gc_respects_visits)
{
    tv_extent_id id = {1, 1};
    tv_extent_visit visit;
    size_t removed = 0;

    NEEDS_FOLDER();
    crash();
    store = open_store();
    tv_extent_visit_begin(store, &visit);
    CHECK_OK(gc_extents(store, &(rows){0}, &removed));
    CHECK_INT(removed, 3);
    wait_for_look(store);
    check_bytes(store, id, TV_LIT("1234"));
    tv_extent_visit_end(store, &visit);
    wait_for_removals(store, 0);
    CHECK(!is_there(id));
    CHECK_FIGURES(store, 0, 0);
    tv_extents_close(store);
}

TEST(a_removal_before_the_gc_has_counted_keeps_the_metrics_right)
{
    tv_extent_id id = {1, 1}, kept = {1, 2};
    size_t removed = 0;

    NEEDS_FOLDER();
    crash();
    store = open_store();
    tv_extents_remove(store, &id, 1);
    wait_for_removals(store, 0);
    CHECK_FIGURES(store, 0, 0);
    CHECK_OK(gc_extents(store, &(rows){&kept, 1, TV_OK}, &removed));
    CHECK_INT(removed, 1);
    wait_for_removals(store, 0);
    CHECK_FIGURES(store, 1, file_bytes(4));
    tv_extents_close(store);
    store = open_store();
    CHECK_FIGURES(store, 1, file_bytes(4));
    tv_extents_remove(store, &kept, 1);
    wait_for_removals(store, 0);
    CHECK_FIGURES(store, 0, 0);
    tv_extents_close(store);
}

int main(void)
{
    tv_extent_look_ns = 1000000;

    const struct CMUnitTest tests[] = {
        ON_BOTH(a_removal_waits_for_visits_that_began_before_and_for_no_others),
        ON_BOTH(a_visit_that_lasts_too_long_holds_nothing_up),
        ON_BOTH(a_hold_lasts_until_it_ends),
        ON_BOTH(visits_may_end_in_any_order),
        ON_BOTH(an_open_extent_can_be_read_after_its_removal),
        ON_BOTH(closing_does_what_no_visit_holds_up_and_leaves_the_rest_to_the_gc),
        ON_BOTH(the_gc_after_a_crash_removes_what_no_row_refers_to),
        ON_BOTH(a_gc_whose_rows_cannot_be_read_removes_nothing),
        ON_BOTH(a_gc_removes_nothing_when_rows_refer_to_what_is_lost),
        ON_BOTH(a_gc_that_keeps_all_counts),
        ON_BOTH(a_gc_that_is_to_stop_removes_nothing),
        ON_BOTH(the_gc_respects_visits),
        ON_BOTH(a_removal_before_the_gc_has_counted_keeps_the_metrics_right),
    };

    return cmocka_run_group_tests_name("extent/gc", tests, NULL, NULL);
}
