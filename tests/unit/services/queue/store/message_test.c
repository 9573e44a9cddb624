/* Pop receipts, and messages in their rows. */
#include "services/queue/store/message.h"

#include "check.h"
#include "services/queue/store/number.h"
#include "services/queue/store/row.h"

TEST(a_receipt_comes_back_as_it_was)
{
    static const tv_receipt receipts[] = {{0, 0}, {1, 2}, {INT64_MAX, UINT64_MAX}};

    for (size_t i = 0; i < sizeof receipts / sizeof *receipts; i++) {
        char text[TV_RECEIPT_TEXT_LEN];
        tv_receipt receipt;

        tv_receipt_format(text, &receipts[i]);
        CHECK(tv_receipt_parse((tv_slice){text, sizeof text}, &receipt));
        CHECK_INT(receipt.sequence, receipts[i].sequence);
        CHECK(receipt.secret == receipts[i].secret);
    }
}

TEST(what_is_no_receipt_is_refused)
{
    static const char *const texts[] = {
        "",
        "x",
        "AQAAAAAAAAAAAAAAAAAAAAA",      /* cut */
        "AQAAAAAAAAAAAAAAAAAAAAAAAAAA", /* too long */
        "AgAAAAAAAAAAAAAAAAAAAAA=",     /* of another version */
        "AQAAAAAAAAAAAAAAAAAAAAB=",     /* unused bits that are set */
        "AQAAAAAAAAAAAAAAAAAAAA==",     /* a byte short */
        "AQAAAAAAAAAAAAAAAAAAAAAA",     /* a byte too many */
        "AQAAAAAAAAAAAAAAAAAAAA!=",     /* not base 64 */
        "Af//////////AAAAAAAAAAA=",     /* a number below zero */
        "AgAAAAMAAAAAAAAAyIzI1X8c2AE=", /* the cloud's own */
    };
    tv_receipt receipt;

    CHECK(tv_receipt_parse(TV_LIT("AQAAAAAAAAAAAAAAAAAAAAA="), &receipt));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        t_row = texts[i];
        CHECK(!tv_receipt_parse(tv_slice_of(texts[i]), &receipt));
    }
}

static tv_message sample(tv_slice text)
{
    return (tv_message){
        .inserted = 11,
        .expires = TV_MESSAGE_NEVER,
        .next_visible = 13,
        .receipt = {14, 15},
        .dequeue_count = 16,
        .text = text,
    };
}

TEST(a_message_comes_back_from_its_row)
{
    static char text[TV_MESSAGE_TEXT_INLINE_MAX + 1];
    static const size_t lens[] = {0, 1, TV_MESSAGE_TEXT_INLINE_MAX, TV_MESSAGE_TEXT_INLINE_MAX + 1};

    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        char row[TV_MESSAGE_ROW_BYTES_MAX];
        tv_message message = sample((tv_slice){text, lens[i]}), got;
        size_t len = tv_queue_write_message(row, &message);

        CHECK_OK(tv_queue_read_message((tv_slice){row, len}, &got));
        CHECK_INT(got.inserted, 11);
        CHECK(got.expires == TV_MESSAGE_NEVER);
        CHECK_INT(got.next_visible, 13);
        CHECK_INT(got.receipt.sequence, 14);
        CHECK(got.receipt.secret == 15);
        CHECK_INT(got.dequeue_count, 16);
        CHECK_INT(got.text.len, lens[i]);
        if (lens[i] > TV_MESSAGE_TEXT_INLINE_MAX)
            CHECK(got.text.data == NULL && len < 100);
        else
            CHECK_SLICE(got.text, message.text);
        /* Cut at any place, it is no message. */
        for (size_t cut = 0; cut < len; cut++)
            CHECK_ERR(tv_queue_read_message((tv_slice){row, cut}, &got), TV_ERR_CORRUPT);
        row[0] = 9;
        CHECK_ERR(tv_queue_read_message((tv_slice){row, len}, &got), TV_ERR_CORRUPT);
    }
}

