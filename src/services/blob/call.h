/*
 * One request on its way through the Blob service.  Lives in the request's
 * arena; private to this folder.
 */
#ifndef TV_SERVICES_BLOB_CALL_H
#define TV_SERVICES_BLOB_CALL_H

#include "services/blob/args.h"
#include "services/blob/ops.h"
#include "services/blob/store/change.h"
#include "services/blob/store/container.h"
#include "services/blob/store/list.h"
#include "services/blob/transfer.h"

typedef struct tv_blob_call {
    tv_call base; /* first */
    tv_blob_args args;
    tv_slice partition; /* tv_key_blob; set for every operation on a blob before its head is read */

    /* The change at hand: what base.write runs over `partition`. */
    union {
        tv_blob_change change;
        tv_put_blob put;
        tv_put_block put_block;
        tv_put_block_list put_block_list;
        tv_append_block append_block;
        tv_set_blob_headers set_headers;
        tv_set_blob_metadata set_metadata;
        tv_snapshot_blob snapshot;
        tv_delete_blob delete_blob;
        tv_lease_blob lease;
    };

    tv_blob_transfer transfer; /* of the data that it brings or takes */

    /* Of containers. */
    tv_container_attributes attributes; /* as they are now, or as they are after a change */
    tv_metadata metadata;     /* of the request */
    tv_public_access access;  /* likewise */
    int32_t lease_seconds;    /* x-ms-lease-time of a break */
} tv_blob_call;

static inline tv_blob_call *tv_blob_call_of(tv_call *call)
{
    return TV_CALL_OF(tv_blob_call, call, base);
}

static inline tv_blob_service *tv_blob_service_of(const tv_blob_call *call)
{
    return (tv_blob_service *)call->base.service;
}

/** Whether a container with this access lets everybody do an operation. */
bool tv_blob_is_public(const tv_op *op, tv_public_access access);

/** tv_op.head of what makes a blob: a SAS that may only create may not replace one. */
tv_err tv_blob_limit_to_new(tv_call *call) TV_WARN_UNUSED;

/* The operations, a file for each group of them: see tv_op.head and tv_op.run. */

/* ops/container.c */
tv_err tv_blob_create_container(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_get_container(tv_call *call) TV_WARN_UNUSED; /* properties, or metadata alone */
tv_err tv_blob_set_container_metadata(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_get_container_acl(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_set_container_acl(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_delete_container(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_lease_container(tv_call *call) TV_WARN_UNUSED;

/* ops/list_containers.c, ops/list_blobs.c */
tv_err tv_blob_list_containers(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_list_blobs(tv_call *call) TV_WARN_UNUSED;

/* ops/put.c: the heads of operations whose body is streamed. */
tv_err tv_blob_begin_put(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_begin_put_block(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_begin_append(tv_call *call) TV_WARN_UNUSED;

/**
 * ops/receive.c: make ready for a body: check its length and digests, let `read_head` read what the
 * operation's own head says, and set req->sink for a body that does not fit into a row.
 * `is_part`: it is a block, which has at least a byte.
 */
tv_err tv_blob_begin_upload(tv_blob_call *call, bool is_part,
                            tv_err (*read_head)(tv_blob_call *call)) TV_WARN_UNUSED;

/**
 * The body is here, all of it: put it into call->transfer.data, with its digests,
 * and call `next`, now or later.  When that fails the error is answered.
 */
tv_err tv_blob_receive(tv_blob_call *call, tv_err (*next)(tv_blob_call *call)) TV_WARN_UNUSED;

/**
 * Run a change, the one in the call's union, over the blob, and then `respond`.
 * When it fails and has left nothing (tv_write.undo), the extents in transfer.made go again.
 */
tv_err tv_blob_submit(tv_blob_call *call, tv_update_fn *run, void (*respond)(tv_blob_call *call));

/** Remove extents that were made for a change that has not been submitted and will not be. */
void tv_blob_discard(tv_blob_call *call);

/** The request is done, answered or not: end its uploads and downloads (writers, visits). */
void tv_blob_end_transfer(tv_blob_call *call);

/* The data path; the body of the first three has been through the sink. */
tv_err tv_blob_put(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_put_block(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_append_block(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_put_block_list(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_get_block_list(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_get(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_get_properties(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_set_properties(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_set_metadata(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_snapshot(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_delete(tv_call *call) TV_WARN_UNUSED;
tv_err tv_blob_lease(tv_call *call) TV_WARN_UNUSED;    /* args.lease says what is to be done */
tv_err tv_blob_run_copy(tv_call *call) TV_WARN_UNUSED; /* Copy Blob, and From URL */
tv_err tv_blob_abort_copy(tv_call *call) TV_WARN_UNUSED;

/* ops/list_entry.c: what lists say of a container or a blob. */

/** Append <Last-Modified> and <Etag>, the latter in quotes or not. */
void tv_blob_add_etag_xml(tv_buf *out, int64_t ticks, bool is_quoted);

/** Append <LeaseStatus>, <LeaseState>, and <LeaseDuration> while it is leased. */
void tv_blob_add_lease_xml(tv_buf *out, const tv_lease *lease, int64_t now);

/** What an entry of List Blobs shows in addition to the properties. */
typedef struct tv_blob_entry_view {
    bool metadata, copy;
    int64_t now; /* ticks, for leases */
} tv_blob_entry_view;

/** Append <Blob> or <BlobPrefix>. */
void tv_blob_add_entry_xml(tv_buf *out, const tv_blob_entry *entry, const tv_blob_entry_view *view);

/* ops/respond.c: what several answers have in common. */

/** ETag, in quotes, and Last-Modified of something last changed at `ticks`. */
void tv_blob_add_etag(tv_blob_call *call, int64_t ticks);

/** x-ms-lease-status, x-ms-lease-state, and x-ms-lease-duration while it is leased. */
void tv_blob_add_lease(tv_blob_call *call, const tv_lease *lease);

/** x-ms-lease-id. */
void tv_blob_add_lease_id(tv_blob_call *call, const tv_guid *id);

/**
 * The whole answer to a lease operation that succeeded: 201, 200 or 202 by its
 * action, the id or the seconds, ETag and Last-Modified.  The call is gone after it.
 */
void tv_blob_respond_leased(tv_blob_call *call, const tv_lease *lease, int32_t seconds,
                            int64_t etag);

#endif
