/* A merge, and the drop of a whole range, up to their publication; recover.c has the rest. */
#include "store/engine/rados/merge.h"
#include "base/clock.h"

/* What a merge works on.  All kept. */
typedef struct merge {
    tv_range_work *work;
    tv_intent intent;
    tv_slice frozen;
    tv_copy copy;
    int64_t frozen_ns; /* 0: not yet */
} merge;

/* 1. */
static tv_err begin(merge *m, tv_slice start, tv_intent_kind kind)
{
    tv_range_work *work = m->work;
    tv_arena *keep = &work->keep, *arena = &work->arena;
    tv_route_change change;
    size_t index;
    tv_slice held_by;
    tv_err err;

    err = tv_range_work_load(work);
    if (err)
        return err;

    index = tv_routes_find(&work->routes, start);
    if (index == 0 || !tv_slice_eq(work->routes.ranges[index].start, start))
        return TV_ERR_NOT_FOUND;

    const tv_route *left = &work->routes.ranges[index - 1], *right = left + 1;

    if (tv_range_is_held(&work->routes, left->start, &held_by) ||
        tv_range_is_held(&work->routes, right->start, &held_by))
        return TV_ERR_CONFLICT;

    tv_slice id = tv_range_new_id(work);

    m->intent = (tv_intent){
        .start = tv_arena_dup(keep, left->start),
        .kind = kind,
        .stage = TV_INTENT_BEGUN,
        .id = id,
        .by = work->changer->incarnation,
        .object = tv_arena_dup(keep, left->object),
        .epoch = tv_arena_dup(keep, left->epoch),
        .cut = tv_arena_dup(keep, right->start),
        .end = tv_arena_dup(keep, tv_routes_end(&work->routes, index)),
        .other = tv_arena_dup(keep, right->object),
        .new_epoch = id,
        .other_epoch = tv_arena_dup(keep, right->epoch),
        .began_ms = tv_clock_unix_ms(),
    };
    m->frozen = tv_range_frozen(keep, id);

    tv_route_change_init(&change, arena);
    tv_route_change_put(&change, tv_route_key(arena, TV_ROUTE_INTENT, m->intent.start),
                        tv_intent_encode(arena, &m->intent));
    tv_route_change_put(&change, tv_route_key(arena, TV_ROUTE_LOCK, m->intent.cut),
                        tv_route_lock_encode(arena, &(tv_route_lock){m->intent.cut, id}));
    return tv_route_change_commit(&change, work->pool, work->routes.version);
}

/* 2.  One operation: nobody may put rows there before what is left of others is gone. */
static tv_err make_room(merge *m)
{
    const tv_pool_step changes[] = {
        {TV_POOL_SET_ATTR, TV_RANGE_MERGE, m->intent.id},
        {TV_POOL_DELETE_ROWS, m->intent.cut, tv_route_end(m->intent.end)},
    };

    return tv_range_step(m->work, m->intent.object, m->intent.epoch, changes,
                         TV_MUTANT(NO_MERGE_CLEANING) ? 1 : 2);
}

/* 3.  A drop needs no rows. */
static tv_err copy_rows(merge *m)
{
    if (m->intent.kind == TV_INTENT_DROP)
        return TV_OK;
    return tv_copy_ahead(&m->copy, (tv_copy_guard){TV_RANGE_READ_EPOCH, m->intent.other_epoch});
}

/* 4. */
static tv_err freeze(merge *m)
{
    const tv_pool_step freeze = {TV_POOL_SET_ATTR, TV_RANGE_WRITE_EPOCH, m->frozen};

    m->frozen_ns = tv_clock_mono_ns();
    return tv_range_step(m->work, m->intent.other, m->intent.other_epoch, &freeze, 1);
}

