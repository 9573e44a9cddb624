/*
 * A message as it is stored and as callers see it, and the pop receipt: the
 * proof that its holder is the last one that put, got or updated the message.
 */
#ifndef TV_SERVICES_QUEUE_STORE_MESSAGE_H
#define TV_SERVICES_QUEUE_STORE_MESSAGE_H

#include <stdint.h>

#include "base/clock.h"
#include "base/guid.h"

enum {
    TV_MESSAGE_TEXT_BYTES_MAX = 64 * 1024,
    TV_MESSAGE_TIMEOUT_S_MAX = 7 * 24 * 3600, /* of every visibility timeout */
    TV_MESSAGES_MAX = 32,                     /* of one get or peek */
    TV_RECEIPT_TEXT_LEN = 24,
};

/** The expiry of a message that never expires: the last instant there is, in the year 9999. */
#define TV_MESSAGE_NEVER TV_TICKS_MAX

/**
 * What a receipt says: which message (by its number in the queue, so that one
 * message's receipt never fits another), and 64 bits that nobody can guess, new
 * with each receipt.  The number only tells a receipt of this message, which
 * may be void by now, from that of another; it is no secret and grants nothing.
 */
typedef struct tv_receipt {
    int64_t sequence;
    uint64_t secret;
} tv_receipt;

typedef struct tv_message {
    tv_guid id;
    int64_t inserted, expires, next_visible; /* ticks */
    tv_receipt receipt;
    uint32_t dequeue_count;
    tv_slice text; /* the function that returns the message says how long it lives */
} tv_message;

/**
 * Roughly what a message with a text of this length takes until it is sent: a
 * copy, and its XML.
 */
static inline size_t tv_message_answer_bytes(size_t text_len)
{
    return 1024 + 3 * text_len;
}

static inline bool tv_message_is_expired(const tv_message *message, int64_t now)
{
    return message->expires <= now;
}

/** The receipt as clients see it: opaque text, base 64. */
void tv_receipt_format(char to[TV_RECEIPT_TEXT_LEN], const tv_receipt *receipt);

/** False unless `text` is just what tv_receipt_format can write. */
bool tv_receipt_parse(tv_slice text, tv_receipt *ret_receipt);

#endif
