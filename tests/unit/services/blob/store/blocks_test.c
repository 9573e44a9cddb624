/* Blocks: put, listed, committed, forgotten. */
#include "base/base64.h"
#include "blobs.h"
#include "services/blob/store/row.h"

/* Commit a list such as "c:MDA= u:MDE= l:MDI="; the result of the change in *ret_put. */
static tv_err commit(const char *name, const char *list, tv_put_block_list *ret_put)
{
    tv_block_choice *choices = tv_arena_alloc(&arena, 64 * sizeof *choices);
    tv_slice rest = tv_slice_of(list), word;

    *ret_put = (tv_put_block_list){.change = change_of(name), .choices = choices};
    while (list[0] && tv_slice_next(&rest, ' ', &word)) {
        tv_block_source source = word.data[0] == 'c'   ? TV_BLOCK_COMMITTED
                                 : word.data[0] == 'u' ? TV_BLOCK_UNCOMMITTED
                                                       : TV_BLOCK_LATEST;

        choices[ret_put->choice_count++] = (tv_block_choice){source, tv_slice_skip(word, 2)};
    }
    return RUN(tv_put_block_list_run, ret_put);
}

/* A blob of committed blocks 0, 1 and 2 and newer uncommitted blocks 1 and 3. */
static void prepare(const char *name)
{
    tv_put_block_list put;

    CHECK_OK(put_block(name, "MDA=", text_data("zero ")));
    CHECK_OK(put_block(name, "MDE=", text_data("one ")));
    CHECK_OK(put_block(name, "MDI=", extent_data(2, 9)));
    CHECK_OK(commit(name, "l:MDA= u:MDE= l:MDI=", &put));
    CHECK_OK(put_block(name, "MDE=", text_data("ONE ")));
    CHECK_OK(put_block(name, "MDM=", extent_data(3, 9)));
}

TEST(a_block_list_finds_blocks_where_it_says)
{
    static const struct {
        const char *list;
        tv_err err;
        const char *content;
        int garbage; /* sum of the numbers of extents that go */
    } rows[] = {
        {"", TV_OK, "", 5},
        {"l:MDE=", TV_OK, "ONE ", 5},
        {"c:MDE=", TV_OK, "one ", 5},
        {"u:MDE=", TV_OK, "ONE ", 5},
        {"l:MDA= l:MDI=", TV_OK, "zero <2:9>", 3},
        {"c:MDI= u:MDM=", TV_OK, "<2:9><3:9>", 0},
        {"u:MDE= c:MDE= u:MDE=", TV_OK, "ONE one ONE ", 5},
        {"u:MDM= u:MDM= c:MDI=", TV_OK, "<3:9><3:9><2:9>", 0},
        {"u:MDA=", TV_ERR_BLOCK_LIST, NULL, 0},
        {"c:MDM=", TV_ERR_BLOCK_LIST, NULL, 0},
        {"l:MDA= l:MDQ=", TV_ERR_BLOCK_LIST, NULL, 0},
        {"l:MDAw", TV_ERR_BLOCK_LIST, NULL, 0},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_slice name = tv_arena_printf(&arena, "blob%zu%c", i, 0);
        tv_put_block_list put;
        int garbage = 0;

        t_row = rows[i].list;
        prepare(name.data);
        CHECK_ERR(commit(name.data, rows[i].list, &put), rows[i].err);
        for (size_t j = 0; j < put.change.garbage_count; j++)
            garbage += (int)put.change.garbage[j].number;
        CHECK_INT(garbage, rows[i].garbage);
        CHECK_TEXT(content_of(name.data, 0), rows[i].err ? "zero one <2:9>" : rows[i].content);
    }
}

