/* The table of flags and how it is read. */
#include "server/main/config.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/number.h"
#include "insight/watch/trace.h"

typedef enum option_kind { TEXT, NUMBER, SWITCH } option_kind;

typedef struct flag_spec {
    const char *name;
    option_kind kind;
    size_t offset; /* of its field in tv_config */
    int min, max;  /* of a number */
    const char *argument, *help;
} flag_spec;

#define FIELD(name) offsetof(tv_config, name)

static const flag_spec options[] = {
    {"data", TEXT, FIELD(data), 0, 0, "DIR", "where everything is stored (./data)"},
    {"host", TEXT, FIELD(host), 0, 0, "ADDR",
     "address of the services (127.0.0.1); localhost: ::1, too"},
    {"table-host", TEXT, FIELD(table_host), 0, 0, "ADDR", "of the table service alone (--host)"},
    {"queue-host", TEXT, FIELD(queue_host), 0, 0, "ADDR", "of the queue service alone (--host)"},
    {"blob-host", TEXT, FIELD(blob_host), 0, 0, "ADDR", "of the blob service alone (--host)"},
    {"table-port", NUMBER, FIELD(table_port), 0, 65535, "N", "table service (10002)"},
    {"queue-port", NUMBER, FIELD(queue_port), 0, 65535, "N", "queue service (10001)"},
    {"blob-port", NUMBER, FIELD(blob_port), 0, 65535, "N", "blob service (10000)"},
    {"admin-port", NUMBER, FIELD(admin_port), 0, 65535, "N", "health and metrics (10003)"},
    {"any-admin-port", SWITCH, FIELD(any_admin_port), 0, 0, NULL,
     "a free one when --admin-port is taken"},
    {"admin-host", TEXT, FIELD(admin_host), 0, 0, "ADDR",
     "address of the admin port (127.0.0.1); localhost: ::1, too"},
    {"admin-name", TEXT, FIELD(admin_name), 0, 0, "NAME",
     "a host name with dots that the admin port answers to, besides addresses"},
    {"threads", NUMBER, FIELD(threads), 0, 256, "N", "network threads (0: one per core)"},
    {"max-connections", NUMBER, FIELD(max_connections), 1, 1000000, "N",
     "connections per port; above it idle ones are closed for new ones, which\n"
     "                            wait when there is none (10000, and no more than the limit\n"
     "                            of open files leaves room for)"},
    {"max-per-address", NUMBER, FIELD(max_per_address), 0, 1000000, "N",
     "of those, from one address (0: half of them, and no fewer than 256)"},
    {"query-timeout-ms", NUMBER, FIELD(query_timeout_ms), 1, 3600000, "N",
     "a page of a query ends after this, with a token to go on (5000)"},
    {"accounts", TEXT, FIELD(accounts), 0, 0, "FILE",
     "accounts, a line each: name:key1[:key2] [targets=...]; without it AZURITE_ACCOUNTS\n"
     "                            (name:key1[:key2];...), else the development account"},
    {"allow-dev-account", SWITCH, FIELD(allow_dev_account), 0, 0, NULL,
     "accept the well-known development key from other machines too"},
    {"engine", TEXT, FIELD(engine), 0, 0, "NAME",
     "rocksdb; rados, a pool of a Ceph cluster that many servers share; or\n"
     "                            memory, which keeps nothing (rocksdb)"},
    {"ceph-conf", TEXT, FIELD(ceph_conf), 0, 0, "FILE", "with rados: the cluster's ceph.conf"},
    {"pool", TEXT, FIELD(pool), 0, 0, "NAME", "with rados: the pool, a replicated one"},
    {"ceph-user", TEXT, FIELD(ceph_user), 0, 0, "NAME",
     "with rados: whom to connect as, client.NAME (admin)"},
    {"pool-reserve-percent", NUMBER, FIELD(pool_reserve_percent), 0, 90, "N",
     "with rados: refuse writes except deletes when less of it is free (10)"},
    {"watch", TEXT, FIELD(watch), 0, 0, "off|on|all",
     "record what is asked of tables, for advice; all: every key of it (on)"},
    {"watch-memory-mb", NUMBER, FIELD(watch_memory_mb), 8, 1024, "N",
     "scales how many tables and kinds of queries are kept apart (64)"},
    {"trace", TEXT, FIELD(trace), 0, 0, "FILE",
     "write a line of JSON for each request about entities: tavola lint --trace"},
    {"trace-values", TEXT, FIELD(trace_values), 0, 0, "shape|hash|full",
     "how values and keys stand there: not at all, as hashes, or in clear (hash)"},
    {"trace-names", TEXT, FIELD(trace_names), 0, 0, "clear|hash",
     "how names of tables and properties stand there (clear)"},
    {"watch-clock", TEXT, FIELD(watch_clock), 0, 0, "manual",
     "for tests, with --test-points: its time is moved by POST /clock"},
    {"test-points", SWITCH, FIELD(test_points), 0, 0, NULL,
     "for tests: POST /cluster/point stops this server in the middle of things,\n"
     "                            POST /clock moves its time"},
    {"test-values", TEXT, FIELD(test_values), 0, 0, "NAME=N,...",
     "for tests, with --test-points: pretend these, see docs/cluster-tests.md"},
    {"cache-mb", NUMBER, FIELD(cache_mb), 1, 1048576, "N",
     "block cache of the engine (an eighth of the memory, from 64 to 1024)"},
    {"memory-mb", NUMBER, FIELD(memory_mb), 64, 1048576, "N",
     "what requests may hold together; more are refused with 503 (an eighth\n"
     "                            of the memory, from 64 to 1024)"},
    {"disk-reserve-mb", NUMBER, FIELD(disk_reserve_mb), 0, 1048576, "N",
     "refuse writes except deletes when less disk is free (512)"},
    {"drop-damaged-log", SWITCH, FIELD(drop_damaged_log), 0, 0, NULL,
     "start once although the log is damaged: what follows the damage is\n"
     "                            dropped, and the server's log says how much that was"},
    {"no-explorer", SWITCH, FIELD(no_explorer), 0, 0, NULL,
     "do not serve the page on the admin port"},
    {"no-sweep", SWITCH, FIELD(no_sweep), 0, 0, NULL,
     "remove no data of blobs that no row refers to; the log says how much\n"
     "                            there is"},
    {"emulate-targets", SWITCH, FIELD(emulate_targets), 0, 0, NULL,
     "keep Azure's scalability targets: refuse with 503 what is above them"},
    {"emulate-examined", NUMBER, FIELD(emulate_examined), 0, 1000000, "N",
     "with targets: so many entities that a query examines count as one that\n"
     "                            it returns (0: they do not count)"},
    {"emulate-retry-after", TEXT, FIELD(emulate_retry_after), 0, 0, "on|off",
     "with targets: whether a refusal has Retry-After (on)"},
    {"cert", TEXT, FIELD(cert), 0, 0, "FILE",
     "certificate chain (PEM), with --key: serve HTTPS too; or both in one PKCS#12\n"
     "                            file (.pfx), whose password is in TAVOLA_CERT_PASSWORD"},
    {"key", TEXT, FIELD(key), 0, 0, "FILE", "its private key (PEM)"},
    {"https-only", SWITCH, FIELD(https_only), 0, 0, NULL,
     "refuse plain HTTP, which is served on the same port otherwise"},
    {"path-style", SWITCH, FIELD(path_style), 0, 0, NULL,
     "the account is in the path, whatever the host is called"},
    {"access-log", SWITCH, FIELD(access_log), 0, 0, NULL, "log every request"},
    {"log-level", TEXT, FIELD(log_level), 0, 0, "L", "debug, info, warn, error or off (info)"},
    {"log-file", TEXT, FIELD(log_file), 0, 0, "FILE", "log there (standard error)"},
    {"banner", TEXT, FIELD(banner), 0, 0, "NAME",
     "what is printed at start and end: tavola; azurite, the lines of Azurite, or\n"
     "                            azurite-blob, -queue, -table (tavola)"},
    {"verify", SWITCH, FIELD(verify), 0, 0, NULL,
     "read all of a store that no server has open and compare it with itself;\n"
     "                            changes nothing; exit code 0, or 3 when something is damaged"},
    {"health", SWITCH, FIELD(health), 0, 0, NULL,
     "ask the server at --admin-host and --admin-port whether it can serve\n"
     "                            clients; exit code 0, or 1"},
    {"operations", SWITCH, FIELD(operations), 0, 0, NULL,
     "list the operations and what each of them needs of a SAS"},
    {"help", SWITCH, FIELD(help), 0, 0, NULL, "this text"},
    {"version", SWITCH, FIELD(version), 0, 0, NULL, "the version"},
};

