/* From an HTTP request to an operation. */
#include "blob/op.h"

#include "base/assert.h"
#include "base/datetime.h"
#include "base/uri.h"
#include "blob/names.h"

#define MIB (UINT64_C(1024) * 1024)

enum {
    SMALL_BODY_BYTES_MAX = 128 * 1024, /* XML of properties and access policies */
    BLOCK_LIST_BYTES_MAX = 8 * 1024 * 1024,
};

static const char *const op_names[] = {
#define X(kind, name) name,
    TV_BLOB_OP_MAP(X)
#undef X
};

const char *tv_blob_op_name(tv_blob_op_kind kind)
{
    tv_assert(kind < TV_BLOB_OP_COUNT);
    return op_names[kind];
}

/* Versions are dates and compare as text. */
bool tv_blob_op_is_since(const tv_blob_op *op, tv_slice version)
{
    return op->version.len == 0 || tv_slice_cmp(op->version, version) >= 0;
}

/* --- the path --- */

static bool is_restype(const tv_blob_op *op, const char *restype)
{
    return tv_slice_eq_nocase(op->restype, tv_slice_of(restype));
}

tv_err tv_blob_op_read_path(tv_call *call, tv_blob_op *op)
{
    tv_slice rest = call->endpoint.rest;
    size_t slash = tv_slice_find(rest, '/');
    bool has_slash = slash < rest.len;
    tv_slice first = tv_slice_take(rest, slash);
    tv_slice second = has_slash ? tv_slice_skip(rest, slash + 1) : TV_LIT("");
    tv_err err;

    err = tv_call_parameter(call, TV_LIT("restype"), &op->restype);
    if (err == TV_OK)
        err = tv_call_parameter(call, TV_LIT("comp"), &op->comp);
    if (err == TV_OK)
        err = tv_call_parameter(call, TV_LIT("snapshot"), &op->snapshot_text);
    if (err)
        return err;

    if (op->snapshot_text.data == NULL)
        op->snapshot_text = TV_LIT("");
    if (!has_slash && first.len && op->restype.data == NULL) {
        op->container = TV_BLOB_ROOT_CONTAINER;
        second = first;
    } else if (!tv_uri_decode_path(&call->req->arena, first, &op->container)) {
        return TV_ERR_URL_UNPARSABLE;
    }
    if (!tv_uri_decode_path(&call->req->arena, second, &op->blob))
        return TV_ERR_URL_UNPARSABLE;

    op->blob = tv_blob_name_of(&call->req->arena, op->blob);
    return TV_OK;
}

/* --- which operation --- */

/* What a path and its restype address. */
typedef enum level {
    ROOT,      /* the account, without a restype */
    SERVICE,   /* restype=service */
    ACCOUNT,   /* restype=account, whatever the path */
    CONTAINER, /* restype=container */
    BLOB,
} level;

typedef struct route {
    level where;
    const char *comp; /* "" without one */
    tv_method method; /* GET stands for HEAD too if the next field says so */
    bool has_head;
    tv_blob_op_kind kind;
} route;

