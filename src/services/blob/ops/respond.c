/* What several answers of the Blob service have in common. */
#include "services/blob/call.h"
#include "store/engine/instant.h"

void tv_blob_add_etag(tv_blob_call *call, int64_t ticks)
{
    char etag[TV_BLOB_ETAG_LEN + 2];

    etag[0] = '"';
    tv_blob_etag_format(etag + 1, ticks);
    etag[TV_BLOB_ETAG_LEN + 1] = '"';
    tv_response_header(call->base.req, TV_LIT("ETag"), (tv_slice){etag, sizeof etag});
    tv_call_add_date(&call->base, TV_LIT("Last-Modified"), ticks);
}

void tv_blob_add_lease(tv_blob_call *call, const tv_lease *lease)
{
    tv_request *req = call->base.req;
    tv_lease_state state = tv_lease_state_at(lease, tv_instant_now());

    tv_response_header(req, TV_LIT("x-ms-lease-status"), tv_lease_status_text(state));
    tv_response_header(req, TV_LIT("x-ms-lease-state"), tv_lease_state_text(state));
    if (state == TV_LEASE_LEASED)
        tv_response_header(req, TV_LIT("x-ms-lease-duration"),
                           lease->duration_s == TV_LEASE_INFINITE ? TV_LIT("infinite")
                                                                  : TV_LIT("fixed"));
}

void tv_blob_add_lease_id(tv_blob_call *call, const tv_guid *id)
{
    char text[TV_GUID_TEXT_LEN];

    tv_guid_format(text, id);
    tv_response_header(call->base.req, TV_LIT("x-ms-lease-id"), (tv_slice){text, sizeof text});
}

void tv_blob_respond_leased(tv_blob_call *call, const tv_lease *lease, int32_t seconds,
                            int64_t etag)
{
    tv_call *base = &call->base;
    tv_lease_action action = call->args.lease.action;

    tv_call_start(base, action == TV_LEASE_ACQUIRE ? 201 : action == TV_LEASE_BREAK ? 202 : 200);
    if (action == TV_LEASE_BREAK)
        tv_response_header(base->req, TV_LIT("x-ms-lease-time"),
                           tv_arena_printf(&base->req->arena, "%d", (int)seconds));
    else if (action != TV_LEASE_RELEASE)
        tv_blob_add_lease_id(call, &lease->id);
    tv_blob_add_etag(call, etag);
    tv_call_finish(base);
}
