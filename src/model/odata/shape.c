/* Shapes are made from the leaves up: the text of a node is that of its children, sorted. */
#include "model/odata/shape.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"

static const char *const op_words[] = {
    [TV_OP_EQ] = "eq", [TV_OP_NE] = "ne", [TV_OP_GT] = "gt",
    [TV_OP_GE] = "ge", [TV_OP_LT] = "lt", [TV_OP_LE] = "le",
};

static const char type_letters[] = {
    [TV_EDM_STRING] = 's', [TV_EDM_BOOLEAN] = 'b',  [TV_EDM_INT32] = 'i', [TV_EDM_INT64] = 'l',
    [TV_EDM_DOUBLE] = 'd', [TV_EDM_DATETIME] = 't', [TV_EDM_GUID] = 'g',  [TV_EDM_BINARY] = 'x',
};

/* The longest beginning of a text that ends between two characters. */
static tv_slice cut(tv_slice text, size_t bytes_max)
{
    if (text.len <= bytes_max)
        return text;

    size_t len = bytes_max;

    while (len > 0 && ((unsigned char)text.data[len] & 0xc0) == 0x80)
        len--;
    return tv_slice_take(text, len);
}

/* --- the text --- */

/* The text of a node: a part of its parent's. */
typedef struct part {
    tv_slice text;
    bool is_chain; /* joined by `and` or `or`: needs parentheses inside another operator */
    uint32_t count;
    const tv_property **literals; /* of its text, in order */
    size_t literal_count;
} part;

typedef struct maker {
    tv_arena *scratch;
    const tv_filter *filter;
    uint32_t list_len;
    bool keeps_literals;
} maker;

static void add_name(tv_buf *buf, tv_slice name)
{
    tv_buf_add(buf, cut(name, TV_SHAPE_NAME_MAX));
    if (name.len > TV_SHAPE_NAME_MAX)
        tv_buf_printf(buf, "…%08" PRIx32, (uint32_t)(tv_fnv(name) >> 32));
}

static tv_slice keep(maker *m, tv_buf *buf)
{
    tv_slice text = tv_arena_dup(m->scratch, tv_buf_slice(buf));

    tv_buf_done(buf);
    return text;
}

static tv_slice compare_text(maker *m, const tv_node *node, bool is_negated)
{
    tv_compare_op op =
        is_negated ? tv_compare_op_negate((tv_compare_op)node->op) : (tv_compare_op)node->op;
    tv_buf buf = {0};

    add_name(&buf, m->filter->names.list[node->name]);
    tv_buf_printf(&buf, " %s ?%c", op_words[op], type_letters[node->literal.type]);
    return keep(m, &buf);
}

static tv_slice truth_text(maker *m, const tv_node *node)
{
    tv_buf buf = {0};

    add_name(&buf, m->filter->names.list[node->name]);
    return keep(m, &buf);
}

static bool strip(tv_slice *text, tv_slice prefix)
{
    if (!tv_slice_starts_with(*text, prefix))
        return false;

    *text = tv_slice_skip(*text, prefix.len);
    return true;
}

static bool begins_with_name(tv_slice text, tv_slice name)
{
    return tv_slice_starts_with(text, name) &&
           (text.len == name.len || text.data[name.len] == ' ' || text.data[name.len] == ')');
}

/* 0: begins with PartitionKey, 1: with RowKey, 2: with anything else. */
static int rank_of(tv_slice text)
{
    while (strip(&text, TV_LIT("any(")) || strip(&text, TV_LIT("all(")) ||
           strip(&text, TV_LIT("not(")) || strip(&text, TV_LIT("(")))
        ;
    if (begins_with_name(text, TV_LIT("PartitionKey")))
        return 0;
    return begins_with_name(text, TV_LIT("RowKey")) ? 1 : 2;
}

static int by_text(const void *a, const void *b)
{
    return tv_slice_cmp(((const part *)a)->text, ((const part *)b)->text);
}

static int by_rank_and_text(const void *a, const void *b)
{
    int order = rank_of(((const part *)a)->text) - rank_of(((const part *)b)->text);

    return order ? order : by_text(a, b);
}

static tv_slice wrap(maker *m, const char *open, tv_slice text)
{
    tv_buf buf = {0};

    tv_buf_printf(&buf, "%s%.*s)", open, TV_FMT(text));
    return keep(m, &buf);
}

