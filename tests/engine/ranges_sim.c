/* See ranges_sim.h.  One actor runs at a time, so the model needs no lock. */
#include "ranges_sim.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/point.h"
#include "fake_pool.h"
#include "store/engine/key.h"
#include "store/engine/rados/range_work.h"

enum {
    KEYS = 48,    /* each has one writer */
    COUNTERS = 4, /* these are everybody's */
    TABLES = 3,   /* that are dropped one after the other */
    TABLE_ROWS = 12,
    WRITERS = 2,
    READERS = 2,
    CHANGERS = 3,
    WRITER_STEPS = 60,
    READER_STEPS = 50,
    SCANS = 5,
    CHANGES = 12,
    KEY_SIZE = 24,
    CLIENTS_MAX = 400,
};

const char *const sim_focus_names[SIM_FOCUSES] = {"everything", "counters", "tables", "cleaning"};

/* --- the model --- */

typedef struct model_row {
    uint32_t version;      /* last acknowledged; its writer knows it */
    uint32_t begun;        /* last that was begun */
    uint32_t delete_begun; /* the last that was begun and is a delete */
    bool is_there;
} model_row;

typedef struct sim {
    fake_cluster *cluster;
    sim_counts *counts;
    sim_focus focus;
    char violation[400];
    model_row rows[KEYS];
    int64_t counter_acked[COUNTERS];
    bool is_dropped[TABLES]; /* in the catalogue */
    bool is_gone[TABLES];    /* fenced and dropped */
    tv_pool *clients[CLIENTS_MAX];
    size_t client_count;
} sim;

static sim *the_sim;
static __thread tv_pool *mortal; /* the client of an actor that may die, while it changes ranges */

__attribute__((format(printf, 1, 2))) static void violate(const char *format, ...)
{
    va_list args;

    if (the_sim->violation[0])
        return;
    va_start(args, format);
    vsnprintf(the_sim->violation, sizeof the_sim->violation, format, args);
    va_end(args);
}

static bool is_over(void)
{
    return the_sim->violation[0] != '\0';
}

static uint64_t dice(uint64_t below)
{
    return fake_random(the_sim->cluster, below);
}

static tv_pool *new_client(void)
{
    tv_assert(the_sim->client_count < CLIENTS_MAX);
    return the_sim->clients[the_sim->client_count++] = fake_client_new(the_sim->cluster);
}

/* At a pressure point: die, sleep while others go on, or nothing. */
static tv_err at_point(const char *at)
{
    uint64_t throw;

    if (mortal == NULL)
        return TV_OK;
    /* Where a mistake has its effect (range_work.h), others get the time to suffer from it. */
    throw = strcmp(at, "mutant") == 0 ? 10 : dice(100);
    if (throw < 3) {
        fake_client_kill(mortal);
        return TV_ERR_STOPPED;
    }
    for (int i = 0; throw < 15 && i < 40; i++)
        fake_yield(the_sim->cluster);
    return TV_OK;
}

/* --- a node, as small as can be: a map and operations that name epochs --- */

typedef struct node {
    tv_pool *pool;
    tv_arena arena; /* of the map */
    tv_routes routes;
    int64_t own_clock; /* behind or ahead of others */
    int64_t clock;     /* that, or what it has learnt from a range */
} node;

/* TV_ERR_STOPPED never: nodes do not die here. */
static void look_at_map(node *n)
{
    tv_arena_reset(&n->arena);
    tv_assert(tv_routes_load(n->pool, &n->arena, &n->routes) == TV_OK);
}

static void node_init(node *n, int64_t clock)
{
    *n = (node){.pool = new_client(), .own_clock = clock, .clock = clock};
    tv_arena_init(&n->arena);
    look_at_map(n);
}

static void node_done(node *n)
{
    tv_arena_done(&n->arena);
}

/* An operation by this map was refused: wait a little, recover what is stuck, have a new map. */
static void be_refused(node *n, tv_slice key, int times)
{
    n->pool->ops->pause(n->pool, 2);
    if (times > 0 && times % 40 == 0) {
        tv_range_changer changer = {.pool = n->pool, .incarnation = TV_LIT("n")};

        tv_assert(tv_range_recover(&changer, key) != TV_ERR_STOPPED);
        the_sim->counts->recoveries++;
    }
    if (times > 5000)
        violate("%.*s cannot be used any more", TV_FMT(key));
    look_at_map(n);
}

