/* What the operations on messages do, one at a time, over the memory engine. */
#include "services/queue/writes.h"

#include "services/queue/store/number.h"
#include "store.h"
#include "test_engine.h"

static int set_up(void **state)
{
    (void)state;
    store_open(test_engine_new(NULL));
    pass(1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tv_engine_close(store_leave());
    return 0;
}

TEST(a_queue_that_never_had_a_message_is_empty)
{
    CHECK_GET(32, 30, "");
    CHECK_PEEK(32, "");
    CHECK_INT(count_messages(), 0);
    CHECK_OK(clear());
    gc_all();
    CHECK_INT(count_rows(), 0);
}

TEST(a_message_is_put_peeked_got_and_deleted)
{
    tv_message put_one, got, peeked[TV_MESSAGES_MAX];
    size_t count;

    CHECK_OK(put_message("hello", 0, 7 * DAY_S, &put_one));
    CHECK_INT(put_one.inserted, tv_instant_now());
    CHECK_INT(put_one.next_visible, put_one.inserted);
    CHECK_INT(put_one.expires, put_one.inserted + 7 * DAY_S * SECOND);
    CHECK_INT(put_one.dequeue_count, 0);
    CHECK_INT(count_messages(), 1);

    CHECK_OK(tv_queue_peek(&queue, &arena, 32, peeked, &count));
    CHECK_INT(count, 1);
    CHECK_INT(peeked[0].dequeue_count, 0);
    CHECK_TEXT(peeked[0].text, "hello");
    CHECK(memcmp(&peeked[0].id, &put_one.id, sizeof put_one.id) == 0);

    got = get_one(30);
    CHECK_TEXT(got.text, "hello");
    CHECK_INT(got.dequeue_count, 1);
    CHECK_INT(got.inserted, put_one.inserted);
    CHECK_INT(got.expires, put_one.expires);
    CHECK_INT(got.next_visible, tv_instant_now() + 30 * SECOND);
    CHECK(memcmp(&got.id, &put_one.id, sizeof got.id) == 0);
    CHECK_GET(32, 30, "");
    CHECK_PEEK(32, "");
    CHECK_INT(count_messages(), 1); /* invisible, but there */

    CHECK_OK(delete_message(&got));
    CHECK_INT(count_messages(), 0);
    CHECK_INT(count_rows(), 1);
    CHECK_ERR(delete_message(&got), TV_ERR_MESSAGE_NOT_FOUND);
}

TEST(ids_are_guids_that_grow_with_time)
{
    tv_message first, second;

    CHECK_OK(put_message("a", 0, -1, &first));
    pass(1);
    CHECK_OK(put_message("b", 0, -1, &second));
    CHECK(memcmp(first.id.bytes, second.id.bytes, sizeof first.id.bytes) < 0);
    CHECK_INT(second.id.bytes[6] >> 4, 7);
    CHECK_INT(second.id.bytes[8] >> 6, 2);
}

TEST(a_message_comes_back_when_its_timeout_is_over)
{
    tv_message got;

    CHECK_OK(put_message("a", 0, -1, NULL));
    got = get_one(10);
    pass_ticks(10 * SECOND - 5);
    CHECK_GET(1, 10, "");
    pass(1);
    CHECK_PEEK(1, "a ");
    got = get_one(10);
    CHECK_INT(got.dequeue_count, 2);
}

TEST(a_message_put_with_a_timeout_appears_later)
{
    CHECK_OK(put_message("late", 5, 60, NULL));
    CHECK_OK(put_message("now", 0, 60, NULL));
    CHECK_GET(32, 60, "now ");
    pass(5);
    CHECK_PEEK(32, "late ");
    CHECK_GET(32, 60, "late ");
}

TEST(messages_come_in_the_order_in_which_they_become_visible)
{
    tv_message b;

    CHECK_OK(put_message("a", 0, -1, NULL));
    CHECK_OK(put_message("b", 0, -1, &b));
    CHECK_OK(put_message("c", 3, -1, NULL));
    CHECK_OK(put_message("d", 0, -1, NULL));
    CHECK_OK(update(&b, 2, NULL));
    pass(10);
    CHECK_PEEK(32, "a d b c ");
    CHECK_GET(3, 1, "a d b ");
    pass(1);
    CHECK_GET(32, 1, "c a b d "); /* those of one get are visible at one time again */
}

TEST(messages_of_one_instant_come_in_the_order_in_which_they_were_put)
{
    enum { COUNT = 20 };
    tv_queue_put ops[COUNT];
    tv_write writes[COUNT] = {0}, *list[COUNT];
    char texts[COUNT][4];

    for (int i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "%c", 'a' + i);
        ops[i] = (tv_queue_put){.queue = &queue, .text = tv_slice_of(texts[i]), .ttl_s = 60};
        CHECK_OK(tv_queue_prepare_put(&ops[i], &writes[i]));
        list[i] = &writes[i];
    }
    CHECK_OK(commit_group(list, COUNT));
    CHECK_INT(ops[0].message.inserted, ops[COUNT - 1].message.inserted);
    CHECK_GET(32, 30, "a b c d e f g h i j k l m n o p q r s t ");
}

