/*
 * Nodes whose instants overtake each other: what was acknowledged is before what begins later, on
 * whatever node, though the later one has the earlier instant.
 */
#include "nodes.h"
#include "random.h"

/* The instant of the node's next group is this one, whatever others do until it runs. */
static void fall_behind(int node, int64_t ticks_behind)
{
    tv_txn_begin(txns[node]);
    pass_ticks(ticks_behind);
}

static tv_err run_behind(int node, tv_update_fn *fn, void *op)
{
    CHECK_OK(tv_txn_run(txns[node], queue.prefix, fn, op));
    return tv_txn_commit(txns[node]);
}

static tv_message put_behind(int node)
{
    tv_queue_put op = {.queue = &queues[node], .text = TV_LIT("late"), .ttl_s = -1};

    CHECK_OK(tv_queue_put_check(&op));
    CHECK_OK(run_behind(node, tv_queue_put_run, &op));
    return op.message;
}

static void check_order(const tv_message *const *expected, size_t count)
{
    tv_message peeked[TV_MESSAGES_MAX];
    tv_queue_get get = get_of(1, 32);
    size_t found;

    CHECK_OK(tv_queue_peek(&queues[0], &arena, 32, peeked, &found));
    CHECK_OK(run_whole(1, tv_queue_get_run, &get));
    CHECK_INT(found, count);
    CHECK_INT(get.message_count, count);
    for (size_t i = 0; i < count; i++) {
        CHECK(memcmp(&peeked[i].id, &expected[i]->id, sizeof(tv_guid)) == 0);
        CHECK(memcmp(&get.messages[i].id, &expected[i]->id, sizeof(tv_guid)) == 0);
    }
}

TEST(a_put_is_behind_those_that_were_acknowledged)
{
    fall_behind(0, SECOND / 2);

    tv_message first = put_on(1, 0, -1), second = put_on(1, 0, -1), third = put_behind(0);

    CHECK(third.inserted >= second.inserted && third.next_visible >= second.next_visible);
    fall_behind(1, SECOND / 2);

    tv_message fourth = put_on(0, 0, -1), fifth = put_behind(1);

    check_order((const tv_message *const[]){&first, &second, &third, &fourth, &fifth}, 5);
    CHECK_INT(stored_counts().latest, fifth.inserted);
}

TEST(what_a_node_writes_after_such_a_put_is_later)
{
    fall_behind(0, SECOND / 2);
    put_on(1, 0, -1);

    tv_message late = put_behind(0);

    CHECK(put_on(0, 0, -1).inserted > late.inserted);
}

TEST(a_get_sees_what_was_put_before_it)
{
    tv_queue_get get = get_of(0, 2);

    fall_behind(0, SECOND / 2);

    tv_message message = put_on(1, 0, -1);

    atomic_store(&queues[0].visible.gone, TV_QUEUE_BOUND_ROWS_MIN);
    CHECK_OK(run_behind(0, tv_queue_get_run, &get));
    CHECK_INT(get.message_count, 1);
    CHECK_INT(get.messages[0].dequeue_count, 1);
    CHECK(get.messages[0].next_visible >= message.next_visible + 600 * SECOND);
    CHECK_INT(stored_counts().visible_bound.ticks, message.next_visible + 1);
    CHECK_INT(stored_counts().messages, 1);
}

TEST(a_peek_sees_what_a_node_ahead_has_put)
{
    char value[TV_QUEUE_COUNTS_BYTES_MAX];
    tv_message message = put_on(1, 0, -1), found[TV_MESSAGES_MAX];
    tv_queue_counts counts = stored_counts();
    size_t count;

    /* As if that node's clock were ahead. */
    CHECK_OK(run_whole(
        1, tv_queue_get_run,
        &(tv_queue_get){.queue = &queues[1], .arena = &arena, .count = 1, .timeout_s = 1}));
    pass_ticks(SECOND - SECOND / 10);
    CHECK_OK(tv_queue_peek(&queues[0], &arena, 1, found, &count));
    CHECK_INT(count, 0);
    counts.latest = tv_instant_now() + SECOND / 5;
    store_counts((tv_slice){value, tv_queue_write_counts(value, &counts)});
    CHECK_OK(tv_queue_peek(&queues[0], &arena, 1, found, &count));
    CHECK_INT(count, 1);
    CHECK(memcmp(&found[0].id, &message.id, sizeof message.id) == 0);
}

/* The other node hides a message for a second and lets it go; this one is behind that. */
static void check_let_go(int64_t wait)
{
    tv_queue_get taken = get_of(1, 1), get = get_of(0, 1);
    tv_queue_update update_op = {.queue = &queues[1], .timeout_s = 0};

    put_on(1, 0, -1);
    taken.timeout_s = 1;
    CHECK_OK(run_whole(1, tv_queue_get_run, &taken));
    pass_ticks(wait);
    fall_behind(0, SECOND / 2);
    update_op.id = taken.messages[0].id;
    update_op.receipt = taken.messages[0].receipt;
    CHECK_OK(run_whole(1, tv_queue_update_run, &update_op));
    CHECK_OK(run_behind(0, tv_queue_get_run, &get));
    CHECK_INT(get.message_count, 1);
    CHECK_INT(get.messages[0].dequeue_count, 2);
}

TEST(a_get_sees_a_message_that_was_let_go_before_it)
{
    check_let_go(SECOND / 4);
}

TEST(also_one_that_was_visible_already)
{
    check_let_go(2 * SECOND);
}

