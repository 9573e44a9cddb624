/*
 * Who records what is asked of tables and gives advice: the recorder (watch/), what is known of the
 * data (facts/), traffic by key (watch/traffic/) and the rules (advice/), put together.
 */
#ifndef TV_SERVER_MAIN_ADVISOR_H
#define TV_SERVER_MAIN_ADVISOR_H

#include "insight/advice/advice.h"
#include "insight/facts/facts.h"
#include "insight/traffic/traffic.h"
#include "insight/watch/snapshot.h"
#include "model/catalog/ids.h"

typedef struct tv_advisor {
    tv_watch *watch;
    tv_watch_source source;
    tv_traffic *traffic;
    tv_advice *advice;
    tv_facts *facts;
    tv_catalog *tables;
    tv_catalog_ids known; /* those of `tables`, while a minute is closed */
    bool has_known;
    bool is_stopped;
    bool has_told; /* that a minute could not be kept */
} tv_advisor;

typedef struct tv_advisor_options {
    const char *watch; /* "on" or "all" */
    const char *data;  /* where findings are kept, or NULL */
    bool is_clock_manual;
    bool has_targets; /* scalability targets are emulated */
    int memory_mb;
    int loop_count;
    tv_catalog *tables;
    tv_facts *facts; /* or NULL */
} tv_advisor_options;

/** What was kept and cannot be read is logged, and no reason to fail. */
tv_advisor *tv_advisor_new(const tv_advisor_options *options);

/** Begin to judge, and end it: while the loops run. */
void tv_advisor_start(tv_advisor *advisor);
void tv_advisor_stop(tv_advisor *advisor);

/** After the last request, and after the catalogue of tables.  Accepts NULL. */
void tv_advisor_free(tv_advisor *advisor);

#endif