TEST(block_lists_tell_both_kinds)
{
    tv_block_lists lists;
    int64_t snapshot;

    prepare("b");
    CHECK_OK(
        tv_blob_get_block_lists(engine, partition_of("b"), 0, TV_BLOCK_LIST_ALL, &arena, &lists));
    CHECK(lists.has_head);
    CHECK_INT(lists.committed_count, 3);
    CHECK_TEXT(lists.committed[0].id, "MDA=");
    CHECK_INT(lists.committed[2].length, 9);
    CHECK_INT(lists.uncommitted_count, 2);
    CHECK_TEXT(lists.uncommitted[0].id, "MDE=");
    CHECK_TEXT(lists.uncommitted[1].id, "MDM=");

    CHECK_OK(tv_blob_get_block_lists(engine, partition_of("b"), 0, TV_BLOCK_LIST_COMMITTED, &arena,
                                     &lists));
    CHECK_INT(lists.uncommitted_count, 0);
    CHECK_OK(tv_blob_get_block_lists(engine, partition_of("b"), 0, TV_BLOCK_LIST_UNCOMMITTED,
                                     &arena, &lists));
    CHECK_INT(lists.committed_count, 0);
    CHECK_INT(lists.uncommitted_count, 2);
    snapshot = snapshot_of("b");
    CHECK_OK(tv_blob_get_block_lists(engine, partition_of("b"), snapshot, TV_BLOCK_LIST_ALL, &arena,
                                     &lists));
    CHECK_INT(lists.committed_count, 3);
    CHECK_INT(lists.uncommitted_count, 0);

    CHECK_ERR(
        tv_blob_get_block_lists(engine, partition_of("none"), 0, TV_BLOCK_LIST_ALL, &arena, &lists),
        TV_ERR_BLOB_NOT_FOUND);
    CHECK_OK(put_block("new", "MDA=", text_data("x")));
    CHECK_OK(
        tv_blob_get_block_lists(engine, partition_of("new"), 0, TV_BLOCK_LIST_ALL, &arena, &lists));
    CHECK(!lists.has_head);
    CHECK_INT(lists.uncommitted_count, 1);

    /* What was put whole has no blocks. */
    put_text("whole", "x");
    CHECK_OK(tv_blob_get_block_lists(engine, partition_of("whole"), 0, TV_BLOCK_LIST_ALL, &arena,
                                     &lists));
    CHECK_INT(lists.committed_count, 0);
}

TEST(block_ids_are_base_64_of_one_length)
{
    static const struct {
        const char *id;
        tv_err err;
    } rows[] = {
        {"", TV_ERR_BLOCK_ID},          {"abc", TV_ERR_BLOCK_ID}, {"MDA", TV_ERR_BLOCK_ID},
        {"MD A", TV_ERR_BLOCK_ID},      {"MTE=", TV_OK},          {"MTEx", TV_ERR_BLOB_OR_BLOCK},
        {"MQ==", TV_ERR_BLOB_OR_BLOCK}, {"MDE=", TV_OK},
    };
    char bytes[TV_BLOCK_ID_BYTES_MAX + 1] = {0}, text[96];

    CHECK_OK(put_block("b", "MDA=", text_data("x")));
    for (size_t i = 0; i < COUNT(rows); i++) {
        t_row = rows[i].id;
        CHECK_ERR(put_block("b", rows[i].id, text_data("x")), rows[i].err);
    }

    /* 64 bytes decoded and no more; any bytes. */
    memset(text, 0, sizeof text);
    tv_base64_encode(text, (tv_slice){bytes, sizeof bytes});
    CHECK_ERR(put_block("c", text, text_data("x")), TV_ERR_BLOCK_ID);
    memset(text, 0, sizeof text);
    tv_base64_encode(text, (tv_slice){bytes, TV_BLOCK_ID_BYTES_MAX});
    CHECK_OK(put_block("c", text, text_data("x")));
}

TEST(append_blobs_have_no_blocks)
{
    tv_put_block_list put;

    put_text("log", NULL);
    CHECK_ERR(put_block("log", "MDA=", text_data("x")), TV_ERR_BLOB_TYPE);
    CHECK_ERR(commit("log", "", &put), TV_ERR_BLOB_TYPE);
}