/* Lease operations and those of a plain PUT are told apart by headers. */
static const route routes[] = {
    {ROOT, "list", TV_METHOD_GET, false, TV_BLOB_OP_LIST_CONTAINERS},
    {SERVICE, "properties", TV_METHOD_GET, false, TV_BLOB_OP_GET_SERVICE_PROPERTIES},
    {SERVICE, "properties", TV_METHOD_PUT, false, TV_BLOB_OP_SET_SERVICE_PROPERTIES},
    {SERVICE, "stats", TV_METHOD_GET, false, TV_BLOB_OP_GET_SERVICE_STATS},
    {ACCOUNT, "properties", TV_METHOD_GET, true, TV_BLOB_OP_GET_ACCOUNT_INFO},
    {CONTAINER, "", TV_METHOD_PUT, false, TV_BLOB_OP_CREATE_CONTAINER},
    {CONTAINER, "", TV_METHOD_GET, true, TV_BLOB_OP_GET_CONTAINER_PROPERTIES},
    {CONTAINER, "", TV_METHOD_DELETE, false, TV_BLOB_OP_DELETE_CONTAINER},
    {CONTAINER, "metadata", TV_METHOD_GET, true, TV_BLOB_OP_GET_CONTAINER_METADATA},
    {CONTAINER, "metadata", TV_METHOD_PUT, false, TV_BLOB_OP_SET_CONTAINER_METADATA},
    {CONTAINER, "acl", TV_METHOD_GET, true, TV_BLOB_OP_GET_CONTAINER_ACL},
    {CONTAINER, "acl", TV_METHOD_PUT, false, TV_BLOB_OP_SET_CONTAINER_ACL},
    {CONTAINER, "lease", TV_METHOD_PUT, false, TV_BLOB_OP_ACQUIRE_CONTAINER_LEASE},
    {CONTAINER, "list", TV_METHOD_GET, false, TV_BLOB_OP_LIST_BLOBS},
    {BLOB, "", TV_METHOD_PUT, false, TV_BLOB_OP_PUT_BLOB},
    {BLOB, "", TV_METHOD_GET, false, TV_BLOB_OP_GET_BLOB},
    {BLOB, "", TV_METHOD_HEAD, false, TV_BLOB_OP_GET_BLOB_PROPERTIES},
    {BLOB, "", TV_METHOD_DELETE, false, TV_BLOB_OP_DELETE_BLOB},
    {BLOB, "block", TV_METHOD_PUT, false, TV_BLOB_OP_PUT_BLOCK},
    {BLOB, "blocklist", TV_METHOD_PUT, false, TV_BLOB_OP_PUT_BLOCK_LIST},
    {BLOB, "blocklist", TV_METHOD_GET, false, TV_BLOB_OP_GET_BLOCK_LIST},
    {BLOB, "appendblock", TV_METHOD_PUT, false, TV_BLOB_OP_APPEND_BLOCK},
    {BLOB, "properties", TV_METHOD_PUT, false, TV_BLOB_OP_SET_BLOB_PROPERTIES},
    {BLOB, "metadata", TV_METHOD_GET, true, TV_BLOB_OP_GET_BLOB_METADATA},
    {BLOB, "metadata", TV_METHOD_PUT, false, TV_BLOB_OP_SET_BLOB_METADATA},
    {BLOB, "snapshot", TV_METHOD_PUT, false, TV_BLOB_OP_SNAPSHOT_BLOB},
    {BLOB, "lease", TV_METHOD_PUT, false, TV_BLOB_OP_ACQUIRE_BLOB_LEASE},
    {BLOB, "copy", TV_METHOD_PUT, false, TV_BLOB_OP_ABORT_COPY_BLOB},
};

/* What the service has and this server has not, by comp. */
static const struct {
    const char *comp, *what;
} not_supported[] = {
    {"batch", "Batches of blob operations are"},
    {"blobs", "Finding blobs by tags is"},
    {"expiry", "Expiry of blobs is"},
    {"immutabilityPolicies", "Immutability policies are"},
    {"incrementalcopy", "Page blobs, and with them incremental copies, are"},
    {"legalhold", "Legal holds are"},
    {"page", "Page blobs are"},
    {"pagelist", "Page blobs are"},
    {"query", "Queries of the contents of blobs are"},
    {"rename", "Renaming a container is"},
    {"seal", "Sealing an append blob is"},
    {"tags", "Tags of blobs are"},
    {"tier", "Access tiers are"},
    {"undelete", "Undeleting is"},
    {"userdelegationkey", "User delegation keys are"},
};

static tv_err find_level(tv_call *call, const tv_blob_op *op, level *ret_level)
{
    bool has_container = op->container.len > 0, has_blob = op->blob.len > 0;

    if (has_blob && !has_container) /* "//name" */
        return TV_ERR_INVALID_URI;
    if (is_restype(op, "account"))
        *ret_level = ACCOUNT;
    else if (is_restype(op, "service") && !has_container)
        *ret_level = SERVICE;
    else if (is_restype(op, "container") && has_container && !has_blob)
        *ret_level = CONTAINER;
    else if (op->restype.data)
        return tv_call_bad_parameter(call, TV_LIT("restype"), op->restype, NULL);
    else if (!has_container)
        *ret_level = ROOT;
    else if (has_blob)
        *ret_level = BLOB;
    else
        return TV_ERR_INVALID_URI;
    return TV_OK;
}

