/* What is behind a tvc_endpoint: private to net/. */
#ifndef TVC_NET_ENDPOINT_PRIVATE_H
#define TVC_NET_ENDPOINT_PRIVATE_H

#include "client/net/endpoint.h"
#include "client/net/pool.h"

struct tvc_endpoint {
    char *host; /* without brackets */
    uint16_t port;
    bool is_https;
    char *host_header;
    char *path;
    uint32_t connect_timeout_ms;
    tvc_pool pool;
};

#endif
