/*
 * A pool in memory.
 *
 * One lock guards everything; it is never held while somebody else's function runs
 * (`done`, a watch, the test's hook).  An operation is carried out in one step under
 * the lock, and answered in another, with the lock let go.
 */
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "fake_internal.h"

static void carry_out_change(client *c, tv_pool_change *change)
{
    fake_cluster *cluster = c->cluster;
    bool dies;

    change->refused = TV_POOL_NO_STEP;
    c->change_count++;
    dies = c->kill_at && c->change_count >= c->kill_at;
    if (dies && !c->kill_is_after)
        c->is_out = true;
    if (c->is_out) {
        change->result = TV_ERR_STOPPED;
        return;
    }

    if (cluster->refuse_after)
        cluster->refuse_after--;
    if (cluster->refuse_after == 0 && cluster->refuse_count) {
        cluster->refuse_count--;
        change->result = cluster->refuse_err;
        return;
    }
    change->result = fake_apply(cluster, change);
    if (dies)
        c->is_out = true;
}

static void carry_out_read(client *c, tv_pool_read *read)
{
    read->rows = NULL;
    read->row_count = 0;
    read->has_more = false;
    read->data = TV_NONE;
    if (c->is_out)
        read->result = TV_ERR_STOPPED;
    else if (c->cluster->read_err)
        read->result = c->cluster->read_err;
    else
        read->result = fake_look(c->cluster, read);
}

/* --- tasks --- */

static void carry_out(task *t)
{
    if (t->change)
        carry_out_change(t->client, t->change);
    else if (t->read)
        carry_out_read(t->client, t->read);
    t->is_carried_out = true;
}

/* Without the lock.  The one who is dead hears nothing, whatever became of it. */
static void answer(const task *t, bool is_out)
{
    if (t->change) {
        if (is_out)
            t->change->result = TV_ERR_STOPPED;
        t->change->done(t->change);
    } else if (t->read) {
        if (is_out)
            t->read->result = TV_ERR_STOPPED;
        t->read->done(t->read);
    } else if (!is_out) {
        t->notice->fn(t->notice->ctx);
    }
}

static void call_hook(const task *t)
{
    if (t->change && t->client->cluster->on_change)
        t->client->cluster->on_change(t->client->cluster->on_change_ctx, &t->client->base,
                                      t->change);
}

/* Nobody answers it. */
static void keep_silent(task t)
{
    fake_cluster *cluster = t.client->cluster;
    int64_t until_ns = t.change ? t.change->until_ns : t.read->until_ns;

    if (t.read && until_ns == 0)
        until_ns = tv_clock_mono_ns() + tv_pool_patience_ms * INT64_C(1000000);
    if (until_ns == 0) {
        task *held = tv_malloc(sizeof *held);

        *held = t;
        held->next = cluster->held;
        cluster->held = held;
        return;
    }
    if (until_ns > tv_clock_mono_ns())
        tv_clock_skip_ns(until_ns - tv_clock_mono_ns());
    if (t.change)
        t.change->result = TV_ERR_TIMED_OUT;
    else
        t.read->result = TV_ERR_TIMED_OUT;
    answer(&t, false);
}

/* Do it here and now, or leave it to the thread. */
static void submit(task t)
{
    fake_cluster *cluster = t.client->cluster;

    if (t.change)
        fake_check_steps(t.change);
    if (cluster->is_silent && (t.change || t.read)) {
        keep_silent(t);
        return;
    }
    if (cluster->options.is_threaded) {
        task *queued = tv_malloc(sizeof *queued);

        *queued = t;
        pthread_mutex_lock(&cluster->lock);
        task **end = &cluster->tasks;

        while (*end)
            end = &(*end)->next;
        *end = queued;
        pthread_cond_broadcast(&cluster->changed);
        pthread_mutex_unlock(&cluster->lock);
        return;
    }

    fake_yield(cluster);
    call_hook(&t);
    pthread_mutex_lock(&cluster->lock);
    carry_out(&t);
    pthread_mutex_unlock(&cluster->lock);
    fake_yield(cluster);
    pthread_mutex_lock(&cluster->lock);
    bool is_out = t.client->is_out;
    pthread_mutex_unlock(&cluster->lock);
    answer(&t, is_out);
}

