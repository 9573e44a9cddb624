/*
 * The blob service, for who wires it: its operations are in ops.def.
 */
#ifndef TV_BLOB_SERVICE_H
#define TV_BLOB_SERVICE_H

#include "blob/body/io.h"
#include "blob/cleaner.h"
#include "service/service.h"

typedef struct tv_blob_service {
    tv_service base;     /* first */
    tv_extents *extents; /* for data that is too large for rows */
    tv_blob_io io;       /* over `extents`: tv_blob_io_init */
    tv_blob_cleaner *cleaner;
} tv_blob_service;

/**
 * What hangs on the rows of a container that is about to be dropped.  One
 * catalogue has one, and the thread of its gc alone uses it.
 */
typedef struct tv_blob_drop {
    tv_engine *engine;
    tv_extents *store;
    tv_extent_id *extents; /* of the rows that are being dropped */
    size_t count, size;
    const tv_background *thread; /* of the gc */
} tv_blob_drop;

/** The catalogue of containers; `drop`, its engine and store filled in, outlives it. */
tv_catalog_kind tv_blob_catalog(tv_blob_drop *drop);

/** For the `base` of a tv_blob_service. */
extern const tv_service_spec tv_blob_spec;

/** False with one line, appended, when data of blobs is known to be damaged.  Any thread. */
bool tv_blob_service_check(void *service, tv_buf *out);

/** Append the service's figures, beside those of its meter, in Prometheus' text format. */
void tv_blob_service_write_metrics(void *service, tv_buf *out);

#endif
