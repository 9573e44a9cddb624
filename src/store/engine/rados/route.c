/* Rows of tv.route: their values, reading all of them, changing some. */
#include "store/engine/rados/route.h"

#include "base/assert.h"
#include "base/grow.h"
#include "store/engine/key.h"

enum { PAGE_ROWS = 1000, VERSION_DIGITS = 13 };

tv_slice tv_route_key(tv_arena *arena, tv_route_kind kind, tv_slice name)
{
    char *key = tv_arena_bytes(arena, name.len + 2);

    key[0] = (char)kind;
    key[1] = '|';
    tv_slice_put(key + 2, name);
    return (tv_slice){key, name.len + 2};
}

const tv_slice tv_range_clks[TV_RANGE_SLOTS] = {
    {"clk", 3},  {"clk1", 4}, {"clk2", 4}, {"clk3", 4},
    {"clk4", 4}, {"clk5", 4}, {"clk6", 4}, {"clk7", 4},
};
const tv_slice tv_range_gones[TV_RANGE_SLOTS] = {
    {"gone", 4},  {"gone1", 5}, {"gone2", 5}, {"gone3", 5},
    {"gone4", 5}, {"gone5", 5}, {"gone6", 5}, {"gone7", 5},
};

/* --- values --- */

static tv_slice take(tv_arena *arena, tv_buf *out)
{
    tv_slice copy = tv_arena_dup(arena, tv_buf_slice(out));

    tv_buf_done(out);
    return copy;
}

/* All of them, in order. */
static tv_err read_words(tv_slice *rest, tv_arena *arena, tv_slice *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tv_err err = tv_words_next(rest, arena, words[i]);

        if (err)
            return err;
    }
    return TV_OK;
}

#define READ_WORDS(rest, arena, ...)                                                               \
    read_words(rest, arena, (tv_slice *const[]){__VA_ARGS__},                                      \
               sizeof((tv_slice *const[]){__VA_ARGS__}) / sizeof(tv_slice *))

static bool is_object_name(tv_slice name)
{
    return name.len > 0 && name.len <= TV_POOL_NAME_MAX && tv_slice_is_printable(name);
}

tv_slice tv_route_encode(tv_arena *arena, const tv_route *route)
{
    tv_buf out = TV_BUF_EMPTY;

    tv_words_add(&out, route->object);
    tv_words_add(&out, route->epoch);
    tv_words_add(&out, route->flags);
    tv_words_add(&out, route->hint);
    tv_words_add(&out, route->dirty_from);
    tv_words_add(&out, route->dirty_to);
    return take(arena, &out);
}

tv_err tv_route_decode(tv_arena *arena, tv_slice name, tv_slice value, tv_route *ret_route)
{
    tv_route route = {.start = name};
    tv_slice rest = value;
    tv_err err;

    err = READ_WORDS(&rest, arena, &route.object, &route.epoch, &route.flags, &route.hint,
                     &route.dirty_from, &route.dirty_to);
    if (err)
        return err;
    if (rest.data || !is_object_name(route.object) || route.epoch.len == 0)
        return TV_ERR_CORRUPT;

    *ret_route = route;
    return TV_OK;
}

tv_slice tv_intent_kind_name(tv_intent_kind kind)
{
    switch (kind) {
    case TV_INTENT_SPLIT:
        return TV_LIT("split");
    case TV_INTENT_MERGE:
        return TV_LIT("merge");
    case TV_INTENT_FENCE:
        return TV_LIT("fence");
    case TV_INTENT_DROP:
        return TV_LIT("drop");
    }
    tv_assert(false);
}

tv_slice tv_intent_stage_name(tv_intent_stage stage)
{
    switch (stage) {
    case TV_INTENT_BEGUN:
        return TV_LIT("begun");
    case TV_INTENT_PUBLISHED:
        return TV_LIT("published");
    case TV_INTENT_UNDONE:
        return TV_LIT("undone");
    }
    tv_assert(false);
}

tv_slice tv_intent_encode(tv_arena *arena, const tv_intent *intent)
{
    tv_buf out = TV_BUF_EMPTY;

    tv_words_add(&out, (tv_slice){(char[]){(char)intent->kind}, 1});
    tv_words_add(&out, (tv_slice){(char[]){(char)intent->stage}, 1});
    tv_words_add(&out, intent->id);
    tv_words_add(&out, intent->by);
    tv_words_add(&out, intent->object);
    tv_words_add(&out, intent->epoch);
    tv_words_add(&out, intent->cut);
    tv_words_add(&out, intent->end);
    tv_words_add(&out, intent->other);
    tv_words_add(&out, intent->new_epoch);
    tv_words_add(&out, intent->other_epoch);
    tv_words_add_number(&out, intent->began_ms);
    return take(arena, &out);
}

