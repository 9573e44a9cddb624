/*
 * The pipeline, the threads that read, the catalogues and the three services on them, and the
 * admin port's view of all that.
 */
#include "base/clock.h"
#include "insight/watch/watch.h"
#include "server/main/parts.h"
#include "store/engine/rados/rados.h"

enum {
    COMMIT_QUEUE_MAX = 16 * 1024,
    READERS = 2,
    READ_QUEUE_MAX = 16 * 1024,
    SCANNERS = 4,
    /* Threads that wait for shared storage, not for the machine's own disk: many at once. */
    SHARED_COMMITTERS = 32,
    SHARED_READERS = 32,
    SHARED_SCANNERS = 16,
    SHARED_BLOB_WORKERS = 32,
    SCANS_MAX = 1024,
    QUEUE_GC_MS = 5000,
    BLOB_GC_SCAN_SECONDS = 3600, /* it looks at every blob, for blocks that are a week old */
};

static bool open_catalog(tv_server *server, const tv_catalog_kind *kind, tv_catalog **ret_catalog,
                         char *reterr_text, size_t reterr_size)
{
    tv_err err = tv_catalog_open(kind, server->engine, server->pipeline, ret_catalog);

    if (err == TV_OK && server->cluster)
        err = tv_cluster_add_catalog(server->cluster, *ret_catalog);
    if (err)
        snprintf(
            reterr_text, reterr_size, "cannot read the catalogue of the %.*s service in %s: %s",
            TV_FMT(tv_service_kind_name(kind->service)), server->config.data, tv_err_name(err));
    return err == TV_OK;
}

/* Whether this node does what one does for all; NULL where there is no other. */
static const tv_lead *lead_of(const tv_server *server)
{
    return server->cluster ? tv_cluster_lead(server->cluster) : NULL;
}

/* What the services have in common. */
static void fill_service(tv_server *server, const tv_service_spec *spec, tv_catalog *catalog,
                         tv_service *service)
{
    service->spec = spec;
    service->engine = server->engine;
    service->catalog = catalog;
    service->readers = server->readers;
    service->scanners = server->scanners;
    service->outboxes = server->outboxes;
    if (server->cluster)
        service->refuses_writes = tv_cluster_refuses_writes(server->cluster);
    service->auth.allow_dev_anywhere = server->config.allow_dev_account;
    service->is_https_only = server->config.https_only;
    service->has_access_log = server->config.access_log;
    service->recent = server->recent;
}

static void open_tables(tv_server *server)
{
    fill_service(server, &tv_table_spec, server->catalog, &server->table.base);
    server->table.facts = server->facts;
    server->table.query_time_max_ns = (int64_t)server->config.query_timeout_ms * 1000000;
    server->served[TV_SERVED_TABLE] =
        (tv_served){.title = "Tables",
                    .key = "TableEndpoint",
                    .flag = "--table-port",
                    .host = server->config.table_host,
                    .host_too = server->config.table_host_too,
                    .port = server->config.table_port,
                    .handler = tv_service_handler(&server->table.base)};
}

static void open_queues(tv_server *server)
{
    int gc_ms = server->config.test.queue_gc_ms ? server->config.test.queue_gc_ms : QUEUE_GC_MS;

    fill_service(server, &tv_queue_spec, server->queue_catalog, &server->queue);
    server->queue_gc =
        tv_queue_gc_new(server->queue_catalog, server->pipeline, gc_ms, lead_of(server));
    server->served[TV_SERVED_QUEUE] = (tv_served){.title = "Queues",
                                                  .key = "QueueEndpoint",
                                                  .flag = "--queue-port",
                                                  .host = server->config.queue_host,
                                                  .host_too = server->config.queue_host_too,
                                                  .port = server->config.queue_port,
                                                  .handler = tv_service_handler(&server->queue)};
}

static void open_blobs(tv_server *server)
{
    fill_service(server, &tv_blob_spec, server->blob_catalog, &server->blob.base);
    server->blob.extents = server->extents;
    tv_blob_io_init(&server->blob.io, server->extents, server->scanners,
                    server->engine->ops->is_shared ? SHARED_BLOB_WORKERS : TV_BLOB_WORKERS);
    server->blob.gc = tv_blob_gc_new(server->engine, server->pipeline, server->extents);
    server->blob_gc_scan = tv_blob_gc_scan_new(&(tv_blob_gc_scan_options){
        .engine = server->engine,
        .pipeline = server->pipeline,
        .catalog = server->blob_catalog,
        .extents = server->extents,
        .gc = server->blob.gc,
        .interval_s = BLOB_GC_SCAN_SECONDS,
        .lead = lead_of(server),
        .keeps_extents = server->config.drop_damaged_log,
        .no_sweep = server->config.no_sweep,
    });
    server->served[TV_SERVED_BLOB] = (tv_served){.title = "Blobs",
                                                 .key = "BlobEndpoint",
                                                 .flag = "--blob-port",
                                                 .host = server->config.blob_host,
                                                 .host_too = server->config.blob_host_too,
                                                 .port = server->config.blob_port,
                                                 .handler = tv_service_handler(&server->blob.base)};
}

