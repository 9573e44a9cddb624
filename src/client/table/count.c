/* Counting, by reading all keys. */
#include "client/table/table.h"

tavola_err tavola_count(tavola_table *table, const tavola_query *query, tavola_call *call,
                        uint64_t *ret_count)
{
    const tavola_page *page = NULL;
    uint64_t count = 0;
    tvc_pages pages;

    if (ret_count == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no place for the count");

    tavola_err err = tvc_pages_init(&pages, table, query, true, call);

    if (err)
        return err;
    while ((err = tvc_pages_next(&pages, &page)) == TAVOLA_OK)
        count += pages.count;
    tvc_pages_done(&pages);
    if (err != TAVOLA_END)
        return err;
    *ret_count = count;
    return TAVOLA_OK;
}
