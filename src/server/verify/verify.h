/*
 * A look at all of a store that no server has open: every row and every extent is
 * read, which compares all checksums, and held against the others: rows against
 * the catalogue, indexes of queues against messages, extents against the blobs
 * that refer to them.  Nothing is changed, not even repaired.
 */
#ifndef TV_SERVER_VERIFY_VERIFY_H
#define TV_SERVER_VERIFY_VERIFY_H

#include <stdio.h>

/** Exit codes of tavolad --verify. */
typedef enum tv_verify_result {
    TV_VERIFY_WELL = 0,
    TV_VERIFY_NO_STORE = 2, /* there is none, it is in use, or cannot be read at all */
    TV_VERIFY_DAMAGED = 3,
} tv_verify_result;

/**
 * Verify the store in the folder `data`; what is found goes to `out`, a line for
 * each problem and a last one with the counts, or to `err_out` why there is nothing
 * to verify.  Memory: what the indexes of one queue and the pieces of one blob take.
 */
tv_verify_result tv_verify(const char *data, FILE *out, FILE *err_out);

#endif