/* A dead node may have left extents that no row refers to. */
static void collect_extents_soon(void *scan)
{
    tv_blob_gc_scan_soon(scan);
}

/* What the admin port shows, and whom it asks. */
static void open_admin(tv_server *server)
{
    server->admin.name = server->config.admin_name;
    server->admin.engine = server->engine;
    server->admin.pipeline = server->pipeline;
    server->admin.budget = server->budget;
    server->admin.scanners = server->scanners;
    server->admin.recent = server->recent;
    server->admin.facts = server->facts;
    server->admin.tables = server->catalog;
    server->admin.sources[0] = (tv_admin_source){.write = tv_table_service_write_metrics,
                                                 .write_names = tv_table_service_write_names,
                                                 .ctx = &server->table.base,
                                                 .meter = &server->table.base.meter};
    server->admin.sources[1] = (tv_admin_source){.write = tv_queue_service_write_metrics,
                                                 .ctx = &server->queue,
                                                 .meter = &server->queue.meter};
    server->admin.sources[2] = (tv_admin_source){.name = "blobs",
                                                 .write = tv_blob_service_write_metrics,
                                                 .ctx = &server->blob,
                                                 .meter = &server->blob.base.meter,
                                                 .check = tv_blob_service_check};
    server->admin.sources[3] =
        (tv_admin_source){.write = tv_analytics_write_metrics, .ctx = server->analytics};
    server->admin.sources[4] =
        (tv_admin_source){.write = tv_facts_write_metrics, .ctx = server->facts};
    server->admin.sources[5] =
        (tv_admin_source){.write = tv_targets_write_metrics, .ctx = server->targets};
    server->admin.sources[6] =
        (tv_admin_source){.write = tv_watch_write_metrics, .ctx = server->table.watch};
    if (server->cluster) {
        server->admin.sources[7] = (tv_admin_source){.name = "cluster",
                                                     .write = tv_cluster_write_metrics,
                                                     .ctx = server->cluster,
                                                     .check = tv_cluster_check,
                                                     .is_for_ready = true};
        server->admin.sources[8] = (tv_admin_source){.name = "ceph",
                                                     .write = tv_cluster_write_rights,
                                                     .ctx = server->cluster,
                                                     .check = tv_cluster_check_rights};
        tv_cluster_on_death(server->cluster, collect_extents_soon, server->blob_gc_scan);
        tv_cluster_hurry(server->cluster, server->config.test.pace);
        tv_cluster_start(server->cluster, tv_rados_maps(server->engine));
        server->admin.balancer = tv_cluster_balancer(server->cluster);
    }
    tv_config_write(&server->config, &server->settings);
    server->admin.settings = tv_buf_slice(&server->settings);
    server->admin.start_ns = tv_clock_mono_ns();
    server->admin.history = tv_history_new(&server->admin, server->config.test.history_ms);
    server->admin_handler = tv_admin_handler(&server->admin);
}

bool tv_server_open_services(tv_server *server, char *reterr_text, size_t reterr_size)
{
    bool is_shared = server->engine->ops->is_shared;

    if (!tv_server_open_facts(server, reterr_text, reterr_size))
        return false;

    server->pipeline =
        tv_pipeline_new_tallied(server->engine, is_shared ? SHARED_COMMITTERS : TV_COMMITTERS,
                                COMMIT_QUEUE_MAX, tv_facts_tally(server->facts), server->facts);
    tv_facts_start(server->facts, server->pipeline);
    server->readers = tv_workers_new(is_shared ? SHARED_READERS : READERS, READ_QUEUE_MAX);
    server->scanners = tv_turns_new(is_shared ? SHARED_SCANNERS : SCANNERS, SCANS_MAX);
    server->queue_kind = tv_queue_catalog(server->engine);
    server->blob_gc_container =
        (tv_blob_gc_container){.engine = server->engine, .store = server->extents};
    server->blob_kind = tv_blob_catalog(&server->blob_gc_container);
    server->table_kind = tv_table_catalog_with(server->facts);
    if (!open_catalog(server, &server->table_kind, &server->catalog, reterr_text, reterr_size) ||
        !open_catalog(server, &server->queue_kind, &server->queue_catalog, reterr_text,
                      reterr_size) ||
        !open_catalog(server, &server->blob_kind, &server->blob_catalog, reterr_text, reterr_size))
        return false;

    if (!tv_server_open_advisor(server, reterr_text, reterr_size))
        return false;

    server->recent = tv_recent_new();
    open_tables(server);
    open_queues(server);
    open_blobs(server);
    server->analytics =
        tv_analytics_new(&(tv_analytics_options){.tables = &server->table,
                                                 .queues = &server->queue,
                                                 .blobs = &server->blob,
                                                 .pipeline = server->pipeline,
                                                 .lead = lead_of(server),
                                                 .flush_ms = server->config.test.analytics_ms});
    open_admin(server);
    return true;
}
