/* Retention and capacity. */
#include "server/analytics/sweep.h"

#include "base/background.h"
#include "base/log.h"
#include "server/analytics/names.h"
#include "server/analytics/store.h"
#include "services/blob/store/list.h"
#include "services/service/analytics_names.h"

enum {
    START_MS = 1000,
    SWEEP_MS = 60 * 60 * 1000,
    CAPACITY_MS = 60 * 1000, /* a look whether the day has its rows */
    NAMES_MAX = 1000,        /* of old blobs at a time */
};

struct tv_analytics_sweep {
    tv_background thread;
    tv_analytics_store store;
    tv_service *services[3]; /* by tv_service_kind */
    const tv_lead *lead;
    int sweep_ms, capacity_ms;
};

/* --- the accounts --- */

typedef struct account {
    struct account *next;
    tv_slice name;
    tv_service_settings settings; /* only what is no text is looked at */
} account;

typedef struct gathering {
    tv_arena *arena;
    account *first;
} gathering;

static void gather(void *ctx, tv_slice name, tv_shared_settings *settings)
{
    gathering *g = ctx;
    account *a = tv_arena_alloc(g->arena, sizeof *a);

    *a = (account){
        .next = g->first, .name = tv_arena_dup(g->arena, name), .settings = settings->settings};
    g->first = a;
}

/* In the arena. */
static account *accounts_of(tv_service *service, tv_arena *arena)
{
    gathering g = {.arena = arena};

    if (tv_catalog_has_analytics(service->catalog))
        tv_catalog_visit_settings(service->catalog, gather, &g);
    return g.first;
}

static void warn(tv_slice account_name, const char *what, tv_err err)
{
    tv_log(TV_LOG_WARN, "analytics", "account=%.*s what=%s error=%s", TV_FMT(account_name), what,
           tv_err_name(err));
}

/* --- retention of logs --- */

/* Names of blobs whose hour was over before `end`; they are listed in the order of time. */
static tv_err find_old_blobs(tv_analytics_sweep *sweep, tv_container *logs, tv_service_kind service,
                             int64_t end, tv_arena *arena, tv_slice *names, size_t *ret_count)
{
    tv_blob_list_query query = {
        .container = logs->prefix,
        .prefix = tv_arena_printf(arena, "%.*s/", TV_FMT(tv_service_kind_name(service)))};
    bool is_done = false;
    tv_blob_list *list;
    tv_blob_entry entry;
    tv_err err;

    *ret_count = 0;
    err = tv_blob_list_open(sweep->store.engine, &query, &list);
    if (err)
        return err;

    do {
        while (!is_done && tv_blob_list_next(list, &entry)) {
            int64_t hour;

            if (!tv_analytics_blob_hour(entry.name, service, &hour))
                continue;
            is_done = hour + TV_ANALYTICS_HOUR_TICKS > end;
            if (!is_done)
                names[(*ret_count)++] = tv_arena_dup(arena, entry.name);
            is_done = is_done || *ret_count == NAMES_MAX;
        }
        err = tv_blob_list_status(list);
    } while (err == TV_OK && !is_done && tv_blob_list_has_more(list));
    tv_blob_list_close(list);
    return err;
}

/* Whether all of them are gone. */
static tv_err delete_some_blobs(tv_analytics_sweep *sweep, tv_container *logs,
                                tv_service_kind service, int64_t end, bool *ret_is_done)
{
    tv_slice *names;
    size_t count = 0;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    names = tv_arena_alloc(&arena, NAMES_MAX * sizeof *names);
    err = find_old_blobs(sweep, logs, service, end, &arena, names, &count);
    for (size_t i = 0; err == TV_OK && i < count && !tv_background_is_stopping(&sweep->thread); i++)
        err = tv_analytics_store_delete(&sweep->store, logs, names[i]);
    tv_arena_done(&arena);
    *ret_is_done = count < NAMES_MAX;
    return err;
}

static tv_err delete_old_blobs(tv_analytics_sweep *sweep, tv_service_kind service, const account *a,
                               int64_t end)
{
    tv_container *logs;
    bool is_done = false;
    tv_err err =
        tv_analytics_store_find(&sweep->store, TV_SERVICE_BLOB, a->name, TV_ANALYTICS_LOGS, &logs);

    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_OK : err;

    while (err == TV_OK && !is_done && !tv_background_is_stopping(&sweep->thread))
        err = delete_some_blobs(sweep, logs, service, end, &is_done);
    tv_container_unref(logs);
    return err;
}

/* --- retention of rows --- */

