/*
 * How far an export or a copy has come: a small file, FILE.export beside the file of an export, and
 * copy-... in the user's state folder for a copy.
 *
 * All entities before the token have been dealt with: they are in the first `bytes` of the file, or
 * in the other table.  Behind it some of the part that was under way may be in the table, too
 * (is_doubtful).  The file is replaced as a whole, so it is never half written, and goes away when
 * the transfer is complete.
 */
#ifndef XFER_MARK_H
#define XFER_MARK_H

#include "digest.h"

#include <stdbool.h>

/** What a transfer is about.  One that differs in any of this is another one. */
typedef struct xfer_fact {
    const char *name;  /* for people: "table", "--where" */
    const char *value; /* NULL: there is none */
} xfer_fact;

typedef struct xfer_mark {
    char *token;      /* where reading goes on; NULL: at the beginning, unless is_complete */
    bool is_complete; /* all was read */
    bool is_doubtful;
    xfer_tally tally; /* of the entities before; an export has only their number */
    /* The file of an export: its first bytes, and the columns of CSV in the order of its rows. */
    uint64_t bytes, digest;
    char **columns;
    size_t column_count;
    bool has_grown; /* the first row does not have all of them */
} xfer_mark;

typedef enum xfer_mark_found {
    XFER_MARK_NONE,
    XFER_MARK_READ,
    XFER_MARK_OTHER,  /* of another transfer */
    XFER_MARK_BROKEN, /* not such a file */
} xfer_mark_found;

/**
 * `facts` end with one that has no name.  XFER_MARK_OTHER: *ret_differs is the name of the first
 * that is not the same.  Otherwise release the mark.
 */
xfer_mark_found xfer_mark_read(const char *path, const char *verb, const xfer_fact *facts,
                               xfer_mark *ret_mark, const char **ret_differs);
/** False, with errno, when it cannot be written. */
bool xfer_mark_write(const char *path, const char *verb, const xfer_fact *facts,
                     const xfer_mark *mark);
void xfer_mark_done(xfer_mark *mark);

#endif
