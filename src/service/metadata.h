/*
 * Metadata: what clients pin to queues, containers and blobs as x-ms-meta-*
 * headers.  Kept as text, a line "name:value" for each, in the order and the case
 * in which they were sent; that is also how it is stored.
 */
#ifndef TV_SERVICE_METADATA_H
#define TV_SERVICE_METADATA_H

#include "base/buf.h"
#include "http/request.h"

enum { TV_METADATA_BYTES_MAX = 8 * 1024 }; /* names and values together */

/**
 * Those of a request, in its arena; empty for none.  Names are identifiers as C#
 * has them, in ASCII.  TV_ERR_EMPTY_METADATA_KEY, TV_ERR_INVALID_METADATA (also
 * for a name that is given twice), TV_ERR_METADATA_TOO_LARGE.
 */
tv_err tv_metadata_read(tv_request *req, tv_slice *ret_metadata) TV_WARN_UNUSED;

/** Add the headers to the response. */
void tv_metadata_add_headers(tv_request *req, tv_slice metadata);

/** Append <Metadata>…</Metadata>, or <Metadata /> when there is none. */
void tv_metadata_add_xml(tv_buf *buf, tv_slice metadata);

/** The same names, in any case and order, with the same values. */
bool tv_metadata_eq(tv_slice a, tv_slice b);

#endif
