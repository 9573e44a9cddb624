/*
 * Network threads, listeners and their limits, and the page that the admin port serves.  Files
 * and connections are divided here, before anything is opened.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/main/parts.h"
#include "server/main/taken.h"
#include "wire/net/bind.h"

enum {
    ENGINE_FILES_MAX = 1000,
    FILES_PER_LOOP = 8,         /* listeners, what libuv needs, a client that waits for its turn */
    OTHER_FILES = 64,           /* logs, locks, the certificate, what compactions write */
    START_FILES = 32,           /* of these, without which there is no start at all */
    CONNECTIONS_WANTED = 10000, /* by default, where the files suffice */
    PER_ADDRESS_MIN = 256,      /* by default; a machine that runs tests opens hundreds */
};

int tv_server_loops_wanted(const tv_config *config)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int count = config->threads ? config->threads : (int)cores;

    return count < 1 ? 1 : count > TV_LOOPS_MAX ? TV_LOOPS_MAX : count;
}

bool tv_server_share_files(tv_server *server, char *reterr_text, size_t reterr_size)
{
    tv_config *config = &server->config;
    struct rlimit limit;
    int files = INT32_MAX, loops = tv_server_loops_wanted(config);
    int least = START_FILES + FILES_PER_LOOP * loops;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < INT32_MAX)
        files = (int)limit.rlim_cur;
    if (files < least) {
        snprintf(reterr_text, reterr_size,
                 "%d open files are too few: with %d network threads it takes %d to start, and "
                 "more for connections; raise the limit (ulimit -n)",
                 files, loops, least);
        return false;
    }
    server->engine_files = files / 2 < ENGINE_FILES_MAX ? files / 2 : ENGINE_FILES_MAX;

    int served = TV_SERVED_COUNT + (config->table_host_too != NULL) +
                 (config->queue_host_too != NULL) + (config->blob_host_too != NULL);
    int left = files - server->engine_files - OTHER_FILES - TV_ADMIN_CONNECTIONS_MAX -
               served * FILES_PER_LOOP * loops;

    /* Every service may have as many; a client of blobs also has a file of data open. */
    left /= served + 1 + (config->blob_host_too != NULL);
    if (left < loops)
        left = loops;
    if (config->max_connections == 0)
        config->max_connections = CONNECTIONS_WANTED;
    if (config->max_connections > left)
        config->max_connections = left;
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
    .connections_max = TV_ADMIN_CONNECTIONS_MAX,
    .per_address_max = TV_ADMIN_CONNECTIONS_MAX,
    .spare_ms = 100,
    .spares_unread = true,
};

static void set_silence(tv_http_limits *limits, int ms)
{
    if (ms > 0)
        limits->header_timeout_ms = limits->body_timeout_ms = limits->linger_timeout_ms = ms;
}

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

void tv_server_open_loops(tv_server *server)
{
    server->loop_count = tv_server_loops_wanted(&server->config);
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
    set_silence(&server->limits, server->config.test.silence_ms);
    set_silence(&server->admin_limits, server->config.test.silence_ms);
}

/* The other address of localhost is there unless the machine has no IPv6. */
static bool is_wanted(const char *too)
{
    return too && tv_bind_has_address(too);
}

/* One line that says why, and what to do where that is known. */
static bool fail_to_listen(const char *host, int port, const char *flag, char *text, size_t size)
{
    if (tv_bind_is_taken(host, port))
        tv_taken_explain(host, port, flag, text, size);
    return false;
}

void tv_server_bracket_host(const char *host, char *ret_text, size_t size)
{
    bool is_v6 = strchr(host, ':') != NULL;

    snprintf(ret_text, size, is_v6 ? "[%s]" : "%s", host);
}

void tv_server_write_url(const tv_server *server, const tv_served *service, int port, char *ret_url,
                         size_t size)
{
    char host[80];

    tv_server_bracket_host(service->host, host, sizeof host);
    snprintf(ret_url, size, "%s://%s:%d", server->tls ? "https" : "http", host, port);
}

