/* Keys and values of the rows of blobs. */
#include "services/blob/store/row.h"

#include "base/assert.h"
#include "base/base64.h"
#include "base/thread.h"

enum { FORM = 1, PIECE_BYTES_MIN = 5, GUID_BYTES = 16, METADATA_PAIR_BYTES_MIN = 2 };

static const char base32[] = "0123456789abcdefghijklmnopqrstuv";

/* --- keys --- */

void tv_blob_number_format(char to[TV_BLOB_NUMBER_LEN], uint64_t number)
{
    for (int i = TV_BLOB_NUMBER_LEN - 1; i >= 0; i--) {
        to[i] = base32[number & 31];
        number >>= 5;
    }
}

bool tv_blob_number_parse(tv_slice text, uint64_t *ret_number)
{
    uint64_t number = 0;

    /* Thirteen digits have 65 bits, so the first one is a hexadecimal digit. */
    if (text.len != TV_BLOB_NUMBER_LEN || text.data[0] > 'f')
        return false;

    for (size_t i = 0; i < text.len; i++) {
        const char *digit = memchr(base32, text.data[i], sizeof base32 - 1);

        if (digit == NULL)
            return false;
        number = number << 5 | (uint64_t)(digit - base32);
    }
    *ret_number = number;
    return true;
}

bool tv_blob_snapshot_parse(tv_slice text, int64_t *ret_ticks)
{
    uint64_t number;

    if (!tv_blob_number_parse(text, &number) || number == 0 || number > TV_BLOB_TICKS_MAX)
        return false;

    *ret_ticks = (int64_t)number;
    return true;
}

/* The partition's prefix, the kind and `extra` bytes that the caller fills in. */
static char *start_key(tv_arena *arena, tv_slice partition, tv_blob_row_kind kind, size_t extra,
                       tv_slice *ret_key)
{
    char *key = tv_arena_bytes(arena, partition.len + 1 + extra);

    tv_assert(partition.len > 0);
    memcpy(key, partition.data, partition.len);
    key[partition.len] = (char)kind;
    *ret_key = (tv_slice){key, partition.len + 1 + extra};
    return key + partition.len + 1;
}

tv_slice tv_blob_key_kind(tv_arena *arena, tv_slice partition, tv_blob_row_kind kind)
{
    tv_slice key;

    start_key(arena, partition, kind, 0, &key);
    return key;
}

tv_slice tv_blob_key_head(tv_arena *arena, tv_slice partition, int64_t snapshot)
{
    tv_slice key;

    tv_assert(snapshot >= 0);
    if (snapshot == 0)
        return tv_blob_key_kind(arena, partition, TV_BLOB_ROW_HEAD);

    tv_blob_number_format(
        start_key(arena, partition, TV_BLOB_ROW_SNAPSHOT, TV_BLOB_NUMBER_LEN, &key),
        (uint64_t)snapshot);
    return key;
}

tv_slice tv_blob_key_ledger(tv_arena *arena, tv_slice partition)
{
    return tv_blob_key_kind(arena, partition, TV_BLOB_ROW_BLOCK);
}

tv_slice tv_blob_key_block(tv_arena *arena, tv_slice partition, uint64_t generation,
                           tv_slice block_id)
{
    tv_slice key;
    char *to =
        start_key(arena, partition, TV_BLOB_ROW_BLOCK, TV_BLOB_NUMBER_LEN + block_id.len, &key);

    tv_assert(block_id.len > 0);
    tv_blob_number_format(to, generation);
    memcpy(to + TV_BLOB_NUMBER_LEN, block_id.data, block_id.len);
    return key;
}

static tv_slice one_number(tv_arena *arena, tv_slice partition, tv_blob_row_kind kind,
                           uint64_t number)
{
    tv_slice key;

    tv_blob_number_format(start_key(arena, partition, kind, TV_BLOB_NUMBER_LEN, &key), number);
    return key;
}

tv_slice tv_blob_key_blocks(tv_arena *arena, tv_slice partition, uint64_t generation)
{
    return one_number(arena, partition, TV_BLOB_ROW_BLOCK, generation);
}

tv_slice tv_blob_key_discard(tv_arena *arena, tv_slice partition, int64_t stamp)
{
    return one_number(arena, partition, TV_BLOB_ROW_DISCARD, (uint64_t)stamp);
}

