/* What the server wires: the catalogue of queues, and metrics. */
#include "services/queue/service.h"

#include "base/metrics.h"
#include "services/queue/call.h"
#include "store/engine/key.h"

static void queue_init(void *ctx, tv_container *container)
{
    tv_queue_init(tv_queue_of(container), ctx, container->prefix, &container->is_dropped);
}

static void queue_done(tv_container *container)
{
    tv_queue_done(tv_queue_of(container));
}

tv_catalog_kind tv_queue_catalog(tv_engine *engine)
{
    return (tv_catalog_kind){
        .service = TV_SERVICE_QUEUE,
        .space = TV_SPACE_QUEUES,
        .exists = TV_ERR_QUEUE_EXISTS,
        .not_found = TV_ERR_QUEUE_NOT_FOUND,
        .rows = tv_key_queue,
        .service_bytes = sizeof(tv_queue),
        .service_init = queue_init,
        .service_done = queue_done,
        .ctx = engine,
    };
}

void tv_queue_service_write_metrics(void *ctx, tv_buf *out)
{
    tv_service *service = ctx;

    tv_metric_add(out, "queues", "Queues of all accounts.",
                  (double)tv_catalog_count(service->catalog));
}
