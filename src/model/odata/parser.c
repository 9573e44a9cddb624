/* From tokens to a tree. */
#include "base/assert.h"
#include "model/odata/filter.h"
#include "model/odata/lexer.h"
#include "model/odata/literal.h"

/*
 * A part of the filter while it is parsed.  What "true" and "false" make of the
 * parts around them is known at once, so no node of a tree stands for them.
 */
typedef struct part {
    tv_node *node; /* NULL for a constant */
    bool constant;
} part;

typedef struct parser {
    tv_arena *arena;
    tv_lexer lexer;
    tv_token token; /* the one to be looked at */
    tv_filter *filter;
    tv_error_info *info;
    int depth;
} parser;

/* One side of a comparison. */
typedef struct operand {
    bool is_literal;
    tv_slice name;
    tv_property literal;
} operand;

static const struct {
    tv_slice word;
    const char *kind; /* as error texts call it */
} operators[] = {
    [TV_OP_EQ] = {{"eq", 2}, "Equal"},       [TV_OP_NE] = {{"ne", 2}, "NotEqual"},
    [TV_OP_GT] = {{"gt", 2}, "GreaterThan"}, [TV_OP_GE] = {{"ge", 2}, "GreaterThanOrEqual"},
    [TV_OP_LT] = {{"lt", 2}, "LessThan"},    [TV_OP_LE] = {{"le", 2}, "LessThanOrEqual"},
};

/* --- errors --- */

static tv_err fail_at(parser *p, const char *what, size_t position)
{
    p->info->text =
        tv_arena_printf(p->arena, "%s at position %zu in '%.*s'.", what,
                        tv_lexer_position(p->lexer.filter, position), TV_FMT(p->lexer.filter));
    return TV_ERR_FILTER_SYNTAX;
}

/* The service counts to the end of the token that it cannot accept. */
static tv_err unexpected_token(parser *p)
{
    return fail_at(p, "Syntax error", p->token.end);
}

static tv_err incompatible(parser *p, tv_edm_type left, tv_edm_type right, const char *kind)
{
    p->info->text = tv_arena_printf(p->arena,
                                    "A binary operator with incompatible types was detected. Found "
                                    "operand types '%.*s' and '%.*s' for operator kind '%s'.",
                                    TV_FMT(tv_edm_name(left)), TV_FMT(tv_edm_name(right)), kind);
    return TV_ERR_INVALID_INPUT;
}

/* --- helpers --- */

static tv_err advance(parser *p)
{
    return tv_lexer_next(&p->lexer, &p->token, p->info);
}

static bool is_word(const tv_token *token, tv_slice word)
{
    return token->kind == TV_TOKEN_NAME && tv_slice_eq(token->text, word);
}

/* The properties whose type is known without looking at an entity. */
static bool declared_type(tv_slice name, tv_edm_type *ret_type)
{
    if (tv_slice_eq(name, TV_LIT("PartitionKey")) || tv_slice_eq(name, TV_LIT("RowKey")) ||
        tv_slice_eq(name, TV_LIT("TableName"))) {
        *ret_type = TV_EDM_STRING;
        return true;
    }
    *ret_type = TV_EDM_DATETIME;
    return tv_slice_eq(name, TV_LIT("Timestamp"));
}

static tv_node *node_new(parser *p, tv_node_kind kind)
{
    tv_node *node = tv_arena_zalloc(p->arena, sizeof *node);

    node->kind = kind;
    return node;
}

/* Append a child; children of a node of the same kind are taken over instead. */
static void node_add(tv_node *node, tv_node *child)
{
    bool is_same = child->kind == node->kind && node->kind != TV_NODE_NOT;
    tv_node *first = is_same ? child->first : child;
    tv_node *last = is_same ? child->last : child;

    if (node->last)
        node->last->next = first;
    else
        node->first = first;
    node->last = last;
}

static tv_err name_index(parser *p, tv_slice name, int16_t *ret_index)
{
    tv_filter *filter = p->filter;
    int index = tv_names_add(&filter->names, name);

    if (index < 0)
        return TV_ERR_INVALID_INPUT;

    if (tv_slice_eq(name, TV_LIT("PartitionKey")))
        filter->partition_name = index;
    else if (tv_slice_eq(name, TV_LIT("RowKey")))
        filter->row_name = index;
    *ret_index = (int16_t)index;
    return TV_OK;
}

/* --- the grammar, from the leaves up --- */

/* "-INF" is two tokens, and a '-' before anything else is arithmetic. */
static tv_err parse_minus(parser *p, operand *ret_operand)
{
    tv_err err = advance(p);

    if (err)
        return err;
    if (!is_word(&p->token, TV_LIT("INF")))
        return TV_ERR_NOT_IMPLEMENTED;

    ret_operand->is_literal = true;
    ret_operand->literal = (tv_property){.type = TV_EDM_DOUBLE, .real = -__builtin_inf()};
    return advance(p);
}

