/*
 * The catalogue on an engine that other nodes share: how it learns what they did.
 *
 * The rows are read without a lock, and what they say is then merged into memory under
 * it.  Meanwhile this node may have changed something itself (settled a write), or have
 * learned more from rows that were read later.  What keeps an older look from undoing
 * what a newer one has brought:
 *
 *  (1) Ids of an account only grow.  Of two containers of one name the one with the
 *      greater id is the newer.
 *  (2) A container notes when it became known (`added`) and when what is known of it was
 *      last replaced (`changed`), by a sequence that a look reads before the rows.  What
 *      is younger than the look is left as it is.
 *  (3) A look that is older than the barrier adds nothing.  The barrier is raised when
 *      a deletion is settled here, and when the engine says that there was one elsewhere,
 *      before the rows are read again for it.  So a container that was once known to be
 *      dropped, or whose rows are fenced, is never found again.  (A create that was
 *      committed before and settles after the barrier adds nothing either; the next
 *      request finds the name by a look.)
 *  (4) The generation of an account is noted as known only when its row was read before
 *      all others and nothing was left out by (2) or (3); else the next round looks again.
 *
 * So any number of threads may look at once.  They must: the engine asks for a look when
 * it has met a fence, perhaps in a read that is itself part of a look, so no lock is held
 * while rows are read.
 */
#include "base/assert.h"
#include "base/number.h"
#include "model/catalog/acl.h"
#include "model/catalog/internal.h"
#include "store/engine/mutants.h"

enum { LOOKS_MAX = 100 }; /* at one name: each but the last met a change of this very name */

bool tv_catalog_is_shared(const tv_catalog *catalog)
{
    return catalog->engine->ops->is_shared;
}

void tv_catalog_tell(tv_catalog *catalog, void (*changed)(void *ctx), void *ctx)
{
    catalog->changed = changed;
    catalog->changed_ctx = ctx;
}

/* --- a look, and what it brings --- */

/* When a look at the rows began. */
typedef struct look {
    uint64_t sequence, barrier;
} look;

static look begin_look(tv_catalog *catalog)
{
    pthread_rwlock_rdlock(&catalog->lock);
    look at = {catalog->sequence, catalog->barrier};
    pthread_rwlock_unlock(&catalog->lock);
    return at;
}

/* What the rows say about a container, in an arena. */
typedef struct found {
    struct found *next;
    tv_slice account, name, attributes;
    tv_slice lower; /* the name as it is in the key; of those that are listed */
    int64_t id;
    bool has_policies;
    tv_access_policies policies;
} found;

static tv_access_policies *new_policies(const found *row)
{
    return row->has_policies ? tv_acl_new(&row->policies) : NULL;
}

/* Whether a look has found what is known already. */
static bool says_the_same(const tv_container *container, const found *row)
{
    static const tv_access_policies none;

    return tv_slice_eq(container->attributes, row->attributes) &&
           tv_acl_eq(container->policies ? container->policies : &none,
                     row->has_policies ? &row->policies : &none);
}

/*
 * Merge what a look has found of one name; false when it was too old for it.  Under the
 * lock.  `ret_container` is the container of that name as it is then known, or NULL.
 */
static bool merge(tv_catalog *catalog, const look *at, const found *row,
                  tv_container **ret_container)
{
    tv_container **link = tv_catalog_link(catalog, row->account, row->name);
    tv_container *container = *link;

    *ret_container = container;
    if (container && container->id == row->id) {
        if (says_the_same(container, row))
            return true; /* looks at one name, of which there are many, do not hinder each other */
        if (container->changed > at->sequence)
            return false; /* (2) */
        tv_catalog_set(catalog, container, new_policies(row), tv_attributes_new(row->attributes));
        return true;
    }
    if (container && container->id > row->id)
        return false; /* (1) */
    if (container) {
        tv_catalog_drop(catalog, link);
        *ret_container = NULL;
    }
    if (catalog->barrier != at->barrier)
        return false; /* (3) */

    container = tv_container_new(catalog->kind, row->account, row->name, row->id, row->attributes);
    container->policies = new_policies(row);
    tv_catalog_add(catalog, container);
    *ret_container = container;
    return true;
}

