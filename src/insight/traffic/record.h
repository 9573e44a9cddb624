/* What a finished request is to traffic by key. */
#ifndef TV_INSIGHT_TRAFFIC_RECORD_H
#define TV_INSIGHT_TRAFFIC_RECORD_H

#include "insight/traffic/traffic.h"
#include "insight/watch/event.h"

/**
 * Count an event for a table, on the shard's thread.  Entities count at their keys; of a query the
 * rows that were examined and returned are divided evenly between the buckets they lie in, from the
 * first to the last.
 */
void tv_traffic_record(tv_traffic_shard *shard, tv_traffic_table *table,
                       const tv_watch_event *event);

#endif
