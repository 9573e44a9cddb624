/* The cluster engine: opening, closing, metrics, and the threads that look after it. */
#include "base/assert.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/log.h"
#include "store/engine/instant.h"
#include "store/engine/rados/internal.h"

enum {
    PAUSE_FIRST_MS = 2,
    PAUSE_MAX_MS = 50,
    LOOK_MS = 1000, /* so often one that waits looks for who keeps the range closed: ranges.h */
    KEEPER_TICK_MS = 500,
    KEEPER_LOOK_TICKS = 10, /* the map and the space */
    MINUTE_LOOKS = 12,
    STALE_MS = 1000,      /* an operation is old */
    STUCK_MS = 10 * 1000, /* too old: the node is not healthy; admin/health.c says so */
};

/* --- operations --- */

void tv_rados_op_begin(tv_rados_engine *rados, tv_rados_op *op)
{
    pthread_mutex_lock(&rados->ops_lock);
    op->began_ns = tv_clock_mono_ns();
    op->next = &rados->ops;
    op->before = rados->ops.before;
    op->before->next = op;
    rados->ops.before = op;
    pthread_mutex_unlock(&rados->ops_lock);
}

int64_t tv_rados_op_end(tv_rados_engine *rados, tv_rados_op *op, tv_rados_meter *meter, size_t rows,
                        size_t bytes)
{
    int64_t now_ns = tv_clock_mono_ns(), ns = now_ns - op->began_ns;
    int slot = 0;

    atomic_store(&rados->answered_ns, now_ns);
    pthread_mutex_lock(&rados->ops_lock);
    op->before->next = op->next;
    op->next->before = op->before;
    pthread_mutex_unlock(&rados->ops_lock);
    atomic_fetch_add(&meter->ops, 1);
    atomic_fetch_add(&meter->rows, rows);
    atomic_fetch_add(&meter->bytes, bytes);
    atomic_fetch_add(&meter->us, (uint64_t)ns / 1000);
    while (slot < TV_RADOS_METER_SLOTS - 1 && ns / 1000 > INT64_C(1) << slot)
        slot++;
    atomic_fetch_add(&meter->us_slots[slot], 1);
    return ns;
}

/* How old the oldest operation is; 0 when there is none. */
static int64_t oldest_ms(tv_rados_engine *rados)
{
    int64_t began_ns = 0;

    pthread_mutex_lock(&rados->ops_lock);
    if (rados->ops.next != &rados->ops)
        began_ns = rados->ops.next->began_ns;
    pthread_mutex_unlock(&rados->ops_lock);
    return began_ns ? (tv_clock_mono_ns() - began_ns) / 1000000 : 0;
}

tv_range_changer tv_rados_changer(tv_rados_engine *rados)
{
    return (tv_range_changer){rados->pool, tv_slice_of(rados->pool->ops->address(rados->pool))};
}

tv_err tv_rados_wait(tv_rados_engine *rados, tv_rados_patience *patience)
{
    if (patience->waited_ms >= TV_RADOS_PATIENCE_MS || tv_deadline_is_over())
        return TV_ERR_TIMED_OUT;

    patience->pause_ms = patience->pause_ms == 0 ? PAUSE_FIRST_MS : patience->pause_ms * 2;
    if (patience->pause_ms > PAUSE_MAX_MS)
        patience->pause_ms = PAUSE_MAX_MS;
    rados->pool->ops->pause(rados->pool, patience->pause_ms);
    patience->waited_ms += patience->pause_ms;
    if (patience->waited_ms - patience->looked_ms >= LOOK_MS && patience->key.len) {
        tv_range_changer changer = tv_rados_changer(rados);
        tv_err err =
            tv_range_recover_stuck(&changer, patience->key, &patience->stuck, patience->waited_ms);

        if (err == TV_ERR_STOPPED)
            return err;
        patience->looked_ms = patience->waited_ms;
    }
    return TV_OK;
}

