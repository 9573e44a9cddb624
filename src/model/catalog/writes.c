/*
 * Changes to the catalogue: what they write, and what they settle in memory.
 *
 * A local engine settles changes in the order of its rows, so that each finds what the
 * one before has left.  On a shared engine other nodes change the rows too, and what is
 * in memory may be older or newer than what a change has read: settling then follows the
 * rules in follow.c.
 */
#include "base/assert.h"
#include "base/number.h"
#include "base/random.h"
#include "model/catalog/acl.h"
#include "model/catalog/internal.h"
#include "store/engine/mutants.h"

/* "17 Orders", and after a line feed the attributes. */
static void put_row(tv_txn *txn, tv_arena *arena, tv_slice key, int64_t id, tv_slice name,
                    tv_slice attributes)
{
    tv_slice value = tv_arena_printf(arena, "%lld %.*s%s", (long long)id, TV_FMT(name),
                                     attributes.len ? "\n" : "");
    char *whole = tv_arena_bytes(arena, value.len + attributes.len);

    tv_assert(tv_catalog_is_id(id));
    tv_assert(name.len > 0 &&
              tv_slice_find(name, '\n') == name.len); /* the attributes begin there */
    memcpy(whole, value.data, value.len);
    if (attributes.len)
        memcpy(whole + value.len, attributes.data, attributes.len);
    tv_txn_put(txn, key, (tv_slice){whole, value.len + attributes.len});
}

static tv_slice row_key(const tv_catalog *catalog, tv_arena *arena, const tv_container *container)
{
    return tv_key_catalog_name(arena, catalog->kind->space, container->account, container->name);
}

/* The row of a container, if it is still the one that the caller has found. */
static tv_err get_row(tv_txn *txn, const tv_catalog *catalog, tv_arena *arena,
                      const tv_container *container, tv_slice *ret_key, tv_catalog_row *ret_row)
{
    tv_slice value;
    tv_err err;

    *ret_key = row_key(catalog, arena, container);
    err = tv_txn_get(txn, *ret_key, &value);
    if (err)
        return err;

    tv_txn_declare_guarded(txn, *ret_key, TV_GUARD_OF_BLOBS);
    err = tv_catalog_row_parse(value, ret_row);
    if (err)
        return err;
    return ret_row->id == container->id ? TV_OK : TV_ERR_NOT_FOUND; /* deleted and created again */
}

/*
 * Other nodes look at this row to see whether there is anything new.  It is another one after each
 * change, and nobody compares it: so changes of different containers do not hold each other up.
 */
static void renew_generation(tv_txn *txn, const tv_catalog *catalog, tv_arena *arena,
                             tv_slice account)
{
    int64_t generation = (int64_t)(tv_random_u64() >> 2) + 1;

    if (tv_catalog_is_shared(catalog))
        tv_txn_put(txn, tv_key_catalog_generation(arena, catalog->kind->space, account),
                   tv_arena_printf(arena, "%lld", (long long)generation));
}

/* This node has changed something. */
static void tell(const tv_catalog *catalog)
{
    if (catalog->changed)
        catalog->changed(catalog->changed_ctx);
}

/* Announce the rows that a function asks for. */
static void set_reads(tv_write *write, tv_arena *arena, const tv_slice *keys, size_t count)
{
    tv_slice *reads = tv_arena_alloc(arena, count * sizeof *reads);

    memcpy(reads, keys, count * sizeof *reads);
    write->reads = reads;
    write->read_count = count;
}

/* --- create --- */

static tv_err next_id(tv_txn *txn, tv_slice key, int64_t *ret_id)
{
    tv_slice value;
    int64_t last = 0;
    tv_err err = tv_txn_get(txn, key, &value);

    if (err == TV_OK && (!tv_parse_int64(value, &last) || !tv_catalog_is_id(last)))
        return TV_ERR_CORRUPT;
    if (err && err != TV_ERR_NOT_FOUND)
        return err;
    if (last == TV_TABLE_ID_MAX)
        return TV_ERR_CORRUPT; /* no client has made so many */

    *ret_id = last + 1;
    return TV_OK;
}

