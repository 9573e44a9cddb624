/* Query Tables: the names of an account's tables, a page at a time. */
#ifndef TV_TABLE_TABLE_LIST_H
#define TV_TABLE_TABLE_LIST_H

#include "engine/engine.h"
#include "table/page.h"
#include "table/query.h"

/** Append a page of tables as JSON.  May wait for the disk. */
tv_err tv_table_list(tv_engine *engine, const tv_table_op *op, const tv_query *query,
                     int64_t time_max_ns, tv_arena *arena, tv_buf *out, tv_page *ret_page,
                     tv_continuation *ret_next) TV_WARN_UNUSED;

#endif