static bool open_served(tv_server *server, tv_served *service, int index, const char *host,
                        char *reterr_text, size_t reterr_size)
{
    for (int i = 0; i < server->loop_count; i++) {
        tv_listener *listener =
            tv_listener_new(server->loops[i], host, service->port, &service->handler,
                            &server->limits, server->tls, reterr_text, reterr_size);

        if (listener == NULL)
            return fail_to_listen(host, service->port, service->flag, reterr_text, reterr_size);
        service->listeners[index][i] = listener;
        /* Port 0 takes a free one; the other loops listen on the same. */
        service->port = tv_listener_port(listener);
    }
    return true;
}

static bool open_admin(tv_server *server, int index, const char *host, char *reterr_text,
                       size_t reterr_size)
{
    tv_listener *listener =
        tv_listener_new(server->loops[0], host, server->admin_port, &server->admin_handler,
                        &server->admin_limits, NULL, reterr_text, reterr_size);

    if (listener == NULL && server->config.any_admin_port && index == 0 && server->admin_port) {
        server->admin_port = 0;
        return open_admin(server, index, host, reterr_text, reterr_size);
    }
    if (listener == NULL)
        return fail_to_listen(host, server->admin_port, "--admin-port", reterr_text, reterr_size);
    server->admin_listeners[index] = listener;
    server->admin_port = tv_listener_port(listener);
    return true;
}

bool tv_server_open_listeners(tv_server *server, char *reterr_text, size_t reterr_size)
{
    const tv_config *config = &server->config;

    for (int i = 0; i < TV_SERVED_COUNT; i++) {
        tv_served *service = &server->served[i];

        if (!open_served(server, service, 0, service->host, reterr_text, reterr_size) ||
            (is_wanted(service->host_too) &&
             !open_served(server, service, 1, service->host_too, reterr_text, reterr_size)))
            return false;
        tv_server_write_url(server, service, service->port, service->url, sizeof service->url);
    }
    server->admin_port = config->admin_port;
    return open_admin(server, 0, config->admin_host, reterr_text, reterr_size) &&
           (!is_wanted(config->admin_host_too) ||
            open_admin(server, 1, config->admin_host_too, reterr_text, reterr_size));
}

bool tv_server_open_token(tv_server *server, char *reterr_text, size_t reterr_size)
{
    return strcmp(server->config.engine, "memory") == 0 ||
           tv_admin_token_open(&server->admin.token, server->config.data, reterr_text, reterr_size);
}

void tv_server_open_explorer(tv_server *server)
{
    const tv_config *config = &server->config;
    tv_explorer *explorer = &server->explorer;

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
        .urls = {server->served[TV_SERVED_BLOB].url, server->served[TV_SERVED_QUEUE].url,
                 server->served[TV_SERVED_TABLE].url},
        .start_ticks = tv_clock_ticks(),
    };
    tv_sessions_open(&explorer->sessions, server->admin_port);
    server->explorer_handler = tv_explorer_handler(explorer);
    server->admin.sessions = &explorer->sessions;
    server->admin.pages = &server->explorer_handler;
}

static void stop_listener(tv_listener *listener, int grace_ms)
{
    if (listener)
        tv_listener_stop(listener, grace_ms);
}

void tv_server_stop_network(tv_server *server, int grace_ms)
{
    if (!server->is_running && server->loop_count)
        tv_server_run(server);
    for (int address = 0; address < TV_ADDRESSES_MAX; address++) {
        for (int i = 0; i < TV_SERVED_COUNT * server->loop_count; i++)
            stop_listener(
                server->served[i / server->loop_count].listeners[address][i % server->loop_count],
                grace_ms);
        stop_listener(server->admin_listeners[address], grace_ms);
    }
    for (int i = 0; i < server->loop_count; i++)
        tv_loop_stop(server->loops[i]);
    for (int i = 0; i < server->loop_count; i++)
        tv_loop_join(server->loops[i]);
}
