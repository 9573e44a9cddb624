/*
 * For tests of the blob store: a memory engine, one container in it, and
 * extents that are nothing but numbers.  Each test starts with an empty store.
 */
#ifndef TV_TESTS_UNIT_BLOB_BLOBS_H
#define TV_TESTS_UNIT_BLOB_BLOBS_H

#include "base/buf.h"
#include "base/clock.h"
#include "check.h"
#include "services/blob/store/change.h"
#include "services/blob/store/gc.h"
#include "services/blob/store/reader.h"
#include "store/engine/key.h"
#include "store/engine/memory/memory.h"
#include "test_engine.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define SECONDS(count) ((count)*TV_TICKS_PER_SECOND)

static tv_engine *engine;
static tv_arena arena;
static tv_slice container;
static atomic_bool is_dropped;
static int64_t clock_ticks = INT64_C(639029198450000000); /* 2026-01-02T03:04:05Z */

static inline int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    engine = test_engine_new(NULL);
    container = tv_key_container(&arena, TV_LIT("acct"), 1);
    atomic_store(&is_dropped, false);
    tv_clock_set_fake_ticks(clock_ticks);
    return 0;
}

static inline int tear_down(__attribute__((unused)) void **state)
{
    tv_engine_close(engine);
    tv_arena_done(&arena);
    tv_clock_set_fake_ticks(0);
    return 0;
}

/* The clock of transactions never goes back, so tests only ever move it on. */
static inline void pass_time(int64_t ticks)
{
    clock_ticks += ticks;
    tv_clock_set_fake_ticks(clock_ticks);
}

static inline tv_slice partition_of(const char *name)
{
    tv_slice partition;

    CHECK_OK(tv_key_blob(&arena, container, tv_slice_of(name), &partition));
    return partition;
}

/* The common part of a change to a blob. */
static inline tv_blob_change change_of(const char *name)
{
    return (tv_blob_change){
        .is_dropped = &is_dropped, .partition = partition_of(name), .arena = &arena};
}

/* Run a change; `change` is a pointer to any of the contexts. */
#define RUN(fn, change)                                                                            \
    tv_engine_update(engine, ((tv_blob_change *)(change))->partition, fn, change)

/* Run a change in a group of its own; returns the rows that it read and wrote on the way. */
static inline size_t steps_of(tv_update_fn *fn, tv_blob_change *change, tv_err want)
{
    tv_txn *txn = tv_txn_new(engine);
    size_t steps;

    tv_txn_begin(txn);
    CHECK_ERR(tv_txn_run(txn, change->partition, fn, change), want);
    CHECK_OK(tv_txn_commit(txn));
    steps = tv_txn_steps(txn);
    tv_txn_free(txn);
    return steps;
}

/* Collect garbage as the server would; returns how many extents went. */
static inline size_t gc_blob(const char *name)
{
    tv_slice partition = partition_of(name);
    tv_blob_garbage garbage;

    CHECK_OK(tv_blob_find_garbage(engine, partition, &arena, &garbage));
    for (size_t at = 0; at < garbage.key_count; at += TV_BLOB_GC_ROWS) {
        size_t left = garbage.key_count - at;
        tv_blob_gc_step step = {.change = {.is_dropped = &is_dropped, .partition = partition},
                                .keys = garbage.keys + at,
                                .key_count = left < TV_BLOB_GC_ROWS ? left : TV_BLOB_GC_ROWS};

        CHECK(steps_of(tv_blob_gc_run, &step.change, TV_OK) <= TV_BLOB_GC_ROWS);
    }
    return garbage.extent_count;
}

static inline tv_guid guid_of(char letter)
{
    tv_guid guid;

    memset(guid.bytes, letter, sizeof guid.bytes);
    return guid;
}

static inline tv_blob_data text_data(const char *text)
{
    return (tv_blob_data){.bytes = tv_slice_of(text), .length = strlen(text)};
}

static inline tv_blob_data extent_data(uint64_t number, uint64_t length)
{
    return (tv_blob_data){.extent = {1, number}, .length = length};
}

/* Put a blob of one text, or an empty append blob when `text` is NULL. */
static inline int64_t put_text(const char *name, const char *text)
{
    tv_blob_data data = text ? text_data(text) : (tv_blob_data){0};
    tv_put_blob put = {.change = change_of(name),
                       .type = text ? TV_BLOB_BLOCK : TV_BLOB_APPEND,
                       .data = &data,
                       .data_count = text != NULL};

    CHECK_OK(RUN(tv_put_blob_run, &put));
    return put.change.etag;
}

static inline tv_err put_block(const char *name, const char *id, tv_blob_data data)
{
    tv_put_block put = {.change = change_of(name), .data = data};

    put.data.block_id = tv_slice_of(id);
    return RUN(tv_put_block_run, &put);
}

static inline int64_t snapshot_of(const char *name)
{
    tv_snapshot_blob take = {.change = change_of(name)};

    CHECK_OK(RUN(tv_snapshot_blob_run, &take));
    return take.snapshot;
}

static inline tv_blob_head head_of(const char *name, int64_t snapshot)
{
    tv_blob_head head = {0};

    CHECK_OK(tv_blob_get_head(engine, TV_READ_ANY, partition_of(name), snapshot, &arena, &head));
    return head;
}

/* The content as text; an extent reads as <number:length>. */
static inline tv_slice content_of(const char *name, int64_t snapshot)
{
    tv_buf text = TV_BUF_EMPTY;
    tv_blob_reader *reader;
    tv_slice copy, bytes;

    CHECK_OK(tv_blob_reader_open(engine, partition_of(name), snapshot, &reader));
    for (uint64_t offset = 0; offset < tv_blob_reader_head(reader)->length;) {
        tv_blob_piece piece;

        CHECK_OK(tv_blob_reader_piece(reader, offset, &piece));
        offset = piece.end;
        if (piece.is_chunk) {
            CHECK_OK(tv_blob_reader_chunk(reader, &piece, &bytes));
            tv_buf_add(&text, bytes);
        } else {
            tv_buf_printf(&text, "<%d:%d>", (int)piece.id.number, (int)piece.length);
        }
    }
    tv_blob_reader_close(reader);
    copy = tv_arena_dup(&arena, tv_buf_slice(&text));
    tv_buf_done(&text);
    return copy;
}

/* How many rows the whole store has. */
static inline size_t row_count(void)
{
    size_t count = 0;
    tv_iter *iter;

    CHECK_OK(tv_engine_iter_across(engine, TV_LIT("a"), TV_LIT("z"), &iter));
    for (tv_iter_seek(iter, TV_LIT("a")); tv_iter_is_valid(iter); tv_iter_next(iter))
        count++;
    tv_iter_free(iter);
    return count;
}

#endif
