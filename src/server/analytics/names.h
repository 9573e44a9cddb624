/* The names of log blobs and the keys of rows of metrics, which are instants.  Pure functions. */
#ifndef TV_SERVER_ANALYTICS_NAMES_H
#define TV_SERVER_ANALYTICS_NAMES_H

#include <stdint.h>

#include "base/clock.h"
#include "base/service_kind.h"

#define TV_ANALYTICS_MINUTE_TICKS (60 * TV_TICKS_PER_SECOND)
#define TV_ANALYTICS_HOUR_TICKS (60 * TV_ANALYTICS_MINUTE_TICKS)
#define TV_ANALYTICS_DAY_TICKS (24 * TV_ANALYTICS_HOUR_TICKS)

enum { TV_ANALYTICS_NAME_SIZE = 64 };

/** The beginning of the hour, minute or day in which an instant lies. */
static inline int64_t tv_analytics_floor(int64_t ticks, int64_t span)
{
    return ticks - ticks % span;
}

/** "table/2026/01/02/0300/": where the blobs of an hour are.  Terminated, as the next ones are. */
tv_slice tv_analytics_folder(char to[TV_ANALYTICS_NAME_SIZE], tv_service_kind service,
                             int64_t hour);

/** "table/2026/01/02/0300/000017.log". */
tv_slice tv_analytics_blob_name(char to[TV_ANALYTICS_NAME_SIZE], tv_service_kind service,
                                int64_t hour, int number);

/** The hour in such a name, which is one of this service; false for any other name. */
bool tv_analytics_blob_hour(tv_slice name, tv_service_kind service, int64_t *ret_hour);

/** "20260102T0304": the PartitionKey of rows. */
tv_slice tv_analytics_partition(char to[TV_ANALYTICS_NAME_SIZE], int64_t ticks);

#endif
