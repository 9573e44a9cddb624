/*
 * What a request of the Blob service knows about the data it brings or takes.
 * A part of tv_blob_call; private to this folder.
 */
#ifndef TV_SERVICES_BLOB_TRANSFER_H
#define TV_SERVICES_BLOB_TRANSFER_H

#include "services/blob/body/download.h"
#include "services/blob/body/range.h"
#include "services/blob/body/upload.h"
#include "services/blob/store/change.h"

struct tv_blob_call;

typedef struct tv_blob_transfer {
    /* On its way in. */
    tv_blob_upload *upload; /* NULL for a body that fits into a row */
    tv_digest_claims claims;
    tv_digests digests; /* of the body, or of the range that was requested */
    tv_blob_data data;  /* the body as it goes into a change; length 0 when it is empty */
    tv_err (*next)(struct tv_blob_call *call);

    /* On its way out. */
    tv_blob_download *download;
    tv_blob_head head;
    tv_blob_range range;
    uint64_t offset, length;

    /* The change; what it needs if it is to be planned, see store/change.h. */
    tv_err (*plan)(struct tv_blob_call *call); /* on a worker; NULL for one that never is */
    int plan_count;

    /* After the change. */
    void (*respond)(struct tv_blob_call *call);
    tv_extent_id *made; /* extents that are removed again if the change leaves nothing */
    size_t made_count;
    struct tv_blob_copying *copying;
} tv_blob_transfer;

#endif
