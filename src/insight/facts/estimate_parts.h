/* What the files of estimates share: what is looked up first, and the two questions. */
#ifndef TV_INSIGHT_FACTS_ESTIMATE_PARTS_H
#define TV_INSIGHT_FACTS_ESTIMATE_PARTS_H

#include "insight/facts/estimate.h"
#include "insight/facts/internal.h"

enum { TV_ESTIMATE_TESTED_MAX = 256 }; /* entities of the sample */

/** A number and where it is with a certainty of 97.5 %. */
typedef struct tv_facts_span {
    double mid, low, high;
} tv_facts_span;

/** x of k were so: what share of all is (Wilson's interval). */
tv_facts_span tv_facts_span_of_share(double x, double k);

/** The first entities of a query's ranges, which were counted and tested. */
typedef struct tv_estimate_probe {
    size_t keys, passed;
    bool has_ended; /* there are no more, or $top of them have passed; */
    tv_slice next;  /* else the first key that was not, without the prefix */
} tv_estimate_probe;

/** Entities of one counted partition that lie partly in the ranges, or all that are in none. */
typedef struct tv_stratum {
    double entities;
    double keys, inside; /* of the sample */
} tv_stratum;

/**
 * What the facts say of a query's ranges.  The table is divided into the partitions whose counts
 * are exact and the rest: so chance has its part only in what is not counted.
 */
typedef struct tv_estimate_known {
    tv_facts_count count;
    bool has_sample, sample_is_all;
    double
        sampled; /* entities that the table had when the sample was taken; all below are of then */
    double created, deleted; /* entities since */
    double sample_keys, sample_inside;
    double whole;          /* entities of counted partitions that are inside as a whole */
    tv_stratum *parts;     /* counted partitions that are not */
    size_t part_count;     /* of these */
    tv_stratum rest;       /* partitions that are not counted */
    double rest_count;     /* how many, */
    double rest_most;      /* and entities of the largest of them */
    bool is_rest_out;      /* none of them is touched */
    bool has_partition;    /* the ranges are all of one partition, */
    bool is_counted;       /* which has exactly */
    double entities;       /* so many, */
    double partition_keys; /* and so many keys of the sample */
    /* Keys of the sample that are inside and behind the probe's, without the prefix; chosen by
     * chance. */
    tv_slice tested[TV_ESTIMATE_TESTED_MAX];
    size_t tested_count;
} tv_estimate_known;

/** Look up what is known; keys are copied to the arena. */
void tv_estimate_look_up(tv_facts *facts, const tv_estimate_query *query,
                         const tv_estimate_probe *probe, tv_arena *arena,
                         tv_estimate_known *ret_known);

/** How many entities the ranges have, of which there are more than were counted. */
void tv_estimate_rows(const tv_estimate_query *query, tv_arena *arena,
                      const tv_estimate_known *known, const tv_estimate_probe *probe,
                      tv_estimate *e);

/** What share of those behind the probe passes the residual; it reads entities of the sample. */
tv_err tv_estimate_share(tv_facts *facts, const tv_estimate_query *query, tv_arena *arena,
                         const tv_estimate_known *known, const tv_estimate_probe *probe,
                         tv_facts_span *ret_share, tv_share_basis *ret_basis) TV_WARN_UNUSED;

#endif
