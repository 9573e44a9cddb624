/*
 * What is live while a content is removed: the pieces that stay, and the
 * contents whose rows do.  What has been removed is added too, so that data
 * which a content has twice, or which two removed contents share, is garbage
 * only once.
 */
#ifndef TV_SERVICES_BLOB_STORE_LIVE_SET_H
#define TV_SERVICES_BLOB_STORE_LIVE_SET_H

#include "services/blob/store/row.h"

typedef struct tv_live_content {
    uint64_t id;
    uint64_t length; /* its rows up to here stay */
} tv_live_content;

/** What stays; all zeros is nothing.  Its memory is the arena that is given. */
typedef struct tv_live_set {
    tv_blob_piece *slots; /* by place; a free one has length 0 */
    size_t slot_count, used;
    tv_live_content *contents;
    size_t content_count;
} tv_live_set;

/** Make room for `count` more places.  TV_ERR_OVERLOADED without memory. */
tv_err tv_live_set_reserve(tv_live_set *live, tv_arena *arena, size_t count) TV_WARN_UNUSED;

/** Add a place for which there is room; false when it is there already. */
bool tv_live_set_add(tv_live_set *live, bool is_chunk, tv_extent_id id);

/** Make room for the places of these pieces and add them.  TV_ERR_OVERLOADED. */
tv_err tv_live_set_add_pieces(tv_live_set *live, tv_arena *arena, const tv_blob_piece *pieces,
                              size_t count) TV_WARN_UNUSED;

#endif