static tv_slice two_numbers(tv_arena *arena, tv_slice partition, tv_blob_row_kind kind,
                            uint64_t first, uint64_t second)
{
    tv_slice key;
    char *to = start_key(arena, partition, kind, 2 * (size_t)TV_BLOB_NUMBER_LEN, &key);

    tv_blob_number_format(to, first);
    tv_blob_number_format(to + TV_BLOB_NUMBER_LEN, second);
    return key;
}

tv_slice tv_blob_key_chunk(tv_arena *arena, tv_slice partition, tv_extent_id id)
{
    return two_numbers(arena, partition, TV_BLOB_ROW_CHUNK, id.boot, id.number);
}

tv_slice tv_blob_key_run(tv_arena *arena, tv_slice partition, uint64_t content_id, uint64_t end)
{
    return two_numbers(arena, partition, TV_BLOB_ROW_RUN, content_id, end);
}

bool tv_blob_pair_parse(tv_slice row, uint64_t *ret_first, uint64_t *ret_second)
{
    tv_slice numbers = tv_slice_skip(row, 1);

    return numbers.len == 2 * (size_t)TV_BLOB_NUMBER_LEN &&
           tv_blob_number_parse(tv_slice_take(numbers, TV_BLOB_NUMBER_LEN), ret_first) &&
           tv_blob_number_parse(tv_slice_skip(numbers, TV_BLOB_NUMBER_LEN), ret_second);
}

size_t tv_block_id_len(tv_slice base64)
{
    char bytes[(TV_BLOCK_ID_BYTES_MAX / 3 + 1) * 3];
    size_t len;

    if (base64.len == 0 || tv_base64_decoded_max(base64.len) > sizeof bytes ||
        !tv_base64_decode(bytes, base64, &len) || len > TV_BLOCK_ID_BYTES_MAX)
        return SIZE_MAX;
    return len;
}

/* --- values --- */

/* What has been packed, moved into the arena. */
static tv_slice finish(tv_arena *arena, tv_buf *buf)
{
    tv_slice value = tv_arena_dup(arena, tv_buf_slice(buf));

    tv_buf_done(buf);
    return value;
}

static void unpack_form(tv_unpack *in)
{
    if (tv_unpack_number(in) != FORM)
        tv_unpack_fail(in);
}

static int64_t unpack_ticks(tv_unpack *in)
{
    return (int64_t)tv_unpack_number_max(in, TV_BLOB_TICKS_MAX);
}

/*
 * What can be written is what can be read: the functions is_… are asserted before
 * a value is encoded, and a decoded value that breaks them is damage.
 */

static bool is_instant(int64_t ticks)
{
    return ticks >= 0 && ticks <= TV_BLOB_TICKS_MAX;
}

static bool is_data(bool is_chunk, uint64_t length)
{
    return length > 0 && length <= (is_chunk ? TV_BLOB_CHUNK_BYTES_MAX : TV_BLOB_LENGTH_MAX);
}

static bool is_lease(const tv_lease *lease)
{
    bool has_duration =
        lease->duration_s == TV_LEASE_INFINITE ||
        (lease->duration_s >= TV_LEASE_SECONDS_MIN && lease->duration_s <= TV_LEASE_SECONDS_MAX);

    return lease->state != TV_LEASE_EXPIRED && is_instant(lease->until) &&
           (lease->state == TV_LEASE_LEASED ? has_duration : lease->duration_s == 0);
}

/* Its parts have functions of their own. */
static bool is_head(const tv_blob_head *head)
{
    return (head->type == TV_BLOB_BLOCK || head->type == TV_BLOB_APPEND) && head->etag > 0 &&
           is_instant(head->etag) && head->created >= 0 && head->created <= head->etag &&
           head->length <= TV_BLOB_LENGTH_MAX && head->length >= head->piece_count &&
           is_instant(head->last_snapshot) &&
           (head->snapshot_count == 0 || head->last_snapshot > 0) &&
           head->piece_count <= TV_BLOB_COMMITTED_BLOCKS_MAX;
}

static bool is_ledger(const tv_block_ledger *ledger)
{
    return ledger->count > 0 && ledger->count <= TV_BLOB_UNCOMMITTED_BLOCKS_MAX &&
           ledger->id_len > 0 && ledger->id_len <= TV_BLOCK_ID_BYTES_MAX &&
           is_instant(ledger->last);
}

