/*
 * What the files of this folder that put a server together share: its parts, and a function for
 * each step of opening and stopping.  Nobody else includes it; others see `server/main/server.h`.
 *
 * `tv_server_open` calls the steps of each group in the order in which they stand here, on one
 * thread, before any loop runs.  A step that fails puts one line for the operator into
 * `reterr_text` and returns false; what it has opened by then is closed by `tv_server_stop`,
 * which takes a server that is opened as far as any step.
 */
#ifndef TV_SERVER_MAIN_PARTS_H
#define TV_SERVER_MAIN_PARTS_H

#include "insight/watch/trace.h"
#include "server/admin/admin.h"
#include "server/analytics/analytics.h"
#include "server/cluster/cluster.h"
#include "server/explorer/explorer.h"
#include "server/main/server.h"
#include "services/blob/gc.h"
#include "services/blob/service.h"
#include "services/queue/gc.h"
#include "services/queue/service.h"
#include "services/table/service.h"
#include "wire/http/listener.h"
#include "wire/net/tls.h"

enum {
    TV_COMMITTERS = 1, /* of an engine that one process has for itself */
    TV_LOOPS_MAX = 256,
    TV_ADMIN_CONNECTIONS_MAX = 32,
    TV_ADDRESSES_MAX = 2, /* on which a port is: localhost is two */
};

/* A service with its port, on which every loop listens, on each address. */
typedef struct tv_served {
    const char *title; /* "Tables" */
    const char *key;   /* in connection strings: "TableEndpoint" */
    const char *flag;  /* that names its port */
    tv_http_handler handler;
    const char *host, *host_too; /* of tv_config */
    int port;
    char url[120]; /* "http://127.0.0.1:10002", once the port is known */
    tv_listener *listeners[TV_ADDRESSES_MAX][TV_LOOPS_MAX];
} tv_served;

typedef enum tv_served_index {
    TV_SERVED_BLOB,
    TV_SERVED_QUEUE,
    TV_SERVED_TABLE,
    TV_SERVED_COUNT
} tv_served_index;

struct tv_server {
    tv_config config;
    tv_budget *budget;
    tv_targets *targets;
    tv_accounts *accounts;                /* those in use */
    struct tv_old_accounts *old_accounts; /* kept until the end: few and small */
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
    tv_recent *recent;
    tv_admin admin;
    tv_buf settings; /* for admin */
    tv_explorer explorer;
    tv_http_handler explorer_handler;
    tv_served served[TV_SERVED_COUNT];
    tv_http_handler admin_handler;
    tv_http_limits limits, admin_limits;
    int loop_count;
    int engine_files;
    bool is_running;
    tv_loop *loops[TV_LOOPS_MAX];
    tv_outbox *outboxes[TV_LOOPS_MAX];
    tv_listener *admin_listeners[TV_ADDRESSES_MAX];
    int admin_port;
};

/* --- who may come, and how: access.c --- */

/** Read the accounts and use them from now on.  False, and nothing changed, on an error. */
bool tv_server_open_accounts(tv_server *server, char *reterr_text, size_t reterr_size);

/** Those in use and those that were replaced; nobody looks at them any more. */
void tv_server_free_accounts(tv_server *server);

bool tv_server_open_tls(tv_server *server, char *reterr_text, size_t reterr_size);

/* --- where everything is kept: store.c --- */

bool tv_server_open_engine(tv_server *server, char *reterr_text, size_t reterr_size);

/** Time goes on from where the store's last writer was. */
bool tv_server_load_time(tv_server *server, char *reterr_text, size_t reterr_size);

/** The data of blobs: next to the rows, or in a temporary folder when the server keeps nothing. */
bool tv_server_open_extents(tv_server *server, char *reterr_text, size_t reterr_size);

/** A server that keeps nothing has nothing to back up, nor has one whose store is a cluster's. */
bool tv_server_open_backup(tv_server *server, char *reterr_text, size_t reterr_size);

/* --- what it does: services.c, and records.c for what it keeps of that --- */

bool tv_server_open_services(tv_server *server, char *reterr_text, size_t reterr_size);

/** The counts of tables, which the committers keep. */
bool tv_server_open_facts(tv_server *server, char *reterr_text, size_t reterr_size);

/** Who records what is asked of tables; its thread starts with the loops. */
bool tv_server_open_advisor(tv_server *server, char *reterr_text, size_t reterr_size);

/* --- how it is reached: network.c --- */

/** How many network threads the flags or the machine ask for. */
int tv_server_loops_wanted(const tv_config *config);

/**
 * Before all else: divide the files that the system lets us open.  The engine has its share
 * before the clients: a client that finds none left waits, but a log that
 * cannot be opened ends all writing until a restart.  False with one line when they are too few
 * for a start.
 */
bool tv_server_share_files(tv_server *server, char *reterr_text, size_t reterr_size);

void tv_server_open_loops(tv_server *server);

/** Ports of 0 are known afterwards. */
bool tv_server_open_listeners(tv_server *server, char *reterr_text, size_t reterr_size);

/** Last of all, so that a start that fails leaves none; the engine holds the folder's lock. */
bool tv_server_open_token(tv_server *server, char *reterr_text, size_t reterr_size);

/** The page, once the ports are known; no loop runs yet. */
void tv_server_open_explorer(tv_server *server);

/** Listeners and connections go first, while everything that they wait for still works. */
void tv_server_stop_network(tv_server *server, int grace_ms);

/** An address as it appears in a URL. */
void tv_server_bracket_host(const char *host, char *ret_text, size_t size);

/** Where a service is, or would be on another port. */
void tv_server_write_url(const tv_server *server, const tv_served *service, int port,
                         char *ret_url, size_t size);

#endif
