/* What the queue service does in its own way: its paths, its table of operations, its errors. */
#include "services/queue/ops.h"

#include "base/uri.h"
#include "services/queue/call.h"
#include "services/service/names.h"
#include "services/service/throttle.h"

/* A message may have 64 KiB as XML; there is room for its wrapping. */
enum { MESSAGE_BODY_BYTES_MAX = 64 * 1024 + 512 };

static tv_err choose_get_or_peek(tv_call *call);

static const tv_op ops[] = {
#define OP(kind, name_, ...) [TV_QUEUE_OP_##kind] = {.name = (name_), __VA_ARGS__},
#include "services/queue/ops.def"
};

static const char *const paths[] = {
#define AT(where, form) [TV_QUEUE_AT_##where] = (form),
    TV_QUEUE_PATHS(AT)
#undef AT
};

/* --- paths --- */

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

static tv_err read_path(tv_call *call)
{
    tv_queue_call *q = tv_queue_call_of(call);
    tv_err err = tv_queue_resource_parse(&call->req->arena, call->endpoint.rest, &q->resource);

    call->target.container = q->resource.queue;
    return err;
}

static tv_err locate(tv_call *call, int *ret_where)
{
    const tv_queue_resource *resource = &tv_queue_call_of(call)->resource;
    tv_slice restype;
    tv_err err;

    if (call->method == TV_METHOD_OTHER)
        return TV_ERR_INVALID_VERB;

    err = tv_call_parameter(call, TV_LIT("comp"), &call->comp);
    if (err == TV_OK)
        err = tv_call_parameter(call, TV_LIT("restype"), &restype);
    if (err)
        return err;

    if (resource->queue.len == 0) {
        *ret_where = tv_slice_eq(restype, TV_LIT("service")) ? TV_QUEUE_AT_SERVICE
                     : restype.data == NULL                  ? TV_QUEUE_AT_ACCOUNT
                                                             : TV_OP_NOWHERE;
        return TV_OK;
    }
    *ret_where = !resource->is_messages  ? TV_QUEUE_AT_QUEUE
                 : resource->message.len ? TV_QUEUE_AT_MESSAGE
                                         : TV_QUEUE_AT_MESSAGES;
    return tv_check_container_name(resource->queue);
}

/* --- errors --- */

/* Name the parameter that matches no operation. */
static tv_err bad_parameter(tv_call *call, const char *name)
{
    tv_slice value;
    tv_err err = tv_call_parameter(call, tv_slice_of(name), &value);

    if (err)
        return err;
    return tv_call_bad_parameter(call, tv_slice_of(name), value.data ? value : TV_LIT(""), "");
}

static tv_err miss(tv_call *call, bool has_comp)
{
    return has_comp ? TV_ERR_UNSUPPORTED_VERB : bad_parameter(call, "comp");
}

static tv_err choose_get_or_peek(tv_call *call)
{
    tv_slice value;
    tv_err err = tv_call_parameter(call, TV_LIT("peekonly"), &value);

    if (err)
        return err;
    if (tv_slice_eq_nocase(value, TV_LIT("true")))
        tv_call_turn_to(call, TV_QUEUE_OP_PEEK);
    else if (value.data && !tv_slice_eq_nocase(value, TV_LIT("false")))
        return bad_parameter(call, "peekonly");
    return TV_OK;
}

/* A client that sends too much is told the limit. */
static tv_err explain(tv_call *call, tv_err err)
{
    if (err == TV_ERR_BODY_TOO_LARGE && tv_queue_call_of(call)->resource.is_messages)
        call->info.details = tv_arena_printf(&call->req->arena, "<MaxLimit>%d</MaxLimit>",
                                             TV_MESSAGE_TEXT_BYTES_MAX);
    return err == TV_ERR_NOT_ON_PRIMARY ? bad_parameter(call, "comp") : err;
}

/* --- scalability targets: messages of one queue --- */

static uint64_t target_hash(const tv_call *call)
{
    return tv_target_hash(call->targets, TV_TARGET_QUEUE, call->target.container, TV_LIT(""));
}

static bool is_about_messages(const tv_call *call)
{
    return tv_queue_call_of((tv_call *)call)->resource.is_messages;
}

static size_t ask_targets(tv_call *call, tv_target_ask *ret_asks)
{
    ret_asks[0] = (tv_target_ask){.scope = TV_TARGET_QUEUE, .hash = target_hash(call), .units = 1};
    return is_about_messages(call) ? 1 : 0;
}

/* A get or peek of several messages; one was charged when it came. */
static void charge_rest(tv_call *call)
{
    int op = tv_call_kind(call);
    size_t count = tv_queue_call_of(call)->get.message_count;

    if ((op == TV_QUEUE_OP_GET || op == TV_QUEUE_OP_PEEK) && count > 1)
        tv_call_charge_target(call, TV_TARGET_QUEUE, target_hash(call), (int64_t)count - 1);
}

const tv_service_spec tv_queue_spec = {
    .kind = TV_SERVICE_QUEUE,
    .ops = ops,
    .op_count = TV_QUEUE_OP_COUNT,
    .paths = paths,
    .call_bytes = sizeof(tv_queue_call),
    .read_path = read_path,
    .locate = locate,
    .miss = miss,
    .explain = explain,
    .targets = ask_targets,
    .charge_rest = charge_rest,
};
