/*
 * Objects that nobody names.  A node that is stopped in a split, given up by the others, and goes
 * on a minute later makes one; so does one that dies after it has told its counts.  Whoever looks
 * for them lists the whole pool, so the leader does it once an hour, and when an operator asks.
 */
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "server/cluster/internal.h"

enum { NAMES_MAX = 100 * 1000, TOLD_MAX = 100 };

typedef struct listing {
    tv_arena *arena;
    tv_slice *ranges, *stats;
    size_t range_count, stats_count;
} listing;

static bool note(void *ctx, const char *object)
{
    listing *l = ctx;
    tv_slice name = tv_slice_of(object);

    if (tv_slice_starts_with(name, TV_LIT(TV_RANGE_OBJECT)) && l->range_count < NAMES_MAX)
        l->ranges[l->range_count++] = tv_arena_dup(l->arena, name);
    else if (tv_slice_starts_with(name, TV_LIT(TV_STATS_OBJECT)) && l->stats_count < NAMES_MAX)
        l->stats[l->stats_count++] =
            tv_arena_dup(l->arena, tv_slice_skip(name, sizeof TV_STATS_OBJECT - 1));
    return true;
}

static bool is_among(tv_slice name, const tv_slice *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tv_slice_eq(name, names[i]))
            return true;
    return false;
}

/* Counts of nodes that are gone.  A node that has come just now writes its own again. */
static tv_err remove_stats(tv_balancer *balancer, const listing *l, size_t *removed)
{
    tv_slice *live;
    size_t count = balancer->options.live_nodes(balancer->options.ctx, l->arena, &live);
    tv_err err = TV_OK;

    for (size_t i = 0; i < l->stats_count && !err; i++) {
        if (is_among(l->stats[i], live, count))
            continue;
        err = tv_stats_remove(balancer->options.pool, l->stats[i]);
        *removed += !err;
    }
    return err;
}

/* Those that stay are left in the listing. */
static tv_err remove_ranges(tv_balancer *balancer, listing *l, size_t *removed)
{
    size_t kept = 0;
    tv_err err;

    err = tv_range_keep_strays(&balancer->changer, l->ranges, &l->range_count);
    for (size_t i = 0; i < l->range_count && !err; i++) {
        err = tv_range_remove_stray(&balancer->changer, l->ranges[i]);
        if (err == TV_OK) {
            tv_log(TV_LOG_WARN, "stray", "object=%.*s note=\"removed: no range\"",
                   TV_FMT(l->ranges[i]));
            (*removed)++;
        } else if (err == TV_ERR_CONFLICT) {
            l->ranges[kept++] = l->ranges[i];
            err = TV_OK;
        }
    }
    l->range_count = kept;
    return err;
}

static tv_err tell(tv_balancer *balancer, const listing *l, size_t removed)
{
    tv_buf value = TV_BUF_EMPTY;
    tv_err err;

    tv_words_add_number(&value, tv_clock_unix_ms());
    tv_words_add_number(&value, (int64_t)removed);
    for (size_t i = 0; i < l->range_count && i < TOLD_MAX; i++)
        tv_words_add(&value, l->ranges[i]);
    err = tv_balancer_tell(balancer->options.pool,
                           &(tv_pool_step){TV_POOL_PUT_ROW, TV_LIT("check"), tv_buf_slice(&value)},
                           1);
    tv_buf_done(&value);
    return err;
}

tv_err tv_balancer_check(tv_balancer *balancer)
{
    tv_pool *pool = balancer->options.pool;
    size_t removed = 0;
    tv_arena arena;
    listing l = {.arena = &arena};
    tv_err err;

    tv_arena_init(&arena);
    l.ranges = tv_malloc(NAMES_MAX * sizeof *l.ranges);
    l.stats = tv_malloc(NAMES_MAX * sizeof *l.stats);
    err = pool->ops->list(pool, "tv.", note, &l);
    if (!err)
        err = remove_stats(balancer, &l, &removed);
    if (!err)
        err = remove_ranges(balancer, &l, &removed);
    if (!err)
        err = tell(balancer, &l, removed);
    free(l.ranges);
    free(l.stats);
    tv_arena_done(&arena);
    return err;
}

void tv_balancer_add_check(tv_buf *out, tv_arena *arena, tv_slice value)
{
    int64_t at_ms = 0, removed = 0;
    tv_slice name;

    if (value.len == 0 || tv_words_next_number(&value, &at_ms) ||
        tv_words_next_number(&value, &removed))
        value = TV_LIT("");
    tv_buf_printf(out, ",\n\"check\":{\"at_ms\":%lld,\"removed\":%lld,\"strays\":[",
                  (long long)at_ms, (long long)removed);
    while (value.len && tv_words_next(&value, arena, &name) == TV_OK)
        tv_json_text(out, NULL, name);
    tv_buf_add_lit(out, "]}");
}
