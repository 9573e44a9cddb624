/* Instants that only grow. */
#include "engine/instant.h"

#include <stdatomic.h>

#include "base/log.h"
#include "base/number.h"
#include "engine/key.h"

/* The latest instant of this process. */
static _Atomic int64_t latest;

/*
 * How far instants run ahead of the clock, and since when.  Both are hints: whoever reads
 * one of them too early or too late is refused once more, or runs ahead a little longer.
 */
static _Atomic int64_t lead, lead_since;

/* What is left of it: half after each TV_INSTANT_LEAD_HALF, and straight in between. */
static int64_t lead_at(int64_t clock)
{
    int64_t ahead = atomic_load(&lead), passed = clock - atomic_load(&lead_since);

    if (ahead == 0 || passed <= 0)
        return ahead;

    int64_t halves = passed / TV_INSTANT_LEAD_HALF;

    ahead = halves < 62 ? ahead >> halves : 0;
    passed %= TV_INSTANT_LEAD_HALF;
    return ahead - ahead / 2 * (passed / TV_TICKS_PER_SECOND) /
                       (TV_INSTANT_LEAD_HALF / TV_TICKS_PER_SECOND);
}

static int64_t read_clock(void)
{
    int64_t clock = tv_clock_steady_ticks();

    return clock + lead_at(clock);
}

int64_t tv_instant_now(void)
{
    int64_t clock = read_clock(), last = atomic_load(&latest);

    return clock > last ? clock : last;
}

int64_t tv_instant_next(void)
{
    int64_t last = atomic_load(&latest), next;

    do {
        int64_t clock = read_clock();

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

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void tv_instant_follow(int64_t instant, int64_t sent)
{
    int64_t clock = tv_clock_steady_ticks(), ahead = lead_at(clock);
    int64_t wanted = ahead + instant - sent;

    tv_instant_pass(instant);
    if (wanted <= ahead)
        return;

    wanted += wanted / 4; /* so that it takes a while until it is too little again */
    wanted = least(least(wanted, 2 * ahead + TV_INSTANT_LEAD_STEP), TV_INSTANT_LEAD_MAX);

    atomic_store(&lead_since, clock);
    atomic_store(&lead, wanted);
}

tv_err tv_instant_parse(tv_slice value, int64_t *ret_instant)
{
    int64_t instant;

    if (!tv_parse_int64(value, &instant) || instant < TV_TICKS_MIN)
        return TV_ERR_CORRUPT;

    *ret_instant = instant <= TV_INSTANT_MAX ? instant : 0;
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
    if (instant == 0) {
        tv_log(TV_LOG_WARN, "time_not_believed",
               "note=\"a clock that was wrong has written to this store: its time is beyond the "
               "year 3169; stored times go on from the clock of now\"");
        return TV_OK;
    }

    /*
     * A start within the second after the last write is no reason to run ahead
     * of the wall clock: instants then grow by single ticks until it has caught up.
     */
    tv_instant_pass(instant + TV_INSTANT_STEP);
    if (tv_clock_ticks() < instant)
        tv_clock_raise(instant + TV_INSTANT_STEP);
    return TV_OK;
}
