/* Indexes: values, copies, and the way back to the primary. */
#include "client/patterns/indexed.h"

bool tvc_index_is_primary(const tavola_index *index)
{
    return strcmp(index->property, "RowKey") == 0;
}

static bool begins_with(const char *key, const char *prefix)
{
    return strncmp(key, prefix, strlen(prefix)) == 0;
}

const tavola_index *tvc_indexed_find(const tavola_indexed *indexed, const char *property)
{
    if (strcmp(property, "RowKey") == 0)
        return &indexed->primary;
    for (size_t i = 0; i < indexed->count; i++) {
        if (strcmp(indexed->indexes[i].property, property) == 0)
            return &indexed->indexes[i];
    }
    return NULL;
}

const tavola_index *tvc_indexed_of_key(const tavola_indexed *indexed, const char *key)
{
    for (size_t i = 0; i < indexed->count; i++) {
        if (begins_with(key, indexed->indexes[i].prefix))
            return &indexed->indexes[i];
    }
    return begins_with(key, indexed->primary.prefix) ? &indexed->primary : NULL;
}

/* ---- keys ---- */

tavola_err tvc_index_place_init(tvc_index_place *place, const tavola_indexed *indexed,
                                const tavola_index *index, const char *partition_key,
                                const char *value)
{
    bool is_inter = indexed->queue != NULL;

    *place = (tvc_index_place){
        .table = tvc_index_is_primary(index) ? indexed->table : indexed->copies,
        .partition_key = tvc_joined(is_inter ? index->prefix : "", partition_key),
        .row_key = tvc_joined(is_inter ? "" : index->prefix, value),
    };
    if (place->partition_key && place->row_key)
        return TAVOLA_OK;
    tvc_index_place_done(place);
    return TAVOLA_ERR_NO_MEMORY;
}

void tvc_index_place_done(tvc_index_place *place)
{
    tvc_release(place->partition_key);
    tvc_release(place->row_key);
    *place = (tvc_index_place){0};
}

tavola_err tvc_indexed_check_keys(const tavola_indexed *indexed, const char *partition_key,
                                  const char *row_key, tavola_call *call)
{
    if (!tavola_key_is_valid(partition_key) || !tavola_key_is_valid(row_key))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "what is given as a key is not one");

    /* A primary without a prefix must not look like a copy. */
    const char *key = indexed->queue ? partition_key : row_key;
    const tavola_index *index =
        indexed->is_separate || *indexed->primary.prefix ? NULL : tvc_indexed_of_key(indexed, key);

    if (index && !tvc_index_is_primary(index))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the key begins with '%s', the prefix of the copies for %s",
                               index->prefix, index->property);
    return TAVOLA_OK;
}

tavola_err tvc_indexed_check_entity(const tavola_indexed *indexed, const tavola_entity *entity,
                                    tavola_call *call)
{
    const char *why = NULL;
    tavola_err err = tvc_entity_check(entity, &why);

    if (err)
        return tvc_call_refuse(call, err, "%s", why);
    if (entity->is_part)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the entity was read without some of its properties: "
                               "tavola_indexed_update changes all of it");
    return tvc_indexed_check_keys(indexed, entity->partition_key, entity->row_key, call);
}

/* ---- values ---- */

void tvc_indexed_names(const tavola_indexed *indexed, const char **ret_names)
{
    size_t names = 0;

    for (; names < indexed->count; names++)
        ret_names[names] = indexed->indexes[names].property;
    /* Something must be selected, or everything would be. */
    ret_names[names++] = "RowKey";
    ret_names[names] = NULL;
}

tavola_err tvc_index_value(const tavola_index *index, const tavola_entity *entity,
                           const char **ret_value, tavola_call *call)
{
    tavola_value value;

    if (!tavola_entity_get(entity, index->property, &value)) {
        *ret_value = NULL;
        return TAVOLA_OK;
    }

    const char *text = tvc_entity_text(entity, index->property);

    if (text == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "%s is indexed and not a String that can be a key", index->property);
    *ret_value = text;
    return TAVOLA_OK;
}

bool tvc_index_has_value(const tavola_index *index, const tavola_entity *entity, const char *value)
{
    const char *has = entity ? tvc_entity_text(entity, index->property) : NULL;

    return has && strcmp(has, value) == 0;
}

/* ---- what is stored ---- */