static void add_literals(maker *m, part *to, const part *more)
{
    const tv_property **both;

    if (more->literal_count == 0)
        return;
    both = tv_arena_alloc(m->scratch, (to->literal_count + more->literal_count) * sizeof *both);
    if (to->literal_count)
        memcpy(both, to->literals, to->literal_count * sizeof *both);
    memcpy(both + to->literal_count, more->literals, more->literal_count * sizeof *both);
    to->literals = both;
    to->literal_count += more->literal_count;
}

/* A comparison. */
static part compare_part(maker *m, const tv_node *node, bool is_negated)
{
    part p = {.text = compare_text(m, node, is_negated)};

    if (m->keeps_literals) {
        p.literals = tv_arena_alloc(m->scratch, sizeof *p.literals);
        p.literals[0] = &node->literal;
        p.literal_count = 1;
    }
    return p;
}

/* Parts with the same text become one that stands for all of them; how many parts are left. */
static size_t collapse(maker *m, part *parts, size_t count, const char *open)
{
    size_t kept = 0;

    qsort(parts, count, sizeof *parts, by_text);
    for (size_t i = 0; i < count; i++) {
        if (kept && tv_slice_eq(parts[kept - 1].text, parts[i].text)) {
            parts[kept - 1].count++;
            add_literals(m, &parts[kept - 1], &parts[i]);
            continue;
        }
        parts[kept] = parts[i];
        parts[kept++].count = 1;
    }
    for (size_t i = 0; i < kept; i++) {
        if (parts[i].count == 1)
            continue;
        if (parts[i].count > m->list_len)
            m->list_len = parts[i].count;
        parts[i].text = wrap(m, open, parts[i].text);
        parts[i].is_chain = false;
    }
    return kept;
}

static part node_part(maker *m, const tv_node *node, int depth);

static part chain_part(maker *m, const tv_node *node, int depth)
{
    bool is_or = node->kind == TV_NODE_OR;
    size_t count = 0;

    for (const tv_node *child = node->first; child; child = child->next)
        count++;

    part *parts = tv_arena_alloc(m->scratch, count * sizeof *parts);
    size_t at = 0;

    for (const tv_node *child = node->first; child; child = child->next)
        parts[at++] = node_part(m, child, depth + 1);
    count = collapse(m, parts, count, is_or ? "any(" : "all(");
    if (count == 1)
        return parts[0];

    for (size_t i = 0; i < count; i++) {
        if (parts[i].is_chain)
            parts[i].text = wrap(m, "(", parts[i].text);
    }
    qsort(parts, count, sizeof *parts, by_rank_and_text);

    tv_buf buf = {0};
    part all = {.is_chain = true};

    for (size_t i = 0; i < count; i++) {
        if (i)
            tv_buf_add(&buf, is_or ? TV_LIT(" or ") : TV_LIT(" and "));
        tv_buf_add(&buf, parts[i].text);
        add_literals(m, &all, &parts[i]);
    }
    all.text = keep(m, &buf);
    return all;
}

static part not_part(maker *m, const tv_node *node, int depth)
{
    const tv_node *child = node->first;

    if (child->kind == TV_NODE_COMPARE && tv_filter_is_key(m->filter, child->name))
        return compare_part(m, child, true);

    part p = node_part(m, child, depth + 1);

    p.text = wrap(m, "not(", p.text);
    p.is_chain = false;
    return p;
}

/* Without this a filter of many levels would be copied once for each of them. */
static part hide(maker *m, part p)
{
    tv_buf buf = {0};

    tv_buf_printf(&buf, "…%08" PRIx32, (uint32_t)(tv_fnv(p.text) >> 32));
    return (part){.text = keep(m, &buf)};
}

static part node_part(maker *m, const tv_node *node, int depth)
{
    part p = {0};

    switch ((tv_node_kind)node->kind) {
    case TV_NODE_AND:
    case TV_NODE_OR:
        p = chain_part(m, node, depth);
        return depth > TV_SHAPE_DEPTH_MAX ? hide(m, p) : p;
    case TV_NODE_NOT:
        p = not_part(m, node, depth);
        return depth > TV_SHAPE_DEPTH_MAX ? hide(m, p) : p;
    case TV_NODE_COMPARE:
        return compare_part(m, node, false);
    case TV_NODE_TRUTH:
        p.text = truth_text(m, node);
        return p;
    case TV_NODE_FALSE:
        p.text = TV_LIT("false");
        return p;
    }
    tv_assert(!"a kind of node");
    return p;
}

/* --- flags --- */

static bool is_span(const tv_node *node)
{
    return node->op >= TV_OP_GT;
}

