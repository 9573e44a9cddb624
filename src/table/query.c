/* Pages of entities and of tables. */
#include "table/query.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "base/uri.h"
#include "engine/key.h"
#include "table/names.h"
#include "table/token.h"

/* --- options --- */

static tv_err parse_top(tv_arena *arena, tv_slice url_query, size_t *ret_top)
{
    tv_slice text;
    uint64_t top;

    *ret_top = TV_PAGE_ROWS_MAX;
    if (!tv_uri_query_parameter(arena, url_query, TV_LIT("$top"), &text))
        return TV_ERR_URL_UNPARSABLE;
    if (text.data == NULL)
        return TV_OK;
    if (!tv_parse_uint64(text, &top) || top < 1 || top > TV_PAGE_ROWS_MAX)
        return TV_ERR_INVALID_INPUT;

    *ret_top = (size_t)top;
    return TV_OK;
}

static tv_err parse_token(tv_arena *arena, tv_slice url_query, tv_slice name, tv_slice *ret_text)
{
    tv_slice token;

    *ret_text = TV_NONE;
    if (!tv_uri_query_parameter(arena, url_query, name, &token))
        return TV_ERR_URL_UNPARSABLE;
    if (token.data == NULL)
        return TV_OK;
    return tv_token_parse(arena, token, ret_text);
}

/* PartitionKey eq 'it''s': the one filter that this version knows. */
static tv_err parse_filter(tv_arena *arena, tv_slice filter, tv_query *query)
{
    static const tv_slice opening = {"PartitionKey eq '", 17};
    char *key = tv_arena_bytes(arena, filter.len);
    size_t len = 0;

    filter = tv_slice_trim(filter);
    if (filter.len == 0)
        return TV_OK;
    if (!tv_slice_starts_with(filter, opening) || filter.len == opening.len ||
        filter.data[filter.len - 1] != '\'')
        return TV_ERR_NOT_IMPLEMENTED;

    filter = tv_slice_skip(filter, opening.len);
    filter.len--;
    for (size_t i = 0; i < filter.len; i++) {
        if (filter.data[i] == '\'' && (++i == filter.len || filter.data[i] != '\''))
            return TV_ERR_NOT_IMPLEMENTED;
        key[len++] = filter.data[i];
    }
    query->has_partition = true;
    query->partition_key = (tv_slice){key, len};
    return TV_OK;
}

tv_err tv_query_parse(tv_arena *arena, const tv_request *req, const tv_table_op *op,
                      tv_query *ret_query)
{
    tv_query query = {0};
    tv_slice filter;
    tv_err err;

    if (!tv_uri_query_parameter(arena, req->query, TV_LIT("$filter"), &filter))
        return TV_ERR_URL_UNPARSABLE;
    if (filter.len && op->kind == TV_TABLE_OP_QUERY_TABLES)
        return TV_ERR_NOT_IMPLEMENTED;

    err = parse_top(arena, req->query, &query.top);
    if (err)
        return err;

    if (op->kind == TV_TABLE_OP_QUERY_TABLES) {
        err = parse_token(arena, req->query, TV_LIT("NextTableName"), &query.next_table);
        if (err)
            return err;
    } else {
        err = parse_filter(arena, filter, &query);
        if (err)
            return err;

        err = parse_token(arena, req->query, TV_LIT("NextPartitionKey"), &query.next_partition);
        if (err)
            return err;

        err = parse_token(arena, req->query, TV_LIT("NextRowKey"), &query.next_row);
        if (err)
            return err;
    }
    *ret_query = query;
    return TV_OK;
}

/* --- a page, of whatever --- */

typedef struct page_limits {
    size_t rows, rows_max;
    size_t bytes_max;
    int64_t deadline_ns;
} page_limits;

static page_limits page_begin(const tv_query *query, const tv_buf *out)
{
    return (page_limits){
        .rows_max = query->top,
        .bytes_max = out->len + TV_PAGE_BYTES_MAX,
        .deadline_ns = tv_clock_mono_ns() + TV_PAGE_NS_MAX,
    };
}

static bool page_is_full(const page_limits *page, const tv_buf *out)
{
    if (page->rows == page->rows_max || out->len >= page->bytes_max)
        return true;
    /* The clock is looked at now and then: a row costs about as much as the call. */
    return page->rows % 64 == 63 && tv_clock_mono_ns() > page->deadline_ns;
}

/* {"odata.metadata":"base/$metadata#name","value":[ */
static void add_feed_opening(tv_buf *out, const tv_entity_view *view)
{
    tv_buf_add_char(out, '{');
    if (view->level != TV_METADATA_NONE)
        tv_entity_add_metadata_url(out, view, TV_LIT(""));
    tv_buf_add_lit(out, "\"value\":[");
}

/* --- entities --- */

/* The key range that the filter allows, and where in it this page begins. */
static tv_err find_range(tv_arena *arena, const tv_table *table, const tv_query *query,
                         tv_slice *ret_from, tv_slice *ret_to, tv_slice *ret_start)
{
    tv_slice prefix = table->prefix;
    tv_err err;

    if (query->has_partition) {
        /* No entity can have such a key: an empty range rather than an error. */
        if (tv_check_url_key(query->partition_key)) {
            *ret_from = *ret_to = *ret_start = prefix;
            return TV_OK;
        }
        err = tv_key_partition(arena, table->account, table->id, query->partition_key, &prefix);
        if (err)
            return err;
    }
    *ret_from = *ret_start = prefix;
    *ret_to = tv_key_after(arena, prefix);
    if (query->next_partition.data == NULL)
        return TV_OK;

    /* A forged token cannot lead out of the range, because the iterator has bounds. */
    if (tv_check_url_key(query->next_partition) || tv_check_url_key(query->next_row))
        return TV_ERR_INVALID_INPUT;

    err = tv_key_partition(arena, table->account, table->id, query->next_partition, ret_start);
    if (err == TV_OK && query->next_row.data)
        err = tv_key_row(arena, *ret_start, query->next_row, ret_start);
    return err;
}

