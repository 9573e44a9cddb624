/* Changes of whole blobs: put, append, properties, metadata, snapshots, leases, delete. */
#include "services/blob/store/change.h"

#include "blobs.h"
#include "services/blob/store/row.h"

TEST(a_blob_is_put_and_replaced)
{
    tv_metadata_pair pair = {TV_LIT("Colour"), TV_LIT("blue")};
    tv_blob_data data[] = {text_data("hello "), extent_data(7, 100000)};
    tv_put_blob put = {
        .change = change_of("b"),
        .type = TV_BLOB_BLOCK,
        .headers = {.type = TV_LIT("text/plain"), .md5 = TV_LIT("0123456789abcdef")},
        .metadata = {&pair, 1},
        .copy = {.id = TV_LIT("copy"), .source = TV_LIT("http://x/y"), .bytes = 100006},
        .data = data,
        .data_count = 2,
    };

    CHECK_OK(RUN(tv_put_blob_run, &put));
    CHECK_INT(put.change.garbage_count, 0);

    tv_blob_head head = head_of("b", 0);

    CHECK_INT(head.type, TV_BLOB_BLOCK);
    CHECK_INT(head.etag, put.change.etag);
    CHECK_INT(head.created, put.change.etag);
    CHECK_INT(head.length, 100006);
    CHECK_TEXT(head.headers.type, "text/plain");
    CHECK_TEXT(head.headers.md5, "0123456789abcdef");
    CHECK_INT(head.metadata.count, 1);
    CHECK_TEXT(head.metadata.list[0].name, "Colour");
    CHECK_TEXT(head.metadata.list[0].value, "blue");
    CHECK_TEXT(head.copy.source, "http://x/y");
    CHECK(head.copy.completed > 0);
    CHECK_TEXT(content_of("b", 0), "hello <7:100000>");
    CHECK_INT(row_count(), 2);

    /* The next one keeps the time of creation and nothing else; the extent is garbage. */
    put.metadata.count = put.data_count = 0;
    put.headers = (tv_blob_headers){0};
    put.copy = (tv_blob_copy){0};
    CHECK_OK(RUN(tv_put_blob_run, &put));
    CHECK_INT(put.change.garbage_count, 1);
    CHECK_INT(put.change.garbage[0].number, 7);
    CHECK(put.change.etag > head.etag);

    tv_blob_head next = head_of("b", 0);

    CHECK_INT(next.created, head.created);
    CHECK_INT(next.length, 0);
    CHECK_INT(next.metadata.count, 0);
    CHECK_TEXT(next.headers.type, "");
    CHECK_INT(next.copy.id.len, 0);
    CHECK_INT(row_count(), 1);
}

TEST(conditions_guard_a_put)
{
    tv_put_blob put = {.change = change_of("b"), .type = TV_BLOB_BLOCK};

    put.change.conditions.if_match = tv_etag_condition_parse(TV_LIT("*"));
    CHECK_ERR(RUN(tv_put_blob_run, &put), TV_ERR_CONDITION_NOT_MET);
    put.change.conditions = (tv_blob_conditions){0};
    put.change.conditions.if_none_match = tv_etag_condition_parse(TV_LIT("*"));
    CHECK_OK(RUN(tv_put_blob_run, &put));
    CHECK_ERR(RUN(tv_put_blob_run, &put), TV_ERR_BLOB_EXISTS);

    /* Before the lease, for a client that may not replace anything. */
    put.change.conditions = (tv_blob_conditions){.must_be_new = true, .has_lease_id = true};
    CHECK_ERR(RUN(tv_put_blob_run, &put), TV_ERR_BLOB_EXISTS);

    put.type = TV_BLOB_PAGES;
    CHECK_ERR(RUN(tv_put_blob_run, &put), TV_ERR_PAGE_BLOB);
}

