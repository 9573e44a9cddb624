/* The chores of a node, and what they share. */
#include "cluster/cluster.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/random.h"
#include "engine/rados/route.h"

enum {
    FOLLOW_MS = 2000,
    FIND_ACCOUNTS_EVERY = 8, /* of the looks: accounts are rarely new */
    BEAT_SPREAD_MS = 2000,
};

#define FOLLOW "tv-follow"

struct tv_cluster {
    tv_pool *pool;
    tv_nodes *nodes;
    tv_leader leader;
    tv_chores *chores;
    tv_chore list[TV_CLUSTER_CHORES_MAX];
    size_t chore_count;
    int look;              /* of the thread that follows */
    pthread_rwlock_t lock; /* guards what follows; held for reading while they are read again */
    tv_catalog *catalogs[TV_CLUSTER_CATALOGS_MAX];
    size_t catalog_count;
    bool is_stopped;
    atomic_bool refuses_writes;
    atomic_bool is_shut_out;
    bool is_started;
};

tv_err tv_cluster_join(tv_pool *pool, tv_slice version, tv_slice http, tv_cluster **ret_cluster)
{
    tv_cluster *cluster = tv_calloc(1, sizeof *cluster);
    tv_err err = tv_nodes_join(
        &(tv_nodes_options){
            .pool = pool, .http = http, .version = version, .level = TV_ROUTE_LEVEL},
        &cluster->nodes);

    if (err) {
        free(cluster);
        return err;
    }
    cluster->pool = pool;
    tv_assert(pthread_rwlock_init(&cluster->lock, NULL) == 0);
    tv_leader_init(&cluster->leader, pool, tv_nodes_name(cluster->nodes).data);
    *ret_cluster = cluster;
    return TV_OK;
}

void tv_cluster_add_chore(tv_cluster *cluster, const tv_chore *chore)
{
    tv_assert(cluster->chore_count < TV_CLUSTER_CHORES_MAX && !cluster->is_started);
    cluster->list[cluster->chore_count++] = *chore;
}

static void tell_others(void *ctx)
{
    tv_cluster *cluster = ctx;

    cluster->pool->ops->notify(cluster->pool, TV_CLUSTER_CATALOG_OBJECT);
}

tv_err tv_cluster_add_catalog(tv_cluster *cluster, tv_catalog *catalog)
{
    tv_catalog_tell(catalog, tell_others, cluster);
    tv_catalog_lead(catalog, &cluster->leader.lead);
    pthread_rwlock_wrlock(&cluster->lock);
    tv_assert(cluster->catalog_count < TV_CLUSTER_CATALOGS_MAX);
    cluster->catalogs[cluster->catalog_count++] = catalog;
    pthread_rwlock_unlock(&cluster->lock);

    /* What was dropped while it was being opened, nobody has told it. */
    return tv_catalog_reload_dropped(catalog);
}

tv_err tv_cluster_reload_dropped(void *ctx)
{
    tv_cluster *cluster = ctx;
    tv_err err;

    pthread_rwlock_rdlock(&cluster->lock);
    err = cluster->is_stopped ? TV_ERR_STOPPED : TV_OK;
    for (size_t i = 0; i < cluster->catalog_count && err == TV_OK; i++)
        err = tv_catalog_reload_dropped(cluster->catalogs[i]);
    pthread_rwlock_unlock(&cluster->lock);
    return err;
}

/* --- chores --- */

/* At random times, so that clocks can be compared: see nodes.c. */
static tv_err beat(void *ctx, const tv_background *thread)
{
    tv_cluster *cluster = ctx;
    tv_err err;

    tv_background_sleep((tv_background *)thread, (int)(tv_random_u64() % BEAT_SPREAD_MS));
    err = tv_nodes_beat(cluster->nodes);
    atomic_store(&cluster->is_shut_out, err == TV_ERR_STOPPED);
    if (err)
        return err;

    atomic_store(&cluster->refuses_writes, tv_nodes_read_clock(cluster->nodes).refuses_writes);
    return tv_lead_is_here(&cluster->leader.lead) ? tv_nodes_bury(cluster->nodes, NULL) : TV_OK;
}

static tv_err lead(void *ctx, const tv_background *thread)
{
    (void)thread;
    tv_leader_run(&((tv_cluster *)ctx)->leader);
    return TV_OK;
}

static tv_err follow(void *ctx, const tv_background *thread)
{
    tv_cluster *cluster = ctx;
    bool finds_accounts = cluster->look++ % FIND_ACCOUNTS_EVERY == 0;
    tv_err err = TV_OK;

    /* All have been added before this thread was started, and are closed after its end. */
    for (size_t i = 0;
         i < cluster->catalog_count && err == TV_OK && !tv_background_is_stopping(thread); i++)
        err = tv_catalog_follow(cluster->catalogs[i], finds_accounts);
    return err;
}

