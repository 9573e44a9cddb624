/*
 * Counts what a service does: requests by operation and status, and how long
 * they took.  Any thread; counters are only added to.
 */
#ifndef TV_BASE_METER_H
#define TV_BASE_METER_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    TV_METER_OPS_MAX = 48,
    TV_METER_STATUSES = 32,
    TV_METER_SLOTS = 24, /* slot i: up to 2^i microseconds */
};

typedef struct tv_meter {
    const char *service; /* "table" */
    int op_count;
    const char *op_names[TV_METER_OPS_MAX];
    _Atomic uint64_t requests[TV_METER_OPS_MAX][TV_METER_STATUSES];
    _Atomic uint64_t slots[TV_METER_OPS_MAX][TV_METER_SLOTS];
    _Atomic uint64_t ns_sum[TV_METER_OPS_MAX];
    _Atomic uint64_t bytes_in, bytes_out; /* bodies */
} tv_meter;

/** A meter whose counts are 0; the names of the operations are then filled in. */
void tv_meter_init(tv_meter *meter, const char *service, int op_count);

/** Count one finished request. */
void tv_meter_add(tv_meter *meter, int op, int status, int64_t ns, size_t bytes_in,
                  size_t bytes_out);

/**
 * Append the metrics of several meters in Prometheus' text format, which wants
 * all samples of one name together.
 */
void tv_meter_write(tv_meter *const *meters, size_t count, tv_buf *out);

#endif
