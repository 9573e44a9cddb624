/* Reading a batch. */
#include "services/table/batch.h"

#include "base/thread.h"
#include "wire/http/multipart.h"

/* The first header of that name; `ret_count`, unless it is NULL, is how many there are. */
static tv_slice find_header(const tv_header *headers, size_t count, tv_slice name,
                            size_t *ret_count)
{
    tv_slice value = TV_NONE;
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        if (tv_slice_eq_nocase(headers[i].name, name) && found++ == 0)
            value = headers[i].value;
    }
    if (ret_count)
        *ret_count = found;
    return value;
}

/* A part's header says what is inside: an HTTP request, or a changeset of them. */
static bool part_content_type(tv_arena *arena, tv_slice *part, tv_slice *ret_type)
{
    const tv_header *headers;
    size_t count;

    if (!tv_multipart_headers(arena, part, &headers, &count))
        return false;

    *ret_type = find_header(headers, count, TV_LIT("content-type"), NULL);
    return true;
}

static tv_err part_error(tv_table_batch *batch, size_t index, tv_err err)
{
    batch->is_part_error = true;
    batch->failed = index;
    return err;
}

static tv_table_head head_of(const tv_embedded_request *request)
{
    const tv_header *headers = request->headers;
    size_t count = request->header_count;
    tv_table_head head = {
        .method = request->method,
        .query = &request->query,
        .prefer = find_header(headers, count, TV_LIT("prefer"), NULL),
        .content_id = find_header(headers, count, TV_LIT("content-id"), NULL),
        .content_type = find_header(headers, count, TV_LIT("content-type"), NULL),
        .if_match = find_header(headers, count, TV_LIT("if-match"), NULL),
        .headers = headers,
        .header_count = count,
    };

    /* The legacy Java client sends MERGE and the header of a POST that stands for it. */
    if (request->method == TV_METHOD_POST)
        head.tunnel = find_header(headers, count, TV_LIT("x-http-method"), &head.tunnel_count);
    return head;
}

/* One embedded request to one operation of the same account. */
static tv_err parse_command(tv_arena *arena, const tv_request *outer, const tv_endpoint *endpoint,
                            tv_slice text, tv_table_command *command, tv_error_info *reterr_info)
{
    tv_embedded_request request;
    tv_endpoint embedded;
    tv_err err;

    if (!tv_multipart_request(arena, text, outer->host, &request))
        return TV_ERR_INVALID_INPUT;

    err = tv_endpoint_parse(arena, TV_LIT("table"), outer->is_tls, request.host, request.path,
                            &embedded);
    if (err)
        return err;
    if (!tv_slice_eq(embedded.account, endpoint->account))
        return TV_ERR_AUTHORIZATION_FAILURE;

    /* The reply names the endpoint that the client called. */
    embedded.base_url = endpoint->base_url;

    tv_table_head head = head_of(&request);

    err = tv_table_command_parse(arena, &head, &embedded, command, reterr_info);
    if (err)
        return err;
    if (tv_table_command_is_entity_write(command))
        return tv_table_command_read_body(arena, request.body, command, reterr_info);
    return command->kind == TV_TABLE_OP_QUERY_ENTITY ? TV_OK : TV_ERR_NOT_IMPLEMENTED;
}

/* How operation `index` relates to the ones before it. */
static tv_err check_neighbours(const tv_table_batch *batch, size_t index)
{
    const tv_table_resource *first = &batch->commands[0].resource;
    const tv_table_resource *this = &batch->commands[index].resource;

    if (!tv_slice_eq_nocase(first->table, this->table) ||
        !tv_slice_eq(first->partition_key, this->partition_key))
        return TV_ERR_BATCH_PARTITIONS;

    for (size_t i = 0; i < index; i++) {
        if (tv_slice_eq(batch->commands[i].resource.row_key, this->row_key))
            return TV_ERR_BATCH_DUPLICATE_ROW;
    }
    return TV_OK;
}

/* False when the last part is not closed: a body cut short must not lose its last operation. */
static bool count_parts(tv_multipart parts, size_t *ret_count)
{
    tv_slice part;
    size_t count = 0;

    while (tv_multipart_next(&parts, &part))
        count++;
    *ret_count = count;
    return parts.is_closed;
}

static tv_err parse_changeset(tv_arena *arena, const tv_request *req, const tv_endpoint *endpoint,
                              tv_multipart parts, tv_table_batch *batch, tv_error_info *reterr_info)
{
    tv_slice part, type;
    size_t count;
    tv_err err;

    if (!count_parts(parts, &count))
        return TV_ERR_INVALID_INPUT;
    if (count == 0)
        return TV_OK; /* recorded at the service: done, and its reply has no part */
    /* The cloud service names the last operation that would have fitted. */
    if (count > TV_TABLE_BATCH_OPS_MAX)
        return part_error(batch, TV_TABLE_BATCH_OPS_MAX - 1, TV_ERR_BATCH_TOO_MANY);

    batch->commands = tv_arena_zalloc(arena, count * sizeof *batch->commands);
    batch->count = count;
    for (size_t i = 0; tv_multipart_next(&parts, &part); i++) {
        if (!part_content_type(arena, &part, &type))
            return TV_ERR_INVALID_INPUT;

        err = parse_command(arena, req, endpoint, part, &batch->commands[i], reterr_info);
        if (err == TV_OK && batch->commands[i].kind == TV_TABLE_OP_QUERY_ENTITY)
            err = TV_ERR_INVALID_INPUT; /* no reads among writes */
        if (err == TV_OK && i > 0)
            err = check_neighbours(batch, i);
        if (err)
            return part_error(batch, i, err);
        tv_thread_step(TV_STEP_LARGE);
    }
    return TV_OK;
}

static tv_err parse_query(tv_arena *arena, const tv_request *req, const tv_endpoint *endpoint,
                          tv_slice part, tv_table_batch *batch, tv_error_info *reterr_info)
{
    tv_err err;

    batch->is_query = true;
    batch->commands = tv_arena_zalloc(arena, sizeof *batch->commands);
    batch->count = 1;
    err = parse_command(arena, req, endpoint, part, &batch->commands[0], reterr_info);
    if (err == TV_OK && batch->commands[0].kind != TV_TABLE_OP_QUERY_ENTITY)
        err = TV_ERR_INVALID_INPUT; /* a write belongs in a changeset */
    return err ? part_error(batch, 0, err) : TV_OK;
}

tv_err tv_table_batch_parse(tv_arena *arena, const tv_request *req, const tv_endpoint *endpoint,
                            tv_table_batch *ret_batch, tv_error_info *reterr_info)
{
    tv_slice boundary, part, second, type;
    tv_multipart outer, inner;

    *ret_batch = (tv_table_batch){0};
    if (!tv_multipart_boundary(tv_request_header(req, TV_LIT("content-type")), &boundary))
        return TV_ERR_INVALID_INPUT;

    tv_multipart_init(&outer, req->body, boundary);
    if (!tv_multipart_next(&outer, &part))
        return TV_ERR_INVALID_INPUT;
    /* One changeset or one read, never more: anything else could not be atomic. */
    if (tv_multipart_next(&outer, &second) || !outer.is_closed)
        return TV_ERR_INVALID_INPUT;
    if (!part_content_type(arena, &part, &type))
        return TV_ERR_INVALID_INPUT;

    if (!tv_multipart_boundary(type, &boundary))
        return parse_query(arena, req, endpoint, part, ret_batch, reterr_info);

    tv_multipart_init(&inner, part, boundary);
    return parse_changeset(arena, req, endpoint, inner, ret_batch, reterr_info);
}
