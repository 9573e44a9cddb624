/*
 * The promises of extent.h, on the disk and on a tmpfs, which is a different
 * kind of file system: it has no reads that do not wait.
 */
#include "store/extent/extent.h"

#include <endian.h>

#include "base/crc32c.h"
#include "store/extent/file/file.h"

#include "on_both.h"
#include "random.h"

TEST(what_was_appended_is_read)
{
    static const size_t sizes[] = {0, 1, 4095, 4 << 20, (4 << 20) + 1, (9 << 20) + 3};
    size_t biggest = (9 << 20) + 3;

    NEEDS_FOLDER();
    store = open_store();
    char *bytes = tv_malloc(biggest);

    t_random_seed(1);
    for (size_t i = 0; i < biggest; i++)
        bytes[i] = (char)t_random();
    for (size_t i = 0; i < COUNT(sizes); i++) {
        tv_slice rest = {bytes, sizes[i]};
        tv_extent_writer *writer;
        tv_extent_id id;
        char some[100];
        tv_extent_reader *reader;
        size_t len;

        CHECK_OK(tv_extent_create(store, &writer));
        while (rest.len) {
            size_t part = t_random() % (1 << 20);

            part = part < rest.len ? part : rest.len;
            CHECK_OK(tv_extent_append(writer, tv_slice_take(rest, part)));
            rest = tv_slice_skip(rest, part);
        }
        CHECK_OK(tv_extent_finish(writer, &id));
        check_bytes(store, id, (tv_slice){bytes, sizes[i]});

        CHECK_OK(tv_extent_open(store, TV_READ_ANY, id, sizes[i], &reader));
        CHECK_OK(tv_extent_read(reader, TV_READ_ANY, sizes[i], some, sizeof some, &len));
        CHECK_INT(len, 0);
        CHECK_OK(tv_extent_read(reader, TV_READ_CACHED, sizes[i], some, sizeof some, &len));
        CHECK_INT(len, 0);
        CHECK_OK(tv_extent_read(reader, TV_READ_ANY, sizes[i] / 2, some, sizeof some, &len));
        CHECK_INT(len, sizes[i] - sizes[i] / 2 < 100 ? sizes[i] - sizes[i] / 2 : 100);
        CHECK(memcmp(some, bytes + sizes[i] / 2, len) == 0);
        tv_extent_close(reader);
    }
    free(bytes);
    tv_extents_close(store);
}