TEST(keys_are_laid_out_as_the_header_says_and_have_no_nul)
{
    tv_guid id = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF}};
    tv_queue_place place = {32, 1}, got;
    tv_queue_key key;
    tv_slice q = TV_LIT("Q");

    CHECK_TEXT(tv_queue_key_counts(&key, q), "Qc");
    CHECK_TEXT(tv_queue_key_generation(&key, q, 33), "Qg00000011");
    CHECK_TEXT(tv_queue_key_message(&key, q, 0, &id), "Qg00000000m0000000000000000000000007v");
    CHECK_TEXT(tv_queue_key_text(&key, q, 0, &id), "Qg00000000t0000000000000000000000007v");
    tv_slice row = tv_queue_key_place(&key, q, 0, TV_QUEUE_VISIBLE, place);
    CHECK_TEXT(row, "Qg00000000v00000000000100000000000001");
    CHECK_OK(tv_queue_read_place(row, &got));
    CHECK_INT(tv_queue_place_cmp(place, got), 0);
    CHECK_ERR(tv_queue_read_place(TV_LIT("short"), &got), TV_ERR_CORRUPT);
}

TEST(places_sort_by_time_then_by_sequence)
{
    static const tv_queue_place places[] = {{0, 0},         {0, 1}, {1, 0},
                                            {1, INT64_MAX}, {2, 0}, {TV_TICKS_MAX, 0}};
    char last[TV_QUEUE_KEY_BYTES_MAX] = "";
    size_t last_len = 0;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        tv_queue_key key;
        tv_slice row = tv_queue_key_place(&key, TV_LIT("Q"), 5, TV_QUEUE_EXPIRY, places[i]);

        CHECK(tv_slice_cmp((tv_slice){last, last_len}, row) < 0);
        CHECK(i == 0 || tv_queue_place_cmp(places[i - 1], places[i]) < 0);
        memcpy(last, row.data, row.len);
        last_len = row.len;
    }
}

TEST(counts_and_index_entries_come_back)
{
    tv_queue_counts counts = {
        .generation = 2, .dropped_below = 1, .next_sequence = 4, .messages = 3};
    tv_queue_counts got;
    char value[TV_QUEUE_COUNTS_BYTES_MAX], entry[TV_QUEUE_ENTRY_BYTES];
    size_t len;
    tv_message message = sample(TV_LIT("x"));
    int64_t expires;
    tv_guid id;

    len = tv_queue_write_counts(value, &counts);
    CHECK_INT(len, TV_QUEUE_COUNTS_BYTES);
    CHECK_OK(tv_queue_read_counts((tv_slice){value, len}, &got));
    CHECK(memcmp(&counts, &got, sizeof got) == 0);
    CHECK_ERR(tv_queue_read_counts((tv_slice){value, len - 1}, &got), TV_ERR_CORRUPT);

    counts.visible_bound = (tv_queue_place){5, 6};
    counts.expiry_bound = (tv_queue_place){7, 8};
    counts.latest = 9;
    len = tv_queue_write_counts(value, &counts);
    CHECK_INT(len, TV_QUEUE_COUNTS_BYTES_MAX);
    CHECK_OK(tv_queue_read_counts((tv_slice){value, len}, &got));
    CHECK(memcmp(&counts, &got, sizeof got) == 0);
    CHECK_ERR(tv_queue_read_counts((tv_slice){value, len - 8}, &got), TV_ERR_CORRUPT);
    value[len - 8] = 0x7F; /* an instant that is none */
    CHECK_ERR(tv_queue_read_counts((tv_slice){value, len}, &got), TV_ERR_CORRUPT);
    value[len - 8] = 0;
    value[0] = 1; /* not the form that has bounds */
    CHECK_ERR(tv_queue_read_counts((tv_slice){value, len}, &got), TV_ERR_CORRUPT);

    message.id = tv_guid_new();
    tv_queue_write_entry(entry, &message);
    CHECK_OK(tv_queue_read_entry((tv_slice){entry, sizeof entry}, &id, &expires));
    CHECK(memcmp(&id, &message.id, sizeof id) == 0 && expires == message.expires);
    CHECK_ERR(tv_queue_read_entry(TV_LIT("x"), &id, &expires), TV_ERR_CORRUPT);
}

