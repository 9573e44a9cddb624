/* Finding the source of a copy. */
#include "services/blob/ops/copy_source.h"

#include "base/uri.h"
#include "base/url.h"
#include "store/engine/key.h"

enum { URL_BYTES_MAX = 2 * 1024 };

static bool starts_with_nocase(tv_slice s, tv_slice prefix)
{
    return s.len >= prefix.len && tv_slice_eq_nocase(tv_slice_take(s, prefix.len), prefix);
}

static bool parse_url(tv_slice text, tv_url *ret_url)
{
    const char *why;

    return tv_slice_is_printable(text) && tv_url_parse(text, ret_url, &why) &&
           tv_url_is_http(ret_url) && ret_url->user.data == NULL && ret_url->path.len > 0;
}

/* The port, empty without one; an IPv6 address has colons of its own. */
static tv_slice port_of(tv_slice host)
{
    size_t colon = host.len;

    while (colon > 0 && host.data[colon - 1] >= '0' && host.data[colon - 1] <= '9')
        colon--;
    return colon > 0 && host.data[colon - 1] == ':' ? tv_slice_skip(host, colon) : TV_LIT("");
}

/* What follows the account in a host "account.blob.…". */
static tv_slice domain_of(tv_slice host)
{
    size_t dot = tv_slice_find(host, '.');
    tv_slice domain = tv_slice_skip(host, dot);

    return starts_with_nocase(domain, TV_LIT(".blob.")) ? domain : TV_NONE;
}

/* Names that every machine has for itself. */
static bool is_loopback(tv_slice host)
{
    tv_slice port = port_of(host);
    tv_slice name = port.len ? tv_slice_take(host, host.len - port.len - 1) : host;

    return tv_slice_eq_nocase(name, TV_LIT("localhost")) || tv_slice_eq(name, TV_LIT("[::1]")) ||
           tv_slice_eq(name, TV_LIT("127.0.0.1"));
}

static bool is_in_cloud(tv_slice host, tv_slice account)
{
    return starts_with_nocase(host, account) &&
           tv_slice_eq_nocase(tv_slice_skip(host, account.len), TV_LIT(".blob.core.windows.net"));
}

bool tv_blob_is_same_server(tv_slice host, tv_slice called, tv_slice account)
{
    tv_slice domain = domain_of(host);

    if (tv_slice_eq_nocase(host, called) || is_in_cloud(host, account))
        return true;
    if (domain.data && tv_slice_eq_nocase(domain, domain_of(called)))
        return true;
    return is_loopback(host) && is_loopback(called) && tv_slice_eq(port_of(host), port_of(called));
}

static tv_err not_here(tv_blob_call *call)
{
    call->base.info.text = TV_LIT("The source of a copy must be a blob on this server.");
    return TV_ERR_COPY_SOURCE;
}

/* The URL as it was sent, without its credentials: of its query only the snapshot stays. */
static tv_slice url_to_keep(tv_arena *arena, tv_slice text, const tv_url *parts)
{
    tv_slice bare = tv_slice_take(text, (size_t)(parts->path.data - text.data) + parts->path.len);
    tv_slice rest = parts->query, part;

    while (tv_slice_next(&rest, '&', &part)) {
        if (starts_with_nocase(part, TV_LIT("snapshot=")))
            return tv_arena_printf(arena, "%.*s?%.*s", TV_FMT(bare), TV_FMT(part));
    }
    return bare;
}

/*
 * Make the request that reads the source, from what its URL says.  It came over
 * the connection of the copy, and so did a token in it, which counts as
 * encrypted only if both are.
 */
static tv_err parse_source(tv_blob_call *call, tv_slice text, tv_blob_copying *copying)
{
    tv_request *req = &copying->req;
    tv_call *source = &copying->source.base;
    tv_arena *arena = &req->arena;
    tv_parameters query;
    tv_url parts;
    tv_err err;

    if (text.len > URL_BYTES_MAX || !parse_url(text, &parts) ||
        !tv_parameters_parse(arena, parts.query, &query))
        return tv_call_bad_header(&call->base, TV_LIT("x-ms-copy-source"), text);
    if (!tv_blob_is_same_server(parts.place, call->base.req->host, call->base.endpoint.account))
        return not_here(call);

    bool is_https = tv_url_is(&parts, TV_LIT("https"));

    *req = (tv_request){.arena = req->arena,
                        .loop = call->base.req->loop,
                        .method = TV_METHOD_GET,
                        .method_text = TV_LIT("GET"),
                        .path = parts.path,
                        .query = query,
                        .host = parts.place,
                        .is_tls = is_https && call->base.req->is_tls,
                        .is_peer_loopback = call->base.req->is_peer_loopback};
    memcpy(req->peer, call->base.req->peer, sizeof req->peer);
    tv_call_init(source, call->base.service, req);
    err = tv_endpoint_parse(arena, TV_LIT("blob"), is_https, parts.place, parts.path,
                            &source->endpoint);
    if (!err)
        err = tv_blob_spec.read_path(source);
    if (!err)
        err = tv_call_choose(source);
    if (err || tv_call_kind(source) != TV_BLOB_OP_GET_BLOB)
        return not_here(call);

    copying->url = url_to_keep(arena, text, &parts);
    return TV_OK;
}

