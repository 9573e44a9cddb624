/*
 * Changes to blobs, as update functions (engine/txn.h) for the commit pipeline:
 * fill in a context all but its results, and run its function over the blob's
 * partition, tv_key_blob.
 *
 * Data comes before its row: small data as bytes, large data as an extent that
 * has been made durable.  When a change succeeds, the extents it was given are
 * the blob's, and those in `garbage` have no owner any more: hand them to
 * tv_extents_remove in `settle`, never earlier.  When it fails, the extents
 * that were made for it are removed in `undo` (commit/pipeline.h): not after
 * TV_ERR_IO, for then the log may hold the change, and its rows refer to them
 * after the next start.
 *
 * Every function first looks whether the container has been dropped
 * (TV_ERR_CONTAINER_NOT_FOUND), then at the blob, its type, the conditions and
 * its lease, in this order.  A blob that has only uncommitted blocks does not
 * exist for any of them but those that put.  In addition to the service's
 * errors they return those of the engine and TV_ERR_CORRUPT.
 *
 * No change holds the committer for long (tv_blob_at_once_max).  One that needs
 * a plan and has none, or one that is out of date, returns TV_ERR_UNPLANNED: make
 * a plan, on a thread that may wait for the disk, and submit it again.
 */
#ifndef TV_SERVICES_BLOB_STORE_CHANGE_H
#define TV_SERVICES_BLOB_STORE_CHANGE_H

#include <stdatomic.h>

#include "services/blob/store/blob.h"
#include "services/blob/store/condition.h"
#include "store/engine/txn.h"

/** What all changes share; each context begins with it. */
typedef struct tv_blob_change {
    const atomic_bool *is_dropped; /* of the container */
    tv_slice partition;            /* tv_key_blob */
    tv_arena *arena;               /* for results; lives until they have been read */
    tv_blob_conditions conditions;
    /* Results; each run writes them again. */
    int64_t etag; /* of the blob after the change, which is Last-Modified too */
    tv_extent_id *garbage;
    size_t garbage_count;
    bool has_discards; /* there is garbage in the partition: see gc.h */
    bool is_partial;   /* a step was done, and the change is to be submitted again */
} tv_blob_change;

/**
 * A change reads and removes up to this many pieces, blocks and snapshots by
 * itself, on the committer's thread.  More than that has been read before, by a
 * plan, or is discarded and removed later.  A variable for tests alone.
 */
extern size_t tv_blob_at_once_max;

/** Data for a blob: bytes of up to TV_BLOB_CHUNK_BYTES_MAX, or an extent. */
typedef struct tv_blob_data {
    tv_slice bytes;      /* data is NULL for an extent */
    tv_extent_id extent; /* not among the blob's own */
    uint64_t length;     /* > 0; of the bytes too */
    tv_slice block_id;   /* base 64; of a copied block, else empty */
} tv_blob_data;

/**
 * Put Blob, and the end of Copy Blob.  Replaces what there is, but not its
 * snapshots; uncommitted blocks go.  A blob keeps its type until it is deleted:
 * TV_ERR_BLOB_TYPE.  An append blob is put without data, or as a copy.
 * TV_ERR_PAGE_BLOB for TV_BLOB_PAGES.  The data of one change is written in one
 * transaction: a copy of very many small pieces should gather them in an extent.
 */
typedef struct tv_put_blob {
    tv_blob_change change;
    tv_blob_type type;
    tv_blob_headers headers;
    tv_metadata metadata;
    tv_blob_copy copy;        /* `id` empty when it is not a copy; `completed` is filled in */
    const tv_blob_data *data; /* 0 to TV_BLOB_COMMITTED_BLOCKS_MAX */
    size_t data_count;
} tv_put_blob;
tv_err tv_put_blob_run(tv_txn *txn, void *put_blob) TV_WARN_UNUSED;

/**
 * Put Block.  Replaces an uncommitted block of the same id.  Of the conditions
 * only the lease counts.  TV_ERR_BLOCK_ID for an id that is not base 64 of 1 to
 * 64 bytes, TV_ERR_BLOB_OR_BLOCK for one of another length than those before,
 * TV_ERR_UNCOMMITTED_BLOCKS, TV_ERR_BLOB_TYPE.  No ETag is changed.
 */
typedef struct tv_put_block {
    tv_blob_change change;
    tv_blob_data data; /* with its block_id */
} tv_put_block;
tv_err tv_put_block_run(tv_txn *txn, void *put_block) TV_WARN_UNUSED;

typedef enum tv_block_source {
    TV_BLOCK_COMMITTED,
    TV_BLOCK_UNCOMMITTED,
    TV_BLOCK_LATEST, /* uncommitted if there is one, else committed */
} tv_block_source;

typedef struct tv_block_choice {
    tv_block_source source;
    tv_slice id; /* base 64 */
} tv_block_choice;

/**
 * Put Block List: the blob becomes the blocks listed; all others go.  An id may
 * be listed more than once.  TV_ERR_BLOCK_LIST when a block is not where the
 * list says, TV_ERR_BLOCK_LIST_TOO_LONG, TV_ERR_BLOB_TYPE.
 */