TEST(the_receipt_of_a_put_is_good_until_the_first_get)
{
    tv_message first, second;

    CHECK_OK(put_message("a", 10, -1, &first));
    CHECK_OK(put_message("b", 0, -1, &second));
    CHECK_OK(delete_message(&first)); /* invisible still */
    CHECK_OK(update(&second, 0, NULL));
    get_one(1);
    CHECK_ERR(delete_message(&second), TV_ERR_MESSAGE_NOT_FOUND);
}

TEST(every_get_and_every_update_makes_a_new_receipt)
{
    tv_message old, now;

    CHECK_OK(put_message("a", 0, -1, &old));
    now = get_one(1);
    CHECK_ERR(delete_message(&old), TV_ERR_MESSAGE_NOT_FOUND);
    old = now;
    CHECK_OK(update(&now, 1, NULL));
    CHECK_ERR(delete_message(&old), TV_ERR_MESSAGE_NOT_FOUND);
    CHECK_ERR(update(&old, 1, NULL), TV_ERR_MESSAGE_NOT_FOUND);
    old = now;
    pass(1);
    /* Visible again, and no client has got it: the receipt is valid. */
    CHECK_OK(update(&now, 0, NULL));
    old = now;
    now = get_one(1);
    CHECK_ERR(update(&old, 1, NULL), TV_ERR_MESSAGE_NOT_FOUND);
    CHECK_OK(delete_message(&now));
}

TEST(a_receipt_fits_its_own_message_only)
{
    tv_message a, b, mixed, unknown;

    CHECK_OK(put_message("a", 0, -1, &a));
    CHECK_OK(put_message("b", 0, -1, &b));
    mixed = a;
    mixed.receipt = b.receipt;
    CHECK_ERR(delete_message(&mixed), TV_ERR_POP_RECEIPT_MISMATCH);
    mixed.receipt.secret = a.receipt.secret; /* ... even if its secret were the same */
    CHECK_ERR(delete_message(&mixed), TV_ERR_POP_RECEIPT_MISMATCH);
    /* A guess is a guess, however close. */
    for (int bit = 0; bit < 64; bit++) {
        mixed.receipt = a.receipt;
        mixed.receipt.secret ^= UINT64_C(1) << bit;
        CHECK_ERR(delete_message(&mixed), TV_ERR_MESSAGE_NOT_FOUND);
        CHECK_ERR(update(&mixed, 0, NULL), TV_ERR_MESSAGE_NOT_FOUND);
    }
    unknown = a;
    unknown.id = tv_guid_new();
    CHECK_ERR(delete_message(&unknown), TV_ERR_MESSAGE_NOT_FOUND);
    CHECK_ERR(update(&unknown, 0, NULL), TV_ERR_MESSAGE_NOT_FOUND);
    CHECK_INT(count_messages(), 2);
}

