/*
 * The catalogue in memory, its rows, and the sweeper.
 *
 * A catalogue row's value is the table's id in decimal, a blank, and its name as
 * it was created: "17 Orders".  A row of policies holds the id likewise, then the
 * XML that a client gets; that of properties is XML alone.
 */
#include "table/catalog.h"

#include "base/assert.h"
#include "base/number.h"
#include "engine/key.h"
#include "table/acl.h"
#include "table/sweeper.h"

enum { BUCKETS = 4096 };

/* What an account has set; there are as many as there are accounts. */
typedef struct account_settings {
    tv_shared_properties *properties;
    struct account_settings *next;
    size_t name_len;
    char name[];
} account_settings;

struct tv_catalog {
    tv_engine *engine;
    tv_sweeper *sweeper;
    pthread_rwlock_t lock; /* guards what follows, and the tables' policies */
    tv_table *buckets[BUCKETS];
    size_t count;
    account_settings *settings;
    atomic_bool has_cors; /* some account has had a rule; written under the lock, read without */
};

/* --- tables --- */

static tv_table *table_new(tv_slice account, tv_slice name, int64_t id)
{
    tv_arena arena;
    tv_arena_init(&arena);
    tv_slice prefix = tv_key_table(&arena, account, id);
    tv_table *table = tv_calloc(1, sizeof *table + account.len + name.len + prefix.len);
    char *text = (char *)(table + 1);

    atomic_init(&table->refs, 1);
    table->id = id;
    table->account = (tv_slice){memcpy(text, account.data, account.len), account.len};
    text += account.len;
    table->name = (tv_slice){memcpy(text, name.data, name.len), name.len};
    text += name.len;
    table->prefix = (tv_slice){memcpy(text, prefix.data, prefix.len), prefix.len};
    tv_arena_done(&arena);
    return table;
}

static tv_table *table_ref(tv_table *table)
{
    atomic_fetch_add_explicit(&table->refs, 1, memory_order_relaxed);
    return table;
}

void tv_table_unref(tv_table *table)
{
    if (table && atomic_fetch_sub_explicit(&table->refs, 1, memory_order_acq_rel) == 1) {
        free(table->policies);
        free(table);
    }
}

/* --- the map --- */

static tv_table **bucket_of(tv_catalog *catalog, tv_slice account, tv_slice name)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < account.len; i++)
        hash = (hash ^ (unsigned char)account.data[i]) * 16777619u;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char)tv_ascii_lower(name.data[i])) * 16777619u;
    return &catalog->buckets[(hash ^ hash >> 15) % BUCKETS];
}

/* Where the table hangs, or the end of its chain.  Under the lock. */
static tv_table **find_link(tv_catalog *catalog, tv_slice account, tv_slice name)
{
    tv_table **link = bucket_of(catalog, account, name);

    while (*link &&
           !(tv_slice_eq_nocase((*link)->name, name) && tv_slice_eq((*link)->account, account)))
        link = &(*link)->next;
    return link;
}

static void map_remove(tv_catalog *catalog, tv_table **link)
{
    tv_table *table = *link;

    *link = table->next;
    catalog->count--;
    tv_table_unref(table);
}

/* Changes are settled in the order of the engine's rows, so none of this name is there. */
static void map_add(tv_catalog *catalog, tv_table *table)
{
    pthread_rwlock_wrlock(&catalog->lock);
    tv_table **link = find_link(catalog, table->account, table->name);
    tv_assert(*link == NULL);
    table->next = *link;
    *link = table;
    catalog->count++;
    pthread_rwlock_unlock(&catalog->lock);
}

tv_table *tv_catalog_find(tv_catalog *catalog, tv_slice account, tv_slice name)
{
    pthread_rwlock_rdlock(&catalog->lock);
    tv_table *table = *find_link(catalog, account, name);
    if (table)
        table_ref(table);
    pthread_rwlock_unlock(&catalog->lock);
    return table;
}

tv_err tv_catalog_policies(tv_catalog *catalog, tv_slice account, tv_slice name, tv_arena *arena,
                           tv_access_policies *ret_policies)
{
    pthread_rwlock_rdlock(&catalog->lock);
    const tv_table *table = *find_link(catalog, account, name);
    bool is_there = table != NULL;

    if (is_there && table->policies)
        tv_acl_copy(arena, table->policies, ret_policies);
    else
        ret_policies->count = 0;
    pthread_rwlock_unlock(&catalog->lock);
    return is_there ? TV_OK : TV_ERR_TABLE_NOT_FOUND;
}

size_t tv_catalog_count(tv_catalog *catalog)
{
    pthread_rwlock_rdlock(&catalog->lock);
    size_t count = catalog->count;
    pthread_rwlock_unlock(&catalog->lock);
    return count;
}

