/*
 * The end of every change of ranges: forward when it is published, back when it is not.  Whoever
 * began it comes here, and whoever finds it left behind; any number of them at the same time,
 * also one that slept for a day in the middle.  Every step is refused where it is out of date.
 */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/hash.h"
#include "store/engine/rados/range_work.h"

/* Looks at tv.route until a change gets through: others change it a few times a second at most. */
enum { ATTEMPTS_MAX = 1000, PAUSE_MS = 2 };

/*
 * Give a range object its new epoch from whichever of the two it has: the splitter may freeze it
 * at this very moment.  Any other epoch says that it was done.
 */
static tv_err leave_epochs(tv_range_work *work, tv_slice object, tv_slice frozen, tv_slice old,
                           tv_slice epoch)
{
    for (;;) {
        tv_slice now;
        tv_err err = tv_range_set_epochs(work, object, frozen, epoch);

        if (err == TV_ERR_CONFLICT)
            err = tv_range_set_epochs(work, object, old, epoch);
        if (err != TV_ERR_CONFLICT)
            return tv_range_or_done(err);
        err = tv_range_attr(work, object, TV_RANGE_WRITE_EPOCH, &now);
        if (err)
            return tv_range_or_done(err);
        if (!tv_slice_eq(now, frozen) && !tv_slice_eq(now, old))
            return TV_OK;
    }
}

static tv_err remove_object(tv_range_work *work, tv_slice object, tv_slice epoch_is)
{
    const tv_pool_step remove = {TV_POOL_REMOVE, TV_NONE, TV_NONE};

    return tv_range_or_done(tv_range_step(work, object, epoch_is, &remove, 1));
}

/* --- forward --- */

static tv_err finish_split(tv_range_work *work, const tv_intent *intent)
{
    tv_arena *arena = &work->arena;
    const tv_pool_step open = {TV_POOL_SET_ATTR, TV_RANGE_WRITE_EPOCH, intent->new_epoch};
    tv_slice closed = tv_range_closed(arena, intent->id);
    tv_err err;

    err = tv_point("split.8");
    if (TV_MUTANT(OPEN_B_FIRST) && !err)
        err = tv_range_or_done(tv_range_step(work, intent->other, closed, &open, 1));
    if (TV_MUTANT(OPEN_B_FIRST) && !err)
        err = tv_point("mutant");
    if (!err)
        err = tv_range_or_done(tv_range_set_epochs(
            work, intent->object, tv_range_frozen(arena, intent->id), intent->new_epoch));
    if (!err)
        err = tv_point("split.9");
    if (!err)
        err = tv_range_or_done(tv_range_step(work, intent->other, closed, &open, 1));
    if (!err)
        err = tv_point("split.10");
    return err;
}

/* Also of a drop. */
static tv_err finish_merge(tv_range_work *work, const tv_intent *intent)
{
    const tv_pool_step steps[] = {
        {TV_POOL_ATTR_IS, TV_RANGE_MERGE, intent->id},
        {TV_POOL_SET_ATTR, TV_RANGE_WRITE_EPOCH, intent->new_epoch},
        {TV_POOL_SET_ATTR, TV_RANGE_READ_EPOCH, intent->new_epoch},
        {TV_POOL_SET_ATTR, TV_RANGE_MERGE, TV_LIT("")},
    };
    tv_err err;

    err = tv_point("merge.7");
    if (!err)
        err = remove_object(work, intent->other, tv_range_frozen(&work->arena, intent->id));
    if (!err)
        err = tv_point("merge.8");
    if (!err)
        err = tv_range_or_done(tv_pool_change_now(
            work->pool, tv_range_text(&work->arena, intent->object), steps, 4, NULL));
    if (!err)
        err = tv_point("merge.9");
    return err;
}

/* A fence has an intent on each of its ranges, all with one id. */
static tv_err finish_fence(tv_range_work *work, tv_slice id)
{
    tv_err err = tv_point("fence.2");

    for (size_t i = 0; i < work->routes.intent_count && !err; i++) {
        const tv_intent *intent = &work->routes.intents[i];

        if (!tv_slice_eq(intent->id, id) || TV_MUTANT(NO_FENCE))
            continue;
        err = tv_range_or_done(
            tv_range_set_epochs(work, intent->object, intent->epoch, intent->new_epoch));
        if (!err)
            err = tv_point("fence.2.range");
    }
    return err ? err : tv_point("fence.3");
}

/* --- back --- */

