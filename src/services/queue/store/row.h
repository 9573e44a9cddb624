/*
 * The rows of a queue.  All of them begin with the queue's prefix, so a queue is
 * one partition and every change to it is atomic:
 *
 *     'c'                                the counts of the queue
 *     'g' generation 'm' id              a message: its state, and its text when that is short
 *     'g' generation 't' id              a long text, so that a get does not write it again
 *     'g' generation 'v' ticks sequence  the visibility index: when it is next visible -> message
 *     'g' generation 'x' ticks sequence  the expiry index, for those that expire -> message
 *
 * Generation, ticks, sequence and id are base 32 of fixed width, which sorts as
 * the numbers do.  Clearing a queue begins a new generation: one small write,
 * after which no row of an older one can be reached by any path, because every
 * path begins with the generation.  The older ones lie side by side and are
 * dropped as one range later.
 */
#ifndef TV_SERVICES_QUEUE_STORE_ROW_H
#define TV_SERVICES_QUEUE_STORE_ROW_H

#include "base/err.h"
#include "services/queue/store/message.h"

enum {
    TV_QUEUE_PREFIX_BYTES_MAX = 64,
    TV_QUEUE_KEY_BYTES_MAX = TV_QUEUE_PREFIX_BYTES_MAX + 40,
    TV_MESSAGE_TEXT_INLINE_MAX = 2048, /* a longer text has a row of its own */
    TV_MESSAGE_ROW_BYTES_MAX = TV_MESSAGE_TEXT_INLINE_MAX + 64,
};

/** Room for the key of a row.  The functions that fill it return a slice of it. */
typedef struct tv_queue_key {
    char bytes[TV_QUEUE_KEY_BYTES_MAX];
} tv_queue_key;

/** A place in an index. */
typedef struct tv_queue_place {
    int64_t ticks;
    int64_t sequence;
} tv_queue_place;

static inline int tv_queue_place_cmp(tv_queue_place a, tv_queue_place b)
{
    return a.ticks != b.ticks ? (a.ticks > b.ticks) - (a.ticks < b.ticks)
                              : (a.sequence > b.sequence) - (a.sequence < b.sequence);
}

/** The last generation that has a place in keys: eight digits of five bits. */
#define TV_QUEUE_GENERATION_MAX ((INT64_C(1) << 40) - 1)

/** Sequence numbers are below this, so that each has a next one. */
#define TV_QUEUE_SEQUENCE_MAX (INT64_MAX - 1)

/** All zeros for a queue that has never had a message. */
typedef struct tv_queue_counts {
    int64_t generation;
    int64_t dropped_below; /* no row of a generation below this is left */
    int64_t next_sequence; /* grows for ever, over all generations */
    int64_t messages;      /* rows 'm' of this generation: expired ones too, until collected */
    /* On shared engines: no live row of an index is below its bound, see bound.h. */
    tv_queue_place visible_bound, expiry_bound;
    /* There, too: the latest instant at which a message was put or moved to an earlier place.  See
     * tv_store_now; it makes the row another one, see bound.h.  Old nodes counted such moves. */
    int64_t latest;
} tv_queue_counts;

typedef enum tv_queue_index { TV_QUEUE_VISIBLE = 'v', TV_QUEUE_EXPIRY = 'x' } tv_queue_index;

tv_slice tv_queue_key_counts(tv_queue_key *key, tv_slice queue);

/** The least key of a generation, greater than all of those before it. */
tv_slice tv_queue_key_generation(tv_queue_key *key, tv_slice queue, int64_t generation);
tv_slice tv_queue_key_message(tv_queue_key *key, tv_slice queue, int64_t generation,
                              const tv_guid *id);
tv_slice tv_queue_key_text(tv_queue_key *key, tv_slice queue, int64_t generation,
                           const tv_guid *id);
tv_slice tv_queue_key_place(tv_queue_key *key, tv_slice queue, int64_t generation,
                            tv_queue_index index, tv_queue_place place);

/** The place out of an index row's key, and message and expiry out of its value: TV_ERR_CORRUPT. */
tv_err tv_queue_read_place(tv_slice key, tv_queue_place *ret_place) TV_WARN_UNUSED;
tv_err tv_queue_read_entry(tv_slice value, tv_guid *ret_id, int64_t *ret_expires) TV_WARN_UNUSED;

/*
 * Values.  Writers assert what readers demand, so that nothing is written that
 * cannot be read; what is read and is not of that form is TV_ERR_CORRUPT.
 */

/** The value of an index row: TV_QUEUE_ENTRY_BYTES. */
enum { TV_QUEUE_ENTRY_BYTES = 16 + 8 };
void tv_queue_write_entry(char to[TV_QUEUE_ENTRY_BYTES], const tv_message *message);

/** Counts without bounds or `latest`, as every local engine has them, are the shorter form. */
enum { TV_QUEUE_COUNTS_BYTES = 1 + 4 * 8, TV_QUEUE_COUNTS_BYTES_MAX = 1 + 9 * 8 };
/** Returns the length. */
size_t tv_queue_write_counts(char to[TV_QUEUE_COUNTS_BYTES_MAX], const tv_queue_counts *counts);
tv_err tv_queue_read_counts(tv_slice value, tv_queue_counts *ret_counts) TV_WARN_UNUSED;

static inline bool tv_message_text_is_apart(size_t text_len)
{
    return text_len > TV_MESSAGE_TEXT_INLINE_MAX;
}

/** The value of a message's row; its text is part of it unless that is long.  Returns the length.
 */
size_t tv_queue_write_message(char to[TV_MESSAGE_ROW_BYTES_MAX], const tv_message *message);

/**
 * The message out of its row; its id is the caller's to set.  A text in a row
 * of its own has its length but data == NULL; else it is a part of `value`.
 */
tv_err tv_queue_read_message(tv_slice value, tv_message *ret_message) TV_WARN_UNUSED;

#endif
