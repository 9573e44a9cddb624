/*
 * Changes to a cluster that are asked for at the admin port: POST /cluster/force, which an operator
 * may use, and POST /cluster/point, which only tests can (tavolad --test-points).
 */
#ifndef TV_SERVER_ADMIN_CLUSTER_H
#define TV_SERVER_ADMIN_CLUSTER_H

#include "server/cluster/balancer.h"
#include "wire/http/request.h"

/**
 * {"op": "split|merge|move|fence|collect", "range": "…", "key": "…"}: begin it.  Returns the
 * status; req->out has {"job":n}, which GET /cluster tells of, or a line that says what is wrong.
 */
int tv_admin_force(tv_balancer *balancer, tv_request *req);

/**
 * {"at": "split.4", "do": "exit|pause|fail|count|look|clear", "ms": n, "count": n}: see
 * base/point.h.  req->out has {"met":n}, how often it was met since it was set; to look sets
 * nothing.
 */
int tv_admin_point(tv_request *req);

#endif