static tv_err delete_old_rows(tv_analytics_sweep *sweep, const account *a, tv_slice name,
                              int64_t end)
{
    char partition[TV_ANALYTICS_NAME_SIZE];
    tv_slice before = tv_analytics_partition(partition, end);
    tv_container *table;
    bool is_done = false;
    tv_err err = tv_analytics_store_find(&sweep->store, TV_SERVICE_TABLE, a->name, name, &table);

    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_OK : err;

    while (err == TV_OK && !is_done && !tv_background_is_stopping(&sweep->thread))
        err = tv_analytics_store_delete_before(&sweep->store, table, before, &is_done);
    tv_container_unref(table);
    return err;
}

static tv_err delete_old_metrics(tv_analytics_sweep *sweep, tv_service_kind service,
                                 const account *a, tv_analytics_span span,
                                 const tv_metrics_settings *metrics, int64_t now)
{
    int64_t end = now - metrics->retention.days * TV_ANALYTICS_DAY_TICKS;
    tv_err err = TV_OK;

    if (!metrics->retention.is_enabled)
        return TV_OK;
    for (int secondary = 0; err == TV_OK && secondary <= 1; secondary++)
        err = delete_old_rows(sweep, a, tv_analytics_metrics_name(span, secondary, service), end);
    if (err == TV_OK && service == TV_SERVICE_BLOB && span == TV_ANALYTICS_HOUR)
        err = delete_old_rows(sweep, a, TV_ANALYTICS_CAPACITY, end);
    return err;
}

static tv_err sweep_account(tv_analytics_sweep *sweep, tv_service_kind service, const account *a,
                            int64_t now)
{
    const tv_retention *logs = &a->settings.logging.retention;
    tv_err err = TV_OK;

    if (logs->is_enabled)
        err = delete_old_blobs(sweep, service, a, now - logs->days * TV_ANALYTICS_DAY_TICKS);
    if (err == TV_OK)
        err = delete_old_metrics(sweep, service, a, TV_ANALYTICS_HOUR, &a->settings.hour_metrics,
                                 now);
    if (err == TV_OK)
        err = delete_old_metrics(sweep, service, a, TV_ANALYTICS_MINUTE,
                                 &a->settings.minute_metrics, now);
    return err;
}

static void sweep_all(tv_analytics_sweep *sweep)
{
    tv_arena arena;

    tv_arena_init(&arena);
    for (int i = TV_SERVICE_TABLE; i <= TV_SERVICE_BLOB; i++) {
        for (account *a = accounts_of(sweep->services[i], &arena); a; a = a->next) {
            tv_err err = sweep_account(sweep, (tv_service_kind)i, a, tv_clock_ticks());

            if (err)
                warn(a->name, "retention", err);
        }
    }
    tv_arena_done(&arena);
}

/* --- capacity --- */

typedef struct capacity {
    int64_t bytes, containers, objects;
} capacity;

/* Snapshots share the data of their blob until that gets another content. */
static tv_err measure_container(tv_analytics_sweep *sweep, const tv_container *container,
                                capacity *measured)
{
    tv_blob_list_query query = {
        .container = container->prefix, .with_snapshots = true, .with_uncommitted = true};
    uint64_t last_content = 0;
    tv_blob_list *list;
    tv_blob_entry entry;
    tv_err err;

    err = tv_blob_list_open(sweep->store.engine, &query, &list);
    if (err)
        return err;

    measured->containers++;
    do {
        while (!tv_background_is_stopping(&sweep->thread) && tv_blob_list_next(list, &entry)) {
            bool is_blob = entry.kind == TV_BLOB_ENTRY_BLOB;

            if (!is_blob || entry.head.snapshot == 0)
                measured->objects++;
            if (is_blob && (entry.head.content_id != last_content || last_content == 0))
                measured->bytes += (int64_t)entry.head.length;
            last_content = is_blob && entry.head.snapshot ? entry.head.content_id : 0;
        }
        err =
            tv_background_is_stopping(&sweep->thread) ? TV_ERR_STOPPED : tv_blob_list_status(list);
    } while (err == TV_OK && tv_blob_list_has_more(list));
    tv_blob_list_close(list);
    return err;
}

static tv_err measure_account(tv_analytics_sweep *sweep, tv_slice name, capacity measured[2])
{
    size_t count;
    tv_container **containers = tv_catalog_all(sweep->store.containers, &count);
    tv_err err = TV_OK;

    for (size_t i = 0; i < count; i++) {
        bool is_logs = tv_slice_eq(containers[i]->name, TV_ANALYTICS_LOGS);

        if (err == TV_OK && tv_slice_eq(containers[i]->account, name))
            err = measure_container(sweep, containers[i], &measured[is_logs]);
        tv_container_unref(containers[i]);
    }
    free(containers);
    return err;
}

