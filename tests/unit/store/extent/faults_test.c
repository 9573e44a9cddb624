/*
 * What the store asks of the kernel, and what it makes of the kernel's refusals.
 *
 * The functions below take the place of libc's for the whole program: they note
 * what is synced, and fail on demand as a dying or full disk does.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "store/extent/extent.h"

#include "fixture.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- the kernel --- */

typedef struct event {
    bool is_file; /* fdatasync, else fsync */
    char path[128];
    int64_t begin_ns, end_ns;
} event;

static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;
static event events[256];
static int event_count;

static struct {
    int fdatasync_error, fsync_error, write_error, link_error;
    bool writes_are_short;
    int read_error;
    int interrupts;       /* this many calls of write are interrupted */
    int64_t free_bytes;   /* 0: as it is; falls by what is written */
    int sync_after_files; /* a folder's sync ends after so many of files */
    int unlink_ms;        /* by the clock of the store, once it is being closed */
} kernel;

static atomic_int folder_syncs_begun, file_syncs;
static tv_extents *store;

static int note(int fd, bool is_file, int error)
{
    char link[64];
    event e = {.is_file = is_file, .begin_ns = tv_clock_mono_ns()};
    int result = -1;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, e.path, sizeof e.path - 1);

    e.path[len > 0 ? len : 0] = '\0';
    if (!is_file)
        atomic_fetch_add(&folder_syncs_begun, 1);
    if (!is_file)
        WAIT_UNTIL(atomic_load(&file_syncs) >= kernel.sync_after_files);
    if (error)
        errno = error;
    else
        result = (int)syscall(is_file ? SYS_fdatasync : SYS_fsync, fd);
    int saved = errno;

    if (is_file)
        atomic_fetch_add(&file_syncs, 1);
    e.end_ns = tv_clock_mono_ns();
    pthread_mutex_lock(&events_lock);
    if (event_count < (int)COUNT(events))
        events[event_count++] = e;
    pthread_mutex_unlock(&events_lock);
    errno = saved;
    return result;
}

int fdatasync(int fd)
{
    return note(fd, true, kernel.fdatasync_error);
}