/* Policies in a row; an error when they are of another container or cannot be read. */
static tv_err read_policies(const tv_catalog *catalog, tv_arena *arena, tv_slice value, found *row)
{
    tv_slice document;
    int64_t id;
    tv_err err = tv_catalog_policies_parse(value, &id, &document);

    if (err)
        return err;
    if (id != row->id)
        return TV_ERR_NOT_FOUND; /* the two rows were not read at one instant */

    row->has_policies = true;
    return tv_acl_parse(arena, catalog->kind->service, document, &row->policies) ? TV_ERR_CORRUPT
                                                                                 : TV_OK;
}

static tv_err read_name(const tv_catalog *catalog, tv_arena *arena, tv_slice account, tv_slice key,
                        tv_slice value, found *ret_row)
{
    tv_catalog_row row;
    tv_err err = tv_catalog_row_load(catalog, arena, account, key, value, &row);

    if (err)
        return err;

    *ret_row =
        (found){.account = account, .name = row.name, .attributes = row.attributes, .id = row.id};
    return TV_OK;
}

static tv_err load_settings(tv_catalog *catalog, const look *at, tv_slice account,
                            tv_slice document)
{
    tv_shared_settings *shared;
    tv_err err = tv_shared_settings_new(catalog->kind->service, document, &shared);

    if (err == TV_OK)
        tv_catalog_put_settings(catalog, account, shared, at->sequence); /* or not: (2) */
    return err;
}

void tv_catalog_note_account(tv_catalog *catalog, tv_slice account)
{
    tv_catalog_account **link = &catalog->accounts;

    while (*link && !tv_slice_eq((tv_slice){(*link)->name, (*link)->name_len}, account))
        link = &(*link)->next;
    if (*link == NULL) {
        *link = tv_calloc(1, sizeof **link + account.len);
        (*link)->name_len = account.len;
        memcpy((*link)->name, account.data, account.len);
    }
}

static void know_account(tv_catalog *catalog, tv_slice account)
{
    pthread_rwlock_wrlock(&catalog->lock);
    tv_catalog_note_account(catalog, account);
    pthread_rwlock_unlock(&catalog->lock);
}

/* --- one name --- */

enum { NAME, POLICIES, PROPERTIES, UNFENCED, ROW_COUNT };

/* The row of a name is not there. */
static bool merge_absence(tv_catalog *catalog, const look *at, tv_slice account, tv_slice name)
{
    tv_container **link = tv_catalog_link(catalog, account, name);

    if (*link == NULL)
        return true;
    if ((*link)->added > at->sequence)
        return false; /* (2) */

    tv_catalog_drop(catalog, link);
    return true;
}

/* One look; `ret_is_known` is false when it has to be repeated. */
static tv_err look_once(tv_catalog *catalog, tv_arena *arena, tv_slice account, tv_slice name,
                        bool *ret_is_known)
{
    tv_key_space space = catalog->kind->space;
    look at = begin_look(catalog);
    tv_slice keys[ROW_COUNT] = {
        [NAME] = tv_key_catalog_name(arena, space, account, name),
        [POLICIES] = tv_key_catalog_policies(arena, space, account, name),
        [PROPERTIES] = tv_key_catalog_properties(arena, space, account),
        [UNFENCED] = tv_key_catalog_unfenced(arena, space, account, name),
    };
    tv_slice values[ROW_COUNT];
    tv_container *container;
    found row;
    tv_err err = tv_engine_get_rows(catalog->engine, keys, ROW_COUNT, arena, values);

    *ret_is_known = true;
    if (err == TV_OK && values[PROPERTIES].data)
        err = load_settings(catalog, &at, account, values[PROPERTIES]);
    if (err || name.len == 0)
        return err;

    if (values[NAME].data) {
        err = read_name(catalog, arena, account, keys[NAME], values[NAME], &row);
        if (err == TV_OK && values[POLICIES].data)
            err = read_policies(catalog, arena, values[POLICIES], &row);
        if (err) {
            *ret_is_known = err != TV_ERR_NOT_FOUND;
            return err == TV_ERR_NOT_FOUND ? TV_OK : err;
        }
    }
    pthread_rwlock_wrlock(&catalog->lock);
    *ret_is_known = values[NAME].data ? merge(catalog, &at, &row, &container)
                                      : merge_absence(catalog, &at, account, name);
    pthread_rwlock_unlock(&catalog->lock);
    /* Who is told that it is gone relies on that: no other node may still write there. */
    return values[UNFENCED].data && !values[NAME].data && !TV_MUTANT(BLIND_LOOK)
               ? tv_catalog_finish_drop(catalog, account, name)
               : TV_OK;
}

