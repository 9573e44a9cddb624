/* What the server prints for whoever has started it: where it is, how to connect, what it can do.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/main/parts.h"
#include "services/service/op_list.h"

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
    return !server->tls && server->served[TV_SERVED_BLOB].port == 10000 &&
           server->served[TV_SERVED_QUEUE].port == 10001 &&
           server->served[TV_SERVED_TABLE].port == 10002;
}

static bool is_for_this_machine(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "localhost") == 0;
}

/* Others can connect, but not with the key that the connection string shows. */
static void print_whose_key_it_is(const tv_config *config, const tv_account *account)
{
    bool is_for_it_alone = is_for_this_machine(config->table_host) &&
                           is_for_this_machine(config->queue_host) &&
                           is_for_this_machine(config->blob_host);

    if (account->is_development && !config->allow_dev_account && !is_for_it_alone)
        printf("This key is accepted from this machine alone: --allow-dev-account accepts it from "
               "others, too,\nand --accounts FILE is for keys of your own.\n");
}

/* Whether a shell finds this program by its name alone. */
static bool is_on_path(const char *path)
{
    const char *name = strrchr(path, '/') + 1, *folders = getenv("PATH");
    struct stat wanted, found;

    if (stat(path, &wanted) != 0)
        return false;
    for (size_t size; folders && *folders; folders += size + (folders[size] == ':')) {
        char other[4096];

        size = strcspn(folders, ":");
        if (snprintf(other, sizeof other, "%.*s/%s", (int)size, folders, name) <
                (int)sizeof other &&
            stat(other, &found) == 0 && found.st_dev == wanted.st_dev &&
            found.st_ino == wanted.st_ino)
            return true;
    }
    return false;
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
    if (access(path, X_OK) != 0)
        return;

    const char *verb = is_found_by_itself ? "table list" : "help";

    if (is_on_path(path)) {
        printf("Command line: tavola %s\n", verb);
    } else {
        printf("Command line: %s %s\n", path, verb);
        printf("   by its name: export PATH=\"$PATH:%.*s\"\n", (int)(name - path), path);
    }
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

/* --- the lines of Azurite, which scripts and test containers wait for --- */

static bool speaks_as_azurite(const tv_config *config)
{
    return strncmp(config->banner, "azurite", strlen("azurite")) == 0;
}

/* The services of this banner, in Azurite's order: "azurite-table" speaks of tables alone. */
static bool is_in_banner(const tv_config *config, int index)
{
    static const char *const suffixes[TV_SERVED_COUNT] = {
        [TV_SERVED_BLOB] = "-blob", [TV_SERVED_QUEUE] = "-queue", [TV_SERVED_TABLE] = "-table"};
    const char *suffix = config->banner + strlen("azurite");

    return *suffix == '\0' || strcmp(suffix, suffixes[index]) == 0;
}

static const char *const azurite_titles[TV_SERVED_COUNT] = {
    [TV_SERVED_BLOB] = "Blob", [TV_SERVED_QUEUE] = "Queue", [TV_SERVED_TABLE] = "Table"};

static void print_azurite_ready(const tv_server *server)
{
    const int asked[TV_SERVED_COUNT] = {[TV_SERVED_BLOB] = server->config.blob_port,
                                        [TV_SERVED_QUEUE] = server->config.queue_port,
                                        [TV_SERVED_TABLE] = server->config.table_port};

    for (int i = 0; i < TV_SERVED_COUNT; i++) {
        const tv_served *service = &server->served[i];
        char url[sizeof service->url];

        if (!is_in_banner(&server->config, i))
            continue;
        tv_server_write_url(server, service, asked[i], url, sizeof url);
        printf("Azurite %s service is starting at %s\n", azurite_titles[i], url);
        printf("Azurite %s service is successfully listening at %s\n", azurite_titles[i],
               service->url);
    }
    fflush(stdout);
}

static void print_azurite_end(const tv_config *config, const char *what)
{
    for (int i = 0; i < TV_SERVED_COUNT; i++) {
        if (is_in_banner(config, i))
            printf("Azurite %s service %s\n", azurite_titles[i], what);
    }
    fflush(stdout);
}

void tv_server_print_stopping(const tv_config *config)
{
    if (speaks_as_azurite(config))
        print_azurite_end(config, "is closing...");
}

void tv_server_print_stopped(const tv_config *config)
{
    if (speaks_as_azurite(config))
        print_azurite_end(config, "successfully closed");
}

int tv_server_print_failure(const tv_config *config, const char *problem)
{
    if (speaks_as_azurite(config)) {
        fprintf(stderr, "Exit due to unhandled error: %s\n", problem);
        return TV_EXIT_AS_AZURITE;
    }
    fprintf(stderr, "tavolad: %s\n", problem);
    return TV_EXIT_USAGE;
}

/* --- our own --- */

static void print_tavola_ready(tv_server *server)
{
    const tv_config *config = &server->config;
    const tv_account *account = &server->accounts->list[0];
    const char *scheme = server->tls ? "https" : "http";
    char admin_host[80];

    tv_server_bracket_host(config->admin_host, admin_host, sizeof admin_host);
    printf("Tavola %s\n\n", TV_VERSION);
    for (int i = 0; i < TV_SERVED_COUNT; i++)
        printf("  %-8s %s/%s\n", server->served[i].title, server->served[i].url, account->name);
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
    for (int i = 0; i < TV_SERVED_COUNT; i++)
        printf("%s=%s/%s;", server->served[i].key, server->served[i].url, account->name);
    printf("\n");

    bool is_simple = account->is_development && is_where_emulators_are(server);

    if (is_simple)
        printf("or simply: UseDevelopmentStorage=true\n");
    print_whose_key_it_is(config, account);
    printf("\n");
    print_tool(is_simple);
    printf("Ctrl-C ends it.\n");
    fflush(stdout);
}

void tv_server_print_ready(tv_server *server)
{
    if (speaks_as_azurite(&server->config))
        print_azurite_ready(server);
    else
        print_tavola_ready(server);
}
