/* Containers as a whole. */
#include "client/account/sas.h"
#include "client/blob/blob.h"
#include "client/why.h"

tavola_err tavola_container_open(tavola_client *client, const char *name,
                                 tavola_container **ret_container)
{
    if (ret_container == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no place for the container");

    tavola_container *container = tvc_zalloc(sizeof *container);

    if (container == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tvc_resource_open(&container->resource, client, TV_SERVICE_BLOB, name);

    if (err)
        tvc_release(container);
    else
        *ret_container = container;
    return err;
}

void tavola_container_close(tavola_container *container)
{
    if (container == NULL)
        return;

    tvc_resource_close(&container->resource);
    tvc_release(container);
}

const char *tavola_container_name(const tavola_container *container)
{
    return container ? container->resource.name : NULL;
}

static tavola_err refuse_no_container(tavola_call *call)
{
    return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a container is needed");
}

tavola_err tavola_container_create(tavola_container *container, tavola_call *call)
{
    return container ? tvc_resource_create(&container->resource, call) : refuse_no_container(call);
}

tavola_err tavola_container_create_if_absent(tavola_container *container, tavola_call *call)
{
    tavola_err err = tavola_container_create(container, call);

    return err == TAVOLA_ERR_EXISTS ? TAVOLA_OK : err;
}

tavola_err tavola_container_delete(tavola_container *container, tavola_call *call)
{
    return container ? tvc_resource_delete(&container->resource, call) : refuse_no_container(call);
}

tavola_err tavola_container_delete_if_present(tavola_container *container, tavola_call *call)
{
    tavola_err err = tavola_container_delete(container, call);

    return err == TAVOLA_ERR_NOT_FOUND ? TAVOLA_OK : err;
}

tavola_err tavola_container_exists(tavola_container *container, tavola_call *call, bool *ret_exists)
{
    if (container == NULL || ret_exists == NULL)
        return refuse_no_container(call);
    return tvc_resource_exists(&container->resource, call, ret_exists);
}

tavola_err tavola_container_list(tavola_client *client, const char *prefix, tavola_call *call,
                                 tavola_names **ret_names)
{
    return tvc_resource_list(client, TV_SERVICE_BLOB, prefix, call, ret_names);
}

tavola_err tavola_container_set_policies(tavola_container *container, const tavola_policy *policies,
                                         size_t count, tavola_call *call)
{
    return container ? tvc_resource_set_policies(&container->resource, policies, count, call)
                     : refuse_no_container(call);
}

tavola_err tavola_container_get_policies(tavola_container *container, tavola_call *call,
                                         tavola_policies **ret_policies)
{
    return container ? tvc_resource_get_policies(&container->resource, call, ret_policies)
                     : refuse_no_container(call);
}

tavola_err tavola_container_sas(tavola_container *container, const tavola_sas_options *options,
                                char **ret_query)
{
    if (container == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no container: it is NULL");
    return tvc_sas_make(TVC_SAS_CONTAINER, container->resource.client, container->resource.name,
                        NULL, options, ret_query);
}

tavola_err tavola_blob_sas(tavola_container *container, const char *name,
                           const tavola_sas_options *options, char **ret_query)
{
    tavola_err err = tvc_blob_check(container, name, NULL);

    if (err)
        return err;
    return tvc_sas_make(TVC_SAS_BLOB, container->resource.client, container->resource.name, name,
                        options, ret_query);
}
