/* See range_work.h. */
#include "store/engine/rados/range_work.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "store/engine/key.h"

#ifdef TV_MUTANTS
int tv_mutant;
#endif

void tv_range_work_init(tv_range_work *work, const tv_range_changer *changer)
{
    *work = (tv_range_work){.changer = changer, .pool = changer->pool};
    tv_arena_init(&work->arena);
    tv_arena_init(&work->keep);
    work->begin_ns = tv_clock_mono_ns();
}

void tv_range_work_done(tv_range_work *work)
{
    tv_arena_done(&work->arena);
    tv_arena_done(&work->keep);
}

tv_err tv_range_work_load(tv_range_work *work)
{
    tv_arena_reset(&work->arena);
    return tv_routes_load_all(work->pool, &work->arena, &work->routes);
}

bool tv_range_is_held(const tv_routes *routes, tv_slice start, tv_slice *ret_id)
{
    for (size_t i = 0; i < routes->intent_count; i++) {
        if (!tv_slice_eq(routes->intents[i].start, start))
            continue;
        *ret_id = routes->intents[i].id;
        return true;
    }
    for (size_t i = 0; i < routes->lock_count; i++) {
        if (!tv_slice_eq(routes->locks[i].start, start))
            continue;
        *ret_id = routes->locks[i].id;
        return true;
    }
    return false;
}

const tv_intent *tv_range_find_intent(const tv_routes *routes, tv_slice id)
{
    for (size_t i = 0; i < routes->intent_count; i++)
        if (tv_slice_eq(routes->intents[i].id, id))
            return &routes->intents[i];
    return NULL;
}

const char *tv_range_text(tv_arena *arena, tv_slice text)
{
    char *copy = tv_arena_bytes(arena, text.len + 1);

    if (text.len)
        memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return copy;
}

tv_slice tv_range_join(tv_arena *arena, const char *before, tv_slice text, const char *after)
{
    return tv_arena_printf(arena, "%s%.*s%s", before, TV_FMT(text), after);
}

tv_slice tv_range_new_id(tv_range_work *work)
{
    return tv_arena_printf(&work->keep, "c%llu", (unsigned long long)work->routes.version + 1);
}

tv_err tv_range_step(tv_range_work *work, tv_slice object, tv_slice epoch_is,
                     const tv_pool_step *changes, size_t count)
{
    tv_pool_step steps[8];

    tv_assert(count < sizeof steps / sizeof steps[0]);
    steps[0] = (tv_pool_step){TV_POOL_ATTR_IS, TV_RANGE_WRITE_EPOCH, epoch_is};
    memcpy(steps + 1, changes, count * sizeof *steps);
    return tv_pool_change_now(work->pool, tv_range_text(&work->keep, object), steps, count + 1,
                              NULL);
}

tv_err tv_range_set_epochs(tv_range_work *work, tv_slice object, tv_slice epoch_is, tv_slice epoch)
{
    const tv_pool_step changes[] = {
        {TV_POOL_SET_ATTR, TV_RANGE_WRITE_EPOCH, epoch},
        {TV_POOL_SET_ATTR, TV_RANGE_READ_EPOCH, epoch},
    };

    return tv_range_step(work, object, epoch_is, changes, 2);
}

/* All attributes, kept. */
static tv_err read_attrs(tv_range_work *work, tv_slice object, tv_pool_read *read)
{
    *read = (tv_pool_read){
        .object = tv_range_text(&work->keep, object),
        .kind = TV_POOL_READ_ATTRS,
        .arena = &work->keep,
    };
    return tv_pool_read_now(work->pool, read);
}

static tv_slice attr_in(const tv_pool_read *read, tv_slice attr)
{
    for (size_t i = 0; i < read->row_count; i++) {
        if (tv_slice_eq(read->rows[i].key, attr))
            return read->rows[i].value;
    }
    return TV_LIT("");
}

tv_err tv_range_attr(tv_range_work *work, tv_slice object, tv_slice attr, tv_slice *ret_value)
{
    tv_pool_read read;
    tv_err err = read_attrs(work, object, &read);

    if (err == TV_OK)
        *ret_value = attr_in(&read, attr);
    return err;
}