void fake_set_silent(fake_cluster *cluster, bool on)
{
    cluster->is_silent = on;
    while (!on && cluster->held) {
        task *held = cluster->held;

        cluster->held = held->next;
        submit(*held);
        free(held);
    }
}

/* Whether nothing of the same client on the same object comes before it. */
static bool is_next(const fake_cluster *cluster, const task *t)
{
    for (const task *before = cluster->tasks; before != t; before = before->next) {
        if (before->client == t->client && strcmp(before->object, t->object) == 0)
            return false;
    }
    return true;
}

/* The link to a task that may go on, by the seed. */
static task **choose(fake_cluster *cluster)
{
    size_t count = 0;

    for (task *t = cluster->tasks; t; t = t->next)
        count += is_next(cluster, t);

    size_t chosen = fake_next_random(cluster, count);

    for (task **link = &cluster->tasks;; link = &(*link)->next) {
        if (is_next(cluster, *link) && chosen-- == 0)
            return link;
    }
}

static void *serve(void *arg)
{
    fake_cluster *cluster = arg;

    pthread_mutex_lock(&cluster->lock);
    while (cluster->tasks || !cluster->is_stopping) {
        if (cluster->tasks == NULL) {
            pthread_cond_wait(&cluster->changed, &cluster->lock);
            continue;
        }

        task **link = choose(cluster), *t = *link;

        if (!t->is_carried_out) {
            carry_out(t);
            continue;
        }
        *link = t->next;
        cluster->served = t->client;

        bool is_out = t->client->is_out;

        pthread_mutex_unlock(&cluster->lock);
        answer(t, is_out);
        free(t);
        pthread_mutex_lock(&cluster->lock);
        cluster->served = NULL;
        pthread_cond_broadcast(&cluster->changed);
    }
    pthread_mutex_unlock(&cluster->lock);
    return NULL;
}

/* --- the operations of a pool --- */

static void pool_change(tv_pool *pool, tv_pool_change *change)
{
    submit((task){.client = of(pool), .object = change->object, .change = change});
}

static void pool_read(tv_pool *pool, tv_pool_read *read)
{
    submit((task){.client = of(pool), .object = read->object, .read = read});
}

/* Begin and end an operation that is waited for: with the lock held in between. */
static tv_err enter(tv_pool *pool)
{
    client *c = of(pool);

    fake_yield(c->cluster);
    pthread_mutex_lock(&c->cluster->lock);
    return c->is_out ? TV_ERR_STOPPED : TV_OK;
}

static tv_err leave(tv_pool *pool, tv_err err)
{
    client *c = of(pool);

    pthread_mutex_unlock(&c->cluster->lock);
    fake_yield(c->cluster);
    return fake_client_is_out(pool) ? TV_ERR_STOPPED : err;
}

static tv_err pool_list(tv_pool *pool, const char *prefix,
                        bool (*fn)(void *ctx, const char *object), void *ctx)
{
    tv_err err = enter(pool);
    tv_tree *objects = tv_tree_ref(of(pool)->cluster->objects);
    tv_tree_cursor cursor = {.tree = objects};
    bool goes_on = err == TV_OK;

    err = leave(pool, err);
    for (tv_tree_cursor_seek(&cursor, tv_slice_of(prefix));
         goes_on && tv_tree_cursor_is_valid(&cursor) &&
         tv_slice_starts_with(tv_tree_cursor_key(&cursor), tv_slice_of(prefix));
         tv_tree_cursor_next(&cursor)) {
        char name[TV_POOL_NAME_MAX + 1];

        snprintf(name, sizeof name, "%.*s", TV_FMT(tv_tree_cursor_key(&cursor)));
        goes_on = fn(ctx, name);
    }
    tv_tree_cursor_done(&cursor);
    tv_tree_unref(objects);
    return err;
}

static tv_err pool_lock(tv_pool *pool, const char *name, const char *holder, int seconds)
{
    fake_cluster *cluster = of(pool)->cluster;
    tv_err err = enter(pool);

    if (err == TV_OK) {
        object *locked = fake_object_find_or_make(cluster, name);

        if (locked->holder[0] && strcmp(locked->holder, holder) != 0 &&
            cluster->now_ms < locked->held_until_ms) {
            err = TV_ERR_IN_USE;
        } else {
            snprintf(locked->holder, sizeof locked->holder, "%s", holder);
            locked->held_until_ms = cluster->now_ms + (int64_t)seconds * 1000;
        }
    }
    return leave(pool, err);
}

