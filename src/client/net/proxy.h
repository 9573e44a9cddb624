/*
 * Which proxy, if any: as the application says, or by the environment in the way of curl.
 */
#ifndef TVC_NET_PROXY_H
#define TVC_NET_PROXY_H

#include "base/url.h"
#include "client/memory.h"

typedef struct tvc_proxy {
    char *host; /* without brackets; NULL: no proxy */
    uint16_t port;
    bool is_socks;
    char *authorization; /* of HTTP: "Proxy-Authorization: Basic ...\r\n", or NULL; secret */
    char *login;         /* of SOCKS: the message with user and password, or NULL; secret */
    size_t login_len;
} tvc_proxy;

/**
 * The proxy for requests to a URL, "http://", "socks5://" or "socks5h://".  `option` NULL: by
 * https_proxy, HTTPS_PROXY, http_proxy (only so: HTTP_PROXY can be a header of a CGI request),
 * all_proxy, ALL_PROXY, unless no_proxy or NO_PROXY names the host or it is this machine, which
 * another would look for in itself; "": none.  INVALID with one static line, NO_MEMORY.
 */
tavola_err tvc_proxy_choose(const tv_url *url, const char *option, tvc_proxy *ret_proxy,
                            const char **reterr_why);

void tvc_proxy_done(tvc_proxy *proxy);

/** Whether a value of no_proxy names a host: "*", names with all below them, addresses, networks.
 */
bool tvc_proxy_is_excepted(tv_slice no_proxy, tv_slice host);

#endif
