/* Which of the page's requests goes where. */
#include "server/explorer/explorer.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/explorer/api.h"
#include "server/explorer/assets.h"
#include "services/service/call.h"

enum { DOOR_BLOB, DOOR_QUEUE, DOOR_TABLE, DOOR_COUNT };

/* The most bytes of a request to the page's own functions: a string to sign, the secret of a link.
 */
enum { OWN_BODY_BYTES_MAX = 64 * 1024 };

/* A slice of a literal, in an initialiser. */
#define SLICE(text)                                                                                \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }

/* What all responses carry.  Nothing that is stored is a page here, whatever its type says. */
#define NO_SNIFFING "X-Content-Type-Options: nosniff\r\n"
#define NO_TRACES                                                                                  \
    "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"                \
    "Cross-Origin-Opener-Policy: same-origin\r\nX-Frame-Options: DENY\r\n"

static const tv_slice page_head =
    SLICE(NO_SNIFFING NO_TRACES
          "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src "
          "'self'; img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'; "
          "require-trusted-types-for 'script'; trusted-types 'none'\r\n");

static const tv_slice data_head =
    SLICE(NO_SNIFFING NO_TRACES "Cache-Control: no-store\r\n"
                                "Content-Security-Policy: sandbox; default-src 'none'; "
                                "frame-ancestors 'none'\r\n");

/* Of a request that is answered here, in place of a call. */
static char own_request;

static const struct {
    tv_slice prefix; /* what is cut off the path; the account comes next */
    int door;
} door_paths[] = {
    {SLICE("/api/table"), DOOR_TABLE},
    {SLICE("/api/queue"), DOOR_QUEUE},
    {SLICE("/api/blob"), DOOR_BLOB},
};

static tv_admin_guard guard_of(tv_explorer *explorer)
{
    return (tv_admin_guard){explorer->name, explorer->token, &explorer->sessions};
}

void tv_explorer_respond(tv_request *req, int status, tv_slice content_type)
{
    if (req->out.is_lost) {
        tv_buf_done(&req->out);
        tv_explorer_refuse(req, 503, "not enough memory");
        return;
    }
    tv_response_start(req, status);
    tv_response_header(req, TV_LIT("Server"), TV_LIT("Tavola-Explorer/" TV_VERSION));
    tv_response_header(req, TV_LIT("Content-Type"), content_type);
    tv_response_send(req);
}

void tv_explorer_refuse(tv_request *req, int status, const char *why)
{
    req->out.len = 0;
    tv_buf_printf(&req->out, "{\"message\":\"%s\"}\n", why);
    tv_explorer_respond(req, status, TV_LIT("application/json"));
}

/* --- the files --- */

static bool takes_gzip(const tv_request *req)
{
    tv_slice rest = tv_request_header(req, TV_LIT("Accept-Encoding")), part;

    while (rest.len && tv_slice_next(&rest, ',', &part)) {
        part = tv_slice_trim(tv_slice_take(part, tv_slice_find(part, ';')));
        if (tv_slice_eq_nocase(part, TV_LIT("gzip")) || tv_slice_eq(part, TV_LIT("*")))
            return true;
    }
    return false;
}

/* "/" or "/app/VERSION/name"; NULL when there is none. */
static const tv_asset *find_asset(tv_slice path)
{
    static const tv_slice app = {"/app/", 5};
    tv_slice version = tv_slice_of(tv_assets_version), name = TV_LIT("");

    if (!tv_slice_eq(path, TV_LIT("/"))) {
        name = tv_slice_skip(path, app.len);
        if (!tv_slice_starts_with(name, version) || name.len < version.len + 2 ||
            name.data[version.len] != '/')
            return NULL;
        name = tv_slice_skip(name, version.len + 1);
    }
    for (size_t i = 0; i < tv_asset_count; i++) {
        if (tv_slice_eq(name, tv_slice_of(tv_assets[i].name)))
            return &tv_assets[i];
    }
    return NULL;
}

static void respond_asset(tv_request *req)
{
    const tv_asset *asset = find_asset(req->path);
    bool is_page = asset && asset->name[0] == '\0';

    if (asset == NULL) {
        tv_explorer_refuse(req, 404, "this file is not of this version of the page; load it again");
        return;
    }
    if (!takes_gzip(req)) {
        tv_explorer_refuse(req, 406, "the page is for browsers; it is sent with gzip");
        return;
    }
    tv_buf_add(&req->out, asset->gzip);
    tv_response_start(req, 200);
    tv_response_header(req, TV_LIT("Server"), TV_LIT("Tavola-Explorer/" TV_VERSION));
    tv_response_header(req, TV_LIT("Content-Type"), tv_slice_of(asset->type));
    tv_response_header(req, TV_LIT("Content-Encoding"), TV_LIT("gzip"));
    tv_response_header(req, TV_LIT("Cache-Control"),
                       is_page ? TV_LIT("no-store")
                               : TV_LIT("public, max-age=31536000, immutable"));
    tv_response_send(req);
}

