/* What is counted by key. */
#ifndef TV_INSIGHT_TRAFFIC_MEASURE_H
#define TV_INSIGHT_TRAFFIC_MEASURE_H

#include <stdint.h>

#include "base/slice.h"

/** On disk as the bits of a mask: new ones go to the end. */
typedef enum tv_traffic_measure {
    TV_MEASURE_READS,     /* entities that were asked for by their key or returned by a query */
    TV_MEASURE_WRITES,    /* entities that were inserted or changed */
    TV_MEASURE_DELETES,   /* entities that were deleted */
    TV_MEASURE_BYTES,     /* of these entities, in both directions */
    TV_MEASURE_SCANNED,   /* rows that queries looked at */
    TV_MEASURE_CONFLICTS, /* changes that were refused because of an ETag */
    TV_MEASURE_THROTTLED, /* requests that were refused because of a scalability target */
    TV_MEASURE_INSERTS,   /* of the writes: entities that are new */
    TV_MEASURES,
} tv_traffic_measure;

/** Counts of one bucket over some time. */
typedef struct tv_counts {
    uint64_t by[TV_MEASURES];
} tv_counts;

static inline void tv_counts_add(tv_counts *to, const tv_counts *more)
{
    for (int i = 0; i < TV_MEASURES; i++)
        to->by[i] += more->by[i];
}

/** How much of a table's attention a bucket has: a scanned row is a hundredth of a request. */
static inline double tv_counts_weight(const tv_counts *counts)
{
    return (double)(counts->by[TV_MEASURE_READS] + counts->by[TV_MEASURE_WRITES] +
                    counts->by[TV_MEASURE_DELETES]) +
           (double)counts->by[TV_MEASURE_SCANNED] / 100;
}

/** "reads", "writes", "deletes", "bytes", "scanned", "conflicts", "throttled", "inserts". */
const char *tv_traffic_measure_name(tv_traffic_measure measure);
bool tv_traffic_measure_parse(tv_slice name, tv_traffic_measure *ret_measure);

#endif
