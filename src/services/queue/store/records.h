/* What the operations on messages share: rows of a queue within a transaction. */
#ifndef TV_QUEUE_STORE_STORE_H
#define TV_QUEUE_STORE_STORE_H

#include "services/queue/store/queue.h"

/** The counts; zeros when there are none yet.  TV_ERR_QUEUE_NOT_FOUND when the queue is dropped. */
tv_err tv_store_read_counts(tv_txn *txn, tv_queue *queue,
                            tv_queue_counts *ret_counts) TV_WARN_UNUSED;

/** The same for a look: whoever goes by it and writes reads them, too. */
tv_err tv_store_peek_counts(tv_txn *txn, tv_queue *queue,
                            tv_queue_counts *ret_counts) TV_WARN_UNUSED;
void tv_store_write_counts(tv_txn *txn, tv_queue *queue, const tv_queue_counts *counts);

/**
 * Now, for functions that put or look for messages: no earlier than what the counts say.  So
 * whoever begins when a put was acknowledged, on whatever node, puts behind it and sees it.
 */
int64_t tv_store_now(tv_txn *txn, const tv_queue_counts *counts);

/** The same for a reader whose own instant is `now`. */
int64_t tv_store_now_of(int64_t now, const tv_queue_counts *counts);

/** A message came at `now`, which is not earlier than tv_store_now.  The caller writes the counts.
 */
void tv_store_note_now(tv_txn *txn, const tv_queue *queue, tv_queue_counts *counts, int64_t now);

/** `removed` messages go.  TV_ERR_CORRUPT when the queue cannot have had them. */
tv_err tv_store_count_removed(tv_queue_counts *counts, size_t removed) TV_WARN_UNUSED;

/**
 * A message's state.  A text in a row of its own is left there: data == NULL, see
 * tv_queue_read_message.  TV_ERR_MESSAGE_NOT_FOUND.
 */
tv_err tv_store_read_message(tv_txn *txn, tv_queue *queue, int64_t generation, const tv_guid *id,
                             tv_message *ret_message) TV_WARN_UNUSED;

/** Fetch a text that has a row of its own; it lives as long as the group. */
tv_err tv_store_read_text(tv_txn *txn, tv_queue *queue, int64_t generation,
                          tv_message *message) TV_WARN_UNUSED;

/**
 * Write state and visibility row; a text in a row of its own only if its data is
 * there.  May lower the bound in `counts`, which the caller then writes.
 */
void tv_store_write_message(tv_txn *txn, tv_queue *queue, tv_queue_counts *counts,
                            const tv_message *message);

/** Write the row of the expiry index, of a message that expires.  The same about `counts`. */
void tv_store_write_expiry(tv_txn *txn, tv_queue *queue, tv_queue_counts *counts,
                           const tv_message *message);

/** Remove the visibility row, before the message gets a new one. */
void tv_store_hide_message(tv_txn *txn, tv_queue *queue, int64_t generation,
                           const tv_message *message);

/** Remove all rows of a message. */
void tv_store_remove_message(tv_txn *txn, tv_queue *queue, int64_t generation,
                             const tv_message *message);

/**
 * Where a walk over an index begins, and what it has learned afterwards; see bound.h.
 * `stored` is the index's bound in the counts.
 */
tv_queue_place tv_store_start(tv_txn *txn, const tv_queue *queue, tv_queue_bound *bound,
                              tv_queue_place stored, int64_t now);
void tv_store_learn(tv_txn *txn, const tv_queue *queue, tv_queue_bound *bound,
                    tv_queue_place place);

/**
 * Raise a bound in the counts to what a walk has learned, on a shared engine: if they are
 * written anyway, if many rows were hidden or removed since, or if it is older than `age`.
 * The caller then writes the counts.
 */
void tv_store_raise(tv_queue *queue, tv_queue_bound *bound, tv_queue_place *stored,
                    tv_queue_place place, int64_t age, bool is_written_anyway);

static inline tv_queue_place tv_store_visible_place(const tv_message *message)
{
    return (tv_queue_place){message->next_visible, message->receipt.sequence};
}

static inline tv_queue_place tv_store_expiry_place(const tv_message *message)
{
    return (tv_queue_place){message->expires, message->receipt.sequence};
}

#endif
