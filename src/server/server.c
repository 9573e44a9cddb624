/* Putting the parts together. */
#include "server/server.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admin/admin.h"
#include "analytics/analytics.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/point.h"
#include "blob/gc.h"
#include "blob/service.h"
#include "cluster/cluster.h"
#include "engine/instant.h"
#include "engine/memory/memory.h"
#include "engine/rados/rados.h"
#include "engine/rocksdb/rocksdb.h"
#include "explorer/explorer.h"
#include "http/listener.h"
#include "net/tls.h"
#include "queue/gc.h"
#include "queue/service.h"
#include "server/advisor.h"
#include "service/op_list.h"
#include "table/service.h"

enum {
    COMMITTERS = 1,
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
    LOOPS_MAX = 256,
    STOP_GRACE_MS = 10 * 1000,
    ENGINE_FILES_MAX = 1000,
    FILES_PER_LOOP = 8, /* listeners, what libuv needs, a client that waits for its turn */
    OTHER_FILES = 64,   /* logs, locks, the certificate, what compactions write */
    ADMIN_CONNECTIONS_MAX = 32,
    PER_ADDRESS_MIN = 256, /* by default; a machine that runs tests opens hundreds */
    QUEUE_GC_MS = 5000,
    STOP_POOL_MS = 20 * 1000,    /* a stop waits no longer for a pool that does not answer */
    EXIT_NO_ANSWER = 69,         /* EX_UNAVAILABLE: stopped, and the pool may yet do what waited */
    EXIT_SHUT_OUT = 75,          /* EX_TEMPFAIL: whoever watches over the server starts it again */
    BLOB_GC_SCAN_SECONDS = 3600, /* it looks at every blob, for blocks that are a week old */
};

/* A service with its port, on which every loop listens. */
typedef struct served {
    const char *title; /* "Tables" */
    const char *key;   /* in connection strings: "TableEndpoint" */
    tv_http_handler handler;
    int port;
    tv_listener *listeners[LOOPS_MAX];
} served;

typedef enum served_index { SERVED_BLOB, SERVED_QUEUE, SERVED_TABLE, SERVED_COUNT } served_index;

struct tv_server {
    tv_config config;
    tv_budget *budget;
    tv_targets *targets;
    tv_accounts *accounts;             /* those in use */
    struct old_accounts *old_accounts; /* kept until the end: few and small */
    tv_engine *engine;
    tv_pool *pool;       /* of --engine rados, or NULL */
    tv_cluster *cluster; /* likewise */
    tv_pipeline *pipeline;
    tv_workers *readers;
    tv_turns *scanners;
    tv_facts *facts;
    tv_catalog_kind table_kind;
    tv_catalog *catalog; /* of tables */
    tv_catalog_kind queue_kind;
    tv_catalog *queue_catalog;
    tv_queue_gc *queue_gc;
    tv_catalog_kind blob_kind;
    tv_catalog *blob_catalog; /* of containers */
    tv_extents *extents;
    tv_blob_gc_container blob_gc_container;
    tv_blob_gc_scan *blob_gc_scan;
    tv_tls *tls;
    tv_advisor *advisor; /* or NULL */
    tv_table_service table;
    tv_service queue;
    tv_blob_service blob;
    tv_analytics *analytics;
    tv_admin admin;
    tv_explorer explorer;
    char explorer_host[80];
    tv_http_handler explorer_handler;
    served served[SERVED_COUNT];
    tv_http_handler admin_handler;
    tv_http_limits limits, admin_limits;
    int loop_count;
    int engine_files;
    bool is_running;
    tv_loop *loops[LOOPS_MAX];
    tv_outbox *outboxes[LOOPS_MAX];
    tv_listener *admin_listener;
    int admin_port;
};

/* --- the parts, in the order in which they are opened --- */

static int wanted_loops(const tv_config *config)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int count = config->threads ? config->threads : (int)cores;

    return count < 1 ? 1 : count > LOOPS_MAX ? LOOPS_MAX : count;
}

/*
 * Divide the files that the system lets us open.  The engine has its share
 * before the clients: a client that finds none left waits, but a log that
 * cannot be opened ends all writing until a restart.
 */
static void share_files(tv_server *server)
{
    tv_config *config = &server->config;
    struct rlimit limit;
    int files = INT32_MAX, loops = wanted_loops(config);

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < INT32_MAX)
        files = (int)limit.rlim_cur;
    server->engine_files = files / 2 < ENGINE_FILES_MAX ? files / 2 : ENGINE_FILES_MAX;

    int left = files - server->engine_files - OTHER_FILES - ADMIN_CONNECTIONS_MAX -
               SERVED_COUNT * FILES_PER_LOOP * loops;

    /* Every service may have as many; a client of blobs also has a file of data open. */
    left /= SERVED_COUNT + 1;
    if (left < loops)
        left = loops;
    if (config->max_connections > left)
        config->max_connections = left;
}

