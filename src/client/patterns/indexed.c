/* Tables with indexes: opened and closed; and their writes, which each pattern makes in its own
 * way. */
#include "client/patterns/indexed.h"

#include "client/entity/rules.h"
#include "client/patterns/keeper.h"
#include "client/queue/queue.h"
#include "client/table/table.h"

/* ---- opening ---- */

static bool is_reserved(const char *property)
{
    static const char *const names[] = {TVC_PRIMARY_ROW, TVC_PRIMARY_PARTITION, TVC_PRIMARY_ETAG};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(property, names[i]) == 0)
            return true;
    }
    return false;
}

static tavola_err check_index(const tavola_index *index, tavola_call *call)
{
    if (index->prefix == NULL || index->property == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "an index lacks its prefix or its property");
    if (!tavola_key_is_valid(index->prefix))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the prefix of the index over %s cannot be in a key",
                               index->property);
    if (tvc_index_is_primary(index)) {
        if (index->columns)
            return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                                   "the index over RowKey is the entity itself: it has no columns");
        return TAVOLA_OK;
    }

    tvc_refusal refusal = tvc_check_name(tv_slice_of(index->property));

    if (refusal.err)
        return tvc_call_refuse(call, refusal.err, "the property of an index %s", refusal.why);
    if (is_reserved(index->property))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there can be no index over %s",
                               index->property);
    return TAVOLA_OK;
}

static bool is_beginning_of(const char *prefix, const char *key)
{
    return strncmp(key, prefix, strlen(prefix)) == 0;
}

/* Two indexes: what is stored for one must not look like what is stored for the other. */
static tavola_err check_pair(const tavola_index *a, const tavola_index *b, tavola_call *call)
{
    if (strcmp(a->property, b->property) == 0)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there are two indexes over %s",
                               a->property);
    if (is_beginning_of(a->prefix, b->prefix) || is_beginning_of(b->prefix, a->prefix))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "one of the prefixes '%s' and '%s' begins with the other", a->prefix,
                               b->prefix);
    return TAVOLA_OK;
}

static tavola_err check_indexes(const tavola_index *indexes, size_t count, bool is_separate,
                                tavola_call *call)
{
    if (count > TVC_INDEXES_MAX || (indexes == NULL && count > 0))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "there are no indexes, or more than 99 of them");

    for (size_t i = 0; i < count; i++) {
        tavola_err err = check_index(&indexes[i], call);

        if (err)
            return err;
        if (*indexes[i].prefix == '\0' && !tvc_index_is_primary(&indexes[i]) && !is_separate)
            return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                                   "copies would be among the primaries: give them a prefix");
        for (size_t k = 0; k < i; k++) {
            /* Primaries may do without, or are in a table of their own. */
            bool is_apart = tvc_index_is_primary(&indexes[i]) || tvc_index_is_primary(&indexes[k]);

            if (is_apart && strcmp(indexes[i].property, indexes[k].property) != 0 &&
                (is_separate || *indexes[i].prefix == '\0' || *indexes[k].prefix == '\0'))
                continue;
            err = check_pair(&indexes[i], &indexes[k], call);
            if (err)
                return err;
        }
    }
    return TAVOLA_OK;
}

static void free_texts(const tavola_index *index)
{
    for (size_t i = 0; index->columns && index->columns[i]; i++)
        tvc_release((char *)(uintptr_t)index->columns[i]);
    tvc_release((void *)(uintptr_t)index->columns);
    tvc_release((char *)(uintptr_t)index->property);
    tvc_release((char *)(uintptr_t)index->prefix);
}

static tavola_err copy_columns(tavola_index *to, const char *const *columns)
{
    size_t count = 0;

    while (columns[count])
        count++;

    const char **copies = tvc_calloc(count + 1, sizeof *copies);

    to->columns = copies;
    for (size_t i = 0; copies && i < count; i++) {
        copies[i] = tvc_dup_text(columns[i]);
        if (copies[i] == NULL)
            return TAVOLA_ERR_NO_MEMORY;
    }
    return copies ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
}

