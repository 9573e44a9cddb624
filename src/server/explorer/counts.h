/*
 * How many messages a queue has, and how many blobs a container: for the page's tree.
 *
 * Tables are counted at commit (facts/).  Queues keep a count in a row, and containers keep
 * none: a thread reads the one and walks the other, while a page is open and no more often than
 * it must.  A container is walked again when a request may have changed it, and then only after
 * twenty times as long as the last walk took, so that a large one costs a twentieth of a thread.
 *
 * The thread does not give way to others as most in the background do: network threads take locks
 * that it takes too, those of the catalogues.
 *
 * A count is exact when no request may have changed the container since it began: a request is
 * counted (tv_container.changes) after its change can be seen, so a walk that began with the
 * number that there is now has seen every change.  Where others change things too - the other nodes
 * of a shared engine, Storage Analytics - no count is exact.
 */
#ifndef TV_SERVER_EXPLORER_COUNTS_H
#define TV_SERVER_EXPLORER_COUNTS_H

#include "base/background.h"
#include "services/service/service.h"

typedef struct tv_tree_counts {
    tv_background thread;
    tv_service *queue, *blob;
    bool is_open;
    atomic_bool is_wanted; /* somebody has asked since the last round */
} tv_tree_counts;

/** Start the thread; the services outlive it. */
void tv_tree_counts_open(tv_tree_counts *counts, tv_service *queue, tv_service *blob);

/** End it, before the catalogues are closed.  Zero is accepted. */
void tv_tree_counts_close(tv_tree_counts *counts);

/** Somebody looks: count what must be.  Any thread. */
void tv_tree_counts_want(tv_tree_counts *counts);

typedef struct tv_tree_count {
    bool is_known, is_exact;
    uint64_t items, bytes;
} tv_tree_count;

/** What is known of a queue or a container.  Any thread. */
tv_tree_count tv_tree_counts_of(const tv_tree_counts *counts, const tv_container *container);

#endif
