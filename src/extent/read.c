/*
 * Reading extents.
 *
 * A read is made of whole blocks, because those have the checksums (trailer.h): as
 * many as lie wholly within it are read to where they belong and checked there; of
 * one that does not, all is read aside, checked, and a part of it copied.
 *
 * The row says how long an extent is, and so where its checksums are.  A window of
 * them is kept: those of all blocks of an extent of up to 16 MiB, which come with one
 * read, together with the footer.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "extent/internal.h"
#include "extent/trailer.h"

enum {
    WINDOW_BLOCKS = 1024,
    WINDOW_BYTES = WINDOW_BLOCKS * TV_EXTENT_SUM_BYTES,
};

struct tv_extent_reader {
    tv_extents *store;
    tv_extent_id id;
    int fd;
    uint64_t length, block_count;
    uint64_t first_block; /* of the window */
    size_t window_count;  /* 0 when there is none yet */
    char window[];        /* entries of the table */
};

/* --- files --- */

/* Files that are memory: reading them never waits for a disk.  (tmpfs does not know RWF_NOWAIT.) */
static bool is_memory(int fd)
{
    struct statfs stat_of;

    return fstatfs(fd, &stat_of) == 0 &&
           (stat_of.f_type == TMPFS_MAGIC || stat_of.f_type == RAMFS_MAGIC);
}

static tv_err read_cached(int fd, uint64_t offset, char *to, size_t size, size_t *ret_len)
{
    struct iovec part = {to, size};
    ssize_t len = preadv2(fd, &part, 1, (off_t)offset, RWF_NOWAIT);

    if (len < 0 && errno == EOPNOTSUPP && is_memory(fd))
        len = preadv2(fd, &part, 1, (off_t)offset, 0);
    if (len >= 0) {
        *ret_len = (size_t)len;
        return TV_OK;
    }

    switch (errno) {
    case EAGAIN:
    case EINTR:
    case EOPNOTSUPP:
    case ENOSYS:
        return TV_ERR_WOULD_BLOCK;
    default:
        return TV_ERR_IO;
    }
}

static tv_err read_any(int fd, uint64_t offset, char *to, size_t size, size_t *ret_len)
{
    size_t done = 0;

    while (done < size) {
        ssize_t len = pread(fd, to + done, size - done, (off_t)(offset + done));

        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            return TV_ERR_IO;
        if (len == 0)
            break;
        done += (size_t)len;
    }
    *ret_len = done;
    return TV_OK;
}

static tv_err damaged(const tv_extent_reader *reader, tv_err err, const char *what)
{
    tv_extents_note_damage(reader->store, reader->id, what);
    return err;
}

/*
 * Read `size` bytes, or with TV_READ_CACHED those of them that are in memory, at least
 * `least`: with that flag the end of the file cannot be told from what is still on the disk.
 */
static tv_err read_file(tv_extent_reader *reader, tv_read_mode mode, uint64_t offset, char *to,
                        size_t size, size_t least, size_t *ret_len)
{
    size_t len;
    tv_err err = mode == TV_READ_CACHED ? read_cached(reader->fd, offset, to, size, &len)
                                        : read_any(reader->fd, offset, to, size, &len);

    if (err == TV_ERR_IO)
        return damaged(reader, err, "it cannot be read");
    if (err)
        return err;
    if (len < least)
        return mode == TV_READ_CACHED ? TV_ERR_WOULD_BLOCK
                                      : damaged(reader, TV_ERR_CORRUPT, "the file is too short");

    *ret_len = len;
    return TV_OK;
}

static tv_err read_exactly(tv_extent_reader *reader, tv_read_mode mode, uint64_t offset, char *to,
                           size_t size)
{
    size_t ignored;

    return read_file(reader, mode, offset, to, size, size, &ignored);
}

/* --- checksums --- */

/* Bring the checksum of a block into the window; those of its neighbours come along. */
static tv_err need_window(tv_extent_reader *reader, tv_read_mode mode, uint64_t block)
{
    uint64_t first = block - block % WINDOW_BLOCKS, left = reader->block_count - first;
    size_t count = left < WINDOW_BLOCKS ? (size_t)left : WINDOW_BLOCKS;
    tv_err err;

    if (reader->window_count && reader->first_block == first)
        return TV_OK;

    reader->window_count = 0;
    err = read_exactly(reader, mode, reader->length + first * TV_EXTENT_SUM_BYTES, reader->window,
                       count * TV_EXTENT_SUM_BYTES);
    if (err)
        return err;

    reader->first_block = first;
    reader->window_count = count;
    return TV_OK;
}

/* The footer, and with it the table if it is short. */
static tv_err read_trailer(tv_extent_reader *reader, tv_read_mode mode)
{
    char trailer[WINDOW_BYTES + TV_EXTENT_FOOTER_BYTES];
    uint64_t table_bytes = reader->block_count * TV_EXTENT_SUM_BYTES;
    size_t along = table_bytes <= WINDOW_BYTES ? (size_t)table_bytes : 0;
    tv_err err;

    err = read_exactly(reader, mode, reader->length + table_bytes - along, trailer,
                       along + TV_EXTENT_FOOTER_BYTES);
    if (err)
        return err;
    if (!tv_extent_footer_is_of(trailer + along, reader->length))
        return damaged(reader, TV_ERR_CORRUPT, "its end is damaged");

    memcpy(reader->window, trailer, along);
    reader->window_count = along / TV_EXTENT_SUM_BYTES;
    return TV_OK;
}