enum { OPTION_COUNT = sizeof options / sizeof *options };

static const tv_config defaults = {
    .data = "./data",
    .host = "127.0.0.1",
    .admin_host = "127.0.0.1",
    .table_port = 10002,
    .queue_port = 10001,
    .blob_port = 10000,
    .admin_port = 10003,
    .engine = "rocksdb",
    .log_level = "info",
    .banner = "tavola",
    .query_timeout_ms = 5000,
    .emulate_retry_after = "on",
    .disk_reserve_mb = 512,
    .pool_reserve_percent = 10,
    .watch = "on",
    .watch_memory_mb = 64,
    .trace_values = "hash",
    .trace_names = "clear",
};

static bool set_option(tv_config *config, const flag_spec *option, const char *source,
                       const char *value, char *reterr_text, size_t reterr_size)
{
    void *field = (char *)config + option->offset;
    int32_t number;

    switch (option->kind) {
    case TEXT:
        if (value[0] == '\0') {
            snprintf(reterr_text, reterr_size, "%s needs a value", source);
            return false;
        }
        *(const char **)field = value;
        return true;
    case NUMBER:
        if (!tv_parse_int32(tv_slice_of(value), &number) || number < option->min ||
            number > option->max) {
            snprintf(reterr_text, reterr_size, "%s takes a number from %d to %d, not '%.40s'",
                     source, option->min, option->max, value);
            return false;
        }
        *(int *)field = number;
        return true;
    case SWITCH:
        *(bool *)field = strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
        if (*(bool *)field || strcmp(value, "0") == 0 || strcmp(value, "false") == 0)
            return true;
        snprintf(reterr_text, reterr_size, "%s takes 1, true, 0 or false, not '%.40s'", source,
                 value);
        return false;
    }
    return false;
}