tv_err tv_rados_reroute(tv_rados_engine *rados, const tv_map *map, tv_rados_patience *patience)
{
    uint64_t version = map->version;
    tv_map *now;
    tv_err err;

    err = tv_maps_reload(rados->maps, map);
    if (err)
        return err;

    now = tv_maps_get(rados->maps);
    bool is_later = now->version > version;

    tv_map_unref(now);
    return is_later ? TV_OK : tv_rados_wait(rados, patience);
}

void tv_range_lane_note_use(tv_range_lane *lane, tv_slice key, size_t rows)
{
    tv_samples_add(&lane->samples, key, rows, tv_clock_mono_ns() / 1000000);
}

tv_err tv_rados_open_value(tv_slice stored, tv_slice *ret_value)
{
    if (stored.len == 0 || stored.data[0] != TV_RANGE_FORM)
        return TV_ERR_CORRUPT;

    *ret_value = tv_slice_skip(stored, 1);
    return TV_OK;
}

/* --- the rest of tv_engine_ops --- */

static uint64_t range_of(tv_engine *engine, tv_slice partition)
{
    tv_map *map = tv_maps_get(tv_rados_of(engine)->maps);
    uint64_t number = tv_map_find(map, partition)->lane->number;

    tv_map_unref(map);
    return number;
}

static tv_err fence(tv_engine *engine, tv_slice from, tv_slice to)
{
    tv_rados_engine *rados = tv_rados_of(engine);
    tv_range_changer changer = tv_rados_changer(rados);
    tv_err err;

    if (tv_slice_cmp(from, to) >= 0)
        return TV_OK;
    err = tv_range_fence(&changer, from, to);
    if (err == TV_OK)
        err = tv_maps_refresh(rados->maps);
    return err == TV_ERR_STOPPED ? TV_ERR_IO : err;
}

static tv_err drop_range(tv_engine *engine, tv_slice from, tv_slice to)
{
    tv_range_changer changer = tv_rados_changer(tv_rados_of(engine));
    tv_err err = tv_range_drop(&changer, from, to);

    return err == TV_ERR_STOPPED ? TV_ERR_IO : err;
}

static uint64_t fences(tv_engine *engine)
{
    tv_map *map = tv_maps_get(tv_rados_of(engine)->maps);
    uint64_t number = tv_rados_fences_of(map);

    tv_map_unref(map);
    return number;
}

static tv_err backup(tv_engine *engine, const char *dir)
{
    (void)engine;
    (void)dir;
    return TV_ERR_NOT_IMPLEMENTED;
}

/* Whether anything comes back at all, of what this node asks for. */
static tv_err check_reads(tv_engine *engine)
{
    tv_rados_engine *rados = tv_rados_of(engine);
    int64_t silent_ms = (tv_clock_mono_ns() - atomic_load(&rados->answered_ns)) / 1000000;

    return oldest_ms(rados) > STUCK_MS && silent_ms > STUCK_MS ? TV_ERR_TIMED_OUT : TV_OK;
}

static tv_err check(tv_engine *engine)
{
    tv_rados_engine *rados = tv_rados_of(engine);
    tv_err err = check_reads(engine);

    if (err)
        return err;
    if (oldest_ms(rados) > STUCK_MS)
        return TV_ERR_OVERLOADED;
    return atomic_load(&rados->is_full) ? TV_ERR_DISK_FULL : TV_OK;
}

