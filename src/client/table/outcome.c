/*
 * An operation that is started on behalf of a caller's call has a call of its own, because the
 * client's thread writes to it: the options go there, and the outcome comes back.
 */
#include "client/table/table.h"

void tvc_call_copy_options(tavola_call *to, const tavola_call *from)
{
    if (from == NULL)
        return;

    to->total_timeout_ms = from->total_timeout_ms;
    to->retry_max = from->retry_max;
    to->crypto = from->crypto;
    to->primary_only = from->primary_only;
    to->option_error = from->option_error;
    memcpy(to->source, from->source, sizeof to->source);
    tvc_call_end_at(to, tvc_call_end_ns(from));
    tvc_release(to->wanted_request_id);
    to->wanted_request_id = tvc_dup_text(from->wanted_request_id);
    if (from->wanted_request_id && to->wanted_request_id == NULL)
        to->option_error = TAVOLA_ERR_NO_MEMORY;
}

static void take_etag(tavola_call *to, tavola_call *from)
{
    if (from->etag == NULL)
        return;
    if (from->etag_long) {
        to->etag = to->etag_long = from->etag_long;
        from->etag = from->etag_long = NULL;
    } else {
        memcpy(to->etag_short, from->etag_short, sizeof to->etag_short);
        to->etag = to->etag_short;
    }
}

void tvc_call_take_outcome(tavola_call *to, tavola_call *from)
{
    if (to == NULL || to == from)
        return;

    tvc_call_reset(to);
    to->status = from->status;
    memcpy(to->code, from->code, sizeof to->code);
    memcpy(to->message, from->message, sizeof to->message);
    take_etag(to, from);
    memcpy(to->service_request_id, from->service_request_id, sizeof to->service_request_id);
    memcpy(to->guid, from->guid, sizeof to->guid);
    if (from->client_request_id)
        to->client_request_id = to->wanted_request_id ? to->wanted_request_id : to->guid;
    memcpy(to->plan, from->plan, sizeof to->plan);
    to->attempts = from->attempts;
    to->was_confirmed = from->was_confirmed;
    to->failed_index = from->failed_index;
}
