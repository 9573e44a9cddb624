/*
 * The one door.  Handlers take a tv_identity, and only this folder can make
 * one, after it has checked a signature in constant time.  The list of schemes
 * is closed: what is not on it is refused.
 */
#ifndef TV_AUTH_IDENTITY_H
#define TV_AUTH_IDENTITY_H

#include <stdint.h>

#include "auth/account.h"
#include "auth/canonical.h"
#include "base/arena.h"
#include "base/err.h"

/** Who is asking.  Lives in the request's arena. */
typedef struct tv_identity tv_identity;

/** The account whose data this identity may use. */
tv_slice tv_identity_account(const tv_identity *identity);

/** How far a request's date may lie from now. */
#define TV_CLOCK_SKEW_SECONDS 900

typedef struct tv_auth_policy {
    const tv_accounts *accounts;
    bool allow_dev_anywhere; /* the well-known key is good for other machines and names too */
} tv_auth_policy;

/** What a request shows of itself; `parts.date` is filled in by tv_authenticate. */
typedef struct tv_credentials {
    tv_signed_parts parts;
    tv_slice authorization; /* header, TV_NONE without one */
    tv_slice x_ms_date;     /* headers, empty without */
    tv_slice date;
    tv_slice host; /* that the client called, with or without a port */
    bool is_peer_loopback;
} tv_credentials;

/**
 * Whether a host is an IP address, "localhost" or a name under it.  The
 * well-known key is taken under no other name: a web page whose own name is made
 * to point at 127.0.0.1 is a peer on loopback too.
 */
bool tv_host_is_local(tv_slice host);

/**
 * Check a request's signature.  TV_ERR_NO_AUTHENTICATION without credentials,
 * TV_ERR_AUTHENTICATION_INFO when they cannot be read, TV_ERR_BEARER_REFUSED
 * for a bearer token, TV_ERR_AUTHENTICATION_FAILED for everything that is
 * simply wrong: unknown account, other account than the URL's, signature, date.
 */
tv_err tv_authenticate(const tv_auth_policy *policy, tv_credentials *credentials, int64_t now_ticks,
                       tv_arena *arena, const tv_identity **ret_identity) TV_WARN_UNUSED;

#endif