TEST(a_blob_keeps_its_type_until_it_is_deleted)
{
    tv_put_blob put = {.change = change_of("b"), .type = TV_BLOB_APPEND};
    tv_delete_blob delete = {.change = change_of("b")};

    put_text("b", "x");
    CHECK_ERR(RUN(tv_put_blob_run, &put), TV_ERR_BLOB_TYPE);
    CHECK_TEXT(content_of("b", 0), "x");
    CHECK_OK(RUN(tv_delete_blob_run, &delete));
    CHECK_OK(RUN(tv_put_blob_run, &put));
    put.type = TV_BLOB_BLOCK;
    CHECK_ERR(RUN(tv_put_blob_run, &put), TV_ERR_BLOB_TYPE);
}

/* Every change fails the same way in a container that is gone, and leaves nothing. */
TEST(a_dropped_container_has_no_blobs)
{
    union {
        tv_blob_change change;
        tv_put_blob put;
        tv_put_block block;
        tv_put_block_list list;
        tv_append_block append;
        tv_set_blob_headers headers;
        tv_set_blob_metadata metadata;
        tv_snapshot_blob snapshot;
        tv_delete_blob delete;
        tv_lease_blob lease;
    } any;
    static tv_update_fn *const fns[] = {
        tv_put_blob_run,      tv_put_block_run,        tv_put_block_list_run,
        tv_append_block_run,  tv_set_blob_headers_run, tv_set_blob_metadata_run,
        tv_snapshot_blob_run, tv_delete_blob_run,      tv_lease_blob_run,
        tv_abort_copy_run,    tv_expire_blocks_run,
    };

    atomic_store(&is_dropped, true);
    for (size_t i = 0; i < COUNT(fns); i++) {
        memset(&any, 0, sizeof any);
        any.change = change_of("b");
        CHECK_ERR(RUN(fns[i], &any), TV_ERR_CONTAINER_NOT_FOUND);
    }
    CHECK_INT(row_count(), 0);
}

TEST(what_needs_a_blob_does_not_find_one)
{
    union {
        tv_blob_change change;
        tv_append_block append;
        tv_set_blob_headers headers;
        tv_set_blob_metadata metadata;
        tv_snapshot_blob snapshot;
        tv_lease_blob lease;
    } any;
    static tv_update_fn *const fns[] = {
        tv_append_block_run,  tv_set_blob_headers_run, tv_set_blob_metadata_run,
        tv_snapshot_blob_run, tv_lease_blob_run,       tv_abort_copy_run,
    };

    /* Uncommitted blocks are not a blob. */
    CHECK_OK(put_block("b", "MDA=", text_data("x")));
    for (size_t i = 0; i < COUNT(fns); i++) {
        memset(&any, 0, sizeof any);
        any.change = change_of("b");
        CHECK_ERR(RUN(fns[i], &any), TV_ERR_BLOB_NOT_FOUND);
    }
}

TEST(a_blob_that_was_never_committed_can_be_deleted)
{
    tv_delete_blob delete = {.change = change_of("b"), .scope = TV_DELETE_SNAPSHOTS};

    CHECK_OK(put_block("b", "MDA=", extent_data(1, 5)));
    CHECK_OK(put_block("b", "MDE=", text_data("x")));
    CHECK_ERR(RUN(tv_delete_blob_run, &delete), TV_ERR_BLOB_NOT_FOUND);
    delete.scope = TV_DELETE_BLOB;
    delete.change.conditions.if_match = tv_etag_condition_parse(TV_LIT("*"));
    CHECK_ERR(RUN(tv_delete_blob_run, &delete), TV_ERR_CONDITION_NOT_MET);
    delete.change.conditions = (tv_blob_conditions){0};
    CHECK_OK(RUN(tv_delete_blob_run, &delete));
    CHECK_INT(delete.change.garbage_count, 1);
    CHECK_INT(row_count(), 0);
    CHECK_ERR(RUN(tv_delete_blob_run, &delete), TV_ERR_BLOB_NOT_FOUND);
}

