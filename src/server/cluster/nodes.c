/* Incarnations, beats, clocks, and those who stop beating. */
#include "server/cluster/nodes.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "store/engine/key.h"
#include "store/engine/rados/route.h"

#define LAST_ROW TV_LIT("last")
#define LEVEL_ROW TV_LIT("level")

enum {
    NUMBER_DIGITS = 13,
    KEY_BYTES = 2 + NUMBER_DIGITS,
    PAGE_ROWS = 1000,
    SAMPLES = 8,
    SAMPLES_MIN = 4,
    LOOK_MS = 100, /* between two looks while a new node makes sure of its clock */
    PROMPT_MS = 500
};

/*
 * What this node remembers of another one's beats.  A beat is seen some time after it was
 * written, at most one interval; so its clock looks that much too slow.  Nodes beat at
 * random intervals, so of the last few beats one was seen soon, and that is the one by which
 * the clock looks fastest.  Or one that was not there PROMPT_MS before is enough.
 */
typedef struct seen {
    int64_t incarnation, beat;
    int64_t at_ms;            /* monotonic, when the beat was first seen */
    int64_t offsets[SAMPLES]; /* its clock less our monotonic one, when its beats were first seen */
    size_t sample_count;
    bool has_prompt_sample;
} seen;

struct tv_nodes {
    tv_nodes_options options;
    tv_arena own; /* of the texts in the options */
    int64_t incarnation, beat;
    char name[24], key[KEY_BYTES];
    /* For the thread of beats alone. */
    seen seen[TV_NODES_MAX];
    size_t seen_count;
    int64_t looked_ms; /* monotonic, the last time; 0: not yet */
    bool was_far, did_refuse;
    int64_t told_unknown; /* the last incarnation that nobody knows */
    pthread_mutex_t lock; /* guards what follows */
    tv_arena arena;       /* of the list */
    tv_cluster_node *list;
    size_t count;
    int64_t listed_ms; /* monotonic */
    tv_nodes_clock clock;
};

static int64_t clock_ms(const tv_nodes *nodes)
{
    if (nodes->options.clock_ms)
        return nodes->options.clock_ms(nodes->options.ctx);
    return tv_clock_unix_ms();
}

static int64_t mono_ms(const tv_nodes *nodes)
{
    if (nodes->options.mono_ms)
        return nodes->options.mono_ms(nodes->options.ctx);
    return tv_clock_mono_ns() / 1000000;
}

static int64_t dead_ms_of(const tv_nodes *nodes)
{
    return nodes->options.dead_ms ? nodes->options.dead_ms : TV_NODES_DEAD_MS;
}

/* --- rows --- */

static tv_slice row_key(char to[KEY_BYTES], int64_t incarnation)
{
    to[0] = 'n';
    to[1] = '|';
    tv_key_put_number(to + 2, incarnation, NUMBER_DIGITS);
    return (tv_slice){to, KEY_BYTES};
}

static void format_node(tv_buf *out, const tv_cluster_node *node)
{
    tv_words_add(out, node->is_dead ? TV_LIT("dead") : TV_LIT("live"));
    tv_words_add(out, node->address);
    tv_words_add(out, node->http);
    tv_words_add(out, node->version);
    tv_words_add_number(out, node->level);
    tv_words_add_number(out, node->clock_ms);
    tv_words_add_number(out, node->beat);
}

static tv_err parse_node(tv_arena *arena, tv_slice key, tv_slice value, tv_cluster_node *ret_node)
{
    tv_slice state, rest = value;
    tv_err err;

    *ret_node = (tv_cluster_node){0};
    err = tv_key_read_number(tv_slice_skip(key, 2), &ret_node->incarnation);
    if (err == TV_OK)
        err = tv_words_next(&rest, arena, &state);
    if (err == TV_OK)
        err = tv_words_next(&rest, arena, &ret_node->address);
    if (err == TV_OK)
        err = tv_words_next(&rest, arena, &ret_node->http);
    if (err == TV_OK)
        err = tv_words_next(&rest, arena, &ret_node->version);
    if (err == TV_OK)
        err = tv_words_next_number(&rest, &ret_node->level);
    if (err == TV_OK)
        err = tv_words_next_number(&rest, &ret_node->clock_ms);
    if (err == TV_OK)
        err = tv_words_next_number(&rest, &ret_node->beat);
    if (err)
        return TV_ERR_CORRUPT;

    ret_node->is_dead = tv_slice_eq(state, TV_LIT("dead"));
    return ret_node->is_dead || tv_slice_eq(state, TV_LIT("live")) ? TV_OK : TV_ERR_CORRUPT;
}

