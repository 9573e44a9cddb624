/* A list of a few entries: to look at all of them takes less than a hash table would. */
#include "insight/watch/sketch.h"

#include <stdlib.h>

#include "base/grow.h"

static const int64_t slot_ns = INT64_C(10000000000);

void tv_watch_sketch_done(tv_watch_sketch *sketch)
{
    for (size_t i = 0; i < sketch->count; i++)
        tv_tally_done(&sketch->list[i].tally);
    free(sketch->list);
    *sketch = (tv_watch_sketch){0};
}

static tv_heavy *lightest(tv_watch_sketch *sketch)
{
    tv_heavy *least = &sketch->list[0];

    for (size_t i = 1; i < sketch->count; i++) {
        if (sketch->list[i].count < least->count)
            least = &sketch->list[i];
    }
    return least;
}

static tv_heavy *find(tv_watch_sketch *sketch, uint64_t hash)
{
    for (size_t i = 0; i < sketch->count; i++) {
        if (sketch->list[i].hash == hash)
            return &sketch->list[i];
    }
    return NULL;
}

static tv_heavy *append(tv_watch_sketch *sketch)
{
    tv_grow(&sketch->list, sketch->count, &sketch->size, 4);
    return &sketch->list[sketch->count++];
}

tv_heavy *tv_watch_sketch_add(tv_watch_sketch *sketch, size_t count_max, uint64_t hash,
                              const tv_kept_key *key, double weight, int64_t time_ns)
{
    tv_heavy *heavy = find(sketch, hash);

    if (heavy == NULL) {
        double inherited = 0;

        if (sketch->count < count_max) {
            heavy = append(sketch);
        } else {
            heavy = lightest(sketch);
            inherited = heavy->count;
            tv_tally_done(&heavy->tally);
        }
        *heavy = (tv_heavy){
            .hash = hash, .count = inherited, .error = inherited, .key = *key, .first_ns = time_ns};
        tv_tally_init(&heavy->tally, TV_HEAVY_SUMS, TV_HEAVY_MAXIMA);
    }
    heavy->count += weight;
    heavy->last_ns = time_ns;
    return heavy;
}

void tv_watch_sketch_halve(tv_watch_sketch *sketch)
{
    for (size_t i = 0; i < sketch->count; i++) {
        sketch->list[i].count /= 2;
        sketch->list[i].error /= 2;
    }
}

static uint64_t least_of(const uint64_t *units)
{
    uint64_t least = units[0] < units[1] ? units[0] : units[1];

    return least < units[2] ? least : units[2];
}

/* `peak` is the number of the maximum, the one behind it is for what three slots all had. */
static void raise(tv_rate_slots *slots, tv_tally *tally, int peak)
{
    int64_t tally_slot = tv_tally_slot_of(slots->slot * slot_ns);

    tv_tally_raise(tally, tally_slot, peak, slots->units[0]);
    tv_tally_raise(tally, tally_slot, peak + 1, least_of(slots->units));
}

void tv_rate_slots_settle(tv_rate_slots *slots, tv_tally *tally, int peak, int64_t time_ns)
{
    int64_t slot = time_ns / slot_ns;

    raise(slots, tally, peak);
    for (int i = 0; i < 3 && slots->slot < slot; i++, slots->slot++) {
        slots->units[2] = slots->units[1];
        slots->units[1] = slots->units[0];
        slots->units[0] = 0;
    }
    if (slots->slot < slot)
        slots->slot = slot;
}

void tv_rate_slots_add(tv_rate_slots *slots, tv_tally *tally, int peak, int64_t time_ns,
                       uint64_t units)
{
    if (slots->slot < time_ns / slot_ns)
        tv_rate_slots_settle(slots, tally, peak, time_ns);
    slots->units[0] += units;
}
