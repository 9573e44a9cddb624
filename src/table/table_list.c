/*
 * Scanning the catalogue.  Its rows are in the order of lower-case names, and a
 * filter compares names as they were created, so the filter is tested on every
 * table instead of being turned into ranges.
 */
#include "table/table_list.h"

#include "catalog/catalog.h"
#include "engine/key.h"
#include "table/scan.h"
#include "table/token.h"

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

/* A table has one property, its name. */
static bool passes(const tv_filter *filter, tv_filter_slot *slots, tv_slice name)
{
    for (int i = 0; i < filter->name_count; i++) {
        slots[i].is_there = tv_slice_eq(filter->names[i], TV_LIT("TableName"));
        slots[i].value = (tv_property){.type = TV_EDM_STRING, .bytes = name};
    }
    return tv_filter_eval(filter->root, slots);
}

static tv_err scan_catalog(tv_iter *iter, tv_slice prefix, const tv_table_op *op,
                           const tv_query *query, tv_arena *arena, tv_buf *out, tv_page *page,
                           tv_continuation *next)
{
    tv_filter_slot *slots =
        tv_arena_alloc(arena, ((size_t)query->filter->name_count + 1) * sizeof *slots);

    for (; tv_iter_is_valid(iter); tv_iter_next(iter)) {
        tv_slice name;
        tv_err err;

        if (tv_page_is_full(page, out)) {
            next->next_table = table_token(arena, tv_slice_skip(tv_iter_key(iter), prefix.len));
            break;
        }
        page->examined++;
        err = tv_catalog_row_name(tv_iter_value(iter), &name);
        if (err)
            return err;
        if (!passes(query->filter, slots, name))
            continue;

        if (page->returned++)
            tv_buf_add_char(out, ',');
        add_table(out, op, name);
    }
    return tv_iter_status(iter);
}

tv_err tv_table_list(tv_engine *engine, const tv_table_op *op, const tv_query *query,
                     int64_t time_max_ns, tv_arena *arena, tv_buf *out, tv_page *ret_page,
                     tv_continuation *ret_next)
{
    tv_slice account = op->endpoint.account;
    tv_slice prefix = tv_key_catalog_names(arena, TV_SPACE_TABLES, account);
    tv_slice start = query->next_table.data
                         ? tv_key_catalog_name(arena, TV_SPACE_TABLES, account, query->next_table)
                         : prefix;
    tv_entity_view view = tv_table_op_view(op);
    tv_iter *iter;
    tv_err err = TV_OK;

    view.table = TV_LIT("Tables");
    tv_scan_add_opening(out, &view);
    *ret_next = (tv_continuation){0};
    *ret_page = tv_page_begin(query->top, time_max_ns, out);
    if (!tv_filter_passes_nothing(query->filter)) {
        err = tv_engine_iter(engine, prefix, tv_key_after(arena, prefix), &iter);
        if (err)
            return err;

        tv_iter_seek(iter, start);
        err = scan_catalog(iter, prefix, op, query, arena, out, ret_page, ret_next);
        tv_iter_free(iter);
    }
    tv_buf_add_lit(out, "]}");
    return err;
}
