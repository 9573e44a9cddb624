/*
 * The limits of one page of a query, and what was done to fill it.
 */
#ifndef TV_SERVICES_TABLE_PAGE_H
#define TV_SERVICES_TABLE_PAGE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "model/odata/plan.h"

enum { TV_TABLE_PAGE_ROWS_MAX = 1000, TV_TABLE_PAGE_BYTES_MAX = 4 * 1024 * 1024 };

typedef struct tv_table_page {
    size_t rows_max, bytes_max;
    int64_t deadline_ns;
    size_t examined;    /* rows looked at */
    size_t returned;    /* rows written */
    size_t first, last; /* of the rows looked at, from 1, the first and last one written; or 0 */
    tv_page_end end;
} tv_table_page;

/** Begin a page that is appended to `out`. */
static inline tv_table_page tv_table_page_begin(size_t rows_max, int64_t time_max_ns,
                                                const tv_buf *out)
{
    return (tv_table_page){
        .rows_max = rows_max,
        .bytes_max = out->len + TV_TABLE_PAGE_BYTES_MAX,
        .deadline_ns = tv_clock_mono_ns() + time_max_ns,
    };
}

/** Whether the page has all that it may have. */
static inline bool tv_table_page_is_full(const tv_table_page *page, const tv_buf *out)
{
    return page->returned == page->rows_max || out->len >= page->bytes_max;
}

/** Why such a page ends. */
static inline tv_page_end tv_table_page_full_end(const tv_table_page *page)
{
    if (page->returned < page->rows_max)
        return TV_PAGE_END_BYTES;
    return page->rows_max < TV_TABLE_PAGE_ROWS_MAX ? TV_PAGE_END_TOP : TV_PAGE_END_ROWS;
}

/** Whether its time is up: checked at the end of a turn. */
static inline bool tv_table_page_is_late(const tv_table_page *page)
{
    return tv_clock_mono_ns() > page->deadline_ns;
}

#endif
