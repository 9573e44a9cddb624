/*
 * Random numbers for property tests: always the same from one seed, which is
 * printed, so that a failing run can be repeated with TAVOLA_TEST_SEED.
 */
#ifndef TV_TESTS_UNIT_RANDOM_H
#define TV_TESTS_UNIT_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t t_random_state;

/** Start the sequence and print its seed as a TAP comment. */
static inline void t_random_seed(uint64_t seed)
{
    const char *other = getenv("TAVOLA_TEST_SEED");

    t_random_state = other ? strtoull(other, NULL, 0) : seed;
    printf("# seed 0x%llx\n", (unsigned long long)t_random_state);
}

/* splitmix64 */
static inline uint64_t t_random(void)
{
    uint64_t z = t_random_state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

#endif
