/*
 * What the recorder has, as the evidence that rules judge: of the last hour (where a rule asks for
 * it, of the last day), or of everything since a mark.  Keys are shown as they were sent, cut where
 * the recorder keeps no more of them.
 */
#ifndef TV_INSIGHT_WATCH_SNAPSHOT_H
#define TV_INSIGHT_WATCH_SNAPSHOT_H

#include "insight/advice/evidence.h"
#include "insight/watch/watch.h"

typedef struct tv_watch_source {
    tv_watch *watch;
    bool has_targets;

    /**
     * Fill in what is known of the data of a table: entities_now and what follows it, and of its
     * partitions and shapes what is about their sizes.  May be NULL.
     */
    void (*fill_facts)(void *ctx, tv_arena *arena, tv_evidence_table *table);
    void *ctx;
} tv_watch_source;

/** The evidence, in the arena; NULL for a mark that is not known.  `mark` is NULL, or "m3". */
const tv_evidence *tv_watch_take(const tv_watch_source *source, tv_arena *arena, const char *mark);

/** For src/insight/advice; `source` outlives it. */
tv_evidence_source tv_watch_evidence_source(tv_watch_source *source);

#endif
