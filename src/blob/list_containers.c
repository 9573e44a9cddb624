/* GET /?comp=list: the containers of the account. */
#include "base/xml.h"
#include "blob/call.h"
#include "engine/instant.h"
#include "service/list.h"
#include "service/metadata.h"

typedef struct listing {
    tv_blob_call *call;
    tv_list_query query;
    bool has_metadata;
    int64_t now;
    int64_t count;
    tv_slice next; /* where the next page begins; empty on the last */
    tv_err err;
} listing;

static void add_container(tv_buf *out, const listing *l, tv_slice name,
                          const tv_container_facts *facts)
{
    tv_buf_add_lit(out, "<Container>");
    tv_xml_add_element(out, "Name", name);
    tv_buf_add_lit(out, "<Properties>");
    tv_blob_add_etag_xml(out, facts->etag, true);
    tv_blob_add_lease_xml(out, &facts->lease, l->now);
    if (facts->access != TV_PUBLIC_NONE)
        tv_xml_add_element(out, "PublicAccess",
                           facts->access == TV_PUBLIC_BLOB ? TV_LIT("blob") : TV_LIT("container"));
    if (tv_blob_op_has_scopes(&l->call->op)) {
        tv_xml_add_element(out, "DefaultEncryptionScope", TV_BLOB_ACCOUNT_SCOPE);
        tv_xml_add_element(out, "DenyEncryptionScopeOverride", TV_LIT("false"));
    }
    tv_buf_add_lit(out, "<HasImmutabilityPolicy>false</HasImmutabilityPolicy>"
                        "<HasLegalHold>false</HasLegalHold>");
    if (tv_blob_op_has_immutable_storage(&l->call->op))
        tv_xml_add_element(out, "ImmutableStorageWithVersioningEnabled", TV_LIT("false"));
    tv_buf_add_lit(out, "</Properties>");
    if (l->has_metadata)
        tv_metadata_add_xml(out, facts->metadata);
    tv_buf_add_lit(out, "</Container>");
}

/* The one behind the last of a page is only looked at for its name. */
static bool take_container(void *ctx, tv_slice name, tv_slice bytes)
{
    listing *l = ctx;
    tv_request *req = l->call->base.req;
    tv_container_facts facts;
    tv_arena arena;

    if (l->count == l->query.max || req->out.len >= TV_LIST_PAGE_BYTES_MAX) {
        l->next = tv_arena_dup(&req->arena, name);
        return false;
    }
    tv_arena_init(&arena);
    l->err = tv_container_facts_decode(&arena, bytes, &facts);
    if (l->err == TV_OK) {
        if (l->count++ == 0)
            tv_buf_add_lit(&req->out, "<Containers>");
        add_container(&req->out, l, name, &facts);
    }
    tv_arena_done(&arena);
    return l->err == TV_OK;
}

/* --- on a scanner's thread --- */

static tv_err add_page(tv_blob_call *call, listing *l)
{
    tv_call *base = &call->base;
    tv_buf *out = &base->req->out;
    tv_slice marker = l->query.marker.data ? l->query.marker : TV_LIT("");
    tv_err err;

    tv_list_add_opening(out, base, &l->query, TV_NONE, TV_NONE);
    err = tv_catalog_list(base->core->catalog, tv_identity_account(base->identity), l->query.prefix,
                          marker, take_container, l);
    if (l->count)
        tv_buf_add_lit(out, "</Containers>");
    else
        tv_buf_add_lit(out, "<Containers />");
    tv_list_add_closing(out, l->next);
    return err ? err : l->err;
}

static void run_list(tv_job *job)
{
    tv_blob_call *call = TV_BLOB_CALL_OF(job, base.job);
    tv_err err = tv_list_begin_page(&call->base);

    if (err == TV_OK)
        err = add_page(call, call->listing);
    tv_list_end_page(&call->base, err);
}

tv_err tv_blob_list_containers(tv_blob_call *call)
{
    listing *l = tv_arena_zalloc(&call->base.req->arena, sizeof *l);
    tv_err err;

    l->call = call;
    l->now = tv_instant_now();
    l->next = TV_LIT("");
    err = tv_list_query_read(&call->base, &l->query);
    if (err)
        return err;

    l->has_metadata = tv_list_includes(&l->query, TV_LIT("metadata"));
    call->listing = l;
    return tv_call_run_job(&call->base, call->base.core->scanners, run_list, tv_list_deliver);
}
