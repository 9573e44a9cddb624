/*
 * What the log may look like after a crash, and after worse: real logs, damaged
 * byte by byte.  Every row that was acknowledged is found after the start, or the
 * store is refused and nothing in it is changed.
 *
 * A record ends where the log did when its write returned, so where records are
 * is known without reading the log.
 */
#include "store/engine/rocksdb/wal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/wait.h>

#include <rocksdb/c.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "fixture.h"
#include "random.h"

enum {
    WRITES = 40,
    LAST_BYTES = 80000, /* the last write has more than two blocks of the log */
    PAGE = 4096,
    LOGS = 3,
};

static char dir[64], text[TV_ROCKSDB_ERROR_TEXT_MAX];

/* The log as the crashed server left it, the mark of its records, and where each write ended. */
static char *bytes;
static size_t len, ends[WRITES + 1];
static tv_wal_mark mark;

/* What the last write has. */
typedef enum last_value { RANDOM, FORGED, ZEROS } last_value;
static last_value last_has;

static void path_in(const char *name, char ret_path[160])
{
    snprintf(ret_path, 160, "%s/%.80s", dir, name);
}

static void key_of(int i, char ret_key[16])
{
    snprintf(ret_key, 16, "k%04d", i);
}

/* Of all lengths, around a block's as well; without a zero, as compressed data would be. */
static size_t value_bytes(int i)
{
    static const size_t some[] = {10, 100, 3000, 1, 5000, 32768 - 60, 700};

    return i == WRITES - 1 ? LAST_BYTES : some[(size_t)i % (sizeof some / sizeof *some)];
}

/* A record of one fragment that begins with its sequence number and a count of one. */
static size_t add_record(char *to, uint64_t sequence, size_t size)
{
    char *body = to + 7;

    memset(body, 'x', size);
    memcpy(body, &sequence, sizeof sequence);
    memcpy(body + 8, &(uint32_t){1}, 4);
    to[4] = (char)(size & 0xff);
    to[5] = (char)(size >> 8);
    to[6] = 1;

    uint32_t sum = tv_crc32c(0, (tv_slice){to + 6, size + 1});

    sum = (sum >> 15 | sum << 17) + UINT32_C(0xa282ead8);
    memcpy(to, &sum, sizeof sum);
    return 7 + size;
}

/* What a client can send: records with the very numbers that come next, at any place in a block. */
static void forge(char *to, size_t size, uint64_t sequence)
{
    enum { BODY = 31 };
    size_t at = 0;

    memset(to, 'x', size);
    for (uint64_t n = 0; at + 7 + BODY <= size; n++)
        at += add_record(to + at, sequence + n % 3, BODY) + n % 5;
}

static tv_slice value_of(int i)
{
    static char value[LAST_BYTES];
    bool is_last = i == WRITES - 1;

    t_random_state = (uint64_t)i + 1;
    for (size_t n = 0; n < value_bytes(i); n++)
        value[n] = (char)(t_random() | 1);
    if (is_last && last_has == FORGED)
        forge(value, LAST_BYTES, WRITES + 2); /* the format of the store was the first */
    if (is_last && last_has == ZEROS)
        memset(value + 1000, 0, 2000);
    return (tv_slice){value, value_bytes(i)};
}

/* --- files --- */

/* The last file by name that matches. */
static void find_file(const char *pattern, char ret_path[160])
{
    char best[64] = "";
    DIR *listing = opendir(dir);

    for (struct dirent *entry; (entry = readdir(listing));) {
        if (fnmatch(pattern, entry->d_name, 0) == 0 && strcmp(entry->d_name, best) > 0)
            snprintf(best, sizeof best, "%.60s", entry->d_name);
    }
    closedir(listing);
    if (best[0] == '\0')
        CHECK_FAIL("no file %s", pattern);
    path_in(best, ret_path);
}

static size_t read_bytes(const char *path, char **ret_bytes)
{
    struct stat stat_of;
    int fd = open(path, O_RDONLY);

    CHECK(fd >= 0 && fstat(fd, &stat_of) == 0);
    *ret_bytes = malloc((size_t)stat_of.st_size + 1);
    CHECK(read(fd, *ret_bytes, (size_t)stat_of.st_size) == stat_of.st_size);
    close(fd);
    return (size_t)stat_of.st_size;
}

static void write_bytes(const char *path, const char *from, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    CHECK(fd >= 0 && write(fd, from, count) == (ssize_t)count);
    close(fd);
}

/* --- a server that crashes --- */