tv_err tv_catalog_look_up(tv_catalog *catalog, tv_slice account, tv_slice name)
{
    bool is_known = false;
    tv_arena arena;
    tv_err err = TV_OK;

    tv_arena_init(&arena);
    know_account(catalog, account);
    for (int i = 0; i < LOOKS_MAX && err == TV_OK && !is_known; i++) {
        tv_arena_reset(&arena);
        err = look_once(catalog, &arena, account, name, &is_known);
    }
    tv_arena_done(&arena);
    return err || is_known ? err : TV_ERR_OVERLOADED;
}

/* --- an account --- */

/* All rows of an account, as a look has found them; lists are in the order of the names. */
typedef struct account_rows {
    found *names, **names_end;
    struct policies_row {
        struct policies_row *next;
        tv_slice name, value; /* the name as it is in the key */
    } * policies, **policies_end;
    tv_slice properties; /* data is NULL when there are none */
} account_rows;

static tv_err keep_row(const tv_catalog *catalog, tv_arena *arena, tv_slice key, tv_slice value,
                       account_rows *rows)
{
    struct policies_row *policies;
    tv_slice account;
    found *row;
    char kind;
    tv_err err = tv_catalog_key_parse(key, &account, &kind);

    if (err)
        return err;
    switch (kind) {
    case 'n':
        row = tv_arena_alloc(arena, sizeof *row);
        err = read_name(catalog, arena, tv_arena_dup(arena, account), key,
                        tv_arena_dup(arena, value), row);
        if (err)
            break;
        row->lower = tv_arena_dup(arena, tv_slice_skip(key, account.len + 3));
        *rows->names_end = row;
        rows->names_end = &row->next;
        break;
    case 'a':
        policies = tv_arena_alloc(arena, sizeof *policies);
        *policies =
            (struct policies_row){NULL, tv_arena_dup(arena, tv_slice_skip(key, account.len + 3)),
                                  tv_arena_dup(arena, value)};
        *rows->policies_end = policies;
        rows->policies_end = &policies->next;
        break;
    case 'p':
        rows->properties = tv_arena_dup(arena, value);
        break;
    default: /* what is dropped is the gc's business, the last id that of a create */
        break;
    }
    return err;
}

static tv_err read_account(tv_catalog *catalog, tv_arena *arena, tv_slice account,
                           account_rows *ret_rows)
{
    tv_slice prefix = tv_key_catalog(arena, catalog->kind->space, account);
    tv_iter *iter;
    tv_err err = tv_engine_iter(catalog->engine, prefix, tv_key_after(arena, prefix), &iter);

    if (err)
        return err;

    *ret_rows = (account_rows){.properties = TV_NONE};
    ret_rows->names_end = &ret_rows->names;
    ret_rows->policies_end = &ret_rows->policies;
    for (tv_iter_seek(iter, prefix); err == TV_OK && tv_iter_is_valid(iter); tv_iter_next(iter))
        err = keep_row(catalog, arena, tv_iter_key(iter), tv_iter_value(iter), ret_rows);
    if (err == TV_OK)
        err = tv_iter_status(iter);
    tv_iter_free(iter);
    return err;
}

/*
 * Give each container its policies; both lists are in the same order.  `ret_is_whole` is
 * false when some do not fit, because pages are not of one instant.
 */
static tv_err join_policies(tv_catalog *catalog, tv_arena *arena, account_rows *rows,
                            bool *ret_is_whole)
{
    found *row = rows->names;

    for (const struct policies_row *policies = rows->policies; policies;
         policies = policies->next) {
        tv_err err = TV_ERR_NOT_FOUND;

        while (row && tv_slice_cmp(row->lower, policies->name) < 0)
            row = row->next;
        if (row && tv_slice_eq(row->lower, policies->name))
            err = read_policies(catalog, arena, policies->value, row);
        if (err == TV_ERR_NOT_FOUND)
            *ret_is_whole = false;
        else if (err)
            return err;
    }
    return TV_OK;
}

/* Drop the containers of an account that no look has met; false when one is younger than it. */
static bool drop_unmet(tv_catalog *catalog, const look *at, tv_slice account, uint64_t met)
{
    bool is_whole = true;

    for (size_t i = 0; i < TV_CATALOG_BUCKETS; i++) {
        tv_container **link = &catalog->buckets[i];

        while (*link) {
            tv_container *container = *link;

            if (container->met == met || !tv_slice_eq(container->account, account)) {
                link = &container->next;
            } else if (container->added > at->sequence) {
                is_whole = false; /* (2) */
                link = &container->next;
            } else {
                tv_catalog_drop(catalog, link);
            }
        }
    }
    return is_whole;
}

