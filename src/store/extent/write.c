/* Writing extents: checksums, the trailer, copies. */
#include "base/assert.h"
#include "base/crc32c.h"
#include "store/extent/internal.h"

enum { COPY_BYTES = 256 << 10 };

void tv_extent_writer_begin(tv_extent_writer *writer, tv_extents *store, tv_extent_id id)
{
    *writer = (tv_extent_writer){.store = store, .id = id, .seal = {store->backend->seals, id}};
    writer->sum = tv_extent_sum_begin(&writer->seal, 0);
    atomic_fetch_add(&store->writer_count, 1);
}

void tv_extent_writer_done(tv_extent_writer *writer)
{
    tv_buf_done(&writer->table);

    int writers = atomic_fetch_sub(&writer->store->writer_count, 1);

    tv_assert(writers > 0);
}

tv_err tv_extent_create(tv_extents *store, tv_extent_writer **ret_writer)
{
    return store->backend->create(store, ret_writer);
}

bool tv_extents_may_commit(const tv_extents *store, const tv_extent_id *ids, size_t count)
{
    for (size_t i = 0; store->backend->may_commit && i < count; i++) {
        if (!store->backend->may_commit(store, ids[i]))
            return false;
    }
    return true;
}

static tv_err write_all(tv_extent_writer *writer, tv_slice bytes)
{
    tv_err err;

    tv_assert(!writer->is_failed);
    err = writer->store->backend->write(writer, bytes);
    writer->is_failed = err != TV_OK;
    return err;
}

static void end_block(tv_extent_writer *writer)
{
    char entry[TV_EXTENT_SUM_BYTES];

    tv_extent_sum_encode(writer->sum, entry);
    tv_buf_add(&writer->table, (tv_slice){entry, sizeof entry});
    writer->sum = tv_extent_sum_begin(&writer->seal, writer->table.len / TV_EXTENT_SUM_BYTES);
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
    char footer[TV_EXTENT_FOOTER_BYTES_MAX];
    size_t footer_len;

    if (writer->length % TV_EXTENT_BLOCK_BYTES)
        end_block(writer);
    /* The backend has all that was summed up, and a checksum for each block. */
    tv_assert(writer->len == writer->length);
    tv_assert(writer->table.len == tv_extent_block_count(writer->length) * TV_EXTENT_SUM_BYTES);
    footer_len = tv_extent_footer_encode(writer->length, &writer->seal, footer);
    tv_buf_add(&writer->table, (tv_slice){footer, footer_len});
    return write_all(writer, tv_buf_slice(&writer->table));
}

tv_err tv_extent_finish(tv_extent_writer *writer, tv_extent_id *ret_id)
{
    tv_err err;

    tv_assert(!writer->is_failed);
    err = write_trailer(writer);
    if (err == TV_OK)
        err = writer->store->backend->finish(writer);
    if (err) {
        tv_extent_discard(writer);
        return err;
    }

    tv_assert(writer->len == writer->length + writer->table.len);
    *ret_id = writer->id;
    writer->store->backend->end(writer, true);
    return TV_OK;
}

void tv_extent_discard(tv_extent_writer *writer)
{
    if (writer)
        writer->store->backend->end(writer, false);
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
    tv_err err =
        store->backend->link ? store->backend->link(store, from, ret_id) : TV_ERR_NOT_IMPLEMENTED;

    return err == TV_ERR_NOT_IMPLEMENTED ? copy(store, from, length, ret_id) : err;
}

tv_err tv_extents_sync_links(tv_extents *store)
{
    return store->backend->sync_links ? store->backend->sync_links(store) : TV_OK;
}
