/* Looking at the head again. */
#include "services/blob/body/visit.h"

#include "base/clock.h"
#include "services/blob/store/reader.h"

tv_err tv_blob_visit_go_on(const tv_blob_visit *visit, tv_read_mode mode)
{
    int64_t now = tv_clock_mono_ns();
    tv_blob_head head;
    tv_arena arena;
    tv_err err;

    if (!tv_extent_visit_must_renew(visit->extents, visit->visit))
        return TV_OK;
    if (mode == TV_READ_CACHED)
        return TV_ERR_WOULD_BLOCK;

    tv_arena_init(&arena);
    err = tv_blob_get_head(visit->engine, mode, visit->partition, visit->snapshot, &arena, &head);
    if (err == TV_ERR_BLOB_NOT_FOUND || (err == TV_OK && head.etag != visit->etag))
        err = TV_ERR_CONFLICT;
    if (err == TV_OK)
        tv_extent_visit_renew(visit->extents, visit->visit, now);
    tv_arena_done(&arena);
    return err;
}
