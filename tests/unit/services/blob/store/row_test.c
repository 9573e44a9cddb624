/*
 * Rows of blobs and attributes of containers: what is written comes back,
 * nothing else is accepted.
 */
#include "services/blob/store/row.h"

#include "base/clock.h"
#include "check.h"
#include "services/blob/store/container.h"

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

TEST(numbers_in_keys_sort_as_numbers)
{
    static const uint64_t numbers[] = {0, 1, 31, 32, 1000, UINT32_MAX, INT64_MAX, UINT64_MAX};
    static const char *const bad[] = {
        "", "000000000000", "00000000000000", "g000000000000", "000000000000w", "000000000000A"};
    char last[TV_BLOB_NUMBER_LEN] = {0}, text[TV_BLOB_NUMBER_LEN];
    uint64_t again;

    for (size_t i = 0; i < COUNT(numbers); i++) {
        tv_slice slice = {text, sizeof text};

        tv_blob_number_format(text, numbers[i]);
        CHECK(memcmp(text, last, sizeof text) > 0);
        CHECK(tv_blob_number_parse(slice, &again) && again == numbers[i]);
        memcpy(last, text, sizeof text);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        t_row = bad[i];
        CHECK(!tv_blob_number_parse(tv_slice_of(bad[i]), &again));
    }
}

/* Heads first, the blob's own after those of its snapshots, then blocks, chunks and pieces. */
TEST(rows_stand_in_the_order_of_the_header)
{
    tv_slice partition = TV_LIT("p\x01");
    tv_slice keys[] = {
        tv_blob_key_head(&arena, partition, 1),
        tv_blob_key_head(&arena, partition, INT64_MAX),
        tv_blob_key_head(&arena, partition, 0),
        tv_blob_key_ledger(&arena, partition),
        tv_blob_key_block(&arena, partition, 1, TV_LIT("++++")),
        tv_blob_key_block(&arena, partition, 1, TV_LIT("zzzz")),
        tv_blob_key_block(&arena, partition, 2, TV_LIT("++++")),
        tv_blob_key_chunk(&arena, partition, (tv_extent_id){1, 2}),
        tv_blob_key_chunk(&arena, partition, (tv_extent_id){2, 0}),
        tv_blob_key_discard(&arena, partition, 1),
        tv_blob_key_discard(&arena, partition, 2),
        tv_blob_key_run(&arena, partition, 1, 5),
        tv_blob_key_run(&arena, partition, 1, UINT64_MAX),
        tv_blob_key_run(&arena, partition, 2, 1),
    };

    for (size_t i = 1; i < COUNT(keys); i++)
        CHECK(tv_slice_cmp(keys[i - 1], keys[i]) < 0);
}

static tv_blob_head sample_head(uint32_t piece_count)
{
    static const tv_metadata_pair pairs[] = {{{"k", 1}, {"v", 1}}, {{"Empty", 5}, {"", 0}}};
    static tv_blob_piece pieces[TV_BLOB_INLINE_PIECES];
    tv_blob_head head = {
        .type = TV_BLOB_APPEND,
        .etag = 5,
        .created = 4,
        .content_id = UINT64_MAX,
        .piece_count = piece_count,
        .headers = {TV_LIT("t"), TV_LIT("e"), TV_LIT("l"), TV_LIT("d"), TV_LIT("c"),
                    TV_LIT("0123456789abcdef")},
        .metadata = {pairs, 2},
        .copy = {TV_LIT("id"), TV_LIT("source"), 7, 8},
        .pieces = pieces,
        .lease = {TV_LEASE_LEASED, {{1, 2, 3}}, TV_LEASE_INFINITE, 0},
        .snapshot_count = 3,
        .last_snapshot = 9,
    };

    for (uint32_t i = 0; i < COUNT(pieces); i++) {
        pieces[i] = (tv_blob_piece){.length = i + 1,
                                    .is_chunk = i % 2,
                                    .id = {i, 300 * (uint64_t)i},
                                    .block_id = i % 3 ? TV_LIT("MDA=") : TV_LIT("")};
        if (i < piece_count)
            head.length += i + 1;
        pieces[i].end = head.length;
    }
    if (piece_count > TV_BLOB_INLINE_PIECES)
        head.length = TV_BLOB_LENGTH_MAX;
    return head;
}

