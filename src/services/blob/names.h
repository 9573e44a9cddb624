/*
 * The rules for names of containers and blobs.
 */
#ifndef TV_SERVICES_BLOB_NAMES_H
#define TV_SERVICES_BLOB_NAMES_H

#include "base/arena.h"
#include "base/err.h"

/** The container that a path without one means. */
#define TV_BLOB_ROOT_CONTAINER TV_LIT("$root")

/** As tv_check_container_name, and also $root, $logs and $web. */
tv_err tv_check_blob_container_name(tv_slice name) TV_WARN_UNUSED;

/**
 * The name that a URL means: the cloud service takes a backslash for a slash,
 * so there is no blob with one in its name.  In the arena, or `name` itself.
 */
tv_slice tv_blob_name_of(tv_arena *arena, tv_slice name);

/** 1 to 1024 UTF-16 units without control characters; valid UTF-8.  TV_ERR_NAME_LENGTH,
 * TV_ERR_NAME_INVALID. */
tv_err tv_check_blob_name(tv_slice name) TV_WARN_UNUSED;

#endif
