/* From an HTTP request to an operation. */
#include "table/op.h"

#include "base/assert.h"
#include "base/uri.h"
#include "table/names.h"

static const char *const op_names[] = {
#define X(kind, name) name,
    TV_TABLE_OP_MAP(X)
#undef X
};

const char *tv_table_op_name(tv_table_op_kind kind)
{
    tv_assert(kind < TV_TABLE_OP_COUNT);
    return op_names[kind];
}

bool tv_table_op_is_entity_write(tv_table_op_kind kind)
{
    return kind >= TV_TABLE_OP_INSERT_ENTITY && kind <= TV_TABLE_OP_DELETE_ENTITY;
}

bool tv_table_op_has_body(tv_table_op_kind kind)
{
    return kind == TV_TABLE_OP_CREATE_TABLE || kind == TV_TABLE_OP_BATCH ||
           (tv_table_op_is_entity_write(kind) && kind != TV_TABLE_OP_DELETE_ENTITY);
}

tv_entity_view tv_table_op_view(const tv_table_op *op)
{
    return (tv_entity_view){
        .level = op->level,
        .base_url = op->endpoint.base_url,
        .account = op->endpoint.account,
        .table = op->resource.table,
        .select = op->select,
    };
}

/* --- the method, with its tunnel --- */

/* POST with X-HTTP-Method stands for another verb, for clients behind narrow proxies. */
static tv_err effective_method(const tv_request *req, tv_method *ret_method)
{
    static const tv_slice header = {"x-http-method", 13};
    size_t repeats = tv_request_header_repeats(req, header);

    *ret_method = req->method;
    if (req->method == TV_METHOD_OTHER)
        return TV_ERR_INVALID_VERB;
    if (repeats == 0)
        return TV_OK;
    if (repeats > 1)
        return TV_ERR_XMETHOD_COUNT;
    if (req->method != TV_METHOD_POST)
        return TV_ERR_XMETHOD_NOT_POST;

    *ret_method = tv_method_parse(tv_request_header(req, header));
    switch (*ret_method) {
    case TV_METHOD_PUT:
    case TV_METHOD_MERGE:
    case TV_METHOD_PATCH:
    case TV_METHOD_DELETE:
        return TV_OK;
    default:
        return TV_ERR_XMETHOD_VALUE;
    }
}

static tv_err entity_op_kind(tv_method method, const tv_condition *condition,
                             tv_table_op_kind *ret_kind)
{
    bool is_upsert = condition->kind == TV_CONDITION_NONE;

    switch (method) {
    case TV_METHOD_GET:
        *ret_kind = TV_TABLE_OP_QUERY_ENTITY;
        return TV_OK;
    case TV_METHOD_PUT:
        *ret_kind = is_upsert ? TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY : TV_TABLE_OP_UPDATE_ENTITY;
        return TV_OK;
    case TV_METHOD_PATCH:
    case TV_METHOD_MERGE:
        *ret_kind = is_upsert ? TV_TABLE_OP_INSERT_OR_MERGE_ENTITY : TV_TABLE_OP_MERGE_ENTITY;
        return TV_OK;
    case TV_METHOD_DELETE:
        *ret_kind = TV_TABLE_OP_DELETE_ENTITY;
        return is_upsert ? TV_ERR_MISSING_HEADER : TV_OK;
    default:
        return TV_ERR_METHOD_NOT_ALLOWED;
    }
}

