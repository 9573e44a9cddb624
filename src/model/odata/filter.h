/*
 * A parsed $filter: a tree of comparisons, and, or, not.
 *
 *     filter     := or
 *     or         := and ( "or" and )*
 *     and        := unary ( "and" unary )*
 *     unary      := "not" unary | primary
 *     primary    := "(" filter ")" | operand [ op operand ]
 *     op         := "eq" | "ne" | "gt" | "ge" | "lt" | "le"
 *
 * One operand of a comparison is a property and the other a literal, in either
 * order; the tree always has the property on the left.  A bare property stands
 * for "is true".  Chains of "and" and of "or" are one node with many children,
 * however they were parenthesised, and a "not" has no "not" beneath it.  "true"
 * and "false" may take the place of a comparison; they are folded, and all that
 * can be left of them is a filter that passes nothing.  README.md next to this
 * file says what becomes of the tree.
 */
#ifndef TV_MODEL_ODATA_FILTER_H
#define TV_MODEL_ODATA_FILTER_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/odata/edm.h"
#include "model/odata/names.h"

enum {
    TV_FILTER_DEPTH_MAX = 1000, /* of parentheses and nots */
};

typedef enum tv_node_kind {
    TV_NODE_AND,
    TV_NODE_OR,
    TV_NODE_NOT,     /* one child; the last of the kinds that have children */
    TV_NODE_COMPARE, /* property op literal */
    TV_NODE_TRUTH,   /* a bare property: there, a Boolean, and true */
    TV_NODE_FALSE,   /* passes nothing; only as the root */
} tv_node_kind;

typedef enum tv_compare_op {
    TV_OP_EQ,
    TV_OP_NE,
    TV_OP_GT,
    TV_OP_GE,
    TV_OP_LT,
    TV_OP_LE,
} tv_compare_op;

typedef struct tv_node {
    uint8_t kind;         /* tv_node_kind */
    uint8_t op;           /* COMPARE: tv_compare_op */
    int16_t name;         /* COMPARE, TRUTH: index into tv_filter.names */
    int32_t number;       /* COMPARE: counted from 0 in the filter */
    struct tv_node *next; /* sibling */
    union {
        struct {
            struct tv_node *first, *last; /* AND, OR, NOT: children */
        };
        tv_property literal; /* COMPARE: type and value */
    };
} tv_node;

/** The first child of a node, NULL when it has none. */
static inline tv_node *tv_node_first(const tv_node *node)
{
    return node->kind <= TV_NODE_NOT ? node->first : NULL;
}

/** A filter and the properties it asks for, each once. */
typedef struct tv_filter {
    tv_node *root; /* NULL: everything passes */
    tv_names names;
    int compare_count;
    int partition_name, row_name; /* of PartitionKey and RowKey among the names, or -1 */
} tv_filter;

/** Whether a name is PartitionKey or RowKey. */
static inline bool tv_filter_is_key(const tv_filter *filter, int name)
{
    return name == filter->partition_name || name == filter->row_name;
}

/**
 * Parse a filter; an empty one and "true" pass everything.  TV_ERR_FILTER_SYNTAX and
 * TV_ERR_INVALID_INPUT with the service's text; TV_ERR_NOT_IMPLEMENTED for
 * functions, arithmetic and comparisons of two properties or two literals.
 * The filter lives in the arena.
 */
tv_err tv_filter_parse(tv_arena *arena, tv_slice text, tv_filter **ret_filter,
                       tv_error_info *reterr_info) TV_WARN_UNUSED;

/** Whether it is clear without looking at any entity that none passes. */
static inline bool tv_filter_passes_nothing(const tv_filter *filter)
{
    return filter->root && filter->root->kind == TV_NODE_FALSE;
}

/** The value of a name, or that the entity has none. */
typedef struct tv_filter_slot {
    bool is_there;
    tv_property value;
} tv_filter_slot;

/**
 * Whether an entity passes.  `slots` has one for each of filter->names.  The
 * rules of comparison are those of the service, see eval.c.  `node` is the
 * filter's root or a part of it; NULL passes.
 */
bool tv_filter_eval(const tv_node *node, const tv_filter_slot *slots);

/** Compare one stored value with a literal by the service's rules; for tests and eval. */
bool tv_filter_compare(const tv_property *stored, tv_compare_op op, const tv_property *literal);

/** Ordinal order of two strings in UTF-8: that of their UTF-16 units. */
int tv_ordinal_compare(tv_slice a, tv_slice b);

/** The operator that holds where `op` does not (for values that compare at all). */
tv_compare_op tv_compare_op_negate(tv_compare_op op);

/**
 * Write a part of a filter as text that parses to the same tree.  It may have more
 * parentheses than the original; one nested almost too deeply then is too deep.
 */
void tv_filter_print(tv_buf *buf, const tv_filter *filter, const tv_node *node);

/** The most bytes that this writes. */
size_t tv_filter_print_max(const tv_filter *filter, const tv_node *node);

#endif
