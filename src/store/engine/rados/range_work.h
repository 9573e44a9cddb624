/*
 * What the changes of ranges.h share: a look at tv.route, a step on a range object, an event,
 * and the way to the end of a change that is published or given up.
 */
#ifndef TV_STORE_ENGINE_RADOS_RANGE_WORK_H
#define TV_STORE_ENGINE_RADOS_RANGE_WORK_H

#include "base/point.h"
#include "store/engine/mutants.h"
#include "store/engine/rados/copy.h"
#include "store/engine/rados/ranges.h"

/** One look at tv.route, and what is made of it. */
typedef struct tv_range_work {
    const tv_range_changer *changer;
    tv_pool *pool;
    tv_arena arena;   /* of the last look */
    tv_arena keep;    /* until it is done */
    tv_routes routes; /* the last look */
    int64_t begin_ns;
} tv_range_work;

void tv_range_work_init(tv_range_work *work, const tv_range_changer *changer);
void tv_range_work_done(tv_range_work *work);

/** Look at tv.route (again): what came from the look before is gone with the arena. */
tv_err tv_range_work_load(tv_range_work *work) TV_WARN_UNUSED;

/** Whether an intent or a lock is on the range of this start; its id. */
bool tv_range_is_held(const tv_routes *routes, tv_slice start, tv_slice *ret_id);

const tv_intent *tv_range_find_intent(const tv_routes *routes, tv_slice id);

/** A name, with its NUL, in the arena. */
const char *tv_range_text(tv_arena *arena, tv_slice text);
tv_slice tv_range_join(tv_arena *arena, const char *before, tv_slice text, const char *after);

/** Id of the change that the next commit begins: nobody had it before.  Kept. */
tv_slice tv_range_new_id(tv_range_work *work);

/** Epochs that come from an id. */
#define tv_range_frozen(arena, id) tv_range_join(arena, "F", id, "")
#define tv_range_closed(arena, id) tv_range_join(arena, "B", id, "")
/** What the ranges get when it is rolled back: A, and B of a merge. */
#define tv_range_undone(arena, id) tv_range_join(arena, "", id, "x")
#define tv_range_undone_right(arena, id) tv_range_join(arena, "", id, "y")

/** An operation on a range object, when its write epoch is so. */
tv_err tv_range_step(tv_range_work *work, tv_slice object, tv_slice epoch_is,
                     const tv_pool_step *changes, size_t count) TV_WARN_UNUSED;
/** Both epochs of an object, when its write epoch is so. */
tv_err tv_range_set_epochs(tv_range_work *work, tv_slice object, tv_slice epoch_is,
                           tv_slice epoch) TV_WARN_UNUSED;
/** The value of an attribute, "" when there is none. */
tv_err tv_range_attr(tv_range_work *work, tv_slice object, tv_slice attr,
                     tv_slice *ret_value) TV_WARN_UNUSED;

/** What goes with a range's rows, and only grows: its clock, and what is gone (write.c). */
enum { TV_RANGE_CLOCKS = 2 };
/** One of them for the range that rows go to: its attribute, and its value, "" when there is none.
 */
tv_err tv_range_clock(tv_range_work *work, tv_slice object, size_t which, tv_slice *ret_attr,
                      tv_slice *ret_value) TV_WARN_UNUSED;

/** One step after a point; nothing more after an error. */
#define TV_RANGE_DO(err, point, call)                                                              \
    do {                                                                                           \
        if (!(err))                                                                                \
            (err) = tv_point(point);                                                               \
        if (!(err))                                                                                \
            (err) = (call);                                                                        \
    } while (0)

/** "It may have been done before, by somebody else": a condition that did not hold is no error. */
static inline tv_err tv_range_or_done(tv_err err)
{
    return err == TV_ERR_CONFLICT || err == TV_ERR_NOT_FOUND ? TV_OK : err;
}

int64_t tv_range_ms_since(int64_t begin_ns);

/** An event for the history, in the change that ends or publishes something. */
void tv_range_add_event(tv_range_work *work, tv_route_change *change, tv_route_event event);

/**
 * The commit point of a split, a merge or a drop: the routes are as the intent says, and so is the
 * intent.  The event has what only the caller knows: op, reason, rows.  TV_ERR_CONFLICT: somebody
 * has given it up.
 */
tv_err tv_range_publish(tv_range_work *work, const tv_intent *intent, int64_t frozen_ns,
                        tv_route_event event) TV_WARN_UNUSED;

/** The work has just published it, or looks at somebody else's: do all that is left to do. */
tv_err tv_range_finish(tv_range_work *work, tv_slice id) TV_WARN_UNUSED;

/** After an error before the publication: undo it, unless we are out.  Returns the error. */
tv_err tv_range_give_up(tv_range_work *work, tv_slice id, tv_err err) TV_WARN_UNUSED;

#endif
