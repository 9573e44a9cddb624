/* Stored access policies of tables, queues and containers: asked for and set. */
#include "client/resource/policies.h"

#include "client/resource/resource.h"

/* A policy that is set twice is the same: it may be repeated. */
tavola_err tvc_resource_set_policies(const tvc_resource *resource, const tavola_policy *policies,
                                     size_t count, tavola_call *call)
{
    tavola_op *op = tvc_resource_ask(resource, call, "PUT", "acl");

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    tvc_op_add_header(op, TV_LIT("Content-Type"), TV_LIT("application/xml"));

    const char *why = tvc_policies_write(&op->request.body, resource->service, policies, count);

    if (why) {
        tavola_op_free(op);
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "%s", why);
    }
    return tvc_resource_run(op);
}

static tavola_err read_policies(tavola_op *op, tvc_response *response)
{
    char *document = response->body;

    response->body = NULL;

    tavola_err err =
        tvc_policies_read(document, response->body_len, (tavola_policies **)op->user_data);

    if (err == TAVOLA_ERR_PROTOCOL)
        tvc_call_set_error(op->call, "", "the answer is not a list of policies in XML");
    return err;
}

tavola_err tvc_resource_get_policies(const tvc_resource *resource, tavola_call *call,
                                     tavola_policies **ret_policies)
{
    tavola_policies *policies = NULL;

    if (ret_policies == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "ret_policies is needed");

    tavola_op *op = tvc_resource_ask(resource, call, "GET", "acl");

    if (op) {
        op->is_read = true;
        op->finish = read_policies;
        op->user_data = &policies;
    }

    tavola_err err = tvc_resource_run(op);

    if (err)
        tavola_policies_free(policies);
    else
        *ret_policies = policies;
    return err;
}

/* --- tables: their other functions are in table/ --- */

tavola_err tavola_table_set_policies(tavola_table *table, const tavola_policy *policies,
                                     size_t count, tavola_call *call)
{
    if (table == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a table is needed");

    tvc_resource resource = {table->client, TV_SERVICE_TABLE, table->name};

    return tvc_resource_set_policies(&resource, policies, count, call);
}

tavola_err tavola_table_get_policies(tavola_table *table, tavola_call *call,
                                     tavola_policies **ret_policies)
{
    if (table == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a table is needed");

    tvc_resource resource = {table->client, TV_SERVICE_TABLE, table->name};

    return tvc_resource_get_policies(&resource, call, ret_policies);
}
