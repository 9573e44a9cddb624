/* Extents in a pool: parts, what makes one whole, faults at every step. */
#include "base/point.h"

#include "pool_fixture.h"

static const size_t sizes[] = {
    1,
    100,
    16 * 1024,
    16 * 1024 + 1,
    4 * MIB - 1024 - 24 - 1, /* with its checksums one part, and room for a byte, */
    4 * MIB - 1024 - 24,     /* one part, */
    4 * MIB - 1024 - 24 + 1, /* two */
    4 * MIB - 1,
    4 * MIB,
    4 * MIB + 1,
    8 * MIB,
    13 * MIB + 5,
};

TEST(what_one_node_has_written_another_reads)
{
    node a = node_open(1, (tv_extent_pool_options){0}),
         b = node_open(2, (tv_extent_pool_options){0});

    for (size_t i = 0; i < COUNT(sizes); i++) {
        tv_extent_id id = put(a.extents, some_bytes(sizes[i]));

        CHECK_INT(id.boot, 1);
        CHECK_OK(try_read(b.extents, id, some_bytes(sizes[i])));
        CHECK_INT(part_count(), tv_pool_extent_parts(sizes[i]));
        tv_extents_remove(b.extents, &id, 1);
        wait_for_removals(b.extents);
        CHECK_INT(part_count(), 0);
        CHECK_ERR(try_read(a.extents, id, some_bytes(sizes[i])), TV_ERR_NOT_FOUND);
    }
    CHECK_INT(metric(a.extents, "extents_written_total"), COUNT(sizes));
    CHECK_INT(metric(a.extents, "extent_buffer_bytes"), 0);
    CHECK_INT(metric(a.extents, "extents_damaged"), 0);
    node_close(&a);
    node_close(&b);
}

/* One operation for an extent of one part; else one for each part and one for the length. */
TEST(a_small_extent_is_one_operation)
{
    node a = node_open(1, (tv_extent_pool_options){0});

    put(a.extents, some_bytes(4 * MIB - 2000));
    CHECK_INT(fake_client_change_count(a.pool), 1);
    put(a.extents, some_bytes(4 * MIB));
    CHECK_INT(fake_client_change_count(a.pool), 1 + 3);
    node_close(&a);
}

TEST(any_range_can_be_read)
{
    node a = node_open(1, (tv_extent_pool_options){0});
    tv_slice all = some_bytes(9 * MIB + 77);
    tv_extent_id id = put(a.extents, all);
    tv_extent_reader *reader;
    static char to[6 << 20];

    seed_start();
    CHECK_OK(tv_extent_open(a.extents, TV_READ_ANY, id, all.len, &reader));
    for (int i = 0; i < 200; i++) {
        uint64_t offset = seed_below(all.len);
        size_t size = seed_below(sizeof to) + 1, len;

        if (i % 2)
            offset -= offset % 16384;
        CHECK_OK(tv_extent_read(reader, TV_READ_ANY, offset, to, size, &len));
        CHECK(len > 0 && len <= size && offset + len <= all.len);
        CHECK(memcmp(to, all.data + offset, len) == 0);
    }
    tv_extent_close(reader);
    node_close(&a);
}

TEST(a_pool_always_has_to_be_waited_for)
{
    node a = node_open(1, (tv_extent_pool_options){0});
    tv_extent_id id = put(a.extents, some_bytes(100));
    tv_extent_reader *reader;
    char to[100];
    size_t len;

    CHECK_ERR(tv_extent_open(a.extents, TV_READ_CACHED, id, 100, &reader), TV_ERR_WOULD_BLOCK);
    CHECK_OK(tv_extent_open(a.extents, TV_READ_ANY, id, 100, &reader));
    CHECK_ERR(tv_extent_read(reader, TV_READ_CACHED, 0, to, 100, &len), TV_ERR_WOULD_BLOCK);
    tv_extent_close(reader);
    node_close(&a);
}

