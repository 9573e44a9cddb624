/*
 * What Storage Analytics does from time to time, on a thread of its own: delete logs and rows
 * that are older than the account wants to keep them, and measure the capacity of its blobs
 * once a day.  On a cluster one node does it for all.
 */
#ifndef TV_SERVER_ANALYTICS_SWEEP_H
#define TV_SERVER_ANALYTICS_SWEEP_H

#include "server/analytics/analytics.h"

typedef struct tv_analytics_sweep tv_analytics_sweep;

/** Start it; what it is given outlives it. */
tv_analytics_sweep *tv_analytics_sweep_new(const tv_analytics_options *options);

/** Stop it, soon: what is left is done after the next start.  Accepts NULL. */
void tv_analytics_sweep_free(tv_analytics_sweep *sweep);

#endif
