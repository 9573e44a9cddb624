/* One thread that goes from queue to queue. */
#include "queue/collector.h"

#include "base/background.h"
#include "base/log.h"
#include "commit/waiter.h"
#include "queue/store/queue.h"

struct tv_queue_collector {
    tv_background thread;
    tv_waiter waiter;
    tv_catalog *catalog;
    int interval_ms;
};

static tv_err collect_queue(tv_queue_collector *collector, tv_queue *queue)
{
    tv_queue_collect step = {.queue = queue};
    tv_err err;

    do {
        tv_write write = {0};

        err = tv_queue_prepare_collect(&step, &write);
        if (err == TV_OK)
            err = tv_waiter_run(&collector->waiter, &write);
    } while (err == TV_OK && step.has_more && !tv_background_is_stopping(&collector->thread));
    return err;
}

/* A queue that is in trouble does not keep the others from being looked at. */
static void collect_all(tv_queue_collector *collector)
{
    size_t count;
    tv_container **queues = tv_catalog_all(collector->catalog, &count);

    for (size_t i = 0; i < count; i++) {
        if (!tv_background_is_stopping(&collector->thread)) {
            tv_err err = collect_queue(collector, queues[i]->own);

            if (err && err != TV_ERR_QUEUE_NOT_FOUND)
                tv_log(TV_LOG_WARN, "collect", "service=queue queue=%.*s error=%s",
                       TV_FMT(queues[i]->name), tv_err_name(err));
        }
        tv_container_unref(queues[i]);
    }
    free(queues);
}

static void run(tv_background *thread, void *ctx)
{
    tv_queue_collector *collector = ctx;

    while (tv_background_sleep(thread, collector->interval_ms))
        collect_all(collector);
}

tv_queue_collector *tv_queue_collector_new(tv_catalog *catalog, tv_pipeline *pipeline,
                                           int interval_ms)
{
    tv_queue_collector *collector = tv_calloc(1, sizeof *collector);

    collector->catalog = catalog;
    collector->interval_ms = interval_ms;
    tv_waiter_init(&collector->waiter, pipeline);
    tv_background_start(&collector->thread, &(tv_background_options){.name = "tv-gc-messages",
                                                                     .gives_way = true,
                                                                     .run = run,
                                                                     .ctx = collector});
    return collector;
}

void tv_queue_collector_free(tv_queue_collector *collector)
{
    if (collector == NULL)
        return;

    tv_background_done(&collector->thread);
    tv_waiter_done(&collector->waiter);
    free(collector);
}