static void metrics(tv_engine *engine, tv_metric_fn *report, void *ctx)
{
    tv_rados_engine *rados = tv_rados_of(engine);
    tv_map *map = tv_maps_get(rados->maps);

    report(ctx, "ranges", "Ranges that the store is cut into.", (double)map->count);
    tv_map_unref(map);
    report(ctx, "rados_read_ops_total", "Read operations.", (double)rados->reads.ops);
    report(ctx, "rados_read_keys_total", "Rows asked for by read operations.",
           (double)rados->reads.rows);
    report(ctx, "rados_read_bytes_total", "Bytes of rows that were read.",
           (double)rados->reads.bytes);
    report(ctx, "rados_write_ops_total", "Write operations.", (double)rados->writes.ops);
    report(ctx, "rados_write_keys_total", "Rows changed by write operations.",
           (double)rados->writes.rows);
    report(ctx, "rados_write_bytes_total", "Bytes sent by write operations.",
           (double)rados->writes.bytes);
    report(ctx, "rados_conflicts_total", "Write operations refused for what a row held.",
           (double)rados->conflicts);
    report(ctx, "rados_clock_refusals_total",
           "Write operations refused because another node's clock is ahead.",
           (double)rados->clock_refusals);
    report(ctx, "rados_moved_total", "Write operations refused because a range has changed.",
           (double)rados->moved);
    report(ctx, "rados_conflict_share",
           "Share of the write operations of the last full minute refused for what a row held.",
           atomic_load(&rados->minute.conflict_share));
    report(ctx, "rados_clock_refused_share",
           "Share of them refused because another node has written at a later instant.",
           atomic_load(&rados->minute.clock_share));
    report(ctx, "rados_lead_seconds",
           "How far instants run ahead of the clock, after refusals for them.",
           (double)tv_instant_lead() / TV_TICKS_PER_SECOND);
    report(ctx, "rados_moved_share", "Share of them refused because a range has changed.",
           atomic_load(&rados->minute.moved_share));
    report(ctx, "rados_oldest_op_ms", "Age of the oldest operation under way.",
           (double)oldest_ms(rados));
    report(ctx, "pool_free_bytes", "Free bytes of the pool.", (double)rados->space_free_bytes);
    report(ctx, "pool_is_full", "1 while writes are refused for lack of space in the pool.",
           atomic_load(&rados->is_full) ? 1 : 0);
}

static void report_histogram(const tv_rados_meter *meter, const char *name, const char *help,
                             tv_histogram_fn *report, void *ctx)
{
    uint64_t slots[TV_RADOS_METER_SLOTS];

    for (int i = 0; i < TV_RADOS_METER_SLOTS; i++)
        slots[i] = atomic_load(&meter->us_slots[i]);
    report(ctx, name, help, slots, TV_RADOS_METER_SLOTS, (double)atomic_load(&meter->us));
}

static void histograms(tv_engine *engine, tv_histogram_fn *report, void *ctx)
{
    tv_rados_engine *rados = tv_rados_of(engine);

    report_histogram(&rados->reads, "rados_read_op_us", "Microseconds that a read operation took.",
                     report, ctx);
    report_histogram(&rados->writes, "rados_write_op_us",
                     "Microseconds that a write operation took.", report, ctx);
}

/* --- the keeper --- */

static void look_at_space(tv_rados_engine *rados)
{
    tv_pool_space space;

    if (rados->reserve_percent == 0 || rados->pool->ops->space(rados->pool, &space) != TV_OK)
        return;

    bool is_full = space.free_bytes < space.bytes / 100 * (uint64_t)rados->reserve_percent;

    atomic_store(&rados->space_bytes, space.bytes);
    atomic_store(&rados->space_free_bytes, space.free_bytes);
    if (atomic_exchange(&rados->is_full, is_full) == is_full)
        return;
    if (is_full)
        tv_log(TV_LOG_ERROR, "pool_full",
               "free_bytes=%llu bytes=%llu reserve_percent=%d "
               "effect=\"writes are refused, reads and deletes go on\"",
               (unsigned long long)space.free_bytes, (unsigned long long)space.bytes,
               rados->reserve_percent);
    else
        tv_log(TV_LOG_INFO, "pool_has_space",
               "free_bytes=%llu bytes=%llu effect=\"writes are accepted again\"",
               (unsigned long long)space.free_bytes, (unsigned long long)space.bytes);
}

