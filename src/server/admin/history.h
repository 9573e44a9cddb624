/*
 * What the metrics were in the last hour, every ten seconds: so that the charts of the page begin
 * with what was before it was opened.
 *
 * Kept are those that the charts show, summed over all other labels.  GET /metrics/history?after=MS
 *
 *     {"nowMs": 1795063601300, "everyMs": 10000, "series":
 * ["tavola_requests_total{service=\"table\"}", ...], "points": [[unix ms, a number for each series
 * that was known then], ...]}
 *
 * The names are such that the text of /metrics, summed likewise, has the same.
 */
#ifndef TV_SERVER_ADMIN_HISTORY_H
#define TV_SERVER_ADMIN_HISTORY_H

#include "server/admin/route.h"

typedef struct tv_history tv_history;

/** Begin with what there is now; `every_ms` 0: ten seconds.  `admin` outlives it. */
tv_history *tv_history_new(tv_admin *admin, int every_ms);
void tv_history_free(tv_history *history); /* or NULL */

int tv_admin_get_history(tv_admin *admin, tv_request *req);
bool tv_admin_has_history(const tv_admin *admin);

/* --- without a thread, for tests --- */

enum { TV_HISTORY_POINTS = 360 };

/** One that is not filled by itself. */
tv_history *tv_history_new_idle(int every_ms);

/** Keep the text of /metrics as what it was at a time, in place of the last one if it is not later. */
void tv_history_add(tv_history *history, int64_t unix_ms, tv_slice metrics);

/** Write the points after a time; `now_ms`: by the same clock. */
void tv_history_write(tv_history *history, int64_t after_ms, int64_t now_ms, tv_buf *out);

#endif
