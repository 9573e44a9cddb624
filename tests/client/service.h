/*
 * For programs that try the library against a running server: $TAVOLA_TEST_CONNECTION is its
 * connection string.
 */
#ifndef TEST_CLIENT_SERVICE_H
#define TEST_CLIENT_SERVICE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "tavola.h"

#define CHECK_TAVOLA(got, want)                                                                    \
    do {                                                                                           \
        tavola_err got_ = (got), want_ = (want);                                                   \
        if (got_ != want_)                                                                         \
            CHECK_FAIL("%s: got %s, want %s", #got, tavola_err_name(got_),                         \
                       tavola_err_name(want_));                                                    \
    } while (0)

static inline tavola_client *open_client_with(const tavola_client_options *options)
{
    const char *connection = getenv("TAVOLA_TEST_CONNECTION");
    tavola_client *client = NULL;
    char *why = NULL;

    if (tavola_client_open(connection ? connection : "", options, &client, &why))
        fail_msg("TAVOLA_TEST_CONNECTION: %s", why ? why : "no memory");
    return client;
}

static inline tavola_client *open_client(void)
{
    return open_client_with(NULL);
}

enum { NAME_SIZE = 48 };

/* A name that is new on every server, of what it is for: letters, digits and dashes. */
static inline void make_name(char ret_name[NAME_SIZE], const char *stem)
{
    static unsigned count;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(ret_name, NAME_SIZE, "%s-%llx-%x-%x", stem, (unsigned long long)now.tv_sec,
             (unsigned)now.tv_nsec, count++);
}

#endif
