/*
 * Pressure points: places in a protocol where a test can stop the world.
 *
 * `tv_point("split.4")` stands before step 4 of a split.  It does nothing, at the cost of one
 * branch, unless somebody has set it: then the process ends there as if by kill -9, or
 * waits, or the step fails.  Only tests switch points on (tavolad --test-points).
 *
 * All functions may be called from any thread.
 */
#ifndef TV_BASE_POINT_H
#define TV_BASE_POINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef enum tv_point_action {
    TV_POINT_EXIT,  /* _exit(9) */
    TV_POINT_PAUSE, /* for some milliseconds */
    TV_POINT_FAIL,  /* tv_point returns TV_ERR_STOPPED: go no further and undo nothing */
    TV_POINT_COUNT, /* only count */
} tv_point_action;

enum { TV_POINT_NAME_SIZE = 40 };

/** False: every point is a branch and no more. */
extern bool tv_points_are_on;

/** Before any thread that meets points, once. */
void tv_points_enable(void);

/**
 * From now on, do this at a point, the first `times` times (0: always) that it is met; `ms` is for
 * TV_POINT_PAUSE.  A name that ends in '*' stands for all that begin so.  In place of what was
 * set for that name.  False when too many are set, or points are off.
 */
bool tv_point_set(tv_slice at, tv_point_action action, int64_t ms, uint64_t times);

/** Nothing is set any more. */
void tv_point_clear(void);

/** How often a name that was set has been met since. */
uint64_t tv_point_met(tv_slice at);

/** "exit" and so on. */
bool tv_point_action_parse(tv_slice name, tv_point_action *ret_action);

/** Simulations decide by themselves: called at each point, for its result; NULL again when done. */
extern tv_err (*tv_point_hook)(const char *at);

tv_err tv_point_reached(const char *at) TV_WARN_UNUSED;

/** TV_OK, or TV_ERR_STOPPED: return it at once, as if the process had ended here. */
static inline TV_WARN_UNUSED tv_err tv_point(const char *at)
{
    return tv_points_are_on ? tv_point_reached(at) : TV_OK;
}

#endif