static size_t block_len(const tv_extent_reader *reader, uint64_t block)
{
    uint64_t left = reader->length - block * TV_EXTENT_BLOCK_BYTES;

    return left < TV_EXTENT_BLOCK_BYTES ? (size_t)left : TV_EXTENT_BLOCK_BYTES;
}

/* Whether a block that has been read is what was written. */
static tv_err check_block(tv_extent_reader *reader, tv_read_mode mode, uint64_t block,
                          const char *bytes)
{
    tv_err err = need_window(reader, mode, block);

    if (err)
        return err;

    const char *entry = reader->window + (block - reader->first_block) * TV_EXTENT_SUM_BYTES;

    if (tv_crc32c(0, (tv_slice){bytes, block_len(reader, block)}) != tv_extent_sum_decode(entry))
        return damaged(reader, TV_ERR_CORRUPT, "its checksum is wrong");
    return TV_OK;
}

/* --- opening --- */

static tv_err open_any(tv_extents *store, tv_extent_id id, const char *path, int *ret_fd)
{
    int fd;

    do
        fd = openat(store->fd, path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno == ENOENT ? TV_ERR_NOT_FOUND : tv_extents_failed(store, "open", id, errno);

    *ret_fd = fd;
    return TV_OK;
}

static tv_err open_cached(tv_extents *store, const char *path, int *ret_fd)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_CACHED};
    int fd = (int)syscall(SYS_openat2, store->fd, path, &how, sizeof how);

    if (fd >= 0) {
        *ret_fd = fd;
        return TV_OK;
    }
    switch (errno) {
    case ENOENT:
        return TV_ERR_NOT_FOUND;
    case EMFILE:
    case ENFILE:
        return TV_ERR_OVERLOADED;
    default: /* not in memory, or a kernel before 5.12; whatever else it is, a worker will see it */
        return TV_ERR_WOULD_BLOCK;
    }
}

tv_err tv_extent_open(tv_extents *store, tv_read_mode mode, tv_extent_id id, uint64_t length,
                      tv_extent_reader **ret_reader)
{
    uint64_t block_count = tv_extent_block_count(length);
    char path[TV_EXTENT_PATH_SIZE];
    int fd = -1;
    tv_err err;

    tv_extent_path(id, path);
    err = mode == TV_READ_CACHED ? open_cached(store, path, &fd) : open_any(store, id, path, &fd);
    if (err == TV_ERR_IO)
        tv_extents_note_damage(store, id, "it cannot be opened");
    if (err)
        return err;

    size_t window =
        (block_count < WINDOW_BLOCKS ? (size_t)block_count : WINDOW_BLOCKS) * TV_EXTENT_SUM_BYTES;
    tv_extent_reader *reader = tv_malloc(sizeof *reader + window);

    *reader = (tv_extent_reader){
        .store = store, .id = id, .fd = fd, .length = length, .block_count = block_count};
    err = read_trailer(reader, mode);
    if (err) {
        tv_extent_close(reader);
        return err;
    }
    *ret_reader = reader;
    return TV_OK;
}

void tv_extent_close(tv_extent_reader *reader)
{
    if (reader == NULL)
        return;

    close(reader->fd);
    free(reader);
}

/* --- reading --- */

/* A part of one block. */
static tv_err read_part(tv_extent_reader *reader, tv_read_mode mode, uint64_t offset, char *to,
                        size_t size, size_t *ret_len)
{
    char bytes[TV_EXTENT_BLOCK_BYTES];
    uint64_t block = offset / TV_EXTENT_BLOCK_BYTES;
    size_t within = offset % TV_EXTENT_BLOCK_BYTES, len = block_len(reader, block);
    tv_err err;

    err = read_exactly(reader, mode, offset - within, bytes, len);
    if (err)
        return err;

    err = check_block(reader, mode, block, bytes);
    if (err)
        return err;

    tv_assert(len > within);
    len -= within;
    len = len < size ? len : size;
    memcpy(to, bytes + within, len);
    *ret_len = len;
    return TV_OK;
}

/* Blocks from `offset` on, where one begins; `size` is that of one or more whole blocks. */
static tv_err read_blocks(tv_extent_reader *reader, tv_read_mode mode, uint64_t offset, char *to,
                          size_t size, size_t *ret_len)
{
    uint64_t block = offset / TV_EXTENT_BLOCK_BYTES;
    size_t least = mode == TV_READ_CACHED ? block_len(reader, block) : size, len, done = 0;
    tv_err err;

    err = read_file(reader, mode, offset, to, size, least, &len);
    if (err)
        return err;

    for (; done < size && done + block_len(reader, block) <= len; block++) {
        err = check_block(reader, mode, block, to + done);
        if (err)
            return err;
        done += block_len(reader, block);
    }
    tv_assert(done <= size);
    *ret_len = done;
    return TV_OK;
}

tv_err tv_extent_read(tv_extent_reader *reader, tv_read_mode mode, uint64_t offset, char *to,
                      size_t size, size_t *ret_len)
{
    tv_assert(size > 0);
    if (offset >= reader->length) {
        *ret_len = 0;
        return TV_OK;
    }
    if (size > reader->length - offset)
        size = (size_t)(reader->length - offset);

    bool begins_block = offset % TV_EXTENT_BLOCK_BYTES == 0;

    if (!begins_block || size < block_len(reader, offset / TV_EXTENT_BLOCK_BYTES))
        return read_part(reader, mode, offset, to, size, ret_len);
    if (offset + size < reader->length)
        size -= size % TV_EXTENT_BLOCK_BYTES;
    return read_blocks(reader, mode, offset, to, size, ret_len);
}
