/*
 * The order in which the parts of a server are opened; `parts.h` says what each step promises.
 * What the operator can have got wrong comes first, then the store, what it does, the network,
 * and last what shows to others that it is there.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/point.h"
#include "server/main/parts.h"

void tv_server_run(tv_server *server)
{
    if (server->advisor)
        tv_advisor_start(server->advisor);
    for (int i = 0; i < server->loop_count; i++)
        tv_loop_start(server->loops[i]);
    server->is_running = true;
}

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
    if (!tv_server_share_files(server, reterr_text, reterr_size) ||
        !tv_server_open_accounts(server, reterr_text, reterr_size) ||
        !tv_server_open_tls(server, reterr_text, reterr_size) ||
        !tv_server_open_engine(server, reterr_text, reterr_size) ||
        !tv_server_load_time(server, reterr_text, reterr_size) ||
        !tv_server_open_extents(server, reterr_text, reterr_size) ||
        !tv_server_open_services(server, reterr_text, reterr_size) ||
        !tv_server_open_backup(server, reterr_text, reterr_size))
        goto fail;

    tv_server_open_loops(server);
    if (!tv_server_open_listeners(server, reterr_text, reterr_size) ||
        !tv_server_open_token(server, reterr_text, reterr_size))
        goto fail;

    tv_server_open_explorer(server);
    if (server->config.max_connections < config->max_connections)
        tv_log(TV_LOG_WARN, "fewer_connections",
               "wanted=%d given=%d note=\"the limit of open files (ulimit -n) is too low\"",
               config->max_connections, server->config.max_connections);
    tv_log(TV_LOG_INFO, "start",
           "version=%s engine=%s data=\"%s\" host=%s blob_port=%d queue_port=%d table_port=%d "
           "admin_port=%d threads=%d connections=%d memory_mb=%zu accounts=%zu containers=%zu queues=%zu "
           "tables=%zu tls=%s",
           TV_VERSION, config->engine, config->data, config->host,
           server->served[TV_SERVED_BLOB].port, server->served[TV_SERVED_QUEUE].port,
           server->served[TV_SERVED_TABLE].port, server->admin_port, server->loop_count,
           server->config.max_connections,
           tv_budget_read(server->budget).size >> 20, server->accounts->count,
           tv_catalog_count(server->blob_catalog), tv_catalog_count(server->queue_catalog),
           tv_catalog_count(server->catalog), server->tls ? "on" : "off");
    return server;

fail:
    tv_server_stop(server);
    return NULL;
}
