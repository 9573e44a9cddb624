/* How tv_traffic_read makes a view out of files. */
#ifndef TV_INSIGHT_TRAFFIC_READ_H
#define TV_INSIGHT_TRAFFIC_READ_H

#include "insight/traffic/store.h"
#include "insight/traffic/view.h"

/** See tv_traffic_read. */
tv_err tv_view_read(tv_traffic_store *store, const tv_view_query *query,
                    tv_view *ret_view) TV_WARN_UNUSED;

#endif
