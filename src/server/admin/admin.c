/* Health, metrics, backups and the cluster. */
#include "server/admin/admin.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/metrics.h"
#include "base/point.h"
#include "model/auth/identity.h"
#include "server/admin/advice.h"
#include "server/admin/bundle.h"
#include "server/admin/clock.h"
#include "server/admin/cluster.h"
#include "server/admin/facts.h"
#include "server/admin/guard.h"
#include "server/admin/health.h"
#include "server/admin/log.h"
#include "server/admin/proof.h"
#include "server/admin/requests.h"
#include "server/admin/route.h"
#include "server/admin/shapes.h"
#include "server/admin/traffic.h"

static const tv_slice text_type = {"text/plain; charset=utf-8", 25};
static const tv_slice metrics_type = {"text/plain; version=0.0.4; charset=utf-8", 40};

static const tv_slice json_type = {"application/json", 16};

/* A path in JSON, with every character escaped. */
enum { BODY_BYTES_MAX = 6 * TV_BACKUP_PATH_SIZE };

/* All answers go through here. */
static void respond(tv_request *req, int status, tv_slice content_type)
{
    if (req->out.is_lost) {
        tv_buf_done(&req->out);
        status = tv_admin_refuse(req, 503, "not enough memory");
        content_type = text_type;
    }
    tv_response_start(req, status);
    tv_response_header(req, TV_LIT("Server"), TV_LIT("Tavola-Admin/" TV_VERSION));
    tv_response_header(req, TV_LIT("Cache-Control"), TV_LIT("no-store"));
    tv_response_header(req, TV_LIT("X-Content-Type-Options"), TV_LIT("nosniff"));
    tv_response_header(req, TV_LIT("Content-Type"), content_type);
    if (status == 401)
        tv_response_header(req, TV_LIT("WWW-Authenticate"), TV_LIT("Bearer"));
    tv_response_send(req);
}

void tv_admin_respond(tv_request *req, int status)
{
    respond(req, status, status / 100 == 2 ? json_type : text_type);
}

void tv_admin_respond_bytes(tv_request *req)
{
    respond(req, 200, TV_LIT("application/octet-stream"));
}

void tv_admin_respond_text(tv_request *req)
{
    respond(req, 200, text_type);
}

void tv_admin_respond_as(tv_request *req, int status, bool is_json)
{
    respond(req, status, is_json ? json_type : text_type);
}

static void add_engine_metric(void *ctx, const char *name, const char *help, double value)
{
    tv_metric_add(ctx, name, help, value);
}

static void add_engine_histogram(void *ctx, const char *name, const char *help,
                                 const uint64_t *slots, int slot_count, double sum)
{
    tv_metric_open_histogram(ctx, name, help);
    tv_metric_add_histogram(ctx, name, "", slots, slot_count, 1, sum);
}

