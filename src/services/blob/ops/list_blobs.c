/* GET /container?restype=container&comp=list: the blobs of a container. */
#include "base/utf8.h"
#include "services/blob/call.h"
#include "services/service/list.h"
#include "store/engine/instant.h"
#include "store/engine/key.h"

typedef struct listing {
    tv_list_query query;
    tv_slice delimiter, start; /* data is NULL when not given */
    tv_blob_list_query blobs;
    tv_blob_entry_view view;
    tv_blob_list *list; /* from the first turn to the last */
    int64_t count;
} listing;

static const tv_slice start_name = {"startFrom", 9};

/* --- on a scanner's thread --- */

/* Entries until the page or the turn ends, which *ret_is_done tells apart. */
static tv_err add_some(tv_blob_call *call, listing *l, tv_turn *turn, bool *ret_is_done)
{
    tv_buf *out = &call->base.req->out;
    tv_list_limit limit = TV_LIST_NONE;
    tv_blob_entry entry;
    bool has_more = true;

    while (has_more && limit == TV_LIST_NONE) {
        if (tv_blob_list_next(l->list, &entry)) {
            if (l->count++ == 0)
                tv_buf_add_lit(out, "<Blobs>");
            tv_blob_add_entry_xml(out, &entry, &l->view);
        } else {
            has_more = tv_blob_list_has_more(l->list);
        }
        limit = tv_list_look_at_limits(&call->base, &l->query, l->count, turn);
    }
    *ret_is_done = limit != TV_LIST_TURN_ENDS || !has_more;
    return tv_blob_list_status(l->list);
}

static tv_err begin_page(tv_blob_call *call, listing *l)
{
    tv_err err = tv_list_begin_page(&call->base);

    if (err)
        return err;

    err = tv_blob_list_open(call->base.service->engine, &l->blobs, &l->list);
    if (err)
        return err;

    tv_list_add_opening(&call->base.req->out, &call->base, &l->query, call->base.target.container,
                        l->delimiter);
    return TV_OK;
}

static tv_err end_page(tv_blob_call *call, listing *l)
{
    tv_request *req = call->base.req;
    tv_slice marker;
    tv_err err = tv_blob_list_next_marker(l->list, &req->arena, &marker);

    if (err)
        return err;

    tv_buf_add(&req->out, l->count ? TV_LIT("</Blobs>") : TV_LIT("<Blobs />"));
    tv_list_add_closing(&req->out, marker);
    return TV_OK;
}

static bool work_on_list(tv_call *base, tv_turn *turn)
{
    tv_blob_call *call = tv_blob_call_of(base);
    listing *l = call->base.listing;
    bool is_done = true;
    tv_err err = l->list ? TV_OK : begin_page(call, l);

    if (err == TV_OK)
        err = add_some(call, l, turn, &is_done);
    if (err == TV_OK && !is_done) {
        tv_list_hold(&call->base);
        return false;
    }
    if (err == TV_OK)
        err = end_page(call, l);
    tv_blob_list_close(l->list);
    tv_list_end_page(&call->base, err);
    return true;
}

/* --- on the network thread --- */

/* Texts that were checked before can only be refused because the marker is not one of ours. */
static tv_err on_listed(tv_call *base, tv_err err)
{
    const listing *l = base->listing;

    if (err == TV_ERR_OUT_OF_RANGE)
        return tv_call_bad_parameter(base, TV_LIT("marker"), l->query.marker, NULL);
    return tv_list_respond(base, err);
}

/* A word of `include` that the service knows; some of them have nothing to show here. */
static bool is_include(tv_slice word)
{
    static const tv_slice words[] = {
        {"copy", 4},
        {"deleted", 7},
        {"deletedwithversions", 19},
        {"immutabilitypolicy", 18},
        {"legalhold", 9},
        {"metadata", 8},
        {"permissions", 11},
        {"snapshots", 9},
        {"tags", 4},
        {"uncommittedblobs", 16},
        {"versions", 8},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (tv_slice_eq_nocase(word, words[i]))
            return true;
    }
    return word.len == 0;
}

static tv_err check_include(tv_blob_call *call, tv_slice include)
{
    tv_slice rest = include, word;

    while (tv_slice_next(&rest, ',', &word)) {
        if (!is_include(tv_slice_trim(word)))
            return tv_call_bad_parameter(&call->base, TV_LIT("include"), include,
                                         "Invalid query parameter value.");
    }
    return TV_OK;
}

