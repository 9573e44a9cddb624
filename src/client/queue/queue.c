/* Queues as a whole. */
#include "client/queue/queue.h"

#include "base/number.h"
#include "client/account/sas.h"
#include "client/why.h"

tavola_err tavola_queue_open(tavola_client *client, const char *name, tavola_queue **ret_queue)
{
    if (ret_queue == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no place for the queue");

    tavola_queue *queue = tvc_zalloc(sizeof *queue);

    if (queue == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tvc_resource_open(&queue->resource, client, TV_SERVICE_QUEUE, name);

    if (err)
        tvc_release(queue);
    else
        *ret_queue = queue;
    return err;
}

void tavola_queue_close(tavola_queue *queue)
{
    if (queue == NULL)
        return;

    tvc_resource_close(&queue->resource);
    tvc_release(queue);
}

const char *tavola_queue_name(const tavola_queue *queue)
{
    return queue ? queue->resource.name : NULL;
}

static tavola_err refuse_no_queue(tavola_call *call)
{
    return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a queue is needed");
}

tavola_err tavola_queue_create(tavola_queue *queue, tavola_call *call)
{
    return queue ? tvc_resource_create(&queue->resource, call) : refuse_no_queue(call);
}

tavola_err tavola_queue_create_if_absent(tavola_queue *queue, tavola_call *call)
{
    tavola_err err = tavola_queue_create(queue, call);

    return err == TAVOLA_ERR_EXISTS ? TAVOLA_OK : err;
}

tavola_err tavola_queue_delete(tavola_queue *queue, tavola_call *call)
{
    return queue ? tvc_resource_delete(&queue->resource, call) : refuse_no_queue(call);
}

tavola_err tavola_queue_delete_if_present(tavola_queue *queue, tavola_call *call)
{
    tavola_err err = tavola_queue_delete(queue, call);

    return err == TAVOLA_ERR_NOT_FOUND ? TAVOLA_OK : err;
}

tavola_err tavola_queue_exists(tavola_queue *queue, tavola_call *call, bool *ret_exists)
{
    if (queue == NULL || ret_exists == NULL)
        return refuse_no_queue(call);
    return tvc_resource_exists(&queue->resource, call, ret_exists);
}

tavola_err tavola_queue_list(tavola_client *client, const char *prefix, tavola_call *call,
                             tavola_names **ret_names)
{
    return tvc_resource_list(client, TV_SERVICE_QUEUE, prefix, call, ret_names);
}

tavola_err tavola_queue_set_policies(tavola_queue *queue, const tavola_policy *policies,
                                     size_t count, tavola_call *call)
{
    return queue ? tvc_resource_set_policies(&queue->resource, policies, count, call)
                 : refuse_no_queue(call);
}

tavola_err tavola_queue_get_policies(tavola_queue *queue, tavola_call *call,
                                     tavola_policies **ret_policies)
{
    return queue ? tvc_resource_get_policies(&queue->resource, call, ret_policies)
                 : refuse_no_queue(call);
}

static tavola_err read_count(tavola_op *op, tvc_response *response)
{
    tv_slice count = tvc_response_header(response, TV_LIT("x-ms-approximate-messages-count"));

    if (count.data && tv_parse_uint64(count, op->user_data))
        return TAVOLA_OK;
    tvc_call_set_error(op->call, "", "the answer has no count of messages");
    return TAVOLA_ERR_PROTOCOL;
}

tavola_err tavola_queue_count(tavola_queue *queue, tavola_call *call, uint64_t *ret_count)
{
    uint64_t count = 0;

    if (queue == NULL || ret_count == NULL)
        return refuse_no_queue(call);

    tavola_op *op = tvc_resource_ask(&queue->resource, call, "HEAD", "metadata");

    if (op) {
        op->is_read = true;
        op->finish = read_count;
        op->user_data = &count;
    }

    tavola_err err = tvc_resource_run(op);

    if (!err)
        *ret_count = count;
    return err;
}

/* What comes into the queue between two attempts goes, too: no harm beyond that of one. */
tavola_err tavola_queue_clear(tavola_queue *queue, tavola_call *call)
{
    if (queue == NULL)
        return refuse_no_queue(call);

    tavola_op *op = tvc_resource_ask(&queue->resource, call, "DELETE", NULL);

    if (op)
        tvc_text_add_lit(&op->request.path, "/messages");
    return tvc_resource_run(op);
}

tavola_err tavola_queue_sas(tavola_queue *queue, const tavola_sas_options *options,
                            char **ret_query)
{
    if (queue == NULL)
        return refuse_no_queue(NULL);
    return tvc_sas_make(TVC_SAS_QUEUE, queue->resource.client, queue->resource.name, NULL, options,
                        ret_query);
}
