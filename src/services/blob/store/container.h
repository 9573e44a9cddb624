/*
 * The attributes of a container: what the catalogue keeps for it in addition to
 * its name, id and access policies.  Pure functions; the catalogue stores the
 * encoded form without looking into it.
 */
#ifndef TV_SERVICES_BLOB_STORE_CONTAINER_H
#define TV_SERVICES_BLOB_STORE_CONTAINER_H

#include "services/blob/store/blob.h"

typedef enum tv_public_access {
    TV_PUBLIC_NONE,
    TV_PUBLIC_BLOB,      /* reads of blobs */
    TV_PUBLIC_CONTAINER, /* and lists */
} tv_public_access;

typedef struct tv_container_attributes {
    int64_t created;
    int64_t etag; /* ticks of the last change, which is Last-Modified too */
    tv_public_access access;
    tv_metadata metadata;
    tv_lease lease;
} tv_container_attributes;

tv_slice tv_container_attributes_encode(tv_arena *arena, const tv_container_attributes *attributes);

/** Slices point into `bytes`, lists are in the arena.  TV_ERR_CORRUPT. */
tv_err tv_container_attributes_decode(tv_arena *arena, tv_slice bytes,
                                      tv_container_attributes *ret_attributes) TV_WARN_UNUSED;

/** Attributes changed at `now`: ETags strictly increase.  TV_ERR_CORRUPT after the last one. */
tv_err tv_container_attributes_touch(tv_container_attributes *attributes,
                                     int64_t now) TV_WARN_UNUSED;

/** A lease operation on a container.  See tv_lease_apply; the errors are worded for containers. */
tv_err tv_container_lease(tv_container_attributes *attributes, const tv_lease_request *request,
                          int64_t now, int32_t *ret_seconds) TV_WARN_UNUSED;

/**
 * The lease id that came with an operation on the container.  A delete must
 * bring that of an active lease; other operations may bring one, which must then
 * be it.
 */
tv_err tv_container_check_lease(const tv_container_attributes *attributes, const tv_guid *id,
                                bool is_delete, int64_t now) TV_WARN_UNUSED;

#endif
