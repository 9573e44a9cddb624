/* Started operations. */
#include "client/op/loop.h"

void tvc_loop_close(tavola_client *client)
{
    client->is_closed = true;
}

void tvc_loop_free(tvc_loop *loop)
{
    (void)loop;
}

tavola_err tvc_op_start(tavola_op *op, tavola_done_fn done, void *user)
{
    (void)op, (void)done, (void)user;
    return TAVOLA_ERR_NO_MEMORY;
}

void tavola_op_free(tavola_op *op)
{
    if (op)
        tvc_op_release(op);
}
