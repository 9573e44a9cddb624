/*
 * Get Blob, Get Blob Properties, Get Blob Metadata.
 *
 * Each is tried on the network thread with what is in memory; if that would wait
 * for the disk, the same steps run once more on a worker, and what turns out to
 * be long work in turns with scans.
 */
#include "base/number.h"
#include "services/blob/body/damage.h"
#include "services/blob/ops/headers.h"
#include "services/blob/store/row.h"
#include "services/service/metadata.h"
#include "store/engine/instant.h"

enum {
    DIGEST_BYTES_MAX = 4 * 1024 * 1024, /* of a range whose digest is requested */
    TRIES_MAX = 16,                     /* of a blob that is being replaced all the time */
};

/* --- the head alone --- */

/* What was fetched is the head; may it be read? */
static tv_err take_head(tv_call *base, tv_err err)
{
    tv_blob_call *call = tv_blob_call_of(base);

    if (atomic_load(&base->container->is_dropped))
        return TV_ERR_CONTAINER_NOT_FOUND;
    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_ERR_BLOB_NOT_FOUND : err;

    err = tv_blob_head_decode(&base->req->arena, base->fetch.value, call->args.snapshot,
                              &call->transfer.head);
    if (err)
        return err;

    return tv_blob_check_read(&call->transfer.head, &call->args.conditions, tv_instant_now());
}

/* Nothing has another tier, and nobody has chosen this one. */
static void add_tier(tv_blob_call *call)
{
    if (call->transfer.head.type != TV_BLOB_BLOCK)
        return;
    tv_response_header(call->base.req, TV_LIT("x-ms-access-tier"), TV_LIT("Hot"));
    tv_response_header(call->base.req, TV_LIT("x-ms-access-tier-inferred"), TV_LIT("true"));
}

static tv_err respond_head(tv_call *base, tv_err err)
{
    tv_blob_call *call = tv_blob_call_of(base);
    const tv_blob_head *head = &call->transfer.head;

    err = take_head(base, err);
    if (err)
        return err;

    tv_call_start(base, 200);
    if (tv_call_kind(base) == TV_BLOB_OP_GET_BLOB_METADATA) {
        tv_blob_add_etag(call, head->etag);
        tv_metadata_add_headers(base->req, head->metadata);
        tv_call_finish(base);
        return TV_OK;
    }
    tv_blob_add_properties(call);
    if (head->headers.md5.len)
        tv_blob_add_digest(call, TV_LIT("Content-MD5"), head->headers.md5);
    add_tier(call);
    tv_call_finish_from(base, head->length, NULL);
    return TV_OK;
}

tv_err tv_blob_get_properties(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);

    return tv_call_fetch(base,
                         tv_blob_key_head(&base->req->arena, call->partition, call->args.snapshot),
                         respond_head);
}

/* --- the data --- */

/*
 * x-ms-range has precedence over Range; of the latter HTTP says that other
 * forms are to be ignored.
 */
static tv_err read_range(tv_blob_call *call)
{
    static const tv_slice header = {"x-ms-range", 10};
    tv_request *req = call->base.req;
    tv_blob_range *range = &call->transfer.range;
    tv_slice own = tv_request_header(req, header);

    if (own.len == 0) {
        (void)tv_blob_range_parse(tv_request_header(req, TV_LIT("Range")), range);
        return TV_OK;
    }
    return tv_blob_range_parse(own, range) ? TV_OK : tv_call_bad_header(&call->base, header, own);
}

static tv_err read_flag(tv_blob_call *call, tv_slice name, bool *ret_flag)
{
    tv_slice text = tv_request_header(call->base.req, name);

    *ret_flag = tv_slice_eq_nocase(text, TV_LIT("true"));
    if (text.len == 0 || *ret_flag || tv_slice_eq_nocase(text, TV_LIT("false")))
        return TV_OK;
    return tv_call_bad_header(&call->base, name, text);
}

