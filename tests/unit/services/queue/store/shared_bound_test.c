/*
 * The bounds in the counts, on an engine that several nodes share: two nodes that do
 * not hear of each other, each with a tv_queue and a transaction of its own.
 */
#include "nodes.h"
#include "random.h"

static void check_stored_bounds(void)
{
    tv_queue_counts counts = stored_counts();

    check_bound(TV_QUEUE_VISIBLE, counts.visible_bound);
    check_bound(TV_QUEUE_EXPIRY, counts.expiry_bound);
}

TEST(a_get_stores_the_bound_when_it_has_moved_over_many_rows)
{
    enum { GETS = 4 * TV_QUEUE_BOUND_ROWS_MIN };
    tv_queue_place bound = {0, 0};
    int raised = 0;

    for (int i = 0; i < GETS; i++)
        put_on(0, 0, -1);
    CHECK_INT(stored_counts().visible_bound.ticks, 0);
    for (int i = 0; i < GETS; i++) {
        tv_queue_get get = get_of(1, 1);

        CHECK_OK(run_whole(1, tv_queue_get_run, &get));
        CHECK_INT(get.message_count, 1);
        check_stored_bounds();
        raised += tv_queue_place_cmp(stored_counts().visible_bound, bound) != 0;
        bound = stored_counts().visible_bound;
    }
    CHECK(raised >= 4 && raised <= 5); /* the first one, and not for every get */

    tv_queue_get get = get_of(0, 1);

    CHECK_INT(stored_counts().messages, GETS);
    CHECK_OK(run_whole(0, tv_queue_get_run, &get));
    CHECK_INT(get.message_count, 0);
}

/* Others may have removed what lies between. */
TEST(an_old_bound_is_raised_by_the_next_get)
{
    put_on(0, 60, -1);
    pass(31);

    tv_queue_get get = get_of(0, 1);

    CHECK_OK(run_whole(0, tv_queue_get_run, &get));
    CHECK_INT(stored_counts().visible_bound.ticks, tv_instant_now() + 1);
    check_stored_bounds();
    pass(31);
    get = get_of(1, 1);
    CHECK_OK(run_whole(1, tv_queue_get_run, &get));
    CHECK_INT(get.message_count, 1);
}

TEST(a_queue_without_messages_is_not_written_to)
{
    tv_queue_get get = get_of(0, 1);
    tv_queue_gc_step step = {.queue = &queues[0]};

    pass(7200);
    CHECK_OK(run_whole(0, tv_queue_get_run, &get));
    CHECK_OK(run_whole(0, tv_queue_gc_run, &step));
    CHECK_INT(count_rows(), 0);
}

TEST(a_collection_is_not_refused_when_it_found_nothing)
{
    tv_queue_gc_step step = {.queue = &queues[0]};

    put_on(1, 0, 60);
    CHECK_OK(run_whole(0, tv_queue_gc_run, &step)); /* stores the first bound */
    CHECK_OK(run(0, tv_queue_gc_run, &step));
    put_on(1, 0, 60);
    CHECK_OK(tv_txn_commit(txns[0]));

    pass(61);
    CHECK_OK(run(0, tv_queue_gc_run, &step));
    put_on(1, 0, 60);
    CHECK_ERR(tv_txn_commit(txns[0]), TV_ERR_CONFLICT);
    CHECK_OK(run_whole(0, tv_queue_gc_run, &step));
    CHECK_INT(step.removed, 2);
    CHECK_INT(stored_counts().messages, 1);
}

/* Run a get on node 0 up to its write, with a bound to raise; `get` is its memory. */
static void begin_raising_get(tv_queue_get *get)
{
    *get = get_of(0, 1);
    atomic_store(&queues[0].visible.gone, TV_QUEUE_BOUND_ROWS_MIN);
    CHECK_OK(run(0, tv_queue_get_run, get));
    CHECK_INT(get->message_count, 0);
}

