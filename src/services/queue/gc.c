/* One thread that goes from queue to queue. */
#include "services/queue/gc.h"

#include "base/background.h"
#include "base/log.h"
#include "services/queue/writes.h"
#include "store/commit/waiter.h"

struct tv_queue_gc {
    tv_background thread;
    tv_waiter waiter;
    tv_catalog *catalog;
    int interval_ms;
    const tv_lead *lead;
};

static tv_err clean_queue(tv_queue_gc *gc, tv_queue *queue)
{
    tv_queue_gc_step step = {.queue = queue};
    tv_err err;

    do {
        tv_write write = {0};

        err = tv_queue_prepare_gc(&step, &write);
        if (err == TV_OK)
            err = tv_waiter_run(&gc->waiter, &write);
    } while (err == TV_OK && step.has_more && !tv_background_is_stopping(&gc->thread));
    return err;
}

/* A queue that fails does not keep the others from being looked at. */
static void clean_all(tv_queue_gc *gc)
{
    size_t count;
    tv_container **queues = tv_catalog_all(gc->catalog, &count);

    for (size_t i = 0; i < count; i++) {
        if (!tv_background_is_stopping(&gc->thread)) {
            tv_err err = clean_queue(gc, queues[i]->service_data);

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
    tv_queue_gc *gc = ctx;

    while (tv_background_sleep(thread, gc->interval_ms)) {
        if (tv_lead_is_here(gc->lead))
            clean_all(gc);
    }
}

tv_queue_gc *tv_queue_gc_new(tv_catalog *catalog, tv_pipeline *pipeline, int interval_ms,
                             const tv_lead *lead)
{
    tv_queue_gc *gc = tv_calloc(1, sizeof *gc);

    gc->catalog = catalog;
    gc->interval_ms = interval_ms;
    gc->lead = lead;
    tv_waiter_init(&gc->waiter, pipeline);
    tv_background_start(&gc->thread,
                        &(tv_background_options){
                            .name = "tv-gc-messages", .gives_way = true, .run = run, .ctx = gc});
    return gc;
}

void tv_queue_gc_free(tv_queue_gc *gc)
{
    if (gc == NULL)
        return;

    tv_background_done(&gc->thread);
    tv_waiter_done(&gc->waiter);
    free(gc);
}
