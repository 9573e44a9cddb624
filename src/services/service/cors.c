/* Rules for the pages of other sites, matched and answered. */
#include "services/service/cors.h"

#include "services/service/endpoint.h"

/* A request with more headers would not be read, so one that asks for more needs no permission. */
enum { ASKED_HEADERS_MAX = 256 };

/* --- matching --- */

static bool list_has(tv_slice list, tv_slice wanted)
{
    tv_slice item;

    while (tv_slice_next(&list, ',', &item)) {
        if (tv_slice_eq(item, wanted))
            return true;
    }
    return false;
}

/*
 * Whether an item with "*." after its scheme matches an origin: one that has
 * the same scheme, end and port, and between them a name of one label or more.
 */
static bool is_subdomain(tv_slice item, tv_slice origin)
{
    size_t star = tv_slice_find(item, '*');

    if (star + 1 >= item.len || item.data[star + 1] != '.' || star < 3 ||
        memcmp(item.data + star - 3, "://", 3) != 0)
        return false;

    tv_slice end = tv_slice_skip(item, star + 1);

    if (origin.len <= star + end.len ||
        !tv_slice_eq(tv_slice_take(origin, star), tv_slice_take(item, star)) ||
        !tv_slice_eq(tv_slice_skip(origin, origin.len - end.len), end))
        return false;

    for (size_t i = star; i < origin.len - end.len; i++) {
        char c = tv_ascii_lower(origin.data[i]);

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && !memchr("-_.", c, 3))
            return false;
    }
    return true;
}

static bool list_has_origin(tv_slice list, tv_slice origin)
{
    tv_slice item;

    while (tv_slice_next(&list, ',', &item)) {
        if (tv_slice_eq(item, origin) || is_subdomain(item, origin))
            return true;
    }
    return false;
}

static bool is_prefix(tv_slice item)
{
    return item.len && item.data[item.len - 1] == '*';
}

/* Names of headers ignore case. */
static bool header_fits(tv_slice item, tv_slice header)
{
    if (!is_prefix(item))
        return tv_slice_eq_nocase(item, header);

    size_t len = item.len - 1;

    return header.len >= len &&
           tv_slice_eq_nocase(tv_slice_take(header, len), tv_slice_take(item, len));
}

static bool list_has_header(tv_slice list, tv_slice header)
{
    tv_slice item;

    while (tv_slice_next(&list, ',', &item)) {
        if (header_fits(item, header))
            return true;
    }
    return false;
}

/* A preflight is not signed, so its list is followed only up to a limit. */
static bool allows_headers(tv_slice allowed, tv_slice headers)
{
    tv_slice header;
    int count = 0;

    while (tv_slice_next(&headers, ',', &header)) {
        if (++count > ASKED_HEADERS_MAX)
            return false;
        header = tv_slice_trim(header);
        if (header.len && !list_has_header(allowed, header))
            return false;
    }
    return true;
}

static tv_cors_fit match_rule(const tv_cors_rule *rule, tv_slice origin, tv_slice method,
                              tv_slice headers)
{
    if (!list_has(rule->methods, method) || !allows_headers(rule->allowed_headers, headers))
        return TV_CORS_NO_FIT;
    if (list_has(rule->origins, TV_LIT("*")))
        return TV_CORS_ANY_ORIGIN;
    return origin.len && list_has_origin(rule->origins, origin) ? TV_CORS_ORIGIN : TV_CORS_NO_FIT;
}

tv_cors_fit tv_cors_match(const tv_cors_settings *cors, tv_slice origin, tv_slice method,
                          tv_slice headers, const tv_cors_rule **ret_rule)
{
    for (size_t i = 0; i < cors->count; i++) {
        tv_cors_fit fit = match_rule(&cors->rules[i], origin, method, headers);

        if (fit != TV_CORS_NO_FIT) {
            *ret_rule = &cors->rules[i];
            return fit;
        }
    }
    return TV_CORS_NO_FIT;
}

static void add_item(tv_buf *buf, tv_slice item)
{
    if (buf->len)
        tv_buf_add_char(buf, ',');
    tv_buf_add(buf, item);
}

/* The header of a line, if its beginning is exposed and its name is not listed already. */
static void add_if_prefixed(tv_buf *buf, tv_slice list, tv_slice header)
{
    bool fits = false;
    tv_slice item;

    while (tv_slice_next(&list, ',', &item)) {
        if (!is_prefix(item) && tv_slice_eq_nocase(item, header))
            return;
        fits = fits || (is_prefix(item) && header_fits(item, header));
    }
    if (fits)
        add_item(buf, header);
}