static bool is_public(const tv_blob_copying *copying, tv_arena *arena)
{
    tv_catalog *catalog = copying->source.base.service->catalog;
    tv_container_attributes attributes;

    return tv_container_attributes_decode(arena,
                                          tv_catalog_attributes(catalog, copying->container, arena),
                                          &attributes) == TV_OK &&
           tv_blob_is_public(copying->source.base.op, attributes.access);
}

/* Whether the copy itself is signed with a key of the account that the source is in. */
static bool has_key(const tv_blob_call *call, const tv_blob_copying *copying, tv_need need)
{
    need.sas = 0;
    need.is_public = false;
    return tv_slice_eq(copying->source.base.endpoint.account,
                       tv_identity_account(call->base.identity)) &&
           tv_identity_allows(call->base.identity, &need) == TV_OK;
}

/*
 * Clients look there to decide whether to try again.  The definitions of the
 * cloud service have it since then.
 */
tv_err tv_blob_source_failed(tv_blob_call *call, tv_err why, tv_err err)
{
    bool is_sync = tv_call_kind(&call->base) == TV_BLOB_OP_COPY_BLOB_FROM_URL;

    if (tv_blob_is_since(&call->args, is_sync ? TV_LIT("2024-08-04") : TV_LIT("2025-11-05")))
        call->base.info.source = why;
    return err;
}

static tv_err denied(tv_blob_call *call, tv_err why)
{
    call->base.info.text = tv_err_text(why);
    return tv_blob_source_failed(call, why, TV_ERR_COPY_SOURCE_DENIED);
}

/*
 * The credentials in the URL count.  When it has none, a copy that is signed
 * with a key may read everything of its account; every other one only what is
 * public, and none learns whether there is anything that is not.
 */
static tv_err check_source(tv_blob_call *call, tv_blob_copying *copying)
{
    tv_call *source = &copying->source.base;
    tv_need need = tv_call_need(source);
    tv_err err = tv_call_authenticate(source);

    need.is_public = copying->container && is_public(copying, &copying->req.arena);
    if (err == TV_ERR_NO_AUTHENTICATION) {
        if (has_key(call, copying, need))
            return TV_OK;
        err = tv_call_authenticate_anonymous(source);
    }
    if (err && err != TV_ERR_NO_AUTHENTICATION)
        return denied(call, err);

    if (!err)
        err = tv_identity_allows(source->identity, &need);
    if (err == TV_ERR_NO_AUTHENTICATION)
        return tv_blob_source_failed(call, err, TV_ERR_COPY_SOURCE_ANONYMOUS);
    return err ? denied(call, err) : TV_OK;
}

static tv_err read_lease(tv_blob_call *call, tv_blob_copying *copying)
{
    static const tv_slice header = {"x-ms-source-lease-id", 20};
    tv_slice text = tv_request_header(call->base.req, header);

    copying->has_lease_id = text.len > 0;
    if (text.len == 0 || tv_guid_parse_any(text, &copying->lease_id))
        return TV_OK;
    return tv_call_bad_header(&call->base, header, text);
}

tv_err tv_blob_find_source(tv_blob_call *call)
{
    tv_blob_copying *copying = tv_arena_zalloc(&call->base.req->arena, sizeof *copying);
    tv_slice text = tv_request_header(call->base.req, TV_LIT("x-ms-copy-source"));
    tv_err err;

    tv_arena_init(&copying->req.arena);
    call->transfer.copying = copying;
    err = parse_source(call, text, copying);
    if (err)
        return err;

    err = read_lease(call, copying);
    if (err)
        return err;

    const tv_call *source = &copying->source.base;

    copying->container =
        tv_call_look_for(&call->base, source->endpoint.account, source->target.container);
    err = check_source(call, copying);
    if (err)
        return err;
    if (copying->container == NULL)
        return tv_blob_source_failed(call, TV_ERR_CONTAINER_NOT_FOUND, TV_ERR_COPY_SOURCE);

    err = tv_key_blob(&copying->req.arena, copying->container->prefix, source->target.blob,
                      &copying->partition);
    return err ? TV_ERR_COPY_SOURCE : TV_OK;
}

void tv_blob_copying_done(tv_blob_copying *copying)
{
    if (copying == NULL)
        return;

    tv_container_unref(copying->container);
    tv_arena_done(&copying->req.arena);
}