TEST(a_link_is_a_copy)
{
    node a = node_open(1, (tv_extent_pool_options){0}),
         b = node_open(2, (tv_extent_pool_options){0});
    tv_extent_id from = put(a.extents, some_bytes(5 * MIB)), to;

    CHECK_OK(tv_extent_link(b.extents, from, 5 * MIB, &to));
    CHECK_OK(tv_extents_sync_links(b.extents));
    CHECK_INT(to.boot, 2);
    tv_extents_remove(a.extents, &from, 1);
    wait_for_removals(a.extents);
    CHECK_OK(try_read(a.extents, to, some_bytes(5 * MIB)));
    CHECK_ERR(tv_extent_link(b.extents, from, 5 * MIB, &to), TV_ERR_NOT_FOUND);
    node_close(&a);
    node_close(&b);
}

/* --- what an extent is that was not finished, or not left alone --- */

TEST(an_extent_without_its_length_is_not_whole)
{
    node a = node_open(1, (tv_extent_pool_options){0}),
         b = node_open(2, (tv_extent_pool_options){0});
    tv_extent_id id = put(a.extents, some_bytes(5 * MIB)), half = {0};
    tv_extent_writer *writer;

    /* The last of its operations, which sets the length, is not done. */
    CHECK_OK(tv_extent_create(a.extents, &writer));
    half = writer->id;
    CHECK_OK(tv_extent_append(writer, some_bytes(5 * MIB)));
    fake_client_kill_at(a.pool, 2, false);
    CHECK_ERR(tv_extent_finish(writer, &half), TV_ERR_IO);
    CHECK_ERR(try_read(b.extents, half, some_bytes(5 * MIB)), TV_ERR_CORRUPT);
    CHECK_INT(metric(b.extents, "extents_damaged"), 1);

    /* A row and an extent of different lengths do not belong together. */
    CHECK_OK(try_read(b.extents, id, some_bytes(5 * MIB)));
    CHECK_ERR(try_read(b.extents, id, some_bytes(5 * MIB - 1)), TV_ERR_CORRUPT);
    CHECK_ERR(try_read(b.extents, (tv_extent_id){7, 7}, some_bytes(5)), TV_ERR_NOT_FOUND);
    node_close(&a);
    node_close(&b);
}

static tv_err change_part(tv_pool *pool, tv_extent_id id, uint32_t part, tv_pool_step step)
{
    char name[TV_EXTENT_OBJECT_SIZE];

    tv_pool_extent_name(id, part, name);
    return tv_pool_change_now(pool, name, &step, 1, NULL);
}

static tv_pool_step set_data(tv_slice bytes)
{
    return (tv_pool_step){.kind = TV_POOL_SET_DATA, .value = bytes};
}

TEST(damage_is_noticed)
{
    node a = node_open(1, (tv_extent_pool_options){0});
    tv_slice all = some_bytes(9 * MIB);
    tv_extent_id id = put(a.extents, all);
    char *part = tv_malloc(4 * MIB), text[TV_EXTENT_TEXT_SIZE];
    tv_extent_reader *reader;
    size_t len;

    /* A byte of the second part. */
    memcpy(part, all.data + 4 * MIB, 4 * MIB);
    part[12345] ^= 1;
    CHECK_OK(change_part(a.pool, id, 1, set_data((tv_slice){part, 4 * MIB})));
    CHECK_ERR(try_read(a.extents, id, all), TV_ERR_CORRUPT);
    CHECK_INT(metric(a.extents, "extents_damaged"), 1);
    CHECK(!tv_extents_check(a.extents, text, sizeof text));
    CHECK(strstr(text, "its checksum is wrong") && strstr(text, "tv.X.0000000000000001-"));

    /* A part that is too short, and one that is gone. */
    CHECK_OK(change_part(a.pool, id, 1, set_data((tv_slice){all.data + 4 * MIB, 4 * MIB - 1})));
    CHECK_ERR(try_read(a.extents, id, all), TV_ERR_CORRUPT);
    CHECK_OK(change_part(a.pool, id, 1, set_data((tv_slice){all.data + 4 * MIB, 4 * MIB})));
    CHECK_OK(try_read(a.extents, id, all));
    CHECK_OK(tv_extent_open(a.extents, TV_READ_ANY, id, all.len, &reader));
    CHECK_OK(change_part(a.pool, id, 1, (tv_pool_step){.kind = TV_POOL_REMOVE}));
    CHECK_OK(tv_extent_read(reader, TV_READ_ANY, 0, part, 100, &len));
    CHECK_ERR(tv_extent_read(reader, TV_READ_ANY, 5 * MIB, part, 100, &len), TV_ERR_NOT_FOUND);
    tv_extent_close(reader);
    CHECK_ERR(try_read(a.extents, id, all), TV_ERR_NOT_FOUND);

    /* The note goes with the extent. */
    tv_extents_remove(a.extents, &id, 1);
    wait_for_removals(a.extents);
    CHECK_INT(part_count(), 0);
    CHECK(tv_extents_check(a.extents, text, sizeof text));
    free(part);
    node_close(&a);
}