TEST(a_cached_read_does_not_wait_for_the_disk)
{
    static char bytes[1 << 20], got[1 << 20];
    tv_extent_reader *reader;
    size_t len;

    NEEDS_FOLDER();
    store = open_store();
    memset(bytes, 'x', sizeof bytes);
    tv_extent_id id = put(store, (tv_slice){bytes, sizeof bytes});

    CHECK_OK(tv_extent_open(store, TV_READ_ANY, id, sizeof bytes, &reader));
    CHECK_OK(tv_extent_read(reader, TV_READ_CACHED, 0, got, sizeof got, &len));
    CHECK(len > 0 && memcmp(got, bytes, len) == 0);

    /* Out of memory with it; on a tmpfs there is nowhere else to be. */
    int fd = open(path_of(id), O_RDONLY | O_CLOEXEC);

    CHECK(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    tv_err err = tv_extent_read(reader, TV_READ_CACHED, 0, got, sizeof got, &len);
    CHECK(err == TV_ERR_WOULD_BLOCK || (err == TV_OK && memcmp(got, bytes, len) == 0));
    CHECK_OK(tv_extent_read(reader, TV_READ_ANY, 0, got, sizeof got, &len));
    CHECK_INT(len, sizeof got);
    CHECK_OK(tv_extent_read(reader, TV_READ_CACHED, 0, got, sizeof got, &len));
    CHECK(len > 0 && memcmp(got, bytes, len) == 0);
    tv_extent_close(reader);
    close(fd);
    tv_extents_close(store);
}

/* Read a range; the bytes must be those of `bytes`, or the error be the one wanted. */
static tv_err read_range(tv_extent_id id, const char *bytes, size_t length, uint64_t offset,
                         size_t size)
{
    static char got[1 << 20];
    tv_extent_reader *reader;
    size_t all = 0, len;
    tv_err err = tv_extent_open(store, TV_READ_CACHED, id, length, &reader);

    CHECK(size <= sizeof got);
    if (err == TV_ERR_WOULD_BLOCK)
        err = tv_extent_open(store, TV_READ_ANY, id, length, &reader);
    if (err)
        return err;

    while (!err && all < size) {
        err = tv_extent_read(reader, TV_READ_CACHED, offset + all, got + all, size - all, &len);
        if (err == TV_ERR_WOULD_BLOCK)
            err = tv_extent_read(reader, TV_READ_ANY, offset + all, got + all, size - all, &len);
        if (!err && len == 0)
            break;
        all += err ? 0 : len;
    }
    tv_extent_close(reader);
    CHECK(err || (all == size && memcmp(got, bytes + offset, size) == 0));
    return err;
}

/* Each a few bytes longer or shorter than some blocks. */
TEST(every_range_is_read_and_checked)
{
    static const size_t edges[] = {0, 1, 16383, 16384, 16385, 32768, 49151, 49152, 100000};
    static char bytes[100000];

    NEEDS_FOLDER();
    store = open_store();
    t_random_seed(3);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)t_random();
    for (size_t i = 1; i < COUNT(edges); i++) {
        tv_extent_id id = put(store, (tv_slice){bytes, edges[i]});

        CHECK_INT(length_of(id), edges[i]);
        for (size_t from = 0; from < i; from++) {
            for (size_t to = from + 1; to <= i; to++)
                CHECK_OK(read_range(id, bytes, edges[i], edges[from], edges[to] - edges[from]));
        }
    }
    CHECK_INT(read_metrics(store).failed_reads, 0);
    tv_extents_close(store);
}

static void flip(tv_extent_id id, off_t at)
{
    int fd = open(path_of(id), O_RDWR | O_CLOEXEC);
    char c = 0;

    CHECK(fd >= 0 && pread(fd, &c, 1, at) == 1);
    c ^= 0x10;
    CHECK(pwrite(fd, &c, 1, at) == 1);
    close(fd);
}

/* More blocks than one window of checksums has, so that the table is read in parts. */
enum { LARGE = 17 << 20 };

TEST(damage_is_met_where_it_is_and_only_there)
{
    static char bytes[LARGE];
    enum { BLOCKS = (LARGE + 16383) / 16384 };
    static const struct {
        const char *what;
        off_t at;
        uint64_t bad; /* a place in the block that it damages */
    } places[] = {
        {"the first byte", 0, 5},
        {"the last byte", LARGE - 1, LARGE - 2},
        {"the middle", 8 << 20, (8 << 20) + 16000},
        {"a checksum", LARGE, 100},
        {"a checksum of the second window", LARGE + 1030 * 4 + 3, 1030 * 16384},
    };

    NEEDS_FOLDER();
    store = open_store();
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 31 + (i >> 14));
    tv_extent_id id = put(store, (tv_slice){bytes, sizeof bytes});

    for (size_t i = 0; i < COUNT(places); i++) {
        uint64_t block = places[i].bad / 16384;
        uint64_t other = (block + BLOCKS / 2) % (BLOCKS - 1) * 16384;

        t_row = places[i].what;
        flip(id, places[i].at);
        CHECK_ERR(read_range(id, bytes, LARGE, places[i].bad, 1), TV_ERR_CORRUPT);
        CHECK_ERR(read_range(id, bytes, LARGE, block * 16384,
                             16384 < LARGE - block * 16384 ? 16384 : LARGE - block * 16384),
                  TV_ERR_CORRUPT);
        CHECK_OK(read_range(id, bytes, LARGE, other, 16384));
        flip(id, places[i].at);
        CHECK_OK(read_range(id, bytes, LARGE, places[i].bad, 1));
    }
    t_row = "";
    tv_extents_close(store);
}

