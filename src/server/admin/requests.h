/*
 * GET /requests?after=N&count=500: the requests of clients as they are answered, the oldest first,
 *
 *     {"first": 1, "last": 42, "wasOff": false, "requests": [{"n": 42, "operation": "GetBlob",
 * ...}]}
 *
 * `after` is what the reader has seen, `first` the oldest that is still kept.  Nothing is kept
 * unless somebody has asked within the last minute; after that `wasOff` is true once.  live.h says
 * what is kept of a request: no query string, no header but the program's name.
 */
#ifndef TV_SERVER_ADMIN_REQUESTS_H
#define TV_SERVER_ADMIN_REQUESTS_H

#include "server/admin/route.h"

int tv_admin_get_requests(tv_admin *admin, tv_request *req);
bool tv_admin_has_requests(const tv_admin *admin);

#endif
