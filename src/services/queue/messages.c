/* Operations on messages. */
#include "base/datetime.h"
#include "services/queue/call.h"
#include "services/queue/message_xml.h"
#include "services/queue/writes.h"

enum {
    DAY_S = 24 * 3600,
    TTL_DEFAULT_S = 7 * DAY_S,
    GET_TIMEOUT_DEFAULT_S = 30,
};

/* --- what a request says --- */

/* Before that version a message lived seven days at most. */
static bool has_long_ttl(const tv_request *req)
{
    tv_slice version = tv_request_header(req, TV_LIT("x-ms-version"));

    return version.len == 0 || tv_slice_cmp(version, TV_LIT("2017-07-29")) >= 0;
}

static tv_err read_ttl(tv_call *call, int64_t *ret_ttl)
{
    int64_t max = has_long_ttl(call->req) ? INT32_MAX : TTL_DEFAULT_S;
    tv_slice text;
    tv_err err = tv_call_parameter(call, TV_LIT("messagettl"), &text);

    if (err)
        return err;
    if (has_long_ttl(call->req) && tv_slice_eq(text, TV_LIT("-1"))) {
        *ret_ttl = -1;
        return TV_OK;
    }
    return tv_call_number(call, TV_LIT("messagettl"), 1, max, TTL_DEFAULT_S, ret_ttl);
}

static tv_err read_timeout(tv_call *call, int64_t min, int64_t fallback, int64_t *ret_timeout)
{
    return tv_call_number(call, TV_LIT("visibilitytimeout"), min, TV_MESSAGE_TIMEOUT_S_MAX,
                          fallback, ret_timeout);
}

/* A message must be seen before it expires; the reason is the cloud service's. */
static tv_err read_put_timeout(tv_call *call, int64_t ttl, int64_t *ret_timeout)
{
    tv_err err = read_timeout(call, 0, 0, ret_timeout);

    if (err || ttl < 0 || *ret_timeout < ttl)
        return err;

    tv_slice text = tv_arena_printf(&call->req->arena, "%lld", (long long)*ret_timeout);

    return tv_call_bad_parameter(call, TV_LIT("visibilitytimeout"), text,
                                 "messagettl must be greater than visibilitytimeout");
}

/*
 * The text in the body; TV_ERR_BODY_TOO_LARGE tells clients the limit, as the
 * cloud service does.
 */
static tv_err read_text(tv_call *call, tv_slice *ret_text)
{
    tv_request *req = call->req;
    tv_err err = tv_message_parse(&req->arena, req->body, ret_text);

    if (err == TV_OK && ret_text->len > TV_MESSAGE_TEXT_BYTES_MAX)
        err = TV_ERR_BODY_TOO_LARGE;
    return err;
}

/* Which message, and with what right. */
static tv_err read_receipt(tv_queue_call *q, tv_guid *ret_id, tv_receipt *ret_receipt)
{
    tv_slice text;
    tv_err err = tv_call_need_parameter(&q->base, TV_LIT("popreceipt"), &text);

    if (err)
        return err;
    if (!tv_receipt_parse(text, ret_receipt))
        return tv_call_bad_parameter(&q->base, TV_LIT("popreceipt"), text,
                                     "Invalid pop receipt format.");
    return tv_guid_parse(q->resource.message, ret_id) ? TV_OK : TV_ERR_MESSAGE_NOT_FOUND;
}

/* --- answers --- */

static tv_err respond_messages(tv_call *call, int status, const tv_message *messages, size_t count,
                               tv_message_view view)
{
    /* Messages of a get that cannot be answered are hidden as if the answer had been lost;
     * a put has reserved what it needs. */
    tv_err err = tv_buf_try_reserve(&call->req->out, tv_messages_xml_max(messages, count));

    if (err)
        return err;

    tv_call_start_xml(call, status);
    tv_response_header(call->req, TV_LIT("Cache-Control"), TV_LIT("no-cache"));
    tv_messages_add_xml(&call->req->out, messages, count, view);
    tv_buf_trim(&call->req->out);
    tv_charge_trim(&call->req->charge);
    tv_call_finish(call);
    return TV_OK;
}

static tv_err on_put(tv_call *call, tv_err err)
{
    tv_queue_call *q = tv_queue_call_of(call);

    q->put.message.text = TV_NONE; /* not part of the answer */
    return err ? err : respond_messages(call, 201, &q->put.message, 1, TV_MESSAGE_PUT);
}

static tv_err on_got(tv_call *call, tv_err err)
{
    tv_queue_call *q = tv_queue_call_of(call);

    return err ? err
               : respond_messages(call, 200, q->get.messages, q->get.message_count, TV_MESSAGE_GOT);
}