static tv_err read_row(node *n, tv_slice key, tv_arena *arena, tv_slice *ret_value)
{
    for (int times = 0; !is_over(); times++) {
        const tv_route *route = &n->routes.ranges[tv_routes_find(&n->routes, key)];
        tv_pool_read read = {
            .object = tv_range_text(arena, route->object),
            .kind = TV_POOL_READ_KEYS,
            .attr = TV_RANGE_READ_EPOCH,
            .attr_value = route->epoch,
            .keys = &key,
            .key_count = 1,
            .arena = arena,
        };
        tv_err err = tv_pool_read_now(n->pool, &read);

        if (err == TV_OK) {
            *ret_value = read.row_count ? read.rows[0].value : TV_NONE;
            return TV_OK;
        }
        tv_assert(err == TV_ERR_CONFLICT || err == TV_ERR_NOT_FOUND);
        be_refused(n, key, times);
    }
    return TV_ERR_STOPPED;
}

/* Whether the range has a later stamp; then the node goes by it. */
static bool is_behind(node *n, tv_slice object, tv_slice attr, int64_t stamp)
{
    tv_range_work work = {.pool = n->pool};
    tv_slice clock;
    int64_t last;
    bool is = false;

    tv_arena_init(&work.keep);
    if (tv_range_attr(&work, object, attr, &clock) == TV_OK && clock.len &&
        tv_key_read_number(clock, &last) == TV_OK && last >= stamp) {
        is = true;
        n->clock = last;
    }
    tv_arena_done(&work.keep);
    return is;
}

/*
 * Put or delete (an empty value) one row, if it is as expected (no data: absent).  `attr`: the
 * clock that it goes by.  TV_ERR_CONFLICT: it is not.  TV_ERR_MOVED: the stamp is not later than
 * that of the range; write it with another.  `may_go_on`, if there is one, is asked after each new
 * map, as a node looks at its catalogues.
 */
static tv_err write_row(node *n, tv_slice attr, tv_slice key, tv_slice expected, tv_slice value,
                        int64_t stamp, bool (*may_go_on)(int table), int table)
{
    tv_arena arena;
    tv_err err = TV_ERR_STOPPED;
    char digits[13];

    tv_key_put_number(digits, stamp, sizeof digits);
    tv_arena_init(&arena);
    for (int times = 0; !is_over(); times++) {
        const tv_route *route = &n->routes.ranges[tv_routes_find(&n->routes, key)];
        const tv_pool_step steps[] = {
            {TV_POOL_ATTR_IS, TV_RANGE_WRITE_EPOCH, route->epoch},
            {TV_POOL_ATTR_BELOW, attr, {digits, sizeof digits}},
            {expected.data ? TV_POOL_ROW_IS : TV_POOL_ROW_ABSENT, key, expected},
            {TV_POOL_SET_ATTR, attr, {digits, sizeof digits}},
            {value.len ? TV_POOL_PUT_ROW : TV_POOL_DELETE_ROW, key, value},
        };
        size_t refused;

        err = tv_pool_change_now(n->pool, tv_range_text(&arena, route->object), steps, 5, &refused);
        if (err == TV_OK || (err == TV_ERR_CONFLICT && refused != TV_POOL_NO_STEP))
            break;
        tv_assert(err == TV_ERR_CONFLICT || err == TV_ERR_NOT_FOUND);
        the_sim->counts->refused_writes++;
        err = TV_ERR_MOVED;
        if (is_behind(n, route->object, attr, stamp))
            break;
        be_refused(n, key, times);
        err = TV_ERR_STOPPED;
        if (may_go_on && !may_go_on(table))
            break;
    }
    tv_arena_done(&arena);
    return err;
}

/* --- actors --- */

static void key_of(char text[KEY_SIZE], const char *prefix, int number)
{
    snprintf(text, KEY_SIZE, "%s%03d", prefix, number);
}

static void value_of(char text[KEY_SIZE], uint32_t version)
{
    snprintf(text, KEY_SIZE, ".%08x", version);
}

static uint32_t version_of(tv_slice value)
{
    char digits[9] = "";

    if (value.data == NULL)
        return 0;
    memcpy(digits, value.data + 1, 8);
    return (uint32_t)strtoul(digits, NULL, 16);
}

