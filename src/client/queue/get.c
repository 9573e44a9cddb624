/* Getting and peeking messages. */
#include "client/queue/ask.h"

typedef struct get {
    uint32_t count;
    bool needs_receipts;
    tavola_messages *messages; /* read from the answer */
} get;

static bool has_receipts(const tavola_messages *messages)
{
    for (size_t i = 0; i < messages->count; i++) {
        if (messages->list[i].pop_receipt == NULL)
            return false;
    }
    return true;
}

static tavola_err read_messages(tavola_op *op, tvc_response *response)
{
    get *of = op->user_data;
    tavola_messages *messages;
    char *document = response->body;

    response->body = NULL;

    tavola_err err = tvc_messages_read(document, response->body_len, of->count, &messages);

    if (!err && of->needs_receipts && !has_receipts(messages)) {
        tavola_messages_free(messages);
        err = TAVOLA_ERR_PROTOCOL;
    }
    if (err == TAVOLA_ERR_PROTOCOL)
        tvc_call_set_error(op->call, "", "the answer is not a list of messages in XML");
    if (!err)
        of->messages = messages;
    return err;
}

static tavola_op *ask_messages(tavola_queue *queue, tavola_call *call, get *of)
{
    tavola_op *op = tvc_queue_ask(queue, call, "GET", NULL);

    if (op == NULL)
        return NULL;

    op->is_read = true;
    op->finish = read_messages;
    op->user_data = of;
    tvc_queue_add_number(op, "numofmessages", of->count);
    return op;
}

static tavola_err check_get(tavola_queue *queue, uint32_t count, tavola_call *call)
{
    if (queue == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a queue is needed");
    if (count > TVC_MESSAGES_MAX)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "32 messages at most can be asked for");
    return TAVOLA_OK;
}

tavola_err tavola_messages_get(tavola_queue *queue, uint32_t count, uint32_t hidden_s,
                               tavola_call *call, tavola_messages **ret_messages)
{
    get of = {.count = count ? count : TVC_MESSAGES_MAX, .needs_receipts = true};
    tavola_err err = check_get(queue, count, call);

    if (!err)
        err = tvc_queue_check_hidden(call, hidden_s);
    if (!err && ret_messages == NULL)
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "ret_messages is needed");
    if (err)
        return err;

    uint32_t seconds = hidden_s ? hidden_s : TVC_HIDDEN_S_DEFAULT;
    tavola_op *op = ask_messages(queue, call, &of);

    /*
     * Repeated like a read: messages of an answer that was lost come back by themselves.  But it
     * changes the queue, so it is for the primary.  The time counts from the first attempt: what
     * a later one got is ours for longer than we think.
     */
    int64_t hidden_until = tvc_queue_hidden_until(seconds);

    if (op) {
        op->location = TVC_AT_PRIMARY;
        tvc_queue_add_number(op, "visibilitytimeout", seconds);
    }
    err = tvc_resource_run(op);
    if (err)
        return err;

    for (size_t i = 0; i < of.messages->count; i++)
        of.messages->list[i].ours_until_ns = hidden_until;
    *ret_messages = of.messages;
    return TAVOLA_OK;
}

tavola_err tavola_message_get(tavola_queue *queue, uint32_t hidden_s, tavola_call *call,
                              tavola_message **ret_message)
{
    tavola_messages *messages = NULL;

    if (ret_message == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "ret_message is needed");

    tavola_err err = tavola_messages_get(queue, 1, hidden_s, call, &messages);

    if (err)
        return err;
    if (messages->count == 0) {
        tavola_messages_free(messages);
        return TAVOLA_END;
    }

    tavola_message *message = tvc_messages_take_first(messages);

    if (message == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    *ret_message = message;
    return TAVOLA_OK;
}

tavola_err tavola_messages_peek(tavola_queue *queue, uint32_t count, tavola_call *call,
                                tavola_messages **ret_messages)
{
    get of = {.count = count ? count : TVC_MESSAGES_MAX};
    tavola_err err = check_get(queue, count, call);

    if (!err && ret_messages == NULL)
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "ret_messages is needed");
    if (err)
        return err;

    tavola_op *op = ask_messages(queue, call, &of);

    if (op)
        tvc_op_add_parameter(op, "peekonly", TV_LIT("true"));
    err = tvc_resource_run(op);
    if (!err)
        *ret_messages = of.messages;
    return err;
}
