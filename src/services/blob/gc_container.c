/* What belongs to the rows of a container: its extents go when its rows are gone. */
#include "base/grow.h"
#include "services/blob/gc.h"
#include "services/blob/store/gc.h"
#include "store/engine/key.h"

/* As many as the container has: without memory for them the gc tries again later. */
static tv_err note_extent(void *ctx, tv_slice blob, tv_extent_id id)
{
    tv_blob_gc_container *gc = ctx;

    (void)blob;
    if (!tv_try_grow(&gc->extents, gc->count, &gc->size, 256))
        return TV_ERR_OVERLOADED;

    gc->extents[gc->count++] = id;
    return TV_OK;
}

static void forget_extents(tv_blob_gc_container *gc)
{
    free(gc->extents);
    gc->extents = NULL;
    gc->count = gc->size = 0;
}

static bool is_stopping(void *ctx)
{
    const tv_blob_gc_container *gc = ctx;

    return tv_background_is_stopping(gc->thread);
}

/* An attempt that failed may have left its own notes. */
static tv_err before_drop(void *ctx, tv_slice rows, const tv_background *thread)
{
    tv_blob_gc_container *gc = ctx;
    tv_arena arena;
    tv_err err;

    gc->thread = thread;
    forget_extents(gc);
    tv_arena_init(&arena);
    err = tv_blob_visit_extents(gc->engine, rows, tv_key_after(&arena, rows),
                                &(tv_blob_extent_visitor){note_extent, is_stopping, gc});
    tv_arena_done(&arena);
    if (err)
        forget_extents(gc);
    return err;
}

/*
 * A crash before this leaves files that no row refers to, for tv_extents_gc
 * after the next start.
 */
static void after_drop(void *ctx)
{
    tv_blob_gc_container *gc = ctx;

    tv_extents_remove(gc->store, gc->extents, gc->count);
    forget_extents(gc);
}

tv_catalog_kind tv_blob_catalog(tv_blob_gc_container *gc)
{
    return (tv_catalog_kind){
        .service = TV_SERVICE_BLOB,
        .space = TV_SPACE_CONTAINERS,
        .exists = TV_ERR_CONTAINER_EXISTS,
        .not_found = TV_ERR_CONTAINER_NOT_FOUND,
        .rows = tv_key_container,
        .before_drop = before_drop,
        .after_drop = after_drop,
        .ctx = gc,
    };
}
