/*
 * The table service, for the code that wires it: its operations are in ops.def.
 */
#ifndef TV_SERVICES_TABLE_SERVICE_H
#define TV_SERVICES_TABLE_SERVICE_H

#include "services/service/service.h"

/* Who observes requests: operations do not see them, see observe.c and facts.c. */
typedef struct tv_facts tv_facts;
typedef struct tv_facts_format tv_facts_format;
typedef struct tv_watch tv_watch;
typedef struct tv_watch_trace tv_watch_trace;

/** The catalogue of tables. */
extern const tv_catalog_kind tv_table_catalog;

/** The same with facts about its tables, which go with them. */
tv_catalog_kind tv_table_catalog_with(tv_facts *facts);

/** How the facts read entities. */
extern const tv_facts_format tv_table_facts_format;

typedef struct tv_table_service {
    tv_service base;           /* first */
    int64_t query_time_max_ns; /* a page ends after that, perhaps empty, with a token */
    tv_facts *facts;           /* about its tables, or NULL */
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
