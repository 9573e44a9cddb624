/* See rate.h. */
#include "insight/advice/rate.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"

enum { HOURLY_MINUTES = 10, LOAD_SPANS = 2, LOAD_WRITES_MIN = 100 };

static const double seconds_min = 10;
static const double load_factor = 4;

static int compare_counts(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

    return (one > other) - (one < other);
}

/* More than four times what the minute in the middle had. */
static double heavy_above(const uint32_t *minutes, size_t count)
{
    uint32_t sorted[TV_EVIDENCE_MINUTES];

    memcpy(sorted, minutes, count * sizeof minutes[0]);
    qsort(sorted, count, sizeof sorted[0], compare_counts);
    return load_factor * fmax(sorted[count / 2], 1);
}

/* How many minutes loads took, and what was written in them. */
static size_t find_loads(const uint32_t *minutes, size_t count, double *ret_writes)
{
    double above = count ? heavy_above(minutes, count) : 0, writes = 0;
    size_t heavy = 0, spans = 0;

    *ret_writes = 0;
    for (size_t i = 0; i < count; i++) {
        if (minutes[i] <= above)
            continue;
        /* What reaches the end may go on. */
        if (i + 2 >= count)
            return 0;
        spans += i == 0 || minutes[i - 1] <= above;
        writes += minutes[i];
        heavy++;
    }
    if (spans > LOAD_SPANS || heavy * 4 > count || writes < LOAD_WRITES_MIN)
        return 0;
    *ret_writes = writes;
    return heavy;
}

/* Those of the clock, the first and the last not whole; none in a run. */
static size_t minutes_since(const tv_evidence *evidence, const tv_evidence_table *table,
                            int64_t from_ticks)
{
    const int64_t minute = 60 * TV_TICKS_PER_SECOND;
    size_t wanted = (size_t)(evidence->to_ticks / minute - from_ticks / minute) + 1;

    return table->minute_count < wanted ? table->minute_count : wanted;
}

static void rate_writes(const tv_evidence *evidence, const tv_evidence_table *table,
                        tv_table_rate *rate)
{
    size_t count = minutes_since(evidence, table, rate->from_ticks);
    const uint32_t *minutes = table->writes_by_minute + (table->minute_count - count);
    double busiest = 0;
    size_t loading = find_loads(minutes, count, &rate->load_writes);

    for (size_t i = 0; i < count; i++)
        busiest = fmax(busiest, minutes[i]);
    rate->minute_inserts_per_second =
        fmax(rate->inserts_per_second,
             rate->writes > 0 ? busiest / 60 * fmin(1, (double)table->inserts / rate->writes) : 0);
    rate->has_hourly = count >= HOURLY_MINUTES && rate->seconds >= HOURLY_MINUTES * 60;
    if (rate->has_hourly)
        rate->writes_per_hour = fmax(0, rate->writes - rate->load_writes) /
                                fmax(rate->seconds - 60 * (double)loading, 60) * 3600;
}

tv_table_rate tv_table_rate_of(const tv_evidence *evidence, const tv_evidence_table *table)
{
    tv_table_rate rate = {.from_ticks = evidence->from_ticks, .writes = (double)table->writes};

    if (table->first_ticks > rate.from_ticks && table->first_ticks <= evidence->to_ticks)
        rate.from_ticks = table->first_ticks;
    rate.seconds = fmax(
        (double)(evidence->to_ticks - rate.from_ticks) / (double)TV_TICKS_PER_SECOND, seconds_min);
    rate.units_per_second = table->rate.units / rate.seconds;
    rate.inserts_per_second = (double)table->inserts / rate.seconds;
    rate_writes(evidence, table, &rate);
    /* The busiest slots were those of a load. */
    rate.lasting_per_second = rate.load_writes > 0
                                  ? rate.units_per_second
                                  : fmax(rate.units_per_second, table->rate.sustained_per_second);
    return rate;
}
