/*
 * Eventually consistent transactions pattern, the side that asks: the message is in the queue
 * before the first step of the job and leaves it after the last.  Wherever the program dies, the
 * message is seen again and a worker begins from the start.
 *
 * Messages never expire: one that nobody has worked on must not be lost.
 */
#include "client/patterns/keeper.h"

tavola_err tavola_enqueue(tavola_queue *queue, const char *message, tavola_call *call)
{
    return tavola_message_put_later(queue, message, 0, TVC_NEVER_EXPIRES, call, NULL);
}

/* The result of the job counts: when its message cannot be deleted it is done once more. */
tavola_err tavola_eventually(tavola_queue *queue, const char *message, uint32_t hidden_s,
                             tavola_job_fn job, void *user, tavola_call *call)
{
    if (job == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no job: it is NULL");

    uint32_t seconds = tvc_hidden_seconds(hidden_s);
    tavola_message *put = NULL;
    tavola_err err =
        tavola_message_put_later(queue, message, seconds, TVC_NEVER_EXPIRES, call, &put);

    if (err)
        return err;

    tvc_keeper keeper;

    err = tvc_keeper_start(&keeper, queue, put, seconds);
    if (err == TAVOLA_OK) {
        err = job(user, message, 0);
        if (tvc_keeper_stop(&keeper) && err == TAVOLA_OK)
            (void)!tavola_message_delete(queue, put, call);
    }
    tavola_message_free(put);
    return err;
}
