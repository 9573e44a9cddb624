/*
 * Which line an entity came from.  The library hands back an entity when its write has failed; this
 * finds the line by the keys, for as many as one part of an import has.  Of two lines with the same
 * keys it is the later one, which is that which an insert refuses.
 */
#ifndef XFER_LINES_H
#define XFER_LINES_H

#include <tavola.h>

enum { XFER_LINES_MAX = 1 << 15 };

typedef struct xfer_origin {
    uint64_t hash; /* of the keys; 0: free */
    uint64_t line;
    uint64_t record; /* its number in this run */
} xfer_origin;

typedef struct xfer_lines {
    xfer_origin at[2 * XFER_LINES_MAX];
} xfer_lines;

void xfer_lines_add(xfer_lines *lines, const tavola_entity *entity, uint64_t line, uint64_t record);
/** NULL when it is not known. */
const xfer_origin *xfer_lines_find(const xfer_lines *lines, const tavola_entity *entity);
void xfer_lines_clear(xfer_lines *lines);

#endif
