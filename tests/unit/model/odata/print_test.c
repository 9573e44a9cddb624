/*
 * Printing: random trees are printed and parsed again and must be the same
 * trees, node by node, with the same values bit for bit.
 */
#include "check.h"
#include "model/odata/filter.h"
#include "random.h"
#include "services/table/properties.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { TREES = 3000, NAME_COUNT = 12 };

static tv_arena arena;

static int below(int limit)
{
    return (int)(t_random() % (uint64_t)limit);
}

static tv_node *random_node(int depth, tv_node_kind parent)
{
    tv_node *node = tv_arena_zalloc(&arena, sizeof *node);
    int count = 1;

    node->kind = depth == 0 ? (below(4) ? TV_NODE_COMPARE : TV_NODE_TRUTH)
                            : (tv_node_kind)below(TV_NODE_TRUTH + 1);
    /* The parser never makes a chain within a chain of its kind, nor a not within a not. */
    if (node->kind == parent && parent <= TV_NODE_NOT)
        node->kind = parent == TV_NODE_AND ? TV_NODE_OR : TV_NODE_AND;

    switch (node->kind) {
    case TV_NODE_COMPARE:
        node->op = (tv_compare_op)below(6);
        node->name = below(NAME_COUNT);
        node->literal = random_property(&arena, t_random, 0);
        return node;
    case TV_NODE_TRUTH:
        node->name = below(NAME_COUNT);
        return node;
    case TV_NODE_FALSE:
        return node; /* only as the root: never made here */
    case TV_NODE_AND:
    case TV_NODE_OR:
        count = 2 + below(3);
        break;
    case TV_NODE_NOT:
        break;
    }
    while (count--) {
        tv_node *child = random_node(depth - 1, node->kind);

        if (node->last)
            node->last->next = child;
        else
            node->first = child;
        node->last = child;
    }
    return node;
}

/* A NaN has many forms in memory and one in a filter. */
static bool same_literal(tv_property a, tv_property b)
{
    a.name = b.name = TV_NONE;
    if (a.type == TV_EDM_DOUBLE && b.type == TV_EDM_DOUBLE && a.real != a.real)
        return b.real != b.real;
    return same_property(&a, &b);
}

static bool same_tree(const tv_filter *f, const tv_node *a, const tv_filter *g, const tv_node *b)
{
    const tv_node *x, *y;

    if (a->kind != b->kind)
        return false;
    if (a->kind == TV_NODE_TRUTH || a->kind == TV_NODE_COMPARE) {
        if (!tv_slice_eq(f->names.list[a->name], g->names.list[b->name]))
            return false;
        return a->kind == TV_NODE_TRUTH || (a->op == b->op && same_literal(a->literal, b->literal));
    }
    for (x = a->first, y = b->first; x && y; x = x->next, y = y->next) {
        if (!same_tree(f, x, g, y))
            return false;
    }
    return x == NULL && y == NULL;
}

TEST(what_is_printed_parses_to_the_same_tree)
{
    static const char *const names[NAME_COUNT] = {"a",        "b",   "_c9", "\xC3\xB6",
                                                  "datetime", "X",   "eq",  "and",
                                                  "or",       "add", "le",  "\xF0\x90\x90\x80"};
    tv_buf text = TV_BUF_EMPTY;

    t_random_seed(0xf117e5);
    for (int i = 0; i < TREES; i++) {
        tv_filter made = {.names.count = NAME_COUNT};
        tv_error_info info = {0};
        tv_filter *parsed;
        char shown[200];

        tv_arena_init(&arena);
        for (int k = 0; k < NAME_COUNT; k++)
            made.names.list[k] = tv_slice_of(names[k]);
        made.root = random_node(below(6), TV_NODE_COMPARE);
        text.len = 0;
        tv_filter_print(&text, &made, made.root);
        CHECK(text.len <= tv_filter_print_max(&made, made.root));
        snprintf(shown, sizeof shown, "%.*s", TV_FMT(tv_buf_slice(&text)));
        t_row = shown;
        CHECK_OK(tv_filter_parse(&arena, tv_buf_slice(&text), &parsed, &info));
        CHECK(same_tree(&made, made.root, parsed, parsed->root));
        tv_arena_done(&arena);
    }
    tv_buf_done(&text);
    t_row = "";
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_parses_to_the_same_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
