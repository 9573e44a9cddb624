/*
 * The table service, for the code that wires it: its operations are in ops.def.
 */
#ifndef TV_SERVICES_TABLE_SERVICE_H
#define TV_SERVICES_TABLE_SERVICE_H

#include "insight/facts/cost.h"
#include "insight/facts/facts.h"
#include "insight/traffic/traffic.h"
#include "insight/watch/trace.h"
#include "insight/watch/watch.h"
#include "model/odata/plan.h"
#include "services/service/service.h"

/** The catalogue of tables. */
extern const tv_catalog_kind tv_table_catalog;

/** The same with facts about its tables, which go with them. */
tv_catalog_kind tv_table_catalog_with(tv_facts *facts);

/** How the facts read entities. */
extern const tv_facts_format tv_table_facts_format;

/** What the catalogue keeps with every table. */
typedef struct tv_table_counts {
    _Atomic uint64_t plans[TV_PLAN_KINDS];    /* queries by kind, since the start */
    _Atomic uint64_t examined[TV_PLAN_KINDS]; /* entities that they have read */
    /* The widest that the facts were told of: properties, cost, bytes of a value. */
    _Atomic uint64_t widest[3];
    _Atomic(tv_traffic_table *) traffic; /* by key; NULL until it is asked for: traffic.h */
    _Atomic uint32_t watch_number;       /* of tv_watch_table; 0 until it is asked for */
    _Atomic uint32_t traffic_number;     /* the one that `traffic` was told */
    _Atomic(tv_watch *) watch;           /* that the number is of */
    tv_query_cost cost;                  /* of its queries */
} tv_table_counts;

typedef struct tv_table_service {
    tv_service base;           /* first */
    int64_t query_time_max_ns; /* a page ends after that, perhaps empty, with a token */
    tv_facts *facts;           /* about its tables, or NULL */
    tv_traffic *traffic;       /* by key, or NULL when it is not counted */
    tv_watch *watch;           /* who is told of each request; NULL: nobody */
    atomic_uint whole_queries; /* answered with one page, without point reads */
    tv_watch_trace *trace;     /* where each is written to, or NULL */
} tv_table_service;

/** For a tv_table_service whose catalogue is one of tables. */
extern const tv_service_spec tv_table_spec;

/** Append the service's metrics, in addition to those of its meter, in Prometheus' text format. */
void tv_table_service_write_metrics(void *service, tv_buf *out);
/** Metrics that name tables. */
void tv_table_service_write_names(void *ctx, tv_buf *out);

#endif
