/*
 * The queue service: what a listener on the queue port calls.  routes.c is its
 * way in; queue.h, beneath, is what a queue does.
 */
#ifndef TV_QUEUE_SERVICE_H
#define TV_QUEUE_SERVICE_H

#include "service/call.h"

typedef struct tv_queue_service {
    tv_service base; /* first */
} tv_queue_service;

/** The catalogue of queues over an engine, which is its ctx. */
tv_catalog_kind tv_queue_catalog(tv_engine *engine);

/** The handler for a listener; `service` outlives it.  Fill in all of `base` before. */
tv_http_handler tv_queue_service_handler(tv_queue_service *service);

/** Append the service's figures, beside those of its meter, in Prometheus' text format. */
void tv_queue_service_write_metrics(void *service, tv_buf *out);

#endif
