/* A plan as JSON, in the words of the Table Design Guide, for people and tools. */
#ifndef TV_SERVICES_TABLE_EXPLAIN_H
#define TV_SERVICES_TABLE_EXPLAIN_H

#include "services/table/scan.h"

/** Append the plan of a scan that has been planned.  TV_ERR_OVERLOADED without memory for it. */
tv_err tv_table_explain(tv_buf *out, const tv_table_scan *scan) TV_WARN_UNUSED;

#endif
