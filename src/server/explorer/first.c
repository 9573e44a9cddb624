/* See first.h. */
#include "server/explorer/first.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "base/json.h"
#include "services/service/call.h"

enum { NONE, IN_WORK, THERE };

/* What a client has sent, cut and made printable. */
static void keep(char *to, size_t size, tv_slice text)
{
    size_t len = text.len < size ? text.len : size - 1;

    for (size_t i = 0; i < len; i++)
        to[i] = text.data[i] >= 0x20 && text.data[i] < 0x7f ? text.data[i] : '?';
    to[len] = '\0';
}

static void note(tv_first_request *first, const tv_call *call)
{
    tv_slice agent = tv_request_header(call->req, TV_LIT("user-agent"));
    int none = NONE;

    if (atomic_load_explicit(&first->state, memory_order_relaxed) != NONE ||
        !atomic_compare_exchange_strong(&first->state, &none, IN_WORK))
        return;

    first->ticks = tv_clock_ticks();
    first->status = call->req->status;
    first->operation = call->op->name;
    keep(first->method, sizeof first->method, tv_method_text(call->req->method));
    keep(first->container, sizeof first->container, call->target.container);
    keep(first->agent, sizeof first->agent, tv_slice_take(agent, tv_slice_find(agent, ' ')));
    atomic_store_explicit(&first->state, THERE, memory_order_release);
}

void tv_first_requests_note(void *ctx, const tv_call *call)
{
    tv_first_requests *first = ctx;

    if (!call->is_owner)
        note(call->req->status < 400 ? &first->good : &first->bad, call);
}

bool tv_first_request_add(const tv_first_request *first, tv_buf *out)
{
    char at[TV_DATETIME_TEXT_MAX];

    if (atomic_load_explicit(&first->state, memory_order_acquire) != THERE)
        return false;

    tv_buf_printf(out, "{\"at\":\"%.*s\",\"method\":\"%s\",\"operation\":\"%s\",\"status\":%d",
                  (int)tv_datetime_format(at, first->ticks), at, first->method, first->operation,
                  first->status);
    tv_json_text(out, "name", tv_slice_of(first->container));
    tv_json_text(out, "agent", tv_slice_of(first->agent));
    tv_buf_add_char(out, '}');
    return true;
}
