/*
 * Writing files and linking them.
 *
 * A large extent must not leave all of its bytes to the last sync: then finish
 * would take seconds, and many uploads would fill the memory with dirty pages
 * until every writer is stopped.  So the kernel is told to begin writing every
 * window as soon as it is full, and the writer waits until the window before
 * has reached the disk: at most two windows of a writer are dirty.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "store/extent/file/file.h"

enum { WINDOW_BYTES = 4 << 20 };

typedef struct file_writer {
    tv_extent_writer base;
    tv_extent_files *files;
    int fd;
    uint64_t ticket; /* of its name, for tv_extent_shard_sync */
} file_writer;

tv_err tv_extent_file_create(tv_extents *store, tv_extent_writer **ret_writer)
{
    tv_extent_files *files = tv_extent_files_of(store);
    char path[TV_EXTENT_PATH_SIZE];
    tv_extent_id id;
    tv_err err;
    int fd;

    if (atomic_load(&files->is_broken))
        return TV_ERR_IO;
    err = tv_space_check(&files->space, 0);
    if (err)
        return err;

    /*
     * A name that is taken means that an older copy of the boot file was put
     * back; leave it alone.
     */
    do {
        id = tv_extents_next_id(store);
        tv_extent_path(id, path);
        fd = openat(files->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    } while (fd < 0 && (errno == EEXIST || errno == EINTR));
    if (fd < 0)
        return tv_extent_files_failed(files, "create", id, errno);

    file_writer *writer = tv_calloc(1, sizeof *writer);

    tv_assert(id.boot == store->boot && id.number > 0);
    tv_extent_writer_begin(&writer->base, store, id);
    writer->files = files;
    writer->fd = fd;
    writer->ticket = tv_extent_shard_add(files, tv_extent_shard_of(id.number), false);
    atomic_fetch_add(&files->extent_count, 1);
    *ret_writer = &writer->base;
    return TV_OK;
}

/* The kernel reports a failed write-back once, to the first caller that asks: that may be us. */
static int write_back(file_writer *writer, uint64_t offset, unsigned flags)
{
    int result = sync_file_range(writer->fd, (off_t)offset, WINDOW_BYTES, flags);

    return result != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT) ? errno : 0;
}

/* A window has been filled. */
static tv_err end_window(file_writer *writer)
{
    uint64_t end = writer->base.len;
    int error;

    if (!writer->files->is_temporary) {
        error = write_back(writer, end - WINDOW_BYTES, SYNC_FILE_RANGE_WRITE);
        if (!error && end >= 2 * WINDOW_BYTES)
            error = write_back(writer, end - 2 * WINDOW_BYTES,
                               SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                   SYNC_FILE_RANGE_WAIT_AFTER);
        if (error)
            return tv_extent_files_failed(writer->files, "write", writer->base.id, error);
    }
    return tv_space_check(&writer->files->space, 0);
}

/* Write up to the end of the window. */
static tv_err write_some(file_writer *writer, tv_slice *rest)
{
    size_t room = WINDOW_BYTES - writer->base.len % WINDOW_BYTES;
    ssize_t done = write(writer->fd, rest->data, rest->len < room ? rest->len : room);

    if (done < 0 && errno == EINTR)
        return TV_OK;
    if (done < 0)
        return tv_extent_files_failed(writer->files, "write", writer->base.id, errno);

    atomic_fetch_add(&writer->files->byte_count, done);
    writer->base.len += (uint64_t)done;
    *rest = tv_slice_skip(*rest, (size_t)done);
    return done > 0 && writer->base.len % WINDOW_BYTES == 0 ? end_window(writer) : TV_OK;
}

tv_err tv_extent_file_write(tv_extent_writer *writer, tv_slice bytes)
{
    tv_err err = TV_OK;

    while (bytes.len && err == TV_OK)
        err = write_some((file_writer *)writer, &bytes);
    return err;
}

/* First the bytes, then the name; the file is closed before the wait for the folder. */
tv_err tv_extent_file_finish(tv_extent_writer *base)
{
    file_writer *writer = (file_writer *)base;
    int result;

    if (writer->files->is_temporary)
        return TV_OK;

    do
        result = fdatasync(writer->fd);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        return tv_extent_files_failed(writer->files, "sync", base->id, errno);

    /* Its result does not matter any more: the bytes are on the disk. */
    close(writer->fd);
    writer->fd = -1;
    return tv_extent_shard_sync(writer->files, tv_extent_shard_of(base->id.number), writer->ticket);
}

/* Unlinking gigabytes takes its time, and this may be a network thread: so it goes the way of all
 * removals. */
void tv_extent_file_end(tv_extent_writer *base, bool is_finished)
{
    file_writer *writer = (file_writer *)base;
    tv_extents *store = base->store;
    tv_extent_id id = base->id;

    if (is_finished)
        tv_space_accepted(&writer->files->space);
    if (writer->fd >= 0)
        close(writer->fd);
    tv_extent_writer_done(base);
    free(writer);
    if (!is_finished)
        tv_extents_remove(store, &id, 1);
}

tv_err tv_extent_file_link(tv_extents *store, tv_extent_id from, tv_extent_id *ret_id)
{
    tv_extent_files *files = tv_extent_files_of(store);
    char from_path[TV_EXTENT_PATH_SIZE], to_path[TV_EXTENT_PATH_SIZE];
    struct stat stat_of;
    tv_extent_id id;
    int result;

    if (atomic_load(&files->is_broken))
        return TV_ERR_IO;

    tv_extent_path(from, from_path);
    do {
        id = tv_extents_next_id(store);
        tv_extent_path(id, to_path);
        result = linkat(files->fd, from_path, files->fd, to_path, 0);
    } while (result != 0 && errno == EEXIST);

    /* A file can have only so many links (65,000 with ext4), and some file systems have none.
     */
    if (result != 0 && (errno == EMLINK || errno == EPERM || errno == EOPNOTSUPP))
        return TV_ERR_NOT_IMPLEMENTED;
    if (result != 0)
        return errno == ENOENT ? TV_ERR_NOT_FOUND
                               : tv_extent_files_failed(files, "link", from, errno);

    tv_assert(id.boot == store->boot && id.number > 0);
    tv_extent_shard_add(files, tv_extent_shard_of(id.number), true);
    atomic_fetch_add(&files->extent_count, 1);
    if (fstatat(files->fd, to_path, &stat_of, 0) == 0)
        atomic_fetch_add(&files->byte_count, stat_of.st_size);
    *ret_id = id;
    return TV_OK;
}

tv_err tv_extent_files_sync_links(tv_extents *store)
{
    tv_extent_files *files = tv_extent_files_of(store);

    for (unsigned i = 0; i < TV_EXTENT_SHARDS; i++) {
        tv_extent_shard *shard = &files->shards[i];
        tv_err err;

        pthread_mutex_lock(&shard->lock);
        uint64_t ticket = shard->last_link;
        pthread_mutex_unlock(&shard->lock);
        err = tv_extent_shard_sync(files, i, ticket);
        if (err)
            return err;
    }
    return TV_OK;
}
