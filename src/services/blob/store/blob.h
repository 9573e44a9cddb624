/*
 * What the store of the Blob service keeps: heads, pieces, blocks.
 *
 * A blob with its snapshots and its uncommitted blocks is one partition (see
 * engine/key.h), so that every operation on it is atomic:
 *
 *     'a' snapshot-ticks       the head of a snapshot
 *     'b'                      the head of the blob itself
 *     'c'                      the ledger of its uncommitted blocks
 *     'c' generation block-id  one uncommitted block
 *     'd' stamp index          a chunk: up to 64 KiB of data
 *     'e' stamp                discarded pieces: there is garbage to collect
 *     'p' content-id end       a run of pieces of a content that has many
 *
 * A head describes one content: a sequence of pieces, each of which is in a
 * chunk or in an extent (extent/extent.h), which are written once and never
 * changed.  A content of up to TV_BLOB_INLINE_PIECES pieces has them in its
 * head, a longer one in rows of their own, up to TV_BLOB_RUN_PIECES in a row;
 * these are named by where their last piece ends, so that a seek finds the piece
 * of any offset.  Snapshots share the pieces of the blob: what is appended later
 * only lies beyond their length.
 *
 * Every extent belongs to one blob.  What a change leaves without a reference
 * in the whole partition is garbage.  If there is little of it, its rows go in
 * the same transaction, and its extents are reported by the change and may be
 * removed when it is durable.  Otherwise the change writes a row that says so,
 * and what is dead is found and removed later, step by step (gc.h): runs of
 * contents that no head has, blocks of another generation than the ledger's,
 * the pieces in such rows, and the data that only these refer to.
 *
 * A blob of which only uncommitted blocks exist has a ledger and no head.
 */
#ifndef TV_SERVICES_BLOB_STORE_BLOB_H
#define TV_SERVICES_BLOB_STORE_BLOB_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/metadata.h"
#include "services/blob/store/lease.h"
#include "store/extent/extent.h"

/** The service's limits. */
#define TV_BLOB_COMMITTED_BLOCKS_MAX 50000
#define TV_BLOB_UNCOMMITTED_BLOCKS_MAX 100000
#define TV_BLOCK_ID_BYTES_MAX 64 /* decoded */

/** What a client may say the MD5 of a blob is: it is not checked. */
#define TV_BLOB_MD5_BYTES_MAX 64

/** Data of up to this size goes into a row, larger data into an extent. */
#define TV_BLOB_CHUNK_BYTES_MAX 65536

/** This many pieces fit into a head. */
#define TV_BLOB_INLINE_PIECES 8

/** How long uncommitted blocks are kept after the last one came. */
#define TV_BLOB_UNCOMMITTED_TICKS (INT64_C(7) * 24 * 3600 * 10000000)

/** The last instant that an ETag can show, in the year 3654; rows have no later one. */
#define TV_BLOB_TICKS_MAX ((INT64_C(1) << 60) - 1)

/** No blob is longer, so sums of what two blobs or blocks have do not overflow. */
#define TV_BLOB_LENGTH_MAX ((uint64_t)INT64_MAX)

typedef enum tv_blob_type {
    TV_BLOB_BLOCK = 1,
    TV_BLOB_APPEND = 2,
    TV_BLOB_PAGES = 3, /* never stored: TV_ERR_PAGE_BLOB */
} tv_blob_type;

/** The content headers a blob keeps; empty when not set. */
typedef struct tv_blob_headers {
    tv_slice type, encoding, language, disposition, cache_control;
    tv_slice md5; /* as the client wants it: up to TV_BLOB_MD5_BYTES_MAX, or none */
} tv_blob_headers;

/** Of the finished copy that made the blob; `id` is empty when there was none. */
typedef struct tv_blob_copy {
    tv_slice id, source;
    uint64_t bytes;
    int64_t completed; /* ticks */
} tv_blob_copy;

/** A run of bytes of a content. */
typedef struct tv_blob_piece {
    uint64_t end;      /* offset after its last byte */
    uint64_t length;   /* > 0 */
    bool is_chunk;     /* in a row; otherwise in an extent */
    tv_extent_id id;   /* of the extent, or what names the chunk's row */
    tv_slice block_id; /* base 64; empty for data that was not put as a block */
} tv_blob_piece;

/** A blob or a snapshot. */
typedef struct tv_blob_head {
    int64_t snapshot; /* ticks that name it; 0 for the blob itself */
    tv_blob_type type;
    int64_t etag; /* ticks of the last change, which is Last-Modified too */
    int64_t created;
    uint64_t content_id;
    uint64_t length;
    uint32_t piece_count; /* of an append blob: its committed blocks */
    tv_blob_headers headers;
    tv_metadata metadata;
    tv_blob_copy copy;
    const tv_blob_piece *pieces; /* NULL when they are in rows */
    /* Of the blob itself only. */
    tv_lease lease;
    uint32_t snapshot_count;
    int64_t last_snapshot; /* ticks of the latest one there ever was */
} tv_blob_head;

/** A block that waits for a block list. */
typedef struct tv_block {
    tv_slice id; /* base 64, as in its request */
    uint64_t length;
    bool is_chunk;
    tv_extent_id extent; /* or what names the chunk's row */
} tv_block;

/** What all uncommitted blocks of a blob have in common. */
typedef struct tv_block_ledger {
    uint32_t count;
    uint32_t id_len;     /* of every id, decoded */
    int64_t last;        /* stamp of the latest block, which no other change has */
    uint64_t generation; /* in the keys of its blocks; those of another one are dead */
} tv_block_ledger;

/** Length of a block id that is valid base 64 text, decoded; SIZE_MAX when it is not, is empty or
 * too long. */
size_t tv_block_id_len(tv_slice base64);

/* ETags on the wire: 0x and 15 upper-case hexadecimal digits, without quotes. */
enum { TV_BLOB_ETAG_LEN = 17 };
void tv_blob_etag_format(char to[TV_BLOB_ETAG_LEN], int64_t ticks);

/** With or without quotes; a weak one is not ours.  False when it is not of that form. */
bool tv_blob_etag_parse(tv_slice text, int64_t *ret_ticks);

#endif