/* The name is taken: what the one that has it is like. */
static tv_err note_existing(tv_catalog_create *create, tv_slice value)
{
    tv_catalog_row row;
    tv_err err = tv_catalog_row_parse(value, &row);

    if (err)
        return err;

    create->old_attributes = tv_arena_dup(create->arena, row.attributes);
    return create->catalog->kind->exists;
}

static tv_err run_create(tv_txn *txn, void *ctx)
{
    tv_catalog_create *create = ctx;
    const tv_catalog_kind *kind = create->catalog->kind;
    tv_slice row = tv_key_catalog_name(create->arena, kind->space, create->account, create->name);
    tv_slice last_id = tv_key_catalog_last_id(create->arena, kind->space, create->account);
    tv_slice value;
    tv_err err;

    create->barrier = tv_catalog_barrier(create->catalog);
    err = tv_txn_get(txn, row, &value);
    if (err == TV_OK)
        return note_existing(create, value);
    if (err != TV_ERR_NOT_FOUND)
        return err;
    err =
        tv_catalog_check_fenced(txn, create->catalog, create->arena, create->account, create->name);
    if (err)
        return err;

    err = next_id(txn, last_id, &create->id);
    if (err)
        return err;

    tv_txn_declare_guarded(txn, row, TV_GUARD_OF_BLOBS);
    if (create->decide)
        create->decide(create, tv_txn_stamp(txn));
    renew_generation(txn, create->catalog, create->arena, create->account);
    tv_txn_put(txn, last_id, tv_arena_printf(create->arena, "%lld", (long long)create->id));
    put_row(txn, create->arena, row, create->id, create->name, create->attributes);
    return TV_OK;
}

static void settle_create(tv_write *write)
{
    const tv_catalog_create *create = write->ctx;
    tv_catalog *catalog = create->catalog;
    tv_container *container = tv_container_new(catalog->kind, create->account, create->name,
                                               create->id, create->attributes);

    tv_assert(tv_catalog_is_id(create->id));
    pthread_rwlock_wrlock(&catalog->lock);
    tv_container **link = tv_catalog_link(catalog, create->account, create->name);
    bool is_behind = create->barrier != catalog->barrier; /* follow.c, (3) */

    if (tv_catalog_is_shared(catalog) && *link && (*link)->id < create->id)
        tv_catalog_drop(catalog, link); /* by another node, or there was no room for this one */
    if (tv_catalog_is_shared(catalog) && (*link || is_behind))
        tv_container_unref(container); /* who asks for it will find it in the store */
    else
        tv_catalog_add(catalog, container);
    pthread_rwlock_unlock(&catalog->lock);
    tell(catalog);
}

void tv_catalog_prepare_create(tv_catalog_create *create, tv_write *write)
{
    tv_key_space space = create->catalog->kind->space;
    const tv_slice keys[] = {
        tv_key_catalog_name(create->arena, space, create->account, create->name),
        tv_key_catalog_last_id(create->arena, space, create->account),
        tv_key_catalog_unfenced(create->arena, space, create->account, create->name),
    };

    tv_assert(create->account.len > 0 && create->name.len > 0);
    write->partition = tv_key_catalog(create->arena, space, create->account);
    write->run = run_create;
    write->ctx = create;
    write->settle = settle_create;
    set_reads(write, create->arena, keys, tv_catalog_is_shared(create->catalog) ? 3 : 2);
}

/* --- delete --- */

static tv_err run_delete(tv_txn *txn, void *ctx)
{
    tv_catalog_delete *delete_op = ctx;
    const tv_container *container = delete_op->container;
    tv_key_space space = delete_op->catalog->kind->space;
    tv_catalog_row row;
    tv_slice key;
    tv_err err;

    tv_txn_declare_freeing(txn);
    err = get_row(txn, delete_op->catalog, delete_op->arena, container, &key, &row);
    if (err)
        return err;

    delete_op->latest = 0;
    if (delete_op->decide) {
        err = delete_op->decide(delete_op, row.attributes, tv_txn_stamp(txn));
        if (err)
            return err;
    }
    renew_generation(txn, delete_op->catalog, delete_op->arena, container->account);
    tv_txn_delete(txn, key);
    if (delete_op->latest && !TV_MUTANT(NO_CONTAINER_GONE))
        tv_txn_note_gone(txn, delete_op->latest);
    tv_txn_delete(
        txn, tv_key_catalog_policies(delete_op->arena, space, container->account, container->name));
    tv_txn_put(
        txn, tv_key_catalog_dropped_id(delete_op->arena, space, container->account, container->id),
        tv_catalog_dropped_value(delete_op->arena, delete_op->catalog, container->name));
    tv_catalog_put_unfenced(txn, delete_op->catalog, delete_op->arena, container);
    return TV_OK;
}

