/*
 * What is kept of the tables and of what is asked of them: facts, which the committers count,
 * and with --watch the requests, their trace and the advice.
 */
#include "base/log.h"
#include "server/main/parts.h"

bool tv_server_open_facts(tv_server *server, char *reterr_text, size_t reterr_size)
{
    tv_facts_options options = {.engine = server->engine,
                                .format = &tv_table_facts_format,
                                .committer_count = TV_COMMITTERS};
    tv_err err = tv_facts_upgrade(server->engine);

    if (err == TV_ERR_DISK_FULL) {
        snprintf(reterr_text, reterr_size,
                 "the store in %s is of an older format, and the disk has no room to upgrade it: "
                 "make room, or lower --disk-reserve-mb",
                 server->config.data);
        return false;
    }
    if (err == TV_OK)
        err = tv_facts_open(&options, &server->facts);
    if (err)
        snprintf(reterr_text, reterr_size, "cannot read the counts of tables in %s: %s",
                 server->config.data, tv_err_name(err));
    return err == TV_OK;
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

bool tv_server_open_advisor(tv_server *server, char *reterr_text, size_t reterr_size)
{
    const tv_config *config = &server->config;
    bool keeps = strcmp(config->engine, "memory") != 0;

    if (strcmp(config->watch, "off") == 0)
        return true;

    server->advisor =
        tv_advisor_new(&(tv_advisor_options){.watch = config->watch,
                                             .data = keeps ? config->data : NULL,
                                             .is_clock_manual = config->watch_clock != NULL,
                                             .has_targets = config->emulate_targets,
                                             .memory_mb = config->watch_memory_mb,
                                             .loop_count = tv_server_loops_wanted(config),
                                             .tables = server->catalog,
                                             .facts = server->facts});
    server->table.watch = server->admin.watch = server->advisor->watch;
    if (!open_trace(server, reterr_text, reterr_size))
        return false;
    server->admin.traffic = server->advisor->traffic;
    server->admin.advisor = server->advisor;
    server->admin.tables = server->catalog;
    return true;
}
