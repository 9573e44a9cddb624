/*
 * The copies of the inter-partition secondary index pattern, and how they are made equal to their
 * primary while others do the same.
 *
 * A spot is a place where a copy of one primary may be.  A write to a spot is made in three steps:
 * (1) read the spot, (2) know the state of the primary, by reading or by having just written it,
 * (3) write the spot with the etag of (1) as its condition, also if it is right already.  Whoever
 * changed the primary last does this, so from that step (3) on the spot is by the last state, and
 * everybody else's step (3) fails, or has read the spot after it and so saw the last state, too.
 *
 * An absent copy has no etag, and a spot that is to stay empty is not written.  So there:
 * (4) whoever has changed the primary reads such a spot after that change, and (5) whoever has put
 * a copy where none of this primary was looks at the primary after that.  One of the two is later
 * and sees what the other did.
 *
 * A change of the primary is announced by a message first that names the spots of its old and its
 * new values, and only those spots are touched for it: what one of us leaves undone is named in a
 * message that is still in the queue.
 */
#ifndef TVC_PATTERNS_INTER_COPIES_H
#define TVC_PATTERNS_INTER_COPIES_H

#include "client/patterns/indexed.h"

enum { TVC_SPOTS_MAX = 2 * TVC_INDEXES_MAX };

typedef enum tvc_owner {
    TVC_OWNER_NOBODY, /* there is no copy */
    TVC_OWNER_US,
    TVC_OWNER_OTHER, /* another primary, or nobody knows */
} tvc_owner;

typedef struct tvc_spot {
    const tavola_index *index;
    tvc_index_place at;  /* its RowKey is the value */
    tavola_entity *copy; /* as it was read; NULL: none */
    tvc_owner owner;
} tvc_spot;

typedef struct tvc_spots {
    const tavola_indexed *indexed;
    const char *partition_key, *row_key; /* of the primary, as the application knows them */
    tavola_call *call;
    tvc_spot *at;
    size_t count;
    bool has_conflict; /* another primary has a value of ours, and the copy */
} tvc_spots;

tavola_err tvc_spots_init(tvc_spots *spots, const tavola_indexed *indexed,
                          const char *partition_key, const char *row_key, tavola_call *call);
void tvc_spots_done(tvc_spots *spots);

/** A spot by its index and value; once.  INVALID when it is that of another index, too. */
tavola_err tvc_spots_add(tvc_spots *spots, const tavola_index *index, const char *value);

/**
 * The spots of all values of an entity.  What cannot be a key is INVALID, or left out when the
 * entity `is_stored`.
 */
tavola_err tvc_spots_add_values(tvc_spots *spots, const tavola_entity *entity, bool is_stored);

/** Step (1) for all of them. */
tavola_err tvc_spots_read(tvc_spots *spots);

/** Step (4): after a change to this state, read those that have no copy of ours and shall not. */
tavola_err tvc_spots_read_empty(tvc_spots *spots, const tavola_entity *primary);

/** EXISTS when another primary has a value of this entity. */
tavola_err tvc_spots_check_free(tvc_spots *spots, const tavola_entity *entity);

/**
 * Step (3) for all of them; `primary` is its state with its etag, which copies carry; NULL: there
 * is none.  *ret_again: the spots are
 * to be read again, because others wrote to them.  *ret_has_inserted: step (5) is due.
 */
tavola_err tvc_spots_write(tvc_spots *spots, const tavola_entity *primary, bool *ret_again,
                           bool *ret_has_inserted);

/** All steps, until there is nothing left to do. */
tavola_err tvc_spots_repair(tvc_spots *spots);

#endif
