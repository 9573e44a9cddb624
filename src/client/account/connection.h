/*
 * Connection strings: Azure's grammar, read into what a client needs.
 */
#ifndef TVC_ACCOUNT_CONNECTION_H
#define TVC_ACCOUNT_CONNECTION_H

#include "client/client.h"

/** What a connection string says.  All texts are our memory. */
typedef struct tvc_connection {
    tvc_credentials credentials;
    char *primary[TVC_SERVICES];   /* URLs without a '/' at their end; NULL: none */
    char *secondary[TVC_SERVICES]; /* the "-secondary" twin, if it can be known */
} tvc_connection;

/**
 * INVALID with a line for people, tavola_error_text, which never repeats a key or signature.  With
 * tokens of the application there is neither key nor signature.
 */
tavola_err tvc_connection_parse(const char *text, bool has_tokens, tvc_connection *ret_connection);

void tvc_connection_done(tvc_connection *connection);

#endif