/* What no store has written, and what would be too much for keys and dates, is damage. */
TEST(counts_that_cannot_be_are_damage)
{
    static const struct {
        const char *what;
        int64_t numbers[4]; /* generation, dropped_below, next_sequence, messages */
        tv_err err;
    } rows[] = {
        {"nothing yet", {0, 0, 0, 0}, TV_OK},
        {"the greatest",
         {TV_QUEUE_GENERATION_MAX, TV_QUEUE_GENERATION_MAX, TV_QUEUE_SEQUENCE_MAX,
          TV_QUEUE_SEQUENCE_MAX},
         TV_OK},
        {"a generation below zero", {-1, 0, 1, 1}, TV_ERR_CORRUPT},
        {"a generation with too many digits",
         {TV_QUEUE_GENERATION_MAX + 1, 0, 1, 1},
         TV_ERR_CORRUPT},
        {"a drop below zero", {1, -1, 1, 1}, TV_ERR_CORRUPT},
        {"a drop of what is to come", {1, 2, 1, 1}, TV_ERR_CORRUPT},
        {"a number below zero", {0, 0, -1, 0}, TV_ERR_CORRUPT},
        {"a number that has no next", {0, 0, INT64_MAX, 0}, TV_ERR_CORRUPT},
        {"fewer than no messages", {0, 0, 1, -1}, TV_ERR_CORRUPT},
        {"more messages than were put", {0, 0, 1, 2}, TV_ERR_CORRUPT},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char value[TV_QUEUE_COUNTS_BYTES] = {1};
        tv_queue_counts got;

        t_row = rows[i].what;
        for (int n = 0; n < 4; n++)
            tv_number_put(value + 1 + n * TV_NUMBER_BYTES, rows[i].numbers[n]);
        CHECK_ERR(tv_queue_read_counts((tv_slice){value, sizeof value}, &got), rows[i].err);
    }
}

TEST(messages_that_cannot_be_are_damage)
{
    enum { INSERTED, EXPIRES, NEXT_VISIBLE, SEQUENCE, SECRET, DEQUEUE_COUNT };
    static const struct {
        const char *what;
        int number;
        int64_t value;
        tv_err err;
    } rows[] = {
        {"every bit of a secret", SECRET, -1, TV_OK},
        {"inserted before time began", INSERTED, -1, TV_ERR_CORRUPT},
        {"inserted after the year 9999", INSERTED, TV_TICKS_MAX + 1, TV_ERR_CORRUPT},
        {"expired before time began", EXPIRES, -1, TV_ERR_CORRUPT},
        {"expires after the year 9999", EXPIRES, TV_TICKS_MAX + 1, TV_ERR_CORRUPT},
        {"visible before time began", NEXT_VISIBLE, -1, TV_ERR_CORRUPT},
        {"visible after the year 9999", NEXT_VISIBLE, INT64_MAX, TV_ERR_CORRUPT},
        {"the greatest number", SEQUENCE, TV_QUEUE_SEQUENCE_MAX - 1, TV_OK},
        {"a number that is not given out", SEQUENCE, TV_QUEUE_SEQUENCE_MAX, TV_ERR_CORRUPT},
        {"a number below zero", SEQUENCE, -1, TV_ERR_CORRUPT},
        {"got less than never", DEQUEUE_COUNT, -1, TV_ERR_CORRUPT},
        {"got too often", DEQUEUE_COUNT, INT64_C(1) << 32, TV_ERR_CORRUPT},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char row[TV_MESSAGE_ROW_BYTES_MAX];
        tv_message message = sample(TV_LIT("x")), got;
        size_t len = tv_queue_write_message(row, &message);

        t_row = rows[i].what;
        tv_number_put(row + 1 + rows[i].number * TV_NUMBER_BYTES, rows[i].value);
        CHECK_ERR(tv_queue_read_message((tv_slice){row, len}, &got), rows[i].err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receipt_comes_back_as_it_was),
        cmocka_unit_test(what_is_no_receipt_is_refused),
        cmocka_unit_test(a_message_comes_back_from_its_row),
        cmocka_unit_test(keys_are_laid_out_as_the_header_says_and_have_no_nul),
        cmocka_unit_test(places_sort_by_time_then_by_sequence),
        cmocka_unit_test(counts_and_index_entries_come_back),
        cmocka_unit_test(counts_that_cannot_be_are_damage),
        cmocka_unit_test(messages_that_cannot_be_are_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
