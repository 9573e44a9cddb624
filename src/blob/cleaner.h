/*
 * Cleans up after changes that took away more than they could remove by
 * themselves (store/clean.h): a thread with a queue of blobs.  What it removes
 * goes in small steps, so that other writes do not wait for it.
 *
 * A queue that is full or a stop leave blobs as they are; the janitor comes by
 * all of them from time to time, and after every start.
 */
#ifndef TV_BLOB_CLEANER_H
#define TV_BLOB_CLEANER_H

#include "catalog/catalog.h"
#include "commit/pipeline.h"
#include "extent/extent.h"

typedef struct tv_blob_cleaner tv_blob_cleaner;

/** Start it; all it is given outlives it. */
tv_blob_cleaner *tv_blob_cleaner_new(tv_engine *engine, tv_pipeline *pipeline, tv_extents *extents);

/** End it: the step under way is finished.  Accepts NULL. */
void tv_blob_cleaner_free(tv_blob_cleaner *cleaner);

/**
 * Have a blob cleaned up.  Any thread; short, never blocks.  `partition` is
 * copied, the container gets a reference.
 */
void tv_blob_cleaner_add(tv_blob_cleaner *cleaner, tv_container *container, tv_slice partition);

/** How many blobs wait.  Any thread. */
size_t tv_blob_cleaner_waiting(tv_blob_cleaner *cleaner);

#endif
