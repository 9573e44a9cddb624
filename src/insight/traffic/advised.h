/*
 * Patterns together with what the rules of advice find in the same traffic: one judgement, told in
 * one place.  A pattern that a finding is about has its severity, so "fine" is said of a table only
 * while none of these rules has a finding; and a finding about keys that no pattern shows is told
 * as one of its own.
 */
#ifndef TV_INSIGHT_TRAFFIC_ADVISED_H
#define TV_INSIGHT_TRAFFIC_ADVISED_H

#include "insight/advice/rules.h"
#include "insight/traffic/view.h"

enum { TV_ADVISED_MAX = 32 };

typedef struct tv_advised {
    tv_pattern pattern;
    const tv_finding *finding; /* about it, or NULL */
    bool is_findings_own;      /* no column shows the pattern: the finding says that it is there */
} tv_advised;

/**
 * The patterns of a view with the active findings of its table, and those findings about traffic
 * by key that are left.  Returns how many; what has no room is left out.
 */
size_t tv_advised_of(const tv_view *view, tv_finding *const *findings, size_t count,
                     tv_arena *arena, tv_advised ret_advised[TV_ADVISED_MAX]);

/** "fine", "watch" or "fix". */
const char *tv_advised_verdict(const tv_advised *advised);

/** A sentence, for people. */
void tv_advised_describe(const tv_advised *advised, tv_arena *arena, tv_buf *out);

#endif
