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

/* The most that a table takes beside a URL, and what closes the page: names are short. */
enum { TABLE_BYTES = 1024 };

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
    for (int i = 0; i < filter->names.count; i++) {
        slots[i].is_there = tv_slice_eq(filter->names.list[i], TV_LIT("TableName"));
        slots[i].value = (tv_property){.type = TV_EDM_STRING, .bytes = name};
    }
    return tv_filter_eval(filter->root, slots);
}

/* What the list keeps between two turns. */
struct tv_table_walk {
    tv_iter *iter;
    tv_slice prefix;
    tv_filter_slot *slots;
};

static tv_err begin_walk(tv_scan *scan, tv_engine *engine)
{
    tv_arena *arena = scan->arena;
    const tv_query *query = scan->query;
    tv_slice account = scan->op->endpoint.account;
    tv_slice prefix = tv_key_catalog_names(arena, TV_SPACE_TABLES, account);
    tv_slice start = query->next_table.data
                         ? tv_key_catalog_name(arena, TV_SPACE_TABLES, account, query->next_table)
                         : prefix;
    size_t name_count = (size_t)query->filter->names.count;
    tv_iter *iter;
    tv_err err;

    err = tv_engine_iter(engine, prefix, tv_key_after(arena, prefix), &iter);
    if (err)
        return err;

    tv_iter_seek(iter, start);
    scan->walk = tv_arena_alloc(arena, sizeof *scan->walk);
    *scan->walk = (struct tv_table_walk){
        .iter = iter,
        .prefix = prefix,
        .slots = tv_arena_alloc(arena, (name_count + 1) * sizeof(tv_filter_slot)),
    };
    return TV_OK;
}

static void end_walk(tv_scan *scan)
{
    tv_iter_free(scan->walk->iter);
    scan->walk = NULL;
}

static tv_err take_table(tv_scan *scan)
{
    tv_slice name;
    tv_err err;

    scan->page.examined++;
    err = tv_catalog_row_name(tv_iter_value(scan->walk->iter), &name);
    if (err || !passes(scan->query->filter, scan->walk->slots, name))
        return err;

    err = tv_buf_try_grow(scan->out, TABLE_BYTES + scan->op->endpoint.base_url.len);
    if (err)
        return err;

    if (scan->page.returned++)
        tv_buf_add_char(scan->out, ',');
    add_table(scan->out, scan->op, name);
    return TV_OK;
}

/* Every page looks at one table at least, see look_at_limits of scan.c. */
static tv_err walk(tv_scan *scan, tv_turn *turn, bool *ret_is_done)
{
    tv_iter *iter = scan->walk->iter;

    for (; tv_iter_is_valid(iter); tv_iter_next(iter)) {
        bool is_over = scan->page.examined && tv_turn_is_over(turn, 1);
        tv_err err;

        if (tv_page_is_full(&scan->page, scan->out) ||
            (is_over && (turn->must_end || tv_page_is_late(&scan->page)))) {
            tv_slice lower_name = tv_slice_skip(tv_iter_key(iter), scan->walk->prefix.len);

            scan->next.next_table = table_token(scan->arena, lower_name);
            break;
        }
        if (is_over) {
            *ret_is_done = false;
            return TV_OK;
        }
        err = take_table(scan);
        if (err)
            return err;
    }
    return tv_iter_status(iter);
}

static void begin_page(tv_scan *scan)
{
    tv_entity_view view = tv_table_op_view(scan->op);

    view.table = TV_LIT("Tables");
    tv_scan_add_opening(scan->out, &view);
    scan->next = (tv_continuation){0};
    scan->page = tv_page_begin(scan->query->top, scan->time_max_ns, scan->out);
}

tv_err tv_table_list(tv_scan *scan, tv_engine *engine, tv_turn *turn, bool *ret_is_done)
{
    tv_err err = TV_OK;

    *ret_is_done = true;
    if (scan->walk == NULL) {
        begin_page(scan);
        if (!tv_filter_passes_nothing(scan->query->filter))
            err = begin_walk(scan, engine);
    }
    if (err == TV_OK && scan->walk) {
        err = walk(scan, turn, ret_is_done);
        if (err == TV_OK && !*ret_is_done)
            return TV_OK;
        end_walk(scan);
    }
    tv_buf_add_lit(scan->out, "]}");
    return err;
}
