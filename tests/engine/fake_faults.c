/*
 * Who goes on next among actors, and what goes wrong: the part of the pool in memory that a test
 * steers.
 */
#include "base/assert.h"
#include "base/clock.h"
#include "fake_internal.h"

/* Which actor the thread is. */
enum { NO_ACTOR = -1 };
static _Thread_local int this_actor = NO_ACTOR;

bool fake_is_actor(void)
{
    return this_actor != NO_ACTOR;
}

uint64_t fake_next_random(fake_cluster *cluster, uint64_t below)
{
    cluster->random ^= cluster->random << 13;
    cluster->random ^= cluster->random >> 7;
    cluster->random ^= cluster->random << 17;
    return cluster->random % below;
}

uint64_t fake_random(fake_cluster *cluster, uint64_t below)
{
    pthread_mutex_lock(&cluster->lock);
    uint64_t number = fake_next_random(cluster, below);
    pthread_mutex_unlock(&cluster->lock);
    return number;
}

/* --- actors --- */

/* Give the turn to an actor that has not ended.  False when all have. */
static bool pass_turn(fake_cluster *cluster)
{
    size_t live = 0;

    for (size_t i = 0; i < cluster->actor_count; i++)
        live += cluster->is_live[i];
    if (live == 0)
        return false;

    size_t chosen = fake_next_random(cluster, live);

    for (size_t i = 0; i < cluster->actor_count; i++) {
        if (cluster->is_live[i] && chosen-- == 0)
            cluster->turn = i;
    }
    pthread_cond_broadcast(&cluster->changed);
    return true;
}

static void wait_for_turn(fake_cluster *cluster)
{
    while (cluster->turn != (size_t)this_actor)
        pthread_cond_wait(&cluster->changed, &cluster->lock);
}

static void pass_time(fake_cluster *cluster, int64_t ms, int64_t ticks)
{
    cluster->now_ms += ms;
    if (this_actor == NO_ACTOR)
        return;

    cluster->ticks += ms * (TV_TICKS_PER_SECOND / 1000) + ticks;
    tv_clock_set_fake_ticks(cluster->ticks);
}

void fake_yield(fake_cluster *cluster)
{
    if (this_actor == NO_ACTOR)
        return;

    pthread_mutex_lock(&cluster->lock);
    pass_time(cluster, 0, 1000);
    pass_turn(cluster);
    wait_for_turn(cluster);
    pthread_mutex_unlock(&cluster->lock);
}

typedef struct start {
    fake_cluster *cluster;
    const fake_actor *actor;
    int index;
} start;

static void *run_actor(void *arg)
{
    start *s = arg;
    fake_cluster *cluster = s->cluster;

    this_actor = s->index;
    pthread_mutex_lock(&cluster->lock);
    wait_for_turn(cluster);
    pthread_mutex_unlock(&cluster->lock);

    s->actor->run(s->actor->ctx);

    pthread_mutex_lock(&cluster->lock);
    cluster->is_live[this_actor] = false;
    pass_turn(cluster);
    pthread_mutex_unlock(&cluster->lock);
    return NULL;
}

void fake_run(fake_cluster *cluster, const fake_actor *actors, size_t count)
{
    pthread_t threads[ACTORS_MAX];
    start starts[ACTORS_MAX];

    tv_assert(count > 0 && count <= ACTORS_MAX && !cluster->options.is_threaded);
    cluster->turn = SIZE_MAX;
    cluster->actor_count = count;
    tv_clock_set_fake_ticks(cluster->ticks);
    for (size_t i = 0; i < count; i++)
        cluster->is_live[i] = true;
    for (size_t i = 0; i < count; i++) {
        starts[i] = (start){cluster, &actors[i], (int)i};
        tv_assert(pthread_create(&threads[i], NULL, run_actor, &starts[i]) == 0);
    }
    pthread_mutex_lock(&cluster->lock);
    pass_turn(cluster);
    pthread_mutex_unlock(&cluster->lock);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    tv_clock_set_fake_ticks(0);
}

/* --- faults --- */

void fake_client_kill(tv_pool *pool)
{
    client *c = of(pool);

    pthread_mutex_lock(&c->cluster->lock);
    c->is_out = true;
    pthread_mutex_unlock(&c->cluster->lock);
}

