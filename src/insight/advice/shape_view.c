/* See shape_view.h. */
#include "insight/advice/shape_view.h"

#include "base/buf.h"

/* Lists inside lists deeper than this are taken as lists of one. */
enum { LISTS_MAX = 3 };

/* ---- from a shape to a filter ---------------------------------------------------------------- */

/* A literal of a type; bounds of ranges are in order, members of a list differ. */
static const char *sample_literal(char type, bool is_upper, bool is_second)
{
    switch (type) {
    case 's':
        return is_second ? "'z'" : is_upper ? "'y'" : "'x'";
    case 'i':
        return is_second ? "3" : is_upper ? "2" : "1";
    case 'l':
        return is_second ? "3L" : is_upper ? "2L" : "1L";
    case 'd':
        return is_second ? "3.5" : is_upper ? "2.5" : "1.5";
    case 'b':
        return is_second ? "false" : "true";
    case 't':
        return is_second  ? "datetime'2026-01-03T00:00:00Z'"
               : is_upper ? "datetime'2026-01-02T00:00:00Z'"
                          : "datetime'2026-01-01T00:00:00Z'";
    case 'g':
        return is_second  ? "guid'00000000-0000-0000-0000-000000000003'"
               : is_upper ? "guid'00000000-0000-0000-0000-000000000002'"
                          : "guid'00000000-0000-0000-0000-000000000001'";
    case 'x':
        return is_second ? "X'03'" : is_upper ? "X'02'" : "X'01'";
    default:
        return NULL;
    }
}

/* The position of the parenthesis that closes what is open at the start; text.len: none does. */
static size_t find_close(tv_slice text)
{
    int open = 1;

    for (size_t i = 0; i < text.len; i++) {
        open += (text.data[i] == '(') - (text.data[i] == ')');
        if (open == 0)
            return i;
    }
    return text.len;
}

static bool is_list(tv_slice text, size_t at)
{
    return (at == 0 || text.data[at - 1] == ' ' || text.data[at - 1] == '(') &&
           tv_slice_starts_with(tv_slice_skip(text, at), TV_LIT("any("));
}

static bool is_all_list(tv_slice text, size_t at)
{
    return (at == 0 || text.data[at - 1] == ' ' || text.data[at - 1] == '(') &&
           tv_slice_starts_with(tv_slice_skip(text, at), TV_LIT("all("));
}

static bool write_filter(tv_buf *out, tv_slice text, bool is_second, int lists)
{
    for (size_t i = 0; i < text.len; i++) {
        if (is_list(text, i) && lists < LISTS_MAX) {
            tv_slice rest = tv_slice_skip(text, i + 4);
            size_t close = find_close(rest);
            tv_slice body = tv_slice_take(rest, close);

            if (close == rest.len)
                return false;
            tv_buf_add_lit(out, "((");
            if (!write_filter(out, body, is_second, lists + 1))
                return false;
            tv_buf_add_lit(out, ") or (");
            if (!write_filter(out, body, !is_second, lists + 1))
                return false;
            tv_buf_add_lit(out, "))");
            i += 4 + close;
        } else if (is_list(text, i) || is_all_list(text, i)) {
            i += 2;
        } else if (text.data[i] == '?' && i + 1 < text.len) {
            bool is_upper = i >= 4 && (memcmp(text.data + i - 4, " lt ", 4) == 0 ||
                                       memcmp(text.data + i - 4, " le ", 4) == 0);
            const char *literal = sample_literal(text.data[i + 1], is_upper, is_second);

            if (literal == NULL)
                return false;
            tv_buf_add(out, tv_slice_of(literal));
            i++;
        } else {
            tv_buf_add_char(out, text.data[i]);
        }
    }
    return true;
}

/* ---- what is in it --------------------------------------------------------------------------- */

static tv_slice name_of(const tv_filter *filter, const tv_node *node)
{
    return filter->names.list[node->name];
}

static void note_key(tv_shape_view *view, const tv_node *node, bool is_partition)
{
    bool is_range = node->op != TV_OP_EQ && node->op != TV_OP_NE;

    if (node->op == TV_OP_NE)
        return;
    if (is_partition) {
        view->has_partition = true;
        view->has_partition_range |= is_range;
    } else {
        view->has_row = true;
        view->has_row_range |= is_range;
    }
}

static void note_property(tv_shape_view *view, const tv_node *node)
{
    bool is_timestamp, is_time;

    view->has_property = true;
    if (node->kind != TV_NODE_COMPARE)
        return;
    is_timestamp = tv_slice_eq(name_of(view->parsed, node), TV_LIT("Timestamp"));
    is_time = is_timestamp || node->literal.type == TV_EDM_DATETIME;
    view->has_time |= is_time;
    view->has_old |= is_time && (node->op == TV_OP_LT || node->op == TV_OP_LE);
    if (is_timestamp && !view->has_timestamp) {
        view->has_timestamp = true;
        view->timestamp_op = (tv_compare_op)node->op;
    }
}

