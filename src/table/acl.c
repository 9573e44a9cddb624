/* GET and PUT /table?comp=acl. */
#include "catalog/acl.h"

#include "table/call.h"

tv_err tv_table_get_acl(tv_table_call *call)
{
    tv_access_policies policies;
    tv_err err = tv_catalog_policies(call->service->catalog, tv_identity_account(call->identity),
                                     call->op.resource.table, &call->req->arena, &policies);

    if (err)
        return err;

    tv_acl_add_xml(&call->req->out, &policies);
    tv_table_respond_xml(call, 200);
    return TV_OK;
}

static void on_acl_set(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, write.mail);

    if (call->write.result)
        tv_table_respond_error(call, call->write.result);
    else
        tv_table_respond_xml(call, 204);
}

/* Without a body all policies go, whatever its type was to be: so SDKs revoke access. */
static tv_err read_body(tv_table_call *call, tv_access_policies *ret_policies)
{
    tv_request *req = call->req;

    if (req->body.len)
        return tv_acl_parse(&req->arena, TV_SERVICE_TABLE, req->body, ret_policies);

    *ret_policies = (tv_access_policies){.count = 0};
    return TV_OK;
}

tv_err tv_table_set_acl(tv_table_call *call)
{
    tv_err err;

    err = tv_table_call_find_table(call, call->op.resource.table);
    if (err)
        return err;

    err = read_body(call, &call->set_policies.policies);
    if (err)
        return err;

    call->set_policies.catalog = call->service->catalog;
    call->set_policies.container = call->table;
    call->set_policies.arena = &call->req->arena;
    call->set_policies.sets_policies = true;
    tv_catalog_prepare_change(&call->set_policies, &call->write);
    tv_table_call_submit(call, on_acl_set);
    return TV_OK;
}
