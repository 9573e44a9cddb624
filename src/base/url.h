/*
 * Absolute URLs, taken apart: "scheme://user@host:port/path?query".  The one parser of them: for
 * what a client connects to, for the target of a request and for headers that name a place.
 */
#ifndef TV_BASE_URL_H
#define TV_BASE_URL_H

#include <stdint.h>

#include "base/slice.h"

/** Slices of the text that was parsed. */
typedef struct tv_url {
    tv_slice scheme;   /* without "://" */
    tv_slice user;     /* "user:password" before an '@', percent-encoded; TV_NONE without one */
    tv_slice place;    /* host and port as they are written, as in the header Host */
    tv_slice host;     /* a name or an address; without brackets */
    bool is_bracketed; /* an IPv6 address */
    uint16_t port;     /* 0: none given */
    tv_slice path;     /* from its '/' on, or empty; percent-encoded */
    tv_slice query;    /* after the '?'; TV_NONE without one */
} tv_url;

/**
 * False with one static line in *reterr_why when scheme, host or port is not valid.  What user,
 * path and query may hold is for the caller to say; a '#' is a byte of them, since requests have no
 * fragment.
 */
bool tv_url_parse(tv_slice text, tv_url *ret_url, const char **reterr_why);

/** Whether it has this scheme, in any case. */
static inline bool tv_url_is(const tv_url *url, tv_slice scheme)
{
    return tv_slice_eq_nocase(url->scheme, scheme);
}

static inline bool tv_url_is_http(const tv_url *url)
{
    return tv_url_is(url, TV_LIT("http")) || tv_url_is(url, TV_LIT("https"));
}

/**
 * Whether a text can stand in the target of a request as it is: visible ASCII, so that it ends
 * neither a word nor a line, and no '#', which would end what is sent.
 */
static inline bool tv_url_is_visible(tv_slice text)
{
    return tv_slice_is_printable(text) && tv_slice_find(text, ' ') == text.len &&
           tv_slice_find(text, '#') == text.len;
}

/** The host with its brackets, if it has some. */
static inline tv_slice tv_url_written_host(const tv_url *url)
{
    return tv_slice_take(url->place, url->host.len + (url->is_bracketed ? 2 : 0));
}

/** The path as others can be put after it: without '/' at its end. */
static inline tv_slice tv_url_base_path(const tv_url *url)
{
    tv_slice path = url->path;

    while (path.len && path.data[path.len - 1] == '/')
        path.len--;
    return path;
}

#endif
