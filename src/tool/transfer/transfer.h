/*
 * import, export and copy: entities between tables and files.
 *
 *     reader.h  entities out of a file      writer.h  entities into one
 *     input.h   its bytes, as UTF-8         load.h    entities into a table
 *     state.h   where an import stopped     mark.h    where an export or a copy stopped
 *     pages.h   the pages of a table        digest.h  checksums
 *     manifest.h  data files of AzCopy
 *
 * Everything streams: memory depends on the size of an entity, not on their number.
 */
#ifndef XFER_TRANSFER_H
#define XFER_TRANSFER_H

#include "../tool.h"
#include "reader.h"

/*
 * A transfer is cut into parts of about so many entities, or of so much time; at the end of each
 * one it is written down how far it has come.
 */
enum { XFER_PART_ENTITIES = 1 << 15, XFER_PART_SECONDS = 10 };

/** How many entities: XFER_PART_ENTITIES, or fewer for tests by $TAVOLA_TEST_PART. */
unsigned xfer_part_entities(void);

tool_exit xfer_import(tool_run *run);
tool_exit xfer_export(tool_run *run);
tool_exit xfer_copy(tool_run *run);

/** --format, --types, --separator, --first-row-types; the path tells what the flags do not. */
tool_exit xfer_reader_flags(const tool_run *run, const char *path,
                            xfer_reader_options *ret_options);

/** --where and --select.  Free both. */
tool_exit xfer_query_flags(const tool_run *run, tavola_query **ret_query, char ***ret_select);

/** --where with its values, to tell one transfer from another; nothing without it. */
void xfer_where_text(const tool_run *run, tool_text *ret_text);

/** Say what is hardly meant in --where, if it was given: see tool_warn. */
tool_exit xfer_warn(tool_run *run, tavola_table *from, const tavola_query *query);

#endif
