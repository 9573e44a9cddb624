/* The room in the pool.  Asking for it takes a round trip, so an answer is good for some seconds.
 */
#include "base/clock.h"
#include "base/log.h"
#include "store/extent/pool/internal.h"

#define LOOK_NS INT64_C(5000000000)

static void note(tv_pool_extents *extents, bool is_full)
{
    if (atomic_exchange(&extents->is_full, is_full) == is_full)
        return;

    if (is_full)
        tv_log(TV_LOG_ERROR, "disk_full",
               "store=extents reserve_percent=%d effect=\"writes are refused, reads and deletes go "
               "on\"",
               extents->options.reserve_percent);
    else
        tv_log(TV_LOG_INFO, "disk_has_space", "store=extents effect=\"writes are accepted again\"");
}

/* A pool that cannot be asked will report its error when it is written to. */
tv_err tv_pool_extents_check_space(tv_pool_extents *extents)
{
    int64_t now = tv_clock_mono_ns(), next = atomic_load(&extents->next_space_ns);
    uint64_t percent = (uint64_t)extents->options.reserve_percent;
    tv_pool *pool = extents->options.pool;
    tv_pool_space space;

    if (now >= next &&
        atomic_compare_exchange_strong(&extents->next_space_ns, &next, now + LOOK_NS) &&
        pool->ops->space(pool, &space) == TV_OK)
        note(extents, space.free_bytes / 100 < space.bytes / 100 * percent / 100);
    return atomic_load(&extents->is_full) ? TV_ERR_DISK_FULL : TV_OK;
}

void tv_pool_extents_refused(tv_pool_extents *extents)
{
    note(extents, true);
    atomic_store(&extents->next_space_ns, tv_clock_mono_ns() + LOOK_NS);
}
