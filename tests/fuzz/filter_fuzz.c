/*
 * A filter out of arbitrary text.  What is refused is refused with one of the
 * errors of a filter; what is accepted prints as text that is accepted again and
 * prints the same, and has a plan whose ranges are sorted, disjoint and within
 * the table.  So has what the plan leaves to test.
 */
#include "base/assert.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "model/odata/plan.h"
#include "store/engine/key.h"

/* How deep the printed form is nested: it has parentheses that the original may lack. */
static int printed_depth(const tv_node *node)
{
    int deepest = 0;

    for (const tv_node *child = tv_node_first(node); child; child = child->next) {
        bool has_parentheses =
            node->kind == TV_NODE_NOT || child->kind == TV_NODE_AND || child->kind == TV_NODE_OR;
        int depth = printed_depth(child) + has_parentheses + (node->kind == TV_NODE_NOT);

        if (depth > deepest)
            deepest = depth;
    }
    return deepest;
}

static void check_print(tv_arena *arena, const tv_filter *filter, const tv_node *node)
{
    tv_buf printed = TV_BUF_EMPTY, again = TV_BUF_EMPTY;
    tv_error_info info = {0};
    tv_filter *parsed;

    if (node == NULL || printed_depth(node) > TV_FILTER_DEPTH_MAX)
        return;

    tv_filter_print(&printed, filter, node);
    tv_assert(tv_filter_parse(arena, tv_buf_slice(&printed), &parsed, &info) == TV_OK);
    tv_filter_print(&again, parsed, parsed->root);
    tv_assert(tv_slice_eq(tv_buf_slice(&printed), tv_buf_slice(&again)));
    tv_buf_done(&printed);
    tv_buf_done(&again);
}

static void check_plan(tv_arena *arena, const tv_filter *filter)
{
    tv_slice prefix = tv_key_table(arena, TV_LIT("acct"), 7), end = tv_key_after(arena, prefix);
    tv_plan plan = tv_plan_make(arena, prefix, filter);

    for (size_t i = 0; i < plan.count; i++) {
        const tv_key_range *range = &plan.ranges[i];

        tv_assert(tv_slice_starts_with(range->from, prefix));
        tv_assert(tv_slice_cmp(range->from, range->to) < 0);
        tv_assert(tv_slice_cmp(range->to, end) <= 0);
        tv_assert(i == 0 || tv_slice_cmp(plan.ranges[i - 1].to, range->from) < 0);
        tv_assert(range->kind <= plan.kind);
    }
    check_print(arena, filter, plan.residual);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice text = {(const char *)data, size};
    tv_error_info info = {0};
    tv_filter *filter;
    tv_arena arena;
    tv_err err;

    if (!tv_utf8_is_valid(text))
        return 0;

    tv_arena_init(&arena);
    err = tv_filter_parse(&arena, text, &filter, &info);
    if (err == TV_OK) {
        check_print(&arena, filter, filter->root);
        check_plan(&arena, filter);
    } else {
        tv_assert(err == TV_ERR_FILTER_SYNTAX || err == TV_ERR_INVALID_INPUT ||
                  err == TV_ERR_NOT_IMPLEMENTED);
        tv_assert(err != TV_ERR_FILTER_SYNTAX || info.text.len > 0);
    }
    tv_arena_done(&arena);
    return 0;
}