static bool fits_method(const route *r, tv_method method)
{
    return r->method == method || (r->has_head && method == TV_METHOD_HEAD);
}

static tv_err find_kind(tv_call *call, level where, tv_blob_op *op)
{
    bool is_known = false;

    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        const route *r = &routes[i];

        if (r->where != where || !tv_slice_eq_nocase(op->comp, tv_slice_of(r->comp)))
            continue;
        is_known = true;
        if (fits_method(r, call->req->method)) {
            op->kind = r->kind;
            return TV_OK;
        }
    }
    if (is_known)
        return TV_ERR_UNSUPPORTED_VERB;

    for (size_t i = 0; i < sizeof not_supported / sizeof *not_supported; i++) {
        if (tv_slice_eq_nocase(op->comp, tv_slice_of(not_supported[i].comp)))
            return tv_blob_not_supported(call, not_supported[i].what);
    }
    return op->comp.len ? tv_call_bad_parameter(call, TV_LIT("comp"), op->comp, NULL)
                        : TV_ERR_UNSUPPORTED_VERB;
}

/* A PUT of a blob: new, or a copy, which is told by where from. */
static tv_err read_put(tv_call *call, tv_blob_op *op)
{
    static const tv_slice type_header = {"x-ms-blob-type", 14};
    const tv_request *req = call->req;
    tv_slice type = tv_request_header(req, type_header);
    tv_slice sync = tv_request_header(req, TV_LIT("x-ms-requires-sync"));

    if (tv_request_header(req, TV_LIT("x-ms-copy-source")).data) {
        if (type.data)
            return tv_blob_not_supported(call, "Putting a blob from a URL is");
        op->kind = tv_slice_eq_nocase(sync, TV_LIT("true")) ? TV_BLOB_OP_COPY_BLOB_FROM_URL
                                                            : TV_BLOB_OP_COPY_BLOB;
        return tv_blob_read_source_conditions(call, &op->source_conditions);
    }
    if (type.data == NULL)
        return tv_blob_missing_header(call, type_header);
    if (tv_slice_eq_nocase(type, TV_LIT("BlockBlob")))
        op->type = TV_BLOB_BLOCK;
    else if (tv_slice_eq_nocase(type, TV_LIT("AppendBlob")))
        op->type = TV_BLOB_APPEND;
    else if (tv_slice_eq_nocase(type, TV_LIT("PageBlob")))
        return TV_ERR_PAGE_BLOB;
    else
        return tv_call_bad_header(call, type_header, type);
    return TV_OK;
}

/* The lease operations stand in the order of tv_lease_action. */
static tv_err read_lease(tv_call *call, tv_blob_op *op)
{
    tv_err err = tv_blob_read_lease(call, &op->lease);

    if (err == TV_OK)
        op->kind = (tv_blob_op_kind)((int)op->kind + (int)op->lease.action);
    return err;
}

/* What tells operations apart beyond method, restype and comp. */
static tv_err refine(tv_call *call, tv_blob_op *op)
{
    bool has_source = tv_request_header(call->req, TV_LIT("x-ms-copy-source")).data != NULL;

    switch (op->kind) {
    case TV_BLOB_OP_PUT_BLOB:
        return read_put(call, op);
    case TV_BLOB_OP_PUT_BLOCK:
        return has_source ? tv_blob_not_supported(call, "Putting a block from a URL is") : TV_OK;
    case TV_BLOB_OP_APPEND_BLOCK:
        return has_source ? tv_blob_not_supported(call, "Appending a block from a URL is") : TV_OK;
    case TV_BLOB_OP_ACQUIRE_CONTAINER_LEASE:
    case TV_BLOB_OP_ACQUIRE_BLOB_LEASE:
        return read_lease(call, op);
    default:
        return TV_OK;
    }
}

/* --- the rest of the head --- */

static tv_err check_names(const tv_blob_op *op)
{
    tv_err err = TV_OK;

    if (op->container.len)
        err = tv_check_blob_container_name(op->container);
    if (err == TV_OK && op->blob.len)
        err = tv_check_blob_name(op->blob);
    return err;
}

