/* What the heads of many operations say: snapshots, versions, conditions, leases. */
#include "base/datetime.h"
#include "base/number.h"
#include "services/blob/call.h"

tv_err tv_blob_not_supported(tv_call *call, const char *what)
{
    call->info.text = tv_arena_printf(&call->req->arena, "%s not supported by this server.", what);
    return TV_ERR_NOT_IMPLEMENTED;
}

tv_err tv_blob_missing_header(tv_call *call, tv_slice name)
{
    call->info.details =
        tv_arena_printf(&call->req->arena, "<HeaderName>%.*s</HeaderName>", TV_FMT(name));
    return TV_ERR_MISSING_HEADER;
}

/* --- conditions --- */

static tv_err read_date(tv_call *call, tv_slice name, int64_t *ret_ticks)
{
    tv_slice text = tv_request_header(call->req, name);

    *ret_ticks = 0;
    if (text.len == 0 || tv_http_date_parse(text, ret_ticks))
        return TV_OK;
    return tv_call_bad_header(call, name, text);
}

static tv_etag_condition read_etag(tv_call *call, tv_slice name)
{
    tv_slice text = tv_request_header(call->req, name);

    return text.len ? tv_etag_condition_parse(text) : (tv_etag_condition){.test = TV_ETAG_ABSENT};
}

/* A guid in a header; *ret_is_given is false without one. */
static tv_err read_guid(tv_call *call, tv_slice name, tv_guid *ret_guid, bool *ret_is_given)
{
    tv_slice text = tv_request_header(call->req, name);

    *ret_is_given = text.len > 0;
    if (text.len == 0 || tv_guid_parse_any(text, ret_guid))
        return TV_OK;
    return tv_call_bad_header(call, name, text);
}

static tv_err read_conditions(tv_call *call, tv_blob_conditions *ret_conditions)
{
    tv_blob_conditions *c = ret_conditions;
    tv_err err;

    c->if_match = read_etag(call, TV_LIT("if-match"));
    c->if_none_match = read_etag(call, TV_LIT("if-none-match"));
    err = read_date(call, TV_LIT("if-modified-since"), &c->modified_since);
    if (err)
        return err;

    err = read_date(call, TV_LIT("if-unmodified-since"), &c->unmodified_since);
    if (err)
        return err;

    return read_guid(call, TV_LIT("x-ms-lease-id"), &c->lease_id, &c->has_lease_id);
}

tv_err tv_blob_read_source_conditions(tv_call *call, tv_blob_conditions *ret_conditions)
{
    tv_blob_conditions *c = ret_conditions;
    tv_err err;

    c->if_match = read_etag(call, TV_LIT("x-ms-source-if-match"));
    c->if_none_match = read_etag(call, TV_LIT("x-ms-source-if-none-match"));
    err = read_date(call, TV_LIT("x-ms-source-if-modified-since"), &c->modified_since);
    if (err)
        return err;

    return read_date(call, TV_LIT("x-ms-source-if-unmodified-since"), &c->unmodified_since);
}

/* --- leases --- */

/* Seconds in a header; `fallback` without one. */
static tv_err read_seconds(tv_call *call, tv_slice name, int32_t min, int32_t fallback,
                           int32_t *ret_seconds)
{
    tv_slice text = tv_request_header(call->req, name);

    *ret_seconds = fallback;
    if (text.data == NULL)
        return TV_OK;
    if (!tv_parse_int32(text, ret_seconds) || *ret_seconds < min ||
        *ret_seconds > TV_LEASE_SECONDS_MAX)
        return tv_call_bad_header(call, name, text);
    return TV_OK;
}

static tv_err read_acquire(tv_call *call, tv_lease_request *request)
{
    static const tv_slice header = {"x-ms-lease-duration", 19};
    tv_slice duration = tv_request_header(call->req, header);
    tv_err err;

    if (duration.data == NULL)
        return tv_blob_missing_header(call, header);
    if (tv_slice_eq(duration, TV_LIT("-1"))) {
        request->duration_s = TV_LEASE_INFINITE;
    } else {
        err = read_seconds(call, header, TV_LEASE_SECONDS_MIN, 0, &request->duration_s);
        if (err)
            return err;
    }
    err = read_guid(call, TV_LIT("x-ms-proposed-lease-id"), &request->proposed,
                    &request->has_proposed);
    if (err == TV_OK && !request->has_proposed)
        request->proposed = tv_guid_new_secret();
    return err;
}

static tv_err read_required_guid(tv_call *call, tv_slice name, tv_guid *ret_guid)
{
    bool is_given;
    tv_err err = read_guid(call, name, ret_guid, &is_given);

    if (err)
        return err;
    return is_given ? TV_OK : tv_blob_missing_header(call, name);
}

tv_err tv_blob_read_lease(tv_call *call, tv_lease_request *ret_request)
{
    static const tv_slice header = {"x-ms-lease-action", 17};
    static const tv_slice actions[] = {
        {"acquire", 7}, {"renew", 5}, {"change", 6}, {"release", 7}, {"break", 5}};
    tv_slice action = tv_request_header(call->req, header);
    tv_lease_request request = {.break_period_s = TV_LEASE_NO_PERIOD};
    size_t i = 0;
    tv_err err;

    if (action.data == NULL)
        return tv_blob_missing_header(call, header);
    while (i < sizeof actions / sizeof *actions && !tv_slice_eq_nocase(action, actions[i]))
        i++;
    if (i == sizeof actions / sizeof *actions)
        return tv_call_bad_header(call, header, action);

    request.action = (tv_lease_action)i;
    if (request.action == TV_LEASE_ACQUIRE)
        err = read_acquire(call, &request);
    else if (request.action == TV_LEASE_BREAK)
        err = read_seconds(call, TV_LIT("x-ms-lease-break-period"), 0, TV_LEASE_NO_PERIOD,
                           &request.break_period_s);
    else
        err = read_required_guid(call, TV_LIT("x-ms-lease-id"), &request.id);
    if (err == TV_OK && request.action == TV_LEASE_CHANGE)
        err = read_required_guid(call, TV_LIT("x-ms-proposed-lease-id"), &request.proposed);
    *ret_request = request;
    return err;
}

