/* The chores of a node, and what they share. */
#include "server/cluster/cluster.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/point.h"
#include "base/random.h"
#include "server/cluster/stats.h"
#include "store/engine/rados/route.h"

enum {
    FOLLOW_MS = 2000,
    FIND_ACCOUNTS_EVERY = 8, /* of the looks: accounts are rarely new */
    BEAT_SPREAD_MS = 2000,
    NAMES_MAX = 50 * 1000, /* of containers: with more, those who look at ranges see ids */
};

#define FOLLOW "tv-follow"

struct tv_cluster {
    tv_pool *pool;
    tv_nodes *nodes;
    tv_leader leader;
    tv_balancer *balancer;
    void (*on_death)(void *ctx);
    void *on_death_ctx;
    tv_chores *chores;
    tv_chore list[TV_CLUSTER_CHORES_MAX];
    size_t chore_count;
    int64_t level;         /* of the store, for the thread that beats; 0: not known */
    int look;              /* of the thread that follows */
    pthread_rwlock_t lock; /* guards what follows; held for reading while they are read again */
    tv_catalog *catalogs[TV_CLUSTER_CATALOGS_MAX];
    size_t catalog_count;
    bool is_stopped;
    atomic_bool refuses_writes;
    atomic_bool is_shut_out;
    bool is_started;
    int pace; /* from 1 on */
};

tv_err tv_cluster_join(const tv_nodes_options *options, tv_cluster **ret_cluster)
{
    tv_cluster *cluster = tv_calloc(1, sizeof *cluster);
    tv_pool *pool = options->pool;
    tv_nodes_options known = *options;
    tv_err err;

    if (known.level == 0)
        known.level = TV_ROUTE_LEVEL;
    err = tv_nodes_join(&known, &cluster->nodes);
    if (err) {
        free(cluster);
        return err;
    }
    cluster->pool = pool;
    atomic_store(&cluster->refuses_writes, tv_nodes_read_clock(cluster->nodes).refuses_writes);
    tv_assert(pthread_rwlock_init(&cluster->lock, NULL) == 0);
    tv_leader_init(&cluster->leader, pool, tv_nodes_name(cluster->nodes).data);
    cluster->pace = 1;
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

/* What dead nodes have said of their load would be taken for load. */
static void remove_stats_of_dead(tv_cluster *cluster)
{
    tv_cluster_node *list;
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0, count = tv_nodes_list(cluster->nodes, &arena, &list); i < count; i++) {
        tv_slice name = tv_arena_printf(&arena, "%lld", (long long)list[i].incarnation);

        if (list[i].is_dead)
            (void)!tv_stats_remove(cluster->pool, name); /* the next death tries again */
    }
    tv_arena_done(&arena);
}

static tv_err bury(tv_cluster *cluster)
{
    size_t died;
    tv_err err = tv_nodes_bury(cluster->nodes, &died);

    if (died == 0)
        return err;

    remove_stats_of_dead(cluster);
    if (cluster->on_death)
        cluster->on_death(cluster->on_death_ctx);
    return err;
}

/* The store may use what all nodes understand.  Rarely anything to do: after an upgrade. */
static tv_err raise_level(tv_cluster *cluster)
{
    int64_t common = tv_nodes_common_level(cluster->nodes);
    tv_err err = tv_point("level.look");

    if (err == TV_OK && cluster->level == 0) {
        tv_routes routes;

        err = tv_routes_load_version(cluster->pool, &routes);
        if (err == TV_OK)
            cluster->level = routes.level;
    }
    if (err || common <= cluster->level)
        return err;

    err = tv_nodes_require_level(cluster->nodes, common);
    if (err == TV_OK)
        err = tv_route_raise_level(cluster->pool, common);
    if (err)
        return err == TV_ERR_OVERLOADED ? TV_OK : err; /* an older node has just joined */

    tv_log(TV_LOG_INFO, "level", "from=%lld to=%lld note=\"all nodes understand it\"",
           (long long)cluster->level, (long long)common);
    cluster->level = common;
    return TV_OK;
}

static tv_err look_after_nodes(tv_cluster *cluster)
{
    tv_err err = bury(cluster);

    return err ? err : raise_level(cluster);
}

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
    return tv_lead_is_here(&cluster->leader.lead) ? look_after_nodes(cluster) : TV_OK;
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
    tv_err err = tv_point("follow");

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

/* --- what the balancer asks --- */

static bool is_leader(void *ctx)
{
    return tv_lead_is_here(&((tv_cluster *)ctx)->leader.lead);
}

static size_t live_nodes(void *ctx, tv_arena *arena, tv_slice **ret_incarnations)
{
    tv_cluster *cluster = ctx;
    tv_cluster_node *list;
    size_t count = tv_nodes_list(cluster->nodes, arena, &list), live = 0;

    *ret_incarnations = tv_arena_alloc(arena, (count + 1) * sizeof **ret_incarnations);
    for (size_t i = 0; i < count; i++) {
        if (!list[i].is_dead)
            (*ret_incarnations)[live++] =
                tv_arena_printf(arena, "%lld", (long long)list[i].incarnation);
    }
    return live;
}