TEST(a_file_that_is_not_of_its_length_cannot_be_opened)
{
    static char bytes[100000];
    char text[1024];
    tv_extent_reader *reader;

    NEEDS_FOLDER();
    store = open_store();
    tv_extent_id id = put(store, (tv_slice){bytes, sizeof bytes}), copy;
    off_t size = (off_t)file_bytes(sizeof bytes);

    CHECK(tv_extents_check(store, text, sizeof text));
    CHECK_OK(tv_extent_link(store, id, sizeof bytes, &copy));
    CHECK_ERR(tv_extent_open(store, TV_READ_ANY, id, sizeof bytes - 1, &reader), TV_ERR_CORRUPT);
    CHECK_ERR(tv_extent_open(store, TV_READ_ANY, id, sizeof bytes + 1, &reader), TV_ERR_CORRUPT);
    flip(id, size - 1);
    CHECK_ERR(tv_extent_open(store, TV_READ_ANY, id, sizeof bytes, &reader), TV_ERR_CORRUPT);
    flip(id, size - 1);
    CHECK_OK(read_range(id, bytes, sizeof bytes, 0, 1));
    CHECK(truncate(path_of(id), size - 1) == 0);
    CHECK_ERR(tv_extent_open(store, TV_READ_ANY, id, sizeof bytes, &reader), TV_ERR_CORRUPT);
    CHECK(truncate(path_of(id), 0) == 0);
    CHECK_ERR(tv_extent_open(store, TV_READ_ANY, id, sizeof bytes, &reader), TV_ERR_CORRUPT);
    CHECK_ERR(tv_extent_open(store, TV_READ_ANY, copy, sizeof bytes, &reader), TV_ERR_CORRUPT);
    CHECK_INT(read_metrics(store).failed_reads, 6);

    /* It is reported until nobody needs the extent any more. */
    CHECK_INT(read_metrics(store).damaged, 2);
    CHECK(!tv_extents_check(store, text, sizeof text));
    CHECK(strstr(text, "2 files") && strstr(text, path_of(id)) && !strchr(text, '\n'));
    tv_extents_remove(store, &id, 1);
    tv_extents_remove(store, &copy, 1);
    wait_for_removals(store, 0);
    CHECK(tv_extents_check(store, text, sizeof text));
    tv_extents_close(store);
}

/* --- which extent it is --- */

static void swap_files(tv_extent_id a, tv_extent_id b)
{
    char first[256], second[256], aside[300];

    snprintf(first, sizeof first, "%s", path_of(a));
    snprintf(second, sizeof second, "%s", path_of(b));
    snprintf(aside, sizeof aside, "%s.aside", first);
    CHECK(rename(first, aside) == 0 && rename(second, first) == 0 && rename(aside, second) == 0);
}

static tv_err open_it(tv_extent_id id, uint64_t length)
{
    tv_extent_reader *reader;
    tv_err err = tv_extent_open(store, TV_READ_ANY, id, length, &reader);

    if (err == TV_OK)
        tv_extent_close(reader);
    return err;
}

TEST(files_that_were_exchanged_are_told_and_links_are_none)
{
    static char one[50000], other[50000];
    tv_extent_id link, link_of_link;
    char text[1024];

    NEEDS_FOLDER();
    store = open_store();
    memset(one, 1, sizeof one);
    memset(other, 2, sizeof other);
    tv_extent_id a = put(store, (tv_slice){one, sizeof one});
    tv_extent_id b = put(store, (tv_slice){other, sizeof other});

    swap_files(a, b);
    CHECK_ERR(open_it(a, sizeof one), TV_ERR_CORRUPT);
    CHECK_ERR(open_it(b, sizeof other), TV_ERR_CORRUPT);
    CHECK(!tv_extents_check(store, text, sizeof text) && strstr(text, "another extent's"));
    swap_files(a, b);
    check_bytes(store, a, (tv_slice){one, sizeof one});
    check_bytes(store, b, (tv_slice){other, sizeof other});

    CHECK_OK(tv_extent_link(store, a, sizeof one, &link));
    CHECK_OK(tv_extent_link(store, link, sizeof one, &link_of_link));
    check_bytes(store, link_of_link, (tv_slice){one, sizeof one});
    tv_extents_remove(store, &a, 1);
    wait_for_removals(store, 0);
    check_bytes(store, link, (tv_slice){one, sizeof one});
    check_bytes(store, link_of_link, (tv_slice){one, sizeof one});
    tv_extents_close(store);
}

