/*
 * The one door.  Handlers take a tv_identity, and only this folder can make
 * one, after it has checked a signature in constant time.  The list of schemes
 * is closed: SharedKey, SharedKeyLite, service SAS for tables, account SAS.  What
 * is not on it is refused.
 *
 * An identity says who is asking and how much they may do; the service says what
 * each operation needs (table/access.c) and asks tv_identity_allows.
 */
#ifndef TV_AUTH_IDENTITY_H
#define TV_AUTH_IDENTITY_H

#include <stdatomic.h>
#include <stdint.h>

#include "auth/account.h"
#include "auth/canonical.h"
#include "auth/policy.h"
#include "base/arena.h"
#include "base/err.h"

/** Who is asking.  Lives in the request's arena. */
typedef struct tv_identity tv_identity;

/** The account whose data this identity may use. */
tv_slice tv_identity_account(const tv_identity *identity);

/** What a SAS permits, one bit for each letter of `sp`. */
typedef enum tv_permission {
    TV_MAY_READ = 1,    /* r */
    TV_MAY_ADD = 2,     /* a */
    TV_MAY_UPDATE = 4,  /* u */
    TV_MAY_DELETE = 8,  /* d */
    TV_MAY_WRITE = 16,  /* w */
    TV_MAY_LIST = 32,   /* l */
    TV_MAY_CREATE = 64, /* c */
} tv_permission;

/** What an operation works on, for an account SAS's `srt`. */
typedef enum tv_resource_type {
    TV_TYPE_SERVICE = 1,
    TV_TYPE_CONTAINER = 2,
    TV_TYPE_OBJECT = 4,
} tv_resource_type;

/** What an operation needs of an identity. */
typedef struct tv_need {
    bool is_for_sas;       /* a SAS may do this at all */
    bool is_for_table_sas; /* a service SAS of a table may, too */
    tv_resource_type type;
    unsigned all_of; /* permissions, each needed */
    unsigned any_of; /* or 0: one of these is enough */
    tv_slice table;  /* whose entities are touched; empty for other operations */
} tv_need;

/**
 * TV_OK, or why not: TV_ERR_AUTHORIZATION_FAILURE, TV_ERR_RESOURCE_TYPE_MISMATCH,
 * TV_ERR_PERMISSION_MISMATCH.  Keys may do everything.
 */
tv_err tv_identity_allows(const tv_identity *identity, const tv_need *need) TV_WARN_UNUSED;

/** The keys to which a service SAS is limited; data is NULL where there is no limit. */
typedef struct tv_key_limits {
    tv_slice start_partition, start_row, end_partition, end_row;
} tv_key_limits;

/** NULL when all keys are allowed. */
const tv_key_limits *tv_identity_key_limits(const tv_identity *identity);

/** How far a request's date may lie from now. */
#define TV_CLOCK_SKEW_SECONDS 900

typedef struct tv_auth_policy {
    /** Replaced as a whole when accounts are reread; an old set stays valid for who has it. */
    const tv_accounts *_Atomic accounts;
    bool allow_dev_anywhere; /* the well-known key is good for other machines and names too */

    /** The stored policies of a table, for `si`. */
    tv_err (*find_policies)(void *ctx, tv_slice account, tv_slice table, tv_arena *arena,
                            tv_access_policies *ret_policies);
    void *ctx;
} tv_auth_policy;

/** What a request shows of itself; `parts.date` is filled in by tv_authenticate. */
typedef struct tv_credentials {
    tv_signed_parts parts;
    tv_slice authorization; /* header, TV_NONE without one */
    tv_slice x_ms_date;     /* headers, empty without */
    tv_slice date;
    tv_slice query; /* raw; may hold a SAS */
    tv_slice host;  /* that the client called, with or without a port */
    const char *peer;
    bool is_peer_loopback;
    bool is_tls;
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
 * Of a SAS also TV_ERR_PROTOCOL_MISMATCH, TV_ERR_SOURCE_IP_MISMATCH,
 * TV_ERR_SERVICE_MISMATCH, and TV_ERR_INVALID_QUERY_PARAMETER for a field that
 * its stored policy gives already.
 */
tv_err tv_authenticate(const tv_auth_policy *policy, tv_credentials *credentials, int64_t now_ticks,
                       tv_arena *arena, const tv_identity **ret_identity) TV_WARN_UNUSED;

#endif
