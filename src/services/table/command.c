/* From the head of a request, or of a part of a batch, to a command. */
#include "services/table/command.h"

#include "base/assert.h"
#include "base/uri.h"
#include "services/table/names.h"
#include "services/table/service.h"

bool tv_table_command_is_entity_write(const tv_table_command *command)
{
    return command->kind >= TV_TABLE_OP_INSERT_ENTITY && command->kind <= TV_TABLE_OP_DELETE_ENTITY;
}

bool tv_table_command_is_merge(const tv_table_command *command)
{
    return command->kind == TV_TABLE_OP_MERGE_ENTITY ||
           command->kind == TV_TABLE_OP_INSERT_OR_MERGE_ENTITY;
}

tv_entity_view tv_table_command_view(const tv_table_command *command)
{
    return (tv_entity_view){
        .level = command->level,
        .base_url = command->endpoint.base_url,
        .account = command->endpoint.account,
        .table = command->resource.table,
        .select = command->select,
    };
}

tv_table_head tv_table_head_of(const tv_request *req)
{
    static const tv_slice tunnel = {"x-http-method", 13};

    return (tv_table_head){
        .method = req->method,
        .query = &req->query,
        .prefer = tv_request_header(req, TV_LIT("prefer")),
        .content_id = tv_request_header(req, TV_LIT("content-id")),
        .content_type = tv_request_header(req, TV_LIT("content-type")),
        .if_match = tv_request_header(req, TV_LIT("if-match")),
        .tunnel = tv_request_header(req, tunnel),
        .tunnel_count = tv_request_header_repeats(req, tunnel),
        .headers = req->headers,
        .header_count = req->header_count,
    };
}

/* --- method and path --- */