TEST(blocks_that_were_exchanged_are_told)
{
    static char bytes[3 * 16384], block[16384];

    NEEDS_FOLDER();
    store = open_store();
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i / 16384);
    tv_extent_id id = put(store, (tv_slice){bytes, sizeof bytes});
    int fd = open(path_of(id), O_RDWR | O_CLOEXEC);
    char sums[8];

    /* The second block in the place of the first, with its checksum. */
    CHECK(fd >= 0 && pread(fd, block, sizeof block, 16384) == sizeof block &&
          pwrite(fd, block, sizeof block, 0) == sizeof block &&
          pread(fd, sums, 4, sizeof bytes + 4) == 4 && pwrite(fd, sums, 4, sizeof bytes) == 4);
    close(fd);
    CHECK_ERR(read_range(id, bytes, sizeof bytes, 0, 10), TV_ERR_CORRUPT);
    CHECK_OK(read_range(id, bytes, sizeof bytes, 16384, 10));
    tv_extents_close(store);
}

TEST(extents_of_before_can_be_read_and_linked)
{
    static char bytes[20000];
    char table[8], footer[24] = "tvextent";
    uint64_t length = htole64(sizeof bytes);
    uint32_t numbers[2] = {htole32(tv_crc32c(0, (tv_slice){bytes, 16384})),
                           htole32(tv_crc32c(0, (tv_slice){bytes, sizeof bytes - 16384}))};
    uint32_t size = htole32(16384), sum;
    tv_extent_id copy;

    NEEDS_FOLDER();
    store = open_store();
    tv_extent_id id = put(store, (tv_slice){bytes, sizeof bytes});
    FILE *file = fopen(path_of(id), "w");

    memcpy(table, numbers, sizeof table);
    memcpy(footer + 8, &length, 8);
    memcpy(footer + 16, &size, 4);
    sum = htole32(tv_crc32c(0, (tv_slice){footer, 20}));
    memcpy(footer + 20, &sum, 4);
    CHECK(file && fwrite(bytes, sizeof bytes, 1, file) == 1 &&
          fwrite(table, sizeof table, 1, file) == 1 && fwrite(footer, sizeof footer, 1, file) == 1);
    fclose(file);
    check_bytes(store, id, (tv_slice){bytes, sizeof bytes});
    CHECK_OK(tv_extent_link(store, id, sizeof bytes, &copy));
    check_bytes(store, copy, (tv_slice){bytes, sizeof bytes});
    flip(id, 100);
    CHECK_ERR(read_range(id, bytes, sizeof bytes, 0, 10), TV_ERR_CORRUPT);
    tv_extents_close(store);
}

TEST(what_is_damaged_is_reported_once_and_then_now_and_then)
{
    const char *what;

    NEEDS_FOLDER();
    store = open_store();
    for (uint64_t i = 1; i <= 100; i++)
        tv_extents_note_damage(store, (tv_extent_id){1, i}, "missing");
    CHECK(tv_extents_may_report(store, (tv_extent_id){1, 1}, &what));
    CHECK_TEXT(tv_slice_of(what), "missing");
    CHECK(!tv_extents_may_report(store, (tv_extent_id){1, 1}, &what));
    CHECK(tv_extents_may_report(store, (tv_extent_id){1, 2}, &what));
    CHECK(!tv_extents_may_report(store, (tv_extent_id){1, 99}, &what)); /* one too many */
    CHECK_INT(read_metrics(store).damaged, 64);
    CHECK_INT(read_metrics(store).failed_reads, 100);
    tv_extents_close(store);
}