/* A digest is for one range of up to 4 MiB, and one digest is enough. */
static tv_err read_range_options(tv_blob_call *call)
{
    static const tv_slice md5 = {"x-ms-range-get-content-md5", 26};
    static const tv_slice crc64 = {"x-ms-range-get-content-crc64", 28};
    tv_digests *digests = &call->transfer.digests;
    tv_err err;

    err = read_range(call);
    if (err)
        return err;

    err = read_flag(call, md5, &digests->has_md5);
    if (err)
        return err;

    err = read_flag(call, crc64, &digests->has_crc64);
    if (err)
        return err;

    bool is_one = !digests->has_md5 || !digests->has_crc64;
    bool is_any = digests->has_md5 || digests->has_crc64;

    if (is_one && (!is_any || call->transfer.range.is_given))
        return TV_OK;
    return tv_call_bad_header(&call->base, digests->has_crc64 ? crc64 : md5, TV_LIT("true"));
}

static tv_err check_digest_range(tv_blob_call *call)
{
    const tv_digests *digests = &call->transfer.digests;

    if ((!digests->has_md5 && !digests->has_crc64) || call->transfer.length <= DIGEST_BYTES_MAX)
        return TV_OK;
    return tv_call_bad_header(&call->base,
                              digests->has_md5 ? TV_LIT("x-ms-range-get-content-md5")
                                               : TV_LIT("x-ms-range-get-content-crc64"),
                              TV_LIT("true"));
}

typedef enum place {
    ON_LOOP,
    ON_WORKER,
    IN_TURN,
} place;

/* Whether the range is to be digested, and not here. */
static bool is_digested_elsewhere(const tv_blob_transfer *transfer, place where)
{
    if (!transfer->digests.has_md5 && !transfer->digests.has_crc64)
        return false;
    return where == ON_LOOP ||
           (where == ON_WORKER && tv_blob_download_is_piecemeal(transfer->download));
}

/*
 * One try; TV_ERR_CONFLICT when the blob has been replaced within it, TV_ERR_WOULD_BLOCK when
 * this is not the place.
 */
static tv_err try_open(tv_blob_call *call, place where)
{
    tv_blob_transfer *transfer = &call->transfer;
    tv_read_mode mode = where == ON_LOOP ? TV_READ_CACHED : TV_READ_ANY;
    bool wants_digest = transfer->digests.has_md5 || transfer->digests.has_crc64;
    tv_err err;

    err = tv_blob_download_head(transfer->download, mode, &transfer->head);
    if (err)
        return err;

    err = tv_blob_check_read(&transfer->head, &call->args.conditions, tv_instant_now());
    if (err)
        return err;

    err = tv_blob_range_resolve(&transfer->range, transfer->head.length, &transfer->offset,
                                &transfer->length);
    if (err || transfer->length == 0)
        return err;

    err = check_digest_range(call);
    if (err)
        return err;
    if (is_digested_elsewhere(transfer, where))
        return TV_ERR_WOULD_BLOCK;

    err = tv_blob_download_prepare(transfer->download, mode, &transfer->head, transfer->offset,
                                   transfer->length);
    if (err || !wants_digest)
        return err;

    return tv_blob_download_digest(transfer->download, &transfer->digests);
}

static tv_err open_blob(tv_blob_call *call, place where)
{
    tv_err err = TV_ERR_CONFLICT;

    for (int i = 0; i < TRIES_MAX && err == TV_ERR_CONFLICT; i++)
        err = try_open(call, where);
    return err == TV_ERR_CONFLICT ? TV_ERR_OVERLOADED : err;
}

static void pull(tv_request *req)
{
    tv_blob_call *call = req->user;

    tv_blob_download_pull(call->transfer.download);
}

static const tv_body_source source = {pull};

