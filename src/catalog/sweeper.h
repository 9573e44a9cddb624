/*
 * Drops the rows of deleted tables, queues and containers, in the background and after a crash.
 */
#ifndef TV_CATALOG_SWEEPER_H
#define TV_CATALOG_SWEEPER_H

#include <stdint.h>

#include "catalog/catalog.h"

typedef struct tv_sweeper tv_sweeper;

tv_sweeper *tv_sweeper_new(const tv_catalog_kind *kind, tv_engine *engine, tv_pipeline *pipeline);

/**
 * End, soon: one that is being looked at is given up.  What is not done keeps its note
 * and waits for the next start.
 */
void tv_sweeper_free(tv_sweeper *sweeper);

/**
 * Queue a container whose note is in the catalogue and whom no new write can find
 * (see the steps in catalog.h).  Any thread.
 */
void tv_sweeper_add(tv_sweeper *sweeper, tv_slice account, int64_t id);

#endif