/* On a thread of the pool's. */
static void on_notified(void *ctx)
{
    tv_chores_hurry(((tv_cluster *)ctx)->chores, FOLLOW);
}

void tv_cluster_start(tv_cluster *cluster)
{
    const tv_chore own[] = {
        {.name = "tv-beat",
         .interval_ms = TV_NODES_BEAT_MS - BEAT_SPREAD_MS,
         .on_every_node = true,
         .run = beat,
         .ctx = cluster},
        {.name = "tv-lead",
         .interval_ms = TV_LEADER_RENEW_MS,
         .on_every_node = true,
         .run = lead,
         .ctx = cluster},
        {.name = FOLLOW,
         .interval_ms = FOLLOW_MS,
         .on_every_node = true,
         .run = follow,
         .ctx = cluster},
    };

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        tv_cluster_add_chore(cluster, &own[i]);
    cluster->is_started = true;
    cluster->chores = tv_chores_start(&cluster->leader.lead, cluster->list, cluster->chore_count);
    tv_chores_hurry(cluster->chores, "tv-lead");

    /* Without notices it takes two seconds longer to hear of a change. */
    tv_err err =
        cluster->pool->ops->watch(cluster->pool, TV_CLUSTER_CATALOG_OBJECT, on_notified, cluster);

    if (err)
        tv_log(TV_LOG_WARN, "watch", "object=%s error=%s", TV_CLUSTER_CATALOG_OBJECT,
               tv_err_name(err));
}

void tv_cluster_stop(tv_cluster *cluster)
{
    if (cluster == NULL)
        return;

    tv_chores_stop(cluster->chores);
    tv_leader_resign(&cluster->leader);
    pthread_rwlock_wrlock(&cluster->lock);
    cluster->is_stopped = true;
    pthread_rwlock_unlock(&cluster->lock);
}

void tv_cluster_leave(tv_cluster *cluster)
{
    if (cluster == NULL)
        return;

    tv_nodes_leave(cluster->nodes);
    cluster->nodes = NULL;
}

void tv_cluster_free(tv_cluster *cluster)
{
    if (cluster == NULL)
        return;

    tv_nodes_abandon(cluster->nodes);
    tv_chores_free(cluster->chores);
    pthread_rwlock_destroy(&cluster->lock);
    free(cluster);
}

/* --- what others ask --- */

tv_nodes *tv_cluster_nodes(tv_cluster *cluster)
{
    return cluster->nodes;
}

const tv_lead *tv_cluster_lead(const tv_cluster *cluster)
{
    return &cluster->leader.lead;
}

const atomic_bool *tv_cluster_refuses_writes(const tv_cluster *cluster)
{
    return &cluster->refuses_writes;
}

bool tv_cluster_check(void *ctx, tv_buf *out)
{
    tv_cluster *cluster = ctx;

    if (atomic_load(&cluster->is_shut_out)) {
        tv_buf_add_lit(out, "unhealthy: the cluster took this server for dead and shut it out\n");
        return false;
    }
    if (atomic_load(&cluster->refuses_writes)) {
        tv_buf_printf(out, "unhealthy: this server's clock is %lld ms ahead of the others'\n",
                      (long long)tv_nodes_read_clock(cluster->nodes).skew_ms);
        return false;
    }
    return true;
}

void tv_cluster_write_metrics(void *ctx, tv_buf *out)
{
    tv_cluster *cluster = ctx;
    size_t live = 0;
    tv_cluster_node *list;
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0, count = tv_nodes_list(cluster->nodes, &arena, &list); i < count; i++)
        live += !list[i].is_dead;
    tv_arena_done(&arena);
    tv_buf_printf(out,
                  "# HELP tavola_cluster_leader 1 when this node leads.\n"
                  "# TYPE tavola_cluster_leader gauge\n"
                  "tavola_cluster_leader %d\n"
                  "# HELP tavola_cluster_nodes Nodes that are alive.\n"
                  "# TYPE tavola_cluster_nodes gauge\n"
                  "tavola_cluster_nodes %zu\n"
                  "# HELP tavola_clock_skew_ms How far this clock is ahead of the nodes' median.\n"
                  "# TYPE tavola_clock_skew_ms gauge\n"
                  "tavola_clock_skew_ms %lld\n",
                  tv_lead_is_here(&cluster->leader.lead), live,
                  (long long)tv_nodes_read_clock(cluster->nodes).skew_ms);
}
