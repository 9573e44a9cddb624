/*
 * The service's rules of comparison, with P the stored property and L the
 * literal.  They are surprising, and clients rely on them:
 *
 *   - P is not there: false, whatever the operator, "ne" included.
 *   - P and L have the same type: as one expects.  Strings compare by UTF-16
 *     units, false is less than true, Guids by their bytes, Binary like strings
 *     of bytes.  A NaN equals nothing and is neither less nor greater.
 *   - L is a narrower number (Int32 for Int64; Int32 or Int64 for Double): L is
 *     widened, then as one expects.
 *   - Any other pair of types: as if P were less than L, so that eq, gt and ge
 *     are false and ne, lt and le are true.
 */
#include "base/assert.h"
#include "model/odata/filter.h"

tv_compare_op tv_compare_op_negate(tv_compare_op op)
{
    switch (op) {
    case TV_OP_EQ:
        return TV_OP_NE;
    case TV_OP_NE:
        return TV_OP_EQ;
    case TV_OP_GT:
        return TV_OP_LE;
    case TV_OP_GE:
        return TV_OP_LT;
    case TV_OP_LT:
        return TV_OP_GE;
    case TV_OP_LE:
        return TV_OP_GT;
    }
    tv_assert(!"an operator");
    return op;
}

static bool holds(tv_compare_op op, int order)
{
    switch (op) {
    case TV_OP_EQ:
        return order == 0;
    case TV_OP_NE:
        return order != 0;
    case TV_OP_GT:
        return order > 0;
    case TV_OP_GE:
        return order >= 0;
    case TV_OP_LT:
        return order < 0;
    case TV_OP_LE:
        return order <= 0;
    }
    return false;
}

/*
 * UTF-8 sorts by code point, UTF-16 by unit.  They differ in one case: a
 * character beyond the BMP, whose lead byte is F0 or more, has units below
 * those of U+E000 to U+FFFF, whose lead bytes are EE and EF.
 */
int tv_ordinal_compare(tv_slice a, tv_slice b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    size_t i = 0;

    while (i < common && a.data[i] == b.data[i])
        i++;
    if (i == common)
        return (a.len > b.len) - (a.len < b.len);

    unsigned char x = (unsigned char)a.data[i], y = (unsigned char)b.data[i];

    if (x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0))
        return x >= 0xf0 ? -1 : 1;
    return x < y ? -1 : 1;
}

static bool holds_int64(tv_compare_op op, int64_t p, int64_t l)
{
    return holds(op, (p > l) - (p < l));
}

static bool holds_double(tv_compare_op op, double p, double l)
{
    if (__builtin_isunordered(p, l))
        return op == TV_OP_NE;
    return holds(op, (p > l) - (p < l));
}

static bool compare_same_type(const tv_property *p, tv_compare_op op, const tv_property *l)
{
    switch (p->type) {
    case TV_EDM_STRING:
        return holds(op, tv_ordinal_compare(p->bytes, l->bytes));
    case TV_EDM_BINARY:
        return holds(op, tv_slice_cmp(p->bytes, l->bytes));
    case TV_EDM_BOOLEAN:
        return holds(op, p->boolean - l->boolean);
    case TV_EDM_INT32:
        return holds_int64(op, p->int32, l->int32);
    case TV_EDM_INT64:
        return holds_int64(op, p->int64, l->int64);
    case TV_EDM_DATETIME:
        return holds_int64(op, p->ticks, l->ticks);
    case TV_EDM_DOUBLE:
        return holds_double(op, p->real, l->real);
    case TV_EDM_GUID:
        return holds(op, memcmp(p->guid.bytes, l->guid.bytes, sizeof p->guid.bytes));
    }
    tv_assert(!"a property type");
    return false;
}

bool tv_filter_compare(const tv_property *stored, tv_compare_op op, const tv_property *literal)
{
    if (stored->type == literal->type)
        return compare_same_type(stored, op, literal);
    if (stored->type == TV_EDM_INT64 && literal->type == TV_EDM_INT32)
        return holds_int64(op, stored->int64, literal->int32);
    if (stored->type == TV_EDM_DOUBLE && literal->type == TV_EDM_INT32)
        return holds_double(op, stored->real, literal->int32);
    if (stored->type == TV_EDM_DOUBLE && literal->type == TV_EDM_INT64)
        return holds_double(op, stored->real, (double)literal->int64);
    return holds(op, -1);
}

bool tv_filter_eval(const tv_node *node, const tv_filter_slot *slots)
{
    if (node == NULL)
        return true;

    switch ((tv_node_kind)node->kind) {
    case TV_NODE_AND:
        for (const tv_node *child = node->first; child; child = child->next) {
            if (!tv_filter_eval(child, slots))
                return false;
        }
        return true;
    case TV_NODE_OR:
        for (const tv_node *child = node->first; child; child = child->next) {
            if (tv_filter_eval(child, slots))
                return true;
        }
        return false;
    case TV_NODE_NOT:
        return !tv_filter_eval(node->first, slots);
    case TV_NODE_COMPARE:
        return slots[node->name].is_there &&
               tv_filter_compare(&slots[node->name].value, (tv_compare_op)node->op,
                                 &node->literal);
    case TV_NODE_TRUTH:
        return slots[node->name].is_there && slots[node->name].value.type == TV_EDM_BOOLEAN &&
               slots[node->name].value.boolean;
    case TV_NODE_FALSE:
        return false;
    }
    tv_assert(!"a kind of node");
    return false;
}