static void respond_blob(tv_blob_call *call)
{
    tv_blob_transfer *transfer = &call->transfer;
    tv_request *req = call->base.req;
    const tv_blob_head *head = &transfer->head;
    bool is_part = transfer->range.is_given;

    tv_call_start(&call->base, is_part ? 206 : 200);
    tv_blob_add_properties(call);
    if (tv_blob_is_since(&call->args, TV_LIT("2026-10-06")))
        add_tier(call);
    if (is_part) {
        tv_response_header(
            req, TV_LIT("Content-Range"),
            tv_arena_printf(&req->arena, "bytes %llu-%llu/%llu",
                            (unsigned long long)transfer->offset,
                            (unsigned long long)(transfer->offset + transfer->length - 1),
                            (unsigned long long)head->length));
        tv_blob_add_digests(call);
    }
    if (head->headers.md5.len)
        tv_blob_add_digest(call, is_part ? TV_LIT("x-ms-blob-content-md5") : TV_LIT("Content-MD5"),
                           head->headers.md5);
    tv_call_finish_from(&call->base, transfer->length, &source);
}

/* Log what the client only sees as an internal error. */
static void report_damage(const tv_blob_call *call)
{
    tv_extent_id id;

    if (tv_blob_download_damage(call->transfer.download, &id))
        tv_blob_log_damage(tv_blob_service_of(call)->io.extents, id, call->base.endpoint.account,
                           call->base.target.container, call->base.target.blob);
}

/* Instead of a piece: see tv_blob_download_new. */
static void fail(tv_request *req, tv_err err)
{
    tv_blob_call *call = req->user;

    report_damage(call);
    if (tv_response_is_unsent(req)) /* a blob that was replaced just now can be had again */
        tv_call_respond_error(&call->base, err == TV_ERR_CONFLICT ? TV_ERR_OVERLOADED : err);
    else
        tv_response_abort(req);
}

/* A client that requests bytes that are not there is told how many there are. */
static void respond_range_error(tv_blob_call *call)
{
    tv_request *req = call->base.req;

    tv_call_start_error_xml(&call->base, TV_ERR_BLOB_RANGE);
    tv_response_header(req, TV_LIT("Content-Range"),
                       tv_arena_printf(&req->arena, "bytes */%llu",
                                       (unsigned long long)call->transfer.head.length));
    tv_call_finish(&call->base);
}

static tv_err on_opened(tv_call *base, tv_err err);

static tv_err open_on_worker(tv_call *base, tv_read_mode mode)
{
    tv_assert(mode == TV_READ_ANY);
    return open_blob(tv_blob_call_of(base), ON_WORKER);
}

/* In one turn: a digest is of no more pieces than a blob has. */
static bool open_in_turn(tv_call *base, tv_turn *turn)
{
    (void)turn;
    base->result = open_blob(tv_blob_call_of(base), IN_TURN);
    return true;
}

/* It cannot be opened here. */
static tv_err open_elsewhere(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);

    if (tv_blob_download_is_piecemeal(call->transfer.download))
        return tv_call_take_turns(base, open_in_turn, on_opened);
    return tv_call_read_on(base, tv_blob_service_of(call)->io.workers, open_on_worker, on_opened);
}

static tv_err on_opened(tv_call *base, tv_err err)
{
    tv_blob_call *call = tv_blob_call_of(base);

    if (err == TV_ERR_WOULD_BLOCK)
        return open_elsewhere(base);
    if (atomic_load(&base->container->is_dropped))
        return TV_ERR_CONTAINER_NOT_FOUND; /* its rows are on their way out */
    if (err)
        report_damage(call);
    if (err == TV_ERR_BLOB_RANGE)
        respond_range_error(call);
    else if (err)
        return err;
    else
        respond_blob(call);
    return TV_OK;
}

tv_err tv_blob_get(tv_call *base)
{
    tv_blob_call *call = tv_blob_call_of(base);
    tv_err err = read_range_options(call);

    if (err)
        return err;

    call->transfer.download = tv_blob_download_new(
        &tv_blob_service_of(call)->io, base->service->engine, base->req,
        tv_identity_turns(base->identity), call->partition, call->args.snapshot, fail);
    return on_opened(base, open_blob(call, ON_LOOP));
}
