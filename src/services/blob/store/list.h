/*
 * List Blobs: the blobs of a container in the order of their names, one page at
 * a time.  A list goes from blob to blob by seeking; what is within a blob is
 * not read.
 */
#ifndef TV_SERVICES_BLOB_STORE_LIST_H
#define TV_SERVICES_BLOB_STORE_LIST_H

#include "services/blob/store/blob.h"
#include "store/engine/engine.h"

typedef struct tv_blob_list_query {
    tv_slice container; /* tv_key_container */
    tv_slice prefix;    /* of names, UTF-8 without control characters */
    tv_slice delimiter; /* empty for none */
    tv_slice start;     /* names before it are left out; empty for none, else as `prefix` */
    tv_slice marker;    /* what an earlier page gave as its next marker; empty for none */
    bool with_snapshots, with_uncommitted;
} tv_blob_list_query;

typedef enum tv_blob_entry_kind {
    TV_BLOB_ENTRY_BLOB,        /* a blob, or a snapshot when head.snapshot is not 0 */
    TV_BLOB_ENTRY_PREFIX,      /* <BlobPrefix>: only the name counts */
    TV_BLOB_ENTRY_UNCOMMITTED, /* a blob that has no head, only blocks; ticks of the latest in
                                  head.etag */
} tv_blob_entry_kind;

/** An entry; what it points to lives until the next step of the list. */
typedef struct tv_blob_entry {
    tv_blob_entry_kind kind;
    tv_slice name; /* UTF-8 */
    tv_blob_head head;
} tv_blob_entry;

typedef struct tv_blob_list tv_blob_list;

/** Begin a list, a consistent view taken now; may wait for the disk.  TV_ERR_OUT_OF_RANGE for a
 * marker that no page gave, or a prefix that no name can have. */
tv_err tv_blob_list_open(tv_engine *engine, const tv_blob_list_query *query,
                         tv_blob_list **ret_list) TV_WARN_UNUSED;
void tv_blob_list_close(tv_blob_list *list); /* accepts NULL */

/**
 * The next entry: blobs and prefixes in the order of their names, snapshots
 * before their blob, oldest first.  False at the end, after an error, when enough
 * rows have been looked at for one page, and now and then between two entries that
 * are far apart, so that the caller can serve others: then tv_blob_list_has_more
 * is true, and it may be called again.
 */
bool tv_blob_list_next(tv_blob_list *list, tv_blob_entry *ret_entry);
bool tv_blob_list_has_more(const tv_blob_list *list);
tv_err tv_blob_list_status(const tv_blob_list *list) TV_WARN_UNUSED;

/**
 * Where a later list continues after the last entry that was given: UTF-8
 * without control characters, in the arena; empty when nothing is left.  Looks
 * ahead to know that; after it only tv_blob_list_close is left to call.
 */
tv_err tv_blob_list_next_marker(tv_blob_list *list, tv_arena *arena,
                                tv_slice *ret_marker) TV_WARN_UNUSED;

#endif
