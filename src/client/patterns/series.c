/* Data series pattern: one property for each value, written by a merge. */
#include "client/patterns/pattern.h"

enum { INDEX_MAX = 999, NAME_SIZE = 1100 };

static bool make_name(const char *stem, uint32_t index, char ret_name[NAME_SIZE])
{
    if (stem == NULL || index > INDEX_MAX || strlen(stem) > NAME_SIZE - 4)
        return false;
    snprintf(ret_name, NAME_SIZE, "%s%03u", stem, index);
    return true;
}

tavola_err tavola_series_set(tavola_table *table, const char *partition_key, const char *row_key,
                             const char *stem, uint32_t index, tavola_value value,
                             tavola_call *call)
{
    char name[NAME_SIZE];

    if (!make_name(stem, index, name))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no stem, or 999 is exceeded");

    tavola_entity *slot = tavola_entity_new(partition_key, row_key);

    if (slot == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    tavola_entity_set(slot, name, value);

    tavola_err err = tavola_insert_or_merge(table, slot, call);

    tavola_entity_free(slot);
    return err;
}

bool tavola_series_get(const tavola_entity *entity, const char *stem, uint32_t index,
                       tavola_value *ret_value)
{
    char name[NAME_SIZE];

    return make_name(stem, index, name) && tavola_entity_get(entity, name, ret_value);
}