static uint32_t compare_flags(const tv_filter *filter, const tv_node *node)
{
    uint32_t time_flags = node->op == TV_OP_LT || node->op == TV_OP_LE   ? TV_SHAPE_OLDER
                          : node->op == TV_OP_GT || node->op == TV_OP_GE ? TV_SHAPE_NEWER
                                                                         : 0;

    if (node->name == filter->partition_name)
        return TV_SHAPE_PARTITION;
    if (node->name == filter->row_name)
        return TV_SHAPE_ROW | (is_span(node) ? TV_SHAPE_ROW_SPAN : 0);
    if (tv_slice_eq(filter->names.list[node->name], TV_LIT("Timestamp")))
        return TV_SHAPE_PROPERTY | TV_SHAPE_TIMESTAMP | time_flags;
    if (node->literal.type == TV_EDM_DATETIME)
        return TV_SHAPE_PROPERTY | TV_SHAPE_DATETIME | time_flags;
    return TV_SHAPE_PROPERTY;
}

/* Of the node and all below it. */
static uint32_t node_flags(const tv_filter *filter, const tv_node *node)
{
    enum { COMPARED = TV_SHAPE_PARTITION | TV_SHAPE_ROW | TV_SHAPE_PROPERTY };
    uint32_t flags = 0;
    bool all_row = true, all_partition = true;

    if (node->kind == TV_NODE_COMPARE)
        return compare_flags(filter, node);
    if (node->kind == TV_NODE_TRUTH)
        return TV_SHAPE_PROPERTY;
    for (const tv_node *child = tv_node_first(node); child; child = child->next) {
        uint32_t below = node_flags(filter, child);

        flags |= below;
        all_row = all_row && (below & COMPARED) == TV_SHAPE_ROW;
        all_partition = all_partition && (below & TV_SHAPE_PARTITION);
    }
    if (node->kind == TV_NODE_OR)
        flags |= (all_row ? TV_SHAPE_ANY_ROW : 0) | (all_partition ? TV_SHAPE_ANY_PARTITION : 0);
    return flags;
}

/* What one part of the top `and` says about PartitionKey. */
static uint32_t top_flags(const tv_filter *filter, const tv_node *node)
{
    if (node->kind != TV_NODE_COMPARE || node->name != filter->partition_name)
        return 0;
    if (node->op == TV_OP_EQ)
        return TV_SHAPE_PARTITION_EQ;
    return is_span(node) ? TV_SHAPE_PARTITION_SPAN : 0;
}

static bool is_ne_partition(const tv_filter *filter, const tv_node *node)
{
    bool is_not = node->kind == TV_NODE_NOT;
    const tv_node *compare = is_not ? node->first : node;

    if (node->kind == TV_NODE_AND) {
        for (const tv_node *child = node->first; child; child = child->next) {
            if (!is_ne_partition(filter, child))
                return false;
        }
        return true;
    }
    return compare->kind == TV_NODE_COMPARE && compare->name == filter->partition_name &&
           compare->op == (is_not ? TV_OP_EQ : TV_OP_NE);
}

static uint32_t flags_of(const tv_filter *filter)
{
    const tv_node *root = filter->root;
    uint32_t flags;

    if (root == NULL)
        return 0;

    flags = node_flags(filter, root);
    if (root->kind == TV_NODE_AND) {
        for (const tv_node *child = root->first; child; child = child->next)
            flags |= top_flags(filter, child);
    } else {
        flags |= top_flags(filter, root);
    }
    return flags | (is_ne_partition(filter, root) ? TV_SHAPE_ONLY_NE_PARTITION : 0);
}

/* --- all of it --- */

tv_shape tv_shape_make(tv_arena *arena, const tv_filter *filter, bool has_select, bool has_top)
{
    tv_arena scratch;
    maker m = {.scratch = &scratch, .filter = filter};
    char end[] = "|select=0|top=0";
    uint64_t hash = tv_fnv(TV_LIT("v1|QueryEntities|"));
    tv_slice text;

    end[sizeof "|select=" - 1] = has_select ? '1' : '0';
    end[sizeof end - 2] = has_top ? '1' : '0';
    tv_arena_init(&scratch);
    text = filter->root ? node_part(&m, filter->root, 0).text : TV_LIT("*");
    hash = tv_fnv_more(tv_fnv_more(hash, text), TV_LIT(end));

    tv_shape shape = {
        .text = tv_arena_dup(arena, cut(text, TV_SHAPE_TEXT_MAX)),
        .fingerprint = hash,
        .flags = flags_of(filter),
        .list_len = m.list_len,
        .comparisons = (uint32_t)filter->compare_count,
    };

    tv_arena_done(&scratch);
    return shape;
}