TEST(heads_come_back)
{
    static const uint32_t counts[] = {0, 1, TV_BLOB_INLINE_PIECES, TV_BLOB_INLINE_PIECES + 1};

    for (size_t i = 0; i < COUNT(counts); i++) {
        tv_blob_head head = sample_head(counts[i]), again;
        tv_slice value = tv_blob_head_encode(&arena, &head);

        CHECK_OK(tv_blob_head_decode(&arena, value, 11, &again));
        CHECK_INT(again.snapshot, 11);
        CHECK_INT(again.type, head.type);
        CHECK_INT(again.etag, head.etag);
        CHECK_INT(again.created, head.created);
        CHECK(again.content_id == head.content_id && again.length == head.length);
        CHECK_TEXT(again.headers.disposition, "d");
        CHECK_TEXT(again.headers.cache_control, "c");
        CHECK_TEXT(again.headers.md5, "0123456789abcdef");
        CHECK_INT(again.metadata.count, 2);
        CHECK_TEXT(again.metadata.list[1].name, "Empty");
        CHECK_INT(again.lease.duration_s, TV_LEASE_INFINITE);
        CHECK_INT(again.lease.id.bytes[2], 3);
        CHECK_TEXT(again.copy.source, "source");
        CHECK_INT(again.copy.completed, 8);
        CHECK_INT(again.snapshot_count, 3);
        CHECK_INT(again.last_snapshot, 9);
        CHECK_INT(again.piece_count, counts[i]);
        CHECK((again.pieces == NULL) == (counts[i] > TV_BLOB_INLINE_PIECES));
        for (uint32_t j = 0; again.pieces && j < counts[i]; j++) {
            CHECK_INT(again.pieces[j].end, head.pieces[j].end);
            CHECK_INT(again.pieces[j].id.number, head.pieces[j].id.number);
            CHECK_INT(again.pieces[j].is_chunk, head.pieces[j].is_chunk);
            CHECK_SLICE(again.pieces[j].block_id, head.pieces[j].block_id);
        }
    }
}

/* Every part of a value that is missing, and every byte too many, is noticed. */
TEST(values_are_whole_or_corrupt)
{
    tv_blob_head head = sample_head(3);
    tv_blob_piece run[] = {
        {.end = 6, .length = 5, .id = {1, 3}},
        {.end = 10, .length = 4, .id = {1, 2}, .block_id = TV_LIT("MDA=")},
    };
    const tv_blob_piece *pieces;
    size_t count;
    tv_block block = {.length = 5, .extent = {1, 2}};
    tv_block_ledger ledger = {3, 4, 5, 6};
    tv_slice key = tv_blob_key_run(&arena, TV_LIT("p\x01"), 1, run[1].end);
    tv_slice values[] = {
        tv_blob_head_encode(&arena, &head),
        tv_blob_run_encode(&arena, run, 2),
        tv_block_encode(&arena, &block),
        tv_block_ledger_encode(&arena, &ledger),
        tv_blob_discard_encode(&arena, run, 2),
    };

    for (size_t kind = 0; kind < COUNT(values); kind++) {
        size_t whole = values[kind].len;
        char *bytes = tv_arena_bytes(&arena, whole + 1);

        memcpy(bytes, values[kind].data, whole);
        bytes[whole] = 0;
        for (size_t len = 0; len <= whole + 1; len++) {
            tv_slice value = tv_arena_dup(&arena, (tv_slice){bytes, len});
            tv_err err = kind == 0   ? tv_blob_head_decode(&arena, value, 0, &head)
                         : kind == 1 ? tv_blob_run_decode(&arena, key, value, &pieces, &count)
                         : kind == 2 ? tv_block_decode(TV_NONE, value, &block)
                         : kind == 3
                             ? tv_block_ledger_decode(value, &ledger)
                             : tv_blob_discard_decode(&arena, value, &pieces, &count);

            CHECK_ERR(err, len == whole ? TV_OK : TV_ERR_CORRUPT);
        }
    }
}

