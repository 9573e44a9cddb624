/* How a connection comes to be: addresses, a socket, and what is spoken before HTTP. */
#ifndef TVC_NET_CONNECT_H
#define TVC_NET_CONNECT_H

#include "client/net/conn.h"

/** Undo what an unfinished opening holds; NULL is fine. */
void tvc_opening_free(struct tvc_opening *opening);

#endif
