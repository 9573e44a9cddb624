/* The operations of the table service: its table of operations (ops.def) as an enum. */
#ifndef TV_SERVICES_TABLE_OPS_H
#define TV_SERVICES_TABLE_OPS_H

#include "model/entity/op.h"

typedef enum tv_table_op_kind {
#define OP(kind, ...) TV_TABLE_OP_##kind,
#include "services/table/ops.def"
    TV_TABLE_OP_COUNT
} tv_table_op_kind;

/* Every operation on entities has its row, and in the same order. */
#define OP(kind)                                                                                   \
    _Static_assert((int)TV_TABLE_OP_##kind ==                                                      \
                       (int)TV_TABLE_OP_QUERY_ENTITIES + (int)TV_ENTITY_OP_##kind,                 \
                   #kind " is not where entity/op.h has it");
TV_ENTITY_OPS(OP)
#undef OP
_Static_assert((int)TV_TABLE_OP_COUNT == (int)TV_TABLE_OP_QUERY_ENTITIES + (int)TV_ENTITY_OP_COUNT,
               "operations on entities come last");

#endif
