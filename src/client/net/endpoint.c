/* Endpoints: made of URLs. */
#include "client/net/endpoint.h"

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

static tavola_err fill(tvc_endpoint *endpoint, const tvc_url *url, const tvc_net_options *options)
{
    if (!tvc_pool_init(&endpoint->pool, options->connections_max ? options->connections_max : 1))
        return TAVOLA_ERR_NO_MEMORY;
    endpoint->is_https = url->is_https;
    endpoint->port = url->port ? url->port : url->is_https ? HTTPS_PORT : HTTP_PORT;
    endpoint->connect_timeout_ms = options->connect_timeout_ms;
    endpoint->host = tvc_dup(url->host);
    endpoint->path = tvc_dup(url->path);
    endpoint->host_header = make_host_header(url);
    return endpoint->host && endpoint->path && endpoint->host_header ? TAVOLA_OK
                                                                     : TAVOLA_ERR_NO_MEMORY;
}

tavola_err tvc_endpoint_open(const char *url, const tvc_net_options *options,
                             tvc_endpoint **ret_endpoint, const char **reterr_why)
{
    tvc_url parts = {0};
    const char *why = "no memory";

    if (!tvc_url_parse(tv_slice_of(url ? url : ""), &parts, &why) || parts.user.data) {
        if (reterr_why)
            *reterr_why = parts.user.data ? "it has a user or password" : why;
        return TAVOLA_ERR_INVALID;
    }

    tvc_endpoint *endpoint = tvc_zalloc(sizeof *endpoint);
    tavola_err err = endpoint ? fill(endpoint, &parts, options) : TAVOLA_ERR_NO_MEMORY;

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
    return false;
}
