/* The line in the log that an operator looks for when data is damaged. */
#include "services/blob/body/damage.h"

#include "base/arena.h"
#include "base/log.h"

void tv_blob_log_damage(tv_extents *extents, tv_extent_id id, tv_slice account, tv_slice container,
                        tv_slice blob)
{
    char path[TV_EXTENT_TEXT_SIZE];
    const char *what;
    tv_arena arena;

    if (!tv_extents_may_report(extents, id, &what))
        return;

    tv_arena_init(&arena);
    tv_extent_describe(extents, id, path);
    /* The name comes last, where cutting the line hides nothing else. */
    tv_log(TV_LOG_ERROR, "blob_damaged",
           "account=%.*s container=%.*s extent=\"%s\" detail=\"%s\" blob=\"%.*s\"", TV_FMT(account),
           TV_FMT(container), path, what, TV_FMT(tv_log_redact(&arena, blob)));
    tv_arena_done(&arena);
}
