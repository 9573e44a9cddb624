/*
 * A node's place in its cluster, put together: it joins, beats, follows the catalogues, and
 * leads when it is its turn.
 */
#ifndef TV_SERVER_CLUSTER_CLUSTER_H
#define TV_SERVER_CLUSTER_CLUSTER_H

#include "model/catalog/catalog.h"
#include "server/cluster/balancer.h"
#include "server/cluster/chores.h"
#include "server/cluster/leader.h"
#include "server/cluster/nodes.h"
#include "store/extent/extent.h"

/** Nodes watch it, and tell each other by it that a catalogue has changed. */
#define TV_CLUSTER_CATALOG_OBJECT "tv.cat"

enum { TV_CLUSTER_CATALOGS_MAX = 3, TV_CLUSTER_CHORES_MAX = 8 };

typedef struct tv_cluster tv_cluster;

/**
 * Join: from now on the node has an incarnation.  Before anything is read or written.  As
 * tv_nodes_join; a level of 0 is TV_ROUTE_LEVEL.
 */
tv_err tv_cluster_join(const tv_nodes_options *options, tv_cluster **ret_cluster) TV_WARN_UNUSED;

/** For the chores of others: before tv_cluster_start. */
void tv_cluster_add_chore(tv_cluster *cluster, const tv_chore *chore);

/** A catalogue that was just opened, before anybody uses it. */
tv_err tv_cluster_add_catalog(tv_cluster *cluster, tv_catalog *catalog) TV_WARN_UNUSED;

/** Have `fn` called whenever this node, as the leader, has found another dead: before the start. */
void tv_cluster_on_death(tv_cluster *cluster, void (*fn)(void *ctx), void *ctx);

/**
 * For tests, before the start: lead and balance `pace` times as fast.  The balancer's clock runs so
 * much faster, and the leader's lock is so much shorter.  0 and 1: as ever.
 */
void tv_cluster_hurry(tv_cluster *cluster, int pace);

/** Start beating, following, leading and balancing the engine's ranges.  The catalogues are open.
 */
void tv_cluster_start(tv_cluster *cluster, tv_maps *maps);

/** Stop all of that: before the catalogues are closed.  The node stays a member. */
void tv_cluster_stop(tv_cluster *cluster);

/** Be a member no longer: before the pool is closed.  Accepts NULL. */
void tv_cluster_leave(tv_cluster *cluster);

/** Free: after the pool is closed, whose notices come here.  Accepts NULL. */
void tv_cluster_free(tv_cluster *cluster);

/**
 * Have the catalogues read again, because something was dropped: what the engine is to call
 * before it uses a map that was fenced (tv_catalog_reload_dropped).  TV_ERR_STOPPED after
 * tv_cluster_stop: there is no catalogue left to go by.  Any thread.
 */
tv_err tv_cluster_reload_dropped(void *cluster);

/** The number of this node's extents (tv_extent_pool_options), and who can still make some. */
uint64_t tv_cluster_boot(const tv_cluster *cluster);
tv_err tv_cluster_shut_out_boots(void *cluster, tv_arena *arena, tv_extent_boots *ret_boots);

/** NULL before the start. */
tv_balancer *tv_cluster_balancer(tv_cluster *cluster);
const tv_lead *tv_cluster_lead(const tv_cluster *cluster);

/** Set while this node's clock is too far ahead to write.  Any thread. */
const atomic_bool *tv_cluster_refuses_writes(const tv_cluster *cluster);

/** For /healthz and /metrics. */
bool tv_cluster_check(void *cluster, tv_buf *out);

/**
 * Whether the Ceph user has been refused nothing, with a line that names the capability it lacks;
 * and the same as a metric.  Clients are served as well as it can be: for alerts only.
 */
bool tv_cluster_check_rights(void *cluster, tv_buf *out);
void tv_cluster_write_rights(void *cluster, tv_buf *out);
void tv_cluster_write_metrics(void *cluster, tv_buf *out);

#endif
