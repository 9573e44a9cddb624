/* Damaged data of a blob, reported in the log. */
#ifndef TV_BLOB_DAMAGE_H
#define TV_BLOB_DAMAGE_H

#include "store/extent/extent.h"

/** One line with the blob's names and the file, if it is time for one.  Any thread. */
void tv_blob_log_damage(tv_extents *extents, tv_extent_id id, tv_slice account, tv_slice container,
                        tv_slice blob);

#endif
