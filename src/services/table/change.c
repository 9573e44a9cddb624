/*
 * What each operation does to a row:
 *
 *                          row exists                row is missing
 *     insert               ENTITY_EXISTS             stored
 *     update, merge        condition, then stored    ENTITY_NOT_FOUND
 *     insert-or-…          stored                    stored
 *     delete               condition, then removed   ENTITY_NOT_FOUND
 */
#include "services/table/change.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/thread.h"
#include "store/engine/key.h"

void tv_table_change_set_init(tv_table_change_set *set, tv_arena *arena, tv_container *table,
                              size_t size)
{
    *set = (tv_table_change_set){
        .table = table,
        .arena = arena,
        .changes = tv_arena_alloc(arena, size * sizeof *set->changes),
        .size = size,
    };
}

tv_err tv_table_change_set_add(tv_table_change_set *set, const tv_table_command *command)
{
    tv_entity_change *change = &set->changes[set->count];
    tv_err err;

    tv_assert(set->count < set->size);
    tv_assert(set->count == 0 || tv_slice_eq(command->resource.partition_key,
                                             set->changes[0].command->resource.partition_key));
    *change = (tv_entity_change){.command = command};
    if (set->count == 0) {
        err = tv_key_partition(set->arena, set->table->account, set->table->id,
                               command->resource.partition_key, &set->partition);
        if (err)
            return err;
    }

    err = tv_key_row(set->arena, set->partition, command->resource.row_key, &change->key);
    if (err)
        return err;

    if (command->kind != TV_TABLE_OP_DELETE_ENTITY)
        change->sent = tv_entity_encode(set->arena, &command->body.properties);
    set->count++;
    return TV_OK;
}

/* The entity does not exist. */
static tv_err check_missing(const tv_table_command *command)
{
    switch (command->kind) {
    case TV_TABLE_OP_INSERT_ENTITY:
    case TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY:
    case TV_TABLE_OP_INSERT_OR_MERGE_ENTITY:
        return TV_OK;
    default:
        return TV_ERR_ENTITY_NOT_FOUND;
    }
}

/* The entity exists and was last written at `ticks`. */
static tv_err check_existing(const tv_table_command *command, int64_t ticks)
{
    if (command->kind == TV_TABLE_OP_INSERT_ENTITY)
        return TV_ERR_ENTITY_EXISTS;
    return tv_table_condition_holds(&command->condition, ticks) ? TV_OK : TV_ERR_ETAG_MISMATCH;
}

/* Count an entity that is to be merged. */
static tv_err count_merge(tv_table_change_set *set, tv_slice stored)
{
    set->merged_bytes += stored.len;
    if (set->refuses_much && set->merged_bytes > TV_MERGED_THERE_BYTES_MAX)
        return TV_ERR_WOULD_BLOCK;
    return set->merged_bytes > TV_MERGED_BYTES_MAX ? TV_ERR_MERGE_TOO_LARGE : TV_OK;
}

/* Lay the change over the stored entity; the result must keep the limits of the whole. */
static tv_err lay_over(tv_arena *arena, tv_slice stored, const tv_table_command *command,
                       tv_entity_properties *ret_merged)
{
    tv_err err = tv_entity_merge(arena, stored, &command->body.properties, ret_merged);

    if (err)
        return err;
    return tv_entity_check_limits(command->resource.partition_key, command->resource.row_key,
                                  ret_merged);
}

static tv_err merge(tv_table_change_set *set, tv_slice stored, tv_entity_change *change)
{
    tv_entity_properties merged;
    tv_err err;

    /* The client has sent little, but what is stored may be much: here, and in what is written. */
    err = tv_arena_reserve(set->arena, 3 * stored.len);
    if (err)
        return err;

    err = lay_over(set->arena, stored, change->command, &merged);
    if (err)
        return err;

    change->value = tv_entity_encode(set->arena, &merged);
    return TV_OK;
}

/* A row has another timestamp whenever it was written: if it has the same one, nothing changed. */
static tv_err merge_or_take(tv_table_change_set *set, tv_slice stored, int64_t timestamp,
                            tv_entity_change *change)
{
    if (change->ahead.len == 0 || change->ahead_of != timestamp)
        return merge(set, stored, change);

    change->value = change->ahead;
    return TV_OK;
}

static tv_err apply(tv_txn *txn, tv_table_change_set *set, tv_entity_change *change, int64_t stamp)
{
    const tv_table_command *command = change->command;
    tv_slice stored = TV_NONE;
    int64_t old_timestamp = 0;
    tv_err err;

    /* A run before this one may have left the merger with a row that is gone by now. */
    change->value = change->sent;
    change->old_timestamp = 0;
    err = tv_txn_get(txn, change->key, &stored);
    if (err == TV_ERR_NOT_FOUND) {
        err = check_missing(command);
    } else if (err == TV_OK) {
        err = tv_entity_timestamp(stored, &old_timestamp);
        change->old_timestamp = old_timestamp;
        if (err == TV_OK)
            err = check_existing(command, old_timestamp);
        if (err == TV_OK && tv_table_command_is_merge(command))
            err = count_merge(set, stored);
        if (err == TV_OK && tv_table_command_is_merge(command))
            err = merge_or_take(set, stored, old_timestamp, change);
    }
    if (err)
        return err;

    if (command->kind == TV_TABLE_OP_DELETE_ENTITY) {
        tv_txn_delete(txn, change->key);
        tv_txn_note_gone(txn, old_timestamp);
        return TV_OK;
    }

    if (old_timestamp == TV_TICKS_MAX)
        return TV_ERR_CORRUPT; /* nothing is later, and nothing was written then */

    /* ETags of one entity strictly increase, even when two writes meet in one tick. */
    change->timestamp = stamp > old_timestamp ? stamp : old_timestamp + 1;
    tv_assert(change->timestamp > old_timestamp);
    tv_txn_pass(txn, change->timestamp);
    tv_entity_set_timestamp(change->value, change->timestamp);
    tv_txn_put(txn, change->key, change->value);
    return TV_OK;
}

