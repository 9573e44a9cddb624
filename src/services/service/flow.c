/*
 * The request flow, the same for every service:
 *
 *     on_headers   a preflight is answered by the account's CORS rules; all others:
 *                  open          HTTPS where it is required, the account, the version
 *                  read_path     what the URL names
 *                  authenticate  who is asking; where something can be public, requests
 *                                without credentials become anonymous
 *                  choose        which row of the service's table it is
 *                  authorize     whether the identity may do that on this endpoint
 *                  enter_targets whether its account has room for it, where it has targets
 *                  prepare       the page that it comes from, its length, its container,
 *                                and what the row's own head function checks
 *     the body     kept by the connection, or taken by a sink that the head function has set
 *     on_request   the row's run function: answered at once, or when a read, a task in turns or
 *                  a write comes back
 *     on_done      observed, once: told to who watches, counted, logged; then released
 *
 * Where the catalogue has other nodes, a call may begin again: lookup.c.
 *
 * on_refused is called instead of on_request when the HTTP layer cannot accept a request.
 */
#include "services/service/flow.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/log.h"
#include "services/service/analytics_names.h"
#include "services/service/cors.h"
#include "services/service/recent.h"
#include "services/service/throttle.h"

void tv_call_init(tv_call *call, tv_service *service, tv_request *req)
{
    call->service = service;
    call->req = req;
    call->method = req->method;
    call->op = &service->spec->ops[TV_OP_UNKNOWN];
}

static tv_call *call_new(tv_service *service, tv_request *req)
{
    tv_call *call = tv_arena_zalloc(&req->arena, service->spec->call_bytes);
    tv_guid guid = tv_guid_new();

    tv_assert(req->user == NULL);
    tv_call_init(call, service, req);
    tv_guid_format(call->request_id, &guid);
    req->user = call;
    return call;
}

/* --- open --- */

/* Every dated version is welcome; the list of the cloud service grows several times a year. */
static tv_err open_call(tv_call *call)
{
    tv_request *req = call->req;
    tv_slice version = tv_request_header(req, TV_LIT("x-ms-version"));

    if (call->service->is_https_only && !req->is_tls && !call->is_owner)
        return TV_ERR_HTTPS_REQUIRED;
    if (version.data && !tv_version_is_valid(version))
        return tv_call_bad_header(call, TV_LIT("x-ms-version"), version);
    return tv_endpoint_parse(&req->arena, tv_service_kind_name(call->service->spec->kind),
                             req->is_tls, req->host, req->path, &call->endpoint);
}

/* --- authenticate --- */

static tv_credentials credentials_of(const tv_call *call)
{
    const tv_request *req = call->req;

    return (tv_credentials){
        .parts = {.service = call->service->spec->kind,
                  .account = call->endpoint.account,
                  .method = req->method_text,
                  .path = req->path,
                  .comp = call->comp,
                  .content_md5 = tv_request_header(req, TV_LIT("content-md5")),
                  .content_type = tv_request_header(req, TV_LIT("content-type")),
                  .headers = req->headers,
                  .header_count = req->header_count},
        .authorization = tv_request_header(req, TV_LIT("authorization")),
        .x_ms_date = tv_request_header(req, TV_LIT("x-ms-date")),
        .date = tv_request_header(req, TV_LIT("date")),
        .query = req->query,
        .container = call->target.container,
        .blob = call->target.blob,
        .host = req->host,
        .peer = req->peer,
        .is_peer_loopback = req->is_peer_loopback,
        .is_tls = req->is_tls,
        .is_secondary_by_path =
            call->endpoint.is_secondary && call->endpoint.is_path_style && req->path.data[0] == '/',
    };
}

tv_err tv_call_authenticate(tv_call *call)
{
    tv_credentials credentials = credentials_of(call);

    return tv_authenticate(&call->service->auth, &credentials, tv_clock_ticks(), &call->req->arena,
                           &call->identity, &call->info);
}

