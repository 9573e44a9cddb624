/* Reading extents for long: see tv_extent_visit_must_renew. */
#ifndef TV_SERVICES_BLOB_BODY_VISIT_H
#define TV_SERVICES_BLOB_BODY_VISIT_H

#include "store/engine/engine.h"
#include "store/extent/extent.h"

/** What is being read, and when it was begun. */
typedef struct tv_blob_visit {
    tv_engine *engine;
    tv_extents *extents;
    tv_extent_visit *visit;
    tv_slice partition;
    int64_t snapshot;
    int64_t etag; /* of its head */
} tv_blob_visit;

/**
 * Before more of the blob's extents is read: look at its head again if the visit has lasted so
 * long that they may be gone.  TV_ERR_CONFLICT when the blob is not what it was, TV_ERR_WOULD_BLOCK
 * with TV_READ_CACHED.
 */
tv_err tv_blob_visit_go_on(const tv_blob_visit *visit, tv_read_mode mode) TV_WARN_UNUSED;

#endif
