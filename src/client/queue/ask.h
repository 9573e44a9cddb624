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

/** The time of the monotonic clock at which what is hidden from now on can be seen again. */
int64_t tvc_queue_hidden_until(uint32_t hidden_s);

#endif