tv_err tv_call_authenticate_anonymous(tv_call *call)
{
    tv_credentials credentials = credentials_of(call);

    return tv_authenticate_anonymous(&call->service->auth, &credentials, &call->req->arena,
                                     &call->identity, &call->info);
}

/* A SAS may name a policy of a container that this node has not heard of. */
static void look_for_policies(tv_call *call)
{
    tv_slice policy;

    if (tv_catalog_is_shared(call->service->catalog) && call->target.container.len &&
        tv_call_parameter(call, TV_LIT("si"), &policy) == TV_OK && policy.len)
        tv_container_unref(tv_call_look_for(call, call->endpoint.account, call->target.container));
}

static tv_err authenticate_owner(tv_call *call)
{
    return tv_authenticate_owner(&call->service->auth, call->service->spec->kind,
                                 call->endpoint.account, &call->req->arena, &call->identity,
                                 &call->info);
}

static tv_err authenticate(tv_call *call)
{
    tv_err err = call->is_owner ? authenticate_owner(call) : tv_call_authenticate(call);

    if (err == TV_ERR_NO_AUTHENTICATION && call->service->spec->is_public)
        err = tv_call_authenticate_anonymous(call);
    if (err)
        look_for_policies(call);
    tv_assert((err == TV_OK) == (call->identity != NULL));
    if (err == TV_OK)
        tv_request_charge_to(call->req, tv_identity_share(call->identity));
    return err;
}

/* --- choose --- */

void tv_call_turn_to(tv_call *call, int op)
{
    tv_assert(op >= 0 && op < call->service->spec->op_count);
    tv_assert(call->container == NULL); /* no step before `authorize` has one */
    call->op = &call->service->spec->ops[op];
}

static bool fits_method(const tv_op *op, tv_method method)
{
    return op->method == method || ((op->flags & TV_OP_HEAD) && method == TV_METHOD_HEAD);
}

const tv_op *tv_service_find_op(const tv_service_spec *spec, int where, tv_method method,
                                tv_slice comp, bool *ret_has_comp)
{
    *ret_has_comp = false;
    if (where == TV_OP_NOWHERE)
        return NULL;

    for (int i = 0; i < spec->op_count; i++) {
        const tv_op *op = &spec->ops[i];

        if (op->where != where || !tv_slice_eq(comp, tv_slice_of(op->comp)))
            continue;
        if (fits_method(op, method))
            return op;
        *ret_has_comp = true;
    }
    return NULL;
}

static tv_err miss(tv_call *call, bool has_comp)
{
    /* All services of the cloud have them; there are no users here. */
    if (tv_slice_eq(call->comp, TV_LIT("userdelegationkey"))) {
        call->info.text = TV_LIT("User delegation keys are not supported by this server.");
        return TV_ERR_NOT_IMPLEMENTED;
    }
    if (call->service->spec->miss)
        return call->service->spec->miss(call, has_comp);
    return has_comp ? TV_ERR_UNSUPPORTED_VERB : TV_ERR_INVALID_QUERY_PARAMETER;
}

tv_err tv_call_choose(tv_call *call)
{
    int where;
    bool has_comp;
    tv_err err;

    err = call->service->spec->locate(call, &where);
    if (err)
        return err;

    const tv_op *op =
        tv_service_find_op(call->service->spec, where, call->method, call->comp, &has_comp);

    if (op == NULL)
        return miss(call, has_comp);

    call->op = op;
    err = op->choose ? op->choose(call) : TV_OK;
    if (err)
        return err;
    return call->service->spec->read_head ? call->service->spec->read_head(call) : TV_OK;
}

/* --- authorize --- */