static tv_err read_snapshot(tv_call *call, tv_blob_op *op)
{
    tv_slice version_id;
    tv_err err = tv_call_parameter(call, TV_LIT("versionid"), &version_id);

    if (err)
        return err;
    if (version_id.data)
        return tv_blob_not_supported(call, "Versions of blobs are");
    if (op->snapshot_text.len == 0)
        return TV_OK;
    if (!tv_datetime_parse(op->snapshot_text, &op->snapshot) || op->snapshot <= 0)
        return tv_call_bad_parameter(call, TV_LIT("snapshot"), op->snapshot_text, NULL);

    switch (op->kind) {
    case TV_BLOB_OP_GET_BLOB:
    case TV_BLOB_OP_GET_BLOB_PROPERTIES:
    case TV_BLOB_OP_GET_BLOB_METADATA:
    case TV_BLOB_OP_GET_BLOCK_LIST:
    case TV_BLOB_OP_DELETE_BLOB:
        return TV_OK;
    default: /* snapshots do not change */
        return tv_call_bad_parameter(call, TV_LIT("snapshot"), op->snapshot_text, NULL);
    }
}

/* That of the header, else that of a SAS. */
static tv_err read_version(tv_call *call, tv_blob_op *op)
{
    tv_slice version = tv_request_header(call->req, TV_LIT("x-ms-version"));
    tv_err err;

    if (version.data == NULL) {
        err = tv_call_parameter(call, TV_LIT("sv"), &version);
        if (err)
            return err;
    }
    op->version = tv_version_is_valid(version) ? version : TV_LIT("");
    return TV_OK;
}

/* Only what makes a blob can want that there is none. */
static tv_err check_conditions(const tv_blob_op *op)
{
    switch (op->kind) {
    case TV_BLOB_OP_GET_BLOB:
    case TV_BLOB_OP_GET_BLOB_PROPERTIES:
    case TV_BLOB_OP_GET_BLOB_METADATA:
        return op->conditions.if_none_match.test == TV_ETAG_ANY ? TV_ERR_UNSATISFIABLE_CONDITION
                                                                : TV_OK;
    default:
        return TV_OK;
    }
}

static uint64_t body_limit(const tv_blob_op *op)
{
    bool is_2019 = tv_blob_op_is_since(op, TV_LIT("2019-12-12"));
    bool is_2016 = tv_blob_op_is_since(op, TV_LIT("2016-05-31"));

    switch (op->kind) {
    case TV_BLOB_OP_PUT_BLOB:
        return is_2019 ? 5000 * MIB : is_2016 ? 256 * MIB : 64 * MIB;
    case TV_BLOB_OP_PUT_BLOCK:
        return is_2019 ? 4000 * MIB : is_2016 ? 100 * MIB : 4 * MIB;
    case TV_BLOB_OP_APPEND_BLOCK:
        return tv_blob_op_is_since(op, TV_LIT("2022-11-02")) ? 100 * MIB : 4 * MIB;
    case TV_BLOB_OP_PUT_BLOCK_LIST:
        return BLOCK_LIST_BYTES_MAX;
    default:
        return SMALL_BODY_BYTES_MAX;
    }
}

tv_err tv_blob_op_parse(tv_call *call, tv_blob_op *op)
{
    level where = ROOT;
    tv_err err;

    if (call->req->method == TV_METHOD_OTHER)
        return TV_ERR_INVALID_VERB;

    err = find_level(call, op, &where);
    if (err)
        return err;

    err = find_kind(call, where, op);
    if (err)
        return err;

    err = tv_blob_check_headers(call);
    if (err)
        return err;

    err = refine(call, op);
    if (err)
        return err;

    err = check_names(op);
    if (err)
        return err;

    err = read_snapshot(call, op);
    if (err)
        return err;

    err = read_version(call, op);
    if (err)
        return err;

    op->body_bytes_max = body_limit(op);
    op->has_sink = op->kind == TV_BLOB_OP_PUT_BLOB || op->kind == TV_BLOB_OP_PUT_BLOCK ||
                   op->kind == TV_BLOB_OP_APPEND_BLOCK;
    err = tv_blob_read_conditions(call, &op->conditions);
    return err ? err : check_conditions(op);
}
