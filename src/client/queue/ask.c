/* What the operations on messages share. */
#include "client/queue/ask.h"

#include "base/clock.h"
#include "base/number.h"
#include "client/xml/xml.h"

tavola_op *tvc_queue_ask(tavola_queue *queue, tavola_call *call, const char *method,
                         const tavola_message *message)
{
    tavola_op *op = tvc_resource_ask(&queue->resource, call, method, NULL);

    if (op == NULL)
        return NULL;

    tvc_text_add_lit(&op->request.path, "/messages");
    if (message) {
        tvc_text_add_char(&op->request.path, '/');
        tvc_text_add_encoded(&op->request.path, tv_slice_of(message->id));
        tvc_op_add_parameter(op, "popreceipt", tv_slice_of(message->pop_receipt));
    }
    return op;
}

void tvc_queue_add_number(tavola_op *op, const char *name, int64_t number)
{
    char digits[TV_INT64_TEXT_MAX];

    tvc_op_add_parameter(op, name, (tv_slice){digits, tv_format_int64(digits, number)});
}

void tvc_queue_write_text(tavola_op *op, tv_slice text)
{
    tvc_op_add_header(op, TV_LIT("Content-Type"), TV_LIT("application/xml"));
    tvc_text_add_lit(&op->request.body, "<?xml version=\"1.0\" encoding=\"utf-8\"?><QueueMessage>");
    tvc_xml_add_element(&op->request.body, "MessageText", text);
    tvc_text_add_lit(&op->request.body, "</QueueMessage>");
}

tavola_err tvc_queue_check_text(tavola_call *call, const char *text)
{
    if (text == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a text is needed");
    if (strnlen(text, TVC_MESSAGE_BYTES_MAX + 1) > TVC_MESSAGE_BYTES_MAX)
        return tvc_call_refuse(call, TAVOLA_ERR_TOO_LARGE, "a message has at most 64 KiB");
    if (!tvc_xml_can_hold(tv_slice_of(text)))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the text is not UTF-8, or has characters that XML cannot hold");
    return TAVOLA_OK;
}

tavola_err tvc_queue_check_hidden(tavola_call *call, uint32_t hidden_s)
{
    if (hidden_s > TVC_HIDDEN_S_MAX)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "a message can be hidden for 7 days at most");
    return TAVOLA_OK;
}

int64_t tvc_queue_hidden_until(uint32_t hidden_s)
{
    return tv_clock_mono_ns() + hidden_s * INT64_C(1000000000);
}
