/* The four conditions of a change. */
#include "server/admin/guard.h"

#include "base/clock.h"
#include "model/auth/identity.h"

/* Stricter than for reads: no name without a dot either, and there must be one. */
static bool is_own_host(const tv_admin_guard *guard, tv_slice host)
{
    tv_slice name = tv_slice_take(host, tv_slice_find(host, ':'));

    return tv_host_is_local(host) ||
           (guard->name && tv_slice_eq_nocase(name, tv_slice_of(guard->name)));
}

/* Browsers send Origin with every POST; the port serves no page that could be its own, but a
 * proxy's page under the same name and port is not another origin. */
static bool is_own_origin(const tv_request *req)
{
    static const tv_slice scheme = {"http://", 7};
    tv_slice origin = tv_request_header(req, TV_LIT("Origin"));
    tv_slice site = tv_request_header(req, TV_LIT("Sec-Fetch-Site"));

    if (tv_request_header_repeats(req, TV_LIT("Origin")) > 1 ||
        tv_request_header_repeats(req, TV_LIT("Sec-Fetch-Site")) > 1)
        return false;
    if (site.data && !tv_slice_eq(site, TV_LIT("same-origin")) &&
        !tv_slice_eq(site, TV_LIT("none")))
        return false;
    return origin.data == NULL ||
           (tv_slice_starts_with(origin, scheme) &&
            tv_slice_eq_nocase(tv_slice_skip(origin, scheme.len), req->host));
}

static bool has_token(const tv_admin_guard *guard, const tv_request *req)
{
    static const tv_slice scheme = {"Bearer ", 7};
    tv_slice value = tv_request_header(req, TV_LIT("Authorization"));

    return tv_request_header_repeats(req, TV_LIT("Authorization")) == 1 && value.len > scheme.len &&
           tv_slice_eq_nocase(tv_slice_take(value, scheme.len), scheme) &&
           tv_admin_token_matches(guard->token, tv_slice_skip(value, scheme.len));
}

/*
 * Browsers send a cookie to every port of a host, and one that was set for a longer path first: a
 * server on another port can put one of this name before ours.  So all of that name are tried.
 */
tv_session_words tv_admin_guard_session_words(tv_sessions *sessions, const tv_request *req)
{
    tv_slice name = tv_slice_of(sessions->cookie);
    tv_slice rest = tv_request_header(req, TV_LIT("Cookie")), part;
    tv_session_words words = {TV_LIT(""), tv_request_header(req, TV_LIT("x-tavola-page"))};

    if (tv_request_header_repeats(req, TV_LIT("Cookie")) > 1)
        return words;
    while (rest.len && tv_slice_next(&rest, ';', &part)) {
        part = tv_slice_trim(part);
        if (!tv_slice_starts_with(part, name) || part.len == name.len || part.data[name.len] != '=')
            continue;
        words.cookie = tv_slice_skip(part, name.len + 1);
        if (tv_sessions_check(sessions, words, tv_clock_ticks()))
            return words;
    }
    words.cookie = TV_LIT("");
    return words;
}

static bool has_session(const tv_admin_guard *guard, const tv_request *req)
{
    return guard->sessions && tv_admin_guard_session_words(guard->sessions, req).cookie.len;
}

int tv_admin_guard_check_page(const tv_admin_guard *guard, const tv_request *req,
                              const char **reterr_why)
{
    if (!req->is_peer_loopback) {
        *reterr_why = "changes can be asked for on the server's own machine only";
        return 403;
    }
    if (!is_own_host(guard, req->host)) {
        *reterr_why = "this name is not served here; use an address, or --admin-name";
        return 403;
    }
    if (!is_own_origin(req)) {
        *reterr_why = "web pages of other origins cannot ask for changes";
        return 403;
    }
    return 0;
}

int tv_admin_guard_check(const tv_admin_guard *guard, const tv_request *req,
                         const char **reterr_why)
{
    int status = tv_admin_guard_check_page(guard, req, reterr_why);

    if (status)
        return status;
    if (!has_token(guard, req) && !has_session(guard, req)) {
        *reterr_why = "changes need Authorization: Bearer with the token in the file "
                      "admin.token of the data folder";
        return 401;
    }
    return 0;
}