TEST(a_list_that_does_not_find_all_changes_nothing)
{
    tv_put_block_list put;
    size_t rows;

    prepare("b");
    rows = row_count();
    CHECK_ERR(commit("b", "l:MDE= l:MTA=", &put), TV_ERR_BLOCK_LIST);
    CHECK_INT(row_count(), rows);
    CHECK_OK(commit("b", "l:MDE= l:MDM=", &put));
    CHECK_TEXT(content_of("b", 0), "ONE <3:9>");
}

TEST(a_block_put_again_takes_the_place_of_the_first)
{
    tv_put_block put = {.change = change_of("b"), .data = extent_data(1, 5)};

    put.data.block_id = TV_LIT("MDA=");
    CHECK_OK(RUN(tv_put_block_run, &put));
    CHECK_INT(put.change.garbage_count, 0);
    put.data.extent.number = 2;
    CHECK_OK(RUN(tv_put_block_run, &put));
    CHECK_INT(put.change.garbage_count, 1);
    CHECK_INT(put.change.garbage[0].number, 1);
    CHECK_INT(row_count(), 2);
}

static tv_slice numbered_id(uint32_t number)
{
    char *text = tv_arena_bytes(&arena, 8);

    tv_base64_encode(text, (tv_slice){(const char *)&number, sizeof number});
    return (tv_slice){text, 8};
}

TEST(a_blob_has_at_most_100000_uncommitted_and_50000_committed_blocks)
{
    tv_put_block put = {.change = change_of("b"), .data = extent_data(0, 10)};
    tv_block_choice *choices =
        tv_arena_alloc(&arena, (TV_BLOB_COMMITTED_BLOCKS_MAX + 1) * sizeof *choices);
    tv_put_block_list list = {.change = change_of("b"), .choices = choices};
    tv_txn *txn = tv_txn_new(engine);
    tv_blob_reader *reader;
    tv_blob_piece piece;

    tv_txn_begin(txn);
    for (uint32_t i = 0; i < TV_BLOB_UNCOMMITTED_BLOCKS_MAX; i++) {
        put.data.block_id = numbered_id(i);
        put.data.extent.number = i;
        CHECK_OK(tv_txn_run(txn, put.change.partition, tv_put_block_run, &put));
    }
    CHECK_OK(tv_txn_commit(txn));
    tv_txn_free(txn);
    CHECK_OK(RUN(tv_put_block_run, &put)); /* one that is there can be put again */
    put.data.block_id = numbered_id(TV_BLOB_UNCOMMITTED_BLOCKS_MAX);
    CHECK_ERR(RUN(tv_put_block_run, &put), TV_ERR_UNCOMMITTED_BLOCKS);

    for (uint32_t i = 0; i <= TV_BLOB_COMMITTED_BLOCKS_MAX; i++)
        choices[i] = (tv_block_choice){TV_BLOCK_LATEST, numbered_id(i)};
    list.choice_count = TV_BLOB_COMMITTED_BLOCKS_MAX + 1;
    CHECK_ERR(RUN(tv_put_block_list_run, &list), TV_ERR_BLOCK_LIST_TOO_LONG);
    list.choice_count--;
    CHECK_ERR(RUN(tv_put_block_list_run, &list), TV_ERR_UNPLANNED);
    CHECK_OK(tv_put_block_list_plan(engine, &list));
    CHECK(steps_of(tv_put_block_list_run, &list.change, TV_OK) < 300);
    CHECK_INT(list.change.garbage_count, 0);
    CHECK(list.change.has_discards);
    CHECK_INT(gc_blob("b"), 50000);
    CHECK_INT(row_count(), 1 + (50000 + TV_BLOB_RUN_PIECES - 1) / TV_BLOB_RUN_PIECES);

    CHECK_OK(tv_blob_reader_open(engine, partition_of("b"), 0, &reader));
    CHECK_OK(tv_blob_reader_piece(reader, 123456, &piece));
    CHECK_INT(piece.id.number, 12345);
    CHECK_INT(piece.end, 123460);
    tv_blob_reader_close(reader);
}

