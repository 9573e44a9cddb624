/*
 * Containers: created, read, changed, leased and deleted.  What is known of one
 * in addition to its name are its attributes (container.h), which the catalogue
 * keeps; a change decides on them on the committer's thread.
 */
#include "model/catalog/acl.h"
#include "services/blob/call.h"
#include "services/service/metadata.h"
#include "store/engine/instant.h"

/* --- what they have in common --- */

static const tv_slice access_header = {"x-ms-blob-public-access", 23};

/* x-ms-blob-public-access; without it a container is private. */
static tv_err read_access(tv_blob_call *call, tv_public_access *ret_access)
{
    tv_slice text = tv_request_header(call->base.req, access_header);

    if (text.len == 0)
        *ret_access = TV_PUBLIC_NONE;
    else if (tv_slice_eq_nocase(text, TV_LIT("container")))
        *ret_access = TV_PUBLIC_CONTAINER;
    else if (tv_slice_eq_nocase(text, TV_LIT("blob")))
        *ret_access = TV_PUBLIC_BLOB;
    else
        return tv_call_bad_header(&call->base, access_header, text);
    return TV_OK;
}

static const tv_slice scope_header = {"x-ms-default-encryption-scope", 29};
static const tv_slice override_header = {"x-ms-deny-encryption-scope-override", 35};

/* The scope that every account has may be named; to accept another one would be a promise. */
static tv_err check_scope(tv_blob_call *call)
{
    tv_slice scope = tv_request_header(call->base.req, scope_header);
    tv_slice override = tv_request_header(call->base.req, override_header);

    if ((scope.len == 0 || tv_slice_eq(scope, TV_BLOB_ACCOUNT_SCOPE)) &&
        (override.len == 0 || tv_slice_eq_nocase(override, TV_LIT("false"))))
        return TV_OK;
    return tv_blob_not_supported(&call->base, "Encryption scopes are");
}

static void add_access(tv_blob_call *call)
{
    if (call->attributes.access != TV_PUBLIC_NONE)
        tv_response_header(call->base.req, access_header,
                           call->attributes.access == TV_PUBLIC_BLOB ? TV_LIT("blob")
                                                                     : TV_LIT("container"));
}

/* The lease id that came with a request; NULL without one. */
static const tv_guid *lease_id(const tv_blob_call *call)
{
    return call->args.conditions.has_lease_id ? &call->args.conditions.lease_id : NULL;
}

/*
 * Set call->attributes to the attributes as they are now, and check the lease id
 * that a read may bring.
 */
static tv_err read_attributes(tv_blob_call *call)
{
    tv_call *base = &call->base;
    tv_arena *arena = &base->req->arena;
    tv_err err = tv_container_attributes_decode(
        arena, tv_catalog_attributes(base->service->catalog, base->container, arena),
        &call->attributes);

    if (err)
        return err;
    return tv_container_check_lease(&call->attributes, lease_id(call), false, tv_instant_now());
}

static void respond_changed(tv_blob_call *call, int status)
{
    tv_call_start(&call->base, status);
    tv_blob_add_etag(call, call->attributes.etag);
    tv_call_finish(&call->base);
}

/* --- create --- */

static tv_err on_created(tv_call *base, tv_err err)
{
    if (err == TV_OK)
        respond_changed(tv_blob_call_of(base), 201);
    return err;
}

static void decide_create(tv_catalog_create *create, int64_t now)
{
    tv_blob_call *call = create->ctx;

    call->attributes.created = call->attributes.etag = now;
    create->attributes = tv_container_attributes_encode(create->arena, &call->attributes);
}

tv_err tv_blob_create_container(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_container_attributes *attributes = &call->attributes;
    tv_err err;

    err = tv_metadata_read(base->req, &attributes->metadata);
    if (err)
        return err;

    err = read_access(call, &attributes->access);
    if (err)
        return err;

    err = check_scope(call);
    if (err)
        return err;

    base->create = (tv_catalog_create){
        .catalog = base->service->catalog,
        .account = tv_identity_account(base->identity),
        .name = call->base.target.container,
        .arena = &base->req->arena,
        .decide = decide_create,
        .ctx = call,
    };
    tv_call_create_container(base, on_created);
    return TV_OK;
}

/* --- read --- */

/* What newer versions add; here it is always the same. */
static void add_newer(tv_blob_call *call)
{
    tv_request *req = call->base.req;

    if (tv_blob_has_scopes(&call->args)) {
        tv_response_header(req, scope_header, TV_BLOB_ACCOUNT_SCOPE);
        tv_response_header(req, override_header, TV_LIT("false"));
    }
    if (tv_blob_has_immutable_storage(&call->args))
        tv_response_header(req, TV_LIT("x-ms-immutable-storage-with-versioning-enabled"),
                           TV_LIT("false"));
}

tv_err tv_blob_get_container(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_err err = read_attributes(call);

    if (err)
        return err;

    tv_call_start(base, 200);
    tv_blob_add_etag(call, call->attributes.etag);
    tv_metadata_add_headers(base->req, call->attributes.metadata);
    if (tv_call_kind(&call->base) == TV_BLOB_OP_GET_CONTAINER_PROPERTIES) {
        tv_blob_add_lease(call, &call->attributes.lease);
        add_access(call);
        tv_response_header(base->req, TV_LIT("x-ms-has-immutability-policy"), TV_LIT("false"));
        tv_response_header(base->req, TV_LIT("x-ms-has-legal-hold"), TV_LIT("false"));
        add_newer(call);
    }
    tv_call_finish(base);
    return TV_OK;
}

