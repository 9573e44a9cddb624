/*
 * Advice of a running server: judges evidence when it is told to, keeps what was found over
 * restarts, and answers in JSON.
 *
 * tv_advice_judge is for one thread, the watcher; the others may be called by any.
 */
#ifndef TV_INSIGHT_ADVICE_ADVICE_H
#define TV_INSIGHT_ADVICE_ADVICE_H

#include "insight/advice/book.h"
#include "insight/advice/evidence.h"

typedef struct tv_advice tv_advice;

typedef struct tv_advice_options {
    const char *data; /* the folder that the server keeps its data in; NULL: nothing is kept */
    tv_evidence_source source;
    /* Called by tv_advice_judge when a finding begins to be active, and when something could not
     * be kept or read, with one line that says what.  Both may be NULL. */
    void (*on_open)(const tv_finding *finding);
    void (*on_trouble)(const char *what);
} tv_advice_options;

/** Reads what was kept; a file that is damaged is told and begun anew. */
tv_advice *tv_advice_new(const tv_advice_options *options);

/** Keeps what was found, and frees it.  NULL is fine. */
void tv_advice_free(tv_advice *advice);

/** Judge the live window: every 10 s.  Keeps what was found when it has changed, once a minute. */
void tv_advice_judge(tv_advice *advice);

/** What GET /advice asks for; empty slices: everything. */
typedef struct tv_advice_query {
    tv_slice account, table; /* a table in any case of letters */
    tv_slice rule;           /* name, code, or the letter of a group */
    tv_slice state;          /* of the live list; without one, all but resolved */
    tv_slice since;          /* a mark: judge everything after it */
    const tv_params *params; /* thresholds of a run; NULL: the defaults */
    size_t limit;            /* SIZE_MAX: all */
    bool is_redacted;
} tv_advice_query;

/** Write the answer.  False when the mark is not known. */
bool tv_advice_write(tv_advice *advice, const tv_advice_query *query, tv_buf *out);

/** Begin a run. */
void tv_advice_mark(tv_advice *advice, char ret_mark[TV_EVIDENCE_MARK_SIZE]);

/**
 * Ignore a finding until a time; 0: not any more, INT64_MAX: for good.  False when there is none.
 * It holds at once, and over a restart after the next judgement.
 */
bool tv_advice_ignore(tv_advice *advice, tv_slice id, int64_t until);

#endif