/* A set of accounts that was replaced; requests under way may still look at it. */
typedef struct old_accounts {
    struct old_accounts *next;
    tv_accounts *accounts;
} old_accounts;

static void accounts_free(tv_accounts *accounts)
{
    if (accounts == NULL)
        return;

    tv_accounts_done(accounts);
    free(accounts);
}

static bool fill_accounts(const tv_config *config, tv_accounts *accounts, char *reterr_text,
                          size_t reterr_size)
{
    const char *azurite = getenv("AZURITE_ACCOUNTS");

    if (config->accounts) {
        if (!tv_accounts_add_file(accounts, config->accounts, reterr_text, reterr_size))
            return false;
    } else if (azurite && azurite[0]) {
        char problem[256];

        if (!tv_accounts_add_list(accounts, tv_slice_of(azurite), problem, sizeof problem)) {
            snprintf(reterr_text, reterr_size, "AZURITE_ACCOUNTS: %s", problem);
            return false;
        }
    } else {
        return tv_accounts_add(accounts, TV_LIT(TV_DEVELOPMENT_ACCOUNT ":" TV_DEVELOPMENT_KEY),
                               reterr_text, reterr_size);
    }
    if (accounts->count == 0) {
        snprintf(reterr_text, reterr_size, "there is no account; write name:key1[:key2]");
        return false;
    }
    return true;
}

/* Which accounts have scalability targets to keep. */
static void set_targets(tv_server *server, tv_accounts *accounts)
{
    for (size_t i = 0; i < accounts->count; i++) {
        tv_account *account = &accounts->list[i];
        bool is_on = account->targets_mode == TV_TARGETS_AS_SERVER
                         ? server->config.emulate_targets
                         : account->targets_mode == TV_TARGETS_ON;

        if (is_on)
            account->targets =
                tv_targets_account(server->targets, tv_slice_of(account->name),
                                   (tv_target_rates){.partition = account->partition_rate,
                                                     .account = account->account_rate,
                                                     .queue = account->queue_rate,
                                                     .blob = account->blob_rate});
    }
}

/* Read the accounts and use them from now on.  False, and nothing changed, on an error. */
static bool open_accounts(tv_server *server, char *reterr_text, size_t reterr_size)
{
    tv_accounts *accounts = tv_malloc(sizeof *accounts);

    tv_accounts_init(accounts);
    if (!fill_accounts(&server->config, accounts, reterr_text, reterr_size)) {
        accounts_free(accounts);
        return false;
    }
    tv_accounts_set_shares(accounts, server->budget);
    set_targets(server, accounts);
    if (server->accounts) {
        old_accounts *old = tv_malloc(sizeof *old);

        *old = (old_accounts){server->old_accounts, server->accounts};
        server->old_accounts = old;
    }
    server->accounts = accounts;
    atomic_store(&server->table.base.auth.accounts, accounts);
    atomic_store(&server->queue.auth.accounts, accounts);
    atomic_store(&server->blob.base.auth.accounts, accounts);
    return true;
}

static bool open_tls(tv_server *server, char *reterr_text, size_t reterr_size)
{
    const tv_config *config = &server->config;

    if (config->cert == NULL)
        return true;

    server->tls = tv_tls_new(config->cert, config->key, reterr_text, reterr_size);
    return server->tls != NULL;
}

/* What this process does has no effect any more; the next one is let in again. */
static void leave_cluster(void *ctx)
{
    (void)ctx;
    tv_log(TV_LOG_ERROR, "shut_out",
           "exit_code=%d note=\"the cluster took this server for dead and shut it out\"",
           EXIT_SHUT_OUT);
    _exit(EXIT_SHUT_OUT);
}

/* Others write what this program does not understand. */
static void leave_newer_cluster(void *ctx, int64_t level)
{
    (void)ctx;
    tv_log(
        TV_LOG_ERROR, "newer_nodes",
        "level=%lld exit_code=%d note=\"the pool is used by nodes that are newer than this one\"",
        (long long)level, EXIT_SHUT_OUT);
    _exit(EXIT_SHUT_OUT);
}