TEST(pieces_of_a_run_follow_each_other_up_to_its_end)
{
    tv_blob_piece run[TV_BLOB_RUN_PIECES];
    const tv_blob_piece *pieces;
    size_t count;

    for (size_t i = 0; i < COUNT(run); i++)
        run[i] = (tv_blob_piece){.length = i + 1, .is_chunk = i % 2, .id = {1, i}};
    tv_slice value = tv_blob_run_encode(&arena, run, COUNT(run));
    uint64_t length = (uint64_t)COUNT(run) * (COUNT(run) + 1) / 2;

    CHECK_OK(tv_blob_run_decode(&arena, tv_blob_key_run(&arena, TV_LIT("p\x01"), 1, 1000 + length),
                                value, &pieces, &count));
    CHECK_INT(count, COUNT(run));
    for (size_t i = 0, end = 1000; i < count; i++) {
        end += i + 1;
        CHECK_INT(pieces[i].end, end);
        CHECK_INT(pieces[i].id.number, i);
        CHECK_INT(pieces[i].is_chunk, i % 2);
    }
    /* No run begins before its content does. */
    CHECK_ERR(tv_blob_run_decode(&arena, tv_blob_key_run(&arena, TV_LIT("p\x01"), 1, length - 1),
                                 value, &pieces, &count),
              TV_ERR_CORRUPT);
}

