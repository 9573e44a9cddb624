/*
 * How the server is, for two who ask.  GET /healthz is for people and their alerts: 503 while
 * anything is wrong.  GET /ready is for load balancers and orchestrators, which take a server out
 * for it: 503 while others would serve clients better.  A full disk, damaged data or one operation
 * that does not come back are no reason for that: all servers of a cluster may have it at once, and
 * the deletes that would cure it have to get through.
 *
 * Both give each reason as a line of text, or, to who accepts application/json, as
 * {"reasons":[{"part":"engine","text":"..."}],"status":"unhealthy"}.
 */
#ifndef TV_SERVER_ADMIN_HEALTH_H
#define TV_SERVER_ADMIN_HEALTH_H

#include "server/admin/admin.h"

/** Answer GET /healthz and GET /ready. */
void tv_admin_get_health(tv_admin *admin, tv_request *req);
void tv_admin_get_ready(tv_admin *admin, tv_request *req);

#endif
