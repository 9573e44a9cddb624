/* From comparisons of properties to bounds of keys. */
#include "insight/whatif/rewrite.h"

#include "base/utf8.h"

enum { COMPARISONS_MAX = 64, ALTERNATIVES_MAX = 1000 };

/* One part of an `or`: what an entity has to be for it to pass, as far as comparisons say so. */
typedef struct conjunct {
    const tv_node *comparisons[COMPARISONS_MAX];
    size_t count;
} conjunct;

typedef struct rewriter {
    tv_arena *arena;
    const tv_filter *filter;
    const tv_design *design;
    const tv_rewrite_facts *facts;
} rewriter;

/* --- texts --- */

static size_t encode(uint32_t point, char *to)
{
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        to[0] = (char)(0xC0 | point >> 6);
        to[1] = (char)(0x80 | (point & 63));
        return 2;
    }
    if (point < 0x10000) {
        to[0] = (char)(0xE0 | point >> 12);
        to[1] = (char)(0x80 | (point >> 6 & 63));
        to[2] = (char)(0x80 | (point & 63));
        return 3;
    }
    to[0] = (char)(0xF0 | point >> 18);
    to[1] = (char)(0x80 | (point >> 12 & 63));
    to[2] = (char)(0x80 | (point >> 6 & 63));
    to[3] = (char)(0x80 | (point & 63));
    return 4;
}

static uint32_t decode(tv_slice character)
{
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t point = (unsigned char)character.data[0] & masks[character.len];

    for (size_t i = 1; i < character.len; i++)
        point = point << 6 | ((unsigned char)character.data[i] & 63);
    return point;
}

/* The next character by UTF-16 units, in which keys sort; 0 after the last. */
static uint32_t next_point(uint32_t point)
{
    if (point == 0x7E)
        return 0xA0; /* control characters cannot be in keys */
    if (point == 0xD7FF)
        return 0x10000;
    if (point == 0x10FFFF)
        return 0xE000;
    return point == 0xFFFF ? 0 : point + 1;
}

tv_slice tv_rewrite_successor(tv_arena *arena, tv_slice prefix)
{
    while (prefix.len) {
        size_t at = prefix.len - 1;

        while (at && ((unsigned char)prefix.data[at] & 0xC0) == 0x80)
            at--;

        uint32_t next = next_point(decode(tv_slice_skip(prefix, at)));
        char *text;

        prefix = tv_slice_take(prefix, at);
        if (next == 0)
            continue;
        text = tv_arena_bytes(arena, at + 4);
        memcpy(text, prefix.data, at);
        return (tv_slice){text, at + encode(next, text + at)};
    }
    return TV_LIT("");
}

static void add_comparison(tv_buf *to, const char *key, const char *op, tv_slice text)
{
    if (to->len)
        tv_buf_add_lit(to, " and ");
    tv_buf_printf(to, "%s %s '", key, op);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\'')
            tv_buf_add_char(to, '\'');
        tv_buf_add_char(to, text.data[i]);
    }
    tv_buf_add_char(to, '\'');
}

/* --- what the filter says of a property --- */

static tv_slice name_of(const rewriter *r, const tv_node *node)
{
    return r->filter->names.list[node->name];
}

/* The literal as a value of the type that the property has, if all equal values have one text. */
static bool as_stored(const rewriter *r, const tv_node *node, tv_property *ret_value)
{
    tv_slice name = name_of(r, node);
    bool is_key = tv_filter_is_key(r->filter, node->name);
    tv_edm_type type = is_key ? TV_EDM_STRING : r->facts->type_of(r->facts->ctx, name);

    *ret_value = node->literal;
    if (node->literal.type == TV_EDM_INT32 && type == TV_EDM_INT64)
        *ret_value = (tv_property){.type = TV_EDM_INT64, .int64 = node->literal.int32};
    return ret_value->type == type;
}

static bool find_fixed(const rewriter *r, const conjunct *all, tv_slice name,
                       tv_property *ret_value)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->comparisons[i]->op == TV_OP_EQ &&
            tv_slice_eq(name_of(r, all->comparisons[i]), name) &&
            as_stored(r, all->comparisons[i], ret_value))
            return true;
    }
    return false;
}

/* Narrow a range of texts that begin with `fixed` by what is said of the next part. */
static void add_bounds(const rewriter *r, const conjunct *all, const tv_template_part *part,
                       const char *key, tv_slice fixed, tv_buf *to)
{
    tv_slice least = fixed, end = tv_rewrite_successor(r->arena, fixed);

    for (size_t i = 0; part && i < all->count; i++) {
        const tv_node *node = all->comparisons[i];
        tv_compare_op op = (tv_compare_op)node->op;
        tv_property value;
        tv_slice text;
        bool is_reversed;

        if (op == TV_OP_EQ || op == TV_OP_NE || !tv_slice_eq(name_of(r, node), part->text) ||
            !as_stored(r, node, &value) ||
            !tv_template_keeps_order(part, value.type, &is_reversed) ||
            !tv_template_value(r->arena, part, &value, &text))
            continue;
        text = tv_arena_printf(r->arena, "%.*s%.*s", TV_FMT(fixed), TV_FMT(text));

        bool is_lower = (op == TV_OP_GT || op == TV_OP_GE) != is_reversed;
        bool is_open = op == TV_OP_GT || op == TV_OP_LT;
        /* Whatever follows this part, texts of the value itself begin with `text`. */
        tv_slice bound = is_lower == is_open ? tv_rewrite_successor(r->arena, text) : text;

        if (is_lower && tv_ordinal_compare(bound, least) > 0)
            least = bound;
        if (!is_lower && (end.len == 0 || tv_ordinal_compare(bound, end) < 0))
            end = bound;
    }
    if (least.len)
        add_comparison(to, key, "ge", least);
    if (end.len)
        add_comparison(to, key, "lt", end);
}