/* The next version of one of this writer's rows, or its delete. */
static void write_own(node *n, int writer)
{
    int number = (int)dice(KEYS / WRITERS) * WRITERS + writer;
    model_row *row = &the_sim->rows[number];
    uint32_t version = row->begun + 1;
    bool is_delete = row->is_there && dice(4) == 0;
    char key[KEY_SIZE], old[KEY_SIZE], new[KEY_SIZE];
    tv_err err;

    key_of(key, "k", number);
    value_of(old, row->version);
    value_of(new, version);
    row->begun = version;
    if (is_delete)
        row->delete_begun = version;
    do
        err = write_row(n, tv_range_clks[0], tv_slice_of(key),
                        row->is_there ? tv_slice_of(old) : TV_NONE,
                        is_delete ? TV_LIT("") : tv_slice_of(new), ++n->clock, NULL, 0);
    while (err == TV_ERR_MOVED);
    if (err == TV_ERR_CONFLICT)
        violate("lost: %s is not at version %u, as its writer knows", key, row->version);
    if (err)
        return;
    row->version = version;
    row->is_there = !is_delete;
    the_sim->counts->writes++;
}

/* Count one of the rows that all writers count, with a later stamp. */
static void count_up(node *n)
{
    int number = (int)dice(COUNTERS);
    char key[KEY_SIZE], new[64];
    tv_slice old;
    tv_arena arena;
    tv_err err;

    key_of(key, "c", number);
    tv_arena_init(&arena);
    if (dice(2) == 0)
        n->clock = ++n->own_clock;
    do {
        long long count = 0, stamp_before = 0;
        int64_t stamp = ++n->clock;

        err = read_row(n, tv_slice_of(key), &arena, &old);
        if (err)
            break;
        if (old.data)
            sscanf(tv_range_text(&arena, old), ".%lld %lld", &count, &stamp_before);
        snprintf(new, sizeof new, ".%lld %lld", count + 1, (long long)stamp);
        err = write_row(n, number % 2 ? tv_range_gones[0] : tv_range_clks[0], tv_slice_of(key), old,
                        tv_slice_of(new), stamp, NULL, 0);
        if (err == TV_OK && stamp <= stamp_before)
            violate("clock: %s was written at %lld after %lld", key, (long long)stamp,
                    stamp_before);
        if (err == TV_OK && the_sim->counter_acked[number] < count + 1)
            the_sim->counter_acked[number] = count + 1;
    } while ((err == TV_ERR_CONFLICT || err == TV_ERR_MOVED) && !is_over());
    tv_arena_done(&arena);
}

static bool is_live(int table)
{
    return !the_sim->is_dropped[table];
}

/* A row of the first table that is there; nobody minds which version. */
static void write_to_table(node *n)
{
    int table = 0;
    char prefix[8], key[KEY_SIZE];
    tv_slice old;
    tv_arena arena;

    while (table < TABLES && !is_live(table))
        table++;
    if (table == TABLES)
        return;
    snprintf(prefix, sizeof prefix, "d%d", table);
    key_of(key, prefix, (int)dice(TABLE_ROWS));
    tv_arena_init(&arena);
    if (read_row(n, tv_slice_of(key), &arena, &old) == TV_OK && is_live(table)) {
        /* It may sleep here, and hear of the drop by being refused. */
        for (int i = dice(3) == 0 ? 30 : 0; i; i--)
            fake_yield(the_sim->cluster);

        tv_err err = write_row(n, tv_range_clks[0], tv_slice_of(key), old, TV_LIT(".row"),
                               ++n->clock, is_live, table);

        if (err == TV_OK && the_sim->is_gone[table])
            violate("fence: %s was written after its table was gone", key);
    }
    tv_arena_done(&arena);
}

static void run_writer(void *ctx)
{
    int writer = (int)(intptr_t)ctx;
    node n;

    node_init(&n, 1000000 * (writer + 1));
    for (int i = 0; i < WRITER_STEPS && !is_over(); i++) {
        uint64_t throw = the_sim->focus == SIM_COUNTERS ? 5 + dice(5)
                         : the_sim->focus == SIM_TABLES ? 6 + dice(6)
                                                        : dice(10);

        if (throw < 7)
            write_own(&n, writer);
        else if (throw < 9)
            count_up(&n);
        else
            write_to_table(&n);
    }
    node_done(&n);
}

/* What a read may see of a row that had this state when it began. */
static bool is_possible(const model_row *then, const model_row *now, uint32_t seen)
{
    if (seen == 0) /* deleted, or was never there, or is being deleted */
        return !then->is_there || now->delete_begun > then->version;
    return seen >= then->version && seen <= now->begun;
}

