#include "model/catalog/ids.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"

static int compare(const void *a, const void *b)
{
    const tv_catalog_id *x = a, *y = b;

    if (x->account != y->account)
        return x->account < y->account ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static void add(void *ctx, const tv_container *container)
{
    tv_catalog_ids *ids = ctx;

    tv_grow(&ids->list, ids->count, &ids->size, 64);
    ids->list[ids->count++] = (tv_catalog_id){tv_hash(container->account), container->id};
}

void tv_catalog_ids_take(tv_catalog *catalog, tv_catalog_ids *ret_ids)
{
    *ret_ids = (tv_catalog_ids){0};
    tv_catalog_visit(catalog, add, ret_ids);
    if (ret_ids->count)
        qsort(ret_ids->list, ret_ids->count, sizeof *ret_ids->list, compare);
}

void tv_catalog_ids_done(tv_catalog_ids *ids)
{
    free(ids->list);
    *ids = (tv_catalog_ids){0};
}

bool tv_catalog_ids_have(const tv_catalog_ids *ids, tv_slice account, int64_t id)
{
    tv_catalog_id wanted = {tv_hash(account), id};

    return ids->count && bsearch(&wanted, ids->list, ids->count, sizeof wanted, compare);
}