TEST(appends_count_and_keep_their_conditions)
{
    tv_append_block append = {.change = change_of("log"), .data = text_data("abc")};

    put_text("log", NULL);
    for (uint32_t i = 0; i < 20; i++) {
        append.has_position = true;
        append.position = 3 * (uint64_t)i;
        append.has_max_size = true;
        append.max_size = 3 * (uint64_t)i + 3;
        CHECK_OK(RUN(tv_append_block_run, &append));
        CHECK_INT(append.offset, 3 * i);
        CHECK_INT(append.block_count, i + 1);
    }
    CHECK_INT(head_of("log", 0).length, 60);
    /* The head, a row for the first nine pieces, one for each other, and one for each one's data.
     */
    CHECK_INT(row_count(), 1 + 1 + 11 + 20);

    append.position = 59;
    CHECK_ERR(RUN(tv_append_block_run, &append), TV_ERR_APPEND_POSITION);
    append.position = 60;
    append.max_size = 62;
    CHECK_ERR(RUN(tv_append_block_run, &append), TV_ERR_BLOB_MAX_SIZE);
    append.max_size = 0;
    CHECK_ERR(RUN(tv_append_block_run, &append), TV_ERR_BLOB_MAX_SIZE);

    put_text("text", "x");
    append = (tv_append_block){.change = change_of("text"), .data = text_data("abc")};
    CHECK_ERR(RUN(tv_append_block_run, &append), TV_ERR_BLOB_TYPE);
}

TEST(an_append_blob_has_at_most_50000_blocks)
{
    tv_blob_data *data = tv_arena_zalloc(&arena, TV_BLOB_COMMITTED_BLOCKS_MAX * sizeof *data);
    tv_put_blob put = {.change = change_of("log"),
                       .type = TV_BLOB_APPEND,
                       .copy = {.id = TV_LIT("copy")},
                       .data = data,
                       .data_count = TV_BLOB_COMMITTED_BLOCKS_MAX - 1};
    tv_append_block append = {.change = change_of("log"), .data = extent_data(999999, 1)};
    tv_delete_blob delete = {.change = change_of("log")};

    for (size_t i = 0; i < TV_BLOB_COMMITTED_BLOCKS_MAX; i++)
        data[i] = extent_data(i, 1);
    CHECK_OK(RUN(tv_put_blob_run, &put));
    CHECK_OK(RUN(tv_append_block_run, &append));
    CHECK_INT(append.block_count, TV_BLOB_COMMITTED_BLOCKS_MAX);
    CHECK_ERR(RUN(tv_append_block_run, &append), TV_ERR_COMMITTED_BLOCKS);
    CHECK(steps_of(tv_delete_blob_run, &delete.change, TV_OK) < 20);
    CHECK_INT(gc_blob("log"), TV_BLOB_COMMITTED_BLOCKS_MAX);
    CHECK_INT(row_count(), 0);
}

TEST(headers_and_metadata_are_replaced_whole)
{
    tv_metadata_pair pair = {TV_LIT("k"), TV_LIT("v")};
    tv_set_blob_metadata metadata = {.change = change_of("b"), .metadata = {&pair, 1}};
    tv_set_blob_headers headers = {.change = change_of("b"),
                                   .headers = {.language = TV_LIT("de"),
                                               .encoding = TV_LIT("gzip"),
                                               .disposition = TV_LIT("inline"),
                                               .cache_control = TV_LIT("no-cache")}};
    int64_t etag = put_text("b", "x");

    CHECK_OK(RUN(tv_set_blob_metadata_run, &metadata));
    CHECK(metadata.change.etag > etag);
    CHECK_OK(RUN(tv_set_blob_headers_run, &headers));
    CHECK(headers.change.etag > metadata.change.etag);

    tv_blob_head head = head_of("b", 0);

    CHECK_INT(head.etag, headers.change.etag);
    CHECK_TEXT(head.metadata.list[0].value, "v");
    CHECK_TEXT(head.headers.language, "de");
    CHECK_TEXT(head.headers.encoding, "gzip");
    CHECK_TEXT(head.headers.disposition, "inline");
    CHECK_TEXT(head.headers.cache_control, "no-cache");
    CHECK_TEXT(content_of("b", 0), "x");

    metadata.change.conditions.if_match = (tv_etag_condition){.test = TV_ETAG_IS, .etag = etag};
    CHECK_ERR(RUN(tv_set_blob_metadata_run, &metadata), TV_ERR_CONDITION_NOT_MET);

    tv_blob_change abort = change_of("b");

    CHECK_ERR(RUN(tv_abort_copy_run, &abort), TV_ERR_NO_PENDING_COPY);
}