static void settle_delete(tv_write *write)
{
    const tv_catalog_delete *delete_op = write->ctx;
    tv_catalog *catalog = delete_op->catalog;
    tv_container *container = delete_op->container;

    bool was_dropped = atomic_exchange(&container->is_dropped, true);
    bool is_shared = tv_catalog_is_shared(catalog);

    tv_assert(!was_dropped || is_shared); /* its row was there */
    pthread_rwlock_wrlock(&catalog->lock);
    tv_container **link = tv_catalog_link(catalog, container->account, container->name);
    tv_assert(*link == container || is_shared);
    catalog->barrier++;
    if (*link && (*link)->id == container->id)
        tv_catalog_drop(catalog, link);
    pthread_rwlock_unlock(&catalog->lock);
    if (is_shared)
        tv_catalog_gc_look_soon(catalog->gc);
    else
        tv_catalog_gc_add(catalog->gc, container->account, container->id);
    tell(catalog);
}

void tv_catalog_prepare_delete(tv_catalog_delete *delete_op, tv_write *write)
{
    tv_slice key = row_key(delete_op->catalog, delete_op->arena, delete_op->container);

    tv_assert(delete_op->container->kind == delete_op->catalog->kind);
    write->partition = tv_key_catalog(delete_op->arena, delete_op->catalog->kind->space,
                                      delete_op->container->account);
    write->run = run_delete;
    write->ctx = delete_op;
    write->settle = settle_delete;
    set_reads(write, delete_op->arena, &key, 1);
}

/* --- attributes and policies --- */

static tv_slice policies_key(const tv_catalog_change *change)
{
    return tv_key_catalog_policies(change->arena, change->catalog->kind->space,
                                   change->container->account, change->container->name);
}

/* Those of before are compared: what a look has brought since is then newer than this change. */
static tv_err put_policies(tv_txn *txn, const tv_catalog_change *change)
{
    const tv_container *container = change->container;
    tv_slice key = policies_key(change), old;
    tv_err err = tv_txn_get(txn, key, &old);
    tv_buf buf = TV_BUF_EMPTY;

    if (err && err != TV_ERR_NOT_FOUND)
        return err;
    if (change->policies.count == 0) {
        tv_txn_delete(txn, key);
        return TV_OK;
    }
    tv_assert(tv_catalog_is_id(container->id) && change->policies.count <= TV_POLICIES_MAX);
    tv_buf_printf(&buf, "%lld ", (long long)container->id);
    tv_acl_add_xml(&buf, &change->policies);
    tv_txn_put(txn, key, tv_buf_slice(&buf));
    tv_buf_done(&buf);
    return TV_OK;
}

static tv_err run_change(tv_txn *txn, void *ctx)
{
    tv_catalog_change *change = ctx;
    tv_catalog_row row;
    tv_slice key;
    tv_err err;

    change->look = tv_catalog_sequence(change->catalog);
    err = get_row(txn, change->catalog, change->arena, change->container, &key, &row);
    if (err)
        return err == TV_ERR_NOT_FOUND ? change->catalog->kind->not_found : err;

    renew_generation(txn, change->catalog, change->arena, change->container->account);
    if (change->decide) {
        change->attributes = row.attributes;
        err = change->decide(change, tv_txn_stamp(txn));
        if (err)
            return err;
        change->attributes =
            tv_arena_dup(change->arena, change->attributes); /* beyond this group */
        put_row(txn, change->arena, key, row.id, row.name, change->attributes);
    }
    return change->sets_policies ? put_policies(txn, change) : TV_OK;
}

/*
 * What came from the store since this change has run may be newer than it; the next look will
 * tell.  Or older, if others have meanwhile changed it and changed it back.
 */
