/*
 * Account by account.  Of each the rows come in the order of their kinds: policies
 * (a), what is dropped (d), on shared engines the generation (g), the last id (i),
 * names (n), properties (p), on shared engines drops without a fence (u); so policies are kept
 * until the names are known.
 */
#include "model/catalog/walk.h"

#include "base/number.h"
#include "model/catalog/acl.h"
#include "model/catalog/internal.h"

/* A row that is kept until the account's end. */
typedef struct kept_row {
    tv_slice name, value;
    int64_t id; /* of a name */
    struct kept_row *next;
} kept_row;

typedef struct walk {
    const tv_catalog_visitor *visitor;
    tv_service_kind service;
    tv_key_space space;
    tv_arena account_arena; /* for what follows */
    tv_slice account;
    kept_row *policies, *names;
    int64_t last_id, greatest_id;
} walk;

static void damaged(const walk *w, tv_slice row, const char *what)
{
    w->visitor->damaged(w->visitor->ctx, w->account, row, what);
}

static kept_row *keep(walk *w, kept_row **list, tv_slice name, tv_slice value)
{
    kept_row *row = tv_arena_alloc(&w->account_arena, sizeof *row);

    *row = (kept_row){tv_arena_dup(&w->account_arena, name), tv_arena_dup(&w->account_arena, value),
                      0, *list};
    *list = row;
    return row;
}

/* `owner` is the row of the name that it has to belong to, or NULL. */
static void check_policies(walk *w, const kept_row *row, const kept_row *owner)
{
    tv_access_policies policies;
    tv_slice document;
    int64_t id;

    if (tv_catalog_policies_parse(row->value, &id, &document) ||
        tv_acl_parse(&w->account_arena, w->service, document, &policies))
        damaged(w, row->name, "its access policies cannot be read");
    else if (owner == NULL || owner->id != id)
        damaged(w, row->name, "there are access policies of what does not exist");
}

/* Both lists are in the order of their names, from the last one on. */
static void end_account(walk *w)
{
    const kept_row *name = w->names;

    for (const kept_row *row = w->policies; row; row = row->next) {
        while (name && tv_slice_cmp(name->name, row->name) > 0)
            name = name->next;
        check_policies(w, row, name && tv_slice_eq(name->name, row->name) ? name : NULL);
    }
    if (w->greatest_id > w->last_id)
        damaged(w, TV_LIT("i"), "the last id that was given out is missing or too small");
}

static void begin_account(walk *w, tv_slice account)
{
    tv_arena_reset(&w->account_arena);
    w->account = tv_arena_dup(&w->account_arena, account);
    w->policies = w->names = NULL;
    w->last_id = w->greatest_id = 0;
}

static void note_id(walk *w, int64_t id)
{
    if (id > w->greatest_id)
        w->greatest_id = id;
}

static void visit_name(walk *w, tv_slice key, tv_slice lower, tv_slice value)
{
    tv_catalog_row row;

    if (tv_catalog_row_parse(value, &row) || row.name.len == 0 ||
        !tv_slice_eq(key, tv_key_catalog_name(&w->account_arena, w->space, w->account, row.name))) {
        damaged(w, lower, "its row cannot be read");
        return;
    }
    keep(w, &w->names, lower, TV_LIT(""))->id = row.id;
    note_id(w, row.id);
    w->visitor->container(w->visitor->ctx, w->account, row.id, row.name, false);
}

static void visit_dropped(walk *w, tv_slice key, tv_slice name)
{
    int64_t id;

    if (tv_key_split_dropped(tv_key_catalog_dropped(&w->account_arena, w->space, w->account), key,
                             &id)) {
        damaged(w, name, "a note of what is to be dropped cannot be read");
        return;
    }
    note_id(w, id);
    w->visitor->container(w->visitor->ctx, w->account, id, TV_LIT(""), true);
}

static void visit_properties(const walk *w, tv_slice value)
{
    tv_shared_settings *settings;

    if (tv_shared_settings_new(w->service, value, &settings))
        damaged(w, TV_LIT("p"), "the service properties cannot be read");
    else
        tv_shared_settings_unref(settings);
}

/* One row: space account 01 kind ... */
static void visit_row(walk *w, tv_slice key, tv_slice value)
{
    size_t mark = tv_slice_find(key, TV_KEY_MARK);
    tv_slice account = tv_slice_skip(tv_slice_take(key, mark), 1);
    int64_t generation, unfenced;

    if (!tv_slice_eq(account, w->account)) {
        end_account(w);
        begin_account(w, account);
    }
    if (mark + 1 >= key.len) {
        damaged(w, key, "a row without a kind");
        return;
    }

    tv_slice name = tv_slice_skip(key, mark + 2);

    switch (key.data[mark + 1]) {
    case 'a':
        keep(w, &w->policies, name, value);
        break;
    case 'd':
        visit_dropped(w, key, name);
        break;
    case 'g':
        if (tv_catalog_generation_parse(value, &generation))
            damaged(w, TV_LIT("g"), "the number of changes cannot be read");
        break;
    case 'i':
        if (!tv_parse_int64(value, &w->last_id) || !tv_catalog_is_id(w->last_id))
            damaged(w, TV_LIT("i"), "the last id that was given out cannot be read");
        break;
    case 'n':
        visit_name(w, key, name, value);
        break;
    case 'p':
        visit_properties(w, value);
        break;
    case 'u':
        if (!tv_parse_int64(value, &unfenced) || !tv_catalog_is_id(unfenced))
            damaged(w, name, "a note of an unfinished drop cannot be read");
        break;
    default:
        damaged(w, tv_slice_skip(key, mark + 1), "a row of a kind that there is not");
    }
}

tv_err tv_catalog_walk(tv_engine *engine, tv_service_kind service, tv_key_space space,
                       const tv_catalog_visitor *visitor)
{
    char first[] = {(char)space}, behind[] = {(char)(space + 1)};
    tv_slice from = {first, 1}, to = {behind, 1};
    walk w = {.visitor = visitor, .service = service, .space = space};
    tv_iter *iter;
    tv_err err;

    err = tv_engine_iter(engine, from, to, &iter);
    if (err)
        return err;

    tv_arena_init(&w.account_arena);
    begin_account(&w, TV_LIT(""));
    for (tv_iter_seek(iter, from); tv_iter_is_valid(iter); tv_iter_next(iter))
        visit_row(&w, tv_iter_key(iter), tv_iter_value(iter));
    err = tv_iter_status(iter);
    if (err == TV_OK)
        end_account(&w);
    tv_iter_free(iter);
    tv_arena_done(&w.account_arena);
    return err;
}
