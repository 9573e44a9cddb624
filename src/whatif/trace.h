/*
 * What a trace (a line of JSON for each request) says about one table: its query
 * shapes with the values of some executions, and the keys that were written.  Lines of other
 * tables are skipped; a line that is not JSON ends the reading with its number.
 */
#ifndef TV_WHATIF_TRACE_H
#define TV_WHATIF_TRACE_H

#include "odata/filter.h"
#include "whatif/values.h"

enum { TV_TRACE_SHAPES_MAX = 4096, TV_TRACE_SAMPLES_MAX = 1000 };

/** A literal of a query: its text, or the hash that stands for it. */
typedef struct tv_trace_value {
    char type; /* s i l d b t g x, as in shapes */
    bool is_hash;
    tv_slice text;
} tv_trace_value;

/** One execution. */
typedef struct tv_trace_sample {
    tv_trace_value *values;
    size_t count;
} tv_trace_sample;

typedef struct tv_trace_shape {
    tv_slice fingerprint, text;
    uint64_t executions; /* pages that continue one are not counted */
    uint64_t examined;   /* as the trace has it */
    tv_trace_sample *samples;
    size_t sample_count, sample_size;
} tv_trace_shape;

/** A key that was written. */
typedef struct tv_trace_write {
    int64_t at_us;
    uint32_t request; /* keys of one transaction have the same */
    tv_slice partition_key, row_key;
    bool is_hash;
} tv_trace_write;

typedef struct tv_trace {
    tv_arena arena;
    tv_trace_shape *shapes;
    size_t shape_count;
    tv_trace_write *writes;
    size_t write_count, write_size;
    uint64_t lines, lost;
    int64_t span_us;
} tv_trace;

/** False with one line that says what is wrong; tv_trace_done in any case. */
bool tv_trace_load(const char *path, tv_slice table, tv_trace *ret_trace, char *reterr_text,
                   size_t reterr_size);
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
