/* GET /shapes: what the recorder (watch/watch.h) has. */
#ifndef TV_SERVER_ADMIN_SHAPES_H
#define TV_SERVER_ADMIN_SHAPES_H

#include "server/admin/route.h"

bool tv_admin_has_watch(const tv_admin *admin);
int tv_admin_get_shapes(tv_admin *admin, tv_request *req);

#endif