static tv_err on_updated(tv_call *call, tv_err err)
{
    const tv_message *message = &tv_queue_call_of(call)->update.message;
    char receipt[TV_RECEIPT_TEXT_LEN];

    if (err)
        return err;

    tv_receipt_format(receipt, &message->receipt);
    tv_call_start(call, 204);
    tv_response_header(call->req, TV_LIT("x-ms-popreceipt"), (tv_slice){receipt, sizeof receipt});
    tv_call_add_date(call, TV_LIT("x-ms-time-next-visible"), message->next_visible);
    tv_call_finish(call);
    return TV_OK;
}

static tv_err on_deleted(tv_call *call, tv_err err)
{
    if (err == TV_OK)
        tv_call_respond_empty(call, 204);
    return err;
}

/* --- the operations --- */

tv_err tv_queue_put_message(tv_call *call)
{
    tv_queue_call *q = tv_queue_call_of(call);
    tv_err err;

    err = read_ttl(call, &q->put.ttl_s);
    if (err == TV_OK)
        err = read_put_timeout(call, q->put.ttl_s, &q->put.timeout_s);
    if (err == TV_OK)
        err = read_text(call, &q->put.text);
    if (err)
        return err;

    q->put.queue = tv_queue_of(call->container);
    err = tv_queue_prepare_put(&q->put, &call->write);
    if (err == TV_OK)
        err = tv_buf_try_reserve(&call->req->out, tv_messages_xml_max(&q->put.message, 1));
    if (err)
        return err;

    tv_call_write(call, on_put);
    return TV_OK;
}

static tv_err read_count(tv_call *call, int64_t *ret_count)
{
    return tv_call_number(call, TV_LIT("numofmessages"), 1, TV_MESSAGES_MAX, 1, ret_count);
}

tv_err tv_queue_get_messages(tv_call *call)
{
    tv_queue_call *q = tv_queue_call_of(call);
    tv_err err;

    err = read_count(call, &q->get.count);
    if (err == TV_OK)
        err = read_timeout(call, 1, GET_TIMEOUT_DEFAULT_S, &q->get.timeout_s);
    if (err)
        return err;

    q->get.queue = tv_queue_of(call->container);
    q->get.arena = &call->req->arena;
    err = tv_queue_prepare_get(&q->get, &call->write);
    if (err)
        return err;

    tv_call_write(call, on_got);
    return TV_OK;
}

static tv_err read_peek(tv_call *call, tv_read_mode mode)
{
    tv_queue_call *q = tv_queue_call_of(call);

    tv_assert(mode == TV_READ_ANY);
    return tv_queue_peek(tv_queue_of(call->container), &call->req->arena, q->count, q->get.messages,
                         &q->get.message_count);
}

static tv_err on_peeked(tv_call *call, tv_err err)
{
    tv_queue_call *q = tv_queue_call_of(call);

    return err ? err
               : respond_messages(call, 200, q->get.messages, q->get.message_count,
                                  TV_MESSAGE_SEEN);
}

tv_err tv_queue_peek_messages(tv_call *call)
{
    tv_queue_call *q = tv_queue_call_of(call);
    tv_err err;

    err = read_count(call, &q->count);
    if (err)
        return err;
    return tv_call_read_on(call, call->service->readers, read_peek, on_peeked);
}

tv_err tv_queue_update_message(tv_call *call)
{
    tv_queue_call *q = tv_queue_call_of(call);
    tv_slice timeout;
    tv_err err;

    err = read_receipt(q, &q->update.id, &q->update.receipt);
    if (err == TV_OK)
        err = tv_call_need_parameter(call, TV_LIT("visibilitytimeout"), &timeout);
    if (err == TV_OK)
        err = read_timeout(call, 0, 0, &q->update.timeout_s);
    if (err == TV_OK && call->req->body.len)
        err = read_text(call, &q->update.text);
    if (err)
        return err;

    q->update.queue = tv_queue_of(call->container);
    err = tv_queue_prepare_update(&q->update, &call->write);
    if (err)
        return err;

    tv_call_write(call, on_updated);
    return TV_OK;
}

tv_err tv_queue_delete_message(tv_call *call)
{
    tv_queue_call *q = tv_queue_call_of(call);
    tv_err err;

    err = read_receipt(q, &q->delete_op.id, &q->delete_op.receipt);
    if (err)
        return err;

    q->delete_op.queue = tv_queue_of(call->container);
    tv_queue_prepare_delete(&q->delete_op, &call->write);
    tv_call_write(call, on_deleted);
    return TV_OK;
}

tv_err tv_queue_clear_messages(tv_call *call)
{
    tv_queue_prepare_clear(tv_queue_of(call->container), &call->write);
    tv_call_write(call, on_deleted);
    return TV_OK;
}