void tv_cors_add_exposed(tv_buf *buf, const tv_cors_rule *rule, tv_slice head)
{
    tv_slice list = rule->exposed_headers;
    tv_slice item, line;

    while (tv_slice_next(&list, ',', &item)) {
        if (item.len && !is_prefix(item))
            add_item(buf, item);
    }
    for (bool is_first = true; tv_slice_next(&head, '\n', &line); is_first = false) {
        size_t colon = tv_slice_find(line, ':');

        if (!is_first && colon < line.len)
            add_if_prefixed(buf, rule->exposed_headers, tv_slice_take(line, colon));
    }
}

/* --- preflights --- */

/*
 * The account's properties, NULL without any; the URL names it, because the
 * request may be unsigned.
 */
static tv_shared_settings *find_rules(tv_catalog *catalog, tv_service_kind service, tv_request *req)
{
    tv_endpoint endpoint;

    if (!tv_catalog_has_cors(catalog) ||
        tv_endpoint_parse(&req->arena, tv_service_kind_name(service), req->is_tls, req->host,
                          req->path, &endpoint))
        return NULL;
    return tv_catalog_settings(catalog, endpoint.account);
}

static tv_err match_preflight(const tv_request *req, const tv_shared_settings *shared,
                              tv_cors_grant *ret_grant)
{
    const tv_cors_rule *rule;
    tv_cors_grant grant = {
        .origin = tv_request_header(req, TV_LIT("origin")),
        .method = tv_request_header(req, TV_LIT("access-control-request-method")),
        .headers = tv_request_header(req, TV_LIT("access-control-request-headers")),
    };

    if (grant.origin.len == 0 || grant.method.len == 0)
        return TV_ERR_CORS_HEADER;
    if (shared == NULL || !tv_slice_is_printable(grant.origin) ||
        !tv_slice_is_printable(grant.headers) ||
        tv_cors_match(&shared->settings.cors, grant.origin, grant.method, grant.headers, &rule) ==
            TV_CORS_NO_FIT)
        return TV_ERR_CORS_PREFLIGHT;

    grant.max_age_seconds = rule->max_age_seconds;
    *ret_grant = grant;
    return TV_OK;
}

tv_err tv_cors_preflight(tv_catalog *catalog, tv_service_kind service, tv_request *req,
                         tv_cors_grant *ret_grant)
{
    tv_shared_settings *shared = find_rules(catalog, service, req);
    tv_err err = match_preflight(req, shared, ret_grant);

    tv_shared_settings_unref(shared);
    return err;
}

void tv_cors_add_grant(tv_request *req, const tv_cors_grant *grant)
{
    tv_response_header(req, TV_LIT("Access-Control-Allow-Origin"), grant->origin);
    tv_response_header(req, TV_LIT("Access-Control-Allow-Methods"), grant->method);
    if (grant->headers.len)
        tv_response_header(req, TV_LIT("Access-Control-Allow-Headers"), grant->headers);
    tv_response_header(req, TV_LIT("Access-Control-Max-Age"),
                       tv_arena_printf(&req->arena, "%d", (int)grant->max_age_seconds));
    tv_response_header(req, TV_LIT("Access-Control-Allow-Credentials"), TV_LIT("true"));
}

/* --- pages of other sites, where every page can sign --- */

/* "http://127.0.0.1:10002" when that is what the client called. */
static bool is_own_origin(const tv_request *req, tv_slice origin)
{
    tv_slice scheme = req->is_tls ? TV_LIT("https://") : TV_LIT("http://");

    return tv_slice_starts_with(origin, scheme) &&
           tv_slice_eq_nocase(tv_slice_skip(origin, scheme.len), req->host);
}

/*
 * Whether it may be an image or a link of any page, for which browsers send no Origin; and
 * Sec-Fetch-Site they send over http only to what is surely this machine, so not to 0.0.0.0,
 * which leads here as well.  All browsers call themselves Mozilla, and none lets a page add
 * one of these headers without an Origin.
 */
static bool is_from_silent_browser(const tv_request *req)
{
    return req->method == TV_METHOD_GET &&
           tv_slice_starts_with(tv_request_header(req, TV_LIT("user-agent")), TV_LIT("Mozilla/")) &&
           !tv_request_header(req, TV_LIT("authorization")).data &&
           !tv_request_header(req, TV_LIT("x-ms-version")).data;
}

