/* What the RocksDB engine does when files cannot be made, and when the disk is full. */
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/log.h"
#include "rocksdb_fixture.h"

/* Rows of 20 KiB, one after the other, until one fails; returns how. */
static tv_err write_until_refused(tv_engine *engine, int *next, int rows_max)
{
    enum { VALUE_BYTES = 20000 };
    static char value[VALUE_BYTES + 1];
    tv_err err = TV_OK;

    for (int i = 0; i < rows_max && err == TV_OK; i++, ++*next) {
        char key[16];

        numbered_key(key, *next);
        for (int n = 0; n < VALUE_BYTES; n++)
            value[n] = (char)(rand() | 1);
        err = WRITE(engine, put(key, value));
    }
    return err;
}

/* The first write to a new log syncs its folder, after the log: what the log holds is written. */
TEST(a_log_whose_name_cannot_be_synced_leaves_the_outcome_open)
{
    tv_rocksdb_options options = {
        .dir = dir, .disk_reserve_bytes = 1, .write_buffer_bytes = 64 << 10};
    char key[16];
    tv_engine *engine;
    tv_arena arena;
    tv_slice value;
    int next = 0;

    CHECK_OK(try_open(&options, &engine));
    CHECK_OK(write_until_refused(engine, &next, 1));
    tv_log_set_level(TV_LOG_OFF);
    folder_sync_errno = ENOSPC;
    CHECK_ERR(write_until_refused(engine, &next, 100), TV_ERR_IO);
    CHECK_INT(folder_sync_errno, 0);
    CHECK_ERR(WRITE(engine, del("k0000")), TV_ERR_IO);
    tv_engine_close(engine);
    tv_log_set_level(TV_LOG_INFO);

    CHECK_OK(try_open(&options, &engine));
    tv_arena_init(&arena);
    numbered_key(key, next - 1);
    CHECK_OK(tv_engine_get(engine, TV_READ_ANY, tv_slice_of(key), &arena, &value));
    tv_arena_done(&arena);
    tv_engine_close(engine);
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
    tv_rocksdb_options options = {
        .dir = store, .disk_reserve_bytes = 1, .write_buffer_bytes = 1 << 20};
    CHECK_OK(try_open(&options, &engine));
    fail_opens("*.sst", ENOSPC);
    CHECK_ERR(write_until_refused(engine, &next, 1000), TV_ERR_DISK_FULL);
    fail_opens("*.sst", 0);
    WAIT_UNTIL(WRITE(engine, put("k", "v")) == TV_OK); /* RocksDB looks every five seconds */
    CHECK_OK(tv_engine_check(engine));
    tv_engine_close(engine);
}

/* The engine finds out by itself, says what to do, and keeps every row. */
TEST(a_failed_flush_is_told_though_nobody_writes)
{
    tv_rocksdb_options options = {
        .dir = dir, .disk_reserve_bytes = 1, .write_buffer_bytes = 1 << 20};
    tv_engine *engine;
    int next = 0;

    CHECK_OK(try_open(&options, &engine));
    fail_opens("*.sst", EMFILE);
    while (atomic_load(&open_failures) == 0) {
        CHECK_OK(write_until_refused(engine, &next, 1));
        /* A flush that this began has met the failure before the next write. */
        WAIT_UNTIL(atomic_load(&open_failures) > 0 || tv_rocksdb_is_quiet(engine));
    }
    WAIT_UNTIL(tv_engine_check(engine) != TV_OK);
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
    CHECK_ERR(tv_engine_write(engine, &(tv_write_batch){.changes = &gone, .count = 1}),
              TV_ERR_DISK_FULL);
    CHECK_OK(tv_engine_write(engine,
                             &(tv_write_batch){.changes = &gone, .count = 1, .is_freeing = true}));
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

        numbered_key(key, written);
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

        numbered_key(key, i);
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

        numbered_key(key, i);
        tv_change gone = del(key);
        CHECK_OK(tv_engine_write(
            engine, &(tv_write_batch){.changes = &gone, .count = 1, .is_freeing = true}));
    }
    /* Compactions take some of it and give it back meanwhile. */
    WAIT_UNTIL(tv_engine_check(engine) == TV_OK && WRITE(engine, put("k", "v")) == TV_OK);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(a_log_whose_name_cannot_be_synced_leaves_the_outcome_open),
        ONE(a_flush_without_room_is_not_taken_for_a_failed_log),
        ONE(a_failed_flush_is_told_though_nobody_writes),
        DISK(deletes_on_a_full_disk_give_their_space_back),
        DISK(below_the_reserve_writes_are_refused_and_reads_go_on),
        DISK(a_disk_filled_by_writes_keeps_its_reserve_and_its_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
