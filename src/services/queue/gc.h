/*
 * Garbage collection of queues: removes expired messages, and what clears have left,
 * on a thread of its own.
 * Nobody waits for it: such messages can no longer be seen, they only take space and are counted.
 */
#ifndef TV_SERVICES_QUEUE_GC_H
#define TV_SERVICES_QUEUE_GC_H

#include "model/catalog/catalog.h"

typedef struct tv_queue_gc tv_queue_gc;

/**
 * Start it: it looks at every queue each `interval_ms`, while this node leads.  What it is
 * given outlives it.
 */
tv_queue_gc *tv_queue_gc_new(tv_catalog *catalog, tv_pipeline *pipeline, int interval_ms,
                             const tv_lead *lead);

/** Stop it, after the step under way.  Accepts NULL. */
void tv_queue_gc_free(tv_queue_gc *gc);

#endif
