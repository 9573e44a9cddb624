/* One row of CSV (RFC 4180): where it ends, and its cells. */
#ifndef XFER_CSV_ROW_H
#define XFER_CSV_ROW_H

#include "../text.h"
#include "input.h"

typedef struct xfer_cell {
    char *text; /* with a NUL after it */
    size_t size;
    bool is_quoted;
} xfer_cell;

typedef struct xfer_row {
    tool_text text; /* the cells, without their quotes */
    xfer_cell *cells;
    size_t count, room;
} xfer_row;

typedef enum xfer_row_end {
    XFER_ROW_WHOLE,
    XFER_ROW_NONE,     /* the file is over */
    XFER_ROW_CUT,      /* the file ends within quotes */
    XFER_ROW_TOO_LONG, /* no end in sight */
} xfer_row_end;

/** Find the row at the beginning of the input; its bytes include the line end. */
xfer_row_end xfer_row_find(xfer_input *input, size_t *ret_size);

/** Take a row apart. */
void xfer_row_split(xfer_row *row, const char *data, size_t size, char delimiter);
void xfer_row_done(xfer_row *row);

#endif
