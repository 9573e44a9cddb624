/* Endpoints: made of URLs. */
#include "client/net/endpoint.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/url.h"
#include "client/net/endpoint_private.h"
#include "client/text.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443 };

static char *make_host_header(const tv_url *url, uint16_t default_port)
{
    tvc_text text = {0};

    tvc_text_add(&text, tv_url_written_host(url));
    if (url->port && url->port != default_port) {
        tvc_text_add_char(&text, ':');
        tvc_text_add_int64(&text, url->port);
    }
    return tvc_text_take(&text);
}

/* An http or https URL, all of which can be part of a request. */
static bool parse(const char *text, tv_url *ret_url, const char **reterr_why)
{
    if (!tv_url_parse(tv_slice_of(text), ret_url, reterr_why))
        return false;
    if (!tv_url_is_http(ret_url))
        *reterr_why = "it does not begin with http:// or https://";
    else if (ret_url->user.data)
        *reterr_why = "it has a user or password";
    else if (ret_url->query.data)
        *reterr_why = "it has a query";
    else if (!tv_url_is_visible(ret_url->path))
        *reterr_why = "it has a fragment, blanks or characters beyond ASCII";
    else
        return true;
    return false;
}

static tavola_err fill(tvc_endpoint *endpoint, const tv_url *url, const tvc_net_options *options,
                       const char **reterr_why)
{
    tavola_err err = tvc_proxy_choose(url, options->proxy, &endpoint->proxy, reterr_why);

    if (err)
        return err;

    *reterr_why = "no memory";
    endpoint->is_https = tv_url_is(url, TV_LIT("https"));

    uint16_t default_port = endpoint->is_https ? HTTPS_PORT : HTTP_PORT;

    endpoint->port = url->port ? url->port : default_port;
    endpoint->connect_timeout_ms = options->connect_timeout_ms;
    endpoint->host = tvc_dup(url->host);
    endpoint->path = tvc_dup(tv_url_base_path(url));
    endpoint->host_header = make_host_header(url, default_port);
    if (endpoint->host == NULL || endpoint->path == NULL || endpoint->host_header == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    endpoint->resolver = endpoint->proxy.host
                             ? tvc_resolver_new(endpoint->proxy.host, endpoint->proxy.port)
                             : tvc_resolver_new(endpoint->host, endpoint->port);
    if (endpoint->resolver == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    return endpoint->is_https
               ? tvc_tls_new(options->ca_file, endpoint->host, &endpoint->tls, reterr_why)
               : TAVOLA_OK;
}

tavola_err tvc_endpoint_open(const char *url, const tvc_net_options *options,
                             tvc_endpoint **ret_endpoint, const char **reterr_why)
{
    tv_url parts = {0};
    const char *why = "no memory";
    tavola_err err = TAVOLA_ERR_NO_MEMORY;
    tvc_endpoint *endpoint = NULL;

    if (!parse(url ? url : "", &parts, &why)) {
        err = TAVOLA_ERR_INVALID;
    } else if ((endpoint = tvc_zalloc(sizeof *endpoint)) != NULL) {
        if (tvc_pool_init(&endpoint->pool, options->connections_max ? options->connections_max : 1))
            err = fill(endpoint, &parts, options, &why);
    }
    if (err) {
        if (reterr_why)
            *reterr_why = why;
        tvc_endpoint_close(endpoint);
        return err;
    }
    *ret_endpoint = endpoint;
    return TAVOLA_OK;
}

void tvc_endpoint_close(tvc_endpoint *endpoint)
{
    if (endpoint == NULL)
        return;

    tvc_pool_done(&endpoint->pool);
    tvc_resolver_free(endpoint->resolver);
    tvc_tls_free(endpoint->tls);
    tvc_proxy_done(&endpoint->proxy);
    tvc_release(endpoint->host);
    tvc_release(endpoint->host_header);
    tvc_release(endpoint->path);
    tvc_release(endpoint);
}

tv_slice tvc_endpoint_host(const tvc_endpoint *endpoint)
{
    return tv_slice_of(endpoint->host_header);
}

tv_slice tvc_endpoint_path(const tvc_endpoint *endpoint)
{
    return tv_slice_of(endpoint->path);
}

bool tvc_endpoint_is_https(const tvc_endpoint *endpoint)
{
    return endpoint->is_https;
}

bool tvc_endpoint_is_proxied(const tvc_endpoint *endpoint)
{
    return endpoint->proxy.host && !endpoint->proxy.is_socks && !endpoint->is_https;
}

void tvc_endpoint_tell(const tvc_endpoint *endpoint, char *ret_text, size_t size)
{
    const char *scheme = endpoint->is_https ? "https" : "http";
    const tvc_proxy *proxy = &endpoint->proxy;

    if (proxy->host)
        snprintf(ret_text, size, "the proxy %s:%d (for %s://%s)", proxy->host, proxy->port, scheme,
                 endpoint->host_header);
    else
        snprintf(ret_text, size, "%s://%s", scheme, endpoint->host_header);
}

bool tvc_endpoint_has_answered(const tvc_endpoint *endpoint)
{
    return atomic_load_explicit(&endpoint->has_answered, memory_order_relaxed);
}

void tvc_endpoint_note_answer(tvc_endpoint *endpoint)
{
    atomic_store_explicit(&endpoint->has_answered, true, memory_order_relaxed);
}