int fsync(int fd)
{
    return note(fd, false, kernel.fsync_error);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    if (kernel.interrupts > 0) {
        kernel.interrupts--;
        errno = EINTR;
        return -1;
    }
    if (kernel.write_error) {
        errno = kernel.write_error;
        return -1;
    }
    if (kernel.writes_are_short && len > 1)
        len = len / 2;
    if (kernel.free_bytes)
        kernel.free_bytes -= (int64_t)len;
    return syscall(SYS_write, fd, bytes, len);
}

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    if (kernel.read_error) {
        errno = kernel.read_error;
        return -1;
    }
    return syscall(SYS_pread64, fd, to, size, offset);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    if (kernel.link_error) {
        errno = kernel.link_error;
        return -1;
    }
    return (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

int unlinkat(int fd, const char *path, int flags)
{
    if (kernel.unlink_ms) {
        WAIT_UNTIL(atomic_load(&store->stop_ns) != INT64_MAX);
        tv_clock_skip_ns(kernel.unlink_ms * INT64_C(1000000));
    }
    return (int)syscall(SYS_unlinkat, fd, path, flags);
}

int fstatvfs(int fd, struct statvfs *ret_stat)
{
    (void)fd;
    memset(ret_stat, 0, sizeof *ret_stat);
    ret_stat->f_frsize = 1;
    ret_stat->f_bavail = kernel.free_bytes ? (fsblkcnt_t)kernel.free_bytes : (fsblkcnt_t)1 << 40;
    return 0;
}

/* --- the tests --- */

static int set_up(void **state)
{
    (void)state;
    tv_log_set_level(TV_LOG_OFF);
    memset(&kernel, 0, sizeof kernel);
    make_folder(temporary());
    store = open_store();
    event_count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tv_extents_close(store);
    memset(&kernel, 0, sizeof kernel); /* no thread looks any more */
    remove_folder();
    tv_log_set_level(TV_LOG_INFO);
    return 0;
}

static void check_event(int i, bool is_file, const char *path)
{
    CHECK(i < event_count);
    CHECK_INT(events[i].is_file, is_file);
    CHECK_TEXT(tv_slice_of(events[i].path), path);
}

static const char *shard_of(tv_extent_id id)
{
    static char path[256];

    snprintf(path, sizeof path, "%s", path_of(id));
    *strrchr(path, '/') = '\0';
    return path;
}

TEST(finish_syncs_the_file_and_then_its_folder)
{
    tv_extent_writer *writer;
    tv_extent_id id;

    CHECK_OK(tv_extent_create(store, &writer));
    CHECK_OK(tv_extent_append(writer, TV_LIT("bytes")));
    CHECK_INT(event_count, 0);
    CHECK_OK(tv_extent_finish(writer, &id));
    CHECK_INT(event_count, 2);
    check_event(0, true, path_of(id));
    check_event(1, false, shard_of(id));
}

TEST(an_empty_extent_is_synced_too)
{
    tv_extent_id id = put(store, TV_LIT(""));

    CHECK_INT(event_count, 2);
    check_event(0, true, path_of(id));
    check_event(1, false, shard_of(id));
}

TEST(links_are_synced_when_asked_for_and_once_per_folder)
{
    tv_extent_id from = put(store, TV_LIT("bytes")), id, last = {0};

    event_count = 0;
    for (int i = 0; i < 100; i++)
        CHECK_OK(tv_extent_link(store, from, 5, &last));
    CHECK_INT(event_count, 0);
    CHECK_OK(tv_extents_sync_links(store));
    CHECK_INT(event_count, 2);
    check_event(0, false, shard_of(from));
    check_event(1, false, shard_of(last));
    CHECK_OK(tv_extents_sync_links(store));
    CHECK_INT(event_count, 2);

    /* A sync that another extent needed counts. */
    CHECK_OK(tv_extent_link(store, from, 5, &id));
    put(store, TV_LIT("other"));
    CHECK_INT(event_count, 4);
    CHECK_OK(tv_extents_sync_links(store));
    CHECK_INT(event_count, 4);
}

TEST(a_boot_is_durable_before_its_first_extent)
{
    char boot[256], sub[128];
    tv_extents *inner;

    snprintf(sub, sizeof sub, "%s/sub", dir);
    snprintf(boot, sizeof boot, "%s/boot.new", sub);
    CHECK(tv_extents_open(&(tv_extent_options){.dir = sub}, &inner, open_text, sizeof open_text));
    CHECK_INT(event_count, 3);
    check_event(0, false, dir); /* the folder has just been made there */
    check_event(1, false, boot);
    check_event(2, false, sub);
    tv_extents_close(inner);

    event_count = 0;
    CHECK(tv_extents_open(&(tv_extent_options){.dir = sub}, &inner, open_text, sizeof open_text));
    CHECK_INT(event_count, 2);
    check_event(0, false, boot);
    check_event(1, false, sub);
    tv_extents_close(inner);
}

TEST(a_boot_that_cannot_be_made_durable_is_refused)
{
    tv_extents *other;

    kernel.fsync_error = EIO;
    CHECK(!try_open(&(tv_extent_options){.dir = dir}, &other));
    CHECK(strstr(open_text, dir) && strstr(open_text, strerror(EIO)));
    kernel.fsync_error = 0;
    kernel.write_error = ENOSPC;
    CHECK(!try_open(&(tv_extent_options){.dir = dir}, &other));
    CHECK(strstr(open_text, dir) && strstr(open_text, strerror(ENOSPC)));
}

TEST(a_temporary_store_syncs_nothing)
{
    tv_extents *temporary;

    CHECK(try_open(&(tv_extent_options){.dir = dir, .is_temporary = true}, &temporary));
    tv_extent_id id = put(temporary, TV_LIT("bytes")), copy;

    CHECK_OK(tv_extent_link(temporary, id, 5, &copy));
    CHECK_OK(tv_extents_sync_links(temporary));
    tv_extents_close(temporary);
    CHECK_INT(event_count, 0);
}

TEST(bytes_that_cannot_be_synced_are_no_extent)
{
    tv_extent_writer *writer;
    tv_extent_id id;

    CHECK_OK(tv_extent_create(store, &writer));
    CHECK_OK(tv_extent_append(writer, TV_LIT("bytes")));
    kernel.fdatasync_error = EIO;
    CHECK_ERR(tv_extent_finish(writer, &id), TV_ERR_IO);
    kernel.fdatasync_error = 0;
    wait_for_removals(store, 0);
    CHECK(!is_there((tv_extent_id){1, 1}));

    /* Only that file is lost. */
    check_bytes(store, put(store, TV_LIT("others")), TV_LIT("others"));
    CHECK_FIGURES(store, 1, file_bytes(6));
}

TEST(a_folder_that_cannot_be_synced_is_the_end_of_writing)
{
    tv_extent_id before = put(store, TV_LIT("before")), id;
    tv_extent_writer *writer, *other;

    CHECK_OK(tv_extent_create(store, &writer));
    CHECK_OK(tv_extent_create(store, &other));
    kernel.fsync_error = EIO;
    CHECK_ERR(tv_extent_finish(writer, &id), TV_ERR_IO);
    kernel.fsync_error = 0;
    CHECK_ERR(tv_extent_finish(other, &id), TV_ERR_IO);
    CHECK_ERR(tv_extent_create(store, &writer), TV_ERR_IO);
    CHECK_ERR(tv_extent_link(store, before, 6, &id), TV_ERR_IO);
    CHECK(!tv_extents_check(store, open_text, sizeof open_text));
    CHECK(strstr(open_text, dir) && strstr(open_text, "until a restart"));
    wait_for_removals(store, 0);
    CHECK(!is_there((tv_extent_id){1, 2}) && !is_there((tv_extent_id){1, 3}));
    check_bytes(store, before, TV_LIT("before"));

    tv_extents_close(store);
    store = open_store();
    check_bytes(store, put(store, TV_LIT("after")), TV_LIT("after"));
}

TEST(links_that_cannot_be_synced_are_an_error_ever_after)
{
    tv_extent_id id = put(store, TV_LIT("bytes")), copy;

    CHECK_OK(tv_extent_link(store, id, 5, &copy));
    kernel.fsync_error = EIO;
    CHECK_ERR(tv_extents_sync_links(store), TV_ERR_IO);
    kernel.fsync_error = 0;
    CHECK_ERR(tv_extents_sync_links(store), TV_ERR_IO);
}

TEST(short_and_interrupted_writes_go_on)
{
    static char bytes[5 << 20];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + (i >> 9));
    kernel.writes_are_short = true;
    kernel.interrupts = 5;
    tv_extent_id id = put(store, (tv_slice){bytes, sizeof bytes});

    CHECK_INT(kernel.interrupts, 0);
    check_bytes(store, id, (tv_slice){bytes, sizeof bytes});
    CHECK_FIGURES(store, 1, file_bytes(sizeof bytes));
}

