/* Instants that only grow. */
#include "engine/instant.h"

#include <stdatomic.h>

#include "base/number.h"
#include "engine/key.h"

/* The latest instant of this process. */
static _Atomic int64_t latest;

int64_t tv_instant_now(void)
{
    int64_t clock = tv_clock_steady_ticks(), last = atomic_load(&latest);

    return clock > last ? clock : last;
}

int64_t tv_instant_next(void)
{
    int64_t last = atomic_load(&latest), next;

    do {
        int64_t clock = tv_clock_steady_ticks();

        next = clock > last ? clock : last + 1;
    } while (!atomic_compare_exchange_weak(&latest, &last, next));
    return next;
}

void tv_instant_pass(int64_t instant)
{
    int64_t last = atomic_load(&latest);

    while (last < instant && !atomic_compare_exchange_weak(&latest, &last, instant))
        ;
}

tv_err tv_instant_parse(tv_slice value, int64_t *ret_instant)
{
    int64_t instant;

    if (!tv_parse_int64(value, &instant) || instant < TV_TICKS_MIN || instant > TV_INSTANT_MAX)
        return TV_ERR_CORRUPT;

    *ret_instant = instant;
    return TV_OK;
}

tv_err tv_instant_load(tv_engine *engine)
{
    int64_t instant = 0;
    tv_arena arena;
    tv_slice value;
    tv_err err;

    tv_arena_init(&arena);
    err = tv_engine_get(engine, TV_READ_ANY, TV_KEY_TIME, &arena, &value);
    if (err == TV_OK)
        err = tv_instant_parse(value, &instant);
    tv_arena_done(&arena);
    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_OK : err;

    /*
     * A start within the second after the last write is no reason to run ahead
     * of the wall clock: instants then grow by single ticks until it has caught up.
     */
    tv_instant_pass(instant + TV_INSTANT_STEP);
    if (tv_clock_ticks() < instant)
        tv_clock_raise(instant + TV_INSTANT_STEP);
    return TV_OK;
}
