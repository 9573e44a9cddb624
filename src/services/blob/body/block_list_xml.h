/*
 * Lists of blocks as XML: the body of Put Block List and of the answer to Get
 * Block List.
 */
#ifndef TV_BLOB_BLOCK_LIST_XML_H
#define TV_BLOB_BLOCK_LIST_XML_H

#include "base/buf.h"
#include "services/blob/store/change.h"
#include "services/blob/store/reader.h"

/**
 * Read <BlockList> with its <Committed>, <Uncommitted> and <Latest>, whose order
 * is kept; the result is in the arena.  A DOCTYPE, and with it every entity
 * but the five of XML itself, is refused.  TV_ERR_XML_DOCUMENT,
 * TV_ERR_XML_NODE_VALUE for another element, TV_ERR_BLOCK_LIST_TOO_LONG.
 */
tv_err tv_block_list_parse(tv_arena *arena, tv_slice document, const tv_block_choice **ret_choices,
                           size_t *ret_count) TV_WARN_UNUSED;

/** Append <BlockList> with the lists that `type` names.  TV_ERR_OVERLOADED without memory. */
tv_err tv_block_list_add(tv_buf *buf, tv_block_list_type type,
                         const tv_block_lists *lists) TV_WARN_UNUSED;

#endif
