/*
 * What the recorder takes, counted: tables with all that belongs to them.  Their sum is kept within
 * the budget of --watch-memory-mb by tables.c.
 */
#ifndef TV_INSIGHT_WATCH_MEMORY_H
#define TV_INSIGHT_WATCH_MEMORY_H

#include "insight/watch/internal.h"

/** A table with its shapes; with the lock. */
size_t tv_watch_table_bytes(const tv_table_entry *table);

#endif
