/*
 * A pool in memory.
 *
 * One lock guards everything; it is never held while somebody else's function runs
 * (`done`, a watch, the test's hook).  An operation is carried out in one step under
 * the lock, and answered in another, with the lock let go.
 */
#include "fake_pool.h"

#include <pthread.h>
#include <time.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "engine/memory/tree.h"

enum { ACTORS_MAX = 64, CHANGE_BYTES_MAX = 90 << 20 /* osd_max_write_size */ };

/* An object.  Rows and attributes are trees: a look at them is one view. */
typedef struct object {
    char name[TV_POOL_NAME_MAX + 1];
    tv_tree *rows, *attrs;
    tv_buf data;
    char holder[TV_POOL_NAME_MAX + 1]; /* of its lock, "" for nobody */
    int64_t held_until_ms;
} object;

typedef struct client client;

typedef struct watch {
    client *client;
    char object[TV_POOL_NAME_MAX + 1];
    void (*fn)(void *ctx);
    void *ctx;
    struct watch *next;
} watch;

/* Something for the cluster's thread to do: one of the three. */
typedef struct task {
    client *client;
    const char *object;
    tv_pool_change *change;
    tv_pool_read *read;
    watch *notice;
    bool is_carried_out;
    struct task *next;
} task;

struct client {
    tv_pool base;
    fake_cluster *cluster;
    char address[32];
    bool is_out;
    uint64_t change_count;
    uint64_t kill_at; /* the change, counted from the first; 0: none */
    bool kill_is_after;
    client *next;
};

struct fake_cluster {
    fake_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* tasks, turns */
    uint64_t random;
    tv_tree *objects; /* name -> the address of an object */
    client *clients;
    watch *watches;
    int client_count;
    int64_t now_ms;
    tv_pool_space space;
    size_t osd_count;

    uint64_t refuse_after, refuse_count;
    tv_err refuse_err, read_err;
    bool is_full;
    void (*on_change)(void *ctx, tv_pool *client, const tv_pool_change *change);
    void *on_change_ctx;

    pthread_t thread; /* if is_threaded */
    task *tasks;      /* oldest first */
    client *served;   /* whose function the thread runs now */
    bool is_stopping;

    bool is_live[ACTORS_MAX]; /* actors that have not ended */
    size_t actor_count, turn;
    int64_t ticks;
};

/* Which actor the thread is. */
enum { NO_ACTOR = -1 };
static _Thread_local int this_actor = NO_ACTOR;

static client *of(tv_pool *pool)
{
    return (client *)pool;
}

static uint64_t next_random(fake_cluster *cluster, uint64_t below)
{
    cluster->random ^= cluster->random << 13;
    cluster->random ^= cluster->random >> 7;
    cluster->random ^= cluster->random << 17;
    return cluster->random % below;
}