tv_err tv_blob_get_container_acl(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_access_policies policies;
    tv_err err = read_attributes(call);

    if (err)
        return err;

    err = tv_catalog_policies(base->service->catalog, tv_identity_account(base->identity),
                              call->base.target.container, &base->req->arena, &policies);
    if (err)
        return err;

    tv_call_start_xml(base, 200);
    tv_blob_add_etag(call, call->attributes.etag);
    add_access(call);
    tv_acl_add_xml(&base->req->out, &policies);
    tv_call_finish(base);
    return TV_OK;
}

/* --- change; `decide` runs on the committer's thread --- */

static void submit_change(tv_blob_call *call,
                          tv_err (*decide)(tv_catalog_change *change, int64_t now),
                          tv_call_then *then)
{
    tv_call *base = &call->base;

    base->change.catalog = base->service->catalog;
    base->change.container = base->container;
    base->change.arena = &base->req->arena;
    base->change.decide = decide;
    base->change.ctx = call;
    tv_catalog_prepare_change(&base->change, &base->write);
    tv_call_write(base, then);
}

/*
 * Set call->attributes to the attributes before a change, which the lease and the
 * conditions must allow.
 */
static tv_err open_attributes(tv_blob_call *call, tv_slice attributes, bool is_delete, int64_t now)
{
    tv_err err =
        tv_container_attributes_decode(&call->base.req->arena, attributes, &call->attributes);

    if (err)
        return err;

    err = tv_container_check_lease(&call->attributes, lease_id(call), is_delete, now);
    if (err)
        return err;

    return tv_conditions_check_write(&call->args.conditions, call->attributes.etag);
}

static tv_err decide_metadata(tv_catalog_change *change, int64_t now)
{
    tv_blob_call *call = change->ctx;
    tv_err err = open_attributes(call, change->attributes, false, now);

    if (err)
        return err;

    call->attributes.metadata = call->metadata;
    err = tv_container_attributes_touch(&call->attributes, now);
    if (err)
        return err;

    change->attributes = tv_container_attributes_encode(change->arena, &call->attributes);
    return TV_OK;
}

static tv_err on_changed(tv_call *base, tv_err err)
{
    if (err == TV_OK)
        respond_changed(tv_blob_call_of(base), 200);
    return err;
}

tv_err tv_blob_set_container_metadata(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_err err = tv_metadata_read(call->base.req, &call->metadata);

    if (err)
        return err;

    submit_change(call, decide_metadata, on_changed);
    return TV_OK;
}

static tv_err decide_acl(tv_catalog_change *change, int64_t now)
{
    tv_blob_call *call = change->ctx;
    tv_err err = open_attributes(call, change->attributes, false, now);

    if (err)
        return err;

    call->attributes.access = call->access;
    err = tv_container_attributes_touch(&call->attributes, now);
    if (err)
        return err;

    change->attributes = tv_container_attributes_encode(change->arena, &call->attributes);
    return TV_OK;
}

tv_err tv_blob_set_container_acl(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_err err;

    err = read_access(call, &call->access);
    if (err)
        return err;

    err = tv_call_read_policies(&call->base, &call->base.change.policies);
    if (err)
        return err;

    call->base.change.sets_policies = true;
    submit_change(call, decide_acl, on_changed);
    return TV_OK;
}

/* A lease leaves ETag and Last-Modified alone. */
static tv_err decide_lease(tv_catalog_change *change, int64_t now)
{
    tv_blob_call *call = change->ctx;
    tv_err err = tv_container_attributes_decode(&call->base.req->arena, change->attributes,
                                                &call->attributes);

    if (err)
        return err;

    err = tv_container_lease(&call->attributes, &call->args.lease, now, &call->lease_seconds);
    if (err)
        return err;

    err = tv_conditions_check_write(&call->args.conditions, call->attributes.etag);
    if (err)
        return err;

    change->attributes = tv_container_attributes_encode(change->arena, &call->attributes);
    return TV_OK;
}

static tv_err on_leased(tv_call *base, tv_err err)
{
    tv_blob_call *call = tv_blob_call_of(base);

    if (err == TV_OK)
        tv_blob_respond_leased(call, &call->attributes.lease, call->lease_seconds,
                               call->attributes.etag);
    return err;
}

tv_err tv_blob_lease_container(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    submit_change(call, decide_lease, on_leased);
    return TV_OK;
}

/* --- delete --- */

static tv_err decide_delete(tv_catalog_delete *delete_op, tv_slice bytes, int64_t now)
{
    tv_blob_call *call = delete_op->ctx;
    tv_err err = open_attributes(call, bytes, true, now);

    delete_op->latest = call->attributes.etag;
    return err;
}

/* Another request may have been faster. */
static tv_err on_deleted(tv_call *base, tv_err err)
{
    if (err == TV_OK)
        tv_call_respond_empty(base, 202);
    return err == TV_ERR_NOT_FOUND ? TV_ERR_CONTAINER_NOT_FOUND : err;
}

tv_err tv_blob_delete_container(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);

    base->delete_op = (tv_catalog_delete){
        .catalog = base->service->catalog,
        .container = base->container,
        .arena = &base->req->arena,
        .decide = decide_delete,
        .ctx = call,
    };
    tv_call_drop_container(base, on_deleted);
    return TV_OK;
}
