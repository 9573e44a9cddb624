/* See range_work.h. */
#include "engine/rados/range_work.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "engine/key.h"

#ifdef TV_MUTANTS
int tv_mutant;
#endif

void tv_range_work_init(tv_range_work *work, const tv_ranges *ranges)
{
    *work = (tv_range_work){.ranges = ranges, .pool = ranges->pool};
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

tv_slice tv_range_end(const tv_routes *routes, size_t index)
{
    return index + 1 < routes->range_count ? routes->ranges[index + 1].start : TV_LIT("");
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

tv_err tv_range_attr(tv_range_work *work, tv_slice object, tv_slice attr, tv_slice *ret_value)
{
    tv_pool_read read = {
        .object = tv_range_text(&work->keep, object),
        .kind = TV_POOL_READ_ATTRS,
        .arena = &work->keep,
    };
    tv_err err;

    err = tv_pool_read_now(work->pool, &read);
    if (err)
        return err;

    *ret_value = TV_LIT("");
    for (size_t i = 0; i < read.row_count; i++)
        if (tv_slice_eq(read.rows[i].key, attr))
            *ret_value = read.rows[i].value;
    return TV_OK;
}

int64_t tv_range_now_ms(void)
{
    return (tv_clock_ticks() - TV_TICKS_UNIX_EPOCH) / (TV_TICKS_PER_SECOND / 1000);
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
    event.at_ms = tv_range_now_ms();
    tv_key_put_number(digits, event.version, sizeof digits);
    tv_route_change_put(change, tv_route_key(&work->arena, TV_ROUTE_EVENT, name),
                        tv_route_event_encode(&work->arena, &event));
}