TEST(a_blob_with_new_properties_is_no_copy)
{
    tv_put_blob put = {.change = change_of("b"),
                       .type = TV_BLOB_BLOCK,
                       .copy = {.id = TV_LIT("copy"), .source = TV_LIT("http://x/y")}};
    tv_set_blob_metadata metadata = {.change = change_of("b")};
    tv_set_blob_headers headers = {.change = change_of("b")};

    CHECK_OK(RUN(tv_put_blob_run, &put));
    CHECK_OK(RUN(tv_set_blob_metadata_run, &metadata));
    CHECK_TEXT(head_of("b", 0).copy.id, "copy");
    CHECK_OK(RUN(tv_set_blob_headers_run, &headers));
    CHECK_INT(head_of("b", 0).copy.id.len, 0);
}

TEST(snapshots_stay_as_they_were)
{
    tv_metadata_pair pair = {TV_LIT("k"), TV_LIT("v")};
    tv_snapshot_blob with_metadata = {.change = change_of("b"), .metadata = {&pair, 1}};
    int64_t etag = put_text("b", "one");
    int64_t first = snapshot_of("b");

    CHECK_INT(head_of("b", first).etag, etag);
    CHECK_OK(RUN(tv_snapshot_blob_run, &with_metadata));
    CHECK(with_metadata.snapshot > first);
    CHECK(with_metadata.change.etag > etag);
    CHECK_INT(head_of("b", 0).etag, etag);
    CHECK_INT(head_of("b", 0).metadata.count, 0);
    CHECK_INT(head_of("b", with_metadata.snapshot).metadata.count, 1);

    put_text("b", "two");
    CHECK_TEXT(content_of("b", 0), "two");
    CHECK_TEXT(content_of("b", first), "one");
    CHECK_INT(head_of("b", 0).snapshot_count, 2);

    /* A snapshot of a growing blob has the pieces that were there. */
    tv_append_block append = {.change = change_of("log"), .data = text_data("a")};

    put_text("log", NULL);
    for (int i = 0; i < 12; i++) {
        CHECK_OK(RUN(tv_append_block_run, &append));
        if (i == 3)
            first = snapshot_of("log");
    }
    CHECK_TEXT(content_of("log", first), "aaaa");
    CHECK_TEXT(content_of("log", 0), "aaaaaaaaaaaa");
}

static void put_extents(const char *name, size_t count)
{
    tv_blob_data *data = tv_arena_alloc(&arena, count * sizeof *data);

    for (size_t i = 0; i < count; i++)
        data[i] = extent_data(i + 1, 100);
    tv_put_blob put = {
        .change = change_of(name), .type = TV_BLOB_BLOCK, .data = data, .data_count = count};

    CHECK_OK(RUN(tv_put_blob_run, &put));
}

/* Garbage collection reads all that the snapshots keep, so that must not grow for ever. */
TEST(snapshots_of_many_pieces_have_a_limit)
{
    tv_delete_blob delete = {.change = change_of("b"), .scope = TV_DELETE_SNAPSHOTS};
    tv_snapshot_blob take = {.change = change_of("b")};

    for (int i = 0; i < 5; i++) {
        put_extents("b", TV_BLOB_COMMITTED_BLOCKS_MAX);
        snapshot_of("b");
    }
    CHECK_ERR(RUN(tv_snapshot_blob_run, &take), TV_ERR_SNAPSHOT_COUNT);
    CHECK_OK(RUN(tv_delete_blob_run, &delete));

    /* Those that share a content cost nothing but their heads. */
    for (int i = 0; i < 10; i++)
        snapshot_of("b");
}

