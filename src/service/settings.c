/* Service properties, stats and access policies: the same for queues and blobs. */
#include "base/clock.h"
#include "base/datetime.h"
#include "catalog/acl.h"
#include "service/call.h"

tv_err tv_call_get_properties(tv_call *call)
{
    tv_service_kind kind = call->service->kind;
    tv_shared_properties *shared =
        tv_catalog_properties(call->service->catalog, tv_identity_account(call->identity));
    tv_service_properties properties = tv_properties_default(kind);

    if (shared)
        tv_properties_apply(&properties, &shared->properties);
    tv_call_start_xml(call, 200);
    tv_properties_add_xml(&call->req->out, kind, &properties);
    tv_shared_properties_unref(shared);
    tv_call_finish(call);
    return TV_OK;
}

static void on_properties_set(tv_mail *mail)
{
    tv_call *call = TV_CALL_OF(tv_call, mail, write.mail);

    if (call->write.result)
        tv_call_respond_error(call, call->write.result);
    else
        tv_call_respond_empty(call, 202);
}

tv_err tv_call_set_properties(tv_call *call)
{
    tv_catalog_set_properties *set = &call->set_properties;
    tv_err err =
        tv_properties_parse(&call->req->arena, call->service->kind, call->req->body, &set->update);

    if (err)
        return err;

    set->catalog = call->service->catalog;
    set->account = tv_identity_account(call->identity);
    set->arena = &call->req->arena;
    tv_catalog_prepare_set_properties(set, &call->write);
    tv_call_submit(call, on_properties_set);
    return TV_OK;
}

/* There is one copy of the data, so a second one could not be behind it. */
tv_err tv_call_get_stats(tv_call *call)
{
    char now[TV_DATETIME_TEXT_MAX];
    size_t len = tv_http_date_format(now, tv_clock_ticks());

    tv_call_start_xml(call, 200);
    tv_buf_printf(&call->req->out,
                  "<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>%.*s"
                  "</LastSyncTime></GeoReplication></StorageServiceStats>",
                  (int)len, now);
    tv_call_finish(call);
    return TV_OK;
}

tv_err tv_call_read_policies(tv_call *call, tv_access_policies *ret_policies)
{
    tv_request *req = call->req;

    if (req->body.len)
        return tv_acl_parse(&req->arena, call->service->kind, req->body, ret_policies);

    *ret_policies = (tv_access_policies){.count = 0};
    return TV_OK;
}
