/*
 * The guide's archive step: copied first, then deleted, so that the entity is in one table or in
 * both at every moment.
 *
 *  (1) The delete has the etag of what was copied: a change in between is copied again before
 *      anything is lost.
 *  (2) What is there already is replaced only with an etag that was read while the entity was still
 *      here.  So a second mover that comes late cannot undo a change that was made there after the
 *      first had moved it.
 */
#include "client/patterns/pattern.h"
#include "client/table/table.h"

/* Whether a table has it. */
static tavola_err look(tavola_table *table, const char *partition_key, const char *row_key,
                       tavola_call *call)
{
    static const char *const keys[] = {"PartitionKey", "RowKey", NULL};
    tavola_entity *entity = NULL;
    tavola_err err = tavola_get_select(table, partition_key, row_key, keys, call, &entity);

    tavola_entity_free(entity);
    return err;
}

/* There is one there already: of an earlier try, or an older one.  ETAG: try again. */
static tavola_err replace_there(tavola_table *from, tavola_table *to, const tavola_entity *entity,
                                tavola_call *call)
{
    const char *partition_key = tavola_entity_partition_key(entity);
    const char *row_key = tavola_entity_row_key(entity);
    tavola_entity *there = NULL;
    tavola_err err = tavola_get(to, partition_key, row_key, call, &there);

    if (err == TAVOLA_OK && !tvc_entity_same(there, entity)) {
        err = look(from, partition_key, row_key, call);
        if (err == TAVOLA_OK)
            err = tvc_write_run(to, TAVOLA_REPLACE, entity, tavola_entity_etag(there), call);
    }
    tavola_entity_free(there);
    return tvc_is_absent(err, call) ? TAVOLA_ERR_ETAG : err;
}

static tavola_err move_once(tavola_table *from, tavola_table *to, const char *partition_key,
                            const char *row_key, tavola_call *call)
{
    tavola_entity *entity = NULL;
    tavola_err err = tavola_get(from, partition_key, row_key, call, &entity);

    /* It may have been moved before. */
    if (tvc_is_absent(err, call))
        return look(to, partition_key, row_key, call);
    if (err)
        return err;

    err = tvc_write_run(to, TAVOLA_INSERT, entity, NULL, call);
    if (err == TAVOLA_ERR_EXISTS)
        err = replace_there(from, to, entity, call);
    if (err == TAVOLA_OK) {
        err = tavola_delete(from, partition_key, row_key, tavola_entity_etag(entity), call);
        /* Somebody else moved it, too. */
        if (tvc_is_absent(err, call))
            err = TAVOLA_OK;
    }
    tavola_entity_free(entity);
    return err;
}

static tavola_err move_in_rounds(tavola_table *from, tavola_table *to, const char *partition_key,
                                 const char *row_key, tavola_call *call)
{
    for (unsigned round = 0;; round++) {
        tavola_err err = move_once(from, to, partition_key, row_key, call);

        if (err != TAVOLA_ERR_ETAG || round + 1 == TVC_ROUNDS_MAX)
            return err;
        tvc_pause(round);
    }
}

tavola_err tavola_move(tavola_table *from, tavola_table *to, const char *partition_key,
                       const char *row_key, tavola_call *call)
{
    if (from == NULL || to == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no table");
    if (tvc_table_is_same(from, to))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "both tables are the same");

    tavola_call own;
    tavola_err err =
        move_in_rounds(from, to, partition_key, row_key, tvc_writing_call_of(call, &own));

    tvc_writing_call_done(call, &own);
    return err;
}