void tv_metadata_pack(tv_buf *buf, const tv_metadata *metadata)
{
    tv_pack_number(buf, metadata->count);
    for (size_t i = 0; i < metadata->count; i++) {
        tv_pack_bytes(buf, metadata->list[i].name);
        tv_pack_bytes(buf, metadata->list[i].value);
    }
}

void tv_metadata_unpack(tv_unpack *in, tv_arena *arena, tv_metadata *ret_metadata)
{
    size_t count = (size_t)tv_unpack_number_max(in, in->rest.len / METADATA_PAIR_BYTES_MIN);
    tv_metadata_pair *list = tv_arena_alloc(arena, count * sizeof *list);

    for (size_t i = 0; i < count; i++) {
        list[i].name = tv_unpack_bytes(in);
        list[i].value = tv_unpack_bytes(in);
    }
    *ret_metadata = (tv_metadata){list, count};
}

void tv_lease_pack(tv_buf *buf, const tv_lease *lease)
{
    tv_assert(is_lease(lease));
    tv_pack_number(buf, lease->state);
    if (lease->state == TV_LEASE_AVAILABLE)
        return;

    tv_buf_add(buf, (tv_slice){(const char *)lease->id.bytes, GUID_BYTES});
    tv_pack_number(buf, (uint64_t)(lease->duration_s + 1));
    tv_pack_number(buf, (uint64_t)lease->until);
}

void tv_lease_unpack(tv_unpack *in, tv_lease *ret_lease)
{
    tv_lease lease = {.state = (tv_lease_state)tv_unpack_number_max(in, TV_LEASE_BROKEN)};

    if (lease.state != TV_LEASE_AVAILABLE) {
        tv_slice id = tv_unpack_fixed(in, GUID_BYTES);

        if (id.len)
            memcpy(lease.id.bytes, id.data, GUID_BYTES);
        lease.duration_s = (int32_t)tv_unpack_number_max(in, INT32_MAX) - 1;
        lease.until = unpack_ticks(in);
    }
    if (!is_lease(&lease))
        tv_unpack_fail(in);
    *ret_lease = lease;
}

/* A piece's place and, for a block, its id; its end is known from elsewhere. */
static void pack_piece(tv_buf *buf, const tv_blob_piece *piece)
{
    tv_thread_step(TV_STEP_SMALL);
    tv_assert(is_data(piece->is_chunk, piece->length));
    tv_pack_number(buf, piece->is_chunk);
    tv_pack_number(buf, piece->length);
    tv_pack_number(buf, piece->id.boot);
    tv_pack_number(buf, piece->id.number);
    tv_pack_bytes(buf, piece->block_id);
}

static void unpack_piece(tv_unpack *in, tv_blob_piece *piece)
{
    tv_thread_step(TV_STEP_SMALL);
    piece->is_chunk = tv_unpack_number_max(in, 1);
    piece->length = tv_unpack_number(in);
    piece->id.boot = tv_unpack_number(in);
    piece->id.number = tv_unpack_number(in);
    piece->block_id = tv_unpack_bytes(in);
    if (!is_data(piece->is_chunk, piece->length))
        tv_unpack_fail(in);
}

static void pack_headers(tv_buf *buf, const tv_blob_headers *headers)
{
    tv_assert(headers->md5.len <= TV_BLOB_MD5_BYTES_MAX);
    tv_pack_bytes(buf, headers->type);
    tv_pack_bytes(buf, headers->encoding);
    tv_pack_bytes(buf, headers->language);
    tv_pack_bytes(buf, headers->disposition);
    tv_pack_bytes(buf, headers->cache_control);
    tv_pack_bytes(buf, headers->md5);
}

static void unpack_headers(tv_unpack *in, tv_blob_headers *headers)
{
    headers->type = tv_unpack_bytes(in);
    headers->encoding = tv_unpack_bytes(in);
    headers->language = tv_unpack_bytes(in);
    headers->disposition = tv_unpack_bytes(in);
    headers->cache_control = tv_unpack_bytes(in);
    headers->md5 = tv_unpack_bytes(in);
    if (headers->md5.len > TV_BLOB_MD5_BYTES_MAX)
        tv_unpack_fail(in);
}

static void pack_copy(tv_buf *buf, const tv_blob_copy *copy)
{
    tv_pack_bytes(buf, copy->id);
    if (copy->id.len == 0)
        return;

    tv_assert(is_instant(copy->completed));
    tv_pack_bytes(buf, copy->source);
    tv_pack_number(buf, copy->bytes);
    tv_pack_number(buf, (uint64_t)copy->completed);
}