static tv_err write_capacity(tv_analytics_sweep *sweep, tv_container *table, tv_slice day,
                             tv_slice row_key, const capacity *measured)
{
    tv_property list[] = {
        {.name = TV_LIT("Capacity"), .type = TV_EDM_INT64, .int64 = measured->bytes},
        {.name = TV_LIT("ContainerCount"), .type = TV_EDM_INT64, .int64 = measured->containers},
        {.name = TV_LIT("ObjectCount"), .type = TV_EDM_INT64, .int64 = measured->objects},
    };

    return tv_analytics_store_set(&sweep->store, table, day, row_key,
                                  &(tv_entity_properties){list, 3});
}

/* "data" comes last, and says that the day has both. */
static tv_err measure_into(tv_analytics_sweep *sweep, tv_container *table, const account *a,
                           tv_slice day)
{
    capacity measured[2] = {{0}};
    bool has = false;
    tv_err err = tv_analytics_store_has(&sweep->store, table, day, TV_LIT("data"), &has);

    if (err || has)
        return err;

    err = measure_account(sweep, a->name, measured);
    if (err == TV_OK)
        err = write_capacity(sweep, table, day, TV_LIT("analytics"), &measured[true]);
    if (err == TV_OK)
        err = write_capacity(sweep, table, day, TV_LIT("data"), &measured[false]);
    return err;
}

static void measure_all(tv_analytics_sweep *sweep)
{
    char text[TV_ANALYTICS_NAME_SIZE];
    tv_slice day =
        tv_analytics_partition(text, tv_analytics_floor(tv_clock_ticks(), TV_ANALYTICS_DAY_TICKS));
    tv_arena arena;

    tv_arena_init(&arena);
    for (account *a = accounts_of(sweep->services[TV_SERVICE_BLOB], &arena); a; a = a->next) {
        tv_container *table;
        tv_err err;

        if (!a->settings.hour_metrics.is_enabled)
            continue;
        err = tv_analytics_store_make(&sweep->store, TV_SERVICE_TABLE, a->name,
                                      TV_ANALYTICS_CAPACITY, &table);
        if (err == TV_OK) {
            err = measure_into(sweep, table, a, day);
            tv_container_unref(table);
        }
        if (err && err != TV_ERR_STOPPED)
            warn(a->name, "capacity", err);
    }
    tv_arena_done(&arena);
}

/* --- the thread --- */

static void run(tv_background *thread, void *ctx)
{
    tv_analytics_sweep *sweep = ctx;
    int64_t swept_ns = INT64_MIN / 2;
    int wait_ms = sweep->capacity_ms < START_MS ? sweep->capacity_ms : START_MS;

    while (tv_background_sleep(thread, wait_ms)) {
        wait_ms = sweep->capacity_ms;
        if (!tv_lead_is_here(sweep->lead))
            continue;
        if (tv_clock_mono_ns() - swept_ns >= (int64_t)sweep->sweep_ms * 1000000) {
            swept_ns = tv_clock_mono_ns();
            sweep_all(sweep);
        }
        measure_all(sweep);
    }
}

tv_analytics_sweep *tv_analytics_sweep_new(const tv_analytics_options *options)
{
    tv_analytics_sweep *sweep = tv_calloc(1, sizeof *sweep);

    sweep->lead = options->lead;
    sweep->sweep_ms = options->flush_ms ? options->flush_ms : SWEEP_MS;
    sweep->capacity_ms = options->flush_ms ? options->flush_ms : CAPACITY_MS;
    sweep->services[TV_SERVICE_TABLE] = &options->tables->base;
    sweep->services[TV_SERVICE_QUEUE] = options->queues;
    sweep->services[TV_SERVICE_BLOB] = &options->blobs->base;
    tv_analytics_store_init(&sweep->store, options->pipeline, options->tables, options->blobs);
    tv_background_start(&sweep->thread, &(tv_background_options){.name = "tv-analytics-gc",
                                                                 .gives_way = true,
                                                                 .run = run,
                                                                 .ctx = sweep});
    return sweep;
}

void tv_analytics_sweep_free(tv_analytics_sweep *sweep)
{
    if (sweep == NULL)
        return;

    tv_background_done(&sweep->thread);
    tv_analytics_store_done(&sweep->store);
    free(sweep);
}
