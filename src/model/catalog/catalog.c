/* The catalogue in memory. */
#include "base/assert.h"
#include "base/hash.h"
#include "model/catalog/acl.h"
#include "model/catalog/internal.h"

/* --- containers --- */

static char *move(char *to, tv_slice text, tv_slice *ret_copy)
{
    *ret_copy = (tv_slice){memcpy(to, text.data, text.len), text.len};
    return to + text.len;
}

tv_slice tv_attributes_new(tv_slice attributes)
{
    if (attributes.len == 0)
        return TV_NONE;

    return (tv_slice){memcpy(tv_malloc(attributes.len), attributes.data, attributes.len),
                      attributes.len};
}

tv_container *tv_container_new(const tv_catalog_kind *kind, tv_slice account, tv_slice name,
                               int64_t id, tv_slice attributes)
{
    tv_arena arena;
    tv_arena_init(&arena);
    tv_slice prefix = kind->rows(&arena, account, id);
    tv_container *container =
        tv_calloc(1, sizeof *container + kind->service_bytes + account.len + name.len + prefix.len);
    char *text = (char *)(container + 1) + kind->service_bytes;

    atomic_init(&container->refs, 1);
    container->id = id;
    container->service_data = container + 1;
    text = move(text, account, &container->account);
    text = move(text, name, &container->name);
    move(text, prefix, &container->prefix);
    container->attributes = tv_attributes_new(attributes);
    container->kind = kind;
    if (kind->service_init)
        kind->service_init(kind->ctx, container);
    tv_arena_done(&arena);
    return container;
}

tv_container *tv_container_ref(tv_container *container)
{
    int refs = atomic_fetch_add_explicit(&container->refs, 1, memory_order_relaxed);

    tv_assert(refs > 0); /* somebody holds it, or it might be gone already */
    return container;
}

void tv_container_unref(tv_container *container)
{
    if (container && atomic_fetch_sub_explicit(&container->refs, 1, memory_order_acq_rel) == 1) {
        if (container->kind->service_done)
            container->kind->service_done(container);
        free(container->policies);
        free((char *)container->attributes.data);
        free(container);
    }
}

/* --- the map --- */

const tv_catalog_kind *tv_catalog_kind_of(const tv_catalog *catalog)
{
    return catalog->kind;
}

static tv_container **bucket_of(tv_catalog *catalog, tv_slice account, tv_slice name)
{
    uint64_t hash = 31 * tv_hash(account) + tv_hash_nocase(name);

    return &catalog->buckets[hash % TV_CATALOG_BUCKETS];
}

tv_container **tv_catalog_link(tv_catalog *catalog, tv_slice account, tv_slice name)
{
    tv_container **link = bucket_of(catalog, account, name);

    while (*link &&
           !(tv_slice_eq_nocase((*link)->name, name) && tv_slice_eq((*link)->account, account)))
        link = &(*link)->next;
    return link;
}

void tv_catalog_remove(tv_catalog *catalog, tv_container **link)
{
    tv_container *container = *link;

    tv_assert(container && catalog->count > 0);
    *link = container->next;
    catalog->count--;
    tv_container_unref(container);
}

void tv_catalog_drop(tv_catalog *catalog, tv_container **link)
{
    atomic_store(&(*link)->is_dropped, true);
    tv_catalog_remove(catalog, link);
}

void tv_catalog_add(tv_catalog *catalog, tv_container *container)
{
    tv_container **link = tv_catalog_link(catalog, container->account, container->name);

    tv_assert(*link == NULL);
    container->added = container->changed = ++catalog->sequence;
    container->next = NULL;
    *link = container;
    catalog->count++;
    if (tv_catalog_is_shared(catalog))
        tv_catalog_note_account(catalog, container->account);
}

void tv_catalog_set(tv_catalog *catalog, tv_container *container, tv_access_policies *policies,
                    tv_slice attributes)
{
    free(container->policies);
    free((char *)container->attributes.data);
    container->policies = policies;
    container->attributes = attributes;
    container->changed = ++catalog->sequence;
}

