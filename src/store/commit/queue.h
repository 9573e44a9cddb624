/*
 * The writes that wait for a committer, and the order in which it takes them.
 *
 * Accounts have their turns, and of each account small writes do not wait for large
 * ones: groups of small writes and groups of large ones alternate.  A few large ones
 * that are not much together go along with the small ones, for a sync costs as much as
 * they do; beyond that they have groups of their own, of up to a few MiB, one write at
 * least.  So a small write waits for the group under way and for its own, of which one
 * at most has a lot to write, however many large ones came before it.
 *
 * The writes to one partition keep their order (3): a partition has one account, and
 * all its writes that wait are in one of the account's two chains, which are first
 * in, first out.  Whether that is the chain of small or of large ones is decided
 * when the first of them comes; a large one in the chain of small ones waits for a
 * group of large ones, too, and those after it with it.
 *
 * No threads and no locks here; see pipeline.c.
 */
#ifndef TV_STORE_COMMIT_QUEUE_H
#define TV_STORE_COMMIT_QUEUE_H

#include "store/commit/pipeline.h"

enum {
    TV_WRITE_LARGE_BYTES = 64 * 1024,           /* a write of this much is a large one */
    TV_GROUP_MIXED_BYTES_MAX = 512 * 1024,      /* of large writes along with small ones */
    TV_GROUP_LARGE_BYTES_MAX = 4 * 1024 * 1024, /* of large writes alone, after the first */
};

typedef struct tv_write_queue tv_write_queue;

/**
 * `places`: a power of two, up to TV_WRITE_PLACES_MAX.  Partitions that share one keep their
 * order among each other, too, so few of them cost a little fairness; each takes 4 bytes.
 */
enum { TV_WRITE_PLACES_MAX = 64 * 1024 };
tv_write_queue *tv_write_queue_new(size_t places);

/** Accepts NULL; must be empty. */
void tv_write_queue_free(tv_write_queue *queue);

/** How many wait. */
size_t tv_write_queue_count(const tv_write_queue *queue);

/** Note in the write its place in the queue.  Any thread, before tv_write_queue_add. */
void tv_write_queue_place(tv_write *write);

void tv_write_queue_add(tv_write_queue *queue, tv_write *write);

/** Take what goes into the next group, up to `max` writes; none only when none waits. */
size_t tv_write_queue_take(tv_write_queue *queue, size_t max, tv_write **ret_writes);

/** Take those out that came at `before_ns` (tv_write.since_ns) or earlier; appends them. */
void tv_write_queue_take_old(tv_write_queue *queue, int64_t before_ns, tv_mail_chain *ret_writes);

#endif
