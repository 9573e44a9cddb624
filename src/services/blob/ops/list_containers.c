/* GET /?comp=list: the containers of the account. */
#include "base/xml.h"
#include "services/blob/call.h"
#include "services/service/container_list.h"
#include "services/service/metadata.h"
#include "store/engine/instant.h"

static void add_container(tv_call *call, const tv_list_query *query, tv_slice name,
                          const tv_container_attributes *attributes)
{
    const tv_blob_args *args = &tv_blob_call_of(call)->args;
    tv_buf *out = &call->req->out;

    tv_buf_add_lit(out, "<Container>");
    tv_xml_add_element(out, "Name", name);
    tv_buf_add_lit(out, "<Properties>");
    tv_blob_add_etag_xml(out, attributes->etag, true);
    tv_blob_add_lease_xml(out, &attributes->lease, tv_instant_now());
    if (attributes->access != TV_PUBLIC_NONE)
        tv_xml_add_element(out, "PublicAccess",
                           attributes->access == TV_PUBLIC_BLOB ? TV_LIT("blob")
                                                                : TV_LIT("container"));
    if (tv_blob_has_scopes(args)) {
        tv_xml_add_element(out, "DefaultEncryptionScope", TV_BLOB_ACCOUNT_SCOPE);
        tv_xml_add_element(out, "DenyEncryptionScopeOverride", TV_LIT("false"));
    }
    tv_buf_add_lit(out, "<HasImmutabilityPolicy>false</HasImmutabilityPolicy>"
                        "<HasLegalHold>false</HasLegalHold>");
    if (tv_blob_has_immutable_storage(args))
        tv_xml_add_element(out, "ImmutableStorageWithVersioningEnabled", TV_LIT("false"));
    tv_buf_add_lit(out, "</Properties>");
    if (tv_list_includes(query, TV_LIT("metadata")))
        tv_metadata_add_xml(out, attributes->metadata);
    tv_buf_add_lit(out, "</Container>");
}

/* An arena for each: there may be 5,000 of them. */
static tv_err add_entry(tv_call *call, const tv_list_query *query, tv_slice name, tv_slice bytes)
{
    tv_container_attributes attributes;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = tv_container_attributes_decode(&arena, bytes, &attributes);
    if (err == TV_OK)
        add_container(call, query, name, &attributes);
    tv_arena_done(&arena);
    return err;
}

tv_err tv_blob_list_containers(tv_call *call)
{
    static const tv_container_list containers = {.element = "Containers", .add = add_entry};

    return tv_list_containers(call, &containers);
}