static bool only_deletes(const tv_table_change_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->changes[i].command->kind != TV_TABLE_OP_DELETE_ENTITY)
            return false;
    }
    return true;
}

static tv_err run(tv_txn *txn, void *ctx)
{
    tv_table_change_set *set = ctx;

    if (only_deletes(set))
        tv_txn_declare_freeing(txn);
    tv_txn_declare_late(txn);
    set->failed = 0;
    set->merged_bytes = 0;
    if (atomic_load(&set->table->is_dropped))
        return TV_ERR_TABLE_NOT_FOUND;

    /*
     * Not the group's own instant: the group may have deleted an entity that
     * had it for its ETag.
     */
    int64_t stamp = tv_txn_stamp(txn);

    for (size_t i = 0; i < set->count; i++) {
        tv_err err = apply(txn, set, &set->changes[i], stamp);

        if (err) {
            set->failed = i;
            return err;
        }
    }
    return TV_OK;
}

/* The rows that the run asks for: one for each change. */
static const tv_slice *keys_of(const tv_table_change_set *set)
{
    if (set->count == 1)
        return &set->changes[0].key;

    tv_slice *keys = tv_arena_alloc(set->arena, set->count * sizeof *keys);

    for (size_t i = 0; i < set->count; i++)
        keys[i] = set->changes[i].key;
    return keys;
}

void tv_table_change_set_prepare(tv_table_change_set *set, tv_write *write)
{
    tv_assert(set->count > 0 && set->partition.len > 0);
    write->partition = set->partition;
    write->run = run;
    write->ctx = set;
    write->reads = keys_of(set);
    write->read_count = set->count;
    write->expects_none = true;
    for (size_t i = 0; i < set->count; i++) {
        write->bytes += set->changes[i].sent.len;
        write->expects_none &= set->changes[i].command->kind == TV_TABLE_OP_INSERT_ENTITY;
    }
}

/* What a change meets in the iterator's snapshot; `ret_stored` is TV_NONE when there is no row. */
static tv_err look_up(tv_iter *iter, const tv_entity_change *change, tv_slice *ret_stored,
                      int64_t *ret_timestamp)
{
    tv_err err;

    *ret_stored = TV_NONE;
    tv_iter_seek(iter, change->key);
    if (!tv_iter_is_valid(iter) || !tv_slice_eq(tv_iter_key(iter), change->key)) {
        err = tv_iter_status(iter);
        return err ? err : check_missing(change->command);
    }

    *ret_stored = tv_iter_value(iter);
    err = tv_entity_timestamp(*ret_stored, ret_timestamp);
    return err ? err : check_existing(change->command, *ret_timestamp);
}

/*
 * What a run does except for the writing, in the same order, so that it meets
 * the same errors.  Values stay where they are.
 */
static tv_err check_ahead(tv_table_change_set *set, tv_iter *iter)
{
    tv_arena scratch;
    tv_err err = TV_OK;

    tv_arena_init(&scratch);
    for (size_t i = 0; i < set->count && err == TV_OK; i++) {
        const tv_entity_change *change = &set->changes[i];
        int64_t timestamp;
        tv_entity_properties merged;
        tv_slice stored;

        set->failed = i;
        err = look_up(iter, change, &stored, &timestamp);
        if (err || stored.data == NULL || !tv_table_command_is_merge(change->command))
            continue;

        err = count_merge(set, stored);
        if (err == TV_OK)
            err = lay_over(&scratch, stored, change->command, &merged);
        tv_arena_reset(&scratch);
        tv_thread_step(TV_STEP_LARGE);
    }
    tv_arena_done(&scratch);
    return err;
}

/* Make the rows that the merges write. */
static tv_err merge_ahead(tv_table_change_set *set, tv_iter *iter)
{
    for (size_t i = 0; i < set->count; i++) {
        tv_entity_change *change = &set->changes[i];
        int64_t timestamp;
        tv_slice stored;
        tv_err err = look_up(iter, change, &stored, &timestamp);

        if (err == TV_OK && stored.data && tv_table_command_is_merge(change->command)) {
            err = merge(set, stored, change);
            change->ahead = err ? TV_NONE : change->value;
            change->ahead_of = timestamp;
        }
        if (err) {
            set->failed = i;
            return err;
        }
        tv_thread_step(TV_STEP_LARGE);
    }
    return TV_OK;
}

tv_err tv_table_change_set_merge_ahead(tv_table_change_set *set, tv_engine *engine, tv_write *write)
{
    tv_iter *iter;
    tv_err err;

    set->refuses_much = false;
    set->failed = 0;
    set->merged_bytes = 0;
    if (atomic_load(&set->table->is_dropped))
        return TV_ERR_TABLE_NOT_FOUND;

    err = tv_engine_iter(engine, set->partition, tv_key_after(set->arena, set->partition), &iter);
    if (err)
        return err;

    /* First check whether it fits: then a set that is refused takes no memory. */
    err = check_ahead(set, iter);
    if (err == TV_OK)
        err = merge_ahead(set, iter);
    tv_iter_free(iter);
    if (err == TV_OK)
        write->bytes += set->merged_bytes;
    return err;
}
