/* The table of lanes and the list of those that are ready. */
#include "store/commit/lane.h"

#include "base/assert.h"

void tv_lanes_init(tv_lanes *lanes, size_t places, bool is_shared)
{
    *lanes = (tv_lanes){.places = places, .is_shared = is_shared};
    lanes->ready_end = &lanes->first_ready;
}

static void lane_free(tv_lane *lane)
{
    tv_write_queue_free(lane->queue);
    pthread_cond_destroy(&lane->filled);
    free(lane);
}

void tv_lanes_done(tv_lanes *lanes)
{
    for (size_t i = 0; i < TV_LANE_BUCKETS; i++) {
        while (lanes->buckets[i]) {
            tv_lane *lane = lanes->buckets[i];

            lanes->buckets[i] = lane->next;
            lane_free(lane);
        }
    }
}

static tv_lane *lane_new(const tv_lanes *lanes, uint64_t range)
{
    tv_lane *lane = tv_calloc(1, sizeof *lane);
    pthread_condattr_t monotonic;

    lane->range = range;
    lane->queue = tv_write_queue_new(lanes->places);
    lane->gather.is_shared = lanes->is_shared;
    tv_assert(pthread_condattr_init(&monotonic) == 0);
    tv_assert(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    tv_assert(pthread_cond_init(&lane->filled, &monotonic) == 0);
    pthread_condattr_destroy(&monotonic);
    return lane;
}

tv_lane *tv_lanes_find(tv_lanes *lanes, uint64_t range)
{
    tv_lane **link = &lanes->buckets[range % TV_LANE_BUCKETS];

    while (*link && (*link)->range != range)
        link = &(*link)->next;
    if (*link == NULL) {
        *link = lane_new(lanes, range);
        lanes->count++;
    }
    return *link;
}

void tv_lanes_add_ready(tv_lanes *lanes, tv_lane *lane)
{
    tv_assert(!lane->is_served);
    lane->is_served = true;
    lane->next_ready = NULL;
    *lanes->ready_end = lane;
    lanes->ready_end = &lane->next_ready;
}

tv_lane *tv_lanes_take_ready(tv_lanes *lanes)
{
    tv_lane *lane = lanes->first_ready;

    if (lane == NULL)
        return NULL;

    lanes->first_ready = lane->next_ready;
    if (lanes->first_ready == NULL)
        lanes->ready_end = &lanes->first_ready;
    return lane;
}

void tv_lanes_take_old(tv_lanes *lanes, int64_t before_ns, tv_mail_chain *ret_writes)
{
    for (size_t i = 0; i < TV_LANE_BUCKETS; i++) {
        for (tv_lane *lane = lanes->buckets[i]; lane; lane = lane->next)
            tv_write_queue_take_old(lane->queue, before_ns, ret_writes);
    }
}

void tv_lanes_drop_idle(tv_lanes *lanes, int64_t before_ns)
{
    for (size_t i = 0; i < TV_LANE_BUCKETS; i++) {
        for (tv_lane **link = &lanes->buckets[i]; *link;) {
            tv_lane *lane = *link;

            if (lane->is_served || lane->idle_since_ns > before_ns) {
                link = &lane->next;
                continue;
            }
            *link = lane->next;
            lane_free(lane);
            lanes->count--;
        }
    }
}
