/*
 * Owners, and the walk over their rows.  Where rows cannot be read the walk goes on
 * with the next owner, so that one damaged block is not the end of it.
 */
#include "base/grow.h"
#include "model/catalog/walk.h"
#include "model/entity/entity.h"
#include "server/verify/internal.h"

/* --- owners --- */

typedef struct collecting {
    tv_verify_walk *walk;
    const char *noun;
    tv_slice (*rows)(tv_arena *arena, tv_slice account, int64_t id);
} collecting;

static void add_owner(void *ctx, tv_slice account, int64_t id, tv_slice name, bool is_dropped)
{
    collecting *c = ctx;
    tv_verify_walk *walk = c->walk;

    tv_grow(&walk->owners, walk->owner_count, &walk->owner_size, 64);
    walk->owners[walk->owner_count++] =
        (tv_verify_owner){.prefix = c->rows(&walk->arena, account, id),
                          .account = tv_arena_dup(&walk->arena, account),
                          .name = tv_arena_dup(&walk->arena, name),
                          .id = id,
                          .is_dropped = is_dropped};
}

static void report_catalog(void *ctx, tv_slice account, tv_slice row, const char *what)
{
    collecting *c = ctx;

    tv_verify_problem(c->walk->report, "catalogue of %ss of %.*s, %.*s: %s", c->noun,
                      TV_FMT(account), TV_FMT(row), what);
}

static int compare_owners(const void *a, const void *b)
{
    return tv_slice_cmp(((const tv_verify_owner *)a)->prefix, ((const tv_verify_owner *)b)->prefix);
}

void tv_verify_read_owners(tv_verify_walk *walk, tv_service_kind service, tv_key_space space,
                           const char *noun,
                           tv_slice (*rows)(tv_arena *arena, tv_slice account, int64_t id))
{
    collecting c = {walk, noun, rows};
    tv_catalog_visitor visitor = {add_owner, report_catalog, &c};

    walk->owner_count = 0;
    tv_arena_reset(&walk->arena);
    walk->lacks_owners = tv_catalog_walk(walk->engine, service, space, &visitor) != TV_OK;
    if (walk->lacks_owners)
        tv_verify_problem(walk->report, "catalogue of %ss: its rows cannot be read (%s)", noun,
                          walk->report->read_text);
    if (walk->owner_count)
        qsort(walk->owners, walk->owner_count, sizeof *walk->owners, compare_owners);
    for (size_t i = 1; i < walk->owner_count; i++) {
        const tv_verify_owner *owner = &walk->owners[i];

        if (tv_slice_eq(owner->prefix, owner[-1].prefix))
            tv_verify_problem(walk->report, "%s %.*s of %.*s: another one has its id, %lld", noun,
                              TV_FMT(owner->name), TV_FMT(owner->account), (long long)owner->id);
    }
}

