/*
 * The client's own thread, which drives started operations, and the queue of those that are done.
 */
#ifndef TVC_OP_LOOP_H
#define TVC_OP_LOOP_H

#include "client/client.h"
#include "client/op/op.h"

typedef struct tvc_loop tvc_loop;

/**
 * The application closes its client: end what is under way with CANCELLED, stop the thread, call
 * `done` for all that were not polled.  Nothing can be started afterwards.
 */
void tvc_loop_close(tavola_client *client);

/** When nothing refers to the client any more.  NULL is fine. */
void tvc_loop_free(tvc_loop *loop);

/** Free an operation that is not the loop's. */
void tvc_op_release(tavola_op *op);

#endif
