/*
 * A copy of the store's folder while it is in use.
 *
 * What is wanted is every extent that a row of some moment refers to.  The caller
 * holds removals from before that moment on, so each of them is still there; what
 * is copied besides (made later, being written, about to be removed) has no row in
 * the copy, and the copy's first start removes it: the boot that is noted there is
 * this one, so all of them are of an earlier boot then.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/extent/file/file.h"

/* A shard on its way. */
typedef struct shard_copy {
    const tv_file_copies *copies;
    int base_fd; /* -1: none */
    int to_fd;
    int error;
} shard_copy;

/* One that is gone by now was about to be removed before the hold began. */
static void copy_one(void *ctx, int shard_fd, const char *name, tv_extent_id id)
{
    shard_copy *shard = ctx;

    (void)id;
    if (shard->error)
        return;
    shard->error = tv_file_copy(shard->copies, shard_fd, shard->base_fd, shard->to_fd, name);
    if (shard->error == ENOENT)
        shard->error = 0;
}

static int open_folder(int dir_fd, const char *name)
{
    return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int copy_shard(tv_extent_files *files, unsigned index, int base_fd, int to_fd,
                      const tv_file_copies *copies)
{
    shard_copy shard = {.copies = copies, .base_fd = -1};
    char name[3];

    snprintf(name, sizeof name, "%02x", index);
    if (mkdirat(to_fd, name, 0700) != 0)
        return errno;
    shard.to_fd = open_folder(to_fd, name);
    if (shard.to_fd < 0)
        return errno;
    if (base_fd >= 0)
        shard.base_fd = open_folder(base_fd, name); /* without it all is copied */

    tv_err err = tv_extent_list(files, index, copy_one, &shard);

    if (err && shard.error == 0)
        shard.error = err == TV_ERR_OVERLOADED ? EMFILE : EIO;
    if (shard.error == 0 && fsync(shard.to_fd) != 0)
        shard.error = errno;
    if (shard.base_fd >= 0)
        close(shard.base_fd);
    close(shard.to_fd);
    return shard.error;
}

int tv_extent_files_copy(tv_extents *store, int base_fd, int to_fd, const tv_file_copies *copies)
{
    tv_extent_files *files = tv_extent_files_of(store);
    int error = 0;

    for (unsigned i = 0; error == 0 && i < TV_EXTENT_SHARDS; i++)
        error = copy_shard(files, i, base_fd, to_fd, copies);
    if (error == 0)
        error = tv_extent_files_boot_copy(files, to_fd);
    return error;
}
