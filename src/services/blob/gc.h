/*
 * Garbage collection of the Blob service, over that of its store (store/gc.h) and that
 * of extents (extent/extent.h).  Three parts:
 *
 * tv_blob_gc removes what is left by changes that dropped more than they could
 * remove by themselves: a thread with a queue of blobs, which goes in small
 * steps, so that other writes do not wait for it.
 *
 * tv_blob_gc_scan finds what has not been queued, on a thread of its own: after the
 * start, in a pool also later, the extents that a crash has left without a row; then, and from time
 * to time, the uncommitted blocks of all blobs that were abandoned, and blobs that a full queue or
 * a stop has left as they were.
 *
 * tv_blob_gc_container removes what belongs to the rows of a deleted container,
 * on the thread of catalog/gc.h.
 */
#ifndef TV_SERVICES_BLOB_GC_H
#define TV_SERVICES_BLOB_GC_H

#include <stddef.h>

#include "base/lead.h"
#include "model/catalog/catalog.h"
#include "store/commit/pipeline.h"
#include "store/extent/extent.h"

/* --- blobs with garbage: gc.c --- */

typedef struct tv_blob_gc tv_blob_gc;

/** Start it; all it is given outlives it. */
tv_blob_gc *tv_blob_gc_new(tv_engine *engine, tv_pipeline *pipeline, tv_extents *extents);

/** Stop it: the step under way is finished.  Accepts NULL. */
void tv_blob_gc_free(tv_blob_gc *gc);

/**
 * Have the garbage of a blob collected.  Any thread; short, never blocks.  `partition`
 * is copied, the container gets a reference.
 */
void tv_blob_gc_add(tv_blob_gc *gc, tv_container *container, tv_slice partition);

/** How many blobs wait.  Any thread. */
size_t tv_blob_gc_waiting(tv_blob_gc *gc);

/* --- all extents and all blobs: gc_scan.c --- */

typedef struct tv_blob_gc_scan tv_blob_gc_scan;

typedef struct tv_blob_gc_scan_options {
    tv_engine *engine;
    tv_pipeline *pipeline;
    tv_catalog *catalog; /* of containers */
    tv_extents *extents;
    tv_blob_gc *gc;
    int interval_s;      /* between two looks at all blobs */
    bool no_sweep;       /* only say how many extents have no row */
    const tv_lead *lead; /* where another node may do all this; NULL: there is no other */
    bool keeps_extents;  /* a part of the log was dropped: remove nothing, neither extents that have
                            no row nor blocks that are old */
} tv_blob_gc_scan_options;

/** Start it; all it is given outlives it. */
tv_blob_gc_scan *tv_blob_gc_scan_new(const tv_blob_gc_scan_options *options);

/** Collect extents now: a node of the cluster has ended, and may have left some.  Any thread. */
void tv_blob_gc_scan_soon(tv_blob_gc_scan *scan);

/** How often it has looked whether there is something to do.  For tests.  Any thread. */
uint64_t tv_blob_gc_scan_rounds(tv_blob_gc_scan *scan);

/** Stop it, soon: what is under way is finished or left to the next start.  Accepts NULL. */
void tv_blob_gc_scan_free(tv_blob_gc_scan *scan);

/* --- deleted containers: gc_container.c --- */

/** The extents of the container whose rows are being dropped.  One catalogue has one. */
typedef struct tv_blob_gc_container {
    tv_engine *engine;
    tv_extents *store;
    /* For the thread of catalog/gc.h alone. */
    tv_extent_id *extents;
    size_t count, size;
    const tv_background *thread;
} tv_blob_gc_container;

/** The catalogue of containers; `gc`, its engine and store filled in, outlives it. */
tv_catalog_kind tv_blob_catalog(tv_blob_gc_container *gc);

#endif