static tv_err op_kind(tv_method method, const tv_table_op *op, tv_table_op_kind *ret_kind)
{
    bool is_get = method == TV_METHOD_GET;

    *ret_kind = TV_TABLE_OP_UNKNOWN;
    switch (op->resource.kind) {
    case TV_RESOURCE_ENTITY:
        return entity_op_kind(method, &op->condition, ret_kind);
    case TV_RESOURCE_ENTITIES:
        if (!is_get && method != TV_METHOD_POST)
            return TV_ERR_METHOD_NOT_ALLOWED;
        *ret_kind = is_get ? TV_TABLE_OP_QUERY_ENTITIES : TV_TABLE_OP_INSERT_ENTITY;
        return TV_OK;
    case TV_RESOURCE_TABLES:
        if (!is_get && method != TV_METHOD_POST)
            return TV_ERR_METHOD_NOT_ALLOWED;
        *ret_kind = is_get ? TV_TABLE_OP_QUERY_TABLES : TV_TABLE_OP_CREATE_TABLE;
        return TV_OK;
    case TV_RESOURCE_TABLE:
        if (!is_get && method != TV_METHOD_DELETE)
            return TV_ERR_METHOD_NOT_ALLOWED;
        *ret_kind = is_get ? TV_TABLE_OP_QUERY_TABLE : TV_TABLE_OP_DELETE_TABLE;
        return TV_OK;
    case TV_RESOURCE_BATCH:
        if (method != TV_METHOD_POST)
            return TV_ERR_METHOD_NOT_ALLOWED;
        *ret_kind = TV_TABLE_OP_BATCH;
        return TV_OK;
    case TV_RESOURCE_SERVICE:
        break;
    }
    return TV_ERR_NOT_IMPLEMENTED;
}

/*
 * comp asks for another resource under the same path: ?comp=acl of a table,
 * ?restype=service&comp=properties|stats of the account.
 */
static tv_err comp_op_kind(tv_method method, tv_resource_kind resource, tv_slice comp,
                           tv_slice restype, tv_table_op_kind *ret_kind)
{
    bool is_get = method == TV_METHOD_GET;
    bool is_service = tv_slice_eq(restype, TV_LIT("service"));

    if (resource == TV_RESOURCE_ENTITIES && tv_slice_eq(comp, TV_LIT("acl"))) {
        *ret_kind = is_get ? TV_TABLE_OP_GET_ACL : TV_TABLE_OP_SET_ACL;
    } else if (resource == TV_RESOURCE_SERVICE && is_service &&
               tv_slice_eq(comp, TV_LIT("properties"))) {
        *ret_kind = is_get ? TV_TABLE_OP_GET_PROPERTIES : TV_TABLE_OP_SET_PROPERTIES;
    } else if (resource == TV_RESOURCE_SERVICE && is_service &&
               tv_slice_eq(comp, TV_LIT("stats"))) {
        *ret_kind = TV_TABLE_OP_GET_STATS;
        return is_get ? TV_OK : TV_ERR_UNSUPPORTED_VERB;
    } else {
        return TV_ERR_INVALID_QUERY_PARAMETER;
    }
    return is_get || method == TV_METHOD_PUT ? TV_OK : TV_ERR_UNSUPPORTED_VERB;
}

/* --- content negotiation --- */

/* The odata parameter of a media type, e.g. "nometadata"; empty without one. */
static tv_slice odata_parameter(tv_slice parameters)
{
    tv_slice part;

    while (tv_slice_next(&parameters, ';', &part)) {
        size_t equals = tv_slice_find(part, '=');

        if (equals < part.len &&
            tv_slice_eq_nocase(tv_slice_trim(tv_slice_take(part, equals)), TV_LIT("odata")))
            return tv_slice_trim(tv_slice_skip(part, equals + 1));
    }
    return TV_LIT("");
}

/*
 * One media type.  TV_ERR_MEDIA_TYPE: not one that we know, look at the next.
 */
static tv_err level_of_media_type(tv_slice text, tv_metadata_level *ret_level)
{
    size_t semicolon = tv_slice_find(text, ';');
    tv_slice type = tv_slice_trim(tv_slice_take(text, semicolon));
    tv_slice parameters = semicolon < text.len ? tv_slice_skip(text, semicolon + 1) : TV_NONE;
    tv_slice odata = odata_parameter(parameters);

    if (tv_slice_eq_nocase(type, TV_LIT("application/atom+xml")))
        return TV_ERR_ATOM_FORMAT;
    if (!tv_slice_eq_nocase(type, TV_LIT("application/json")) &&
        !tv_slice_eq_nocase(type, TV_LIT("application/*")) && !tv_slice_eq(type, TV_LIT("*/*")))
        return TV_ERR_MEDIA_TYPE;

    if (odata.len == 0 || tv_slice_eq_nocase(odata, TV_LIT("minimalmetadata")))
        *ret_level = TV_METADATA_MINIMAL;
    else if (tv_slice_eq_nocase(odata, TV_LIT("nometadata")))
        *ret_level = TV_METADATA_NONE;
    else if (tv_slice_eq_nocase(odata, TV_LIT("fullmetadata")))
        *ret_level = TV_METADATA_FULL;
    else if (tv_slice_eq_nocase(odata, TV_LIT("verbose")))
        return TV_ERR_JSON_VERBOSE_FORMAT;
    else
        return TV_ERR_MEDIA_TYPE;
    return TV_OK;
}

