/*
 * The source of a copy: a blob of this server that the client names by its URL,
 * and may read.  The URL is looked at as a request to read the blob: by its own SAS,
 * which then has to be valid, else by the key that signed the copy if it is of the
 * same account, or by what the container lets everybody do.  Private to this folder.
 */
#ifndef TV_BLOB_SOURCE_H
#define TV_BLOB_SOURCE_H

#include "services/blob/call.h"

typedef struct tv_blob_copying {
    tv_request req;          /* to read the source; never sent anywhere.  Its arena is its own */
    tv_blob_call source;     /* that request, taken through the first steps of the service */
    tv_container *container; /* counted */
    tv_slice partition;
    tv_slice url; /* without its SAS */
    tv_guid lease_id;
    bool has_lease_id; /* x-ms-source-lease-id */
    tv_extent_visit visit;
    tv_put_blob put; /* what the copy becomes */
} tv_blob_copying;

/**
 * Find the source of a copy and set call->transfer.copying.  TV_ERR_MISSING_HEADER,
 * TV_ERR_INVALID_HEADER, TV_ERR_COPY_SOURCE when there is none here,
 * TV_ERR_COPY_SOURCE_DENIED, TV_ERR_COPY_SOURCE_ANONYMOUS.
 */
tv_err tv_blob_find_source(tv_blob_call *call) TV_WARN_UNUSED;

/** Let the answer say why the source could not be read, if it may.  Returns `err`. */
tv_err tv_blob_source_failed(tv_blob_call *call, tv_err why, tv_err err) TV_WARN_UNUSED;

/**
 * Whether a URL's host is the server that was called by the name `called`; both may have a port.
 * So is the name that the cloud has for `account`, the caller's: clients build it themselves.
 */
bool tv_blob_is_same_server(tv_slice host, tv_slice called, tv_slice account);

/** For on_done.  Accepts NULL. */
void tv_blob_copying_done(tv_blob_copying *copying);

#endif
