/*
 * XML from outside, as a tree, as access policies and as service properties.
 * What is accepted is written and read again, and what was written must stay as
 * it is from then on; nothing that could break a header line may get into rules.
 */
#include "fuzz.h"

#include "base/xml.h"
#include "model/catalog/acl.h"
#include "model/catalog/settings.h"
#include "wire/http/parser.h"

static size_t check_tree(tv_arena *arena, const tv_xml_node *node, size_t depth)
{
    tv_buf buf = TV_BUF_EMPTY;
    const tv_xml_node *again;
    size_t count = 1, children = 0;

    tv_assert(depth <= TV_XML_DEPTH_MAX && node->name.len);
    tv_assert(node->first_child == NULL || node->text.len == 0);
    tv_xml_add_element(&buf, "a", node->text);
    if (buf.len <= TV_XML_BYTES_MAX) {
        tv_assert(tv_xml_parse(arena, tv_buf_slice(&buf), &again) == TV_OK);
        tv_assert(tv_slice_eq(again->text, node->text));
    }
    tv_buf_done(&buf);
    for (const tv_xml_node *child = node->first_child; child; child = child->next) {
        count += check_tree(arena, child, depth + 1);
        children++;
    }
    tv_assert(children == node->child_count);
    return count;
}

static void try_policies(tv_arena *arena, tv_slice document)
{
    tv_access_policies policies, again;
    tv_buf written = TV_BUF_EMPTY, rewritten = TV_BUF_EMPTY;

    if (tv_acl_parse(arena, TV_SERVICE_TABLE, document, &policies))
        return;

    tv_assert(policies.count <= TV_POLICIES_MAX);
    tv_acl_add_xml(&written, &policies);
    tv_assert(tv_acl_parse(arena, TV_SERVICE_TABLE, tv_buf_slice(&written), &again) == TV_OK);
    tv_acl_add_xml(&rewritten, &again);
    tv_assert(tv_slice_eq(tv_buf_slice(&written), tv_buf_slice(&rewritten)));
    tv_buf_done(&written);
    tv_buf_done(&rewritten);
}

static void check_rule(const tv_cors_rule *rule)
{
    tv_assert(tv_http_is_field_value(rule->methods) && rule->methods.len);
    tv_assert(tv_http_is_field_value(rule->origins) && rule->origins.len);
    tv_assert(tv_http_is_field_value(rule->allowed_headers));
    tv_assert(tv_http_is_field_value(rule->exposed_headers));
    tv_assert(rule->max_age_seconds >= 0);
}

static void try_properties(tv_arena *arena, tv_slice document)
{
    tv_service_settings properties = tv_settings_default(TV_SERVICE_TABLE), update;
    tv_shared_settings *shared;
    tv_buf written = TV_BUF_EMPTY, rewritten = TV_BUF_EMPTY;

    if (tv_settings_parse(arena, TV_SERVICE_TABLE, document, &update, &(tv_error_info){0}))
        return;

    tv_settings_apply(&properties, &update);
    tv_assert(properties.cors.count <= TV_CORS_RULES_MAX);
    for (size_t i = 0; i < properties.cors.count; i++)
        check_rule(&properties.cors.rules[i]);
    tv_settings_add_xml(&written, TV_SERVICE_TABLE, &properties);
    tv_assert(tv_shared_settings_new(TV_SERVICE_TABLE, tv_buf_slice(&written), &shared) == TV_OK);
    tv_settings_add_xml(&rewritten, TV_SERVICE_TABLE, &shared->settings);
    tv_assert(tv_slice_eq(tv_buf_slice(&written), tv_buf_slice(&rewritten)));
    tv_shared_settings_unref(shared);
    tv_buf_done(&written);
    tv_buf_done(&rewritten);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice document = {(const char *)data, size};
    const tv_xml_node *root;
    tv_arena arena;

    tv_arena_init(&arena);
    if (tv_xml_parse(&arena, document, &root) == TV_OK)
        tv_assert(check_tree(&arena, root, 1) <= TV_XML_NODES_MAX);
    try_policies(&arena, document);
    try_properties(&arena, document);
    tv_arena_done(&arena);
    return 0;
}
