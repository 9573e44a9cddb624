/*
 * POST /clock {"ms": 1000}, which only tests can (tavolad --test-points): time passes for all that
 * is stored, so leases end and messages come back without anybody who waits.  The answer is the
 * time after that, {"unixMs": N}.  Dates of signatures are compared with the wall clock, which
 * stays.
 *
 * With --watch-clock=manual the recorder's clock moves with it, and what falls due there meanwhile
 * is done before the answer.
 */
#ifndef TV_SERVER_ADMIN_CLOCK_H
#define TV_SERVER_ADMIN_CLOCK_H

#include "server/admin/route.h"

int tv_admin_post_clock(tv_admin *admin, tv_request *req);

#endif