/* The first type of a list that we can serve, else what is wrong with its first. */
static tv_err level_of_list(tv_slice list, tv_metadata_level *ret_level)
{
    tv_err first_problem = TV_OK;
    tv_slice part;

    while (tv_slice_next(&list, ',', &part)) {
        tv_err err = tv_slice_trim(part).len ? level_of_media_type(part, ret_level) : TV_OK;

        if (err == TV_OK)
            return TV_OK;
        if (first_problem == TV_OK)
            first_problem = err;
    }
    return first_problem;
}

/* $format wins over Accept, which may be one header or several; they make one list. */
static tv_err choose_level(tv_arena *arena, const tv_request *req, tv_metadata_level *ret_level)
{
    tv_err first_problem = TV_OK;
    tv_slice format;

    *ret_level = TV_METADATA_MINIMAL;
    if (!tv_parameters_get(&req->query, arena, TV_LIT("$format"), &format))
        return TV_ERR_URL_UNPARSABLE;
    if (format.len)
        return level_of_media_type(format, ret_level);

    for (size_t i = 0; i < req->header_count; i++) {
        if (!tv_slice_eq_nocase(req->headers[i].name, TV_LIT("accept")))
            continue;

        tv_err err = level_of_list(req->headers[i].value, ret_level);

        if (err == TV_OK)
            return TV_OK;
        if (first_problem == TV_OK)
            first_problem = err;
    }
    return first_problem;
}

static tv_prefer read_prefer(const tv_request *req)
{
    tv_slice prefer = tv_request_header(req, TV_LIT("prefer"));

    if (tv_slice_eq_nocase(prefer, TV_LIT("return-no-content")))
        return TV_PREFER_NO_CONTENT;
    if (tv_slice_eq_nocase(prefer, TV_LIT("return-content")))
        return TV_PREFER_CONTENT;
    return TV_PREFER_NONE;
}

/* Clients say JSON in many ways, or nothing; only Atom is a different language. */
static bool is_json_body(const tv_request *req)
{
    tv_slice type = tv_request_header(req, TV_LIT("content-type"));
    static const tv_slice atom = {"application/atom+xml", 20};

    return type.len < atom.len || !tv_slice_eq_nocase(tv_slice_take(type, atom.len), atom);
}

static tv_err read_select(tv_arena *arena, const tv_request *req, tv_table_op *op)
{
    bool is_read = op->kind == TV_TABLE_OP_QUERY_ENTITY || op->kind == TV_TABLE_OP_QUERY_ENTITIES;
    tv_slice list;

    if (!is_read)
        return TV_OK;
    if (!tv_parameters_get(&req->query, arena, TV_LIT("$select"), &list))
        return TV_ERR_URL_UNPARSABLE;
    return tv_select_parse(arena, list, &op->select);
}

/* --- the whole --- */

static bool names_table(tv_resource_kind kind)
{
    return kind == TV_RESOURCE_TABLE || kind == TV_RESOURCE_ENTITIES || kind == TV_RESOURCE_ENTITY;
}

static tv_err check_resource(const tv_resource *resource)
{
    tv_err err = TV_OK;

    if (names_table(resource->kind))
        err = tv_check_table_name(resource->table);
    if (err == TV_OK && resource->kind == TV_RESOURCE_ENTITY)
        err = tv_check_url_key(resource->partition_key);
    if (err == TV_OK && resource->kind == TV_RESOURCE_ENTITY)
        err = tv_check_url_key(resource->row_key);
    return err;
}

