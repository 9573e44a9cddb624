/* Where a backup may go, and how it gets its name. */
#include "server/admin/backup_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/file_copy.h"

#define PARTIAL ".partial"

enum { NAME_BYTES_MAX = NAME_MAX - (sizeof PARTIAL - 1), LEVELS_MAX = 4096 };

static bool has_controls(tv_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return true;
    }
    return false;
}

/* The last component of the path is of use as a name; none leads up. */
static bool has_good_names(tv_slice path)
{
    tv_slice rest = path, name = TV_LIT("");

    while (tv_slice_next(&rest, '/', &name)) {
        if (tv_slice_eq(name, TV_LIT(".")) || tv_slice_eq(name, TV_LIT("..")))
            return false;
    }
    return name.len > 0 && name.len <= NAME_BYTES_MAX;
}

bool tv_backup_path_parse(tv_slice text, char ret_path[TV_BACKUP_PATH_SIZE],
                          const char **reterr_why)
{
    while (text.len > 1 && text.data[text.len - 1] == '/')
        text.len--;
    if (text.len == 0 || text.data[0] != '/')
        *reterr_why = "the folder of a backup is given by its absolute path";
    else if (text.len >= TV_BACKUP_PATH_SIZE)
        *reterr_why = "the path is too long";
    else if (has_controls(text))
        *reterr_why = "the path has control characters";
    else if (!has_good_names(tv_slice_skip(text, 1)))
        *reterr_why = "the path must end with the name of a new folder, and have no '.' or '..'";
    else {
        memcpy(ret_path, text.data, text.len);
        ret_path[text.len] = '\0';
        return true;
    }
    return false;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether a folder is the data folder or below it, by whatever path.  False with errno 0, or what
 * went wrong. */
static bool is_outside(int folder_fd, int data_fd)
{
    struct stat data, at, above;
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fstat(data_fd, &data) != 0 || fstat(fd, &at) != 0)
        goto fail;
    for (int level = 0; level < LEVELS_MAX; level++) {
        if (is_same(&at, &data)) {
            errno = 0;
            goto fail;
        }

        int up = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        close(fd);
        fd = up;
        if (fd < 0 || fstat(fd, &above) != 0)
            goto fail;
        if (is_same(&at, &above)) { /* the root */
            close(fd);
            return true;
        }
        at = above;
    }
    errno = ELOOP;

fail:;
    int error = errno;

    if (fd >= 0)
        close(fd);
    errno = error;
    return false;
}

static bool is_there(int dir_fd, const char *name)
{
    struct stat stat_of;

    return fstatat(dir_fd, name, &stat_of, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* Make and open DIR.partial; the parent is open. */
static bool make(tv_backup_target *target, int data_fd, char *reterr_text, size_t reterr_size)
{
    if (!is_outside(target->parent_fd, data_fd)) {
        snprintf(reterr_text, reterr_size, "%s",
                 errno ? strerror(errno) : "a backup cannot be inside the data folder");
        return false;
    }
    if (is_there(target->parent_fd, target->name)) {
        snprintf(reterr_text, reterr_size, "the folder exists already; a backup makes a new one");
        return false;
    }
    if (mkdirat(target->parent_fd, target->partial, 0700) != 0) {
        snprintf(reterr_text, reterr_size,
                 errno == EEXIST ? "the folder with " PARTIAL
                                   " after its name exists: what is left "
                                   "of a backup that was cut short; remove it first"
                                 : "cannot make the folder: %s",
                 strerror(errno));
        return false;
    }
    target->fd =
        openat(target->parent_fd, target->partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (target->fd >= 0)
        return true;

    snprintf(reterr_text, reterr_size, "cannot open the folder: %s", strerror(errno));
    unlinkat(target->parent_fd, target->partial, AT_REMOVEDIR);
    return false;
}

bool tv_backup_target_open(tv_backup_target *target, const char *path, int data_fd,
                           char *reterr_text, size_t reterr_size)
{
    const char *slash = strrchr(path, '/');
    char parent[TV_BACKUP_PATH_SIZE];

    tv_assert(path[0] == '/' && strlen(path) < sizeof parent &&
              strlen(slash + 1) <= NAME_BYTES_MAX);
    *target = (tv_backup_target){.parent_fd = -1, .fd = -1};
    snprintf(parent, sizeof parent, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    snprintf(target->name, sizeof target->name, "%s", slash + 1);
    snprintf(target->partial, sizeof target->partial, "%.*s" PARTIAL, NAME_BYTES_MAX, slash + 1);

    target->parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (target->parent_fd < 0)
        snprintf(reterr_text, reterr_size, "cannot open the folder that it is to be made in: %s",
                 strerror(errno));
    else if (make(target, data_fd, reterr_text, reterr_size))
        return true;
    tv_backup_target_done(target);
    return false;
}

/* Some file systems cannot rename without replacing; there what is looked up first decides. */
static bool rename_new(const tv_backup_target *target)
{
    if (renameat2(target->parent_fd, target->partial, target->parent_fd, target->name,
                  RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    if (is_there(target->parent_fd, target->name)) {
        errno = EEXIST;
        return false;
    }
    return renameat(target->parent_fd, target->partial, target->parent_fd, target->name) == 0;
}

bool tv_backup_target_publish(tv_backup_target *target, char *reterr_text, size_t reterr_size)
{
    if (fsync(target->fd) != 0) {
        snprintf(reterr_text, reterr_size, "cannot sync the folder: %s", strerror(errno));
        return false;
    }
    if (!rename_new(target)) {
        snprintf(reterr_text, reterr_size, "cannot give the folder its name: %s", strerror(errno));
        return false;
    }
    if (fsync(target->parent_fd) != 0) {
        snprintf(reterr_text, reterr_size, "cannot sync the name of the folder: %s",
                 strerror(errno));
        snprintf(target->partial, sizeof target->partial, "%s", target->name);
        return false;
    }
    return true;
}

bool tv_backup_target_discard(tv_backup_target *target)
{
    errno = tv_file_remove_tree(target->parent_fd, target->partial);
    return errno == 0;
}

void tv_backup_target_done(tv_backup_target *target)
{
    if (target->fd >= 0)
        close(target->fd);
    if (target->parent_fd >= 0)
        close(target->parent_fd);
    target->fd = target->parent_fd = -1;
}
