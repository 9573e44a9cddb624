/*
 * A wide entity in parts.  The RowKey of part n is the key, in which every '~' is doubled, then '~'
 * and n: so all parts of one key, and no part of another, lie between "key~0" and "key~:".
 *
 * Every part holds the id of the put that wrote it, the first one also the number of parts: a
 * reader that meets parts of two puts, because its pages were read at two times, sees it.
 */
#ifndef TVC_PATTERNS_WIDE_PARTS_H
#define TVC_PATTERNS_WIDE_PARTS_H

#include "client/patterns/pattern.h"

#define TVC_WIDE_PUT "TavolaPut"
#define TVC_WIDE_COUNT "TavolaParts"

enum { TVC_WIDE_PARTS_MAX = TVC_BATCH_WRITES };

typedef struct tvc_wide_parts {
    tavola_entity *at[TVC_WIDE_PARTS_MAX]; /* NULL where there is none */
    size_t count;
} tvc_wide_parts;

void tvc_wide_parts_done(tvc_wide_parts *parts);

/** The RowKey of a part, or with "" or ":" for a number a bound; NULL: no memory. */
char *tvc_wide_row_key(const char *row_key, const char *number);
char *tvc_wide_part_key(const char *row_key, size_t part);

/** Cut an entity into parts.  TOO_LARGE when there are too many. */
tavola_err tvc_wide_split(const tavola_entity *wide, tvc_wide_parts *ret_parts, tavola_call *call);

/** Keep a copy of an entity if it is a part of this key. */
tavola_err tvc_wide_collect(tvc_wide_parts *parts, const char *row_key,
                            const tavola_entity *entity);

/** Whether these are all parts of one put. */
bool tvc_wide_is_whole(const tvc_wide_parts *parts);

/** The entity that they are parts of. */
tavola_err tvc_wide_join(const tvc_wide_parts *parts, const char *partition_key,
                         const char *row_key, tavola_entity **ret_wide);

/** How many parts the first one says there are; 0 when it is not the first part of anything. */
size_t tvc_wide_count(const tavola_entity *first);

#endif