tv_err tv_table_op_parse(tv_arena *arena, const tv_request *req, const tv_endpoint *endpoint,
                         tv_table_op *ret_op, tv_error_info *reterr_info)
{
    tv_table_op *op = ret_op;
    tv_slice comp, restype;
    tv_method method;
    tv_err err;

    *op = (tv_table_op){.endpoint = *endpoint, .level = TV_METADATA_MINIMAL};
    op->prefer = read_prefer(req);
    op->content_id = tv_request_header(req, TV_LIT("content-id"));
    if (!tv_slice_is_printable(op->content_id))
        op->content_id = TV_NONE; /* it is sent back, so it must not bring its own line ends */
    err = tv_resource_parse(arena, endpoint->account, endpoint->rest, &op->resource, reterr_info);
    if (err)
        return err;

    err = effective_method(req, &method);
    if (err)
        return err;

    if (!tv_parameters_get(&req->query, arena, TV_LIT("comp"), &comp) ||
        !tv_parameters_get(&req->query, arena, TV_LIT("restype"), &restype))
        return TV_ERR_URL_UNPARSABLE;

    /* Inserts ignore If-Match, so only what addresses one entity looks at it. */
    if (op->resource.kind == TV_RESOURCE_ENTITY) {
        err = tv_condition_parse(tv_request_header(req, TV_LIT("if-match")), &op->condition);
        if (err)
            return err;
    }

    op->is_xml = comp.data != NULL;
    err = op->is_xml ? comp_op_kind(method, op->resource.kind, comp, restype, &op->kind)
                     : op_kind(method, op, &op->kind);
    if (err)
        return err;

    err = check_resource(&op->resource);
    if (err || op->is_xml)
        return err;

    err = read_select(arena, req, op);
    if (err)
        return err;

    if (tv_table_op_has_body(op->kind) && !is_json_body(req))
        return TV_ERR_ATOM_FORMAT;
    return op->kind == TV_TABLE_OP_BATCH ? TV_OK : choose_level(arena, req, &op->level);
}

/*
 * PUT and MERGE: keys in the body are optional, but must not contradict the URL.
 * SDKs annotate them by the type that they had in the program; what counts is the
 * text.
 */
static tv_err check_repeated_keys(const tv_table_op *op)
{
    const tv_entity_body *body = &op->body;

    if (body->partition_key.data && !tv_slice_eq(body->partition_key, op->resource.partition_key))
        return TV_ERR_INVALID_INPUT;
    if (body->row_key.data && !tv_slice_eq(body->row_key, op->resource.row_key))
        return TV_ERR_INVALID_INPUT;
    return TV_OK;
}

static tv_err take_keys_from_body(tv_arena *arena, tv_table_op *op, tv_error_info *reterr_info)
{
    tv_err err;

    if (op->body.partition_key.data == NULL || op->body.row_key.data == NULL)
        return TV_ERR_PROPERTIES_NEED_VALUE;
    if (op->body.has_odd_key) {
        reterr_info->text = TV_LIT("One of the request inputs is not valid.");
        return TV_ERR_INVALID_INPUT;
    }

    op->resource.partition_key = op->body.partition_key;
    op->resource.row_key = op->body.row_key;
    err = tv_check_body_key(arena, TV_LIT("PartitionKey"), op->body.partition_key, reterr_info);
    if (err)
        return err;

    return tv_check_body_key(arena, TV_LIT("RowKey"), op->body.row_key, reterr_info);
}

tv_err tv_table_op_read_body(tv_arena *arena, tv_slice json, tv_table_op *op,
                             tv_error_info *reterr_info)
{
    tv_err err;

    tv_assert(tv_table_op_is_entity_write(op->kind));
    if (op->kind == TV_TABLE_OP_DELETE_ENTITY)
        return TV_OK;

    err = tv_entity_body_read(arena, json, &op->body, reterr_info);
    if (err)
        return err;

    if (op->kind == TV_TABLE_OP_INSERT_ENTITY)
        err = take_keys_from_body(arena, op, reterr_info);
    else
        err = check_repeated_keys(op);
    if (err)
        return err;

    /* What PUT and MERGE wrote comes back in the order of names; what POST wrote, as it was sent.
     */
    if (op->kind != TV_TABLE_OP_INSERT_ENTITY)
        tv_properties_sort(&op->body.properties);
    return tv_entity_check_limits(op->resource.partition_key, op->resource.row_key,
                                  &op->body.properties);
}