/* What another node removes while it is read is no damage once the visit is over. */
TEST(an_extent_can_go_while_it_is_read)
{
    node a = node_open(1, (tv_extent_pool_options){0});
    node b = node_open(2, (tv_extent_pool_options){.times.visit_ms_max = 1});
    tv_extent_id id = put(a.extents, some_bytes(9 * MIB));
    tv_extent_reader *reader;
    tv_extent_visit visit;
    char to[100];
    size_t len;

    tv_extent_visit_begin(b.extents, &visit);
    CHECK_OK(tv_extent_open(b.extents, TV_READ_ANY, id, 9 * MIB, &reader));
    CHECK_OK(tv_extent_read(reader, TV_READ_ANY, 0, to, sizeof to, &len));
    tv_extents_remove(a.extents, &id, 1);
    wait_for_removals(a.extents);
    CHECK_ERR(tv_extent_read(reader, TV_READ_ANY, 5 * MIB, to, sizeof to, &len), TV_ERR_NOT_FOUND);
    WAIT_UNTIL(tv_extent_visit_is_over(b.extents, &visit));
    CHECK(tv_extent_visit_must_renew(b.extents, &visit));
    tv_extent_visit_renew(b.extents, &visit, tv_clock_mono_ns() + INT64_C(60000000000));
    CHECK(!tv_extent_visit_must_renew(b.extents, &visit));
    CHECK_INT(metric(b.extents, "extents_damaged"), 0);
    tv_extent_close(reader);
    tv_extent_visit_end(b.extents, &visit);
    node_close(&a);
    node_close(&b);
}

TEST(a_removal_waits_for_its_time)
{
    node a = node_open(1, (tv_extent_pool_options){.times.remove_delay_ms = 50});
    tv_extent_id id = put(a.extents, some_bytes(100));
    int64_t start_ns = tv_clock_mono_ns();

    tv_extents_remove(a.extents, &id, 1);
    CHECK_INT(metric(a.extents, "extents_to_remove"), 1);
    wait_for_removals(a.extents);
    CHECK(tv_clock_mono_ns() - start_ns >= INT64_C(50000000));
    CHECK_INT(part_count(), 0);
    node_close(&a);

    /* A stop does not wait for it: the sweep will find it. */
    a = node_open(2, (tv_extent_pool_options){.times.remove_delay_ms = NEVER_MS});
    id = put(a.extents, some_bytes(100));
    tv_extents_remove(a.extents, &id, 1);
    node_close(&a);
    CHECK_INT(part_count(), 1);
}

/* --- faults --- */

/* However an upload ends, what is left is whole or is nothing that a row could refer to. */
TEST(a_node_dies_between_any_two_steps_of_an_upload)
{
    tv_slice all = some_bytes(13 * MIB);

    for (uint64_t nth = 1; nth <= 6; nth++) {
        for (int is_after = 0; is_after < 2; is_after++) {
            node a = node_open(2 * nth + (uint64_t)is_after, (tv_extent_pool_options){0});
            node b = node_open(100, (tv_extent_pool_options){0});
            tv_extent_writer *writer;
            tv_extent_id id, ignored;
            tv_err err;

            fake_client_kill_at(a.pool, nth, is_after);
            CHECK_OK(tv_extent_create(a.extents, &writer));
            id = writer->id;
            err = tv_extent_append(writer, all);
            if (err)
                tv_extent_discard(writer);
            else
                err = tv_extent_finish(writer, &ignored);
            CHECK_ERR(err, nth == 6 ? TV_OK : TV_ERR_IO);

            /* The length is set by the fifth change, after all parts. */
            bool is_whole = nth == 6 || (nth == 5 && is_after);

            err = try_read(b.extents, id, all);
            if (is_whole)
                CHECK_OK(err);
            else
                CHECK_ERR(err, nth == 1 && !is_after ? TV_ERR_NOT_FOUND : TV_ERR_CORRUPT);

            /* Another node can remove all of it. */
            tv_extents_remove(b.extents, &id, 1);
            wait_for_removals(b.extents);
            CHECK_INT(part_count(), 0);
            node_close(&a);
            node_close(&b);
        }
    }
}