void tv_catalog_visit(tv_catalog *catalog, void (*fn)(void *ctx, const tv_table *table), void *ctx)
{
    pthread_rwlock_rdlock(&catalog->lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (const tv_table *table = catalog->buckets[i]; table; table = table->next)
            fn(ctx, table);
    }
    pthread_rwlock_unlock(&catalog->lock);
}

/* --- settings of accounts --- */

/* Where they hang, or the end of the list.  Under the lock. */
static account_settings **find_settings(tv_catalog *catalog, tv_slice account)
{
    account_settings **link = &catalog->settings;

    while (*link && !tv_slice_eq((tv_slice){(*link)->name, (*link)->name_len}, account))
        link = &(*link)->next;
    return link;
}

static void settings_put(tv_catalog *catalog, tv_slice account, tv_shared_properties *properties)
{
    pthread_rwlock_wrlock(&catalog->lock);
    account_settings **link = find_settings(catalog, account);

    if (*link == NULL) {
        *link = tv_calloc(1, sizeof **link + account.len);
        (*link)->name_len = account.len;
        memcpy((*link)->name, account.data, account.len);
    }
    tv_shared_properties_unref((*link)->properties);
    (*link)->properties = properties;
    if (properties->properties.cors.count)
        atomic_store_explicit(&catalog->has_cors, true, memory_order_relaxed);
    pthread_rwlock_unlock(&catalog->lock);
}

tv_shared_properties *tv_catalog_properties(tv_catalog *catalog, tv_slice account)
{
    tv_shared_properties *properties = NULL;

    pthread_rwlock_rdlock(&catalog->lock);
    const account_settings *settings = *find_settings(catalog, account);
    if (settings)
        properties = tv_shared_properties_ref(settings->properties);
    pthread_rwlock_unlock(&catalog->lock);
    return properties;
}

bool tv_catalog_has_cors(const tv_catalog *catalog)
{
    return atomic_load_explicit(&catalog->has_cors, memory_order_relaxed);
}

/* --- rows --- */

static tv_err parse_row(tv_slice value, int64_t *ret_id, tv_slice *ret_name)
{
    size_t blank = tv_slice_find(value, ' ');

    if (blank == value.len || !tv_parse_int64(tv_slice_take(value, blank), ret_id))
        return TV_ERR_CORRUPT;

    *ret_name = tv_slice_skip(value, blank + 1);
    return TV_OK;
}

tv_err tv_catalog_row_name(tv_slice value, tv_slice *ret_name)
{
    int64_t id;

    return parse_row(value, &id, ret_name);
}

/* --- create --- */

static tv_err next_id(tv_txn *txn, tv_slice key, int64_t *ret_id)
{
    tv_slice value;
    int64_t last = 0;
    tv_err err = tv_txn_get(txn, key, &value);

    if (err == TV_OK && !tv_parse_int64(value, &last))
        return TV_ERR_CORRUPT;
    if (err && err != TV_ERR_NOT_FOUND)
        return err;

    tv_assert(last < TV_TABLE_ID_MAX);
    *ret_id = last + 1;
    return TV_OK;
}

static tv_err run_create(tv_txn *txn, void *ctx)
{
    tv_catalog_create *create = ctx;
    tv_slice row = tv_key_catalog_name(create->arena, create->account, create->name);
    tv_slice last_id = tv_key_catalog_last_id(create->arena, create->account);
    tv_slice value;
    tv_err err;

    err = tv_txn_get(txn, row, &value);
    if (err == TV_OK)
        return TV_ERR_TABLE_EXISTS;
    if (err != TV_ERR_NOT_FOUND)
        return err;

    err = next_id(txn, last_id, &create->id);
    if (err)
        return err;

    tv_txn_put(txn, last_id, tv_arena_printf(create->arena, "%lld", (long long)create->id));
    tv_txn_put(
        txn, row,
        tv_arena_printf(create->arena, "%lld %.*s", (long long)create->id, TV_FMT(create->name)));
    return TV_OK;
}

static void settle_create(tv_write *write)
{
    const tv_catalog_create *create = write->ctx;

    map_add(create->catalog, table_new(create->account, create->name, create->id));
}

void tv_catalog_prepare_create(tv_catalog_create *create, tv_write *write)
{
    write->partition = tv_key_catalog(create->arena, create->account);
    write->run = run_create;
    write->ctx = create;
    write->settle = settle_create;
}

/* --- delete --- */

