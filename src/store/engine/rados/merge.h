/* A merge with its rows, or without: then the right range is dropped. */
#ifndef TV_STORE_ENGINE_RADOS_MERGE_H
#define TV_STORE_ENGINE_RADOS_MERGE_H

#include "store/engine/rados/range_work.h"

/** The range that starts at `start` goes up in the one before it.  `kind`: M, or D without rows. */
tv_err tv_range_join_left(const tv_range_changer *changer, tv_slice start, tv_intent_kind kind,
                          tv_slice reason, tv_range_result *ret_result) TV_WARN_UNUSED;

#endif
