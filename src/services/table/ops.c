/* What the table service does in its own way: its paths, its table of operations, its errors. */
#include "services/table/ops.h"

#include "services/table/access.h"
#include "services/table/call.h"
#include "services/table/units.h"

/* The content of a request may take 4 MiB; a batch has some more room for its own wrapping. */
enum { BODY_BYTES_MAX = 4 * 1024 * 1024, BATCH_BYTES_MAX = BODY_BYTES_MAX + 64 * 1024 };

static tv_err choose_by_condition(tv_call *call);
static tv_err read_query(tv_call *call);

static const tv_op ops[] = {
#define OP(kind, name_, ...) [TV_TABLE_OP_##kind] = {.name = (name_), __VA_ARGS__},
#include "services/table/ops.def"
};

static const char *const paths[] = {
#define AT(where, form) [TV_TABLE_AT_##where] = (form),
    TV_TABLE_PATHS(AT)
#undef AT
};

/* --- from a request to an operation --- */

/*
 * The path is read later: a request that cannot be authenticated does not learn
 * what is wrong with it.
 */
static tv_err read_path(tv_call *call)
{
    tv_request *req = call->req;

    return tv_parameters_get(&req->query, &req->arena, TV_LIT("comp"), &call->comp)
               ? TV_OK
               : TV_ERR_URL_UNPARSABLE;
}

static tv_err locate(tv_call *call, int *ret_where)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_table_asked asked;
    tv_err err;

    t->head = tv_table_head_of(call->req);
    err = tv_table_command_locate(&call->req->arena, &t->head, &call->endpoint, &t->command, &asked,
                                  &call->info);
    call->target.container = t->command.resource.table;
    call->method = asked.method;
    *ret_where = asked.where;
    return err;
}

static tv_err miss(tv_call *call, bool has_comp)
{
    return tv_table_command_miss(&tv_table_call_of(call)->command, has_comp);
}

static tv_err choose_by_condition(tv_call *call)
{
    tv_table_command *command = &tv_table_call_of(call)->command;
    tv_err err;

    command->kind = (tv_table_op_kind)tv_call_kind(call);
    err = tv_table_command_apply_condition(command);
    tv_call_turn_to(call, (int)command->kind);
    return err;
}

static tv_err read_head(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);

    t->command.kind = (tv_table_op_kind)tv_call_kind(call);
    return tv_table_command_read_head(&call->req->arena, &t->head, &t->command);
}

static tv_err read_query(tv_call *call)
{
    tv_table_call *t = tv_table_call_of(call);

    return tv_table_query_parse(&call->req->arena, call->req, &t->command, &t->query, &call->info);
}

/* --- access --- */

/* What the URL names; an insert's keys are in its body. */
static tv_err authorize(tv_call *call)
{
    const tv_table_resource *resource = &tv_table_call_of(call)->command.resource;

    if (resource->where != TV_TABLE_AT_ENTITY)
        return TV_OK;
    return tv_table_access_check_key(call->identity, resource->partition_key, resource->row_key);
}

/*
 * How many keys there must be depends on the table, so the service looks for
 * that first.  A request with a SAS does not learn from it which tables there
 * are.
 */
static tv_err explain_key_count(tv_call *call)
{
    static const tv_need key_alone = {.sas = 0};
    tv_container *table =
        tv_catalog_find(call->service->catalog, tv_identity_account(call->identity),
                        tv_table_call_of(call)->command.resource.table);
    bool is_missing = table == NULL;

    tv_container_unref(table);
    if (!is_missing || tv_identity_allows(call->identity, &key_alone))
        return TV_ERR_KEY_COUNT;

    call->info.text = TV_NONE;
    return TV_ERR_TABLE_NOT_FOUND;
}

static tv_err explain(tv_call *call, tv_err err)
{
    return err == TV_ERR_KEY_COUNT ? explain_key_count(call) : err;
}

const tv_service_spec tv_table_spec = {
    .kind = TV_SERVICE_TABLE,
    .ops = ops,
    .op_count = TV_TABLE_OP_COUNT,
    .paths = paths,
    .call_bytes = sizeof(tv_table_call),
    .read_path = read_path,
    .locate = locate,
    .miss = miss,
    .read_head = read_head,
    .authorize = authorize,
    .explain = explain,
    .respond_error = tv_table_respond_error,
    .charge_rest = tv_table_charge_rest,
    .note = tv_table_note,
    .observe = tv_table_observe,
};