TEST(a_read_that_fails_is_an_error_and_noted)
{
    tv_extent_id id = put(store, TV_LIT("bytes"));
    tv_extent_reader *reader;
    char bytes[5], text[1024];
    size_t len;

    CHECK_OK(tv_extent_open(store, TV_READ_ANY, id, 5, &reader));
    kernel.read_error = EIO;
    CHECK_ERR(tv_extent_read(reader, TV_READ_ANY, 0, bytes, 5, &len), TV_ERR_IO);
    tv_extent_close(reader);
    CHECK_ERR(tv_extent_open(store, TV_READ_ANY, id, 5, &reader), TV_ERR_IO);
    kernel.read_error = 0;
    CHECK_INT(read_metrics(store).failed_reads, 2);
    CHECK(!tv_extents_check(store, text, sizeof text) && strstr(text, path_of(id)));
    check_bytes(store, id, TV_LIT("bytes"));
}

TEST(a_damaged_extent_is_not_copied)
{
    tv_extent_id id = put(store, TV_LIT("bytes")), copy;
    int fd = open(path_of(id), O_WRONLY | O_CLOEXEC);

    CHECK(fd >= 0 && pwrite(fd, "B", 1, 0) == 1);
    close(fd);
    kernel.link_error = EMLINK;
    CHECK_ERR(tv_extent_link(store, id, 5, &copy), TV_ERR_CORRUPT);
    wait_for_removals(store, 0);
    CHECK_FIGURES(store, 1, file_bytes(5));
}

static const struct {
    const char *what;
    int error;
    tv_err err;
} write_errors[] = {
    {"a full disk", ENOSPC, TV_ERR_DISK_FULL},
    {"a quota", EDQUOT, TV_ERR_DISK_FULL},
    {"a sick disk", EIO, TV_ERR_IO},
};

TEST(a_failed_write_is_said_and_leaves_nothing)
{
    for (size_t i = 0; i < COUNT(write_errors); i++) {
        tv_extent_writer *writer;

        t_row = write_errors[i].what;
        CHECK_OK(tv_extent_create(store, &writer));
        CHECK_OK(tv_extent_append(writer, TV_LIT("begins well")));
        kernel.write_error = write_errors[i].error;
        CHECK_ERR(tv_extent_append(writer, TV_LIT("ends badly")), write_errors[i].err);
        kernel.write_error = 0;
        tv_extent_discard(writer);
        wait_for_removals(store, 0);
        CHECK(!is_there((tv_extent_id){1, i + 1}));
        CHECK_FIGURES(store, 0, 0);
    }
    t_row = "";
    put(store, TV_LIT("there is room again"));
}

