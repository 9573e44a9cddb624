/*
 * What the operator says: flags, and environment variables of the same names
 * (--table-port is TAVOLA_TABLE_PORT).  Flags win.
 */
#ifndef TV_SERVER_MAIN_CONFIG_H
#define TV_SERVER_MAIN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/** What --test-values sets; 0 for what it does not name. */
typedef struct tv_test_values {
    int clock_ms;        /* this clock is ahead by so much, or behind */
    int level;           /* of the store, that this server is to understand */
    int dead_ms;         /* tv_nodes_options */
    int pace;            /* tv_cluster_hurry */
    int stop_pool_ms;    /* how long a stop waits for a pool that does not answer */
    int pool_ms;         /* how long a request waits for one */
    int sweep_gap_ms;    /* tv_extent_pool_times */
    int remove_delay_ms; /* likewise */
    int analytics_ms;    /* how often Storage Analytics writes, and deletes what is old */
    int grace_ms;        /* for requests under way when the server stops */
    int queue_gc_ms;     /* between two looks for messages that have expired */
    int buffer_kb;       /* of each write buffer of the store */
    int silence_ms;      /* how long a client may be silent inside of a request */
    int history_ms;      /* between two points of the metrics' history */
} tv_test_values;

typedef struct tv_config {
    const char *data;
    const char *host;
    const char *admin_host;
    const char *table_host, *queue_host, *blob_host; /* where they differ from `host` */
    const char *host_too, *admin_host_too; /* the other loopback address, of localhost; or NULL */
    const char *table_host_too, *queue_host_too, *blob_host_too;
    const char *admin_name;                /* or NULL */
    int table_port, queue_port, blob_port, admin_port;
    int threads;          /* network threads; 0: one per core */
    int max_connections;  /* per port, over all threads; 0: as many as files allow */
    int max_per_address;  /* of those, from one address; 0: half of them */
    const char *accounts; /* file, or NULL */
    const char *engine;
    const char *ceph_conf, *ceph_user, *pool; /* of --engine rados, or NULL */
    int pool_reserve_percent;
    const char *log_level;
    const char *log_file;   /* or NULL: standard error */
    const char *banner;     /* what is printed at start and end: see server.h */
    const char *cert, *key; /* PEM files, or NULL; a PKCS#12 file has no `key` */
    const char *cert_password; /* of that, from the environment alone */
    int query_timeout_ms;
    int disk_reserve_mb;
    int cache_mb;
    int memory_mb; /* for all that requests hold (base/budget.h); 0: by the machine's memory */
    bool emulate_targets;
    int emulate_examined;
    const char *emulate_retry_after; /* "on" or "off" */
    bool access_log;
    bool https_only;
    bool allow_dev_account;
    bool drop_damaged_log;
    bool path_style;
    bool any_admin_port; /* when --admin-port is taken */
    bool no_explorer;
    bool no_sweep;
    bool test_points;
    const char *test_values; /* or NULL */
    tv_test_values test;
    const char *watch; /* "off", "on" or "all" */
    int watch_memory_mb;
    const char *watch_clock;  /* "manual", or NULL */
    const char *trace;        /* a file, or NULL */
    const char *trace_values; /* "shape", "hash" or "full" */
    const char *trace_names;  /* "clear" or "hash" */
    bool help, version, operations, verify, health;
} tv_config;

/**
 * Read the environment, then the flags.  False with one line in `reterr_text`
 * that says what is wrong.  Strings stay those of argv and the environment.
 */
bool tv_config_parse(tv_config *config, int argc, char **argv, char *reterr_text,
                     size_t reterr_size);

/** All flags and their values, "name=value" and a line each; none of them is a secret. */
void tv_config_write(const tv_config *config, tv_buf *out);

/** The text of --help. */
void tv_config_print_help(void);

#endif
