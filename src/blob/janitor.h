/*
 * Housekeeping of the Blob service on a thread of its own: after the start it
 * removes the extents that a crash has left without a row; then, and from time to
 * time, it looks at all blobs for uncommitted blocks that nobody came back for,
 * and for what was not cleaned up (cleaner.h).
 */
#ifndef TV_BLOB_JANITOR_H
#define TV_BLOB_JANITOR_H

#include "blob/cleaner.h"
#include "catalog/catalog.h"
#include "commit/pipeline.h"
#include "extent/extent.h"

typedef struct tv_blob_janitor tv_blob_janitor;

typedef struct tv_blob_janitor_options {
    tv_engine *engine;
    tv_pipeline *pipeline;
    tv_catalog *catalog; /* of containers */
    tv_extents *extents;
    tv_blob_cleaner *cleaner;
    int interval_s;     /* between two looks at all blobs */
    bool keeps_extents; /* a part of the log was dropped: remove nothing, neither extents that have
                           no row nor blocks that are old */
} tv_blob_janitor_options;

/** Start it; all it is given outlives it. */
tv_blob_janitor *tv_blob_janitor_new(const tv_blob_janitor_options *options);

/** End it, soon: what is under way is finished or left to the next start.  Accepts NULL. */
void tv_blob_janitor_free(tv_blob_janitor *janitor);

#endif
