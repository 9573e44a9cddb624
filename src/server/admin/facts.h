/*
 * GET /facts: what is known of the data of a table.  It shows keys, so it is guarded;
 * docs/statistics.md has its fields.  POST /facts/recount counts a table again.
 */
#ifndef TV_SERVER_ADMIN_FACTS_H
#define TV_SERVER_ADMIN_FACTS_H

#include "server/admin/route.h"

bool tv_admin_has_facts(const tv_admin *admin);

/** `account` and `table` in the query; `parts=counts` leaves the rest out,
 * `parts=keys` all but partitions and the keys of the sample. */
int tv_admin_get_facts(tv_admin *admin, tv_request *req);
int tv_admin_post_recount(tv_admin *admin, tv_request *req);

#endif