/* The same by pressure points, as tests on a real cluster end a node. */
TEST(an_upload_can_be_stopped_at_any_point)
{
    static const struct {
        const char *at;
        size_t bytes;
        tv_err read; /* by another node, before the parts are removed */
    } rows[] = {
        {"extent.part", 13 * MIB, TV_ERR_NOT_FOUND},
        {"extent.len", 13 * MIB, TV_ERR_CORRUPT},
        {"extent.whole", 13 * MIB, TV_OK},
        {"extent.whole", 10, TV_OK},
    };

    tv_points_enable();
    for (size_t i = 0; i < COUNT(rows); i++) {
        node a = node_open(1 + i, (tv_extent_pool_options){.times = {.remove_delay_ms = NEVER_MS}});
        node b = node_open(100, (tv_extent_pool_options){0});
        tv_slice all = some_bytes(rows[i].bytes);
        tv_extent_writer *writer;
        tv_extent_id id, ignored;
        tv_err err;

        t_row = rows[i].at;
        CHECK(tv_point_set(tv_slice_of(rows[i].at), TV_POINT_FAIL, 0, 1));
        CHECK_OK(tv_extent_create(a.extents, &writer));
        id = writer->id;
        err = tv_extent_append(writer, all);
        if (err)
            tv_extent_discard(writer);
        else
            err = tv_extent_finish(writer, &ignored);
        CHECK_ERR(err, TV_ERR_IO);
        CHECK_INT(tv_point_met(tv_slice_of(rows[i].at)), 1);
        CHECK_ERR(try_read(b.extents, id, all), rows[i].read);
        tv_point_clear();

        /* A removal that is stopped is begun again. */
        CHECK(tv_point_set(TV_LIT("extent.remove"), TV_POINT_FAIL, 0, 1));
        tv_extents_remove(b.extents, &id, 1);
        wait_for_removals(b.extents);
        tv_extents_remove(b.extents, &id, 1);
        wait_for_removals(b.extents);
        CHECK_INT(part_count(), 0);
        tv_point_clear();
        node_close(&a);
        node_close(&b);
    }
}

TEST(a_node_dies_between_any_two_steps_of_a_removal)
{
    for (uint64_t nth = 1; nth <= 4; nth++) {
        for (int is_after = 0; is_after < 2; is_after++) {
            node a = node_open(2 * nth + (uint64_t)is_after, (tv_extent_pool_options){0});
            node b = node_open(100, (tv_extent_pool_options){0});
            tv_extent_id id = put(a.extents, some_bytes(13 * MIB));

            fake_client_kill_at(a.pool, nth, is_after);
            tv_extents_remove(a.extents, &id, 1);
            wait_for_removals(a.extents);
            CHECK_INT(part_count(), 4 - (nth - 1) - (uint64_t)is_after);
            tv_extents_remove(b.extents, &id, 1);
            wait_for_removals(b.extents);
            CHECK_INT(part_count(), 0);
            node_close(&a);
            node_close(&b);
        }
    }
}

