/*
 * Random numbers for property tests and simulations.  The seed is printed, and
 * TAVOLA_SEED=n repeats the run that printed n.
 */
#ifndef TV_TESTS_UNIT_SEED_H
#define TV_TESTS_UNIT_SEED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t seed_state;

/* Of the run that is to be repeated; NULL: of none. */
static inline const char *seed_given(void)
{
    const char *given = getenv("TAVOLA_SEED");

    return given && *given ? given : NULL;
}

static inline uint64_t seed_start(void)
{
    const char *given = seed_given();
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 2654435761u;

    seed_state = seed ? seed : 1;
    printf("# TAVOLA_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* xorshift64* over any state, so that threads can have their own. */
static inline uint64_t seed_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static inline uint64_t seed_below(uint64_t limit)
{
    return seed_next(&seed_state) % limit;
}

#endif