/* Write, note the log's length after each write, and end without closing. */
static int play_crash(void)
{
    size_t sizes[WRITES + 1];
    char log[160], path[160];
    tv_engine *engine = open_rocksdb(dir);

    find_file("*.log", log);
    for (int i = 0; i <= WRITES; i++) {
        struct stat stat_of;
        char key[16];

        if (stat(log, &stat_of) != 0)
            return 1;
        sizes[i] = (size_t)stat_of.st_size;
        if (i == WRITES)
            break;
        key_of(i, key);
        tv_change change = {TV_CHANGE_PUT, tv_slice_of(key), value_of(i)};
        if (write_changes(engine, &change, 1) != TV_OK)
            return 2;
    }
    snprintf(path, sizeof path, "%s.ends", dir);
    write_bytes(path, (const char *)sizes, sizeof sizes);
    _exit(0);
}

/* A store whose rows are in LOGS logs, each with a third of the writes. */
static int play_crash_with_logs(void)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_writeoptions_t *synced = rocksdb_writeoptions_create();
    char *error = NULL;

    tv_engine_close(open_rocksdb(dir));
    rocksdb_options_set_write_buffer_size(options, 1 << 16);
    rocksdb_options_set_max_write_buffer_number(options, 100);
    rocksdb_options_set_min_write_buffer_number_to_merge(options, 50);
    rocksdb_t *db = rocksdb_open(options, dir, &error);
    rocksdb_writeoptions_set_sync(synced, 1);
    for (int i = 0; i < WRITES && error == NULL; i++) {
        char key[16];

        key_of(i, key);
        rocksdb_put(db, synced, key, strlen(key), value_of(i).data, value_of(i).len, &error);
    }
    _exit(error ? 1 : 0);
}

