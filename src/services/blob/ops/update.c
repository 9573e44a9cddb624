/*
 * Changes that bring no data: Set Blob Properties, Set Blob Metadata, Snapshot
 * Blob, Delete Blob, Lease Blob.
 */
#include "services/blob/ops/headers.h"
#include "services/service/metadata.h"

static void respond_set(tv_blob_call *call)
{
    tv_call_start(&call->base, 200);
    tv_blob_add_etag(call, call->change.etag);
    if (tv_call_kind(&call->base) == TV_BLOB_OP_SET_BLOB_METADATA)
        tv_blob_add_encrypted(call);
    tv_call_finish(&call->base);
}

tv_err tv_blob_set_properties(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_err err = tv_blob_headers_read(call, false, &call->set_headers.headers);

    return err ? err : tv_blob_submit(call, tv_set_blob_headers_run, respond_set);
}

tv_err tv_blob_set_metadata(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_err err = tv_metadata_read(call->base.req, &call->set_metadata.metadata);

    return err ? err : tv_blob_submit(call, tv_set_blob_metadata_run, respond_set);
}

static void respond_snapshot(tv_blob_call *call)
{
    tv_call_start(&call->base, 201);
    tv_blob_add_ticks(call, TV_LIT("x-ms-snapshot"), call->snapshot.snapshot);
    tv_blob_add_etag(call, call->change.etag);
    tv_blob_add_encrypted(call);
    tv_call_finish(&call->base);
}

static tv_err plan_snapshot(tv_blob_call *call)
{
    return tv_snapshot_blob_plan(call->base.service->engine, &call->snapshot);
}

tv_err tv_blob_snapshot(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_err err = tv_metadata_read(call->base.req, &call->snapshot.metadata);

    call->transfer.plan = plan_snapshot;

    return err ? err : tv_blob_submit(call, tv_snapshot_blob_run, respond_snapshot);
}

static void respond_deleted(tv_blob_call *call)
{
    tv_call_start(&call->base, 202);
    tv_response_header(call->base.req, TV_LIT("x-ms-delete-type-permanent"), TV_LIT("true"));
    tv_call_finish(&call->base);
}

tv_err tv_blob_delete(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    static const tv_slice header = {"x-ms-delete-snapshots", 21};
    tv_slice scope = tv_request_header(call->base.req, header);
    tv_delete_blob *op = &call->delete_blob;

    op->snapshot = call->args.snapshot;
    if (op->snapshot && scope.data)
        return tv_call_bad_header(&call->base, header, scope);

    if (op->snapshot)
        op->scope = TV_DELETE_ONE_SNAPSHOT;
    else if (scope.data == NULL)
        op->scope = TV_DELETE_BLOB;
    else if (tv_slice_eq_nocase(scope, TV_LIT("include")))
        op->scope = TV_DELETE_WITH_SNAPSHOTS;
    else if (tv_slice_eq_nocase(scope, TV_LIT("only")))
        op->scope = TV_DELETE_SNAPSHOTS;
    else
        return tv_call_bad_header(&call->base, header, scope);
    return tv_blob_submit(call, tv_delete_blob_run, respond_deleted);
}

static void respond_lease(tv_blob_call *call)
{
    tv_blob_respond_leased(call, &call->lease.lease, call->lease.seconds, call->change.etag);
}

tv_err tv_blob_lease(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    call->lease.request = call->args.lease;
    return tv_blob_submit(call, tv_lease_blob_run, respond_lease);
}
