/*
 * Index entities pattern in an entity: a list of keys in a property, and in others where one is
 * full.  Read, change, write with the etag, in one entity group transaction with whatever the
 * caller has to write beside it: there is no state in between.
 *
 * A list that does not change is written all the same when there is something beside it: its etag
 * is the condition that nobody has changed it since.
 */
#include "base/utf8.h"
#include "client/entity/rules.h"
#include "client/patterns/json_list.h"
#include "client/patterns/pattern.h"
#include "client/table/batch.h"

enum { PIECE_BYTES = 32 * 1024, NAME_MAX_BYTES = 1100 };

typedef struct list_change {
    const char *row_key;
    bool is_removal;
} list_change;

typedef struct lists {
    tavola_table *table;
    const char *partition_key, *property, *item;
    const list_change *changes;
    size_t count;
    const tavola_batch *with; /* or NULL */
    tavola_call *call;
} lists;

/* "EmployeeIDs", "EmployeeIDs_1"... */
static void piece_name(const char *property, size_t i, char ret_name[NAME_MAX_BYTES])
{
    if (i == 0)
        snprintf(ret_name, NAME_MAX_BYTES, "%s", property);
    else
        snprintf(ret_name, NAME_MAX_BYTES, "%s_%zu", property, i);
}

static tavola_err read_list(const tavola_entity *entity, const char *property,
                            tavola_names **ret_items)
{
    char name[NAME_MAX_BYTES];
    tvc_text json = {0};
    tavola_value piece;

    for (size_t i = 0; piece_name(property, i, name), tavola_entity_get(entity, name, &piece);
         i++) {
        if (piece.type != TAVOLA_STRING)
            break;
        tvc_text_add(&json, (tv_slice){piece.as.ptr, piece.size});
    }

    tavola_err err = json.has_failed ? TAVOLA_ERR_NO_MEMORY
                                     : tvc_json_list_read(tvc_text_slice(&json), ret_items);

    tvc_text_done(&json);
    return err;
}

static void write_pieces(tavola_entity *entity, const char *property, tv_slice json)
{
    char name[NAME_MAX_BYTES];
    size_t i = 0;

    for (; json.len > 0; i++) {
        size_t len = json.len < PIECE_BYTES ? json.len : PIECE_BYTES;

        piece_name(property, i, name);
        tavola_entity_set(entity, name,
                          (tavola_value){.type = TAVOLA_STRING, .size = len, .as.ptr = json.data});
        json = tv_slice_skip(json, len);
    }
    for (;; i++) {
        piece_name(property, i, name);
        if (tvc_entity_find(entity, tv_slice_of(name)) < 0)
            return;
        tvc_entity_forget(entity, name);
    }
}

static tavola_err write_list(const lists *self, tavola_entity *entity, const tavola_names *items)
{
    tvc_text json = {0};

    tvc_json_list_write(&json, items);
    if (!json.has_failed)
        write_pieces(entity, self->property, tvc_text_slice(&json));

    tavola_err err = json.has_failed ? TAVOLA_ERR_NO_MEMORY : tavola_entity_error(entity);

    tvc_text_done(&json);
    if (err == TAVOLA_OK && tavola_entity_bytes(entity) > TVC_ENTITY_BYTES_MAX)
        err = TAVOLA_ERR_TOO_LARGE;
    if (err == TAVOLA_ERR_TOO_LARGE)
        return tvc_call_refuse(self->call, err,
                               "the list is too long for an entity: keep it in a blob "
                               "(tavola_list_blob_add)");
    if (err && err != TAVOLA_ERR_NO_MEMORY)
        tvc_call_refuse(self->call, err, "%s", tavola_entity_error_text(entity));
    return err;
}

static tavola_err change_list(const lists *self, const list_change *change, tavola_entity *entity,
                              bool *is_changed)
{
    tavola_names *items = NULL;
    tavola_err err = read_list(entity, self->property, &items);

    if (err == TAVOLA_ERR_PROTOCOL)
        return tvc_call_refuse(self->call, err, "%s is not a list", self->property);
    if (err)
        return err;

    size_t before = items->count;

    if (change->is_removal)
        tvc_json_list_remove(items, self->item);
    else if (!tvc_json_list_add(items, self->item))
        err = TAVOLA_ERR_NO_MEMORY;
    *is_changed |= items->count != before;
    if (err == TAVOLA_OK)
        err = write_list(self, entity, items);
    tavola_names_free(items);
    return err;
}

/* Read one list and add its change to the transaction. */
static tavola_err add_change(const lists *self, const list_change *change, tavola_batch *to,
                             bool *is_changed)
{
    tavola_entity *entity = NULL;
    tavola_err err =
        tavola_get(self->table, self->partition_key, change->row_key, self->call, &entity);
    bool is_new = tvc_is_absent(err, self->call);

    if (is_new) {
        entity = tavola_entity_new(self->partition_key, change->row_key);
        err = entity ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
    }
    if (err)
        return err;

    err = change_list(self, change, entity, is_changed);
    if (err == TAVOLA_OK)
        tavola_batch_add(to, is_new ? TAVOLA_INSERT : TAVOLA_REPLACE, entity, NULL);
    tavola_entity_free(entity);
    return err;
}