/* "table-port" -> "TAVOLA_TABLE_PORT" */
static void environment_name(const char *name, char *ret_name, size_t size)
{
    int len = snprintf(ret_name, size, "TAVOLA_%s", name);

    tv_assert(len > 0 && (size_t)len < size);
    for (char *c = ret_name; *c; c++) {
        if (*c == '-')
            *c = '_';
        else if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 32);
    }
}

/* Whether it asks for a text instead of a server. */
static bool is_question(const flag_spec *option)
{
    return option->offset == FIELD(verify) || option->offset == FIELD(health) ||
           option->offset == FIELD(operations) || option->offset == FIELD(help) ||
           option->offset == FIELD(version);
}

static bool read_environment(tv_config *config, char *reterr_text, size_t reterr_size)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        char name[64];

        if (is_question(&options[i]))
            continue;
        environment_name(options[i].name, name, sizeof name);

        const char *value = getenv(name);

        if (value && value[0] &&
            !set_option(config, &options[i], name, value, reterr_text, reterr_size))
            return false;
    }
    return true;
}

static const flag_spec *find_option(const char *name, size_t len)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (strlen(options[i].name) == len && memcmp(options[i].name, name, len) == 0)
            return &options[i];
    }
    return NULL;
}

/* --name value, --name=value, or --name for a switch. */
static bool read_flags(tv_config *config, int argc, char **argv, char *reterr_text,
                       size_t reterr_size)
{
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i];
        const char *equals = strchr(flag, '=');
        size_t len = equals ? (size_t)(equals - flag) : strlen(flag);
        const flag_spec *option =
            len > 2 && flag[0] == '-' && flag[1] == '-' ? find_option(flag + 2, len - 2) : NULL;
        const char *value = equals ? equals + 1 : "1";
        char source[64];

        if (option == NULL) {
            snprintf(reterr_text, reterr_size, "unknown flag '%.60s'; --help lists them", flag);
            return false;
        }
        snprintf(source, sizeof source, "--%s", option->name);
        if (option->kind != SWITCH && equals == NULL) {
            if (++i == argc) {
                snprintf(reterr_text, reterr_size, "%s needs a value", source);
                return false;
            }
            value = argv[i];
        }
        if (!set_option(config, option, source, value, reterr_text, reterr_size))
            return false;
    }
    return true;
}

/* An IP address, or "localhost", which is two: who has but one of them leaves the other, and the
 * clients that try it first, to any user of the machine. */
static bool check_host(const char **host, const char **ret_too, const char *source,
                       char *reterr_text, size_t reterr_size)
{
    unsigned char address[sizeof(struct in6_addr)];

    if (strcmp(*host, "localhost") == 0) {
        *host = "127.0.0.1";
        *ret_too = "::1";
    }
    if (inet_pton(AF_INET, *host, address) == 1 || inet_pton(AF_INET6, *host, address) == 1)
        return true;

    snprintf(reterr_text, reterr_size, "%s takes an IP address, not '%.60s'", source, *host);
    return false;
}