/* One of these characters, alone. */
static bool is_letter_of(tv_slice word, const char *letters)
{
    return word.len == 1 && strchr(letters, word.data[0]) != NULL;
}

tv_err tv_intent_decode(tv_arena *arena, tv_slice name, tv_slice value, tv_intent *ret_intent)
{
    tv_intent intent = {.start = name};
    tv_slice rest = value, kind, stage;
    tv_err err;

    err = READ_WORDS(&rest, arena, &kind, &stage, &intent.id, &intent.by, &intent.object,
                     &intent.epoch, &intent.cut, &intent.end, &intent.other, &intent.new_epoch,
                     &intent.other_epoch);
    if (err)
        return err;
    err = tv_words_next_number(&rest, &intent.began_ms);
    if (err)
        return err;
    if (rest.data || !is_letter_of(kind, "SMND") || !is_letter_of(stage, "bpr") ||
        !is_object_name(intent.object) || intent.id.len == 0 || intent.epoch.len == 0 ||
        (intent.other.len && !is_object_name(intent.other)))
        return TV_ERR_CORRUPT;

    intent.kind = (tv_intent_kind)kind.data[0];
    intent.stage = (tv_intent_stage)stage.data[0];
    *ret_intent = intent;
    return TV_OK;
}

tv_slice tv_route_lock_encode(tv_arena *arena, const tv_route_lock *lock)
{
    tv_buf out = TV_BUF_EMPTY;

    tv_words_add(&out, lock->id);
    return take(arena, &out);
}

tv_err tv_route_lock_decode(tv_arena *arena, tv_slice name, tv_slice value, tv_route_lock *ret_lock)
{
    tv_route_lock lock = {.start = name};
    tv_slice rest = value;
    tv_err err;

    err = tv_words_next(&rest, arena, &lock.id);
    if (err)
        return err;
    if (rest.data || lock.id.len == 0)
        return TV_ERR_CORRUPT;

    *ret_lock = lock;
    return TV_OK;
}

tv_slice tv_route_made_encode(tv_arena *arena, const tv_route_made *made)
{
    tv_buf out = TV_BUF_EMPTY;

    tv_words_add(&out, made->id);
    tv_words_add_number(&out, made->at_ms);
    return take(arena, &out);
}

tv_err tv_route_made_decode(tv_arena *arena, tv_slice name, tv_slice value, tv_route_made *ret_made)
{
    tv_route_made made = {.object = name};
    tv_slice rest = value;
    tv_err err;

    err = tv_words_next(&rest, arena, &made.id);
    if (err)
        return err;
    err = tv_words_next_number(&rest, &made.at_ms);
    if (err)
        return err;
    if (rest.data || made.id.len == 0 || !is_object_name(name))
        return TV_ERR_CORRUPT;

    *ret_made = made;
    return TV_OK;
}

tv_slice tv_route_event_encode(tv_arena *arena, const tv_route_event *event)
{
    tv_buf out = TV_BUF_EMPTY;

    tv_words_add_number(&out, event->at_ms);
    tv_words_add(&out, event->op);
    tv_words_add(&out, event->range);
    tv_words_add(&out, event->key);
    tv_words_add(&out, event->reason);
    tv_words_add(&out, event->outcome);
    tv_words_add_number(&out, event->rows);
    tv_words_add_number(&out, event->total_ms);
    tv_words_add_number(&out, event->paused_ms);
    return take(arena, &out);
}

tv_err tv_route_event_decode(tv_arena *arena, tv_slice name, tv_slice value,
                             tv_route_event *ret_event)
{
    tv_route_event event;
    tv_slice rest = value;
    tv_err err;

    err = name.len == VERSION_DIGITS ? tv_key_read_number(name, &event.version) : TV_ERR_CORRUPT;
    if (err)
        return err;
    err = tv_words_next_number(&rest, &event.at_ms);
    if (err)
        return err;
    err = READ_WORDS(&rest, arena, &event.op, &event.range, &event.key, &event.reason,
                     &event.outcome);
    if (err)
        return err;
    if (tv_words_next_number(&rest, &event.rows) || tv_words_next_number(&rest, &event.total_ms) ||
        tv_words_next_number(&rest, &event.paused_ms) || rest.data)
        return TV_ERR_CORRUPT;

    *ret_event = event;
    return TV_OK;
}