static tv_err undo_split(tv_range_work *work, const tv_intent *intent)
{
    tv_arena *arena = &work->arena;
    tv_slice epoch = TV_MUTANT(SAME_EPOCH) ? intent->epoch : tv_range_undone(arena, intent->id);
    tv_err err;

    err = tv_point("undo.split.1");
    if (!err)
        err = remove_object(work, intent->other, tv_range_closed(arena, intent->id));
    if (!err)
        err = tv_point("undo.split.2");
    if (!err && TV_MUTANT(SAME_EPOCH))
        err = tv_range_or_done(
            tv_range_set_epochs(work, intent->object, tv_range_frozen(arena, intent->id), epoch));
    else if (!err)
        err = leave_epochs(work, intent->object, tv_range_frozen(arena, intent->id), intent->epoch,
                           epoch);
    return err ? err : tv_point("undo.split.3");
}

static tv_err undo_merge(tv_range_work *work, const tv_intent *intent)
{
    tv_arena *arena = &work->arena;
    tv_slice left = tv_range_undone(arena, intent->id);
    const tv_pool_step changes[] = {
        {TV_POOL_DELETE_ROWS, intent->cut, tv_route_end(intent->end)},
        {TV_POOL_SET_ATTR, TV_RANGE_WRITE_EPOCH, left},
        {TV_POOL_SET_ATTR, TV_RANGE_READ_EPOCH, left},
        {TV_POOL_SET_ATTR, TV_RANGE_MERGE, TV_LIT("")},
    };
    tv_err err;

    err = tv_point("undo.merge.1");
    if (!err)
        err = tv_range_or_done(tv_range_step(work, intent->object, intent->epoch, changes, 4));
    if (!err)
        err = tv_point("undo.merge.2");
    if (!err)
        err = leave_epochs(work, intent->other, tv_range_frozen(arena, intent->id),
                           intent->other_epoch, tv_range_undone_right(arena, intent->id));
    return err ? err : tv_point("undo.merge.3");
}

/* Nobody publishes it any more: ranges have the epochs that their objects are about to get. */
static tv_err begin_undo(tv_range_work *work, const tv_intent *intent)
{
    tv_arena *arena = &work->arena;
    tv_route_change change;
    tv_intent undone = *intent;
    tv_route left = work->routes.ranges[tv_routes_find(&work->routes, intent->start)];

    undone.stage = TV_INTENT_UNDONE;
    if (!TV_MUTANT(SAME_EPOCH) || intent->kind != TV_INTENT_SPLIT)
        left.epoch = tv_range_undone(arena, intent->id);
    tv_route_change_init(&change, arena);
    tv_route_change_put(&change, tv_route_key(arena, TV_ROUTE_INTENT, intent->start),
                        tv_intent_encode(arena, &undone));
    tv_route_change_put(&change, tv_route_key(arena, TV_ROUTE_RANGE, left.start),
                        tv_route_encode(arena, &left));
    if (intent->kind != TV_INTENT_SPLIT) {
        tv_route right = work->routes.ranges[tv_routes_find(&work->routes, intent->cut)];

        tv_assert(tv_slice_eq(right.start, intent->cut));
        right.epoch = tv_range_undone_right(arena, intent->id);
        tv_route_change_put(&change, tv_route_key(arena, TV_ROUTE_RANGE, right.start),
                            tv_route_encode(arena, &right));
    }
    return tv_route_change_commit(&change, work->pool, work->routes.version);
}

/* --- the end: the intent goes --- */

/* Rows of [from, to), or more of them, lie in the object and are not the range's. */
static void add_dirty(tv_route *route, tv_slice from, tv_slice to)
{
    bool was_dirty = route->dirty_from.len || route->dirty_to.len;

    if (!was_dirty || tv_slice_cmp(from, route->dirty_from) < 0)
        route->dirty_from = from;
    if (!was_dirty || to.len == 0 || (route->dirty_to.len && tv_slice_cmp(to, route->dirty_to) > 0))
        route->dirty_to = to;
}

/* The range has grown up to `end`, and what was before that is removed. */
static void cut_dirty(tv_route *route, tv_slice end)
{
    if (route->dirty_from.len == 0 && route->dirty_to.len == 0)
        return;
    if (end.len == 0 || (route->dirty_to.len && tv_slice_cmp(route->dirty_to, end) <= 0))
        route->dirty_from = route->dirty_to = TV_LIT("");
    else if (tv_slice_cmp(route->dirty_from, end) < 0)
        route->dirty_from = end;
}