static void run_reader(void *ctx)
{
    tv_arena arena;
    node n;

    node_init(&n, 0);
    tv_arena_init(&arena);
    for (int i = 0; i < READER_STEPS && !is_over(); i++) {
        int number = (int)dice(KEYS);
        model_row then = the_sim->rows[number];
        char key[KEY_SIZE];
        tv_slice value;

        key_of(key, "k", number);
        tv_arena_reset(&arena);
        if (read_row(&n, tv_slice_of(key), &arena, &value))
            break;
        if (!is_possible(&then, &the_sim->rows[number], version_of(value)))
            violate("stale: %s was read at version %u, acknowledged before: %u", key,
                    version_of(value), then.version);
        the_sim->counts->reads++;
    }
    tv_arena_done(&arena);
    node_done(&n);
}

/* One page of a scan from `at` on; `at` moves on, to "" at the end. */
static tv_err read_page(node *n, tv_arena *arena, tv_slice *at, tv_pool_read *ret_read,
                        size_t *ret_count)
{
    for (int times = 0; !is_over(); times++) {
        size_t index = tv_routes_find(&n->routes, *at);
        const tv_route *route = &n->routes.ranges[index];
        tv_slice end = tv_arena_dup(arena, tv_routes_end(&n->routes, index));
        tv_err err;

        *ret_read = (tv_pool_read){
            .object = tv_range_text(arena, route->object),
            .kind = TV_POOL_READ_PAGE,
            .attr = TV_RANGE_READ_EPOCH,
            .attr_value = route->epoch,
            .after = tv_route_before(arena, *at),
            .rows_max = 7,
            .arena = arena,
        };
        err = tv_pool_read_now(n->pool, ret_read);
        if (err) {
            tv_assert(err == TV_ERR_CONFLICT || err == TV_ERR_NOT_FOUND);
            be_refused(n, *at, times);
            continue;
        }
        *ret_count = ret_read->row_count;
        while (*ret_count &&
               tv_slice_cmp(ret_read->rows[*ret_count - 1].key, tv_route_end(end)) >= 0)
            (*ret_count)--;
        if (*ret_count < ret_read->row_count || !ret_read->has_more)
            *at = end;
        else if (*ret_count)
            *at = tv_range_join(arena, "", ret_read->rows[*ret_count - 1].key, "\x01");
        return TV_OK;
    }
    return TV_ERR_STOPPED;
}

static void scan(node *n, tv_arena *arena)
{
    model_row then[KEYS];
    uint32_t seen[KEYS] = {0};
    tv_slice at = TV_LIT("k");
    int last = -1;

    memcpy(then, the_sim->rows, sizeof then);
    while (at.len && tv_slice_cmp(at, TV_LIT("l")) < 0) {
        tv_pool_read read;
        size_t count;

        if (read_page(n, arena, &at, &read, &count))
            return;
        for (size_t i = 0; i < count && read.rows[i].key.data[0] == 'k'; i++) {
            int number = (int)strtol(tv_range_text(arena, read.rows[i].key) + 1, NULL, 10);

            if (number <= last)
                violate("scan: row %d after row %d", number, last);
            last = number;
            seen[number] = version_of(read.rows[i].value);
        }
    }
    for (int i = 0; i < KEYS; i++)
        if (!is_possible(&then[i], &the_sim->rows[i], seen[i]))
            violate("scan: row %d at version %u, acknowledged before: %u", i, seen[i],
                    then[i].version);
    the_sim->counts->scans++;
}

static void run_scanner(void *ctx)
{
    tv_arena arena;
    node n;

    node_init(&n, 0);
    tv_arena_init(&arena);
    for (int i = 0; i < SCANS && !is_over(); i++) {
        tv_arena_reset(&arena);
        scan(&n, &arena);
    }
    tv_arena_done(&arena);
    node_done(&n);
}

/* --- changes of ranges --- */

/* Somewhere among the rows, at a row's beginning. */
static void random_cut(char text[KEY_SIZE])
{
    uint64_t throw = the_sim->focus == SIM_COUNTERS ? 5 + dice(3) : dice(10);
    char prefix[8];

    snprintf(prefix, sizeof prefix, "d%d", (int)dice(TABLES));
    if (throw < 7)
        key_of(text, "k", (int)dice(KEYS));
    else if (throw < 8)
        key_of(text, "c", (int)dice(COUNTERS));
    else
        key_of(text, prefix, (int)dice(TABLE_ROWS));
}