/* POST with X-HTTP-Method stands for another verb, for clients behind strict proxies. */
static tv_err effective_method(const tv_table_head *head, tv_method *ret_method)
{
    *ret_method = head->method;
    if (head->method == TV_METHOD_OTHER)
        return TV_ERR_INVALID_VERB;
    if (head->tunnel_count == 0)
        return TV_OK;
    if (head->tunnel_count > 1)
        return TV_ERR_XMETHOD_COUNT;
    if (head->method != TV_METHOD_POST)
        return TV_ERR_XMETHOD_NOT_POST;

    *ret_method = tv_method_parse(head->tunnel);
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

static tv_err read_method(const tv_table_head *head, tv_method *ret_method)
{
    tv_err err = effective_method(head, ret_method);

    if (*ret_method == TV_METHOD_MERGE)
        *ret_method = TV_METHOD_PATCH; /* an older name of it */
    return err;
}

/*
 * comp names another resource under the same path: ?comp=acl of a table,
 * ?restype=service&comp=properties|stats of the account.  An empty one names none.
 */
static int where_of(const tv_table_command *command, tv_slice comp, tv_slice restype)
{
    bool is_service = tv_slice_eq(restype, TV_LIT("service"));

    if (command->resource.where == TV_TABLE_AT_SERVICE && !is_service)
        return TV_OP_NOWHERE;
    return comp.data && comp.len == 0 ? TV_OP_NOWHERE : (int)command->resource.where;
}

static tv_table_prefer read_prefer(const tv_table_head *head)
{
    if (tv_slice_eq_nocase(head->prefer, TV_LIT("return-no-content")))
        return TV_TABLE_PREFER_NO_CONTENT;
    if (tv_slice_eq_nocase(head->prefer, TV_LIT("return-content")))
        return TV_TABLE_PREFER_CONTENT;
    return TV_TABLE_PREFER_NONE;
}

tv_err tv_table_command_locate(tv_arena *arena, const tv_table_head *head,
                               const tv_endpoint *endpoint, tv_table_command *ret_command,
                               tv_table_asked *ret_asked, tv_error_info *reterr_info)
{
    tv_table_command *command = ret_command;
    tv_slice restype;
    tv_err err;

    *ret_asked = (tv_table_asked){.where = TV_OP_NOWHERE, .method = head->method};
    *command = (tv_table_command){.endpoint = *endpoint, .level = TV_TABLE_METADATA_MINIMAL};
    command->prefer = read_prefer(head);
    /* It is sent back, so it must not bring its own line ends. */
    command->content_id = tv_slice_is_printable(head->content_id) ? head->content_id : TV_NONE;
    err = tv_table_resource_parse(arena, endpoint->account, endpoint->rest, &command->resource,
                                  reterr_info);
    if (err)
        return err;

    err = read_method(head, &ret_asked->method);
    if (err)
        return err;

    if (!tv_parameters_get(head->query, arena, TV_LIT("comp"), &ret_asked->comp) ||
        !tv_parameters_get(head->query, arena, TV_LIT("restype"), &restype))
        return TV_ERR_URL_UNPARSABLE;

    /* Inserts ignore If-Match, so only operations that address one entity look at it. */
    if (command->resource.where == TV_TABLE_AT_ENTITY) {
        err = tv_table_condition_parse(head->if_match, &command->condition);
        if (err)
            return err;
    }
    command->is_xml = ret_asked->comp.data != NULL;
    ret_asked->where = where_of(command, ret_asked->comp, restype);
    return TV_OK;
}

/* --- which operation --- */

tv_err tv_table_command_miss(const tv_table_command *command, bool has_comp)
{
    if (command->is_xml)
        return has_comp ? TV_ERR_UNSUPPORTED_VERB : TV_ERR_INVALID_QUERY_PARAMETER;
    return command->resource.where == TV_TABLE_AT_SERVICE ? TV_ERR_NOT_IMPLEMENTED
                                                          : TV_ERR_METHOD_NOT_ALLOWED;
}

tv_err tv_table_command_apply_condition(tv_table_command *command)
{
    if (command->condition.kind != TV_TABLE_CONDITION_NONE)
        return TV_OK;

    switch (command->kind) {
    case TV_TABLE_OP_UPDATE_ENTITY:
        command->kind = TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY;
        return TV_OK;
    case TV_TABLE_OP_MERGE_ENTITY:
        command->kind = TV_TABLE_OP_INSERT_OR_MERGE_ENTITY;
        return TV_OK;
    case TV_TABLE_OP_DELETE_ENTITY:
        return TV_ERR_MISSING_HEADER;
    default:
        return TV_OK;
    }
}

tv_err tv_table_command_parse(tv_arena *arena, const tv_table_head *head,
                              const tv_endpoint *endpoint, tv_table_command *ret_command,
                              tv_error_info *reterr_info)
{
    const tv_service_spec *spec = &tv_table_spec;
    tv_table_asked asked;
    const tv_op *row;
    bool has_comp;
    tv_err err;

    err = tv_table_command_locate(arena, head, endpoint, ret_command, &asked, reterr_info);
    if (err)
        return err;

    row = tv_service_find_op(spec, asked.where, asked.method, asked.comp, &has_comp);
    if (row == NULL)
        return tv_table_command_miss(ret_command, has_comp);

    ret_command->kind = (tv_table_op_kind)(row - spec->ops);
    err = tv_table_command_apply_condition(ret_command);
    if (err)
        return err;
    return tv_table_command_read_head(arena, head, ret_command);
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
 * One media type.  TV_ERR_MEDIA_TYPE: not one that we know, try the next.
 */
static tv_err level_of_media_type(tv_slice text, tv_table_metadata_level *ret_level)
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
        *ret_level = TV_TABLE_METADATA_MINIMAL;
    else if (tv_slice_eq_nocase(odata, TV_LIT("nometadata")))
        *ret_level = TV_TABLE_METADATA_NONE;
    else if (tv_slice_eq_nocase(odata, TV_LIT("fullmetadata")))
        *ret_level = TV_TABLE_METADATA_FULL;
    else if (tv_slice_eq_nocase(odata, TV_LIT("verbose")))
        return TV_ERR_JSON_VERBOSE_FORMAT;
    else
        return TV_ERR_MEDIA_TYPE;
    return TV_OK;
}

/* The first type of a list that we can serve, else the error of its first. */
static tv_err level_of_list(tv_slice list, tv_table_metadata_level *ret_level)
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
static tv_err choose_level(tv_arena *arena, const tv_table_head *head,
                           tv_table_metadata_level *ret_level)
{
    tv_err first_problem = TV_OK;
    tv_slice format;

    *ret_level = TV_TABLE_METADATA_MINIMAL;
    if (!tv_parameters_get(head->query, arena, TV_LIT("$format"), &format))
        return TV_ERR_URL_UNPARSABLE;
    if (format.len)
        return level_of_media_type(format, ret_level);

    for (size_t i = 0; i < head->header_count; i++) {
        if (!tv_slice_eq_nocase(head->headers[i].name, TV_LIT("accept")))
            continue;

        tv_err err = level_of_list(head->headers[i].value, ret_level);

        if (err == TV_OK)
            return TV_OK;
        if (first_problem == TV_OK)
            first_problem = err;
    }
    return first_problem;
}

/* Clients say JSON in many ways, or nothing; only Atom is a different language. */
static bool is_json_body(tv_slice type)
{
    static const tv_slice atom = {"application/atom+xml", 20};

    return type.len < atom.len || !tv_slice_eq_nocase(tv_slice_take(type, atom.len), atom);
}

static tv_err read_select(tv_arena *arena, const tv_table_head *head, tv_table_command *command)
{
    bool is_read =
        command->kind == TV_TABLE_OP_QUERY_ENTITY || command->kind == TV_TABLE_OP_QUERY_ENTITIES;
    tv_slice list;

    if (!is_read)
        return TV_OK;
    if (!tv_parameters_get(head->query, arena, TV_LIT("$select"), &list))
        return TV_ERR_URL_UNPARSABLE;
    return tv_table_select_parse(arena, list, &command->select);
}

/* --- names, and the whole of the head --- */

static bool names_table(tv_table_where where)
{
    return where == TV_TABLE_AT_TABLE || where == TV_TABLE_AT_ENTITIES ||
           where == TV_TABLE_AT_ENTITY;
}

static tv_err check_resource(const tv_table_resource *resource)
{
    tv_err err = TV_OK;

    if (names_table(resource->where))
        err = tv_check_table_name(resource->table);
    if (err == TV_OK && resource->where == TV_TABLE_AT_ENTITY)
        err = tv_check_url_key(resource->partition_key);
    if (err == TV_OK && resource->where == TV_TABLE_AT_ENTITY)
        err = tv_check_url_key(resource->row_key);
    return err;
}

tv_err tv_table_command_read_head(tv_arena *arena, const tv_table_head *head,
                                  tv_table_command *command)
{
    bool has_body = tv_table_spec.ops[command->kind].flags & TV_OP_NEEDS_LENGTH;
    tv_err err = check_resource(&command->resource);

    if (err || command->is_xml)
        return err;

    err = read_select(arena, head, command);
    if (err)
        return err;

    if (has_body && !is_json_body(head->content_type))
        return TV_ERR_ATOM_FORMAT;
    return command->kind == TV_TABLE_OP_BATCH ? TV_OK : choose_level(arena, head, &command->level);
}

/* --- the body --- */

/*
 * PUT and MERGE: keys in the body are optional, but must not contradict the URL.
 * SDKs annotate them by the type that they had in the program; what counts is the
 * text.
 */
static tv_err check_repeated_keys(const tv_table_command *command)
{
    const tv_entity_body *body = &command->body;

    if (body->partition_key.data &&
        !tv_slice_eq(body->partition_key, command->resource.partition_key))
        return TV_ERR_INVALID_INPUT;
    if (body->row_key.data && !tv_slice_eq(body->row_key, command->resource.row_key))
        return TV_ERR_INVALID_INPUT;
    return TV_OK;
}

static tv_err take_keys_from_body(tv_arena *arena, tv_table_command *command,
                                  tv_error_info *reterr_info)
{
    tv_err err;

    if (command->body.partition_key.data == NULL || command->body.row_key.data == NULL)
        return TV_ERR_PROPERTIES_NEED_VALUE;
    if (command->body.has_odd_key) {
        reterr_info->text = TV_LIT("One of the request inputs is not valid.");
        return TV_ERR_INVALID_INPUT;
    }

    command->resource.partition_key = command->body.partition_key;
    command->resource.row_key = command->body.row_key;
    err =
        tv_check_body_key(arena, TV_LIT("PartitionKey"), command->body.partition_key, reterr_info);
    if (err)
        return err;

    return tv_check_body_key(arena, TV_LIT("RowKey"), command->body.row_key, reterr_info);
}

tv_err tv_table_command_read_body(tv_arena *arena, tv_slice json, tv_table_command *command,
                                  tv_error_info *reterr_info)
{
    tv_err err;

    tv_assert(tv_table_command_is_entity_write(command));
    if (command->kind == TV_TABLE_OP_DELETE_ENTITY)
        return TV_OK;

    err = tv_entity_body_read(arena, json, &command->body, reterr_info);
    if (err)
        return err;

    if (command->kind == TV_TABLE_OP_INSERT_ENTITY)
        err = take_keys_from_body(arena, command, reterr_info);
    else
        err = check_repeated_keys(command);
    if (err)
        return err;

    /* What PUT and MERGE wrote comes back in the order of names; what POST wrote, as it was sent.
     */
    if (command->kind != TV_TABLE_OP_INSERT_ENTITY)
        tv_entity_properties_sort(&command->body.properties);
    return tv_entity_check_limits(command->resource.partition_key, command->resource.row_key,
                                  &command->body.properties);
}