TEST(a_get_that_would_raise_the_bound_above_a_put_is_refused)
{
    tv_queue_get get;

    put_on(1, 600, -1);
    pass(1);
    begin_raising_get(&get);
    put_on(1, 0, -1);
    CHECK_ERR(tv_txn_commit(txns[0]), TV_ERR_CONFLICT);
    check_stored_bounds();
    CHECK_OK(run_whole(0, tv_queue_get_run, &get));
    CHECK_INT(get.message_count, 1);
}

TEST(a_get_that_would_raise_the_bound_above_a_message_made_visible_is_refused)
{
    tv_message message = put_on(1, 0, -1);
    tv_queue_get taken = get_of(1, 1), get;

    CHECK_OK(run_whole(1, tv_queue_get_run, &taken));
    message = taken.messages[0];
    pass(1);

    /* Before the get is written the other node lets the message go; an older instant is enough. */
    tv_queue_update update_op = {
        .queue = &queues[1], .id = message.id, .receipt = message.receipt, .timeout_s = 0};
    CHECK_OK(run(1, tv_queue_update_run, &update_op));
    begin_raising_get(&get);
    CHECK_OK(tv_txn_commit(txns[1]));
    CHECK_ERR(tv_txn_commit(txns[0]), TV_ERR_CONFLICT);
    check_stored_bounds();
    CHECK_OK(run_whole(0, tv_queue_get_run, &get));
    CHECK_INT(get.message_count, 1);
}

TEST(what_is_put_in_the_same_group_lowers_the_bound_again)
{
    tv_queue_get get;
    tv_queue_put put = {.queue = &queues[0], .text = TV_LIT("x"), .ttl_s = -1};

    put_on(1, 600, -1);
    pass(1);
    CHECK_OK(tv_queue_put_check(&put));
    begin_raising_get(&get);
    CHECK_OK(tv_txn_run(txns[0], queue.prefix, tv_queue_put_run, &put));
    CHECK_OK(tv_txn_commit(txns[0]));
    CHECK_INT(stored_counts().visible_bound.ticks, put.message.next_visible);
    check_stored_bounds();
    CHECK_OK(run_whole(1, tv_queue_get_run, &get));
    CHECK_INT(get.message_count, 1);
}

TEST(counts_without_bounds_are_read)
{
    put_on(0, 0, 60);

    /* What every queue had before there were bounds. */
    tv_queue_counts counts = {.next_sequence = 1, .messages = 1};
    char short_form[TV_QUEUE_COUNTS_BYTES_MAX];
    size_t len = tv_queue_write_counts(short_form, &counts);

    CHECK_INT(len, TV_QUEUE_COUNTS_BYTES);
    CHECK_INT(short_form[0], 1);
    store_counts((tv_slice){short_form, len});
    pass(61);

    tv_queue_gc_step step = {.queue = &queues[1]};

    CHECK_OK(run_whole(1, tv_queue_gc_run, &step));
    CHECK_INT(step.removed, 1);
    CHECK_INT(stored_counts().expiry_bound.ticks, tv_instant_now() + 1);
}

/* --- two nodes, by chance --- */

/* One node's write under way. */
typedef struct attempt {
    bool is_open;
    tv_queue_put put;
    tv_queue_get get;
    tv_queue_update update;
    tv_queue_delete delete_op;
    tv_queue_gc_step gc;
} attempt;

enum { HELD_MAX = 64 };

static size_t random_below(size_t end)
{
    return (size_t)(t_random() % end);
}

static tv_message held[HELD_MAX];
static size_t held_count;