TEST(the_reserve_holds_within_one_large_extent)
{
    enum { RESERVE = 100 << 20, FREE = 130 << 20, WINDOW = 4 << 20 };
    static char bytes[40 << 20];
    tv_extent_writer *writer;
    tv_extents *other;
    char sub[128];

    snprintf(sub, sizeof sub, "%s/sub", dir);
    CHECK(tv_extents_open(&(tv_extent_options){.dir = sub, .disk_reserve_bytes = RESERVE}, &other,
                          open_text, sizeof open_text));
    kernel.free_bytes = FREE;
    CHECK_OK(tv_extent_create(other, &writer));
    CHECK_ERR(tv_extent_append(writer, (tv_slice){bytes, sizeof bytes}), TV_ERR_DISK_FULL);
    CHECK(kernel.free_bytes < RESERVE && kernel.free_bytes >= RESERVE - WINDOW);
    CHECK_ERR(tv_extent_create(other, &(tv_extent_writer *){NULL}), TV_ERR_DISK_FULL);
    tv_extent_discard(writer);
    kernel.free_bytes = 0;
    tv_extents_close(other);
}

TEST(what_cannot_be_linked_is_copied)
{
    static const int errors[] = {EMLINK, EPERM, EOPNOTSUPP};
    static char bytes[1 << 20];

    memset(bytes, 'y', sizeof bytes);
    tv_extent_id from = put(store, (tv_slice){bytes, sizeof bytes}), copy;

    for (size_t i = 0; i < COUNT(errors); i++) {
        kernel.link_error = errors[i];
        event_count = 0;
        CHECK_OK(tv_extent_link(store, from, sizeof bytes, &copy));
        CHECK_INT(event_count, 2);
        check_event(0, true, path_of(copy));
        check_event(1, false, shard_of(copy));
        CHECK_OK(tv_extents_sync_links(store));
        check_bytes(store, copy, (tv_slice){bytes, sizeof bytes});
        CHECK_ERR(tv_extent_link(store, (tv_extent_id){1, 999}, 1, &copy), TV_ERR_NOT_FOUND);
    }
    kernel.link_error = EIO;
    CHECK_ERR(tv_extent_link(store, from, sizeof bytes, &copy), TV_ERR_IO);
}

TEST(closing_does_not_wait_long_for_removals)
{
    enum { EXTENTS = 60 };
    size_t removed = 0;

    for (int i = 0; i < EXTENTS; i++)
        put(store, TV_LIT("x"));
    tv_extents_close(store);
    store = open_store();
    kernel.unlink_ms = 300; /* so ten of them take longer than closing may */
    CHECK_OK(gc_extents(store, &(rows){0}, &removed));
    CHECK_INT(removed, EXTENTS);
    tv_extents_close(store);
    store = open_store();
    kernel.unlink_ms = 0;
    int64_t left = read_metrics(store).extents;

    CHECK(left > EXTENTS - 10 && left < EXTENTS);
    CHECK_OK(gc_extents(store, &(rows){0}, &removed));
    CHECK_INT(removed, left);
    wait_for_removals(store, 0);
    CHECK_FIGURES(store, 0, 0);
}

/* --- many finish at once --- */

enum { FINISHERS = 8 };

typedef struct finisher {
    pthread_t thread;
    int64_t created_ns, finished_ns;
    tv_extent_id id;
    tv_err err;
} finisher;

static pthread_barrier_t barrier;

static void *run_finisher(void *arg)
{
    finisher *f = arg;
    tv_extent_writer *writer;

    f->err = tv_extent_create(store, &writer);
    f->created_ns = tv_clock_mono_ns();
    pthread_barrier_wait(&barrier);
    if (f->err == TV_OK)
        f->err = tv_extent_append(writer, TV_LIT("bytes"));
    if (f->err == TV_OK)
        f->err = tv_extent_finish(writer, &f->id);
    f->finished_ns = tv_clock_mono_ns();
    return NULL;
}

