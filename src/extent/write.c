/*
 * Writing extents and linking them.
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
#include "base/buf.h"
#include "base/crc32c.h"
#include "extent/internal.h"
#include "extent/trailer.h"

enum {
    WINDOW_BYTES = 4 << 20,
    COPY_BYTES = 256 << 10,
};

struct tv_extent_writer {
    tv_extents *store;
    tv_extent_id id;
    int fd;
    bool is_failed;
    uint64_t len;    /* of the file so far */
    uint64_t length; /* of the data */
    uint32_t sum;    /* of the block that is not full yet */
    tv_buf table;    /* checksums of the full ones: 4 bytes for 16 KiB */
    uint64_t ticket; /* of its name, for tv_extent_shard_sync */
};

tv_err tv_extent_create(tv_extents *store, tv_extent_writer **ret_writer)
{
    char path[TV_EXTENT_PATH_SIZE];
    tv_extent_id id;
    tv_err err;
    int fd;

    if (atomic_load(&store->is_broken))
        return TV_ERR_IO;
    err = tv_space_check(&store->space, 0);
    if (err)
        return err;

    /*
     * A name that is taken means that an older copy of the boot file was put
     * back; leave it alone.
     */
    do {
        id = tv_extents_next_id(store);
        tv_extent_path(id, path);
        fd = openat(store->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    } while (fd < 0 && (errno == EEXIST || errno == EINTR));
    if (fd < 0)
        return tv_extents_failed(store, "create", id, errno);

    tv_extent_writer *writer = tv_calloc(1, sizeof *writer);

    tv_assert(id.boot == store->boot && id.number > 0);
    *writer = (tv_extent_writer){.store = store, .id = id, .fd = fd};
    writer->ticket = tv_extent_shard_add(store, tv_extent_shard_of(id.number), false);
    atomic_fetch_add(&store->writer_count, 1);
    atomic_fetch_add(&store->extent_count, 1);
    *ret_writer = writer;
    return TV_OK;
}

/* The kernel reports a failed write-back once, to the first caller that asks: that may be us. */
static int write_back(tv_extent_writer *writer, uint64_t offset, unsigned flags)
{
    int result = sync_file_range(writer->fd, (off_t)offset, WINDOW_BYTES, flags);

    return result != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT) ? errno : 0;
}

/* A window has been filled. */
static tv_err end_window(tv_extent_writer *writer)
{
    uint64_t end = writer->len;
    int error;

    if (!writer->store->is_temporary) {
        error = write_back(writer, end - WINDOW_BYTES, SYNC_FILE_RANGE_WRITE);
        if (!error && end >= 2 * WINDOW_BYTES)
            error = write_back(writer, end - 2 * WINDOW_BYTES,
                               SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                   SYNC_FILE_RANGE_WAIT_AFTER);
        if (error)
            return tv_extents_failed(writer->store, "write", writer->id, error);
    }
    return tv_space_check(&writer->store->space, 0);
}

/* Write up to the end of the window. */
static tv_err write_some(tv_extent_writer *writer, tv_slice *rest)
{
    size_t room = WINDOW_BYTES - writer->len % WINDOW_BYTES;
    ssize_t done = write(writer->fd, rest->data, rest->len < room ? rest->len : room);

    if (done < 0 && errno == EINTR)
        return TV_OK;
    if (done < 0)
        return tv_extents_failed(writer->store, "write", writer->id, errno);

    atomic_fetch_add(&writer->store->byte_count, done);
    writer->len += (uint64_t)done;
    *rest = tv_slice_skip(*rest, (size_t)done);
    return done > 0 && writer->len % WINDOW_BYTES == 0 ? end_window(writer) : TV_OK;
}

static tv_err write_all(tv_extent_writer *writer, tv_slice bytes)
{
    tv_err err = TV_OK;

    tv_assert(!writer->is_failed);
    while (bytes.len && err == TV_OK)
        err = write_some(writer, &bytes);
    writer->is_failed = err != TV_OK;
    return err;
}

static void end_block(tv_extent_writer *writer)
{
    char entry[TV_EXTENT_SUM_BYTES];

    tv_extent_sum_encode(writer->sum, entry);
    tv_buf_add(&writer->table, (tv_slice){entry, sizeof entry});
    writer->sum = 0;
}

static void add_checksums(tv_extent_writer *writer, tv_slice bytes)
{
    while (bytes.len) {
        size_t room = TV_EXTENT_BLOCK_BYTES - writer->length % TV_EXTENT_BLOCK_BYTES;
        tv_slice part = tv_slice_take(bytes, bytes.len < room ? bytes.len : room);

        writer->sum = tv_crc32c(writer->sum, part);
        writer->length += part.len;
        if (part.len == room)
            end_block(writer);
        bytes = tv_slice_skip(bytes, part.len);
    }
}

tv_err tv_extent_append(tv_extent_writer *writer, tv_slice bytes)
{
    tv_assert(!writer->is_failed);
    add_checksums(writer, bytes);
    return write_all(writer, bytes);
}

