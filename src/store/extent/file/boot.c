/*
 * The number of the boot.
 *
 * Ids must never repeat, not even those of extents that are long gone, so the
 * number is kept in a file, `boot`, and raised there, durably, before the first
 * extent of a boot is made.  A store that is closed cleanly also writes there
 * how many extents and bytes it holds; the next boot starts from that, and only
 * after a crash must tv_extents_gc look at every file for it.  One line of text:
 *
 *     boot 7
 *     boot 7 extents 1234 bytes 567890123
 *
 * If the file has been lost, the names of the extents show the last boot that matters.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "store/extent/file/file.h"

#define BOOT_FILE "boot"
#define NEW_BOOT_FILE "boot.new"

enum { LINE_SIZE = 128 };

static int write_line(int fd, const char *line)
{
    size_t len = strlen(line);
    ssize_t done = write(fd, line, len);

    if (done >= 0 && (size_t)done < len) {
        errno = ENOSPC;
        return -1;
    }
    return done < 0 ? -1 : fsync(fd);
}

/* Replace the file in a store's folder, durably; false with errno. */
static bool write_file(int dir_fd, const char *line)
{
    int fd = openat(dir_fd, NEW_BOOT_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0)
        return false;

    int result = write_line(fd, line), error = errno;

    close(fd);
    errno = error;
    return result == 0 && renameat(dir_fd, NEW_BOOT_FILE, dir_fd, BOOT_FILE) == 0 &&
           fsync(dir_fd) == 0;
}

static void find_newest(void *ctx, int shard_fd, const char *name, tv_extent_id id)
{
    uint64_t *newest = ctx;

    (void)shard_fd, (void)name;
    if (id.boot > *newest)
        *newest = id.boot;
}

/* The last boot by the names of the extents. */
static bool derive(tv_extent_files *files, uint64_t *ret_boot, char *reterr_text,
                   size_t reterr_size)
{
    uint64_t newest = 0;

    for (unsigned shard = 0; shard < TV_EXTENT_SHARDS; shard++) {
        if (tv_extent_list(files, shard, find_newest, &newest) != TV_OK) {
            snprintf(reterr_text, reterr_size, "cannot list the extents in %s", files->path);
            return false;
        }
    }
    if (newest == TV_EXTENT_BOOT_MAX) {
        snprintf(reterr_text, reterr_size, "an extent in %s has a name that has no next one",
                 files->path);
        return false;
    }
    *ret_boot = newest;
    return true;
}

typedef struct last_boot {
    uint64_t boot;
    bool has_metrics;
    int64_t extent_count, byte_count;
} last_boot;

static bool parse_line(const char *line, last_boot *ret_last)
{
    last_boot last = {0};
    int len = -1;

    sscanf(line, "boot %" SCNu64 "\n%n", &last.boot, &len);
    if (len < 0 || line[len] != '\0') {
        len = -1;
        sscanf(line, "boot %" SCNu64 " extents %" SCNd64 " bytes %" SCNd64 "\n%n", &last.boot,
               &last.extent_count, &last.byte_count, &len);
        last.has_metrics = last.extent_count >= 0 && last.byte_count >= 0;
    }
    if (len < 0 || line[len] != '\0' || last.boot == 0 || last.boot >= TV_EXTENT_BOOT_MAX)
        return false;

    *ret_last = last;
    return true;
}

static bool read_last(tv_extent_files *files, last_boot *ret_last, char *reterr_text,
                      size_t reterr_size)
{
    int fd = openat(files->fd, BOOT_FILE, O_RDONLY | O_CLOEXEC);
    char line[LINE_SIZE];

    if (fd < 0 && errno == ENOENT) {
        last_boot last = {0};

        if (!derive(files, &last.boot, reterr_text, reterr_size))
            return false;
        last.has_metrics = last.boot == 0; /* there is nothing at all */
        *ret_last = last;
        return true;
    }

    ssize_t len = fd >= 0 ? read(fd, line, sizeof line - 1) : -1;
    int error = errno;

    if (fd >= 0)
        close(fd);
    if (len < 0) {
        snprintf(reterr_text, reterr_size, "cannot read %s/" BOOT_FILE ": %s", files->path,
                 strerror(error));
        return false;
    }
    line[len] = '\0';
    if (!parse_line(line, ret_last)) {
        snprintf(reterr_text, reterr_size,
                 "%s/" BOOT_FILE " is damaged; without the file the number is derived from "
                 "the names of the extents",
                 files->path);
        return false;
    }
    return true;
}

bool tv_extent_files_boot(tv_extent_files *files, char *reterr_text, size_t reterr_size)
{
    last_boot last = {.has_metrics = true};
    char line[LINE_SIZE];

    /* A temporary store has one boot, and nothing needs to outlive it. */
    if (!files->is_temporary && !read_last(files, &last, reterr_text, reterr_size))
        return false;

    files->base.boot = last.boot + 1;
    tv_assert(files->base.boot > 0 && files->base.boot <= TV_EXTENT_BOOT_MAX);
    snprintf(line, sizeof line, "boot %" PRIu64 "\n", files->base.boot);
    if (!files->is_temporary && !files->is_read_only && !write_file(files->fd, line)) {
        snprintf(reterr_text, reterr_size, "cannot write %s/" BOOT_FILE ": %s", files->path,
                 strerror(errno));
        return false;
    }

    if (last.has_metrics) {
        atomic_store(&files->extent_count, last.extent_count);
        atomic_store(&files->byte_count, last.byte_count);
    }
    for (unsigned shard = 0; shard < TV_EXTENT_SHARDS; shard++)
        files->shards[shard].is_counted = last.has_metrics;
    return true;
}

void tv_extent_files_boot_end(tv_extent_files *files)
{
    char line[LINE_SIZE];

    for (unsigned shard = 0; shard < TV_EXTENT_SHARDS; shard++) {
        if (!files->shards[shard].is_counted)
            return;
    }
    snprintf(line, sizeof line, "boot %" PRIu64 " extents %" PRId64 " bytes %" PRId64 "\n",
             files->base.boot, atomic_load(&files->extent_count), atomic_load(&files->byte_count));
    if (!write_file(files->fd, line))
        tv_log(TV_LOG_WARN, "extent_metrics_lost",
               "detail=\"%s\" effect=\"the next start counts the extents\"", strerror(errno));
}

int tv_extent_files_boot_copy(const tv_extent_files *files, int to_fd)
{
    char line[LINE_SIZE];

    snprintf(line, sizeof line, "boot %" PRIu64 "\n", files->base.boot);
    return write_file(to_fd, line) ? 0 : errno;
}
