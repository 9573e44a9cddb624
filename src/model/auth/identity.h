/*
 * The one door.  Handlers take a tv_identity, and only this folder can make
 * one, after it has checked a signature in constant time.  The list of schemes
 * is closed: SharedKey, SharedKeyLite, service SAS, account SAS, and a session
 * that the server has opened itself, which never comes in on a service's port.  What is not on
 * it is refused.  It is the same door for tables, queues and blobs; in a service
 * that allows it, requests without credentials become anonymous, an identity that
 * can do next to nothing.
 *
 * An identity says who is asking and how much they may do; the service's table
 * of operations says what each needs (service/op.h), and tv_identity_allows compares.
 *
 * A "container" is here what a service keeps its data in: a table, a queue, or a
 * container of blobs.
 */
#ifndef TV_MODEL_AUTH_IDENTITY_H
#define TV_MODEL_AUTH_IDENTITY_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/auth/account.h"
#include "model/auth/canonical.h"
#include "model/auth/policy.h"

/** Who is asking.  Lives in the request's arena. */
typedef struct tv_identity tv_identity;

/** The account whose data this identity may use. */
tv_slice tv_identity_account(const tv_identity *identity);

/**
 * Whose part of the memory for requests it may use: the account's, or that of all
 * anonymous requests, so that readers of public blobs cannot use up their owner's.
 */
tv_share *tv_identity_share(const tv_identity *identity);

/** Likewise, whose turns its queries and lists take (base/turns.h): empty when anonymous. */
tv_slice tv_identity_turns(const tv_identity *identity);

/** The scalability targets of the account, whoever asks; NULL when it has none to keep. */
struct tv_target_account *tv_identity_targets(const tv_identity *identity);

/** What a SAS permits, one bit for each letter of `sp`. */
typedef enum tv_permission {
    TV_MAY_READ = 1,              /* r */
    TV_MAY_ADD = 2,               /* a */
    TV_MAY_UPDATE = 4,            /* u */
    TV_MAY_DELETE = 8,            /* d */
    TV_MAY_WRITE = 16,            /* w */
    TV_MAY_LIST = 32,             /* l */
    TV_MAY_CREATE = 64,           /* c */
    TV_MAY_PROCESS = 128,         /* p: get and delete messages */
    TV_MAY_DELETE_VERSION = 256,  /* x */
    TV_MAY_DELETE_FOR_GOOD = 512, /* y */
    TV_MAY_TAG = 1024,            /* t */
    TV_MAY_FIND = 2048,           /* f: blobs by their tags */
    TV_MAY_MOVE = 4096,           /* m */
    TV_MAY_EXECUTE = 8192,        /* e */
    TV_MAY_KEEP = 16384,          /* i: immutability policies */
} tv_permission;

/** The letters of `sp`, in the order of their bits. */
#define TV_PERMISSION_LETTERS "raudwlcpxytfmei"

/** Kinds of SAS, by what they open; one bit each. */
typedef enum tv_sas_kind {
    TV_SAS_ACCOUNT = 1,
    TV_SAS_CONTAINER = 2, /* a service SAS of a table, a queue or a container and all in it */
    TV_SAS_BLOB = 4,      /* a service SAS of one blob, or of one snapshot */
} tv_sas_kind;

/** What an operation works on, for an account SAS's `srt`. */
typedef enum tv_resource_type {
    TV_TYPE_SERVICE = 1,
    TV_TYPE_CONTAINER = 2,
    TV_TYPE_OBJECT = 4,
} tv_resource_type;

/** The letters of `srt`, in the order of their bits. */
#define TV_RESOURCE_TYPE_LETTERS "sco"

/** What an operation needs of an identity. */
typedef struct tv_need {
    unsigned sas; /* tv_sas_kind: those that may do this, 0 when it is for keys alone */
    tv_resource_type type;
    unsigned all_of;    /* permissions, each needed */
    unsigned any_of;    /* or 0: one of these is enough */
    tv_slice container; /* whose contents are touched; empty for other operations */
    tv_slice blob;      /* decoded; empty when the operation is not on one */
    tv_slice snapshot;  /* the parameter's text; empty for the blob itself */
    bool is_public;     /* the owner lets everyone do this, anonymous or not */
} tv_need;

