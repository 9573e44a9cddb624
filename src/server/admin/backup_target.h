/*
 * The folder that a backup makes: DIR.partial while it is being written, DIR when
 * it is whole and durable.
 *
 * The path comes from a client, so it is used once, to open the folder in which
 * DIR is to be made.  Everything after that goes by descriptors and single names
 * that must not exist yet, so no link that somebody puts in the way is followed
 * and nothing that is there is written to, replaced or removed.
 */
#ifndef TV_SERVER_ADMIN_BACKUP_TARGET_H
#define TV_SERVER_ADMIN_BACKUP_TARGET_H

#include <limits.h>
#include <stddef.h>

#include "base/slice.h"

/** A path and its NUL. */
enum { TV_BACKUP_PATH_SIZE = 3072 };

typedef struct tv_backup_target {
    int parent_fd;
    int fd; /* of DIR.partial */
    char name[NAME_MAX + 1], partial[NAME_MAX + 1];
} tv_backup_target;

/**
 * Whether the text can be the path of a new folder: absolute, without "." and
 * "..", control characters and so on.  Looks at no file.  Puts it into `ret_path`
 * without slashes at its end.  False with a line, a literal, that says why not.
 */
bool tv_backup_path_parse(tv_slice text, char ret_path[TV_BACKUP_PATH_SIZE],
                          const char **reterr_why);

/**
 * Make DIR.partial.  `path` is one that was parsed; `data_fd` is the data folder,
 * in which no backup may be.  False with one line that says what is wrong, and
 * nothing made.  May wait for the disk, as the others.
 */
bool tv_backup_target_open(tv_backup_target *target, const char *path, int data_fd,
                           char *reterr_text, size_t reterr_size);

/** All is written: make it durable under its final name.  False with a line; discard it then. */
bool tv_backup_target_publish(tv_backup_target *target, char *reterr_text, size_t reterr_size);

/** Remove DIR.partial with all that is in it.  False with errno when something is left. */
bool tv_backup_target_discard(tv_backup_target *target);

/** Close it; after either of the two. */
void tv_backup_target_done(tv_backup_target *target);

#endif