void fake_client_kill_at(tv_pool *pool, uint64_t nth, bool is_after)
{
    client *c = of(pool);

    pthread_mutex_lock(&c->cluster->lock);
    c->kill_at = nth ? c->change_count + nth : 0;
    c->kill_is_after = is_after;
    pthread_mutex_unlock(&c->cluster->lock);
}

bool fake_client_is_out(tv_pool *pool)
{
    client *c = of(pool);

    pthread_mutex_lock(&c->cluster->lock);
    bool is_out = c->is_out;
    pthread_mutex_unlock(&c->cluster->lock);
    return is_out;
}

uint64_t fake_client_change_count(tv_pool *pool)
{
    client *c = of(pool);

    pthread_mutex_lock(&c->cluster->lock);
    uint64_t count = c->change_count;
    pthread_mutex_unlock(&c->cluster->lock);
    return count;
}

void fake_refuse_changes(fake_cluster *cluster, uint64_t nth, uint64_t count, tv_err err)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->refuse_after = nth;
    cluster->refuse_count = count;
    cluster->refuse_err = err;
    pthread_mutex_unlock(&cluster->lock);
}

void fake_fail_reads(fake_cluster *cluster, tv_err err)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->read_err = err;
    pthread_mutex_unlock(&cluster->lock);
}

void fake_set_full(fake_cluster *cluster, bool on)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->is_full = on;
    pthread_mutex_unlock(&cluster->lock);
}

void fake_set_space(fake_cluster *cluster, uint64_t bytes, uint64_t free_bytes)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->space = (tv_pool_space){bytes, free_bytes};
    pthread_mutex_unlock(&cluster->lock);
}

void fake_set_osd_count(fake_cluster *cluster, size_t count)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->osd_count = count;
    pthread_mutex_unlock(&cluster->lock);
}

void fake_pass_ms(fake_cluster *cluster, int64_t ms)
{
    pthread_mutex_lock(&cluster->lock);
    pass_time(cluster, ms, 0);
    pthread_mutex_unlock(&cluster->lock);
}

void fake_on_change(fake_cluster *cluster,
                    void (*fn)(void *ctx, tv_pool *client, const tv_pool_change *change), void *ctx)
{
    tv_assert(!cluster->options.is_threaded);
    cluster->on_change = fn;
    cluster->on_change_ctx = ctx;
}

/* --- a look at everything --- */

tv_slice fake_rows_text(fake_cluster *cluster, const char *name, tv_arena *arena)
{
    tv_buf text = TV_BUF_EMPTY;

    pthread_mutex_lock(&cluster->lock);
    object *target = fake_object_find(cluster, name);
    tv_tree_cursor cursor = {.tree = target ? target->rows : NULL};

    if (target == NULL)
        tv_buf_add_char(&text, '-');
    for (tv_tree_cursor_seek(&cursor, TV_LIT("")); tv_tree_cursor_is_valid(&cursor);
         tv_tree_cursor_next(&cursor))
        tv_buf_printf(&text, "%.*s=%.*s ", TV_FMT(tv_tree_cursor_key(&cursor)),
                      TV_FMT(tv_tree_cursor_value(&cursor)));
    tv_tree_cursor_done(&cursor);
    pthread_mutex_unlock(&cluster->lock);

    tv_slice copy = tv_arena_dup(arena, tv_buf_slice(&text));

    tv_buf_done(&text);
    return copy;
}

size_t fake_object_count(fake_cluster *cluster, const char *prefix)
{
    size_t count = 0;

    pthread_mutex_lock(&cluster->lock);
    tv_tree_cursor cursor = {.tree = cluster->objects};

    for (tv_tree_cursor_seek(&cursor, tv_slice_of(prefix));
         tv_tree_cursor_is_valid(&cursor) &&
         tv_slice_starts_with(tv_tree_cursor_key(&cursor), tv_slice_of(prefix));
         tv_tree_cursor_next(&cursor))
        count++;
    tv_tree_cursor_done(&cursor);
    pthread_mutex_unlock(&cluster->lock);
    return count;
}