/* --- all of it --- */

/* A list that grows in an arena: room for one more item. */
static void *add_item(tv_arena *arena, void **list, size_t *count, size_t size)
{
    /* Doubled when it is a power of two: the old one stays in the arena. */
    if ((*count & (*count - 1)) == 0) {
        char *grown = tv_arena_alloc(arena, (*count ? *count * 2 : 1) * size);

        if (*count)
            memcpy(grown, *list, *count * size);
        *list = grown;
    }
    return (char *)*list + (*count)++ * size;
}

#define ADD_ITEM(arena, list, count)                                                               \
    ((void)sizeof(*(list)), add_item(arena, (void **)&(list), &(count), sizeof *(list)))

/* The rows f, v and drops, those of them that are in `rows`. */
static tv_err read_heads(const tv_pool_read *read, tv_routes *routes, bool *ret_has_version)
{
    int64_t number;
    tv_err err = TV_OK;

    *ret_has_version = false;
    for (size_t i = 0; i < read->row_count && err == TV_OK; i++) {
        tv_slice rest = read->rows[i].value;

        if (tv_slice_eq(read->rows[i].key, TV_ROUTE_FORMAT_ROW)) {
            err = tv_words_next_number(&rest, &routes->format);
            if (err == TV_OK)
                err = tv_words_next_number(&rest, &routes->level);
        } else if (tv_slice_eq(read->rows[i].key, TV_ROUTE_VERSION_ROW)) {
            err = tv_words_next_number(&rest, &number);
            if (err == TV_OK)
                routes->version = (uint64_t)number;
            *ret_has_version = true;
        } else if (tv_slice_eq(read->rows[i].key, TV_ROUTE_DROPS_ROW)) {
            err = tv_words_next_number(&rest, &number);
            if (err == TV_OK)
                routes->drops = (uint64_t)number;
        }
    }
    return err;
}

static tv_err load_heads(tv_pool *pool, tv_arena *arena, tv_routes *routes)
{
    const tv_slice keys[] = {TV_ROUTE_FORMAT_ROW, TV_ROUTE_VERSION_ROW, TV_ROUTE_DROPS_ROW};
    tv_pool_read read = {
        .object = TV_ROUTE_OBJECT,
        .kind = TV_POOL_READ_KEYS,
        .keys = keys,
        .key_count = 3,
        .arena = arena,
    };
    bool has_version;
    tv_err err;

    err = tv_pool_read_now(pool, &read);
    if (err)
        return err;
    if (read.row_count != 3)
        return TV_ERR_CORRUPT;

    return read_heads(&read, routes, &has_version);
}

tv_err tv_routes_load_version(tv_pool *pool, tv_routes *ret_routes)
{
    tv_routes routes = {0};
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = load_heads(pool, &arena, &routes);
    tv_arena_done(&arena);
    if (err == TV_OK)
        *ret_routes = routes;
    return err;
}

static tv_err add_row(tv_routes *routes, tv_arena *arena, const tv_pool_row *row)
{
    if (row->key.len < 2 || row->key.data[1] != '|')
        return TV_OK;

    tv_slice name = tv_slice_skip(row->key, 2);

    switch (row->key.data[0]) {
    case TV_ROUTE_RANGE:
        return tv_route_decode(arena, name, row->value,
                               ADD_ITEM(arena, routes->ranges, routes->range_count));
    case TV_ROUTE_INTENT:
        return tv_intent_decode(arena, name, row->value,
                                ADD_ITEM(arena, routes->intents, routes->intent_count));
    case TV_ROUTE_LOCK:
        return tv_route_lock_decode(arena, name, row->value,
                                    ADD_ITEM(arena, routes->locks, routes->lock_count));
    case TV_ROUTE_MADE:
        return tv_route_made_decode(arena, name, row->value,
                                    ADD_ITEM(arena, routes->made, routes->made_count));
    default:
        return TV_OK;
    }
}

/*
 * Read the pages behind `after`.  The row `v` is behind all others, so the version that the last
 * page was of is known in the end.
 */