uint64_t fake_random(fake_cluster *cluster, uint64_t below)
{
    pthread_mutex_lock(&cluster->lock);
    uint64_t number = next_random(cluster, below);
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

    size_t chosen = next_random(cluster, live);

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

/* --- objects: with the lock held --- */

static object *find(fake_cluster *cluster, const char *name)
{
    tv_slice value;
    object *found;

    if (!tv_tree_get(cluster->objects, tv_slice_of(name), &value))
        return NULL;

    memcpy(&found, value.data, sizeof found);
    return found;
}

static object *make(fake_cluster *cluster, const char *name)
{
    object *made = tv_calloc(1, sizeof *made);

    tv_assert(name && name[0] && strlen(name) <= TV_POOL_NAME_MAX);
    snprintf(made->name, sizeof made->name, "%s", name);
    cluster->objects = tv_tree_put(cluster->objects, tv_slice_of(name),
                                   (tv_slice){(const char *)&made, sizeof made});
    return made;
}

static object *find_or_make(fake_cluster *cluster, const char *name)
{
    object *found = find(cluster, name);

    return found ? found : make(cluster, name);
}

static void object_free(object *gone)
{
    tv_tree_unref(gone->rows);
    tv_tree_unref(gone->attrs);
    tv_buf_done(&gone->data);
    free(gone);
}

static void remove_object(fake_cluster *cluster, object *gone)
{
    cluster->objects = tv_tree_delete(cluster->objects, tv_slice_of(gone->name));
    object_free(gone);
}

/* --- changes --- */

static bool is_condition(tv_pool_kind kind)
{
    return kind <= TV_POOL_ROW_ABSENT;
}

static bool is_on_row(tv_pool_kind kind)
{
    return kind == TV_POOL_ROW_IS || kind == TV_POOL_ROW_ABSENT || kind == TV_POOL_PUT_ROW ||
           kind == TV_POOL_DELETE_ROW || kind == TV_POOL_DELETE_ROWS;
}

/* What pool.h asks of the author. */
static void check_steps(const tv_pool_change *change)
{
    tv_tree *rows = NULL, *attrs = NULL;
    bool is_in_changes = false;
    size_t bytes = 0;

    for (size_t i = 0; i < change->step_count; i++) {
        const tv_pool_step *step = &change->steps[i];
        tv_slice seen;

        tv_assert(!is_condition(step->kind) || !is_in_changes);
        is_in_changes |= !is_condition(step->kind);
        bytes += step->key.len + step->value.len;
        if (is_on_row(step->kind))
            tv_assert(step->key.len && tv_slice_find(step->key, '\0') == step->key.len);
        if (step->kind == TV_POOL_PUT_ROW || step->kind == TV_POOL_ROW_IS)
            tv_assert(step->value.len);
        if (step->kind == TV_POOL_PUT_ROW || step->kind == TV_POOL_DELETE_ROW) {
            tv_assert(!tv_tree_get(rows, step->key, &seen));
            rows = tv_tree_put(rows, step->key, TV_LIT("x"));
        }
        if (step->kind == TV_POOL_SET_ATTR) {
            tv_assert(!tv_tree_get(attrs, step->key, &seen));
            attrs = tv_tree_put(attrs, step->key, TV_LIT("x"));
        }
        if (step->kind == TV_POOL_REMOVE)
            tv_assert(i + 1 == change->step_count &&
                      (i == 0 || is_condition(change->steps[i - 1].kind)));
    }
    tv_assert(bytes <= CHANGE_BYTES_MAX);
    tv_tree_unref(rows);
    tv_tree_unref(attrs);
}

static tv_slice value_of(const tv_tree *tree, tv_slice key)
{
    tv_slice value;

    return tv_tree_get(tree, key, &value) ? value : TV_LIT("");
}

/* `target` is NULL where the object is to be made. */
static bool condition_holds(const object *target, const tv_pool_step *step)
{
    const tv_tree *rows = target ? target->rows : NULL, *attrs = target ? target->attrs : NULL;

    switch (step->kind) {
    case TV_POOL_ATTR_IS:
        return tv_slice_eq(value_of(attrs, step->key), step->value);
    case TV_POOL_ATTR_BELOW:
        return tv_slice_cmp(value_of(attrs, step->key), step->value) < 0;
    case TV_POOL_ROW_IS:
        return tv_slice_eq(value_of(rows, step->key), step->value);
    case TV_POOL_ROW_ABSENT:
        return value_of(rows, step->key).len == 0;
    default:
        return true;
    }
}

static void apply_step(fake_cluster *cluster, object *target, const tv_pool_step *step)
{
    switch (step->kind) {
    case TV_POOL_PUT_ROW:
        target->rows = tv_tree_put(target->rows, step->key, step->value);
        break;
    case TV_POOL_DELETE_ROW:
        target->rows = tv_tree_delete(target->rows, step->key);
        break;
    case TV_POOL_DELETE_ROWS:
        target->rows = tv_tree_delete_range(target->rows, step->key, step->value);
        break;
    case TV_POOL_SET_ATTR:
        target->attrs = tv_tree_put(target->attrs, step->key, step->value);
        break;
    case TV_POOL_SET_DATA:
        tv_buf_reset(&target->data);
        tv_buf_add(&target->data, step->value);
        break;
    case TV_POOL_REMOVE:
        remove_object(cluster, target);
        break;
    default:
        break;
    }
}

static tv_err apply(fake_cluster *cluster, tv_pool_change *change)
{
    object *target = find(cluster, change->object);
    bool creates = change->step_count && change->steps[0].kind == TV_POOL_CREATE;

    if (target == NULL && !creates)
        return TV_ERR_NOT_FOUND;
    if (target && creates)
        return TV_ERR_CONFLICT;
    for (size_t i = 0; i < change->step_count; i++) {
        if (is_condition(change->steps[i].kind) && !condition_holds(target, &change->steps[i])) {
            if (is_on_row(change->steps[i].kind))
                change->refused = i;
            return TV_ERR_CONFLICT;
        }
    }
    if (target == NULL && cluster->is_full)
        return TV_ERR_DISK_FULL;
    if (target == NULL)
        target = make(cluster, change->object);
    for (size_t i = 0; i < change->step_count; i++)
        apply_step(cluster, target, &change->steps[i]);
    return TV_OK;
}

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
    change->result = apply(cluster, change);
    if (dies)
        c->is_out = true;
}

/* --- reads --- */

static void add_row(tv_pool_read *read, tv_slice key, tv_slice value)
{
    read->rows[read->row_count++] = (tv_pool_row){
        .key = tv_arena_dup(read->arena, key),
        .value = tv_arena_dup(read->arena, value),
    };
}

