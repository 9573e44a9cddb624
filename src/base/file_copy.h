/*
 * Another name for a file that is never changed again: a hard link where the file
 * system can, else a link to the same file in an earlier copy, else a copy of its
 * bytes.
 */
#ifndef TV_BASE_FILE_COPY_H
#define TV_BASE_FILE_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** How the copying of many files goes.  Counts only grow. */
typedef struct tv_file_copies {
    /** Asked before each file, and at each MiB of a long one: give up; or NULL. */
    bool (*is_stopping)(void *ctx);
    /** A file, or a part of one, has been done; `written` of its bytes are no links.  Or NULL. */
    void (*progress)(void *ctx, uint64_t files, uint64_t bytes, uint64_t written);
    void *ctx;
} tv_file_copies;

/**
 * Make `name` in the folder `to_fd`, which has none, of that in `from_fd`.  `base_fd`
 * is the folder of an earlier copy, or -1: where the file itself cannot be linked, one
 * of this name there is, if it is ours alone to write and every byte of it is the
 * same; nothing else about it is trusted.  Symbolic links are not followed.  A copy is
 * synced, a link has been by whoever wrote the file; the name is durable when the
 * caller has synced the folder.  Waits for the disk.  Returns 0 or an errno: ECANCELED
 * when it was told to stop.  On an error there may be a part of the new file.
 */
int tv_file_copy(const tv_file_copies *copies, int from_fd, int base_fd, int to_fd,
                 const char *name);

/**
 * Open a file in the folder `dir_fd`, which may hold anything: what is a link, a folder or a pipe
 * is refused, and never waited for.  `flags` are O_RDONLY or O_RDWR.  The file, or -1 with errno.
 */
int tv_file_open_regular(int dir_fd, const char *name, int flags, off_t *ret_size);

/** Sync a file or a folder by its name.  Returns 0 or an errno. */
int tv_file_sync(int dir_fd, const char *name);

/**
 * Remove a folder of the folder `dir_fd` with all that is in it; what is a link
 * is removed, not followed.  One that is not there is fine.  Returns 0 or an errno.
 */
int tv_file_remove_tree(int dir_fd, const char *name);

#endif
