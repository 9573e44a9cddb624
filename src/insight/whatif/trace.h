/*
 * What a trace (watch/trace.h) says about one table: its query shapes with the values of some
 * executions, and the keys that were written.  Requests of other tables, and those that failed, are
 * skipped.  Point reads are a shape like the others.
 */
#ifndef TV_INSIGHT_WHATIF_TRACE_H
#define TV_INSIGHT_WHATIF_TRACE_H

#include "insight/watch/trace.h"
#include "insight/whatif/values.h"
#include "model/odata/filter.h"

enum { TV_TRACE_SHAPES_MAX = 4096, TV_TRACE_SAMPLES_MAX = 1000 };

/** One execution. */
typedef struct tv_trace_sample {
    tv_watch_literal *values;
    size_t count;
} tv_trace_sample;

typedef struct tv_trace_shape {
    uint64_t fingerprint;
    tv_slice text;
    uint64_t executions; /* pages that continue one are not counted */
    uint64_t examined;   /* as the trace has it */
    tv_trace_sample *samples;
    size_t sample_count;
} tv_trace_shape;

/** A key that was written. */
typedef struct tv_trace_write {
    int64_t at_ns;                   /* since the trace began */
    uint64_t request;                /* keys of one transaction have the same; from 1 */
    bool has_key;                    /* the trace shows it, or a hash of it */
    bool is_insert;                  /* there was none with this key */
    uint32_t units;                  /* 1 KiB each */
    tv_slice partition_key, row_key; /* or hashes of them: see head */
} tv_trace_write;

typedef struct tv_trace {
    tv_arena arena;
    tv_watch_trace_head head;
    tv_trace_shape *shapes;
    size_t shape_count;
    tv_trace_write *writes;
    size_t write_count, write_size;
    uint64_t write_requests;
    uint64_t unnamed, lost; /* queries whose shape has no text; requests that were not written */
    tv_slice other_account; /* one that is left out */
} tv_trace;

/**
 * False with one line that says what is wrong; tv_trace_done in any case.  Of several accounts
 * that have the table the one named counts; another, if that one is not in the trace.
 */
bool tv_trace_load(const char *path, tv_slice account, tv_slice table, tv_trace *ret_trace,
                   char *reterr_text, size_t reterr_size);
void tv_trace_done(tv_trace *trace);

/**
 * The filter of one execution, by the shape's text and its values; hashes become values of the
 * data, the most frequent to the most frequent.  False when the text is cut or has several lists.
 */
bool tv_trace_filter(const tv_trace_shape *shape, const tv_trace_sample *sample, tv_values *values,
                     tv_arena *arena, tv_filter **ret_filter);

/** Before the first filter: count the hashes of all samples. */
void tv_trace_count_hashes(const tv_trace *trace, tv_values *values);

#endif