/* The left clock is the later of the two; its range is written to all the time. */
static tv_err raise_clock(merge *m, size_t which)
{
    tv_slice attr, clock, now;
    tv_err err;

    err = tv_range_clock(m->work, m->intent.other, which, &attr, &clock);
    if (err || clock.len == 0)
        return err;

    const tv_pool_step steps[] = {
        {TV_POOL_ATTR_IS, TV_RANGE_MERGE, m->intent.id},
        {TV_POOL_ATTR_BELOW, attr, clock},
        {TV_POOL_SET_ATTR, attr, clock},
    };

    err = tv_pool_change_now(m->work->pool, tv_range_text(&m->work->keep, m->intent.object), steps,
                             3, NULL);
    if (err != TV_ERR_CONFLICT)
        return err;

    /* It is later already, unless somebody has given the merge up. */
    err = tv_range_attr(m->work, m->intent.object, TV_RANGE_MERGE, &now);
    if (err)
        return err;
    return tv_slice_eq(now, m->intent.id) ? TV_OK : TV_ERR_CONFLICT;
}

/* 5. */
static tv_err copy_changed(merge *m)
{
    size_t changed;
    tv_err err = TV_OK;

    if (!TV_MUTANT(NO_MERGE_SECOND_READ))
        err = tv_copy_again(&m->copy, (tv_copy_guard){TV_RANGE_WRITE_EPOCH, m->frozen}, &changed);
    for (size_t i = 0; i < TV_RANGE_CLOCKS && err == TV_OK; i++)
        err = raise_clock(m, i);
    return err;
}

/* 6. */
static tv_err publish(merge *m, tv_slice reason, const tv_range_result *result)
{
    return tv_range_publish(m->work, &m->intent, m->frozen_ns,
                            (tv_route_event){.op = tv_intent_kind_name(m->intent.kind),
                                             .reason = reason,
                                             .rows = (int64_t)result->rows});
}

/* The steps 2 to 6. */
static tv_err carry_out(merge *m, tv_slice reason, tv_range_result *result)
{
    tv_err err = TV_OK;

    TV_RANGE_DO(err, "merge.2", make_room(m));
    TV_RANGE_DO(err, "merge.3", copy_rows(m));
    TV_RANGE_DO(err, "merge.4", freeze(m));
    TV_RANGE_DO(err, "merge.5", copy_changed(m));
    result->rows = m->copy.rows;
    result->bytes = m->copy.bytes;
    TV_RANGE_DO(err, "merge.6", publish(m, reason, result));
    result->is_published = !err;
    return err;
}

tv_err tv_range_join_left(const tv_range_changer *changer, tv_slice start, tv_intent_kind kind,
                          tv_slice reason, tv_range_result *ret_result)
{
    tv_range_result result = {0};
    tv_range_work work;
    merge m = {.work = &work};
    tv_err err;

    tv_range_work_init(&work, changer);
    err = tv_point("merge.1");
    if (!err)
        err = begin(&m, start, kind);
    if (err)
        goto out;

    m.copy = (tv_copy){
        .pool = work.pool,
        .source = tv_range_text(&work.keep, m.intent.other),
        .target = tv_range_text(&work.keep, m.intent.object),
        .target_guard = {TV_RANGE_MERGE, m.intent.id},
        .from = m.intent.cut,
        .to = m.intent.end,
    };
    tv_copy_init(&m.copy);
    err = carry_out(&m, reason, &result);
    tv_copy_done(&m.copy);
    err = err ? tv_range_give_up(&work, m.intent.id, err) : tv_range_finish(&work, m.intent.id);
    result.paused_ms = m.frozen_ns ? tv_range_ms_since(m.frozen_ns) : 0;

out:
    result.total_ms = tv_range_ms_since(work.begin_ns);
    *ret_result = result;
    tv_range_work_done(&work);
    return err;
}

tv_err tv_range_merge(const tv_range_changer *changer, tv_slice start, tv_slice reason,
                      tv_range_result *ret_result)
{
    return tv_range_join_left(changer, start, TV_INTENT_MERGE, reason, ret_result);
}
