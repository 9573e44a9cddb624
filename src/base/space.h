/*
 * The disk reserve: free space that writes must leave alone.
 *
 * A store that fills its disk to the last byte cannot even tidy up any more.  So
 * each write first asks the file system what is left, and below the reserve is
 * refused with TV_ERR_DISK_FULL before anything has been touched.  What frees space
 * in the end, such as a delete, goes on down to a smaller reserve, an eighth of it
 * but at least 4 MiB: that is how a full disk is relieved.
 *
 * The disk counts as full from the first refusal until a write has gone through,
 * so there is one line in the log for each, however often somebody asks.
 *
 * Any thread, all of it.
 */
#ifndef TV_BASE_SPACE_H
#define TV_BASE_SPACE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"

typedef struct tv_space {
    int fd;            /* of a folder on the file system; not owned */
    const char *store; /* whose reserve it is, for the log: "rows" */
    uint64_t reserve_bytes;
    atomic_bool is_full; /* writes are being refused; a change is logged */
} tv_space;

/** TV_ERR_DISK_FULL when `bytes` more would eat into the reserve. */
tv_err tv_space_check(tv_space *space, uint64_t bytes) TV_WARN_UNUSED;

/** The same for what frees space in the end: the smaller reserve.  Logs nothing. */
tv_err tv_space_check_freeing(const tv_space *space, uint64_t bytes) TV_WARN_UNUSED;

/** A write was refused for lack of space elsewhere: `detail` is the reason given there. */
void tv_space_refused(tv_space *space, const char *detail);

/** A write, not one that frees, has gone through: the trouble is over. */
void tv_space_accepted(tv_space *space);

/** Bytes that this process may still write to the file system. */
uint64_t tv_space_free(const tv_space *space);

#endif
