/*
 * Tests that run twice: on the disk, and on a tmpfs, which is a different kind of file
 * system: it has no reads that do not wait.
 */
#ifndef TV_TESTS_UNIT_EXTENT_ON_BOTH_H
#define TV_TESTS_UNIT_EXTENT_ON_BOTH_H

#include <linux/magic.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "fixture.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_extents *store;

static inline int set_up_disk(void **state)
{
    (void)state;
    t_row = "";
    tv_log_set_level(TV_LOG_OFF);
    make_folder(temporary());
    return 0;
}

static inline int set_up_tmpfs(void **state)
{
    struct statfs stat_of;

    (void)state;
    t_row = "on tmpfs";
    tv_log_set_level(TV_LOG_OFF);
    dir[0] = '\0';
    if (statfs("/dev/shm", &stat_of) == 0 && stat_of.f_type == TMPFS_MAGIC &&
        access("/dev/shm", W_OK) == 0)
        make_folder("/dev/shm");
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    tv_log_set_level(TV_LOG_INFO);
    if (dir[0])
        remove_folder();
    return 0;
}

/* Without a tmpfs there is nothing to test there. */
#define NEEDS_FOLDER()                                                                             \
    do {                                                                                           \
        if (dir[0] == '\0')                                                                        \
            skip();                                                                                \
    } while (0)

/* Run a boot that ends as with kill -9: two extents, one of them a copy, and an unfinished one. */
static inline void crash(void)
{
    pid_t child = fork();
    int status;

    CHECK(child >= 0);
    if (child == 0) {
        tv_extent_writer *writer;
        tv_extent_id id;
        tv_extents *doomed;

        if (!try_open(&(tv_extent_options){.dir = dir}, &doomed))
            _exit(1);
        if (tv_extent_create(doomed, &writer) || tv_extent_append(writer, TV_LIT("1234")) ||
            tv_extent_finish(writer, &id) || tv_extent_link(doomed, id, 4, &id) ||
            tv_extent_create(doomed, &writer) || tv_extent_append(writer, TV_LIT("half")))
            _exit(2);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
}

/* clang-format off */
#define ON_BOTH(test)                                                                              \
    cmocka_unit_test_setup_teardown(test, set_up_disk, tear_down),                                 \
    {                                                                                              \
#test "_on_tmpfs", test, set_up_tmpfs, tear_down, NULL                                     \
    }
/* clang-format on */

#endif