TEST(snapshots_of_long_texts_have_a_limit)
{
    char *value = tv_arena_bytes(&arena, 8000);
    tv_metadata_pair pair = {TV_LIT("long"), {value, 8000}};
    tv_snapshot_blob take = {.change = change_of("b"), .metadata = {&pair, 1}};
    tv_err err = TV_OK;
    int count = 0;

    memset(value, 'x', 8000);
    put_text("b", "text");
    for (; err == TV_OK && count < 4000; count++) {
        err = RUN(tv_snapshot_blob_run, &take);
        if (err == TV_ERR_UNPLANNED) {
            err = tv_snapshot_blob_plan(engine, &take);
            if (err == TV_OK)
                err = RUN(tv_snapshot_blob_run, &take);
        }
    }
    CHECK_ERR(err, TV_ERR_SNAPSHOT_COUNT);
    CHECK(count > 3000);
}

/* Changes of a blob with thousands of snapshots, some with pieces of their own. */
TEST(little_is_done_at_once_however_many_snapshots_there_are)
{
    enum { SNAPSHOTS = 3000 };
    tv_snapshot_blob take = {.change = change_of("b")};
    tv_delete_blob delete = {.change = change_of("b"), .scope = TV_DELETE_ONE_SNAPSHOT};
    tv_blob_data data = extent_data(1, 10);
    tv_put_blob put = {
        .change = change_of("b"), .type = TV_BLOB_BLOCK, .data = &data, .data_count = 1};
    size_t steps = 0;
    int runs = 0;

    for (int i = 0; i < SNAPSHOTS; i++) {
        if (i % 10 == 0) {
            data.extent.number = 1 + (uint64_t)i;
            CHECK(steps_of(tv_put_blob_run, &put.change, TV_OK) < 200);
        }
        if (i % 64 == 0)
            CHECK_OK(tv_snapshot_blob_plan(engine, &take));
        CHECK(steps_of(tv_snapshot_blob_run, &take.change, TV_OK) < 200);
        if (i == 99)
            delete.snapshot = take.snapshot;
    }
    CHECK(steps_of(tv_delete_blob_run, &delete.change, TV_OK) < 20);
    CHECK_INT(gc_blob("b"), 0); /* others have the same content */
    CHECK_INT(head_of("b", 0).snapshot_count, SNAPSHOTS - 1);

    delete.scope = TV_DELETE_WITH_SNAPSHOTS;
    do {
        steps = steps_of(tv_delete_blob_run, &delete.change, TV_OK);
        CHECK(steps < 3 * tv_blob_at_once_max);
        runs++;
    } while (delete.change.is_partial);
    CHECK_INT(runs, 3);
    /* Data of which both a step and the last one have seen a part may be named twice. */
    size_t garbage = delete.change.garbage_count + gc_blob("b");

    CHECK(garbage >= SNAPSHOTS / 10 && garbage <= SNAPSHOTS / 10 + 2);
    CHECK_INT(row_count(), 0);
}

TEST(delete_asks_what_to_do_with_snapshots)
{
    tv_delete_blob delete = {.change = change_of("b")};
    int64_t first, second;

    put_text("b", "one");
    first = snapshot_of("b");
    second = snapshot_of("b");
    CHECK_ERR(RUN(tv_delete_blob_run, &delete), TV_ERR_SNAPSHOTS_PRESENT);

    delete.scope = TV_DELETE_ONE_SNAPSHOT;
    delete.snapshot = first;
    CHECK_OK(RUN(tv_delete_blob_run, &delete));
    CHECK_ERR(RUN(tv_delete_blob_run, &delete), TV_ERR_BLOB_NOT_FOUND);
    CHECK_TEXT(content_of("b", second), "one");
    CHECK_INT(head_of("b", 0).snapshot_count, 1);

    delete.scope = TV_DELETE_SNAPSHOTS;
    CHECK_OK(RUN(tv_delete_blob_run, &delete));
    CHECK_TEXT(content_of("b", 0), "one");
    CHECK_INT(row_count(), 2);

    snapshot_of("b");
    delete.scope = TV_DELETE_WITH_SNAPSHOTS;
    CHECK_OK(RUN(tv_delete_blob_run, &delete));
    CHECK_INT(row_count(), 0);
    CHECK_ERR(RUN(tv_delete_blob_run, &delete), TV_ERR_BLOB_NOT_FOUND);
}