/* Whether a browser sends the request for a page of another origin, or does not say for which. */
static bool is_from_elsewhere(const tv_request *req, tv_slice origin)
{
    tv_slice site = tv_request_header(req, TV_LIT("sec-fetch-site"));

    /*
     * No page can make a browser say that.  The origin may be another all the same: that of a
     * web application that passes requests on to this server.
     */
    if (tv_slice_eq(site, TV_LIT("same-origin")))
        return false;
    /*
     * Another port of the same machine is the same site; and an address that a
     * person types is of no other site.
     */
    if (site.len && !tv_slice_eq(site, TV_LIT("none")))
        return true;
    if (origin.len)
        return !is_own_origin(req, origin);
    return site.len == 0 && is_from_silent_browser(req);
}

static bool is_allowed(tv_catalog *catalog, tv_service_kind service, tv_request *req,
                       tv_slice origin)
{
    tv_shared_settings *shared = find_rules(catalog, service, req);
    const tv_cors_rule *rule;
    bool fits = shared && origin.len && tv_slice_is_printable(origin) &&
                tv_cors_match(&shared->settings.cors, origin, req->method_text, TV_NONE, &rule) !=
                    TV_CORS_NO_FIT;

    tv_shared_settings_unref(shared);
    return fits;
}

tv_err tv_cors_check_page(tv_catalog *catalog, tv_service_kind service, const tv_identity *identity,
                          tv_request *req, tv_error_info *reterr_info)
{
    tv_slice origin = tv_request_header(req, TV_LIT("origin"));

    if (!tv_identity_is_development(identity) || !is_from_elsewhere(req, origin) ||
        is_allowed(catalog, service, req, origin))
        return TV_OK;

    reterr_info->reason = tv_arena_printf(
        &req->arena,
        "The key of this account is known to everybody, so any web page could have signed the "
        "request. To let the pages of an origin in, set a CORS rule for it and the method %.*s in "
        "the properties of the %.*s service; or use an account with a key of its own.",
        TV_FMT(tv_method_text(req->method)), TV_FMT(tv_service_kind_name(service)));
    return TV_ERR_CROSS_SITE;
}

/* --- other requests --- */

static void expose_headers(tv_request *req, const tv_cors_rule *rule)
{
    tv_buf names = TV_BUF_EMPTY;

    tv_cors_add_exposed(&names, rule, tv_buf_slice(&req->head));
    /* The HTTP layer adds this one when it sends the head. */
    add_if_prefixed(&names, rule->exposed_headers, TV_LIT("Content-Length"));
    if (names.len)
        tv_response_header(req, TV_LIT("Access-Control-Expose-Headers"), tv_buf_slice(&names));
    tv_buf_done(&names);
}

/*
 * A cache must know that the answer depends on the origin, even when this
 * request did not name one; unless it is the same for all.
 */
void tv_cors_add_headers(tv_catalog *catalog, tv_service_kind service, tv_request *req)
{
    bool is_read = req->method == TV_METHOD_GET || req->method == TV_METHOD_HEAD;
    tv_slice origin = tv_request_header(req, TV_LIT("origin"));
    tv_shared_settings *shared;
    const tv_cors_rule *rule;
    tv_cors_fit fit;

    if (origin.len == 0 && !is_read)
        return;
    shared = find_rules(catalog, service, req);
    if (shared == NULL || shared->settings.cors.count == 0) {
        tv_shared_settings_unref(shared);
        return;
    }

    fit = tv_cors_match(&shared->settings.cors, tv_slice_is_printable(origin) ? origin : TV_NONE,
                        req->method_text, TV_NONE, &rule);
    if (fit == TV_CORS_ANY_ORIGIN) {
        tv_response_header(req, TV_LIT("Access-Control-Allow-Origin"), TV_LIT("*"));
    } else if (fit == TV_CORS_ORIGIN) {
        tv_response_header(req, TV_LIT("Access-Control-Allow-Origin"), origin);
        tv_response_header(req, TV_LIT("Access-Control-Allow-Credentials"), TV_LIT("true"));
    }
    if (fit != TV_CORS_NO_FIT)
        expose_headers(req, rule);
    if (fit != TV_CORS_ANY_ORIGIN && is_read)
        tv_response_header(req, TV_LIT("Vary"), TV_LIT("Origin"));
    tv_shared_settings_unref(shared);
}
