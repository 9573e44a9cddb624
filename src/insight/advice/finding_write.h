/* A finding in JSON. */
#ifndef TV_INSIGHT_ADVICE_FINDING_WRITE_H
#define TV_INSIGHT_ADVICE_FINDING_WRITE_H

#include "base/buf.h"
#include "insight/advice/rules.h"

/** What is known of a finding beside itself. */
typedef struct tv_finding_status {
    const char *state; /* "active", "quiet", "resolved", "ignored" */
    int64_t first_ticks, last_ticks;
    int64_t ignored_until; /* 0: it is not; INT64_MAX: for good */
} tv_finding_status;

/**
 * One object on one line.  With `is_redacted` classes and hashes stand where keys would: no piece
 * of a key is in it.
 */
void tv_finding_write(tv_buf *out, const tv_finding *finding, const tv_finding_status *status,
                      bool is_redacted);

/** Its title as a text, with the PartitionKey, or what stands for it, in its place. */
void tv_finding_add_title(tv_buf *out, const tv_finding *finding, bool is_redacted);

/** A time as the text "2026-01-02T03:04:05Z", in quotes. */
void tv_finding_add_time(tv_buf *out, const char *name, int64_t ticks);

#endif