static bool join_cluster(tv_server *server, char *reterr_text, size_t reterr_size)
{
    const tv_config *config = &server->config;
    char http[512];
    tv_err err;

    snprintf(http, sizeof http, "%s:%d,%s:%d,%s:%d", config->host, config->blob_port, config->host,
             config->queue_port, config->host, config->table_port);
    err = tv_cluster_join(&(tv_nodes_options){.pool = server->pool,
                                              .version = TV_LIT(TV_VERSION),
                                              .http = tv_slice_of(http),
                                              .level = config->test.level,
                                              .dead_ms = config->test.dead_ms},
                          &server->cluster);
    if (err == TV_ERR_NOT_IMPLEMENTED) {
        snprintf(reterr_text, reterr_size,
                 "the nodes of this cluster are newer than this tavolad, and it cannot join them");
        return false;
    }
    if (err) {
        snprintf(reterr_text, reterr_size, "cannot become a node of the cluster: %s",
                 tv_err_name(err));
        return false;
    }
    tv_rados_set_before_use(server->engine, tv_cluster_reload_dropped, server->cluster);
    return true;
}

static bool open_rados(tv_server *server, char *reterr_text, size_t reterr_size)
{
    const tv_config *config = &server->config;
    tv_librados_options connection = {
        .conf = config->ceph_conf,
        .user = config->ceph_user,
        .pool_name = config->pool,
        .on_shut_out = leave_cluster,
    };

    if (!tv_librados_open(&connection, &server->pool, reterr_text, reterr_size))
        return false;

    tv_rados_options options = {
        .pool = server->pool,
        .reserve_percent = config->pool_reserve_percent,
        .level = config->test.level,
        .on_newer = leave_newer_cluster,
    };

    if (tv_rados_engine_open(&options, &server->engine, reterr_text, reterr_size) != TV_OK ||
        !join_cluster(server, reterr_text, reterr_size))
        return false;
    if (mkdir(config->data, 0700) != 0 && errno != EEXIST) {
        snprintf(reterr_text, reterr_size, "cannot make the data folder %.900s: %s", config->data,
                 strerror(errno));
        return false;
    }
    return true;
}

static bool open_engine(tv_server *server, char *reterr_text, size_t reterr_size)
{
    const tv_config *config = &server->config;
    uint64_t reserve = (uint64_t)config->disk_reserve_mb << 20;

    if (strcmp(config->engine, "memory") == 0) {
        server->engine = tv_memory_engine_new(NULL);
        return true;
    }
    if (strcmp(config->engine, "rados") == 0)
        return open_rados(server, reterr_text, reterr_size);

    tv_rocksdb_options options = {
        .dir = config->data,
        .block_cache_bytes = (size_t)config->cache_mb << 20,
        .open_files_max = server->engine_files,
        .disk_reserve_bytes = reserve ? reserve : 1,
        .drop_damaged_log = config->drop_damaged_log,
    };

    return tv_rocksdb_engine_open(&options, &server->engine, reterr_text, reterr_size) == TV_OK;
}

/* Time goes on from where the store's last writer was. */
static bool load_time(tv_server *server, char *reterr_text, size_t reterr_size)
{
    tv_err err = tv_instant_load(server->engine);

    if (err)
        snprintf(reterr_text, reterr_size, "the store's time cannot be read: %s", tv_err_name(err));
    return err == TV_OK;
}

/* The data of blobs in the pool of the rows. */
static bool open_pool_extents(tv_server *server, char *reterr_text, size_t reterr_size)
{
    tv_extent_pool_options options = {
        .pool = server->pool,
        .boot = tv_cluster_boot(server->cluster),
        .reserve_percent = server->config.pool_reserve_percent,
        .times = {.sweep_gap_ms = server->config.test.sweep_gap_ms,
                  .remove_delay_ms = server->config.test.remove_delay_ms},
        .settle_boots = tv_cluster_settle_boots,
        .ctx = server->cluster,
    };

    return tv_extents_open_pool(&options, &server->extents, reterr_text, reterr_size);
}

/* The data of blobs: next to the rows, or in a temporary folder when the server keeps nothing. */
static bool open_extents(tv_server *server, char *reterr_text, size_t reterr_size)
{
    if (server->pool)
        return open_pool_extents(server, reterr_text, reterr_size);

    const tv_config *config = &server->config;
    const char *temporary = getenv("TMPDIR");
    bool is_temporary = strcmp(config->engine, "memory") == 0;
    char dir[4096];
    int len;

    if (is_temporary)
        len = snprintf(dir, sizeof dir, "%s", temporary && temporary[0] ? temporary : "/tmp");
    else
        len = snprintf(dir, sizeof dir, "%s/blobs", config->data);
    if (len < 0 || (size_t)len >= sizeof dir) {
        snprintf(reterr_text, reterr_size, "the path of the data folder is too long");
        return false;
    }

    tv_extent_options options = {
        .dir = dir,
        .disk_reserve_bytes = (uint64_t)config->disk_reserve_mb << 20,
        .is_temporary = is_temporary,
    };

    return tv_extents_open(&options, &server->extents, reterr_text, reterr_size);
}

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
}