TEST(an_update_changes_time_and_text_and_not_the_dequeue_count)
{
    tv_message message;
    int64_t expires;

    CHECK_OK(put_message("one", 0, 60, &message));
    message = get_one(10);
    expires = message.expires;
    CHECK_OK(update(&message, 20, NULL));
    CHECK_INT(message.next_visible, tv_instant_now() + 20 * SECOND);
    CHECK_INT(message.expires, expires);
    pass(15);
    CHECK_PEEK(1, "");
    CHECK_OK(update(&message, 0, "two"));
    CHECK_PEEK(1, "two ");
    CHECK_OK(update(&message, 0, ""));
    CHECK_PEEK(1, " ");
    message = get_one(10);
    CHECK_INT(message.dequeue_count, 2);
    CHECK_INT(message.text.len, 0);
}

TEST(texts_of_every_length_are_kept)
{
    static const size_t lens[] = {0, 1, TV_MESSAGE_TEXT_INLINE_MAX, TV_MESSAGE_TEXT_INLINE_MAX + 1,
                                  TV_MESSAGE_TEXT_BYTES_MAX};
    static char text[TV_MESSAGE_TEXT_BYTES_MAX + 2];
    tv_message message;

    CHECK_OK(put_message("", 0, -1, &message));
    for (size_t from = 0; from < 5; from++) {
        for (size_t to = 0; to < 5; to++) {
            memset(text, 'f', lens[from]);
            text[lens[from]] = '\0';
            CHECK_OK(update(&message, 0, text));
            memset(text, 't', lens[to]);
            text[lens[to]] = '\0';
            CHECK_OK(update(&message, 0, text));
            CHECK_OK(update(&message, 0, NULL));
            CHECK_INT(count_rows(), lens[to] > TV_MESSAGE_TEXT_INLINE_MAX ? 4 : 3);

            tv_message peeked[TV_MESSAGES_MAX];
            size_t count;

            CHECK_OK(tv_queue_peek(&queue, &arena, 1, peeked, &count));
            CHECK_SLICE(peeked[0].text, tv_slice_of(text));
            message = get_one(1);
            CHECK_SLICE(message.text, tv_slice_of(text));
        }
    }
    CHECK_OK(delete_message(&message));
    CHECK_INT(count_rows(), 1);

    memset(text, 'x', sizeof text - 1);
    CHECK_ERR(put_message(text, 0, -1, NULL), TV_ERR_MESSAGE_TOO_LARGE);
    CHECK_OK(put_message("", 0, -1, &message));
    CHECK_ERR(update(&message, 0, text), TV_ERR_MESSAGE_TOO_LARGE);
}

TEST(an_expired_message_is_gone)
{
    tv_message message;

    CHECK_OK(put_message("a", 0, 10, &message));
    message = get_one(1);
    pass(9);
    CHECK_PEEK(1, "a ");
    pass(1);
    CHECK_PEEK(1, "");
    CHECK_ERR(update(&message, 0, NULL), TV_ERR_MESSAGE_NOT_FOUND);
    CHECK_ERR(delete_message(&message), TV_ERR_MESSAGE_NOT_FOUND);
    CHECK_INT(count_messages(), 1); /* the count is an approximation */
    CHECK_GET(1, 1, "");
    CHECK_INT(count_messages(), 0); /* the get met it and removed it */
    CHECK_INT(count_rows(), 1);
}

TEST(a_message_may_be_hidden_beyond_its_expiry_by_a_get_and_by_an_update)
{
    tv_message message;

    CHECK_OK(put_message("a", 0, 10, &message));
    CHECK_OK(update(&message, 11, NULL));
    CHECK_OK(update(&message, 9, "b"));
    pass(9);
    message = get_one(30);
    CHECK_OK(update(&message, 2, NULL));
    pass(30);
    CHECK_GET(1, 1, "");
    gc_all();
    CHECK_INT(count_rows(), 1);
}