/* The secondary is read-only, and only it has stats.  What a batch does its parts tell. */
tv_err tv_call_check_endpoint(const tv_call *call)
{
    bool is_secondary = call->endpoint.is_secondary;

    if (call->op->flags & TV_OP_SECONDARY_ONLY)
        return is_secondary ? TV_OK : TV_ERR_NOT_ON_PRIMARY;
    return is_secondary && !(call->op->flags & (TV_OP_READS | TV_OP_BY_PARTS))
               ? TV_ERR_SECONDARY_IS_READ_ONLY
               : TV_OK;
}

static bool is_public(tv_call *call)
{
    return (call->op->flags & (TV_OP_PUBLIC_OBJECT | TV_OP_PUBLIC_LISTING)) &&
           call->service->spec->is_public(call);
}

/*
 * Which operation it is, and whether this endpoint has it.  An error about the
 * request would tell an anonymous client that there is such an account: to it
 * all that is not public looks the same.
 */
static tv_err choose(tv_call *call)
{
    tv_err err = tv_call_choose(call);

    if (err == TV_OK)
        err = tv_call_check_endpoint(call);
    if (err && tv_identity_is_anonymous(call->identity) && !is_public(call))
        return TV_ERR_NO_AUTHENTICATION;
    return err;
}

tv_need tv_call_need(tv_call *call)
{
    const tv_op *op = call->op;

    return (tv_need){
        .sas = op->sas,
        .type = call->type ? call->type : op->type,
        .all_of = op->all_of,
        .any_of = op->any_of,
        .container = call->target.container,
        .blob = call->target.blob,
        .snapshot = call->target.snapshot,
    };
}

tv_err tv_op_check_analytics(const tv_op *op, tv_service_kind service, tv_slice container)
{
    return !(op->flags & (TV_OP_READS | TV_OP_ON_ANALYTICS)) &&
                   tv_analytics_owns(service, container)
               ? TV_ERR_ANALYTICS_READ_ONLY
               : TV_OK;
}

static tv_err authorize(tv_call *call)
{
    tv_need need = tv_call_need(call);
    tv_err err;

    tv_assert(tv_call_kind(call) > TV_OP_PREFLIGHT);
    need.is_public = tv_identity_is_anonymous(call->identity) && is_public(call);
    err = call->op->flags & TV_OP_BY_PARTS ? TV_OK : tv_identity_allows(call->identity, &need);
    if (err == TV_OK)
        err = tv_op_check_analytics(call->op, call->service->spec->kind, need.container);
    if (err)
        return err;
    return call->service->spec->authorize ? call->service->spec->authorize(call) : TV_OK;
}

/* --- prepare --- */

/* A body that was not announced does not count; the service would rather be told than guess. */
static tv_err check_length(const tv_call *call)
{
    const tv_request *req = call->req;
    bool has_length = tv_request_header(req, TV_LIT("content-length")).data ||
                      tv_request_header(req, TV_LIT("transfer-encoding")).data;

    return (call->op->flags & TV_OP_NEEDS_LENGTH) && !has_length ? TV_ERR_LENGTH_REQUIRED : TV_OK;
}

static tv_err check_page(tv_call *call)
{
    if (call->is_owner || (call->op->flags & (TV_OP_READS | TV_OP_SECONDARY_ONLY)))
        return TV_OK;
    return tv_cors_check_page(call->service->catalog, call->service->spec->kind, call->identity,
                              call->req, &call->info);
}

static tv_err prepare(tv_call *call)
{
    const tv_op *op = call->op;
    tv_err err;

    err = check_page(call);
    if (err)
        return err;

    err = check_length(call);
    if (err)
        return err;

    if (op->flags & TV_OP_IN_CONTAINER) {
        err = tv_call_find_container(call, call->target.container);
        if (err == TV_OK && call->service->spec->enter)
            err = call->service->spec->enter(call);
        if (err)
            return err;
    }
    call->req->body_bytes_max = op->body_bytes_max ? op->body_bytes_max : TV_OP_BODY_BYTES_MAX;
    return op->head ? op->head(call) : TV_OK;
}

