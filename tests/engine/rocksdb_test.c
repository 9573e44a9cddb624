/*
 * What the RocksDB engine promises beyond the contract: who may open a folder,
 * what survives a crash, what damage is named and what a full disk does.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <rocksdb/c.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/key.h"
#include "fixture.h"

static char dir[64];
static char text[TV_ROCKSDB_ERROR_TEXT_MAX];

/*
 * RocksDB syncs its log with fdatasync.  This one takes the place of libc's for
 * the whole program: it counts, and fails on demand as a dying disk does.
 */
static atomic_int sync_count, sync_errno;

int fdatasync(int fd)
{
    atomic_fetch_add(&sync_count, 1);
    if (atomic_load(&sync_errno)) {
        errno = atomic_load(&sync_errno);
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

/* The same for folders, which are synced by fsync: which was it last, and before that? */
enum { SYNCS_KEPT = 64 };
static ino_t synced[SYNCS_KEPT];
static atomic_size_t synced_count;

int fsync(int fd)
{
    struct stat stat_of;

    if (fstat(fd, &stat_of) == 0)
        synced[atomic_fetch_add(&synced_count, 1) % SYNCS_KEPT] = stat_of.st_ino;
    return (int)syscall(SYS_fsync, fd);
}

/* And for the files that RocksDB makes: those whose names end so cannot be made for a while. */
static atomic_int open_errno;
static const char *open_suffix;
static atomic_int open_failures;

static int open_file(const char *path, int flags, mode_t mode)
{
    int error = atomic_load(&open_errno);

    if (error && (flags & O_CREAT) && fnmatch(open_suffix, path, 0) == 0) {
        atomic_fetch_add(&open_failures, 1);
        errno = error;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

/* By its name in libc: with large files the compiler knows `open` under another. */
int open_by_name(const char *path, int flags, ...) __asm__("open");

int open_by_name(const char *path, int flags, ...)
{
    va_list arguments;

    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_file(path, flags, mode);
}

static void fail_opens(const char *suffix, int error)
{
    open_suffix = suffix;
    atomic_store(&open_failures, 0);
    atomic_store(&open_errno, error);
}

static int set_up(void **state)
{
    (void)state;
    make_folder(dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_folder(dir);
    return 0;
}

static tv_err try_open(const tv_rocksdb_options *options, tv_engine **ret_engine)
{
    *ret_engine = NULL;
    text[0] = '\0';
    return tv_rocksdb_engine_open(options, ret_engine, text, sizeof text);
}

/* The open must fail with `want`, with one line that names the folder. */
static void check_refused(tv_err want, const char *part_of_text)
{
    tv_engine *engine;

    CHECK_ERR(try_open(&(tv_rocksdb_options){.dir = dir}, &engine), want);
    CHECK(strstr(text, dir) != NULL && strchr(text, '\n') == NULL);
    if (strstr(text, part_of_text) == NULL)
        CHECK_FAIL("\"%s\" does not say \"%s\"", text, part_of_text);
}

/* Path of the one file in the folder that matches; the last of them by name. */
static const char *path_of(const char *pattern)
{
    static char path[512];
    char best[256] = "";
    DIR *listing = opendir(dir);

    for (struct dirent *entry; (entry = readdir(listing));) {
        if (fnmatch(pattern, entry->d_name, 0) == 0 && strcmp(entry->d_name, best) > 0)
            snprintf(best, sizeof best, "%s", entry->d_name);
    }
    closedir(listing);
    if (best[0] == '\0')
        CHECK_FAIL("no file %s", pattern);
    snprintf(path, sizeof path, "%s/%s", dir, best);
    return path;
}

static off_t size_of(const char *path)
{
    struct stat stat_of;

    CHECK(stat(path, &stat_of) == 0);
    return stat_of.st_size;
}

/* Overwrite a few bytes. */
static void damage(const char *path, off_t at)
{
    int fd = open(path, O_RDWR);

    CHECK(fd >= 0 && pwrite(fd, "\xA5\x5A\xA5\x5A", 4, at) == 4);
    close(fd);
}

static void write_file(const char *name, const char *bytes)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(bytes, file) >= 0);
    fclose(file);
}

enum { CRASH_ROWS = 200 };

static void crash_key(char key[16], int i)
{
    snprintf(key, 16, "k%04d", i);
}

/* Roles that this program plays as a child of itself: another server on the same folder. */

/* Open the store, write rows one by one and end without closing it. */
static int play_crash(void)
{
    tv_engine *engine;

    if (try_open(&(tv_rocksdb_options){.dir = dir, .disk_reserve_bytes = 1}, &engine) != TV_OK)
        return 1;
    for (int i = 0; i < CRASH_ROWS; i++) {
        char key[16];

        crash_key(key, i);
        if (WRITE(engine, put(key, "a value that is a little longer than nothing")) != TV_OK)
            return 2;
    }
    _exit(0);
}

static int play_second_server(void)
{
    tv_engine *engine;

    return try_open(&(tv_rocksdb_options){.dir = dir}, &engine) == TV_ERR_IN_USE ? 0 : 1;
}

/* Run a role in a process of its own; it must end with 0.  A forked child alone would inherit
 * RocksDB without its threads. */
static void run_child(const char *role)
{
    pid_t child = fork();
    int status;

    CHECK(child >= 0);
    if (child == 0) {
        execl("/proc/self/exe", "rocksdb_test", role, dir, (char *)NULL);
        _exit(127);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

static void write_and_crash(void)
{
    run_child("crash");
}

/* How many of the rows are there; they must be the first ones. */
static int count_crash_rows(tv_engine *engine)
{
    int count = 0;

    for (int i = 0; i < CRASH_ROWS; i++) {
        char key[16];

        crash_key(key, i);
        if (strcmp(text_of(engine, key), "-") == 0)
            break;
        count++;
    }
    for (int i = count; i < CRASH_ROWS; i++) {
        char key[16];

        crash_key(key, i);
        CHECK_ROW(engine, key, "-");
    }
    return count;
}

TEST(every_write_is_synced_before_it_returns)
{
    tv_engine *engine = open_rocksdb(dir);

    for (int i = 0; i < 10; i++) {
        int before = atomic_load(&sync_count);

        CHECK_OK(WRITE(engine, put("k", "v")));
        CHECK(atomic_load(&sync_count) > before);
        before = atomic_load(&sync_count);
        CHECK_OK(tv_engine_drop_range(engine, TV_LIT("x"), TV_LIT("y")));
        CHECK(atomic_load(&sync_count) > before);
    }
    tv_engine_close(engine);
}

/* The outcome is unknown: nothing more may be written until a restart has looked at the log. */
TEST(a_failed_sync_stops_all_writes_and_reads_go_on)
{
    tv_engine *engine = open_rocksdb(dir);

    CHECK_OK(WRITE(engine, put("k", "v1")));
    tv_log_set_level(TV_LOG_OFF);
    atomic_store(&sync_errno, EIO);
    CHECK_ERR(WRITE(engine, put("k", "v2")), TV_ERR_IO);
    CHECK_ROW(engine, "k", "v1"); /* not durable, so not visible */
    atomic_store(&sync_errno, 0);
    CHECK_ERR(WRITE(engine, put("k", "v3")), TV_ERR_IO);
    CHECK_ERR(tv_engine_drop_range(engine, TV_LIT("a"), TV_LIT("z")), TV_ERR_IO);
    CHECK_ERR(tv_engine_check(engine), TV_ERR_IO);
    CHECK_ROW(engine, "k", "v1");
    tv_engine_close(engine);
    tv_log_set_level(TV_LOG_INFO);

    engine = open_rocksdb(dir);
    bool is_old = strcmp(text_of(engine, "k"), "v1") == 0;
    bool is_new = strcmp(text_of(engine, "k"), "v2") == 0;
    CHECK(is_old || is_new);
    CHECK_OK(WRITE(engine, put("k", "v4")));
    tv_engine_close(engine);
}

TEST(what_was_acknowledged_survives_a_crash)
{
    write_and_crash();
    tv_engine *engine = open_rocksdb(dir);
    CHECK_INT(count_crash_rows(engine), CRASH_ROWS);
    tv_engine_close(engine);
}

TEST(a_log_cut_short_loses_only_the_write_that_was_cut)
{
    write_and_crash();
    const char *log = path_of("*.log");
    CHECK(truncate(log, size_of(log) - 5) == 0);
    tv_engine *engine = open_rocksdb(dir);
    CHECK_INT(count_crash_rows(engine), CRASH_ROWS - 1);
    tv_engine_close(engine);
}

/* What a power cut leaves where the file had grown and its new blocks had not been written. */
TEST(zeros_behind_the_last_write_in_the_log_are_no_damage)
{
    write_and_crash();
    const char *log = path_of("*.log");
    CHECK(truncate(log, size_of(log) + 5000) == 0);
    tv_engine *engine = open_rocksdb(dir);
    CHECK_INT(count_crash_rows(engine), CRASH_ROWS);
    tv_engine_close(engine);
}

TEST(damage_within_the_log_is_named_and_not_skipped)
{
    write_and_crash();
    const char *log = path_of("*.log");
    damage(log, size_of(log) / 2);
    check_refused(TV_ERR_CORRUPT, "damaged");

    /* Refusing changes nothing: it is refused again, and an operator may decide to go on. */
    check_refused(TV_ERR_CORRUPT, "damaged");
    tv_engine *engine;
    CHECK_OK(try_open(&(tv_rocksdb_options){.dir = dir, .drop_damaged_log = true}, &engine));
    int count = count_crash_rows(engine);
    CHECK(count > 0 && count < CRASH_ROWS);
    tv_engine_close(engine);
}

static void make_store(void)
{
    tv_engine *engine = open_rocksdb(dir);

    CHECK_OK(WRITE(engine, put("k", "v")));
    for (int i = 0; i < CRASH_ROWS; i++) {
        char key[16];

        crash_key(key, i);
        CHECK_OK(WRITE(engine, put(key, "a value that is a little longer than nothing")));
    }
    tv_engine_close(engine);
}

TEST(a_lost_current_file_is_named_and_nothing_is_created)
{
    make_store();
    CHECK(unlink(path_of("CURRENT")) == 0);
    check_refused(TV_ERR_CORRUPT, "CURRENT is missing");
    check_refused(TV_ERR_CORRUPT, "CURRENT is missing");
}

TEST(a_current_file_that_points_nowhere_is_named)
{
    make_store();
    write_file("CURRENT", "MANIFEST-999999\n");
    check_refused(TV_ERR_CORRUPT, "damaged");
}

TEST(a_current_file_full_of_rubbish_is_named)
{
    make_store();
    write_file("CURRENT", "rubbish");
    check_refused(TV_ERR_CORRUPT, "damaged");
}

TEST(a_damaged_manifest_is_named)
{
    make_store();
    const char *manifest = path_of("MANIFEST-*");
    damage(manifest, size_of(manifest) / 2);
    check_refused(TV_ERR_CORRUPT, "damaged");
}

TEST(a_lost_table_file_is_named)
{
    make_store();
    CHECK(unlink(path_of("*.sst")) == 0);
    check_refused(TV_ERR_CORRUPT, "damaged");
}

TEST(a_table_file_cut_short_is_named)
{
    make_store();
    const char *table = path_of("*.sst");
    CHECK(truncate(table, size_of(table) / 2) == 0);
    check_refused(TV_ERR_CORRUPT, "damaged");
}

TEST(a_damaged_block_fails_the_reads_of_it)
{
    tv_engine *engine;
    tv_arena arena;
    tv_slice value;

    make_store();
    damage(path_of("*.sst"), 100);
    tv_log_set_level(TV_LOG_OFF);
    tv_arena_init(&arena);
    /* The format row is in the same small file, so the damage shows at the start. */
    tv_err err = try_open(&(tv_rocksdb_options){.dir = dir}, &engine);
    if (err == TV_OK) {
        CHECK_ERR(tv_engine_get(engine, TV_READ_ANY, TV_LIT("k0001"), &arena, &value),
                  TV_ERR_CORRUPT);
        tv_engine_close(engine);
    } else {
        CHECK_ERR(err, TV_ERR_CORRUPT);
        CHECK(strstr(text, dir) != NULL);
    }
    tv_arena_done(&arena);
    tv_log_set_level(TV_LOG_INFO);
}

/* Table files of the lower levels are unlinked whole; RocksDB counts the end as inside. */
static void find_failed_reads(void *ctx, const char *name, const char *help, double value)
{
    (void)help;
    if (strcmp(name, "rocksdb_failed_reads") == 0)
        *(double *)ctx = value;
}

TEST(damage_that_a_read_has_met_is_told_by_the_check)
{
    double failed = -1;
    tv_engine *engine;
    tv_arena arena;
    tv_slice value;
    tv_iter *iter;

    make_store();
    engine = open_rocksdb(dir);
    CHECK_OK(WRITE(engine, put("z1", "1")));
    tv_engine_close(engine); /* into a table file of its own */
    damage(path_of("*.sst"), 2);
    engine = open_rocksdb(dir);
    tv_log_set_level(TV_LOG_OFF);
    tv_arena_init(&arena);
    CHECK_OK(tv_engine_check(engine));
    CHECK_OK(tv_engine_iter(engine, TV_LIT("z"), TV_LIT("zz"), &iter));
    tv_iter_seek(iter, TV_LIT("z"));
    CHECK(!tv_iter_is_valid(iter));
    CHECK_ERR(tv_iter_status(iter), TV_ERR_CORRUPT);
    tv_iter_free(iter);
    CHECK_ERR(tv_engine_get(engine, TV_READ_ANY, TV_LIT("z1"), &arena, &value), TV_ERR_CORRUPT);
    CHECK_ERR(tv_engine_check(engine), TV_ERR_CORRUPT);
    engine->ops->figures(engine, find_failed_reads, &failed);
    CHECK_INT(failed, 2);
    CHECK_OK(tv_engine_get(engine, TV_READ_ANY, TV_LIT("k0001"), &arena, &value));
    tv_engine_close(engine);
    tv_arena_done(&arena);
    tv_log_set_level(TV_LOG_INFO);
}

TEST(dropping_files_spares_one_that_ends_at_the_end_of_the_range)
{
    rocksdb_options_t *options = rocksdb_options_create();
    char *error = NULL;
    tv_engine *engine = open_rocksdb(dir);

    CHECK_OK(WRITE(engine, put("mformat", "2"), put("r1", "1"), put("r2", "1"), put("s", "1")));
    tv_engine_close(engine);
    rocksdb_t *db = rocksdb_open(options, dir, &error);
    CHECK(error == NULL);
    rocksdb_compact_range(db, NULL, 0, NULL, 0); /* down from level 0 */
    rocksdb_close(db);
    rocksdb_options_destroy(options);

    engine = open_rocksdb(dir);
    CHECK_OK(tv_engine_drop_range(engine, TV_LIT("mformat"), TV_LIT("s")));
    CHECK_SCAN(engine, "a", "z", "s=1 ");
    tv_engine_close(engine);
}

TEST(a_second_server_on_the_folder_is_refused)
{
    tv_engine *engine = open_rocksdb(dir);
    char want[128];

    check_refused(TV_ERR_IN_USE, "in use by another server");
    snprintf(want, sizeof want, "the data folder %s is in use by another server", dir);
    CHECK_TEXT(tv_slice_of(text), want);

    /* And from another process. */
    run_child("second-server");

    /* The refused ones have not disturbed the first. */
    CHECK_OK(WRITE(engine, put("k", "v")));
    CHECK_ROW(engine, "k", "v");
    tv_engine_close(engine);
    engine = open_rocksdb(dir);
    CHECK_ROW(engine, "k", "v");
    tv_engine_close(engine);
}

TEST(a_folder_of_other_files_is_refused_and_left_alone)
{
    write_file("thesis.txt", "years of work");
    check_refused(TV_ERR_CORRUPT, "no Tavola store");
    CHECK_INT(size_of(path_of("thesis.txt")), 13);
    CHECK(rmdir(dir) != 0); /* still there, and ... */
    CHECK(unlink(path_of("thesis.txt")) == 0);
    CHECK(rmdir(dir) == 0); /* ... nothing else was in it */
}

TEST(somebody_elses_rocksdb_is_refused)
{
    rocksdb_options_t *options = rocksdb_options_create();
    char *error = NULL;

    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_t *db = rocksdb_open(options, dir, &error);
    CHECK(error == NULL);
    rocksdb_close(db);
    rocksdb_options_destroy(options);
    check_refused(TV_ERR_CORRUPT, "no Tavola store");
}

TEST(another_format_version_is_refused)
{
    tv_engine *engine = open_rocksdb(dir);

    CHECK_ROW(engine, "mformat", "2");
    CHECK_OK(WRITE(engine, put("mformat", "3")));
    tv_engine_close(engine);
    check_refused(TV_ERR_CORRUPT, "has format 3; this server reads format 2");
}

TEST(a_first_start_that_was_cut_off_is_taken_up_again)
{
    write_file("tavola.creating", "");
    write_file("MANIFEST-000001", "half a file");
    tv_engine *engine = open_rocksdb(dir);
    CHECK_OK(WRITE(engine, put("k", "v")));
    tv_engine_close(engine);

    char marker[128];

    snprintf(marker, sizeof marker, "%s/tavola.creating", dir);
    CHECK(access(marker, F_OK) != 0);
}

TEST(a_folder_that_cannot_be_made_is_named)
{
    tv_engine *engine;
    char path[256];

    snprintf(path, sizeof path, "%s/no/such/parent", dir);
    CHECK_ERR(try_open(&(tv_rocksdb_options){.dir = path}, &engine), TV_ERR_IO);
    CHECK(strstr(text, path) != NULL);
    write_file("file", "");
    snprintf(path, sizeof path, "%s/file", dir);
    CHECK_ERR(try_open(&(tv_rocksdb_options){.dir = path}, &engine), TV_ERR_IO);
    CHECK(strstr(text, path) != NULL);
}

/* Rows are written in pairs; a backup taken meanwhile must hold whole pairs and all before it. */
typedef struct writer {
    tv_engine *engine;
    atomic_bool stop;
    atomic_int written;
} writer;

static void *write_on(void *arg)
{
    writer *w = arg;

    for (int i = 0; !atomic_load(&w->stop); i++) {
        char a[16], b[16];

        snprintf(a, sizeof a, "a%06d", i);
        snprintf(b, sizeof b, "b%06d", i);
        if (WRITE(w->engine, put(a, "1"), put(b, "1")) != TV_OK)
            break;
        atomic_store(&w->written, i + 1);
    }
    return NULL;
}

TEST(a_backup_taken_while_writing_is_a_store_of_its_own)
{
    char copy[80];
    writer w = {.engine = open_rocksdb(dir)};
    pthread_t thread;

    snprintf(copy, sizeof copy, "%s-copy", dir);
    CHECK(pthread_create(&thread, NULL, write_on, &w) == 0);
    while (atomic_load(&w.written) < 100)
        usleep(1000);
    int before = atomic_load(&w.written);
    CHECK_OK(tv_engine_backup(w.engine, copy));
    CHECK_ERR(tv_engine_backup(w.engine, copy), TV_ERR_IO); /* it exists */
    int after = atomic_load(&w.written);
    atomic_store(&w.stop, true);
    pthread_join(thread, NULL);
    tv_engine_close(w.engine);

    tv_engine *engine = open_rocksdb(copy);
    int rows = 0;

    for (;; rows++) {
        char a[16], b[16];

        snprintf(a, sizeof a, "a%06d", rows);
        snprintf(b, sizeof b, "b%06d", rows);
        bool is_there = strcmp(text_of(engine, a), "1") == 0;
        CHECK_ROW(engine, b, is_there ? "1" : "-");
        if (!is_there)
            break;
    }
    CHECK(rows >= before && rows <= after + 1);
    CHECK_OK(WRITE(engine, put("k", "v")));
    tv_engine_close(engine);
    remove_folder(copy);
}

TEST(a_new_store_is_open_at_once)
{
    int64_t start_ns = tv_clock_mono_ns();
    tv_engine *engine = open_rocksdb(dir);
    int64_t took_ms = (tv_clock_mono_ns() - start_ns) / 1000000;

    print_message("# opened in %d ms\n", (int)took_ms);
    CHECK(took_ms < 1000); /* a busy machine is no error; 100 ms is the aim */
    tv_engine_close(engine);
}

/* Bytes that this process has asked the kernel to read so far, from wherever they came. */
static uint64_t bytes_read(void)
{
    FILE *file = fopen("/proc/self/io", "r");
    unsigned long long bytes = 0;

    CHECK(file != NULL && fscanf(file, "rchar: %llu", &bytes) == 1);
    fclose(file);
    return bytes;
}

static void find_running(void *ctx, const char *name, const char *help, double value)
{
    (void)help;
    if (strcmp(name, "rocksdb_running_compactions") == 0 ||
        strcmp(name, "rocksdb_running_flushes") == 0)
        *(double *)ctx += value;
}

static void wait_for_compaction(tv_engine *engine)
{
    for (int quiet = 0; quiet < 20; usleep(10000)) {
        double running = 0;

        engine->ops->figures(engine, find_running, &running);
        quiet = running > 0 ? 0 : quiet + 1;
    }
}

/* A store of small rows in one table file of the lowest level, in a cache of 8 MiB. */
static tv_engine *open_many_rows(int rows)
{
    enum { GROUP = 10000, FILES = 5 /* of the first level; four make RocksDB merge them */ };
    static char keys[GROUP][16];
    tv_batch batch = {0};
    tv_engine *engine;

    for (int first = 0; first < FILES; first++) {
        engine = open_rocksdb(dir);
        for (int i = first; i < rows; i += FILES) {
            snprintf(keys[batch.count], sizeof keys[0], "row%07d", i);
            tv_batch_add(&batch, put(keys[batch.count], "v"));
            if (batch.count == GROUP || i + FILES >= rows) {
                CHECK_OK(tv_engine_write(engine, &batch));
                tv_batch_clear(&batch);
            }
        }
        tv_engine_close(engine);
    }
    tv_batch_done(&batch);
    engine = open_rocksdb(dir);
    wait_for_compaction(engine);
    return engine;
}

/* The filter and the index of such a file are larger than what a part of the cache can keep. */
TEST(a_point_read_reads_a_few_blocks_however_large_the_filters_are)
{
    enum { ROWS = 1000000, READS = 300, READ_BYTES_MAX = 64 << 10 };
    tv_engine *engine = open_many_rows(ROWS);

    CHECK_ROW(engine, "row0000001", "v");
    uint64_t before = bytes_read();
    for (int i = 0; i < READS; i++) {
        char key[16], absent[20];

        snprintf(key, sizeof key, "row%07d", (int)((int64_t)i * 7919 % ROWS));
        snprintf(absent, sizeof absent, "%sx", key);
        CHECK_ROW(engine, key, "v");
        CHECK_ROW(engine, absent, "-");
    }
    uint64_t each = (bytes_read() - before) / (2 * READS);

    print_message("# %llu bytes read for a row\n", (unsigned long long)each);
    CHECK(each < READ_BYTES_MAX);
    tv_engine_close(engine);
}

static void change_many_rows(tv_engine *engine, int rows, bool is_delete)
{
    enum { GROUP = 1000 };
    static char keys[GROUP][16];
    tv_batch batch = {0};

    for (int i = 0; i < rows; i++) {
        snprintf(keys[batch.count], sizeof keys[0], "row%07d", i);
        tv_batch_add(&batch, is_delete ? del(keys[batch.count]) : put(keys[batch.count], "v"));
        if (batch.count == GROUP) {
            CHECK_OK(tv_engine_write(engine, &batch));
            tv_batch_clear(&batch);
        }
    }
    tv_batch_done(&batch);
}

/* Deleted rows that a scan of everything steps over. */
static uint64_t deletes_met(tv_engine *engine)
{
    rocksdb_perfcontext_t *context = rocksdb_perfcontext_create();
    tv_iter *iter;

    rocksdb_set_perf_level(rocksdb_enable_count);
    CHECK_OK(tv_engine_iter(engine, TV_LIT("row"), TV_LIT("rox"), &iter));
    rocksdb_perfcontext_reset(context);
    tv_iter_seek(iter, TV_LIT("row"));
    CHECK(!tv_iter_is_valid(iter));
    CHECK_OK(tv_iter_status(iter));
    tv_iter_free(iter);

    uint64_t count = rocksdb_perfcontext_metric(context, rocksdb_internal_delete_skipped_count);

    rocksdb_perfcontext_destroy(context);
    return count;
}

/* The step over them cannot be interrupted, so they must not stay. */
TEST(many_deleted_rows_in_sequence_are_soon_stepped_over_no_more)
{
    enum { ROWS = 100000 };
    tv_engine *engine = open_rocksdb(dir);

    /* Each start writes what was in memory to a file of its own. */
    change_many_rows(engine, ROWS, false);
    tv_engine_close(engine);
    engine = open_rocksdb(dir);
    change_many_rows(engine, ROWS, true);
    CHECK_INT(deletes_met(engine), ROWS);
    tv_engine_close(engine);
    engine = open_rocksdb(dir);
    for (int i = 0; i < 600 && deletes_met(engine) > 0; i++)
        usleep(100000);
    CHECK_INT(deletes_met(engine), 0);
    tv_engine_close(engine);
}

TEST(a_new_data_folder_is_synced_with_its_parent)
{
    char store[96];
    struct stat parent;
    bool is_synced = false;

    snprintf(store, sizeof store, "%s/store", dir);
    CHECK(stat(dir, &parent) == 0);
    atomic_store(&synced_count, 0);
    memset(synced, 0, sizeof synced);
    tv_engine_close(open_rocksdb(store));
    for (int i = 0; i < SYNCS_KEPT; i++)
        is_synced |= synced[i] == parent.st_ino;
    CHECK(is_synced);
}

/* Rows of 20 KiB, one after the other, until one fails; returns how. */
static tv_err write_until_refused(tv_engine *engine, int *next, int rows_max)
{
    enum { VALUE_BYTES = 20000 };
    static char value[VALUE_BYTES + 1];
    tv_err err = TV_OK;

    for (int i = 0; i < rows_max && err == TV_OK; i++, ++*next) {
        char key[16];

        crash_key(key, *next);
        for (int n = 0; n < VALUE_BYTES; n++)
            value[n] = (char)(rand() | 1);
        err = WRITE(engine, put(key, value));
    }
    return err;
}

/* RocksDB goes on by itself when there is room again, whatever the folder is called. */
TEST(a_flush_without_room_is_not_taken_for_a_failed_log)
{
    char parent[96], store[128];
    tv_engine *engine;
    int next = 0;

    snprintf(parent, sizeof parent, "%s/0001.log", dir);
    snprintf(store, sizeof store, "%s/my.log", parent);
    CHECK(mkdir(parent, 0700) == 0);
    tv_rocksdb_options options = {.dir = store, .disk_reserve_bytes = 1,
                                  .write_buffer_bytes = 1 << 20};
    CHECK_OK(try_open(&options, &engine));
    fail_opens("*.sst", ENOSPC);
    CHECK_ERR(write_until_refused(engine, &next, 1000), TV_ERR_DISK_FULL);
    fail_opens("*.sst", 0);
    for (int i = 0; WRITE(engine, put("k", "v")) != TV_OK; i++, usleep(100000))
        CHECK(i < 300); /* RocksDB looks every five seconds */
    CHECK_OK(tv_engine_check(engine));
    tv_engine_close(engine);
}

/* The engine finds out by itself, says what to do, and keeps every row. */
TEST(a_failed_flush_is_told_though_nobody_writes)
{
    tv_rocksdb_options options = {.dir = dir, .disk_reserve_bytes = 1,
                                  .write_buffer_bytes = 1 << 20};
    tv_engine *engine;
    int next = 0;

    CHECK_OK(try_open(&options, &engine));
    fail_opens("*.sst", EMFILE);
    while (atomic_load(&open_failures) == 0) {
        CHECK_OK(write_until_refused(engine, &next, 1));
        usleep(20000); /* a flush that begins has begun */
    }
    for (int i = 0; tv_engine_check(engine) == TV_OK; i++, usleep(100000))
        CHECK(i < 300);
    fail_opens("*.sst", 0);
    CHECK_ERR(tv_engine_check(engine), TV_ERR_IO);
    CHECK_ERR(WRITE(engine, put("k", "v")), TV_ERR_IO);
    tv_engine_close(engine);

    CHECK_OK(try_open(&options, &engine));
    CHECK_INT(count_crash_rows(engine), next < CRASH_ROWS ? next : CRASH_ROWS);
    tv_engine_close(engine);
}

/* --- A small disk of our own: a tmpfs, which takes root. --- */

static bool mount_small_disk(void)
{
    if (geteuid() != 0 || mount("tmpfs", dir, "tmpfs", 0, "size=64m") != 0) {
        print_message("# needs root and the right to mount a tmpfs: %s\n", strerror(errno));
        return false;
    }
    return true;
}

static tv_engine *open_small(char store[96], uint64_t reserve_bytes)
{
    tv_rocksdb_options options = {
        .dir = store, .disk_reserve_bytes = reserve_bytes, .write_buffer_bytes = 1 << 20};
    tv_engine *engine;

    snprintf(store, 96, "%s/store", dir);
    CHECK_OK(try_open(&options, &engine));
    return engine;
}

/* Leave so much. */
static void fill_small_disk(uint64_t leave_bytes)
{
    struct statvfs stat_of;
    char filler[96];

    snprintf(filler, sizeof filler, "%s/filler", dir);
    int fd = open(filler, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0 && fstatvfs(fd, &stat_of) == 0);
    uint64_t free_bytes = stat_of.f_bavail * stat_of.f_frsize;
    if (free_bytes > leave_bytes)
        CHECK(posix_fallocate(fd, 0, (off_t)(free_bytes - leave_bytes)) == 0);
    close(fd);
}

TEST(below_the_reserve_writes_are_refused_and_reads_go_on)
{
    char store[96], filler[96];

    if (!mount_small_disk())
        skip();
    tv_engine *engine = open_small(store, 16 << 20);
    CHECK_OK(WRITE(engine, put("k", "v")));
    CHECK_OK(tv_engine_check(engine));

    snprintf(filler, sizeof filler, "%s/filler", dir);
    int fd = open(filler, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0 && posix_fallocate(fd, 0, 50 << 20) == 0);
    close(fd);
    CHECK_ERR(WRITE(engine, put("k", "v2")), TV_ERR_DISK_FULL);
    CHECK_ERR(WRITE(engine, put("k2", "v2")), TV_ERR_DISK_FULL);
    CHECK_ERR(tv_engine_check(engine), TV_ERR_DISK_FULL);
    CHECK_ROW(engine, "k", "v");
    CHECK_SCAN(engine, "a", "l", "k=v ");
    /* Space can be won back all the same. */
    CHECK_OK(tv_engine_drop_range(engine, TV_LIT("x"), TV_LIT("y")));
    tv_change gone = del("k");
    CHECK_ERR(tv_engine_write(engine, &(tv_batch){.changes = &gone, .count = 1}),
              TV_ERR_DISK_FULL);
    CHECK_OK(tv_engine_write(engine, &(tv_batch){.changes = &gone, .count = 1, .is_freeing = true}));
    CHECK_ROW(engine, "k", "-");
    CHECK_ERR(tv_engine_check(engine), TV_ERR_DISK_FULL);

    CHECK(unlink(filler) == 0);
    CHECK_OK(WRITE(engine, put("k", "v3")));
    CHECK_OK(tv_engine_check(engine));
    CHECK_ROW(engine, "k", "v3");
    tv_engine_close(engine);
    CHECK(umount(dir) == 0);
}

TEST(a_disk_filled_by_writes_keeps_its_reserve_and_its_rows)
{
    enum { VALUE_BYTES = 64 << 10 };
    char store[96], value[VALUE_BYTES + 1];
    int written = 0;
    tv_err err = TV_OK;

    if (!mount_small_disk())
        skip();
    tv_engine *engine = open_small(store, 16 << 20);
    int fd = open("/dev/urandom", O_RDONLY); /* so that it cannot be compressed */
    for (;; written++) {
        char key[16];

        crash_key(key, written);
        CHECK(read(fd, value, VALUE_BYTES) == VALUE_BYTES);
        for (int i = 0; i < VALUE_BYTES; i++)
            value[i] = (char)(value[i] | 1); /* no NUL: put() takes a string */
        value[VALUE_BYTES] = '\0';
        err = WRITE(engine, put(key, value));
        if (err)
            break;
    }
    close(fd);
    CHECK_ERR(err, TV_ERR_DISK_FULL);

    struct statvfs stat_of;

    CHECK(statvfs(dir, &stat_of) == 0);
    print_message("# %d rows of 64 KiB on 64 MiB, %lu MiB left\n", written,
                  (unsigned long)(stat_of.f_bavail * stat_of.f_frsize >> 20));
    CHECK(written > 100);
    tv_engine_close(engine);

    engine = open_small(store, 1);
    for (int i = 0; i < written; i++) {
        char key[16];

        crash_key(key, i);
        CHECK(strcmp(text_of(engine, key), "-") != 0);
    }
    tv_engine_close(engine);
    CHECK(umount(dir) == 0);
}

/* What is deleted there comes back as space, although little else is written. */
TEST(deletes_on_a_full_disk_give_their_space_back)
{
    char store[96];
    int written = 0;

    if (!mount_small_disk())
        skip();
    tv_engine *engine = open_small(store, 16 << 20);
    CHECK_ERR(write_until_refused(engine, &written, 100000), TV_ERR_DISK_FULL);
    wait_for_compaction(engine);
    fill_small_disk(8 << 20);
    CHECK_ERR(WRITE(engine, put("k", "v")), TV_ERR_DISK_FULL);
    for (int i = 0; i < written; i++) {
        char key[16];

        crash_key(key, i);
        tv_change gone = del(key);
        CHECK_OK(tv_engine_write(
            engine, &(tv_batch){.changes = &gone, .count = 1, .is_freeing = true}));
    }
    for (int i = 0; tv_engine_check(engine) != TV_OK; i++, usleep(100000))
        CHECK(i < 400);
    CHECK_OK(WRITE(engine, put("k", "v")));
    tv_engine_close(engine);
    CHECK(umount(dir) == 0);
}

static int tear_down_disk(void **state)
{
    umount2(dir, MNT_DETACH); /* after a failed test */
    return tear_down(state);
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define DISK(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down_disk)

int main(int argc, char **argv)
{
    if (argc == 3) {
        snprintf(dir, sizeof dir, "%s", argv[2]);
        return strcmp(argv[1], "crash") == 0 ? play_crash() : play_second_server();
    }

    const struct CMUnitTest tests[] = {
        ONE(every_write_is_synced_before_it_returns),
        ONE(a_failed_sync_stops_all_writes_and_reads_go_on),
        ONE(what_was_acknowledged_survives_a_crash),
        ONE(a_log_cut_short_loses_only_the_write_that_was_cut),
        ONE(zeros_behind_the_last_write_in_the_log_are_no_damage),
        ONE(damage_within_the_log_is_named_and_not_skipped),
        ONE(a_lost_current_file_is_named_and_nothing_is_created),
        ONE(a_current_file_that_points_nowhere_is_named),
        ONE(a_current_file_full_of_rubbish_is_named),
        ONE(a_damaged_manifest_is_named),
        ONE(a_lost_table_file_is_named),
        ONE(a_table_file_cut_short_is_named),
        ONE(a_damaged_block_fails_the_reads_of_it),
        ONE(damage_that_a_read_has_met_is_told_by_the_check),
        ONE(dropping_files_spares_one_that_ends_at_the_end_of_the_range),
        ONE(a_second_server_on_the_folder_is_refused),
        ONE(a_folder_of_other_files_is_refused_and_left_alone),
        ONE(somebody_elses_rocksdb_is_refused),
        ONE(another_format_version_is_refused),
        ONE(a_first_start_that_was_cut_off_is_taken_up_again),
        ONE(a_folder_that_cannot_be_made_is_named),
        ONE(a_backup_taken_while_writing_is_a_store_of_its_own),
        ONE(a_new_store_is_open_at_once),
        ONE(a_point_read_reads_a_few_blocks_however_large_the_filters_are),
        ONE(many_deleted_rows_in_sequence_are_soon_stepped_over_no_more),
        ONE(a_new_data_folder_is_synced_with_its_parent),
        ONE(a_flush_without_room_is_not_taken_for_a_failed_log),
        ONE(a_failed_flush_is_told_though_nobody_writes),
        DISK(deletes_on_a_full_disk_give_their_space_back),
        DISK(below_the_reserve_writes_are_refused_and_reads_go_on),
        DISK(a_disk_filled_by_writes_keeps_its_reserve_and_its_rows),
    };

    cmocka_set_test_filter(getenv("TEST_FILTER")); /* one test of these, for who works on it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