TEST(a_lease_guards_changes_and_outlives_a_put)
{
    tv_guid id = guid_of('A');
    tv_lease_blob lease = {
        .change = change_of("b"),
        .request = {.action = TV_LEASE_ACQUIRE, .proposed = id, .duration_s = 15}};
    tv_set_blob_metadata set = {.change = change_of("b")};
    tv_put_blob put = {.change = change_of("b"), .type = TV_BLOB_BLOCK};
    tv_put_block block = {.change = change_of("b"), .data = text_data("x")};
    tv_delete_blob delete = {.change = change_of("b")};
    int64_t etag = put_text("b", "x");

    block.data.block_id = TV_LIT("MDA=");
    CHECK_OK(RUN(tv_lease_blob_run, &lease));
    CHECK_INT(lease.change.etag, etag);
    CHECK_INT(lease.lease.id.bytes[0], 'A');
    CHECK_INT(head_of("b", 0).etag, etag);
    CHECK_ERR(RUN(tv_set_blob_metadata_run, &set), TV_ERR_LEASE_ID_MISSING);
    CHECK_ERR(RUN(tv_put_blob_run, &put), TV_ERR_LEASE_ID_MISSING);
    CHECK_ERR(RUN(tv_put_block_run, &block), TV_ERR_LEASE_ID_MISSING);
    CHECK_ERR(RUN(tv_delete_blob_run, &delete), TV_ERR_LEASE_ID_MISSING);
    /* Taking a snapshot is no change; the snapshot has no lease. */
    CHECK_INT(head_of("b", snapshot_of("b")).lease.state, TV_LEASE_AVAILABLE);

    put.change.conditions.has_lease_id = set.change.conditions.has_lease_id = true;
    put.change.conditions.lease_id = id;
    set.change.conditions.lease_id = guid_of('B');
    CHECK_OK(RUN(tv_put_blob_run, &put));
    CHECK_ERR(RUN(tv_set_blob_metadata_run, &set), TV_ERR_LEASE_ID_MISMATCH);

    pass_time(SECONDS(16));
    CHECK_ERR(RUN(tv_put_blob_run, &put), TV_ERR_LEASE_LOST);
    set.change.conditions.has_lease_id = false;
    CHECK_OK(RUN(tv_set_blob_metadata_run, &set));
    CHECK_ERR(RUN(tv_put_blob_run, &put), TV_ERR_LEASE_NOT_PRESENT);
    lease.request = (tv_lease_request){.action = TV_LEASE_RENEW, .id = id};
    CHECK_ERR(RUN(tv_lease_blob_run, &lease), TV_ERR_LEASE_OP_ID_MISMATCH);
}

/* A group can fail as a whole and run again: results are those of the last run. */
TEST(a_change_may_run_again)
{
    tv_blob_data data = extent_data(1, 5);
    tv_put_blob put = {
        .change = change_of("b"), .type = TV_BLOB_BLOCK, .data = &data, .data_count = 1};
    tv_txn *txn = tv_txn_new(engine);

    CHECK_OK(RUN(tv_put_blob_run, &put));
    data.extent.number = 2;
    for (int i = 0; i < 3; i++) {
        tv_txn_begin(txn);
        CHECK_OK(tv_txn_run(txn, put.change.partition, tv_put_blob_run, &put));
        CHECK_INT(put.change.garbage_count, 1);
        CHECK_INT(put.change.garbage[0].number, 1);
    }
    CHECK_OK(tv_txn_commit(txn));
    tv_txn_free(txn);
    CHECK_TEXT(content_of("b", 0), "<2:5>");
    CHECK_INT(head_of("b", 0).etag, put.change.etag);
}