/* All rows, in the arena. */
static tv_err load(tv_nodes *nodes, tv_arena *arena, tv_cluster_node **ret_list, size_t *ret_count)
{
    tv_cluster_node *list = tv_arena_zalloc(arena, TV_NODES_MAX * sizeof *list);
    tv_pool_read read = {.object = TV_NODES_OBJECT,
                         .kind = TV_POOL_READ_PAGE,
                         .after = TV_LIT("n"),
                         .rows_max = PAGE_ROWS,
                         .arena = arena};
    size_t count = 0;

    do {
        tv_err err = tv_pool_read_now(nodes->options.pool, &read);

        if (err)
            return err;
        for (size_t i = 0; i < read.row_count; i++) {
            read.after = read.rows[i].key;
            if (!tv_slice_starts_with(read.after, TV_LIT("n|")))
                continue;
            if (count == TV_NODES_MAX)
                return TV_ERR_OVERLOADED;
            err = parse_node(arena, read.rows[i].key, read.rows[i].value, &list[count++]);
            if (err)
                return err;
        }
    } while (read.has_more && read.row_count);
    *ret_list = list;
    *ret_count = count;
    return TV_OK;
}

/* --- a new incarnation --- */

static tv_err make_object(tv_pool *pool)
{
    const tv_pool_step steps[] = {{TV_POOL_CREATE, TV_NONE, TV_NONE},
                                  {TV_POOL_PUT_ROW, LAST_ROW, TV_LIT("0")}};
    tv_err err = tv_pool_change_now(pool, TV_NODES_OBJECT, steps, 2, NULL);

    return err == TV_ERR_CONFLICT ? TV_OK : err; /* another node was faster */
}

/* The last number that was given out, and the row that says so. */
static tv_err read_last(tv_pool *pool, tv_arena *arena, tv_slice *ret_row, int64_t *ret_last)
{
    tv_slice rest;
    tv_err err = tv_pool_get_row(pool, TV_NODES_OBJECT, LAST_ROW, arena, ret_row);

    if (err)
        return err;

    rest = *ret_row;
    return rest.data == NULL || tv_words_next_number(&rest, ret_last) ? TV_ERR_CORRUPT : TV_OK;
}

/* The level that is required, and the row that says so: none when it is the first. */
static tv_err read_required(tv_pool *pool, tv_arena *arena, tv_slice *ret_row, int64_t *ret_level)
{
    tv_slice rest;
    tv_err err = tv_pool_get_row(pool, TV_NODES_OBJECT, LEVEL_ROW, arena, ret_row);

    *ret_level = TV_ROUTE_LEVEL_FIRST;
    if (err || ret_row->data == NULL)
        return err;

    rest = *ret_row;
    return tv_words_next_number(&rest, ret_level) ? TV_ERR_CORRUPT : TV_OK;
}

/* The condition that a row is still as it was read. */
static tv_pool_step still(tv_slice key, tv_slice row)
{
    return row.data ? (tv_pool_step){TV_POOL_ROW_IS, key, row}
                    : (tv_pool_step){TV_POOL_ROW_ABSENT, key, TV_NONE};
}

/* What its row says at its next beat. */
static void format_self(tv_nodes *nodes, tv_buf *out)
{
    tv_pool *pool = nodes->options.pool;

    format_node(out, &(tv_cluster_node){.address = tv_slice_of(pool->ops->address(pool)),
                                        .http = nodes->options.http,
                                        .version = nodes->options.version,
                                        .level = nodes->options.level,
                                        .clock_ms = clock_ms(nodes),
                                        .beat = ++nodes->beat});
}

/*
 * One try; TV_ERR_CONFLICT when another node took the number.  The number is given out with
 * its row, so that nobody ever has a number and no row but one who has left or is shut out.
 */