static tv_err load_rows(tv_pool *pool, tv_arena *arena, tv_slice after, tv_routes *routes)
{
    tv_pool_read read = {
        .object = TV_ROUTE_OBJECT,
        .kind = TV_POOL_READ_PAGE,
        .after = after,
        .rows_max = PAGE_ROWS,
        .arena = arena,
    };
    bool has_version = false;

    do {
        tv_err err = tv_pool_read_now(pool, &read);

        if (err)
            return err;
        for (size_t i = 0; i < read.row_count; i++) {
            err = add_row(routes, arena, &read.rows[i]);
            if (err)
                return err;
        }
        err = read_heads(&read, routes, &has_version);
        if (err)
            return err;
        if (read.row_count == 0)
            break;

        read.after = read.rows[read.row_count - 1].key;
        if (tv_slice_starts_with(read.after, TV_LIT("h|")))
            read.after = TV_LIT("h}"); /* behind all events, which nobody here asked for */
    } while (read.has_more);
    return has_version ? TV_OK : TV_ERR_CORRUPT;
}

static tv_err load(tv_pool *pool, tv_arena *arena, tv_slice after, tv_routes *ret_routes)
{
    for (;;) {
        tv_routes routes = {0};
        tv_err err = load_heads(pool, arena, &routes);
        uint64_t version = routes.version;

        if (err)
            return err;
        err = load_rows(pool, arena, after, &routes);
        if (err)
            return err;
        if (routes.version != version)
            continue; /* changed meanwhile: the pages may be of two versions */
        if (routes.range_count == 0 || routes.ranges[0].start.len != 0)
            return TV_ERR_CORRUPT;

        *ret_routes = routes;
        return TV_OK;
    }
}

tv_err tv_routes_load(tv_pool *pool, tv_arena *arena, tv_routes *ret_routes)
{
    return load(pool, arena, TV_LIT("r"), ret_routes);
}

tv_err tv_routes_load_all(tv_pool *pool, tv_arena *arena, tv_routes *ret_routes)
{
    return load(pool, arena, TV_LIT(""), ret_routes);
}

