/*
 * The ids of all containers at one time: for who has to tell many ids of living containers from
 * those of dropped ones, which the catalogue itself finds by name alone.
 */
#ifndef TV_MODEL_CATALOG_IDS_H
#define TV_MODEL_CATALOG_IDS_H

#include "model/catalog/catalog.h"

typedef struct tv_catalog_id {
    uint64_t account; /* its hash */
    int64_t id;
} tv_catalog_id;

typedef struct tv_catalog_ids {
    tv_catalog_id *list; /* sorted */
    size_t count, size;
} tv_catalog_ids;

/** Look at the whole catalogue, under its lock.  Any thread. */
void tv_catalog_ids_take(tv_catalog *catalog, tv_catalog_ids *ret_ids);

void tv_catalog_ids_done(tv_catalog_ids *ids);

/** True of all that were there; of others false but for accounts whose hashes are the same. */
bool tv_catalog_ids_have(const tv_catalog_ids *ids, tv_slice account, int64_t id);

#endif