/* The upload fails with what the pool said, and nothing is left. */
TEST(any_operation_of_an_upload_can_be_refused)
{
    static const tv_err errs[] = {TV_ERR_IO, TV_ERR_DISK_FULL};

    for (size_t i = 0; i < COUNT(errs); i++) {
        for (uint64_t nth = 1; nth <= 5; nth++) {
            node a = node_open(1 + 10 * i + nth, (tv_extent_pool_options){0});
            tv_extent_id id;

            fake_refuse_changes(cluster, nth, 1, errs[i]);
            CHECK_ERR(try_put(a.extents, some_bytes(13 * MIB), &id), errs[i]);
            wait_until_empty();
            CHECK_INT(metric(a.extents, "extent_buffer_bytes"), 0);
            if (errs[i] == TV_ERR_DISK_FULL) /* known from now on */
                CHECK_ERR(try_put(a.extents, some_bytes(1), &id), TV_ERR_DISK_FULL);
            node_close(&a);
        }
    }
}

TEST(what_cannot_be_removed_is_left_to_the_sweep)
{
    node a = node_open(1, (tv_extent_pool_options){0});
    tv_extent_id id = put(a.extents, some_bytes(9 * MIB));

    fake_refuse_changes(cluster, 2, 1, TV_ERR_IO);
    tv_extents_remove(a.extents, &id, 1);
    wait_for_removals(a.extents);
    CHECK_INT(part_count(), 2);
    tv_extents_remove(a.extents, &id, 1);
    wait_for_removals(a.extents);
    CHECK_INT(part_count(), 0);

    fake_fail_reads(cluster, TV_ERR_IO);
    id = put(a.extents, some_bytes(9 * MIB));
    tv_extents_remove(a.extents, &id, 1);
    wait_for_removals(a.extents);
    CHECK_INT(part_count(), 3);
    node_close(&a);
}

/* That the pool does not answer says nothing about the data. */
TEST(a_read_that_fails_is_no_damage)
{
    node a = node_open(1, (tv_extent_pool_options){0});
    tv_extent_id small = put(a.extents, some_bytes(100)),
                 large = put(a.extents, some_bytes(5 * MIB));
    tv_extent_reader *reader;
    char to[100];
    size_t len;

    CHECK_OK(tv_extent_open(a.extents, TV_READ_ANY, small, 100, &reader));
    fake_fail_reads(cluster, TV_ERR_IO);
    CHECK_ERR(tv_extent_read(reader, TV_READ_ANY, 0, to, 100, &len), TV_ERR_OVERLOADED);
    CHECK_ERR(try_read(a.extents, small, some_bytes(100)), TV_ERR_OVERLOADED);
    CHECK_ERR(try_read(a.extents, large, some_bytes(5 * MIB)), TV_ERR_OVERLOADED);
    fake_fail_reads(cluster, TV_OK);
    CHECK_OK(try_read(a.extents, large, some_bytes(5 * MIB)));
    CHECK_INT(metric(a.extents, "extents_damaged"), 0);
    tv_extent_close(reader);
    node_close(&a);
}

/* Never written over, never removed. */
TEST(an_object_that_is_not_ours_is_left_alone)
{
    static const uint32_t taken[] = {0, 2};

    for (size_t i = 0; i < COUNT(taken); i++) {
        node a = node_open(1 + i, (tv_extent_pool_options){0}),
             b = node_open(9, (tv_extent_pool_options){0});
        tv_pool_step make[] = {{.kind = TV_POOL_CREATE}, set_data(TV_LIT("theirs"))};
        char name[TV_EXTENT_OBJECT_SIZE];
        tv_extent_writer *writer;
        tv_arena arena;
        tv_pool_read read = {
            .object = name, .kind = TV_POOL_READ_DATA, .size = 100, .arena = &arena};
        tv_extent_id id;

        CHECK_OK(tv_extent_create(a.extents, &writer));
        tv_pool_extent_name(writer->id, taken[i], name);
        CHECK_OK(tv_pool_change_now(b.pool, name, make, 2, NULL));
        tv_err err = tv_extent_append(writer, some_bytes(13 * MIB));

        if (err)
            tv_extent_discard(writer);
        else
            err = tv_extent_finish(writer, &id);
        CHECK_ERR(err, TV_ERR_IO);
        wait_for_removals(a.extents);
        tv_arena_init(&arena);
        CHECK_OK(tv_pool_read_now(b.pool, &read));
        CHECK_TEXT(read.data, "theirs");
        tv_arena_done(&arena);
        node_close(&a);
        node_close(&b);
    }
}

