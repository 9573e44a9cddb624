/*
 * The queue service, for the code that wires it: its operations are in ops.def,
 * and what a queue does is in store/queue.h.
 */
#ifndef TV_SERVICES_QUEUE_SERVICE_H
#define TV_SERVICES_QUEUE_SERVICE_H

#include "services/queue/store/queue.h"
#include "services/service/service.h"

/** For a tv_service whose catalogue is one of queues. */
extern const tv_service_spec tv_queue_spec;

/** The catalogue of queues over an engine, which is its ctx. */
tv_catalog_kind tv_queue_catalog(tv_engine *engine);

/** Of a container in the catalogue of queues. */
static inline tv_queue *tv_queue_of(const tv_container *container)
{
    return container->service_data;
}

/** Append the service's metrics, in addition to those of its meter, in Prometheus' text format. */
void tv_queue_service_write_metrics(void *service, tv_buf *out);

#endif
