/* What iterators of the RocksDB engine give when a read of theirs fails, or meets damage. */
#include <dirent.h>

#include "base/log.h"
#include "rocksdb_fixture.h"

enum { ROWS = 600, VALUE_BYTES = 1000, BUFFER_BYTES = 64 << 10, READS_MAX = 1000 };

/* RocksDB reads its tables with pread.  The one with this number fails, as of a bad sector. */
static atomic_int reads, read_fails_at;

static ssize_t read_file(int fd, void *to, size_t size, off_t offset)
{
    if (atomic_fetch_add(&reads, 1) + 1 == atomic_load(&read_fails_at)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, to, size, offset);
}

/* By their names in libc, as `open` in the fixture. */
ssize_t pread_by_name(int fd, void *to, size_t size, off_t offset) __asm__("pread");
ssize_t pread64_by_name(int fd, void *to, size_t size, off_t offset) __asm__("pread64");

ssize_t pread_by_name(int fd, void *to, size_t size, off_t offset)
{
    return read_file(fd, to, size, offset);
}

ssize_t pread64_by_name(int fd, void *to, size_t size, off_t offset)
{
    return read_file(fd, to, size, offset);
}

static void fail_read(int number)
{
    atomic_store(&reads, 0);
    atomic_store(&read_fails_at, number);
}

static tv_engine *open_small(void)
{
    tv_rocksdb_options options = {.dir = dir,
                                  .block_cache_bytes = 8 << 20,
                                  .disk_reserve_bytes = 1,
                                  .write_buffer_bytes = BUFFER_BYTES};
    tv_engine *engine;

    CHECK_OK(try_open(&options, &engine));
    return engine;
}

/* Rows in many table files of several levels. */
static void write_rows(tv_engine *engine, int step)
{
    static char value[VALUE_BYTES + 1];

    for (int i = 0; i < ROWS; i += step) {
        char key[16];

        numbered_key(key, i);
        for (int n = 0; n < VALUE_BYTES; n++)
            value[n] = (char)(rand() | 1);
        CHECK_OK(WRITE(engine, put(key, value)));
    }
    wait_for_compaction(engine);
}

static void make_rows(void)
{
    tv_engine *engine = open_small();

    write_rows(engine, 1);
    tv_engine_close(engine);
}

/* tv_engine_iter or tv_engine_iter_across */
typedef tv_err open_iter(tv_engine *engine, tv_slice from, tv_slice to, tv_iter **ret_iter);

/* How many rows a scan gives; `ret_err` is how it ends. */
static int count_rows(tv_engine *engine, open_iter *open_it, tv_err *ret_err)
{
    tv_iter *iter;
    int count = 0;

    CHECK_OK(open_it(engine, TV_LIT("k"), TV_LIT("l"), &iter));
    for (tv_iter_seek(iter, TV_LIT("k")); tv_iter_is_valid(iter); tv_iter_next(iter))
        count++;
    *ret_err = tv_iter_status(iter);
    tv_iter_free(iter);
    return count;
}

/* Scan with none of the reads that this takes failing, and with each: all rows, or an error. */
static void check_scans(open_iter *open_it, int rows)
{
    int failed = 0, reads_max = 0;

    tv_log_set_level(TV_LOG_OFF);
    for (int number = 0; number <= reads_max && number < READS_MAX; number++) {
        tv_engine *engine = open_small();
        tv_err err;

        wait_for_compaction(engine);
        fail_read(number);

        int count = count_rows(engine, open_it, &err);

        if (number == 0)
            reads_max = atomic_load(&reads);
        fail_read(0);
        if (err == TV_OK && count != rows)
            CHECK_FAIL("read %d failed, and a scan has %d of %d rows", number, count, rows);
        failed += err != TV_OK;
        CHECK_INT(count_rows(engine, open_it, &err), rows);
        CHECK_OK(err);
        tv_engine_close(engine);
    }
    tv_log_set_level(TV_LOG_INFO);
    CHECK(failed > 0);
}

TEST(a_scan_has_all_rows_or_fails_whichever_read_fails)
{
    make_rows();
    check_scans(tv_engine_iter, ROWS);
    check_scans(tv_engine_iter_across, ROWS);
}

TEST(so_it_does_where_rows_were_dropped)
{
    tv_engine *engine;

    make_rows();
    engine = open_small();
    CHECK_OK(tv_engine_drop_range(engine, TV_LIT("k0100"), TV_LIT("k0110")));
    CHECK_OK(tv_engine_drop_range(engine, TV_LIT("k0300"), TV_LIT("k0400")));
    for (int i = 0; i < 3; i++) {
        char key[16];

        numbered_key(key, 300 + i);
        CHECK_OK(WRITE(engine, put(key, "later")));
    }
    tv_engine_close(engine);
    check_scans(tv_engine_iter_across, ROWS - 10 - 100 + 3);
}

/* The first block of each table file in turn. */
TEST(a_scan_does_not_step_over_damage)
{
    DIR *listing;
    int files = 0;

    make_rows();
    tv_log_set_level(TV_LOG_OFF);
    listing = opendir(dir);
    for (struct dirent *entry; (entry = readdir(listing));) {
        char path[512], byte, damaged;
        tv_engine *engine;
        tv_err err;

        if (fnmatch("*.sst", entry->d_name, 0) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        int fd = open(path, O_RDWR);

        CHECK(fd >= 0 && pread(fd, &byte, 1, 100) == 1);
        damaged = (char)~byte;
        CHECK(pwrite(fd, &damaged, 1, 100) == 1);
        engine = NULL;
        if (try_open(&(tv_rocksdb_options){.dir = dir, .is_read_only = true}, &engine) == TV_OK) {
            for (int i = 0; i < 2; i++) {
                int count = count_rows(engine, i ? tv_engine_iter_across : tv_engine_iter, &err);

                if (err == TV_OK && count != ROWS)
                    CHECK_FAIL("%s is damaged, and a scan has %d of %d rows", path, count, ROWS);
            }
            tv_engine_close(engine);
        }
        CHECK(pwrite(fd, &byte, 1, 100) == 1);
        close(fd);
        files++;
    }
    closedir(listing);
    tv_log_set_level(TV_LOG_INFO);
    CHECK(files > 3);
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(a_scan_has_all_rows_or_fails_whichever_read_fails),
        ONE(so_it_does_where_rows_were_dropped),
        ONE(a_scan_does_not_step_over_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
