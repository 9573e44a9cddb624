/*
 * Records come in through an inbox; one thread takes them out, keeps a site for each service
 * of an account, and writes.  A second thread (sweep.c) deletes what is old.
 */
#include "server/analytics/analytics.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "server/analytics/inbox.h"
#include "server/analytics/site.h"
#include "server/analytics/sweep.h"

enum {
    FLUSH_MS = 60 * 1000,
    LOOK_MS = 200,  /* at the mailbox, and at the settings */
    IDLE_MS = 1000, /* likewise, before any account has switched anything on */
};

struct tv_analytics {
    tv_background thread;
    tv_analytics_inbox inbox;
    tv_service *services[3]; /* by tv_service_kind */
    int flush_ms;
    tv_analytics_stats stats;
    tv_analytics_sweep *sweep;
    /* For the thread alone. */
    tv_analytics_store store;
    tv_analytics_site *sites;
};

/* --- on network threads --- */

static void hurry(void *ctx)
{
    tv_background *thread = &((tv_analytics *)ctx)->thread;

    tv_background_lock(thread);
    tv_background_wake(thread);
    tv_background_unlock(thread);
}

static void post(tv_analytics *analytics, tv_analytics_record *record)
{
    atomic_fetch_add_explicit(&analytics->stats.records, 1, memory_order_relaxed);
    if (!tv_analytics_inbox_post(&analytics->inbox, record))
        atomic_fetch_add(&analytics->stats.dropped_records, 1);
}

/* A preflight is answered before its account is looked for. */
static tv_slice account_of(tv_call *call)
{
    tv_request *req = call->req;

    if (call->endpoint.account.len == 0 &&
        tv_endpoint_parse(&req->arena, tv_service_kind_name(call->service->spec->kind), req->is_tls,
                          req->host, req->path, &call->endpoint))
        return TV_NONE;
    return call->endpoint.account;
}

static void record_call(void *ctx, tv_call *call, int64_t end_ns)
{
    tv_analytics *analytics = ctx;
    tv_analytics_record *record = NULL;
    tv_shared_settings *settings = NULL;

    if (account_of(call).len)
        settings = tv_catalog_settings(call->service->catalog, call->endpoint.account);
    if (settings && tv_settings_has_analytics(&settings->settings))
        record = tv_analytics_record_new(call, &settings->settings, end_ns);
    tv_shared_settings_unref(settings);
    if (record)
        post(analytics, record);
}

/* --- sites --- */

static tv_analytics_site *find_site(tv_analytics *analytics, tv_service_kind service,
                                    tv_slice account, bool is_secondary)
{
    const tv_service_spec *spec = analytics->services[service]->spec;

    for (tv_analytics_site *site = analytics->sites; site; site = site->next) {
        if (site->spec == spec && site->is_secondary == is_secondary &&
            tv_slice_eq(tv_analytics_site_account(site), account))
            return site;
    }
    return NULL;
}

static tv_analytics_site *site_of(tv_analytics *analytics, tv_service_kind service,
                                  tv_slice account, bool is_secondary)
{
    tv_analytics_site *site = find_site(analytics, service, account, is_secondary);

    if (site == NULL) {
        site = tv_analytics_site_new(analytics->services[service]->spec, account, is_secondary);
        site->flushed_ns = tv_clock_mono_ns();
        site->next = analytics->sites;
        analytics->sites = site;
    }
    return site;
}

static void count_own(void *ctx, tv_slice account, tv_service_kind service,
                      const tv_analytics_request *request)
{
    tv_analytics_site *site = find_site(ctx, service, account, false);

    if (site)
        tv_analytics_site_count_own(site, request);
}

static tv_analytics_site_ctx site_ctx(tv_analytics *analytics)
{
    return (tv_analytics_site_ctx){
        .store = &analytics->store, .stats = &analytics->stats, .own = count_own, .ctx = analytics};
}

/* --- the thread --- */

static void take_record(void *ctx, const tv_analytics_record *record)
{
    tv_analytics *analytics = ctx;
    tv_analytics_site_ctx site = site_ctx(analytics);

    tv_analytics_site_take(
        site_of(analytics, record->service, record->account, record->is_secondary), &site, record);
}

static void take_records(tv_analytics *analytics)
{
    tv_analytics_inbox_take(&analytics->inbox, take_record, analytics);
}

/* What accounts have switched on, since the last look. */
typedef struct look {
    tv_analytics *analytics;
    tv_service_kind service;
} look;

static void see_settings(void *ctx, tv_slice account, tv_shared_settings *settings)
{
    look *l = ctx;
    tv_analytics_switches switches = tv_analytics_switches_of(&settings->settings);

    if (switches.has_log || switches.has_hours || switches.has_minutes ||
        find_site(l->analytics, l->service, account, false))
        site_of(l->analytics, l->service, account, false)->switches = switches;
}

