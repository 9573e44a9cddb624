/*
 * A command: what a request, or a part of a batch, asks of an operation, parsed and
 * checked to the extent possible without the store.
 */
#ifndef TV_SERVICES_TABLE_OP_H
#define TV_SERVICES_TABLE_OP_H

#include "services/service/endpoint.h"
#include "services/table/entity_read.h"
#include "services/table/entity_write.h"
#include "services/table/etag.h"
#include "services/table/ops.h"
#include "services/table/resource.h"
#include "wire/http/request.h"

typedef enum tv_table_prefer {
    TV_TABLE_PREFER_NONE,
    TV_TABLE_PREFER_CONTENT,
    TV_TABLE_PREFER_NO_CONTENT,
} tv_table_prefer;

/** What the head of a request, or of a part of a batch, says: headers are TV_NONE when absent. */
typedef struct tv_table_head {
    tv_method method;
    const tv_parameters *query;
    tv_slice prefer, content_id, content_type, if_match;
    tv_slice tunnel; /* X-HTTP-Method */
    size_t tunnel_count;
    const tv_header *headers; /* all of them, for Accept, which may be several */
    size_t header_count;
} tv_table_head;

/** Of a request, which outlives it. */
tv_table_head tv_table_head_of(const tv_request *req);

typedef struct tv_table_command {
    tv_table_op_kind kind; /* the row of ops.def; a part of a batch has no call that knows it */
    tv_endpoint endpoint;
    tv_table_resource resource;
    tv_table_metadata_level level;
    bool is_xml; /* requested with comp=…: XML instead of OData, also in its errors */
    tv_table_prefer prefer;
    tv_table_condition condition;
    tv_table_select select; /* of reads */
    tv_slice content_id;    /* of a batch part, TV_NONE without */
    tv_entity_body body;    /* of entity writes, after tv_table_command_read_body */
} tv_table_command;

/**
 * Parse everything but the body, of a part of a batch; a request goes through
 * the same steps (ops.c).  What could be parsed before an error stays in
 * `ret_command`, for the error's response.  `endpoint` has been parsed already.
 */
tv_err tv_table_command_parse(tv_arena *arena, const tv_table_head *head,
                              const tv_endpoint *endpoint, tv_table_command *ret_command,
                              tv_error_info *reterr_info) TV_WARN_UNUSED;

/** What finds the row of ops.def: see tv_service_find_op. */
typedef struct tv_table_asked {
    int where;        /* a tv_table_where, or TV_OP_NOWHERE */
    tv_method method; /* that it stands for */
    tv_slice comp;    /* the parameter; data is NULL without one */
} tv_table_asked;

/* The steps: path, method and condition; then `kind`, of a row of ops.def; then the rest. */

tv_err tv_table_command_locate(tv_arena *arena, const tv_table_head *head,
                               const tv_endpoint *endpoint, tv_table_command *ret_command,
                               tv_table_asked *ret_asked,
                               tv_error_info *reterr_info) TV_WARN_UNUSED;

/** The error when there is no row: see tv_service_spec.miss. */
tv_err tv_table_command_miss(const tv_table_command *command, bool has_comp) TV_WARN_UNUSED;

/** Without If-Match an update is an upsert, and a delete an error. */
tv_err tv_table_command_apply_condition(tv_table_command *command) TV_WARN_UNUSED;

tv_err tv_table_command_read_head(tv_arena *arena, const tv_table_head *head,
                                  tv_table_command *command) TV_WARN_UNUSED;

/** How the entities of this command are shown. */
tv_entity_view tv_table_command_view(const tv_table_command *command);

/** Whether it changes one entity. */
bool tv_table_command_is_entity_write(const tv_table_command *command);

/** Whether it lays properties over those that are stored. */
bool tv_table_command_is_merge(const tv_table_command *command);

/**
 * Read and check the entity in the body of an entity write.  Afterwards the
 * keys of `command->resource` are those of the entity, wherever they came from.
 */
tv_err tv_table_command_read_body(tv_arena *arena, tv_slice json, tv_table_command *command,
                                  tv_error_info *reterr_info) TV_WARN_UNUSED;

#endif