static tv_err parse_operand(parser *p, operand *ret_operand)
{
    tv_err err;

    *ret_operand = (operand){0};
    if (p->token.kind == TV_TOKEN_MINUS)
        return parse_minus(p, ret_operand);

    err = tv_literal_parse(p->arena, p->lexer.filter, &p->token, &ret_operand->is_literal,
                           &ret_operand->literal, p->info);
    if (err)
        return err;
    if (!ret_operand->is_literal && p->token.kind != TV_TOKEN_NAME)
        return fail_at(p, "Expression expected", p->token.start);
    /* "not eq 5" is not a comparison, so neither is "5 eq not". */
    if (is_word(&p->token, TV_LIT("not")))
        return unexpected_token(p);

    ret_operand->name = p->token.text;
    err = advance(p);
    if (err)
        return err;

    /* name(…) calls a function and name/… follows a path. */
    if (!ret_operand->is_literal &&
        (p->token.kind == TV_TOKEN_OPEN || p->token.kind == TV_TOKEN_SLASH))
        return TV_ERR_NOT_IMPLEMENTED;
    return TV_OK;
}

static bool is_arithmetic(const tv_token *token)
{
    return is_word(token, TV_LIT("add")) || is_word(token, TV_LIT("sub")) ||
           is_word(token, TV_LIT("mul")) || is_word(token, TV_LIT("div")) ||
           is_word(token, TV_LIT("mod"));
}

static bool is_compare_op(const tv_token *token, tv_compare_op *ret_op)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (is_word(token, operators[i].word)) {
            *ret_op = (tv_compare_op)i;
            return true;
        }
    }
    return false;
}

/* 5 lt age is age gt 5. */
static tv_compare_op mirrored(tv_compare_op op)
{
    switch (op) {
    case TV_OP_GT:
        return TV_OP_LT;
    case TV_OP_GE:
        return TV_OP_LE;
    case TV_OP_LT:
        return TV_OP_GT;
    case TV_OP_LE:
        return TV_OP_GE;
    case TV_OP_EQ:
    case TV_OP_NE:
        break;
    }
    return op;
}

/* A literal alone: health checks ask for "false", to read nothing. */
static tv_err make_constant(parser *p, const tv_property *literal, part *ret_part)
{
    if (literal->type != TV_EDM_BOOLEAN) {
        p->info->text = TV_LIT("The $filter expression must evaluate to a single boolean value.");
        return TV_ERR_INVALID_INPUT;
    }
    *ret_part = (part){.constant = literal->boolean};
    return TV_OK;
}

/* A property alone is "is true". */
static tv_err make_truth(parser *p, const operand *only, part *ret_part)
{
    tv_edm_type type;
    tv_err err;

    if (only->is_literal)
        return make_constant(p, &only->literal, ret_part);
    if (declared_type(only->name, &type))
        return incompatible(p, type, TV_EDM_BOOLEAN, "And");

    tv_node *node = node_new(p, TV_NODE_TRUTH);

    err = name_index(p, only->name, &node->name);
    if (err)
        return err;

    *ret_part = (part){.node = node};
    return TV_OK;
}

static tv_err make_compare(parser *p, const operand *left, tv_compare_op op, const operand *right,
                           part *ret_part)
{
    const operand *property = left->is_literal ? right : left;
    const operand *literal = left->is_literal ? left : right;
    tv_edm_type type;
    tv_err err;

    if (left->is_literal == right->is_literal)
        return TV_ERR_NOT_IMPLEMENTED;
    if (declared_type(property->name, &type) && literal->literal.type != type)
        return left->is_literal ? incompatible(p, literal->literal.type, type, operators[op].kind)
                                : incompatible(p, type, literal->literal.type, operators[op].kind);

    tv_node *node = node_new(p, TV_NODE_COMPARE);

    node->op = left->is_literal ? mirrored(op) : op;
    node->number = p->filter->compare_count++;
    node->literal = literal->literal;
    err = name_index(p, property->name, &node->name);
    if (err)
        return err;

    *ret_part = (part){.node = node};
    return TV_OK;
}

static tv_err parse_comparison(parser *p, part *ret_part)
{
    operand left, right;
    tv_compare_op op;
    tv_err err;

    err = parse_operand(p, &left);
    if (err)
        return err;
    if (is_arithmetic(&p->token) || p->token.kind == TV_TOKEN_MINUS)
        return TV_ERR_NOT_IMPLEMENTED;
    if (!is_compare_op(&p->token, &op))
        return make_truth(p, &left, ret_part);

    err = advance(p);
    if (err)
        return err;

    err = parse_operand(p, &right);
    if (err)
        return err;
    if (is_arithmetic(&p->token) || p->token.kind == TV_TOKEN_MINUS)
        return TV_ERR_NOT_IMPLEMENTED;

    return make_compare(p, &left, op, &right, ret_part);
}

