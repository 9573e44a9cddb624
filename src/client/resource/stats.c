/* How far the second copy of a service's data is: asked of the secondary, which alone knows. */
#include "client/resource/stats.h"
#include "base/datetime.h"
#include "client/resource/resource.h"
#include "client/xml/xml.h"

static void read_replication(tvc_xml *xml, tvc_stats *stats)
{
    tv_slice field;

    while (tvc_xml_child(xml, &field)) {
        bool is_status = tv_slice_eq(field, TV_LIT("Status"));

        if (!is_status && !tv_slice_eq(field, TV_LIT("LastSyncTime"))) {
            tvc_xml_skip(xml);
            continue;
        }

        tv_slice text = tvc_xml_text(xml);

        if (is_status ? text.len >= sizeof stats->status
                      : text.len && !tv_http_date_parse(text, &stats->last_sync))
            tvc_xml_fail(xml);
        else if (is_status)
            memcpy(stats->status, text.data, text.len + 1);
    }
}

tavola_err tvc_stats_read(char *document, size_t len, tvc_stats *ret_stats)
{
    tvc_stats stats = {0};
    tvc_xml xml;
    tv_slice name;

    tvc_xml_open(&xml, document, len, TV_LIT("StorageServiceStats"));
    while (tvc_xml_child(&xml, &name)) {
        if (tv_slice_eq(name, TV_LIT("GeoReplication")))
            read_replication(&xml, &stats);
        else
            tvc_xml_skip(&xml);
    }
    if (!tvc_xml_close(&xml) || stats.status[0] == '\0')
        return TAVOLA_ERR_PROTOCOL;
    *ret_stats = stats;
    return TAVOLA_OK;
}

static tavola_err finish(tavola_op *op, tvc_response *response)
{
    tavola_err err = response->body
                         ? tvc_stats_read(response->body, response->body_len, op->user_data)
                         : TAVOLA_ERR_PROTOCOL;

    if (err)
        tvc_call_set_error(op->call, "", "the answer is not the stats of a service in XML");
    return err;
}

static tavola_err ask(tavola_client *client, tv_service_kind service, tvc_endpoint *secondary,
                      tavola_call *call, tvc_stats *ret_stats)
{
    tavola_op *op = tvc_op_new(client, service, call);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    op->request.method = "GET";
    tvc_text_add_char(&op->request.path, '/');
    tvc_text_add_lit(&op->request.query, "restype=service&comp=stats");
    op->is_read = true;
    op->location = TVC_AT_PRIMARY; /* which is `endpoint`: retries stay there */
    op->endpoint = secondary;
    op->finish = finish;
    op->user_data = ret_stats;

    tavola_err err = tvc_op_run(op);

    tavola_op_free(op);
    return err;
}

tavola_err tavola_service_stats(tavola_client *client, tavola_service service, tavola_call *call,
                                char ret_status[TAVOLA_GEO_STATUS_SIZE],
                                tavola_ticks *ret_last_sync)
{
    tvc_endpoint *secondary = NULL;
    tvc_stats stats = {0};

    if (client == NULL || ret_status == NULL || ret_last_sync == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "there is no client, or no place for the answer: it is NULL");
    if ((unsigned)service > TAVOLA_SERVICE_BLOB)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no such service");

    tavola_err err = tvc_client_open_secondary(client, (tv_service_kind)service, call, &secondary);

    if (err)
        return err;
    err = ask(client, (tv_service_kind)service, secondary, call, &stats);
    tvc_endpoint_close(secondary);
    if (err)
        return err;
    memcpy(ret_status, stats.status, sizeof stats.status);
    *ret_last_sync = stats.last_sync;
    return TAVOLA_OK;
}
