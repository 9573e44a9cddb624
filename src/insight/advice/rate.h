/*
 * How much is asked of a table: the one place where what was counted becomes a rate.
 *
 *  (1) An average is over the time that a finding on the table names: from its first request, or
 *      from where the window begins, to the window's end.  Average times time is the count.
 *  (2) What is said of an hour was seen in one, or is what writes are like beside loads.  A load is
 *      what a table is filled by: one or two spans of minutes that have ended, together a quarter
 *      of the time at most, whose minutes have more than four times the writes of the one in the
 *      middle.  Three such spans are how the table is used.
 *  (3) Before ten minutes have passed nothing is said of an hour.
 */
#ifndef TV_INSIGHT_ADVICE_RATE_H
#define TV_INSIGHT_ADVICE_RATE_H

#include "insight/advice/evidence.h"

typedef struct tv_table_rate {
    int64_t from_ticks; /* to the window's end */
    double seconds;     /* these, at least 10 */
    double units_per_second, inserts_per_second;
    double lasting_per_second; /* units: the average; without loads what three slots of 10 s had */
    double minute_inserts_per_second; /* of the minute with most writes; the average if it is more */
    double writes;
    double load_writes;     /* of these, in loads */
    bool has_hourly;        /* (3) */
    double writes_per_hour; /* beside loads */
} tv_table_rate;

tv_table_rate tv_table_rate_of(const tv_evidence *evidence, const tv_evidence_table *table);

#endif
