/* Endpoints: made of URLs. */
#include "client/net/endpoint.h"

#include <stdatomic.h>
#include <stdio.h>

#include "client/net/endpoint_private.h"
#include "client/net/url.h"
#include "client/text.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443 };

static char *make_host_header(const tvc_url *url)
{
    tvc_text text = {0};

    if (url->is_bracketed)
        tvc_text_add_char(&text, '[');
    tvc_text_add(&text, url->host);
    if (url->is_bracketed)
        tvc_text_add_char(&text, ']');
    if (url->port && url->port != (url->is_https ? HTTPS_PORT : HTTP_PORT)) {
        tvc_text_add_char(&text, ':');
        tvc_text_add_int64(&text, url->port);
    }
    return tvc_text_take(&text);
}

static tavola_err fill(tvc_endpoint *endpoint, const tvc_url *url, const tvc_net_options *options,
                       const char **reterr_why)
{
    tavola_err err = tvc_proxy_choose(url, options->proxy, &endpoint->proxy, reterr_why);

    if (err)
        return err;

    *reterr_why = "no memory";
    endpoint->is_https = url->is_https;
    endpoint->port = url->port ? url->port : url->is_https ? HTTPS_PORT : HTTP_PORT;
    endpoint->connect_timeout_ms = options->connect_timeout_ms;
    endpoint->host = tvc_dup(url->host);
    endpoint->path = tvc_dup(url->path);
    endpoint->host_header = make_host_header(url);
    if (endpoint->host == NULL || endpoint->path == NULL || endpoint->host_header == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    endpoint->resolver = endpoint->proxy.host
                             ? tvc_resolver_new(endpoint->proxy.host, endpoint->proxy.port)
                             : tvc_resolver_new(endpoint->host, endpoint->port);
    if (endpoint->resolver == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    return url->is_https ? tvc_tls_new(options->ca_file, endpoint->host, &endpoint->tls, reterr_why)
                         : TAVOLA_OK;
}

tavola_err tvc_endpoint_open(const char *url, const tvc_net_options *options,
                             tvc_endpoint **ret_endpoint, const char **reterr_why)
{
    tvc_url parts = {0};
    const char *why = "no memory";
    tavola_err err = TAVOLA_ERR_NO_MEMORY;
    tvc_endpoint *endpoint = NULL;

    if (!tvc_url_parse(tv_slice_of(url ? url : ""), &parts, &why)) {
        err = TAVOLA_ERR_INVALID;
    } else if (parts.user.data) {
        why = "it has a user or password";
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
    return endpoint->proxy.host && !endpoint->is_https;
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
