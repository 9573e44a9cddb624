/* The faults of the memory engine: tests of other layers rest on them, so they are tested too. */
#include "store/engine/memory/memory.h"

#include <pthread.h>

#include "check.h"
#include "store/engine/memory/tree.h"
#include "wait.h"

static tv_engine *engine;

static int set_up(void **state)
{
    (void)state;
    engine = tv_memory_engine_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tv_engine_close(engine);
    return 0;
}

static tv_err put(const char *key, const char *value)
{
    tv_write_batch batch = {0};

    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, tv_slice_of(key), tv_slice_of(value)});
    tv_err err = tv_engine_write(engine, &batch);
    tv_write_batch_done(&batch);
    return err;
}

static tv_err get(tv_read_mode mode, const char *key)
{
    tv_arena arena;
    tv_slice value;

    tv_arena_init(&arena);
    tv_err err = tv_engine_get(engine, mode, tv_slice_of(key), &arena, &value);
    tv_arena_done(&arena);
    return err;
}

TEST(the_nth_write_fails_and_as_many_as_asked)
{
    tv_memory_fail_writes(engine, 2, 2, TV_ERR_DISK_FULL);
    CHECK_OK(put("a", "1"));
    CHECK_ERR(put("b", "1"), TV_ERR_DISK_FULL);
    CHECK_ERR(put("c", "1"), TV_ERR_DISK_FULL);
    CHECK_OK(put("d", "1"));
    CHECK_OK(get(TV_READ_ANY, "a"));
    CHECK_ERR(get(TV_READ_ANY, "b"), TV_ERR_NOT_FOUND);
    CHECK_INT(tv_memory_write_count(engine), 2);
}

TEST(an_io_error_stops_writes_until_a_restart)
{
    tv_memory_fail_writes(engine, 1, 1, TV_ERR_IO);
    CHECK_ERR(put("a", "1"), TV_ERR_IO);
    CHECK_ERR(put("a", "1"), TV_ERR_IO);
    CHECK_ERR(tv_engine_check(engine), TV_ERR_IO);
    CHECK_ERR(get(TV_READ_ANY, "a"), TV_ERR_NOT_FOUND); /* reads go on */
    tv_memory_restart(engine);
    CHECK_OK(put("a", "1"));
    CHECK_OK(tv_engine_check(engine));
}

TEST(a_read_that_must_not_wait_would_block_on_demand)
{
    CHECK_OK(put("a", "1"));
    tv_memory_set_would_block(engine, true);
    CHECK_ERR(get(TV_READ_CACHED, "a"), TV_ERR_WOULD_BLOCK);
    CHECK_OK(get(TV_READ_ANY, "a"));
    tv_memory_set_would_block(engine, false);
    CHECK_OK(get(TV_READ_CACHED, "a"));
}

static void *put_slowly(void *arg)
{
    *(tv_err *)arg = put("slow", "1");
    return NULL;
}

TEST(a_write_under_way_when_the_power_goes_is_kept_or_dropped_as_a_whole)
{
    int kept = 0, dropped = 0;

    for (int i = 0; i < 12; i++) {
        pthread_t thread;
        tv_err err;

        tv_engine_close(engine);
        engine = tv_memory_engine_new(
            &(tv_memory_options){.write_delay_us = 600000000, .seed = (uint64_t)i * 77 + 1});
        CHECK(pthread_create(&thread, NULL, put_slowly, &err) == 0);
        WAIT_UNTIL(tv_memory_delayed_count(engine) == 1);
        CHECK_ERR(get(TV_READ_ANY, "slow"), TV_ERR_NOT_FOUND);
        tv_memory_lose_power(engine);
        pthread_join(thread, NULL);
        CHECK_ERR(err, TV_ERR_IO);
        tv_memory_restart(engine);
        if (get(TV_READ_ANY, "slow") == TV_OK)
            kept++;
        else
            dropped++;
    }
    CHECK(kept > 0 && dropped > 0);
}

/* Versions of the tree: each keeps what it had, whatever becomes of the others. */
TEST(a_version_of_the_tree_never_changes)
{
    enum { VERSIONS = 200 };
    tv_tree *versions[VERSIONS + 1] = {NULL};
    tv_slice value;

    for (int i = 0; i < VERSIONS; i++) {
        char key[8];

        snprintf(key, sizeof key, "%03d", i * 7 % VERSIONS);
        versions[i + 1] = tv_tree_put(tv_tree_ref(versions[i]), tv_slice_of(key), TV_LIT("v"));
    }
    tv_tree_unref(tv_tree_delete_range(tv_tree_ref(versions[VERSIONS]), TV_LIT("0"), TV_LIT("9")));
    for (int i = 0; i <= VERSIONS; i++)
        CHECK_INT(tv_tree_count(versions[i]), i);
    for (int i = 0; i < VERSIONS; i++) {
        char key[8];

        snprintf(key, sizeof key, "%03d", i * 7 % VERSIONS);
        CHECK(!tv_tree_get(versions[i], tv_slice_of(key), &value));
        CHECK(tv_tree_get(versions[i + 1], tv_slice_of(key), &value));
    }
    for (int i = 0; i <= VERSIONS; i++)
        tv_tree_unref(versions[i]);
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(the_nth_write_fails_and_as_many_as_asked),
        ONE(an_io_error_stops_writes_until_a_restart),
        ONE(a_read_that_must_not_wait_would_block_on_demand),
        ONE(a_write_under_way_when_the_power_goes_is_kept_or_dropped_as_a_whole),
        ONE(a_version_of_the_tree_never_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
