/* What is behind a tvc_endpoint: private to net/. */
#ifndef TVC_NET_ENDPOINT_PRIVATE_H
#define TVC_NET_ENDPOINT_PRIVATE_H

#include "client/net/endpoint.h"
#include "client/net/pool.h"
#include "client/net/proxy.h"
#include "client/net/resolve.h"
#include "client/net/tls.h"

struct tvc_endpoint {
    char *host; /* without brackets */
    uint16_t port;
    bool is_https;
    char *host_header;
    char *path;
    uint32_t connect_timeout_ms;
    tvc_proxy proxy;        /* host NULL: none */
    tvc_resolver *resolver; /* of the host, or of the proxy */
    tvc_tls *tls;           /* with https */
    tvc_pool pool;
    _Atomic bool has_answered;
};

#endif
