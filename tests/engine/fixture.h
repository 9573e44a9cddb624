/* What the engine tests share: scratch folders, engines to test, short ways to read and write. */
#ifndef TV_TESTS_ENGINE_FIXTURE_H
#define TV_TESTS_ENGINE_FIXTURE_H

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "store/engine/memory/memory.h"
#include "store/engine/rocksdb/rocksdb.h"

static int remove_entry(const char *path, const struct stat *stat, int kind, struct FTW *at)
{
    (void)stat, (void)kind, (void)at;
    return remove(path);
}

static inline void remove_folder(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A new empty folder, whose name goes into `ret_path`. */
static inline void make_folder(char ret_path[64])
{
    const char *base = getenv("TMPDIR");

    snprintf(ret_path, 64, "%.40s/tv-engine-XXXXXX", base ? base : "/tmp");
    if (mkdtemp(ret_path) == NULL)
        CHECK_FAIL("cannot make %s", ret_path);
}

static inline tv_engine *open_rocksdb(const char *dir)
{
    tv_rocksdb_options options = {
        .dir = dir, .block_cache_bytes = 8 << 20, .disk_reserve_bytes = 1};
    char text[TV_ROCKSDB_ERROR_TEXT_MAX] = "";
    tv_engine *engine = NULL;
    tv_err err = tv_rocksdb_engine_open(&options, &engine, text, sizeof text);

    if (err)
        CHECK_FAIL("cannot open %s: %s: %s", dir, tv_err_name(err), text);
    return engine;
}

/* Write a list of changes as one batch, as far as they are of one range. */
#define WRITE(engine, ...)                                                                         \
    write_changes(engine, (const tv_change[]){__VA_ARGS__},                                        \
                  sizeof((const tv_change[]){__VA_ARGS__}) / sizeof(tv_change))

static inline tv_err write_batch(tv_engine *engine, const tv_change *changes, size_t count)
{
    tv_write_batch batch = {0};

    for (size_t i = 0; i < count; i++)
        tv_write_batch_add(&batch, changes[i]);
    tv_err err = tv_engine_write(engine, &batch);
    tv_write_batch_done(&batch);
    return err;
}

/* Rows of several ranges: a batch for each, in which its changes keep their order. */
static inline tv_err write_by_ranges(tv_engine *engine, const tv_change *changes, size_t count)
{
    uint64_t *ranges = tv_calloc(count, sizeof *ranges);
    tv_change *own = tv_calloc(count, sizeof *own);
    tv_err err = TV_OK;

    for (size_t i = 0; i < count; i++)
        ranges[i] = engine->ops->range_of(engine, changes[i].key);
    for (size_t first = 0; first < count && err == TV_OK; first++) {
        uint64_t range = ranges[first];
        size_t own_count = 0;

        if (range == 0)
            continue; /* written */
        for (size_t i = first; i < count; i++) {
            if (ranges[i] != range)
                continue;
            own[own_count++] = changes[i];
            ranges[i] = 0;
        }
        err = write_batch(engine, own, own_count);
    }
    free(ranges);
    free(own);
    return err;
}

static inline tv_err write_changes(tv_engine *engine, const tv_change *changes, size_t count)
{
    tv_err err = write_batch(engine, changes, count);

    return err == TV_ERR_MOVED ? write_by_ranges(engine, changes, count) : err;
}

static inline tv_change put(const char *key, const char *value)
{
    return (tv_change){TV_CHANGE_PUT, tv_slice_of(key), tv_slice_of(value)};
}

static inline tv_change del(const char *key)
{
    return (tv_change){TV_CHANGE_DELETE, tv_slice_of(key), TV_NONE};
}

static inline tv_change expect(const char *key, const char *value)
{
    return (tv_change){TV_CHANGE_EXPECT_VALUE, tv_slice_of(key), tv_slice_of(value)};
}

static inline tv_change expect_absent(const char *key)
{
    return (tv_change){TV_CHANGE_EXPECT_ABSENT, tv_slice_of(key), TV_NONE};
}

/* The value of a row as text, "-" when there is none.  Lives until the next call but three. */
static inline const char *text_of(tv_engine *engine, const char *key)
{
    static char texts[4][256];
    static unsigned turn;
    char *text = texts[turn++ % 4];
    tv_arena arena;
    tv_slice value;

    tv_arena_init(&arena);
    tv_err err = tv_engine_get(engine, TV_READ_ANY, tv_slice_of(key), &arena, &value);
    if (err == TV_OK)
        snprintf(text, sizeof texts[0], "%.*s", TV_FMT(value));
    else
        snprintf(text, sizeof texts[0], "%s", err == TV_ERR_NOT_FOUND ? "-" : tv_err_name(err));
    tv_arena_done(&arena);
    return text;
}

#define CHECK_ROW(engine, key, want) CHECK_TEXT(tv_slice_of(text_of(engine, key)), want)

/* What an iterator gives from `key` to its end: "a=1 b=2 ". */
static inline const char *rest_of(tv_iter *iter, const char *key)
{
    static char text[4096];
    size_t len = 0;

    text[0] = '\0';
    for (tv_iter_seek(iter, tv_slice_of(key)); tv_iter_is_valid(iter); tv_iter_next(iter)) {
        tv_slice k = tv_iter_key(iter), v = tv_iter_value(iter);

        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s=%.*s ", TV_FMT(k), TV_FMT(v));
    }
    CHECK_OK(tv_iter_status(iter));
    return text;
}

static inline const char *scan(tv_engine *engine, const char *from, const char *to)
{
    tv_iter *iter;

    CHECK_OK(tv_engine_iter_across(engine, tv_slice_of(from), tv_slice_of(to), &iter));
    const char *text = rest_of(iter, from);
    tv_iter_free(iter);
    return text;
}

#define CHECK_SCAN(engine, from, to, want) CHECK_TEXT(tv_slice_of(scan(engine, from, to)), want)

#endif
