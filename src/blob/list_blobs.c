/* GET /container?restype=container&comp=list: the blobs of a container. */
#include "base/utf8.h"
#include "blob/call.h"
#include "engine/instant.h"
#include "engine/key.h"
#include "service/list.h"

typedef struct listing {
    tv_list_query query;
    tv_slice delimiter, start; /* data is NULL when not given */
    tv_blob_list_query blobs;
    tv_blob_entry_view view;
} listing;

static const tv_slice start_name = {"startFrom", 9};

/* --- on a scanner's thread --- */

static tv_err add_page(tv_blob_call *call, const listing *l, tv_blob_list *list,
                       tv_slice *ret_marker)
{
    tv_request *req = call->base.req;
    tv_blob_entry entry;
    int64_t count = 0;
    tv_err err;

    while (count < l->query.max && req->out.len < TV_LIST_PAGE_BYTES_MAX &&
           tv_blob_list_next(list, &entry)) {
        if (count++ == 0)
            tv_buf_add_lit(&req->out, "<Blobs>");
        tv_blob_add_entry_xml(&req->out, &entry, &l->view);
    }
    err = tv_blob_list_status(list);
    if (err)
        return err;

    if (count)
        tv_buf_add_lit(&req->out, "</Blobs>");
    else
        tv_buf_add_lit(&req->out, "<Blobs />");
    return tv_blob_list_next_marker(list, &req->arena, ret_marker);
}

static void run_list(tv_job *job)
{
    tv_blob_call *call = TV_BLOB_CALL_OF(job, base.job);
    const listing *l = call->listing;
    tv_buf *out = &call->base.req->out;
    tv_slice marker = TV_LIT("");
    tv_blob_list *list = NULL;
    tv_err err;

    err = tv_list_begin_page(&call->base);
    if (err == TV_OK)
        err = tv_blob_list_open(call->base.core->engine, &l->blobs, &list);
    if (err == TV_OK) {
        tv_list_add_opening(out, &call->base, &l->query, call->op.container, l->delimiter);
        err = add_page(call, l, list, &marker);
        tv_list_add_closing(out, marker);
    }
    tv_blob_list_close(list);
    tv_list_end_page(&call->base, err);
}

/* --- on the network thread --- */

/* Texts that were checked before can only be refused for being no marker of ours. */
static void on_listed(tv_mail *mail)
{
    tv_blob_call *call = TV_BLOB_CALL_OF(mail, base.job.mail);
    const listing *l = call->listing;

    if (call->base.job_result == TV_ERR_OUT_OF_RANGE)
        call->base.job_result =
            tv_call_bad_parameter(&call->base, TV_LIT("marker"), l->query.marker, NULL);
    tv_list_respond(&call->base);
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

static tv_slice or_empty(tv_slice text)
{
    return text.data ? text : TV_LIT("");
}

/* With a delimiter, what stands behind it is not told, and neither are snapshots. */
static tv_err read_query(tv_blob_call *call, listing *ret_listing)
{
    listing *l = ret_listing;
    tv_err err;

    err = tv_list_query_read(&call->base, &l->query);
    if (err)
        return err;

    err = tv_call_parameter(&call->base, TV_LIT("delimiter"), &l->delimiter);
    if (err)
        return err;

    if (tv_blob_op_is_since(&call->op, TV_LIT("2026-02-06"))) {
        err = tv_call_parameter(&call->base, start_name, &l->start);
        if (err)
            return err;
    }
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

tv_err tv_blob_list_blobs(tv_blob_call *call)
{
    listing *l = tv_arena_zalloc(&call->base.req->arena, sizeof *l);
    tv_err err = read_query(call, l);

    if (err)
        return err;

    call->listing = l;
    return tv_call_run_job(&call->base, call->base.core->scanners, run_list, on_listed);
}