uint64_t tv_catalog_sequence(tv_catalog *catalog)
{
    pthread_rwlock_rdlock(&catalog->lock);
    uint64_t sequence = catalog->sequence;
    pthread_rwlock_unlock(&catalog->lock);
    return sequence;
}

uint64_t tv_catalog_barrier(tv_catalog *catalog)
{
    pthread_rwlock_rdlock(&catalog->lock);
    uint64_t barrier = catalog->barrier;
    pthread_rwlock_unlock(&catalog->lock);
    return barrier;
}

tv_container *tv_catalog_find(tv_catalog *catalog, tv_slice account, tv_slice name)
{
    pthread_rwlock_rdlock(&catalog->lock);
    tv_container *container = *tv_catalog_link(catalog, account, name);
    if (container)
        tv_container_ref(container);
    pthread_rwlock_unlock(&catalog->lock);
    return container;
}

tv_err tv_catalog_policies(tv_catalog *catalog, tv_slice account, tv_slice name, tv_arena *arena,
                           tv_access_policies *ret_policies)
{
    pthread_rwlock_rdlock(&catalog->lock);
    const tv_container *container = *tv_catalog_link(catalog, account, name);
    bool is_there = container != NULL;

    if (is_there && container->policies)
        tv_acl_copy(arena, container->policies, ret_policies);
    else
        ret_policies->count = 0;
    pthread_rwlock_unlock(&catalog->lock);
    return is_there ? TV_OK : catalog->kind->not_found;
}

size_t tv_catalog_count(tv_catalog *catalog)
{
    pthread_rwlock_rdlock(&catalog->lock);
    size_t count = catalog->count;
    pthread_rwlock_unlock(&catalog->lock);
    return count;
}

tv_container **tv_catalog_all(tv_catalog *catalog, size_t *ret_count)
{
    size_t count = 0;

    pthread_rwlock_rdlock(&catalog->lock);
    tv_container **list = tv_calloc(catalog->count + 1, sizeof *list);

    for (size_t i = 0; i < TV_CATALOG_BUCKETS; i++) {
        for (tv_container *next = catalog->buckets[i]; next; next = next->next)
            list[count++] = tv_container_ref(next);
    }
    pthread_rwlock_unlock(&catalog->lock);
    *ret_count = count;
    return list;
}

void tv_catalog_visit(tv_catalog *catalog, void (*fn)(void *ctx, const tv_container *container),
                      void *ctx)
{
    pthread_rwlock_rdlock(&catalog->lock);
    for (size_t i = 0; i < TV_CATALOG_BUCKETS; i++) {
        for (const tv_container *container = catalog->buckets[i]; container;
             container = container->next)
            fn(ctx, container);
    }
    pthread_rwlock_unlock(&catalog->lock);
}

tv_slice tv_catalog_attributes(tv_catalog *catalog, const tv_container *container, tv_arena *arena)
{
    pthread_rwlock_rdlock(&catalog->lock);
    tv_slice copy = tv_arena_dup(arena, container->attributes);
    pthread_rwlock_unlock(&catalog->lock);
    return copy;
}

/* --- settings of accounts --- */

/* The link to them, or the end of the list.  Under the lock. */
static tv_account_settings **find_settings(tv_catalog *catalog, tv_slice account)
{
    tv_account_settings **link = &catalog->settings;

    while (*link && !tv_slice_eq((tv_slice){(*link)->name, (*link)->name_len}, account))
        link = &(*link)->next;
    return link;
}

