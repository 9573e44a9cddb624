/* Join in the client: many point reads, a window of them at once. */
#include "client/patterns/pattern.h"
#include "client/table/table.h"

enum { IN_FLIGHT_DEFAULT = 16, IN_FLIGHT_MAX = 1024 };

typedef struct reads {
    tavola_table *table;
    const char *const *partition_keys, *const *row_keys;
    size_t count;
    tavola_call *call; /* or NULL */
    tavola_op **ops;   /* a ring: read i is at i % in_flight */
    size_t in_flight;
    tavola_entity **entities;
} reads;

static tavola_err start(reads *self, size_t i)
{
    tavola_op *op = NULL;
    tavola_err err = tvc_get_op(self->table, self->partition_keys[i], self->row_keys[i], NULL,
                                tvc_table_crypto(self->table, self->call), NULL, &op);

    if (err)
        return tvc_call_refuse(self->call, err, "key %zu cannot be read", i);

    tvc_call_copy_options(&op->own_call, self->call);
    err = tvc_op_start(op, NULL, NULL);
    if (err) {
        tavola_op_free(op);
        return err;
    }
    self->ops[i % self->in_flight] = op;
    return TAVOLA_OK;
}

static tavola_err finish(reads *self, size_t i)
{
    tavola_op *op = self->ops[i % self->in_flight];
    tavola_err err = tvc_op_await(op, self->call);

    if (err == TAVOLA_OK)
        self->entities[i] = tavola_op_take_entity(op);
    else if (tvc_is_absent(err, tavola_op_call(op)))
        err = TAVOLA_OK;
    else
        tvc_call_take_outcome(self->call, tavola_op_call(op));
    tavola_op_free(op);
    self->ops[i % self->in_flight] = NULL;
    return err;
}

static void end_others(reads *self)
{
    for (size_t i = 0; i < self->in_flight; i++) {
        if (self->ops[i]) {
            tavola_op_cancel(self->ops[i]);
            tavola_op_free(self->ops[i]);
        }
    }
}

static tavola_err read_all(reads *self)
{
    tavola_err err = TAVOLA_OK;
    size_t started = 0;

    for (size_t i = 0; err == TAVOLA_OK && i < self->count; i++) {
        while (err == TAVOLA_OK && started < self->count && started < i + self->in_flight)
            err = start(self, started++);
        if (err == TAVOLA_OK)
            err = finish(self, i);
    }
    end_others(self);
    return err;
}

static bool are_keys(const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!tavola_key_is_valid(keys[i]))
            return false;
    }
    return true;
}

static void free_entities(tavola_entity **entities, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tavola_entity_free(entities[i]);
}

static tavola_err get_many(reads *self, tavola_entity **ret_entities)
{
    self->ops = tvc_calloc(self->in_flight, sizeof(tavola_op *));
    self->entities = tvc_calloc(self->count, sizeof(tavola_entity *));

    tavola_err err = self->ops && self->entities ? read_all(self) : TAVOLA_ERR_NO_MEMORY;

    if (err == TAVOLA_OK)
        memcpy(ret_entities, self->entities, self->count * sizeof *ret_entities);
    else if (self->entities)
        free_entities(self->entities, self->count);
    tvc_release(self->entities);
    tvc_release(self->ops);
    return err;
}

tavola_err tavola_get_many(tavola_table *table, const char *const *partition_keys,
                           const char *const *row_keys, size_t count, uint32_t in_flight_max,
                           tavola_call *call, tavola_entity **ret_entities)
{
    if (table == NULL ||
        (count > 0 && (partition_keys == NULL || row_keys == NULL || ret_entities == NULL)))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "the table, keys or a place are missing");
    if (!are_keys(partition_keys, count) || !are_keys(row_keys, count))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "one of the keys cannot be a key");
    if (count == 0)
        return TAVOLA_OK;

    size_t in_flight = in_flight_max ? in_flight_max : IN_FLIGHT_DEFAULT;
    reads self = {.table = table,
                  .partition_keys = partition_keys,
                  .row_keys = row_keys,
                  .count = count,
                  .call = call};

    self.in_flight = in_flight < IN_FLIGHT_MAX ? in_flight : IN_FLIGHT_MAX;
    if (self.in_flight > count)
        self.in_flight = count;
    return get_many(&self, ret_entities);
}