/* Services are where --host says, but for those that have an address of their own. */
static bool check_hosts(tv_config *config, char *reterr_text, size_t reterr_size)
{
    const struct {
        const char **host, **too, *source;
    } rows[] = {
        {&config->host, &config->host_too, "--host"},
        {&config->table_host, &config->table_host_too, "--table-host"},
        {&config->queue_host, &config->queue_host_too, "--queue-host"},
        {&config->blob_host, &config->blob_host_too, "--blob-host"},
        {&config->admin_host, &config->admin_host_too, "--admin-host"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (*rows[i].host == NULL) {
            *rows[i].host = config->host;
            *rows[i].too = config->host_too;
        } else if (!check_host(rows[i].host, rows[i].too, rows[i].source, reterr_text,
                               reterr_size)) {
            return false;
        }
    }
    return true;
}

static bool check_banner(const tv_config *config, char *reterr_text, size_t reterr_size)
{
    static const char *const names[] = {"tavola", "azurite", "azurite-blob", "azurite-queue",
                                        "azurite-table"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(config->banner, names[i]) == 0)
            return true;
    }
    snprintf(reterr_text, reterr_size, "--banner does not know '%.40s'; --help lists what it knows",
             config->banner);
    return false;
}

static bool check_engine(const tv_config *config, char *reterr_text, size_t reterr_size)
{
    bool is_rados = strcmp(config->engine, "rados") == 0;

    if (!is_rados && strcmp(config->engine, "rocksdb") != 0 &&
        strcmp(config->engine, "memory") != 0) {
        snprintf(reterr_text, reterr_size, "--engine is rocksdb, rados or memory, not '%.40s'",
                 config->engine);
        return false;
    }
    if (is_rados && (config->ceph_conf == NULL || config->pool == NULL)) {
        snprintf(reterr_text, reterr_size, "--engine rados needs --ceph-conf and --pool");
        return false;
    }
    return true;
}

/* "clock-ms=6000,level=2" */
static bool parse_test_values(tv_config *config, char *reterr_text, size_t reterr_size)
{
    static const struct {
        const char *name;
        size_t offset;
    } names[] = {
        {"clock-ms", offsetof(tv_test_values, clock_ms)},
        {"level", offsetof(tv_test_values, level)},
        {"dead-ms", offsetof(tv_test_values, dead_ms)},
        {"pace", offsetof(tv_test_values, pace)},
        {"stop-pool-ms", offsetof(tv_test_values, stop_pool_ms)},
        {"pool-ms", offsetof(tv_test_values, pool_ms)},
        {"sweep-gap-ms", offsetof(tv_test_values, sweep_gap_ms)},
        {"remove-delay-ms", offsetof(tv_test_values, remove_delay_ms)},
        {"analytics-ms", offsetof(tv_test_values, analytics_ms)},
        {"grace-ms", offsetof(tv_test_values, grace_ms)},
        {"queue-gc-ms", offsetof(tv_test_values, queue_gc_ms)},
        {"buffer-kb", offsetof(tv_test_values, buffer_kb)},
        {"silence-ms", offsetof(tv_test_values, silence_ms)},
        {"history-ms", offsetof(tv_test_values, history_ms)},
    };
    tv_slice rest = config->test_values ? tv_slice_of(config->test_values) : TV_NONE;

    if (rest.len && !config->test_points) {
        snprintf(reterr_text, reterr_size, "--test-values needs --test-points");
        return false;
    }
    while (rest.len) {
        tv_slice item = {rest.data, tv_slice_find(rest, ',')};
        tv_slice name = {item.data, tv_slice_find(item, '=')};
        int32_t number;
        size_t i = 0;

        while (i < sizeof names / sizeof *names && !tv_slice_eq(tv_slice_of(names[i].name), name))
            i++;
        if (i == sizeof names / sizeof *names || name.len == item.len ||
            !tv_parse_int32(tv_slice_skip(item, name.len + 1), &number)) {
            snprintf(reterr_text, reterr_size, "--test-values does not know '%.*s'",
                     (int)(item.len < 60 ? item.len : 60), item.data);
            return false;
        }
        *(int *)((char *)&config->test + names[i].offset) = number;
        rest = tv_slice_skip(rest, item.len < rest.len ? item.len + 1 : item.len);
    }
    return true;
}

