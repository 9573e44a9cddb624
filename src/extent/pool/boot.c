/* A counter of processes: the row `boot` of the object tv.boots. */
#include <inttypes.h>

#include "extent/pool/internal.h"

#define BOOTS_OBJECT "tv.boots"
#define COUNTER_KEY "boot"

/* So many processes start at the same time. */
enum { TRIES_MAX = 1000 };

static tv_err make_object(tv_pool *pool)
{
    const tv_pool_step make = {.kind = TV_POOL_CREATE};
    tv_err err = tv_pool_change_now(pool, BOOTS_OBJECT, &make, 1, NULL);

    return err == TV_ERR_CONFLICT ? TV_OK : err;
}

static bool parse(tv_slice value, uint64_t *ret_boot)
{
    uint64_t boot = 0;

    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9' || boot > TV_EXTENT_BOOT_MAX / 10 - 10)
            return false;
        boot = 10 * boot + (uint64_t)(value.data[i] - '0');
    }
    *ret_boot = boot;
    return value.data == NULL || value.len > 0;
}

/* TV_ERR_CONFLICT when another process was faster. */
static tv_err try_count(tv_pool *pool, tv_arena *arena, uint64_t *ret_boot)
{
    tv_slice key = TV_LIT(COUNTER_KEY), value;
    uint64_t last;
    tv_err err;

    err = tv_pool_get_row(pool, BOOTS_OBJECT, key, arena, &value);
    if (err)
        return err;
    if (!parse(value, &last))
        return TV_ERR_CORRUPT;

    tv_pool_step steps[] = {
        {value.data ? TV_POOL_ROW_IS : TV_POOL_ROW_ABSENT, key, value},
        {TV_POOL_PUT_ROW, key, tv_arena_printf(arena, "%" PRIu64, last + 1)},
    };

    *ret_boot = last + 1;
    return tv_pool_change_now(pool, BOOTS_OBJECT, steps, 2, NULL);
}

tv_err tv_extent_pool_next_boot(tv_pool *pool, uint64_t *ret_boot)
{
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = make_object(pool);
    if (err == TV_OK)
        err = TV_ERR_CONFLICT;
    for (int i = 0; i < TRIES_MAX && err == TV_ERR_CONFLICT; i++) {
        tv_arena_reset(&arena);
        err = try_count(pool, &arena, ret_boot);
    }
    tv_arena_done(&arena);
    return err;
}
