/* The choice of a proxy. */
#include "client/net/proxy.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#include "base/chars.h"
#include "base/number.h"
#include "client/text.h"

enum { HTTP_PORT = 80, SOCKS_PORT = 1080, ADDRESS_TEXT_MAX = 64, LOGIN_PART_MAX = 255 };

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

static bool is_loopback(tv_slice host)
{
    static const unsigned char v6[16] = {[15] = 1};
    unsigned char address[16];
    size_t len = parse_address(host, address);

    if (len == 0)
        return names_host(TV_LIT("localhost"), host);
    return len == 4 ? address[0] == 127 : memcmp(address, v6, sizeof v6) == 0;
}

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

    if (is_loopback(url->host))
        return NULL;

    const char *proxy = tv_url_is(url, TV_LIT("https")) ? environment("https_proxy", "HTTPS_PROXY")
                                                        : environment("http_proxy", NULL);

    if (proxy == NULL)
        proxy = environment("all_proxy", "ALL_PROXY");
    if (proxy && no_proxy && tvc_proxy_is_excepted(tv_slice_of(no_proxy), url->host))
        proxy = NULL;
    return proxy;
}

/* Percent-decoded; a '%' that nothing valid follows is one. */
static void add_decoded(tvc_text *text, tv_slice encoded)
{
    for (size_t i = 0; i < encoded.len; i++) {
        char c = encoded.data[i];

        if (c == '%' && i + 2 < encoded.len && tv_is_hex(encoded.data[i + 1]) &&
            tv_is_hex(encoded.data[i + 2])) {
            c = (char)(tv_hex_value(encoded.data[i + 1]) * 16 + tv_hex_value(encoded.data[i + 2]));
            i += 2;
        }
        tvc_text_add_char(text, c);
    }
}

/* The header for "user:password". */
static char *make_authorization(tv_slice user)
{
    tvc_text plain = {0}, header = {0};

    add_decoded(&plain, user);
    if (tv_slice_find(user, ':') == user.len)
        tvc_text_add_char(&plain, ':');
    tvc_text_add_lit(&header, "Proxy-Authorization: Basic ");
    tvc_text_add_base64(&header, tvc_text_slice(&plain));
    tvc_text_add_lit(&header, "\r\n");
    header.has_failed |= plain.has_failed;
    tvc_release_secret(tvc_text_take(&plain));
    return tvc_text_take(&header);
}

/* Append a part of a login with its length before it; false when it is too long for that. */
static bool add_login_part(tvc_text *login, tv_slice encoded)
{
    size_t at = login->buf.len;

    tvc_text_add_char(login, 0);
    add_decoded(login, encoded);
    if (login->has_failed)
        return true;

    size_t len = login->buf.len - at - 1;

    login->buf.data[at] = (char)len;
    return len <= LOGIN_PART_MAX;
}

/* The message with user and password: RFC 1929. */
static tavola_err make_login(tv_slice user, tvc_proxy *proxy, const char **reterr_why)
{
    size_t colon = tv_slice_find(user, ':');
    tv_slice password = tv_slice_skip(user, colon < user.len ? colon + 1 : colon);
    tvc_text login = {0};
    tavola_err err = TAVOLA_OK;

    tvc_text_add_char(&login, 1);
    if (!add_login_part(&login, tv_slice_take(user, colon)) || !add_login_part(&login, password)) {
        *reterr_why = "the user or password of its proxy is too long";
        err = TAVOLA_ERR_INVALID;
    }
    proxy->login_len = login.buf.len;
    proxy->login = tvc_text_take(&login);
    return err || proxy->login ? err : TAVOLA_ERR_NO_MEMORY;
}

static bool has_scheme(tv_slice text)
{
    for (size_t i = 0; i + 2 < text.len; i++) {
        if (text.data[i] == ':' && text.data[i + 1] == '/' && text.data[i + 2] == '/')
            return true;
    }
    return false;
}

static bool is_socks(const tv_url *url)
{
    /* The last is what desktops write into all_proxy, without saying which version they mean. */
    return tv_url_is(url, TV_LIT("socks5")) || tv_url_is(url, TV_LIT("socks5h")) ||
           tv_url_is(url, TV_LIT("socks"));
}

/* "http://user:password@host:port/"; the scheme may be missing. */
static bool parse(const char *text, tvc_text *whole, tv_url *ret_url)
{
    const char *why;

    if (!has_scheme(tv_slice_of(text)))
        tvc_text_add_lit(whole, "http://");
    tvc_text_add(whole, tv_slice_of(text));
    return whole->has_failed || (tv_url_parse(tvc_text_slice(whole), ret_url, &why) &&
                                 (tv_url_is(ret_url, TV_LIT("http")) || is_socks(ret_url)));
}

static tavola_err fill(const tv_url *url, tvc_proxy *proxy, const char **reterr_why)
{
    tavola_err err = TAVOLA_OK;

    *reterr_why = "no memory";
    proxy->is_socks = is_socks(url);
    proxy->port = url->port ? url->port : proxy->is_socks ? SOCKS_PORT : HTTP_PORT;
    proxy->host = tvc_dup(url->host);
    if (url->user.data && proxy->is_socks)
        err = make_login(url->user, proxy, reterr_why);
    else if (url->user.data && (proxy->authorization = make_authorization(url->user)) == NULL)
        err = TAVOLA_ERR_NO_MEMORY;
    return err || proxy->host ? err : TAVOLA_ERR_NO_MEMORY;
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
        *reterr_why = "its proxy is not \"http://host:port\" or \"socks5://host:port\"";
        err = TAVOLA_ERR_INVALID;
    } else if (!whole.has_failed) {
        err = fill(&parts, &proxy, reterr_why);
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
    if (proxy->login)
        OPENSSL_cleanse(proxy->login, proxy->login_len);
    tvc_release(proxy->login);
    *proxy = (tvc_proxy){0};
}