/* --- the handler --- */

static bool is_under(tv_slice path, tv_slice prefix)
{
    return tv_slice_starts_with(path, prefix) && path.len > prefix.len &&
           path.data[prefix.len] == '/';
}

/* To a service, as its owner's request. */
static bool enter(tv_explorer *explorer, tv_request *req, int door, size_t prefix_len)
{
    const tv_http_handler *handler = &explorer->doors[door];

    req->path = tv_slice_skip(req->path, prefix_len);
    return handler->on_headers(handler->ctx, req);
}

/* What needs no session: the files, and getting one. */
static bool is_open(const tv_request *req)
{
    return !tv_slice_starts_with(req->path, TV_LIT("/api/")) ||
           (req->method == TV_METHOD_POST && tv_slice_eq(req->path, TV_LIT("/api/login")));
}

static bool on_headers(void *ctx, tv_request *req)
{
    tv_explorer *explorer = ctx;
    tv_admin_guard guard = guard_of(explorer);
    bool is_api = tv_slice_starts_with(req->path, TV_LIT("/api/"));
    const char *why;
    int status;

    req->user = &own_request;
    req->fixed_head = is_api ? data_head : page_head;
    status = is_open(req) ? tv_admin_guard_check_page(&guard, req, &why)
                          : tv_admin_guard_check(&guard, req, &why);
    if (status) {
        tv_explorer_refuse(req, status, why);
        return false;
    }
    for (size_t i = 0; i < sizeof door_paths / sizeof *door_paths; i++) {
        if (is_under(req->path, door_paths[i].prefix)) {
            req->user = NULL; /* the call's, from now on */
            return enter(explorer, req, door_paths[i].door, door_paths[i].prefix.len);
        }
    }
    req->body_bytes_max = is_api ? OWN_BODY_BYTES_MAX : 0;
    req->out.may_be_lost = is_api;
    return true;
}

/* The service that a request has gone to; NULL for one that is answered here. */
static const tv_http_handler *door_of(tv_explorer *explorer, const tv_request *req)
{
    const tv_call *call = req->user;

    if (req->user == &own_request)
        return NULL;
    for (int i = 0; i < DOOR_COUNT; i++) {
        if (explorer->doors[i].ctx == call->service)
            return &explorer->doors[i];
    }
    tv_assert(!"a call is of one of the services");
    return NULL;
}

static void on_request(void *ctx, tv_request *req)
{
    const tv_http_handler *door = door_of(ctx, req);
    bool is_read = req->method == TV_METHOD_GET || req->method == TV_METHOD_HEAD;

    if (door)
        door->on_request(door->ctx, req);
    else if (tv_slice_starts_with(req->path, TV_LIT("/api/")))
        tv_explorer_answer(ctx, req);
    else if (is_read)
        respond_asset(req);
    else
        tv_explorer_refuse(req, 405, "only GET is served here");
}

static void on_refused(void *ctx, tv_request *req, tv_err err)
{
    const tv_http_handler *door = door_of(ctx, req);

    if (door)
        door->on_refused(door->ctx, req, err);
    else
        tv_explorer_refuse(req, tv_err_status(err), "this request cannot be read");
}

static void on_done(void *ctx, tv_request *req)
{
    const tv_http_handler *door = door_of(ctx, req);

    if (door)
        door->on_done(door->ctx, req);
    req->user = NULL;
}

static void note_first(tv_service *service, tv_first_requests *first)
{
    service->on_done_ctx = first;
    service->on_done = tv_first_requests_note;
}

tv_http_handler tv_explorer_handler(tv_explorer *explorer)
{
    note_first(explorer->table, &explorer->first[0]);
    note_first(explorer->queue, &explorer->first[1]);
    note_first(explorer->blob, &explorer->first[2]);
    explorer->doors[DOOR_BLOB] = tv_service_owner_handler(explorer->blob);
    explorer->doors[DOOR_QUEUE] = tv_service_owner_handler(explorer->queue);
    explorer->doors[DOOR_TABLE] = tv_service_owner_handler(explorer->table);
    tv_tree_counts_open(&explorer->counts, explorer->queue, explorer->blob);
    return (tv_http_handler){
        .name = "explorer",
        .ctx = explorer,
        .on_headers = on_headers,
        .on_request = on_request,
        .on_refused = on_refused,
        .on_done = on_done,
    };
}

void tv_explorer_stop(tv_explorer *explorer)
{
    tv_tree_counts_close(&explorer->counts);
}