TEST(some_messages_never_expire)
{
    tv_message message;

    CHECK_OK(put_message("a", 0, -1, &message));
    CHECK(message.expires == TV_MESSAGE_NEVER);
    CHECK_OK(put_message("b", 0, INT64_MAX, &message));
    CHECK(message.expires == TV_MESSAGE_NEVER);
    CHECK_OK(update(&message, TV_MESSAGE_TIMEOUT_S_MAX, NULL));
    pass(20 * 365 * DAY_S);
    gc_all();
    CHECK_GET(32, 1, "a b ");
}

TEST(what_is_out_of_range_is_refused)
{
    enum { MAX = TV_MESSAGE_TIMEOUT_S_MAX };
    static const struct {
        int64_t timeout_s, ttl_s;
        bool is_good;
    } puts[] = {
        {0, 1, true},    {0, -1, true},     {MAX, -1, true},      {MAX, MAX + 1, true},
        {0, 0, false},   {0, -2, false},    {-1, 60, false},      {60, 60, false},
        {61, 60, false}, {MAX, MAX, false}, {MAX + 1, -1, false}, {59, 60, true},
    };
    tv_message message, peeked[TV_MESSAGES_MAX];
    tv_queue_get op;
    size_t count;

    for (size_t i = 0; i < sizeof puts / sizeof *puts; i++)
        CHECK_ERR(put_message("x", puts[i].timeout_s, puts[i].ttl_s, NULL),
                  puts[i].is_good ? TV_OK : TV_ERR_QUERY_OUT_OF_RANGE);
    CHECK_ERR(get_messages(0, 1, &op), TV_ERR_QUERY_OUT_OF_RANGE);
    CHECK_ERR(get_messages(33, 1, &op), TV_ERR_QUERY_OUT_OF_RANGE);
    CHECK_ERR(get_messages(1, 0, &op), TV_ERR_QUERY_OUT_OF_RANGE);
    CHECK_ERR(get_messages(1, MAX + 1, &op), TV_ERR_QUERY_OUT_OF_RANGE);
    CHECK_OK(get_messages(32, MAX, &op));
    CHECK_ERR(tv_queue_peek(&queue, &arena, 0, peeked, &count), TV_ERR_QUERY_OUT_OF_RANGE);
    CHECK_ERR(tv_queue_peek(&queue, &arena, 33, peeked, &count), TV_ERR_QUERY_OUT_OF_RANGE);
    CHECK_OK(put_message("y", 0, -1, &message));
    CHECK_ERR(update(&message, -1, NULL), TV_ERR_QUERY_OUT_OF_RANGE);
    CHECK_ERR(update(&message, MAX + 1, NULL), TV_ERR_QUERY_OUT_OF_RANGE);
}

TEST(a_cleared_queue_is_empty_for_everybody)
{
    tv_message got, unread, later;

    CHECK_OK(put_message("a", 0, 60, NULL));
    CHECK_OK(put_message("b", 5, 60, &unread));
    got = get_one(10);
    CHECK_OK(clear());
    CHECK_INT(count_messages(), 0);
    CHECK_PEEK(32, "");
    CHECK_GET(32, 1, "");
    CHECK_ERR(delete_message(&got), TV_ERR_MESSAGE_NOT_FOUND);
    CHECK_ERR(update(&unread, 0, NULL), TV_ERR_MESSAGE_NOT_FOUND);
    CHECK_OK(put_message("c", 0, 60, &later));
    CHECK(later.receipt.sequence > unread.receipt.sequence);
    pass(20);
    CHECK_PEEK(32, "c ");
    CHECK_GET(32, 1, "c ");
    CHECK_INT(count_messages(), 1);
}

