/* The pages of a query, with their tokens. */
#include "pages.h"

#include <stdlib.h>
#include <string.h>

#include "../text.h"
#include "progress.h"

static tavola_err send_for(xfer_pages *pages, const char *token)
{
    return tavola_start_page(pages->table, pages->query, token, NULL, NULL, NULL, &pages->ahead);
}

tool_exit xfer_pages_open(xfer_pages *pages, tool_run *run, tavola_table *table,
                          const tavola_query *query, const char *token)
{
    int64_t timeout_s = 0;
    tool_exit exit = tool_number_of(run, TOOL_FLAG_TIMEOUT, 1, 86400, &timeout_s);

    *pages = (xfer_pages){.run = run,
                          .table = table,
                          .query = query,
                          .token = token ? tool_copy(token) : NULL,
                          .until_next_landmark = 1,
                          .timeout_s = (double)timeout_s};
    return exit;
}

static void drop_op(tavola_op **op)
{
    if (*op) {
        tavola_op_cancel(*op);
        tavola_op_free(*op);
    }
    *op = NULL;
}

/* Wait for the page that was sent for, in steps, since a signal ends the wait. */
static tavola_err wait_ahead(xfer_pages *pages)
{
    enum { STEP_MS = 100 };
    double began_s = xfer_now_s();
    tavola_err err;

    while ((err = tavola_op_wait(pages->ahead, STEP_MS)) == TAVOLA_ERR_TIMEOUT &&
           tavola_op_call(pages->ahead) == NULL) {
        if (tool_stop_signal())
            return TAVOLA_ERR_CANCELLED;
        /* The client has a limit of its own; in a shell it is not that of this command. */
        if (pages->timeout_s > 0 && xfer_now_s() - began_s > pages->timeout_s)
            return TAVOLA_ERR_TIMEOUT;
    }
    return err;
}

/*
 * Whether the token was there before.  Every landmark is twice as far from the last as that was, so
 * any circle is noticed in the end.
 */
static bool leads_back(xfer_pages *pages, const char *token)
{
    if (pages->landmark && strcmp(pages->landmark, token) == 0)
        return true;
    if (++pages->passed == pages->until_next_landmark) {
        free(pages->landmark);
        pages->landmark = tool_copy(token);
        pages->passed = 0;
        pages->until_next_landmark *= 2;
    }
    return false;
}

tavola_err xfer_pages_next(xfer_pages *pages, const tavola_page **ret_page)
{
    const char *token;
    tavola_err err = TAVOLA_OK;

    if (pages->page && pages->token == NULL)
        return TAVOLA_END;
    if (pages->ahead == NULL)
        err = send_for(pages, pages->token);
    if (err == TAVOLA_OK)
        err = wait_ahead(pages);
    if (err) {
        drop_op(&pages->failed);
        pages->failed = pages->ahead;
        pages->ahead = NULL;
        return err;
    }
    tavola_page_free(pages->page);
    pages->page = tavola_op_take_page(pages->ahead);
    drop_op(&pages->ahead);

    token = tavola_page_token(pages->page);
    if (token && leads_back(pages, token))
        return TAVOLA_ERR_PROTOCOL;
    free(pages->token);
    pages->token = token ? tool_copy(token) : NULL;
    if (token && send_for(pages, token) != TAVOLA_OK)
        pages->ahead = NULL; /* the next call asks again, and tells */
    *ret_page = pages->page;
    return TAVOLA_OK;
}

const char *xfer_pages_token(const xfer_pages *pages)
{
    return pages->token;
}

tool_exit xfer_pages_fail(const xfer_pages *pages, tavola_err err)
{
    tool_run run = *pages->run;
    tavola_call *call = pages->failed ? tavola_op_call(pages->failed) : NULL;

    if (call)
        run.call = call;
    return tool_fail(&run, err,
                     err == TAVOLA_ERR_PROTOCOL ? "the pages of the service lead back" : NULL);
}

void xfer_pages_close(xfer_pages *pages)
{
    drop_op(&pages->ahead);
    drop_op(&pages->failed);
    tavola_page_free(pages->page);
    free(pages->token);
    free(pages->landmark);
    *pages = (xfer_pages){0};
}
