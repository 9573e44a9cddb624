/*
 * Keys under which a second copy of an entity would answer a query cheaply.  Templates have
 * properties in braces: `email_{Email}`, `age_{Age:pad(10)}`, `{Due:ticks}_{RowKey}`, `{Due:inv}`.
 * What is proposed was planned: the filter over the new keys is a point, a range, or a partition
 * with nothing left to test.
 */
#ifndef TV_INSIGHT_ADVICE_PROPOSAL_H
#define TV_INSIGHT_ADVICE_PROPOSAL_H

#include "base/buf.h"
#include "insight/advice/judging.h"

/** For a scan by properties.  Unset when the filter or the data allow none; `ret_why` says why. */
tv_proposal tv_propose_index(const tv_judging *j, const tv_evidence_shape *shape,
                             const tv_shape_view *view, tv_slice *ret_why);

/** For a RowKey without its PartitionKey: a copy that has the RowKey as PartitionKey. */
tv_proposal tv_propose_row_index(const tv_judging *j, const tv_evidence_shape *shape,
                                 const tv_shape_view *view);

/** For Timestamp: the time in the RowKey. */
tv_proposal tv_propose_time_key(const tv_judging *j, const tv_evidence_shape *shape,
                                const tv_shape_view *view);

/** How a partition or a table could be divided: by a property that queries give, or by buckets. */
tv_proposal tv_propose_spread(const tv_judging *j, double peak_per_second);

/** A range of keys that begin with `lead`, where a value and a separator stand behind it. */
typedef struct tv_bounds {
    tv_slice lead;
    const tv_view_part *const *parts; /* at most two comparisons of one property */
    const tv_slice *values;           /* their values as they stand in keys */
    size_t count;
    char separator;
    bool is_reversed; /* greater values have lesser texts */
} tv_bounds;

/** The texts that RowKeys are compared with: `ge low and lt high`. */
void tv_add_bounds(tv_buf *low, tv_buf *high, const tv_bounds *bounds);

/** gt, ge */
bool tv_is_lower_bound(tv_compare_op op);

/** The statistics of a property, or NULL. */
const tv_evidence_property *tv_property_of(const tv_evidence_table *table, tv_slice name);

/** The character that joins parts of keys: `_` unless stored keys use it, then `|`, then `~`. */
char tv_key_separator(const tv_evidence_table *table);

#endif