/* Play a role as another process, which must end with 0. */
static void run_child(const char *role)
{
    pid_t child = fork();
    int status;

    CHECK(child >= 0);
    if (child == 0) {
        execl("/proc/self/exe", "wal_test", role, dir, (char[]){(char)('0' + last_has), 0},
              (char *)NULL);
        _exit(127);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

static int set_up(void **state)
{
    char path[160];

    (void)state;
    make_folder(dir);
    run_child("crash");
    find_file("*.log", path);
    len = read_bytes(path, &bytes);
    snprintf(path, sizeof path, "%s.ends", dir);

    char *sizes;
    CHECK_INT((int)read_bytes(path, &sizes), (int)sizeof ends);
    memcpy(ends, sizes, sizeof ends);
    free(sizes);
    unlink(path);
    CHECK_INT((int)ends[WRITES], (int)len);

    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    mark = tv_wal_mark_of(fd);
    close(fd);
    CHECK(mark.value != 0);
    return 0;
}

static int set_up_forged(void **state)
{
    last_has = FORGED;
    return set_up(state);
}

static int set_up_zeros(void **state)
{
    last_has = ZEROS;
    return set_up(state);
}

static int set_up_folder(void **state)
{
    (void)state;
    make_folder(dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(bytes);
    bytes = NULL;
    last_has = RANDOM;
    remove_folder(dir);
    return 0;
}

/* --- the scan --- */

static const char *const states[] = {"whole", "torn", "doubtful", "damaged"};

/* Before these writes the log has one record: the format of the store. */
enum { RECORDS_BEFORE = 1 };

static int records_up_to(size_t at)
{
    int count = 0;

    while (count < WRITES && ends[count + 1] <= at)
        count++;
    return count + RECORDS_BEFORE;
}

static tv_wal_scan scan_of(tv_slice log)
{
    tv_wal_scan scan;

    tv_wal_scan_bytes(TV_WAL_LOG, log, mark, NULL, NULL, &scan);
    return scan;
}

static void check_result(const tv_wal_scan *scan, tv_wal_state want, int records)
{
    if (scan->state != want || (int)scan->good.records != records)
        CHECK_FAIL("%s with %d records, not %s with %d", states[scan->state],
                   (int)scan->good.records, states[want], records);
}

/* What stands at `at` has been damaged: the log must read up to there and say `want`. */
static tv_wal_scan check_scan(tv_slice log, tv_wal_state want, int records)
{
    tv_wal_scan scan = scan_of(log);

    check_result(&scan, want, records);
    return scan;
}

/*
 * Within a header's length of where a record or a block begins, with room on both sides.  All other
 * bytes of a fragment are alike: its checksum covers them, and nothing looks at them.
 */
static bool is_near_an_edge(size_t at)
{
    enum { NEAR = 40 };
    size_t in_block = at % TV_WAL_BLOCK_BYTES;
    bool is_near = in_block < NEAR || in_block >= TV_WAL_BLOCK_BYTES - NEAR;

    for (int i = 0; i <= WRITES && !is_near; i++)
        is_near = at + NEAR > ends[i] && at < ends[i] + NEAR;
    return is_near;
}

/* The next place to damage: every byte near an edge, one in `stride` elsewhere. */
static size_t next_place(size_t at, size_t stride)
{
    size_t steps = 1;

    while (steps < stride && !is_near_an_edge(at + steps))
        steps++;
    return at + steps;
}

static char *copy_of(size_t extra)
{
    char *copy = calloc(1, len + extra);

    memcpy(copy, bytes, len);
    return copy;
}

TEST(a_log_reads_to_its_end_and_tells_when)
{
    tv_wal_scan scan = check_scan((tv_slice){bytes, len}, TV_WAL_WHOLE, WRITES + RECORDS_BEFORE);

    CHECK_INT((int)scan.good_bytes, (int)len);
    CHECK_INT((int)(scan.next_sequence - scan.first_sequence), WRITES + RECORDS_BEFORE);
    int64_t age = tv_clock_ticks() - scan.good.last_ticks;
    CHECK(age >= 0 && age < INT64_C(600) * 10000000);
}

/* Whether nothing but zeros is left of the record that was cut: a checksum may begin with some. */
static bool is_cut_to_zeros(size_t at)
{
    size_t end = ends[records_up_to(at) - RECORDS_BEFORE];

    while (end < at && bytes[end] == 0)
        end++;
    return end == at;
}

TEST(cut_anywhere_it_is_torn_and_loses_what_was_cut)
{
    for (size_t at = ends[0]; at <= len; at = next_place(at, 37)) {
        bool is_whole = is_cut_to_zeros(at);

        /* A few zeros before a block's end belong to no record. */
        tv_wal_scan scan = scan_of((tv_slice){bytes, at});
        if (scan.state == TV_WAL_WHOLE && !is_whole)
            CHECK(TV_WAL_BLOCK_BYTES - scan.good_bytes % TV_WAL_BLOCK_BYTES < 7);
        else
            check_result(&scan, is_whole ? TV_WAL_WHOLE : TV_WAL_TORN, records_up_to(at));
    }
}

TEST(zeros_behind_it_are_no_damage)
{
    static const size_t extras[] = {1, 6, 7, 8, 511, 4096, 5000, 100000};

    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        char *copy = copy_of(extras[i]);

        check_scan((tv_slice){copy, len + extras[i]}, TV_WAL_WHOLE, WRITES + RECORDS_BEFORE);
        free(copy);
    }
}

/* Zeros from `from` to `to`, as far as they are in the last record. */
static void lose(char *copy, size_t from, size_t to)
{
    size_t start = ends[WRITES - 1];

    from = from < start ? start : from;
    to = to > len ? len : to;
    if (from < to)
        memset(copy + from, 0, to - from);
}

TEST(a_last_record_with_lost_pages_is_torn)
{
    size_t start = ends[WRITES - 1];

    for (size_t page = start - start % 512; page < len; page += 512) {
        char *copy = copy_of(3 * PAGE);

        lose(copy, page, page + 512);
        check_scan((tv_slice){copy, len}, TV_WAL_TORN, WRITES - 1 + RECORDS_BEFORE);
        check_scan((tv_slice){copy, len + 3 * PAGE}, TV_WAL_TORN, WRITES - 1 + RECORDS_BEFORE);
        free(copy);
    }
    t_random_seed(9);
    for (int round = 0; round < 300; round++) {
        char *copy = copy_of(PAGE);
        bool has_lost = false;

        for (size_t page = start - start % PAGE; page < len; page += PAGE) {
            if (t_random() % 3 == 0) {
                lose(copy, page, page + PAGE);
                has_lost = true;
            }
        }
        bool is_all = true;
        for (size_t at = start; at < len; at++)
            is_all &= copy[at] == 0;
        check_scan((tv_slice){copy, len + PAGE}, is_all || !has_lost ? TV_WAL_WHOLE : TV_WAL_TORN,
                   WRITES - (has_lost ? 1 : 0) + RECORDS_BEFORE);
        free(copy);
    }
}

/* A crash leaves zeros or an early end, never other bytes: such a record was acknowledged. */
TEST(a_flipped_bit_is_damage_in_the_last_record_too)
{
    for (size_t at = ends[0]; at < len; at = next_place(at, 61)) {
        char flipped = (char)(1 << at % 8);

        bytes[at] ^= flipped;
        tv_wal_scan scan = scan_of((tv_slice){bytes, len});
        if (scan.state == TV_WAL_WHOLE) /* between two blocks; nobody looks there */
            CHECK(TV_WAL_BLOCK_BYTES - at % TV_WAL_BLOCK_BYTES < 7);
        else
            check_result(&scan, TV_WAL_DAMAGED, records_up_to(at));
        bytes[at] ^= flipped;
    }
}

/* The few zeros at a block's end belong to no record, and so are not what a crash has lost of one.
 */
TEST(a_flipped_bit_behind_the_rest_of_a_block_is_damage)
{
    static char log[2 * TV_WAL_BLOCK_BYTES];
    size_t first = add_record(log, 1, TV_WAL_BLOCK_BYTES - 7 - 5);
    size_t end = TV_WAL_BLOCK_BYTES + add_record(log + TV_WAL_BLOCK_BYTES, 2, 300);

    check_scan((tv_slice){log, end}, TV_WAL_WHOLE, 2);
    log[end - 10] ^= 1;
    tv_wal_scan scan = check_scan((tv_slice){log, end}, TV_WAL_DAMAGED, 1);
    CHECK_INT(scan.good_bytes, first);

    memset(log + TV_WAL_BLOCK_BYTES, 0, 300);
    check_scan((tv_slice){log, end}, TV_WAL_DAMAGED, 1); /* less than a sector */
    memset(log + TV_WAL_BLOCK_BYTES, 0, 512);
    check_scan((tv_slice){log, end}, TV_WAL_WHOLE, 1);
}

TEST(a_lost_page_before_a_good_record_is_damage_and_the_rest_is_counted)
{
    for (size_t page = 0; page + PAGE <= ends[WRITES - 1]; page += 512) {
        char *copy = copy_of(0);

        memset(copy + page, 0, PAGE);
        tv_wal_scan scan = check_scan((tv_slice){copy, len}, TV_WAL_DAMAGED,
                                      page < ends[0] ? 0 : records_up_to(page));
        CHECK_INT((int)scan.bad.records,
                  WRITES + RECORDS_BEFORE - records_up_to(page + PAGE) - 1 +
                      (page + PAGE == ends[records_up_to(page + PAGE) - RECORDS_BEFORE]));
        CHECK(scan.bad.last_ticks >= scan.good.last_ticks);
        free(copy);
    }
}

/* A block has gone: each fragment is good, but the writes do not follow each other. */
TEST(records_that_are_missing_without_a_trace_are_damage)
{
    char *copy = copy_of(0);
    size_t from = TV_WAL_BLOCK_BYTES, to = 2 * TV_WAL_BLOCK_BYTES;
    tv_wal_scan scan;

    memmove(copy + from, copy + to, len - to);
    tv_wal_scan_bytes(TV_WAL_LOG, (tv_slice){copy, len - (to - from)}, mark, NULL, NULL, &scan);
    CHECK_TEXT(tv_slice_of(states[scan.state]), "damaged");
    free(copy);
}

/* --- bytes of clients --- */

/* After a crash that left this: the last record is gone, and nothing is taken for damage. */
static void check_crash(tv_slice log, size_t at)
{
    tv_wal_scan scan = scan_of(log);

    if (scan.state == TV_WAL_DAMAGED || scan.good.records != WRITES - 1 + RECORDS_BEFORE)
        CHECK_FAIL("%s with %d records after a crash that lost byte %zu", states[scan.state],
                   (int)scan.good.records, at);
}

TEST(a_torn_record_full_of_forged_ones_is_torn)
{
    size_t start = ends[WRITES - 1];

    for (size_t at = start + 1; at < len; at = next_place(at, 37))
        check_crash((tv_slice){bytes, at}, at);
    for (size_t page = start - start % 512; page < len; page += 512) {
        for (size_t size = 512; size <= PAGE; size *= 8) {
            char *copy = copy_of(PAGE);

            lose(copy, page, page + size);
            check_crash((tv_slice){copy, len}, page);
            check_crash((tv_slice){copy, len + PAGE}, page);
            free(copy);
        }
    }
}

/* Its real records are told from them: they count when the one before is damaged. */
TEST(forged_records_are_not_counted_and_real_ones_are)
{
    bytes[ends[10] + 30] ^= 1;
    tv_wal_scan scan = check_scan((tv_slice){bytes, len}, TV_WAL_DAMAGED, 10 + RECORDS_BEFORE);
    CHECK_INT((int)scan.bad.records, WRITES - 11);
}

/* No record before it says what the mark is; the store does. */
TEST(the_first_record_of_a_log_can_be_torn_and_full_of_forged_ones)
{
    size_t start = ends[WRITES - 1], in_block = start % TV_WAL_BLOCK_BYTES;
    char *first = calloc(1, in_block + len - start); /* as if nothing had been in the log before */
    size_t size = in_block + len - start;

    memcpy(first + in_block, bytes + start, len - start);
    add_record(first, WRITES, in_block - 7);
    check_scan((tv_slice){first, size}, TV_WAL_WHOLE, 2);
    memset(first, 0, in_block + 512);
    check_scan((tv_slice){first, size}, TV_WAL_TORN, 0);
    free(first);
}

/* A log as older servers wrote it, without marks: three records, the last full of forged ones. */
enum { OLD_BYTES = 7 + 100 + 7 + 200 + 7 + 9000 };
static void make_old_log(char log[OLD_BYTES])
{
    size_t at = add_record(log, 1, 100);

    at += add_record(log + at, 2, 200);
    add_record(log + at, 3, 9000);
    forge(log + at + 7 + 12, 9000 - 12, 4);

    uint32_t sum = tv_crc32c(0, (tv_slice){log + at + 6, 9001});

    sum = (sum >> 15 | sum << 17) + UINT32_C(0xa282ead8);
    memcpy(log + at, &sum, sizeof sum);
}

TEST(a_torn_record_of_an_older_log_is_torn)
{
    static char log[OLD_BYTES], lost[OLD_BYTES];
    size_t start = 7 + 100 + 7 + 200;

    make_old_log(log);
    check_scan((tv_slice){log, OLD_BYTES}, TV_WAL_WHOLE, 3);
    for (size_t at = start + 1; at < OLD_BYTES; at++)
        check_scan((tv_slice){log, at}, TV_WAL_TORN, 2);
    for (size_t at = 512; at < OLD_BYTES; at += 512) {
        memcpy(lost, log, OLD_BYTES);
        memset(lost + at, 0, at + 512 > OLD_BYTES ? OLD_BYTES - at : 512);
        check_scan((tv_slice){lost, OLD_BYTES}, TV_WAL_DOUBTFUL, 2);
    }
}

/* Also of its length, which then reaches beyond the end of the file. */
TEST(a_flipped_bit_of_an_older_log_is_damage)
{
    static char log[OLD_BYTES];

    make_old_log(log);
    for (size_t bit = 0; bit < (size_t)8 * OLD_BYTES; bit += bit < 8 * 400 ? 1 : 53) {
        size_t at = bit / 8;

        log[at] = (char)(log[at] ^ 1 << bit % 8);
        t_row = "log";
        check_scan((tv_slice){log, OLD_BYTES}, TV_WAL_DAMAGED, at < 107 ? 0 : at < 314 ? 1 : 2);
        t_row = "manifest";
        tv_wal_scan scan;
        tv_wal_scan_bytes(TV_WAL_MANIFEST, (tv_slice){log, OLD_BYTES}, (tv_wal_mark){0}, NULL, NULL,
                          &scan);
        check_result(&scan, TV_WAL_DAMAGED, at < 107 ? 0 : at < 314 ? 1 : 2);
        log[at] = (char)(log[at] ^ 1 << bit % 8);
    }
    t_row = "";
}

/* A bit has flipped in a record with a sector of zeros of its own: a crash could leave the same. */
TEST(zeros_that_were_written_leave_a_doubt)
{
    size_t start = ends[WRITES - 1];

    check_scan((tv_slice){bytes, len}, TV_WAL_WHOLE, WRITES + RECORDS_BEFORE);
    for (size_t at = start + 40; at < len; at += 997) {
        bytes[at] ^= 8;
        check_scan((tv_slice){bytes, len}, TV_WAL_DOUBTFUL, WRITES - 1 + RECORDS_BEFORE);
        bytes[at] ^= 8;
    }
    for (int bit = 0; bit < 8; bit++) { /* of the seal */
        bytes[len - 1] = (char)(bytes[len - 1] ^ 1 << bit);
        check_scan((tv_slice){bytes, len}, TV_WAL_DOUBTFUL, WRITES - 1 + RECORDS_BEFORE);
        bytes[len - 1] = (char)(bytes[len - 1] ^ 1 << bit);
    }
    check_scan((tv_slice){bytes, len - 1}, TV_WAL_TORN, WRITES - 1 + RECORDS_BEFORE);
}

TEST(a_sector_of_zeros_is_found_wherever_it_begins)
{
    char some[2000];

    for (size_t at = 0; at + 512 <= sizeof some; at++) {
        memset(some, 'x', sizeof some);
        memset(some + at, 0, 512);
        CHECK(tv_wal_has_zeros((tv_slice){some, sizeof some}));
        some[at + 100] = some[at + 300] = some[at + 500] = 1;
        CHECK(!tv_wal_has_zeros((tv_slice){some, sizeof some}));
    }
    CHECK(!tv_wal_has_zeros(TV_NONE));
}

/* --- the store --- */

static tv_err try_open(bool drops, tv_engine **ret_engine)
{
    tv_rocksdb_options options = {.dir = dir,
                                  .block_cache_bytes = 8 << 20,
                                  .disk_reserve_bytes = 1,
                                  .drop_damaged_log = drops};

    *ret_engine = NULL;
    text[0] = '\0';
    return tv_rocksdb_engine_open(&options, ret_engine, text, sizeof text);
}

/* Rows 0 to count - 1 are there with their values, and no other. */
static void check_rows(tv_engine *engine, int count)
{
    for (int i = 0; i < WRITES; i++) {
        char key[16];
        tv_arena arena;
        tv_slice value;

        key_of(i, key);
        tv_arena_init(&arena);
        tv_err err = tv_engine_get(engine, TV_READ_ANY, tv_slice_of(key), &arena, &value);
        CHECK_ERR(err, i < count ? TV_OK : TV_ERR_NOT_FOUND);
        if (err == TV_OK)
            CHECK(tv_slice_eq(value, value_of(i)));
        tv_arena_done(&arena);
    }
}

/* The store starts with so many rows, takes a write, and starts again. */
static void check_starts(bool drops, int count)
{
    tv_engine *engine;

    tv_err err = try_open(drops, &engine);
    if (err)
        CHECK_FAIL("%s: %s", tv_err_name(err), text);
    check_rows(engine, count);
    CHECK_OK(WRITE(engine, put("more", "1")));
    tv_engine_close(engine);
    CHECK_OK(try_open(false, &engine));
    check_rows(engine, count);
    CHECK_ROW(engine, "more", "1");
    tv_engine_close(engine);
}

static void check_refused(void)
{
    tv_engine *engine;

    for (int i = 0; i < 2; i++) { /* and nothing is changed by that */
        CHECK_ERR(try_open(false, &engine), TV_ERR_CORRUPT);
        CHECK(strstr(text, dir) && strstr(text, "--drop-damaged-log") && !strchr(text, '\n'));
    }
}

typedef enum damage_kind { CUT, EXTEND, LOSE, FLIP } damage_kind;

/* `at` counts from the beginning of write `write`, or from its end when it is negative. */
static const struct damage_row {
    const char *what;
    damage_kind kind;
    int write;
    long at;
    size_t bytes;
    int rows; /* that must be there after the start; -1: it is refused, ... */
    int kept; /* ... and so many are kept when the operator drops the rest */
} damages[] = {
    {"nothing happened", EXTEND, WRITES - 1, 0, 0, WRITES, 0},
    {"the last byte is missing", CUT, WRITES - 1, -1, 0, WRITES - 1, 0},
    {"half of the last record is missing", CUT, WRITES - 1, 40000, 0, WRITES - 1, 0},
    {"all but three bytes of its header are missing", CUT, WRITES - 1, 3, 0, WRITES - 1, 0},
    {"the log was extended and not written", EXTEND, WRITES - 1, 0, 3 * PAGE, WRITES, 0},
    {"the end of the last record is zeros", LOSE, WRITES - 1, 40000, 40000, WRITES - 1, 0},
    {"its middle is zeros", LOSE, WRITES - 1, 33000, PAGE, WRITES - 1, 0},
    {"its beginning is zeros", LOSE, WRITES - 1, 0, PAGE, WRITES - 1, 0},
    {"a bit of the last record flipped", FLIP, WRITES - 1, 40000, 0, -1, WRITES - 1},
    {"a bit in the middle flipped", FLIP, 11, 20, 0, -1, 11},
    {"a page before good records is zeros", LOSE, 11, 0, PAGE, -1, 11},
    {"the first record is zeros, good ones follow", LOSE, 0, 0, 10, -1, 0},
};

static void do_damage(const struct damage_row *row)
{
    char *copy = copy_of(row->bytes);
    size_t at =
        row->at < 0 ? ends[row->write + 1] - (size_t)-row->at : ends[row->write] + (size_t)row->at;
    size_t now = len;
    char path[160];

    if (row->kind == CUT)
        now = at;
    else if (row->kind == EXTEND)
        now = len + row->bytes;
    else if (row->kind == LOSE)
        memset(copy + at, 0, at + row->bytes > len ? len - at : row->bytes);
    else
        copy[at] = (char)(copy[at] ^ 4);
    find_file("*.log", path);
    write_bytes(path, copy, now);
    free(copy);
}

TEST(a_damaged_store_starts_with_all_that_was_acknowledged_or_is_refused)
{
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const struct damage_row *row = &damages[i];

        t_row = row->what;
        if (i > 0) {
            tear_down(NULL);
            set_up(NULL);
        }
        do_damage(row);
        if (row->rows >= 0) {
            check_starts(false, row->rows);
        } else {
            check_refused();
            check_starts(true, row->kept);
        }
    }
    t_row = "";
}

/* Run with standard error in a file, and return what it has then. */
static const char *log_of(void (*run)(void))
{
    static char output[8192];
    char path[160];

    snprintf(path, sizeof path, "%s.stderr", dir);
    int saved = dup(STDERR_FILENO), fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(saved >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    run();
    dup2(saved, STDERR_FILENO);
    close(saved);
    ssize_t got = pread(fd, output, sizeof output - 1, 0);
    output[got > 0 ? got : 0] = '\0';
    close(fd);
    unlink(path);
    return output;
}

static void open_dropping(void)
{
    tv_engine *engine;

    CHECK_OK(try_open(true, &engine));
    tv_engine_close(engine);
}

/* A power cut during the first start: the format of the store is all that its log can have. */
TEST(a_store_whose_creation_was_cut_off_starts)
{
    static const long cuts[] = {-1, -10, -30};

    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        char log[160], marker[160];

        if (i > 0) {
            tear_down(NULL);
            set_up(NULL);
        }
        find_file("*.log", log);
        path_in("tavola.creating", marker);
        write_bytes(log, bytes, (size_t)((long)ends[0] + cuts[i]));
        write_bytes(marker, "", 0);
        check_starts(false, 0);
        CHECK_INT(access(marker, F_OK), -1);
    }
}

static void open_and_close(void)
{
    tv_engine *engine;

    CHECK_OK(try_open(false, &engine));
    check_rows(engine, WRITES - 1);
    tv_engine_close(engine);
}

TEST(a_crash_with_forged_records_in_the_last_write_needs_no_help)
{
    do_damage(&(struct damage_row){.kind = LOSE, .write = WRITES - 1, .at = 0, .bytes = PAGE});
    const char *log = log_of(open_and_close);
    if (!strstr(log, "level=info event=log_tail"))
        CHECK_FAIL("%s", log);
}

TEST(a_doubt_is_told)
{
    do_damage(&(struct damage_row){.kind = FLIP, .write = WRITES - 1, .at = 40000});
    const char *log = log_of(open_and_close);
    if (!strstr(log, "level=warn event=log_tail") || !strstr(log, "it may be lost"))
        CHECK_FAIL("%s", log);
}

TEST(what_is_dropped_is_told)
{
    char want[80];

    do_damage(&(struct damage_row){.kind = FLIP, .write = 11, .at = 20});
    const char *log = log_of(open_dropping);
    snprintf(want, sizeof want, "records=%d bytes=%zu kept_until=20", WRITES - 12, len - ends[11]);
    if (!strstr(log, "event=log_dropped") || !strstr(log, want) || !strstr(log, "dropped_until=20"))
        CHECK_FAIL("no \"%s\" in: %s", want, log);

    /* There is nothing more to drop. */
    log = log_of(open_dropping);
    CHECK(strstr(log, "log_dropped") == NULL);
}

TEST(a_torn_manifest_is_cut_and_the_edit_in_it_had_no_effect)
{
    char path[160], *manifest;
    size_t bytes_of;

    find_file("MANIFEST-*", path);
    bytes_of = read_bytes(path, &manifest);
    /* A record that lost all but its header, as if it lay across two pages. */
    manifest = realloc(manifest, bytes_of + 600);
    memset(manifest + bytes_of, 0, 600);
    memcpy(manifest + bytes_of, "\x12\x34\x56\x78\x60\x00\x01", 7);
    write_bytes(path, manifest, bytes_of + 600);
    free(manifest);
    check_starts(false, WRITES);
}

/* --- several logs --- */

typedef enum logs_damage {
    NO_DAMAGE,
    FLIP_IN_FIRST,
    CUT_FIRST,
    LOSE_END_OF_FIRST,
    LOSE_SECOND,
    EMPTY_SECOND,
    CUT_LAST,
    CUT_LAST_AND_NEW_EMPTY,
    CUT_LAST_AND_NEW_ZEROS,
    OLD_RUBBISH,
} logs_damage;

static const struct logs_row {
    const char *what;
    logs_damage damage;
    bool is_refused;
    bool has_all; /* rows; else all but the last */
} logs_rows[] = {
    {"nothing happened", NO_DAMAGE, false, true},
    {"a bit of the first log flipped", FLIP_IN_FIRST, true, false},
    {"the first log is cut short", CUT_FIRST, true, false},
    {"the last page of the first log is zeros", LOSE_END_OF_FIRST, true, false},
    {"the second log is gone", LOSE_SECOND, true, false},
    {"the second log is empty", EMPTY_SECOND, true, false},
    {"the last log is cut short", CUT_LAST, false, false},
    {"so it is, and a new one was made behind it", CUT_LAST_AND_NEW_EMPTY, false, false},
    {"so it is, and a new one was extended behind it", CUT_LAST_AND_NEW_ZEROS, false, false},
    {"an old log that nobody needs is rubbish", OLD_RUBBISH, false, true},
};

/* The paths of the logs that hold anything, in order. */
static int list_logs(char ret_paths[64][160])
{
    struct dirent **names;
    int count = scandir(dir, &names, NULL, alphasort), logs = 0;

    for (int i = 0; i < count; i++) {
        struct stat stat_of;

        path_in(names[i]->d_name, ret_paths[logs]);
        if (fnmatch("*.log", names[i]->d_name, 0) == 0 && logs < 63 &&
            stat(ret_paths[logs], &stat_of) == 0 && stat_of.st_size > 0)
            logs++;
        free(names[i]);
    }
    free(names);
    return logs;
}

static void damage_logs(logs_damage damage)
{
    char paths[64][160], rubbish[160], next[160], *first, *last;
    int count = list_logs(paths);

    CHECK(count >= LOGS);
    size_t first_len = read_bytes(paths[0], &first), last_len = read_bytes(paths[count - 1], &last);
    path_in("000001.log", rubbish);
    path_in("900000.log", next);
    switch (damage) {
    case NO_DAMAGE:
        break;
    case FLIP_IN_FIRST:
        first[first_len / 2] ^= 16;
        write_bytes(paths[0], first, first_len);
        break;
    case CUT_FIRST:
        write_bytes(paths[0], first, first_len - 5);
        break;
    case LOSE_END_OF_FIRST:
        memset(first + first_len - 4000, 0, 4000);
        write_bytes(paths[0], first, first_len);
        break;
    case LOSE_SECOND:
        CHECK(unlink(paths[1]) == 0);
        break;
    case EMPTY_SECOND:
        write_bytes(paths[1], "", 0);
        break;
    case CUT_LAST:
    case CUT_LAST_AND_NEW_EMPTY:
    case CUT_LAST_AND_NEW_ZEROS:
        write_bytes(paths[count - 1], last, last_len - 5);
        if (damage == CUT_LAST_AND_NEW_EMPTY)
            write_bytes(next, "", 0);
        if (damage == CUT_LAST_AND_NEW_ZEROS)
            write_bytes(next, (char[PAGE]){0}, PAGE);
        break;
    case OLD_RUBBISH:
        write_bytes(rubbish, last + 1, last_len - 1);
        break;
    }
    free(first);
    free(last);
}

TEST(only_the_last_log_that_holds_anything_may_be_torn)
{
    for (size_t i = 0; i < sizeof logs_rows / sizeof *logs_rows; i++) {
        const struct logs_row *row = &logs_rows[i];
        tv_engine *engine;

        t_row = row->what;
        if (i > 0) {
            remove_folder(dir);
            make_folder(dir);
        }
        run_child("crash-with-logs");
        damage_logs(row->damage);
        if (!row->is_refused) {
            check_starts(false, row->has_all ? WRITES : WRITES - 1);
            continue;
        }
        check_refused();
        CHECK_OK(try_open(true, &engine)); /* how many rows that keeps is not the point here */
        tv_engine_close(engine);
    }
    t_row = "";
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define WITH(name, how) cmocka_unit_test_setup_teardown(name, set_up_##how, tear_down)

int main(int argc, char **argv)
{
    if (argc == 4) {
        snprintf(dir, sizeof dir, "%s", argv[2]);
        last_has = (last_value)(argv[3][0] - '0');
        return strcmp(argv[1], "crash") == 0 ? play_crash() : play_crash_with_logs();
    }

    const struct CMUnitTest tests[] = {
        ONE(a_log_reads_to_its_end_and_tells_when),
        ONE(cut_anywhere_it_is_torn_and_loses_what_was_cut),
        ONE(zeros_behind_it_are_no_damage),
        ONE(a_last_record_with_lost_pages_is_torn),
        ONE(a_flipped_bit_is_damage_in_the_last_record_too),
        ONE(a_flipped_bit_behind_the_rest_of_a_block_is_damage),
        ONE(a_lost_page_before_a_good_record_is_damage_and_the_rest_is_counted),
        ONE(records_that_are_missing_without_a_trace_are_damage),
        WITH(a_torn_record_full_of_forged_ones_is_torn, forged),
        WITH(forged_records_are_not_counted_and_real_ones_are, forged),
        WITH(the_first_record_of_a_log_can_be_torn_and_full_of_forged_ones, forged),
        cmocka_unit_test(a_torn_record_of_an_older_log_is_torn),
        cmocka_unit_test(a_flipped_bit_of_an_older_log_is_damage),
        WITH(zeros_that_were_written_leave_a_doubt, zeros),
        cmocka_unit_test(a_sector_of_zeros_is_found_wherever_it_begins),
        WITH(a_crash_with_forged_records_in_the_last_write_needs_no_help, forged),
        WITH(a_doubt_is_told, zeros),
        ONE(a_damaged_store_starts_with_all_that_was_acknowledged_or_is_refused),
        ONE(a_store_whose_creation_was_cut_off_starts),
        ONE(what_is_dropped_is_told),
        ONE(a_torn_manifest_is_cut_and_the_edit_in_it_had_no_effect),
        cmocka_unit_test_setup_teardown(only_the_last_log_that_holds_anything_may_be_torn,
                                        set_up_folder, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