static tv_err scan_entities(tv_iter *iter, const tv_table *table, const tv_table_op *op,
                            const tv_query *query, tv_arena *arena, tv_buf *out,
                            tv_continuation *next)
{
    tv_entity_view view = tv_table_op_view(op);
    page_limits page = page_begin(query, out);

    for (; tv_iter_is_valid(iter); tv_iter_next(iter)) {
        tv_slice partition_key, row_key;
        tv_err err;

        err = tv_key_split_row(arena, table->prefix, tv_iter_key(iter), &partition_key, &row_key);
        if (err)
            return err;

        if (page_is_full(&page, out)) {
            next->next_partition = tv_token_format(arena, partition_key);
            next->next_row = tv_token_format(arena, row_key);
            break;
        }
        if (page.rows++)
            tv_buf_add_char(out, ',');
        err = tv_entity_add_json(out, &view, partition_key, row_key, tv_iter_value(iter), false);
        if (err)
            return err;
    }
    return tv_iter_status(iter);
}

tv_err tv_query_entities(tv_engine *engine, const tv_table *table, const tv_table_op *op,
                         const tv_query *query, tv_arena *arena, tv_buf *out,
                         tv_continuation *ret_next)
{
    tv_slice from, to, start;
    tv_entity_view view;
    tv_iter *iter;
    tv_err err;

    *ret_next = (tv_continuation){0};
    err = find_range(arena, table, query, &from, &to, &start);
    if (err)
        return err;

    err = tv_engine_iter(engine, from, to, &iter);
    if (err)
        return err;

    view = tv_table_op_view(op);
    add_feed_opening(out, &view);
    tv_iter_seek(iter, tv_slice_cmp(start, from) > 0 ? start : from);
    err = scan_entities(iter, table, op, query, arena, out, ret_next);
    tv_iter_free(iter);
    tv_buf_add_lit(out, "]}");

    /* Rows of a dropped table vanish file by file, so the page may lack some that it should have
     * had if the query came before the drop. */
    return err == TV_OK && atomic_load(&table->is_dropped) ? TV_ERR_TABLE_NOT_FOUND : err;
}

/* --- tables --- */

static void add_table(tv_buf *out, const tv_table_op *op, tv_slice name)
{
    tv_buf_add_char(out, '{');
    if (op->level == TV_METADATA_FULL) {
        tv_buf_printf(out,
                      "\"odata.type\":\"%.*s.Tables\",\"odata.id\":\"%.*s/Tables('%.*s')\","
                      "\"odata.editLink\":\"Tables('%.*s')\",",
                      TV_FMT(op->endpoint.account), TV_FMT(op->endpoint.base_url), TV_FMT(name),
                      TV_FMT(name));
    }
    tv_buf_printf(out, "\"TableName\":\"%.*s\"}", TV_FMT(name));
}

/* As the service does: the lower-case name, U+0001 and 16 hexadecimal digits. */
static tv_slice table_token(tv_arena *arena, tv_slice lower_name)
{
    return tv_token_format(arena, tv_arena_printf(arena, "%.*s\x01%016x", TV_FMT(lower_name), 0));
}

static tv_err scan_tables(tv_iter *iter, tv_slice prefix, const tv_table_op *op,
                          const tv_query *query, tv_arena *arena, tv_buf *out,
                          tv_continuation *next)
{
    page_limits page = page_begin(query, out);

    for (; tv_iter_is_valid(iter); tv_iter_next(iter)) {
        tv_slice name;
        tv_err err;

        if (page_is_full(&page, out)) {
            next->next_table = table_token(arena, tv_slice_skip(tv_iter_key(iter), prefix.len));
            break;
        }
        err = tv_catalog_row_name(tv_iter_value(iter), &name);
        if (err)
            return err;

        if (page.rows++)
            tv_buf_add_char(out, ',');
        add_table(out, op, name);
    }
    return tv_iter_status(iter);
}

tv_err tv_query_tables(tv_engine *engine, const tv_table_op *op, const tv_query *query,
                       tv_arena *arena, tv_buf *out, tv_continuation *ret_next)
{
    tv_slice account = op->endpoint.account;
    tv_slice prefix = tv_key_catalog_names(arena, account);
    tv_slice start = prefix;
    tv_entity_view view;
    tv_iter *iter;
    tv_err err;

    *ret_next = (tv_continuation){0};
    if (query->next_table.data) {
        tv_slice name = tv_slice_take(query->next_table, tv_slice_find(query->next_table, '\x01'));

        if (tv_check_table_name(name))
            return TV_ERR_INVALID_INPUT;
        start = tv_key_catalog_name(arena, account, name);
    }

    err = tv_engine_iter(engine, prefix, tv_key_after(arena, prefix), &iter);
    if (err)
        return err;

    view = tv_table_op_view(op);
    view.table = TV_LIT("Tables");
    add_feed_opening(out, &view);
    tv_iter_seek(iter, start);
    err = scan_tables(iter, prefix, op, query, arena, out, ret_next);
    tv_iter_free(iter);
    tv_buf_add_lit(out, "]}");
    return err;
}
