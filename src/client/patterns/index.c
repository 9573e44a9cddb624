/* Indexes: values, copies, and the way back to the primary. */
#include "client/patterns/index.h"

bool tvc_index_is_primary(const tavola_index *index)
{
    return strcmp(index->property, "RowKey") == 0;
}

static bool is_reserved(const char *property)
{
    static const char *const names[] = {"PartitionKey", "Timestamp", TVC_PRIMARY_ROW,
                                        TVC_PRIMARY_PARTITION};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(property, names[i]) == 0)
            return true;
    }
    return false;
}

tavola_err tvc_indexes_check(const tavola_index *indexes, size_t count, tavola_call *call)
{
    size_t primaries = 0;

    if (count > TVC_INDEXES_MAX)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there are more than 99 indexes");
    if (indexes == NULL && count > 0)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there are no indexes");

    for (size_t i = 0; i < count; i++) {
        if (indexes[i].prefix == NULL || indexes[i].property == NULL)
            return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                                   "an index lacks its prefix or its property");
        if (is_reserved(indexes[i].property))
            return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there can be no index over %s",
                                   indexes[i].property);
        primaries += tvc_index_is_primary(&indexes[i]);
    }
    if (primaries > 1)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "only one index can be that of RowKey");
    return TAVOLA_OK;
}

const char *tvc_indexes_primary_prefix(const tavola_index *indexes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tvc_index_is_primary(&indexes[i]))
            return indexes[i].prefix;
    }
    return "";
}

void tvc_indexes_names(const tavola_index *indexes, size_t count, const char **ret_names)
{
    size_t names = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_known = false;

        for (size_t k = 0; k < names; k++)
            is_known |= strcmp(ret_names[k], indexes[i].property) == 0;
        if (!is_known)
            ret_names[names++] = indexes[i].property;
    }
    /* Something must be selected, or everything would be. */
    if (names == 0)
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
    }
    return primary;
}

tavola_entity *tvc_index_copy(const tavola_entity *entity, const char *const *columns,
                              const char *partition_key, const char *row_key,
                              const char *primary_partition, const char *primary_row)
{
    tavola_entity *copy = tvc_index_primary(entity, partition_key, row_key);

    if (copy == NULL)
        return NULL;
    if (columns)
        project(copy, columns);
    tavola_entity_set_string(copy, TVC_PRIMARY_ROW, primary_row);
    if (primary_partition)
        tavola_entity_set_string(copy, TVC_PRIMARY_PARTITION, primary_partition);
    return copy;
}

tavola_err tvc_index_compare(const tavola_index *index, const tavola_entity *primary,
                             const tavola_entity *copy, bool *ret_is_right)
{
    tavola_entity *want =
        tvc_index_copy(primary, index->columns, copy->partition_key, copy->row_key,
                       tvc_entity_text(copy, TVC_PRIMARY_PARTITION), primary->row_key);
    tavola_err err = tavola_entity_error(want);

    if (err == TAVOLA_OK)
        *ret_is_right = tvc_entity_same(want, copy);
    tavola_entity_free(want);
    return err;
}

tavola_err tvc_index_restore(tavola_entity *stored, const char *partition_key, const char *row_key)
{
    const char *primary_row = tvc_entity_text(stored, TVC_PRIMARY_ROW);
    const char *primary_partition = tvc_entity_text(stored, TVC_PRIMARY_PARTITION);

    if (!tvc_entity_rekey(stored, primary_partition ? primary_partition : partition_key,
                          primary_row ? primary_row : row_key))
        return TAVOLA_ERR_NO_MEMORY;
    tvc_entity_forget(stored, TVC_PRIMARY_ROW);
    tvc_entity_forget(stored, TVC_PRIMARY_PARTITION);
    return TAVOLA_OK;
}
