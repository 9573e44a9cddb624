/* An entity from a line of JSON that the application has. */
#include "client/entity/entity.h"
#include "client/entity/own.h"
#include "client/entity/rules.h"
#include "client/why.h"

/* Whether the application could have built it with setters. */
static tavola_err check_rules(const tavola_entity *entity)
{
    tvc_refusal refusal = tvc_check_key(tv_slice_of(entity->partition_key));
    tv_slice name = TV_LIT("PartitionKey");

    if (refusal.err == TAVOLA_OK) {
        refusal = tvc_check_key(tv_slice_of(entity->row_key));
        name = TV_LIT("RowKey");
    }
    if (refusal.err == TAVOLA_OK && entity->count > TVC_PROPERTIES_MAX)
        return tvc_refuse(TAVOLA_ERR_TOO_LARGE, "an entity has at most %d properties",
                          TVC_PROPERTIES_MAX);

    for (uint32_t i = 0; i < entity->count && refusal.err == TAVOLA_OK; i++) {
        const tvc_property *property = &entity->properties[i];

        name = (tv_slice){property->name, property->name_len};
        refusal = tvc_check_name(name);
        if (refusal.err == TAVOLA_OK)
            refusal = tvc_check_value(&property->value);
    }
    return refusal.err ? tvc_refuse(refusal.err, "%.*s %s", TV_FMT(name), refusal.why) : TAVOLA_OK;
}

static tavola_err accept(tavola_entity *entity)
{
    if (entity->partition_key == tvc_no_key || entity->row_key == tvc_no_key)
        return tvc_refuse(TAVOLA_ERR_INVALID, "the entity has no PartitionKey or no RowKey");
    if (entity->etag && !tv_slice_is_printable(tv_slice_of(entity->etag)))
        return tvc_refuse(TAVOLA_ERR_INVALID, "the etag is not printable ASCII");

    for (uint32_t i = 0; i < entity->count; i++)
        entity->properties[i].is_set = true;
    return check_rules(entity);
}

tavola_err tavola_entity_from_json(const char *json, size_t size, tavola_entity **ret_entity)
{
    tavola_entity *entity = NULL;

    if (json == NULL || ret_entity == NULL || size > UINT32_MAX)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no JSON, or no place for the entity");

    char *copy = tvc_dup((tv_slice){json, size});

    if (copy == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tvc_entity_read(copy, size, &entity);

    if (err == TAVOLA_ERR_PROTOCOL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "this is not the JSON of an entity");
    if (err == TAVOLA_OK)
        err = accept(entity);
    if (err) {
        tavola_entity_free(entity);
        return err;
    }
    *ret_entity = entity;
    return TAVOLA_OK;
}
