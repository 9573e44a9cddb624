/*
 * TLS over a connection, by OpenSSL: 1.2 and later, with the server's certificate checked against
 * its host.  Sends without signals, like everything here.
 */
#ifndef TVC_NET_TLS_H
#define TVC_NET_TLS_H

#include "client/net/conn.h"

/** What the connections of an endpoint share: roots, the host's name, the last session. */
typedef struct tvc_tls tvc_tls;

/** `ca_file` NULL: the system's roots.  INVALID when it cannot be read; NO_MEMORY. */
tavola_err tvc_tls_new(const char *ca_file, const char *host, tvc_tls **ret_tls,
                       const char **reterr_why);

void tvc_tls_free(tvc_tls *tls);

/** Begin on a connection whose socket is connected: conn->tls.  False: no memory. */
bool tvc_tls_begin(tvc_tls *tls, tvc_conn *conn);

/** End it without a word: a child of fork() may do so, too. */
void tvc_tls_end(tvc_conn *conn);

/** SOME: it is done.  FAILED: why in *reterr_why, static text; by us, for its certificate? */
tvc_io tvc_tls_shake_hands(tvc_conn *conn, bool *reterr_is_refused, const char **reterr_why);

/** As those of conn.h. */
tvc_io tvc_tls_send(tvc_conn *conn, const struct iovec *from, int count, size_t *ret_len);
tvc_io tvc_tls_receive(tvc_conn *conn, void *to, size_t size, size_t *ret_len);

/** Whether there is nothing but TLS's own messages to be received on an idle connection. */
bool tvc_tls_is_quiet(tvc_conn *conn);

#endif
