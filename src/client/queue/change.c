/*
 * Updating and deleting messages, each with the pop receipt that gives the right to.
 *
 * A receipt is good for one update.  One that got no answer is repeated: if the first was not made,
 * the second is; if it was, the second is refused, and the new receipt is lost with its answer.
 */
#include "client/queue/ask.h"

#include "base/clock.h"
#include "base/datetime.h"

static tavola_err check_message(tavola_queue *queue, const tavola_message *message,
                                tavola_call *call)
{
    if (queue == NULL || message == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a queue and a message are needed");
    if (message->pop_receipt == NULL || *message->pop_receipt == '\0' || *message->id == '\0')
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the message has no pop receipt: it was only peeked at");
    return TAVOLA_OK;
}

/* A receipt that does not fit any more: somebody else has the message, or it is gone. */
static bool is_lost(const tavola_op *op, tavola_err err)
{
    return err == TAVOLA_ERR_NOT_FOUND || strcmp(op->call->code, "PopReceiptMismatch") == 0;
}

static tavola_err read_update(tavola_op *op, tvc_response *response)
{
    tvc_message_update *of = op->user_data;
    tv_slice receipt = tvc_response_header(response, TV_LIT("x-ms-popreceipt"));
    tv_slice visible = tvc_response_header(response, TV_LIT("x-ms-time-next-visible"));

    if (receipt.len == 0) {
        tvc_call_set_error(op->call, "", "the message was updated, but its pop receipt is lost");
        return TAVOLA_ERR_PROTOCOL;
    }
    of->receipt = tvc_dup(receipt);
    if (of->receipt == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    (void)tv_http_date_parse(visible, &of->next_visible);
    return TAVOLA_OK;
}

tavola_op *tvc_message_update_op(tavola_queue *queue, const tavola_message *message,
                                 const char *text, uint32_t hidden_s, tavola_call *call,
                                 tvc_message_update *of)
{
    tavola_op *op = tvc_queue_ask(queue, call, "PUT", message);

    if (op == NULL)
        return NULL;

    *of = (tvc_message_update){.ours_until_ns = tvc_queue_hidden_until(hidden_s)};
    op->finish = read_update;
    op->user_data = of;
    tvc_queue_add_number(op, "visibilitytimeout", hidden_s);
    if (text)
        tvc_queue_write_text(op, tv_slice_of(text));
    return op;
}

void tvc_message_update_again(tavola_op *op, const tavola_message *message, uint32_t hidden_s,
                              int64_t begin_ns)
{
    tvc_message_update *of = op->user_data;

    *of = (tvc_message_update){.ours_until_ns = begin_ns + hidden_s * INT64_C(1000000000)};
    tvc_text_reset(&op->request.query);
    tvc_op_add_parameter(op, "popreceipt", tv_slice_of(message->pop_receipt));
    tvc_queue_add_number(op, "visibilitytimeout", hidden_s);
}

void tvc_message_take_update(tavola_message *message, const tvc_message_update *of)
{
    tvc_release(message->new_receipt);
    message->pop_receipt = message->new_receipt = of->receipt;
    message->next_visible = of->next_visible;
    message->ours_until_ns = of->ours_until_ns;
}

tavola_err tvc_message_update_err(tavola_op *op, tavola_err err)
{
    if (is_lost(op, err))
        err = op->was_unknown ? TAVOLA_ERR_UNKNOWN_OUTCOME : TAVOLA_ERR_NOT_FOUND;
    if (err == TAVOLA_ERR_UNKNOWN_OUTCOME || tvc_op_is_open(op, err))
        err = tvc_op_stay_unknown(op, "no answer came; if it was updated, its pop receipt is lost");
    return err;
}

tavola_err tavola_message_update(tavola_queue *queue, tavola_message *message, const char *text,
                                 uint32_t hidden_s, tavola_call *call)
{
    tavola_err err = check_message(queue, message, call);

    if (!err && hidden_s != TAVOLA_AT_ONCE)
        err = tvc_queue_check_hidden(call, hidden_s);
    if (!err && text)
        err = tvc_queue_check_text(call, text);
    if (err)
        return err;

    tvc_message_update of;
    uint32_t seconds = hidden_s == TAVOLA_AT_ONCE ? 0 : hidden_s ? hidden_s : TVC_HIDDEN_S_DEFAULT;
    tavola_op *op = tvc_message_update_op(queue, message, text, seconds, call, &of);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    err = tvc_message_update_err(op, tvc_op_run(op));
    tavola_op_free(op);
    if (err == TAVOLA_OK)
        tvc_message_take_update(message, &of);
    return err;
}

/*
 * Gone after an attempt without an answer: it was us, if nobody else can have had the message
 * since.
 */
static tavola_err settle_delete(tavola_op *op, const tavola_message *message)
{
    if (tv_clock_mono_ns() < message->ours_until_ns)
        return tvc_op_confirm(op);
    return tvc_op_stay_unknown(op, "no answer came; it was deleted, or somebody else has it now");
}

tavola_err tavola_message_delete(tavola_queue *queue, const tavola_message *message,
                                 tavola_call *call)
{
    tavola_err err = check_message(queue, message, call);

    if (err)
        return err;

    tavola_op *op = tvc_queue_ask(queue, call, "DELETE", message);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    err = tvc_op_run(op);
    if (is_lost(op, err))
        err = op->was_unknown ? settle_delete(op, message) : TAVOLA_ERR_NOT_FOUND;
    else if (tvc_op_is_open(op, err))
        err = tvc_op_stay_unknown(op, "no answer came; the message may be deleted");
    tavola_op_free(op);
    return err;
}