static tv_err write_trailer(tv_extent_writer *writer)
{
    char footer[TV_EXTENT_FOOTER_BYTES];

    if (writer->length % TV_EXTENT_BLOCK_BYTES)
        end_block(writer);
    /* The file has all that was summed up, and a checksum for each block. */
    tv_assert(writer->len == writer->length);
    tv_assert(writer->table.len == tv_extent_block_count(writer->length) * TV_EXTENT_SUM_BYTES);
    tv_extent_footer_encode(writer->length, footer);
    tv_buf_add(&writer->table, (tv_slice){footer, sizeof footer});
    return write_all(writer, tv_buf_slice(&writer->table));
}

static void free_writer(tv_extent_writer *writer)
{
    if (writer->fd >= 0)
        close(writer->fd);
    tv_buf_done(&writer->table);

    int writers = atomic_fetch_sub(&writer->store->writer_count, 1);

    tv_assert(writers > 0);
    free(writer);
}

/* First the bytes, then the name; the file is closed before the wait for the folder. */
static tv_err make_durable(tv_extent_writer *writer)
{
    int result;

    if (writer->store->is_temporary)
        return TV_OK;

    do
        result = fdatasync(writer->fd);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        return tv_extents_failed(writer->store, "sync", writer->id, errno);

    /* Its result does not matter any more: the bytes are on the disk. */
    close(writer->fd);
    writer->fd = -1;
    return tv_extent_shard_sync(writer->store, tv_extent_shard_of(writer->id.number),
                                writer->ticket);
}

tv_err tv_extent_finish(tv_extent_writer *writer, tv_extent_id *ret_id)
{
    tv_err err;

    tv_assert(!writer->is_failed);
    err = write_trailer(writer);
    if (err == TV_OK)
        err = make_durable(writer);
    if (err) {
        tv_extent_discard(writer);
        return err;
    }

    tv_assert(writer->len == writer->length + writer->table.len);
    tv_space_accepted(&writer->store->space);
    *ret_id = writer->id;
    free_writer(writer);
    return TV_OK;
}

void tv_extent_discard(tv_extent_writer *writer)
{
    if (writer == NULL)
        return;

    tv_extents *store = writer->store;
    tv_extent_id id = writer->id;

    /* Unlinking gigabytes takes its time, and this may be a network thread. */
    free_writer(writer);
    tv_extents_remove(store, &id, 1);
}

/* Copy byte by byte what cannot be linked. */
static tv_err copy(tv_extents *store, tv_extent_id from, uint64_t length, tv_extent_id *ret_id)
{
    tv_extent_reader *reader;
    tv_extent_writer *writer = NULL;
    char *buffer = NULL;
    uint64_t offset = 0;
    size_t len;
    tv_err err;

    err = tv_extent_open(store, TV_READ_ANY, from, length, &reader);
    if (err)
        return err;

    err = tv_extent_create(store, &writer);
    if (err)
        goto out;

    buffer = tv_malloc(COPY_BYTES);
    do {
        err = tv_extent_read(reader, TV_READ_ANY, offset, buffer, COPY_BYTES, &len);
        if (err == TV_OK && len > 0)
            err = tv_extent_append(writer, (tv_slice){buffer, len});
        if (err)
            goto out;
        offset += len;
    } while (len > 0);
    err = tv_extent_finish(writer, ret_id);
    writer = NULL;

out:
    tv_extent_discard(writer);
    free(buffer);
    tv_extent_close(reader);
    return err;
}

tv_err tv_extent_link(tv_extents *store, tv_extent_id from, uint64_t length, tv_extent_id *ret_id)
{
    char from_path[TV_EXTENT_PATH_SIZE], to_path[TV_EXTENT_PATH_SIZE];
    struct stat stat_of;
    tv_extent_id id;
    int result;

    if (atomic_load(&store->is_broken))
        return TV_ERR_IO;

    tv_extent_path(from, from_path);
    do {
        id = tv_extents_next_id(store);
        tv_extent_path(id, to_path);
        result = linkat(store->fd, from_path, store->fd, to_path, 0);
    } while (result != 0 && errno == EEXIST);

    /* A file can have only so many links (65,000 with ext4), and some file systems have none.
     */
    if (result != 0 && (errno == EMLINK || errno == EPERM || errno == EOPNOTSUPP))
        return copy(store, from, length, ret_id);
    if (result != 0)
        return errno == ENOENT ? TV_ERR_NOT_FOUND : tv_extents_failed(store, "link", from, errno);

    tv_assert(id.boot == store->boot && id.number > 0);
    tv_extent_shard_add(store, tv_extent_shard_of(id.number), true);
    atomic_fetch_add(&store->extent_count, 1);
    if (fstatat(store->fd, to_path, &stat_of, 0) == 0)
        atomic_fetch_add(&store->byte_count, stat_of.st_size);
    *ret_id = id;
    return TV_OK;
}

tv_err tv_extents_sync_links(tv_extents *store)
{
    for (unsigned i = 0; i < TV_EXTENT_SHARDS; i++) {
        tv_extent_shard *shard = &store->shards[i];
        tv_err err;

        pthread_mutex_lock(&shard->lock);
        uint64_t ticket = shard->last_link;
        pthread_mutex_unlock(&shard->lock);
        err = tv_extent_shard_sync(store, i, ticket);
        if (err)
            return err;
    }
    return TV_OK;
}