static double resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL)
        return 0;
    if (fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void add_pipeline(tv_pipeline *pipeline, tv_buf *out)
{
    tv_pipeline_metrics metrics;

    tv_pipeline_read_metrics(pipeline, &metrics);
    tv_metric_add(out, "commit_groups_total", "Groups of writes made durable.", metrics.groups);
    tv_metric_add(out, "commit_writes_total", "Writes that went through the commit pipeline.",
                  metrics.writes);
    tv_metric_add(out, "commit_retries_total", "Groups that were run again after a conflict.",
                  metrics.retries);
    tv_metric_add(out, "commit_failed_groups_total", "Groups that the engine could not write.",
                  metrics.failed_groups);
    tv_metric_add(out, "commit_moved_total",
                  "Writes that were tried again because ranges have changed.", metrics.moved);
    tv_metric_add(out, "commit_timed_out_total",
                  "Writes that have waited too long and were not run.", metrics.timed_out);
    tv_metric_add(out, "commit_queue", "Writes waiting or under way.", (double)metrics.queued);
    tv_metric_add(out, "commit_lanes", "Ranges of the storage that were written to lately.",
                  (double)metrics.lanes);
    tv_metric_open_histogram(out, "commit_group_size", "Writes per group.");
    tv_metric_add_histogram(out, "commit_group_size", "", metrics.group_size_slots,
                            TV_PIPELINE_SLOTS, 1, (double)metrics.writes);
    tv_metric_open_histogram(out, "commit_seconds",
                             "Time to make a group durable, fsync included.");
    tv_metric_add_histogram(out, "commit_seconds", "", metrics.commit_us_slots, TV_PIPELINE_SLOTS,
                            1e-6, (double)metrics.commit_us_sum * 1e-6);
    tv_metric_open_histogram(
        out, "commit_function_seconds",
        "Time that one write holds the committer before its group is made durable.");
    tv_metric_add_histogram(out, "commit_function_seconds", "", metrics.function_us_slots,
                            TV_PIPELINE_SLOTS, 1e-6, (double)metrics.function_us_sum * 1e-6);
    tv_metric_add(out, "commit_function_max_seconds", "The longest of these since the start.",
                  (double)metrics.function_us_max * 1e-6);
}

static void add_budget(const tv_budget *budget, tv_buf *out)
{
    tv_budget_metrics metrics = tv_budget_read(budget);

    tv_metric_add(out, "memory_budget_bytes", "What requests may hold together (--memory-mb).",
                  (double)metrics.size);
    tv_metric_add(out, "memory_held_bytes",
                  "What they hold: bodies, answers, buffers, writes that wait.",
                  (double)metrics.held);
    tv_metric_add(out, "memory_refused_total", "Times that memory was refused to a request.",
                  metrics.refused);
}

static void add_scanners(tv_turns *scanners, tv_buf *out)
{
    tv_turns_counts counts = tv_turns_read_counts(scanners);

    tv_metric_add(out, "scans_waiting", "Queries and lists that wait for their next turn.",
                  (double)counts.waiting);
    tv_metric_add(out, "scans_running", "Queries and lists that have their turn.",
                  (double)counts.running);
    tv_metric_add(out, "scan_turns_total", "Turns that queries and lists have had.", counts.turns);
    tv_metric_add(out, "scans_cancelled_total",
                  "Queries and lists that were ended because their client had gone.",
                  counts.cancelled);
    tv_metric_add(out, "scans_refused_total",
                  "Queries and lists that were refused because their account had too many.",
                  counts.refused);
}

static void add_sources(tv_admin *admin, tv_buf *out, bool with_names)
{
    tv_meter *meters[TV_ADMIN_SOURCES_MAX];
    size_t count = 0, meter_count = 0;

    for (; count < TV_ADMIN_SOURCES_MAX && admin->sources[count].write; count++) {
        if (admin->sources[count].meter)
            meters[meter_count++] = admin->sources[count].meter;
    }
    tv_meter_write(meters, meter_count, out);
    for (size_t i = 0; i < count; i++) {
        admin->sources[i].write(admin->sources[i].ctx, out);
        if (with_names && admin->sources[i].write_names)
            admin->sources[i].write_names(admin->sources[i].ctx, out);
    }
}

void tv_admin_add_metrics(tv_admin *admin, tv_buf *out, bool with_names)
{
    tv_metric_open(out, "info", "The version of the server.");
    tv_metric_add_of(out, "info", "version", TV_VERSION, 1);
    tv_metric_add(out, "uptime_seconds", "Time since the server started.",
                  (double)(tv_clock_mono_ns() - admin->start_ns) * 1e-9);
    tv_metric_add(out, "clock_behind_seconds",
                  "How far the wall clock is behind the time of the store, after it was set back.",
                  (double)tv_clock_lead_ticks() / (double)TV_TICKS_PER_SECOND);
    tv_metric_add(out, "resident_bytes", "Resident memory of the process.", resident_bytes());
    add_budget(admin->budget, out);
    add_sources(admin, out, with_names);
    add_pipeline(admin->pipeline, out);
    add_scanners(admin->scanners, out);
    admin->engine->ops->metrics(admin->engine, add_engine_metric, out);
    if (admin->engine->ops->histograms)
        admin->engine->ops->histograms(admin->engine, add_engine_histogram, out);
    if (admin->balancer)
        tv_balancer_write_metrics(admin->balancer, out);
}

/* Whether who asks may see names and keys of accounts, and not only numbers. */
static bool is_owner(tv_admin *admin, const tv_request *req)
{
    const char *why;

    return tv_admin_guard_check(&(tv_admin_guard){admin->name, &admin->token, admin->sessions}, req,
                                &why) == 0;
}

static void metrics(tv_admin *admin, tv_request *req)
{
    tv_admin_add_metrics(admin, &req->out, is_owner(admin, req));
    respond(req, 200, metrics_type);
}

/* Old health checks send no Host at all; browsers always do. */
static bool is_own_host(const tv_admin *admin, tv_slice host)
{
    tv_slice name = tv_slice_take(host, tv_slice_find(host, ':'));

    return host.len == 0 || tv_host_is_local(host) || tv_slice_find(name, '.') == name.len ||
           (admin->name && tv_slice_eq_nocase(name, tv_slice_of(admin->name)));
}

int tv_admin_refuse(tv_request *req, int status, const char *why)
{
    tv_buf_printf(&req->out, "%s\n", why);
    return status;
}

bool tv_admin_parameter(tv_request *req, const char *name, tv_slice otherwise, tv_slice *ret_value)
{
    if (!tv_parameters_get(&req->query, &req->arena, tv_slice_of(name), ret_value))
        return false;
    if (ret_value->data == NULL)
        *ret_value = otherwise;
    return true;
}

tv_container *tv_admin_find_table(tv_admin *admin, tv_request *req, tv_slice *ret_account,
                                  tv_slice *ret_name)
{
    if (!tv_admin_parameter(req, "account", TV_LIT("devstoreaccount1"), ret_account) ||
        !tv_admin_parameter(req, "table", TV_LIT(""), ret_name))
        return NULL;
    return tv_catalog_find(admin->tables, *ret_account, *ret_name);
}

int tv_admin_run_later(tv_admin *admin, tv_request *req, tv_task *task,
                       bool (*run)(tv_task *task, tv_turn *turn), void (*deliver)(tv_mail *mail))
{
    *task = (tv_task){.mail.deliver = deliver,
                      .run = run,
                      .reply_to = tv_loop_mailbox(req->loop),
                      .account = TV_LIT(""),
                      .is_gone = &req->is_gone};
    if (!tv_turns_submit(admin->scanners, task))
        return tv_admin_refuse(req, 503, "too many queries wait already");
    return 0;
}

bool tv_admin_accepts(const tv_request *req, tv_slice type)
{
    tv_slice rest = tv_request_header(req, TV_LIT("Accept")), part;

    while (rest.len && tv_slice_next(&rest, ',', &part)) {
        if (tv_slice_eq(tv_slice_trim(tv_slice_take(part, tv_slice_find(part, ';'))), type))
            return true;
    }
    return false;
}

/* Whether a browser asks for a page; others get the list of what there is here. */
static bool wants_page(const tv_request *req)
{
    return tv_admin_accepts(req, TV_LIT("text/html"));
}

/* Explorer and what it asks for.  Its requests, and no others, have a `user`. */
static bool is_page(const tv_admin *admin, const tv_request *req)
{
    return admin->pages && ((tv_slice_eq(req->path, TV_LIT("/")) && wants_page(req)) ||
                            tv_slice_starts_with(req->path, TV_LIT("/app/")) ||
                            tv_slice_starts_with(req->path, TV_LIT("/api/")));
}

/* The last backup, or the one that runs; without a path, because anybody may read it. */
static void write_backup(tv_admin *admin, tv_buf *out)
{
    static const char *const states[] = {
        [TV_BACKUP_NONE] = "none",
        [TV_BACKUP_RUNNING] = "running",
        [TV_BACKUP_DONE] = "done",
        [TV_BACKUP_FAILED] = "failed",
    };
    tv_backup_status backup = tv_backup_read(admin->backup);

    tv_buf_printf(
        out,
        "{\"id\":%llu,\"state\":\"%s\",\"files\":%llu,\"bytes\":%llu,\"written\":%llu,\"ms\":%lld",
        (unsigned long long)backup.id, states[backup.state], (unsigned long long)backup.files,
        (unsigned long long)backup.bytes, (unsigned long long)backup.written,
        (long long)backup.elapsed_ms);
    if (backup.state == TV_BACKUP_FAILED)
        tv_json_text(out, "error", tv_slice_of(backup.problem));
    tv_buf_add_lit(out, "}\n");
}

static int get_backup(tv_admin *admin, tv_request *req)
{
    write_backup(admin, &req->out);
    return 200;
}

/* What a backup is asked for with. */
typedef struct backup_request {
    char dir[TV_BACKUP_PATH_SIZE], base[TV_BACKUP_PATH_SIZE]; /* base "": none */
} backup_request;

/* {"dir": "/path/of/a/new/folder", "base": "/path/of/an/earlier/one"}, the base or not, and nothing
 * else; returns what is wrong with it, or NULL. */
static const char *read_backup_request(tv_request *req, backup_request *ret_request)
{
    tv_slice dir = TV_NONE, base = TV_NONE;
    const char *why = NULL;
    tv_json_reader reader;
    tv_json_member member;

    tv_json_reader_init(&reader, &req->arena, req->body);
    while (tv_json_next(&reader, &member)) {
        tv_slice *to = tv_slice_eq(member.name, TV_LIT("dir"))    ? &dir
                       : tv_slice_eq(member.name, TV_LIT("base")) ? &base
                                                                  : NULL;

        if (to == NULL || to->data || member.kind != TV_JSON_STRING)
            return "the body is {\"dir\": \"/path/of/a/new/folder\"}, and \"base\" if there is one";
        *to = member.text;
    }
    if (reader.failed || dir.data == NULL)
        return "the body is {\"dir\": \"/path/of/a/new/folder\"}, in JSON";
    if (!tv_backup_path_parse(dir, ret_request->dir, &why) ||
        (base.data && !tv_backup_path_parse(base, ret_request->base, &why)))
        return why;
    return NULL;
}

static int post_backup(tv_admin *admin, tv_request *req)
{
    backup_request request = {.base = ""};
    const char *why;

    if (admin->backup == NULL)
        return tv_admin_refuse(req, 501,
                               "a cluster keeps this server's data, which is not copied to a "
                               "folder: export it, or take a snapshot of the pool");
    why = read_backup_request(req, &request);
    if (why)
        return tv_admin_refuse(req, 400, why);
    if (!tv_backup_start(admin->backup, request.dir, request.base))
        return tv_admin_refuse(req, 409, "a backup is under way, or the server is about to stop");
    write_backup(admin, &req->out);
    return 202;
}

static bool is_of_cluster(const tv_admin *admin)
{
    return admin->balancer != NULL;
}

static int get_cluster(tv_admin *admin, tv_request *req)
{
    tv_balancer_write_status(admin->balancer, &req->out, is_owner(admin, req));
    return 200;
}

static int post_force(tv_admin *admin, tv_request *req)
{
    return tv_admin_force(admin->balancer, req);
}

static bool has_points(const tv_admin *admin)
{
    (void)admin;
    return tv_points_are_on;
}

static int post_point(tv_admin *admin, tv_request *req)
{
    (void)admin;
    return tv_admin_point(req);
}

static bool has_page(const tv_admin *admin)
{
    return admin->sessions != NULL;
}

/* Another way into the page, for whoever has the token. */
static int post_link(tv_admin *admin, tv_request *req)
{
    char word[TV_SESSION_WORD_CHARS + 1];

    tv_sessions_add_link(admin->sessions, tv_clock_ticks(), word);
    tv_buf_printf(&req->out, "{\"path\":\"/#/login/%s\"}\n", word);
    return 201;
}

/* Everything that answers in JSON; health and metrics are text and stand in on_request. */
static const tv_admin_route routes[] = {
    {"/advice", TV_METHOD_GET, true, tv_admin_get_advice, tv_admin_has_advice,
     "what the rules of the design guide find in the traffic of tables; needs the token"},
    {"/advice/marks", TV_METHOD_POST, true, tv_admin_post_mark, tv_admin_has_advice, NULL},
    {"/advice/ignore", TV_METHOD_POST, true, tv_admin_post_ignore, tv_admin_has_advice, NULL},
    {"/backup", TV_METHOD_GET, false, get_backup, NULL, "the last backup; POST begins one"},
    {"/backup", TV_METHOD_POST, true, post_backup, NULL, NULL},
    {"/bundle", TV_METHOD_GET, true, tv_admin_get_bundle, NULL,
     "versions, settings, health, metrics and the last lines of the log; needs the token"},
    {"/cluster", TV_METHOD_GET, false, get_cluster, is_of_cluster,
     "nodes, ranges and what was done to them, of a cluster; keys need the token"},
    {"/facts", TV_METHOD_GET, true, tv_admin_get_facts, tv_admin_has_facts,
     "how many entities a table has, and what they look like; needs the token"},
    {"/facts/recount", TV_METHOD_POST, true, tv_admin_post_recount, tv_admin_has_facts, NULL},
    {"/traffic", TV_METHOD_GET, true, tv_admin_get_traffic, tv_admin_has_traffic,
     "traffic by key of a table; needs the token"},
    {"/traffic/cell", TV_METHOD_GET, true, tv_admin_get_traffic_cell, tv_admin_has_traffic, NULL},
    {"/log", TV_METHOD_GET, true, tv_admin_get_log, NULL,
     "the last lines of the log; ?after=&level=&text=&lines=; needs the token"},
    {"/metrics/history", TV_METHOD_GET, false, tv_admin_get_history, tv_admin_has_history,
     "what the metrics of the charts were in the last hour; ?after=MS"},
    {"/requests", TV_METHOD_GET, true, tv_admin_get_requests, tv_admin_has_requests,
     "the requests of clients as they are answered; ?after=&count=; needs the token"},
    {"/proof", TV_METHOD_GET, false, tv_admin_get_proof, tv_admin_has_token,
     "?nonce=: that this server knows its token, before that is sent"},
    {"/token-file", TV_METHOD_GET, false, tv_admin_get_token_file, tv_admin_has_token, NULL},
    {"/link", TV_METHOD_POST, true, post_link, has_page, NULL},
    {"/shapes", TV_METHOD_GET, true, tv_admin_get_shapes, tv_admin_has_watch,
     "kinds of queries and what they cost, of the last hour; ?account=&table="},
    {"/clock", TV_METHOD_POST, true, tv_admin_post_clock, has_points, NULL},
    {"/cluster/force", TV_METHOD_POST, true, post_force, is_of_cluster, NULL},
    {"/cluster/point", TV_METHOD_POST, true, post_point, has_points, NULL},
};

enum { ROUTES = sizeof routes / sizeof routes[0] };

static const tv_admin_route *find_route(const tv_admin *admin, const tv_request *req)
{
    tv_method method = req->method == TV_METHOD_HEAD ? TV_METHOD_GET : req->method;

    for (size_t i = 0; i < ROUTES; i++) {
        if (routes[i].method == method && tv_slice_eq(req->path, tv_slice_of(routes[i].path)) &&
            (routes[i].is_served == NULL || routes[i].is_served(admin)))
            return &routes[i];
    }
    return NULL;
}

static void refuse(tv_request *req, int status, const char *why)
{
    respond(req, tv_admin_refuse(req, status, why), text_type);
}

/* What is refused here has none of its body read. */
static bool on_headers(void *ctx, tv_request *req)
{
    tv_admin *admin = ctx;
    const tv_admin_route *route;
    const char *why;
    int status;

    req->body_bytes_max = 0;
    if (!is_own_host(admin, req->host)) {
        refuse(req, 403, "this name is not served here; use an address, or --admin-name");
        return false;
    }
    if (is_page(admin, req))
        return admin->pages->on_headers(admin->pages->ctx, req);
    req->out.may_be_lost = true;
    if (req->method != TV_METHOD_GET && req->method != TV_METHOD_HEAD &&
        req->method != TV_METHOD_POST) {
        refuse(req, 405, "only GET and POST are served here");
        return false;
    }
    route = find_route(admin, req);
    if (req->method != TV_METHOD_POST && (route == NULL || !route->is_guarded))
        return true;

    status = tv_admin_guard_check(&(tv_admin_guard){admin->name, &admin->token, admin->sessions},
                                  req, &why);
    if (status) {
        refuse(req, status, why);
        return false;
    }
    if (req->method == TV_METHOD_POST)
        req->body_bytes_max = BODY_BYTES_MAX;
    return true;
}

static void list_routes(const tv_admin *admin, tv_request *req)
{
    tv_buf_add_lit(&req->out,
                   "Tavola " TV_VERSION "\n\n/healthz  200 when all is well: for alerts\n"
                   "/ready    200 when it can serve clients: for load balancers\n"
                   "/metrics  Prometheus text; names of tables need the token\n");
    for (size_t i = 0; i < ROUTES; i++) {
        if (routes[i].help)
            tv_buf_printf(&req->out, "%-8s  %s\n", routes[i].path, routes[i].help);
    }
    respond(req, 200, text_type);
}

static void on_request(void *ctx, tv_request *req)
{
    const tv_http_handler *pages = ((tv_admin *)ctx)->pages;

    if (req->user) {
        pages->on_request(pages->ctx, req);
        return;
    }

    const tv_admin_route *route = find_route(ctx, req);

    if (route) {
        int status = route->run(ctx, req);

        if (status)
            tv_admin_respond(req, status);
    } else if (req->method == TV_METHOD_POST) {
        refuse(req, 404,
               "not here; what can be changed is /backup, and of a cluster /cluster/force");
    } else if (tv_slice_eq(req->path, TV_LIT("/healthz"))) {
        tv_admin_get_health(ctx, req);
    } else if (tv_slice_eq(req->path, TV_LIT("/ready"))) {
        tv_admin_get_ready(ctx, req);
    } else if (tv_slice_eq(req->path, TV_LIT("/metrics"))) {
        metrics(ctx, req);
    } else if (tv_slice_eq(req->path, TV_LIT("/"))) {
        list_routes(ctx, req);
    } else {
        refuse(req, 404, "not here; try /healthz, /ready or /metrics");
    }
}

static void on_refused(void *ctx, tv_request *req, tv_err err)
{
    const tv_http_handler *pages = ((tv_admin *)ctx)->pages;

    if (req->user) {
        pages->on_refused(pages->ctx, req, err);
        return;
    }
    tv_buf_printf(&req->out, "%.*s\n", TV_FMT(tv_err_text(err)));
    respond(req, tv_err_status(err), text_type);
}

static void on_done(void *ctx, tv_request *req)
{
    const tv_http_handler *pages = ((tv_admin *)ctx)->pages;

    if (req->user)
        pages->on_done(pages->ctx, req);
}

tv_http_handler tv_admin_handler(tv_admin *admin)
{
    return (tv_http_handler){
        .name = "admin",
        .ctx = admin,
        .on_headers = on_headers,
        .on_request = on_request,
        .on_refused = on_refused,
        .on_done = on_done,
    };
}
