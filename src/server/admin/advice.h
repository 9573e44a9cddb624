/* /advice: what the rules have found, marks for runs, and findings that are not to be shown. */
#ifndef TV_SERVER_ADMIN_ADVICE_H
#define TV_SERVER_ADMIN_ADVICE_H

#include "server/admin/route.h"

/** Each as tv_admin_route.run. */
int tv_admin_get_advice(tv_admin *admin, tv_request *req);
int tv_admin_post_mark(tv_admin *admin, tv_request *req);
int tv_admin_post_ignore(tv_admin *admin, tv_request *req);

bool tv_admin_has_advice(const tv_admin *admin);

#endif