/* What it has when memory is short is freed with the rest. */
static tavola_err copy_index(tavola_index *to, const tavola_index *from)
{
    to->prefix = tvc_dup_text(from->prefix);
    to->property = tvc_dup_text(from->property);
    if (to->prefix == NULL || to->property == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    return from->columns ? copy_columns(to, from->columns) : TAVOLA_OK;
}

static tavola_err copy_indexes(tavola_indexed *indexed, const tavola_index *indexes, size_t count)
{
    static const tavola_index no_prefix = {.prefix = "", .property = "RowKey"};
    const tavola_index *primary = &no_prefix;
    tavola_err err = TAVOLA_OK;

    indexed->indexes = tvc_calloc(count + 1, sizeof *indexed->indexes);
    if (indexed->indexes == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    for (size_t i = 0; err == TAVOLA_OK && i < count; i++) {
        if (tvc_index_is_primary(&indexes[i]))
            primary = &indexes[i];
        else
            err = copy_index(&indexed->indexes[indexed->count++], &indexes[i]);
    }
    return err ? err : copy_index(&indexed->primary, primary);
}

static tavola_err open_parts(tavola_indexed *indexed, tavola_table *table,
                             const tavola_inter_partition *inter, tavola_call *call)
{
    tavola_table *copies = inter && inter->copies ? inter->copies : table;

    indexed->table = tvc_table_copy(table);
    indexed->copies = tvc_table_copy(copies);
    if (indexed->table == NULL || indexed->copies == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    if (inter == NULL)
        return TAVOLA_OK;

    tavola_err err = tavola_queue_open(inter->queue->resource.client,
                                       tavola_queue_name(inter->queue), &indexed->queue);

    indexed->hidden_s = tvc_hidden_seconds(inter->hidden_s);
    return err ? tvc_call_refuse(call, err, "the queue cannot be opened") : TAVOLA_OK;
}

tavola_err tavola_indexed_open(tavola_table *table, const tavola_index *indexes, size_t count,
                               const tavola_inter_partition *inter, tavola_call *call,
                               tavola_indexed **ret_indexed)
{
    if (table == NULL || ret_indexed == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "the table or a place is missing");
    if (inter && (inter->struct_size < sizeof *inter || inter->queue == NULL))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the tavola_inter_partition lacks its size or its queue");

    bool is_separate = inter && inter->copies && !tvc_table_is_same(table, inter->copies);
    tavola_err err = check_indexes(indexes, count, is_separate, call);

    if (err)
        return err;

    tavola_indexed *indexed = tvc_zalloc(sizeof *indexed);

    if (indexed == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    atomic_store(&indexed->references, 1);
    indexed->is_separate = is_separate;
    err = open_parts(indexed, table, inter, call);
    if (err == TAVOLA_OK)
        err = copy_indexes(indexed, indexes, count);
    if (err)
        tavola_indexed_close(indexed);
    else
        *ret_indexed = indexed;
    return err;
}

tavola_indexed *tvc_indexed_ref(tavola_indexed *indexed)
{
    atomic_fetch_add_explicit(&indexed->references, 1, memory_order_relaxed);
    return indexed;
}

void tavola_indexed_close(tavola_indexed *indexed)
{
    if (indexed == NULL ||
        atomic_fetch_sub_explicit(&indexed->references, 1, memory_order_acq_rel) > 1)
        return;

    for (size_t i = 0; i < indexed->count; i++)
        free_texts(&indexed->indexes[i]);
    free_texts(&indexed->primary);
    tvc_release(indexed->indexes);
    tavola_queue_close(indexed->queue);
    tavola_table_close(indexed->copies);
    tavola_table_close(indexed->table);
    tvc_release(indexed);
}

/* ---- writing ---- */

static tavola_err edit(const tavola_indexed *indexed, const tvc_indexed_edit *one,
                       tavola_call *call)
{
    return indexed->queue ? tvc_inter_partition_edit(indexed, one, call)
                          : tvc_intra_partition_edit(indexed, one, call);
}

static tavola_err check_indexed(const tavola_indexed *indexed, tavola_call *call)
{
    return indexed ? TAVOLA_OK
                   : tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no tavola_indexed");
}

tavola_err tavola_indexed_put(tavola_indexed *indexed, tavola_entity *entity, tavola_call *call)
{
    tavola_err err = check_indexed(indexed, call);

    if (err == TAVOLA_OK)
        err = tvc_indexed_check_entity(indexed, entity, call);
    if (err)
        return err;
    if (!tvc_entity_reserve_etag(entity))
        return TAVOLA_ERR_NO_MEMORY;

    tavola_call own, *used = tvc_writing_call_of(call, &own);

    err = edit(indexed,
               &(tvc_indexed_edit){.partition_key = entity->partition_key,
                                   .row_key = entity->row_key,
                                   .entity = entity,
                                   .if_match = entity->etag},
               used);
    if (err == TAVOLA_OK)
        tvc_entity_take_etag(entity, tavola_call_etag(used));
    tvc_writing_call_done(call, &own);
    return err;
}

tavola_err tavola_indexed_update(tavola_indexed *indexed, const char *partition_key,
                                 const char *row_key, tavola_change_fn change, void *user,
                                 tavola_call *call)
{
    tavola_err err = check_indexed(indexed, call);

    if (err == TAVOLA_OK && change == NULL)
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no function that changes it");
    if (err == TAVOLA_OK)
        err = tvc_indexed_check_keys(indexed, partition_key, row_key, call);
    if (err)
        return err;

    tavola_call own, *used = tvc_writing_call_of(call, &own);

    err = edit(indexed,
               &(tvc_indexed_edit){.partition_key = partition_key,
                                   .row_key = row_key,
                                   .if_match = TAVOLA_ANY,
                                   .change = change,
                                   .user = user},
               used);
    tvc_writing_call_done(call, &own);
    return err;
}

tavola_err tavola_indexed_delete(tavola_indexed *indexed, const char *partition_key,
                                 const char *row_key, const char *if_match, tavola_call *call)
{
    tavola_err err = check_indexed(indexed, call);

    if (err == TAVOLA_OK)
        err = tvc_indexed_check_keys(indexed, partition_key, row_key, call);
    if (err == TAVOLA_OK && (if_match == NULL || !tvc_is_etag(if_match)))
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                              "if_match is not an etag: give that of the entity, or TAVOLA_ANY");
    if (err)
        return err;

    tavola_call own, *used = tvc_writing_call_of(call, &own);

    err = edit(indexed,
               &(tvc_indexed_edit){
                   .partition_key = partition_key, .row_key = row_key, .if_match = if_match},
               used);
    tvc_writing_call_done(call, &own);
    return err;
}

/* ---- for both patterns ---- */

tavola_err tvc_indexed_read_primary(const tavola_indexed *indexed, const char *partition_key,
                                    const char *row_key, bool is_whole, tavola_call *call,
                                    tavola_entity **ret_primary)
{
    const char *names[TVC_INDEXES_MAX + 2];
    tavola_entity *primary = NULL;
    tvc_index_place at;
    tavola_err err = tvc_index_place_init(&at, indexed, &indexed->primary, partition_key, row_key);

    if (err)
        return err;
    tvc_indexed_names(indexed, names);
    err = is_whole
              ? tavola_get(at.table, at.partition_key, at.row_key, call, &primary)
              : tavola_get_select(at.table, at.partition_key, at.row_key, names, call, &primary);
    tvc_index_place_done(&at);
    *ret_primary = NULL;
    if (tvc_is_absent(err, call))
        return TAVOLA_OK;
    if (err == TAVOLA_OK && primary->etag == NULL)
        err = TAVOLA_ERR_PROTOCOL;
    if (err == TAVOLA_OK && !tvc_index_restore(indexed, &indexed->primary, primary))
        err = tvc_call_refuse(call, TAVOLA_ERR_CONFLICT,
                              "what is stored under the key of the entity is a copy");
    if (err)
        tavola_entity_free(primary);
    else
        *ret_primary = primary;
    return err;
}

bool tvc_indexed_is_changed(const tavola_entity *entity)
{
    bool is_changed = entity->is_unset;

    for (uint32_t i = 0; i < entity->count; i++)
        is_changed |= entity->properties[i].is_set;
    return is_changed;
}