/* The ETag of a blob that was deleted never matches the next one. */
TEST(a_blob_made_again_in_one_group_has_another_etag)
{
    tv_txn *txn = tv_txn_new(engine);
    tv_blob_data data = text_data("x");
    tv_put_blob put = {
        .change = change_of("b"), .type = TV_BLOB_BLOCK, .data = &data, .data_count = 1};
    tv_delete_blob delete = {.change = change_of("b")};
    int64_t etag = 0;

    tv_txn_begin(txn);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tv_txn_run(txn, put.change.partition, tv_put_blob_run, &put));
        CHECK(put.change.etag > etag);
        etag = put.change.etag;
        CHECK_OK(tv_txn_run(txn, put.change.partition, tv_delete_blob_run, &delete));
    }
    CHECK_OK(tv_txn_commit(txn));
    tv_txn_free(txn);
    CHECK(put_text("b", "y") > etag);
}

/* Nor does the time of a snapshot, which is behind that of its blob. */
TEST(a_snapshot_of_a_blob_made_again_in_one_group_has_another_time)
{
    tv_txn *txn = tv_txn_new(engine);
    tv_blob_data data = text_data("x");
    tv_put_blob put = {
        .change = change_of("b"), .type = TV_BLOB_BLOCK, .data = &data, .data_count = 1};
    tv_snapshot_blob take = {.change = change_of("b")};
    tv_delete_blob delete = {.change = change_of("b"), .scope = TV_DELETE_WITH_SNAPSHOTS};
    int64_t snapshot = 0;

    tv_txn_begin(txn);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tv_txn_run(txn, put.change.partition, tv_put_blob_run, &put));
        CHECK_OK(tv_txn_run(txn, put.change.partition, tv_snapshot_blob_run, &take));
        CHECK(take.snapshot > snapshot && take.snapshot > put.change.etag);
        snapshot = take.snapshot;
        CHECK_OK(tv_txn_run(txn, put.change.partition, tv_delete_blob_run, &delete));
    }
    CHECK_OK(tv_txn_commit(txn));
    tv_txn_free(txn);
    CHECK_OK(RUN(tv_put_blob_run, &put));
    CHECK(snapshot_of("b") > snapshot);
}

/* --- damage --- */

static void put_row(tv_slice key, tv_slice value)
{
    tv_write_batch batch = {0};

    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, key, value});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
}

static void put_head(const char *name, tv_blob_head head)
{
    head.created = 1;
    put_row(tv_blob_key_head(&arena, partition_of(name), 0), tv_blob_head_encode(&arena, &head));
}

/* What can be read and is at its limit is refused, and not counted over. */
TEST(a_blob_at_the_end_of_its_numbers_is_not_changed)
{
    tv_blob_piece all = {.end = TV_BLOB_LENGTH_MAX, .length = TV_BLOB_LENGTH_MAX, .id = {1, 1}};
    tv_blob_head longest = {.type = TV_BLOB_APPEND,
                            .etag = 5,
                            .content_id = 5,
                            .length = TV_BLOB_LENGTH_MAX,
                            .piece_count = 1,
                            .pieces = &all};
    tv_append_block append = {.change = change_of("longest"), .data = text_data("x")};
    tv_set_blob_metadata set = {.change = change_of("last")};
    tv_snapshot_blob take = {.change = change_of("seen")}, again = {.change = change_of("counted")};

    put_head("longest", longest);
    CHECK_ERR(RUN(tv_append_block_run, &append), TV_ERR_CORRUPT);
    put_head("last", (tv_blob_head){.type = TV_BLOB_BLOCK, .etag = TV_BLOB_TICKS_MAX});
    CHECK_ERR(RUN(tv_set_blob_metadata_run, &set), TV_ERR_CORRUPT);
    put_head("seen",
             (tv_blob_head){.type = TV_BLOB_BLOCK, .etag = 5, .last_snapshot = TV_BLOB_TICKS_MAX});
    CHECK_ERR(RUN(tv_snapshot_blob_run, &take), TV_ERR_CORRUPT);
    put_head("counted", (tv_blob_head){.type = TV_BLOB_BLOCK,
                                       .etag = 5,
                                       .snapshot_count = UINT32_MAX,
                                       .last_snapshot = 5});
    CHECK_ERR(RUN(tv_snapshot_blob_run, &again), TV_ERR_CORRUPT);
}