TEST(a_discarded_extent_leaves_nothing)
{
    tv_extent_writer *writer;

    NEEDS_FOLDER();
    store = open_store();
    CHECK_OK(tv_extent_create(store, &writer));
    CHECK_OK(tv_extent_append(writer, TV_LIT("never mind")));
    CHECK_FIGURES(store, 1, 10);
    CHECK(is_there((tv_extent_id){1, 1}));
    tv_extent_discard(writer);
    tv_extent_discard(NULL);
    wait_for_removals(store, 0);
    CHECK(!is_there((tv_extent_id){1, 1}));
    CHECK_FIGURES(store, 0, 0);
    tv_extents_close(store);
}

TEST(ids_never_repeat)
{
    tv_extent_id last = {0};

    NEEDS_FOLDER();
    for (int boot = 1; boot <= 4; boot++) {
        store = open_store();
        for (int i = 0; i < 3; i++) {
            tv_extent_id id = put(store, TV_LIT("x"));

            CHECK(id.boot > last.boot || (id.boot == last.boot && id.number > last.number));
            last = id;
            tv_extents_remove(store, &id, 1);
        }
        CHECK_INT(last.boot, boot);
        tv_extents_close(store);
    }
}

TEST(a_copy_outlives_what_it_was_made_of)
{
    tv_extent_id copy, nobody;

    NEEDS_FOLDER();
    store = open_store();
    tv_extent_id id = put(store, TV_LIT("some bytes"));

    CHECK_OK(tv_extent_link(store, id, 10, &copy));
    CHECK_OK(tv_extents_sync_links(store));
    CHECK(copy.boot == id.boot && copy.number != id.number);
    CHECK_FIGURES(store, 2, 2 * file_bytes(10));
    tv_extents_remove(store, &id, 1);
    wait_for_removals(store, 0);
    CHECK_FIGURES(store, 1, file_bytes(10));
    CHECK(!is_there(id));
    check_bytes(store, copy, TV_LIT("some bytes"));
    CHECK_ERR(tv_extent_link(store, id, 10, &nobody), TV_ERR_NOT_FOUND);
    tv_extents_close(store);
}

/* Where the kernel can tell; it knows a file that has just been made. */
TEST(a_cached_open_does_not_wait_for_the_disk)
{
    char got[16];
    size_t len;
    tv_extent_reader *reader;
    tv_err err;

    NEEDS_FOLDER();
    store = open_store();
    tv_extent_id id = put(store, TV_LIT("some bytes"));

    err = tv_extent_open(store, TV_READ_CACHED, id, 10, &reader);
    CHECK(err == TV_OK || err == TV_ERR_WOULD_BLOCK);
    if (err == TV_OK) {
        CHECK_OK(tv_extent_read(reader, TV_READ_ANY, 0, got, sizeof got, &len));
        CHECK_INT(len, 10);
        tv_extent_close(reader);
    }
    tv_extents_remove(store, &id, 1);
    wait_for_removals(store, 0);
    err = tv_extent_open(store, TV_READ_CACHED, id, 10, &reader);
    CHECK(err == TV_ERR_NOT_FOUND || err == TV_ERR_WOULD_BLOCK);
    tv_extents_close(store);
}

TEST(what_is_not_there_is_not_found)
{
    tv_extent_id no_ids[] = {{0, 0}, {1, 1}, {7, 7}, {UINT64_MAX, UINT64_MAX}};
    tv_extent_reader *reader;

    NEEDS_FOLDER();
    store = open_store();
    for (size_t i = 0; i < COUNT(no_ids); i++)
        CHECK_ERR(tv_extent_open(store, TV_READ_ANY, no_ids[i], 1, &reader), TV_ERR_NOT_FOUND);
    tv_extents_remove(store, no_ids, COUNT(no_ids));
    tv_extents_remove(store, NULL, 0);
    wait_for_removals(store, 0);
    CHECK_FIGURES(store, 0, 0);
    tv_extents_close(store);
}

