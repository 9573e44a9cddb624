/* A folder for a store of extents, and shorthands for what tests do with one. */
#ifndef TV_TESTS_UNIT_EXTENT_FIXTURE_H
#define TV_TESTS_UNIT_EXTENT_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/extent/extent.h"
#include "store/extent/internal.h"

#include "check.h"
#include "wait.h"

static char dir[64];
static char open_text[512];

/* Where there is a disk. */
static inline const char *temporary(void)
{
    const char *base = getenv("TMPDIR");

    return base ? base : "/tmp";
}

static inline void make_folder(const char *beneath)
{
    snprintf(dir, sizeof dir, "%.40s/tv-extent-XXXXXX", beneath);
    if (mkdtemp(dir) == NULL)
        CHECK_FAIL("cannot make %s: %s", dir, strerror(errno));
}

static inline int remove_entry(const char *path, const struct stat *stat_of, int type,
                               struct FTW *ftw)
{
    (void)stat_of, (void)type, (void)ftw;
    return remove(path);
}

static inline void remove_folder(void)
{
    nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static inline bool try_open(const tv_extent_options *options, tv_extents **ret_store)
{
    open_text[0] = '\0';
    return tv_extents_open(options, ret_store, open_text, sizeof open_text);
}

static inline tv_extents *open_store(void)
{
    tv_extents *store;

    if (!try_open(&(tv_extent_options){.dir = dir}, &store))
        CHECK_FAIL("cannot open the store: %s", open_text);
    return store;
}

/* The path of an extent as the format has it. */
static inline const char *path_of(tv_extent_id id)
{
    static _Thread_local char path[256];

    snprintf(path, sizeof path, "%s/%02x/%016llx-%016llx", dir, (unsigned)(id.number / 64 % 256),
             (unsigned long long)id.boot, (unsigned long long)id.number);
    return path;
}

static inline bool is_there(tv_extent_id id)
{
    return access(path_of(id), F_OK) == 0;
}

static inline tv_extent_id put(tv_extents *store, tv_slice bytes)
{
    tv_extent_writer *writer;
    tv_extent_id id = {0};

    CHECK_OK(tv_extent_create(store, &writer));
    CHECK_OK(tv_extent_append(writer, bytes));
    CHECK_OK(tv_extent_finish(writer, &id));
    return id;
}

/* How long the file of this many bytes is: 4 bytes for each block of 16 KiB, and 40. */
static inline int64_t file_bytes(int64_t length)
{
    return length + (length + 16383) / 16384 * 4 + 40;
}

/* How many bytes the extent has by the size of its file. */
static inline uint64_t length_of(tv_extent_id id)
{
    struct stat stat_of;

    if (stat(path_of(id), &stat_of) != 0 || stat_of.st_size < 40)
        return 0;

    uint64_t rest = (uint64_t)stat_of.st_size - 40;

    return rest - (rest + 16387) / 16388 * 4;
}

static inline void check_bytes(tv_extents *store, tv_extent_id id, tv_slice want)
{
    char *got = tv_malloc(want.len + 1);
    tv_extent_reader *reader;
    size_t len, all = 0;

    CHECK_OK(tv_extent_open(store, TV_READ_ANY, id, want.len, &reader));
    do {
        CHECK_OK(tv_extent_read(reader, TV_READ_ANY, all, got + all, want.len + 1 - all, &len));
        all += len;
    } while (len);
    CHECK_INT(all, want.len);
    CHECK(want.len == 0 || memcmp(got, want.data, want.len) == 0);
    tv_extent_close(reader);
    free(got);
}

typedef struct metrics {
    int64_t extents, bytes, to_remove, damaged, failed_reads;
} metrics;

static inline void add_figure(void *ctx, const char *name, const char *help, double value)
{
    metrics *f = ctx;

    CHECK(help[0] != '\0');
    if (strcmp(name, "extents") == 0)
        f->extents = (int64_t)value;
    else if (strcmp(name, "extent_bytes") == 0)
        f->bytes = (int64_t)value;
    else if (strcmp(name, "extents_to_remove") == 0)
        f->to_remove = (int64_t)value;
    else if (strcmp(name, "extents_damaged") == 0)
        f->damaged = (int64_t)value;
    else if (strcmp(name, "extent_read_failures_total") == 0)
        f->failed_reads = (int64_t)value;
    else
        CHECK_FAIL("an unknown metric %s", name);
}

static inline metrics read_metrics(tv_extents *store)
{
    metrics f = {-1, -1, -1, -1, -1};

    tv_extents_metrics(store, add_figure, &f);
    return f;
}

#define CHECK_FIGURES(store, want_extents, want_bytes)                                             \
    do {                                                                                           \
        metrics metrics_ = read_metrics(store);                                                    \
        CHECK_INT(metrics_.extents, want_extents);                                                 \
        CHECK_INT(metrics_.bytes, want_bytes);                                                     \
    } while (0)

/* Wait until no more than `count` extents wait for their removal. */
static inline void wait_for_removals(tv_extents *store, int64_t count)
{
    WAIT_UNTIL(read_metrics(store).to_remove <= count);
}

static inline uint64_t look_count(tv_extents *store, bool wakes)
{
    tv_background_lock(&store->gc);
    uint64_t count = store->look_count;

    if (wakes)
        tv_background_wake(&store->gc);
    tv_background_unlock(&store->gc);
    return count;
}

/* Wait until the thread that removes has looked once more, and found nothing that it may. */
static inline void wait_for_look(tv_extents *store)
{
    uint64_t count = look_count(store, true);

    WAIT_UNTIL(look_count(store, false) > count);
}

/* Let time pass for visits and removals. */
static inline void pass_minutes(int minutes)
{
    tv_clock_skip_ns(minutes * INT64_C(60000000000));
}

static inline void touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        CHECK_FAIL("cannot make %s: %s", path, strerror(errno));
    close(fd);
}

/* What "rows" refer to, for tv_extents_gc. */
typedef struct rows {
    const tv_extent_id *ids;
    size_t count;
    tv_err err;
} rows;

static inline tv_err mark_rows(void *ctx, tv_extent_mark_fn *mark, void *marker)
{
    const rows *r = ctx;

    for (size_t i = 0; i < r->count; i++)
        mark(marker, r->ids[i]);
    return r->err;
}

/* Collect garbage over these rows; *ret_removed is untouched on an error. */
static inline tv_err gc_extents(tv_extents *store, const rows *r, size_t *ret_removed)
{
    tv_extent_gc s = {.mark_rows = mark_rows, .ctx = (void *)r};
    tv_err err = tv_extents_gc(store, &s);

    if (err == TV_OK)
        *ret_removed = s.has_removed ? s.orphan_count : 0;
    return err;
}

#endif
