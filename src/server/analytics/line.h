/*
 * A line of the log, in the formats 1.0 and 2.0: fields between semicolons, those that may
 * contain anything in quotes and encoded as in HTML.  Pure functions over a record.
 */
#ifndef TV_SERVER_ANALYTICS_LINE_H
#define TV_SERVER_ANALYTICS_LINE_H

#include "server/analytics/record.h"

/**
 * Append the line with its end.  Signatures of SAS, in URLs and in the referrer, are replaced
 * by XXXXX.  Whatever the client has sent, it is one line of 30 or 38 fields of valid UTF-8.
 */
void tv_analytics_add_line(tv_buf *out, tv_arena *scratch, const tv_analytics_record *record);

#endif