TEST(below_the_reserve_nothing_is_begun)
{
    tv_extent_writer *writer;

    NEEDS_FOLDER();
    CHECK(try_open(&(tv_extent_options){.dir = dir, .disk_reserve_bytes = UINT64_MAX}, &store));
    CHECK_ERR(tv_extent_create(store, &writer), TV_ERR_DISK_FULL);
    CHECK_FIGURES(store, 0, 0);
    tv_extents_close(store);
}

TEST(a_temporary_store_leaves_nothing)
{
    tv_extent_id ids[2];
    tv_extent_reader *reader;
    tv_extents *other;

    NEEDS_FOLDER();
    CHECK(try_open(&(tv_extent_options){.dir = dir, .is_temporary = true}, &store));
    CHECK(try_open(&(tv_extent_options){.dir = dir, .is_temporary = true}, &other));
    ids[0] = put(store, TV_LIT("one"));
    ids[1] = put(store, TV_LIT("two"));
    check_bytes(store, ids[1], TV_LIT("two"));
    CHECK_ERR(tv_extent_open(other, TV_READ_ANY, ids[1], 3, &reader), TV_ERR_NOT_FOUND);
    tv_extents_remove(store, &ids[0], 1);
    tv_extents_close(store);
    tv_extents_close(other);
    CHECK(rmdir(dir) == 0);
}

static void write_boot(const char *line)
{
    char path[128];

    snprintf(path, sizeof path, "%s/boot", dir);
    FILE *file = fopen(path, "w");

    fputs(line, file);
    fclose(file);
}

TEST(a_damaged_boot_file_is_refused_and_a_lost_one_made_anew)
{
    static const char *const damaged[] = {"",
                                          "boot",
                                          "boot 0\n",
                                          "boot x\n",
                                          "boot -2\n",
                                          "boot 9223372036854775807\n",
                                          "boot 18446744073709551615\n",
                                          "boot 5 extents\n",
                                          "boot 5 extents 1 bytes 2 more\n"};
    char path[128];

    NEEDS_FOLDER();
    crash();
    crash();
    for (size_t i = 0; i < COUNT(damaged); i++) {
        t_row = damaged[i];
        write_boot(damaged[i]);
        CHECK(!try_open(&(tv_extent_options){.dir = dir}, &store));
        CHECK(strstr(open_text, dir) && strstr(open_text, "damaged") && !strchr(open_text, '\n'));
    }
    snprintf(path, sizeof path, "%s/boot", dir);
    CHECK(unlink(path) == 0);
    store = open_store();
    CHECK_INT(put(store, TV_LIT("x")).boot, 3);
    tv_extents_close(store);
}

/* Nothing but the metrics goes by them, and the next start counts. */
TEST(metrics_in_the_boot_file_that_cannot_be_are_not_believed)
{
    static const char *const lines[] = {"boot 5 extents -1 bytes 0\n",
                                        "boot 5 extents 0 bytes -9\n"};

    NEEDS_FOLDER();
    crash();
    for (size_t i = 0; i < COUNT(lines); i++) {
        char path[128], line[128] = "";

        t_row = lines[i];
        write_boot(lines[i]);
        store = open_store();
        tv_extents_close(store); /* nothing was counted: it leaves no count */
        snprintf(path, sizeof path, "%s/boot", dir);
        FILE *file = fopen(path, "r");

        CHECK(file && fgets(line, sizeof line, file));
        fclose(file);
        CHECK_TEXT(tv_slice_of(line), "boot 6\n");
    }
}

TEST(a_name_that_is_taken_is_never_overwritten)
{
    NEEDS_FOLDER();
    crash();
    write_boot("boot 12\n");
    store = open_store();
    tv_extent_id id = put(store, TV_LIT("older")), copy;

    tv_extents_close(store);
    write_boot("boot 12\n"); /* an old copy has been put back */
    store = open_store();
    CHECK_OK(tv_extent_link(store, id, 5, &copy));
    tv_extent_id next = put(store, TV_LIT("newer"));

    CHECK(copy.boot == id.boot && copy.number > id.number && next.number > copy.number);
    check_bytes(store, id, TV_LIT("older"));
    check_bytes(store, copy, TV_LIT("older"));
    check_bytes(store, next, TV_LIT("newer"));
    tv_extents_close(store);
}