static tv_err take_number(tv_nodes *nodes, tv_arena *arena)
{
    tv_pool *pool = nodes->options.pool;
    tv_buf next = TV_BUF_EMPTY, self = TV_BUF_EMPTY;
    int64_t number, required;
    tv_slice last, level;
    tv_err err = read_last(pool, arena, &last, &number);

    if (err == TV_OK)
        err = read_required(pool, arena, &level, &required);
    if (err)
        return err;
    if (required > nodes->options.level)
        return TV_ERR_NOT_IMPLEMENTED;

    nodes->incarnation = number + 1;
    row_key(nodes->key, nodes->incarnation);
    tv_words_add_number(&next, nodes->incarnation);
    format_self(nodes, &self);

    const tv_pool_step steps[] = {
        {TV_POOL_ROW_IS, LAST_ROW, last},
        still(LEVEL_ROW, level),
        {TV_POOL_PUT_ROW, LAST_ROW, tv_buf_slice(&next)},
        {TV_POOL_PUT_ROW, {nodes->key, KEY_BYTES}, tv_buf_slice(&self)},
    };

    err = tv_pool_change_now(pool, TV_NODES_OBJECT, steps, 4, NULL);
    tv_buf_done(&next);
    tv_buf_done(&self);
    return err;
}

static tv_err delist_self(tv_pool *pool)
{
    return pool->ops->delist(pool, TV_NODES_OBJECT, pool->ops->address(pool));
}

/* A node that gets none has no row, so it does not stay on the list either. */
static tv_err take_any_number(tv_nodes *nodes)
{
    tv_pool *pool = nodes->options.pool;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    do {
        tv_arena_reset(&arena);
        err = take_number(nodes, &arena);
    } while (err == TV_ERR_CONFLICT);
    tv_arena_done(&arena);
    if (err == TV_ERR_NOT_IMPLEMENTED || err == TV_ERR_CORRUPT)
        (void)delist_self(pool);
    return err;
}

void tv_nodes_abandon(tv_nodes *nodes)
{
    if (nodes == NULL)
        return;

    pthread_mutex_destroy(&nodes->lock);
    tv_arena_done(&nodes->arena);
    tv_arena_done(&nodes->own);
    free(nodes);
}

void tv_nodes_leave(tv_nodes *nodes)
{
    if (nodes == NULL)
        return;

    const tv_pool_step step = {TV_POOL_DELETE_ROW, {nodes->key, KEY_BYTES}, TV_NONE};
    tv_err err = tv_pool_change_now(nodes->options.pool, TV_NODES_OBJECT, &step, 1, NULL);

    if (err == TV_OK)
        err = delist_self(nodes->options.pool);
    if (err)
        tv_log(TV_LOG_WARN, "leave", "incarnation=%s error=%s note=\"the leader will see it\"",
               nodes->name, tv_err_name(err));
    tv_nodes_abandon(nodes);
}

int64_t tv_nodes_incarnation(const tv_nodes *nodes)
{
    return nodes->incarnation;
}

tv_slice tv_nodes_name(const tv_nodes *nodes)
{
    return tv_slice_of(nodes->name);
}

/* --- beats --- */

static tv_err write_beat(tv_nodes *nodes)
{
    tv_buf value = TV_BUF_EMPTY;
    tv_err err;

    format_self(nodes, &value);

    const tv_pool_step step = {TV_POOL_PUT_ROW, {nodes->key, KEY_BYTES}, tv_buf_slice(&value)};

    err = tv_pool_change_now(nodes->options.pool, TV_NODES_OBJECT, &step, 1, NULL);
    tv_buf_done(&value);
    return err;
}

/* What is known of a node when its row has been read; `is_prompt`: and shortly before, too. */
static seen see(const seen *before, size_t count, const tv_cluster_node *node, int64_t now,
                bool is_prompt)
{
    seen known = {.incarnation = node->incarnation, .at_ms = now};

    for (size_t i = 0; i < count; i++) {
        if (before[i].incarnation == node->incarnation)
            known = before[i];
    }
    if (known.beat != node->beat) {
        known.has_prompt_sample |= is_prompt && known.sample_count;
        known.beat = node->beat;
        known.at_ms = now;
        known.offsets[known.sample_count++ % SAMPLES] = node->clock_ms - now;
    }
    return known;
}

/* How far its clock is ahead of ours. */
static int64_t ahead_of(const seen *known, int64_t own_offset)
{
    size_t count = known->sample_count < SAMPLES ? known->sample_count : SAMPLES;
    int64_t fastest = known->offsets[0];

    for (size_t i = 1; i < count; i++)
        fastest = known->offsets[i] > fastest ? known->offsets[i] : fastest;
    return fastest - own_offset;
}

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/*
 * How far this clock is ahead of the median of all that beat; `at_most`: of all that may beat.
 * A beat that was there at the first look is of unknown age, so a clock that is not known is as
 * much ahead as it looks, or more, and this one is at most so far ahead.
 */