/* Whether all that is compared beneath is this name. */
static bool compares_only(const tv_node *node, int name)
{
    if (node->kind == TV_NODE_COMPARE || node->kind == TV_NODE_TRUTH)
        return node->name == name;
    for (const tv_node *child = tv_node_first(node); child; child = child->next) {
        if (!compares_only(child, name))
            return false;
    }
    return tv_node_first(node) != NULL;
}

static bool compares_somewhere(const tv_node *node, int name)
{
    if (node->kind == TV_NODE_COMPARE || node->kind == TV_NODE_TRUTH)
        return node->name == name;
    for (const tv_node *child = tv_node_first(node); child; child = child->next) {
        if (compares_somewhere(child, name))
            return true;
    }
    return false;
}

static void walk(tv_shape_view *view, const tv_node *node)
{
    const tv_filter *filter = view->parsed;

    if (node->kind == TV_NODE_COMPARE || node->kind == TV_NODE_TRUTH) {
        if (node->kind == TV_NODE_COMPARE && tv_filter_is_key(filter, node->name))
            note_key(view, node, node->name == filter->partition_name);
        else
            note_property(view, node);
        return;
    }
    if (node->kind == TV_NODE_OR) {
        if (filter->row_name >= 0 && compares_only(node, filter->row_name))
            view->has_row_list = true;
        else if (filter->partition_name >= 0 && compares_somewhere(node, filter->partition_name))
            view->has_partition_list = true;
    }
    for (const tv_node *child = tv_node_first(node); child; child = child->next)
        walk(view, child);
}

static void take_part(tv_shape_view *view, const tv_node *node)
{
    const tv_filter *filter = view->parsed;

    if (node->kind != TV_NODE_COMPARE)
        return;
    if (tv_filter_is_key(filter, node->name)) {
        view->fixes_partition |= node->name == filter->partition_name && node->op == TV_OP_EQ;
    } else if (view->part_count < TV_VIEW_PARTS_MAX) {
        view->parts[view->part_count++] =
            (tv_view_part){name_of(filter, node), (tv_compare_op)node->op, node->literal.type};
    }
}

static bool is_same_form(const tv_node *a, const tv_node *b)
{
    const tv_node *in_a, *in_b;

    if (a->kind != b->kind)
        return false;
    if (a->kind == TV_NODE_COMPARE)
        return a->name == b->name && a->op == b->op && a->literal.type == b->literal.type;
    if (a->kind == TV_NODE_TRUTH)
        return a->name == b->name;
    in_a = tv_node_first(a);
    in_b = tv_node_first(b);
    for (; in_a && in_b; in_a = in_a->next, in_b = in_b->next) {
        if (!is_same_form(in_a, in_b))
            return false;
    }
    return in_a == NULL && in_b == NULL;
}

/* The body of an `or` all of whose children have one form; else the node itself. */
static const tv_node *body_of(const tv_node *node)
{
    const tv_node *first = tv_node_first(node);

    if (node->kind != TV_NODE_OR)
        return node;
    for (const tv_node *child = first; child; child = child->next) {
        if (!is_same_form(first, child))
            return node;
    }
    return first;
}

static void take_conjunction(tv_shape_view *view, const tv_node *root)
{
    const tv_node *body = body_of(root);

    if (body->kind == TV_NODE_OR || body->kind == TV_NODE_NOT)
        return;
    view->is_conjunction = true;
    if (body->kind != TV_NODE_AND) {
        take_part(view, body);
        return;
    }
    for (const tv_node *child = tv_node_first(body); child; child = child->next)
        take_part(view, body_of(child));
}

tv_shape_view tv_shape_view_of(tv_arena *arena, tv_slice text)
{
    tv_shape_view view = {0};
    tv_error_info info = {0};
    tv_buf out = TV_BUF_EMPTY;

    if (tv_slice_eq(text, TV_LIT("*"))) {
        view.is_parsed = view.is_all = true;
        view.filter = TV_LIT("");
        return view;
    }
    if (write_filter(&out, text, false, 0)) {
        view.filter = tv_arena_dup(arena, tv_buf_slice(&out));
        view.is_parsed = !tv_filter_parse(arena, view.filter, &view.parsed, &info) &&
                         view.parsed->root && !tv_filter_passes_nothing(view.parsed);
    }
    tv_buf_done(&out);
    if (!view.is_parsed)
        return view;
    walk(&view, view.parsed->root);
    take_conjunction(&view, view.parsed->root);
    view.is_all =
        !view.has_partition && !view.has_row && !view.has_property && view.parsed->row_name < 0;
    return view;
}

tv_slice tv_shape_view_property(const tv_shape_view *view)
{
    if (view->part_count)
        return view->parts[0].name;
    for (int i = 0; view->parsed && i < view->parsed->names.count; i++) {
        if (!tv_filter_is_key(view->parsed, i))
            return view->parsed->names.list[i];
    }
    return TV_LIT("");
}

bool tv_shape_view_compares(const tv_shape_view *view, tv_slice name)
{
    return view->parsed && tv_names_find(&view->parsed->names, name) >= 0;
}