static void on_trace_trouble(const char *what)
{
    tv_log(TV_LOG_ERROR, "trace", "problem=\"%s\"", what);
}

static bool open_trace(tv_server *server, char *reterr_text, size_t reterr_size)
{
    const tv_config *config = &server->config;
    tv_watch_trace_options options = {.path = config->trace,
                                      .hides_names = strcmp(config->trace_names, "hash") == 0,
                                      .has_targets = config->emulate_targets,
                                      .on_trouble = on_trace_trouble};

    if (config->trace == NULL)
        return true;
    tv_watch_trace_values_parse(config->trace_values, &options.values);
    if (options.values == TV_WATCH_TRACE_FULL)
        tv_log(TV_LOG_WARN, "trace", "problem=\"keys and values of queries are written in clear\"");
    server->table.trace = tv_watch_trace_open(&options, reterr_text, reterr_size);
    return server->table.trace != NULL;
}

/* Who records what is asked of tables; its thread starts with the loops. */
static bool open_advisor(tv_server *server, char *reterr_text, size_t reterr_size)
{
    const tv_config *config = &server->config;
    bool keeps = strcmp(config->engine, "memory") != 0;

    if (strcmp(config->watch, "off") == 0)
        return true;

    server->advisor = tv_advisor_new(
        &(tv_advisor_options){.watch = config->watch,
                              .data = keeps ? config->data : NULL,
                              .is_clock_manual = config->watch_clock != NULL,
                              .has_targets = config->emulate_targets,
                              .memory_mb = config->watch_memory_mb,
                              .loop_count = wanted_loops(config),
                              .tables = server->catalog,
                              .facts = server->facts},
        reterr_text, reterr_size);
    if (server->advisor == NULL)
        return false;

    server->table.watch = server->admin.watch = server->advisor->watch;
    if (!open_trace(server, reterr_text, reterr_size))
        return false;
    server->table.traffic = server->admin.traffic = server->advisor->traffic;
    server->admin.advice = server->advisor->advice;
    server->admin.tables = server->catalog;
    return true;
}

static void open_tables(tv_server *server)
{
    fill_service(server, &tv_table_spec, server->catalog, &server->table.base);
    server->table.facts = server->facts;
    server->table.query_time_max_ns = (int64_t)server->config.query_timeout_ms * 1000000;
    server->served[SERVED_TABLE] = (served){.title = "Tables",
                                            .key = "TableEndpoint",
                                            .port = server->config.table_port,
                                            .handler = tv_service_handler(&server->table.base)};
}