static tv_err reload_account(tv_catalog *catalog, tv_catalog_account *known, int64_t generation)
{
    tv_slice account = {known->name, known->name_len};
    look at = begin_look(catalog);
    bool is_whole = true;
    account_rows rows;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = read_account(catalog, &arena, account, &rows);
    if (err == TV_OK)
        err = join_policies(catalog, &arena, &rows, &is_whole);
    if (err == TV_OK && rows.properties.data)
        err = load_settings(catalog, &at, account, rows.properties);
    if (err == TV_OK) {
        pthread_rwlock_wrlock(&catalog->lock);
        uint64_t met = ++catalog->sequence;

        for (const found *row = rows.names; row; row = row->next) {
            tv_container *container;

            is_whole = merge(catalog, &at, row, &container) && is_whole;
            if (container)
                container->met = met;
        }
        is_whole = drop_unmet(catalog, &at, account, met) && is_whole;
        known->generation = is_whole ? generation : 0; /* (4) */
        pthread_rwlock_unlock(&catalog->lock);
    }
    tv_arena_done(&arena);
    return err;
}

/* --- all of it --- */

/* It goes from account to account by their first rows. */
tv_err tv_catalog_find_accounts(tv_catalog *catalog)
{
    char space[] = {(char)catalog->kind->space}, behind[] = {(char)(catalog->kind->space + 1)};
    tv_slice from = {space, 1}, to = {behind, 1}, account;
    tv_arena arena;
    tv_iter *iter;
    char kind;
    tv_err err = tv_engine_iter(catalog->engine, from, to, &iter);

    if (err)
        return err;

    tv_arena_init(&arena);
    tv_iter_seek(iter, from);
    while (err == TV_OK && tv_iter_is_valid(iter)) {
        err = tv_catalog_key_parse(tv_iter_key(iter), &account, &kind);
        if (err)
            break;
        know_account(catalog, account);
        tv_iter_seek(iter,
                     tv_key_after(&arena, tv_key_catalog(&arena, catalog->kind->space, account)));
        tv_arena_reset(&arena);
    }
    if (err == TV_OK)
        err = tv_iter_status(iter);
    tv_iter_free(iter);
    tv_arena_done(&arena);
    return err;
}

/* Read an account again if its generation has moved. */
static tv_err follow_account(tv_catalog *catalog, tv_catalog_account *known)
{
    int64_t generation = 0;
    tv_slice value;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = tv_engine_get(catalog->engine, TV_READ_ANY,
                        tv_key_catalog_generation(&arena, catalog->kind->space,
                                                  (tv_slice){known->name, known->name_len}),
                        &arena, &value);
    if (err == TV_OK)
        err = tv_catalog_generation_parse(value, &generation);
    else if (err == TV_ERR_NOT_FOUND)
        err = TV_OK;
    tv_arena_done(&arena);
    if (err)
        return err;

    pthread_rwlock_rdlock(&catalog->lock);
    bool is_known = generation && generation == known->generation;
    pthread_rwlock_unlock(&catalog->lock);
    return is_known ? TV_OK : reload_account(catalog, known, generation);
}

tv_catalog_account *tv_catalog_next_account(tv_catalog *catalog, tv_catalog_account *account)
{
    pthread_rwlock_rdlock(&catalog->lock);
    tv_catalog_account *next = account ? account->next : catalog->accounts;
    pthread_rwlock_unlock(&catalog->lock);
    return next;
}

tv_err tv_catalog_follow(tv_catalog *catalog, bool finds_accounts)
{
    tv_err err = finds_accounts ? tv_catalog_find_accounts(catalog) : TV_OK;
    tv_catalog_account *account = NULL;

    while (err == TV_OK && (account = tv_catalog_next_account(catalog, account)))
        err = follow_account(catalog, account);
    return err;
}

tv_err tv_catalog_reload_dropped(tv_catalog *catalog)
{
    pthread_rwlock_wrlock(&catalog->lock);
    catalog->barrier++; /* (3) */
    pthread_rwlock_unlock(&catalog->lock);
    return tv_catalog_follow(catalog, false);
}
