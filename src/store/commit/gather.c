/* Waiting to batch more writes, by experience. */
#include "store/commit/gather.h"

enum {
    SLOW_COMMIT_NS = 400 * 1000, /* waiting pays from here on */
    PATIENCE_NS_MAX = 1000 * 1000,
    SHARED_PATIENCE_NS_MAX = 4000 * 1000,
    SKIP_AFTER_FAILURE = 31, /* groups, until the next try */
    SHARED_SKIP_AFTER_FAILURE = 7,
    AVERAGE_WEIGHT = 8,
};

size_t tv_gather_wanted(const tv_gather *gather, size_t queued)
{
    if (gather->groups_to_skip > 0 || gather->commit_ns < SLOW_COMMIT_NS)
        return 1;

    /* Clients that were just answered, and those that came meanwhile. */
    size_t wanted = gather->last_count + queued;

    return wanted ? wanted : 1;
}

int64_t tv_gather_patience_ns(const tv_gather *gather)
{
    int64_t patience = gather->commit_ns / 2;
    int64_t most = gather->is_shared ? SHARED_PATIENCE_NS_MAX : PATIENCE_NS_MAX;

    return patience < most ? patience : most;
}

void tv_gather_learn(tv_gather *gather, size_t wanted, size_t count, int64_t commit_ns)
{
    bool has_come = count + count / 4 >= wanted; /* four of five are enough */

    if (gather->groups_to_skip > 0)
        gather->groups_to_skip--;
    else if (!has_come)
        gather->groups_to_skip = gather->is_shared ? SHARED_SKIP_AFTER_FAILURE : SKIP_AFTER_FAILURE;
    gather->last_count = count;
    gather->commit_ns += (commit_ns - gather->commit_ns) / AVERAGE_WEIGHT;
}
