/*
 * How far an import has come: a small file beside its input, FILE.TABLE.import.
 *
 * Everything before the place in it has its outcome: written, skipped as it was asked for, or in
 * the file of errors.  Behind it up to `doubtful` records may have been written, too.  The file is
 * replaced as a whole, so it is never half written; it goes away when the import is complete.
 */
#ifndef XFER_STATE_H
#define XFER_STATE_H

#include "input.h"

typedef struct xfer_state {
    uint64_t file;         /* of several (manifest.h), the one that is read; from 0 */
    uint64_t files_digest; /* of the names of all of them */
    xfer_place place;
    uint64_t digest;       /* of the input before it */
    uint64_t errors_bytes; /* of the file of errors by then */
    uint64_t doubtful;
} xfer_state;

/** Free it. */
char *xfer_state_path(const char *input_path, const char *table);

typedef enum xfer_state_found {
    XFER_STATE_NONE,
    XFER_STATE_READ,
    XFER_STATE_OTHER,  /* of an import to another account */
    XFER_STATE_BROKEN, /* not such a file */
} xfer_state_found;

/** `target` says where the entities go: the URL of the service and the table. */
xfer_state_found xfer_state_read(const char *path, const char *target, xfer_state *ret_state);
/** False, with errno, when it cannot be written. */
bool xfer_state_write(const char *path, const char *target, const xfer_state *state);

/** Remove such a file, and what a killed run may have left of the next one. */
void xfer_state_remove(const char *path);

/** Put a text in the place of a small file, as a whole; false, with errno, when that fails. */
bool xfer_state_replace(const char *path, const char *text, size_t size);

#endif
