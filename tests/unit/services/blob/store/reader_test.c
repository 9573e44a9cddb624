/* Reading one blob, and visiting what all of them refer to. */
#include "services/blob/store/reader.h"

#include "blobs.h"

/*
 * A view stays as it was, whatever happens to the blob meanwhile; without snapshots, what
 * is gone is told apart from damage.
 */
TEST(a_reader_sees_the_blob_as_it_was)
{
    bool has_snapshots = engine->ops->has_snapshots;
    tv_err err = TV_OK;
    tv_append_block append = {.change = change_of("b")};
    tv_delete_blob delete = {.change = change_of("b")};
    tv_buf text = TV_BUF_EMPTY;
    tv_blob_reader *reader;
    tv_slice bytes;

    put_text("b", NULL);
    for (int i = 0; i < 10; i++) {
        append.data = text_data(i % 2 ? "odd " : "even ");
        CHECK_OK(RUN(tv_append_block_run, &append));
    }
    CHECK_OK(tv_blob_reader_open(engine, partition_of("b"), 0, &reader));
    CHECK_INT(tv_blob_reader_head(reader)->length, 45);
    CHECK_OK(RUN(tv_append_block_run, &append));
    CHECK_OK(RUN(tv_delete_blob_run, &delete));
    put_text("b", "new");

    for (uint64_t offset = 0; offset < 45;) {
        tv_blob_piece piece;

        err = tv_blob_reader_piece(reader, offset, &piece);
        if (err && !has_snapshots)
            break;
        CHECK_OK(err);
        CHECK_INT(piece.end - piece.length, offset);
        err = tv_blob_reader_chunk(reader, &piece, &bytes);
        if (err && !has_snapshots)
            break;
        CHECK_OK(err);
        tv_buf_add(&text, bytes);
        offset = piece.end;
    }
    if (has_snapshots)
        CHECK_TEXT(tv_buf_slice(&text), "even odd even odd even odd even odd even odd ");
    else
        CHECK_ERR(err, TV_ERR_CONFLICT);
    tv_buf_done(&text);
    tv_blob_reader_close(reader);
    CHECK_TEXT(content_of("b", 0), "new");
}

/* What is appended lies beyond the head that was read, so it is no reason to break off. */
TEST(a_reader_goes_on_while_others_append)
{
    tv_append_block append = {.change = change_of("b")};
    tv_blob_reader *reader;
    tv_blob_piece piece;

    put_text("b", NULL);
    for (int i = 0; i < 10; i++) {
        append.data = text_data("data ");
        CHECK_OK(RUN(tv_append_block_run, &append));
    }
    CHECK_OK(tv_blob_reader_open(engine, partition_of("b"), 0, &reader));
    CHECK_INT(tv_blob_reader_head(reader)->length, 50);
    for (uint64_t offset = 0; offset < 50; offset = piece.end) {
        tv_slice bytes;

        CHECK_OK(RUN(tv_append_block_run, &append));
        CHECK_OK(tv_blob_reader_piece(reader, offset, &piece));
        CHECK_INT(piece.end, offset + 5);
        CHECK_OK(tv_blob_reader_chunk(reader, &piece, &bytes));
        CHECK_TEXT(bytes, "data ");
    }
    tv_blob_reader_close(reader);
}

TEST(a_small_blob_is_read_row_by_row)
{
    tv_blob_data data[] = {text_data("abc"), extent_data(5, 100), text_data("xyz")};
    tv_put_blob put = {
        .change = change_of("b"), .type = TV_BLOB_BLOCK, .data = data, .data_count = 3};
    tv_blob_head head;
    tv_slice bytes;

    CHECK_OK(RUN(tv_put_blob_run, &put));
    head = head_of("b", 0);
    CHECK_INT(tv_blob_find_piece(&head, 0)->end, 3);
    CHECK_INT(tv_blob_find_piece(&head, 2)->end, 3);
    CHECK_INT(tv_blob_find_piece(&head, 3)->id.number, 5);
    CHECK_INT(tv_blob_find_piece(&head, 105)->end, 106);
    CHECK(tv_blob_find_piece(&head, 106) == NULL);
    CHECK_OK(
        tv_blob_get_chunk(engine, TV_READ_ANY, partition_of("b"), &head.pieces[2], &arena, &bytes));
    CHECK_TEXT(bytes, "xyz");

    /* The head was of a blob that has been replaced. */
    put_text("b", "other");
    CHECK_ERR(
        tv_blob_get_chunk(engine, TV_READ_ANY, partition_of("b"), &head.pieces[2], &arena, &bytes),
        TV_ERR_NOT_FOUND);
    CHECK_ERR(tv_blob_get_head(engine, TV_READ_ANY, partition_of("none"), 0, &arena, &head),
              TV_ERR_BLOB_NOT_FOUND);
    CHECK_ERR(tv_blob_get_head(engine, TV_READ_ANY, partition_of("b"), 77, &arena, &head),
              TV_ERR_BLOB_NOT_FOUND);
}

