/* Taking, keeping and giving back the lock. */
#include "server/cluster/leader.h"

#include "base/clock.h"
#include "base/log.h"

void tv_leader_init(tv_leader *leader, tv_pool *pool, const char *holder)
{
    *leader = (tv_leader){.pool = pool, .holder = holder, .pace = 1};
}

static void set(tv_leader *leader, bool is_leader)
{
    bool was = atomic_exchange(&leader->lead.is_leader, is_leader);

    if (was != is_leader)
        tv_log(TV_LOG_INFO, "leader", "incarnation=%s leads=%s", leader->holder,
               is_leader ? "yes" : "no");
}

void tv_leader_run(tv_leader *leader)
{
    int64_t began_ns = tv_clock_mono_ns();
    int seconds = (TV_LEADER_LOCK_S + leader->pace - 1) / leader->pace;
    tv_err err = leader->pool->ops->lock(leader->pool, TV_LEADER_OBJECT, leader->holder, seconds);

    if (err == TV_OK)
        leader->until_ns = began_ns + seconds * INT64_C(1000000000);
    /* When the cluster does not answer, the lock is still ours until it lapses. */
    set(leader, err == TV_OK || (err != TV_ERR_IN_USE && tv_lead_is_here(&leader->lead) &&
                                 tv_clock_mono_ns() < leader->until_ns));
}

void tv_leader_resign(tv_leader *leader)
{
    if (!tv_lead_is_here(&leader->lead))
        return;

    set(leader, false);

    tv_err err = leader->pool->ops->unlock(leader->pool, TV_LEADER_OBJECT, leader->holder);

    if (err)
        tv_log(TV_LOG_INFO, "leader", "incarnation=%s error=%s note=\"the lock will lapse\"",
               leader->holder, tv_err_name(err));
}