static tv_err merge_some(const tv_range_changer *changer, tv_range_result *result)
{
    tv_routes routes;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = tv_routes_load(changer->pool, &arena, &routes);
    if (!err && routes.range_count > 1)
        err = tv_range_merge(changer, routes.ranges[1 + dice(routes.range_count - 1)].start,
                             TV_LIT("test"), result);
    tv_arena_done(&arena);
    return err;
}

static tv_err recover_some(const tv_range_changer *changer)
{
    tv_routes routes;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = tv_routes_load_all(changer->pool, &arena, &routes);
    if (!err && routes.intent_count) {
        err = tv_range_recover_id(changer, routes.intents[dice(routes.intent_count)].id);
        the_sim->counts->recoveries++;
    }
    tv_arena_done(&arena);
    return err;
}

/* The catalogue first, then the fence, then the rows; or again what a dead node has not ended. */
static tv_err drop_table(const tv_range_changer *changer)
{
    char prefix[8], end[8];
    int table = 0;
    tv_err err;

    while (table < TABLES && the_sim->is_gone[table])
        table++;
    if (table == TABLES)
        return TV_OK;
    snprintf(prefix, sizeof prefix, "d%d", table);
    snprintf(end, sizeof end, "d%d", table + 1);
    the_sim->is_dropped[table] = true;
    err = tv_range_fence(changer, tv_slice_of(prefix), tv_slice_of(end));
    if (err)
        return err;
    the_sim->counts->fences++;
    err = tv_range_drop(changer, tv_slice_of(prefix), tv_slice_of(end));
    if (err)
        return err;
    the_sim->counts->drops++;
    the_sim->is_gone[table] = true;
    return TV_OK;
}

static tv_err change_one(const tv_range_changer *changer)
{
    tv_range_result result = {0};
    char cut[KEY_SIZE];
    bool is_clean;
    tv_err err;

    switch (the_sim->focus == SIM_TABLES && dice(3) == 0     ? 9
            : the_sim->focus == SIM_CLEANING && dice(2) == 0 ? 8
                                                             : dice(10)) {
    case 0:
    case 1:
    case 2:
    case 3:
        random_cut(cut);
        err = tv_range_split(changer, tv_slice_of(cut), TV_LIT("test"), &result);
        the_sim->counts->splits += result.is_published;
        return err;
    case 4:
    case 5:
    case 6:
        err = merge_some(changer, &result);
        the_sim->counts->merges += result.is_published;
        return err;
    case 7:
        return recover_some(changer);
    case 8:
        return tv_range_clean(changer, &is_clean);
    default:
        return dice(3) && the_sim->focus != SIM_TABLES ? TV_OK : drop_table(changer);
    }
}

static void run_changer(void *ctx)
{
    tv_range_changer changer = {.pool = new_client(), .incarnation = TV_LIT("n")};

    for (int i = 0; i < CHANGES && !is_over(); i++) {
        tv_err err;

        mortal = changer.pool;
        if (dice(4) == 0)
            fake_client_kill_at(changer.pool, 1 + dice(12), dice(2));
        err = change_one(&changer);
        mortal = NULL;
        if (err && err != TV_ERR_CONFLICT && err != TV_ERR_NOT_FOUND && err != TV_ERR_STOPPED)
            violate("a change of ranges failed: %s", tv_err_name(err));
        if (fake_client_is_out(changer.pool)) {
            the_sim->counts->kills++;
            changer.pool = new_client();
        }
        fake_client_kill_at(changer.pool, 0, false);
    }
}

/* --- the end --- */

static void check_routes(const tv_range_changer *changer, tv_arena *arena)
{
    tv_routes routes;

    tv_assert(tv_routes_load_all(changer->pool, arena, &routes) == TV_OK);
    if (routes.intent_count || routes.lock_count || routes.made_count)
        violate("left: %zu intents, %zu locks, %zu objects that were made", routes.intent_count,
                routes.lock_count, routes.made_count);
    if (fake_object_count(the_sim->cluster, TV_RANGE_OBJECT) != routes.range_count)
        violate("left: %zu objects for %zu ranges",
                fake_object_count(the_sim->cluster, TV_RANGE_OBJECT), routes.range_count);
    for (size_t i = 0; i < routes.range_count; i++) {
        tv_pool_read read = {
            .object = tv_range_text(arena, routes.ranges[i].object),
            .kind = TV_POOL_READ_PAGE,
            .rows_max = 10000,
            .arena = arena,
        };
        tv_slice end = tv_route_end(tv_routes_end(&routes, i));

        do { /* pages may be short */
            tv_assert(tv_pool_read_now(changer->pool, &read) == TV_OK);
            for (size_t j = 0; j < read.row_count; j++) {
                tv_slice key = read.rows[j].key;

                if (tv_slice_eq(key, TV_RANGE_SENTINEL))
                    continue;
                if (tv_slice_cmp(key, routes.ranges[i].start) < 0 || tv_slice_cmp(key, end) >= 0)
                    violate("left: %.*s in the object of another range", TV_FMT(key));
                if (key.data[0] == 'd' && the_sim->is_gone[key.data[1] - '0'])
                    violate("left: %.*s of a dropped table", TV_FMT(key));
            }
            if (read.row_count)
                read.after = read.rows[read.row_count - 1].key;
        } while (read.has_more);
    }
}

