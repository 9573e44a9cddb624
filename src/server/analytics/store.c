/* Containers and tables, found and made. */
#include "server/analytics/store.h"

#include "services/blob/store/container.h"

void tv_analytics_store_init(tv_analytics_store *store, tv_pipeline *pipeline,
                             tv_table_service *tables, tv_blob_service *blobs)
{
    *store = (tv_analytics_store){.engine = tables->base.engine,
                                  .tables = tables->base.catalog,
                                  .containers = blobs->base.catalog,
                                  .blobs = blobs};
    tv_waiter_init(&store->waiter, pipeline);
}

void tv_analytics_store_done(tv_analytics_store *store)
{
    tv_waiter_done(&store->waiter);
}

static tv_catalog *catalog_of(const tv_analytics_store *store, tv_service_kind service)
{
    return service == TV_SERVICE_BLOB ? store->containers : store->tables;
}

/* A name that another node has made is looked up. */
tv_err tv_analytics_store_find(tv_analytics_store *store, tv_service_kind service, tv_slice account,
                               tv_slice name, tv_container **ret_container)
{
    tv_catalog *catalog = catalog_of(store, service);
    tv_container *container = tv_catalog_find(catalog, account, name);
    tv_err err;

    if (container == NULL && tv_catalog_is_shared(catalog)) {
        err = tv_catalog_look_up(catalog, account, name);
        if (err)
            return err;
        container = tv_catalog_find(catalog, account, name);
    }
    if (container == NULL)
        return TV_ERR_NOT_FOUND;

    *ret_container = container;
    return TV_OK;
}

static void decide_attributes(tv_catalog_create *create, int64_t now)
{
    tv_container_attributes attributes = {.created = now, .etag = now};

    create->attributes = tv_container_attributes_encode(create->arena, &attributes);
}

static tv_err create(tv_analytics_store *store, tv_service_kind service, tv_slice account,
                     tv_slice name)
{
    tv_catalog *catalog = catalog_of(store, service);
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);

    tv_catalog_create change = {.catalog = catalog,
                                .account = account,
                                .name = name,
                                .decide = service == TV_SERVICE_BLOB ? decide_attributes : NULL,
                                .arena = &arena};

    err = tv_catalog_create_now(&change, &store->waiter);
    tv_arena_done(&arena);
    return err == tv_catalog_kind_of(catalog)->exists ? TV_OK : err;
}

tv_err tv_analytics_store_make(tv_analytics_store *store, tv_service_kind service, tv_slice account,
                               tv_slice name, tv_container **ret_container)
{
    tv_err err = tv_analytics_store_find(store, service, account, name, ret_container);

    if (err != TV_ERR_NOT_FOUND)
        return err;

    err = create(store, service, account, name);
    return err ? err : tv_analytics_store_find(store, service, account, name, ret_container);
}
