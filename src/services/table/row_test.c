/* Filling the slots of a filter from stored bytes. */
#include "services/table/row_test.h"

#include "model/entity/entity.h"
#include "store/engine/key.h"

/* What the residual test needs of a row: which properties, and room for their values. */
struct tv_table_row_test {
    const tv_node *residual;
    const tv_filter *filter;
    bool *is_needed;       /* by the residual; the ranges may have decided others */
    tv_filter_slot *slots; /* one for each name, like is_needed */
    bool needs_keys;
    int timestamp;      /* its index among the names, -1 when it is not needed */
    int property_count; /* names that are needed and are neither keys nor the Timestamp */
    size_t node_count;  /* of the residual */
};

static void mark_needed(tv_table_row_test *test, const tv_node *node)
{
    test->node_count++;
    if (node->kind == TV_NODE_COMPARE || node->kind == TV_NODE_TRUTH)
        test->is_needed[node->name] = true;
    for (const tv_node *child = tv_node_first(node); child; child = child->next)
        mark_needed(test, child);
}

tv_table_row_test *tv_table_row_test_new(tv_arena *arena, const tv_plan *plan)
{
    tv_table_row_test *test = tv_arena_zalloc(arena, sizeof *test);
    const tv_filter *filter = plan->filter;

    test->residual = plan->residual;
    test->filter = filter;
    test->timestamp = -1;
    if (plan->residual == NULL)
        return test;

    size_t name_count = (size_t)filter->names.count;

    test->is_needed = tv_arena_zalloc(arena, name_count * sizeof *test->is_needed);
    test->slots = tv_arena_alloc(arena, name_count * sizeof *test->slots);
    mark_needed(test, plan->residual);
    for (int i = 0; i < filter->names.count; i++) {
        if (!test->is_needed[i])
            continue;
        if (tv_filter_is_key(filter, i))
            test->needs_keys = true;
        else if (tv_slice_eq(filter->names.list[i], TV_LIT("Timestamp")))
            test->timestamp = i;
        else
            test->property_count++;
    }
    return test;
}

unsigned tv_table_row_work(const tv_table_row_test *test, tv_slice value)
{
    return 1 + (unsigned)(test->node_count / 64) + (unsigned)(value.len / 4096);
}

tv_err tv_table_row_split(tv_table_row *row, tv_slice prefix, tv_arena *scratch)
{
    tv_err err;

    if (row->is_split)
        return TV_OK;

    err = tv_key_split_row(scratch, prefix, row->key, &row->partition_key, &row->row_key);
    row->is_split = err == TV_OK;
    return err;
}

static void set_slot(tv_table_row_test *test, int name, tv_property value)
{
    if (name >= 0 && test->is_needed[name])
        test->slots[name] = (tv_filter_slot){true, value};
}

static tv_err fill_keys(tv_table_row_test *test, tv_table_row *row, tv_slice prefix,
                        tv_arena *scratch)
{
    tv_err err = tv_table_row_split(row, prefix, scratch);

    if (err)
        return err;

    set_slot(test, test->filter->partition_name,
             (tv_property){.type = TV_EDM_STRING, .bytes = row->partition_key});
    set_slot(test, test->filter->row_name,
             (tv_property){.type = TV_EDM_STRING, .bytes = row->row_key});
    return TV_OK;
}

/* Walk over the stored bytes once, no further than the last one needed; nothing is built. */
static tv_err fill_properties(tv_table_row_test *test, tv_slice value)
{
    int missing = test->property_count;
    tv_entity_cursor cursor;
    tv_property property;

    tv_entity_cursor_init(&cursor, value);
    set_slot(test, test->timestamp,
             (tv_property){.type = TV_EDM_DATETIME, .ticks = cursor.timestamp});
    while (missing > 0 && tv_entity_next(&cursor, &property)) {
        int name = tv_names_find(&test->filter->names, property.name);

        if (name < 0 || !test->is_needed[name])
            continue;
        test->slots[name] = (tv_filter_slot){true, property};
        missing--;
    }
    return cursor.is_corrupt ? TV_ERR_CORRUPT : TV_OK;
}

tv_err tv_table_row_passes(tv_table_row_test *test, tv_table_row *row, tv_slice prefix,
                           tv_arena *scratch, bool *ret_passes)
{
    tv_err err = TV_OK;

    if (test->residual) {
        for (int i = 0; i < test->filter->names.count; i++)
            test->slots[i].is_there = false;
        if (test->needs_keys)
            err = fill_keys(test, row, prefix, scratch);
        if (err == TV_OK && (test->property_count || test->timestamp >= 0))
            err = fill_properties(test, row->value);
    }
    *ret_passes = err == TV_OK && tv_filter_eval(test->residual, test->slots);
    return err;
}
