/*
 * GET /bundle: what somebody who helps from elsewhere asks for, in one text: versions, settings,
 * health, the cluster, metrics, the last lines of the log.  No keys, tokens or sessions: of the
 * accounts only the name of their file is a setting.
 */
#ifndef TV_SERVER_ADMIN_BUNDLE_H
#define TV_SERVER_ADMIN_BUNDLE_H

#include "server/admin/route.h"
#include "store/engine/engine.h"

int tv_admin_get_bundle(tv_admin *admin, tv_request *req);

/** ["Tavola 0.1.0", "RocksDB 7.8.3", "OpenSSL 3.0.11", "Linux 6.1.0"] */
void tv_admin_add_versions(const tv_engine *engine, tv_buf *out);

#endif
