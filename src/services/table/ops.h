/* The operations of the table service: its table of operations (ops.def) as an enum. */
#ifndef TV_SERVICES_TABLE_OPS_H
#define TV_SERVICES_TABLE_OPS_H

typedef enum tv_table_op_kind {
#define OP(kind, ...) TV_TABLE_OP_##kind,
#include "services/table/ops.def"
    TV_TABLE_OP_COUNT
} tv_table_op_kind;

#endif
