/* GET and PUT /table?comp=acl. */
#include "table/acl.h"

#include "base/datetime.h"
#include "base/utf8.h"
#include "base/xml.h"
#include "table/call.h"

/* --- reading --- */

/* A time, of which the day alone is enough; nothing is no time. */
static tv_err read_time(tv_arena *arena, const tv_xml_node *node, tv_slice *ret_time)
{
    enum { DAY_LEN = 10 };
    tv_slice text = tv_xml_word(node);
    char *seven = tv_arena_bytes(arena, TV_DATETIME_TEXT_MAX);
    int64_t ticks;

    if (text.len == 0)
        return TV_OK;
    if (text.len == DAY_LEN)
        text = tv_arena_printf(arena, "%.*sT00:00Z", TV_FMT(text));
    if (!tv_datetime_parse(text, &ticks))
        return TV_ERR_XML_NODE_VALUE;

    *ret_time = (tv_slice){seven, tv_datetime_format7(seven, ticks)};
    return TV_OK;
}

/* In any order, which is kept. */
static tv_err read_permission(const tv_xml_node *node, tv_slice *ret_permission)
{
    tv_slice text = tv_xml_word(node);

    for (size_t i = 0; i < text.len; i++) {
        if (memchr("raud", text.data[i], 4) == NULL ||
            tv_slice_find(tv_slice_skip(text, i + 1), text.data[i]) < text.len - i - 1)
            return TV_ERR_XML_NODE_VALUE;
    }
    if (text.len)
        *ret_permission = text;
    return TV_OK;
}

static tv_err read_access_policy(tv_arena *arena, const tv_xml_node *node, tv_access_policy *policy)
{
    tv_err err = tv_xml_word(node).len ? TV_ERR_XML_DOCUMENT : TV_OK;

    for (const tv_xml_node *child = node->first_child; child && err == TV_OK; child = child->next) {
        if (tv_xml_child(node, child->name) != child || child->first_child)
            err = TV_ERR_XML_DOCUMENT; /* a second one, or elements for a text */
        else if (tv_slice_eq(child->name, TV_LIT("Start")))
            err = read_time(arena, child, &policy->start);
        else if (tv_slice_eq(child->name, TV_LIT("Expiry")))
            err = read_time(arena, child, &policy->expiry);
        else if (tv_slice_eq(child->name, TV_LIT("Permission")))
            err = read_permission(child, &policy->permission);
        else
            err = TV_ERR_XML_DOCUMENT;
    }
    return err;
}

static tv_err read_identifier(tv_arena *arena, const tv_xml_node *node, tv_access_policy *policy)
{
    const tv_xml_node *id = tv_xml_child(node, TV_LIT("Id"));
    const tv_xml_node *access_policy = tv_xml_child(node, TV_LIT("AccessPolicy"));

    if (!tv_slice_eq(node->name, TV_LIT("SignedIdentifier")) || id == NULL ||
        node->child_count != 1u + (access_policy != NULL))
        return TV_ERR_XML_DOCUMENT;
    if (id->text.len == 0 || tv_utf8_units(id->text) > TV_POLICY_ID_UNITS_MAX)
        return TV_ERR_XML_NODE_VALUE;

    policy->id = id->text;
    return access_policy ? read_access_policy(arena, access_policy, policy) : TV_OK;
}

static bool has_id(const tv_access_policies *policies, tv_slice id)
{
    for (size_t i = 0; i < policies->count; i++) {
        if (tv_slice_eq(policies->list[i].id, id))
            return true;
    }
    return false;
}

tv_err tv_acl_parse(tv_arena *arena, tv_slice document, tv_access_policies *ret_policies)
{
    tv_access_policies policies = {.count = 0};
    const tv_xml_node *root;
    tv_err err;

    err = tv_xml_parse(arena, document, &root);
    if (err)
        return err;
    if (!tv_slice_eq(root->name, TV_LIT("SignedIdentifiers")) ||
        root->child_count > TV_POLICIES_MAX || tv_xml_word(root).len)
        return TV_ERR_XML_DOCUMENT;

    for (const tv_xml_node *node = root->first_child; node; node = node->next) {
        tv_access_policy policy = {.id = TV_NONE};

        err = read_identifier(arena, node, &policy);
        if (err)
            return err;
        if (has_id(&policies, policy.id))
            return TV_ERR_XML_DOCUMENT;
        policies.list[policies.count++] = policy;
    }
    *ret_policies = policies;
    return TV_OK;
}

/* --- writing --- */

static void add_policy(tv_buf *buf, const tv_access_policy *policy)
{
    tv_buf_add_lit(buf, "<SignedIdentifier>");
    tv_xml_add_element(buf, "Id", policy->id);
    if (policy->start.data || policy->expiry.data || policy->permission.data) {
        tv_buf_add_lit(buf, "<AccessPolicy>");
        if (policy->start.data)
            tv_xml_add_element(buf, "Start", policy->start);
        if (policy->expiry.data)
            tv_xml_add_element(buf, "Expiry", policy->expiry);
        if (policy->permission.data)
            tv_xml_add_element(buf, "Permission", policy->permission);
        tv_buf_add_lit(buf, "</AccessPolicy>");
    }
    tv_buf_add_lit(buf, "</SignedIdentifier>");
}

void tv_acl_add_xml(tv_buf *buf, const tv_access_policies *policies)
{
    if (policies->count == 0) {
        tv_buf_add_lit(buf, "<SignedIdentifiers />");
        return;
    }
    tv_buf_add_lit(buf, "<SignedIdentifiers>");
    for (size_t i = 0; i < policies->count; i++)
        add_policy(buf, &policies->list[i]);
    tv_buf_add_lit(buf, "</SignedIdentifiers>");
}

/* --- the operations --- */

tv_err tv_table_get_acl(tv_table_call *call)
{
    tv_access_policies policies;
    tv_err err = tv_catalog_policies(call->service->catalog, tv_identity_account(call->identity),
                                     call->op.resource.table, &call->req->arena, &policies);

    if (err)
        return err;

    tv_acl_add_xml(&call->req->out, &policies);
    tv_table_respond_xml(call, 200);
    return TV_OK;
}

static void on_acl_set(tv_mail *mail)
{
    tv_table_call *call = TV_TABLE_CALL_OF(mail, write.mail);

    if (call->write.result)
        tv_table_respond_error(call, call->write.result);
    else
        tv_table_respond_xml(call, 204);
}

/* Without a body all policies go; but who announces XML must send some. */
static tv_err read_body(tv_table_call *call, tv_access_policies *ret_policies)
{
    static const tv_slice xml = {"application/xml", 15};
    tv_request *req = call->req;
    tv_slice type = tv_request_header(req, TV_LIT("content-type"));

    if (req->body.len)
        return tv_acl_parse(&req->arena, req->body, ret_policies);
    if (type.len >= xml.len && tv_slice_eq_nocase(tv_slice_take(type, xml.len), xml))
        return TV_ERR_MEDIA_TYPE;

    *ret_policies = (tv_access_policies){.count = 0};
    return TV_OK;
}

tv_err tv_table_set_acl(tv_table_call *call)
{
    tv_err err;

    err = tv_table_call_find_table(call, call->op.resource.table);
    if (err)
        return err;

    err = read_body(call, &call->set_policies.policies);
    if (err)
        return err;

    call->set_policies.catalog = call->service->catalog;
    call->set_policies.table = call->table;
    call->set_policies.arena = &call->req->arena;
    tv_catalog_prepare_set_policies(&call->set_policies, &call->write);
    tv_table_call_submit(call, on_acl_set);
    return TV_OK;
}