static bool is_superseded(const tv_catalog_change *change)
{
    return tv_catalog_is_shared(change->catalog) && change->container->changed > change->look;
}

static void settle_change(tv_write *write)
{
    const tv_catalog_change *change = write->ctx;
    tv_container *container = change->container;
    tv_access_policies *policies = change->sets_policies ? tv_acl_new(&change->policies) : NULL;
    tv_access_policies *old_policies = NULL;
    tv_slice old_attributes = TV_NONE;

    /* In the order of the rows: a deletion before this would have left no row to change. */
    tv_assert(!atomic_load(&container->is_dropped) || tv_catalog_is_shared(change->catalog));
    pthread_rwlock_wrlock(&change->catalog->lock);
    bool is_latest = !is_superseded(change);

    if (is_latest)
        container->changed = ++change->catalog->sequence;
    if (change->sets_policies) {
        old_policies = is_latest ? container->policies : policies;
        container->policies = is_latest ? policies : container->policies;
    }
    if (change->decide && is_latest) {
        old_attributes = container->attributes;
        container->attributes = tv_attributes_new(change->attributes);
    }
    pthread_rwlock_unlock(&change->catalog->lock);
    free(old_policies);
    free((char *)old_attributes.data);
    tell(change->catalog);
}

void tv_catalog_prepare_change(tv_catalog_change *change, tv_write *write)
{
    const tv_slice keys[] = {row_key(change->catalog, change->arena, change->container),
                             policies_key(change)};

    tv_assert(change->decide || change->sets_policies);
    tv_assert(change->container->kind == change->catalog->kind);
    write->partition =
        tv_key_catalog(change->arena, change->catalog->kind->space, change->container->account);
    write->run = run_change;
    write->ctx = change;
    write->settle = settle_change;
    set_reads(write, change->arena, keys, change->sets_policies ? 2 : 1);
}

/* --- properties --- */

/* Parts that the update leaves out are read here, where nothing can change them meanwhile. */
static tv_err run_set_properties(tv_txn *txn, void *ctx)
{
    tv_catalog_set_settings *set = ctx;
    const tv_catalog_kind *kind = set->catalog->kind;
    tv_slice row = tv_key_catalog_properties(set->arena, kind->space, set->account);
    tv_service_settings properties = tv_settings_default(kind->service), stored;
    tv_buf buf = TV_BUF_EMPTY;
    tv_slice value;
    tv_err err;

    set->look = tv_catalog_is_shared(set->catalog) ? tv_catalog_sequence(set->catalog) : UINT64_MAX;
    err = tv_txn_get(txn, row, &value);
    if (err == TV_OK) {
        if (tv_settings_parse(set->arena, kind->service, value, &stored, &(tv_error_info){0}))
            return TV_ERR_CORRUPT;
        tv_settings_apply(&properties, &stored);
    } else if (err != TV_ERR_NOT_FOUND) {
        return err;
    }
    tv_txn_declare_guarded(txn, row, TV_GUARD_OF_BLOBS);
    renew_generation(txn, set->catalog, set->arena, set->account);
    tv_settings_apply(&properties, &set->update);
    tv_settings_add_xml(&buf, kind->service, &properties);
    set->document = tv_arena_dup(set->arena, tv_buf_slice(&buf));
    tv_buf_done(&buf);
    tv_txn_put(txn, row, set->document);
    return TV_OK;
}

static void settle_set_properties(tv_write *write)
{
    const tv_catalog_set_settings *set = write->ctx;
    tv_shared_settings *shared;
    tv_err err = tv_shared_settings_new(set->catalog->kind->service, set->document, &shared);

    tv_assert(err == TV_OK);
    tv_catalog_put_settings(set->catalog, set->account, shared, set->look);
    tell(set->catalog);
}

void tv_catalog_prepare_set_settings(tv_catalog_set_settings *set, tv_write *write)
{
    tv_slice key = tv_key_catalog_properties(set->arena, set->catalog->kind->space, set->account);

    tv_assert(set->account.len > 0);
    write->partition = tv_key_catalog(set->arena, set->catalog->kind->space, set->account);
    write->run = run_set_properties;
    write->ctx = set;
    write->settle = settle_set_properties;
    set_reads(write, set->arena, &key, 1);
}