static void unpack_copy(tv_unpack *in, tv_blob_copy *copy)
{
    copy->id = tv_unpack_bytes(in);
    if (copy->id.len == 0)
        return;

    copy->source = tv_unpack_bytes(in);
    copy->bytes = tv_unpack_number(in);
    copy->completed = unpack_ticks(in);
}

/* They follow each other, and together they are as long as the head says. */
static void pack_pieces(tv_buf *buf, const tv_blob_head *head)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < head->piece_count; i++) {
        end += head->pieces[i].length;
        tv_assert(head->pieces[i].end == end);
        pack_piece(buf, &head->pieces[i]);
    }
    tv_assert(end == head->length);
}

tv_slice tv_blob_head_encode(tv_arena *arena, const tv_blob_head *head)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_assert(is_head(head));
    tv_pack_number(&buf, FORM);
    tv_pack_number(&buf, head->type);
    tv_pack_number(&buf, (uint64_t)head->etag);
    tv_pack_number(&buf, (uint64_t)head->created);
    tv_pack_number(&buf, head->content_id);
    tv_pack_number(&buf, head->length);
    tv_pack_number(&buf, head->snapshot_count);
    tv_pack_number(&buf, (uint64_t)head->last_snapshot);
    pack_headers(&buf, &head->headers);
    tv_metadata_pack(&buf, &head->metadata);
    tv_lease_pack(&buf, &head->lease);
    pack_copy(&buf, &head->copy);
    tv_pack_number(&buf, head->piece_count);
    if (head->piece_count <= TV_BLOB_INLINE_PIECES)
        pack_pieces(&buf, head);
    return finish(arena, &buf);
}

/* Pieces that are in the head: together they are as long as it says. */
static void unpack_pieces(tv_unpack *in, tv_arena *arena, tv_blob_head *head)
{
    tv_blob_piece *pieces = tv_arena_alloc(arena, (head->piece_count + 1) * sizeof *pieces);
    uint64_t end = 0;

    for (uint32_t i = 0; i < head->piece_count; i++) {
        unpack_piece(in, &pieces[i]);
        if (pieces[i].length > head->length - end) {
            tv_unpack_fail(in);
            return;
        }
        end += pieces[i].length;
        pieces[i].end = end;
    }
    if (end != head->length)
        tv_unpack_fail(in);
    head->pieces = pieces;
}

tv_err tv_blob_head_decode(tv_arena *arena, tv_slice value, int64_t snapshot,
                           tv_blob_head *ret_head)
{
    tv_unpack in = {.rest = value};
    tv_blob_head head = {.snapshot = snapshot};

    unpack_form(&in);
    head.type = (tv_blob_type)tv_unpack_number_max(&in, TV_BLOB_APPEND);
    head.etag = unpack_ticks(&in);
    head.created = unpack_ticks(&in);
    head.content_id = tv_unpack_number(&in);
    head.length = tv_unpack_number_max(&in, TV_BLOB_LENGTH_MAX);
    head.snapshot_count = (uint32_t)tv_unpack_number_max(&in, UINT32_MAX);
    head.last_snapshot = unpack_ticks(&in);
    unpack_headers(&in, &head.headers);
    tv_metadata_unpack(&in, arena, &head.metadata);
    tv_lease_unpack(&in, &head.lease);
    unpack_copy(&in, &head.copy);
    head.piece_count = (uint32_t)tv_unpack_number_max(&in, TV_BLOB_COMMITTED_BLOCKS_MAX);
    if (head.piece_count <= TV_BLOB_INLINE_PIECES)
        unpack_pieces(&in, arena, &head);
    if (!tv_unpack_is_done(&in) || !is_head(&head))
        return TV_ERR_CORRUPT;

    *ret_head = head;
    return TV_OK;
}

tv_slice tv_blob_run_encode(tv_arena *arena, const tv_blob_piece *pieces, size_t count)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_assert(count > 0 && count <= TV_BLOB_RUN_PIECES);
    tv_pack_number(&buf, FORM);
    tv_pack_number(&buf, count);
    for (size_t i = 0; i < count; i++)
        pack_piece(&buf, &pieces[i]);
    return finish(arena, &buf);
}

