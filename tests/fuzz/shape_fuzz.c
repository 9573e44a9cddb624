/*
 * A filter out of arbitrary text.  Its shape is the same when it is printed and parsed again, and
 * when the children of every `and` and `or` come in another order; it fits its limit, is whole
 * characters, and without the values it came from: another filter with the same structure has it.
 */
#include "base/assert.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "model/odata/shape.h"

static void check_same(tv_shape a, tv_shape b)
{
    tv_assert(a.fingerprint == b.fingerprint && tv_slice_eq(a.text, b.text));
    tv_assert(a.flags == b.flags && a.list_len == b.list_len && a.comparisons == b.comparisons);
}

static void reverse(tv_node *node)
{
    tv_node *reversed = NULL;

    for (tv_node *child = tv_node_first(node), *next; child; child = next) {
        next = child->next;
        reverse(child);
        child->next = reversed;
        reversed = child;
    }
    if (tv_node_first(node)) {
        node->last = node->first;
        node->first = reversed;
    }
}

/* Other values of the same types. */
static void replace_values(tv_node *node)
{
    for (tv_node *child = tv_node_first(node); child; child = child->next)
        replace_values(child);
    if (node->kind != TV_NODE_COMPARE)
        return;

    tv_edm_type type = node->literal.type;

    node->literal = (tv_property){.type = type};
    if (type == TV_EDM_STRING || type == TV_EDM_BINARY)
        node->literal.bytes = TV_LIT("value");
}

static void check_printed(tv_arena *arena, const tv_filter *filter, tv_shape shape)
{
    tv_buf printed = TV_BUF_EMPTY;
    tv_error_info info = {0};
    tv_filter *parsed;

    tv_filter_print(&printed, filter, filter->root);
    /* The printed form may be nested more deeply than the parser takes. */
    if (tv_filter_parse(arena, tv_buf_slice(&printed), &parsed, &info) == TV_OK)
        check_same(shape, tv_shape_make(arena, parsed, false, true));
    tv_buf_done(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_error_info info = {0};
    tv_filter *filter;
    tv_arena arena;

    if (!tv_utf8_is_valid((tv_slice){(const char *)data, size}))
        return 0; /* the server refuses such a URL, and so a filter is UTF-8 */
    tv_arena_init(&arena);
    if (tv_filter_parse(&arena, (tv_slice){(const char *)data, size}, &filter, &info) == TV_OK) {
        tv_shape shape = tv_shape_make(&arena, filter, false, true);
        uint64_t structure = tv_shape_structure(filter, false, true);

        tv_assert(shape.text.len > 0 && shape.text.len <= TV_SHAPE_TEXT_MAX);
        tv_assert(tv_utf8_is_valid(shape.text));
        tv_assert(tv_utf8_is_valid(tv_shape_example(&arena, filter, 100)));
        tv_shape_bounds_case(filter);
        if (filter->root) {
            check_printed(&arena, filter, shape);
            replace_values(filter->root);
            check_same(shape, tv_shape_make(&arena, filter, false, true));
            tv_assert(structure == tv_shape_structure(filter, false, true));
            reverse(filter->root);
            check_same(shape, tv_shape_make(&arena, filter, false, true));
        }
    }
    tv_arena_done(&arena);
    return 0;
}
