/*
 * The catalogue's rows, read: all of them at start-up, those of one account for
 * a list.  (follow.c reads those of an engine that other nodes share.)
 *
 * The value of a name's row is the id in decimal, a blank, and the name as it
 * was created: "17 Orders"; after a line feed there may be the service's
 * attributes.  A row of policies holds the id likewise, then the XML that a
 * client gets; that of properties is XML alone.
 */
#include "base/assert.h"
#include "base/number.h"
#include "model/catalog/acl.h"
#include "model/catalog/internal.h"

/* --- rows --- */

tv_err tv_catalog_policies_parse(tv_slice value, int64_t *ret_id, tv_slice *ret_document)
{
    size_t blank = tv_slice_find(value, ' ');

    if (blank == value.len || !tv_parse_int64(tv_slice_take(value, blank), ret_id) ||
        !tv_catalog_is_id(*ret_id))
        return TV_ERR_CORRUPT;

    *ret_document = tv_slice_skip(value, blank + 1);
    return TV_OK;
}

tv_err tv_catalog_row_parse(tv_slice value, tv_catalog_row *ret_row)
{
    tv_slice rest;
    tv_err err = tv_catalog_policies_parse(value, &ret_row->id, &rest);

    if (err)
        return err;

    size_t end = tv_slice_find(rest, '\n');

    ret_row->name = tv_slice_take(rest, end);
    ret_row->attributes = end < rest.len ? tv_slice_skip(rest, end + 1) : TV_LIT("");
    return TV_OK;
}

/* --- lists --- */

tv_err tv_catalog_list(tv_catalog *catalog, tv_slice account, tv_slice prefix, tv_slice from,
                       bool (*fn)(void *ctx, tv_slice name, tv_slice attributes), void *ctx)
{
    tv_key_space space = catalog->kind->space;
    tv_arena arena;
    tv_iter *iter;
    tv_err err;

    tv_arena_init(&arena);
    tv_slice first = tv_key_catalog_name(&arena, space, account, prefix);
    tv_slice start = tv_key_catalog_name(&arena, space, account, from);

    err = tv_engine_iter(catalog->engine, first, tv_key_after(&arena, first), &iter);
    if (err) {
        tv_arena_done(&arena);
        return err;
    }
    tv_iter_seek(iter, tv_slice_cmp(start, first) > 0 ? start : first);
    for (; tv_iter_is_valid(iter); tv_iter_next(iter)) {
        tv_catalog_row row;

        err = tv_catalog_row_parse(tv_iter_value(iter), &row);
        if (err || !fn(ctx, row.name, row.attributes))
            break;
    }
    if (err == TV_OK)
        err = tv_iter_status(iter);
    tv_iter_free(iter);
    tv_arena_done(&arena);
    return err;
}

/* --- start-up --- */

/* Rows of policies come before the row of their container, so they are kept until all are read. */
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
    tv_container *container = *tv_catalog_link(loading->catalog, row->account, row->name);
    tv_access_policies policies;
    tv_slice document;
    int64_t id;
    tv_err err;

    err = tv_catalog_policies_parse(row->value, &id, &document);
    if (err)
        return err;
    if (container == NULL || container->id != id ||
        tv_acl_parse(&loading->kept, loading->catalog->kind->service, document, &policies))
        return TV_ERR_CORRUPT;

    container->policies = tv_acl_new(&policies);
    return TV_OK;
}

static tv_err load_properties(tv_catalog *catalog, tv_slice account, tv_slice document)
{
    tv_shared_settings *shared;
    tv_err err = tv_shared_settings_new(catalog->kind->service, document, &shared);

    if (err == TV_OK)
        tv_catalog_put_settings(catalog, account, shared, UINT64_MAX);
    return err;
}

tv_err tv_catalog_generation_parse(tv_slice value, int64_t *ret_generation)
{
    return tv_parse_int64(value, ret_generation) && *ret_generation > 0 ? TV_OK : TV_ERR_CORRUPT;
}

/* Nothing else has a place in keys. */
static bool is_account(tv_slice account)
{
    for (size_t i = 0; i < account.len; i++) {
        if ((unsigned char)account.data[i] <= 0x20)
            return false;
    }
    return account.len > 0;
}

tv_err tv_catalog_row_load(const tv_catalog *catalog, tv_arena *arena, tv_slice account,
                           tv_slice key, tv_slice value, tv_catalog_row *ret_row)
{
    tv_key_space space = catalog->kind->space;
    tv_err err = tv_catalog_row_parse(value, ret_row);

    if (err)
        return err;
    return ret_row->name.len &&
                   tv_slice_eq(key, tv_key_catalog_name(arena, space, account, ret_row->name))
               ? TV_OK
               : TV_ERR_CORRUPT;
}

static tv_err load_name(tv_catalog *catalog, tv_arena *arena, tv_slice account, tv_slice key,
                        tv_slice value)
{
    tv_catalog_row row;
    tv_err err = tv_catalog_row_load(catalog, arena, account, key, value, &row);

    if (err)
        return err;

    tv_container *container =
        tv_container_new(catalog->kind, account, row.name, row.id, row.attributes);

    pthread_rwlock_wrlock(&catalog->lock);
    tv_catalog_add(catalog, container);
    pthread_rwlock_unlock(&catalog->lock);
    return TV_OK;
}

tv_err tv_catalog_key_parse(tv_slice key, tv_slice *ret_account, char *ret_kind)
{
    size_t mark = tv_slice_find(key, TV_KEY_MARK);

    if (mark + 1 >= key.len)
        return TV_ERR_CORRUPT;

    *ret_account = (tv_slice){key.data + 1, mark - 1};
    *ret_kind = key.data[mark + 1];
    return is_account(*ret_account) ? TV_OK : TV_ERR_CORRUPT;
}

/* One row of the catalogue's key space at start-up: space account 01 kind ... */
static tv_err load_row(loader *loading, tv_arena *arena, tv_slice key, tv_slice value)
{
    tv_catalog *catalog = loading->catalog;
    tv_slice account;
    int64_t id;
    char kind;
    tv_err err = tv_catalog_key_parse(key, &account, &kind);

    if (err)
        return err;
    if (kind == 'n') {
        err = load_name(catalog, arena, account, key, value);
    } else if (kind == 'd') {
        err = tv_key_split_dropped(tv_key_catalog_dropped(arena, catalog->kind->space, account),
                                   key, &id);
        if (err == TV_OK)
            tv_catalog_gc_add(catalog->gc, account, id);
    } else if (kind == 'a') {
        keep_policies(loading, account, tv_slice_skip(key, account.len + 3), value);
    } else if (kind == 'p') {
        err = load_properties(catalog, account, value);
    }
    return err;
}

tv_err tv_catalog_load(tv_catalog *catalog)
{
    char space[] = {(char)catalog->kind->space}, behind[] = {(char)(catalog->kind->space + 1)};
    tv_slice from = {space, 1}, to = {behind, 1};
    loader loading = {.catalog = catalog};
    tv_arena arena;
    tv_iter *iter;
    tv_err err;

    err = tv_engine_iter(catalog->engine, from, to, &iter);
    if (err)
        return err;

    tv_arena_init(&arena);
    tv_arena_init(&loading.kept);
    for (tv_iter_seek(iter, from); err == TV_OK && tv_iter_is_valid(iter); tv_iter_next(iter)) {
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
