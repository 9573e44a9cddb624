/*
 * A bucket: how much of something is used per second, against a target.  It is the
 * generic cell rate algorithm: one instant, `full_ns`, at which all that was charged so
 * far has been worked off at the target's pace.  A bucket has room while that instant is
 * no further away than the burst, one second; so after a rest one second's worth goes
 * through at once, and from then on as much as the target allows.
 *
 * What something costs is often known only when it is done (a read).  It is let in by
 * the test and charged afterwards, so a bucket can go beyond its burst, into debt.  The
 * debt is capped: however much was read, nobody is shut out for longer than two seconds.
 *
 * The clock is the caller's, in nanoseconds from any instant on.  If it goes back, a
 * bucket is at worst as full as the cap allows.  A bucket is not locked; its owner does
 * that.  All zeros is an empty one.
 */
#ifndef TV_MODEL_TARGETS_BUCKET_H
#define TV_MODEL_TARGETS_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#define TV_BUCKET_BURST_NS INT64_C(1000000000)
#define TV_BUCKET_DEBT_MAX_NS INT64_C(2000000000)

typedef struct tv_bucket {
    int64_t full_ns;              /* when all that was charged is worked off */
    int64_t second_ns;            /* when the count below began */
    uint64_t asked, asked_before; /* units asked for in this second, and in the one before */
} tv_bucket;

/** Whether there is room; else how long it takes until there is, in `ret_wait_ns`. */
bool tv_bucket_has_room(const tv_bucket *bucket, int64_t now_ns, int64_t *ret_wait_ns);

/** Whether it is empty again, so that nothing is lost when it is forgotten. */
bool tv_bucket_is_empty(const tv_bucket *bucket, int64_t now_ns);

/** Charge `units` at `rate` units per second (not 0), or give back when they are negative. */
void tv_bucket_charge(tv_bucket *bucket, uint64_t rate, int64_t units, int64_t now_ns);

/** Count what was asked for, let in or not: for tv_bucket_rate. */
void tv_bucket_ask(tv_bucket *bucket, uint64_t units, int64_t now_ns);

/** Units per second that were asked for, over about the last second. */
uint64_t tv_bucket_rate(const tv_bucket *bucket, int64_t now_ns);

#endif