static int compare_slices(const void *a, const void *b)
{
    return tv_slice_cmp(*(const tv_slice *)a, *(const tv_slice *)b);
}

static void read_keys(const object *target, tv_pool_read *read)
{
    tv_slice *sorted = tv_calloc(read->key_count + 1, sizeof *sorted);

    read->rows = tv_arena_alloc(read->arena, (read->key_count + 1) * sizeof *read->rows);
    for (size_t i = 0; i < read->key_count; i++)
        sorted[i] = read->keys[i];
    qsort(sorted, read->key_count, sizeof *sorted, compare_slices);
    for (size_t i = 0; i < read->key_count; i++) {
        tv_slice value;

        tv_assert(sorted[i].len);
        if (i && tv_slice_eq(sorted[i], sorted[i - 1]))
            continue;
        if (tv_tree_get(target->rows, sorted[i], &value))
            add_row(read, sorted[i], value);
    }
    free(sorted);
}

/* Up to `most` rows of a tree behind `after`. */
static void read_rows(const tv_tree *tree, tv_slice after, size_t most, tv_pool_read *read)
{
    tv_tree_cursor cursor = {.tree = tree};
    size_t room = tv_tree_count(tree);

    if (room > most)
        room = most;
    read->rows = tv_arena_alloc(read->arena, (room + 1) * sizeof *read->rows);
    tv_tree_cursor_seek(&cursor, after);
    if (tv_tree_cursor_is_valid(&cursor) && after.len &&
        tv_slice_eq(tv_tree_cursor_key(&cursor), after))
        tv_tree_cursor_next(&cursor);
    while (read->row_count < room && tv_tree_cursor_is_valid(&cursor)) {
        add_row(read, tv_tree_cursor_key(&cursor), tv_tree_cursor_value(&cursor));
        tv_tree_cursor_next(&cursor);
    }
    read->has_more = tv_tree_cursor_is_valid(&cursor);
    tv_tree_cursor_done(&cursor);
}

static void read_data(const object *target, tv_pool_read *read)
{
    tv_slice all = tv_buf_slice(&target->data);
    tv_slice rest = tv_slice_skip(all, read->offset < all.len ? read->offset : all.len);

    read->data = tv_arena_dup(read->arena,
                              tv_slice_take(rest, read->size < rest.len ? read->size : rest.len));
}

static tv_err look(fake_cluster *cluster, tv_pool_read *read)
{
    const object *target = find(cluster, read->object);
    size_t rows_max = read->rows_max;

    if (target == NULL)
        return TV_ERR_NOT_FOUND;
    if (read->attr.len && !tv_slice_eq(value_of(target->attrs, read->attr), read->attr_value))
        return TV_ERR_CONFLICT;

    switch (read->kind) {
    case TV_POOL_READ_KEYS:
        read_keys(target, read);
        break;
    case TV_POOL_READ_PAGE:
        tv_assert(rows_max && tv_slice_find(read->after, '\0') == read->after.len);
        if (cluster->options.has_short_pages && next_random(cluster, 2))
            rows_max = 1 + next_random(cluster, rows_max);
        read_rows(target->rows, read->after, rows_max, read);
        break;
    case TV_POOL_READ_ATTRS:
        read_rows(target->attrs, TV_LIT(""), SIZE_MAX, read);
        read->has_more = false;
        break;
    case TV_POOL_READ_DATA:
        read_data(target, read);
        break;
    }
    return TV_OK;
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
        read->result = look(c->cluster, read);
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

/* Do it here and now, or leave it to the thread. */
static void submit(task t)
{
    fake_cluster *cluster = t.client->cluster;

    if (t.change)
        check_steps(t.change);
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

    size_t chosen = next_random(cluster, count);

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
        object *locked = find_or_make(cluster, name);

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
    object *locked = err ? NULL : find(of(pool)->cluster, name);

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

        find_or_make(cluster, name);
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

static tv_err pool_osd_count(tv_pool *pool, size_t *ret_count)
{
    tv_err err = enter(pool);

    if (err == TV_OK)
        *ret_count = of(pool)->cluster->osd_count;
    return leave(pool, err);
}

static void pool_pause(tv_pool *pool, int ms)
{
    fake_cluster *cluster = of(pool)->cluster;
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    if (this_actor == NO_ACTOR) {
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
        object_free(gone);
    }
    tv_tree_cursor_done(&cursor);
    tv_tree_unref(cluster->objects);
    pthread_cond_destroy(&cluster->changed);
    pthread_mutex_destroy(&cluster->lock);
    free(cluster);
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
    object *target = find(cluster, name);
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