/* The first owner whose prefix is not less than a key. */
static size_t lower_bound(const tv_verify_walk *walk, tv_slice key)
{
    size_t low = 0, high = walk->owner_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (tv_slice_cmp(walk->owners[middle].prefix, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- rows --- */

typedef struct row_walk {
    tv_verify_walk *walk;
    const tv_verify_check *check;
    tv_arena at_arena, next_arena; /* of `at` and of what follows it */
    tv_slice at;                   /* where the next iterator begins */
    tv_slice prefix;               /* of the owner whose rows are read, in at_arena */
    tv_buf last;                   /* the last key that could be read */
    bool begins_cut;               /* the first rows of the next owner could not be read */
    uint64_t homeless;             /* rows of that prefix, when no owner has it */
} row_walk;

static void end_owner(row_walk *r)
{
    tv_verify_walk *walk = r->walk;

    if (walk->owner && !walk->owner->is_dropped)
        r->check->end(walk);
    if (r->homeless && !walk->lacks_owners) {
        size_t mark = tv_slice_find(r->prefix, TV_KEY_MARK);

        tv_verify_problem(walk->report, "%llu rows of a %s that does not exist: id %.*s of %.*s",
                          (unsigned long long)r->homeless, r->check->noun,
                          TV_FMT(tv_slice_skip(r->prefix, mark + 1)),
                          TV_FMT(tv_slice_skip(tv_slice_take(r->prefix, mark), 1)));
    }
    walk->owner = NULL;
    walk->is_cut = false;
    r->homeless = 0;
    r->prefix = TV_NONE;
}

static void begin_owner(row_walk *r, tv_slice prefix)
{
    tv_verify_walk *walk = r->walk;

    tv_arena_reset(&r->at_arena);
    r->prefix = tv_arena_dup(&r->at_arena, prefix);

    size_t index = lower_bound(walk, prefix);

    walk->owner = index < walk->owner_count && tv_slice_eq(walk->owners[index].prefix, prefix)
                      ? &walk->owners[index]
                      : NULL;
    walk->is_cut = r->begins_cut;
    r->begins_cut = false;
    if (walk->owner && !walk->owner->is_dropped)
        r->check->begin(walk);
}

static void visit_row(row_walk *r, tv_slice key, tv_slice value)
{
    tv_verify_walk *walk = r->walk;
    size_t mark = tv_slice_find(key, TV_KEY_MARK);

    walk->report->rows++;
    tv_buf_reset(&r->last);
    tv_buf_add(&r->last, key);
    if (mark + 1 + TV_KEY_ID_CHARS > key.len) {
        tv_verify_problem(walk->report, "a row of no %s: its key is %.*s", r->check->noun,
                          TV_FMT(key));
        return;
    }

    tv_slice prefix = tv_slice_take(key, mark + 1 + TV_KEY_ID_CHARS);

    if (r->prefix.data == NULL || !tv_slice_eq(prefix, r->prefix)) {
        end_owner(r);
        begin_owner(r, prefix);
    }
    if (walk->owner == NULL)
        r->homeless++;
    else if (!walk->owner->is_dropped)
        r->check->row(walk, key, value);
}

/* Whether the row at a key, or the next one, can be read. */
static bool can_read(const tv_verify_walk *walk, tv_slice from, tv_slice to)
{
    tv_iter *iter;

    if (tv_engine_iter_across(walk->engine, from, to, &iter))
        return false;
    tv_iter_seek(iter, from);

    bool can = tv_iter_status(iter) == TV_OK;

    tv_iter_free(iter);
    return can;
}

/*
 * The least key behind the damage, nearly.  Keys that begin with `base` cannot be
 * read from the byte `low` after it on; those after all of them can.  One byte
 * after the other is found by halving.
 */
static tv_slice nearest(row_walk *r, tv_slice base, int low, tv_slice to)
{
    enum { LEVELS = 16 };
    tv_slice best = tv_key_after(&r->next_arena, base);
    char *key = tv_arena_bytes(&r->next_arena, base.len + LEVELS);

    memcpy(key, base.data, base.len);
    for (size_t len = base.len; len < base.len + LEVELS; len++, low = 0) {
        int high = 0x100;

        while (low + 1 < high) {
            int middle = (low + high) / 2;

            key[len] = (char)middle;
            if (can_read(r->walk, (tv_slice){key, len + 1}, to))
                high = middle;
            else
                low = middle;
        }
        if (high < 0x100) {
            key[len] = (char)high;
            best = tv_arena_dup(&r->next_arena, (tv_slice){key, len + 1});
        }
        if (low == 0)
            break;
        key[len] = (char)low;
    }
    return best;
}

/*
 * Find a key behind the damage, within the owner.  What comes next cannot be known,
 * so the jumps get longer: behind all keys that begin as the last one that was
 * read, then with a byte less of it, and so on; and then back again.
 */
static bool skip_damage(row_walk *r, tv_slice to)
{
    tv_slice last = tv_buf_slice(&r->last);

    for (size_t len = last.len; r->walk->owner && len >= r->prefix.len; len--) {
        tv_slice base = tv_slice_take(last, len);

        if (can_read(r->walk, tv_key_after(&r->next_arena, base), to)) {
            r->at = nearest(r, base, len < last.len ? (unsigned char)last.data[len] : 0, to);
            r->walk->is_cut = true;
            return true;
        }
    }
    return false;
}

/* The same for an owner, whose prefix is `r->at`, of which not even the first row could be read. */
static bool skip_beginning(row_walk *r, tv_slice to)
{
    const tv_verify_walk *walk = r->walk;
    size_t index = lower_bound(walk, r->at);

    if (r->prefix.data || index == walk->owner_count ||
        !tv_slice_eq(walk->owners[index].prefix, r->at) ||
        !can_read(walk, tv_key_after(&r->next_arena, r->at), to))
        return false;

    r->at = nearest(r, r->at, 0, to);
    r->begins_cut = true;
    return true;
}

/* Go to the next owner.  False when there is none. */
static bool skip_owner(row_walk *r)
{
    tv_verify_walk *walk = r->walk;
    tv_slice behind = r->prefix.data ? tv_key_after(&r->next_arena, r->prefix)
                                     : tv_arena_dup(&r->next_arena, r->at);
    size_t index = lower_bound(walk, behind);

    /* What could not be read may be of the very owner at which the iterator began. */
    if (r->prefix.data == NULL && index < walk->owner_count &&
        tv_slice_eq(walk->owners[index].prefix, behind))
        index++;
    walk->is_cut = true;
    end_owner(r);
    if (index == walk->owner_count)
        return false;

    r->at = walk->owners[index].prefix;
    return true;
}

/* After a read that failed: say so, and find out where to go on.  False at the end. */
static bool go_on(row_walk *r, tv_slice to)
{
    const tv_verify_walk *walk = r->walk;

    if (walk->owner)
        tv_verify_problem(walk->report, "%s %.*s of %.*s: some of its rows cannot be read: %s",
                          r->check->noun, TV_FMT(walk->owner->name), TV_FMT(walk->owner->account),
                          walk->report->read_text);
    else
        tv_verify_problem(walk->report, "rows of %ss from the key %.*s on cannot be read: %s",
                          r->check->noun, TV_FMT(r->at), walk->report->read_text);
    return skip_damage(r, to) || skip_beginning(r, to) || skip_owner(r);
}

void tv_verify_rows(tv_verify_walk *walk, char space, const tv_verify_check *check)
{
    char first[] = {space}, behind[] = {(char)(space + 1)};
    row_walk r = {.walk = walk, .check = check, .at = {first, 1}, .last = TV_BUF_EMPTY};
    tv_slice to = {behind, 1};
    bool goes_on = true;

    tv_arena_init(&r.at_arena);
    tv_arena_init(&r.next_arena);
    while (goes_on) {
        tv_iter *iter;

        if (tv_engine_iter_across(walk->engine, r.at, to, &iter)) {
            tv_verify_problem(walk->report, "rows of %ss cannot be read: %s", check->noun,
                              walk->report->read_text);
            break;
        }
        for (tv_iter_seek(iter, r.at); tv_iter_is_valid(iter); tv_iter_next(iter))
            visit_row(&r, tv_iter_key(iter), tv_iter_value(iter));
        goes_on = tv_iter_status(iter) != TV_OK && go_on(&r, to);
        tv_iter_free(iter);
    }
    end_owner(&r);
    tv_buf_done(&r.last);
    tv_arena_done(&r.at_arena);
    tv_arena_done(&r.next_arena);
}

/* --- entities --- */

static void begin_table(tv_verify_walk *walk)
{
    walk->state = NULL;
}

static void check_entity(tv_verify_walk *walk, tv_slice key, tv_slice value)
{
    const tv_verify_owner *table = walk->owner;
    tv_slice partition_key, row_key;
    tv_arena arena;

    walk->report->entities++;
    walk->owners[table - walk->owners].entities++;
    walk->owners[table - walk->owners].bytes += key.len + value.len;
    tv_arena_init(&arena);
    if (tv_key_split_row(&arena, table->prefix, key, &partition_key, &row_key))
        tv_verify_problem(walk->report, "table %.*s of %.*s: a row whose key is no entity's",
                          TV_FMT(table->name), TV_FMT(table->account));
    else if (tv_entity_check(value))
        tv_verify_problem(walk->report,
                          "table %.*s of %.*s: the entity PartitionKey '%.*s' RowKey '%.*s' "
                          "cannot be decoded",
                          TV_FMT(table->name), TV_FMT(table->account), TV_FMT(partition_key),
                          TV_FMT(row_key));
    tv_arena_done(&arena);
}

static void end_table(tv_verify_walk *walk)
{
    walk->owners[walk->owner - walk->owners].is_cut = walk->is_cut;
}

const tv_verify_check tv_verify_table = {"table", begin_table, check_entity, end_table};
