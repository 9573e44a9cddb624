/*
 * Reading one blob.  tv_blob_get_head and tv_blob_get_chunk read single rows and
 * can be used on network threads with TV_READ_CACHED.  A reader is a consistent
 * view of the blob: head, pieces and chunks as they were when it was opened,
 * however long the reading takes.  Where the engine has no snapshots, another node
 * may remove them meanwhile: TV_ERR_CONFLICT, read it again from the head on.
 * Extents are not part of the view: a caller
 * that reads them begins a visit (extent/extent.h) before the head is read.
 *
 * A blob of up to TV_BLOB_INLINE_PIECES pieces needs no reader: its pieces are
 * in its head, and a chunk that is no longer there means that the blob has been
 * replaced meanwhile and the read has to begin again.
 */
#ifndef TV_SERVICES_BLOB_STORE_READER_H
#define TV_SERVICES_BLOB_STORE_READER_H

#include "services/blob/store/blob.h"
#include "services/blob/store/condition.h"
#include "store/engine/engine.h"

/**
 * The head of a blob (`snapshot` 0) or of a snapshot; its slices are in the
 * arena.  TV_ERR_BLOB_NOT_FOUND, TV_ERR_WOULD_BLOCK and the engine's errors.
 */
tv_err tv_blob_get_head(tv_engine *engine, tv_read_mode mode, tv_slice partition, int64_t snapshot,
                        tv_arena *arena, tv_blob_head *ret_head) TV_WARN_UNUSED;

/** The lease id that came with a read, then its conditions. */
tv_err tv_blob_check_read(const tv_blob_head *head, const tv_blob_conditions *conditions,
                          int64_t now) TV_WARN_UNUSED;

/** The first piece of an inline content that ends after `offset`; NULL at the end. */
const tv_blob_piece *tv_blob_find_piece(const tv_blob_head *head, uint64_t offset);

/**
 * The data of several pieces that are chunks, read together where the engine can.
 * TV_ERR_NOT_FOUND when one is gone.
 */
tv_err tv_blob_get_chunks(tv_engine *engine, tv_read_mode mode, tv_slice partition,
                          const tv_blob_piece *const *pieces, size_t count, tv_arena *arena,
                          tv_slice *ret_bytes) TV_WARN_UNUSED;

/** The data of a piece that is a chunk.  TV_ERR_NOT_FOUND when it is gone. */
tv_err tv_blob_get_chunk(tv_engine *engine, tv_read_mode mode, tv_slice partition,
                         const tv_blob_piece *piece, tv_arena *arena,
                         tv_slice *ret_bytes) TV_WARN_UNUSED;

typedef struct tv_blob_reader tv_blob_reader;

/**
 * A view of a blob or snapshot as of now; may wait for the disk.  Belongs to one
 * thread at a time.  TV_ERR_BLOB_NOT_FOUND.
 */
tv_err tv_blob_reader_open(tv_engine *engine, tv_slice partition, int64_t snapshot,
                           tv_blob_reader **ret_reader) TV_WARN_UNUSED;
void tv_blob_reader_close(tv_blob_reader *reader); /* accepts NULL */

/** Lives as long as the reader. */
const tv_blob_head *tv_blob_reader_head(const tv_blob_reader *reader);

/**
 * The piece that holds the byte at `offset`, which is less than the length.  Its
 * block id lives until the next call with this reader.
 */
tv_err tv_blob_reader_piece(tv_blob_reader *reader, uint64_t offset,
                            tv_blob_piece *ret_piece) TV_WARN_UNUSED;

/** The data of a piece that is a chunk, until the next call with this reader. */
tv_err tv_blob_reader_chunk(tv_blob_reader *reader, const tv_blob_piece *piece,
                            tv_slice *ret_bytes) TV_WARN_UNUSED;

/** Which lists Get Block List is to return. */
typedef enum tv_block_list_type {
    TV_BLOCK_LIST_COMMITTED = 1,
    TV_BLOCK_LIST_UNCOMMITTED = 2,
    TV_BLOCK_LIST_ALL = 3,
} tv_block_list_type;

typedef struct tv_block_lists {
    bool has_head; /* false when there are only uncommitted blocks */
    tv_blob_head head;
    const tv_block *committed, *uncommitted; /* the latter in the order of their ids */
    size_t committed_count, uncommitted_count;
    bool has_ledger;
    tv_block_ledger ledger; /* of the uncommitted blocks, if they were requested */
} tv_block_lists;

/**
 * Get Block List, of a blob or snapshot (which has no uncommitted blocks); all in
 * the arena.  TV_ERR_BLOB_NOT_FOUND, TV_ERR_BLOB_TYPE.  May wait for the disk.
 */
tv_err tv_blob_get_block_lists(tv_engine *engine, tv_slice partition, int64_t snapshot,
                               tv_block_list_type type, tv_arena *arena,
                               tv_block_lists *ret_lists) TV_WARN_UNUSED;

#endif
