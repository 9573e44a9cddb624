/* Operations on queues as a whole. */
#include "base/xml.h"
#include "services/queue/call.h"
#include "services/service/container_list.h"
#include "services/service/metadata.h"

/* --- create and delete --- */

/* Creating a queue that exists already, with the metadata it has, is not an error. */
static bool is_there_already(tv_call *call)
{
    tv_arena *arena = &call->req->arena;
    tv_metadata have, wanted;

    return tv_metadata_parse(arena, call->create.old_attributes, &have) == TV_OK &&
           tv_metadata_parse(arena, call->create.attributes, &wanted) == TV_OK &&
           tv_metadata_eq(have, wanted);
}

static tv_err on_created(tv_call *call, tv_err err)
{
    if (err == TV_ERR_QUEUE_EXISTS && is_there_already(call))
        tv_call_respond_empty(call, 204);
    else if (err)
        return err;
    else
        tv_call_respond_empty(call, 201);
    return TV_OK;
}

tv_err tv_queue_create(tv_call *call)
{
    tv_arena *arena = &call->req->arena;
    tv_metadata metadata;
    tv_err err;

    err = tv_metadata_read(call->req, &metadata);
    if (err)
        return err;

    call->create = (tv_catalog_create){.catalog = call->service->catalog,
                                       .account = tv_identity_account(call->identity),
                                       .name = call->target.container,
                                       .attributes = tv_metadata_format(arena, metadata),
                                       .arena = arena};
    tv_call_create_container(call, on_created);
    return TV_OK;
}

tv_err tv_queue_drop(tv_call *call)
{
    call->delete_op = (tv_catalog_delete){.catalog = call->service->catalog,
                                          .container = call->container,
                                          .arena = &call->req->arena};
    tv_call_drop_container(call, tv_call_respond_changed);
    return TV_OK;
}

/* --- metadata --- */

static tv_err replace_attributes(tv_catalog_change *change, int64_t now)
{
    const tv_slice *attributes = change->ctx;

    (void)now;
    change->attributes = *attributes;
    return TV_OK;
}

tv_err tv_queue_set_metadata(tv_call *call)
{
    tv_arena *arena = &call->req->arena;
    tv_slice *attributes = tv_arena_alloc(arena, sizeof *attributes);
    tv_metadata metadata;
    tv_err err;

    err = tv_metadata_read(call->req, &metadata);
    if (err)
        return err;

    *attributes = tv_metadata_format(arena, metadata);
    call->change = (tv_catalog_change){.catalog = call->service->catalog,
                                       .container = call->container,
                                       .arena = arena,
                                       .decide = replace_attributes,
                                       .ctx = attributes};
    tv_catalog_prepare_change(&call->change, &call->write);
    tv_call_write(call, tv_call_respond_changed);
    return TV_OK;
}

static tv_err respond_metadata(tv_call *call, tv_err err)
{
    tv_arena *arena = &call->req->arena;
    tv_metadata metadata;

    err = tv_queue_take_count(tv_queue_of(call->container), err, call->fetch.value,
                              &tv_queue_call_of(call)->count);
    if (err == TV_OK)
        err = tv_metadata_parse(
            arena, tv_catalog_attributes(call->service->catalog, call->container, arena),
            &metadata);
    if (err)
        return err;

    tv_call_start(call, 200);
    tv_response_header(call->req, TV_LIT("Cache-Control"), TV_LIT("no-cache"));
    tv_response_header(call->req, TV_LIT("x-ms-approximate-messages-count"),
                       tv_arena_printf(arena, "%lld", (long long)tv_queue_call_of(call)->count));
    tv_metadata_add_headers(call->req, metadata);
    tv_call_finish(call);
    return TV_OK;
}

tv_err tv_queue_get_metadata(tv_call *call)
{
    return tv_call_fetch(call, tv_queue_of(call->container)->counts, respond_metadata);
}

/* --- list --- */

static tv_err add_queue_xml(tv_call *call, const tv_list_query *query, tv_slice name,
                            tv_slice attributes)
{
    tv_request *req = call->req;
    tv_metadata metadata;
    tv_err err;

    tv_buf_add_lit(&req->out, "<Queue>");
    tv_xml_add_element(&req->out, "Name", name);
    if (tv_list_includes(query, TV_LIT("metadata"))) {
        err = tv_metadata_parse(&req->arena, attributes, &metadata);
        if (err)
            return err;
        tv_metadata_add_xml(&req->out, metadata);
    }
    tv_buf_add_lit(&req->out, "</Queue>");
    return TV_OK;
}

tv_err tv_queue_list(tv_call *call)
{
    static const tv_container_list queues = {
        .element = "Queues", .is_not_cached = true, .add = add_queue_xml};

    return tv_list_containers(call, &queues);
}
