/* Lower bounds of indexes.  (n) refers to the rules in the header. */
#include "services/queue/store/bound.h"

#include "base/assert.h"

void tv_queue_bound_init(tv_queue_bound *bound)
{
    *bound = (tv_queue_bound){.group = 0};
    tv_assert(pthread_mutex_init(&bound->lock, NULL) == 0);
}

void tv_queue_bound_done(tv_queue_bound *bound)
{
    pthread_mutex_destroy(&bound->lock);
}

tv_queue_place tv_queue_bound_read(tv_queue_bound *bound)
{
    pthread_mutex_lock(&bound->lock);
    tv_queue_place place = bound->bound;
    pthread_mutex_unlock(&bound->lock);
    return place;
}

tv_queue_place tv_queue_bound_start(tv_queue_bound *bound, int64_t group)
{
    pthread_mutex_lock(&bound->lock);
    tv_queue_place place = bound->group == group ? bound->candidate : bound->bound; /* (3) */
    pthread_mutex_unlock(&bound->lock);
    return place;
}

void tv_queue_bound_learn(tv_queue_bound *bound, int64_t group, tv_queue_place place)
{
    tv_assert(group > 0); /* 0 stands for no group */
    pthread_mutex_lock(&bound->lock);
    bound->candidate = place; /* (2) */
    bound->group = group;
    pthread_mutex_unlock(&bound->lock);
}

void tv_queue_bound_lower(tv_queue_bound *bound, tv_queue_place place)
{
    pthread_mutex_lock(&bound->lock);
    if (tv_queue_place_cmp(place, bound->bound) < 0) /* (1) */
        bound->bound = place;
    if (tv_queue_place_cmp(place, bound->candidate) < 0)
        bound->candidate = place;
    tv_assert(tv_queue_place_cmp(bound->bound, place) <= 0);
    pthread_mutex_unlock(&bound->lock);
}

void tv_queue_bound_settle(tv_queue_bound *bound, int64_t group)
{
    pthread_mutex_lock(&bound->lock);
    if (bound->group == group && tv_queue_place_cmp(bound->candidate, bound->bound) > 0) /* (4) */
        bound->bound = bound->candidate;
    pthread_mutex_unlock(&bound->lock);
}
