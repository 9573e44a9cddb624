/*
 * Requests to the Blob service: a line of method and target (what follows
 * "/acct/"), then lines of headers "name:value".  What is understood is an
 * operation with names that the store takes, and one that somebody may do.
 */
#include "base/assert.h"
#include "fuzz.h"
#include "parameters.h"
#include "services/blob/call.h"
#include "store/engine/key.h"

enum { HEADERS_MAX = 64 };

/* The HTTP layer lets only such bytes through. */
static bool is_target(tv_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] <= 0x20 || text.data[i] == 0x7f)
            return false;
    }
    return true;
}

static void read_request(tv_slice rest, tv_request *req, tv_header *headers)
{
    tv_slice line = TV_LIT(""), header;

    tv_slice_next(&rest, '\n', &line);

    size_t blank = tv_slice_find(line, ' ');
    tv_slice target = tv_slice_skip(line, blank < line.len ? blank + 1 : blank);
    size_t mark = tv_slice_find(target, '?');

    req->method_text = tv_slice_take(line, blank);
    req->method = tv_method_parse(req->method_text);
    if (!is_target(target))
        target = TV_LIT(""), mark = 0;
    req->path = tv_arena_printf(&req->arena, "/acct/%.*s", TV_FMT(tv_slice_take(target, mark)));
    req->query =
        query_of(&req->arena, mark < target.len ? tv_slice_skip(target, mark + 1) : TV_NONE);
    req->host = TV_LIT("127.0.0.1:10000");
    req->headers = headers;
    while (req->header_count < HEADERS_MAX && tv_slice_next(&rest, '\n', &header)) {
        size_t colon = tv_slice_find(header, ':');

        if (colon < header.len)
            headers[req->header_count++] = (tv_header){
                tv_slice_take(header, colon), tv_slice_trim(tv_slice_skip(header, colon + 1))};
    }
}

static void check_operation(tv_blob_call *call)
{
    tv_arena *arena = &call->base.req->arena;
    const tv_target *target = &call->base.target;
    tv_need need = tv_call_need(&call->base);
    tv_slice partition;

    tv_assert(tv_call_kind(&call->base) > TV_BLOB_OP_PREFLIGHT && call->base.op->run);
    tv_assert(call->args.snapshot >= 0);
    tv_assert(tv_slice_eq(need.container, target->container) &&
              tv_slice_eq(need.blob, target->blob));
    if (target->blob.len)
        tv_assert(tv_key_blob(arena, tv_key_container(arena, TV_LIT("acct"), 1), target->blob,
                              &partition) == TV_OK);
    if (need.type == TV_TYPE_OBJECT)
        tv_assert(target->container.len && target->blob.len);
    if (call->args.snapshot)
        tv_assert(need.type == TV_TYPE_OBJECT && target->snapshot.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_service service = {.spec = &tv_blob_spec};
    tv_header headers[HEADERS_MAX];
    tv_request req = {0};
    tv_blob_call call = {0};
    tv_call *base = &call.base;
    tv_err err;

    tv_arena_init(&req.arena);
    read_request((tv_slice){(const char *)data, size}, &req, headers);
    tv_call_init(base, &service, &req);
    err = tv_endpoint_parse(&req.arena, TV_LIT("blob"), false, req.host, req.path, &base->endpoint);
    if (err == TV_OK)
        err = tv_blob_spec.read_path(base);
    if (err == TV_OK)
        err = tv_call_choose(base);
    if (err == TV_OK)
        check_operation(&call);
    tv_arena_done(&req.arena);
    return 0;
}
