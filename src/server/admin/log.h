/*
 * GET /log?after=N&level=warn&text=WORDS&lines=200: the latest lines of the server's own log,
 *
 *     {"first": 1, "last": 42, "cut": false, "lines": [{"n": 42, "level": "warn", "text":
 * "time=..."}]}
 *
 * `after` is what the reader has seen, `first` the oldest line that is still kept.  It shows what
 * was logged and nothing else.
 */
#ifndef TV_SERVER_ADMIN_LOG_H
#define TV_SERVER_ADMIN_LOG_H

#include "server/admin/route.h"

int tv_admin_get_log(tv_admin *admin, tv_request *req);

/** The latest lines as text, one below the other. */
void tv_admin_add_log(tv_buf *out);

#endif
