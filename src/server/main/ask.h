/*
 * One request over plain HTTP to whoever listens at a port.  For a start that finds its port taken
 * and for --health; both are short programs' questions, which wait.
 */
#ifndef TV_SERVER_MAIN_ASK_H
#define TV_SERVER_MAIN_ASK_H

#include <stddef.h>

/** What it answers to a GET, as far as that comes within a second or two; else "". */
void tv_ask(const char *host, int port, const char *path, char *ret_answer, size_t answer_size);

/** Print what /ready of an admin port says.  0 when the server can serve clients, else 1. */
int tv_ask_health(const char *host, int port);

#endif