size_t tv_shape_literals(tv_arena *arena, const tv_filter *filter,
                         const tv_property *const **ret_literals)
{
    maker m = {.scratch = arena, .filter = filter, .keeps_literals = true};
    part all = {0};

    if (filter->root)
        all = node_part(&m, filter->root, 0);
    *ret_literals = all.literals;
    return all.literal_count;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t node_structure(const tv_filter *filter, const tv_node *node, uint64_t hash)
{
    hash = mix(hash, node->kind + 1u);
    if (node->kind == TV_NODE_COMPARE)
        hash = mix(hash, (uint64_t)node->op << 8 | (uint64_t)node->literal.type);
    if (node->kind == TV_NODE_COMPARE || node->kind == TV_NODE_TRUTH)
        hash = mix(hash, tv_hash(filter->names.list[node->name]));
    for (const tv_node *child = tv_node_first(node); child; child = child->next)
        hash = node_structure(filter, child, hash);
    return mix(hash, 0); /* the end of its children */
}

uint64_t tv_shape_structure(const tv_filter *filter, bool has_select, bool has_top)
{
    uint64_t hash = mix(tv_hash(TV_LIT("shape")), 1u + has_select * 2u + has_top);

    return filter->root ? node_structure(filter, filter->root, hash) : hash;
}

/* --- what else a filter tells --- */

static void add_example(tv_buf *buf, const tv_filter *filter, const tv_node *node)
{
    static const char *const literals[] = {
        [TV_EDM_STRING] = "'…'",   [TV_EDM_BOOLEAN] = "true", [TV_EDM_INT32] = "0",
        [TV_EDM_INT64] = "0L",     [TV_EDM_DOUBLE] = "0.0",   [TV_EDM_DATETIME] = "datetime'…'",
        [TV_EDM_GUID] = "guid'…'", [TV_EDM_BINARY] = "X'…'",
    };

    switch ((tv_node_kind)node->kind) {
    case TV_NODE_AND:
    case TV_NODE_OR:
        for (const tv_node *child = node->first; child; child = child->next) {
            bool is_chain = child->kind == TV_NODE_AND || child->kind == TV_NODE_OR;

            if (child != node->first)
                tv_buf_add(buf, node->kind == TV_NODE_AND ? TV_LIT(" and ") : TV_LIT(" or "));
            if (is_chain)
                tv_buf_add_char(buf, '(');
            add_example(buf, filter, child);
            if (is_chain)
                tv_buf_add_char(buf, ')');
        }
        break;
    case TV_NODE_NOT:
        tv_buf_add_lit(buf, "not (");
        add_example(buf, filter, node->first);
        tv_buf_add_char(buf, ')');
        break;
    case TV_NODE_COMPARE:
        add_name(buf, filter->names.list[node->name]);
        tv_buf_printf(buf, " %s %s", op_words[node->op], literals[node->literal.type]);
        break;
    case TV_NODE_TRUTH:
        add_name(buf, filter->names.list[node->name]);
        break;
    case TV_NODE_FALSE:
        tv_buf_add_lit(buf, "false");
        break;
    }
}

tv_slice tv_shape_example(tv_arena *arena, const tv_filter *filter, size_t bytes_max)
{
    tv_buf buf = {0};
    tv_slice text;

    if (filter->root)
        add_example(&buf, filter, filter->root);
    text = tv_arena_dup(arena, cut(tv_buf_slice(&buf), bytes_max));
    tv_buf_done(&buf);
    return text;
}

static void look_at_bounds(const tv_filter *filter, const tv_node *node, int *upper, int *lower,
                           int *other)
{
    for (const tv_node *child = tv_node_first(node); child; child = child->next)
        look_at_bounds(filter, child, upper, lower, other);
    if (node->kind != TV_NODE_COMPARE || !is_span(node) || !tv_filter_is_key(filter, node->name) ||
        node->literal.type != TV_EDM_STRING)
        return;

    char first = node->literal.bytes.len ? node->literal.bytes.data[0] : '\0';

    if (first >= 'A' && first <= 'Z')
        ++*upper;
    else if (first >= 'a' && first <= 'z')
        ++*lower;
    else
        ++*other;
}

tv_shape_case tv_shape_bounds_case(const tv_filter *filter)
{
    int upper = 0, lower = 0, other = 0;

    if (filter->root)
        look_at_bounds(filter, filter->root, &upper, &lower, &other);
    if (other || (upper && lower) || upper + lower == 0)
        return TV_SHAPE_CASE_NONE;
    return upper ? TV_SHAPE_CASE_UPPER : TV_SHAPE_CASE_LOWER;
}