/* Whether a transaction was refused because of a list, not of what was beside it. */
static bool is_lost_race(const lists *self, tavola_err err)
{
    bool is_condition =
        err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_EXISTS || tvc_is_absent(err, self->call);
    int at = tavola_call_failed_index(self->call);

    return is_condition && at >= 0 && (size_t)at >= tavola_batch_count(self->with);
}

static tavola_err change_once(const lists *self, bool *ret_is_lost_race)
{
    tavola_batch *batch = self->with ? tvc_batch_copy(self->with) : tavola_batch_new(self->table);
    bool is_changed = self->with != NULL;
    tavola_err err = batch ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;

    for (size_t i = 0; err == TAVOLA_OK && i < self->count; i++)
        err = add_change(self, &self->changes[i], batch, &is_changed);
    if (err == TAVOLA_OK && is_changed) {
        err = tavola_batch_run(batch, self->call);
        *ret_is_lost_race = err && is_lost_race(self, err);
    }
    tavola_batch_free(batch);
    return err;
}

static tavola_err change_in_rounds(const lists *self)
{
    for (unsigned round = 0;; round++) {
        bool is_lost_race = false;
        tavola_err err = change_once(self, &is_lost_race);

        if (!is_lost_race)
            return err;
        if (round + 1 == TVC_ROUNDS_MAX)
            return tvc_call_refuse(self->call, TAVOLA_ERR_ETAG,
                                   "others changed the list all the time");
        tvc_pause(round);
    }
}

static tavola_err check_property(const char *property, tavola_call *call)
{
    tvc_refusal refusal = tvc_check_name(property ? tv_slice_of(property) : TV_NONE);

    return refusal.err ? tvc_call_refuse(call, refusal.err, "the property %s", refusal.why)
                       : TAVOLA_OK;
}

/* Everything, before the first list is read. */
static tavola_err check(const lists *self)
{
    if (self->table == NULL || self->item == NULL)
        return tvc_call_refuse(self->call, TAVOLA_ERR_INVALID, "the table or the item is missing");
    if (!tv_utf8_is_valid(tv_slice_of(self->item)))
        return tvc_call_refuse(self->call, TAVOLA_ERR_INVALID, "the item is not valid UTF-8");
    if (!tavola_key_is_valid(self->partition_key))
        return tvc_call_refuse(self->call, TAVOLA_ERR_INVALID, "the PartitionKey is not a key");
    for (size_t i = 0; i < self->count; i++) {
        if (!tavola_key_is_valid(self->changes[i].row_key))
            return tvc_call_refuse(self->call, TAVOLA_ERR_INVALID, "the RowKey is not a key");
    }
    return check_property(self->property, self->call);
}

static tavola_err change(const lists *self)
{
    tavola_err err = check(self);

    if (err)
        return err;
    if (self->with && !tvc_batch_is_for(self->with, self->table))
        return tvc_call_refuse(self->call, TAVOLA_ERR_INVALID,
                               "the batch is of another table, or was run already");
    return change_in_rounds(self);
}

static tavola_err change_lists(lists self, tavola_call *call)
{
    tavola_call own;

    self.call = tvc_writing_call_of(call, &own);

    tavola_err err = change(&self);

    tvc_writing_call_done(call, &own);
    return err;
}

tavola_err tavola_list_add(tavola_table *table, const char *partition_key, const char *row_key,
                           const char *property, const char *item, tavola_batch *with,
                           tavola_call *call)
{
    list_change one = {row_key, false};

    return change_lists((lists){table, partition_key, property, item, &one, 1, with, NULL}, call);
}

tavola_err tavola_list_remove(tavola_table *table, const char *partition_key, const char *row_key,
                              const char *property, const char *item, tavola_batch *with,
                              tavola_call *call)
{
    list_change one = {row_key, true};

    return change_lists((lists){table, partition_key, property, item, &one, 1, with, NULL}, call);
}

tavola_err tavola_list_move(tavola_table *table, const char *partition_key,
                            const char *from_row_key, const char *to_row_key, const char *property,
                            const char *item, tavola_batch *with, tavola_call *call)
{
    list_change both[] = {{from_row_key, true}, {to_row_key, false}};

    return change_lists((lists){table, partition_key, property, item, both, 2, with, NULL}, call);
}

tavola_err tavola_list_get(tavola_table *table, const char *partition_key, const char *row_key,
                           const char *property, tavola_call *call, tavola_names **ret_items)
{
    tavola_err err = check_property(property, call);

    if (err)
        return err;
    if (ret_items == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no place for the items");

    tavola_call own;
    tavola_call *used = tvc_call_of(call, &own);
    tavola_entity *entity = NULL;

    err = tavola_get(table, partition_key, row_key, used, &entity);

    if (err == TAVOLA_OK) {
        err = read_list(entity, property, ret_items);
        if (err == TAVOLA_ERR_PROTOCOL)
            tvc_call_refuse(used, err, "%s is not a list", property);
    } else if (tvc_is_absent(err, used)) {
        err = tvc_json_list_read(TV_NONE, ret_items);
    }
    tavola_entity_free(entity);
    tvc_call_done(&own);
    return err;
}