static void check_rows(tv_arena *arena)
{
    node n;

    node_init(&n, 0);
    for (int i = 0; i < KEYS && !is_over(); i++) {
        const model_row *row = &the_sim->rows[i];
        char key[KEY_SIZE];
        tv_slice value;

        key_of(key, "k", i);
        if (read_row(&n, tv_slice_of(key), arena, &value))
            break;
        if (version_of(value) != (row->is_there ? row->version : 0))
            violate("end: %s has version %u, acknowledged: %u", key, version_of(value),
                    row->is_there ? row->version : 0);
    }
    for (int i = 0; i < COUNTERS && !is_over(); i++) {
        char key[KEY_SIZE];
        long long count = 0;
        tv_slice value;

        key_of(key, "c", i);
        if (read_row(&n, tv_slice_of(key), arena, &value))
            break;
        if (value.data)
            sscanf(tv_range_text(arena, value), ".%lld", &count);
        if (count < the_sim->counter_acked[i])
            violate("end: %s counts %lld, acknowledged: %lld", key, count,
                    (long long)the_sim->counter_acked[i]);
    }
    node_done(&n);
}

/* The leader comes back: nothing may stay behind. */
static void tidy_up(void *ctx)
{
    tv_range_changer changer = {.pool = new_client(), .incarnation = TV_LIT("n")};
    tv_range_watch watch = {.count = 0};
    bool is_clean = false;
    tv_arena arena;

    tv_assert(tv_range_recover_old(&changer, &watch, 1000) == TV_OK);
    tv_assert(tv_range_recover_old(&changer, &watch, 1000 + TV_RANGE_INTENT_MS) == TV_OK);
    for (int i = 0; i < 1000 && !is_clean; i++)
        tv_assert(tv_range_clean(&changer, &is_clean) == TV_OK);
    tv_assert(tv_range_collect(&changer, tv_clock_unix_ms() + TV_RANGE_MADE_MS) == TV_OK);
    tv_arena_init(&arena);
    check_routes(&changer, &arena);
    check_rows(&arena);
    tv_arena_done(&arena);
}

const char *sim_run(uint64_t seed, sim_focus focus, sim_counts *counts)
{
    static char text[500];
    static sim s;
    fake_options options = {.seed = seed, .has_short_pages = true};
    fake_actor actors[WRITERS + READERS + 1 + CHANGERS];
    const tv_slice cuts[] = {TV_LIT("k016"), TV_LIT("k032")};
    size_t count = 0;

    s = (sim){.cluster = fake_cluster_new(&options), .counts = counts, .focus = focus};
    the_sim = &s;
    tv_assert(tv_routes_create(new_client(), cuts, 2) == TV_OK);
    for (int i = 0; i < WRITERS; i++)
        actors[count++] = (fake_actor){run_writer, (void *)(intptr_t)i};
    for (int i = 0; i < READERS; i++)
        actors[count++] = (fake_actor){run_reader, NULL};
    actors[count++] = (fake_actor){run_scanner, NULL};
    for (int i = 0; i < CHANGERS; i++)
        actors[count++] = (fake_actor){run_changer, NULL};
    tv_points_enable();
    tv_point_hook = at_point;
    fake_run(s.cluster, actors, count);
    if (!is_over())
        fake_run(s.cluster, &(fake_actor){tidy_up, NULL}, 1);
    tv_point_hook = NULL;
    for (size_t i = 0; i < s.client_count; i++)
        s.clients[i]->ops->close(s.clients[i]);
    fake_cluster_free(s.cluster);
    snprintf(text, sizeof text, "%s", s.violation);
    return text;
}