static void begin_random(int node, attempt *a)
{
    tv_err err = TV_OK;
    size_t pick = held_count ? random_below(held_count) : 0;

    atomic_store(&queues[node].visible.gone, (int)random_below(2 * TV_QUEUE_BOUND_ROWS_MIN));
    switch (random_below(6)) {
    case 0:
    case 1:
        a->put = (tv_queue_put){.queue = &queues[node],
                                .text = TV_LIT("x"),
                                .timeout_s = (int64_t)random_below(3),
                                .ttl_s = random_below(3) ? -1 : 3 + (int64_t)random_below(10)};
        CHECK_OK(tv_queue_put_check(&a->put));
        err = run(node, tv_queue_put_run, &a->put);
        break;
    case 2:
        a->gc = (tv_queue_gc_step){.queue = &queues[node]};
        err = run(node, tv_queue_gc_run, &a->gc);
        break;
    case 3:
        a->get = get_of(node, 1 + (int64_t)random_below(4));
        a->get.timeout_s = 1 + (int64_t)random_below(8);
        err = run(node, tv_queue_get_run, &a->get);
        break;
    case 4:
        if (held_count == 0)
            return;
        a->update = (tv_queue_update){.queue = &queues[node],
                                      .id = held[pick].id,
                                      .receipt = held[pick].receipt,
                                      .timeout_s = (int64_t)random_below(4)};
        err = run(node, tv_queue_update_run, &a->update);
        break;
    case 5:
        if (held_count == 0)
            return;
        a->delete_op = (tv_queue_delete){
            .queue = &queues[node], .id = held[pick].id, .receipt = held[pick].receipt};
        err = run(node, tv_queue_delete_run, &a->delete_op);
        break;
    }
    CHECK(err == TV_OK || err == TV_ERR_MESSAGE_NOT_FOUND || err == TV_ERR_POP_RECEIPT_MISMATCH);
    a->is_open = err == TV_OK;
}

static void hold(const tv_message *message)
{
    held[held_count < HELD_MAX ? held_count++ : random_below(HELD_MAX)] = *message;
}

/* The order in which a range takes its groups is that of their instants. */
static void end_random(int node, attempt *a, int64_t *clock)
{
    if (tv_txn_now(txns[node]) > *clock) {
        tv_err err = tv_txn_commit(txns[node]);

        CHECK(err == TV_OK || err == TV_ERR_CONFLICT);
        if (err == TV_OK) {
            *clock = tv_txn_now(txns[node]);
            if (a->get.queue)
                for (size_t i = 0; i < a->get.message_count; i++)
                    hold(&a->get.messages[i]);
            if (a->update.queue)
                hold(&a->update.message);
        }
    }
    *a = (attempt){0};
}

TEST(no_message_is_ever_below_the_bound_by_chance)
{
    attempt attempts[2] = {0};
    int64_t clock = 0;

    t_random_seed(7);
    held_count = 0;
    for (int step = 0; step < 20000; step++) {
        int node = (int)random_below(2);

        if (attempts[node].is_open) {
            end_random(node, &attempts[node], &clock);
            check_stored_bounds();
        } else {
            attempts[node] = (attempt){0};
            begin_random(node, &attempts[node]);
        }
        if (random_below(4) == 0)
            pass_ticks((int64_t)random_below(SECOND));
        if (step % 512 == 0) {
            for (int i = 0; i < 2; i++)
                attempts[i].is_open = false;
            tv_txn_begin(txns[0]);
            tv_txn_begin(txns[1]);
        }
    }
    CHECK(stored_counts().visible_bound.ticks > 0);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_get_stores_the_bound_when_it_has_moved_over_many_rows),
        UNIT(an_old_bound_is_raised_by_the_next_get),
        UNIT(a_queue_without_messages_is_not_written_to),
        UNIT(a_collection_is_not_refused_when_it_found_nothing),
        UNIT(a_get_that_would_raise_the_bound_above_a_put_is_refused),
        UNIT(a_get_that_would_raise_the_bound_above_a_message_made_visible_is_refused),
        UNIT(what_is_put_in_the_same_group_lowers_the_bound_again),
        UNIT(counts_without_bounds_are_read),
        UNIT(no_message_is_ever_below_the_bound_by_chance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
