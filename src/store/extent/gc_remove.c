/*
 * Visits and removal.
 *
 * Each call of tv_extents_remove begins a new epoch, and a visit remembers the
 * epoch in which it began.  A caller that requests a removal has committed the
 * change that made the extents unreachable, so a visit of that epoch or a later
 * one cannot learn of them; the others can, and defer the removal.  Visits are
 * kept in the order they began and removals in the order they were requested,
 * so it is enough to compare the first of each.  A visit that has lasted too
 * long is passed over.
 *
 * Visits on other nodes of a cluster are unknown here.  There a removal waits for
 * longer than any visit may last without a new look at its rows.
 */
#include "base/assert.h"
#include "base/clock.h"
#include "store/extent/internal.h"

/* A stopping server has some seconds, and tv_extents_gc may have found a million files. */
#define STOP_NS_MAX INT64_C(2000000000)

int64_t tv_extent_look_ns = INT64_C(1000000000);

void tv_extent_visit_begin(tv_extents *store, tv_extent_visit *visit)
{
    tv_background_lock(&store->gc);
    *visit = (tv_extent_visit){
        .epoch = store->epoch, .begin_ns = tv_clock_mono_ns(), .previous = store->newest_visit};
    if (store->newest_visit)
        store->newest_visit->next = visit;
    else
        store->oldest_visit = visit;
    store->newest_visit = visit;
    tv_background_unlock(&store->gc);
}

void tv_extent_hold_begin(tv_extents *store, tv_extent_visit *hold)
{
    tv_extent_visit_begin(store, hold);
    tv_background_lock(&store->gc);
    hold->begin_ns = INT64_MAX; /* it never counts as too old */
    tv_background_unlock(&store->gc);
}

void tv_extent_visit_end(tv_extents *store, tv_extent_visit *visit)
{
    tv_background_lock(&store->gc);
    if (visit->previous)
        visit->previous->next = visit->next;
    else
        store->oldest_visit = visit->next;
    if (visit->next)
        visit->next->previous = visit->previous;
    else
        store->newest_visit = visit->previous;
    if (visit->previous == NULL && store->first_removal)
        tv_background_wake(&store->gc);
    tv_background_unlock(&store->gc);
}

/* As many as one piece of memory holds that is never refused. */
enum { REMOVAL_IDS_MAX = 2048 };

static void remove_some(tv_extents *store, const tv_extent_id *ids, size_t count)
{
    tv_extent_removal *removal = tv_malloc(sizeof *removal + count * sizeof *ids);

    removal->next = NULL;
    removal->count = count;
    memcpy(removal->ids, ids, count * sizeof *ids);

    tv_background_lock(&store->gc);
    removal->epoch = ++store->epoch;
    removal->due_ns = tv_clock_mono_ns() + store->remove_delay_ns;
    if (store->last_removal)
        store->last_removal->next = removal;
    else
        store->first_removal = removal;
    store->last_removal = removal;
    store->waiting_count += count;
    tv_background_wake(&store->gc);
    tv_background_unlock(&store->gc);
}

void tv_extents_remove(tv_extents *store, const tv_extent_id *ids, size_t count)
{
    while (count > 0) {
        size_t some = count < REMOVAL_IDS_MAX ? count : REMOVAL_IDS_MAX;

        remove_some(store, ids, some);
        ids += some;
        count -= some;
    }
}

void tv_extents_remove_now(tv_extents *store, tv_extent_id id)
{
    tv_extents_forget_damage(store, id);
    store->backend->remove(store, id);
}

bool tv_extent_visit_is_over(const tv_extents *store, const tv_extent_visit *visit)
{
    return visit->begin_ns <= tv_clock_mono_ns() - store->visit_ns_max;
}

/* The visit that defers a removal longest, or NULL.  The lock is held. */
static const tv_extent_visit *holder_of(const tv_extents *store, const tv_extent_removal *removal)
{
    const tv_extent_visit *visit = store->oldest_visit;
    int64_t oldest_ns = tv_clock_mono_ns() - store->visit_ns_max;

    while (visit && visit->begin_ns <= oldest_ns)
        visit = visit->next;
    return visit && visit->epoch < removal->epoch ? visit : NULL;
}

bool tv_extent_visit_must_renew(const tv_extents *store, const tv_extent_visit *visit)
{
    return store->backend->is_shared && tv_extent_visit_is_over(store, visit);
}

void tv_extent_visit_renew(tv_extents *store, tv_extent_visit *visit, int64_t mono_ns)
{
    tv_background_lock(&store->gc);
    visit->begin_ns = mono_ns;
    tv_background_unlock(&store->gc);
}

/* Take the first removal if its time has come and no visit defers it.  The lock is held. */
static tv_extent_removal *take(tv_extents *store)
{
    tv_extent_removal *removal = store->first_removal;

    if (removal == NULL || removal->due_ns > tv_clock_mono_ns() || holder_of(store, removal))
        return NULL;

    store->first_removal = removal->next;
    if (removal->next == NULL)
        store->last_removal = NULL;
    return removal;
}

static void remove_all(tv_extents *store, const tv_extent_removal *removal)
{
    for (size_t i = 0; i < removal->count; i++) {
        if (tv_clock_mono_ns() >= atomic_load(&store->stop_ns))
            return;
        tv_extents_remove_now(store, removal->ids[i]);
    }
}

/* When to look again.  A visit that lasts too long ends without a wake-up.  The lock is held. */
static int64_t next_look_ns(const tv_extents *store)
{
    int64_t now = tv_clock_mono_ns();

    if (store->first_removal == NULL)
        return TV_BACKGROUND_NEVER;
    return store->first_removal->due_ns > now ? store->first_removal->due_ns
                                              : now + tv_extent_look_ns;
}

static void run(tv_background *thread, void *ctx)
{
    tv_extents *store = ctx;

    tv_background_lock(thread);
    for (;;) {
        tv_extent_removal *removal = take(store);

        if (removal) {
            tv_background_unlock(thread);
            remove_all(store, removal);
            tv_background_lock(thread);
            store->waiting_count -= removal->count;
            free(removal);
        } else if (tv_background_is_stopping(thread)) {
            break;
        } else {
            store->look_count++;
            (void)tv_background_wait(thread, next_look_ns(store));
        }
    }
    tv_background_unlock(thread);
}

/* It does not yield: network threads take its lock for each visit. */
void tv_extents_gc_start(tv_extents *store)
{
    atomic_store(&store->stop_ns, INT64_MAX);
    tv_background_start(
        &store->gc, &(tv_background_options){.name = "tv-gc-extents", .run = run, .ctx = store});
}

void tv_extents_gc_stop(tv_extents *store)
{
    atomic_store(&store->stop_ns, tv_clock_mono_ns() + STOP_NS_MAX);
    tv_background_done(&store->gc);
    while (store->first_removal) {
        tv_extent_removal *removal = store->first_removal;

        store->first_removal = removal->next;
        free(removal);
    }
}