static tv_err run_delete(tv_txn *txn, void *ctx)
{
    tv_catalog_delete *delete_op = ctx;
    const tv_table *table = delete_op->table;
    tv_slice row = tv_key_catalog_name(delete_op->arena, table->account, table->name);
    tv_slice value, name;
    int64_t id;
    tv_err err;

    err = tv_txn_get(txn, row, &value);
    if (err)
        return err;

    err = parse_row(value, &id, &name);
    if (err)
        return err;
    if (id != table->id)
        return TV_ERR_NOT_FOUND; /* deleted and created again meanwhile */

    tv_txn_delete(txn, row);
    tv_txn_delete(txn, tv_key_catalog_policies(delete_op->arena, table->account, table->name));
    tv_txn_put(txn, tv_key_catalog_dropped_id(delete_op->arena, table->account, table->id),
               TV_LIT("dropped"));
    return TV_OK;
}

static void settle_delete(tv_write *write)
{
    const tv_catalog_delete *delete_op = write->ctx;
    tv_catalog *catalog = delete_op->catalog;
    tv_table *table = delete_op->table;

    atomic_store(&table->is_dropped, true);
    pthread_rwlock_wrlock(&catalog->lock);
    tv_table **link = find_link(catalog, table->account, table->name);
    tv_assert(*link == table);
    map_remove(catalog, link);
    pthread_rwlock_unlock(&catalog->lock);
    tv_sweeper_add(catalog->sweeper, table->account, table->id);
}

void tv_catalog_prepare_delete(tv_catalog_delete *delete_op, tv_write *write)
{
    write->partition = tv_key_catalog(delete_op->arena, delete_op->table->account);
    write->run = run_delete;
    write->ctx = delete_op;
    write->settle = settle_delete;
}

/* --- policies and properties --- */

static tv_err run_set_policies(tv_txn *txn, void *ctx)
{
    tv_catalog_set_policies *set = ctx;
    const tv_table *table = set->table;
    tv_slice row = tv_key_catalog_policies(set->arena, table->account, table->name);
    tv_slice value, name;
    tv_buf buf = TV_BUF_EMPTY;
    int64_t id;
    tv_err err;

    err = tv_txn_get(txn, tv_key_catalog_name(set->arena, table->account, table->name), &value);
    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_ERR_TABLE_NOT_FOUND : err;

    err = parse_row(value, &id, &name);
    if (err)
        return err;
    if (id != table->id)
        return TV_ERR_TABLE_NOT_FOUND; /* deleted and created again meanwhile */

    if (set->policies.count == 0) {
        tv_txn_delete(txn, row);
        return TV_OK;
    }
    tv_buf_printf(&buf, "%lld ", (long long)id);
    tv_acl_add_xml(&buf, &set->policies);
    tv_txn_put(txn, row, tv_buf_slice(&buf));
    tv_buf_done(&buf);
    return TV_OK;
}

static void settle_set_policies(tv_write *write)
{
    const tv_catalog_set_policies *set = write->ctx;
    tv_access_policies *policies = tv_acl_new(&set->policies);
    tv_access_policies *old;

    pthread_rwlock_wrlock(&set->catalog->lock);
    old = set->table->policies;
    set->table->policies = policies;
    pthread_rwlock_unlock(&set->catalog->lock);
    free(old);
}

void tv_catalog_prepare_set_policies(tv_catalog_set_policies *set, tv_write *write)
{
    write->partition = tv_key_catalog(set->arena, set->table->account);
    write->run = run_set_policies;
    write->ctx = set;
    write->settle = settle_set_policies;
}

/* Parts that the update leaves out are read here, where nobody can change them meanwhile. */
static tv_err run_set_properties(tv_txn *txn, void *ctx)
{
    tv_catalog_set_properties *set = ctx;
    tv_slice row = tv_key_catalog_properties(set->arena, set->account);
    tv_service_properties properties = tv_properties_default(), stored;
    tv_buf buf = TV_BUF_EMPTY;
    tv_slice value;
    tv_err err;

    err = tv_txn_get(txn, row, &value);
    if (err == TV_OK) {
        if (tv_properties_parse(set->arena, value, &stored))
            return TV_ERR_CORRUPT;
        tv_properties_apply(&properties, &stored);
    } else if (err != TV_ERR_NOT_FOUND) {
        return err;
    }
    tv_properties_apply(&properties, &set->update);
    tv_properties_add_xml(&buf, &properties);
    set->document = tv_arena_dup(set->arena, tv_buf_slice(&buf));
    tv_buf_done(&buf);
    tv_txn_put(txn, row, set->document);
    return TV_OK;
}

static void settle_set_properties(tv_write *write)
{
    const tv_catalog_set_properties *set = write->ctx;
    tv_shared_properties *shared;
    tv_err err = tv_shared_properties_new(set->document, &shared);

    tv_assert(err == TV_OK);
    settings_put(set->catalog, set->account, shared);
}

void tv_catalog_prepare_set_properties(tv_catalog_set_properties *set, tv_write *write)
{
    write->partition = tv_key_catalog(set->arena, set->account);
    write->run = run_set_properties;
    write->ctx = set;
    write->settle = settle_set_properties;
}

