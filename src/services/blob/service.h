/*
 * The blob service, for the code that wires it: its operations are in ops.def.
 */
#ifndef TV_SERVICES_BLOB_SERVICE_H
#define TV_SERVICES_BLOB_SERVICE_H

#include "services/blob/body/io.h"
#include "services/blob/gc.h"
#include "services/service/service.h"

typedef struct tv_blob_service {
    tv_service base;     /* first */
    tv_extents *extents; /* for data that is too large for rows */
    tv_blob_io io;       /* over `extents`: tv_blob_io_init */
    tv_blob_gc *gc;
} tv_blob_service;

/** For the `base` of a tv_blob_service. */
extern const tv_service_spec tv_blob_spec;

/** False with one line, appended, when data of blobs is known to be damaged.  Any thread. */
bool tv_blob_service_check(void *service, tv_buf *out);

/** Append the service's metrics, in addition to those of its meter, in Prometheus' text format. */
void tv_blob_service_write_metrics(void *service, tv_buf *out);

#endif
