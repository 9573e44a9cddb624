/*
 * A port that somebody else has: who it is, as far as that one tells, and which flag names another.
 */
#ifndef TV_SERVER_MAIN_TAKEN_H
#define TV_SERVER_MAIN_TAKEN_H

#include <stddef.h>

/** Add to a line which says that host:port is in use what to do about it.  Takes 2 s at most. */
void tv_taken_explain(const char *host, int port, const char *flag, char *text, size_t text_size);

#endif
