/*
 * Scans behind tavola_scan.  Each kind has a struct of its own that begins with this one.
 */
#ifndef TVC_TABLE_SCAN_H
#define TVC_TABLE_SCAN_H

#include "client/table/table.h"

struct tavola_scan {
    tavola_err (*next)(tavola_scan *scan, const tavola_entity **ret_entity);
    void (*close)(tavola_scan *scan);
};

/** Send for the first page of a scan that tavola_scan_open made, before it is needed. */
void tvc_scan_send_ahead(tavola_scan *scan);

#endif
