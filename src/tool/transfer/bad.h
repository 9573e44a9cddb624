/*
 * Bad lines: told on stderr, and kept in the file of --errors as NDJSON, one object with "line",
 * "error" and "text" for each, so that the texts can be corrected and imported again.  Where an
 * import has several files there is a "file" as well.
 */
#ifndef XFER_BAD_H
#define XFER_BAD_H

#include <stddef.h>
#include <stdint.h>

#include "writer.h"

typedef struct xfer_bad {
    const char *input_path;
    bool is_of_many; /* the file of errors names it, too: there are several */
    int fd;          /* -1: there is no file */
    xfer_out out;
    uint64_t count; /* of this run */
} xfer_bad;

/** Open the file, if there is one, and cut off what an interrupted run left behind `keep`. */
const char *xfer_bad_open(xfer_bad *bad, const char *input_path, const char *path, uint64_t keep);
/** `line` 0: not known; `text` may be NULL. */
void xfer_bad_add(xfer_bad *bad, uint64_t line, const char *why, const char *text, size_t size);
/** Write what there is; how many bytes the file has then. */
uint64_t xfer_bad_sync(xfer_bad *bad);
void xfer_bad_close(xfer_bad *bad);

#endif
