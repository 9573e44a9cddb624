/* Stored access policies, to XML and from XML. */
#include "base/clock.h"
#include "base/datetime.h"
#include "base/utf8.h"
#include "client/resource/policies.h"
#include "client/xml/xml.h"

/* --- writing --- */

/* The letters that a service knows, in the order in which it wants them. */
static const char *known_permissions(tv_service_kind service)
{
    static const char *const known[] = {
        [TV_SERVICE_TABLE] = "raud",
        [TV_SERVICE_QUEUE] = "raup",
        [TV_SERVICE_BLOB] = "racwdxyltmeopi",
    };

    return known[service];
}

static bool add_permissions(tvc_text *text, tv_service_kind service, const char *permissions)
{
    const char *known = known_permissions(service);

    if (strspn(permissions, known) != strlen(permissions))
        return false;

    tvc_text_add_lit(text, "<Permission>");
    for (; *known; known++) {
        if (strchr(permissions, *known))
            tvc_text_add_char(text, *known);
    }
    tvc_text_add_lit(text, "</Permission>");
    return true;
}

static bool add_time(tvc_text *text, const char *name, tavola_ticks ticks)
{
    char digits[TV_DATETIME_TEXT_MAX];

    if (ticks == 0)
        return true;
    if (ticks < 0 || ticks > TV_TICKS_MAX)
        return false;
    tvc_xml_add_element(text, name, (tv_slice){digits, tv_datetime_format7(digits, ticks)});
    return true;
}

static bool is_id(const char *id)
{
    enum { UNITS_MAX = 64 };

    return id && *id && tvc_xml_can_hold(tv_slice_of(id)) &&
           tv_utf8_units(tv_slice_of(id)) <= UNITS_MAX;
}

static const char *add_policy(tvc_text *text, tv_service_kind service, const tavola_policy *policy)
{
    if (!is_id(policy->id))
        return "the id of a policy has 1 to 64 characters";

    tvc_text_add_lit(text, "<SignedIdentifier>");
    tvc_xml_add_element(text, "Id", tv_slice_of(policy->id));
    if (policy->permissions == NULL && policy->start == 0 && policy->expiry == 0) {
        tvc_text_add_lit(text, "</SignedIdentifier>"); /* all is left to the signature */
        return NULL;
    }
    tvc_text_add_lit(text, "<AccessPolicy>");
    if (!add_time(text, "Start", policy->start) || !add_time(text, "Expiry", policy->expiry))
        return "a time of a policy is not between the years 1 and 9999";
    if (policy->permissions && !add_permissions(text, service, policy->permissions))
        return "a policy has a permission that the service does not know";
    tvc_text_add_lit(text, "</AccessPolicy></SignedIdentifier>");
    return NULL;
}

const char *tvc_policies_write(tvc_text *text, tv_service_kind service,
                               const tavola_policy *policies, size_t count)
{
    const char *why = NULL;

    if (count > TVC_POLICIES_MAX)
        return "there can be five policies";
    if (count && (policies == NULL || policies->struct_size < sizeof *policies))
        return "struct_size of a policy is not that of a tavola_policy";

    tvc_text_add_lit(text, "<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers>");
    for (size_t i = 0; i < count && why == NULL; i++) {
        /* The policies of a caller with a newer header are further apart. */
        const char *at = (const char *)policies + i * policies->struct_size;

        why = add_policy(text, service, (const tavola_policy *)(const void *)at);
    }
    tvc_text_add_lit(text, "</SignedIdentifiers>");
    return why;
}

/* --- reading --- */

/* Services write nothing for what is not set, or an empty element. */
static tavola_ticks read_time(tvc_xml *xml)
{
    tv_slice text = tvc_xml_text(xml);
    int64_t ticks = 0;

    if (text.len && !tv_datetime_parse(text, &ticks))
        tvc_xml_fail(xml);
    return ticks;
}

static void read_access(tvc_xml *xml, tavola_policy *policy)
{
    tv_slice field;

    while (tvc_xml_child(xml, &field)) {
        if (tv_slice_eq(field, TV_LIT("Start"))) {
            policy->start = read_time(xml);
        } else if (tv_slice_eq(field, TV_LIT("Expiry"))) {
            policy->expiry = read_time(xml);
        } else if (tv_slice_eq(field, TV_LIT("Permission"))) {
            tv_slice text = tvc_xml_text(xml);

            policy->permissions = text.len ? text.data : NULL;
        } else {
            tvc_xml_skip(xml);
        }
    }
}

static void read_policy(tvc_xml *xml, tavola_policy *policy)
{
    tv_slice field;

    policy->struct_size = sizeof *policy;
    policy->id = "";
    while (tvc_xml_child(xml, &field)) {
        if (tv_slice_eq(field, TV_LIT("Id")))
            policy->id = tvc_xml_text(xml).data;
        else if (tv_slice_eq(field, TV_LIT("AccessPolicy")))
            read_access(xml, policy);
        else
            tvc_xml_skip(xml);
    }
}

tavola_err tvc_policies_read(char *document, size_t len, tavola_policies **ret_policies)
{
    tavola_policies *policies = tvc_zalloc(sizeof *policies);
    tvc_xml xml;
    tv_slice name;

    if (policies == NULL) {
        tvc_release(document);
        return TAVOLA_ERR_NO_MEMORY;
    }
    policies->document = document;
    tvc_xml_open(&xml, document, len, TV_LIT("SignedIdentifiers"));
    while (tvc_xml_child(&xml, &name)) {
        if (!tv_slice_eq(name, TV_LIT("SignedIdentifier")))
            tvc_xml_skip(&xml);
        else if (policies->count == TVC_POLICIES_MAX)
            tvc_xml_fail(&xml);
        else
            read_policy(&xml, &policies->list[policies->count++]);
    }
    if (!tvc_xml_close(&xml)) {
        tavola_policies_free(policies);
        return TAVOLA_ERR_PROTOCOL;
    }
    *ret_policies = policies;
    return TAVOLA_OK;
}

size_t tavola_policies_count(const tavola_policies *policies)
{
    return policies ? policies->count : 0;
}

const tavola_policy *tavola_policies_at(const tavola_policies *policies, size_t i)
{
    return policies && i < policies->count ? &policies->list[i] : NULL;
}

void tavola_policies_free(tavola_policies *policies)
{
    if (policies == NULL)
        return;

    tvc_release(policies->document);
    tvc_release(policies);
}
