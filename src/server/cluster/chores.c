/* A thread for each chore. */
#include "server/cluster/chores.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"

typedef struct worker {
    tv_background thread; /* its lock guards is_hurried */
    const tv_lead *lead;
    tv_chore chore;
    bool is_hurried;
    bool has_failed; /* the last time: only the first of a row is told */
} worker;

struct tv_chores {
    size_t count;
    worker workers[];
};

/* Until its time has come or somebody is in a hurry.  False when it is time to stop. */
static bool wait_for_turn(worker *w)
{
    int64_t until_ns = tv_clock_mono_ns() + w->chore.interval_ms * INT64_C(1000000);

    tv_background_lock(&w->thread);
    while (!w->is_hurried && tv_background_wait(&w->thread, until_ns))
        ;
    w->is_hurried = false;
    tv_background_unlock(&w->thread);
    return !tv_background_is_stopping(&w->thread);
}

static void run(tv_background *thread, void *ctx)
{
    worker *w = ctx;

    while (wait_for_turn(w)) {
        if (!w->chore.on_every_node && !tv_lead_is_here(w->lead))
            continue;

        tv_err err = w->chore.run(w->chore.ctx, thread);
        bool has_failed = err && err != TV_ERR_STOPPED;

        if (has_failed && !w->has_failed)
            tv_log(TV_LOG_WARN, "chore", "name=%s error=%s note=\"it is tried again\"",
                   w->chore.name, tv_err_name(err));
        w->has_failed = has_failed;
    }
}

tv_chores *tv_chores_start(const tv_lead *lead, const tv_chore *list, size_t count)
{
    tv_chores *chores = tv_calloc(1, sizeof *chores + count * sizeof *chores->workers);

    chores->count = count;
    for (size_t i = 0; i < count; i++) {
        worker *w = &chores->workers[i];

        w->lead = lead;
        w->chore = list[i];
        tv_background_start(
            &w->thread,
            &(tv_background_options){
                .name = list[i].name, .gives_way = !list[i].on_every_node, .run = run, .ctx = w});
    }
    return chores;
}

void tv_chores_hurry(tv_chores *chores, const char *name)
{
    for (size_t i = 0; i < chores->count; i++) {
        worker *w = &chores->workers[i];

        if (strcmp(w->chore.name, name) != 0)
            continue;
        tv_background_lock(&w->thread);
        w->is_hurried = true;
        tv_background_wake(&w->thread);
        tv_background_unlock(&w->thread);
    }
}

void tv_chores_stop(tv_chores *chores)
{
    if (chores == NULL)
        return;

    for (size_t i = 0; i < chores->count; i++)
        tv_background_stop(&chores->workers[i].thread);
}

void tv_chores_free(tv_chores *chores)
{
    if (chores == NULL)
        return;

    for (size_t i = 0; i < chores->count; i++)
        tv_background_done(&chores->workers[i].thread);
    free(chores);
}