void tv_catalog_put_settings(tv_catalog *catalog, tv_slice account, tv_shared_settings *properties,
                             uint64_t look)
{
    pthread_rwlock_wrlock(&catalog->lock);
    tv_account_settings **link = find_settings(catalog, account);

    if (*link == NULL) {
        *link = tv_calloc(1, sizeof **link + account.len);
        (*link)->name_len = account.len;
        memcpy((*link)->name, account.data, account.len);
    }
    /* A look that finds what is known does not make a change of ours, which runs, an older one. */
    if ((*link)->changed > look ||
        ((*link)->settings && tv_slice_eq((*link)->settings->document, properties->document))) {
        tv_shared_settings_unref(properties);
        pthread_rwlock_unlock(&catalog->lock);
        return;
    }
    (*link)->changed = ++catalog->sequence;
    tv_shared_settings_unref((*link)->settings);
    (*link)->settings = properties;
    if (properties->settings.cors.count)
        atomic_store_explicit(&catalog->has_cors, true, memory_order_relaxed);
    if (tv_settings_has_analytics(&properties->settings))
        atomic_store_explicit(&catalog->has_analytics, true, memory_order_relaxed);
    pthread_rwlock_unlock(&catalog->lock);
}

tv_shared_settings *tv_catalog_settings(tv_catalog *catalog, tv_slice account)
{
    tv_shared_settings *properties = NULL;

    pthread_rwlock_rdlock(&catalog->lock);
    const tv_account_settings *settings = *find_settings(catalog, account);
    if (settings)
        properties = tv_shared_settings_ref(settings->settings);
    pthread_rwlock_unlock(&catalog->lock);
    return properties;
}

bool tv_catalog_has_cors(const tv_catalog *catalog)
{
    return atomic_load_explicit(&catalog->has_cors, memory_order_relaxed);
}

bool tv_catalog_has_analytics(const tv_catalog *catalog)
{
    return atomic_load_explicit(&catalog->has_analytics, memory_order_relaxed);
}

void tv_catalog_visit_settings(tv_catalog *catalog,
                               void (*fn)(void *ctx, tv_slice account,
                                          tv_shared_settings *settings),
                               void *ctx)
{
    pthread_rwlock_rdlock(&catalog->lock);
    for (const tv_account_settings *s = catalog->settings; s; s = s->next)
        fn(ctx, (tv_slice){s->name, s->name_len}, s->settings);
    pthread_rwlock_unlock(&catalog->lock);
}

/* --- start and end --- */

void tv_catalog_lead(tv_catalog *catalog, const tv_lead *lead)
{
    tv_catalog_gc_lead(catalog->gc, lead);
}

tv_err tv_catalog_open(const tv_catalog_kind *kind, tv_engine *engine, tv_pipeline *pipeline,
                       tv_catalog **ret_catalog)
{
    tv_catalog *catalog = tv_calloc(1, sizeof *catalog);
    tv_err err;

    catalog->kind = kind;
    catalog->engine = engine;
    catalog->pipeline = pipeline;
    tv_assert(pthread_rwlock_init(&catalog->lock, NULL) == 0);
    tv_assert(pthread_mutex_init(&catalog->fencing, NULL) == 0);
    catalog->gc = tv_catalog_gc_new(catalog, pipeline);
    err = engine->ops->is_shared ? tv_catalog_follow(catalog, true) : tv_catalog_load(catalog);
    if (err) {
        tv_catalog_close(catalog);
        return err;
    }

    *ret_catalog = catalog;
    return TV_OK;
}

void tv_catalog_close(tv_catalog *catalog)
{
    if (catalog == NULL)
        return;

    tv_catalog_gc_free(catalog->gc);
    for (size_t i = 0; i < TV_CATALOG_BUCKETS; i++) {
        while (catalog->buckets[i])
            tv_catalog_remove(catalog, &catalog->buckets[i]);
    }
    while (catalog->settings) {
        tv_account_settings *settings = catalog->settings;

        catalog->settings = settings->next;
        tv_shared_settings_unref(settings->settings);
        free(settings);
    }
    while (catalog->accounts) {
        tv_catalog_account *next = catalog->accounts->next;

        free(catalog->accounts);
        catalog->accounts = next;
    }
    pthread_rwlock_destroy(&catalog->lock);
    pthread_mutex_destroy(&catalog->fencing);
    free(catalog);
}
