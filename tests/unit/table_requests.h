/*
 * What requests about tables do to a node, without HTTP: find, create, delete, write a row.  For
 * tests of several nodes on one store.
 */
#ifndef TV_TESTS_UNIT_TABLE_REQUESTS_H
#define TV_TESTS_UNIT_TABLE_REQUESTS_H

#include "check.h"
#include "model/catalog/catalog.h"
#include "store/commit/waiter.h"
#include "store/engine/key.h"

#define ACCOUNT TV_LIT("acct")

/* The table of a name as a request finds it: what is not known is looked up.  NULL: none. */
static inline tv_container *request_find(tv_catalog *catalog, tv_slice name)
{
    tv_container *table = tv_catalog_find(catalog, ACCOUNT, name);

    if (table)
        return table;
    CHECK_OK(tv_catalog_look_up(catalog, ACCOUNT, name));
    return tv_catalog_find(catalog, ACCOUNT, name);
}

static inline tv_err request_create(tv_catalog *catalog, tv_waiter *waiter, tv_arena *in,
                                    tv_slice name, int64_t *ret_id)
{
    tv_catalog_create op = {.catalog = catalog, .account = ACCOUNT, .name = name, .arena = in};
    tv_err err = tv_catalog_create_now(&op, waiter);

    *ret_id = op.id;
    return err;
}

/* The catalogue's part of a deletion: a fence follows before the answer. */
static inline tv_err request_take_out(tv_catalog *catalog, tv_waiter *waiter, tv_arena *in,
                                      tv_container *table)
{
    tv_catalog_delete op = {.catalog = catalog, .container = table, .arena = in};
    tv_write write = {0};

    tv_catalog_prepare_delete(&op, &write);
    return tv_waiter_run(waiter, &write);
}

/* A row of a table that was found earlier, to be run by a waiter. */
typedef struct request_row {
    tv_container *table;
    tv_slice key;
} request_row;

static inline tv_err request_put_row(tv_txn *txn, void *ctx)
{
    const request_row *row = ctx;

    if (atomic_load(&row->table->is_dropped))
        return TV_ERR_TABLE_NOT_FOUND;
    tv_txn_put(txn, row->key, TV_LIT("row"));
    return TV_OK;
}

static inline tv_write request_write_row(tv_arena *in, tv_container *table, tv_slice name,
                                         request_row *ret_row)
{
    tv_write write = {.run = request_put_row, .ctx = ret_row};

    *ret_row = (request_row){.table = table};
    CHECK_OK(tv_key_partition(in, ACCOUNT, table->id, TV_LIT("p"), &write.partition));
    CHECK_OK(tv_key_row(in, write.partition, name, &ret_row->key));
    return write;
}

#endif
