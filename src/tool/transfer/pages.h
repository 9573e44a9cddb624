/*
 * The pages of a query one by one, the next one on its way while this one is used.
 *
 * A cursor of the library does the same for entities; here the token between two pages can be seen
 * and stored, so that a later run goes on just there.  Ctrl-C ends the wait for a page.
 */
#ifndef XFER_PAGES_H
#define XFER_PAGES_H

#include "../tool.h"

typedef struct xfer_pages {
    tool_run *run;
    tavola_table *table;       /* not ours */
    const tavola_query *query; /* not ours */
    tavola_op *ahead;          /* the page that is on its way, or NULL */
    tavola_op *failed;         /* what has failed, with its error */
    tavola_page *page;         /* the one that was handed out last */
    char *token;               /* of the page behind it; NULL: there is none */
    char *landmark; /* an earlier token: when it comes again the service leads in a circle */
    uint64_t passed, until_next_landmark;
    double timeout_s; /* of --timeout; 0: the client's */
} xfer_pages;

/** `token`: where an earlier run stopped; NULL: at the beginning.  Sends nothing yet. */
tool_exit xfer_pages_open(xfer_pages *pages, tool_run *run, tavola_table *table,
                          const tavola_query *query, const char *token);

/**
 * The next page, until the next call.  TAVOLA_END: there are no more.  TAVOLA_ERR_CANCELLED: a
 * signal came first.
 */
tavola_err xfer_pages_next(xfer_pages *pages, const tavola_page **ret_page);

/** Where to go on behind the page that was handed out last; NULL: it was the last of all. */
const char *xfer_pages_token(const xfer_pages *pages);

/** Say what xfer_pages_next has failed with, as tool_fail does. */
tool_exit xfer_pages_fail(const xfer_pages *pages, tavola_err err);
void xfer_pages_close(xfer_pages *pages);

#endif
