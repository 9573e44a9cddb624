/* The parser of endpoints' and proxies' URLs. */
#include "client/net/url.h"

#include "base/number.h"

enum { HOST_BYTES_MAX = 255, PORT_MAX = 65535 };

static bool fail(const char **reterr_why, const char *why)
{
    *reterr_why = why;
    return false;
}

static bool take_prefix(tv_slice *text, tv_slice prefix)
{
    if (text->len < prefix.len || !tv_slice_eq_nocase(tv_slice_take(*text, prefix.len), prefix))
        return false;
    *text = tv_slice_skip(*text, prefix.len);
    return true;
}

static bool is_name(tv_slice host)
{
    for (size_t i = 0; i < host.len; i++) {
        char c = tv_ascii_lower(host.data[i]);

        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_'))
            return false;
    }
    return host.len > 0 && host.len <= HOST_BYTES_MAX;
}

static bool is_ipv6(tv_slice host)
{
    for (size_t i = 0; i < host.len; i++) {
        char c = tv_ascii_lower(host.data[i]);

        if (!((c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.'))
            return false;
    }
    return host.len >= 2 && host.len <= HOST_BYTES_MAX;
}

/* "host", "host:port", "[address]:port". */
static bool parse_host(tv_slice text, tvc_url *url)
{
    tv_slice port = TV_NONE;
    uint64_t number;

    if (text.len && text.data[0] == '[') {
        size_t end = tv_slice_find(text, ']');

        if (end == text.len)
            return false;
        url->host = tv_slice_skip(tv_slice_take(text, end), 1);
        url->is_bracketed = true;
        text = tv_slice_skip(text, end + 1);
        if (text.len && text.data[0] != ':')
            return false;
        if (text.len)
            port = tv_slice_skip(text, 1);
    } else {
        size_t end = tv_slice_find(text, ':');

        url->host = tv_slice_take(text, end);
        if (end < text.len)
            port = tv_slice_skip(text, end + 1);
    }
    if (!(url->is_bracketed ? is_ipv6(url->host) : is_name(url->host)))
        return false;
    if (port.data == NULL)
        return true;
    if (!tv_parse_uint64(port, &number) || number == 0 || number > PORT_MAX)
        return false;
    url->port = (uint16_t)number;
    return true;
}

bool tvc_url_parse(tv_slice text, tvc_url *ret_url, const char **reterr_why)
{
    tvc_url url = {0};

    if (take_prefix(&text, TV_LIT("https://")))
        url.is_https = true;
    else if (!take_prefix(&text, TV_LIT("http://")))
        return fail(reterr_why, "it does not begin with http:// or https://");

    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] <= ' ' || text.data[i] >= 0x7f)
            return fail(reterr_why, "it has blanks or characters beyond ASCII");
        if (text.data[i] == '?' || text.data[i] == '#')
            return fail(reterr_why, "it has a query or a fragment");
    }

    size_t slash = tv_slice_find(text, '/');
    tv_slice authority = tv_slice_take(text, slash);

    url.path = tv_slice_skip(text, slash);
    while (url.path.len && url.path.data[url.path.len - 1] == '/')
        url.path.len--;
    for (size_t i = authority.len; i > 0; i--) {
        if (authority.data[i - 1] == '@') {
            url.user = tv_slice_take(authority, i - 1);
            authority = tv_slice_skip(authority, i);
            break;
        }
    }
    if (!parse_host(authority, &url))
        return fail(reterr_why, "its host or port is not valid");

    *ret_url = url;
    return true;
}
