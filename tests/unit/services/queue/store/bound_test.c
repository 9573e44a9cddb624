/*
 * The bounds of the indexes: their rules, what becomes of them when groups fail
 * or run twice, and what they are for, counted in rows that a get reads.
 */
#include "services/queue/store/bound.h"

#include "store.h"
#include "test_engine.h"

static int set_up(void **state)
{
    store_open(test_engine_new(*state ? *state : NULL));
    pass(1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tv_engine_close(store_leave());
    return 0;
}

static int64_t bound_ticks(void)
{
    return tv_queue_bound_read(&queue.visible).ticks;
}

#define CHECK_PLACE(got, want_ticks, want_sequence)                                                \
    do {                                                                                           \
        tv_queue_place place_ = (got);                                                             \
        CHECK_INT(place_.ticks, want_ticks);                                                       \
        CHECK_INT(place_.sequence, want_sequence);                                                 \
    } while (0)

static tv_queue_place at(int64_t place_ticks, int64_t sequence)
{
    return (tv_queue_place){place_ticks, sequence};
}

TEST(what_was_learned_counts_for_others_when_it_has_settled)
{
    tv_queue_bound *b = &queue.visible;

    tv_queue_bound_learn(b, 100, at(50, 3));
    CHECK_PLACE(tv_queue_bound_read(b), 0, 0);
    CHECK_PLACE(tv_queue_bound_start(b, 100), 50, 3); /* the same group sees the same rows */
    CHECK_PLACE(tv_queue_bound_start(b, 101), 0, 0);
    tv_queue_bound_settle(b, 100);
    CHECK_PLACE(tv_queue_bound_read(b), 50, 3);
    CHECK_PLACE(tv_queue_bound_start(b, 101), 50, 3);
}

TEST(a_row_inserted_before_or_after_the_settlement_lowers_the_bound)
{
    tv_queue_bound *b = &queue.visible;

    tv_queue_bound_learn(b, 100, at(50, 0));
    tv_queue_bound_lower(b, at(40, 9));
    CHECK_PLACE(tv_queue_bound_start(b, 100), 40, 9);
    tv_queue_bound_settle(b, 100);
    CHECK_PLACE(tv_queue_bound_read(b), 40, 9);
    tv_queue_bound_lower(b, at(40, 8));
    CHECK_PLACE(tv_queue_bound_read(b), 40, 8);
    tv_queue_bound_lower(b, at(41, 0));
    CHECK_PLACE(tv_queue_bound_read(b), 40, 8);
}

TEST(a_settlement_does_not_use_what_a_newer_group_has_learned)
{
    tv_queue_bound *b = &queue.visible;

    tv_queue_bound_learn(b, 100, at(50, 0));
    tv_queue_bound_learn(b, 101, at(90, 0));
    tv_queue_bound_settle(b, 100);
    CHECK_PLACE(tv_queue_bound_read(b), 0, 0);
    tv_queue_bound_settle(b, 101);
    CHECK_PLACE(tv_queue_bound_read(b), 90, 0);
}

TEST(a_get_raises_the_bound_and_a_put_lowers_it)
{
    CHECK_OK(put_message("a", 0, -1, NULL));
    pass(10);
    CHECK_GET(32, 60, "a ");
    CHECK_INT(bound_ticks(), tv_instant_now() + 1);
    check_bounds();
    CHECK_GET(32, 60, "");
    CHECK_INT(bound_ticks(), tv_instant_now() + 1);
    pass(70);
    CHECK_PEEK(32, "a ");
    CHECK_GET(32, 60, "a ");
    check_bounds();
}

TEST(an_update_to_an_earlier_time_lowers_the_bound)
{
    tv_message message;

    CHECK_OK(put_message("a", 0, -1, NULL));
    message = get_one(600);
    pass(10);
    CHECK_GET(1, 1, "");
    CHECK_OK(update(&message, 0, NULL));
    check_bounds();
    CHECK_PEEK(1, "a ");
    CHECK_GET(1, 1, "a ");
}

/* A get and a put in one group, in this order or the other. */
static tv_err get_and_put(bool put_first, tv_queue_get *ret_get)
{
    tv_queue_put put_op = {.queue = &queue, .text = TV_LIT("new"), .ttl_s = -1};
    tv_write put_write = {0}, get_write = {0};
    tv_write *list[2] = {put_first ? &put_write : &get_write, put_first ? &get_write : &put_write};

    *ret_get = (tv_queue_get){.queue = &queue, .arena = &arena, .count = 32, .timeout_s = 600};
    CHECK_OK(tv_queue_prepare_put(&put_op, &put_write));
    CHECK_OK(tv_queue_prepare_get(ret_get, &get_write));
    return commit_group(list, 2);
}

TEST(a_put_behind_the_get_in_its_group_is_found_by_the_next)
{
    tv_queue_get op;

    CHECK_OK(get_and_put(false, &op));
    CHECK_INT(op.message_count, 0);
    check_bounds();
    CHECK_PEEK(1, "new ");
    CHECK_GET(1, 600, "new ");
}

TEST(a_put_before_the_get_in_its_group_is_found_by_it)
{
    tv_queue_get op;

    CHECK_OK(get_and_put(true, &op));
    CHECK_INT(op.message_count, 1);
    check_bounds();
    CHECK_GET(1, 600, "");
}

TEST(a_get_that_is_not_durable_raises_nothing)
{
    int64_t before = bound_ticks();
    tv_queue_get op;

    CHECK_OK(put_message("a", 0, -1, NULL));
    tv_memory_fail_writes(engine, 1, 1, TV_ERR_IO);
    CHECK_ERR(get_messages(1, 60, &op), TV_ERR_IO);
    CHECK_INT(bound_ticks(), before);
    tv_memory_restart(engine);
    tv_memory_fail_writes(engine, 1, 2, TV_ERR_DISK_FULL); /* together, and alone */
    CHECK_ERR(get_messages(1, 60, &op), TV_ERR_DISK_FULL);
    CHECK_INT(bound_ticks(), before);
    check_bounds();
    CHECK_PEEK(1, "a ");
    CHECK_GET(1, 60, "a ");
}

/* The group fails, and then its members go alone: some of those fail again, by all patterns. */
TEST(a_group_that_falls_apart_leaves_a_bound)
{
    for (uint64_t nth = 1; nth <= 3; nth++) {
        for (uint64_t count = 1; count <= 3; count++) {
            for (int put_first = 0; put_first < 2; put_first++) {
                tv_queue_get op;

                CHECK_OK(put_message("a", 0, -1, NULL));
                tv_memory_fail_writes(engine, nth, count, TV_ERR_DISK_FULL);
                (void)get_and_put(put_first, &op);
                tv_memory_fail_writes(engine, 1, 0, TV_OK);
                check_bounds();

                /* Every message that was stored can be got. */
                int64_t stored = count_messages(), got = 0;
                pass(601);
                while (got < stored) {
                    tv_message message = get_one(600);

                    CHECK_OK(delete_message(&message));
                    check_bounds();
                    got++;
                }
                CHECK_GET(32, 1, "");
            }
        }
    }
}

TEST(a_conflict_runs_the_group_again)
{
    tv_queue_get op;

    CHECK_OK(put_message("a", 0, -1, NULL));
    tv_memory_fail_writes(engine, 1, 1, TV_ERR_CONFLICT);
    CHECK_OK(get_and_put(false, &op));
    CHECK_INT(op.message_count, 1);
    CHECK_INT(op.messages[0].dequeue_count, 1);
    check_bounds();
    CHECK_GET(32, 1, "new ");
}

TEST(shared_storage_goes_by_no_bound_in_memory)
{
    tv_queue other;

    CHECK(engine->ops->is_shared);
    CHECK_OK(put_message("a", 0, -1, NULL));
    pass(10);
    CHECK_GET(32, 600, "a ");
    CHECK_INT(bound_ticks(), 0);

    /* Another node, which this one does not hear from, puts a message into the past. */
    tv_queue_init(&other, engine, queue.prefix, &is_dropped);
    tv_queue_put op = {.queue = &other, .text = TV_LIT("b"), .ttl_s = -1};
    tv_write write = {0};
    CHECK_OK(tv_queue_prepare_put(&op, &write));
    CHECK_OK(commit(&write));
    tv_queue_done(&other);
    CHECK_PEEK(32, "b ");
    CHECK_GET(32, 600, "b ");
}

TEST(ten_thousand_invisible_messages_do_not_slow_a_get)
{
    size_t rows_without, rows_with;

    CHECK_OK(put_message("a", 0, -1, NULL));
    start_counting();
    CHECK_GET(1, 600, "a ");
    rows_without = stop_counting();

    for (int i = 0; i < 10000; i++)
        CHECK_OK(put_message("hidden", 1000 + i % 100, -1, NULL));
    CHECK_OK(put_message("b", 0, -1, NULL));
    start_counting();
    CHECK_GET(1, 600, "b ");
    rows_with = stop_counting();
    CHECK_INT(rows_with, rows_without);
    CHECK(rows_with <= 3);

    start_counting();
    CHECK_GET(1, 600, "");
    CHECK_PEEK(32, "");
    CHECK(stop_counting() <= 3);
    CHECK_INT(count_messages(), 10002);
}

TEST(many_gets_in_one_group_read_each_row_once)
{
    enum { GETS = 500 };
    tv_queue_get *gets = tv_calloc(GETS, sizeof *gets);
    tv_write *writes = tv_calloc(GETS, sizeof *writes), *list[GETS];

    for (int i = 0; i < GETS; i++)
        CHECK_OK(put_message("x", 0, -1, NULL));
    for (int i = 0; i < GETS; i++) {
        gets[i] = (tv_queue_get){.queue = &queue, .arena = &arena, .count = 1, .timeout_s = 60};
        CHECK_OK(tv_queue_prepare_get(&gets[i], &writes[i]));
        list[i] = &writes[i];
    }
    start_counting();
    CHECK_OK(commit_group(list, GETS));
    CHECK(stop_counting() <= 3 * GETS);
    for (int i = 0; i < GETS; i++) {
        CHECK_INT(gets[i].message_count, 1);
        CHECK(i == 0 ||
              gets[i - 1].messages[0].receipt.sequence < gets[i].messages[0].receipt.sequence);
    }
    check_bounds();
    free(writes);
    free(gets);
}

/* The rows of what was got before, deleted since, lie below the bound: the engine is not asked. */
TEST(a_get_starts_behind_what_was_deleted_also_within_one_instant)
{
    enum { COUNT = 100 };
    tv_queue_put ops[COUNT];
    tv_write writes[COUNT] = {0}, *list[COUNT];

    for (int i = 0; i < COUNT; i++) {
        ops[i] = (tv_queue_put){.queue = &queue, .text = TV_LIT("x"), .ttl_s = -1};
        CHECK_OK(tv_queue_prepare_put(&ops[i], &writes[i]));
        list[i] = &writes[i];
    }
    CHECK_OK(commit_group(list, COUNT));
    for (int i = 0; i < COUNT; i++) {
        tv_message message = get_one(60);

        CHECK_PLACE(tv_queue_bound_read(&queue.visible), ops[0].message.next_visible,
                    message.receipt.sequence + 1);
        CHECK_OK(delete_message(&message));
    }
    check_bounds();
}

static tv_memory_options shared = {.is_shared = true};

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SHARED(name) cmocka_unit_test_prestate_setup_teardown(name, set_up, tear_down, &shared)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(what_was_learned_counts_for_others_when_it_has_settled),
        UNIT(a_row_inserted_before_or_after_the_settlement_lowers_the_bound),
        UNIT(a_settlement_does_not_use_what_a_newer_group_has_learned),
        UNIT(a_get_raises_the_bound_and_a_put_lowers_it),
        UNIT(an_update_to_an_earlier_time_lowers_the_bound),
        UNIT(a_put_behind_the_get_in_its_group_is_found_by_the_next),
        UNIT(a_put_before_the_get_in_its_group_is_found_by_it),
        UNIT(a_get_that_is_not_durable_raises_nothing),
        UNIT(a_group_that_falls_apart_leaves_a_bound),
        UNIT(a_conflict_runs_the_group_again),
        SHARED(shared_storage_goes_by_no_bound_in_memory),
        UNIT(ten_thousand_invisible_messages_do_not_slow_a_get),
        UNIT(many_gets_in_one_group_read_each_row_once),
        UNIT(a_get_starts_behind_what_was_deleted_also_within_one_instant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
