/* GET /shapes: what the recorder (watch/watch.h) has; and its clock, in tests. */
#ifndef TV_ADMIN_SHAPES_H
#define TV_ADMIN_SHAPES_H

#include "admin/route.h"

bool tv_admin_has_watch(const tv_admin *admin);
int tv_admin_get_shapes(tv_admin *admin, tv_request *req);

/** POST /watch/clock {"ms": 1000}: time passes, and what falls due meanwhile is done. */
bool tv_admin_has_manual_clock(const tv_admin *admin);
int tv_admin_post_clock(tv_admin *admin, tv_request *req);

#endif
