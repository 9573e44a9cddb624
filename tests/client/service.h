/*
 * For programs that try queues and blobs with a running server: what live.h does for tables.
 */
#ifndef TAVOLA_TESTS_CLIENT_SERVICE_H
#define TAVOLA_TESTS_CLIENT_SERVICE_H

#include "live.h"

enum { NAME_SIZE = 60 };

/* A name that no other test has, of what it is for. */
static inline void make_name(char ret_name[NAME_SIZE], const char *stem)
{
    char unique[40];

    new_name(unique, sizeof unique);
    snprintf(ret_name, NAME_SIZE, "%.16s-%s", stem, unique);
}

#endif
