/*
 * Pages of the catalogue.  It is in the order of lower-case names, and a filter
 * compares names as they were created, so the filter is tested on every table
 * instead of being turned into ranges.
 */
#include "services/table/table_list.h"

#include "services/service/analytics_names.h"
#include "services/table/scan.h"
#include "services/table/token.h"

/* The most that a table takes in addition to a URL, and what closes the page: names are short. */
enum { TABLE_BYTES = 1024 };

static void add_table(tv_buf *out, const tv_table_command *command, tv_slice name)
{
    tv_buf_add_char(out, '{');
    if (command->level == TV_TABLE_METADATA_FULL) {
        tv_buf_printf(out,
                      "\"odata.type\":\"%.*s.Tables\",\"odata.id\":\"%.*s/Tables('%.*s')\","
                      "\"odata.editLink\":\"Tables('%.*s')\",",
                      TV_FMT(command->endpoint.account), TV_FMT(command->endpoint.base_url),
                      TV_FMT(name), TV_FMT(name));
    }
    tv_buf_printf(out, "\"TableName\":\"%.*s\"}", TV_FMT(name));
}

/* As the cloud service does: the lower-case name, U+0001 and 16 hexadecimal digits. */
static tv_slice table_token(tv_arena *arena, tv_slice name)
{
    char *lower = tv_arena_bytes(arena, name.len);

    for (size_t i = 0; i < name.len; i++)
        lower[i] = tv_ascii_lower(name.data[i]);
    return tv_table_token_format(
        arena, tv_arena_printf(arena, "%.*s" TV_KEY_MARK_TEXT "%016x", (int)name.len, lower, 0));
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

/* What the list keeps between two turns, and what one of them finds. */
struct tv_table_walk {
    tv_filter_slot *slots;
    tv_slice next; /* the name to go on with, empty at first */
    tv_turn *turn;
    bool is_turn_over;
    tv_err err;
};

static struct tv_table_walk *walk_new(const tv_table_scan *scan)
{
    size_t name_count = (size_t)scan->query->filter->names.count;
    struct tv_table_walk *walk = tv_arena_zalloc(scan->arena, sizeof *walk);

    walk->slots = tv_arena_alloc(scan->arena, (name_count + 1) * sizeof *walk->slots);
    walk->next = scan->query->next_table;
    return walk;
}

static tv_err take_table(tv_table_scan *scan, tv_slice name)
{
    tv_err err = tv_buf_try_grow(scan->out, TABLE_BYTES + scan->command->endpoint.base_url.len);

    if (err)
        return err;

    if (scan->page.returned++)
        tv_buf_add_char(scan->out, ',');
    add_table(scan->out, scan->command, name);
    return TV_OK;
}

/*
 * Every page looks at one table at least, see look_at_limits of scan.c.  A full one goes on to
 * the next table that belongs to the list, so that its token does not lead to an empty page.
 */
static bool look_at_table(void *ctx, tv_slice name, tv_slice attributes)
{
    tv_table_scan *scan = ctx;
    struct tv_table_walk *walk = scan->walk;
    tv_turn *turn = walk->turn;
    bool is_over = scan->page.examined && tv_turn_is_over(turn, 1);

    (void)attributes;
    if (tv_analytics_owns(TV_SERVICE_TABLE, name))
        return true;
    if (is_over && !turn->must_end && !tv_table_page_is_late(&scan->page)) {
        walk->next = tv_arena_dup(scan->arena, name);
        walk->is_turn_over = true;
        return false;
    }
    if (!is_over && !passes(scan->query->filter, walk->slots, name)) {
        scan->page.examined++;
        return true;
    }
    if (is_over || tv_table_page_is_full(&scan->page, scan->out)) {
        scan->next.next_table = table_token(scan->arena, name);
        return false;
    }
    scan->page.examined++;
    walk->err = take_table(scan, name);
    return walk->err == TV_OK;
}

static tv_err walk_on(tv_table_scan *scan, tv_catalog *catalog, tv_turn *turn)
{
    struct tv_table_walk *walk = scan->walk;
    tv_err err;

    walk->turn = turn;
    walk->is_turn_over = false;
    err = tv_catalog_list(catalog, scan->command->endpoint.account, TV_LIT(""), walk->next,
                          look_at_table, scan);
    return err ? err : walk->err;
}

static void begin_page(tv_table_scan *scan)
{
    tv_entity_view view = tv_table_command_view(scan->command);

    view.table = TV_LIT("Tables");
    tv_table_scan_add_opening(scan->out, &view);
    scan->next = (tv_table_continuation){0};
    scan->page = tv_table_page_begin(scan->query->top, scan->time_max_ns, scan->out);
}

tv_err tv_table_list(tv_table_scan *scan, tv_catalog *catalog, tv_turn *turn, bool *ret_is_done)
{
    tv_err err = TV_OK;

    *ret_is_done = true;
    if (scan->walk == NULL) {
        begin_page(scan);
        scan->walk = walk_new(scan);
    }
    if (!tv_filter_passes_nothing(scan->query->filter))
        err = walk_on(scan, catalog, turn);
    if (err == TV_OK && scan->walk->is_turn_over) {
        *ret_is_done = false;
        return TV_OK;
    }
    tv_buf_add_lit(scan->out, "]}");
    return err;
}