TEST(clearing_costs_the_same_for_one_message_and_for_many)
{
    tv_queue_gc_step op;

    if (test_has_ranges())
        return; /* rows come in pages there, which are not counted */

    for (int i = 0; i < 1000; i++)
        CHECK_OK(put_message("x", 0, 60, NULL));
    start_counting();
    CHECK_OK(clear());
    CHECK_INT(stop_counting(), 1); /* the counts */
    CHECK_INT(count_rows(), 3001);
    CHECK_OK(put_message("new", 0, 60, NULL));
    CHECK_OK(gc(&op));
    CHECK(!op.has_more);
    CHECK_INT(count_rows(), 4);
    CHECK_GET(32, 1, "new ");
    /* What was dropped once is not dropped again. */
    uint64_t writes = tv_memory_write_count(engine);
    CHECK_OK(gc(&op));
    CHECK_INT(tv_memory_write_count(engine), writes);
}

TEST(gc_removes_expired_messages_in_steps)
{
    tv_queue_gc_step op;
    int steps = 0;

    for (int i = 0; i < 600; i++)
        CHECK_OK(put_message("x", 0, 10, NULL));
    CHECK_OK(put_message("stays", 0, 60, NULL));
    CHECK_OK(gc(&op));
    CHECK_INT(op.removed, 0);
    pass(11);
    do {
        CHECK_OK(gc(&op));
        CHECK(op.removed <= 256);
        steps++;
    } while (op.has_more);
    CHECK_INT(steps, 3);
    CHECK_INT(count_messages(), 1);
    CHECK_INT(count_rows(), 4);
    check_bounds();
    CHECK_GET(32, 1, "stays ");
}

TEST(a_get_finds_the_one_live_message_behind_many_expired_ones)
{
    if (test_has_ranges())
        return; /* a queue in shared storage has no bounds in memory */

    for (int i = 0; i < 200; i++)
        CHECK_OK(put_message("old", 0, 10, NULL));
    CHECK_OK(put_message("live", 0, 60, NULL));
    pass(11);
    CHECK_PEEK(32, "live ");
    CHECK_GET(1, 30, "live ");
    CHECK_INT(count_messages(), 201 - 32); /* a few were removed in passing */
    check_bounds();
    /* The others will not be met again, and are left to the gc. */
    start_counting();
    CHECK_GET(1, 30, "");
    CHECK(stop_counting() <= 2);
    gc_all();
    CHECK_INT(count_messages(), 1);
    CHECK_INT(count_rows(), 4);
}