/* --- the listener's calls --- */

static tv_err check_head(tv_call *call)
{
    bool goes_on;
    tv_err err;

    err = open_call(call);
    if (err)
        return err;

    err = call->service->spec->read_path(call);
    if (err)
        return err;

    err = authenticate(call);
    if (err)
        return err;

    err = choose(call);
    if (err)
        return err;

    err = authorize(call);
    if (err)
        return err;

    err = tv_call_enter_targets(call, &goes_on);
    if (err || !goes_on)
        return err;

    return prepare(call);
}

static bool begin(tv_call *call)
{
    tv_err err = check_head(call);

    if (err) {
        tv_call_fail(call, err);
        return false;
    }
    return call->is_throttled || !tv_call_looks_first(call);
}

static bool on_headers(void *ctx, tv_request *req)
{
    tv_call *call = call_new(ctx, req);
    bool requires_https = call->service->is_https_only && !req->is_tls;

    if (req->method == TV_METHOD_OPTIONS && !requires_https) {
        tv_call_answer_preflight(call);
        return false;
    }
    return begin(call);
}

/* The session stands for the account's key; other pages are kept out where it is checked. */
static bool on_owner_headers(void *ctx, tv_request *req)
{
    tv_call *call = call_new(ctx, req);

    call->is_owner = true;
    return begin(call);
}

int64_t tv_call_time(const tv_call *call)
{
    return tv_catalog_has_analytics(call->service->catalog) ? tv_clock_mono_ns() : 0;
}

static void run(tv_call *call)
{
    tv_err err;

    tv_assert(call->identity && call->op->run && !call->is_away);
    if (call->is_throttled) {
        tv_call_respond_error(call, TV_ERR_THROTTLED);
        return;
    }
    tv_assert(call->container || !(call->op->flags & TV_OP_IN_CONTAINER));
    call->is_running = true;
    call->begun_ns = tv_call_time(call);
    err = call->op->run(call);
    if (err)
        tv_call_fail(call, err);
}

static void on_request(void *ctx, tv_request *req)
{
    (void)ctx;
    run(req->user);
}

/* What it holds; whoever observes it has done so. */
static void release(tv_call *call)
{
    if (call->service->spec->release)
        call->service->spec->release(call);
    tv_container_unref(call->container);
    call->container = NULL;
}

/* As if the request had just come; only what tells that it has not stays. */
static void reset(tv_call *call)
{
    tv_service *service = call->service;
    tv_request *req = call->req;
    tv_call kept = *call;

    release(call);
    memset(call, 0, service->spec->call_bytes);
    tv_call_init(call, service, req);
    memcpy(call->request_id, kept.request_id, sizeof call->request_id);
    call->looks = kept.looks;
    call->is_running = kept.is_running;
    call->is_owner = kept.is_owner;
    req->sink = NULL;
    req->out.len = 0;
}

void tv_call_begin_again(tv_call *call)
{
    tv_err err;

    tv_assert(call->looks && !call->is_away);
    reset(call);
    err = check_head(call);
    if (err)
        tv_call_respond_error(call, err);
    else if (call->is_running)
        run(call);
    else
        tv_request_resume(call->req);
}

static void on_refused(void *ctx, tv_request *req, tv_err err)
{
    tv_call_respond_error(req->user ? req->user : call_new(ctx, req), err);
}

/* What the client can make as long as it likes comes last, where cutting the line hides nothing. */
static void log_access(const tv_call *call, int64_t ns)
{
    tv_request *req = call->req;
    tv_slice path = tv_log_redact(&req->arena, req->path);

    tv_log(TV_LOG_INFO, "access",
           "service=%.*s method=%.*s operation=%s status=%d us=%lld peer=%s request_id=%.*s "
           "path=\"%.*s\"",
           TV_FMT(tv_service_kind_name(call->service->spec->kind)),
           TV_FMT(tv_method_text(req->method)), call->op->name, req->status, (long long)(ns / 1000),
           req->peer, TV_GUID_TEXT_LEN, call->request_id, TV_FMT(path));
}

