/*
 * What a finding rests on, as a sentence for people.  Its template stands in rules.def, and is
 * filled in when a finding is written, so it says what the finding's fields say:
 *
 *     {name}            the value: 12,345, with the error of a sample: 340 +- 12 (as a sign)
 *     {name%}           a share as percent: 92 %
 *     {name%of}         the same before a number: `all of`, `92 % of`, `none of`
 *     {name#one|many}   the value and a noun: 1 query, 412 queries
 *     {window}          the time that was looked at: `the 12 minutes to 14:05 UTC`; `12 seconds of
 *                       the run`
 *     {name?}           nothing, but the field has to be there; see below
 *     [a|b|c]           the first of them whose fields all say something: neither absent, nor
 *                       empty, nor 0, nor false; nothing when there is none.  In b and c may be
 *                       brackets again
 *
 * Keys are hidden as everywhere in a finding that is written without them.
 */
#ifndef TV_INSIGHT_ADVICE_SEEN_H
#define TV_INSIGHT_ADVICE_SEEN_H

#include "base/buf.h"
#include "insight/advice/rules.h"

/**
 * Append the sentence; nothing when a field is absent that it needs: of a finding that was kept by
 * a server whose rule had others.
 */
void tv_finding_add_seen(tv_buf *out, const tv_finding *finding, bool is_redacted);

/** The same by another template. */
void tv_finding_fill(tv_buf *out, const char *sentence, const tv_finding *finding,
                     bool is_redacted);

/** Append 1284 as "1,284". */
void tv_finding_add_grouped(tv_buf *out, double number);

/** Append "92 %", and "more than 99 %" of what is not all. */
void tv_finding_add_percent(tv_buf *out, double share);

/** Append "40 seconds", "12 minutes" or "3 hours": whole ones. */
void tv_finding_add_duration(tv_buf *out, int64_t seconds);

/** Append a key, or what stands for it: `a_9{5}#1c2d3e4f5a6b`. */
void tv_finding_add_key(tv_buf *out, tv_slice key, bool is_redacted);

#endif