static tv_err parse_or(parser *p, part *ret_part);

static tv_err parse_parentheses(parser *p, part *ret_part)
{
    tv_err err = advance(p);

    if (err)
        return err;

    err = parse_or(p, ret_part);
    if (err)
        return err;
    if (p->token.kind != TV_TOKEN_CLOSE)
        return fail_at(p, "')' or operator expected", p->token.start);

    return advance(p);
}

static tv_err parse_not(parser *p, part *ret_part);

static tv_err parse_unary(parser *p, part *ret_part)
{
    tv_err err;

    if (p->token.kind == TV_TOKEN_OPEN || is_word(&p->token, TV_LIT("not"))) {
        if (++p->depth > TV_FILTER_DEPTH_MAX) {
            p->info->text = tv_arena_printf(p->arena, "The filter is nested more than %d deep.",
                                            TV_FILTER_DEPTH_MAX);
            return TV_ERR_FILTER_SYNTAX;
        }
        err = p->token.kind == TV_TOKEN_OPEN ? parse_parentheses(p, ret_part)
                                             : parse_not(p, ret_part);
        p->depth--;
        return err;
    }
    return parse_comparison(p, ret_part);
}

static tv_err parse_not(parser *p, part *ret_part)
{
    part negated;
    tv_err err;

    err = advance(p);
    if (err)
        return err;

    err = parse_unary(p, &negated);
    if (err)
        return err;

    if (negated.node == NULL) {
        *ret_part = (part){.constant = !negated.constant};
    } else if (negated.node->kind == TV_NODE_NOT) {
        *ret_part = (part){.node = negated.node->first};
    } else {
        *ret_part = (part){.node = node_new(p, TV_NODE_NOT)};
        node_add(ret_part->node, negated.node);
    }
    return TV_OK;
}

/*
 * Two parts of a chain as one.  "true" says nothing in an "and" and decides an
 * "or", "false" the other way round.
 */
static part join(parser *p, tv_node_kind kind, part a, part b)
{
    bool deciding = kind == TV_NODE_OR;

    if (a.node == NULL)
        return a.constant == deciding ? a : b;
    if (b.node == NULL)
        return b.constant == deciding ? b : a;
    if (a.node->kind != kind) {
        tv_node *chain = node_new(p, kind);

        node_add(chain, a.node);
        a.node = chain;
    }
    node_add(a.node, b.node);
    return a;
}

/* operand ( word operand )*, as one node when there is more than one operand. */
static tv_err parse_chain(parser *p, tv_slice word, tv_node_kind kind,
                          tv_err (*parse_part)(parser *p, part *ret_part), part *ret_part)
{
    part whole, next;
    tv_err err = parse_part(p, &whole);

    while (err == TV_OK && is_word(&p->token, word)) {
        err = advance(p);
        if (err == TV_OK)
            err = parse_part(p, &next);
        if (err == TV_OK)
            whole = join(p, kind, whole, next);
    }
    if (err)
        return err;

    *ret_part = whole;
    return TV_OK;
}

static tv_err parse_and(parser *p, part *ret_part)
{
    return parse_chain(p, TV_LIT("and"), TV_NODE_AND, parse_unary, ret_part);
}

static tv_err parse_or(parser *p, part *ret_part)
{
    return parse_chain(p, TV_LIT("or"), TV_NODE_OR, parse_and, ret_part);
}

tv_err tv_filter_parse(tv_arena *arena, tv_slice text, tv_filter **ret_filter,
                       tv_error_info *reterr_info)
{
    parser p = {.arena = arena, .info = reterr_info};
    part whole = {.constant = true};
    tv_err err;

    p.filter = tv_arena_alloc(arena, sizeof *p.filter);
    p.filter->root = NULL;
    p.filter->names.count = p.filter->compare_count = 0;
    p.filter->partition_name = p.filter->row_name = -1;
    tv_lexer_init(&p.lexer, arena, text);
    err = advance(&p);
    if (err)
        return err;

    if (p.token.kind != TV_TOKEN_END) {
        err = parse_or(&p, &whole);
        if (err)
            return err;
        if (p.token.kind != TV_TOKEN_END)
            return unexpected_token(&p);
    }
    if (whole.node || !whole.constant)
        p.filter->root = whole.node ? whole.node : node_new(&p, TV_NODE_FALSE);
    *ret_filter = p.filter;
    return TV_OK;
}
