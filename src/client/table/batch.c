/* One entity group transaction of the application. */
#include "client/table/batch.h"

#include "base/grow.h"

struct tavola_batch {
    tavola_table *table;   /* ours, or NULL when there was none */
    tvc_batch_item *items; /* those that were taken */
    size_t count, size;
    size_t added;     /* with those that were not */
    tavola_err error; /* the first, of which `why` says more */
    int error_index;
    char why[128];
    bool is_spent;
    tvc_batch_etags etags;
};

tavola_batch *tavola_batch_new(tavola_table *table)
{
    tavola_batch *batch = tvc_zalloc(sizeof *batch);

    if (batch == NULL)
        return NULL;
    batch->error_index = -1;
    if (table == NULL) {
        batch->error = TAVOLA_ERR_INVALID;
        snprintf(batch->why, sizeof batch->why, "there is no table: it is NULL");
        return batch;
    }
    batch->table = tvc_table_copy(table);
    if (batch->table == NULL) {
        tvc_release(batch);
        return NULL;
    }
    return batch;
}

void tavola_batch_free(tavola_batch *batch)
{
    if (batch == NULL)
        return;

    for (size_t i = 0; i < batch->count; i++)
        tvc_batch_item_done(&batch->items[i]);
    tvc_release(batch->items);
    tvc_release(batch->etags.answer);
    tavola_table_close(batch->table);
    tvc_release(batch);
}

size_t tavola_batch_count(const tavola_batch *batch)
{
    return batch ? batch->added : 0;
}

const char *tavola_batch_etag(const tavola_batch *batch, size_t i)
{
    return batch && i < batch->count ? batch->etags.at[i] : NULL;
}

/* ---- adding: the first error stays ---- */

static void fail_at(tavola_batch *batch, tavola_err err, size_t index, const char *why)
{
    if (batch->error)
        return;

    batch->error = err;
    batch->error_index = (int)index;
    snprintf(batch->why, sizeof batch->why, "%s", why);
}

/* Whether the rules of a batch allow a write beside those that are in it. */
static bool check_rules(tavola_batch *batch, const tvc_batch_item *item)
{
    const tavola_entity *first = batch->count ? batch->items[0].entity : item->entity;

    if (strcmp(first->partition_key, item->entity->partition_key) != 0) {
        fail_at(batch, TAVOLA_ERR_INVALID, batch->added,
                "all writes of a batch must have the same PartitionKey");
        return false;
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (tvc_batch_item_same(&batch->items[i], item)) {
            fail_at(batch, TAVOLA_ERR_INVALID, batch->added,
                    "an entity can be in a batch only once");
            return false;
        }
    }
    return true;
}

static void add(tavola_batch *batch, tavola_write kind, const tavola_entity *entity,
                const char *if_match)
{
    const char *why = "";
    tavola_err err = tvc_entity_check(entity, &why);
    tvc_batch_item item;

    if (err) {
        fail_at(batch, err, batch->added, why);
        return;
    }
    if (batch->count == TVC_BATCH_WRITES_MAX) {
        fail_at(batch, TAVOLA_ERR_TOO_LARGE, batch->added,
                "a batch can have at most 100 writes; tavola_bulk takes any number");
        return;
    }
    if (!tv_try_grow(&batch->items, batch->count, &batch->size, 8) ||
        tvc_batch_item_init(&item, kind, entity, if_match) != TAVOLA_OK) {
        fail_at(batch, TAVOLA_ERR_NO_MEMORY, batch->added, "there is no memory");
        return;
    }
    if (check_rules(batch, &item))
        batch->items[batch->count++] = item;
    else
        tvc_batch_item_done(&item);
}

void tavola_batch_add(tavola_batch *batch, tavola_write write, const tavola_entity *entity,
                      const char *if_match)
{
    if (batch == NULL)
        return;
    if (batch->is_spent)
        fail_at(batch, TAVOLA_ERR_INVALID, batch->added, "the batch was run already");
    else if (batch->error == TAVOLA_OK)
        add(batch, write, entity, if_match);
    batch->added++;
}

/* ---- for those who may have to run it again ---- */

tavola_batch *tvc_batch_copy(const tavola_batch *batch)
{
    tavola_batch *copy = tavola_batch_new(batch->table);

    if (copy == NULL)
        return NULL;
    for (size_t i = 0; i < batch->count; i++)
        tavola_batch_add(copy, batch->items[i].kind, batch->items[i].entity,
                         batch->items[i].if_match);
    if (copy->error == TAVOLA_ERR_NO_MEMORY) {
        tavola_batch_free(copy);
        return NULL;
    }
    if (batch->error)
        fail_at(copy, batch->error, (size_t)batch->error_index, batch->why);
    copy->added = batch->added;
    return copy;
}

bool tvc_batch_is_for(const tavola_batch *batch, const tavola_table *table)
{
    return !batch->is_spent && batch->table && batch->table->client == table->client &&
           strcmp(batch->table->name, table->name) == 0;
}

/* ---- running ---- */

static tavola_err refuse(tavola_call *call, tavola_err err, int index, const char *why)
{
    tvc_call_refuse(call, err, "%s", why);
    if (call)
        call->failed_index = index;
    return err;
}

static tavola_err check_batch(const tavola_batch *batch, tavola_call *call)
{
    if (batch == NULL)
        return refuse(call, TAVOLA_ERR_NO_MEMORY, -1,
                      "there is no batch: it is NULL, as it is when memory is short");
    if (batch->is_spent)
        return refuse(call, TAVOLA_ERR_INVALID, -1, "the batch was run already");
    if (batch->error)
        return refuse(call, batch->error, batch->error_index, batch->why);
    if (batch->count == 0)
        return refuse(call, TAVOLA_ERR_INVALID, -1, "there is no write in the batch");
    return TAVOLA_OK;
}

static tavola_err make_parts(tavola_batch *batch, tavola_call *call)
{
    size_t bytes = tvc_batch_frame_bytes();

    for (size_t i = 0; i < batch->count; i++) {
        tvc_batch_item *item = &batch->items[i];
        tavola_err err = tvc_batch_item_make_part(item, batch->table, call);

        if (err) {
            if (call)
                call->failed_index = (int)i;
            return err;
        }
        bytes += tvc_batch_item_bytes(item);
        if (bytes > TVC_BATCH_BYTES_MAX)
            return refuse(call, TAVOLA_ERR_TOO_LARGE, (int)i,
                          "a batch can have at most 4 MiB; tavola_bulk takes any number");
    }
    return TAVOLA_OK;
}

tavola_err tvc_batch_begin(tavola_batch *batch, tavola_call *call, tavola_op **ret_op)
{
    tavola_err err = check_batch(batch, call);

    if (err)
        return err;
    err = make_parts(batch, call);
    if (err)
        return err;

    tavola_op *op = tvc_batch_op(batch->table, batch->items, batch->count, &batch->etags, call);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    batch->is_spent = true;
    *ret_op = op;
    return TAVOLA_OK;
}

tavola_err tavola_batch_run(tavola_batch *batch, tavola_call *call)
{
    tavola_op *op = NULL;
    tavola_err err = tvc_batch_begin(batch, call, &op);

    return err ? err : tvc_run_and_free(op);
}
