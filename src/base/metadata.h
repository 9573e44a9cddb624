/*
 * Metadata: what clients attach to queues, containers and blobs, pairs of a name and
 * a value.
 */
#ifndef TV_BASE_METADATA_H
#define TV_BASE_METADATA_H

#include "base/slice.h"

/** x-ms-meta-name: value, the name in the case it was sent. */
typedef struct tv_metadata_pair {
    tv_slice name, value;
} tv_metadata_pair;

typedef struct tv_metadata {
    const tv_metadata_pair *list;
    size_t count;
} tv_metadata;

#endif