static bool is_column(const char *const *columns, const char *name)
{
    for (; *columns; columns++) {
        if (strcmp(*columns, name) == 0)
            return true;
    }
    return false;
}

static void project(tavola_entity *copy, const char *const *columns)
{
    for (uint32_t i = copy->count; i-- > 0;) {
        if (!is_column(columns, copy->properties[i].name))
            tvc_entity_drop(copy, (int)i);
    }
}

tavola_entity *tvc_index_primary(const tavola_entity *entity, const char *partition_key,
                                 const char *row_key)
{
    tavola_entity *primary = tvc_entity_copy_as(entity, partition_key, row_key);

    /* Whoever read a copy with other functions may put it back. */
    if (primary) {
        tvc_entity_forget(primary, TVC_PRIMARY_ROW);
        tvc_entity_forget(primary, TVC_PRIMARY_PARTITION);
        tvc_entity_forget(primary, TVC_PRIMARY_ETAG);
    }
    return primary;
}

tavola_entity *tvc_index_copy(const tavola_indexed *indexed, const tavola_index *index,
                              const tavola_entity *primary, const char *partition_key,
                              const char *row_key, const char *etag)
{
    tavola_entity *copy = tvc_index_primary(primary, partition_key, row_key);

    if (copy == NULL)
        return NULL;
    if (index->columns)
        project(copy, index->columns);
    tavola_entity_set_string(copy, TVC_PRIMARY_ROW, primary->row_key);
    if (indexed->queue)
        tavola_entity_set_string(copy, TVC_PRIMARY_PARTITION, primary->partition_key);
    if (indexed->queue && etag)
        tavola_entity_set_string(copy, TVC_PRIMARY_ETAG, etag);
    return copy;
}

tavola_err tvc_index_compare(const tavola_indexed *indexed, const tavola_index *index,
                             const tavola_entity *primary, const tavola_entity *copy,
                             bool *ret_is_right)
{
    tavola_entity *want =
        tvc_index_copy(indexed, index, primary, copy->partition_key, copy->row_key, primary->etag);

    if (want == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    *ret_is_right = want->error == TAVOLA_OK && tvc_entity_same(want, copy);

    tavola_err err = want->error == TAVOLA_ERR_NO_MEMORY ? TAVOLA_ERR_NO_MEMORY : TAVOLA_OK;

    tavola_entity_free(want);
    return err;
}

bool tvc_index_is_of(const tavola_indexed *indexed, const tavola_entity *copy,
                     const char *partition_key, const char *row_key)
{
    const char *primary_partition =
        indexed->queue ? tvc_entity_text(copy, TVC_PRIMARY_PARTITION) : copy->partition_key;
    const char *primary_row = tvc_entity_text(copy, TVC_PRIMARY_ROW);

    return primary_partition && primary_row && strcmp(primary_partition, partition_key) == 0 &&
           strcmp(primary_row, row_key) == 0;
}

static bool restore_primary(const tavola_indexed *indexed, tavola_entity *stored)
{
    const char **key = indexed->queue ? &stored->partition_key : &stored->row_key;

    if (!begins_with(*key, indexed->primary.prefix) || tvc_entity_text(stored, TVC_PRIMARY_ROW))
        return false;
    *key += strlen(indexed->primary.prefix);
    return true;
}

/* What was a property's value is the key now; its bytes stay where they are. */
bool tvc_index_restore(const tavola_indexed *indexed, const tavola_index *index,
                       tavola_entity *stored)
{
    if (tvc_index_is_primary(index))
        return restore_primary(indexed, stored);

    const char *row_key = tvc_entity_text(stored, TVC_PRIMARY_ROW);
    const char *partition_key = tvc_entity_text(stored, TVC_PRIMARY_PARTITION);
    const char *etag = tvc_entity_text(stored, TVC_PRIMARY_ETAG);

    if (row_key == NULL || (indexed->queue && partition_key == NULL))
        return false;
    stored->row_key = row_key;
    if (indexed->queue) {
        stored->partition_key = partition_key;
        stored->etag = etag && tvc_is_etag(etag) ? etag : NULL;
    }
    stored->is_part = index->columns != NULL;
    tvc_entity_forget(stored, TVC_PRIMARY_ROW);
    tvc_entity_forget(stored, TVC_PRIMARY_PARTITION);
    tvc_entity_forget(stored, TVC_PRIMARY_ETAG);
    return true;
}