/* What is known of one key; whether it is known whole. */
static bool add_key(const rewriter *r, const conjunct *all, const tv_template *template_,
                    const char *key, tv_buf *to)
{
    tv_buf fixed = TV_BUF_EMPTY;
    const tv_template_part *open = NULL;

    for (size_t i = 0; i < template_->count && open == NULL; i++) {
        const tv_template_part *part = &template_->parts[i];
        tv_slice piece = part->text;
        tv_property value;

        if (part->is_text || (find_fixed(r, all, part->text, &value) &&
                              tv_template_value(r->arena, part, &value, &piece)))
            tv_buf_add(&fixed, piece);
        else
            open = part;
    }

    tv_slice text = tv_arena_dup(r->arena, tv_buf_slice(&fixed));

    tv_buf_done(&fixed);
    if (open)
        add_bounds(r, all, open, key, text, to);
    else
        add_comparison(to, key, "eq", text);
    return open == NULL;
}

/* --- parts of the filter --- */

static bool is_compared(const rewriter *r, const conjunct *all, tv_slice name)
{
    if (tv_slice_eq(name, TV_LIT("PartitionKey")) || tv_slice_eq(name, TV_LIT("RowKey")))
        return true; /* it is always there */
    for (size_t i = 0; i < all->count; i++) {
        if (tv_slice_eq(name_of(r, all->comparisons[i]), name))
            return true;
    }
    return false;
}

static bool is_fixed(const rewriter *r, const conjunct *all, const tv_template_part *part)
{
    tv_property value;
    tv_slice text;

    return find_fixed(r, all, part->text, &value) &&
           tv_template_value(r->arena, part, &value, &text);
}

/* Whether all entities that pass are in the design, as far as this key says. */
static bool has_all(const rewriter *r, const conjunct *all, const tv_template *template_)
{
    for (size_t i = 0; i < template_->count; i++) {
        const tv_template_part *part = &template_->parts[i];

        if (part->is_text)
            continue;
        if (r->facts->has_unusable ? !is_fixed(r, all, part) : !is_compared(r, all, part->text))
            return false;
    }
    return true;
}

static void collect(const tv_node *node, conjunct *ret_all)
{
    if (node->kind == TV_NODE_COMPARE && ret_all->count < COMPARISONS_MAX)
        ret_all->comparisons[ret_all->count++] = node;
    if (node->kind != TV_NODE_AND)
        return;
    for (const tv_node *child = tv_node_first(node); child; child = child->next) {
        if (child->kind == TV_NODE_COMPARE)
            collect(child, ret_all);
    }
}

/* One alternative as text; false when the design does not have all that pass it. */
static bool rewrite_part(const rewriter *r, const tv_node *node, tv_buf *to)
{
    conjunct all = {.count = 0};
    tv_buf row = TV_BUF_EMPTY;

    if (node)
        collect(node, &all);
    if (r->facts->is_partial &&
        !(has_all(r, &all, &r->design->partition) && has_all(r, &all, &r->design->row)))
        return false;
    /* A range of partitions says nothing about rows, but the planner may use it. */
    add_key(r, &all, &r->design->partition, "PartitionKey", to);
    add_key(r, &all, &r->design->row, "RowKey", &row);
    if (row.len) {
        if (to->len)
            tv_buf_add_lit(to, " and ");
        tv_buf_add(to, tv_buf_slice(&row));
    }
    tv_buf_done(&row);
    return true;
}

bool tv_rewrite(tv_arena *arena, const tv_filter *filter, const tv_design *design,
                const tv_rewrite_facts *facts, tv_slice *ret_keys)
{
    const rewriter r = {arena, filter, design, facts};
    const tv_node *root = filter->root;
    bool is_or = root && root->kind == TV_NODE_OR;
    tv_buf text = TV_BUF_EMPTY;
    bool can = true, is_bounded = true;
    int count = 0;

    for (const tv_node *node = is_or ? tv_node_first(root) : root; can; node = node->next) {
        tv_buf part = TV_BUF_EMPTY;

        can = rewrite_part(&r, node, &part) && ++count <= ALTERNATIVES_MAX;
        is_bounded = is_bounded && part.len > 0;
        if (text.len)
            tv_buf_add_lit(&text, " or ");
        tv_buf_add_lit(&text, "(");
        tv_buf_add(&text, tv_buf_slice(&part));
        tv_buf_add_lit(&text, ")");
        tv_buf_done(&part);
        if (!is_or || node->next == NULL)
            break;
    }
    *ret_keys = is_bounded ? tv_arena_dup(arena, tv_buf_slice(&text)) : TV_LIT("");
    tv_buf_done(&text);
    return can;
}
