/* Names of extents, and listing them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/assert.h"
#include "store/extent/file/file.h"

enum { DIGITS = 16 };

void tv_extent_path(tv_extent_id id, char ret_path[TV_EXTENT_PATH_SIZE])
{
    int len = snprintf(ret_path, TV_EXTENT_PATH_SIZE, "%02x/%016" PRIx64 "-%016" PRIx64,
                       tv_extent_shard_of(id.number), id.boot, id.number);

    tv_assert(len == TV_EXTENT_PATH_SIZE - 1);
}

/* Sixteen lower case digits. */
static bool parse_part(const char *text, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (int i = 0; i < DIGITS; i++) {
        char c = text[i];

        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    *ret_value = value;
    return true;
}

bool tv_extent_name_parse(unsigned shard, const char *name, tv_extent_id *ret_id)
{
    tv_extent_id id;

    if (strlen(name) != 2 * DIGITS + 1 || name[DIGITS] != '-')
        return false;
    if (!parse_part(name, &id.boot) || !parse_part(name + DIGITS + 1, &id.number))
        return false;
    if (id.boot == 0 || id.boot > TV_EXTENT_BOOT_MAX || tv_extent_shard_of(id.number) != shard)
        return false;

    *ret_id = id;
    return true;
}

tv_err tv_extent_list(tv_extent_files *files, unsigned shard,
                      void (*found)(void *ctx, int shard_fd, const char *name, tv_extent_id id),
                      void *ctx)
{
    char path[TV_EXTENT_PATH_SIZE];
    struct dirent *entry;
    tv_extent_id id;

    snprintf(path, sizeof path, "%02x", shard);
    int fd = openat(files->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (dir == NULL) {
        int error = errno;

        if (fd >= 0)
            close(fd);
        /* A server makes what is missing at its start; until then nothing is in it. */
        if (error == ENOENT && files->is_read_only)
            return TV_OK;
        return tv_extent_files_failed(files, "opendir", (tv_extent_id){0}, error);
    }

    while ((errno = 0, entry = readdir(dir))) {
        if (tv_extent_name_parse(shard, entry->d_name, &id))
            found(ctx, fd, entry->d_name, id);
    }
    int error = errno;

    closedir(dir);
    return error ? tv_extent_files_failed(files, "readdir", (tv_extent_id){0}, error) : TV_OK;
}