static void end_fence(tv_range_work *work, tv_slice id, tv_route_change *change)
{
    tv_arena *arena = &work->arena;
    tv_buf drops = TV_BUF_EMPTY;

    for (size_t i = 0; i < work->routes.intent_count; i++) {
        const tv_intent *intent = &work->routes.intents[i];

        if (!tv_slice_eq(intent->id, id))
            continue;

        tv_route route = work->routes.ranges[tv_routes_find(&work->routes, intent->start)];

        if (!TV_MUTANT(NO_FENCE))
            route.epoch = intent->new_epoch;
        tv_route_change_put(change, tv_route_key(arena, TV_ROUTE_RANGE, route.start),
                            tv_route_encode(arena, &route));
        tv_route_change_delete(change, tv_route_key(arena, TV_ROUTE_INTENT, intent->start));
    }
    tv_words_add_number(&drops, (int64_t)work->routes.drops + 1);
    tv_route_change_put(change, TV_ROUTE_DROPS_ROW, tv_arena_dup(arena, tv_buf_slice(&drops)));
    tv_buf_done(&drops);
}

static tv_err end_intent(tv_range_work *work, const tv_intent *intent)
{
    tv_arena *arena = &work->arena;
    tv_route route = work->routes.ranges[tv_routes_find(&work->routes, intent->start)];
    bool was_dirty = route.dirty_from.len || route.dirty_to.len;
    tv_route_change change;

    tv_route_change_init(&change, arena);
    if (intent->kind == TV_INTENT_FENCE) {
        end_fence(work, intent->id, &change);
        return tv_route_change_commit(&change, work->pool, work->routes.version);
    }

    tv_route_change_delete(&change, tv_route_key(arena, TV_ROUTE_INTENT, intent->start));
    if (intent->kind != TV_INTENT_SPLIT || intent->stage == TV_INTENT_PUBLISHED)
        tv_route_change_delete(&change, tv_route_key(arena, TV_ROUTE_LOCK, intent->cut));
    if (intent->kind == TV_INTENT_SPLIT && intent->stage == TV_INTENT_PUBLISHED)
        add_dirty(&route, intent->cut, intent->end);
    if (intent->kind != TV_INTENT_SPLIT && was_dirty)
        cut_dirty(&route, intent->end);
    if (intent->stage == TV_INTENT_PUBLISHED)
        tv_route_change_put(&change, tv_route_key(arena, TV_ROUTE_RANGE, route.start),
                            tv_route_encode(arena, &route));
    if (intent->stage == TV_INTENT_UNDONE)
        tv_range_add_event(work, &change,
                           (tv_route_event){
                               .op = tv_intent_kind_name(intent->kind),
                               .range = intent->object,
                               .key = intent->cut,
                               .reason = TV_LIT(""),
                               .outcome = TV_LIT("undone"),
                               .total_ms = tv_clock_unix_ms() > intent->began_ms
                                               ? tv_clock_unix_ms() - intent->began_ms
                                               : 0,
                           });
    return tv_route_change_commit(&change, work->pool, work->routes.version);
}

/* Whatever it needs next, after a look at tv.route. */
static tv_err go_on(tv_range_work *work, const tv_intent *intent)
{
    tv_err err;

    if (intent->kind != TV_INTENT_FENCE && intent->stage == TV_INTENT_BEGUN)
        return begin_undo(work, intent);
    if (intent->kind == TV_INTENT_FENCE)
        err = finish_fence(work, intent->id);
    else if (intent->kind == TV_INTENT_SPLIT)
        err = intent->stage == TV_INTENT_PUBLISHED ? finish_split(work, intent)
                                                   : undo_split(work, intent);
    else
        err = intent->stage == TV_INTENT_PUBLISHED ? finish_merge(work, intent)
                                                   : undo_merge(work, intent);
    return err ? err : end_intent(work, intent);
}

tv_err tv_range_finish(tv_range_work *work, tv_slice id)
{
    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        const tv_intent *intent;
        tv_err err;

        err = tv_range_work_load(work);
        if (err)
            return err;
        intent = tv_range_find_intent(&work->routes, id);
        if (intent == NULL)
            return TV_OK;
        err = go_on(work, intent);
        if (err && err != TV_ERR_CONFLICT)
            return err;
        if (err)
            work->pool->ops->pause(work->pool, PAUSE_MS);
    }
    return TV_ERR_CONFLICT;
}

tv_err tv_range_give_up(tv_range_work *work, tv_slice id, tv_err err)
{
    tv_err undo_err;

    if (err == TV_ERR_STOPPED)
        return err;
    undo_err = tv_range_finish(work, id);
    if (undo_err == TV_ERR_STOPPED)
        return undo_err;
    /* An object that is gone was removed by who gave the change up before. */
    return err == TV_ERR_NOT_FOUND ? TV_ERR_CONFLICT : err;
}

/* --- by others --- */

