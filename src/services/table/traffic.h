/* A table's requests as traffic by key: traffic/traffic.h. */
#ifndef TV_SERVICES_TABLE_TRAFFIC_H
#define TV_SERVICES_TABLE_TRAFFIC_H

#include "insight/watch/event.h"
#include "services/table/service.h"

/**
 * Count an event of a table, whose number it has, on the loop with this index.  At a table's first
 * request this takes a lock.
 */
void tv_table_count_traffic(tv_traffic *traffic, int loop_index, const tv_container *table,
                            const tv_watch_event *event);

/** tv_catalog_kind.service_done: nobody counts it any more. */
void tv_table_end_traffic(tv_container *table);

#endif