static tv_nodes_clock compute_clock(const tv_nodes *nodes, const tv_cluster_node *list,
                                    size_t count, bool at_most)
{
    int64_t ahead[TV_NODES_MAX];
    size_t known = 0;

    for (size_t i = 0; i < count; i++) {
        const tv_cluster_node *node = &list[i];

        if (node->incarnation == nodes->incarnation)
            ahead[known++] = 0;
        else if (!node->is_dead && (node->is_clock_known || at_most) &&
                 node->silent_ms < TV_NODES_FRESH_MS)
            ahead[known++] = node->ahead_ms;
    }
    if (known == 0)
        return (tv_nodes_clock){0};
    qsort(ahead, known, sizeof *ahead, compare_numbers);

    /* Of two nodes that differ nobody knows which is right; the later one refuses writes. */
    int64_t skew = -ahead[(known - 1) / 2];

    return (tv_nodes_clock){
        .skew_ms = skew,
        .is_far = skew > TV_NODES_SKEW_TOLD_MS ||
                  skew<-TV_NODES_SKEW_TOLD_MS, .refuses_writes = skew> TV_NODES_SKEW_AHEAD_MS,
    };
}

static void tell_clock(tv_nodes *nodes, const tv_nodes_clock *clock)
{
    if (clock->is_far != nodes->was_far || clock->refuses_writes != nodes->did_refuse)
        tv_log(clock->is_far ? TV_LOG_WARN : TV_LOG_INFO, "clock",
               "skew_ms=%lld writes=%s note=\"%s\"", (long long)clock->skew_ms,
               clock->refuses_writes ? "refused" : "accepted",
               clock->is_far ? "this clock is far from those of the other nodes"
                             : "this clock is near those of the other nodes again");
    nodes->was_far = clock->is_far;
    nodes->did_refuse = clock->refuses_writes;
}

/* See what all have written. */
static tv_err look(tv_nodes *nodes)
{
    seen *now_seen;
    tv_cluster_node *list;
    tv_arena arena;
    size_t count;
    tv_err err;

    tv_arena_init(&arena);
    err = load(nodes, &arena, &list, &count);
    if (err) {
        tv_arena_done(&arena);
        return err;
    }

    int64_t now = mono_ms(nodes), own_offset = clock_ms(nodes) - now;
    bool is_prompt = nodes->looked_ms && now - nodes->looked_ms <= PROMPT_MS;

    now_seen = tv_calloc(TV_NODES_MAX, sizeof *now_seen);
    for (size_t i = 0; i < count; i++) {
        now_seen[i] = see(nodes->seen, nodes->seen_count, &list[i], now, is_prompt);
        list[i].silent_ms = now - now_seen[i].at_ms;
        list[i].ahead_ms = ahead_of(&now_seen[i], own_offset);
        list[i].is_clock_known =
            now_seen[i].sample_count >= SAMPLES_MIN || now_seen[i].has_prompt_sample;
    }
    nodes->looked_ms = now;
    memcpy(nodes->seen, now_seen, count * sizeof *now_seen);
    nodes->seen_count = count;
    free(now_seen);

    tv_nodes_clock clock = compute_clock(nodes, list, count, false);

    tell_clock(nodes, &clock);
    pthread_mutex_lock(&nodes->lock);
    tv_arena_done(&nodes->arena);
    nodes->arena = arena;
    nodes->list = list;
    nodes->count = count;
    nodes->listed_ms = now;
    nodes->clock = clock;
    pthread_mutex_unlock(&nodes->lock);
    return TV_OK;
}

tv_err tv_nodes_beat(tv_nodes *nodes)
{
    tv_err err = write_beat(nodes);

    return err ? err : look(nodes);
}

/* Whether the clocks of all that may beat would have this one refuse writes, known or not. */
static bool may_be_far_ahead(const tv_nodes *nodes)
{
    return compute_clock(nodes, nodes->list, nodes->count, true).refuses_writes;
}

