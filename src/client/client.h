/*
 * A client: an account, its credentials, its endpoints, and the thread that drives what was
 * started.  Counted: tables, operations and the application each hold one reference.
 */
#ifndef TVC_CLIENT_H
#define TVC_CLIENT_H

#include <pthread.h>

#include "base/service_kind.h"
#include "client/memory.h"
#include "client/net/endpoint.h"
#include "model/auth/hmac.h"

enum { TVC_SERVICES = 3 }; /* indexes are those of tv_service_kind */

/** How requests are made acceptable. */
typedef struct tvc_credentials {
    char *account; /* name; "" when only a SAS and endpoints are known */
    bool has_key;
    tv_hmac_key key; /* with has_key */
    char *sas;       /* "sv=...&sig=..." without '?', or NULL */
} tvc_credentials;

struct tavola_client {
    _Atomic int references;
    tvc_credentials credentials;
    tvc_endpoint *primary[TVC_SERVICES];   /* NULL: the connection string names none */
    tvc_endpoint *secondary[TVC_SERVICES]; /* NULL: none */
    char *urls[TVC_SERVICES];              /* of the primaries */
    char *secondary_urls[TVC_SERVICES];    /* whether they are read or not; NULL: not known */
    tavola_client_options options;         /* complete: defaults filled in; its texts are ours */
    struct tvc_bearers *bearers;           /* where its tokens come from; NULL: key or signature */
    char *user_agent;
    struct tvc_loop *_Atomic loop; /* of started operations; made at first use */
    pthread_mutex_t lock;          /* over loop and is_closed */
    _Atomic bool is_closed;        /* by the application: nothing can be started any more */
};

tavola_client *tvc_client_ref(tavola_client *client);
void tvc_client_unref(tavola_client *client);

/**
 * Open the secondary of a service, whether the client reads there or not; close it.  INVALID when
 * it is not known, with a line in the call, which may be NULL.
 */
tavola_err tvc_client_open_secondary(tavola_client *client, tv_service_kind service,
                                     tavola_call *call, tvc_endpoint **ret_endpoint);

/** Write a line to the application's log, if it has one.  No secrets, no keys of entities. */
void tvc_client_log(const tavola_client *client, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct tavola_table {
    tavola_client *client; /* one reference */
    char *name;
    tavola_crypto *crypto; /* not ours, or NULL */
};

#endif
