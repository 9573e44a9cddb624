/*
 * The rows of a blob's partition (see blob.h): their keys and the form of their
 * values.  Values begin with the number of their form; only a chunk is nothing
 * but its data.  Decoders are strict, so that damage is met as TV_ERR_CORRUPT
 * where it is read; what they return points into the value.
 */
#ifndef TV_SERVICES_BLOB_STORE_ROW_H
#define TV_SERVICES_BLOB_STORE_ROW_H

#include "base/buf.h"
#include "base/pack.h"
#include "services/blob/store/blob.h"

/** In the order of their keys. */
typedef enum tv_blob_row_kind {
    TV_BLOB_ROW_SNAPSHOT = 'a',
    TV_BLOB_ROW_HEAD = 'b',
    TV_BLOB_ROW_BLOCK = 'c', /* with nothing after it: the ledger */
    TV_BLOB_ROW_CHUNK = 'd',
    TV_BLOB_ROW_DISCARD = 'e',
    TV_BLOB_ROW_RUN = 'p',
} tv_blob_row_kind;

/** Prefix of all rows of a kind. */
tv_slice tv_blob_key_kind(tv_arena *arena, tv_slice partition, tv_blob_row_kind kind);

/** The head of the blob (`snapshot` 0) or of a snapshot. */
tv_slice tv_blob_key_head(tv_arena *arena, tv_slice partition, int64_t snapshot);
tv_slice tv_blob_key_ledger(tv_arena *arena, tv_slice partition);
tv_slice tv_blob_key_block(tv_arena *arena, tv_slice partition, uint64_t generation,
                           tv_slice block_id);

/** Prefix of the uncommitted blocks of a generation. */
tv_slice tv_blob_key_blocks(tv_arena *arena, tv_slice partition, uint64_t generation);
tv_slice tv_blob_key_discard(tv_arena *arena, tv_slice partition, int64_t stamp);
tv_slice tv_blob_key_chunk(tv_arena *arena, tv_slice partition, tv_extent_id id);

/** A run of pieces that ends at `end`.  Those of a content are from end 0 up to end UINT64_MAX. */
tv_slice tv_blob_key_run(tv_arena *arena, tv_slice partition, uint64_t content_id, uint64_t end);

/** The two numbers in the key of a chunk or of a run, from its kind on; false when it is not of
 * that form. */
bool tv_blob_pair_parse(tv_slice row, uint64_t *ret_first, uint64_t *ret_second);

/** The ticks in the key of a snapshot's head, after its kind; false when it is not of that form.
 */
bool tv_blob_snapshot_parse(tv_slice text, int64_t *ret_ticks);

/** Numbers in keys: 13 digits of base 32, which sort as the numbers do. */
enum { TV_BLOB_NUMBER_LEN = 13 };
void tv_blob_number_format(char to[TV_BLOB_NUMBER_LEN], uint64_t number);
bool tv_blob_number_parse(tv_slice text, uint64_t *ret_number);

/** `head` with its pieces if it has no more than TV_BLOB_INLINE_PIECES. */
tv_slice tv_blob_head_encode(tv_arena *arena, const tv_blob_head *head);

/** `snapshot` is what the key says; arrays go into the arena. */
tv_err tv_blob_head_decode(tv_arena *arena, tv_slice value, int64_t snapshot,
                           tv_blob_head *ret_head) TV_WARN_UNUSED;

/** A run: up to TV_BLOB_RUN_PIECES pieces of a content, one after the other, in one row. */
enum { TV_BLOB_RUN_PIECES = 256 };
tv_slice tv_blob_run_encode(tv_arena *arena, const tv_blob_piece *pieces, size_t count);

/** `key` is that of its row, from which the end of the last piece is taken. */
tv_err tv_blob_run_decode(tv_arena *arena, tv_slice key, tv_slice value,
                          const tv_blob_piece **ret_pieces, size_t *ret_count) TV_WARN_UNUSED;

/** Pieces of heads that are gone; their ends mean nothing.  There may be none. */
tv_slice tv_blob_discard_encode(tv_arena *arena, const tv_blob_piece *pieces, size_t count);
tv_err tv_blob_discard_decode(tv_arena *arena, tv_slice value, const tv_blob_piece **ret_pieces,
                              size_t *ret_count) TV_WARN_UNUSED;

tv_slice tv_block_encode(tv_arena *arena, const tv_block *block);

/** `id` is what the key says. */
tv_err tv_block_decode(tv_slice id, tv_slice value, tv_block *ret_block) TV_WARN_UNUSED;

tv_slice tv_block_ledger_encode(tv_arena *arena, const tv_block_ledger *ledger);
tv_err tv_block_ledger_decode(tv_slice value, tv_block_ledger *ret_ledger) TV_WARN_UNUSED;

/* Parts that containers have too. */
void tv_metadata_pack(tv_buf *buf, const tv_metadata *metadata);
void tv_metadata_unpack(tv_unpack *in, tv_arena *arena, tv_metadata *ret_metadata);
void tv_lease_pack(tv_buf *buf, const tv_lease *lease);
void tv_lease_unpack(tv_unpack *in, tv_lease *ret_lease);

#endif