typedef struct tv_put_block_list {
    tv_blob_change change;
    tv_blob_headers headers;
    tv_metadata metadata;
    const tv_block_choice *choices;
    size_t choice_count;
    struct tv_block_list_plan *plan; /* NULL without one */
} tv_put_block_list;
tv_err tv_put_block_list_run(tv_txn *txn, void *put_block_list) TV_WARN_UNUSED;

/**
 * Find the blocks of a list and encode what the change will write, from what the
 * engine holds now; change.partition and change.arena are set.  The change uses
 * it if blob and blocks are still the same.  May wait for the disk.
 */
tv_err tv_put_block_list_plan(tv_engine *engine, tv_put_block_list *put) TV_WARN_UNUSED;

/**
 * Append Block.  TV_ERR_APPEND_POSITION and TV_ERR_BLOB_MAX_SIZE (412) for the
 * conditions of append blobs, TV_ERR_COMMITTED_BLOCKS, TV_ERR_BLOB_TYPE.
 */
typedef struct tv_append_block {
    tv_blob_change change;
    tv_blob_data data;
    bool has_position, has_max_size;
    uint64_t position; /* x-ms-blob-condition-appendpos */
    uint64_t max_size; /* x-ms-blob-condition-maxsize */
    /* Results. */
    uint64_t offset;      /* where the data is: the length before */
    uint32_t block_count; /* committed ones, now */
} tv_append_block;
tv_err tv_append_block_run(tv_txn *txn, void *append_block) TV_WARN_UNUSED;

/** Set Blob Properties: all content headers are replaced, those not given are cleared. */
typedef struct tv_set_blob_headers {
    tv_blob_change change;
    tv_blob_headers headers;
} tv_set_blob_headers;
tv_err tv_set_blob_headers_run(tv_txn *txn, void *set_blob_headers) TV_WARN_UNUSED;

/** Set Blob Metadata: all of it is replaced. */
typedef struct tv_set_blob_metadata {
    tv_blob_change change;
    tv_metadata metadata;
} tv_set_blob_metadata;
tv_err tv_set_blob_metadata_run(tv_txn *txn, void *set_blob_metadata) TV_WARN_UNUSED;

/**
 * Snapshot Blob.  With metadata the snapshot has that instead of the blob's, and
 * an ETag of its own.  A lease id is not needed, but must match when given.
 */
typedef struct tv_snapshot_blob {
    tv_blob_change change;  /* its `etag` becomes that of the snapshot */
    tv_metadata metadata;   /* the blob's when there is none */
    uint32_t planned_count; /* a plan has looked at this many snapshots */
    int64_t snapshot;       /* result: ticks that name it */
} tv_snapshot_blob;
tv_err tv_snapshot_blob_run(tv_txn *txn, void *snapshot_blob) TV_WARN_UNUSED;

/** Check whether there is room for another: TV_ERR_SNAPSHOT_COUNT.  May wait for the disk. */
tv_err tv_snapshot_blob_plan(tv_engine *engine, tv_snapshot_blob *take) TV_WARN_UNUSED;

typedef enum tv_delete_scope {
    TV_DELETE_BLOB,           /* TV_ERR_SNAPSHOTS_PRESENT when there are any */
    TV_DELETE_WITH_SNAPSHOTS, /* x-ms-delete-snapshots: include */
    TV_DELETE_SNAPSHOTS,      /* only: the blob stays, and so do its uncommitted blocks */
    TV_DELETE_ONE_SNAPSHOT,   /* `snapshot`; the conditions test it, no lease does */
} tv_delete_scope;

/**
 * Delete Blob; one that was never committed has its blocks deleted.  Very many
 * snapshots go in several steps (is_partial), the oldest first and the blob last.
 */
typedef struct tv_delete_blob {
    tv_blob_change change;
    tv_delete_scope scope;
    int64_t snapshot;
} tv_delete_blob;
tv_err tv_delete_blob_run(tv_txn *txn, void *delete_blob) TV_WARN_UNUSED;

/** Lease Blob.  The blob's ETag stays.  The lease id of the conditions is not looked at. */
typedef struct tv_lease_blob {
    tv_blob_change change;
    tv_lease_request request;
    /* Results. */
    tv_lease lease;  /* as it is now: its id is the x-ms-lease-id */
    int32_t seconds; /* x-ms-lease-time of a break */
} tv_lease_blob;
tv_err tv_lease_blob_run(tv_txn *txn, void *lease_blob) TV_WARN_UNUSED;

/** Abort Copy Blob: copies end within their request, so TV_ERR_NO_PENDING_COPY unless something
 * else is wrong.  A bare tv_blob_change is the context. */
tv_err tv_abort_copy_run(tv_txn *txn, void *change) TV_WARN_UNUSED;

/**
 * Remove the uncommitted blocks of a blob if the latest came more than
 * TV_BLOB_UNCOMMITTED_TICKS ago (see tv_blob_gc_next).  A bare
 * tv_blob_change is the context; nothing to remove is TV_OK.
 */
tv_err tv_expire_blocks_run(tv_txn *txn, void *change) TV_WARN_UNUSED;

#endif
