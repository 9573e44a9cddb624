/* What the blob service does in its own way: its paths, its table of operations, public access. */
#include "services/blob/ops.h"

#include "base/number.h"
#include "base/uri.h"
#include "services/blob/call.h"
#include "services/blob/names.h"
#include "services/service/throttle.h"
#include "store/engine/key.h"

static tv_err choose_type_of_path(tv_call *call);
static tv_err choose_lease(tv_call *call);
static tv_err choose_put_or_copy(tv_call *call);
static tv_err refuse_from_url(tv_call *call);
static tv_err get_account_info(tv_call *call);

static const tv_op ops[] = {
#define OP(kind, name_, ...) [TV_BLOB_OP_##kind] = {.name = (name_), __VA_ARGS__},
#include "services/blob/ops.def"
};

static const char *const paths[] = {
#define AT(where, form) [TV_BLOB_AT_##where] = (form),
    TV_BLOB_PATHS(AT)
#undef AT
};

/* --- paths --- */

/* In lower case, as the table has comp; in the arena. */
static tv_slice lower(tv_arena *arena, tv_slice text)
{
    char *copy = text.len ? tv_arena_bytes(arena, text.len) : NULL;

    for (size_t i = 0; i < text.len; i++)
        copy[i] = tv_ascii_lower(text.data[i]);
    return text.len ? (tv_slice){copy, text.len} : text;
}

/* A path of one segment is a blob in $root unless restype says otherwise. */
static tv_err read_path(tv_call *call)
{
    tv_slice *restype = &tv_blob_call_of(call)->args.restype;
    tv_target *target = &call->target;
    tv_arena *arena = &call->req->arena;
    tv_slice rest = call->endpoint.rest, comp;
    size_t slash = tv_slice_find(rest, '/');
    bool has_slash = slash < rest.len;
    tv_slice first = tv_slice_take(rest, slash);
    tv_slice second = has_slash ? tv_slice_skip(rest, slash + 1) : TV_LIT("");
    tv_err err;

    err = tv_call_parameter(call, TV_LIT("restype"), restype);
    if (err == TV_OK)
        err = tv_call_parameter(call, TV_LIT("comp"), &comp);
    if (err == TV_OK)
        err = tv_call_parameter(call, TV_LIT("snapshot"), &target->snapshot);
    if (err)
        return err;

    call->comp = lower(arena, comp);
    if (target->snapshot.data == NULL)
        target->snapshot = TV_LIT("");
    if (!has_slash && first.len && restype->data == NULL) {
        target->container = TV_BLOB_ROOT_CONTAINER;
        second = first;
    } else if (!tv_uri_decode_path(arena, first, &target->container)) {
        return TV_ERR_URL_UNPARSABLE;
    }
    if (!tv_uri_decode_path(arena, second, &target->blob))
        return TV_ERR_URL_UNPARSABLE;

    target->blob = tv_blob_name_of(arena, target->blob);
    return TV_OK;
}

static bool is_restype(tv_slice restype, const char *wanted)
{
    return tv_slice_eq_nocase(restype, tv_slice_of(wanted));
}

static tv_err locate(tv_call *call, int *ret_where)
{
    tv_slice restype = tv_blob_call_of(call)->args.restype;
    bool has_container = call->target.container.len > 0, has_blob = call->target.blob.len > 0;

    if (call->method == TV_METHOD_OTHER)
        return TV_ERR_INVALID_VERB;
    if (has_blob && !has_container) /* "//name" */
        return TV_ERR_INVALID_URI;
    if (is_restype(restype, "account"))
        *ret_where = TV_BLOB_AT_ACCOUNT_INFO;
    else if (is_restype(restype, "service") && !has_container)
        *ret_where = TV_BLOB_AT_SERVICE;
    else if (is_restype(restype, "container") && has_container && !has_blob)
        *ret_where = TV_BLOB_AT_CONTAINER;
    else if (restype.data)
        return tv_call_bad_parameter(call, TV_LIT("restype"), restype, NULL);
    else if (!has_container)
        *ret_where = TV_BLOB_AT_ACCOUNT;
    else if (has_blob)
        *ret_where = TV_BLOB_AT_BLOB;
    else
        return TV_ERR_INVALID_URI;
    return TV_OK;
}

