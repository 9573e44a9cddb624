/*
 * What the RocksDB engine promises beyond the contract: who may open a folder,
 * what survives a crash and what damage is named.
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
#include "rocksdb_fixture.h"
#include "store/engine/key.h"

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

/* Roles that this program plays as a child of itself: another server on the same folder. */

/* Open the store, write rows one by one and end without closing it. */
static int play_crash(void)
{
    tv_engine *engine;

    if (try_open(&(tv_rocksdb_options){.dir = dir, .disk_reserve_bytes = 1}, &engine) != TV_OK)
        return 1;
    for (int i = 0; i < CRASH_ROWS; i++) {
        char key[16];

        numbered_key(key, i);
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

        numbered_key(key, i);
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
    engine->ops->metrics(engine, find_failed_reads, &failed);
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
    check_refused(TV_ERR_CORRUPT, "not a Tavola store");
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
    check_refused(TV_ERR_CORRUPT, "not a Tavola store");
}

TEST(another_format_version_is_refused_and_the_way_across_is_named)
{
    static const struct {
        const char *format, *text;
    } rows[] = {
        {"4", "has format 4; this server reads formats 2 and 3 only: a newer tavolad wrote it"},
        {"1", "has format 1; this server reads formats 2 and 3 only: serve it with the tavolad"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tv_engine *engine = open_rocksdb(dir);

        CHECK_ROW(engine, "mformat", "3");
        CHECK_OK(WRITE(engine, put("mformat", rows[i].format)));

        /* As a crash leaves it: what is in the log is seen, and not one file is changed. */
        char crashed[128], command[512];

        snprintf(crashed, sizeof crashed, "%s.crashed", dir);
        snprintf(command, sizeof command, "rm -rf %s && cp -a %s %s", crashed, dir, crashed);
        CHECK_INT(system(command), 0);
        tv_engine_close(engine);
        snprintf(command, sizeof command, "rm -rf %s && cp -a %s %s", dir, crashed, dir);
        CHECK_INT(system(command), 0);
        check_refused(TV_ERR_CORRUPT, rows[i].text);
        snprintf(command, sizeof command, "diff -r %s %s && rm -rf %s", dir, crashed, crashed);
        CHECK_INT(system(command), 0);
        remove_folder(dir);
    }
}

TEST(the_format_before_this_one_is_read)
{
    tv_engine *engine = open_rocksdb(dir);

    CHECK_OK(WRITE(engine, put("mformat", "2")));
    tv_engine_close(engine);
    engine = open_rocksdb(dir);
    CHECK_ROW(engine, "mformat", "2");
    tv_engine_close(engine);
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
    WAIT_UNTIL(atomic_load(&w.written) >= 100);
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

/* What takes time at a first start are syncs. */
TEST(a_new_store_is_open_at_once)
{
    size_t syncs = atomic_load(&synced_count) + (size_t)atomic_load(&sync_count);

    tv_engine_close(open_rocksdb(dir));
    syncs = atomic_load(&synced_count) + (size_t)atomic_load(&sync_count) - syncs;
    print_message("# %zu syncs\n", syncs);
    CHECK(syncs <= 40);
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

/* A store of small rows in one table file of the lowest level, in a cache of 8 MiB. */
static tv_engine *open_many_rows(int rows)
{
    enum { GROUP = 10000, FILES = 5 /* of the first level; four make RocksDB merge them */ };
    static char keys[GROUP][16];
    tv_write_batch batch = {0};
    tv_engine *engine;

    for (int first = 0; first < FILES; first++) {
        engine = open_rocksdb(dir);
        for (int i = first; i < rows; i += FILES) {
            snprintf(keys[batch.count], sizeof keys[0], "row%07d", i);
            tv_write_batch_add(&batch, put(keys[batch.count], "v"));
            if (batch.count == GROUP || i + FILES >= rows) {
                CHECK_OK(tv_engine_write(engine, &batch));
                tv_write_batch_clear(&batch);
            }
        }
        tv_engine_close(engine);
    }
    tv_write_batch_done(&batch);
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
    tv_write_batch batch = {0};

    for (int i = 0; i < rows; i++) {
        snprintf(keys[batch.count], sizeof keys[0], "row%07d", i);
        tv_write_batch_add(&batch,
                           is_delete ? del(keys[batch.count]) : put(keys[batch.count], "v"));
        if (batch.count == GROUP) {
            CHECK_OK(tv_engine_write(engine, &batch));
            tv_write_batch_clear(&batch);
        }
    }
    tv_write_batch_done(&batch);
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
    WAIT_UNTIL(deletes_met(engine) == 0);
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

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
        ONE(another_format_version_is_refused_and_the_way_across_is_named),
        ONE(the_format_before_this_one_is_read),
        ONE(a_first_start_that_was_cut_off_is_taken_up_again),
        ONE(a_folder_that_cannot_be_made_is_named),
        ONE(a_backup_taken_while_writing_is_a_store_of_its_own),
        ONE(a_new_store_is_open_at_once),
        ONE(a_point_read_reads_a_few_blocks_however_large_the_filters_are),
        ONE(many_deleted_rows_in_sequence_are_soon_stepped_over_no_more),
        ONE(a_new_data_folder_is_synced_with_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