/* --- what is not honoured --- */

/*
 * To ignore them would be to lose data or to make a false promise: a client
 * believes that its blob is encrypted with its key, has tags, cannot be
 * deleted.
 */
static const struct {
    tv_slice name;
    const char *what;
} refused_headers[] = {
    {{"x-ms-if-tags", 12}, "Conditions on tags are"},
    {{"x-ms-source-if-tags", 19}, "Conditions on tags are"},
    {{"x-ms-tags", 9}, "Tags of blobs are"},
    {{"x-ms-encryption-key", 19}, "Encryption with a key of the client is"},
    {{"x-ms-encryption-scope", 21}, "Encryption scopes are"},
    {{"x-ms-structured-body", 20}, "Structured bodies are"},
    {{"x-ms-source-content-md5", 23}, "Checksums of the source of a copy are"},
    {{"x-ms-source-content-crc64", 25}, "Checksums of the source of a copy are"},
    {{"x-ms-immutability-policy-until-date", 35}, "Immutability policies are"},
    {{"x-ms-legal-hold", 15}, "Legal holds are"},
};

static tv_err check_headers(tv_call *call)
{
    for (size_t i = 0; i < sizeof refused_headers / sizeof *refused_headers; i++) {
        if (tv_request_header(call->req, refused_headers[i].name).len)
            return tv_blob_not_supported(call, refused_headers[i].what);
    }
    return TV_OK;
}

/* --- all together --- */

static tv_err read_snapshot(tv_call *call, tv_blob_args *args)
{
    tv_slice text = call->target.snapshot, version_id;
    tv_err err = tv_call_parameter(call, TV_LIT("versionid"), &version_id);

    if (err)
        return err;
    if (version_id.data)
        return tv_blob_not_supported(call, "Versions of blobs are");
    if (text.len == 0)
        return TV_OK;
    if (!tv_datetime_parse_exact(text, &args->snapshot) || args->snapshot <= 0)
        return tv_call_bad_parameter(call, TV_LIT("snapshot"), text, NULL);

    switch ((tv_blob_op)tv_call_kind(call)) {
    case TV_BLOB_OP_GET_BLOB:
    case TV_BLOB_OP_GET_BLOB_PROPERTIES:
    case TV_BLOB_OP_GET_BLOB_METADATA:
    case TV_BLOB_OP_GET_BLOCK_LIST:
    case TV_BLOB_OP_DELETE_BLOB:
        return TV_OK;
    default: /* snapshots do not change */
        return tv_call_bad_parameter(call, TV_LIT("snapshot"), text, NULL);
    }
}

/* That of the header, else that of a SAS. */
static tv_err read_version(tv_call *call, tv_blob_args *args)
{
    tv_slice version = tv_request_header(call->req, TV_LIT("x-ms-version"));
    tv_err err;

    if (version.data == NULL) {
        err = tv_call_parameter(call, TV_LIT("sv"), &version);
        if (err)
            return err;
    }
    args->version = tv_version_is_valid(version) ? version : TV_LIT("");
    return TV_OK;
}

/* Only an operation that makes a blob can demand that there is none. */
static tv_err check_conditions(const tv_call *call, const tv_blob_conditions *conditions)
{
    switch ((tv_blob_op)tv_call_kind(call)) {
    case TV_BLOB_OP_GET_BLOB:
    case TV_BLOB_OP_GET_BLOB_PROPERTIES:
    case TV_BLOB_OP_GET_BLOB_METADATA:
        return conditions->if_none_match.test == TV_ETAG_ANY ? TV_ERR_UNSATISFIABLE_CONDITION
                                                             : TV_OK;
    default:
        return TV_OK;
    }
}

tv_err tv_blob_read_args(tv_call *call)
{
    tv_blob_args *args = &tv_blob_call_of(call)->args;
    tv_err err;

    err = check_headers(call);
    if (err)
        return err;

    err = read_snapshot(call, args);
    if (err)
        return err;

    err = read_version(call, args);
    if (err)
        return err;

    err = read_conditions(call, &args->conditions);
    return err ? err : check_conditions(call, &args->conditions);
}

/* Versions are dates and compare as text. */
bool tv_blob_is_since(const tv_blob_args *args, tv_slice version)
{
    return args->version.len == 0 || tv_slice_cmp(args->version, version) >= 0;
}

uint64_t tv_blob_body_bytes_max(tv_call *call)
{
    static const uint64_t mib = 1024 * 1024;
    uint64_t most = call->op->body_bytes_max;
    const tv_blob_args *args = &tv_blob_call_of(call)->args;
    bool is_2016 = tv_blob_is_since(args, TV_LIT("2016-05-31"));
    bool is_2019 = tv_blob_is_since(args, TV_LIT("2019-12-12"));

    switch ((tv_blob_op)tv_call_kind(call)) {
    case TV_BLOB_OP_PUT_BLOB:
        return is_2019 ? most : is_2016 ? 256 * mib : 64 * mib;
    case TV_BLOB_OP_PUT_BLOCK:
        return is_2019 ? most : is_2016 ? 100 * mib : 4 * mib;
    case TV_BLOB_OP_APPEND_BLOCK:
        return tv_blob_is_since(args, TV_LIT("2022-11-02")) ? most : 4 * mib;
    default:
        return most;
    }
}