/* Blocks `from` to `to`, each an extent of its own. */
static void put_blocks(const char *name, uint32_t from, uint32_t to)
{
    tv_put_block put = {.change = change_of(name)};
    tv_txn *txn = tv_txn_new(engine);

    tv_txn_begin(txn);
    for (uint32_t i = from; i < to; i++) {
        put.data = extent_data(i, 10);
        put.data.block_id = numbered_id(i);
        CHECK_OK(tv_txn_run(txn, put.change.partition, tv_put_block_run, &put));
    }
    CHECK_OK(tv_txn_commit(txn));
    tv_txn_free(txn);
}

static tv_put_block_list list_of(const char *name, uint32_t from, uint32_t to)
{
    tv_block_choice *choices = tv_arena_alloc(&arena, (to - from) * sizeof *choices);

    for (uint32_t i = from; i < to; i++)
        choices[i - from] = (tv_block_choice){TV_BLOCK_LATEST, numbered_id(i)};
    return (tv_put_block_list){
        .change = change_of(name), .choices = choices, .choice_count = to - from};
}

/* A plan is good for the blob that it was made for, and for no other. */
TEST(a_plan_that_is_out_of_date_is_not_used)
{
    tv_set_blob_metadata set = {.change = change_of("b")};
    tv_put_block_list list, other;
    tv_lease_blob lease = {.change = change_of("b"),
                           .request = {.action = TV_LEASE_ACQUIRE, .duration_s = -1}};

    put_blocks("b", 0, 3000);
    list = list_of("b", 0, 3000);
    CHECK_OK(tv_put_block_list_plan(engine, &list));
    put_blocks("b", 2999, 3000); /* the same id, another block */
    CHECK_ERR(RUN(tv_put_block_list_run, &list), TV_ERR_UNPLANNED);
    CHECK_OK(tv_put_block_list_plan(engine, &list));
    CHECK_OK(RUN(tv_put_block_list_run, &list));
    CHECK_INT(head_of("b", 0).piece_count, 3000);

    /* Committed ones only; what leaves the content alone does no harm. */
    CHECK_OK(tv_put_block_list_plan(engine, &list));
    CHECK_OK(RUN(tv_set_blob_metadata_run, &set));
    CHECK_OK(RUN(tv_put_block_list_run, &list));
    CHECK_OK(tv_put_block_list_plan(engine, &list));
    other = list_of("b", 0, 2000);
    CHECK_OK(tv_put_block_list_plan(engine, &other));
    CHECK_OK(RUN(tv_put_block_list_run, &other));
    CHECK_ERR(RUN(tv_put_block_list_run, &list), TV_ERR_UNPLANNED);
    CHECK_OK(tv_put_block_list_plan(engine, &list));
    CHECK_ERR(RUN(tv_put_block_list_run, &list), TV_ERR_BLOCK_LIST);

    /* Lease and conditions come before what the plan says. */
    CHECK_OK(RUN(tv_lease_blob_run, &lease));
    CHECK_ERR(RUN(tv_put_block_list_run, &list), TV_ERR_LEASE_ID_MISSING);
}

