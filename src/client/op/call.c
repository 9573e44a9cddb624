/* tavola_call: options in, outcome out. */
#include "client/op/call.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/clock.h"
#include "client/op/op.h"
#include "client/why.h"

enum { REQUEST_ID_LEN_MAX = 1024 }; /* what the service takes */

void tvc_call_init(tavola_call *call)
{
    memset(call, 0, sizeof *call);
    atomic_init(&call->end_ns, TVC_NO_END);
    call->retry_max = TVC_RETRIES_BY_CLIENT;
    call->failed_index = -1;
}

void tvc_call_done(tavola_call *call)
{
    tvc_release(call->wanted_request_id);
    tvc_release(call->etag_long);
    call->wanted_request_id = call->etag_long = NULL;
    call->etag = call->client_request_id = NULL;
}

void tvc_call_reset(tavola_call *call)
{
    call->status = 0;
    call->code[0] = call->message[0] = '\0';
    call->service_request_id[0] = call->plan[0] = '\0';
    call->client_request_id = NULL;
    call->attempts = 0;
    call->was_confirmed = false;
    call->failed_index = -1;
    tvc_call_set_etag(call, TV_NONE);
}

bool tvc_call_set_etag(tavola_call *call, tv_slice etag)
{
    tvc_release(call->etag_long);
    call->etag_long = NULL;
    call->etag = NULL;
    if (etag.data == NULL)
        return true;

    if (etag.len < sizeof call->etag_short) {
        *tv_slice_put(call->etag_short, etag) = '\0';
        call->etag = call->etag_short;
        return true;
    }
    call->etag = call->etag_long = tvc_dup(etag);
    return call->etag != NULL;
}

tavola_call *tavola_call_new(void)
{
    tavola_call *call = tvc_alloc(sizeof *call);

    if (call)
        tvc_call_init(call);
    return call;
}

void tavola_call_free(tavola_call *call)
{
    if (call == NULL)
        return;

    tvc_call_done(call);
    tvc_release(call);
}

/* ---- options -------------------------------------------------------------------------------- */

void tavola_call_set_timeout_ms(tavola_call *call, uint32_t total_timeout_ms)
{
    if (call)
        call->total_timeout_ms = total_timeout_ms;
}

void tavola_call_set_retries(tavola_call *call, uint32_t retry_max)
{
    if (call == NULL)
        return;
    if (retry_max == 0)
        call->retry_max = TVC_RETRIES_BY_CLIENT;
    else
        call->retry_max = retry_max == UINT32_MAX ? 0 : retry_max;
}

/* It becomes a header, so what could end one is refused, by the operation. */
static tavola_err check_request_id(tv_slice id)
{
    return id.len > 0 && id.len <= REQUEST_ID_LEN_MAX && tv_slice_is_printable(id) &&
                   tv_slice_trim(id).len == id.len
               ? TAVOLA_OK
               : TAVOLA_ERR_INVALID;
}

void tavola_call_set_request_id(tavola_call *call, const char *client_request_id)
{
    if (call == NULL)
        return;

    if (call->client_request_id == call->wanted_request_id)
        call->client_request_id = NULL;
    tvc_release(call->wanted_request_id);
    call->wanted_request_id = NULL;
    call->option_error = TAVOLA_OK;
    if (client_request_id == NULL)
        return;

    call->option_error = check_request_id(tv_slice_of(client_request_id));
    if (call->option_error)
        return;

    call->wanted_request_id = tvc_dup_text(client_request_id);
    if (call->wanted_request_id == NULL)
        call->option_error = TAVOLA_ERR_NO_MEMORY;
}

/* A hint: one that cannot be sent is left out. */
void tavola_call_set_source(tavola_call *call, const char *file_and_line)
{
    tv_slice text = file_and_line ? tv_slice_of(file_and_line) : TV_NONE;

    if (call == NULL)
        return;

    call->source[0] = '\0';
    if (text.len == 0 || text.len >= sizeof call->source || !tv_slice_is_printable(text) ||
        tv_slice_trim(text).len != text.len)
        return;
    *tv_slice_put(call->source, text) = '\0';
}

void tavola_call_set_crypto(tavola_call *call, tavola_crypto *crypto)
{
    if (call)
        call->crypto = crypto;
}

/* ---- its end -------------------------------------------------------------------------------- */

int64_t tvc_call_end_ns(const tavola_call *call)
{
    return atomic_load_explicit(&call->end_ns, memory_order_acquire);
}

bool tvc_call_is_over(const tavola_call *call)
{
    int64_t end_ns = tvc_call_end_ns(call);

    return end_ns != TVC_NO_END && tv_clock_mono_ns() >= end_ns;
}

void tvc_call_end_at(tavola_call *call, int64_t end_ns)
{
    atomic_store_explicit(&call->end_ns, end_ns, memory_order_release);
}

void tavola_call_cancel(tavola_call *call)
{
    if (call)
        tvc_call_end_at(call, 0);
}

/* ---- outcome -------------------------------------------------------------------------------- */

static const char *text_or_null(const char *text)
{
    return text[0] ? text : NULL;
}

int tavola_call_status(const tavola_call *call)
{
    return call ? call->status : 0;
}

const char *tavola_call_code(const tavola_call *call)
{
    return call ? call->code : "";
}

const char *tavola_call_message(const tavola_call *call)
{
    return call ? call->message : "";
}

const char *tavola_call_etag(const tavola_call *call)
{
    return call ? call->etag : NULL;
}

const char *tavola_call_service_request_id(const tavola_call *call)
{
    return call ? text_or_null(call->service_request_id) : NULL;
}

const char *tavola_call_client_request_id(const tavola_call *call)
{
    return call ? call->client_request_id : NULL;
}

uint32_t tavola_call_attempts(const tavola_call *call)
{
    return call ? call->attempts : 0;
}

bool tavola_call_was_confirmed(const tavola_call *call)
{
    return call && call->was_confirmed;
}

int tavola_call_failed_index(const tavola_call *call)
{
    return call ? call->failed_index : -1;
}

const char *tavola_call_plan(const tavola_call *call)
{
    return call ? text_or_null(call->plan) : NULL;
}

tavola_err tvc_call_refuse(tavola_call *call, tavola_err err, const char *format, ...)
{
    char line[sizeof call->message];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    tvc_keep_error(err, "", line);
    if (call == NULL)
        return err;
    tvc_call_reset(call);
    tvc_call_set_error(call, "", line);
    return err;
}
