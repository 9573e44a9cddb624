/*
 * Putting messages.  Nothing tells a message that arrived from one that did not, or two of the same
 * text from one, so a put without an answer is never repeated.
 */
#include "client/queue/ask.h"

/* What a put is to be. */
typedef struct put {
    tv_slice text;
    uint32_t hidden_s;
    int32_t ttl_s;
    tavola_messages *messages; /* read from the answer */
} put;

static tavola_err read_put(tavola_op *op, tvc_response *response)
{
    put *of = op->user_data;
    char *document = response->body;

    response->body = NULL;

    /* The message is there: what is not understood of the answer only makes it less useful. */
    tavola_err err = tvc_messages_read(document, response->body_len, 1, &of->messages);

    return err == TAVOLA_ERR_NO_MEMORY ? err : TAVOLA_OK;
}

static tavola_op *ask_put(tavola_queue *queue, tavola_call *call, put *of)
{
    tavola_op *op = tvc_queue_ask(queue, call, "POST", NULL);

    if (op == NULL)
        return NULL;

    op->settle.kind = TVC_SETTLE_GUESS;
    op->user_data = of;
    if (of->hidden_s)
        tvc_queue_add_number(op, "visibilitytimeout", of->hidden_s);
    if (of->ttl_s)
        tvc_queue_add_number(op, "messagettl", of->ttl_s);
    tvc_queue_write_text(op, of->text);
    return op;
}

static tavola_err run_put(tavola_op *op)
{
    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tvc_op_run(op);

    if (tvc_op_is_open(op, err))
        err = tvc_op_stay_unknown(op, "no answer came; the message may be in the queue");
    tavola_op_free(op);
    return err;
}

tavola_err tavola_message_put(tavola_queue *queue, const char *text, tavola_call *call)
{
    return tavola_message_put_later(queue, text, 0, 0, call, NULL);
}

tavola_err tavola_message_put_bytes(tavola_queue *queue, const void *data, size_t size,
                                    tavola_call *call)
{
    enum { BYTES_MAX = TVC_MESSAGE_BYTES_MAX / 4 * 3 };
    tvc_text text = {0};

    if (queue == NULL || (data == NULL && size))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a queue and data are needed");
    if (size > BYTES_MAX)
        return tvc_call_refuse(call, TAVOLA_ERR_TOO_LARGE, "a message has at most 48 KiB in bytes");

    tvc_text_add_base64(&text, (tv_slice){data, size});

    put of = {.text = tvc_text_slice(&text)};
    tavola_err err = text.has_failed ? TAVOLA_ERR_NO_MEMORY : run_put(ask_put(queue, call, &of));

    tvc_text_done(&text);
    return err;
}

static tavola_err check_put(tavola_queue *queue, const char *text, uint32_t hidden_s, int32_t ttl_s,
                            tavola_call *call)
{
    if (queue == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a queue is needed");
    if (ttl_s < -1)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "ttl_s is -1, 0 or a number of seconds");
    if (hidden_s >= (ttl_s > 0 ? (uint32_t)ttl_s : UINT32_MAX))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the message would be gone before it can be seen");

    tavola_err err = tvc_queue_check_hidden(call, hidden_s);

    return err ? err : tvc_queue_check_text(call, text);
}

static tavola_err take_message(put *of, int64_t hidden_until_ns, tavola_call *call,
                               tavola_message **ret_message)
{
    if (tavola_messages_count(of->messages) != 1 || of->messages->list[0].pop_receipt == NULL) {
        tavola_messages_free(of->messages);
        return tvc_call_refuse(call, TAVOLA_ERR_PROTOCOL,
                               "the message was put, but the answer does not name it");
    }

    tavola_message *message = tvc_messages_take_first(of->messages);

    if (message == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    message->ours_until_ns = hidden_until_ns;
    *ret_message = message;
    return TAVOLA_OK;
}

tavola_err tavola_message_put_later(tavola_queue *queue, const char *text, uint32_t hidden_s,
                                    int32_t ttl_s, tavola_call *call, tavola_message **ret_message)
{
    tavola_err err = check_put(queue, text, hidden_s, ttl_s, call);

    if (err)
        return err;

    put of = {.text = tv_slice_of(text), .hidden_s = hidden_s, .ttl_s = ttl_s};
    int64_t hidden_until = tvc_queue_hidden_until(hidden_s);
    tavola_op *op = ask_put(queue, call, &of);

    if (op && ret_message)
        op->finish = read_put;
    err = run_put(op);
    if (err)
        return err;
    return ret_message ? take_message(&of, hidden_until, call, ret_message) : TAVOLA_OK;
}
