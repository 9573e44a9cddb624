/*
 * Let every allocation of the library fail, one run for each:
 *
 *     MEMORY_FAULTS(fault) {
 *         ... the same steps in every run ...
 *     }
 *
 * In run n the n-th allocation, and in a second row of runs all from the n-th on, return NULL.
 * The runs end with one in which nothing failed.  What is still allocated after a run is a leak,
 * and ends the test; so does a run that takes more than RUNS_MAX allocations.
 */
#ifndef TEST_MEMORY_FAULTS_H
#define TEST_MEMORY_FAULTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#ifndef TAVOLA_TESTS_CLIENT_LIVE_H /* which has checks of its own */
#include "check.h"
#endif
#include "tavola.h"

enum { MEMORY_FAULT_RUNS_MAX = 20000 };

typedef struct memory_fault {
    long run;      /* 0: nothing fails, to warm up what is made once; then from 1 */
    bool for_good; /* all from then on fail, not just one */
} memory_fault;

static struct {
    atomic_long countdown; /* allocations before the one that fails */
    atomic_bool is_armed, for_good, was_hit;
    atomic_long live;
} memory_fault_state;

static inline bool memory_fault_fails(void)
{
    if (!atomic_load(&memory_fault_state.is_armed))
        return false;

    long left = atomic_fetch_sub(&memory_fault_state.countdown, 1);

    if (left == 1 || (left < 1 && atomic_load(&memory_fault_state.for_good))) {
        atomic_store(&memory_fault_state.was_hit, true);
        return true;
    }
    return false;
}

static inline void *memory_fault_alloc(size_t size)
{
    void *memory = memory_fault_fails() ? NULL : malloc(size);

    if (memory)
        atomic_fetch_add(&memory_fault_state.live, 1);
    return memory;
}

static inline void *memory_fault_resize(void *old, size_t size)
{
    void *memory = memory_fault_fails() ? NULL : realloc(old, size);

    if (memory && old == NULL)
        atomic_fetch_add(&memory_fault_state.live, 1);
    return memory;
}

static inline void memory_fault_release(void *memory)
{
    if (memory)
        atomic_fetch_sub(&memory_fault_state.live, 1);
    free(memory);
}

/* Before each run; false when all have been made. */
static inline bool memory_fault_next(memory_fault *fault, bool is_first)
{
    if (is_first) {
        tavola_set_allocator(memory_fault_alloc, memory_fault_resize, memory_fault_release);
        atomic_store(&memory_fault_state.live, 0);
        fault->run = 0;
    } else {
        atomic_store(&memory_fault_state.is_armed, false);
        if (atomic_load(&memory_fault_state.live) != 0)
            fail_msg("run %ld: %ld blocks leaked", fault->run,
                     atomic_load(&memory_fault_state.live));
        if (fault->run > MEMORY_FAULT_RUNS_MAX)
            fail_msg("more than %d allocations", MEMORY_FAULT_RUNS_MAX);
        if (fault->run > 0 && !atomic_load(&memory_fault_state.was_hit)) {
            if (fault->for_good) {
                tavola_set_allocator(NULL, NULL, NULL);
                return false;
            }
            fault->for_good = true;
            fault->run = 0;
        }
        fault->run++;
    }
    atomic_store(&memory_fault_state.was_hit, false);
    atomic_store(&memory_fault_state.for_good, fault->for_good);
    atomic_store(&memory_fault_state.countdown, fault->run);
    atomic_store(&memory_fault_state.is_armed, fault->run > 0);
    return true;
}

/* Whether an allocation failed in this run: then NO_MEMORY is a right answer. */
static inline bool memory_fault_was_hit(void)
{
    return atomic_load(&memory_fault_state.was_hit);
}

#define MEMORY_FAULTS(fault)                                                                       \
    memory_fault fault = {0};                                                                      \
    for (bool fault##_go = memory_fault_next(&fault, true); fault##_go;                            \
         fault##_go = memory_fault_next(&fault, false))

#endif
