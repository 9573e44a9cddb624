/* Which keys are sampled, and what a sample has. */
#include "base/hash.h"
#include "insight/watch/record.h"

static uint32_t next_skip(tv_watch_shard *shard, uint32_t period)
{
    /* Uniform in [p/2, 3p/2]: a client that repeats itself with the same period is not met in step.
     */
    shard->random = shard->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return period / 2 + (uint32_t)((shard->random >> 33) % (period + 1));
}

/* The weight of the sample that is to be taken, 0 for none. */
static uint32_t sample_weight(tv_watch_shard *shard, bool is_wanted)
{
    uint32_t period = atomic_load_explicit(&shard->period, memory_order_relaxed);

    if (period == 1)
        return 1;
    if (shard->skip > 1) {
        shard->skip--;
        return is_wanted ? 1 : 0;
    }
    shard->skip = next_skip(shard, period);
    return period;
}

static bool is_always_sampled(const tv_watch_event *event)
{
    return event->status == 412 || event->status == 409 || event->status == 413 ||
           event->status >= 500 || event->throttle || event->query.token_out;
}

/* Names of the properties that a write sent: of conflicts, whose cure depends on them. */
static void add_changed(tv_watch_sample *sample, const tv_watch_key *key)
{
    for (size_t i = 0; i < key->sent_count && i < UINT8_MAX; i++) {
        const tv_property *property = &key->sent[i];

        if (i < 4)
            snprintf(sample->changed[i], sizeof sample->changed[i], "%.*s", TV_FMT(property->name));
        sample->changed_count++;
        sample->changed_numbers += property->type == TV_EDM_INT32 ||
                                   property->type == TV_EDM_INT64 ||
                                   property->type == TV_EDM_DOUBLE;
    }
}

static tv_watch_sample *begin_sample(tv_watch_shard *shard, tv_sheet *sheet,
                                     const tv_watch_event *event, uint32_t weight)
{
    tv_watch_sample *sample = tv_sheet_add_sample(sheet, shard->watch->samples_max);

    if (sample == NULL)
        return NULL;
    sample->time_ns = event->time_ns;
    sample->client = event->client.hash;
    sample->table = event->table;
    sample->weight = weight;
    sample->status = event->status;
    sample->throttle = event->throttle;
    sample->op = event->op;
    sample->age_s = -1;
    return sample;
}

static void add_key(tv_watch_sample *sample, tv_slice key, size_t partition_len)
{
    tv_kept_key_set(&sample->key, key, partition_len);
    sample->partition_hash = tv_hash(tv_slice_take(key, partition_len));
    sample->key_hash = tv_hash(key);
}

void tv_record_sample_key(tv_watch_shard *shard, tv_sheet *sheet, const tv_watch_event *event,
                          const tv_watch_key *key)
{
    bool is_conflict = key->outcome == TV_WATCH_CONFLICT;
    uint32_t weight = sample_weight(shard, is_conflict || is_always_sampled(event));
    tv_watch_sample *sample = weight ? begin_sample(shard, sheet, event, weight) : NULL;

    if (sample == NULL)
        return;
    sample->op = key->op;
    sample->outcome = key->outcome;
    sample->condition = key->condition;
    sample->units = key->units;
    sample->age_s = key->age_s;
    sample->is_batched = event->op == TV_ENTITY_OP_BATCH;
    add_key(sample, key->key, key->partition_len);
    if (is_conflict) {
        sample->is_replay = tv_retries_has(&shard->watch->retries, event->request_id);
        add_changed(sample, key);
    }
}

uint32_t tv_record_query_units(const tv_watch_event *event)
{
    uint64_t units = event->bytes_out / 1024;

    if (units < event->query.returned)
        units = event->query.returned;
    return units < 1 ? 1 : units > UINT32_MAX ? UINT32_MAX : (uint32_t)units;
}

void tv_record_sample_query(tv_watch_shard *shard, tv_sheet *sheet, const tv_watch_event *event,
                            uint64_t fingerprint)
{
    const tv_watch_query *query = &event->query;
    uint32_t weight = sample_weight(shard, is_always_sampled(event));
    tv_watch_sample *sample = weight ? begin_sample(shard, sheet, event, weight) : NULL;

    if (sample == NULL)
        return;
    sample->fingerprint = fingerprint;
    sample->examined = query->examined > UINT32_MAX ? UINT32_MAX : (uint32_t)query->examined;
    sample->returned = query->returned > UINT32_MAX ? UINT32_MAX : (uint32_t)query->returned;
    sample->units = tv_record_query_units(event);
    sample->outcome = TV_WATCH_FOUND;
    if (query->partition.data)
        add_key(sample, query->partition, query->partition.len);
}