static tv_err pool_unlock(tv_pool *pool, const char *name, const char *holder)
{
    tv_err err = enter(pool);
    object *locked = err ? NULL : fake_object_find(of(pool)->cluster, name);

    if (err == TV_OK && (locked == NULL || strcmp(locked->holder, holder) != 0))
        err = TV_ERR_NOT_FOUND;
    else if (err == TV_OK)
        locked->holder[0] = '\0';
    return leave(pool, err);
}

static tv_err pool_watch(tv_pool *pool, const char *name, void (*fn)(void *ctx), void *ctx)
{
    fake_cluster *cluster = of(pool)->cluster;
    tv_err err = enter(pool);

    if (err == TV_OK) {
        watch *made = tv_calloc(1, sizeof *made);

        fake_object_find_or_make(cluster, name);
        *made = (watch){.client = of(pool), .fn = fn, .ctx = ctx, .next = cluster->watches};
        snprintf(made->object, sizeof made->object, "%s", name);
        cluster->watches = made;
    }
    return leave(pool, err);
}

static void pool_notify(tv_pool *pool, const char *name)
{
    fake_cluster *cluster = of(pool)->cluster;

    if (fake_client_is_out(pool))
        return;

    /* Watches are only added, and go with their clients. */
    pthread_mutex_lock(&cluster->lock);
    watch *w = cluster->watches;
    pthread_mutex_unlock(&cluster->lock);
    for (; w; w = w->next) {
        if (strcmp(w->object, name) == 0 &&
            !(cluster->options.drops_notices && fake_random(cluster, 2)))
            submit((task){.client = w->client, .object = w->object, .notice = w});
    }
}

/* The link to it, or to where it would be. */
static listed **find_listed(fake_cluster *cluster, const char *name, const char *address)
{
    listed **link = &cluster->listed;

    while (*link && (strcmp((*link)->object, name) || strcmp((*link)->address, address)))
        link = &(*link)->next;
    return link;
}

static tv_err pool_enlist(tv_pool *pool, const char *name)
{
    tv_err err = enter(pool);
    listed **link = err ? NULL : find_listed(of(pool)->cluster, name, of(pool)->address);

    if (err == TV_OK && fake_object_find(of(pool)->cluster, name) == NULL)
        err = TV_ERR_NOT_FOUND;
    if (err == TV_OK && *link == NULL) {
        *link = tv_calloc(1, sizeof **link);
        snprintf((*link)->object, sizeof(*link)->object, "%s", name);
        snprintf((*link)->address, sizeof(*link)->address, "%s", of(pool)->address);
    }
    return leave(pool, err);
}

static tv_err pool_is_listed(tv_pool *pool, const char *name, const char *address, bool *ret_is)
{
    tv_err err = enter(pool);

    if (err == TV_OK)
        *ret_is = *find_listed(of(pool)->cluster, name, address) != NULL;
    return leave(pool, err);
}

static tv_err pool_delist(tv_pool *pool, const char *name, const char *address)
{
    tv_err err = enter(pool);
    listed **link = err ? NULL : find_listed(of(pool)->cluster, name, address);

    if (err == TV_OK && *link) {
        listed *gone = *link;

        *link = gone->next;
        free(gone);
    }
    return leave(pool, err);
}

static const char *pool_address(tv_pool *pool)
{
    return of(pool)->address;
}

static tv_err pool_shut_out(tv_pool *pool, const char *address)
{
    tv_err err = enter(pool);

    for (client *c = of(pool)->cluster->clients; c && err == TV_OK; c = c->next) {
        if (strcmp(c->address, address) == 0)
            c->is_out = true;
    }
    return leave(pool, err);
}

static tv_err pool_space(tv_pool *pool, tv_pool_space *ret_space)
{
    tv_err err = enter(pool);

    if (err == TV_OK)
        *ret_space = of(pool)->cluster->space;
    return leave(pool, err);
}

static tv_err pool_osd_count(tv_pool *pool, size_t *ret_count, size_t *ret_up)
{
    tv_err err = enter(pool);

    if (err == TV_OK)
        *ret_count = *ret_up = of(pool)->cluster->osd_count;
    return leave(pool, err);
}