/* --- start and end --- */

/* Rows of policies come before the row of their table, so they are kept until all are read. */
typedef struct loader {
    tv_catalog *catalog;
    tv_arena kept;
    struct loaded_policies *policies;
} loader;

typedef struct loaded_policies {
    tv_slice account, name, value;
    struct loaded_policies *next;
} loaded_policies;

static void keep_policies(loader *loading, tv_slice account, tv_slice name, tv_slice value)
{
    loaded_policies *row = tv_arena_alloc(&loading->kept, sizeof *row);

    row->account = tv_arena_dup(&loading->kept, account);
    row->name = tv_arena_dup(&loading->kept, name);
    row->value = tv_arena_dup(&loading->kept, value);
    row->next = loading->policies;
    loading->policies = row;
}

static tv_err load_policies(loader *loading, const loaded_policies *row)
{
    tv_table *table = *find_link(loading->catalog, row->account, row->name);
    tv_access_policies policies;
    tv_slice document;
    int64_t id;
    tv_err err;

    err = parse_row(row->value, &id, &document);
    if (err)
        return err;
    if (table == NULL || table->id != id || tv_acl_parse(&loading->kept, document, &policies))
        return TV_ERR_CORRUPT;

    table->policies = tv_acl_new(&policies);
    return TV_OK;
}

static tv_err load_properties(tv_catalog *catalog, tv_slice account, tv_slice document)
{
    tv_shared_properties *shared;
    tv_err err = tv_shared_properties_new(document, &shared);

    if (err == TV_OK)
        settings_put(catalog, account, shared);
    return err;
}

/* One row of the catalogue's key space at start-up: 't' account 01 kind ... */
static tv_err load_row(loader *loading, tv_arena *arena, tv_slice key, tv_slice value)
{
    tv_catalog *catalog = loading->catalog;
    size_t mark = tv_slice_find(key, '\x01');
    tv_slice account, name;
    int64_t id;
    tv_err err = TV_OK;

    if (mark + 1 >= key.len)
        return TV_ERR_CORRUPT;

    account = (tv_slice){key.data + 1, mark - 1};
    if (key.data[mark + 1] == 'n') {
        err = parse_row(value, &id, &name);
        if (err == TV_OK)
            map_add(catalog, table_new(account, name, id));
    } else if (key.data[mark + 1] == 'd') {
        err = tv_key_split_dropped(tv_key_catalog_dropped(arena, account), key, &id);
        if (err == TV_OK)
            tv_sweeper_add(catalog->sweeper, account, id);
    } else if (key.data[mark + 1] == 'a') {
        keep_policies(loading, account, tv_slice_skip(key, mark + 2), value);
    } else if (key.data[mark + 1] == 'p') {
        err = load_properties(catalog, account, value);
    }
    return err;
}

static tv_err load(tv_catalog *catalog)
{
    loader loading = {.catalog = catalog};
    tv_arena arena;
    tv_iter *iter;
    tv_err err;

    err = tv_engine_iter(catalog->engine, TV_LIT("t"), TV_LIT("u"), &iter);
    if (err)
        return err;

    tv_arena_init(&arena);
    tv_arena_init(&loading.kept);
    for (tv_iter_seek(iter, TV_LIT("t")); err == TV_OK && tv_iter_is_valid(iter);
         tv_iter_next(iter)) {
        err = load_row(&loading, &arena, tv_iter_key(iter), tv_iter_value(iter));
        tv_arena_reset(&arena);
    }
    if (err == TV_OK)
        err = tv_iter_status(iter);
    for (const loaded_policies *row = loading.policies; row && err == TV_OK; row = row->next)
        err = load_policies(&loading, row);
    tv_iter_free(iter);
    tv_arena_done(&loading.kept);
    tv_arena_done(&arena);
    return err;
}

tv_err tv_catalog_open(tv_engine *engine, tv_pipeline *pipeline, tv_catalog **ret_catalog)
{
    tv_catalog *catalog = tv_calloc(1, sizeof *catalog);
    tv_err err;

    catalog->engine = engine;
    catalog->sweeper = tv_sweeper_new(engine, pipeline);
    tv_assert(pthread_rwlock_init(&catalog->lock, NULL) == 0);
    err = load(catalog);
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

    tv_sweeper_free(catalog->sweeper);
    for (size_t i = 0; i < BUCKETS; i++) {
        while (catalog->buckets[i])
            map_remove(catalog, &catalog->buckets[i]);
    }
    while (catalog->settings) {
        account_settings *settings = catalog->settings;

        catalog->settings = settings->next;
        tv_shared_properties_unref(settings->properties);
        free(settings);
    }
    pthread_rwlock_destroy(&catalog->lock);
    free(catalog);
}
