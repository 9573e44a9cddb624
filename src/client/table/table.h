/*
 * What the operations on tables share: the checks of arguments, the making of requests, pages that
 * are read ahead.  tables.c works on whole tables, get.c, write.c and update.c on one entity,
 * page.c, scan.c, count.c and explain.c on many, batch.c, bulk.c and delete_where.c on groups;
 * start.c starts what the others run.
 */
#ifndef TVC_TABLE_H
#define TVC_TABLE_H

#include "client/circle.h"
#include "client/crypto/crypto.h"
#include "client/entity/entity.h"
#include "client/op/op.h"
#include "client/query/query.h"

/** A table of one's own, for what outlives the caller's.  NULL when there is no memory. */
tavola_table *tvc_table_copy(const tavola_table *table);

/** The crypto of the call, else that of the table, else NULL.  Both may be NULL. */
tavola_crypto *tvc_table_crypto(const tavola_table *table, const tavola_call *call);

/* ---- checks: each refuses with a line in the call, which may be NULL ---- */

tavola_err tvc_table_check(const tavola_table *table, tavola_call *call);

/** A table and the keys of an entity. */
tavola_err tvc_table_check_keys(const tavola_table *table, const char *partition_key,
                                const char *row_key, tavola_call *call);

/** A query that can be sent; NULL is one. */
tavola_err tvc_table_check_query(const tavola_query *query, tavola_call *call);

/* ---- requests ---- */

/** An operation on tables with the headers that all of them have.  NULL: no memory. */
tavola_op *tvc_table_op(const tavola_table *table, const char *method, tavola_call *call);

/** The same for what reads. */
tavola_op *tvc_table_read_op(const tavola_table *table, tavola_call *call);

/** Append "/Name(PartitionKey='...',RowKey='...')". */
void tvc_add_entity_path(tvc_text *path, const tavola_table *table, const char *partition_key,
                         const char *row_key);

/** Run an operation that has no result but its error, and free it; NULL is NO_MEMORY. */
tavola_err tvc_run_and_free(tavola_op *op);

/* ---- one write, alone or as a part of a batch: entity_write.c ---- */

/** A write whose arguments are checked: what is sent. */
typedef struct tvc_write {
    tavola_write kind;
    const tavola_entity *entity; /* the caller's, or `encrypted` */
    const char *if_match;        /* NULL: no condition; lives as long as the arguments */
    tavola_entity *encrypted;    /* ours, or NULL */
} tvc_write;

/** "PUT". */
const char *tvc_write_method(tavola_write kind);

/** Whether it sends the entity: all but a delete. */
bool tvc_write_has_body(tavola_write kind);

/** What settles it when it is repeated. */
tvc_settle_kind tvc_write_settle_kind(tavola_write kind);

/**
 * Check a write and encrypt its entity if there is a crypto.  A NULL if_match is the entity's own
 * etag; INVALID when it has none and the kind of write needs one.
 */
tavola_err tvc_write_init(tvc_write *write, const tavola_table *table, tavola_write kind,
                          const tavola_entity *entity, const char *if_match, tavola_call *call);
void tvc_write_done(tvc_write *write);

/** Append the headers that a write has, alone or in a batch: "Name: value\r\n"... */
void tvc_write_add_headers(tvc_text *headers, const tvc_write *write);

/** Append the path below the account that a write is sent to. */
void tvc_write_add_path(tvc_text *path, const tavola_table *table, const tvc_write *write);

/** The operation of a checked write; the write may be done with then.  NULL: no memory. */
tavola_op *tvc_write_op(const tavola_table *table, const tvc_write *write, tavola_call *call);

/** Check, send and wait; the entity stays as it is, and the new etag is in the call. */
tavola_err tvc_write_run(tavola_table *table, tavola_write kind, const tavola_entity *entity,
                         const char *if_match, tavola_call *call);

/* ---- reads: get.c, page.c ---- */

/** What an answer is compared with and decrypted by; hangs at an operation, texts and all. */
typedef struct tvc_reading {
    tavola_crypto *crypto;               /* or NULL */
    const char *table;                   /* its name */
    const char *partition_key, *row_key; /* of a point read */
    bool is_selection;                   /* not all properties were asked for */
} tvc_reading;

/** Hang one at an operation as its user_data, which is freed with it.  NO_MEMORY. */
tavola_err tvc_reading_hang(tavola_op *op, const tavola_table *table, tavola_crypto *crypto,
                            const char *partition_key, const char *row_key);

/** Where a table of a client is, for encryption. */
tvc_place tvc_place_of(const tavola_client *client, const char *table);

/** The operation of a point read; `names` are the properties, NULL: all. */
tavola_err tvc_get_op(const tavola_table *table, const char *partition_key, const char *row_key,
                      const char *const *names, tavola_crypto *crypto, tavola_call *call,
                      tavola_op **ret_op);

/** The operation of one page; at most `limit` entities. */
tavola_err tvc_page_op(const tavola_table *table, const tavola_query *query, const char *token,
                       uint64_t limit, tavola_crypto *crypto, tavola_call *call,
                       tavola_op **ret_op);

/*
 * All pages of a query, one after the other: the next one is on its way while this one is read, so
 * at most two are in memory.  The first is asked for on the caller's thread.
 */
typedef struct tvc_pages {
    tavola_table *table; /* ours */
    tavola_query *query; /* ours, or NULL */
    tavola_crypto *crypto;
    tavola_call *call;   /* the caller's, or NULL */
    tavola_page *page;   /* the current one */
    tavola_page *spare;  /* an empty one, for its memory, or NULL */
    size_t count;        /* of its entities: those within the limit */
    tavola_op *ahead;    /* brings the next, or NULL */
    uint64_t limit_left; /* after those; UINT64_MAX: no limit */
    tvc_circle circle;
    tavola_err err; /* once it is not OK it stays */
} tvc_pages;

/** `is_keys_only`: only the keys of the entities, and nothing is decrypted. */
tavola_err tvc_pages_init(tvc_pages *pages, const tavola_table *table, const tavola_query *query,
                          bool is_keys_only, tavola_call *call);

/** Send for the first page now; without this it is asked for when it is needed. */
void tvc_pages_send_first(tvc_pages *pages);

/** The next page, which replaces the one before; END after the last. */
tavola_err tvc_pages_next(tvc_pages *pages, const tavola_page **ret_page);
void tvc_pages_done(tvc_pages *pages);

/** Give an operation of its own the options of a call. */
void tvc_call_copy_options(tavola_call *to, const tavola_call *from);

/** Move the outcome of an operation's own call to the caller's, if there is one. */
void tvc_call_take_outcome(tavola_call *to, tavola_call *from);

#endif