/* Each of them makes the counts other ones, also where an instant is met again. */
TEST(two_moves_at_one_instant_are_two)
{
    tv_queue_get taken = get_of(1, 2);
    tv_queue_update update_op = {.queue = &queues[0], .timeout_s = 300};
    int64_t latest[3];

    put_on(1, 0, -1);
    put_on(1, 0, -1);
    CHECK_OK(run_whole(1, tv_queue_get_run, &taken));
    latest[0] = stored_counts().latest;
    for (int i = 0; i < 2; i++) {
        fall_behind(0, SECOND / 4);
        update_op.id = taken.messages[i].id;
        update_op.receipt = taken.messages[i].receipt;
        if (i == 1)
            put_on(1, 0, -1);
        latest[1] = stored_counts().latest;
        CHECK_OK(run_behind(0, tv_queue_update_run, &update_op));
        latest[2] = stored_counts().latest;
        CHECK(latest[2] > latest[1] && latest[1] >= latest[0]);
    }
}

TEST(an_instant_that_nobody_can_have_written_is_not_followed)
{
    static const int64_t ahead[] = {TV_INSTANT_AHEAD_MAX, DAY_S * SECOND, 0};

    put_on(1, 0, -1);
    for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++) {
        char value[TV_QUEUE_COUNTS_BYTES_MAX];
        tv_queue_counts counts = stored_counts();

        pass(1);
        fall_behind(0, 0);
        counts.latest = ahead[i] ? tv_txn_now(txns[0]) + ahead[i] : TV_TICKS_MAX;
        store_counts((tv_slice){value, tv_queue_write_counts(value, &counts)});

        int64_t now = tv_txn_now(txns[0]);

        CHECK_INT(put_behind(0).inserted, now);
        CHECK_INT(stored_counts().latest, now);
        CHECK(tv_instant_now() < now + SECOND);
    }
}

/* --- by chance --- */

enum { STEPS = 20000, NODES = 2 };

/* One node's write under way. */
typedef struct attempt {
    bool is_open;
    tv_queue_put put;
    tv_queue_get get;
    /* When it began: */
    tv_queue_place before; /* all puts that were acknowledged are at or before this */
    int64_t there;         /* messages that were put and not given out */
} attempt;

static size_t random_below(size_t end)
{
    return (size_t)(t_random() % end);
}

static tv_queue_place latest_put; /* that was acknowledged */
static int64_t put_count, got_count;

static void begin_random(int node, attempt *a)
{
    *a = (attempt){.is_open = true, .before = latest_put, .there = put_count - got_count};
    if (random_below(2)) {
        a->put = (tv_queue_put){.queue = &queues[node], .text = TV_LIT("x"), .ttl_s = -1};
        CHECK_OK(tv_queue_put_check(&a->put));
        CHECK_OK(tv_txn_run(txns[node], queue.prefix, tv_queue_put_run, &a->put));
    } else {
        a->get = get_of(node, 1 + (int64_t)random_below(3));
        a->get.timeout_s = TV_MESSAGE_TIMEOUT_S_MAX;
        CHECK_OK(tv_txn_run(txns[node], queue.prefix, tv_queue_get_run, &a->get));
    }
}

static void check_put(const attempt *a)
{
    tv_queue_place place = {a->put.message.next_visible, a->put.message.receipt.sequence};

    CHECK(tv_queue_place_cmp(place, a->before) > 0);
    if (tv_queue_place_cmp(place, latest_put) > 0)
        latest_put = place;
    put_count++;
}

/* No message is hidden from it, and none comes again. */
static void check_get(const attempt *a)
{
    CHECK_INT(a->get.message_count, a->there < a->get.count ? a->there : a->get.count);
    for (size_t i = 0; i < a->get.message_count; i++) {
        CHECK_INT(a->get.messages[i].dequeue_count, 1);
        CHECK_INT(a->get.messages[i].receipt.sequence, got_count++);
    }
}

/* A range takes a group that is late by less than that. */
static bool is_taken(int node, int64_t clock)
{
    return tv_txn_now(txns[node]) > clock - TV_INSTANT_LATE_MAX;
}

TEST(messages_come_in_the_order_in_which_they_were_put)
{
    attempt attempts[NODES] = {0};
    int64_t clock = 0, taken_late = 0;

    t_random_seed(11);
    latest_put = (tv_queue_place){0, 0};
    put_count = got_count = 0;
    for (int node = 0; node < NODES; node++)
        tv_txn_begin(txns[node]);
    for (int step = 0; step < STEPS; step++) {
        int node = (int)random_below(NODES);
        attempt *a = &attempts[node];

        if (!a->is_open) {
            begin_random(node, a);
        } else {
            int64_t now = tv_txn_now(txns[node]);

            if (is_taken(node, clock) && tv_txn_commit(txns[node]) == TV_OK) {
                taken_late += now < clock;
                clock = now > clock ? now : clock;
                if (a->put.queue)
                    check_put(a);
                else
                    check_get(a);
            }
            a->is_open = false;
            tv_txn_begin(txns[node]); /* long before it runs */
        }
        if (random_below(4) == 0)
            pass_ticks((int64_t)random_below(SECOND / 2));
    }
    CHECK(taken_late > STEPS / 50);
    CHECK(got_count > STEPS / 20);
    CHECK_INT(stored_counts().messages, put_count);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_put_is_behind_those_that_were_acknowledged),
        UNIT(what_a_node_writes_after_such_a_put_is_later),
        UNIT(a_get_sees_what_was_put_before_it),
        UNIT(a_peek_sees_what_a_node_ahead_has_put),
        UNIT(a_get_sees_a_message_that_was_let_go_before_it),
        UNIT(also_one_that_was_visible_already),
        UNIT(two_moves_at_one_instant_are_two),
        UNIT(an_instant_that_nobody_can_have_written_is_not_followed),
        UNIT(messages_come_in_the_order_in_which_they_were_put),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