/* How often clients asked for something in it, and whether something may have changed. */
static void count_in_container(const tv_call *call)
{
    tv_container *container = call->container;

    if (container == NULL)
        return;
    if (!call->is_owner)
        atomic_fetch_add_explicit(&container->requests, 1, memory_order_relaxed);
    if (!(call->op->flags & TV_OP_READS))
        atomic_fetch_add_explicit(&container->changes, 1, memory_order_relaxed);
}

/* What the request leaves; it is called once for each. */
static void observe(tv_call *call, int64_t end_ns)
{
    tv_service *service = call->service;
    tv_request *req = call->req;
    int64_t ns = end_ns - req->start_ns;

    if (service->spec->observe)
        service->spec->observe(call, end_ns);
    tv_meter_add(&service->meter, tv_call_kind(call), req->status, ns, req->body_length,
                 req->out.len + req->out_length);
    if (service->has_access_log)
        log_access(call, ns);
    if (service->recent && !call->is_owner)
        tv_recent_note(service->recent, call, end_ns, ns);
    count_in_container(call);
    if (service->on_done)
        service->on_done(service->on_done_ctx, call);
}

static void on_done(void *ctx, tv_request *req)
{
    tv_service *service = ctx;
    tv_call *call = req->user;
    int64_t end_ns = tv_clock_mono_ns();

    if (call == NULL)
        return;

    tv_assert(call->req == req && !call->is_away);
    tv_call_charge_rest(call);
    observe(call, end_ns);
    release(call);
    if (service->record && tv_catalog_has_analytics(service->catalog))
        service->record(service->record_ctx, call, end_ns);
    req->user = NULL;
}

/* --- the service --- */

static tv_err find_policies(void *ctx, tv_slice account, tv_slice container, tv_arena *arena,
                            tv_access_policies *ret_policies)
{
    tv_service *service = ctx;

    return tv_catalog_policies(service->catalog, account, container, arena, ret_policies);
}

/* What the flow relies on; the tests look at the rows more closely. */
static void check_spec(const tv_service_spec *spec)
{
    tv_assert(spec->read_path && spec->locate && spec->call_bytes >= sizeof(tv_call));
    tv_assert(spec->op_count > TV_OP_PREFLIGHT);
    for (int i = 0; i < spec->op_count; i++) {
        const tv_op *op = &spec->ops[i];

        tv_assert(op->name && (op->run || i <= TV_OP_PREFLIGHT));
        tv_assert(op->where == TV_OP_NOWHERE || (op->comp && i > TV_OP_PREFLIGHT));
        tv_assert(spec->is_public || !(op->flags & (TV_OP_PUBLIC_OBJECT | TV_OP_PUBLIC_LISTING)));
    }
}

tv_http_handler tv_service_handler(tv_service *service)
{
    const tv_service_spec *spec = service->spec;
    const char *name = tv_service_kind_name(spec->kind).data;

    check_spec(spec);
    tv_meter_init(&service->meter, name, spec->op_count);
    for (int i = 0; i < spec->op_count; i++)
        service->meter.op_names[i] = spec->ops[i].name;
    service->auth.find_policies = find_policies;
    service->auth.ctx = service;
    return (tv_http_handler){
        .name = name,
        .ctx = service,
        .on_headers = on_headers,
        .on_request = on_request,
        .on_refused = on_refused,
        .on_done = on_done,
    };
}

tv_http_handler tv_service_owner_handler(tv_service *service)
{
    tv_assert(service->meter.op_count);
    return (tv_http_handler){
        .name = tv_service_kind_name(service->spec->kind).data,
        .ctx = service,
        .on_headers = on_owner_headers,
        .on_request = on_request,
        .on_refused = on_refused,
        .on_done = on_done,
    };
}