TEST(names_that_we_have_not_given_are_not_parts)
{
    static const char *const names[] = {
        "tv.X.",
        "tv.X.0000000000000001-0000000000000002.00000000x",
        "tv.X.0000000000000001-0000000000000002.0000000",
        "tv.X.0000000000000000-0000000000000002.00000000",
        "tv.X.8000000000000000-0000000000000002.00000000",
        "tv.X.000000000000000A-0000000000000002.00000000",
        "tv.X.0000000000000001-0000000000000002-00000000",
        "tv.X. 000000000000001-0000000000000002.00000000",
        "tv.X.+000000000000001-0000000000000002.00000000",
        "tv.Y.0000000000000001-0000000000000002.00000000",
    };
    tv_extent_id id;
    uint32_t part;

    for (size_t i = 0; i < COUNT(names); i++) {
        t_row = names[i];
        CHECK(!tv_pool_extent_name_parse(names[i], &id, &part));
    }
    CHECK(tv_pool_extent_name_parse("tv.X.000000000000000a-0000000000000002.00000abc", &id, &part));
    CHECK(id.boot == 10 && id.number == 2 && part == 0xabc);
}

/* --- limits --- */

TEST(the_reserve_of_the_pool_is_kept)
{
    node a = node_open(1, (tv_extent_pool_options){.reserve_percent = 10});
    tv_extent_id id;

    fake_set_space(cluster, 1000 * MIB, 101 * MIB);
    CHECK_OK(try_put(a.extents, some_bytes(100), &id));
    node_close(&a);

    fake_set_space(cluster, 1000 * MIB, 99 * MIB);
    a = node_open(2, (tv_extent_pool_options){.reserve_percent = 10});
    CHECK_OK(try_read(a.extents, id, some_bytes(100)));
    CHECK_ERR(try_put(a.extents, some_bytes(100), &(tv_extent_id){0}), TV_ERR_DISK_FULL);
    tv_extents_remove(a.extents, &id, 1); /* what frees goes on */
    wait_for_removals(a.extents);
    CHECK_INT(part_count(), 0);
    node_close(&a);
}

/* Memory for parts is bounded; a writer that has none of its own on the way is refused. */
TEST(memory_for_parts_is_bounded)
{
    node a = node_open(1, (tv_extent_pool_options){.buffer_bytes_max = 5 * MIB});
    tv_extent_writer *first, *second;
    tv_extent_id id;

    CHECK_OK(tv_extent_create(a.extents, &first));
    CHECK_OK(tv_extent_append(first, some_bytes(4 * MIB)));
    CHECK_OK(tv_extent_create(a.extents, &second));
    CHECK_OK(tv_extent_append(second, some_bytes(MIB)));
    CHECK_ERR(tv_extent_append(second, some_bytes(MIB)), TV_ERR_OVERLOADED);
    tv_extent_discard(second);
    CHECK_OK(tv_extent_append(first, some_bytes(9 * MIB)));
    CHECK_OK(tv_extent_finish(first, &id));
    CHECK_INT(metric(a.extents, "extent_buffer_bytes"), 0);
    node_close(&a);
}

/* Nothing that the sweep of another node may take for garbage gets a row. */
TEST(an_upload_that_takes_too_long_fails)
{
    node a = node_open(1, (tv_extent_pool_options){.times.commit_ms_max = 600 * 1000});
    tv_extent_id id = put(a.extents, some_bytes(100)), late;
    tv_extent_writer *writer;

    CHECK_OK(tv_extent_create(a.extents, &writer));
    CHECK_OK(tv_extent_append(writer, some_bytes(100)));
    CHECK(tv_extents_may_commit(a.extents, &id, 1));
    CHECK(tv_extents_may_commit(a.extents, &writer->id, 1));
    tv_clock_skip_ns(601 * INT64_C(1000000000)); /* it is counted in whole seconds */
    CHECK(!tv_extents_may_commit(a.extents, &id, 1));
    CHECK(!tv_extents_may_commit(a.extents, &writer->id, 1));
    CHECK_ERR(tv_extent_finish(writer, &late), TV_ERR_REQUEST_TIMEOUT);
    node_close(&a);
}

