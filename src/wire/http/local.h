/* The server's end of a request's connection. */
#ifndef TV_WIRE_HTTP_LOCAL_H
#define TV_WIRE_HTTP_LOCAL_H

#include "wire/http/request.h"

enum { TV_LOCAL_ADDRESS_SIZE = 64 };

/**
 * The address and port at which the client has reached the server: "127.0.0.1:10003",
 * "[::1]:10003"; one of IPv4 is written as such, whatever the socket is.  False when the
 * connection has ended.  The loop's thread.
 */
bool tv_request_local_address(tv_request *req, char ret_text[TV_LOCAL_ADDRESS_SIZE]);

#endif
