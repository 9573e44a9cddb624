/*
 * When one of several has so large a share of a table's traffic that it is named, at any rate: the
 * same for the rules of advice and for the patterns of the heat map.
 */
#ifndef TV_INSIGHT_ADVICE_SHARES_H
#define TV_INSIGHT_ADVICE_SHARES_H

#include <stdbool.h>

/** From which share on a partition, and an entity, can be named. */
#define TV_SHARE_OF_PARTITION 0.5
#define TV_SHARE_OF_ENTITY 0.25

/**
 * Whether one of `count` that share the traffic has at least `least` of it and three times what the
 * others have on average: of two alike each has a half, and nothing is to be said.  Nor is of one
 * that is alone.
 */
static inline bool tv_share_is_hot(double share, double least, double count)
{
    return count >= 2 && share >= least && share * (count - 1) >= 3 * (1 - share);
}

#endif
