/*
 * The store: an engine for rows and one for the data of blobs, both in the data folder, in
 * memory, or in a pool of a Ceph cluster, which this process joins as a node.
 *
 * A node that its cluster has shut out, or whose cluster has moved on to what this program does
 * not understand, ends at once: nothing that it does has an effect any more.
 */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "server/main/parts.h"
#include "store/engine/instant.h"
#include "store/engine/memory/memory.h"
#include "store/engine/rados/rados.h"
#include "store/engine/rocksdb/rocksdb.h"

/* EX_TEMPFAIL: whoever watches over the server starts it again. */
enum { EXIT_GAVE_UP = 1, EXIT_CANNOT_START = 2, EXIT_SHUT_OUT = 75 };

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

    snprintf(http, sizeof http, "%s:%d,%s:%d,%s:%d", config->blob_host, config->blob_port,
             config->queue_host, config->queue_port, config->table_host, config->table_port);
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
                 tv_pool_problem(err));
        return false;
    }
    tv_rados_set_before_use(server->engine, tv_cluster_reload_dropped, server->cluster);
    return true;
}

/* A start without a right that it needs names it.  Who may not even read is told that first. */
static bool open_pool_store(tv_server *server, const tv_rados_options *options, char *reterr_text,
                            size_t reterr_size)
{
    tv_slice format;
    tv_arena arena;
    bool is_open = false;
    tv_err err;

    tv_arena_init(&arena);
    err = tv_pool_get_row(server->pool, TV_ROUTE_OBJECT, TV_LIT("f"), &arena, &format);
    tv_arena_done(&arena);
    if (!tv_pool_lacks(server->pool, reterr_text, reterr_size))
        is_open =
            tv_rados_engine_open(options, &server->engine, reterr_text, reterr_size) == TV_OK &&
            join_cluster(server, reterr_text, reterr_size);
    if (!is_open)
        (void)tv_pool_lacks(server->pool, reterr_text, reterr_size);
    (void)err; /* any other reason comes again */
    return is_open;
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

    if (config->test.pool_ms) {
        tv_pool_patience_ms = config->test.pool_ms;
        tv_write_wait_max_ns = config->test.pool_ms * INT64_C(1000000);
    }
    if (!tv_librados_open(&connection, &server->pool, reterr_text, reterr_size))
        return false;

    tv_rados_options options = {
        .pool = server->pool,
        .reserve_percent = config->pool_reserve_percent,
        .level = config->test.level,
        .on_newer = leave_newer_cluster,
    };

    if (!open_pool_store(server, &options, reterr_text, reterr_size))
        return false;
    if (mkdir(config->data, 0700) != 0 && errno != EEXIST) {
        snprintf(reterr_text, reterr_size, "cannot make the data folder %.900s: %s", config->data,
                 strerror(errno));
        return false;
    }
    return true;
}

/* What the handler says. */
static char no_start[1200];
static const char gave_up[] =
    "tavolad: RocksDB gave up when it could not write; check the disk and the kernel's log, then "
    "start the server again: nothing that was answered is lost\n";

/* Only what a handler may do: say it, and go. */
static void on_abort_at_start(int signal_number)
{
    (void)signal_number;
    (void)!write(STDERR_FILENO, no_start, strlen(no_start));
    _exit(EXIT_CANNOT_START);
}

static void on_abort(int signal_number)
{
    (void)signal_number;
    (void)!write(STDERR_FILENO, gave_up, strlen(gave_up));
    _exit(EXIT_GAVE_UP);
}

/*
 * RocksDB, as Debian builds it, ends the process by an assertion of its own when a file that it
 * has failed to write to is touched again.  While a store is opened that is a start that fails like
 * any other: with a line, and the exit code that says so.  Later it is an end with a line.
 */
static tv_err open_rocksdb(const tv_rocksdb_options *options, tv_engine **ret_engine,
                           char *reterr_text, size_t reterr_size)
{
    struct sigaction during = {.sa_handler = on_abort_at_start}, after = {.sa_handler = on_abort};

    snprintf(no_start, sizeof no_start,
             "tavolad: the store in %.900s cannot be opened: RocksDB gave up when it could not "
             "write; check the disk and the kernel's log\n",
             options->dir);
    sigaction(SIGABRT, &during, NULL);

    tv_err err = tv_rocksdb_engine_open(options, ret_engine, reterr_text, reterr_size);

    sigaction(SIGABRT, &after, NULL);
    return err;
}

bool tv_server_open_engine(tv_server *server, char *reterr_text, size_t reterr_size)
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
        .write_buffer_bytes = (size_t)config->test.buffer_kb << 10,
        .open_files_max = server->engine_files,
        .disk_reserve_bytes = reserve ? reserve : 1,
        .drop_damaged_log = config->drop_damaged_log,
    };

    return open_rocksdb(&options, &server->engine, reterr_text, reterr_size) == TV_OK;
}

bool tv_server_load_time(tv_server *server, char *reterr_text, size_t reterr_size)
{
    tv_err err = tv_instant_load(server->engine);

    if (err)
        snprintf(reterr_text, reterr_size, "the store's time cannot be read: %s",
                 tv_pool_problem(err));
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
        .shut_out_boots = tv_cluster_shut_out_boots,
        .ctx = server->cluster,
    };

    return tv_extents_open_pool(&options, &server->extents, reterr_text, reterr_size);
}

bool tv_server_open_extents(tv_server *server, char *reterr_text, size_t reterr_size)
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

bool tv_server_open_backup(tv_server *server, char *reterr_text, size_t reterr_size)
{
    if (strcmp(server->config.engine, "rocksdb") != 0)
        return true;

    server->admin.backup = tv_backup_new(server->config.data, server->engine, server->extents,
                                         reterr_text, reterr_size);
    return server->admin.backup != NULL;
}
