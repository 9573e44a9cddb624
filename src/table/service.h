/*
 * The table service: what a listener on the table port calls.  It wires the
 * parts of this folder together; routes.c is its way in, respond.c its way out.
 */
#ifndef TV_TABLE_SERVICE_H
#define TV_TABLE_SERVICE_H

#include "auth/identity.h"
#include "base/meter.h"
#include "base/turns.h"
#include "base/workers.h"
#include "catalog/catalog.h"
#include "commit/pipeline.h"
#include "http/request.h"
#include "odata/plan.h"

/** The catalogue of tables. */
extern const tv_catalog_kind tv_table_catalog;

/** What the catalogue keeps with every table. */
typedef struct tv_table_counts {
    _Atomic uint64_t plans[TV_PLAN_KINDS]; /* queries by kind, since the start */
} tv_table_counts;

typedef struct tv_table_service {
    tv_engine *engine;
    tv_catalog *catalog;
    tv_workers *readers;        /* for point reads that wait for the disk */
    tv_turns *scanners;         /* for queries, which take longer */
    tv_outbox *const *outboxes; /* one per loop, by its index */
    tv_auth_policy auth;
    int64_t query_time_max_ns; /* a page ends after that, perhaps empty, with a token */
    bool is_https_only;
    bool has_access_log;
    tv_meter meter;
} tv_table_service;

/**
 * The handler for a listener; `service` outlives it.  Fill in all of `service`
 * before, but for the meter and what follows it.
 */
tv_http_handler tv_table_service_handler(tv_table_service *service);

/** Append the service's figures, beside those of its meter, in Prometheus' text format. */
void tv_table_service_write_metrics(void *service, tv_buf *out);

#endif
