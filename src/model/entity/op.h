/*
 * The operations on entities, for all who tell them apart: the rows of the table service
 * (services/table/ops.def), the recorder and the readers of its traces.
 */
#ifndef TV_MODEL_ENTITY_OP_H
#define TV_MODEL_ENTITY_OP_H

#include <stdbool.h>

/** OP(kind) for each: here is their order. */
#define TV_ENTITY_OPS(OP)                                                                          \
    OP(QUERY_ENTITIES) /* a page of a query */                                                     \
    OP(QUERY_ENTITY)   /* a point read by URL */                                                   \
    OP(INSERT_ENTITY)                                                                              \
    OP(UPDATE_ENTITY) /* replace, with If-Match */                                                 \
    OP(MERGE_ENTITY)  /* with If-Match */                                                          \
    OP(INSERT_OR_REPLACE_ENTITY)                                                                   \
    OP(INSERT_OR_MERGE_ENTITY)                                                                     \
    OP(DELETE_ENTITY)                                                                              \
    OP(BATCH) /* an entity group transaction */

/** Their names are those of Storage Analytics. */
#define TV_ENTITY_NAME_QUERY_ENTITIES "QueryEntities"
#define TV_ENTITY_NAME_QUERY_ENTITY "QueryEntity"
#define TV_ENTITY_NAME_INSERT_ENTITY "InsertEntity"
#define TV_ENTITY_NAME_UPDATE_ENTITY "UpdateEntity"
#define TV_ENTITY_NAME_MERGE_ENTITY "MergeEntity"
#define TV_ENTITY_NAME_INSERT_OR_REPLACE_ENTITY "InsertOrReplaceEntity"
#define TV_ENTITY_NAME_INSERT_OR_MERGE_ENTITY "InsertOrMergeEntity"
#define TV_ENTITY_NAME_DELETE_ENTITY "DeleteEntity"
#define TV_ENTITY_NAME_BATCH "EntityGroupTransaction"

typedef enum tv_entity_op {
#define OP(kind) TV_ENTITY_OP_##kind,
    TV_ENTITY_OPS(OP)
#undef OP
        TV_ENTITY_OP_COUNT,
} tv_entity_op;

/** "QueryEntities", "InsertEntity", ... */
static inline const char *tv_entity_op_name(tv_entity_op op)
{
    static const char *const names[] = {
#define OP(kind) TV_ENTITY_NAME_##kind,
        TV_ENTITY_OPS(OP)
#undef OP
    };

    return names[op];
}

/** Whether it changes one entity. */
static inline bool tv_entity_op_is_write(tv_entity_op op)
{
    return op >= TV_ENTITY_OP_INSERT_ENTITY && op <= TV_ENTITY_OP_DELETE_ENTITY;
}

#endif