TEST(little_is_done_at_once_however_many_blocks_there_are)
{
    tv_blob_data data = extent_data(7, 10);
    tv_put_blob put = {
        .change = change_of("b"), .type = TV_BLOB_BLOCK, .data = &data, .data_count = 1};
    tv_delete_blob delete = {.change = change_of("b"), .scope = TV_DELETE_BLOB};
    tv_put_block_list list;

    /* Blocks that a put, a deletion and their age remove. */
    put_blocks("b", 100, 20100);
    CHECK(steps_of(tv_put_blob_run, &put.change, TV_OK) < 20);
    CHECK(put.change.has_discards);
    CHECK_INT(gc_blob("b"), 20000);
    put_blocks("b", 100, 20100);
    CHECK(steps_of(tv_delete_blob_run, &delete.change, TV_OK) < 20);
    CHECK_INT(gc_blob("b"), 20001);
    CHECK_INT(row_count(), 0);
    put_blocks("b", 100, 20100);
    pass_time(TV_BLOB_UNCOMMITTED_TICKS + SECONDS(1));
    CHECK(steps_of(tv_expire_blocks_run, &delete.change, TV_OK) < 20);
    CHECK_INT(gc_blob("b"), 20000);
    CHECK_INT(row_count(), 0);

    /* New blocks have nothing to do with those that are still to be removed. */
    put_blocks("b", 100, 20100);
    list = list_of("b", 100, 20100);
    CHECK_OK(tv_put_block_list_plan(engine, &list));
    CHECK(steps_of(tv_put_block_list_run, &list.change, TV_OK) < 200);
    put_blocks("b", 50000, 50001);
    list = list_of("b", 50000, 50001);
    CHECK_OK(tv_put_block_list_plan(engine, &list));
    CHECK(steps_of(tv_put_block_list_run, &list.change, TV_OK) < 20);
    CHECK_TEXT(content_of("b", 0), "<50000:10>");
    CHECK_INT(gc_blob("b"), 20000);
    CHECK_INT(row_count(), 1);
}

TEST(blocks_that_nobody_commits_go_after_a_week)
{
    tv_blob_change expire;
    tv_blob_gc_cursor search = {0};
    tv_slice partitions[4];
    size_t count;

    put_text("a", "x");
    put_text("b", "kept");
    CHECK_OK(put_block("b", "MDA=", extent_data(1, 5)));
    CHECK_OK(put_block("c", "MDA=", extent_data(2, 5)));
    pass_time(TV_BLOB_UNCOMMITTED_TICKS - SECONDS(10));
    CHECK_OK(put_block("d", "MDA=", extent_data(3, 5)));
    expire = change_of("b");
    CHECK_OK(RUN(tv_expire_blocks_run, &expire));
    CHECK_INT(expire.garbage_count, 0);
    pass_time(SECONDS(20));

    /* Two blobs at a time. */
    CHECK_OK(
        tv_blob_gc_next(engine, container, clock_ticks, 2, &arena, &search, partitions, 4, &count));
    CHECK_INT(count, 1);
    CHECK(!search.is_done);
    CHECK_SLICE(partitions[0], partition_of("b"));
    CHECK_OK(
        tv_blob_gc_next(engine, container, clock_ticks, 9, &arena, &search, partitions, 4, &count));
    CHECK_INT(count, 1);
    CHECK(search.is_done);
    CHECK_SLICE(partitions[0], partition_of("c"));

    CHECK_OK(RUN(tv_expire_blocks_run, &expire));
    CHECK_INT(expire.garbage_count, 1);
    CHECK_INT(expire.garbage[0].number, 1);
    CHECK_TEXT(content_of("b", 0), "kept");
    expire = change_of("d");
    CHECK_OK(RUN(tv_expire_blocks_run, &expire));
    CHECK_INT(expire.garbage_count, 0);
    expire = change_of("none");
    CHECK_OK(RUN(tv_expire_blocks_run, &expire));
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_block_list_finds_blocks_where_it_says),
        T(block_lists_tell_both_kinds),
        T(block_ids_are_base_64_of_one_length),
        T(append_blobs_have_no_blocks),
        T(a_list_that_does_not_find_all_changes_nothing),
        T(a_block_put_again_takes_the_place_of_the_first),
        T(a_blob_has_at_most_100000_uncommitted_and_50000_committed_blocks),
        T(a_plan_that_is_out_of_date_is_not_used),
        T(little_is_done_at_once_however_many_blocks_there_are),
        T(blocks_that_nobody_commits_go_after_a_week),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
