/*
 * What the operations on messages share.
 */
#ifndef TVC_QUEUE_ASK_H
#define TVC_QUEUE_ASK_H

#include "client/queue/queue.h"

/** A request to the messages of a queue, or to one message.  NULL when there is no memory. */
tavola_op *tvc_queue_ask(tavola_queue *queue, tavola_call *call, const char *method,
                         const tavola_message *message);

/** Append "&name=number". */
void tvc_queue_add_number(tavola_op *op, const char *name, int64_t number);

/** Write a text as the body of a put or update. */
void tvc_queue_write_text(tavola_op *op, tv_slice text);

/** Whether a text can be one of a message; else the call says why.  INVALID, TOO_LARGE. */
tavola_err tvc_queue_check_text(tavola_call *call, const char *text);

/** The same for the seconds that a message is hidden. */
tavola_err tvc_queue_check_hidden(tavola_call *call, uint32_t hidden_s);

/** What an update brings. */
typedef struct tvc_message_update {
    char *receipt; /* read from the answer */
    tavola_ticks next_visible;
    int64_t ours_until_ns;
} tvc_message_update;

/**
 * The operation of an update; `text` NULL: that stays.  `of` outlives it.  NULL when there is no
 * memory.
 */
tavola_op *tvc_message_update_op(tavola_queue *queue, const tavola_message *message,
                                 const char *text, uint32_t hidden_s, tavola_call *call,
                                 tvc_message_update *of);

/** Make it another one of that message, to begin at that time. */
void tvc_message_update_again(tavola_op *op, const tavola_message *message, uint32_t hidden_s,
                              int64_t begin_ns);

/** The result of an update that ended with `err`. */
tavola_err tvc_message_update_err(tavola_op *op, tavola_err err);

/** Take over what it brought. */
void tvc_message_take_update(tavola_message *message, const tvc_message_update *of);

/** The time of the monotonic clock at which what is hidden from now on can be seen again. */
int64_t tvc_queue_hidden_until(uint32_t hidden_s);

#endif
