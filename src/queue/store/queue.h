/*
 * The messages of one queue: what putting, getting, updating, deleting and
 * clearing do, and reading without change.  The wire is elsewhere, and so is the
 * catalogue that knows which queues there are; row.h tells what is stored.
 *
 * Changes are update functions for the commit pipeline: fill in all but the
 * results, call tv_queue_prepare_*, which checks what can be checked without the
 * store, and submit the write.  Each run writes the results anew.  Since a queue
 * is one partition, changes to it happen one after the other: no two gets give
 * out the same message.
 *
 * A message is visible when its time has come (next_visible <= now), and gone
 * when it has expired (expires <= now), whether or not its rows have been
 * collected by then.  Gets and peeks give visible messages in the order of the
 * times at which they became so, and those of one time in the order in which
 * they were put.  Every get and every update makes the receipts before it void.
 */
#ifndef TV_QUEUE_STORE_QUEUE_H
#define TV_QUEUE_STORE_QUEUE_H

#include <stdatomic.h>

#include "commit/pipeline.h"
#include "queue/store/bound.h"
#include "queue/store/message.h"

/** One queue, as long as it is in use.  Its owner counts the users; any thread. */
typedef struct tv_queue {
    tv_engine *engine;
    tv_slice prefix;               /* of its rows, tv_key_queue; the owner's memory */
    const atomic_bool *is_dropped; /* the owner sets it: from then on TV_ERR_QUEUE_NOT_FOUND */
    tv_queue_bound visible;        /* of the visibility index */
    tv_queue_bound expiring;       /* of the expiry index */
} tv_queue;

/** There is one tv_queue for a queue at a time, or its bounds would not hold. */
void tv_queue_init(tv_queue *queue, tv_engine *engine, tv_slice prefix,
                   const atomic_bool *is_dropped);

/** When no write to it is under way. */
void tv_queue_done(tv_queue *queue);

typedef struct tv_queue_put {
    tv_queue *queue;
    tv_slice text;
    int64_t timeout_s;  /* 0 to 7 days, less than ttl_s: how long it stays invisible at first */
    int64_t ttl_s;      /* positive, or -1: it never expires */
    tv_message message; /* result; its text is the caller's */
} tv_queue_put;

/** Set up a write that puts a message: TV_ERR_QUERY_OUT_OF_RANGE, TV_ERR_MESSAGE_TOO_LARGE. */
tv_err tv_queue_prepare_put(tv_queue_put *put, tv_write *write) TV_WARN_UNUSED;

typedef struct tv_queue_get {
    tv_queue *queue;
    tv_arena *arena;                      /* for the texts */
    int64_t count;                        /* at most so many: 1 to 32 */
    int64_t timeout_s;                    /* 1 s to 7 days, also beyond a message's expiry */
    tv_message messages[TV_MESSAGES_MAX]; /* result: as they are after the get */
    size_t message_count;                 /* result: 0 only if there was no visible message */
    int64_t group;                        /* its own */
} tv_queue_get;

/** Set up a write that gets messages and hides them for a while: TV_ERR_QUERY_OUT_OF_RANGE. */
tv_err tv_queue_prepare_get(tv_queue_get *get, tv_write *write) TV_WARN_UNUSED;

typedef struct tv_queue_update {
    tv_queue *queue;
    tv_guid id;
    tv_receipt receipt;
    int64_t timeout_s;  /* 0 to 7 days, not beyond the message's expiry */
    tv_slice text;      /* data == NULL leaves it as it is */
    tv_message message; /* result, without the text */
} tv_queue_update;

/**
 * Set up a write that hides a message anew and may change its text:
 * TV_ERR_QUERY_OUT_OF_RANGE, TV_ERR_MESSAGE_TOO_LARGE.  The write's own errors:
 * TV_ERR_MESSAGE_NOT_FOUND (also when its receipt is not this one),
 * TV_ERR_POP_RECEIPT_MISMATCH (for that of another message), and
 * TV_ERR_QUERY_OUT_OF_RANGE when it would be hidden longer than it lives.
 */
tv_err tv_queue_prepare_update(tv_queue_update *update, tv_write *write) TV_WARN_UNUSED;

typedef struct tv_queue_delete {
    tv_queue *queue;
    tv_guid id;
    tv_receipt receipt;
} tv_queue_delete;

/** Set up a write that deletes a message; errors as with an update. */
void tv_queue_prepare_delete(tv_queue_delete *delete_op, tv_write *write);

/**
 * Set up a write that removes all messages, in time that does not grow with
 * their number.  Their rows stay until they are collected, out of everybody's
 * reach.  Its context is the queue itself.
 */
void tv_queue_prepare_clear(tv_queue *queue, tv_write *write);

typedef struct tv_queue_collect {
    tv_queue *queue;
    int64_t dropped_below; /* its own */
    int64_t group;         /* its own */
    size_t removed;        /* result: messages */
    bool has_more;         /* result: call again */
} tv_queue_collect;

/**
 * One step of collection: drop the rows that clears have left, here and now, and
 * set up a write that removes some of the messages that have expired.  Waits for
 * the disk: not for network threads, nor for committers.  Fails as the engine.
 */
tv_err tv_queue_prepare_collect(tv_queue_collect *collect, tv_write *write) TV_WARN_UNUSED;

/**
 * Read up to `count` (1 to 32: TV_ERR_QUERY_OUT_OF_RANGE) visible messages
 * without changing them; texts are in the arena.  What is being changed by
 * others meanwhile may be there or not.  Waits for the disk: not for network
 * threads.
 */
tv_err tv_queue_peek(tv_queue *queue, tv_arena *arena, int64_t count,
                     tv_message ret_messages[TV_MESSAGES_MAX], size_t *ret_count) TV_WARN_UNUSED;

/**
 * How many messages there are, the invisible ones too, and those that have
 * expired and are not collected yet.  TV_ERR_WOULD_BLOCK with TV_READ_CACHED.
 */
tv_err tv_queue_count(tv_queue *queue, tv_read_mode mode, int64_t *ret_count) TV_WARN_UNUSED;

#endif
