/* A filter as text again, fully parenthesised where it must be. */
#include "model/odata/filter.h"
#include "model/odata/literal.h"

static const char *const op_words[] = {
    [TV_OP_EQ] = "eq", [TV_OP_NE] = "ne", [TV_OP_GT] = "gt",
    [TV_OP_GE] = "ge", [TV_OP_LT] = "lt", [TV_OP_LE] = "le",
};

static void print_chain(tv_buf *buf, const tv_filter *filter, const tv_node *node, const char *word)
{
    for (const tv_node *child = node->first; child; child = child->next) {
        bool needs_parentheses = child->kind == TV_NODE_AND || child->kind == TV_NODE_OR;

        if (child != node->first)
            tv_buf_printf(buf, " %s ", word);
        if (needs_parentheses)
            tv_buf_add_char(buf, '(');
        tv_filter_print(buf, filter, child);
        if (needs_parentheses)
            tv_buf_add_char(buf, ')');
    }
}

void tv_filter_print(tv_buf *buf, const tv_filter *filter, const tv_node *node)
{
    if (node == NULL)
        return;

    switch ((tv_node_kind)node->kind) {
    case TV_NODE_AND:
        print_chain(buf, filter, node, "and");
        break;
    case TV_NODE_OR:
        print_chain(buf, filter, node, "or");
        break;
    case TV_NODE_NOT:
        tv_buf_add_lit(buf, "not (");
        tv_filter_print(buf, filter, node->first);
        tv_buf_add_char(buf, ')');
        break;
    case TV_NODE_COMPARE:
        tv_buf_printf(buf, "%.*s %s ", TV_FMT(filter->names.list[node->name]), op_words[node->op]);
        tv_literal_print(buf, &node->literal);
        break;
    case TV_NODE_TRUTH:
        tv_buf_add(buf, filter->names.list[node->name]);
        break;
    case TV_NODE_FALSE:
        tv_buf_add_lit(buf, "false");
        break;
    }
}

size_t tv_filter_print_max(const tv_filter *filter, const tv_node *node)
{
    enum { NODE_BYTES = 64 };
    size_t bytes = NODE_BYTES;

    if (node == NULL)
        return 0;
    if (node->kind == TV_NODE_COMPARE || node->kind == TV_NODE_TRUTH)
        bytes += filter->names.list[node->name].len;
    /* A quote becomes two, a byte of a binary two digits. */
    if (node->kind == TV_NODE_COMPARE &&
        (node->literal.type == TV_EDM_STRING || node->literal.type == TV_EDM_BINARY))
        bytes += 2 * node->literal.bytes.len;
    for (const tv_node *child = tv_node_first(node); child; child = child->next)
        bytes += tv_filter_print_max(filter, child);
    return bytes;
}
