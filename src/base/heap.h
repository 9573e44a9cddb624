/*
 * What the process has freed and malloc has kept.
 *
 * glibc gives each thread an arena and keeps in it what was freed: the megabytes of
 * bodies and rows that one load has left in the arenas of the network threads do not
 * serve the scanners in the next.  A keeper looks now and then, and gives it back to
 * the system when it is a lot.  Blocks of megabytes that are mapped one by one, and go
 * back at once, would be the simpler way, but a batch of 3 MB takes 60 % more CPU with
 * them.
 */
#ifndef TV_BASE_HEAP_H
#define TV_BASE_HEAP_H

#include "base/background.h"

/** The process does not keep more than this for long. */
#define TV_HEAP_KEPT_BYTES_MAX ((size_t)128 << 20)

/** Memory that is resident and not allocated; 0 where that is not known. */
size_t tv_heap_kept(void);

/**
 * Give back what is kept, if it is more than TV_HEAP_KEPT_BYTES_MAX.  A tenth of a
 * millisecond for each MiB, in which threads that allocate may wait.
 */
void tv_heap_give_back(void);

/** Look every few seconds, on a thread of its own, until tv_background_done. */
void tv_heap_keeper_start(tv_background *keeper);

#endif
