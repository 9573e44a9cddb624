/*
 * Where a service is: host, port, and the connections to it.  A client has up to six endpoints:
 * table, queue and blob, primary and secondary.
 */
#ifndef TVC_NET_ENDPOINT_H
#define TVC_NET_ENDPOINT_H

#include "client/memory.h"

typedef struct tvc_endpoint tvc_endpoint;

/** What the endpoints of a client share.  Texts are copied. */
typedef struct tvc_net_options {
    uint32_t connect_timeout_ms;
    uint32_t connections_max; /* to each endpoint */
    const char *ca_file;      /* NULL: the system's roots */
    const char *proxy;        /* NULL: by the environment, "": none */
} tvc_net_options;

/**
 * Make an endpoint of a URL: "http://127.0.0.1:10002/devstoreaccount1".  Connects to nothing.
 * INVALID for what is not an absolute http or https URL, with one static line in *reterr_why;
 * also for a ca_file that cannot be read.
 */
tavola_err tvc_endpoint_open(const char *url, const tvc_net_options *options,
                             tvc_endpoint **ret_endpoint, const char **reterr_why);

/** No exchange may be under way. */
void tvc_endpoint_close(tvc_endpoint *endpoint);

/** "127.0.0.1:10002": the value of the Host header; without a default port. */
tv_slice tvc_endpoint_host(const tvc_endpoint *endpoint);

/** "/devstoreaccount1" in path style, else empty: what a path begins with. */
tv_slice tvc_endpoint_path(const tvc_endpoint *endpoint);

bool tvc_endpoint_is_https(const tvc_endpoint *endpoint);

/**
 * Whom a connection that cannot be made was for: "http://127.0.0.1:10002", or "the proxy
 * 10.0.0.1:3128 (for https://...)".  Cut when `size` is too small.
 */
void tvc_endpoint_tell(const tvc_endpoint *endpoint, char *ret_text, size_t size);

/** Whether anything has ever answered a request there; to be told so.  Any thread. */
bool tvc_endpoint_has_answered(const tvc_endpoint *endpoint);
void tvc_endpoint_note_answer(tvc_endpoint *endpoint);

/** Whether requests go to a plain HTTP proxy, so that request lines carry the whole URL. */
bool tvc_endpoint_is_proxied(const tvc_endpoint *endpoint);

#endif
