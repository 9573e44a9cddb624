/* A cursor over all pages of a query. */
#include "client/table/scan.h"

typedef struct page_scan {
    tavola_scan scan;
    tvc_pages pages;
    const tavola_page *page; /* or NULL */
    size_t next;             /* in it */
} page_scan;

static tavola_err next_of_pages(tavola_scan *scan, const tavola_entity **ret_entity)
{
    page_scan *self = (page_scan *)scan;

    /* A page may be empty and still not the last. */
    while (self->page == NULL || self->next == self->pages.count) {
        self->page = NULL;
        self->next = 0;

        tavola_err err = tvc_pages_next(&self->pages, &self->page);

        if (err)
            return err;
    }
    *ret_entity = tavola_page_at(self->page, self->next++);
    return TAVOLA_OK;
}

static void close_pages(tavola_scan *scan)
{
    page_scan *self = (page_scan *)scan;

    tvc_pages_done(&self->pages);
    tvc_release(self);
}

tavola_err tavola_scan_open(tavola_table *table, const tavola_query *query, tavola_call *call,
                            tavola_scan **ret_scan)
{
    if (ret_scan == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no place for the scan");

    page_scan *self = tvc_zalloc(sizeof *self);

    if (self == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tvc_pages_init(&self->pages, table, query, false, call);

    if (err) {
        tvc_release(self);
        return err;
    }
    self->scan = (tavola_scan){.next = next_of_pages, .close = close_pages};
    *ret_scan = &self->scan;
    return TAVOLA_OK;
}

void tvc_scan_send_ahead(tavola_scan *scan)
{
    tv_assert(scan->next == next_of_pages);
    tvc_pages_send_first(&((page_scan *)scan)->pages);
}

tavola_err tavola_scan_next(tavola_scan *scan, const tavola_entity **ret_entity)
{
    if (scan == NULL || ret_entity == NULL)
        return tvc_call_refuse(NULL, TAVOLA_ERR_INVALID,
                               "there is no scan, or no place for the entity");
    return scan->next(scan, ret_entity);
}

void tavola_scan_close(tavola_scan *scan)
{
    if (scan)
        scan->close(scan);
}