tv_err tv_blob_run_decode(tv_arena *arena, tv_slice key, tv_slice value,
                          const tv_blob_piece **ret_pieces, size_t *ret_count)
{
    tv_unpack in = {.rest = value};
    uint64_t end;

    unpack_form(&in);

    size_t count = (size_t)tv_unpack_number_max(&in, TV_BLOB_RUN_PIECES);
    tv_blob_piece *pieces = tv_arena_alloc(arena, (count + 1) * sizeof *pieces);

    for (size_t i = 0; i < count; i++)
        unpack_piece(&in, &pieces[i]);
    if (!tv_unpack_is_done(&in) || count == 0 || key.len < TV_BLOB_NUMBER_LEN ||
        !tv_blob_number_parse(tv_slice_skip(key, key.len - TV_BLOB_NUMBER_LEN), &end))
        return TV_ERR_CORRUPT;

    for (size_t i = count; i > 0; i--) {
        if (pieces[i - 1].length > end)
            return TV_ERR_CORRUPT;
        pieces[i - 1].end = end;
        end -= pieces[i - 1].length;
    }
    *ret_pieces = pieces;
    *ret_count = count;
    return TV_OK;
}

tv_slice tv_blob_discard_encode(tv_arena *arena, const tv_blob_piece *pieces, size_t count)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_pack_number(&buf, FORM);
    tv_pack_number(&buf, count);
    for (size_t i = 0; i < count; i++)
        pack_piece(&buf, &pieces[i]);
    return finish(arena, &buf);
}

tv_err tv_blob_discard_decode(tv_arena *arena, tv_slice value, const tv_blob_piece **ret_pieces,
                              size_t *ret_count)
{
    tv_unpack in = {.rest = value};

    unpack_form(&in);

    size_t count = (size_t)tv_unpack_number_max(&in, in.rest.len / PIECE_BYTES_MIN);
    tv_blob_piece *pieces = tv_arena_zalloc(arena, (count + 1) * sizeof *pieces);

    for (size_t i = 0; i < count; i++)
        unpack_piece(&in, &pieces[i]);
    if (!tv_unpack_is_done(&in))
        return TV_ERR_CORRUPT;

    *ret_pieces = pieces;
    *ret_count = count;
    return TV_OK;
}

tv_slice tv_block_encode(tv_arena *arena, const tv_block *block)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_assert(is_data(block->is_chunk, block->length));
    tv_pack_number(&buf, FORM);
    tv_pack_number(&buf, block->is_chunk);
    tv_pack_number(&buf, block->length);
    tv_pack_number(&buf, block->extent.boot);
    tv_pack_number(&buf, block->extent.number);
    return finish(arena, &buf);
}

tv_err tv_block_decode(tv_slice id, tv_slice value, tv_block *ret_block)
{
    tv_unpack in = {.rest = value};
    tv_block block = {.id = id};

    unpack_form(&in);
    block.is_chunk = tv_unpack_number_max(&in, 1);
    block.length = tv_unpack_number(&in);
    block.extent.boot = tv_unpack_number(&in);
    block.extent.number = tv_unpack_number(&in);
    if (!tv_unpack_is_done(&in) || !is_data(block.is_chunk, block.length))
        return TV_ERR_CORRUPT;

    *ret_block = block;
    return TV_OK;
}

tv_slice tv_block_ledger_encode(tv_arena *arena, const tv_block_ledger *ledger)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_assert(is_ledger(ledger));
    tv_pack_number(&buf, FORM);
    tv_pack_number(&buf, ledger->count);
    tv_pack_number(&buf, ledger->id_len);
    tv_pack_number(&buf, (uint64_t)ledger->last);
    tv_pack_number(&buf, ledger->generation);
    return finish(arena, &buf);
}

tv_err tv_block_ledger_decode(tv_slice value, tv_block_ledger *ret_ledger)
{
    tv_unpack in = {.rest = value};
    tv_block_ledger ledger = {0};

    unpack_form(&in);
    ledger.count = (uint32_t)tv_unpack_number_max(&in, TV_BLOB_UNCOMMITTED_BLOCKS_MAX);
    ledger.id_len = (uint32_t)tv_unpack_number_max(&in, TV_BLOCK_ID_BYTES_MAX);
    ledger.last = unpack_ticks(&in);
    ledger.generation = tv_unpack_number(&in);
    if (!tv_unpack_is_done(&in) || !is_ledger(&ledger))
        return TV_ERR_CORRUPT;

    *ret_ledger = ledger;
    return TV_OK;
}