/* Whether the clocks of all that have beaten lately are known. */
static bool knows_clocks(const tv_nodes *nodes)
{
    bool is_known = true;

    for (size_t i = 0; i < nodes->count; i++) {
        const tv_cluster_node *node = &nodes->list[i];

        is_known &=
            node->is_dead || node->is_clock_known || node->incarnation == nodes->incarnation;
    }
    return is_known;
}

/*
 * Before it takes writes.  Those that have not beaten by the end of it are silent, and their
 * clocks do not count.  No other thread knows of this node yet.
 */
static tv_err wait_for_clocks(tv_nodes *nodes)
{
    tv_pool *pool = nodes->options.pool;
    tv_err err = look(nodes);

    for (int i = 0; i < TV_NODES_CLOCKS_MS / LOOK_MS && err == TV_OK && may_be_far_ahead(nodes) &&
                    !knows_clocks(nodes);
         i++) {
        if (nodes->options.pause)
            nodes->options.pause(nodes->options.ctx, LOOK_MS);
        else
            pool->ops->pause(pool, LOOK_MS);
        err = look(nodes);
    }
    return err;
}

tv_err tv_nodes_join(const tv_nodes_options *options, tv_nodes **ret_nodes)
{
    tv_nodes *nodes = tv_calloc(1, sizeof *nodes);
    tv_err err;

    nodes->options = *options;
    tv_arena_init(&nodes->own);
    nodes->options.http = tv_arena_dup(&nodes->own, options->http);
    nodes->options.version = tv_arena_dup(&nodes->own, options->version);
    tv_arena_init(&nodes->arena);
    tv_assert(pthread_mutex_init(&nodes->lock, NULL) == 0);

    err = make_object(options->pool);
    if (err == TV_OK)
        err = options->pool->ops->enlist(options->pool, TV_NODES_OBJECT);
    if (err == TV_OK)
        err = take_any_number(nodes);
    snprintf(nodes->name, sizeof nodes->name, "%lld", (long long)nodes->incarnation);
    if (err == TV_OK)
        err = wait_for_clocks(nodes);
    if (err) {
        tv_nodes_abandon(nodes);
        return err;
    }
    *ret_nodes = nodes;
    return TV_OK;
}

/* --- the dead --- */

/* Whether the pool has seen a node of this row's address, and no other row has it that beats. */
static tv_err is_node(tv_nodes *nodes, const tv_cluster_node *list, size_t count,
                      const tv_cluster_node *node, bool *ret_is)
{
    tv_pool *pool = nodes->options.pool;

    *ret_is = false;
    for (size_t i = 0; i < count; i++) {
        if (list[i].incarnation != node->incarnation && !list[i].is_dead &&
            list[i].silent_ms < dead_ms_of(nodes) && tv_slice_eq(list[i].address, node->address))
            return TV_OK;
    }
    return pool->ops->is_listed(pool, TV_NODES_OBJECT, node->address.data, ret_is);
}

/* One line for each, and not again at each beat. */
static void tell_unknown(tv_nodes *nodes, const tv_cluster_node *node)
{
    if (node->incarnation <= nodes->told_unknown)
        return;
    nodes->told_unknown = node->incarnation;
    tv_log(
        TV_LOG_ERROR, "unknown_node",
        "incarnation=%lld address=%.*s http=%.*s note=\"it is silent, and no node of this address "
        "has joined, or another one has it: nobody is shut out; see docs/cluster.md\"",
        (long long)node->incarnation, TV_FMT(node->address), TV_FMT(node->http));
}

/* First it can do nothing any more; then its row says so, unless it has changed meanwhile. */
static tv_err bury(tv_nodes *nodes, const tv_cluster_node *node, bool *ret_is_dead)
{
    tv_pool *pool = nodes->options.pool;
    tv_buf before = TV_BUF_EMPTY, after = TV_BUF_EMPTY;
    tv_cluster_node dead = *node;
    char key[KEY_BYTES];
    tv_err err = pool->ops->shut_out(pool, (char *)node->address.data);

    *ret_is_dead = false;
    if (err)
        return err;

    dead.is_dead = true;
    format_node(&before, node);
    format_node(&after, &dead);

    const tv_pool_step steps[] = {
        {TV_POOL_ROW_IS, row_key(key, node->incarnation), tv_buf_slice(&before)},
        {TV_POOL_PUT_ROW, row_key(key, node->incarnation), tv_buf_slice(&after)},
    };

    err = tv_pool_change_now(pool, TV_NODES_OBJECT, steps, 2, NULL);
    tv_buf_done(&before);
    tv_buf_done(&after);
    *ret_is_dead = err == TV_OK;
    if (err == TV_OK)
        tv_log(TV_LOG_WARN, "dead_node", "incarnation=%lld address=%.*s http=%.*s silent_ms=%lld",
               (long long)node->incarnation, TV_FMT(node->address), TV_FMT(node->http),
               (long long)node->silent_ms);
    return err == TV_ERR_CONFLICT ? TV_OK : err; /* a last beat, or another leader: look again */
}

