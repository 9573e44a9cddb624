/*
 * What a request is addressed to: the account, by the host's name or by the
 * first segment of the path.
 */
#ifndef TV_SERVICES_SERVICE_ENDPOINT_H
#define TV_SERVICES_SERVICE_ENDPOINT_H

#include "base/arena.h"
#include "base/err.h"

/** The part of a URL before the resource. */
typedef struct tv_endpoint {
    tv_slice account;   /* without "-secondary" */
    bool is_secondary;  /* the read-only copy was addressed: account-secondary */
    bool is_path_style; /* the account is the first segment of the path */
    tv_slice base_url;  /* "http://host[/account]": what response URLs begin with */
    tv_slice rest;      /* path after the account, still encoded, without its first '/' */
} tv_endpoint;

/**
 * Find the account.  A host "name.SERVICE.…" (`service` is "table", "queue" or
 * "blob") is host style; everything else is path style, with the account as the
 * first segment.  TV_ERR_INVALID_URI when there is none, TV_ERR_INVALID_HEADER
 * for a host that is not valid.
 */
tv_err tv_endpoint_parse(tv_arena *arena, tv_slice service, bool is_tls, tv_slice host,
                         tv_slice path, tv_endpoint *ret_endpoint) TV_WARN_UNUSED;

/** Hosts name no account from now on, whatever they are called.  Before there are requests. */
void tv_endpoint_ignore_hosts(void);

#endif
