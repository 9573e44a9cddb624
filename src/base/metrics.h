/*
 * Metrics in the text format of Prometheus.  Names are without the "tavola_" that they all begin
 * with; one that ends with "_total" is a counter.  All samples of a name stand together, behind
 * its opening.
 */
#ifndef TV_BASE_METRICS_H
#define TV_BASE_METRICS_H

#include <stdint.h>

#include "base/buf.h"

/** Receives one metric of a store: "rocksdb_live_bytes", what it is, its value. */
typedef void tv_metric_fn(void *ctx, const char *name, const char *help, double value);

/** Receives one histogram, with bounds of 2^i: the counts of its slots. */
typedef void tv_histogram_fn(void *ctx, const char *name, const char *help, const uint64_t *slots,
                             int slot_count, double sum);

/** A counter or gauge of one sample. */
void tv_metric_add(tv_buf *out, const char *name, const char *help, double value);

/** Open a counter or gauge whose samples have labels. */
void tv_metric_open(tv_buf *out, const char *name, const char *help);

/** A sample of it: `{label="of"}`. */
void tv_metric_add_of(tv_buf *out, const char *name, const char *label, const char *of,
                      double value);

/** Open a histogram. */
void tv_metric_open_histogram(tv_buf *out, const char *name, const char *help);

/** A sample of it, out of slot counts: `labels` is "" or "op=\"x\"", bounds are 2^i * `unit`. */
void tv_metric_add_histogram(tv_buf *out, const char *name, const char *labels,
                             const uint64_t *slots, int slot_count, double unit, double sum);

#endif
