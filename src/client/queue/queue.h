/*
 * Queues and messages, behind tavola_queue, tavola_message and tavola_messages.
 */
#ifndef TVC_QUEUE_H
#define TVC_QUEUE_H

#include "client/resource/resource.h"

enum {
    TVC_MESSAGES_MAX = 32,             /* of one get or peek */
    TVC_MESSAGE_BYTES_MAX = 64 * 1024, /* of a text */
    TVC_HIDDEN_S_MAX = 7 * 24 * 60 * 60,
    TVC_HIDDEN_S_DEFAULT = 30, /* of a get */
};

struct tavola_queue {
    tvc_resource resource;
};

struct tavola_message {
    const char *id, *pop_receipt, *text; /* the last two may be NULL */
    uint32_t dequeue_count;
    tavola_ticks inserted, expires, next_visible;
    /*
     * Until this time of the monotonic clock nobody else can have got the message: it was hidden
     * for so long after our request, whatever the clocks of others say.  0: not known.
     */
    int64_t ours_until_ns;
    char *new_receipt; /* of an update: memory of its own, or NULL */
    char *document;    /* memory of its texts, or NULL: they are those of a list */
};

struct tavola_messages {
    char *document; /* the answer, in which all texts are */
    tavola_message *list;
    size_t count;
};

/**
 * Read an answer of put, get or peek with at most `count_max` messages.  Takes over `document`.
 * PROTOCOL, NO_MEMORY.
 */
tavola_err tvc_messages_read(char *document, size_t len, size_t count_max,
                             tavola_messages **ret_messages);

/** Take the first message out of its list, which is freed.  NULL: no memory. */
tavola_message *tvc_messages_take_first(tavola_messages *messages);

#endif
