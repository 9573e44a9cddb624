/*
 * Taking a server apart, whatever of it was opened: first what uses the most, last what
 * everything else uses.  Requests under way are finished within a grace; a pool that does not
 * answer is not waited for longer than STOP_POOL_MS.
 */
#include <unistd.h>

#include "base/log.h"
#include "server/main/parts.h"

enum {
    STOP_GRACE_MS = 10 * 1000,
    STOP_POOL_MS = 20 * 1000, /* a stop waits no longer for a pool that does not answer */
    EXIT_NO_ANSWER = 69,      /* EX_UNAVAILABLE: stopped, and the pool may yet do what waited */
};

/*
 * Operations that a pool does not answer cannot be taken back, and everything below waits for
 * them.  Nothing is kept here that the end of the process could damage, and no client hears of
 * success; the others bury this node as they would after a crash.
 */
static void watch_stop(tv_background *thread, void *ctx)
{
    const tv_server *server = ctx;
    int ms = server->config.test.stop_pool_ms ? server->config.test.stop_pool_ms : STOP_POOL_MS;

    if (!tv_background_sleep(thread, ms))
        return;

    tv_log(TV_LOG_ERROR, "stop", "waited_ms=%d exit_code=%d note=\"the pool does not answer\"", ms,
           EXIT_NO_ANSWER);
    _exit(EXIT_NO_ANSWER);
}

/* What clients ask for, and what is done by itself. */
static void stop_work(tv_server *server, int grace_ms)
{
    if (server->scanners)
        tv_turns_finish(server->scanners);
    tv_backup_stop(server->admin.backup);
    tv_server_stop_network(server, grace_ms);
    tv_explorer_stop(&server->explorer);
    tv_history_free(server->admin.history);
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
}

/* What that was done with, threads first. */
static void free_parts(tv_server *server)
{
    for (int i = 0; i < server->loop_count; i++)
        tv_outbox_free(server->outboxes[i]);
    tv_workers_free(server->readers);
    tv_turns_free(server->scanners);
    tv_blob_io_stop(&server->blob.io);
    tv_pipeline_free(server->pipeline);
    tv_facts_free(server->facts);
    for (int i = 0; i < server->loop_count; i++)
        tv_loop_free(server->loops[i]);
    tv_recent_free(server->recent); /* the last requests ended with the loops */
    tv_watch_trace_close(server->table.trace);
    tv_advisor_free(server->advisor);
    tv_blob_io_done(&server->blob.io);
    tv_buf_done(&server->settings);
    if (server->admin.sessions)
        tv_sessions_close(server->admin.sessions);
    tv_admin_token_close(&server->admin.token);
    tv_budget_free(server->budget); /* nothing is left that could hold any */
}

void tv_server_stop(tv_server *server)
{
    bool was_running = server->is_running, has_pool = server->pool != NULL;
    int grace_ms = server->config.test.grace_ms ? server->config.test.grace_ms : STOP_GRACE_MS;
    tv_background stop_watch;

    if (was_running)
        tv_log(TV_LOG_INFO, "stopping", "grace_ms=%d", grace_ms);
    if (has_pool)
        tv_background_start(
            &stop_watch,
            &(tv_background_options){.name = "tv-stop-watch", .run = watch_stop, .ctx = server});
    stop_work(server, grace_ms);
    free_parts(server);
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
    tv_server_free_accounts(server);
    if (was_running)
        tv_log(TV_LOG_INFO, "stop", "data=\"%s\"", server->config.data);
    free(server);
}
