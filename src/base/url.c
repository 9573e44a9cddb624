/* The parser of URLs. */
#include "base/url.h"

#include "base/chars.h"
#include "base/number.h"

enum { HOST_BYTES_MAX = 255, PORT_MAX = 65535 };

static bool is_letter(char c)
{
    return tv_is_lower(tv_ascii_lower(c));
}

/* Cut off "scheme://". */
static bool take_scheme(tv_slice *text, tv_slice *ret_scheme)
{
    size_t colon = tv_slice_find(*text, ':');
    tv_slice scheme = tv_slice_take(*text, colon);

    for (size_t i = 0; i < scheme.len; i++) {
        char c = scheme.data[i];

        if (!is_letter(c) && (i == 0 || !(tv_is_digit(c) || c == '+' || c == '-' || c == '.')))
            return false;
    }
    *text = tv_slice_skip(*text, colon);
    if (scheme.len == 0 || !tv_slice_starts_with(*text, TV_LIT("://")))
        return false;
    *text = tv_slice_skip(*text, 3);
    *ret_scheme = scheme;
    return true;
}

static bool is_name(tv_slice host)
{
    for (size_t i = 0; i < host.len; i++) {
        char c = host.data[i];

        if (!is_letter(c) && !tv_is_digit(c) && c != '-' && c != '.' && c != '_')
            return false;
    }
    return host.len > 0 && host.len <= HOST_BYTES_MAX;
}

static bool is_ipv6(tv_slice host)
{
    for (size_t i = 0; i < host.len; i++) {
        char c = host.data[i];

        if (!tv_is_hex(c) && c != ':' && c != '.')
            return false;
    }
    return tv_slice_find(host, ':') < host.len && host.len <= HOST_BYTES_MAX;
}

/* "host", "host:port", "[address]:port". */
static bool parse_place(tv_slice text, tv_url *url)
{
    uint64_t port;

    url->place = text;
    url->is_bracketed = text.len && text.data[0] == '[';
    if (url->is_bracketed) {
        size_t end = tv_slice_find(text, ']');

        if (end == text.len)
            return false;
        url->host = tv_slice_skip(tv_slice_take(text, end), 1);
        text = tv_slice_skip(text, end + 1);
        if (!is_ipv6(url->host))
            return false;
    } else {
        url->host = tv_slice_take(text, tv_slice_find(text, ':'));
        text = tv_slice_skip(text, url->host.len);
        if (!is_name(url->host))
            return false;
    }
    if (text.len == 0)
        return true;
    if (text.data[0] != ':' || !tv_parse_uint64(tv_slice_skip(text, 1), &port) || port == 0 ||
        port > PORT_MAX)
        return false;
    url->port = (uint16_t)port;
    return true;
}

/* Where the place ends: at the path, or at the query of a URL without one. */
static size_t find_end_of_place(tv_slice text)
{
    size_t slash = tv_slice_find(text, '/'), question = tv_slice_find(text, '?');

    return slash < question ? slash : question;
}

bool tv_url_parse(tv_slice text, tv_url *ret_url, const char **reterr_why)
{
    tv_url url = {0};

    *reterr_why = "it does not begin with http:// or https://";
    if (!take_scheme(&text, &url.scheme))
        return false;

    size_t end = find_end_of_place(text);
    tv_slice authority = tv_slice_take(text, end);

    url.path = tv_slice_skip(text, end);
    end = tv_slice_find(url.path, '?');
    if (end < url.path.len)
        url.query = tv_slice_skip(url.path, end + 1);
    url.path = tv_slice_take(url.path, end);
    for (size_t i = authority.len; i > 0; i--) {
        if (authority.data[i - 1] == '@') {
            url.user = tv_slice_take(authority, i - 1);
            authority = tv_slice_skip(authority, i);
            break;
        }
    }
    *reterr_why = "its host or port is not valid";
    if (!parse_place(authority, &url))
        return false;

    *ret_url = url;
    return true;
}