TEST(numbers_have_one_form)
{
    static const struct {
        const char *bytes;
        size_t len;
        uint64_t value;
        bool is_number;
    } rows[] = {
        {"\x00", 1, 0, true},
        {"\x7F", 1, 127, true},
        {"\x80\x01", 2, 128, true},
        {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 10, UINT64_MAX, true},
        {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 10, 0, false},
        {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x81\x00", 11, 0, false},
        {"\x80\x00", 2, 0, false},
        {"\x80", 1, 0, false},
        {"", 0, 0, false},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_unpack in = {.rest = {rows[i].bytes, rows[i].len}};

        CHECK(tv_unpack_number(&in) == rows[i].value);
        CHECK_INT(tv_unpack_is_done(&in), rows[i].is_number);
    }
}

TEST(attributes_of_containers_come_back)
{
    tv_metadata_pair pair = {TV_LIT("k"), TV_LIT("v")};
    tv_container_attributes attributes = {.created = 5,
                                          .etag = 6,
                                          .access = TV_PUBLIC_CONTAINER,
                                          .metadata = {&pair, 1},
                                          .lease = {TV_LEASE_BREAKING, {{7}}, 0, 9}},
                            again;
    tv_slice bytes = tv_container_attributes_encode(&arena, &attributes);

    CHECK_OK(tv_container_attributes_decode(&arena, bytes, &again));
    CHECK_INT(again.created, 5);
    CHECK_INT(again.etag, 6);
    CHECK_INT(again.access, TV_PUBLIC_CONTAINER);
    CHECK_TEXT(again.metadata.list[0].value, "v");
    CHECK_INT(again.lease.until, 9);
    for (size_t len = 0; len < bytes.len; len++)
        CHECK_ERR(tv_container_attributes_decode(&arena, tv_slice_take(bytes, len), &again),
                  TV_ERR_CORRUPT);

    CHECK_OK(tv_container_attributes_touch(&attributes, 3));
    CHECK_INT(attributes.etag, 7);
    CHECK_OK(tv_container_attributes_touch(&attributes, 100));
    CHECK_INT(attributes.etag, 100);
}

TEST(a_lease_guards_the_deletion_of_a_container)
{
    tv_container_attributes attributes = {0};
    tv_guid id = {{1}}, other = {{2}};
    tv_lease_request acquire = {.action = TV_LEASE_ACQUIRE, .proposed = id, .duration_s = 15};
    tv_lease_request release = {.action = TV_LEASE_RELEASE, .id = other};
    int32_t seconds;

    CHECK_ERR(tv_container_check_lease(&attributes, &id, true, 0),
              TV_ERR_CONTAINER_LEASE_NOT_PRESENT);
    CHECK_OK(tv_container_lease(&attributes, &acquire, 0, &seconds));
    CHECK_ERR(tv_container_lease(&attributes, &release, 0, &seconds),
              TV_ERR_CONTAINER_LEASE_OP_ID_MISMATCH);
    CHECK_ERR(tv_container_check_lease(&attributes, NULL, true, 1),
              TV_ERR_CONTAINER_LEASE_ID_MISSING);
    CHECK_ERR(tv_container_check_lease(&attributes, &other, true, 1),
              TV_ERR_CONTAINER_LEASE_ID_MISMATCH);
    CHECK_OK(tv_container_check_lease(&attributes, &id, true, 1));
    CHECK_OK(tv_container_check_lease(&attributes, NULL, false, 1));
    CHECK_ERR(tv_container_check_lease(&attributes, &other, false, 1),
              TV_ERR_CONTAINER_LEASE_ID_MISMATCH);
    CHECK_ERR(tv_container_check_lease(&attributes, &id, true, 15 * TV_TICKS_PER_SECOND),
              TV_ERR_CONTAINER_LEASE_LOST);
}

/* A head as bytes, whatever it says. */
typedef struct raw_head {
    uint64_t type, etag, created, length, snapshot_count, last_snapshot;
    uint64_t lease_state, lease_duration, lease_until; /* the duration and 1 */
    uint64_t copy_completed;                           /* 0: no copy */
    uint64_t piece_count;                              /* no more than one follows */
} raw_head;

static tv_slice pack_head(const raw_head *raw)
{
    tv_buf buf = TV_BUF_EMPTY;
    const uint64_t first[] = {1,          raw->type,   raw->etag,           raw->created,
                              7 /* id */, raw->length, raw->snapshot_count, raw->last_snapshot};

    for (size_t i = 0; i < COUNT(first); i++)
        tv_pack_number(&buf, first[i]);
    for (int i = 0; i < 6 + 1; i++)
        tv_pack_number(&buf, 0); /* headers, metadata */
    tv_pack_number(&buf, raw->lease_state);
    if (raw->lease_state) {
        tv_buf_add(&buf, TV_LIT("0123456789abcdef"));
        tv_pack_number(&buf, raw->lease_duration);
        tv_pack_number(&buf, raw->lease_until);
    }
    tv_pack_bytes(&buf, raw->copy_completed ? TV_LIT("id") : TV_LIT(""));
    if (raw->copy_completed) {
        tv_pack_bytes(&buf, TV_LIT("source"));
        tv_pack_number(&buf, 1);
        tv_pack_number(&buf, raw->copy_completed);
    }
    tv_pack_number(&buf, raw->piece_count);
    if (raw->piece_count == 1) {
        const uint64_t piece[] = {0, raw->length, 1, 1, 0};

        for (size_t i = 0; i < COUNT(piece); i++)
            tv_pack_number(&buf, piece[i]);
    }

    tv_slice value = tv_arena_dup(&arena, tv_buf_slice(&buf));

    tv_buf_done(&buf);
    return value;
}

/*
 * What no store has written is damage: a time that no ETag and no date can show, a
 * length that no offset reaches, pieces without a byte, a lease of no length.
 */
TEST(heads_that_cannot_be_are_damage)
{
    static const struct {
        const char *what;
        raw_head head;
        tv_err err;
    } rows[] = {
        {"empty", {1, 5, 4, .length = 0}, TV_OK},
        {"of no type", {0, 5, 4, .length = 0}, TV_ERR_CORRUPT},
        {"made last", {1, TV_BLOB_TICKS_MAX, 4, .length = 0}, TV_OK},
        {"made later", {1, TV_BLOB_TICKS_MAX + 1, 4, .length = 0}, TV_ERR_CORRUPT},
        {"changed before it was made", {1, 5, 6, .length = 0}, TV_ERR_CORRUPT},
        {"never changed", {1, 0, 0, .length = 0}, TV_ERR_CORRUPT},
        {"a last snapshot",
         {1, 5, 4, .snapshot_count = 1, .last_snapshot = TV_BLOB_TICKS_MAX},
         TV_OK},
        {"a later one",
         {1, 5, 4, .snapshot_count = 1, .last_snapshot = TV_BLOB_TICKS_MAX + 1},
         TV_ERR_CORRUPT},
        {"a snapshot of no time", {1, 5, 4, .snapshot_count = 1}, TV_ERR_CORRUPT},
        {"copied last", {1, 5, 4, .copy_completed = TV_BLOB_TICKS_MAX}, TV_OK},
        {"copied later", {1, 5, 4, .copy_completed = TV_BLOB_TICKS_MAX + 1}, TV_ERR_CORRUPT},
        {"the longest", {1, 5, 4, TV_BLOB_LENGTH_MAX, .piece_count = 1}, TV_OK},
        {"longer", {1, 5, 4, TV_BLOB_LENGTH_MAX + 1, .piece_count = 1}, TV_ERR_CORRUPT},
        {"many pieces", {1, 5, 4, 9, .piece_count = 9}, TV_OK},
        {"one of them empty", {1, 5, 4, 8, .piece_count = 9}, TV_ERR_CORRUPT},
        {"a lease for ever", {1, 5, 4, .lease_state = TV_LEASE_LEASED}, TV_OK},
        {"a lease of 15 s",
         {1, 5, 4, .lease_state = TV_LEASE_LEASED, .lease_duration = 16, .lease_until = 9},
         TV_OK},
        {"a lease of 14 s",
         {1, 5, 4, .lease_state = TV_LEASE_LEASED, .lease_duration = 15, .lease_until = 9},
         TV_ERR_CORRUPT},
        {"a lease of 61 s",
         {1, 5, 4, .lease_state = TV_LEASE_LEASED, .lease_duration = 62, .lease_until = 9},
         TV_ERR_CORRUPT},
        {"a broken lease", {1, 5, 4, .lease_state = TV_LEASE_BROKEN, .lease_duration = 1}, TV_OK},
        {"a broken lease of 15 s",
         {1, 5, 4, .lease_state = TV_LEASE_BROKEN, .lease_duration = 16},
         TV_ERR_CORRUPT},
        {"a lease until the end of time",
         {1, 5, 4, .lease_state = TV_LEASE_LEASED, .lease_duration = 16, .lease_until = INT64_MAX},
         TV_ERR_CORRUPT},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_slice value = pack_head(&rows[i].head);
        tv_blob_head head;

        t_row = rows[i].what;
        CHECK_ERR(tv_blob_head_decode(&arena, value, 0, &head), rows[i].err);
        if (rows[i].err == TV_OK)
            CHECK_SLICE(tv_blob_head_encode(&arena, &head), value);
    }
}

static tv_slice pack_numbers(const uint64_t *numbers, size_t count)
{
    tv_buf buf = TV_BUF_EMPTY;

    for (size_t i = 0; i < count; i++)
        tv_pack_number(&buf, numbers[i]);

    tv_slice value = tv_arena_dup(&arena, tv_buf_slice(&buf));

    tv_buf_done(&buf);
    return value;
}

TEST(times_and_lengths_of_other_rows_are_bounded)
{
    char ticks[TV_BLOB_NUMBER_LEN];
    tv_container_attributes attributes;
    tv_block_ledger ledger;
    tv_block block;
    int64_t snapshot;

    for (uint64_t more = 0; more < 2; more++) {
        tv_err err = more ? TV_ERR_CORRUPT : TV_OK;
        uint64_t of_block[] = {1, 0, TV_BLOB_LENGTH_MAX + more, 1, 1};
        uint64_t of_ledger[] = {1, 1, 1, TV_BLOB_TICKS_MAX + more, 1};
        uint64_t of_attributes[] = {1, 5, TV_BLOB_TICKS_MAX + more, 0, 0, 0};
        uint64_t of_age[] = {1, 5 + more, 5, 0, 0, 0};

        CHECK_ERR(tv_block_decode(TV_NONE, pack_numbers(of_block, 5), &block), err);
        CHECK_ERR(tv_block_ledger_decode(pack_numbers(of_ledger, 5), &ledger), err);
        CHECK_ERR(
            tv_container_attributes_decode(&arena, pack_numbers(of_attributes, 6), &attributes),
            err);
        CHECK_ERR(tv_container_attributes_decode(&arena, pack_numbers(of_age, 6), &attributes),
                  err);
        tv_blob_number_format(ticks, TV_BLOB_TICKS_MAX + more);
        CHECK(tv_blob_snapshot_parse((tv_slice){ticks, sizeof ticks}, &snapshot) == !more);
    }
    attributes = (tv_container_attributes){.created = 5, .etag = TV_BLOB_TICKS_MAX};
    CHECK_ERR(tv_container_attributes_touch(&attributes, 6), TV_ERR_CORRUPT);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(numbers_in_keys_sort_as_numbers),
        T(rows_stand_in_the_order_of_the_header),
        T(heads_come_back),
        T(values_are_whole_or_corrupt),
        T(pieces_of_a_run_follow_each_other_up_to_its_end),
        T(numbers_have_one_form),
        T(attributes_of_containers_come_back),
        T(a_lease_guards_the_deletion_of_a_container),
        T(heads_that_cannot_be_are_damage),
        T(times_and_lengths_of_other_rows_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
