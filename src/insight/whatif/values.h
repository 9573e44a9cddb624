/*
 * Values of the data for the hashes of a trace: each distinct hash of a property stands for a
 * distinct value, the most frequent for the most frequent, so that skew is kept.  Count all hashes
 * first, then ask.  One thread.
 */
#ifndef TV_INSIGHT_WHATIF_VALUES_H
#define TV_INSIGHT_WHATIF_VALUES_H

#include "insight/whatif/store.h"

typedef struct tv_values tv_values;

tv_values *tv_values_new(tv_scratch *scratch);
void tv_values_free(tv_values *values);

/** A query compares this property with what has this hash. */
void tv_values_count(tv_values *values, tv_slice name, tv_edm_type type, tv_slice hash);

/** What the hash stands for; false when the data has no value of that type. */
bool tv_values_find(tv_values *values, tv_slice name, tv_edm_type type, tv_slice hash,
                    tv_property *ret_value);

#endif
