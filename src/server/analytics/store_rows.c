/* Rows of metrics: read, added to, written if nobody else has changed them meanwhile. */
#include "server/analytics/store.h"
#include "services/table/change.h"
#include "store/engine/key.h"

enum {
    TRIES_MAX = 64,        /* others count into the same rows, once a minute each */
    DELETE_ROWS_MAX = 100, /* in one step */
};

static tv_table_command *add_op(tv_arena *arena, tv_table_op_kind kind, tv_slice partition_key,
                                tv_slice row_key)
{
    tv_table_command *op = tv_arena_zalloc(arena, sizeof *op);

    op->kind = kind;
    op->resource.where = TV_TABLE_AT_ENTITY;
    op->resource.partition_key = partition_key;
    op->resource.row_key = row_key;
    return op;
}

static tv_err run(tv_analytics_store *store, tv_table_change_set *set)
{
    tv_write write = {0};

    tv_table_change_set_prepare(set, &write);
    return tv_waiter_run(&store->waiter, &write);
}

static tv_err read_rows(tv_analytics_store *store, tv_container *table, tv_arena *arena,
                        tv_slice partition_key, const tv_analytics_row *rows, size_t count,
                        tv_slice **ret_values)
{
    tv_slice *keys = tv_arena_alloc(arena, count * sizeof *keys);
    tv_slice *values = tv_arena_zalloc(arena, count * sizeof *values), partition;
    tv_err err;

    err = tv_key_partition(arena, table->account, table->id, partition_key, &partition);
    for (size_t i = 0; err == TV_OK && i < count; i++)
        err = tv_key_row(arena, partition, rows[i].row_key, &keys[i]);
    if (err == TV_OK)
        err = tv_engine_get_rows(store->engine, keys, count, arena, values);
    if (err == TV_OK)
        *ret_values = values;
    return err;
}

/* The change that adds to a row as it was read: an update of just that one, or an insert. */
static tv_err add_change(tv_table_change_set *set, tv_arena *arena, tv_slice partition_key,
                         const tv_analytics_row *row, tv_slice stored)
{
    tv_table_command *op = add_op(arena, TV_TABLE_OP_INSERT_ENTITY, partition_key, row->row_key);
    tv_analytics_counts counts = {0};
    tv_err err = TV_OK;

    if (stored.data) {
        op->kind = TV_TABLE_OP_UPDATE_ENTITY;
        op->condition.kind = TV_TABLE_CONDITION_EXACT;
        err = tv_entity_timestamp(stored, &op->condition.ticks);
        if (err == TV_OK)
            err = tv_analytics_counts_decode(stored, &counts);
        if (err)
            return err;
    }
    tv_analytics_counts_add(&counts, row->counts);
    op->body.properties = tv_analytics_counts_encode(arena, &counts);
    return tv_table_change_set_add(set, op);
}

static tv_err try_to_count(tv_analytics_store *store, tv_container *table, tv_arena *arena,
                           tv_slice partition_key, const tv_analytics_row *rows, size_t count)
{
    tv_table_change_set set;
    tv_slice *values;
    tv_err err;

    err = read_rows(store, table, arena, partition_key, rows, count, &values);
    if (err)
        return err;

    tv_table_change_set_init(&set, arena, table, count);
    for (size_t i = 0; i < count; i++) {
        err = add_change(&set, arena, partition_key, &rows[i], values[i]);
        if (err)
            return err;
    }
    return run(store, &set);
}

static bool has_changed(tv_err err)
{
    return err == TV_ERR_ETAG_MISMATCH || err == TV_ERR_ENTITY_EXISTS ||
           err == TV_ERR_ENTITY_NOT_FOUND || err == TV_ERR_MOVED;
}

tv_err tv_analytics_store_count(tv_analytics_store *store, tv_container *table,
                                tv_slice partition_key, const tv_analytics_row *rows, size_t count)
{
    tv_arena arena;
    tv_err err;
    int tries = 0;

    tv_arena_init(&arena);
    do {
        tv_arena_reset(&arena);
        err = try_to_count(store, table, &arena, partition_key, rows, count);
    } while (has_changed(err) && ++tries < TRIES_MAX);
    tv_arena_done(&arena);
    return err;
}

tv_err tv_analytics_store_set(tv_analytics_store *store, tv_container *table,
                              tv_slice partition_key, tv_slice row_key,
                              const tv_entity_properties *properties)
{
    tv_table_change_set set;
    tv_table_command *op;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    op = add_op(&arena, TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY, partition_key, row_key);
    op->body.properties = *properties;
    tv_table_change_set_init(&set, &arena, table, 1);
    err = tv_table_change_set_add(&set, op);
    if (err == TV_OK)
        err = run(store, &set);
    tv_arena_done(&arena);
    return err;
}

tv_err tv_analytics_store_has(tv_analytics_store *store, tv_container *table,
                              tv_slice partition_key, tv_slice row_key, bool *ret_has)
{
    tv_analytics_row row = {.row_key = row_key};
    tv_slice *values;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = read_rows(store, table, &arena, partition_key, &row, 1, &values);
    if (err == TV_OK)
        *ret_has = values[0].data != NULL;
    tv_arena_done(&arena);
    return err;
}

/* --- what is old --- */

/* The keys of the first rows, which are of one partition; none when all are later. */
static tv_err find_old(tv_analytics_store *store, tv_container *table, tv_arena *arena,
                       tv_slice end, tv_table_change_set *set)
{
    tv_slice to, first = TV_NONE;
    tv_iter *iter;
    tv_err err;

    err = tv_key_partition(arena, table->account, table->id, end, &to);
    if (err == TV_OK)
        err = tv_engine_iter(store->engine, table->prefix, to, &iter);
    if (err)
        return err;

    for (tv_iter_seek(iter, table->prefix);
         err == TV_OK && tv_iter_is_valid(iter) && set->count < set->size; tv_iter_next(iter)) {
        tv_slice partition_key, row_key;

        err = tv_key_split_row(arena, table->prefix, tv_iter_key(iter), &partition_key, &row_key);
        if (err)
            break;
        if (first.data == NULL)
            first = tv_arena_dup(arena, partition_key);
        if (!tv_slice_eq(first, partition_key))
            break;

        tv_table_command *op =
            add_op(arena, TV_TABLE_OP_DELETE_ENTITY, first, tv_arena_dup(arena, row_key));

        op->condition.kind = TV_TABLE_CONDITION_ANY;
        err = tv_table_change_set_add(set, op);
    }
    if (err == TV_OK)
        err = tv_iter_status(iter);
    tv_iter_free(iter);
    return err;
}

tv_err tv_analytics_store_delete_before(tv_analytics_store *store, tv_container *table,
                                        tv_slice end, bool *ret_is_done)
{
    tv_table_change_set set;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    tv_table_change_set_init(&set, &arena, table, DELETE_ROWS_MAX);
    err = find_old(store, table, &arena, end, &set);
    if (err == TV_OK && set.count)
        err = run(store, &set);
    *ret_is_done = set.count == 0;
    tv_arena_done(&arena);
    return err == TV_ERR_ENTITY_NOT_FOUND ? TV_OK : err; /* its owner was faster: look again */
}