static void end_minute(tv_rados_engine *rados)
{
    uint64_t ops = rados->writes.ops, conflicts = rados->conflicts;
    uint64_t clock_refusals = rados->clock_refusals, moved = rados->moved;
    double since = ops > rados->minute.ops ? (double)(ops - rados->minute.ops) : 1;

    atomic_store(&rados->minute.conflict_share,
                 (double)(conflicts - rados->minute.conflicts) / since);
    atomic_store(&rados->minute.clock_share,
                 (double)(clock_refusals - rados->minute.clock_refusals) / since);
    atomic_store(&rados->minute.moved_share, (double)(moved - rados->minute.moved) / since);
    rados->minute.ops = ops;
    rados->minute.conflicts = conflicts;
    rados->minute.clock_refusals = clock_refusals;
    rados->minute.moved = moved;
}

static void look(tv_rados_engine *rados, tv_err *last_err)
{
    tv_err err = tv_maps_refresh(rados->maps);

    if (++rados->minute.looks % MINUTE_LOOKS == 0)
        end_minute(rados);

    if (err && err != *last_err)
        tv_log(TV_LOG_ERROR, "map", "problem=%s note=\"the old map stays in use\"",
               tv_err_name(err));
    *last_err = err;
    look_at_space(rados);
}

/*
 * A small read that goes to the cluster while others do not come back: a client whose only
 * operation lost its answer, because a placement group has moved, hears of no new
 * map of the cluster unless it asks for something.
 */
typedef struct nudge {
    tv_rados_engine *rados;
    tv_pool_read read;
    tv_arena arena;
    tv_slice key;
    atomic_bool is_under_way;
} nudge;

static void nudge_done(tv_pool_read *read)
{
    nudge *n = read->ctx;

    atomic_store(&n->rados->answered_ns, tv_clock_mono_ns());
    atomic_store(&n->is_under_way, false);
}

static void send_nudge(tv_rados_engine *rados, nudge *n)
{
    if (atomic_load(&n->is_under_way))
        return;

    atomic_store(&n->is_under_way, true);
    tv_arena_reset(&n->arena);
    n->key = TV_ROUTE_VERSION_ROW;
    n->read = (tv_pool_read){
        .object = TV_ROUTE_OBJECT,
        .kind = TV_POOL_READ_KEYS,
        .keys = &n->key,
        .key_count = 1,
        .arena = &n->arena,
        .done = nudge_done,
        .ctx = n,
    };
    rados->pool->ops->read(rados->pool, &n->read);
}

static void keeper_run(tv_background *background, void *ctx)
{
    tv_rados_engine *rados = ctx;
    tv_err last_err = TV_OK;
    nudge n = {.rados = rados};

    tv_arena_init(&n.arena);
    for (int ticks = 1; tv_background_sleep(background, KEEPER_TICK_MS); ticks++) {
        if (oldest_ms(rados) > STALE_MS)
            send_nudge(rados, &n);
        else if (ticks % KEEPER_LOOK_TICKS == 0)
            look(rados, &last_err);
    }
    while (atomic_load(&n.is_under_way))
        rados->pool->ops->pause(rados->pool, PAUSE_FIRST_MS);
    tv_arena_done(&n.arena);
}

/* --- open and close --- */

static void close_engine(tv_engine *engine)
{
    tv_rados_engine *rados = tv_rados_of(engine);

    if (rados->has_keeper)
        tv_background_done(&rados->keeper);
    tv_background_done(&rados->router);
    tv_assert(rados->ops.next == &rados->ops);
    tv_maps_close(rados->maps);
    pthread_mutex_destroy(&rados->ops_lock);
    free(rados);
}

