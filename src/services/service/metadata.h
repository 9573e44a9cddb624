/*
 * Metadata on the wire: x-ms-meta-* headers and elements of lists.
 */
#ifndef TV_SERVICES_SERVICE_METADATA_H
#define TV_SERVICES_SERVICE_METADATA_H

#include "base/buf.h"
#include "base/metadata.h"
#include "wire/http/request.h"

enum { TV_METADATA_BYTES_MAX = 8 * 1024 }; /* names and values together */

/**
 * That of a request, in its arena.  Names are identifiers as C# has them, in
 * ASCII.  TV_ERR_EMPTY_METADATA_KEY, TV_ERR_INVALID_METADATA (also for a name
 * that is given twice), TV_ERR_METADATA_TOO_LARGE.
 */
tv_err tv_metadata_read(tv_request *req, tv_metadata *ret_metadata) TV_WARN_UNUSED;

/** Add the headers to the response. */
void tv_metadata_add_headers(tv_request *req, tv_metadata metadata);

/** Append <Metadata>…</Metadata>, or <Metadata /> when there is none. */
void tv_metadata_add_xml(tv_buf *buf, tv_metadata metadata);

/** The same names, in any case and order, with the same values. */
bool tv_metadata_eq(tv_metadata a, tv_metadata b);

/** As text for a row, a line "name:value" for each, and back; TV_ERR_CORRUPT. */
tv_slice tv_metadata_format(tv_arena *arena, tv_metadata metadata);
tv_err tv_metadata_parse(tv_arena *arena, tv_slice text, tv_metadata *ret_metadata) TV_WARN_UNUSED;

#endif