/* What the cloud service has and this server does not, by comp. */
static const struct {
    const char *comp, *what;
} not_supported[] = {
    {"batch", "Batches of blob operations are"},
    {"blobs", "Finding blobs by tags is"},
    {"expiry", "Expiry of blobs is"},
    {"immutabilitypolicies", "Immutability policies are"},
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
};

static tv_err miss(tv_call *call, bool has_comp)
{
    tv_slice comp;
    tv_err err;

    if (has_comp)
        return TV_ERR_UNSUPPORTED_VERB;
    for (size_t i = 0; i < sizeof not_supported / sizeof *not_supported; i++) {
        if (tv_slice_eq(call->comp, tv_slice_of(not_supported[i].comp)))
            return tv_blob_not_supported(call, not_supported[i].what);
    }
    err = tv_call_parameter(call, TV_LIT("comp"), &comp); /* as it was sent */
    if (err)
        return err;
    return comp.len ? tv_call_bad_parameter(call, TV_LIT("comp"), comp, NULL)
                    : TV_ERR_UNSUPPORTED_VERB;
}

/* --- what tells operations apart beyond method, restype and comp --- */

static bool has_source(const tv_call *call)
{
    return tv_request_header(call->req, TV_LIT("x-ms-copy-source")).data != NULL;
}

static tv_err choose_copy(tv_call *call)
{
    tv_slice sync = tv_request_header(call->req, TV_LIT("x-ms-requires-sync"));

    tv_call_turn_to(call, tv_slice_eq_nocase(sync, TV_LIT("true")) ? TV_BLOB_OP_COPY_BLOB_FROM_URL
                                                                   : TV_BLOB_OP_COPY_BLOB);
    return tv_blob_read_source_conditions(call, &tv_blob_call_of(call)->args.source_conditions);
}

static tv_err choose_put_or_copy(tv_call *call)
{
    static const tv_slice header = {"x-ms-blob-type", 14};
    tv_blob_type *ret_type = &tv_blob_call_of(call)->args.type;
    tv_slice type = tv_request_header(call->req, header);

    if (has_source(call))
        return type.data ? tv_blob_not_supported(call, "Putting a blob from a URL is")
                         : choose_copy(call);
    if (type.data == NULL)
        return tv_blob_missing_header(call, header);
    if (tv_slice_eq_nocase(type, TV_LIT("BlockBlob")))
        *ret_type = TV_BLOB_BLOCK;
    else if (tv_slice_eq_nocase(type, TV_LIT("AppendBlob")))
        *ret_type = TV_BLOB_APPEND;
    else if (tv_slice_eq_nocase(type, TV_LIT("PageBlob")))
        return TV_ERR_PAGE_BLOB;
    else
        return tv_call_bad_header(call, header, type);
    return TV_OK;
}

static tv_err refuse_from_url(tv_call *call)
{
    bool is_block = tv_call_kind(call) == TV_BLOB_OP_PUT_BLOCK;

    if (!has_source(call))
        return TV_OK;
    return tv_blob_not_supported(call, is_block ? "Putting a block from a URL is"
                                                : "Appending a block from a URL is");
}

/* The rows of the lease operations follow that of the first. */
static tv_err choose_lease(tv_call *call)
{
    tv_lease_request *lease = &tv_blob_call_of(call)->args.lease;
    tv_err err = tv_blob_read_lease(call, lease);

    if (err == TV_OK)
        tv_call_turn_to(call, tv_call_kind(call) + (int)lease->action);
    return err;
}

static tv_err choose_type_of_path(tv_call *call)
{
    call->type = call->target.blob.len        ? TV_TYPE_OBJECT
                 : call->target.container.len ? TV_TYPE_CONTAINER
                                              : TV_TYPE_SERVICE;
    return TV_OK;
}

static tv_err read_head(tv_call *call)
{
    tv_err err = TV_OK;

    if (call->target.container.len)
        err = tv_check_blob_container_name(call->target.container);
    if (err == TV_OK && call->target.blob.len)
        err = tv_check_blob_name(call->target.blob);
    return err ? err : tv_blob_read_args(call);
}

/* --- access --- */

bool tv_blob_is_public(const tv_op *op, tv_public_access access)
{
    if (op->flags & TV_OP_PUBLIC_OBJECT)
        return access == TV_PUBLIC_BLOB || access == TV_PUBLIC_CONTAINER;
    return (op->flags & TV_OP_PUBLIC_LISTING) && access == TV_PUBLIC_CONTAINER;
}

