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
#include "base/assert.h"
#include "base/crc32c.h"
#include "store/extent/internal.h"

enum {
    WINDOW_BLOCKS = 1024,
    WINDOW_BYTES = WINDOW_BLOCKS * TV_EXTENT_SUM_BYTES,
};

static tv_err damaged(const tv_extent_reader *reader, tv_err err, const char *what)
{
    tv_extents_note_damage(reader->store, reader->id, what);
    return err;
}

/*
 * Read `size` bytes, or with TV_READ_CACHED those of them that are in memory, at least
 * `least`: in that mode the end of the extent cannot be told from what is not in memory.
 */
static tv_err read_some(tv_extent_reader *reader, tv_read_mode mode, uint64_t offset, char *to,
                        size_t size, size_t least, size_t *ret_len)
{
    size_t len;
    tv_err err = reader->store->backend->read(reader, mode, offset, to, size, &len);

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

    return read_some(reader, mode, offset, to, size, size, &ignored);
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
    char trailer[WINDOW_BYTES + TV_EXTENT_FOOTER_BYTES_MAX];
    uint64_t table_bytes = reader->block_count * TV_EXTENT_SUM_BYTES;
    size_t along = table_bytes <= WINDOW_BYTES ? (size_t)table_bytes : 0, len;
    size_t most = along + (reader->store->backend->seals ? TV_EXTENT_FOOTER_BYTES_MAX
                                                         : TV_EXTENT_FOOTER_BYTES);
    tv_err err;

    err = read_some(reader, mode, reader->length + table_bytes - along, trailer, most,
                    along + TV_EXTENT_FOOTER_BYTES, &len);
    if (err)
        return err;
    if (!tv_extent_footer_decode((tv_slice){trailer + along, len - along}, reader->length,
                                 &reader->seal))
        return mode == TV_READ_CACHED && len < most
                   ? TV_ERR_WOULD_BLOCK
                   : damaged(reader, TV_ERR_CORRUPT, "its end is damaged");

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

    if (tv_crc32c(tv_extent_sum_begin(&reader->seal, block),
                  (tv_slice){bytes, block_len(reader, block)}) != tv_extent_sum_decode(entry))
        return damaged(reader, TV_ERR_CORRUPT, "its checksum is wrong");
    return TV_OK;
}

/* --- opening --- */

tv_extent_reader *tv_extent_reader_new(size_t size, tv_extents *store, tv_extent_id id,
                                       uint64_t length)
{
    uint64_t block_count = tv_extent_block_count(length);
    size_t window_bytes =
        (block_count < WINDOW_BLOCKS ? (size_t)block_count : WINDOW_BLOCKS) * TV_EXTENT_SUM_BYTES;
    tv_extent_reader *reader = tv_malloc(size + window_bytes);

    memset(reader, 0, size);
    reader->store = store;
    reader->id = id;
    reader->length = length;
    reader->block_count = block_count;
    reader->window = (char *)reader + size;
    return reader;
}

static bool is_same(tv_extent_id a, tv_extent_id b)
{
    return a.boot == b.boot && a.number == b.number;
}

static bool is_before(tv_extent_id a, tv_extent_id b)
{
    return a.boot < b.boot || (a.boot == b.boot && a.number < b.number);
}

/* Whether another extent is there and says that it is yet another one. */
static bool is_misplaced(tv_extents *store, tv_extent_id id, uint64_t length)
{
    tv_extent_reader *other;
    bool is_misplaced = false;

    if (store->backend->open(store, TV_READ_ANY, id, length, &other))
        return false;
    if (read_trailer(other, TV_READ_ANY) == TV_OK)
        is_misplaced = other->seal.has_id && !is_same(other->seal.id, id);
    tv_extent_close(other);
    return is_misplaced;
}

/*
 * Whether the bytes are those of this extent.  A link has those of an older one, which may be gone
 * by now; but if that is there, it is what it says.  So two files that were exchanged are both
 * told.
 */
static tv_err check_seal(tv_extent_reader *reader, tv_read_mode mode)
{
    tv_extent_id sealed = reader->seal.id;

    if (!reader->seal.has_id || is_same(sealed, reader->id))
        return TV_OK;
    if (is_before(sealed, reader->id)) {
        if (mode == TV_READ_CACHED)
            return TV_ERR_WOULD_BLOCK;
        if (!is_misplaced(reader->store, sealed, reader->length))
            return TV_OK;
    }
    return damaged(reader, TV_ERR_CORRUPT, "it is another extent's");
}

tv_err tv_extent_open(tv_extents *store, tv_read_mode mode, tv_extent_id id, uint64_t length,
                      tv_extent_reader **ret_reader)
{
    tv_extent_reader *reader;
    tv_err err;

    err = store->backend->open(store, mode, id, length, &reader);
    if (err)
        return err;

    err = read_trailer(reader, mode);
    if (err == TV_OK)
        err = check_seal(reader, mode);
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

    reader->store->backend->close(reader);
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

    err = read_some(reader, mode, offset, to, size, least, &len);
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
