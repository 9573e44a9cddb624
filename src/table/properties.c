/* GET and PUT /?restype=service&comp=properties, GET …&comp=stats. */
#include "catalog/properties.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "table/call.h"

tv_err tv_table_get_properties(tv_table_call *call)
{
    tv_shared_properties *shared =
        tv_catalog_properties(call->service->catalog, tv_identity_account(call->identity));
    tv_service_properties properties = tv_properties_default(TV_SERVICE_TABLE);

    if (shared)
        tv_properties_apply(&properties, &shared->properties);
    tv_properties_add_xml(&call->req->out, TV_SERVICE_TABLE, &properties);
    tv_shared_properties_unref(shared);
    tv_table_respond_xml(call, 200);
    return TV_OK;
}

static void on_properties_set(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, write.mail);

    if (call->write.result)
        tv_table_respond_error(call, call->write.result);
    else
        tv_table_respond_xml(call, 202);
}

tv_err tv_table_set_properties(tv_table_call *call)
{
    tv_catalog_set_properties *set = &call->set_properties;
    tv_err err =
        tv_properties_parse(&call->req->arena, TV_SERVICE_TABLE, call->req->body, &set->update);

    if (err)
        return err;

    set->catalog = call->service->catalog;
    set->account = tv_identity_account(call->identity);
    set->arena = &call->req->arena;
    tv_catalog_prepare_set_properties(set, &call->write);
    tv_table_call_submit(call, on_properties_set);
    return TV_OK;
}

/* There is one copy of the data, so a second one could not be behind it. */
tv_err tv_table_get_stats(tv_table_call *call)
{
    char now[TV_DATETIME_TEXT_MAX];
    size_t len = tv_http_date_format(now, tv_clock_ticks());

    tv_buf_printf(&call->req->out,
                  "<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>%.*s"
                  "</LastSyncTime></GeoReplication></StorageServiceStats>",
                  (int)len, now);
    tv_table_respond_xml(call, 200);
    return TV_OK;
}
