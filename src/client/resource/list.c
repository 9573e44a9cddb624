/* Lists of queues and containers: all pages, one after another. */
#include "client/circle.h"
#include "client/names.h"
#include "client/resource/resource.h"
#include "client/xml/xml.h"

typedef struct listing {
    tavola_names *names;
    tvc_text marker; /* of the page that is asked for; empty: the first */
    tvc_text next;   /* of the one behind it; empty: there is none */
    tvc_circle circle;
} listing;

static void read_item(tvc_xml *xml, tavola_names *names, bool *ret_is_short)
{
    tv_slice field;

    while (tvc_xml_child(xml, &field)) {
        if (!tv_slice_eq(field, TV_LIT("Name")))
            tvc_xml_skip(xml);
        else if (!tvc_names_add(names, tvc_xml_text(xml)))
            *ret_is_short = true;
    }
}

static tavola_err read_page(tavola_op *op, tvc_response *response)
{
    listing *list = op->user_data;
    tv_slice group, item, of_queues = TV_LIT("Queues"), of_containers = TV_LIT("Containers");
    bool is_short = false;
    tvc_xml xml;

    tvc_text_reset(&list->next);
    tvc_xml_open(&xml, response->body, response->body_len, TV_LIT("EnumerationResults"));
    while (tvc_xml_child(&xml, &group)) {
        if (tv_slice_eq(group, TV_LIT("NextMarker"))) {
            tvc_text_add(&list->next, tvc_xml_text(&xml));
        } else if (tv_slice_eq(group, of_queues) || tv_slice_eq(group, of_containers)) {
            while (tvc_xml_child(&xml, &item))
                read_item(&xml, list->names, &is_short);
        } else {
            tvc_xml_skip(&xml);
        }
    }
    if (!tvc_xml_close(&xml)) {
        tvc_call_set_error(op->call, "", "the answer is not a list in XML");
        return TAVOLA_ERR_PROTOCOL;
    }
    return is_short || list->next.has_failed ? TAVOLA_ERR_NO_MEMORY : TAVOLA_OK;
}

static tavola_op *ask_page(tavola_client *client, tv_service_kind service, const char *prefix,
                           tavola_call *call, listing *list)
{
    tavola_op *op = tvc_op_new(client, service, call);

    if (op == NULL)
        return NULL;

    op->request.method = "GET";
    op->is_read = true;
    op->finish = read_page;
    op->user_data = list;
    tvc_text_add_char(&op->request.path, '/');
    tvc_op_add_parameter(op, "comp", TV_LIT("list"));
    if (prefix && *prefix)
        tvc_op_add_parameter(op, "prefix", tv_slice_of(prefix));
    if (list->marker.buf.len)
        tvc_op_add_parameter(op, "marker", tvc_text_slice(&list->marker));
    return op;
}

/* Go on to the next page, if there is one. */
static tavola_err turn_page(tavola_call *call, listing *list)
{
    tvc_text marker = list->marker;

    if (list->next.buf.len && tvc_circle_closes(&list->circle, tvc_text_slice(&list->next)))
        return tvc_call_refuse(call, TAVOLA_ERR_PROTOCOL, TVC_LEADS_BACK);
    list->marker = list->next;
    list->next = marker;
    return TAVOLA_OK;
}

static tavola_err list_pages(tavola_client *client, tv_service_kind service, const char *prefix,
                             tavola_call *call, listing *list)
{
    tvc_location location = TVC_AT_EITHER; /* a marker is good for the one that gave it alone */
    tavola_err err;

    do {
        tavola_op *op = ask_page(client, service, prefix, call, list);

        if (op == NULL)
            return TAVOLA_ERR_NO_MEMORY;
        op->location = location;
        err = tvc_op_run(op);
        location = op->was_secondary ? TVC_AT_SECONDARY : TVC_AT_PRIMARY;
        tavola_op_free(op);
        if (!err)
            err = turn_page(call, list);
    } while (!err && list->marker.buf.len);
    return err;
}

tavola_err tvc_resource_list(tavola_client *client, tv_service_kind service, const char *prefix,
                             tavola_call *call, tavola_names **ret_names)
{
    if (client == NULL || ret_names == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "client and ret_names are needed");
    if (prefix && !tvc_xml_can_hold(tv_slice_of(prefix)))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "the prefix is not text in UTF-8");

    listing list = {.names = tvc_names_new()};

    if (list.names == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = list_pages(client, service, prefix, call, &list);

    tvc_text_done(&list.marker);
    tvc_text_done(&list.next);
    tvc_circle_done(&list.circle);
    if (err) {
        tavola_names_free(list.names);
        return err;
    }
    *ret_names = list.names;
    return TAVOLA_OK;
}
