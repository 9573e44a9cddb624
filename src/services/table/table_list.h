/* The list of an account's tables, a page at a time. */
#ifndef TV_SERVICES_TABLE_TABLE_LIST_H
#define TV_SERVICES_TABLE_TABLE_LIST_H

#include "services/table/scan.h"

/**
 * Append a page of table names, in the order of their lower-case forms; as
 * tv_table_scan_run, of a scan without table and plan.  Nothing is held between turns: a
 * table that comes or goes meanwhile is seen or not.
 */
tv_err tv_table_list(tv_table_scan *scan, tv_catalog *catalog, tv_turn *turn,
                     bool *ret_is_done) TV_WARN_UNUSED;

#endif