TEST(reads_have_conditions_and_leases)
{
    tv_blob_conditions conditions = {0};
    tv_blob_head head;

    put_text("b", "x");
    head = head_of("b", 0);
    CHECK_OK(tv_blob_check_read(&head, &conditions, clock_ticks));
    conditions.has_lease_id = true;
    CHECK_ERR(tv_blob_check_read(&head, &conditions, clock_ticks), TV_ERR_LEASE_NOT_PRESENT);
    conditions.if_none_match = (tv_etag_condition){.test = TV_ETAG_IS, .etag = head.etag};
    CHECK_ERR(tv_blob_check_read(&head, &conditions, clock_ticks), TV_ERR_LEASE_NOT_PRESENT);
    conditions.has_lease_id = false;
    CHECK_ERR(tv_blob_check_read(&head, &conditions, clock_ticks), TV_ERR_NOT_MODIFIED);
}

static tv_err count_found(void *ctx, tv_slice blob, tv_extent_id id)
{
    CHECK(tv_slice_starts_with(blob, TV_KEY_BLOBS));
    ((int *)ctx)[id.number]++;
    return TV_OK;
}

static tv_err refuse(void *ctx, tv_slice blob, tv_extent_id id)
{
    (void)blob, (void)id;
    ++*(int *)ctx;
    return TV_ERR_OVERLOADED;
}

static int stop_after;

static bool stops(void *ctx)
{
    (void)ctx;
    return stop_after-- == 0;
}

TEST(extents_of_heads_snapshots_pieces_and_blocks_are_visited)
{
    tv_append_block append = {.change = change_of("log")};
    tv_blob_data data[] = {extent_data(1, 5), text_data("x")};
    tv_put_blob put = {
        .change = change_of("b"), .type = TV_BLOB_BLOCK, .data = data, .data_count = 2};
    tv_slice other = tv_key_container(&arena, TV_LIT("acct"), 2), mine = container;
    int marks[32] = {0};

    CHECK_OK(RUN(tv_put_blob_run, &put));
    snapshot_of("b");
    data[0].extent.number = 2;
    CHECK_OK(RUN(tv_put_blob_run, &put));
    CHECK_OK(put_block("c", "MDA=", extent_data(3, 5)));
    CHECK_OK(put_block("c", "MDE=", text_data("x")));
    put_text("log", NULL);
    for (uint64_t i = 10; i < 20; i++) {
        append.data = extent_data(i, 1);
        CHECK_OK(RUN(tv_append_block_run, &append));
    }
    container = other;
    put.change = change_of("b");
    data[0].extent.number = 4;
    CHECK_OK(RUN(tv_put_blob_run, &put));

    tv_blob_extent_visitor visitor = {.found = count_found, .ctx = marks};

    CHECK_OK(tv_blob_visit_all_extents(engine, &visitor));
    for (int i = 0; i < 32; i++)
        CHECK_INT(marks[i], (i >= 1 && i <= 4) || (i >= 10 && i < 20));

    memset(marks, 0, sizeof marks);
    CHECK_OK(tv_blob_visit_extents(engine, mine, tv_key_after(&arena, mine), &visitor));
    CHECK_INT(marks[3], 1);
    CHECK_INT(marks[4], 0);

    visitor.is_stopping = stops;
    stop_after = 1;
    memset(marks, 0, sizeof marks);
    CHECK_ERR(tv_blob_visit_all_extents(engine, &visitor), TV_ERR_STOPPED);
    for (int i = 3; i < 32; i++)
        CHECK_INT(marks[i], 0);

    int asked = 0;

    visitor = (tv_blob_extent_visitor){.found = refuse, .ctx = &asked};
    CHECK_ERR(tv_blob_visit_all_extents(engine, &visitor), TV_ERR_OVERLOADED);
    CHECK_INT(asked, 1);
}

/* Damage is met where it is read, not passed on. */
TEST(damaged_rows_are_corrupt)
{
    tv_slice key = tv_arena_printf(&arena, "%.*sb", TV_FMT(partition_of("b")));
    tv_write_batch batch = {0};
    tv_set_blob_metadata set = {.change = change_of("b")};
    int marks[1];
    tv_blob_head head;

    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, key, TV_LIT("junk")});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
    CHECK_ERR(tv_blob_get_head(engine, TV_READ_ANY, partition_of("b"), 0, &arena, &head),
              TV_ERR_CORRUPT);
    CHECK_ERR(RUN(tv_set_blob_metadata_run, &set), TV_ERR_CORRUPT);
    CHECK_ERR(tv_blob_visit_all_extents(
                  engine, &(tv_blob_extent_visitor){.found = count_found, .ctx = marks}),
              TV_ERR_CORRUPT);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_reader_sees_the_blob_as_it_was),
        T(a_reader_goes_on_while_others_append),
        T(a_small_blob_is_read_row_by_row),
        T(reads_have_conditions_and_leases),
        T(extents_of_heads_snapshots_pieces_and_blocks_are_visited),
        T(damaged_rows_are_corrupt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
