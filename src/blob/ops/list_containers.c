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
    tv_slice next; /* where to go on, in the next turn or on the next page; empty on the last */
    tv_turn *turn; /* NULL before the first */
    bool is_turn_over;
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
    if (tv_blob_has_scopes(&l->call->args)) {
        tv_xml_add_element(out, "DefaultEncryptionScope", TV_BLOB_ACCOUNT_SCOPE);
        tv_xml_add_element(out, "DenyEncryptionScopeOverride", TV_LIT("false"));
    }
    tv_buf_add_lit(out, "<HasImmutabilityPolicy>false</HasImmutabilityPolicy>"
                        "<HasLegalHold>false</HasLegalHold>");
    if (tv_blob_has_immutable_storage(&l->call->args))
        tv_xml_add_element(out, "ImmutableStorageWithVersioningEnabled", TV_LIT("false"));
    tv_buf_add_lit(out, "</Properties>");
    if (l->has_metadata)
        tv_metadata_add_xml(out, facts->metadata);
    tv_buf_add_lit(out, "</Container>");
}

/* The one behind the last of a page, or of a turn, is only looked at for its name. */
static bool take_container(void *ctx, tv_slice name, tv_slice bytes)
{
    listing *l = ctx;
    tv_request *req = l->call->base.req;
    tv_list_limit limit = tv_list_look_at_limits(&l->call->base, &l->query, l->count, l->turn);
    tv_container_facts facts;
    tv_arena arena;

    if (limit != TV_LIST_NONE) {
        l->next = tv_arena_dup(&req->arena, name);
        l->is_turn_over = limit == TV_LIST_TURN_ENDS;
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

static tv_err begin_page(listing *l, tv_turn *turn)
{
    tv_call *base = &l->call->base;
    tv_err err;

    if (l->turn == NULL) {
        err = tv_list_begin_page(base);
        if (err)
            return err;

        tv_list_add_opening(&base->req->out, base, &l->query, TV_NONE, TV_NONE);
        l->next = l->query.marker.data ? l->query.marker : TV_LIT("");
    }
    l->turn = turn;
    l->is_turn_over = false;
    return TV_OK;
}

static tv_err add_some(listing *l)
{
    tv_call *base = &l->call->base;
    tv_slice from = l->next;
    tv_err err;

    l->next = TV_LIT("");
    err = tv_catalog_list(base->service->catalog, tv_identity_account(base->identity),
                          l->query.prefix, from, take_container, l);
    return err ? err : l->err;
}

static bool work_on_list(tv_call *base, tv_turn *turn)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_buf *out = &base->req->out;
    listing *l = call->listing;
    tv_err err = begin_page(l, turn);

    if (err == TV_OK)
        err = add_some(l);
    if (err == TV_OK && l->is_turn_over) {
        tv_list_hold(&call->base);
        return false;
    }
    if (err == TV_OK) {
        tv_buf_add(out, l->count ? TV_LIT("</Containers>") : TV_LIT("<Containers />"));
        tv_list_add_closing(out, l->next);
    }
    tv_list_end_page(&call->base, err);
    return true;
}

tv_err tv_blob_list_containers(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    listing *l = tv_arena_zalloc(&call->base.req->arena, sizeof *l);
    tv_err err;

    l->call = call;
    l->now = tv_instant_now();
    err = tv_list_query_read(&call->base, &l->query);
    if (err)
        return err;

    l->has_metadata = tv_list_includes(&l->query, TV_LIT("metadata"));
    call->listing = l;
    return tv_call_take_turns(base, work_on_list, tv_list_respond);
}
