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
 * The evidence of all that was folded, in the arena; NULL for a mark that is not known.  `mark` is
 * NULL, or "m3".  What only others know is left to the caller: has_targets, and of each table
 * entities_now and what follows it.
 */
tv_evidence *tv_watch_take(tv_watch *watch, tv_arena *arena, const char *mark);

#endif