static void open_queues(tv_server *server)
{
    fill_service(server, &tv_queue_spec, server->queue_catalog, &server->queue);
    server->queue_gc =
        tv_queue_gc_new(server->queue_catalog, server->pipeline, QUEUE_GC_MS, lead_of(server));
    server->served[SERVED_QUEUE] = (served){.title = "Queues",
                                            .key = "QueueEndpoint",
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
    server->served[SERVED_BLOB] = (served){.title = "Blobs",
                                           .key = "BlobEndpoint",
                                           .port = server->config.blob_port,
                                           .handler = tv_service_handler(&server->blob.base)};
}

/* A dead node may have left extents that no row refers to. */
static void collect_extents_soon(void *scan)
{
    tv_blob_gc_scan_soon(scan);
}

/* The counts of tables, which the committers keep. */
static bool open_facts(tv_server *server, char *reterr_text, size_t reterr_size)
{
    tv_facts_options options = {.engine = server->engine,
                                .format = &tv_table_facts_format,
                                .committer_count = COMMITTERS};
    tv_err err = tv_facts_upgrade(server->engine);

    if (err == TV_OK)
        err = tv_facts_open(&options, &server->facts);
    if (err)
        snprintf(reterr_text, reterr_size, "cannot read the counts of tables in %s: %s",
                 server->config.data, tv_err_name(err));
    return err == TV_OK;
}

static bool open_services(tv_server *server, char *reterr_text, size_t reterr_size)
{
    bool is_shared = server->engine->ops->is_shared;

    if (!open_facts(server, reterr_text, reterr_size))
        return false;

    server->pipeline =
        tv_pipeline_new_tallied(server->engine, is_shared ? SHARED_COMMITTERS : COMMITTERS,
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

    if (!open_advisor(server, reterr_text, reterr_size))
        return false;

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
    server->admin.name = server->config.admin_name;
    server->admin.engine = server->engine;
    server->admin.pipeline = server->pipeline;
    server->admin.budget = server->budget;
    server->admin.scanners = server->scanners;
    server->admin.facts = server->facts;
    server->admin.tables = server->catalog;
    server->admin.sources[0] = (tv_admin_source){.write = tv_table_service_write_metrics,
                                                 .ctx = &server->table.base,
                                                 .meter = &server->table.base.meter};
    server->admin.sources[1] = (tv_admin_source){.write = tv_queue_service_write_metrics,
                                                 .ctx = &server->queue,
                                                 .meter = &server->queue.meter};
    server->admin.sources[2] = (tv_admin_source){.write = tv_blob_service_write_metrics,
                                                 .ctx = &server->blob,
                                                 .meter = &server->blob.base.meter,
                                                 .check = tv_blob_service_check};
    server->admin.sources[3] =
        (tv_admin_source){.write = tv_analytics_write_metrics, .ctx = server->analytics};
    server->admin.sources[4] =
        (tv_admin_source){.write = tv_facts_write_metrics, .ctx = server->facts};
    server->admin.sources[5] =
        (tv_admin_source){.write = tv_targets_write_metrics, .ctx = server->targets};
    if (server->cluster) {
        server->admin.sources[6] = (tv_admin_source){
            .write = tv_cluster_write_metrics, .ctx = server->cluster, .check = tv_cluster_check};
        tv_cluster_on_death(server->cluster, collect_extents_soon, server->blob_gc_scan);
        tv_cluster_start(server->cluster, tv_rados_maps(server->engine));
        server->admin.balancer = tv_cluster_balancer(server->cluster);
    }
    server->admin.start_ns = tv_clock_mono_ns();
    server->admin_handler = tv_admin_handler(&server->admin);
    return true;
}

static void flush_outbox(void *ctx)
{
    tv_outbox_flush(ctx);
}

/* Clients of the admin port ask for little and read it at once; all others make room.  A filter
 * of the page is a part of a head. */
static const tv_http_limits admin_limits = {
    .head_bytes_max = 48 * 1024,
    .header_count_max = 64,
    .input_bytes_max = 256 * 1024,
    .header_timeout_ms = 5 * 1000,
    .body_timeout_ms = 5 * 1000,
    .speed_min = 1024,
    .linger_timeout_ms = 1000,
    .idle_timeout_ms = 120 * 1000,
    .connections_max = ADMIN_CONNECTIONS_MAX,
    .per_address_max = ADMIN_CONNECTIONS_MAX,
    .spare_ms = 100,
    .spares_unread = true,
};

/*
 * How many connections of one loop may be of one address.  The kernel deals
 * them out to the loops by chance, so a loop may get more than its share.
 */
static int per_address(const tv_server *server)
{
    const tv_config *config = &server->config;
    int most = config->max_per_address;

    if (most == 0)
        most = config->max_connections / 2 > PER_ADDRESS_MIN ? config->max_connections / 2
                                                             : PER_ADDRESS_MIN;
    return server->loop_count == 1 ? most : most / server->loop_count * 5 / 4 + 8;
}

static void open_loops(tv_server *server)
{
    server->loop_count = wanted_loops(&server->config);
    for (int i = 0; i < server->loop_count; i++) {
        server->loops[i] = tv_loop_new(i);
        server->outboxes[i] = tv_outbox_new(server->pipeline);
        tv_loop_at_round_end(server->loops[i], flush_outbox, server->outboxes[i]);
    }
    server->limits = tv_http_limits_default;
    server->limits.budget = server->budget;
    server->limits.connections_max = server->config.max_connections / server->loop_count;
    if (server->limits.connections_max < 1)
        server->limits.connections_max = 1;
    server->limits.per_address_max = per_address(server);
    server->admin_limits = admin_limits;
    server->admin_limits.budget = server->budget;
}

static bool open_served(tv_server *server, served *service, char *reterr_text, size_t reterr_size)
{
    for (int i = 0; i < server->loop_count; i++) {
        service->listeners[i] =
            tv_listener_new(server->loops[i], server->config.host, service->port, &service->handler,
                            &server->limits, server->tls, reterr_text, reterr_size);
        if (service->listeners[i] == NULL)
            return false;
        /* Port 0 takes a free one; the other loops listen on the same. */
        service->port = tv_listener_port(service->listeners[i]);
    }
    return true;
}

static bool open_listeners(tv_server *server, char *reterr_text, size_t reterr_size)
{
    const tv_config *config = &server->config;

    for (int i = 0; i < SERVED_COUNT; i++) {
        if (!open_served(server, &server->served[i], reterr_text, reterr_size))
            return false;
    }
    server->admin_listener = tv_listener_new(server->loops[0], config->admin_host,
                                             config->admin_port, &server->admin_handler,
                                             &server->admin_limits, NULL, reterr_text, reterr_size);
    if (server->admin_listener == NULL)
        return false;

    server->admin_port = tv_listener_port(server->admin_listener);
    return true;
}

/* A server that keeps nothing has nothing to back up, nor has one whose store is a cluster's. */
static bool open_backup(tv_server *server, char *reterr_text, size_t reterr_size)
{
    if (strcmp(server->config.engine, "rocksdb") != 0)
        return true;

    server->admin.backup = tv_backup_new(server->config.data, server->engine, server->extents,
                                         reterr_text, reterr_size);
    return server->admin.backup != NULL;
}

/* Last of all, so that a start that fails leaves none; the engine holds the folder's lock. */
static bool open_token(tv_server *server, char *reterr_text, size_t reterr_size)
{
    return strcmp(server->config.engine, "memory") == 0 ||
           tv_admin_token_open(&server->admin.token, server->config.data, reterr_text, reterr_size);
}

/* An address as it appears in a URL. */
static const char *bracketed(const char *host, char *ret_text, size_t size)
{
    bool is_v6 = strchr(host, ':') != NULL;

    snprintf(ret_text, size, is_v6 ? "[%s]" : "%s", host);
    return ret_text;
}

/* The page, once the ports are known; no loop runs yet. */
static void open_explorer(tv_server *server)
{
    const tv_config *config = &server->config;
    tv_explorer *explorer = &server->explorer;
    bool keeps = strcmp(config->engine, "memory") != 0;

    if (config->no_explorer)
        return;

    *explorer = (tv_explorer){
        .name = config->admin_name,
        .token = &server->admin.token,
        .table = &server->table.base,
        .queue = &server->queue,
        .blob = &server->blob.base,
        .facts = server->facts,
        .engine = config->engine,
        .ports = {server->served[SERVED_BLOB].port, server->served[SERVED_QUEUE].port,
                  server->served[SERVED_TABLE].port},
        .host = bracketed(config->host, server->explorer_host, sizeof server->explorer_host),
        .is_tls = server->tls != NULL,
        .start_ticks = tv_clock_ticks(),
    };
    tv_sessions_open(&explorer->sessions, keeps ? config->data : NULL, server->admin_port,
                     tv_clock_ticks());
    server->explorer_handler = tv_explorer_handler(explorer);
    server->admin.sessions = &explorer->sessions;
    server->admin.pages = &server->explorer_handler;
}

void tv_server_run(tv_server *server)
{
    if (server->advisor)
        tv_advisor_start(server->advisor);
    for (int i = 0; i < server->loop_count; i++)
        tv_loop_start(server->loops[i]);
    server->is_running = true;
}

/* --- start and stop --- */

tv_server *tv_server_open(const tv_config *config, char *reterr_text, size_t reterr_size)
{
    tv_server *server = tv_calloc(1, sizeof *server);

    /* What the operator can have got wrong comes first, so that a bad flag leaves no folder. */
    server->config = *config;
    if (config->test_points)
        tv_points_enable();
    tv_clock_shift(config->test.clock_ms * (TV_TICKS_PER_SECOND / 1000));
    server->budget = tv_budget_new(config->memory_mb ? (size_t)config->memory_mb << 20
                                                     : tv_machine_memory_share());
    server->targets = tv_targets_new((tv_target_choices){
        .has_retry_after = strcmp(config->emulate_retry_after, "on") == 0,
        .examined_per_unit = (uint32_t)config->emulate_examined,
    });
    share_files(server);
    if (!open_accounts(server, reterr_text, reterr_size) ||
        !open_tls(server, reterr_text, reterr_size) ||
        !open_engine(server, reterr_text, reterr_size) ||
        !load_time(server, reterr_text, reterr_size) ||
        !open_extents(server, reterr_text, reterr_size) ||
        !open_services(server, reterr_text, reterr_size) ||
        !open_backup(server, reterr_text, reterr_size))
        goto fail;

    open_loops(server);
    if (!open_listeners(server, reterr_text, reterr_size) ||
        !open_token(server, reterr_text, reterr_size))
        goto fail;

    open_explorer(server);
    if (server->config.max_connections < config->max_connections)
        tv_log(TV_LOG_WARN, "fewer_connections",
               "wanted=%d given=%d note=\"the limit of open files (ulimit -n) is too low\"",
               config->max_connections, server->config.max_connections);
    tv_log(TV_LOG_INFO, "start",
           "version=%s engine=%s data=\"%s\" host=%s blob_port=%d queue_port=%d table_port=%d "
           "admin_port=%d threads=%d memory_mb=%zu accounts=%zu containers=%zu queues=%zu "
           "tables=%zu tls=%s",
           TV_VERSION, config->engine, config->data, config->host, server->served[SERVED_BLOB].port,
           server->served[SERVED_QUEUE].port, server->served[SERVED_TABLE].port, server->admin_port,
           server->loop_count, tv_budget_read(server->budget).size >> 20, server->accounts->count,
           tv_catalog_count(server->blob_catalog), tv_catalog_count(server->queue_catalog),
           tv_catalog_count(server->catalog), server->tls ? "on" : "off");
    return server;

fail:
    tv_server_stop(server);
    return NULL;
}

/* Listeners and connections go first, while everything that they wait for still works. */
static void stop_network(tv_server *server)
{
    if (!server->is_running && server->loop_count)
        tv_server_run(server);
    for (int i = 0; i < SERVED_COUNT * server->loop_count; i++) {
        tv_listener *listener =
            server->served[i / server->loop_count].listeners[i % server->loop_count];

        if (listener)
            tv_listener_stop(listener, STOP_GRACE_MS);
    }
    if (server->admin_listener)
        tv_listener_stop(server->admin_listener, STOP_GRACE_MS);
    for (int i = 0; i < server->loop_count; i++)
        tv_loop_stop(server->loops[i]);
    for (int i = 0; i < server->loop_count; i++)
        tv_loop_join(server->loops[i]);
}

/*
 * Operations that a pool does not answer cannot be taken back, and everything below waits for
 * them.  Nothing is kept here that the end of the process could damage, and no client hears of
 * success; the others bury this node as they would after a crash.
 */
static void watch_stop(tv_background *thread, void *ctx)
{
    (void)ctx;
    if (!tv_background_sleep(thread, STOP_POOL_MS))
        return;

    tv_log(TV_LOG_ERROR, "stop", "waited_ms=%d exit_code=%d note=\"the pool does not answer\"",
           STOP_POOL_MS, EXIT_NO_ANSWER);
    _exit(EXIT_NO_ANSWER);
}

void tv_server_stop(tv_server *server)
{
    bool was_running = server->is_running, has_pool = server->pool != NULL;
    tv_background stop_watch;

    if (was_running)
        tv_log(TV_LOG_INFO, "stopping", "grace_ms=%d", STOP_GRACE_MS);
    if (has_pool)
        tv_background_start(&stop_watch,
                            &(tv_background_options){.name = "tv-stop-watch", .run = watch_stop});
    if (server->scanners)
        tv_turns_finish(server->scanners);
    tv_backup_stop(server->admin.backup);
    stop_network(server);
    tv_advisor_stop(server->advisor);
    tv_analytics_free(server->analytics); /* writes what it has, while all else still works */
    tv_backup_free(server->admin.backup);
    tv_cluster_stop(server->cluster); /* its chores use what follows */
    tv_queue_gc_free(server->queue_gc);
    tv_blob_gc_scan_free(server->blob_gc_scan);
    tv_blob_gc_free(server->blob.gc);
    tv_catalog_close(server->catalog);
    tv_catalog_close(server->queue_catalog);
    tv_catalog_close(server->blob_catalog);
    tv_facts_stop(server->facts);
    for (int i = 0; i < server->loop_count; i++)
        tv_outbox_free(server->outboxes[i]);
    tv_workers_free(server->readers);
    tv_turns_free(server->scanners);
    tv_blob_io_stop(&server->blob.io);
    tv_pipeline_free(server->pipeline);
    tv_facts_free(server->facts);
    for (int i = 0; i < server->loop_count; i++)
        tv_loop_free(server->loops[i]);
    tv_watch_trace_close(server->table.trace);
    tv_advisor_free(server->advisor); /* the last requests ended with the loops */
    tv_blob_io_done(&server->blob.io);
    if (server->admin.sessions)
        tv_sessions_close(server->admin.sessions);
    tv_admin_token_close(&server->admin.token);
    tv_budget_free(server->budget); /* nothing is left that could hold any */
    tv_extents_close(server->extents);
    tv_tls_free(server->tls);
    tv_engine_close(server->engine);
    tv_cluster_leave(server->cluster);
    if (server->pool)
        server->pool->ops->close(server->pool);
    if (has_pool)
        tv_background_done(&stop_watch);
    tv_cluster_free(server->cluster);
    tv_targets_free(server->targets);
    accounts_free(server->accounts);
    while (server->old_accounts) {
        old_accounts *next = server->old_accounts->next;

        accounts_free(server->old_accounts->accounts);
        free(server->old_accounts);
        server->old_accounts = next;
    }
    if (was_running)
        tv_log(TV_LOG_INFO, "stop", "data=\"%s\"", server->config.data);
    free(server);
}

void tv_server_reload(tv_server *server)
{
    const tv_config *config = &server->config;
    char problem[1200];

    if (open_accounts(server, problem, sizeof problem))
        tv_log(TV_LOG_INFO, "reload", "accounts=%zu", server->accounts->count);
    else
        tv_log(TV_LOG_ERROR, "reload", "what=accounts problem=\"%s\" note=\"the old ones stay\"",
               problem);
    if (server->tls &&
        tv_tls_reload(server->tls, config->cert, config->key, problem, sizeof problem))
        tv_log(TV_LOG_INFO, "reload", "certificate=\"%s\"", config->cert);
    else if (server->tls)
        tv_log(TV_LOG_ERROR, "reload", "what=certificate problem=\"%s\" note=\"the old one stays\"",
               problem);
}

/* --- what a user reads --- */

void tv_server_print_operations(void)
{
    static const tv_service_spec *const specs[] = {&tv_table_spec, &tv_queue_spec, &tv_blob_spec};
    tv_buf out = TV_BUF_EMPTY;

    tv_op_list_add_heading(&out);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        tv_op_list_add(&out, specs[i]);
    fwrite(out.data, 1, out.len, stdout);
    tv_buf_done(&out);
}

/* Whether clients find everything by the one setting that stands for an emulator. */
static bool is_where_emulators_are(const tv_server *server)
{
    return !server->tls && server->served[SERVED_BLOB].port == 10000 &&
           server->served[SERVED_QUEUE].port == 10001 && server->served[SERVED_TABLE].port == 10002;
}

/* How to use the command line tool, if it lies beside this program. */
static void print_tool(bool is_found_by_itself)
{
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);

    if (size <= 0)
        return;
    path[size] = '\0';

    char *name = strrchr(path, '/');

    if (name == NULL || (size_t)(name - path) + sizeof "/tavola" > sizeof path)
        return;
    memcpy(name, "/tavola", sizeof "/tavola");
    if (access(path, X_OK) == 0)
        printf("Command line: %s %s\n", path, is_found_by_itself ? "table list" : "help");
}

/* A way into the page, which works once. */
static void print_explorer(tv_server *server, const char *admin_host)
{
    char word[TV_SESSION_WORD_CHARS + 1];

    if (server->admin.sessions == NULL)
        return;

    tv_sessions_add_link(server->admin.sessions, tv_clock_ticks(), word);
    printf("  Explorer http://%s:%d/#/login/%s\n", admin_host, server->admin_port, word);
}

void tv_server_print_ready(tv_server *server)
{
    const tv_config *config = &server->config;
    const tv_account *account = &server->accounts->list[0];
    const char *scheme = server->tls ? "https" : "http";
    char host[80], admin_host[80];

    bracketed(config->host, host, sizeof host);
    bracketed(config->admin_host, admin_host, sizeof admin_host);
    printf("Tavola %s\n\n", TV_VERSION);
    for (int i = 0; i < SERVED_COUNT; i++)
        printf("  %-8s %s://%s:%d/%s\n", server->served[i].title, scheme, host,
               server->served[i].port, account->name);
    print_explorer(server, admin_host);
    printf("  Health   http://%s:%d/healthz\n", admin_host, server->admin_port);
    printf("  Metrics  http://%s:%d/metrics\n", admin_host, server->admin_port);
    if (strcmp(config->engine, "memory") == 0)
        printf("  Data     in memory only: gone when the server ends\n");
    else if (strcmp(config->engine, "rados") == 0)
        printf("  Data     in the pool %s of the Ceph cluster of %s\n", config->pool,
               config->ceph_conf);
    else
        printf("  Data     %s\n", config->data);
    /* The development key is public; any other is a secret and stays out of terminals and logs. */
    printf("\nConnection string:\nDefaultEndpointsProtocol=%s;AccountName=%s;AccountKey=%s;",
           scheme, account->name, account->is_development ? TV_DEVELOPMENT_KEY : "<your key>");
    for (int i = 0; i < SERVED_COUNT; i++)
        printf("%s=%s://%s:%d/%s;", server->served[i].key, scheme, host, server->served[i].port,
               account->name);
    printf("\n");

    bool is_simple = account->is_development && is_where_emulators_are(server);

    if (is_simple)
        printf("or simply: UseDevelopmentStorage=true\n");
    printf("\n");
    print_tool(is_simple);
    printf("Ctrl-C ends it.\n");
    fflush(stdout);
}
