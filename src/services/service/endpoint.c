/* Hosts and first segments. */
#include "services/service/endpoint.h"

#include "base/slice.h"

static bool ignores_hosts;

void tv_endpoint_ignore_hosts(void)
{
    ignores_hosts = true;
}

/* The host is sent back in URLs, so it must be a valid one: nothing that needs escaping. */
static bool is_host(tv_slice host)
{
    for (size_t i = 0; i < host.len; i++) {
        char c = host.data[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  memchr(".-_:[]", c, 6);

        if (!ok)
            return false;
    }
    return host.len > 0;
}

/* The account of "account.table.domain"; TV_NONE in path style.  Hosts ignore case. */
static tv_slice account_of_host(tv_arena *arena, tv_slice service, tv_slice host)
{
    size_t dot = tv_slice_find(host, '.');
    tv_slice behind = dot < host.len ? tv_slice_skip(host, dot + 1) : TV_NONE;

    if (ignores_hosts || dot == 0 || behind.len <= service.len || behind.data[service.len] != '.' ||
        !tv_slice_eq_nocase(tv_slice_take(behind, service.len), service))
        return TV_NONE;

    char *account = tv_arena_bytes(arena, dot);

    for (size_t i = 0; i < dot; i++)
        account[i] = tv_ascii_lower(host.data[i]);
    return (tv_slice){account, dot};
}

/* The secondary of an account has a name of its own; account names have no dash. */
static void set_account(tv_endpoint *endpoint, tv_slice name)
{
    static const tv_slice suffix = {"-secondary", 10};

    endpoint->is_secondary =
        name.len > suffix.len && tv_slice_eq(tv_slice_skip(name, name.len - suffix.len), suffix);
    endpoint->account = tv_slice_take(name, name.len - (endpoint->is_secondary ? suffix.len : 0));
}

/* "http://host", and "/account" when that is in the path.  Every request needs one: no printf. */
static tv_slice make_url(tv_arena *arena, bool is_tls, tv_slice host, tv_slice account)
{
    tv_slice scheme = is_tls ? TV_LIT("https://") : TV_LIT("http://");
    char *url = tv_arena_bytes(arena, scheme.len + host.len + 1 + account.len);
    char *to = tv_slice_put(tv_slice_put(url, scheme), host);

    if (account.len)
        to = tv_slice_put(tv_slice_put(to, TV_LIT("/")), account);
    return (tv_slice){url, (size_t)(to - url)};
}

tv_err tv_endpoint_parse(tv_arena *arena, tv_slice service, bool is_tls, tv_slice host,
                         tv_slice path, tv_endpoint *ret_endpoint)
{
    tv_slice host_account;

    if (!is_host(host))
        return TV_ERR_INVALID_HEADER;

    host_account = account_of_host(arena, service, host);
    ret_endpoint->is_path_style = host_account.data == NULL;
    path = path.len && path.data[0] == '/' ? tv_slice_skip(path, 1) : path;
    if (host_account.data) {
        set_account(ret_endpoint, host_account);
        ret_endpoint->base_url = make_url(arena, is_tls, host, TV_NONE);
        ret_endpoint->rest = path;
        return TV_OK;
    }

    size_t slash = tv_slice_find(path, '/');
    tv_slice name = tv_slice_take(path, slash);

    if (slash == 0)
        return TV_ERR_INVALID_URI;

    set_account(ret_endpoint, name);
    ret_endpoint->base_url = make_url(arena, is_tls, host, name);
    ret_endpoint->rest = tv_slice_skip(path, slash < path.len ? slash + 1 : slash);
    return TV_OK;
}