static tv_err check_texts(tv_blob_call *call, const listing *l)
{
    tv_err err;

    if (tv_utf8_units(l->query.prefix) > TV_KEY_UNITS_MAX)
        return tv_call_bad_parameter(&call->base, TV_LIT("prefix"), l->query.prefix, NULL);

    if (tv_utf8_units(l->start) > TV_KEY_UNITS_MAX)
        return tv_call_bad_parameter(&call->base, start_name, l->start, NULL);

    err = tv_list_check_text(&call->base, start_name, l->start);
    if (err)
        return err;

    err = tv_list_check_text(&call->base, TV_LIT("delimiter"), l->delimiter);
    if (err)
        return err;

    return check_include(call, l->query.include);
}

/* The type of one item of an Accept header, without its parameters. */
static tv_slice media_type(tv_slice item)
{
    return tv_slice_trim(tv_slice_take(item, tv_slice_find(item, ';')));
}

/* Whether a client wants its list as Apache Arrow and would not take XML instead. */
static bool wants_only_arrow(const tv_request *req)
{
    tv_slice rest = tv_request_header(req, TV_LIT("Accept")), item;
    bool has_arrow = false;

    while (tv_slice_next(&rest, ',', &item)) {
        tv_slice type = media_type(item);

        if (tv_slice_eq_nocase(type, TV_LIT("application/xml")) ||
            tv_slice_eq_nocase(type, TV_LIT("application/*")) || tv_slice_eq(type, TV_LIT("*/*")))
            return false;
        has_arrow |= tv_slice_eq_nocase(type, TV_LIT("application/vnd.apache.arrow.stream"));
    }
    return has_arrow;
}

/* What a client would take for another list if it were ignored. */
static tv_err check_support(tv_blob_call *call)
{
    tv_slice end;
    tv_err err = tv_call_parameter(&call->base, TV_LIT("endBefore"), &end);

    if (err)
        return err;
    if (end.len)
        return tv_blob_not_supported(&call->base, "Lists with an end (endBefore) are");
    if (wants_only_arrow(call->base.req))
        return tv_blob_not_supported(&call->base, "Lists as Apache Arrow are");
    return TV_OK;
}

static tv_slice or_empty(tv_slice text)
{
    return text.data ? text : TV_LIT("");
}

/* With a delimiter, what follows it is not listed, and neither are snapshots. */
static tv_err read_query(tv_blob_call *call, listing *ret_listing)
{
    listing *l = ret_listing;
    tv_err err;

    err = check_support(call);
    if (err)
        return err;

    err = tv_list_query_read(&call->base, &l->query);
    if (err)
        return err;

    err = tv_call_parameter(&call->base, TV_LIT("delimiter"), &l->delimiter);
    if (err)
        return err;

    /* In every version, as at the service: object_store sends it in 2023-11-03. */
    err = tv_call_parameter(&call->base, start_name, &l->start);
    if (err)
        return err;

    err = check_texts(call, l);
    if (err)
        return err;

    l->blobs = (tv_blob_list_query){
        .container = call->base.container->prefix,
        .prefix = or_empty(l->query.prefix),
        .delimiter = or_empty(l->delimiter),
        .start = or_empty(l->start),
        .marker = or_empty(l->query.marker),
        .with_snapshots = tv_list_includes(&l->query, TV_LIT("snapshots")),
        .with_uncommitted = tv_list_includes(&l->query, TV_LIT("uncommittedblobs")),
    };
    l->view = (tv_blob_entry_view){
        .metadata = tv_list_includes(&l->query, TV_LIT("metadata")),
        .copy = tv_list_includes(&l->query, TV_LIT("copy")),
        .now = tv_instant_now(),
    };
    if (l->blobs.with_snapshots && l->blobs.delimiter.len)
        return tv_call_bad_parameter(&call->base, TV_LIT("include"), l->query.include,
                                     "Snapshots cannot be listed with a delimiter.");
    return TV_OK;
}

tv_err tv_blob_list_blobs(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    listing *l = tv_arena_zalloc(&call->base.req->arena, sizeof *l);
    tv_err err = read_query(call, l);

    if (err)
        return err;

    call->base.listing = l;
    return tv_call_take_turns(base, work_on_list, on_listed);
}
