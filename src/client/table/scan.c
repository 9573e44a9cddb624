/* A cursor over all pages of a query. */
#include "client/table/table.h"

struct tavola_scan {
    tvc_pages pages;
    const tavola_page *page; /* or NULL */
    size_t next;             /* in it */
};

tavola_err tavola_scan_open(tavola_table *table, const tavola_query *query, tavola_call *call,
                            tavola_scan **ret_scan)
{
    if (ret_scan == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no place for the scan");

    tavola_scan *scan = tvc_zalloc(sizeof *scan);

    if (scan == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tvc_pages_init(&scan->pages, table, query, false, call);

    if (err) {
        tvc_release(scan);
        return err;
    }
    *ret_scan = scan;
    return TAVOLA_OK;
}

tavola_err tavola_scan_next(tavola_scan *scan, const tavola_entity **ret_entity)
{
    if (scan == NULL || ret_entity == NULL)
        return TAVOLA_ERR_INVALID;

    /* A page may be empty and still not the last. */
    while (scan->page == NULL || scan->next == scan->pages.count) {
        scan->page = NULL;
        scan->next = 0;

        tavola_err err = tvc_pages_next(&scan->pages, &scan->page);

        if (err)
            return err;
    }
    *ret_entity = tavola_page_at(scan->page, scan->next++);
    return TAVOLA_OK;
}

void tavola_scan_close(tavola_scan *scan)
{
    if (scan == NULL)
        return;

    tvc_pages_done(&scan->pages);
    tvc_release(scan);
}