tv_err tv_range_clock(tv_range_work *work, tv_slice object, size_t which, tv_slice *ret_attr,
                      tv_slice *ret_value)
{
    tv_pool_read read;
    tv_err err = read_attrs(work, object, &read);

    if (err)
        return err;

    const tv_slice *slots = which == 0 ? tv_range_clks : tv_range_gones;

    *ret_attr = slots[0];
    *ret_value = TV_LIT("");
    if (which == 0 ? TV_MUTANT(NO_CLOCK) : TV_MUTANT(NO_GONE_MOVE))
        return TV_OK;
    for (size_t i = 0; i < TV_RANGE_SLOTS; i++) {
        tv_slice value = attr_in(&read, slots[i]);

        if (tv_slice_cmp(value, *ret_value) > 0)
            *ret_value = value;
    }
    return TV_OK;
}

int64_t tv_range_ms_since(int64_t begin_ns)
{
    return (tv_clock_mono_ns() - begin_ns) / 1000000;
}

/* Named by the version that the change makes. */
void tv_range_add_event(tv_range_work *work, tv_route_change *change, tv_route_event event)
{
    char digits[13];
    tv_slice name = {digits, sizeof digits};

    event.version = (int64_t)work->routes.version + 1;
    event.at_ms = tv_clock_unix_ms();
    tv_key_put_number(digits, event.version, sizeof digits);
    tv_route_change_put(change, tv_route_key(&work->arena, TV_ROUTE_EVENT, name),
                        tv_route_event_encode(&work->arena, &event));
}

/* What becomes of the route that a split makes, and a merge or a drop takes away. */
static void change_right(tv_range_work *work, tv_route_change *change, const tv_intent *intent)
{
    tv_arena *arena = &work->arena;
    tv_slice key = tv_route_key(arena, TV_ROUTE_RANGE, intent->cut);

    if (intent->kind != TV_INTENT_SPLIT) {
        tv_route_change_delete(change, key);
        return;
    }
    tv_route_change_put(change, key,
                        tv_route_encode(arena, &(tv_route){.start = intent->cut,
                                                           .object = intent->other,
                                                           .epoch = intent->new_epoch,
                                                           .flags = TV_LIT(""),
                                                           .hint = TV_LIT("")}));
    tv_route_change_put(change, tv_route_key(arena, TV_ROUTE_LOCK, intent->cut),
                        tv_route_lock_encode(arena, &(tv_route_lock){intent->cut, intent->id}));
    tv_route_change_delete(change, tv_route_key(arena, TV_ROUTE_MADE, intent->other));
}

tv_err tv_range_publish(tv_range_work *work, const tv_intent *intent, int64_t frozen_ns,
                        tv_route_event event)
{
    tv_arena *arena = &work->arena;
    tv_intent published = *intent;
    tv_route_change change;
    tv_err err;

    published.stage = TV_INTENT_PUBLISHED;
    event.range = intent->object;
    event.key = intent->cut;
    event.outcome = TV_LIT("done");
    /* Others change other ranges meanwhile, so the version may have moved on: look again. */
    do {
        err = tv_range_work_load(work);
        if (err)
            return err;

        const tv_intent *now = tv_range_find_intent(&work->routes, intent->id);

        if (now == NULL || now->stage != TV_INTENT_BEGUN)
            return TV_ERR_CONFLICT;

        tv_route left = work->routes.ranges[tv_routes_find(&work->routes, intent->start)];

        left.epoch = intent->new_epoch;
        event.total_ms = tv_range_ms_since(work->begin_ns);
        event.paused_ms = tv_range_ms_since(frozen_ns);
        tv_route_change_init(&change, arena);
        tv_route_change_put(&change, tv_route_key(arena, TV_ROUTE_RANGE, left.start),
                            tv_route_encode(arena, &left));
        change_right(work, &change, intent);
        tv_route_change_put(&change, tv_route_key(arena, TV_ROUTE_INTENT, left.start),
                            tv_intent_encode(arena, &published));
        tv_range_add_event(work, &change, event);
        err = tv_route_change_commit(&change, work->pool, work->routes.version);
    } while (err == TV_ERR_CONFLICT);
    return err;
}
