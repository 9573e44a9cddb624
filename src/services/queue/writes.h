/*
 * Changes of a queue (store/queue.h) as writes for the commit pipeline.
 *
 * Fill in all of the change but its results, and submit the write as it is set up
 * here.  An error says what the change is not allowed, before anything is queued.
 */
#ifndef TV_SERVICES_QUEUE_WRITES_H
#define TV_SERVICES_QUEUE_WRITES_H

#include "services/queue/store/queue.h"
#include "store/commit/pipeline.h"

/** TV_ERR_QUERY_OUT_OF_RANGE, TV_ERR_MESSAGE_TOO_LARGE. */
tv_err tv_queue_prepare_put(tv_queue_put *put, tv_write *write) TV_WARN_UNUSED;

/** TV_ERR_QUERY_OUT_OF_RANGE. */
tv_err tv_queue_prepare_get(tv_queue_get *get, tv_write *write) TV_WARN_UNUSED;

/** TV_ERR_QUERY_OUT_OF_RANGE, TV_ERR_MESSAGE_TOO_LARGE. */
tv_err tv_queue_prepare_update(tv_queue_update *update, tv_write *write) TV_WARN_UNUSED;

void tv_queue_prepare_delete(tv_queue_delete *delete_op, tv_write *write);

/** Its context is the queue itself. */
void tv_queue_prepare_clear(tv_queue *queue, tv_write *write);

/**
 * One step of garbage collection: drop the rows that clears have left, here and now,
 * and set up a write that removes some of the messages that have expired.  Waits for
 * the disk: not for network threads, nor for committers.  TV_ERR_QUEUE_NOT_FOUND when
 * the queue is dropped; else it fails as the engine does.
 */
tv_err tv_queue_prepare_gc(tv_queue_gc_step *step, tv_write *write) TV_WARN_UNUSED;

#endif