static void look_at_settings(tv_analytics *analytics)
{
    for (int i = TV_SERVICE_TABLE; i <= TV_SERVICE_BLOB; i++) {
        tv_catalog *catalog = analytics->services[i]->catalog;

        if (tv_catalog_has_analytics(catalog))
            tv_catalog_visit_settings(catalog, see_settings,
                                      &(look){analytics, (tv_service_kind)i});
    }
}

static void tick(tv_analytics *analytics)
{
    tv_analytics_site_ctx ctx = site_ctx(analytics);
    int64_t now_ns = tv_clock_mono_ns();

    for (tv_analytics_site *site = analytics->sites; site; site = site->next) {
        bool is_time = now_ns - site->flushed_ns >= (int64_t)analytics->flush_ms * 1000000;

        if (is_time)
            site->flushed_ns = now_ns;
        tv_analytics_site_tick(site, &ctx, tv_clock_ticks(), is_time);
    }
}

static bool is_on(const tv_analytics *analytics)
{
    for (int i = TV_SERVICE_TABLE; i <= TV_SERVICE_BLOB; i++) {
        if (tv_catalog_has_analytics(analytics->services[i]->catalog))
            return true;
    }
    return false;
}

static bool wait_a_little(tv_analytics *analytics)
{
    tv_background *thread = &analytics->thread;
    int ms = is_on(analytics) ? LOOK_MS : IDLE_MS;
    int64_t until = tv_clock_mono_ns() + (int64_t)ms * 1000000;

    tv_background_lock(thread);
    tv_background_wait(thread, until);
    tv_background_unlock(thread);
    return !tv_background_is_stopping(thread);
}

static void run(tv_background *thread, void *ctx)
{
    tv_analytics *analytics = ctx;

    (void)thread;
    while (wait_a_little(analytics)) {
        take_records(analytics);
        look_at_settings(analytics);
        tick(analytics);
    }
}

/* --- start and end --- */

tv_analytics *tv_analytics_new(const tv_analytics_options *options)
{
    tv_analytics *analytics = tv_calloc(1, sizeof *analytics);

    analytics->flush_ms = options->flush_ms ? options->flush_ms : FLUSH_MS;
    analytics->services[TV_SERVICE_TABLE] = &options->tables->base;
    analytics->services[TV_SERVICE_QUEUE] = options->queues;
    analytics->services[TV_SERVICE_BLOB] = &options->blobs->base;
    tv_analytics_inbox_init(&analytics->inbox, hurry, analytics);
    tv_analytics_store_init(&analytics->store, options->pipeline, options->tables, options->blobs);
    analytics->sweep = tv_analytics_sweep_new(options);
    tv_background_start(&analytics->thread, &(tv_background_options){.name = "tv-analytics",
                                                                     .gives_way = true,
                                                                     .run = run,
                                                                     .ctx = analytics});
    for (int i = TV_SERVICE_TABLE; i <= TV_SERVICE_BLOB; i++) {
        analytics->services[i]->record_ctx = analytics;
        analytics->services[i]->record = record_call;
    }
    return analytics;
}

void tv_analytics_free(tv_analytics *analytics)
{
    if (analytics == NULL)
        return;

    tv_background_done(&analytics->thread);
    tv_analytics_sweep_free(analytics->sweep);

    tv_analytics_site_ctx ctx = site_ctx(analytics);

    take_records(analytics);
    for (tv_analytics_site *site = analytics->sites; site; site = site->next)
        tv_analytics_site_flush(site, &ctx);
    while (analytics->sites) {
        tv_analytics_site *site = analytics->sites;

        analytics->sites = site->next;
        tv_analytics_site_free(site);
    }
    tv_analytics_store_done(&analytics->store);
    tv_analytics_inbox_done(&analytics->inbox);
    free(analytics);
}

/* --- metrics --- */

void tv_analytics_write_metrics(void *ctx, tv_buf *out)
{
    tv_analytics *analytics = ctx;
    tv_analytics_stats *stats = &analytics->stats;

    tv_metric_add(out, "analytics_records_total", "Requests handed to Storage Analytics.",
                  (double)atomic_load(&stats->records));
    tv_metric_add(out, "analytics_dropped_records_total",
                  "Of these, dropped because too many waited.",
                  (double)atomic_load(&stats->dropped_records));
    tv_metric_add(out, "analytics_lines_total", "Lines of logs.",
                  (double)atomic_load(&stats->lines));
    tv_metric_add(out, "analytics_dropped_lines_total",
                  "Lines dropped because those before could not be written.",
                  (double)atomic_load(&stats->dropped_lines));
    tv_metric_add(out, "analytics_blobs_total", "Log blobs written.",
                  (double)atomic_load(&stats->blobs));
    tv_metric_add(out, "analytics_rows_total", "Rows of metrics written.",
                  (double)atomic_load(&stats->rows));
    tv_metric_add(out, "analytics_failed_writes_total", "Writes that failed; they are tried again.",
                  (double)atomic_load(&stats->failed_writes));
}