TEST(who_finishes_together_shares_a_sync_that_began_after_its_file_was_made)
{
    finisher finishers[FINISHERS];
    int folder_syncs = 0;

    atomic_store(&file_syncs, 0);
    kernel.sync_after_files = FINISHERS;
    pthread_barrier_init(&barrier, NULL, FINISHERS);
    for (int i = 0; i < FINISHERS; i++)
        CHECK(pthread_create(&finishers[i].thread, NULL, run_finisher, &finishers[i]) == 0);
    for (int i = 0; i < FINISHERS; i++)
        CHECK(pthread_join(finishers[i].thread, NULL) == 0);
    pthread_barrier_destroy(&barrier);

    for (int e = 0; e < event_count; e++)
        folder_syncs += !events[e].is_file;
    CHECK(folder_syncs >= 1 && folder_syncs < FINISHERS);
    for (int i = 0; i < FINISHERS; i++) {
        const finisher *f = &finishers[i];
        bool has_file = false, has_folder = false;

        CHECK_OK(f->err);
        for (int e = 0; e < event_count; e++) {
            if (events[e].begin_ns < f->created_ns || events[e].end_ns > f->finished_ns)
                continue;
            has_file |= events[e].is_file && strcmp(events[e].path, path_of(f->id)) == 0;
            has_folder |= !events[e].is_file && strcmp(events[e].path, shard_of(f->id)) == 0;
        }
        CHECK(has_file && has_folder);
    }
}

TEST(a_sync_that_began_before_the_file_was_made_is_not_relied_on)
{
    finisher early;
    tv_extent_writer *writer;
    tv_extent_id id;

    atomic_store(&file_syncs, 0);
    kernel.sync_after_files = 2;
    atomic_store(&folder_syncs_begun, 0);
    pthread_barrier_init(&barrier, NULL, 1);
    CHECK(pthread_create(&early.thread, NULL, run_finisher, &early) == 0);
    WAIT_UNTIL(atomic_load(&folder_syncs_begun) > 0);
    CHECK_OK(tv_extent_create(store, &writer));
    CHECK_OK(tv_extent_finish(writer, &id));
    CHECK_INT(atomic_load(&folder_syncs_begun), 2);
    CHECK(pthread_join(early.thread, NULL) == 0);
    pthread_barrier_destroy(&barrier);
    CHECK_OK(early.err);
    CHECK_TEXT(tv_slice_of(shard_of(early.id)), events[event_count - 1].path);
}

TEST(who_shares_a_sync_that_fails_fails)
{
    finisher finishers[FINISHERS];

    atomic_store(&file_syncs, 0);
    kernel.sync_after_files = FINISHERS;
    kernel.fsync_error = EIO;
    pthread_barrier_init(&barrier, NULL, FINISHERS);
    for (int i = 0; i < FINISHERS; i++)
        CHECK(pthread_create(&finishers[i].thread, NULL, run_finisher, &finishers[i]) == 0);
    for (int i = 0; i < FINISHERS; i++)
        CHECK(pthread_join(finishers[i].thread, NULL) == 0);
    pthread_barrier_destroy(&barrier);
    for (int i = 0; i < FINISHERS; i++)
        CHECK_ERR(finishers[i].err, TV_ERR_IO);
    wait_for_removals(store, 0);
    CHECK_FIGURES(store, 0, 0);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(finish_syncs_the_file_and_then_its_folder),
        ROW(an_empty_extent_is_synced_too),
        ROW(links_are_synced_when_asked_for_and_once_per_folder),
        ROW(a_boot_is_durable_before_its_first_extent),
        ROW(a_boot_that_cannot_be_made_durable_is_refused),
        ROW(a_temporary_store_syncs_nothing),
        ROW(bytes_that_cannot_be_synced_are_no_extent),
        ROW(a_folder_that_cannot_be_synced_is_the_end_of_writing),
        ROW(links_that_cannot_be_synced_are_an_error_ever_after),
        ROW(short_and_interrupted_writes_go_on),
        ROW(a_read_that_fails_is_an_error_and_noted),
        ROW(a_damaged_extent_is_not_copied),
        ROW(a_failed_write_is_said_and_leaves_nothing),
        ROW(the_reserve_holds_within_one_large_extent),
        ROW(what_cannot_be_linked_is_copied),
        ROW(closing_does_not_wait_long_for_removals),
        ROW(who_finishes_together_shares_a_sync_that_began_after_its_file_was_made),
        ROW(a_sync_that_began_before_the_file_was_made_is_not_relied_on),
        ROW(who_shares_a_sync_that_fails_fails),
    };

    return cmocka_run_group_tests_name("extent/faults", tests, NULL, NULL);
}