tv_err tv_range_recover_id(const tv_range_changer *changer, tv_slice id)
{
    tv_range_work work;
    tv_err err;

    tv_range_work_init(&work, changer);
    err = tv_range_finish(&work, tv_arena_dup(&work.keep, id));
    tv_range_work_done(&work);
    return err;
}

tv_err tv_range_recover(const tv_range_changer *changer, tv_slice key)
{
    tv_range_work work;
    tv_slice id;
    tv_err err;

    tv_range_work_init(&work, changer);
    err = tv_range_work_load(&work);
    if (!err && tv_range_is_held(&work.routes,
                                 work.routes.ranges[tv_routes_find(&work.routes, key)].start, &id))
        err = tv_range_finish(&work, tv_arena_dup(&work.keep, id));
    tv_range_work_done(&work);
    return err;
}

enum { SEEN_MAX = sizeof((tv_range_watch *)0)->seen / sizeof((tv_range_watch *)0)->seen[0] };

/* What the copy of a split or a merge has told last; 0 when there is none. */
static uint64_t read_beat(tv_range_work *work, const tv_intent *intent)
{
    tv_slice beat;

    if (intent->stage != TV_INTENT_BEGUN ||
        tv_range_attr(work, intent->kind == TV_INTENT_SPLIT ? intent->other : intent->object,
                      TV_RANGE_BEAT, &beat))
        return 0;
    return tv_hash(beat);
}

/* Whether nobody is at work on it any more, or for too long. */
static bool is_stuck(const tv_intent *intent, uint64_t beat, tv_range_stuck *stuck, int64_t now_ms)
{
    bool is_same = tv_slice_eq(tv_slice_of(stuck->id), intent->id);

    if (!is_same || stuck->stage != intent->stage || stuck->beat != beat) {
        stuck->first_ms = is_same ? stuck->first_ms : now_ms;
        stuck->since_ms = now_ms;
        stuck->stage = intent->stage;
        stuck->beat = beat;
        snprintf(stuck->id, sizeof stuck->id, "%.*s", TV_FMT(intent->id));
    }
    return now_ms - stuck->since_ms >= TV_RANGE_STILL_MS ||
           now_ms - stuck->first_ms >= TV_RANGE_PAUSE_MS_MAX;
}

tv_err tv_range_recover_stuck(const tv_range_changer *changer, tv_slice key, tv_range_stuck *stuck,
                              int64_t now_ms)
{
    tv_range_work work;
    const tv_intent *intent = NULL;
    tv_slice id;
    tv_err err;

    tv_range_work_init(&work, changer);
    err = tv_range_work_load(&work);
    if (!err && tv_range_is_held(&work.routes,
                                 work.routes.ranges[tv_routes_find(&work.routes, key)].start, &id))
        intent = tv_range_find_intent(&work.routes, id);
    if (intent && is_stuck(intent, read_beat(&work, intent), stuck, now_ms))
        err = tv_range_finish(&work, tv_arena_dup(&work.keep, id));
    tv_range_work_done(&work);
    return err;
}

/* Since when the intent is seen as it is; now if it is new. */
static int64_t seen_since(tv_range_watch *watch, const tv_intent *intent, uint64_t beat,
                          int64_t now_ms)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->seen[i].stage == intent->stage && watch->seen[i].beat == beat &&
            tv_slice_eq(tv_slice_of(watch->seen[i].id), intent->id))
            return watch->seen[i].since_ms;
    return now_ms;
}

tv_err tv_range_recover_old(const tv_range_changer *changer, tv_range_watch *watch, int64_t now_ms)
{
    tv_range_watch now = {.count = 0};
    tv_range_work work;
    tv_err err;

    tv_range_work_init(&work, changer);
    err = tv_range_work_load(&work);
    for (size_t i = 0; !err && i < work.routes.intent_count && now.count < SEEN_MAX; i++) {
        const tv_intent *intent = &work.routes.intents[i];

        uint64_t beat = read_beat(&work, intent);

        now.seen[now.count].beat = beat;
        now.seen[now.count].since_ms = seen_since(watch, intent, beat, now_ms);
        now.seen[now.count].stage = intent->stage;
        snprintf(now.seen[now.count].id, sizeof now.seen[0].id, "%.*s", TV_FMT(intent->id));
        now.count++;
    }
    if (!err)
        *watch = now;
    for (size_t i = 0; !err && i < now.count; i++)
        if (now_ms - now.seen[i].since_ms >= TV_RANGE_INTENT_MS)
            err = tv_range_finish(&work, tv_slice_of(now.seen[i].id));
    tv_range_work_done(&work);
    return err;
}
