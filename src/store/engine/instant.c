/* Instants that only grow. */
#include "store/engine/instant.h"

#include <stdatomic.h>

#include "base/log.h"
#include "base/number.h"
#include "store/engine/key.h"

/* The latest instant of this process. */
static _Atomic int64_t latest;

/*
 * How far instants run ahead of the clock, and since when: `lead` for longer, `rush` for a
 * moment.  All are hints: whoever reads one of them too early or too late is refused once more, or
 * runs ahead a little longer.
 */
typedef struct ahead {
    _Atomic int64_t ticks, since;
} ahead;
static ahead lead, rush;

static void set_ahead(ahead *a, int64_t ticks, int64_t since)
{
    atomic_store(&a->since, since);
    atomic_store(&a->ticks, ticks);
}

/* What is left of it: half after each TV_INSTANT_LEAD_HALF, and straight in between. */
static int64_t lead_at(int64_t clock)
{
    int64_t ticks = atomic_load(&lead.ticks), passed = clock - atomic_load(&lead.since);

    if (ticks == 0 || passed <= 0)
        return ticks;

    int64_t halves = passed / TV_INSTANT_LEAD_HALF;

    ticks = halves < 62 ? ticks >> halves : 0;
    passed %= TV_INSTANT_LEAD_HALF;
    return ticks - ticks / 2 * (passed / TV_TICKS_PER_SECOND) /
                       (TV_INSTANT_LEAD_HALF / TV_TICKS_PER_SECOND);
}

/* What is left of it: less by half of the time that has passed. */
static int64_t rush_at(int64_t clock)
{
    int64_t ticks = atomic_load(&rush.ticks), passed = clock - atomic_load(&rush.since);

    if (ticks == 0 || passed <= 0)
        return ticks;
    return ticks > passed / 2 ? ticks - passed / 2 : 0;
}

static int64_t read_clock(void)
{
    int64_t clock = tv_clock_steady_ticks();

    return clock + lead_at(clock) + rush_at(clock);
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

void tv_instant_follow(int64_t instant, int64_t sent, unsigned in_row)
{
    int64_t clock = tv_clock_steady_ticks(), now = lead_at(clock), missing = instant - sent;

    tv_instant_pass(instant);
    if (missing > 0) {
        /* A quarter more, so that it takes a while until it is too little again. */
        int64_t more = in_row < TV_INSTANT_IN_ROW ? least(missing / 2, TV_INSTANT_LEAD_STEP)
                                                  : missing + missing / 4;

        now = least(now + more, TV_INSTANT_LEAD_MAX);
        set_ahead(&lead, now, clock);
    }
    if (instant - clock - now > rush_at(clock))
        set_ahead(&rush, least(instant - clock - now, TV_INSTANT_LEAD_MAX), clock);
}

int64_t tv_instant_lead(void)
{
    int64_t clock = tv_clock_steady_ticks();

    return lead_at(clock) + rush_at(clock);
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
