/* The choice of a proxy. */
#include "client/net/proxy.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "base/number.h"
#include "client/text.h"

enum { PROXY_PORT = 80, ADDRESS_TEXT_MAX = 64 };

/* ---- no_proxy ---- */

/* An address as bytes; how many, 0 when it is not one. */
static size_t parse_address(tv_slice text, unsigned char ret_bytes[16])
{
    char copy[ADDRESS_TEXT_MAX];

    if (text.len >= 2 && text.data[0] == '[' && text.data[text.len - 1] == ']')
        text = tv_slice_take(tv_slice_skip(text, 1), text.len - 2);
    if (text.len >= sizeof copy)
        return 0;
    *tv_slice_put(copy, text) = '\0';
    if (inet_pton(AF_INET, copy, ret_bytes) == 1)
        return 4;
    return inet_pton(AF_INET6, copy, ret_bytes) == 1 ? 16 : 0;
}

static bool has_same_bits(const unsigned char *a, const unsigned char *b, size_t bit_count)
{
    size_t bytes = bit_count / 8, rest = bit_count % 8;

    return memcmp(a, b, bytes) == 0 && (rest == 0 || (a[bytes] ^ b[bytes]) >> (8 - rest) == 0);
}

/* "10.0.0.1" or "10.0.0.0/8". */
static bool names_address(tv_slice item, const unsigned char *address, size_t len)
{
    unsigned char other[16];
    size_t slash = tv_slice_find(item, '/');
    uint64_t bits = len * 8;

    if (slash < item.len &&
        (!tv_parse_uint64(tv_slice_skip(item, slash + 1), &bits) || bits > len * 8))
        return false;
    return parse_address(tv_slice_take(item, slash), other) == len &&
           has_same_bits(address, other, (size_t)bits);
}

static tv_slice without_last_dot(tv_slice name)
{
    return name.len && name.data[name.len - 1] == '.' ? tv_slice_take(name, name.len - 1) : name;
}

/* "example.com" and ".example.com" name that host and all below it. */
static bool names_host(tv_slice item, tv_slice host)
{
    item = without_last_dot(item);
    host = without_last_dot(host);
    if (item.len && item.data[0] == '.')
        item = tv_slice_skip(item, 1);
    if (item.len == 0 || item.len > host.len)
        return false;

    size_t before = host.len - item.len;

    return tv_slice_eq_nocase(tv_slice_skip(host, before), item) &&
           (before == 0 || host.data[before - 1] == '.');
}

/* Cut the next item off: they are parted by commas and blanks. */
static bool next_item(tv_slice *rest, tv_slice *ret_item)
{
    size_t start = 0, end;

    while (start < rest->len && (rest->data[start] == ',' || rest->data[start] == ' '))
        start++;
    end = start;
    while (end < rest->len && rest->data[end] != ',' && rest->data[end] != ' ')
        end++;
    *ret_item = tv_slice_skip(tv_slice_take(*rest, end), start);
    *rest = tv_slice_skip(*rest, end);
    return ret_item->len > 0;
}

bool tvc_proxy_is_excepted(tv_slice no_proxy, tv_slice host)
{
    unsigned char address[16];
    size_t address_len = parse_address(host, address);
    tv_slice item;

    while (next_item(&no_proxy, &item)) {
        if (tv_slice_eq(item, TV_LIT("*")))
            return true;
        if (address_len ? names_address(item, address, address_len) : names_host(item, host))
            return true;
    }
    return false;
}

/* ---- the choice ---- */

static const char *environment(const char *name, const char *other)
{
    const char *value = getenv(name);

    if ((value == NULL || *value == '\0') && other)
        value = getenv(other);
    return value && *value ? value : NULL;
}

static const char *choose_by_environment(const tv_url *url)
{
    const char *no_proxy = environment("no_proxy", "NO_PROXY");
    const char *proxy = tv_url_is(url, TV_LIT("https")) ? environment("https_proxy", "HTTPS_PROXY")
                                                        : environment("http_proxy", NULL);

    if (proxy == NULL)
        proxy = environment("all_proxy", "ALL_PROXY");
    if (proxy && no_proxy && tvc_proxy_is_excepted(tv_slice_of(no_proxy), url->host))
        proxy = NULL;
    return proxy;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = tv_ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The header for "user:password", which are percent-encoded in a URL. */
static char *make_authorization(tv_slice user)
{
    tvc_text plain = {0}, header = {0};

    for (size_t i = 0; i < user.len; i++) {
        char c = user.data[i];

        if (c == '%' && i + 2 < user.len && hex_value(user.data[i + 1]) >= 0 &&
            hex_value(user.data[i + 2]) >= 0) {
            c = (char)(hex_value(user.data[i + 1]) * 16 + hex_value(user.data[i + 2]));
            i += 2;
        }
        tvc_text_add_char(&plain, c);
    }
    if (tv_slice_find(user, ':') == user.len)
        tvc_text_add_char(&plain, ':');
    tvc_text_add_lit(&header, "Proxy-Authorization: Basic ");
    tvc_text_add_base64(&header, tvc_text_slice(&plain));
    tvc_text_add_lit(&header, "\r\n");
    header.has_failed |= plain.has_failed;
    tvc_release_secret(tvc_text_take(&plain));
    return tvc_text_take(&header);
}

static bool has_scheme(tv_slice text)
{
    for (size_t i = 0; i + 2 < text.len; i++) {
        if (text.data[i] == ':' && text.data[i + 1] == '/' && text.data[i + 2] == '/')
            return true;
    }
    return false;
}

/* "http://user:password@host:port/"; the scheme may be missing. */
static bool parse(const char *text, tvc_text *whole, tv_url *ret_url)
{
    const char *why;

    if (!has_scheme(tv_slice_of(text)))
        tvc_text_add_lit(whole, "http://");
    tvc_text_add(whole, tv_slice_of(text));
    return whole->has_failed || (tv_url_parse(tvc_text_slice(whole), ret_url, &why) &&
                                 tv_url_is(ret_url, TV_LIT("http")));
}

tavola_err tvc_proxy_choose(const tv_url *url, const char *option, tvc_proxy *ret_proxy,
                            const char **reterr_why)
{
    const char *chosen = option ? option : choose_by_environment(url);
    tvc_proxy proxy = {0};
    tvc_text whole = {0};
    tv_url parts = {0};
    tavola_err err = TAVOLA_ERR_NO_MEMORY;

    if (chosen == NULL || *chosen == '\0') {
        *ret_proxy = proxy;
        return TAVOLA_OK;
    }

    *reterr_why = "no memory";
    if (!parse(chosen, &whole, &parts)) {
        *reterr_why = "its proxy is not \"http://host:port\"";
        err = TAVOLA_ERR_INVALID;
    } else if (!whole.has_failed) {
        proxy.port = parts.port ? parts.port : PROXY_PORT;
        proxy.host = tvc_dup(parts.host);
        if (parts.user.data)
            proxy.authorization = make_authorization(parts.user);
        if (proxy.host && (proxy.authorization || parts.user.data == NULL))
            err = TAVOLA_OK;
    }
    tvc_release_secret(tvc_text_take(&whole));
    if (err)
        tvc_proxy_done(&proxy);
    else
        *ret_proxy = proxy;
    return err;
}

void tvc_proxy_done(tvc_proxy *proxy)
{
    tvc_release(proxy->host);
    tvc_release_secret(proxy->authorization);
    *proxy = (tvc_proxy){0};
}
