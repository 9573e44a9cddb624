/*
 * Explorer, the page inside the server: its files, its login, and what it asks for.
 *
 * The page speaks the services' own protocols.  What it asks of a table, a queue or a blob
 * goes to /api/table/ACCOUNT/..., /api/queue/... or /api/blob/..., and from there through the
 * same flow as any client's request; only that the session stands for the signature
 * (tv_service_owner_handler).  So the page has no way to data that a client has not, no
 * second set of limits and parsers, and no key.
 *
 * All of it is guarded as admin/guard.h says.  Responses carry what keeps a browser from
 * running anything that is stored: data shown under this address is never a page.
 *
 * Everything runs on the loop of the admin port, but for a thread that counts (counts.h).
 */
#ifndef TV_SERVER_EXPLORER_EXPLORER_H
#define TV_SERVER_EXPLORER_EXPLORER_H

#include "insight/facts/facts.h"
#include "server/admin/guard.h"
#include "server/explorer/counts.h"
#include "server/explorer/first.h"
#include "services/service/service.h"

typedef struct tv_explorer {
    const char *name; /* another host name that the port answers to, or NULL */
    const tv_admin_token *token;
    tv_sessions sessions;
    tv_service *table, *queue, *blob;
    tv_facts *facts;     /* of the tables */
    const char *engine;  /* "rocksdb" */
    const char *urls[3]; /* blob, queue, table: "http://127.0.0.1:10000" */
    int64_t start_ticks; /* when the server started */

    /* Its own. */
    tv_tree_counts counts; /* of queues and containers */
    tv_first_requests first[3];
    tv_http_handler doors[3];
    uint64_t failed_logins; /* since the last line about them */
    int64_t failed_logins_quiet_until_ns;
} tv_explorer;

/** The handler for the paths /, /app/ and /api/ of the admin port; `explorer` outlives it.  Starts
 * its thread. */
tv_http_handler tv_explorer_handler(tv_explorer *explorer);

/** No request comes any more; before the catalogues are closed.  Zero is accepted. */
void tv_explorer_stop(tv_explorer *explorer);

#endif
