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

/** A table of so few entities has nothing to spread: none of them is named at a small rate. */
#define TV_FEW_ENTITIES 3

/** A table of so few may be read whole: neither a finding nor a pattern is made of it. */
#define TV_SMALL_TABLE 100

/**
 * Whether one of `count` that share the traffic has at least `least` of it and three times what the
 * others have on average: of two alike each has a half, and nothing is to be said.  One that is
 * alone stands out where there are others that could have some.
 */
static inline bool tv_share_is_hot(double share, double least, double count, bool has_others)
{
    double others = count < 2 ? 1 : count - 1;

    return (count >= 2 || has_others) && share >= least && share * others >= 3 * (1 - share);
}

#endif
