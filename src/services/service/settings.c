/* Service settings, stats and access policies: the same for all services. */
#include "base/assert.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "model/catalog/acl.h"
#include "services/service/call.h"

tv_err tv_call_get_settings(tv_call *call)
{
    tv_service_kind kind = call->service->spec->kind;
    tv_shared_settings *shared =
        tv_catalog_settings(call->service->catalog, tv_identity_account(call->identity));
    tv_service_settings settings = tv_settings_default(kind);

    if (shared)
        tv_settings_apply(&settings, &shared->settings);
    tv_call_start_xml(call, 200);
    tv_settings_add_xml(&call->req->out, kind, &settings);
    tv_shared_settings_unref(shared);
    tv_call_finish(call);
    return TV_OK;
}

static tv_err on_properties_set(tv_call *call, tv_err err)
{
    if (err == TV_OK)
        tv_call_respond_empty(call, 202);
    return err;
}

tv_err tv_call_set_settings(tv_call *call)
{
    tv_catalog_set_settings *set = &call->set_settings;
    tv_err err = tv_settings_parse(&call->req->arena, call->service->spec->kind, call->req->body,
                                   &set->update, &call->info);

    if (err)
        return err;

    set->catalog = call->service->catalog;
    set->account = tv_identity_account(call->identity);
    set->arena = &call->req->arena;
    tv_catalog_prepare_set_settings(set, &call->write);
    tv_call_write(call, on_properties_set);
    return TV_OK;
}

/* There is one copy of the data, so a second one could not lag. */
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
        return tv_acl_parse(&req->arena, call->service->spec->kind, req->body, ret_policies);

    *ret_policies = (tv_access_policies){.count = 0};
    return TV_OK;
}

/* --- access policies of a table or queue; containers have public access with them --- */

tv_err tv_call_get_policies(tv_call *call)
{
    tv_access_policies policies;
    tv_err err = tv_catalog_policies(call->service->catalog, tv_identity_account(call->identity),
                                     call->target.container, &call->req->arena, &policies);

    if (err)
        return err;

    tv_call_start_xml(call, 200);
    tv_acl_add_xml(&call->req->out, &policies);
    tv_call_finish(call);
    return TV_OK;
}

tv_err tv_call_set_policies(tv_call *call)
{
    tv_err err;

    tv_assert(call->container); /* its row says so */
    call->change = (tv_catalog_change){.catalog = call->service->catalog,
                                       .container = call->container,
                                       .arena = &call->req->arena,
                                       .sets_policies = true};
    err = tv_call_read_policies(call, &call->change.policies);
    if (err)
        return err;

    tv_catalog_prepare_change(&call->change, &call->write);
    tv_call_write(call, tv_call_respond_changed);
    return TV_OK;
}

tv_err tv_call_respond_changed(tv_call *call, tv_err err)
{
    if (err == TV_OK)
        tv_call_respond_empty(call, 204);
    return err == TV_ERR_NOT_FOUND ? tv_catalog_kind_of(call->service->catalog)->not_found : err;
}
