/*
 * The server: engine, pipeline, services, loops and listeners, put together and
 * taken apart in order.  Wiring only, no logic.
 */
#ifndef TV_SERVER_MAIN_SERVER_H
#define TV_SERVER_MAIN_SERVER_H

#include "server/main/config.h"

typedef struct tv_server tv_server;

enum { TV_EXIT_AS_AZURITE = 1, TV_EXIT_USAGE = 2 };

/** The tables of operations of all services, for --operations (see service/op_list.h). */
void tv_server_print_operations(void);

/**
 * Open the store and listen: clients can connect, nobody is answered yet.  On
 * failure returns NULL and puts one line that says what is wrong and what to
 * do into `reterr_text`.
 */
tv_server *tv_server_open(const tv_config *config, char *reterr_text, size_t reterr_size);

/**
 * Print where it is and how to connect.  What is printed here and below goes by --banner: our own
 * words, or the lines of Azurite, which scripts wait for.
 */
void tv_server_print_ready(tv_server *server);

/** Before and after the stop; our own banner says nothing. */
void tv_server_print_stopping(const tv_config *config);
void tv_server_print_stopped(const tv_config *config);

/** Why there is no server, on standard error.  Returns the exit code for it. */
int tv_server_print_failure(const tv_config *config, const char *problem);

/**
 * Answer.  Call it after `tv_server_print_ready`: a script that has seen
 * /healthz may look for the connection string in the output.
 */
void tv_server_run(tv_server *server);

/** Read accounts and certificate again; what cannot be read is logged and stays as it was. */
void tv_server_reload(tv_server *server);

/** Refuse new requests, finish those under way, close the store. */
void tv_server_stop(tv_server *server);

#endif
