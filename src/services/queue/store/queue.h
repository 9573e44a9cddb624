/*
 * The messages of one queue: what putting, getting, updating, deleting and
 * clearing do, and reading without change.  The wire is elsewhere, and so is the
 * catalogue that knows which queues there are; row.h says what is stored.
 *
 * Changes are update functions (engine/txn.h) over the partition `prefix` of their
 * queue: fill in all but the results and call the check, if there is one, which
 * reports what can be known without the store.  Each run writes the results
 * again.  A settle is called after the run is durable, in the order of the runs.
 * Since a queue is one partition, changes to it happen one after the other: no
 * two gets give out the same message.
 *
 * A message is visible when its time has come (next_visible <= now), and gone
 * when it has expired (expires <= now), whether or not its rows have been
 * collected by then.  Gets and peeks give visible messages in the order of the
 * times at which they became so, and those of one time in the order in which
 * they were put.  Every get and every update makes the receipts before it void.
 */
#ifndef TV_SERVICES_QUEUE_STORE_QUEUE_H
#define TV_SERVICES_QUEUE_STORE_QUEUE_H

#include <stdatomic.h>

#include "services/queue/store/bound.h"
#include "services/queue/store/message.h"
#include "services/queue/store/row.h"
#include "store/engine/txn.h"

/** One queue, as long as it is in use.  Its owner counts the users; any thread. */
typedef struct tv_queue {
    tv_engine *engine;
    tv_slice prefix;               /* of its rows, tv_key_queue; the owner's memory */
    const atomic_bool *is_dropped; /* the owner sets it: from then on TV_ERR_QUEUE_NOT_FOUND */
    tv_queue_bound visible;        /* of the visibility index */
    tv_queue_bound expiring;       /* of the expiry index */
    /* So that rows can be read before a function asks for them. */
    tv_queue_key counts_key;
    tv_slice counts;         /* the key of the counts, which every change reads */
    atomic_llong generation; /* the latest that was met; another node may have begun the next */
} tv_queue;

/** There is one tv_queue for a queue at a time, or its bounds would not hold. */
void tv_queue_init(tv_queue *queue, tv_engine *engine, tv_slice prefix,
                   const atomic_bool *is_dropped);

/** When no write to it is under way. */
void tv_queue_done(tv_queue *queue);

/** The rows that a change of one message will probably ask for: the counts and the message. */
typedef struct tv_queue_reads {
    tv_slice keys[2];
    tv_queue_key message;
} tv_queue_reads;
void tv_queue_reads_init(tv_queue_reads *reads, tv_queue *queue, const tv_guid *id);

typedef struct tv_queue_put {
    tv_queue *queue;
    tv_slice text;
    int64_t timeout_s;  /* 0 to 7 days, less than ttl_s: how long it stays invisible at first */
    int64_t ttl_s;      /* positive, or -1: it never expires */
    tv_message message; /* result; its text is the caller's */
} tv_queue_put;

/** Put a message.  The check also gives it its id: TV_ERR_QUERY_OUT_OF_RANGE,
 * TV_ERR_MESSAGE_TOO_LARGE. */
tv_err tv_queue_put_check(tv_queue_put *put) TV_WARN_UNUSED;
tv_err tv_queue_put_run(tv_txn *txn, void *queue_put) TV_WARN_UNUSED;

typedef struct tv_queue_get {
    tv_queue *queue;
    tv_arena *arena;                      /* for the texts */
    int64_t count;                        /* at most this many: 1 to 32 */
    int64_t timeout_s;                    /* 1 s to 7 days, also beyond a message's expiry */
    tv_message messages[TV_MESSAGES_MAX]; /* result: as they are after the get */
    size_t message_count;                 /* result: 0 only if there was no visible message */
    int64_t group;                        /* its own */
} tv_queue_get;

/** Get messages and hide them for a while.  The check: TV_ERR_QUERY_OUT_OF_RANGE. */
tv_err tv_queue_get_check(const tv_queue_get *get) TV_WARN_UNUSED;
tv_err tv_queue_get_run(tv_txn *txn, void *queue_get) TV_WARN_UNUSED;
void tv_queue_get_settle(tv_queue_get *get);

typedef struct tv_queue_update {
    tv_queue *queue;
    tv_guid id;
    tv_receipt receipt;
    int64_t timeout_s;  /* 0 to 7 days */
    tv_slice text;      /* data == NULL leaves it as it is */
    tv_message message; /* result, without the text */
    tv_queue_reads reads;
} tv_queue_update;

/**
 * Hide a message again, perhaps with another text.  It may be hidden longer than
 * it lives: the documentation has that as an error, the service has not.  The
 * check: TV_ERR_QUERY_OUT_OF_RANGE, TV_ERR_MESSAGE_TOO_LARGE.  The run:
 * TV_ERR_MESSAGE_NOT_FOUND (also when its receipt is not this one) and
 * TV_ERR_POP_RECEIPT_MISMATCH (for that of another message).
 */
tv_err tv_queue_update_check(const tv_queue_update *update) TV_WARN_UNUSED;
tv_err tv_queue_update_run(tv_txn *txn, void *queue_update) TV_WARN_UNUSED;

typedef struct tv_queue_delete {
    tv_queue *queue;
    tv_guid id;
    tv_receipt receipt;
    tv_queue_reads reads;
} tv_queue_delete;

/** Delete a message; errors as with an update. */
tv_err tv_queue_delete_run(tv_txn *txn, void *queue_delete) TV_WARN_UNUSED;

/**
 * Remove all messages of a tv_queue, in time that does not grow with their number.
 * Their rows stay until they are collected, out of reach.
 */
tv_err tv_queue_clear_run(tv_txn *txn, void *of_queue) TV_WARN_UNUSED;

/** One step of garbage collection. */
typedef struct tv_queue_gc_step {
    tv_queue *queue;
    int64_t dropped_below; /* its own */
    int64_t group;         /* its own */
    size_t removed;        /* result: messages */
    bool has_more;         /* result: call again */
} tv_queue_gc_step;

/**
 * First drop the rows that clears have left, here and now, not in a run.  Waits for
 * the disk: not for network threads, nor for committers.  TV_ERR_QUEUE_NOT_FOUND when
 * the queue is dropped; else it fails as the engine does.
 */
tv_err tv_queue_gc_drop_cleared(tv_queue_gc_step *step) TV_WARN_UNUSED;

/** Then remove some of the messages that have expired. */
tv_err tv_queue_gc_run(tv_txn *txn, void *gc_step) TV_WARN_UNUSED;
void tv_queue_gc_settle(tv_queue_gc_step *step);

/**
 * Read up to `count` (1 to 32: TV_ERR_QUERY_OUT_OF_RANGE) visible messages
 * without changing them; texts are in the arena.  What others change meanwhile
 * may be there or not.  Waits for the disk: not for network threads.
 */
tv_err tv_queue_peek(tv_queue *queue, tv_arena *arena, int64_t count,
                     tv_message ret_messages[TV_MESSAGES_MAX], size_t *ret_count) TV_WARN_UNUSED;

/**
 * How many messages there are, the invisible ones too, and those that have
 * expired and are not collected yet.  TV_ERR_WOULD_BLOCK with TV_READ_CACHED.
 */
tv_err tv_queue_count(tv_queue *queue, tv_read_mode mode, int64_t *ret_count) TV_WARN_UNUSED;

/** The same for a caller that has read the row `counts`: the engine's result, and the value. */
tv_err tv_queue_take_count(tv_queue *queue, tv_err err, tv_slice value,
                           int64_t *ret_count) TV_WARN_UNUSED;

#endif
