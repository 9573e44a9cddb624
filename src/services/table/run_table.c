/* Creating, deleting and showing tables. */
#include "base/json.h"
#include "services/table/call.h"
#include "services/table/names.h"

/* {"TableName":"orders"} */
static tv_err read_table_name(tv_call *call, tv_slice *ret_name)
{
    tv_json_reader reader;
    tv_json_member member;
    tv_slice name = TV_NONE;
    bool has_name = false;

    tv_json_reader_init(&reader, &call->req->arena, call->req->body);
    while (tv_json_next(&reader, &member)) {
        if (!tv_slice_eq(member.name, TV_LIT("TableName")))
            continue;
        if (has_name)
            return TV_ERR_DUPLICATE_PROPERTIES;
        if (member.kind != TV_JSON_STRING && member.kind != TV_JSON_NULL)
            return TV_ERR_INVALID_INPUT;
        has_name = true;
        name = member.kind == TV_JSON_STRING ? member.text : TV_NONE; /* null is not a value */
    }
    if (reader.failed)
        return TV_ERR_INVALID_INPUT;
    if (name.data == NULL)
        return TV_ERR_PROPERTIES_NEED_VALUE;

    *ret_name = name;
    return tv_check_table_name(name);
}

static tv_err on_table_created(tv_call *call, tv_err err)
{
    if (err == TV_OK)
        tv_table_respond_table_created(call);
    return err;
}

tv_err tv_table_create(tv_call *call)
{
    call->create = (tv_catalog_create){.catalog = call->service->catalog,
                                       .account = tv_identity_account(call->identity),
                                       .arena = &call->req->arena};
    tv_err err = read_table_name(call, &call->create.name);

    if (err == TV_OK)
        err = tv_op_check_analytics(call->op, TV_SERVICE_TABLE, call->create.name);
    if (err)
        return err;

    call->target.container = call->create.name; /* for the log of Storage Analytics */
    tv_call_create_container(call, on_table_created);
    return TV_OK;
}

static tv_err on_table_deleted(tv_call *call, tv_err err)
{
    if (err == TV_OK)
        tv_table_respond_no_content(call);
    return err;
}

/* A missing table is ResourceNotFound here, TableNotFound everywhere else. */
tv_err tv_table_delete(tv_call *call)
{
    if (tv_call_find_container(call, call->target.container))
        return TV_ERR_NOT_FOUND;

    call->delete_op = (tv_catalog_delete){.catalog = call->service->catalog,
                                          .container = call->container,
                                          .arena = &call->req->arena};
    tv_call_drop_container(call, on_table_deleted);
    return TV_OK;
}

tv_err tv_table_get(tv_call *call)
{
    if (tv_call_find_container(call, call->target.container))
        return TV_ERR_NOT_FOUND;

    tv_table_respond_table(call);
    return TV_OK;
}
