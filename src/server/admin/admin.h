/*
 * The admin port: /healthz, /ready, /metrics, /backup, /cluster and more.  It has no accounts, and
 * listens on loopback unless the operator says otherwise.  It answers to addresses, to localhost
 * and to names without a dot: a web page whose own name is made to point here (DNS rebinding) has
 * one with a dot.  What changes anything is a POST, and guarded: guard.h.
 */
#ifndef TV_SERVER_ADMIN_ADMIN_H
#define TV_SERVER_ADMIN_ADMIN_H

#include "base/budget.h"
#include "base/meter.h"
#include "base/turns.h"
#include "insight/advisor/advisor.h"
#include "insight/facts/facts.h"
#include "insight/traffic/traffic.h"
#include "insight/watch/watch.h"
#include "model/auth/admin_token.h"
#include "model/catalog/catalog.h"
#include "server/admin/backup.h"
#include "server/admin/history.h"
#include "server/admin/route.h"
#include "server/admin/session.h"
#include "server/cluster/balancer.h"
#include "services/service/recent.h"
#include "store/commit/pipeline.h"
#include "wire/http/request.h"

/** A service that has metrics for /metrics and a say in /healthz. */
typedef struct tv_admin_source {
    const char *name;                            /* if it has a say */
    void (*write)(void *ctx, tv_buf *out);       /* what it has in addition to its meter */
    void (*write_names)(void *ctx, tv_buf *out); /* what names things of accounts, or NULL */
    void *ctx;
    tv_meter *meter; /* or NULL */
    /* False with what is wrong, in a few words without a line's end; or NULL. */
    bool (*check)(void *ctx, tv_buf *out);
    bool is_for_ready; /* then other servers would serve clients better: /ready */
} tv_admin_source;

enum { TV_ADMIN_SOURCES_MAX = 9 };

struct tv_admin {
    const char *name;             /* another name that it answers to, or NULL */
    tv_admin_token token;         /* not set when the server keeps nothing */
    tv_backup *backup;            /* NULL likewise, and when a cluster keeps it */
    tv_advisor *advisor;          /* NULL when nothing is recorded */
    tv_balancer *balancer;        /* NULL when it is not of a cluster */
    tv_sessions *sessions;        /* of the page, or NULL when none is served */
    const tv_http_handler *pages; /* likewise: what answers at /, /app/ and /api/ */
    tv_traffic *traffic;          /* traffic by key, or NULL when it is not counted */
    tv_catalog *tables;
    tv_history *history; /* of the metrics */
    tv_facts *facts;     /* about them, or NULL */
    tv_watch *watch;     /* who records what is asked of tables, or NULL */
    tv_engine *engine;
    tv_pipeline *pipeline;
    const tv_budget *budget;
    tv_turns *scanners;
    tv_recent *recent;                             /* the requests of clients, or NULL */
    tv_admin_source sources[TV_ADMIN_SOURCES_MAX]; /* one without `write` ends the list */
    int64_t start_ns;                              /* monotonic */
    tv_slice settings;                             /* of the server, a line each, for /bundle */
};

/** What an error of the engine means to who asks; a literal, and the log says more. */
const char *tv_admin_meaning_of(const tv_engine *engine, tv_err err);

/** The text of /healthz; false when something is wrong. */
bool tv_admin_add_health(tv_admin *admin, tv_buf *out);

/** The text of /metrics; what names things of accounts only if asked for. */
void tv_admin_add_metrics(tv_admin *admin, tv_buf *out, bool with_names);

/** The handler for a listener; `admin` outlives it. */
tv_http_handler tv_admin_handler(tv_admin *admin);

#endif
