/* Reading the options of a query. */
#include "services/table/query.h"

#include "base/number.h"
#include "base/uri.h"
#include "services/table/names.h"
#include "services/table/page.h"
#include "services/table/token.h"
#include "store/engine/key.h"

static tv_err parse_top(tv_arena *arena, const tv_parameters *url_query, size_t *ret_top,
                        bool *ret_has_top)
{
    tv_slice text;
    uint64_t top;

    *ret_top = TV_TABLE_PAGE_ROWS_MAX;
    if (!tv_parameters_get(url_query, arena, TV_LIT("$top"), &text))
        return TV_ERR_URL_UNPARSABLE;
    *ret_has_top = text.data != NULL;
    if (text.data == NULL)
        return TV_OK;
    if (!tv_parse_uint64(text, &top) || top > TV_TABLE_PAGE_ROWS_MAX)
        return TV_ERR_INVALID_INPUT;

    *ret_top = (size_t)top;
    return TV_OK;
}

static tv_err parse_token(tv_arena *arena, const tv_parameters *url_query, tv_slice name,
                          tv_slice *ret_text)
{
    tv_slice token;

    *ret_text = TV_NONE;
    if (!tv_parameters_get(url_query, arena, name, &token))
        return TV_ERR_URL_UNPARSABLE;
    if (token.data == NULL)
        return TV_OK;
    return tv_table_token_parse(arena, token, ret_text);
}

/* A token comes from a client: what it names must be a key that a row could have. */
static tv_err parse_entity_tokens(tv_arena *arena, const tv_parameters *url_query,
                                  tv_table_query *query)
{
    tv_err err;

    err = parse_token(arena, url_query, TV_LIT("NextPartitionKey"), &query->next_partition);
    if (err)
        return err;

    err = parse_token(arena, url_query, TV_LIT("NextRowKey"), &query->next_row);
    if (err)
        return err;

    if (tv_check_url_key(query->next_partition) || tv_check_url_key(query->next_row))
        return TV_ERR_INVALID_INPUT;
    return TV_OK;
}

/* The lower-case name, U+0001 and 16 digits that mean nothing to us. */
static tv_err parse_table_token(tv_arena *arena, const tv_parameters *url_query,
                                tv_table_query *query)
{
    tv_err err = parse_token(arena, url_query, TV_LIT("NextTableName"), &query->next_table);

    if (err || query->next_table.data == NULL)
        return err;

    query->next_table.len = tv_slice_find(query->next_table, TV_KEY_MARK);
    return tv_check_table_name(query->next_table) ? TV_ERR_INVALID_INPUT : TV_OK;
}

bool tv_table_query_is_explained(const tv_request *req)
{
    return tv_slice_eq_nocase(tv_request_header(req, TV_LIT("x-tavola-explain")), TV_LIT("true"));
}

/* With $top=0 nothing is requested, so nothing is looked at. */
static tv_err ask_for_nothing(tv_arena *arena, tv_table_query *query, tv_error_info *reterr_info)
{
    return query->top ? TV_OK
                      : tv_filter_parse(arena, TV_LIT("false"), &query->filter, reterr_info);
}

tv_err tv_table_query_complete(tv_arena *arena, tv_table_query *query, tv_error_info *reterr_info)
{
    tv_err err = tv_filter_parse(arena, query->filter_text, &query->filter, reterr_info);

    return err ? err : ask_for_nothing(arena, query, reterr_info);
}

tv_err tv_table_query_parse(tv_arena *arena, const tv_request *req, const tv_table_command *command,
                            tv_table_query *ret_query, tv_error_info *reterr_info)
{
    tv_table_query query = {0};
    tv_err err;

    if (!tv_parameters_get(&req->query, arena, TV_LIT("$filter"), &query.filter_text))
        return TV_ERR_URL_UNPARSABLE;

    if (query.filter_text.len <= TV_TABLE_QUERY_SHORT_FILTER_BYTES) {
        err = tv_filter_parse(arena, query.filter_text, &query.filter, reterr_info);
        if (err)
            return err;
    }

    err = parse_top(arena, &req->query, &query.top, &query.has_top);
    if (err == TV_OK && query.filter)
        err = ask_for_nothing(arena, &query, reterr_info);
    if (err)
        return err;

    err = command->kind == TV_TABLE_OP_QUERY_TABLES
              ? parse_table_token(arena, &req->query, &query)
              : parse_entity_tokens(arena, &req->query, &query);
    if (err)
        return err;

    query.is_explained = tv_table_query_is_explained(req);
    *ret_query = query;
    return TV_OK;
}
