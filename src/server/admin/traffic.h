/*
 * GET /traffic and GET /traffic/cell: traffic by key of one table.  They show keys, so they are
 * guarded; docs/statistics.md has their parameters.
 */
#ifndef TV_SERVER_ADMIN_TRAFFIC_H
#define TV_SERVER_ADMIN_TRAFFIC_H

#include "server/admin/route.h"

/** Whether traffic by key is counted. */
bool tv_admin_has_traffic(const tv_admin *admin);

/**
 * JSON, or with format=heat the compact form of traffic/heat.h.  Files are read on another
 * thread: returns 0 and answers later, or a status.
 */
int tv_admin_get_traffic(tv_admin *admin, tv_request *req);

/** All measures of one slot and range of keys; likewise. */
int tv_admin_get_traffic_cell(tv_admin *admin, tv_request *req);

#endif
