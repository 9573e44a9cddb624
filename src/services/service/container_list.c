/* The pages of lists of queues and containers, over the catalogue. */
#include "services/service/container_list.h"

#include "services/service/analytics_names.h"

typedef struct listing {
    const tv_container_list *what;
    tv_call *call;
    tv_list_query query;
    bool with_system; /* what is Storage Analytics' is listed, too */
    int64_t count;
    tv_slice next; /* where to go on, in the next turn or on the next page; empty on the last */
    tv_turn *turn; /* NULL before the first */
    bool is_turn_over;
    tv_err err;
} listing;

/* The one after the last of a page, or of a turn, is only looked at for its name. */
static bool take_container(void *ctx, tv_slice name, tv_slice attributes)
{
    listing *l = ctx;
    tv_request *req = l->call->req;
    tv_list_limit limit;

    if (!l->with_system && tv_analytics_owns(l->call->service->spec->kind, name))
        return true;
    limit = tv_list_look_at_limits(l->call, &l->query, l->count, l->turn);

    if (limit != TV_LIST_NONE) {
        l->next = tv_arena_dup(&req->arena, name);
        l->is_turn_over = limit == TV_LIST_TURN_ENDS;
        return false;
    }
    if (l->count++ == 0)
        tv_buf_printf(&req->out, "<%s>", l->what->element);
    l->err = l->what->add(l->call, &l->query, name, attributes);
    return l->err == TV_OK;
}

static tv_err begin_turn(listing *l, tv_turn *turn)
{
    tv_err err;

    if (l->turn == NULL) {
        err = tv_list_begin_page(l->call);
        if (err)
            return err;

        if (l->what->is_not_cached)
            tv_response_header(l->call->req, TV_LIT("Cache-Control"), TV_LIT("no-cache"));
        tv_list_add_opening(&l->call->req->out, l->call, &l->query, TV_NONE, TV_NONE);
        l->next = l->query.marker.data ? l->query.marker : TV_LIT("");
    }
    l->turn = turn;
    l->is_turn_over = false;
    return TV_OK;
}

static tv_err add_some(listing *l)
{
    tv_call *call = l->call;
    tv_slice from = l->next;
    tv_err err;

    l->next = TV_LIT("");
    err = tv_catalog_list(call->service->catalog, tv_identity_account(call->identity),
                          l->query.prefix, from, take_container, l);
    return err ? err : l->err;
}

static bool work_on_list(tv_call *call, tv_turn *turn)
{
    listing *l = call->listing;
    tv_buf *out = &call->req->out;
    tv_err err = begin_turn(l, turn);

    if (err == TV_OK)
        err = add_some(l);
    if (err == TV_OK && l->is_turn_over) {
        tv_list_hold(call);
        return false;
    }
    if (err == TV_OK) {
        tv_buf_printf(out, l->count ? "</%s>" : "<%s />", l->what->element);
        tv_list_add_closing(out, l->next);
    }
    tv_list_end_page(call, err);
    return true;
}

tv_err tv_list_containers(tv_call *call, const tv_container_list *what)
{
    listing *l = tv_arena_zalloc(&call->req->arena, sizeof *l);
    tv_err err;

    l->what = what;
    l->call = call;
    err = tv_list_query_read(call, &l->query);
    if (err)
        return err;

    l->with_system = tv_list_includes(&l->query, TV_LIT("system"));
    call->listing = l;
    return tv_call_take_turns(call, work_on_list, tv_list_respond);
}