static bool is_public(tv_call *call)
{
    tv_catalog *catalog = call->service->catalog;
    tv_arena *arena = &call->req->arena;
    tv_container *container =
        tv_call_look_for(call, call->endpoint.account, call->target.container);
    tv_container_attributes attributes;
    bool is_open;

    if (container == NULL)
        return false;

    is_open = tv_container_attributes_decode(
                  arena, tv_catalog_attributes(catalog, container, arena), &attributes) == TV_OK &&
              tv_blob_is_public(call->op, attributes.access);
    tv_container_unref(container);
    return is_open;
}

static tv_err enter(tv_call *call)
{
    if (call->target.blob.len == 0)
        return TV_OK;
    return tv_key_blob(&call->req->arena, call->container->prefix, call->target.blob,
                       &tv_blob_call_of(call)->partition);
}

tv_err tv_blob_limit_to_new(tv_call *call)
{
    tv_blob_args *args = &tv_blob_call_of(call)->args;
    tv_need need = tv_call_need(call);

    need.any_of = TV_MAY_WRITE;
    args->is_create_only = tv_identity_allows(call->identity, &need) != TV_OK;
    if (args->is_create_only)
        args->conditions.must_be_new = true;
    return TV_OK;
}

/* --- the rest --- */

/* The same kind of account for all: general purpose, one copy. */
static tv_err get_account_info(tv_call *call)
{
    tv_call_start(call, 200);
    tv_response_header(call->req, TV_LIT("x-ms-sku-name"), TV_LIT("Standard_LRS"));
    tv_response_header(call->req, TV_LIT("x-ms-account-kind"), TV_LIT("StorageV2"));
    tv_response_header(call->req, TV_LIT("x-ms-is-hns-enabled"), TV_LIT("false"));
    tv_call_finish(call);
    return TV_OK;
}

static tv_err explain(tv_call *call, tv_err err)
{
    if (err == TV_ERR_BODY_TOO_LARGE)
        call->info.details = tv_arena_printf(&call->req->arena, "<MaxLimit>%llu</MaxLimit>",
                                             (unsigned long long)call->req->body_bytes_max);
    return err;
}

static void release(tv_call *call)
{
    tv_blob_end_transfer(tv_blob_call_of(call));
}

/* --- scalability targets: requests to one blob, and its bytes --- */

static uint64_t target_hash(const tv_call *call, tv_target_scope scope)
{
    return tv_target_hash(call->targets, scope, call->target.container, call->target.blob);
}

/* The length of the body, if it was announced. */
static uint64_t announced_bytes(const tv_call *call)
{
    int64_t bytes;
    tv_slice text = tv_request_header(call->req, TV_LIT("content-length"));

    return tv_parse_int64(text, &bytes) && bytes > 0 ? (uint64_t)bytes : 0;
}

static size_t ask_targets(tv_call *call, tv_target_ask *ret_asks)
{
    if (call->target.blob.len == 0)
        return 0;
    ret_asks[0] = (tv_target_ask){
        .scope = TV_TARGET_BLOB, .hash = target_hash(call, TV_TARGET_BLOB), .units = 1};
    ret_asks[1] = (tv_target_ask){.scope = TV_TARGET_BLOB_BYTES,
                                  .hash = target_hash(call, TV_TARGET_BLOB_BYTES),
                                  .units = announced_bytes(call)};
    return 2;
}

static void charge_rest(tv_call *call)
{
    const tv_request *req = call->req;
    uint64_t bytes = req->out.len + req->out_length;

    if (call->target.blob.len == 0)
        return;
    if (announced_bytes(call) == 0)
        bytes += req->body_length;
    tv_call_charge_target(call, TV_TARGET_BLOB_BYTES, target_hash(call, TV_TARGET_BLOB_BYTES),
                          (int64_t)bytes);
}

const tv_service_spec tv_blob_spec = {
    .kind = TV_SERVICE_BLOB,
    .ops = ops,
    .op_count = TV_BLOB_OP_COUNT,
    .paths = paths,
    .call_bytes = sizeof(tv_blob_call),
    .read_path = read_path,
    .locate = locate,
    .miss = miss,
    .read_head = read_head,
    .is_public = is_public,
    .enter = enter,
    .explain = explain,
    .targets = ask_targets,
    .charge_rest = charge_rest,
    .release = release,
};
