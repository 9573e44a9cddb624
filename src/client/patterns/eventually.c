/*
 * Eventually consistent transactions pattern, the side that asks: the message is in the queue
 * before the first step of the job and leaves it after the last.  Wherever the program dies, the
 * message is seen again and a worker begins from the start.
 *
 * Messages never expire: one that nobody has worked on must not be lost.
 */
#include "client/patterns/keeper.h"

tavola_err tavola_enqueue(tavola_client *client, const char *queue, const char *message,
                          tavola_call *call)
{
    tavola_queue *handle = NULL;
    tavola_err err = tavola_queue_open(client, queue, &handle);

    if (err)
        return tvc_call_refuse(call, err, "this is no name of a queue");
    err = tavola_message_put_later(handle, message, 0, TVC_NEVER_EXPIRES, call, NULL);
    tavola_queue_close(handle);
    return err;
}

/* The result of the job counts: when its message cannot be deleted it is done once more. */
static tavola_err run_hidden(tavola_queue *queue, const char *text, uint32_t hidden_s,
                             tavola_job_fn job, void *user, tavola_call *call)
{
    tavola_message *message = NULL;
    tavola_err err =
        tavola_message_put_later(queue, text, hidden_s, TVC_NEVER_EXPIRES, call, &message);

    if (err)
        return err;

    tvc_keeper keeper;

    err = tvc_keeper_start(&keeper, queue, message, hidden_s);
    if (err == TAVOLA_OK) {
        err = job(user, text, 0);
        if (tvc_keeper_stop(&keeper) && err == TAVOLA_OK)
            (void)!tavola_message_delete(queue, message, call);
    }
    tavola_message_free(message);
    return err;
}

tavola_err tavola_eventually(tavola_client *client, const char *queue, const char *message,
                             uint32_t hidden_s, tavola_job_fn job, void *user, tavola_call *call)
{
    if (message == NULL || job == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no message or no job");

    tavola_queue *handle = NULL;
    tavola_err err = tavola_queue_open(client, queue, &handle);

    if (err)
        return tvc_call_refuse(call, err, "this is no name of a queue");
    err = run_hidden(handle, message, tvc_hidden_seconds(hidden_s), job, user, call);
    tavola_queue_close(handle);
    return err;
}
