/* Access policies, from XML and to XML. */
#include "model/catalog/acl.h"
#include "base/assert.h"
#include "base/datetime.h"
#include "base/utf8.h"
#include "base/xml.h"

/* --- reading --- */

/* A time, of which the date alone is enough; an empty text is no time. */
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

/* The letters that a policy of each service may have. */
static const tv_slice permission_letters[] = {
    [TV_SERVICE_TABLE] = {"raud", 4},
    [TV_SERVICE_QUEUE] = {"raup", 4},
    [TV_SERVICE_BLOB] = {"racwdxyltmeopi", 14},
};

/* In any order, which is kept. */
static tv_err read_permission(tv_service_kind service, const tv_xml_node *node,
                              tv_slice *ret_permission)
{
    tv_slice letters = permission_letters[service];
    tv_slice text = tv_xml_word(node);

    for (size_t i = 0; i < text.len; i++) {
        if (tv_slice_find(letters, text.data[i]) == letters.len ||
            tv_slice_find(tv_slice_skip(text, i + 1), text.data[i]) < text.len - i - 1)
            /* As recorded for queues; the others are not known to answer so. */
            return service == TV_SERVICE_QUEUE ? TV_ERR_XML_DOCUMENT : TV_ERR_XML_NODE_VALUE;
    }
    if (text.len)
        *ret_permission = text;
    return TV_OK;
}

static tv_err read_access_policy(tv_arena *arena, tv_service_kind service, const tv_xml_node *node,
                                 tv_access_policy *policy)
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
            err = read_permission(service, child, &policy->permission);
        else
            err = TV_ERR_XML_DOCUMENT;
    }
    return err;
}

/* A <SignedIdentifier> of an id and, if it likes, a policy. */
static bool is_identifier(const tv_xml_node *node)
{
    return tv_slice_eq(node->name, TV_LIT("SignedIdentifier")) &&
           tv_xml_child(node, TV_LIT("Id")) &&
           node->child_count == 1u + (tv_xml_child(node, TV_LIT("AccessPolicy")) != NULL);
}

/* Whether one of the identifiers before `node` has its id. */
static bool is_repeated(const tv_xml_node *root, const tv_xml_node *node)
{
    tv_slice id = tv_xml_child(node, TV_LIT("Id"))->text;
    const tv_xml_node *other = root->first_child;

    while (other != node && !tv_slice_eq(tv_xml_child(other, TV_LIT("Id"))->text, id))
        other = other->next;
    return other != node;
}

/*
 * What the document is made of, before any value: two policies with the same id
 * are no document, even if the id is too long.
 */
static tv_err check_identifiers(const tv_xml_node *root)
{
    if (!tv_slice_eq(root->name, TV_LIT("SignedIdentifiers")) ||
        root->child_count > TV_POLICIES_MAX || tv_xml_word(root).len)
        return TV_ERR_XML_DOCUMENT;

    for (const tv_xml_node *node = root->first_child; node; node = node->next) {
        if (!is_identifier(node) || is_repeated(root, node))
            return TV_ERR_XML_DOCUMENT;
    }
    return TV_OK;
}

static tv_err read_identifier(tv_arena *arena, tv_service_kind service, const tv_xml_node *node,
                              tv_access_policy *policy)
{
    const tv_xml_node *access_policy = tv_xml_child(node, TV_LIT("AccessPolicy"));

    policy->id = tv_xml_child(node, TV_LIT("Id"))->text;
    if (policy->id.len == 0 || tv_utf8_units(policy->id) > TV_POLICY_ID_UNITS_MAX)
        return TV_ERR_XML_NODE_VALUE;
    return access_policy ? read_access_policy(arena, service, access_policy, policy) : TV_OK;
}

tv_err tv_acl_parse(tv_arena *arena, tv_service_kind service, tv_slice document,
                    tv_access_policies *ret_policies)
{
    tv_access_policies policies = {.count = 0};
    const tv_xml_node *root;
    tv_err err;

    err = tv_xml_parse(arena, document, &root);
    if (err)
        return err;

    err = check_identifiers(root);
    if (err)
        return err;

    for (const tv_xml_node *node = root->first_child; node; node = node->next) {
        tv_access_policy policy = {.id = TV_NONE};

        err = read_identifier(arena, service, node, &policy);
        if (err)
            return err;
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

/* --- copies --- */

static tv_slice move(char **to, tv_slice text)
{
    if (text.data == NULL)
        return TV_NONE;

    tv_slice copy = {*to, text.len};

    if (text.len)
        memcpy(*to, text.data, text.len);
    *to += text.len;
    return copy;
}

static size_t policies_bytes(const tv_access_policies *policies)
{
    size_t bytes = 0;

    for (size_t i = 0; i < policies->count; i++) {
        const tv_access_policy *policy = &policies->list[i];

        bytes += policy->id.len + policy->start.len + policy->expiry.len + policy->permission.len;
    }
    return bytes;
}

/* `text` has room for policies_bytes. */
static void copy_policies(tv_access_policies *to, char *text, const tv_access_policies *from)
{
    to->count = from->count;
    for (size_t i = 0; i < from->count; i++) {
        to->list[i].id = move(&text, from->list[i].id);
        to->list[i].start = move(&text, from->list[i].start);
        to->list[i].expiry = move(&text, from->list[i].expiry);
        to->list[i].permission = move(&text, from->list[i].permission);
    }
}

tv_access_policies *tv_acl_new(const tv_access_policies *from)
{
    if (from->count == 0)
        return NULL;

    tv_access_policies *copy = tv_calloc(1, sizeof *copy + policies_bytes(from));

    copy_policies(copy, (char *)(copy + 1), from);
    return copy;
}

static bool is_same_field(tv_slice a, tv_slice b)
{
    return (a.data == NULL) == (b.data == NULL) && tv_slice_eq(a, b);
}

bool tv_acl_eq(const tv_access_policies *a, const tv_access_policies *b)
{
    size_t i = 0;

    while (i < a->count && i < b->count && is_same_field(a->list[i].id, b->list[i].id) &&
           is_same_field(a->list[i].start, b->list[i].start) &&
           is_same_field(a->list[i].expiry, b->list[i].expiry) &&
           is_same_field(a->list[i].permission, b->list[i].permission))
        i++;
    return i == a->count && i == b->count;
}

void tv_acl_copy(tv_arena *arena, const tv_access_policies *from, tv_access_policies *ret_copy)
{
    copy_policies(ret_copy, tv_arena_bytes(arena, policies_bytes(from)), from);
}
