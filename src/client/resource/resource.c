/* Queues and containers as a whole: open, create, delete, exists. */
#include "client/resource/resource.h"

#include "client/why.h"

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* 3 to 63 lower-case letters, digits and dashes, no dash at an end or next to another. */
static bool is_name(tv_slice name)
{
    enum { LEN_MIN = 3, LEN_MAX = 63 };

    if (name.len < LEN_MIN || name.len > LEN_MAX)
        return false;

    for (size_t i = 0; i < name.len; i++) {
        bool is_inside = i > 0 && i + 1 < name.len;
        bool is_dash = is_inside && name.data[i] == '-' && name.data[i - 1] != '-';

        if (!is_alphanumeric(name.data[i]) && !is_dash)
            return false;
    }
    return true;
}

static bool is_special_container(tv_slice name)
{
    return tv_slice_eq(name, TV_LIT("$root")) || tv_slice_eq(name, TV_LIT("$logs")) ||
           tv_slice_eq(name, TV_LIT("$web"));
}

tavola_err tvc_resource_open(tvc_resource *resource, tavola_client *client, tv_service_kind service,
                             const char *name)
{
    const char *what = service == TV_SERVICE_BLOB ? "container" : "queue";

    if (client == NULL || name == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "the client, or the name of the %s, is NULL", what);
    if (!is_name(tv_slice_of(name)) &&
        !(service == TV_SERVICE_BLOB && is_special_container(tv_slice_of(name))))
        return tvc_refuse(TAVOLA_ERR_INVALID,
                          "\"%.64s\" is no name of a %s: 3 to 63 small letters, digits and dashes, "
                          "none at an end or beside another",
                          name, what);

    char *copy = tvc_dup_text(name);

    if (copy == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    *resource = (tvc_resource){tvc_client_ref(client), service, copy};
    return TAVOLA_OK;
}

void tvc_resource_close(tvc_resource *resource)
{
    tvc_release(resource->name);
    tvc_client_unref(resource->client);
}

tavola_op *tvc_resource_ask(const tvc_resource *resource, tavola_call *call, const char *method,
                            const char *comp)
{
    tavola_op *op = tvc_op_new(resource->client, resource->service, call);

    if (op == NULL)
        return NULL;

    op->request.method = method;
    tvc_text_add_char(&op->request.path, '/');
    tvc_text_add(&op->request.path, tv_slice_of(resource->name));
    if (resource->service == TV_SERVICE_BLOB)
        tvc_text_add_lit(&op->request.query, "restype=container");
    if (comp)
        tvc_op_add_parameter(op, "comp", tv_slice_of(comp));
    return op;
}

void tvc_op_add_parameter(tavola_op *op, const char *name, tv_slice value)
{
    tvc_text *query = &op->request.query;

    if (query->buf.len)
        tvc_text_add_char(query, '&');
    tvc_text_add(query, tv_slice_of(name));
    tvc_text_add_char(query, '=');
    tvc_text_add_encoded(query, value);
}

bool tvc_op_is_open(const tavola_op *op, tavola_err err)
{
    return op->was_unknown && (err == TAVOLA_ERR_UNKNOWN_OUTCOME || err == TAVOLA_ERR_NETWORK ||
                               err == TAVOLA_ERR_TIMEOUT || err == TAVOLA_ERR_SERVER ||
                               err == TAVOLA_ERR_BUSY || err == TAVOLA_ERR_PROTOCOL ||
                               err == TAVOLA_ERR_CANCELLED || err == TAVOLA_ERR_NO_MEMORY);
}

tavola_err tvc_op_confirm(tavola_op *op)
{
    tvc_call_set_error(op->call, "", "");
    op->call->was_confirmed = true;
    return TAVOLA_OK;
}

tavola_err tvc_op_stay_unknown(tavola_op *op, const char *why)
{
    const char *last = op->call->message;    /* what the last attempt said */
    char line[2 * sizeof op->call->message]; /* which is cut there */

    snprintf(line, sizeof line, "%s%s%s%s", why, *last ? " (" : "", last, *last ? ")" : "");
    tvc_call_set_error(op->call, op->call->code, line);
    tvc_keep_error(TAVOLA_ERR_UNKNOWN_OUTCOME, op->call->code, op->call->message);
    return TAVOLA_ERR_UNKNOWN_OUTCOME;
}

tavola_err tvc_resource_run(tavola_op *op)
{
    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tvc_op_run(op);

    if (tvc_op_is_open(op, err))
        err = tvc_op_stay_unknown(op, "no answer came; it may have been done");
    tavola_op_free(op);
    return err;
}

/* A queue that is there with the same metadata, none, is not a conflict to the service. */
static tavola_err read_created(tavola_op *op, tvc_response *response)
{
    enum { NO_CONTENT = 204 };

    if (response->status != NO_CONTENT)
        return TAVOLA_OK;
    tvc_call_set_error(op->call, "QueueAlreadyExists", "The specified queue already exists.");
    return TAVOLA_ERR_EXISTS;
}

tavola_err tvc_resource_create(const tvc_resource *resource, tavola_call *call)
{
    tavola_op *op = tvc_resource_ask(resource, call, "PUT", NULL);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    if (resource->service == TV_SERVICE_QUEUE)
        op->finish = read_created;

    tavola_err err = tvc_op_run(op);

    if (err == TAVOLA_ERR_EXISTS && op->was_unknown)
        err = tvc_op_confirm(op);
    else if (tvc_op_is_open(op, err))
        err = tvc_op_stay_unknown(op, "no answer came; it may have been created");
    tavola_op_free(op);
    return err;
}

tavola_err tvc_resource_delete(const tvc_resource *resource, tavola_call *call)
{
    tavola_op *op = tvc_resource_ask(resource, call, "DELETE", NULL);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tvc_op_run(op);

    if (err == TAVOLA_ERR_NOT_FOUND && op->was_unknown)
        err = tvc_op_confirm(op);
    else if (tvc_op_is_open(op, err))
        err = tvc_op_stay_unknown(op, "no answer came; it may have been deleted");
    tavola_op_free(op);
    return err;
}

tavola_err tvc_resource_exists(const tvc_resource *resource, tavola_call *call, bool *ret_exists)
{
    bool is_queue = resource->service == TV_SERVICE_QUEUE;
    tavola_op *op = tvc_resource_ask(resource, call, "HEAD", is_queue ? "metadata" : NULL);

    if (op)
        op->is_read = true;

    tavola_err err = tvc_resource_run(op);

    if (err && err != TAVOLA_ERR_NOT_FOUND)
        return err;
    *ret_exists = err == TAVOLA_OK;
    return TAVOLA_OK;
}
