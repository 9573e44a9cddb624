/*
 * Where the writes of a trace go, under the keys of now and under those of a design: how much of
 * them one partition takes, over all and in its worst ten seconds, whether new entities go to one
 * end of the table, and which transactions would no longer be in one partition.
 *
 * Of a write only its key is known, and of the entity what it is now.  Where the trace has hashes
 * of keys, each stands for an entity of the data: the partition with most written rows for the
 * largest, so what is said of the design is what the data are like, not these very entities.
 */
#ifndef TV_INSIGHT_WHATIF_WRITES_H
#define TV_INSIGHT_WHATIF_WRITES_H

#include "insight/whatif/trace.h"

/** Under one set of keys. */
typedef struct tv_writes_side {
    double hottest;                   /* share of all units that one partition takes, 0 to 1 */
    double worst_share, worst_second; /* of the ten seconds in which one takes most: its share, and
                                         its units a second */
    bool has_direction;               /* there were enough inserts, and their keys have an order */
    double direction;                 /* of whole keys: -1 at the beginning, 1 at the end */
    int moves;                        /* 1: new entities go to the end, -1: to the beginning */
} tv_writes_side;

typedef struct tv_writes {
    uint64_t writes, units; /* that were followed */
    uint64_t unknown;       /* keys that the trace does not show */
    uint64_t gone;          /* of entities that are not in the data, or have no key in the design */
    uint64_t broken;        /* transactions whose entities would not be in one partition */
    tv_writes_side before, after;
} tv_writes;

/** Follow all writes into the design of this number; design 0 is the table as it is. */
tv_writes tv_writes_follow(const tv_trace *trace, tv_scratch *scratch, size_t design);

#endif
