/*
 * What pool.h promises: over the fake, or over a real cluster (see rados_fixture.h), so that
 * one is known to do what the other does.
 */
#include <stdatomic.h>

#include "rados_fixture.h"
#include "wait.h"

static tv_pool *pool, *other;
static tv_arena arena;
static size_t refused;

static int set_up(void **state)
{
    (void)state;
    tv_arena_init(&arena);
    pool = open_pool(true);
    other = open_pool(false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pool->ops->close(pool);
    other->ops->close(other);
    rados_drop_cluster();
    tv_arena_done(&arena);
    return 0;
}

#define CHANGE(client, object, ...)                                                                \
    tv_pool_change_now(client, object, (const tv_pool_step[]){__VA_ARGS__},                        \
                       sizeof((const tv_pool_step[]){__VA_ARGS__}) / sizeof(tv_pool_step),         \
                       &refused)

static tv_pool_step step(tv_pool_kind kind, const char *key, const char *value)
{
    return (tv_pool_step){kind, tv_slice_of(key), tv_slice_of(value)};
}

#define CREATE step(TV_POOL_CREATE, "", "")

/* The rows behind a key: "a=1 b=2 ", with "..." at the end when there are more. */
static tv_slice page(tv_pool *by, const char *object, const char *after, size_t most)
{
    tv_pool_read read = {.object = object,
                         .kind = TV_POOL_READ_PAGE,
                         .after = tv_slice_of(after),
                         .rows_max = most,
                         .arena = &arena};
    tv_slice text = TV_LIT("");

    CHECK_OK(tv_pool_read_now(by, &read));
    for (size_t i = 0; i < read.row_count; i++)
        text = tv_arena_printf(&arena, "%.*s%.*s=%.*s ", TV_FMT(text), TV_FMT(read.rows[i].key),
                               TV_FMT(read.rows[i].value));
    return read.has_more ? tv_arena_printf(&arena, "%.*s...", TV_FMT(text)) : text;
}

#define CHECK_PAGE(object, after, most, want) CHECK_TEXT(page(other, object, after, most), want)

TEST(objects_are_made_and_removed)
{
    CHECK_ERR(CHANGE(pool, "tv.o", step(TV_POOL_PUT_ROW, "a", "1")), TV_ERR_NOT_FOUND);
    CHECK_ERR(CHANGE(pool, "tv.o", step(TV_POOL_REMOVE, "", "")), TV_ERR_NOT_FOUND);
    CHECK_OK(CHANGE(pool, "tv.o", CREATE, step(TV_POOL_PUT_ROW, "a", "1")));
    CHECK_ERR(CHANGE(other, "tv.o", CREATE, step(TV_POOL_PUT_ROW, "a", "2")), TV_ERR_CONFLICT);
    CHECK(refused == TV_POOL_NO_STEP);
    CHECK_PAGE("tv.o", "", 10, "a=1 ");
    CHECK_ERR(CHANGE(pool, "tv.o", step(TV_POOL_ATTR_IS, "e", "1"), step(TV_POOL_REMOVE, "", "")),
              TV_ERR_CONFLICT);
    CHECK_OK(CHANGE(pool, "tv.o", step(TV_POOL_ATTR_IS, "e", ""), step(TV_POOL_REMOVE, "", "")));
    CHECK_ERR(CHANGE(pool, "tv.o", step(TV_POOL_ROW_ABSENT, "a", "")), TV_ERR_NOT_FOUND);
}

TEST(conditions_stop_a_change_and_say_which)
{
    CHECK_OK(CHANGE(pool, "tv.o", CREATE, step(TV_POOL_PUT_ROW, "a", "1"),
                    step(TV_POOL_PUT_ROW, "b", "1"), step(TV_POOL_SET_ATTR, "e", "5")));
    CHECK_ERR(CHANGE(pool, "tv.o", step(TV_POOL_ATTR_IS, "e", "5"), step(TV_POOL_ROW_IS, "a", "1"),
                     step(TV_POOL_ROW_ABSENT, "z", ""), step(TV_POOL_ROW_IS, "b", "2"),
                     step(TV_POOL_ROW_ABSENT, "a", ""), step(TV_POOL_PUT_ROW, "a", "2")),
              TV_ERR_CONFLICT);
    CHECK_INT(refused, 3);
    CHECK_ERR(CHANGE(pool, "tv.o", step(TV_POOL_ATTR_IS, "e", "6"), step(TV_POOL_ROW_IS, "b", "2")),
              TV_ERR_CONFLICT);
    CHECK(refused == TV_POOL_NO_STEP);
    CHECK_ERR(CHANGE(pool, "tv.o", step(TV_POOL_ROW_IS, "z", "1")), TV_ERR_CONFLICT);
    CHECK_INT(refused, 0);
    CHECK_OK(CHANGE(pool, "tv.o", step(TV_POOL_ROW_IS, "a", "1"), step(TV_POOL_ATTR_IS, "n", "")));
    CHECK_PAGE("tv.o", "", 10, "a=1 b=1 ");
}

TEST(a_clock_goes_forward_only)
{
    CHECK_OK(CHANGE(pool, "tv.o", CREATE));
    CHECK_OK(CHANGE(pool, "tv.o", step(TV_POOL_ATTR_BELOW, "clk", "05"),
                    step(TV_POOL_SET_ATTR, "clk", "05")));
    CHECK_OK(CHANGE(pool, "tv.o", step(TV_POOL_ATTR_BELOW, "clk", "07")));
    CHECK_ERR(CHANGE(pool, "tv.o", step(TV_POOL_ATTR_BELOW, "clk", "05")), TV_ERR_CONFLICT);
    CHECK_ERR(CHANGE(pool, "tv.o", step(TV_POOL_ATTR_BELOW, "clk", "03")), TV_ERR_CONFLICT);
    CHECK(refused == TV_POOL_NO_STEP);
}

TEST(changes_apply_in_their_order)
{
    CHECK_OK(CHANGE(pool, "tv.o", CREATE, step(TV_POOL_PUT_ROW, "a", "1"),
                    step(TV_POOL_PUT_ROW, "b", "1"), step(TV_POOL_PUT_ROW, "c", "1"),
                    step(TV_POOL_PUT_ROW, "d", "1")));
    CHECK_OK(CHANGE(pool, "tv.o", step(TV_POOL_DELETE_ROWS, "a", "c"),
                    step(TV_POOL_PUT_ROW, "b", "2"), step(TV_POOL_DELETE_ROW, "d", ""),
                    step(TV_POOL_PUT_ROW, "e\x01\xFE", "3")));
    CHECK_PAGE("tv.o", "", 10, "b=2 c=1 e\x01\xFE=3 ");
    CHECK_PAGE("tv.o", "", 1, "b=2 ...");
    CHECK_PAGE("tv.o", "b", 10, "c=1 e\x01\xFE=3 ");
    CHECK_PAGE("tv.o", "e", 10, "e\x01\xFE=3 ");
    CHECK_PAGE("tv.o", "f", 10, "");
}

TEST(reads_are_guarded_by_an_attribute)
{
    const tv_slice keys[] = {TV_LIT("b"), TV_LIT("x"), TV_LIT("a"), TV_LIT("b")};
    tv_pool_read read = {.object = "tv.o",
                         .kind = TV_POOL_READ_KEYS,
                         .attr = TV_LIT("rep"),
                         .attr_value = TV_LIT("e1"),
                         .keys = keys,
                         .key_count = 4,
                         .arena = &arena};

    CHECK_ERR(tv_pool_read_now(pool, &read), TV_ERR_NOT_FOUND);
    CHECK_OK(CHANGE(pool, "tv.o", CREATE, step(TV_POOL_PUT_ROW, "a", "1"),
                    step(TV_POOL_PUT_ROW, "b", "2"), step(TV_POOL_SET_ATTR, "rep", "e1"),
                    step(TV_POOL_SET_ATTR, "wep", "e2"), step(TV_POOL_SET_DATA, "", "some data")));
    CHECK_OK(tv_pool_read_now(other, &read));
    CHECK_INT(read.row_count, 2);
    CHECK_TEXT(read.rows[0].key, "a");
    CHECK_TEXT(read.rows[1].value, "2");
    read.attr_value = TV_LIT("e0");
    CHECK_ERR(tv_pool_read_now(other, &read), TV_ERR_CONFLICT);

    read = (tv_pool_read){.object = "tv.o", .kind = TV_POOL_READ_ATTRS, .arena = &arena};
    CHECK_OK(tv_pool_read_now(other, &read));
    CHECK_INT(read.row_count, 2);
    CHECK_TEXT(read.rows[0].key, "rep");
    CHECK_TEXT(read.rows[1].value, "e2");

    read = (tv_pool_read){
        .object = "tv.o", .kind = TV_POOL_READ_DATA, .offset = 5, .size = 100, .arena = &arena};
    CHECK_OK(tv_pool_read_now(other, &read));
    CHECK_TEXT(read.data, "data");
}

static bool count_objects(void *ctx, const char *object)
{
    CHECK(strncmp(object, "tv.R.", 5) == 0);
    ++*(int *)ctx;
    return true;
}

TEST(objects_are_listed_by_their_beginning)
{
    int count = 0;

    CHECK_OK(CHANGE(pool, "tv.R.1", CREATE));
    CHECK_OK(CHANGE(pool, "tv.R.2", CREATE));
    CHECK_OK(CHANGE(pool, "tv.S.1", CREATE));
    CHECK_OK(other->ops->list(other, "tv.R.", count_objects, &count));
    CHECK_INT(count, 2);
}

TEST(a_lock_has_one_holder)
{
    CHECK_OK(pool->ops->lock(pool, "tv.leader", "A", 60));
    CHECK_OK(pool->ops->lock(pool, "tv.leader", "A", 60));
    CHECK_ERR(other->ops->lock(other, "tv.leader", "B", 60), TV_ERR_IN_USE);
    CHECK_ERR(other->ops->unlock(other, "tv.leader", "B"), TV_ERR_NOT_FOUND);
    CHECK_OK(pool->ops->unlock(pool, "tv.leader", "A"));
    CHECK_OK(other->ops->lock(other, "tv.leader", "B", 60));
    CHECK_OK(other->ops->unlock(other, "tv.leader", "B"));
}

TEST(the_storage_keeps_a_list_of_clients)
{
    char address[100];
    bool is_listed;

    CHECK_OK(CHANGE(pool, "tv.o", CREATE));
    snprintf(address, sizeof address, "%s", other->ops->address(other));
    CHECK_OK(pool->ops->is_listed(pool, "tv.o", address, &is_listed));
    CHECK(!is_listed);
    CHECK_OK(pool->ops->delist(pool, "tv.o", address));
    CHECK_OK(other->ops->enlist(other, "tv.o"));
    CHECK_OK(other->ops->enlist(other, "tv.o"));
    CHECK_OK(pool->ops->is_listed(pool, "tv.o", pool->ops->address(pool), &is_listed));
    CHECK(!is_listed);
    other->ops->close(other); /* it stays there */
    other = open_pool(false);
    CHECK_OK(pool->ops->is_listed(pool, "tv.o", address, &is_listed));
    CHECK(is_listed);
    CHECK_OK(pool->ops->delist(pool, "tv.o", address));
    CHECK_OK(pool->ops->is_listed(pool, "tv.o", address, &is_listed));
    CHECK(!is_listed);
}

static void count_notice(void *ctx)
{
    atomic_fetch_add((atomic_int *)ctx, 1);
}

TEST(those_who_watch_are_told)
{
    atomic_int here = 0, there = 0;

    CHECK_OK(pool->ops->watch(pool, "tv.cat", count_notice, &here));
    CHECK_OK(other->ops->watch(other, "tv.cat", count_notice, &there));
    pool->ops->notify(pool, "tv.cat");
    WAIT_UNTIL(atomic_load(&here) >= 1 && atomic_load(&there) >= 1);
    /* Nobody is told when the watchers' counts are gone. */
    other->ops->close(other);
    pool->ops->close(pool);
    pool = open_pool(false);
    other = open_pool(false);
}

/* A watch ends with its object.  While one cannot be renewed, the others are, and it is tried again. */
TEST(a_watch_comes_back_with_its_object)
{
    const char *const names[] = {"tv.w1", "tv.w2", "tv.w3"};
    enum { WATCHES = sizeof names / sizeof *names };
    atomic_int told[WATCHES] = {0};

    for (size_t i = 0; i < WATCHES; i++)
        CHECK_OK(pool->ops->watch(pool, names[i], count_notice, &told[i]));
    for (size_t i = 0; i < WATCHES; i++)
        CHECK_OK(CHANGE(other, names[i], step(TV_POOL_REMOVE, "", "")));
    for (size_t i = 0; i < WATCHES; i++) {
        CHECK_OK(CHANGE(other, names[i], CREATE));
        WAIT_UNTIL((other->ops->notify(other, names[i]), atomic_load(&told[i]) > 0));
    }
    /* A client ends while one of its watches is gone. */
    CHECK_OK(CHANGE(other, names[0], step(TV_POOL_REMOVE, "", "")));
    other->ops->close(other);
    pool->ops->close(pool);
    pool = open_pool(false);
    other = open_pool(false);
}

TEST(one_that_is_shut_out_changes_nothing)
{
    CHECK_OK(CHANGE(other, "tv.o", CREATE, step(TV_POOL_PUT_ROW, "a", "1")));
    CHECK_OK(pool->ops->shut_out(pool, other->ops->address(other)));
    CHECK_OK(CHANGE(pool, "tv.o", step(TV_POOL_PUT_ROW, "b", "1")));
    CHECK_ERR(CHANGE(other, "tv.o", step(TV_POOL_PUT_ROW, "a", "2")), TV_ERR_STOPPED);
    CHECK_TEXT(page(pool, "tv.o", "", 10), "a=1 b=1 ");
}

TEST(the_room_that_is_left_is_told)
{
    tv_pool_space space;

    CHECK_OK(pool->ops->space(pool, &space));
    CHECK(space.bytes > 0 && space.free_bytes > 0 && space.free_bytes <= space.bytes);
}

TEST(the_osds_are_counted)
{
    size_t count, up;

    CHECK_OK(pool->ops->osd_count(pool, &count, &up));
    CHECK_INT(count, 3); /* as tools/ceph.sh starts them */
    CHECK_INT(up, 3);
}

#define CASE_OF(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE_OF(objects_are_made_and_removed),
        CASE_OF(conditions_stop_a_change_and_say_which),
        CASE_OF(a_clock_goes_forward_only),
        CASE_OF(changes_apply_in_their_order),
        CASE_OF(reads_are_guarded_by_an_attribute),
        CASE_OF(objects_are_listed_by_their_beginning),
        CASE_OF(a_lock_has_one_holder),
        CASE_OF(the_storage_keeps_a_list_of_clients),
        CASE_OF(those_who_watch_are_told),
        CASE_OF(a_watch_comes_back_with_its_object),
        CASE_OF(one_that_is_shut_out_changes_nothing),
        CASE_OF(the_room_that_is_left_is_told),
        CASE_OF(the_osds_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
