/*
 * What a verification has found: one line on standard output for each problem,
 * and counts.  After the first thousand problems the others are only counted.
 */
#ifndef TV_SERVER_VERIFY_REPORT_H
#define TV_SERVER_VERIFY_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

typedef struct tv_verify_report {
    FILE *out;
    uint64_t rows, entities, messages, blobs, extents, extent_bytes;
    uint64_t problems, untold;
    char read_text[1024]; /* what the engine said last of a read that failed, or empty */
} tv_verify_report;

/** One problem, in one line; control characters in it are replaced. */
void tv_verify_problem(tv_verify_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** What is worth a line and no problem. */
void tv_verify_note(tv_verify_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
