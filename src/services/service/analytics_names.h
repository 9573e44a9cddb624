/*
 * What Storage Analytics writes into an account, by its names: the container $logs and the
 * tables $Metrics….  Lists do not show them, but for $logs with include=system; their owner
 * reads them and deletes what is in them, and nobody but the server creates, changes or deletes
 * them.
 */
#ifndef TV_SERVICES_SERVICE_ANALYTICS_NAMES_H
#define TV_SERVICES_SERVICE_ANALYTICS_NAMES_H

#include "base/service_kind.h"
#include "base/slice.h"

#define TV_ANALYTICS_LOGS TV_LIT("$logs")
#define TV_ANALYTICS_CAPACITY TV_LIT("$MetricsCapacityBlob")

/** Over which span the rows of a table of metrics count, and which copy of the data they are of. */
typedef enum tv_analytics_span { TV_ANALYTICS_HOUR, TV_ANALYTICS_MINUTE } tv_analytics_span;

/** "$MetricsHourPrimaryTransactionsBlob". */
tv_slice tv_analytics_metrics_name(tv_analytics_span span, bool is_secondary,
                                   tv_service_kind service);

/**
 * The table of metrics that a name in any case stands for, as it is written; data is NULL when
 * it is not one.  $MetricsTransactionsBlob and the like, of before 2013, are those of hours and
 * the primary.
 */
tv_slice tv_analytics_table(tv_slice name);

/** Whether a table, queue or container of this name is Storage Analytics'. */
static inline bool tv_analytics_owns(tv_service_kind service, tv_slice name)
{
    if (name.len == 0 || name.data[0] != '$')
        return false;
    return (service == TV_SERVICE_BLOB && tv_slice_eq(name, TV_ANALYTICS_LOGS)) ||
           (service == TV_SERVICE_TABLE && tv_analytics_table(name).data);
}

#endif