size_t tv_routes_find(const tv_routes *routes, tv_slice key)
{
    size_t low = 0, high = routes->range_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (tv_slice_cmp(routes->ranges[middle].start, key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

tv_slice tv_routes_end(const tv_routes *routes, size_t index)
{
    return index + 1 < routes->range_count ? routes->ranges[index + 1].start : TV_LIT("");
}

/* No key holds NUL, FE or FF: nothing sorts between `key` less one with FF behind it and `key`. */
tv_slice tv_route_before(tv_arena *arena, tv_slice key)
{
    char *bytes;

    tv_assert(key.len);
    if (key.data[key.len - 1] == '\x01')
        return tv_slice_take(key, key.len - 1);
    bytes = tv_arena_alloc(arena, key.len + 1);
    memcpy(bytes, key.data, key.len);
    bytes[key.len - 1] = (char)(bytes[key.len - 1] - 1);
    bytes[key.len] = '\xff';
    return (tv_slice){bytes, key.len + 1};
}

/* --- changes --- */

static void add_step(tv_route_change *change, tv_pool_step step)
{
    tv_arena_grow(change->arena, &change->steps, change->count, &change->size, 16);
    change->steps[change->count++] = step;
}

void tv_route_change_init(tv_route_change *change, tv_arena *arena)
{
    *change = (tv_route_change){.arena = arena};
    /* The first is the condition, filled in when the version is known. */
    add_step(change, (tv_pool_step){.kind = TV_POOL_ROW_IS, .key = TV_ROUTE_VERSION_ROW});
}

void tv_route_change_put(tv_route_change *change, tv_slice key, tv_slice value)
{
    add_step(change, (tv_pool_step){TV_POOL_PUT_ROW, key, value});
}

void tv_route_change_delete(tv_route_change *change, tv_slice key)
{
    add_step(change, (tv_pool_step){TV_POOL_DELETE_ROW, key, TV_NONE});
}

tv_err tv_route_change_commit(tv_route_change *change, tv_pool *pool, uint64_t version)
{
    change->steps[0].value = tv_arena_printf(change->arena, "%llu", (unsigned long long)version);
    tv_route_change_put(change, TV_ROUTE_VERSION_ROW,
                        tv_arena_printf(change->arena, "%llu", (unsigned long long)(version + 1)));
    tv_err err = tv_pool_change_now(pool, TV_ROUTE_OBJECT, change->steps, change->count, NULL);
    change->count--; /* so that it can be committed again, at another version */
    return err;
}

/* --- the first start --- */

static tv_slice first_object(tv_arena *arena, size_t index)
{
    return tv_arena_printf(arena, TV_RANGE_OBJECT "%zu", index + 1);
}

#define FIRST_EPOCH TV_LIT("e1")

/* An object that another node has made just now is as good, if nothing was done with it yet. */
static tv_err make_range(tv_pool *pool, tv_arena *arena, size_t index)
{
    const tv_pool_step steps[] = {
        {.kind = TV_POOL_CREATE},
        {TV_POOL_PUT_ROW, TV_RANGE_SENTINEL, TV_RANGE_SENTINEL},
        {TV_POOL_SET_ATTR, TV_RANGE_WRITE_EPOCH, FIRST_EPOCH},
        {TV_POOL_SET_ATTR, TV_RANGE_READ_EPOCH, FIRST_EPOCH},
    };
    const tv_pool_step is_new = {TV_POOL_ATTR_IS, TV_RANGE_WRITE_EPOCH, FIRST_EPOCH};
    char object[TV_POOL_NAME_MAX + 1];
    tv_err err;

    snprintf(object, sizeof object, "%.*s", TV_FMT(first_object(arena, index)));
    err = tv_pool_change_now(pool, object, steps, sizeof steps / sizeof *steps, NULL);
    if (err == TV_ERR_CONFLICT)
        err = tv_pool_change_now(pool, object, &is_new, 1, NULL);
    return err;
}

/* One try; TV_ERR_CONFLICT when something else was changed meanwhile. */
static tv_err try_raise_level(tv_pool *pool, tv_arena *arena, int64_t level)
{
    tv_route_change change;
    tv_routes routes;
    tv_err err;

    err = tv_routes_load_version(pool, &routes);
    if (err || routes.level >= level)
        return err;

    tv_route_change_init(&change, arena);
    tv_route_change_put(
        &change, TV_ROUTE_FORMAT_ROW,
        tv_arena_printf(arena, "%lld %lld", (long long)routes.format, (long long)level));
    return tv_route_change_commit(&change, pool, routes.version);
}

tv_err tv_route_raise_level(tv_pool *pool, int64_t level)
{
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    do {
        tv_arena_reset(&arena);
        err = try_raise_level(pool, &arena, level);
    } while (err == TV_ERR_CONFLICT);
    tv_arena_done(&arena);
    return err;
}

tv_err tv_routes_create(tv_pool *pool, const tv_slice *cuts, size_t cut_count)
{
    tv_route_change change;
    tv_routes routes;
    tv_arena arena;
    tv_err err;

    err = tv_routes_load_version(pool, &routes);
    if (err != TV_ERR_NOT_FOUND)
        return err;

    tv_arena_init(&arena);
    tv_route_change_init(&change, &arena);
    change.steps[0] = (tv_pool_step){.kind = TV_POOL_CREATE};
    tv_route_change_put(&change, TV_ROUTE_FORMAT_ROW,
                        tv_arena_printf(&arena, "%d %d", TV_ROUTE_FORMAT, TV_ROUTE_LEVEL_FIRST));
    tv_route_change_put(&change, TV_ROUTE_VERSION_ROW, TV_LIT("1"));
    tv_route_change_put(&change, TV_ROUTE_DROPS_ROW, TV_LIT("0"));
    for (size_t i = 0; i <= cut_count; i++) {
        tv_slice start = i ? cuts[i - 1] : TV_LIT("");
        tv_route route = {.object = first_object(&arena, i), .epoch = FIRST_EPOCH};

        err = make_range(pool, &arena, i);
        if (err)
            break;
        tv_route_change_put(&change, tv_route_key(&arena, TV_ROUTE_RANGE, start),
                            tv_route_encode(&arena, &route));
    }
    if (err == TV_OK)
        err = tv_pool_change_now(pool, TV_ROUTE_OBJECT, change.steps, change.count, NULL);
    /* Another node may have been faster, with all of it or even with what came after. */
    if (err == TV_ERR_CONFLICT)
        err = tv_routes_load_version(pool, &routes) == TV_OK ? TV_OK : TV_ERR_CORRUPT;
    tv_arena_done(&arena);
    return err;
}