TEST(blocks_that_are_too_long_together_make_no_blob)
{
    static const tv_block_choice choices[] = {{TV_BLOCK_LATEST, {"MDA=", 4}},
                                              {TV_BLOCK_LATEST, {"MDE=", 4}}};
    tv_put_block_list put = {.change = change_of("b"), .choices = choices, .choice_count = 2};

    for (int i = 0; i < 2; i++) {
        tv_put_block block = {.change = change_of("b"), .data = extent_data(7, 5)};
        tv_block longest = {.length = TV_BLOB_LENGTH_MAX, .extent = {1, 7}};
        tv_iter *iter;

        block.data.block_id = choices[i].id;
        CHECK_OK(RUN(tv_put_block_run, &block));

        /* Find its row. */
        tv_slice blocks = tv_blob_key_kind(&arena, partition_of("b"), TV_BLOB_ROW_BLOCK), key = {0};

        CHECK_OK(tv_engine_iter(engine, blocks, tv_key_after(&arena, blocks), &iter));
        for (tv_iter_seek(iter, blocks); tv_iter_is_valid(iter); tv_iter_next(iter))
            key = tv_arena_dup(&arena, tv_iter_key(iter));
        tv_iter_free(iter);
        put_row(key, tv_block_encode(&arena, &longest));
    }
    CHECK_ERR(RUN(tv_put_block_list_run, &put), TV_ERR_CORRUPT);
    CHECK_OK(tv_put_block_list_plan(engine, &put));
    CHECK_ERR(RUN(tv_put_block_list_run, &put), TV_ERR_CORRUPT);
}

/* The steps of a deletion end, even when there are fewer snapshots than the head says. */
TEST(snapshots_that_are_not_there_are_damage)
{
    tv_delete_blob delete = {.change = change_of("b"), .scope = TV_DELETE_WITH_SNAPSHOTS};
    size_t at_once = tv_blob_at_once_max;

    put_head("b", (tv_blob_head){
                      .type = TV_BLOB_BLOCK, .etag = 5, .snapshot_count = 9, .last_snapshot = 5});
    tv_blob_at_once_max = 2;
    CHECK_ERR(RUN(tv_delete_blob_run, &delete), TV_ERR_CORRUPT);
    tv_blob_at_once_max = at_once;
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_blob_is_put_and_replaced),
        T(conditions_guard_a_put),
        T(a_blob_keeps_its_type_until_it_is_deleted),
        T(a_dropped_container_has_no_blobs),
        T(what_needs_a_blob_does_not_find_one),
        T(a_blob_that_was_never_committed_can_be_deleted),
        T(appends_count_and_keep_their_conditions),
        T(an_append_blob_has_at_most_50000_blocks),
        T(headers_and_metadata_are_replaced_whole),
        T(a_blob_with_new_properties_is_no_copy),
        T(snapshots_stay_as_they_were),
        T(snapshots_of_many_pieces_have_a_limit),
        T(snapshots_of_long_texts_have_a_limit),
        T(little_is_done_at_once_however_many_snapshots_there_are),
        T(delete_asks_what_to_do_with_snapshots),
        T(a_lease_guards_changes_and_outlives_a_put),
        T(a_change_may_run_again),
        T(a_blob_made_again_in_one_group_has_another_etag),
        T(a_snapshot_of_a_blob_made_again_in_one_group_has_another_time),
        T(a_snapshot_of_a_blob_made_again_in_one_group_has_another_time),
        T(a_blob_at_the_end_of_its_numbers_is_not_changed),
        T(blocks_that_are_too_long_together_make_no_blob),
        T(snapshots_that_are_not_there_are_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
