/*
 * Reads of single rows.
 *
 * A read of one row costs the cluster almost as much as one of a hundred, so reads
 * that come while others are under way go together: a lane per range has one operation in
 * flight, and what comes meanwhile waits for the next, which takes all of it.  (With two in flight
 * the groups are half as large; that cost 8 % more CPU here and 10 % more in the cluster, and was
 * no faster.)  There is no timer: a lone read leaves at once.
 *
 * Answers come on a thread of the pool's, which must not wait.  So reads that were
 * refused, because the range has another epoch, go to the router's thread; it gets a newer
 * map and sends them again.
 */
#include "base/assert.h"
#include "base/clock.h"
#include "store/engine/rados/internal.h"

enum { LANE_OPS = 1, GROUP_KEYS_MAX = 512, CHAINS_MAX = 32 };

/* --- reads that are waited for --- */

/* The value of a key among rows that are sorted; NULL when it is not there. */
static const tv_pool_row *find_row(const tv_pool_read *read, tv_slice key)
{
    size_t low = 0, high = read->row_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = tv_slice_cmp(read->rows[middle].key, key);

        if (order == 0)
            return &read->rows[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static tv_err take_values(const tv_pool_read *read, const tv_slice *keys, size_t count,
                          tv_slice *ret_values)
{
    for (size_t i = 0; i < count; i++) {
        const tv_pool_row *row = find_row(read, keys[i]);
        tv_err err;

        ret_values[i] = TV_NONE;
        err = row ? tv_rados_open_value(row->value, &ret_values[i]) : TV_OK;
        if (err)
            return err;
    }
    return TV_OK;
}

static size_t bytes_of(const tv_pool_read *read)
{
    size_t bytes = 0;

    for (size_t i = 0; i < read->row_count; i++)
        bytes += read->rows[i].key.len + read->rows[i].value.len;
    return bytes;
}

/* One try, by one map. */
static tv_err get_by(tv_rados_engine *rados, const tv_map *map, const tv_slice *keys, size_t count,
                     tv_arena *arena, tv_slice *ret_values)
{
    const tv_range *range = tv_map_find(map, keys[0]);
    tv_pool_read read = {
        .object = range->object,
        .kind = TV_POOL_READ_KEYS,
        .attr = TV_RANGE_READ_EPOCH,
        .attr_value = range->epoch,
        .keys = keys,
        .key_count = count,
        .arena = arena,
    };
    tv_rados_op op;
    tv_err err;

    for (size_t i = 1; i < count; i++) {
        if (!tv_range_has(range, keys[i]))
            return TV_ERR_MOVED;
    }

    tv_rados_op_begin(rados, &op);
    err = tv_pool_read_now(rados->pool, &read);
    size_t bytes = err ? 0 : bytes_of(&read);
    tv_rados_op_end(rados, &op, &rados->reads, count, bytes);
    if (err)
        return err;

    atomic_fetch_add(&range->lane->use.read_ops, 1);
    atomic_fetch_add(&range->lane->use.read_keys, count);
    atomic_fetch_add(&range->lane->use.read_bytes, bytes);
    tv_range_lane_note_use(range->lane, keys[count / 2], count);
    return take_values(&read, keys, count, ret_values);
}

tv_err tv_rados_get_many(tv_engine *engine, const tv_slice *keys, size_t count, tv_arena *arena,
                         tv_slice *ret_values)
{
    tv_rados_engine *rados = tv_rados_of(engine);
    tv_rados_patience patience = {.key = count ? keys[0] : TV_NONE};

    if (count == 0)
        return TV_OK;

    for (;;) {
        tv_map *map = tv_maps_get(rados->maps);
        tv_err err = get_by(rados, map, keys, count, arena, ret_values);

        if (!tv_rados_is_astray(err)) {
            tv_map_unref(map);
            return err;
        }
        err = tv_rados_reroute(rados, map, &patience);
        tv_map_unref(map);
        if (err)
            return err;
    }
}

tv_err tv_rados_get(tv_engine *engine, tv_read_mode mode, tv_slice key, tv_arena *arena,
                    tv_slice *ret_value)
{
    tv_slice value;
    tv_err err;

    if (mode == TV_READ_CACHED)
        return TV_ERR_WOULD_BLOCK;

    err = tv_rados_get_many(engine, &key, 1, arena, &value);
    if (err)
        return err;
    if (value.data == NULL)
        return TV_ERR_NOT_FOUND;

    *ret_value = value;
    return TV_OK;
}

/* --- reads in groups --- */

/* An operation of a lane.  Its reads are sorted by key; equal keys are asked for once. */
typedef struct group {
    tv_rados_engine *rados;
    tv_range_lane *lane;
    tv_map *map; /* the range's names are in it */
    tv_rados_op op;
    tv_pool_read read;
    tv_arena arena;
    size_t count;
    tv_engine_read *reads[GROUP_KEYS_MAX];
    tv_slice keys[GROUP_KEYS_MAX];
} group;

size_t tv_range_lane_rows_max(tv_range_lane *lane, size_t most)
{
    enum { BYTES = 4 << 20, FIRST_ROWS = 128 };

    pthread_mutex_lock(&lane->lock);
    size_t mean = lane->mean_bytes;
    pthread_mutex_unlock(&lane->lock);

    size_t rows = mean ? BYTES / mean : FIRST_ROWS;

    return rows < 1 ? 1 : rows < most ? rows : most;
}

void tv_range_lane_note_rows(tv_range_lane *lane, size_t rows, size_t bytes)
{
    if (rows == 0)
        return;

    size_t mean = bytes / rows + 1;

    /* Up at once, down slowly: a few small rows say little about the next ones. */
    pthread_mutex_lock(&lane->lock);
    if (mean > lane->mean_bytes)
        lane->mean_bytes = (uint32_t)(mean < UINT32_MAX ? mean : UINT32_MAX);
    else
        lane->mean_bytes -= (uint32_t)((lane->mean_bytes - mean) / 8);
    pthread_mutex_unlock(&lane->lock);
}

static void post(tv_engine_read *read)
{
    tv_mail_chain chain = {0};

    tv_mail_chain_add(&chain, &read->mail);
    tv_mailbox_post(read->reply_to, &chain);
}

/* Post answers, in as few chains as there are mailboxes. */
static void post_all(group *g)
{
    struct {
        tv_mailbox *box;
        tv_mail_chain chain;
    } chains[CHAINS_MAX] = {{0}};
    int used = 0;

    for (size_t i = 0; i < g->count; i++) {
        tv_engine_read *read = g->reads[i];
        int at = 0;

        while (at < used && chains[at].box != read->reply_to)
            at++;
        if (at == CHAINS_MAX) {
            post(read);
            continue;
        }
        if (at == used)
            chains[used++].box = read->reply_to;
        tv_mail_chain_add(&chains[at].chain, &read->mail);
    }
    for (int i = 0; i < used; i++)
        tv_mailbox_post(chains[i].box, &chains[i].chain);
}

/* Rows and reads are both in the order of their keys. */
static void give_values(group *g)
{
    size_t at = 0;

    for (size_t i = 0; i < g->count; i++) {
        tv_engine_read *read = g->reads[i];
        tv_slice value;

        while (at < g->read.row_count && tv_slice_cmp(g->read.rows[at].key, read->key) < 0)
            at++;
        if (at == g->read.row_count || !tv_slice_eq(g->read.rows[at].key, read->key)) {
            read->result = TV_ERR_NOT_FOUND;
            continue;
        }
        read->result = tv_rados_open_value(g->read.rows[at].value, &value);
        if (read->result == TV_OK)
            read->result = tv_arena_try_dup(read->arena, value, &read->value);
    }
}

/* Leave reads to the router. */
static void stray(tv_rados_engine *rados, tv_engine_read *read)
{
    tv_background_lock(&rados->router);
    read->next = NULL;
    *rados->strays_end = read;
    rados->strays_end = &read->next;
    tv_background_wake(&rados->router);
    tv_background_unlock(&rados->router);
}

static void send(tv_rados_engine *rados, tv_range_lane *lane);
static void dispatch(tv_rados_engine *rados, tv_engine_read *read);

static bool is_old(const tv_engine_read *read)
{
    return tv_clock_mono_ns() - read->since_ns >= tv_pool_patience_ms * INT64_C(1000000);
}

/* The first of a group has waited too long; others have not, and try again. */
static void end_old(group *g)
{
    for (size_t i = 0; i < g->count; i++) {
        tv_engine_read *read = g->reads[i];

        if (is_old(read)) {
            read->result = TV_ERR_TIMED_OUT;
            post(read);
        } else {
            dispatch(g->rados, read);
        }
    }
}

/* On a thread of the pool's. */
static void group_done(tv_pool_read *done)
{
    group *g = done->ctx;
    tv_rados_engine *rados = g->rados;
    tv_range_lane *lane = g->lane;
    size_t bytes = done->result ? 0 : bytes_of(done);

    tv_rados_op_end(rados, &g->op, &rados->reads, g->count, bytes);
    pthread_mutex_lock(&lane->lock);
    lane->in_flight--;
    pthread_mutex_unlock(&lane->lock);

    if (tv_rados_is_astray(done->result)) {
        for (size_t i = 0; i < g->count; i++)
            stray(rados, g->reads[i]);
    } else if (done->result == TV_ERR_TIMED_OUT) {
        end_old(g);
    } else {
        atomic_fetch_add(&lane->use.read_ops, 1);
        atomic_fetch_add(&lane->use.read_keys, g->count);
        atomic_fetch_add(&lane->use.read_bytes, bytes);
        tv_range_lane_note_rows(lane, done->row_count, bytes);
        if (g->count)
            tv_range_lane_note_use(lane, g->reads[g->count / 2]->key, g->count);
        if (done->result == TV_OK)
            give_values(g);
        else
            for (size_t i = 0; i < g->count; i++)
                g->reads[i]->result = done->result;
        post_all(g);
    }

    send(rados, lane);
    tv_range_lane_unref(lane);
    tv_map_unref(g->map);
    tv_arena_done(&g->arena);
    free(g);
}

static int compare_reads(const void *a, const void *b)
{
    return tv_slice_cmp((*(tv_engine_read *const *)a)->key, (*(tv_engine_read *const *)b)->key);
}

/* Take what waits on the lane, as much as goes into one operation.  NULL when it must wait. */
static tv_engine_read *take(tv_range_lane *lane)
{
    size_t most = tv_range_lane_rows_max(lane, GROUP_KEYS_MAX);
    tv_engine_read *list = NULL;

    pthread_mutex_lock(&lane->lock);
    if (lane->first && lane->in_flight < LANE_OPS) {
        tv_engine_read *last = lane->first;

        for (size_t n = 1; n < most && last->next; n++)
            last = last->next;
        list = lane->first;
        lane->first = last->next;
        if (lane->first == NULL)
            lane->last = NULL;
        last->next = NULL;
        lane->in_flight++;
    }
    pthread_mutex_unlock(&lane->lock);
    return list;
}

/* When the first of them was asked for: it may have waited for others before it. */
static int64_t oldest_ns(const group *g)
{
    int64_t oldest = tv_clock_mono_ns();

    for (size_t i = 0; i < g->count; i++)
        if (g->reads[i]->since_ns < oldest)
            oldest = g->reads[i]->since_ns;
    return oldest;
}

static void submit(tv_rados_engine *rados, tv_range_lane *lane, tv_engine_read *list)
{
    group *g = tv_malloc(sizeof *g);
    const tv_range *range;
    size_t key_count = 0;

    g->rados = rados;
    g->lane = tv_range_lane_ref(lane);
    g->map = tv_maps_get(rados->maps);
    g->count = 0;
    tv_arena_init(&g->arena);
    range = tv_map_find(g->map, list->key);
    for (tv_engine_read *read = list, *next; read; read = next) {
        next = read->next;
        /* The ranges may have changed since it came here. */
        if (range->lane == lane && tv_range_has(range, read->key))
            g->reads[g->count++] = read;
        else
            stray(rados, read);
    }
    qsort(g->reads, g->count, sizeof g->reads[0], compare_reads);
    for (size_t i = 0; i < g->count; i++) {
        if (i == 0 || !tv_slice_eq(g->reads[i]->key, g->reads[i - 1]->key))
            g->keys[key_count++] = g->reads[i]->key;
    }
    g->read = (tv_pool_read){
        .object = range->object,
        .kind = TV_POOL_READ_KEYS,
        .attr = TV_RANGE_READ_EPOCH,
        .attr_value = range->epoch,
        .keys = g->keys,
        .key_count = key_count,
        .arena = &g->arena,
        .until_ns = oldest_ns(g) + tv_pool_patience_ms * INT64_C(1000000),
        .done = group_done,
        .ctx = g,
    };
    tv_rados_op_begin(rados, &g->op);
    if (g->count) {
        rados->pool->ops->read(rados->pool, &g->read);
    } else {
        g->read.result = TV_OK;
        group_done(&g->read);
    }
}

static void send(tv_rados_engine *rados, tv_range_lane *lane)
{
    tv_engine_read *list = take(lane);

    if (list)
        submit(rados, lane, list);
}

/* Put a read on the lane of its range. */
static void dispatch(tv_rados_engine *rados, tv_engine_read *read)
{
    tv_map *map = tv_maps_get(rados->maps);
    tv_range_lane *lane = tv_range_lane_ref(tv_map_find(map, read->key)->lane);

    tv_map_unref(map);
    read->next = NULL;
    pthread_mutex_lock(&lane->lock);
    if (lane->last)
        lane->last->next = read;
    else
        lane->first = read;
    lane->last = read;
    pthread_mutex_unlock(&lane->lock);
    send(rados, lane);
    tv_range_lane_unref(lane);
}

void tv_rados_read(tv_engine *engine, tv_engine_read *read)
{
    read->value = TV_NONE;
    read->since_ns = tv_clock_mono_ns();
    dispatch(tv_rados_of(engine), read);
}

/* --- the router --- */

/*
 * All reads that were refused, once: by a later map if there is one.  How long to pause is the
 * router's to know; when to give up, each read's: others have come and gone meanwhile.
 */
static void send_strays(tv_rados_engine *rados, tv_engine_read *list, tv_rados_patience *patience)
{
    tv_map *map = tv_maps_get(rados->maps);

    if (patience->waited_ms >= TV_RADOS_PATIENCE_MS)
        *patience = (tv_rados_patience){0};
    patience->key = list->key;
    tv_err err = tv_rados_reroute(rados, map, patience);

    tv_map_unref(map);
    while (list) {
        tv_engine_read *read = list;

        list = read->next;
        if (err || is_old(read)) {
            read->result = err ? err : TV_ERR_TIMED_OUT;
            post(read);
        } else {
            dispatch(rados, read);
        }
    }
}

void tv_rados_router_run(tv_background *background, void *ctx)
{
    tv_rados_engine *rados = ctx;
    tv_rados_patience patience = {0};
    int64_t last_ns = 0;

    tv_background_lock(background);
    for (;;) {
        while (rados->strays == NULL && !tv_background_is_stopping(background))
            tv_background_wait(background, TV_BACKGROUND_NEVER);
        if (rados->strays == NULL)
            break;

        tv_engine_read *list = rados->strays;

        rados->strays = NULL;
        rados->strays_end = &rados->strays;
        tv_background_unlock(background);
        if (tv_clock_mono_ns() - last_ns > INT64_C(1000000000))
            patience = (tv_rados_patience){0};
        send_strays(rados, list, &patience);
        last_ns = tv_clock_mono_ns();
        tv_background_lock(background);
    }
    tv_background_unlock(background);
}
