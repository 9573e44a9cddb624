/*
 * One operation of the table service: what a request (or a part of a batch)
 * asks for, parsed and checked as far as that is possible without the store.
 */
#ifndef TV_TABLE_OP_H
#define TV_TABLE_OP_H

#include "http/request.h"
#include "service/endpoint.h"
#include "table/entity_read.h"
#include "table/entity_write.h"
#include "table/etag.h"
#include "table/resource.h"

/* kind, name in metrics and logs (that of Storage Analytics) */
#define TV_TABLE_OP_MAP(X)                                                                         \
    X(UNKNOWN, "Unknown")                                                                          \
    X(QUERY_TABLES, "QueryTables")                                                                 \
    X(QUERY_TABLE, "QueryTable")                                                                   \
    X(CREATE_TABLE, "CreateTable")                                                                 \
    X(DELETE_TABLE, "DeleteTable")                                                                 \
    X(QUERY_ENTITIES, "QueryEntities")                                                             \
    X(QUERY_ENTITY, "QueryEntity")                                                                 \
    X(INSERT_ENTITY, "InsertEntity")                                                               \
    X(UPDATE_ENTITY, "UpdateEntity")                                                               \
    X(MERGE_ENTITY, "MergeEntity")                                                                 \
    X(INSERT_OR_REPLACE_ENTITY, "InsertOrReplaceEntity")                                           \
    X(INSERT_OR_MERGE_ENTITY, "InsertOrMergeEntity")                                               \
    X(DELETE_ENTITY, "DeleteEntity")                                                               \
    X(BATCH, "EntityGroupTransaction")                                                             \
    X(GET_ACL, "GetTableACL")                                                                      \
    X(SET_ACL, "SetTableACL")                                                                      \
    X(GET_PROPERTIES, "GetTableServiceProperties")                                                 \
    X(SET_PROPERTIES, "SetTableServiceProperties")                                                 \
    X(GET_STATS, "GetTableServiceStats")                                                           \
    X(PREFLIGHT, "TablePreflightRequest")

typedef enum tv_table_op_kind {
#define X(kind, name) TV_TABLE_OP_##kind,
    TV_TABLE_OP_MAP(X)
#undef X
        TV_TABLE_OP_COUNT
} tv_table_op_kind;

const char *tv_table_op_name(tv_table_op_kind kind);

typedef enum tv_prefer {
    TV_PREFER_NONE,
    TV_PREFER_CONTENT,
    TV_PREFER_NO_CONTENT,
} tv_prefer;

typedef struct tv_table_op {
    tv_table_op_kind kind;
    tv_endpoint endpoint;
    tv_resource resource;
    tv_metadata_level level;
    bool is_xml; /* asked for with comp=…: speaks XML instead of OData, also in its errors */
    tv_prefer prefer;
    tv_condition condition;
    tv_select select;    /* of reads */
    tv_slice content_id; /* of a batch part, TV_NONE without */
    tv_entity_body body; /* of entity writes, after tv_table_op_read_body */
} tv_table_op;

/**
 * Parse everything but the body.  What could be parsed before an error stays in
 * `ret_op`, for the error's response.  `endpoint` has been parsed already.
 */
tv_err tv_table_op_parse(tv_arena *arena, const tv_request *req, const tv_endpoint *endpoint,
                         tv_table_op *ret_op, tv_error_info *reterr_info) TV_WARN_UNUSED;

/** How the entities of this operation are shown. */
tv_entity_view tv_table_op_view(const tv_table_op *op);

/** Whether the operation changes one entity. */
bool tv_table_op_is_entity_write(tv_table_op_kind kind);

/** Whether requests for it bring a body: what to create, to write, or to do as a batch. */
bool tv_table_op_has_body(tv_table_op_kind kind);

/**
 * Read and check the entity in the body of an entity write.  Afterwards the
 * keys of `op->resource` are those of the entity, wherever they came from.
 */
tv_err tv_table_op_read_body(tv_arena *arena, tv_slice json, tv_table_op *op,
                             tv_error_info *reterr_info) TV_WARN_UNUSED;

#endif