/* So that the list says so before the next beat. */
static void note_dead(tv_nodes *nodes, int64_t incarnation)
{
    pthread_mutex_lock(&nodes->lock);
    for (size_t i = 0; i < nodes->count; i++) {
        if (nodes->list[i].incarnation == incarnation)
            nodes->list[i].is_dead = true;
    }
    pthread_mutex_unlock(&nodes->lock);
}

/* It is shut out, and has been for long: nobody needs its row any more. */
static tv_err forget(tv_nodes *nodes, const tv_cluster_node *node)
{
    tv_pool *pool = nodes->options.pool;
    tv_buf row = TV_BUF_EMPTY;
    char key[KEY_BYTES];
    tv_err err;

    format_node(&row, node);

    const tv_pool_step steps[] = {
        {TV_POOL_ROW_IS, row_key(key, node->incarnation), tv_buf_slice(&row)},
        {TV_POOL_DELETE_ROW, row_key(key, node->incarnation), TV_NONE},
    };

    err = tv_pool_change_now(pool, TV_NODES_OBJECT, steps, 2, NULL);
    tv_buf_done(&row);
    if (err == TV_OK)
        err = pool->ops->delist(pool, TV_NODES_OBJECT, node->address.data);
    return err == TV_ERR_CONFLICT ? TV_OK : err;
}

tv_err tv_nodes_bury(tv_nodes *nodes, size_t *ret_died)
{
    tv_cluster_node *list;
    size_t count, died = 0;
    tv_arena arena;
    tv_err err = TV_OK;

    tv_arena_init(&arena);
    count = tv_nodes_list(nodes, &arena, &list);
    for (size_t i = 0; i < count && err == TV_OK; i++) {
        tv_cluster_node *node = &list[i];
        bool is_known, is_dead = false;

        node->address = tv_arena_printf(&arena, "%.*s", TV_FMT(node->address)); /* with a NUL */
        if (node->is_dead && node->silent_ms >= TV_NODES_FORGET_MS)
            err = forget(nodes, node);
        if (node->is_dead || node->incarnation == nodes->incarnation ||
            node->silent_ms < dead_ms_of(nodes))
            continue;
        err = is_node(nodes, list, count, node, &is_known);
        if (err == TV_OK && is_known)
            err = bury(nodes, node, &is_dead);
        else if (err == TV_OK)
            tell_unknown(nodes, node);
        if (is_dead)
            note_dead(nodes, node->incarnation);
        died += is_dead;
    }
    tv_arena_done(&arena);
    if (ret_died)
        *ret_died = died;
    return err;
}

/* --- what others ask --- */

tv_nodes_clock tv_nodes_read_clock(tv_nodes *nodes)
{
    pthread_mutex_lock(&nodes->lock);
    tv_nodes_clock clock = nodes->clock;
    pthread_mutex_unlock(&nodes->lock);
    return clock;
}

size_t tv_nodes_list(tv_nodes *nodes, tv_arena *arena, tv_cluster_node **ret_list)
{
    pthread_mutex_lock(&nodes->lock);
    int64_t age = mono_ms(nodes) - nodes->listed_ms;
    size_t count = nodes->count;
    tv_cluster_node *list = tv_arena_zalloc(arena, (count + 1) * sizeof *list);

    for (size_t i = 0; i < count; i++) {
        list[i] = nodes->list[i];
        list[i].address = tv_arena_dup(arena, list[i].address);
        list[i].http = tv_arena_dup(arena, list[i].http);
        list[i].version = tv_arena_dup(arena, list[i].version);
        list[i].silent_ms += age;
    }
    pthread_mutex_unlock(&nodes->lock);
    *ret_list = list;
    return count;
}