/* A writer may be given up at any time: what is on its way arrives first, and then all of it goes.
 */
TEST(uploads_are_given_up_while_parts_are_on_their_way)
{
    node a = node_open(1, (tv_extent_pool_options){0}),
         b = node_open(2, (tv_extent_pool_options){0});

    for (int i = 0; i < 20; i++) {
        tv_extent_writer *writer;

        CHECK_OK(tv_extent_create(a.extents, &writer));
        CHECK_OK(tv_extent_append(writer, some_bytes((1 + (size_t)i % 13) * MIB)));
        tv_extent_discard(writer);
    }
    wait_until_empty();

    /* Also just before the end. */
    tv_extent_writer *writer;

    CHECK_OK(tv_extent_create(a.extents, &writer));
    CHECK_OK(tv_extent_append(writer, some_bytes(13 * MIB)));
    tv_extent_discard(writer);
    node_close(&a);
    node_close(&b);
}

TEST(a_copy_of_a_pool_is_not_made_here)
{
    node a = node_open(1, (tv_extent_pool_options){0});

    CHECK_INT(tv_extents_copy(a.extents, -1, -1, &(tv_file_copies){0}), ENOTSUP);
    node_close(&a);
}

TEST(a_process_has_a_number)
{
    static const uint64_t boots[] = {0, TV_EXTENT_BOOT_MAX + 1};
    tv_extents *extents;
    char text[100];

    for (size_t i = 0; i < COUNT(boots); i++)
        CHECK(!tv_extents_open_pool(&(tv_extent_pool_options){.boot = boots[i]}, &extents, text,
                                    sizeof text));
}

/* The parts that are on their way arrive some time, and only then it is removed. */
TEST(an_upload_does_not_wait_for_ever_and_leaves_nothing)
{
    node a = node_open(1, (tv_extent_pool_options){0});
    int usual = tv_pool_patience_ms;
    tv_extent_id id;

    tv_log_set_level(TV_LOG_OFF);
    tv_pool_patience_ms = 20;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        fake_set_silent(cluster, true);
        CHECK_ERR(try_put(a.extents, some_bytes(sizes[i]), &id), TV_ERR_TIMED_OUT);
        fake_set_silent(cluster, false);
        wait_for_removals(a.extents);
        CHECK_INT(part_count(), 0);
        CHECK_INT(metric(a.extents, "extent_buffer_bytes"), 0);
    }
    tv_pool_patience_ms = usual;
    node_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_one_node_has_written_another_reads),
        IN_THREADS(what_one_node_has_written_another_reads),
        T(a_small_extent_is_one_operation),
        T(any_range_can_be_read),
        IN_THREADS(any_range_can_be_read),
        T(a_pool_always_has_to_be_waited_for),
        T(a_link_is_a_copy),
        T(an_extent_without_its_length_is_not_whole),
        T(damage_is_noticed),
        T(an_extent_can_go_while_it_is_read),
        T(a_removal_waits_for_its_time),
        T(a_node_dies_between_any_two_steps_of_an_upload),
        T(an_upload_can_be_stopped_at_any_point),
        T(a_node_dies_between_any_two_steps_of_a_removal),
        T(any_operation_of_an_upload_can_be_refused),
        IN_THREADS(any_operation_of_an_upload_can_be_refused),
        T(what_cannot_be_removed_is_left_to_the_sweep),
        T(a_read_that_fails_is_no_damage),
        T(an_object_that_is_not_ours_is_left_alone),
        T(names_that_we_have_not_given_are_not_parts),
        T(the_reserve_of_the_pool_is_kept),
        T(memory_for_parts_is_bounded),
        IN_THREADS(memory_for_parts_is_bounded),
        T(an_upload_that_takes_too_long_fails),
        T(uploads_are_given_up_while_parts_are_on_their_way),
        IN_THREADS(uploads_are_given_up_while_parts_are_on_their_way),
        T(an_upload_does_not_wait_for_ever_and_leaves_nothing),
        T(a_copy_of_a_pool_is_not_made_here),
        T(a_process_has_a_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