TEST(a_dropped_queue_is_not_found)
{
    tv_message message, peeked[TV_MESSAGES_MAX];
    tv_queue_gc_step step;
    tv_queue_get op;
    int64_t number;
    size_t count;

    CHECK_OK(put_message("a", 0, -1, &message));
    atomic_store(&is_dropped, true);
    CHECK_ERR(put_message("b", 0, -1, NULL), TV_ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(get_messages(1, 1, &op), TV_ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(update(&message, 1, NULL), TV_ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(delete_message(&message), TV_ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(clear(), TV_ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(gc(&step), TV_ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(tv_queue_peek(&queue, &arena, 1, peeked, &count), TV_ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(tv_queue_count(&queue, TV_READ_ANY, &number), TV_ERR_QUEUE_NOT_FOUND);
}

TEST(an_engine_that_cannot_read_is_an_error_and_not_an_empty_queue)
{
    tv_message peeked[TV_MESSAGES_MAX];
    tv_queue_get op;
    int64_t number;
    size_t count;

    CHECK_OK(put_message("a", 0, -1, NULL));
    tv_memory_fail_reads(engine, TV_ERR_CORRUPT);
    CHECK_ERR(get_messages(1, 1, &op), TV_ERR_CORRUPT);
    CHECK_ERR(tv_queue_peek(&queue, &arena, 1, peeked, &count), TV_ERR_CORRUPT);
    tv_memory_fail_reads(engine, TV_OK);
    tv_memory_set_would_block(engine, true);
    CHECK_ERR(tv_queue_count(&queue, TV_READ_CACHED, &number), TV_ERR_WOULD_BLOCK);
    tv_memory_set_would_block(engine, false);
    CHECK_GET(1, 1, "a ");
}

static void damage_counts(const tv_queue_counts *counts)
{
    const int64_t numbers[] = {counts->generation, counts->dropped_below, counts->next_sequence,
                               counts->messages};
    char value[TV_QUEUE_COUNTS_BYTES] = {1};
    tv_write_batch batch = {0};
    tv_queue_key key;

    for (int i = 0; i < 4; i++)
        tv_number_put(value + 1 + i * TV_NUMBER_BYTES, numbers[i]);
    tv_write_batch_add(
        &batch,
        (tv_change){TV_CHANGE_PUT, tv_queue_key_counts(&key, queue.prefix), {value, sizeof value}});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
}

/* The server must answer, and go on with the other queues. */
TEST(counts_that_do_not_fit_the_messages_are_an_error)
{
    tv_queue_gc_step step;
    tv_message message;
    tv_queue_get got;

    CHECK_OK(put_message("a", 0, -1, &message));
    damage_counts(&(tv_queue_counts){.next_sequence = 1});
    CHECK_ERR(delete_message(&message), TV_ERR_CORRUPT);

    CHECK_OK(put_message("b", 0, 1, NULL));
    damage_counts(&(tv_queue_counts){.next_sequence = 2});
    pass(2);
    CHECK_ERR(gc(&step), TV_ERR_CORRUPT);
    CHECK_ERR(get_messages(2, 30, &got), TV_ERR_CORRUPT);
    CHECK_PEEK(2, "a ");

    damage_counts(&(tv_queue_counts){.next_sequence = TV_QUEUE_SEQUENCE_MAX, .messages = 1});
    CHECK_ERR(put_message("c", 0, -1, NULL), TV_ERR_CORRUPT);
    damage_counts(&(tv_queue_counts){
        .generation = TV_QUEUE_GENERATION_MAX, .next_sequence = 1, .messages = 1});
    CHECK_ERR(clear(), TV_ERR_CORRUPT);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_queue_that_never_had_a_message_is_empty),
        UNIT(a_message_is_put_peeked_got_and_deleted),
        UNIT(ids_are_guids_that_grow_with_time),
        UNIT(a_message_comes_back_when_its_timeout_is_over),
        UNIT(a_message_put_with_a_timeout_appears_later),
        UNIT(messages_come_in_the_order_in_which_they_become_visible),
        UNIT(messages_of_one_instant_come_in_the_order_in_which_they_were_put),
        UNIT(the_receipt_of_a_put_is_good_until_the_first_get),
        UNIT(every_get_and_every_update_makes_a_new_receipt),
        UNIT(a_receipt_fits_its_own_message_only),
        UNIT(an_update_changes_time_and_text_and_not_the_dequeue_count),
        UNIT(texts_of_every_length_are_kept),
        UNIT(an_expired_message_is_gone),
        UNIT(a_message_may_be_hidden_beyond_its_expiry_by_a_get_and_by_an_update),
        UNIT(some_messages_never_expire),
        UNIT(what_is_out_of_range_is_refused),
        UNIT(a_cleared_queue_is_empty_for_everybody),
        UNIT(clearing_costs_the_same_for_one_message_and_for_many),
        UNIT(gc_removes_expired_messages_in_steps),
        UNIT(a_get_finds_the_one_live_message_behind_many_expired_ones),
        UNIT(a_dropped_queue_is_not_found),
        UNIT(an_engine_that_cannot_read_is_an_error_and_not_an_empty_queue),
        UNIT(counts_that_do_not_fit_the_messages_are_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
