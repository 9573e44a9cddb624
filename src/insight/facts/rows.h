/*
 * The facts about tables as rows of the store.  After 'f' account 01 table-id:
 *
 *     c N    the sums of committer N (a digit of base 32): what its groups have changed
 *     b      the base: what the sums do not have, from a count; no row is a base of 0
 *     u      the table is older than its sums, and was not counted yet
 *     s      sketches of a server before this one: nobody reads them, and they are deleted
 *
 * A table has, without `u`, exactly the entities that base and sums add up to.  Each group writes
 * the sums of its committer in the batch of its entities, so this holds in every snapshot.  A
 * count takes one: what it finds, less the sums in the same snapshot, is the base, whatever was
 * written meanwhile.
 */
#ifndef TV_INSIGHT_FACTS_ROWS_H
#define TV_INSIGHT_FACTS_ROWS_H

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

typedef enum tv_facts_row_kind {
    TV_FACTS_ROW_BASE = 'b',
    TV_FACTS_ROW_SUMS = 'c',
    TV_FACTS_ROW_SKETCH = 's',
    TV_FACTS_ROW_UNCOUNTED = 'u',
} tv_facts_row_kind;

#define TV_FACTS_UNCOUNTED TV_LIT("uncounted")

/** What is added up.  Unsigned numbers that wrap: one committer may delete what another made. */
typedef struct tv_facts_sums {
    uint64_t entities, bytes;
    uint64_t created, replaced, deleted; /* of a base: 0 */
} tv_facts_sums;

/** Add `more`, or take it away. */
void tv_facts_sums_add(tv_facts_sums *sums, const tv_facts_sums *more);
void tv_facts_sums_subtract(tv_facts_sums *sums, const tv_facts_sums *less);

/** How many changes of entities they are of: grows with each. */
static inline uint64_t tv_facts_sums_changes(const tv_facts_sums *sums)
{
    return sums->created + sums->replaced + sums->deleted;
}

/** The value of a row; returns its length. */
enum { TV_FACTS_SUMS_BYTES_MAX = 50 };
size_t tv_facts_sums_format(const tv_facts_sums *sums, char to[TV_FACTS_SUMS_BYTES_MAX]);
tv_err tv_facts_sums_parse(tv_slice value, tv_facts_sums *ret_sums) TV_WARN_UNUSED;

/** A row's key taken apart: slices of it.  TV_ERR_CORRUPT. */
typedef struct tv_facts_row_key {
    tv_slice table; /* account 01 table-id: the same in all rows of the table, of any space */
    tv_facts_row_kind kind;
    int committer; /* of sums */
} tv_facts_row_key;
tv_err tv_facts_row_key_parse(tv_slice key, tv_facts_row_key *ret_key) TV_WARN_UNUSED;

/** Make one behind a prefix of tv_key_table_facts; `committer` is that of sums.  Its length. */
enum { TV_FACTS_ROW_KEY_BYTES_MAX = 1 + 24 + 1 + 8 + 2 };
size_t tv_facts_row_key_format(tv_slice table, tv_facts_row_kind kind, int committer,
                               char to[TV_FACTS_ROW_KEY_BYTES_MAX]);

#endif
