/*
 * The findings of a running server: kept over restarts, and told in JSON.  Who judges brings them
 * here (src/insight/advisor/).
 *
 * tv_advice_keep is for one thread at a time; the others may be called by any.
 */
#ifndef TV_INSIGHT_ADVICE_ADVICE_H
#define TV_INSIGHT_ADVICE_ADVICE_H

#include "insight/advice/book.h"

typedef struct tv_advice tv_advice;

/**
 * Reads what was kept; a file that is damaged is logged and replaced.  `data` is the folder that
 * the server keeps its data in; NULL: nothing is kept.
 */
tv_advice *tv_advice_new(const char *data);

/** Keeps what was found, and frees it.  NULL is fine. */
void tv_advice_free(tv_advice *advice);

/**
 * What the rules have found in the live window, every 10 s.  Logs what begins to be active.  Writes
 * the file when something has changed, once a minute.
 */
void tv_advice_keep(tv_advice *advice, const tv_evidence *evidence, const tv_findings *found);

/** What GET /advice asks for; empty slices: everything. */
typedef struct tv_advice_query {
    tv_slice account, table; /* a table in any case of letters */
    tv_slice rule;           /* name, code, or the letter of a group */
    tv_slice state;          /* of the live list; without one, all but resolved */
    size_t limit;            /* SIZE_MAX: all */
    bool is_redacted;
} tv_advice_query;

/** The list as of the last judgement. */
void tv_advice_write(tv_advice *advice, const tv_advice_query *query, tv_buf *out);

/** Those of a table that are active, in the arena. */
tv_finding **tv_advice_active(tv_advice *advice, tv_slice account, tv_slice table, tv_arena *arena,
                              size_t *ret_count);

/** What was found in a run; the arena is that of `found`. */
void tv_advice_write_run(tv_advice *advice, const tv_advice_query *query, tv_arena *arena,
                         const tv_evidence *evidence, const tv_findings *found, tv_buf *out);

/**
 * Ignore a finding until a time; 0: not any more, INT64_MAX: for good.  False when there is none.
 * It holds at once, and over a restart after the next judgement.
 */
bool tv_advice_ignore(tv_advice *advice, tv_slice id, int64_t until);

#endif