static void pool_pause(tv_pool *pool, int ms)
{
    fake_cluster *cluster = of(pool)->cluster;
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    if (!fake_is_actor()) {
        nanosleep(&span, NULL);
        return;
    }

    fake_pass_ms(cluster, ms);
    fake_yield(cluster);
}

/* Whether the thread has something of this client to do, or does it. */
static bool is_served(const fake_cluster *cluster, const client *c)
{
    for (const task *t = cluster->tasks; t; t = t->next) {
        if (t->client == c)
            return true;
    }
    return cluster->served == c;
}

static void pool_close(tv_pool *pool)
{
    client *c = of(pool);
    fake_cluster *cluster = c->cluster;

    pthread_mutex_lock(&cluster->lock);
    while (is_served(cluster, c))
        pthread_cond_wait(&cluster->changed, &cluster->lock);
    for (watch **link = &cluster->watches; *link;) {
        watch *w = *link;

        if (w->client == c) {
            *link = w->next;
            free(w);
        } else {
            link = &w->next;
        }
    }
    for (client **link = &cluster->clients; *link; link = &(*link)->next) {
        if (*link == c) {
            *link = c->next;
            break;
        }
    }
    pthread_mutex_unlock(&cluster->lock);
    free(c);
}

static const tv_pool_ops ops = {
    .change = pool_change,
    .read = pool_read,
    .list = pool_list,
    .lock = pool_lock,
    .unlock = pool_unlock,
    .watch = pool_watch,
    .notify = pool_notify,
    .enlist = pool_enlist,
    .is_listed = pool_is_listed,
    .delist = pool_delist,
    .address = pool_address,
    .shut_out = pool_shut_out,
    .space = pool_space,
    .osd_count = pool_osd_count,
    .pause = pool_pause,
    .close = pool_close,
};

tv_pool *fake_client_new(fake_cluster *cluster)
{
    client *c = tv_calloc(1, sizeof *c);

    c->base.ops = &ops;
    c->cluster = cluster;
    pthread_mutex_lock(&cluster->lock);
    snprintf(c->address, sizeof c->address, "fake:%d/1", ++cluster->client_count);
    c->next = cluster->clients;
    cluster->clients = c;
    pthread_mutex_unlock(&cluster->lock);
    return &c->base;
}

/* --- the cluster --- */

fake_cluster *fake_cluster_new(const fake_options *options)
{
    fake_cluster *cluster = tv_calloc(1, sizeof *cluster);

    if (options)
        cluster->options = *options;
    cluster->random = (cluster->options.seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    if (cluster->random == 0)
        cluster->random = 1;
    cluster->space = (tv_pool_space){UINT64_C(1) << 40, UINT64_C(1) << 39};
    cluster->osd_count = 3;
    cluster->ticks = TV_TICKS_UNIX_EPOCH + INT64_C(1700000000) * TV_TICKS_PER_SECOND;
    tv_assert(pthread_mutex_init(&cluster->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&cluster->changed, NULL) == 0);
    if (cluster->options.is_threaded)
        tv_assert(pthread_create(&cluster->thread, NULL, serve, cluster) == 0);
    return cluster;
}

void fake_cluster_free(fake_cluster *cluster)
{
    tv_tree_cursor cursor = {.tree = cluster->objects};

    tv_assert(cluster->clients == NULL);
    if (cluster->options.is_threaded) {
        pthread_mutex_lock(&cluster->lock);
        cluster->is_stopping = true;
        pthread_cond_broadcast(&cluster->changed);
        pthread_mutex_unlock(&cluster->lock);
        pthread_join(cluster->thread, NULL);
    }
    for (tv_tree_cursor_seek(&cursor, TV_LIT("")); tv_tree_cursor_is_valid(&cursor);
         tv_tree_cursor_next(&cursor)) {
        object *gone;

        memcpy(&gone, tv_tree_cursor_value(&cursor).data, sizeof gone);
        fake_object_free(gone);
    }
    tv_tree_cursor_done(&cursor);
    tv_tree_unref(cluster->objects);
    while (cluster->listed) {
        listed *next = cluster->listed->next;

        free(cluster->listed);
        cluster->listed = next;
    }
    pthread_cond_destroy(&cluster->changed);
    pthread_mutex_destroy(&cluster->lock);
    free(cluster);
}
