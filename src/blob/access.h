/*
 * What each operation of the Blob service needs of who asks for it.
 */
#ifndef TV_BLOB_ACCESS_H
#define TV_BLOB_ACCESS_H

#include "auth/identity.h"
#include "blob/op.h"
#include "blob/store/container.h"

/**
 * Whether the endpoint that was called serves the operation: the secondary is
 * read-only, and only it has stats.
 */
tv_err tv_blob_check_endpoint(const tv_blob_op *op, const tv_endpoint *endpoint) TV_WARN_UNUSED;

/** Whether anybody may ask for this at all without showing who they are: reads, and lists. */
bool tv_blob_may_be_public(tv_blob_op_kind kind);

/** Whether a container that is this open lets everybody do it. */
bool tv_blob_is_public(tv_blob_op_kind kind, tv_public_access access);

/**
 * What the operation needs.  `is_public` is the container's word, see above.
 */
tv_need tv_blob_need(const tv_blob_op *op, bool is_public);

#endif