static const tv_engine_ops ops = {
    .name = "rados",
    .is_shared = true,
    .has_snapshots = false,
    .get = tv_rados_get,
    .iter_new = tv_rados_iter_new,
    .write = tv_rados_write,
    .read = tv_rados_read,
    .get_many = tv_rados_get_many,
    .range_of = range_of,
    .fence = fence,
    .fences = fences,
    .drop_range = drop_range,
    .backup = backup,
    .check = check,
    .check_reads = check_reads,
    .metrics = metrics,
    .histograms = histograms,
    .close = close_engine,
};

static tv_err open_store(const tv_rados_options *options, tv_maps **ret_maps, char *reterr_text,
                         size_t reterr_size)
{
    int64_t level = options->level ? options->level : TV_ROUTE_LEVEL;
    tv_routes routes = {0};
    tv_err err;

    err = tv_routes_create(options->pool, options->cuts, options->cut_count);
    if (err == TV_OK)
        err = tv_routes_load_version(options->pool, &routes);
    if (err == TV_OK && routes.format != TV_ROUTE_FORMAT) {
        snprintf(reterr_text, reterr_size,
                 "the pool holds a store of format %lld; this tavolad reads format %d",
                 (long long)routes.format, TV_ROUTE_FORMAT);
        return TV_ERR_CORRUPT;
    }
    if (err == TV_OK && routes.level > level) {
        snprintf(reterr_text, reterr_size,
                 "the pool is used by newer nodes (level %lld); this tavolad knows level %lld",
                 (long long)routes.level, (long long)level);
        return TV_ERR_CORRUPT;
    }
    if (err == TV_OK)
        err = tv_maps_open_level(options->pool, level, ret_maps);
    if (err == TV_ERR_CORRUPT)
        snprintf(reterr_text, reterr_size,
                 "the pool's object " TV_ROUTE_OBJECT " cannot be understood: the pool holds "
                 "something else, or is damaged");
    else if (err)
        snprintf(reterr_text, reterr_size, "cannot open the store in the pool: %s",
                 tv_pool_problem(err));
    return err;
}

/* Always the same for an address, so that simulations repeat themselves. */
static uint64_t number_of(const char *address)
{
    uint64_t number = 0;

    for (; *address; address++)
        number = number * 31 + (unsigned char)*address;
    return number;
}

tv_err tv_rados_engine_open(const tv_rados_options *options, tv_engine **ret_engine,
                            char *reterr_text, size_t reterr_size)
{
    tv_rados_engine *rados;
    tv_maps *maps;
    tv_err err;

    err = open_store(options, &maps, reterr_text, reterr_size);
    if (err)
        return err;

    rados = tv_calloc(1, sizeof *rados);
    rados->base.ops = &ops;
    rados->pool = options->pool;
    rados->maps = maps;
    tv_maps_set_on_newer(maps, options->on_newer, options->ctx);
    rados->reserve_percent = options->reserve_percent;
    rados->slot = tv_rados_slot(number_of(rados->pool->ops->address(rados->pool)));
    rados->strays_end = &rados->strays;
    rados->ops.next = rados->ops.before = &rados->ops;
    rados->has_keeper = !options->has_no_keeper;
    tv_assert(pthread_mutex_init(&rados->ops_lock, NULL) == 0);
    tv_background_start(
        &rados->router,
        &(tv_background_options){.name = "router", .run = tv_rados_router_run, .ctx = rados});
    look_at_space(rados);
    if (rados->has_keeper)
        tv_background_start(&rados->keeper, &(tv_background_options){
                                                .name = "keeper", .run = keeper_run, .ctx = rados});
    *ret_engine = &rados->base;
    return TV_OK;
}

void tv_rados_set_before_use(tv_engine *engine, tv_err (*before_use)(void *ctx), void *ctx)
{
    tv_maps_set_before_use(tv_rados_of(engine)->maps, before_use, ctx);
}

tv_pool *tv_rados_pool(tv_engine *engine)
{
    return tv_rados_of(engine)->pool;
}

tv_maps *tv_rados_maps(tv_engine *engine)
{
    return tv_rados_of(engine)->maps;
}
