/*
 * What the recorder has, as the evidence that rules judge: of the last hour (where a rule asks for
 * it, of the last day), or of everything since a mark.  Keys are shown as they were sent, cut where
 * the recorder keeps no more of them.
 */
#ifndef TV_INSIGHT_WATCH_SNAPSHOT_H
#define TV_INSIGHT_WATCH_SNAPSHOT_H

#include "insight/advice/evidence.h"
#include "insight/watch/watch.h"

/**
 * The evidence of all that was folded, in the arena.  `mark` is NULL, or "m3"; TV_ERR_NOT_FOUND when
 * it is not known, TV_ERR_OVERLOADED when there is no memory for that many tables and shapes.  What
 * only others know is left to the caller: has_targets, and of each table entities_now and what
 * follows it.
 */
tv_err tv_watch_take(tv_watch *watch, tv_arena *arena, const char *mark,
                     tv_evidence **ret_evidence) TV_WARN_UNUSED;

#endif