/* Whether every row is of a node that has beaten lately, or of one that is shut out. */
static bool are_fresh(tv_nodes *nodes)
{
    bool are_all = true;
    tv_cluster_node *list;
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0, count = tv_nodes_list(nodes, &arena, &list); i < count; i++)
        are_all = are_all && (list[i].is_dead || list[i].silent_ms < TV_NODES_FRESH_MS);
    tv_arena_done(&arena);
    return are_all;
}

tv_err tv_nodes_settle(tv_nodes *nodes, tv_arena *arena, int64_t *ret_last, uint64_t **ret_live,
                       size_t *ret_count)
{
    tv_cluster_node *list;
    tv_slice row;
    size_t count;
    tv_err err;

    /* Those who join between the two reads have later numbers. */
    err = read_last(nodes->options.pool, arena, &row, ret_last);
    if (err == TV_OK)
        err = load(nodes, arena, &list, &count);
    if (err)
        return err;
    if (!are_fresh(nodes))
        return TV_ERR_OVERLOADED;

    *ret_live = tv_arena_alloc(arena, (count + 1) * sizeof **ret_live);
    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!list[i].is_dead)
            (*ret_live)[(*ret_count)++] = (uint64_t)list[i].incarnation;
    }
    return TV_OK;
}

int64_t tv_nodes_common_level(tv_nodes *nodes)
{
    int64_t level = nodes->options.level;
    tv_cluster_node *list;
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0, count = tv_nodes_list(nodes, &arena, &list); i < count; i++) {
        if (!list[i].is_dead && list[i].level < level)
            level = list[i].level;
    }
    tv_arena_done(&arena);
    return level;
}

/* One try; TV_ERR_CONFLICT when somebody has joined meanwhile. */
static tv_err try_require(tv_nodes *nodes, tv_arena *arena, int64_t level)
{
    tv_pool *pool = nodes->options.pool;
    tv_buf value = TV_BUF_EMPTY;
    int64_t number, required;
    tv_slice last, row;
    tv_cluster_node *list;
    size_t count = 0;
    tv_err err;

    /* Those who join after this first read take another number. */
    err = read_last(pool, arena, &last, &number);
    if (err == TV_OK)
        err = read_required(pool, arena, &row, &required);
    if (err || required >= level)
        return err;
    err = load(nodes, arena, &list, &count);
    for (size_t i = 0; i < count && err == TV_OK; i++) {
        if (!list[i].is_dead && list[i].level < level)
            err = TV_ERR_OVERLOADED;
    }
    if (err)
        return err;

    tv_words_add_number(&value, level);

    const tv_pool_step steps[] = {
        {TV_POOL_ROW_IS, LAST_ROW, last},
        still(LEVEL_ROW, row),
        {TV_POOL_PUT_ROW, LEVEL_ROW, tv_buf_slice(&value)},
    };

    err = tv_pool_change_now(pool, TV_NODES_OBJECT, steps, 3, NULL);
    tv_buf_done(&value);
    return err;
}

tv_err tv_nodes_require_level(tv_nodes *nodes, int64_t level)
{
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    do {
        tv_arena_reset(&arena);
        err = try_require(nodes, &arena, level);
    } while (err == TV_ERR_CONFLICT);
    tv_arena_done(&arena);
    return err;
}

void tv_nodes_add_json(tv_nodes *nodes, tv_buf *out)
{
    tv_cluster_node *list;
    tv_arena arena;

    tv_arena_init(&arena);
    tv_buf_add_char(out, '[');
    for (size_t i = 0, count = tv_nodes_list(nodes, &arena, &list); i < count; i++) {
        const tv_cluster_node *node = &list[i];

        tv_json_open(out, NULL, '{');
        tv_buf_printf(out, "\"incarnation\":%lld", (long long)node->incarnation);
        tv_json_text(out, "address", node->address);
        tv_json_text(out, "http", node->http);
        tv_json_text(out, "version", node->version);
        tv_buf_printf(out,
                      ",\"level\":%lld,\"beat_ms\":%lld,\"clock_skew_ms\":%lld,\"state\":\"%s\"}",
                      (long long)node->level, (long long)node->silent_ms,
                      node->is_clock_known ? (long long)node->ahead_ms : 0LL,
                      node->is_dead ? "dead" : "live");
    }
    tv_buf_add_char(out, ']');
    tv_arena_done(&arena);
}
