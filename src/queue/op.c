/* From an HTTP request to an operation. */
#include "queue/op.h"

#include "base/assert.h"
#include "base/uri.h"
#include "service/names.h"

static const char *const op_names[] = {
#define X(kind, name) name,
    TV_QUEUE_OP_MAP(X)
#undef X
};

const char *tv_queue_op_name(int kind)
{
    tv_assert(kind >= 0 && kind < TV_QUEUE_OP_COUNT);
    return op_names[kind];
}

/* The next segment of a path; empty at its end. */
static tv_slice take_segment(tv_slice *path)
{
    size_t slash = tv_slice_find(*path, '/');
    tv_slice segment = tv_slice_take(*path, slash);

    *path = slash < path->len ? tv_slice_skip(*path, slash + 1) : TV_NONE;
    return segment;
}

tv_err tv_queue_resource_parse(tv_arena *arena, tv_slice rest, tv_queue_resource *ret_resource)
{
    tv_queue_resource resource = {0};
    tv_slice path = rest, messages;

    /* Cut before it is decoded: an encoded slash is part of a name. */
    if (!tv_uri_decode_path(arena, take_segment(&path), &resource.queue) ||
        !tv_uri_decode_path(arena, take_segment(&path), &messages) ||
        !tv_uri_decode_path(arena, take_segment(&path), &resource.message))
        return TV_ERR_URL_UNPARSABLE;

    resource.is_messages = messages.len > 0;
    if (resource.is_messages && !tv_slice_eq_nocase(messages, TV_LIT("messages")))
        return TV_ERR_INVALID_URI;
    if (path.len || (resource.queue.len == 0 && resource.is_messages))
        return TV_ERR_INVALID_URI;

    *ret_resource = resource;
    return TV_OK;
}

/* --- by resource --- */

static tv_err service_op(tv_method method, tv_slice comp, tv_slice restype,
                         tv_queue_op_kind *ret_kind)
{
    bool is_service = tv_slice_eq(restype, TV_LIT("service"));
    bool is_get = method == TV_METHOD_GET;

    if (tv_slice_eq(comp, TV_LIT("list")) && restype.data == NULL) {
        *ret_kind = TV_QUEUE_OP_LIST;
        return is_get ? TV_OK : TV_ERR_UNSUPPORTED_VERB;
    }
    if (is_service && tv_slice_eq(comp, TV_LIT("stats"))) {
        *ret_kind = TV_QUEUE_OP_GET_STATS;
        return is_get ? TV_OK : TV_ERR_UNSUPPORTED_VERB;
    }
    if (is_service && tv_slice_eq(comp, TV_LIT("properties"))) {
        *ret_kind = is_get ? TV_QUEUE_OP_GET_PROPERTIES : TV_QUEUE_OP_SET_PROPERTIES;
        return is_get || method == TV_METHOD_PUT ? TV_OK : TV_ERR_UNSUPPORTED_VERB;
    }
    return TV_ERR_INVALID_QUERY_PARAMETER;
}

static tv_err queue_op(tv_method method, tv_slice comp, tv_queue_op_kind *ret_kind)
{
    bool is_read = method == TV_METHOD_GET || method == TV_METHOD_HEAD;
    bool is_put = method == TV_METHOD_PUT;

    if (tv_slice_eq(comp, TV_LIT("metadata"))) {
        *ret_kind = is_read ? TV_QUEUE_OP_GET_METADATA : TV_QUEUE_OP_SET_METADATA;
        return is_read || is_put ? TV_OK : TV_ERR_UNSUPPORTED_VERB;
    }
    if (tv_slice_eq(comp, TV_LIT("acl"))) {
        *ret_kind = is_read ? TV_QUEUE_OP_GET_ACL : TV_QUEUE_OP_SET_ACL;
        return is_read || is_put ? TV_OK : TV_ERR_UNSUPPORTED_VERB;
    }
    if (comp.len)
        return TV_ERR_INVALID_QUERY_PARAMETER;

    *ret_kind = is_put ? TV_QUEUE_OP_CREATE : TV_QUEUE_OP_DELETE;
    return is_put || method == TV_METHOD_DELETE ? TV_OK : TV_ERR_UNSUPPORTED_VERB;
}

static tv_err messages_op(tv_method method, tv_slice peekonly, tv_queue_op_kind *ret_kind)
{
    bool is_peek = tv_slice_eq_nocase(peekonly, TV_LIT("true"));

    switch (method) {
    case TV_METHOD_GET:
        if (peekonly.data && !is_peek && !tv_slice_eq_nocase(peekonly, TV_LIT("false")))
            return TV_ERR_INVALID_QUERY_PARAMETER;
        *ret_kind = is_peek ? TV_QUEUE_OP_PEEK : TV_QUEUE_OP_GET;
        return TV_OK;
    case TV_METHOD_POST:
        *ret_kind = TV_QUEUE_OP_PUT;
        return TV_OK;
    case TV_METHOD_DELETE:
        *ret_kind = TV_QUEUE_OP_CLEAR;
        return TV_OK;
    default:
        return TV_ERR_UNSUPPORTED_VERB;
    }
}

static tv_err message_op(tv_method method, tv_queue_op_kind *ret_kind)
{
    bool is_put = method == TV_METHOD_PUT;

    *ret_kind = is_put ? TV_QUEUE_OP_UPDATE : TV_QUEUE_OP_DELETE_MESSAGE;
    return is_put || method == TV_METHOD_DELETE ? TV_OK : TV_ERR_UNSUPPORTED_VERB;
}

tv_err tv_queue_op_parse(tv_arena *arena, const tv_request *req, const tv_queue_resource *resource,
                         tv_queue_op_kind *ret_kind)
{
    tv_slice comp, restype, peekonly;
    tv_err err;

    if (req->method == TV_METHOD_OTHER)
        return TV_ERR_INVALID_VERB;
    if (!tv_parameters_get_nocase(&req->query, arena, TV_LIT("comp"), &comp) ||
        !tv_parameters_get_nocase(&req->query, arena, TV_LIT("restype"), &restype) ||
        !tv_parameters_get_nocase(&req->query, arena, TV_LIT("peekonly"), &peekonly))
        return TV_ERR_URL_UNPARSABLE;

    if (resource->queue.len == 0)
        return service_op(req->method, comp, restype, ret_kind);
    err = tv_check_container_name(resource->queue);
    if (err)
        return err;
    if (!resource->is_messages)
        return queue_op(req->method, comp, ret_kind);
    if (comp.len)
        return TV_ERR_INVALID_QUERY_PARAMETER;
    return resource->message.len ? message_op(req->method, ret_kind)
                                 : messages_op(req->method, peekonly, ret_kind);
}
