/*
 * The catalogue in memory, its rows, and the sweeper.
 *
 * A catalogue row's value is the table's id in decimal, a blank, and its name as
 * it was created: "17 Orders".
 */
#include "table/catalog.h"

#include "base/assert.h"
#include "base/number.h"
#include "engine/key.h"
#include "table/sweeper.h"

enum { BUCKETS = 4096 };

struct tv_catalog {
    tv_engine *engine;
    tv_sweeper *sweeper;
    pthread_rwlock_t lock; /* guards `buckets` and `count` */
    tv_table *buckets[BUCKETS];
    size_t count;
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
    if (table && atomic_fetch_sub_explicit(&table->refs, 1, memory_order_acq_rel) == 1)
        free(table);
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

/* --- start and end --- */

/* One row of the catalogue's key space at start-up: 't' account 01 kind ... */
static tv_err load_row(tv_catalog *catalog, tv_arena *arena, tv_slice key, tv_slice value)
{
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
    }
    return err;
}

static tv_err load(tv_catalog *catalog)
{
    tv_arena arena;
    tv_iter *iter;
    tv_err err;

    err = tv_engine_iter(catalog->engine, TV_LIT("t"), TV_LIT("u"), &iter);
    if (err)
        return err;

    tv_arena_init(&arena);
    for (tv_iter_seek(iter, TV_LIT("t")); err == TV_OK && tv_iter_is_valid(iter);
         tv_iter_next(iter)) {
        err = load_row(catalog, &arena, tv_iter_key(iter), tv_iter_value(iter));
        tv_arena_reset(&arena);
    }
    if (err == TV_OK)
        err = tv_iter_status(iter);
    tv_iter_free(iter);
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
    pthread_rwlock_destroy(&catalog->lock);
    free(catalog);
}
