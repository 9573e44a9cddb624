/*
 * Garbage collection of the catalogue: drops the rows of deleted tables, queues and
 * containers, on a thread of its own, and finishes what a crash left.
 *
 * On a shared engine it goes by the notes in the store, whichever node has left them,
 * every few seconds and only while this node leads.
 */
#ifndef TV_MODEL_CATALOG_GC_H
#define TV_MODEL_CATALOG_GC_H

#include <stdint.h>

#include "model/catalog/catalog.h"

typedef struct tv_catalog_gc tv_catalog_gc;

tv_catalog_gc *tv_catalog_gc_new(tv_catalog *catalog, tv_pipeline *pipeline);

/** See tv_catalog_lead. */
void tv_catalog_gc_lead(tv_catalog_gc *gc, const tv_lead *lead);

/**
 * Stop, soon: a container that is being examined is abandoned.  What is not
 * done keeps its note and waits for the next start.  Accepts NULL.
 */
void tv_catalog_gc_free(tv_catalog_gc *gc);

/**
 * On a local engine: queue a container whose note is in the catalogue and that no new write can
 * find (see the steps in catalog.h).  Any thread.
 */
void tv_catalog_gc_add(tv_catalog_gc *gc, tv_slice account, int64_t id);

/** On a shared engine: something was deleted; look for notes soon, if this node leads.  Any thread.
 */
void tv_catalog_gc_look_soon(tv_catalog_gc *gc);

#endif
