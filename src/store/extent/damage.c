/*
 * What is known of data that cannot be read as it was written.  The list is short:
 * a store with more than a few damaged files has a sick disk, and the rest of
 * them would add nothing.
 */
#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "store/extent/internal.h"

enum { REPORT_INTERVAL_NS = 1000000000 };

static bool is_same(tv_extent_id a, tv_extent_id b)
{
    return a.boot == b.boot && a.number == b.number;
}

/* The lock is held. */
static tv_extent_damage *find(tv_extents *store, tv_extent_id id)
{
    for (size_t i = 0; i < store->damage_count; i++) {
        if (is_same(store->damages[i].id, id))
            return &store->damages[i];
    }
    return NULL;
}

void tv_extents_note_damage(tv_extents *store, tv_extent_id id, const char *what)
{
    atomic_fetch_add(&store->failed_reads, 1);
    pthread_mutex_lock(&store->lock);
    if (find(store, id) == NULL && store->damage_count < TV_EXTENT_DAMAGES_MAX)
        store->damages[store->damage_count++] = (tv_extent_damage){.id = id, .what = what};
    pthread_mutex_unlock(&store->lock);
}

void tv_extents_forget_damage(tv_extents *store, tv_extent_id id)
{
    pthread_mutex_lock(&store->lock);
    tv_extent_damage *damage = find(store, id);

    if (damage)
        *damage = store->damages[--store->damage_count];
    pthread_mutex_unlock(&store->lock);
}

bool tv_extents_may_report(tv_extents *store, tv_extent_id id, const char **ret_what)
{
    int64_t now = tv_clock_mono_ns();

    pthread_mutex_lock(&store->lock);
    tv_extent_damage *damage = find(store, id);
    bool is_new = damage && !damage->is_reported;
    bool may_report = is_new || now >= store->next_report_ns;

    if (may_report)
        store->next_report_ns = now + REPORT_INTERVAL_NS;
    if (damage)
        damage->is_reported = true;
    *ret_what = damage ? damage->what : "damaged";
    pthread_mutex_unlock(&store->lock);
    return may_report;
}

bool tv_extents_check(tv_extents *store, char *reterr_text, size_t reterr_size)
{
    char text[TV_EXTENT_TEXT_SIZE];

    if (!store->backend->check(store, reterr_text, reterr_size))
        return false;

    pthread_mutex_lock(&store->lock);
    size_t count = store->damage_count;
    tv_extent_damage first = store->damages[0];
    pthread_mutex_unlock(&store->lock);
    if (count == 0)
        return true;

    tv_extent_describe(store, first.id, text);
    snprintf(reterr_text, reterr_size,
             "data of blobs cannot be read: %s%zu %s, one is %s (%s); restore or delete the "
             "blobs that the log names",
             count == TV_EXTENT_DAMAGES_MAX ? "at least " : "", count,
             count == 1 ? "file" : "files", text, first.what);
    return false;
}
