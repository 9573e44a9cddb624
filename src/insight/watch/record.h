/* What the files that record a request share; all on its network thread. */
#ifndef TV_INSIGHT_WATCH_RECORD_H
#define TV_INSIGHT_WATCH_RECORD_H

#include "insight/watch/internal.h"

/** A page of a query, in the sums of its table and its shape, and as a sample. */
void tv_record_query(tv_watch_shard *shard, tv_sheet *sheet, tv_sheet_table *table,
                     const tv_watch_event *event);

/** What a page of a query counts, in entities of 1 KiB. */
uint32_t tv_record_query_units(const tv_watch_event *event);

/** Sample an entity, or a page of a query, if it is its turn or it is always sampled. */
void tv_record_sample_key(tv_watch_shard *shard, tv_sheet *sheet, const tv_watch_event *event,
                          const tv_watch_key *key);
void tv_record_sample_query(tv_watch_shard *shard, tv_sheet *sheet, const tv_watch_event *event,
                            uint64_t fingerprint);

/**
 * Count it for traffic by key, inside of the shard's epoch.  Entities count at their keys; of a
 * query the rows that were examined and returned are divided evenly between the buckets they lie
 * in, from the first to the last.  One that was throttled before it had a plan has no key.
 */
void tv_record_traffic(tv_traffic_table *table, int shard, const tv_watch_event *event);

#endif
