/* A split, up to its publication; recover.c has the rest.  The steps are those of ranges.h. */
#include "base/clock.h"
#include "store/engine/rados/range_work.h"

/* What a split works on.  All kept. */
typedef struct split {
    tv_range_work *work;
    tv_intent intent;
    tv_slice frozen, closed;
    tv_copy copy;
    int64_t frozen_ns; /* 0: not yet */
} split;

/* 1. */
static tv_err begin(split *s, tv_slice cut)
{
    tv_range_work *work = s->work;
    tv_arena *keep = &work->keep;
    const tv_route *route;
    tv_route_change change;
    size_t index;
    tv_slice held_by;
    tv_err err;

    err = tv_range_work_load(work);
    if (err)
        return err;

    index = tv_routes_find(&work->routes, cut);
    route = &work->routes.ranges[index];
    if (tv_slice_eq(route->start, cut))
        return TV_ERR_NOT_FOUND;
    if (tv_range_is_held(&work->routes, route->start, &held_by))
        return TV_ERR_CONFLICT;

    tv_slice id = tv_range_new_id(work);

    s->intent = (tv_intent){
        .start = tv_arena_dup(keep, route->start),
        .kind = TV_INTENT_SPLIT,
        .stage = TV_INTENT_BEGUN,
        .id = id,
        .by = work->changer->incarnation,
        .object = tv_arena_dup(keep, route->object),
        .epoch = tv_arena_dup(keep, route->epoch),
        .cut = tv_arena_dup(keep, cut),
        .end = tv_arena_dup(keep, tv_routes_end(&work->routes, index)),
        .other = tv_range_join(keep, TV_RANGE_OBJECT, id, ""),
        .new_epoch = id,
        .began_ms = tv_clock_unix_ms(),
    };
    s->frozen = tv_range_frozen(keep, id);
    s->closed = tv_range_closed(keep, id);

    tv_route_change_init(&change, &work->arena);
    tv_route_change_put(&change, tv_route_key(&work->arena, TV_ROUTE_INTENT, route->start),
                        tv_intent_encode(&work->arena, &s->intent));
    tv_route_change_put(&change, tv_route_key(&work->arena, TV_ROUTE_MADE, s->intent.other),
                        tv_route_made_encode(&work->arena, &(tv_route_made){s->intent.other, id,
                                                                            s->intent.began_ms}));
    return tv_route_change_commit(&change, work->pool, work->routes.version);
}

/* 2. */
static tv_err make_right(split *s)
{
    const tv_pool_step steps[] = {
        {TV_POOL_CREATE, TV_NONE, TV_NONE},
        {TV_POOL_SET_ATTR, TV_RANGE_WRITE_EPOCH, s->closed},
        {TV_POOL_SET_ATTR, TV_RANGE_READ_EPOCH, s->closed},
        {TV_POOL_PUT_ROW, TV_RANGE_SENTINEL, TV_RANGE_SENTINEL},
    };

    return tv_pool_change_now(s->work->pool, s->copy.target, steps, 4, NULL);
}

/* 3. */
static tv_err copy_rows(split *s)
{
    return tv_copy_ahead(&s->copy, (tv_copy_guard){TV_RANGE_READ_EPOCH, s->intent.epoch});
}

/* 4. */
static tv_err freeze(split *s)
{
    const tv_pool_step freeze = {TV_POOL_SET_ATTR, TV_RANGE_WRITE_EPOCH, s->frozen};

    s->frozen_ns = tv_clock_mono_ns();
    return tv_range_step(s->work, s->intent.object, s->intent.epoch, &freeze, 1);
}

/* 5. */
static tv_err copy_changed(split *s)
{
    size_t changed;

    if (TV_MUTANT(NO_SECOND_READ))
        return TV_OK;
    return tv_copy_again(&s->copy, (tv_copy_guard){TV_RANGE_WRITE_EPOCH, s->frozen}, &changed);
}

/* 6. */
static tv_err open_for_reads(split *s)
{
    tv_pool_step changes[3] = {{TV_POOL_SET_ATTR, TV_RANGE_READ_EPOCH, s->intent.new_epoch}};
    size_t count = 1;

    for (size_t i = 0; i < TV_RANGE_CLOCKS; i++) {
        tv_slice attr, clock;
        tv_err err = tv_range_clock(s->work, s->intent.object, i, &attr, &clock);

        if (err)
            return err;
        /* A range that nothing was written to has none. */
        if (clock.len)
            changes[count++] = (tv_pool_step){TV_POOL_SET_ATTR, attr, clock};
    }
    return tv_range_step(s->work, s->intent.other, s->closed, changes, count);
}

/* 7. */
static tv_err publish(split *s, tv_slice reason, const tv_range_result *result)
{
    return tv_range_publish(
        s->work, &s->intent, s->frozen_ns,
        (tv_route_event){.op = TV_LIT("split"), .reason = reason, .rows = (int64_t)result->rows});
}

/* The steps 2 to 7. */
static tv_err carry_out(split *s, tv_slice reason, tv_range_result *result)
{
    tv_err err = TV_OK;

    TV_RANGE_DO(err, "split.2", make_right(s));
    TV_RANGE_DO(err, "split.3", copy_rows(s));
    if (TV_MUTANT(PUBLISH_UNFROZEN))
        TV_RANGE_DO(err, "split.7", publish(s, reason, result));
    TV_RANGE_DO(err, "split.4", freeze(s));
    TV_RANGE_DO(err, "split.5", copy_changed(s));
    TV_RANGE_DO(err, "split.6", open_for_reads(s));
    result->rows = s->copy.rows;
    result->bytes = s->copy.bytes;
    if (!TV_MUTANT(PUBLISH_UNFROZEN))
        TV_RANGE_DO(err, "split.7", publish(s, reason, result));
    result->is_published = !err;
    return err;
}

tv_err tv_range_split(const tv_range_changer *changer, tv_slice cut, tv_slice reason,
                      tv_range_result *ret_result)
{
    tv_range_result result = {0};
    tv_range_work work;
    split s = {.work = &work};
    tv_err err;

    tv_range_work_init(&work, changer);
    err = tv_point("split.1");
    if (!err)
        err = begin(&s, cut);
    if (err)
        goto out;

    s.copy = (tv_copy){
        .pool = work.pool,
        .source = tv_range_text(&work.keep, s.intent.object),
        .target = tv_range_text(&work.keep, s.intent.other),
        .target_guard = {TV_RANGE_WRITE_EPOCH, s.closed},
        .from = s.intent.cut,
        .to = s.intent.end,
    };
    tv_copy_init(&s.copy);
    err = carry_out(&s, reason, &result);
    tv_copy_done(&s.copy);
    err = err ? tv_range_give_up(&work, s.intent.id, err) : tv_range_finish(&work, s.intent.id);
    result.paused_ms = s.frozen_ns ? tv_range_ms_since(s.frozen_ns) : 0;

out:
    result.total_ms = tv_range_ms_since(work.begin_ns);
    *ret_result = result;
    tv_range_work_done(&work);
    return err;
}
