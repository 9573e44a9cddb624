/*
 * Who judges what is asked of tables: the recorder (watch/), what is known of the data (facts/),
 * traffic by key (traffic/) and the rules (advice/), put in one order.  Its thread goes through it:
 *
 *     every second   fold    what network threads have recorded      tv_watch_step
 *                    step    minutes and hours that are over
 *     every 10 s     take    evidence of the last hour               tv_watch_take
 *                    fill    in what is known of the data            tv_facts_fill_evidence
 *                    judge   it by the rules                         tv_rules_judge
 *                    keep    what was found, for GET /advice         tv_advice_keep
 *
 * Traffic by key is adapted before the evidence is taken, and its minute closed when one has ended.
 */
#ifndef TV_INSIGHT_ADVISOR_ADVISOR_H
#define TV_INSIGHT_ADVISOR_ADVISOR_H

#include "base/background.h"
#include "insight/advice/advice.h"
#include "insight/facts/facts.h"
#include "insight/traffic/traffic.h"
#include "insight/watch/snapshot.h"
#include "model/catalog/ids.h"

typedef struct tv_advisor {
    tv_watch *watch;
    tv_traffic *traffic;
    tv_advice *advice;
    tv_facts *facts; /* or NULL */
    tv_catalog *tables;
    bool has_targets, is_prompt;

    tv_background thread;
    bool is_started, is_stopped;
    pthread_mutex_t stepping; /* the thread, or who moves the clock; guards what follows */
    tv_catalog_ids known;     /* those of `tables`, while a minute is closed */
    bool has_known;
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

/** Move the recorder's manual clock, and do all that falls due meanwhile.  Any thread. */
void tv_advisor_advance(tv_advisor *advisor, int64_t ns);

/**
 * Judge all since a mark, and write what was found; nothing of it is kept; `out` is lost
 * without memory for it.  False when the mark is not known.  Any thread; entities may be read.
 */
bool tv_advisor_judge_run(tv_advisor *advisor, tv_slice mark, const tv_params *params,
                          const tv_advice_query *query, tv_buf *out);

#endif
