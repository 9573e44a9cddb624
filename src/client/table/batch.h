/*
 * Entity group transactions: the request and its answer, as tavola_batch and tavola_bulk use them.
 */
#ifndef TVC_TABLE_BATCH_H
#define TVC_TABLE_BATCH_H

#include "client/table/table.h"

enum {
    TVC_BATCH_WRITES_MAX = 100,
    TVC_BATCH_BYTES_MAX = 4 * 1024 * 1024, /* of the body */
};

/** One write of a batch.  All memory is its own. */
typedef struct tvc_batch_item {
    tavola_write kind;
    tavola_entity *entity; /* a copy of the application's */
    char *if_match;        /* what the application gave, or NULL */
    uint64_t hash;         /* of the RowKey */
    char *part;            /* what is sent, without the boundary before it; NULL: not yet made */
    size_t part_len;
    size_t json_len; /* of the entity at the end of the part, before the line end */
} tvc_batch_item;

/** Copy what is to be written; nothing is checked.  NO_MEMORY. */
tavola_err tvc_batch_item_init(tvc_batch_item *item, tavola_write kind, const tavola_entity *entity,
                               const char *if_match);
void tvc_batch_item_done(tvc_batch_item *item);

/** Whether two items are about one entity of one partition. */
bool tvc_batch_item_same(const tvc_batch_item *a, const tvc_batch_item *b);

/** Check the write and make its part. */
tavola_err tvc_batch_item_make_part(tvc_batch_item *item, const tavola_table *table,
                                    tavola_call *call);

/** The bytes that a body has for each of its items, and beside them. */
size_t tvc_batch_item_bytes(const tvc_batch_item *item);
size_t tvc_batch_frame_bytes(void);

/** The etags of a batch that was made, kept where they came: in the answer. */
typedef struct tvc_batch_etags {
    char *answer;
    const char *at[TVC_BATCH_WRITES_MAX]; /* or NULL */
} tvc_batch_etags;

/**
 * The operation of a batch; its items have parts.  Its result is the error of the one that failed,
 * which op->call->failed_index names if the answer does.  `etags` may be NULL, else it outlives the
 * operation.  NULL: no memory.
 */
tavola_op *tvc_batch_op(const tavola_table *table, const tvc_batch_item *items, size_t count,
                        tvc_batch_etags *etags, tavola_call *call);

/** Let an operation read the answer to a batch of `count` writes.  NO_MEMORY. */
tavola_err tvc_batch_expect(tavola_op *op, size_t count, tvc_batch_etags *etags);

/** Check a batch of the application and make its operation; the batch is spent then. */
tavola_err tvc_batch_begin(tavola_batch *batch, tavola_call *call, tavola_op **ret_op);

/* ---- answers: batch_answer.c ---- */

typedef struct tvc_batch_part {
    int status;
    tv_slice etag; /* TV_NONE: none */
    tv_slice body;
} tvc_batch_part;

typedef struct tvc_batch_answer {
    tvc_batch_part parts[TVC_BATCH_WRITES_MAX];
    size_t count;
} tvc_batch_answer;

/**
 * Take a multipart answer apart; the slices point into `body`.  Leniently: line ends with or
 * without CR, names in any case, parts with or without a changeset around them.  False when it is
 * not such an answer, when its end is missing, or when it has more parts than a batch can have.
 */
bool tvc_batch_answer_read(tv_slice content_type, tv_slice body, tvc_batch_answer *ret_answer);

/** Take the index off the front of an error's message, "2:The entity..."; -1: it has none. */
int tvc_batch_take_index(char *message);

/** A new batch with the same writes, not run yet; NULL when there is no memory. */
tavola_batch *tvc_batch_copy(const tavola_batch *batch);

/** Whether a batch is of this table and can still be run. */
bool tvc_batch_is_for(const tavola_batch *batch, const tavola_table *table);

#endif
