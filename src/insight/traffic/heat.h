/*
 * A view as others read it: JSON, and a compact form for pictures:
 *
 *     "TVH1" | u32 length, little-endian | a header, JSON of that length | slots x buckets bytes,
 *     slot by slot: 0 is nothing, c is about max^((c - 1) / 254)
 *
 * Both have the same header.  A bound is an array: the parts of the key, PartitionKey and RowKey,
 * as far as the bound has them.  A third part that is empty means "behind this key".  A last
 * character U+0002 means "behind all that begin so".  Joined with U+0001 it is the text of a
 * bound, which tv_heat_bound_parse reads again.
 */
#ifndef TV_INSIGHT_TRAFFIC_HEAT_H
#define TV_INSIGHT_TRAFFIC_HEAT_H

#include "base/arena.h"
#include "base/err.h"
#include "insight/traffic/advised.h"

typedef struct tv_heat {
    tv_slice account, table;    /* names */
    tv_traffic_measure measure; /* which the view has */
    tv_slice low;               /* of the view's query */
    const tv_view *view;
    tv_finding *const *findings; /* that are active, of the table */
    size_t finding_count;
} tv_heat;

/** {"table":…,"cells":[[…],…]}: exact numbers, one list for each slot. */
void tv_heat_write_json(const tv_heat *heat, tv_arena *arena, tv_buf *out);

/** The compact form. */
void tv_heat_write_bytes(const tv_heat *heat, tv_arena *arena, tv_buf *out);

/** The byte of a value, 0 to `max`. */
unsigned char tv_heat_code(uint64_t value, uint64_t max);

/** The bytes of a bound, in the arena, out of its text.  TV_ERR_OUT_OF_RANGE when it is not one. */
tv_err tv_heat_bound_parse(tv_arena *arena, tv_slice text, tv_slice *ret_bound) TV_WARN_UNUSED;

/** Append a bound as an array. */
void tv_heat_bound_write(tv_arena *arena, tv_slice bound, tv_buf *out);

#endif
