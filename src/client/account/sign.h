/*
 * What makes a request acceptable: a signature by the account's key, or a shared access signature
 * in its query.
 */
#ifndef TVC_ACCOUNT_SIGN_H
#define TVC_ACCOUNT_SIGN_H

#include "client/client.h"
#include "client/text.h"

/** The parts of a request that are signed. */
typedef struct tvc_to_sign {
    tv_service_kind service;
    tv_slice method;
    tv_slice path;    /* on the wire: with the account in path style; without the query */
    tv_slice query;   /* without '?'; as sent */
    tv_slice date;    /* of the x-ms-date header */
    tv_slice headers; /* "Name: value\r\n"...: all that are sent but Authorization */
    uint64_t body_len;
} tvc_to_sign;

/**
 * Append the value of Authorization: "SharedKeyLite account:signature" for tables, "SharedKey ..."
 * for queues and blobs.  The credentials have a key.
 */
void tvc_sign(tvc_text *text, const tvc_credentials *credentials, const tvc_to_sign *request);

#endif