static bool check_watch(const tv_config *config, char *reterr_text, size_t reterr_size)
{
    if (strcmp(config->watch, "off") != 0 && strcmp(config->watch, "on") != 0 &&
        strcmp(config->watch, "all") != 0) {
        snprintf(reterr_text, reterr_size, "--watch is off, on or all, not '%.40s'", config->watch);
        return false;
    }
    if (config->watch_clock && strcmp(config->watch_clock, "manual") != 0) {
        snprintf(reterr_text, reterr_size, "--watch-clock is manual, not '%.40s'",
                 config->watch_clock);
        return false;
    }
    if (config->watch_clock && !config->test_points) {
        snprintf(reterr_text, reterr_size, "--watch-clock needs --test-points");
        return false;
    }
    return true;
}

static bool check_trace(const tv_config *config, char *reterr_text, size_t reterr_size)
{
    tv_watch_trace_values values;
    size_t len = config->trace ? strlen(config->trace) : 0;

    if (!tv_watch_trace_values_parse(config->trace_values, &values))
        snprintf(reterr_text, reterr_size, "--trace-values is shape, hash or full, not '%.40s'",
                 config->trace_values);
    else if (strcmp(config->trace_names, "clear") != 0 && strcmp(config->trace_names, "hash") != 0)
        snprintf(reterr_text, reterr_size, "--trace-names is clear or hash, not '%.40s'",
                 config->trace_names);
    else if (config->trace && strcmp(config->watch, "off") == 0)
        snprintf(reterr_text, reterr_size, "--trace needs --watch=on or all");
    else if (len >= 3 && strcmp(config->trace + len - 3, ".gz") == 0)
        snprintf(reterr_text, reterr_size, "--trace is not packed: choose a name without .gz");
    else
        return true;
    return false;
}

bool tv_config_parse(tv_config *config, int argc, char **argv, char *reterr_text,
                     size_t reterr_size)
{
    *config = defaults;
    if (!read_environment(config, reterr_text, reterr_size) ||
        !read_flags(config, argc, argv, reterr_text, reterr_size))
        return false;

    if (!check_engine(config, reterr_text, reterr_size) ||
        !check_watch(config, reterr_text, reterr_size) ||
        !check_trace(config, reterr_text, reterr_size) ||
        !parse_test_values(config, reterr_text, reterr_size))
        return false;
    if (!check_hosts(config, reterr_text, reterr_size) ||
        !check_banner(config, reterr_text, reterr_size))
        return false;
    if (strcmp(config->emulate_retry_after, "on") != 0 &&
        strcmp(config->emulate_retry_after, "off") != 0) {
        snprintf(reterr_text, reterr_size, "--emulate-retry-after is on or off, not '%.40s'",
                 config->emulate_retry_after);
        return false;
    }
    config->cert_password = getenv("TAVOLA_CERT_PASSWORD");
    if (config->key && config->cert == NULL) {
        snprintf(reterr_text, reterr_size, "--key needs --cert");
        return false;
    }
    if (config->https_only && config->cert == NULL) {
        snprintf(reterr_text, reterr_size, "--https-only needs --cert");
        return false;
    }
    return true;
}

void tv_config_write(const tv_config *config, tv_buf *out)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const void *field = (const char *)config + options[i].offset;
        const char *text;

        if (is_question(&options[i]))
            continue;
        tv_buf_printf(out, "%s=", options[i].name);
        switch (options[i].kind) {
        case TEXT:
            text = *(const char *const *)field;
            tv_buf_add(out, text ? tv_slice_of(text) : TV_LIT(""));
            break;
        case NUMBER:
            tv_buf_printf(out, "%d", *(const int *)field);
            break;
        case SWITCH:
            tv_buf_printf(out, "%s", *(const bool *)field ? "true" : "false");
            break;
        }
        tv_buf_add_char(out, '\n');
    }
}

void tv_config_print_help(void)
{
    printf("tavolad " TV_VERSION
           ": the Azure Table, Queue and Blob services on your own machine\n\n"
           "usage: tavolad [flags]\n\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        char left[40];

        snprintf(left, sizeof left, "--%s %s", options[i].name,
                 options[i].argument ? options[i].argument : "");
        printf("  %-24s  %s\n", left, options[i].help);
    }
    printf("\nEvery flag but the last five is an environment variable too: --table-port is\n"
           "TAVOLA_TABLE_PORT.  SIGTERM and SIGINT end the server cleanly; SIGHUP makes it read\n"
           "accounts and certificate again.\n");
}