/**
 * TV_OK, or why not: TV_ERR_AUTHORIZATION_FAILURE, TV_ERR_RESOURCE_TYPE_MISMATCH,
 * TV_ERR_PERMISSION_MISMATCH, and TV_ERR_NO_AUTHENTICATION for an anonymous identity.
 * Keys may do everything.  The SAS of a blob is good for its snapshots as well;
 * the SAS of a snapshot is good for that one alone.
 */
tv_err tv_identity_allows(const tv_identity *identity, const tv_need *need) TV_WARN_UNUSED;

/** Whether it is anonymous: what it may do depends on `is_public` alone. */
bool tv_identity_is_anonymous(const tv_identity *identity);

/** Whether it came in by an account whose key is public.  False for anonymous ones. */
bool tv_identity_is_development(const tv_identity *identity);

/** The keys to which a service SAS is limited; data is NULL where there is no limit. */
typedef struct tv_key_limits {
    tv_slice start_partition, start_row, end_partition, end_row;
} tv_key_limits;

/** NULL when all keys are allowed. */
const tv_key_limits *tv_identity_key_limits(const tv_identity *identity);

/** Headers that a blob SAS gives to the answer to a read; data is NULL where it gives none. */
typedef struct tv_header_overrides {
    tv_slice cache_control, content_disposition, content_encoding, content_language, content_type;
} tv_header_overrides;

/** NULL when there are none.  The values are signed and fit for a header. */
const tv_header_overrides *tv_identity_overrides(const tv_identity *identity);

/** How far a request's date may lie from now. */
#define TV_CLOCK_SKEW_SECONDS 900

typedef struct tv_auth_policy {
    /** Replaced as a whole when accounts are reread; requests under way keep the old set. */
    const tv_accounts *_Atomic accounts;
    bool allow_dev_anywhere; /* the well-known key is good for other machines and names too */

    /** The stored policies of a table, queue or container, for `si`. */
    tv_err (*find_policies)(void *ctx, tv_slice account, tv_slice container, tv_arena *arena,
                            tv_access_policies *ret_policies);
    void *ctx;
} tv_auth_policy;

/** Credentials and what they cover; tv_authenticate fills in `parts.date` and `parts.query`. */
typedef struct tv_credentials {
    tv_signed_parts parts;
    tv_slice authorization; /* header, TV_NONE without one */
    tv_slice x_ms_date;     /* headers, empty without */
    tv_slice date;
    tv_parameters query; /* may hold a SAS */
    tv_slice container;  /* of the URL, decoded: queue or container; not looked at for tables */
    tv_slice blob;       /* of the URL, decoded */
    tv_slice host;       /* that the client called, with or without a port */
    const char *peer;
    bool is_peer_loopback;
    bool is_tls;
    bool is_secondary_by_path; /* the path begins with "/account-secondary" */
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
 * its stored policy gives already.  TV_ERR_AUTHENTICATION_FAILED says why in
 * `reterr_info->reason`, the same for an account that is not there as for one whose
 * key did not sign.
 */
tv_err tv_authenticate(const tv_auth_policy *policy, tv_credentials *credentials, int64_t now_ticks,
                       tv_arena *arena, const tv_identity **ret_identity,
                       tv_error_info *reterr_info) TV_WARN_UNUSED;

/**
 * Make a request without credentials anonymous, which only some services do, for
 * some operations.  TV_ERR_NO_AUTHENTICATION when there is no such account, as for
 * one that has nothing public; TV_ERR_AUTHENTICATION_FAILED, with the reason, when
 * it is the development account and may not be used from there.
 */
tv_err tv_authenticate_anonymous(const tv_auth_policy *policy, const tv_credentials *credentials,
                                 tv_arena *arena, const tv_identity **ret_identity,
                                 tv_error_info *reterr_info) TV_WARN_UNUSED;

/**
 * The owner of an account, without a signature: for a request whose sender has been
 * checked in another way, and not on a service's port.  It may do
 * what the account's key may.  TV_ERR_AUTHENTICATION_FAILED when there is no such account.
 */
tv_err tv_authenticate_owner(const tv_auth_policy *policy, tv_service_kind service,
                             tv_slice account, tv_arena *arena, const tv_identity **ret_identity,
                             tv_error_info *reterr_info) TV_WARN_UNUSED;

#endif