TEST(a_folder_that_cannot_be_made_is_named)
{
    char path[128];

    NEEDS_FOLDER();
    snprintf(path, sizeof path, "%s/no/such", dir);
    CHECK(!try_open(&(tv_extent_options){.dir = path}, &store));
    CHECK(strstr(open_text, path) != NULL);
    CHECK(!try_open(&(tv_extent_options){.dir = path, .is_temporary = true}, &store));
    CHECK(strstr(open_text, path) != NULL);
    snprintf(path, sizeof path, "%s/file", dir);
    touch(path);
    CHECK(!try_open(&(tv_extent_options){.dir = path}, &store));
    CHECK(strstr(open_text, path) != NULL);
    tv_extents_close(NULL);
}

static const struct {
    const char *what, *name;
    unsigned shard;
    bool is_extent;
} names[] = {
    {"a name", "0000000000000001-0000000000000001", 0, true},
    {"a name of shard 1", "00000000000000ab-0000000000000040", 1, true},
    {"a name of shard ff", "00000000000000ab-0000000000003fff", 0xff, true},
    {"the shards start over", "00000000000000ab-0000000000004000", 0, true},
    {"another shard's", "00000000000000ab-0000000000000040", 0, false},
    {"no boot", "0000000000000000-0000000000000001", 0, false},
    {"the last boot", "7fffffffffffffff-0000000000000001", 0, true},
    {"no boot that was", "8000000000000000-0000000000000001", 0, false},
    {"capitals", "00000000000000AB-0000000000000001", 0, false},
    {"no digit", "00000000000000g1-0000000000000001", 0, false},
    {"too short", "000000000000001-0000000000000001", 0, false},
    {"too long", "0000000000000001-00000000000000010", 0, false},
    {"another mark", "0000000000000001_0000000000000001", 0, false},
    {"nothing", "", 0, false},
};

TEST(only_names_that_we_have_given_are_extents)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[TV_EXTENT_PATH_SIZE], want[TV_EXTENT_PATH_SIZE + 8];
        tv_extent_id id;

        t_row = names[i].what;
        CHECK_INT(tv_extent_name_parse(names[i].shard, names[i].name, &id), names[i].is_extent);
        if (!names[i].is_extent)
            continue;
        tv_extent_path(id, path);
        snprintf(want, sizeof want, "%02x/%s", names[i].shard, names[i].name);
        CHECK_TEXT(tv_slice_of(path), want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(what_was_appended_is_read),
        ON_BOTH(a_cached_read_does_not_wait_for_the_disk),
        ON_BOTH(a_cached_open_does_not_wait_for_the_disk),
        ON_BOTH(every_range_is_read_and_checked),
        ON_BOTH(damage_is_met_where_it_is_and_only_there),
        ON_BOTH(a_file_that_is_not_of_its_length_cannot_be_opened),
        ON_BOTH(files_that_were_exchanged_are_told_and_links_are_none),
        ON_BOTH(blocks_that_were_exchanged_are_told),
        ON_BOTH(extents_of_before_can_be_read_and_linked),
        ON_BOTH(what_is_damaged_is_reported_once_and_then_now_and_then),
        ON_BOTH(a_discarded_extent_leaves_nothing),
        ON_BOTH(ids_never_repeat),
        ON_BOTH(a_copy_outlives_what_it_was_made_of),
        ON_BOTH(what_is_not_there_is_not_found),
        ON_BOTH(below_the_reserve_nothing_is_begun),
        ON_BOTH(a_temporary_store_leaves_nothing),
        ON_BOTH(a_damaged_boot_file_is_refused_and_a_lost_one_made_anew),
        ON_BOTH(metrics_in_the_boot_file_that_cannot_be_are_not_believed),
        ON_BOTH(a_name_that_is_taken_is_never_overwritten),
        ON_BOTH(a_folder_that_cannot_be_made_is_named),
        cmocka_unit_test(only_names_that_we_have_given_are_extents),
    };

    return cmocka_run_group_tests_name("extent/extent", tests, NULL, NULL);
}