static void describe_nodes(void *ctx, tv_buf *out)
{
    tv_nodes_add_json(((tv_cluster *)ctx)->nodes, out);
}

typedef struct name_list {
    tv_arena *arena;
    tv_balancer_name *names;
    size_t count, size;
} name_list;

static void add_name(void *ctx, const tv_container *container)
{
    name_list *list = ctx;

    if (list->count == list->size)
        return; /* it has come since they were counted */
    list->names[list->count++] = (tv_balancer_name){
        tv_arena_dup(list->arena, container->prefix),
        tv_arena_printf(list->arena, "%.*s/%.*s", TV_FMT(container->account),
                        TV_FMT(container->name)),
    };
}

static size_t list_names(void *ctx, tv_arena *arena, tv_balancer_name **ret_names)
{
    tv_cluster *cluster = ctx;
    name_list list = {.arena = arena};

    /* The balancer ends before the catalogues are closed. */
    for (size_t i = 0; i < cluster->catalog_count; i++)
        list.size += tv_catalog_count(cluster->catalogs[i]);
    if (list.size > NAMES_MAX)
        return 0;
    list.names = tv_arena_alloc(arena, (list.size + 1) * sizeof *list.names);
    for (size_t i = 0; i < cluster->catalog_count; i++)
        tv_catalog_visit(cluster->catalogs[i], add_name, &list);
    *ret_names = list.names;
    return list.count;
}

/* --- start and stop --- */

void tv_cluster_on_death(tv_cluster *cluster, void (*fn)(void *ctx), void *ctx)
{
    tv_assert(!cluster->is_started);
    cluster->on_death = fn;
    cluster->on_death_ctx = ctx;
}

void tv_cluster_hurry(tv_cluster *cluster, int pace)
{
    tv_assert(!cluster->is_started);
    cluster->pace = pace > 1 ? pace : 1;
    cluster->leader.pace = cluster->pace;
}

void tv_cluster_start(tv_cluster *cluster, tv_maps *maps)
{
    const tv_chore own[] = {
        {.name = "tv-beat",
         .interval_ms = TV_NODES_BEAT_MS - BEAT_SPREAD_MS,
         .on_every_node = true,
         .run = beat,
         .ctx = cluster},
        {.name = "tv-lead",
         .interval_ms = TV_LEADER_RENEW_MS / cluster->pace,
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
    cluster->balancer = tv_balancer_new(&(tv_balancer_options){
        .pool = cluster->pool,
        .maps = maps,
        .incarnation = tv_nodes_name(cluster->nodes),
        .is_leader = is_leader,
        .live_nodes = live_nodes,
        .describe_nodes = describe_nodes,
        .list_names = list_names,
        .pace = cluster->pace,
        .ctx = cluster,
    });

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

    tv_balancer_free(cluster->balancer);
    cluster->balancer = NULL;
    (void)!tv_stats_remove(cluster->pool, tv_nodes_name(cluster->nodes)); /* or it is found dead */
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

uint64_t tv_cluster_boot(const tv_cluster *cluster)
{
    return (uint64_t)tv_nodes_incarnation(cluster->nodes);
}

tv_err tv_cluster_shut_out_boots(void *ctx, tv_arena *arena, tv_extent_boots *ret_boots)
{
    tv_cluster *cluster = ctx;
    size_t count;
    int64_t last;
    uint64_t *live;
    tv_err err = tv_nodes_settle(cluster->nodes, arena, &last, &live, &count);

    if (err)
        return err;

    *ret_boots = (tv_extent_boots){.live = live, .live_count = count, .last = (uint64_t)last};
    return TV_OK;
}

tv_balancer *tv_cluster_balancer(tv_cluster *cluster)
{
    return cluster->balancer;
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
        tv_buf_add_lit(out, "the cluster took this server for dead and shut it out");
        return false;
    }
    if (atomic_load(&cluster->refuses_writes)) {
        tv_buf_printf(out,
                      "this server's clock is %lld ms ahead of the others', so it takes no writes",
                      (long long)tv_nodes_read_clock(cluster->nodes).skew_ms);
        return false;
    }
    return true;
}

bool tv_cluster_check_rights(void *ctx, tv_buf *out)
{
    tv_cluster *cluster = ctx;
    char text[400];

    if (!tv_pool_lacks(cluster->pool, text, sizeof text))
        return true;
    tv_buf_add(out, tv_slice_of(text));
    return false;
}

void tv_cluster_write_rights(void *ctx, tv_buf *out)
{
    tv_cluster *cluster = ctx;
    char text[400];

    tv_metric_add(out, "ceph_caps_missing", "1 when the pool has refused this node a right.",
                  tv_pool_lacks(cluster->pool, text, sizeof text));
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
    tv_metric_add(out, "cluster_leader", "1 when this node leads.",
                  tv_lead_is_here(&cluster->leader.lead));
    tv_metric_add(out, "cluster_nodes", "Nodes that are alive.", (double)live);
    tv_metric_add(out, "clock_skew_ms", "How far this clock is ahead of the nodes' median.",
                  (double)tv_nodes_read_clock(cluster->nodes).skew_ms);
}
