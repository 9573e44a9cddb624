/* The arithmetic of one bucket. */
#include "model/targets/bucket.h"

#include "base/assert.h"

#define SECOND_NS INT64_C(1000000000)

/* The instant of `full_ns` as it counts now: a clock that went back does not make it later. */
static int64_t full_at(const tv_bucket *bucket, int64_t now_ns)
{
    int64_t latest = now_ns + TV_BUCKET_BURST_NS + TV_BUCKET_DEBT_MAX_NS;

    return bucket->full_ns < latest ? bucket->full_ns : latest;
}

bool tv_bucket_has_room(const tv_bucket *bucket, int64_t now_ns, int64_t *ret_wait_ns)
{
    int64_t over = full_at(bucket, now_ns) - now_ns - TV_BUCKET_BURST_NS;

    if (over <= 0)
        return true;
    *ret_wait_ns = over;
    return false;
}

bool tv_bucket_is_empty(const tv_bucket *bucket, int64_t now_ns)
{
    return bucket->full_ns <= now_ns;
}

/* How long `units` take at `rate`, no longer than the cap makes a difference. */
static int64_t span_of(uint64_t rate, uint64_t units)
{
    const int64_t longest = TV_BUCKET_BURST_NS + TV_BUCKET_DEBT_MAX_NS;
    uint64_t most = rate * (uint64_t)(longest / SECOND_NS);

    tv_assert(rate > 0 && rate <= UINT32_MAX);
    return units >= most ? longest : (int64_t)(units * SECOND_NS / rate);
}

void tv_bucket_charge(tv_bucket *bucket, uint64_t rate, int64_t units, int64_t now_ns)
{
    int64_t full = full_at(bucket, now_ns);

    if (units < 0) {
        bucket->full_ns = full - span_of(rate, (uint64_t)-units);
        return;
    }
    bucket->full_ns = (full > now_ns ? full : now_ns) + span_of(rate, (uint64_t)units);
    bucket->full_ns = full_at(bucket, now_ns);
}

/* Begin a new count when a second has passed, or the clock went back. */
static void turn(tv_bucket *bucket, int64_t now_ns)
{
    int64_t age = now_ns - bucket->second_ns;

    if (age >= 0 && age < SECOND_NS)
        return;
    bucket->asked_before = age >= SECOND_NS && age < 2 * SECOND_NS ? bucket->asked : 0;
    bucket->asked = 0;
    bucket->second_ns =
        age >= SECOND_NS && age < 2 * SECOND_NS ? bucket->second_ns + SECOND_NS : now_ns;
}

void tv_bucket_ask(tv_bucket *bucket, uint64_t units, int64_t now_ns)
{
    turn(bucket, now_ns);
    bucket->asked += units;
}

uint64_t tv_bucket_rate(const tv_bucket *bucket, int64_t now_ns)
{
    tv_bucket now = *bucket;

    turn(&now, now_ns);

    uint64_t left_ns = (uint64_t)(SECOND_NS - (now_ns - now.second_ns));

    return now.asked + (uint64_t)((double)now.asked_before * (double)left_ns / SECOND_NS);
}
