/*
 * What the patterns share.  They use the public functions of tavola.h; the few internal ones are
 * here and in names.h, so that a pattern could also be written by an application.
 *
 * A pattern is made of several requests and may end after any of them.  Each file says at its top
 * in which order it makes them and why every prefix of that order is a state that its recovery (the
 * same call again, a worker, a sweep) turns into a right one.
 */
#ifndef TVC_PATTERNS_H
#define TVC_PATTERNS_H

#include "client/entity/entity.h"
#include "client/op/call.h"
#include "client/op/op.h"

enum {
    TVC_ROUNDS_MAX = 10,  /* read, write with a condition: so often, then ETAG */
    TVC_INDEXES_MAX = 99, /* an entity and its copies in one entity group transaction */
    TVC_BATCH_WRITES = 100,
};

/**
 * The names of the properties that copies carry: the RowKey of the primary (as the application
 * knows it, without a prefix), and in another partition its PartitionKey, too, and the etag of the
 * primary of which it is a copy.
 */
#define TVC_PRIMARY_ROW "TavolaPrimary"
#define TVC_PRIMARY_PARTITION "TavolaPartition"
#define TVC_PRIMARY_ETAG "TavolaETag"

/**
 * The same for a pattern that decides by what it reads what to write or delete: until
 * tvc_writing_call_done, which is given both again, the call reads the primary alone.
 */
static inline tavola_call *tvc_writing_call_of(tavola_call *call, tavola_call *own)
{
    tavola_call *used = tvc_call_of(call, own);

    used->primary_only++;
    return used;
}

static inline void tvc_writing_call_done(tavola_call *call, tavola_call *own)
{
    if (call)
        call->primary_only--;
    tvc_call_done(own);
}

/** Wait before the next round, for a random time that grows with the rounds. */
void tvc_pause(unsigned round);

/**
 * A copy of an entity under other keys and without an etag; NULL when there is no memory.  A key
 * that the service would refuse is an error of the copy.
 */
tavola_entity *tvc_entity_copy_as(const tavola_entity *entity, const char *partition_key,
                                  const char *row_key);

/** Take a property out, if it is there; that does not count as a change by the application. */
void tvc_entity_forget(tavola_entity *entity, const char *name);

/** Put the entities and the token of a page behind those of another; `next` is taken over. */
tavola_err tvc_page_append(tavola_page *page, tavola_page *next);

/** The text a + b; NULL when there is no memory. */
char *tvc_joined(const char *a, const char *b);

/** A String property as text without U+0000; NULL when it is absent, not a String, or has one. */
const char *tvc_entity_text(const tavola_entity *entity, const char *name);

/** Whether two handles mean one table. */
bool tvc_table_is_same(const tavola_table *a, const tavola_table *b);

/** 64 hexadecimal digits of SHA-256 and a NUL. */
void tvc_sha256_hex(tv_slice bytes, char ret_hex[65]);
void tvc_sha256(tv_slice bytes, uint8_t ret_digest[32]);

#endif
